/* SPDX-License-Identifier: MIT
 *
 * Digest of a plan.  Each encoder is added once. */
#include "core/quantize/digest.h"

#include <stdbool.h>
#include <string.h>

#include "core/format/identity.h"

#define SEEN 1024 /* greater than every type number */

static void add_item(struct lmi_sha256 *h, const struct lmi_quantize_item *it)
{
	const struct lmi_imatrix_entry *e = it->importance;

	lmi_sha256_update(h, it->src->name, strlen(it->src->name) + 1);
	lmi_identity_u64(h, it->src->dtype);
	lmi_identity_u64(h, e ? e->n : 0);
	if (!e)
		return;
	lmi_identity_u64(h, e->n_count);
	lmi_sha256_update(h, e->sum2, (size_t)e->n * sizeof(*e->sum2));
	lmi_sha256_update(h, e->count, e->n_count * sizeof(*e->count));
}

enum lmd_status lmi_quantize_digest(const struct lmi_quantize_plan *p,
				    uint8_t out[LMI_SHA256_BYTES], struct lmd_error *err)
{
	bool seen[SEEN] = {false};
	struct lmi_sha256 h = {0};
	enum lmd_status st;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	st = lmi_identity_files(&h, p->model, err);
	for (uint32_t i = 0; i < p->n_items; i++) {
		const struct lmi_quantize_item *it = &p->items[i];

		add_item(&h, it);
		if (it->type == it->src->dtype || seen[it->type % SEEN])
			continue;
		lmi_identity_encoder(&h, it->type);
		seen[it->type % SEEN] = true;
	}
	if (st != LMD_OK)
		lmi_sha256_fini(&h);
	else if (!lmi_sha256_final(&h, out))
		st = lmd_fail(err, LMD_INTERNAL, "cannot compute the digest of the plan");
	return st;
}
