/* SPDX-License-Identifier: MIT
 *
 * Types for the rows of a KV cache, and their names in options. */
#include <string.h>
#include <strings.h>

#include "core/base/printable.h"
#include "core/quant/quant.h"

bool lmi_dtype_is_for_cache(const struct lmi_dtype *t)
{
	return t && t->quant && t->dequant && (!t->is_activation || t->for_cache) &&
	       !t->row_bytes_extra && !t->needs_importance;
}

static enum lmd_status parse(const char *key, const char *name, int32_t *out, struct lmd_error *err)
{
	const struct lmi_dtype *t;
	char shown[80];

	if (!name || !*name || !strcasecmp(name, "auto"))
		return LMD_OK;
	t = lmi_dtype_by_name(name);
	if (!lmi_dtype_is_for_cache(t))
		return lmd_fail(err, LMD_INVALID, "%s: '%s' is not a data type for a KV cache", key,
				lmi_printable(shown, sizeof(shown), name, strlen(name)));
	*out = (int32_t)t->id;
	return LMD_OK;
}

enum lmd_status lmi_dtype_parse_cache(const struct lmi_dtype_cache_names *names, bool is_option,
				      int32_t *k_dtype, int32_t *v_dtype, struct lmd_error *err)
{
	int32_t both = -1, k, v;
	enum lmd_status st = parse(is_option ? "--kv-type" : "kv_type", names->both, &both, err);

	k = v = both;
	if (st == LMD_OK)
		st = parse(is_option ? "--kv-type-k" : "kv_type_k", names->k, &k, err);
	if (st == LMD_OK)
		st = parse(is_option ? "--kv-type-v" : "kv_type_v", names->v, &v, err);
	if (st != LMD_OK)
		return st;
	*k_dtype = k;
	*v_dtype = v;
	return LMD_OK;
}
