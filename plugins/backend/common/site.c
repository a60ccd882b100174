/* SPDX-License-Identifier: MIT
 *
 * Adapter sites. */
#include "backend/common/site.h"

struct device_site *device_site_find(struct device_site *first, uint32_t site)
{
	while (first && first->site != site)
		first = first->next;
	return first;
}

enum lmd_status device_site_get(struct device_site **first, uint32_t site, size_t bytes,
				enum lmd_status (*make)(void *dev, struct device_site *s,
							struct lmd_error *err),
				void *dev, const struct lmd_host *host, const char *who,
				struct device_site **out, struct lmd_error *err)
{
	struct device_site *s = device_site_find(*first, site);
	enum lmd_status st;

	*out = s;
	if (s)
		return LMD_OK;
	s = host->alloc(host->ctx, bytes);
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for adapters", who);
	s->site = site;
	st = make(dev, s, err);
	if (st != LMD_OK) {
		host->free(host->ctx, s);
		return st;
	}
	s->next = *first;
	*first = *out = s;
	return LMD_OK;
}
