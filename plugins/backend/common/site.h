/* SPDX-License-Identifier: MIT
 *
 * site.h - the list of adapter sites of a device with memory of its own.  A site has a table there,
 * which compiled plans name, so it stays until the device is closed.
 *
 * Threads: one at a time for each list. */
#ifndef LLAMAD_BACKEND_COMMON_SITE_H
#define LLAMAD_BACKEND_COMMON_SITE_H

#include "llamad/backend.h"

/* What a backend's own site begins with. */
struct device_site {
	struct device_site *next;
	uint32_t site;
};

/* Returns the site of this number; NULL: there is none. */
struct device_site *device_site_find(struct device_site *first, uint32_t site);

/* Finds a site, or makes one of `bytes` bytes, all of them 0 except its number.  make: gives the
 * site its table on the device; what it took it also frees when it fails.  LMD_NOMEM. */
enum lmd_status device_site_get(struct device_site **first, uint32_t site, size_t bytes,
				enum lmd_status (*make)(void *dev, struct device_site *s,
							struct lmd_error *err),
				void *dev, const struct lmd_host *host, const char *who,
				struct device_site **out, struct lmd_error *err);

#endif /* LLAMAD_BACKEND_COMMON_SITE_H */
