/* SPDX-License-Identifier: MIT
 *
 * The types of the KV cache: chosen from the options, and checked against the devices before anything
 * is placed or allocated. */
#include <stdio.h>
#include <string.h>

#include "core/engine/instance.h"
#include "core/quant/quant.h"

/* A head width of whole blocks of every type. */
#define HEAD 256u

/* Types that an error message offers. */
static const uint32_t offered[] = {LMD_DTYPE_F32,    LMD_DTYPE_F16,     LMD_DTYPE_BF16,
				   LMD_DTYPE_Q8_0,   LMD_DTYPE_F8_E4M3, LMD_DTYPE_Q5_1,
				   LMD_DTYPE_Q5_0,   LMD_DTYPE_Q4_1,    LMD_DTYPE_Q4_0,
				   LMD_DTYPE_IQ4_NL, LMD_DTYPE_Q4_0_ROT};

/* LMD_UNSUPPORTED: the device cannot store these types. One that cannot tell may store anything. */
static enum lmd_status ask(const struct lmi_inst *inst, const struct lmi_inst_device *d,
			   uint32_t k_dtype, uint32_t v_dtype, struct lmd_error *err)
{
	static const struct lmd_group group = {.name = "kv", .kind = LMD_GROUP_PAGED, .causal = 1};
	static const uint32_t id = 0;
	const struct lmd_cache cache = {.kind = LMD_CACHE_KV,
					.n_head = 1,
					.dk = HEAD,
					.dv = HEAD,
					.k_dtype = k_dtype,
					.v_dtype = v_dtype};
	const struct lmd_pool_desc desc = {.struct_size = sizeof(desc),
					   .desc = &group,
					   .n_cache = 1,
					   .caches = &cache,
					   .cache_ids = &id,
					   .n_page = 1,
					   .page_tokens = inst->page_tokens,
					   .n_seq = 1,
					   .n_index = 1};
	struct lmd_pool_cost cost = {.struct_size = sizeof(cost)};

	if (!lmi_dtype_is_for_cache(lmi_dtype(k_dtype)) ||
	    !lmi_dtype_is_for_cache(lmi_dtype(v_dtype)))
		return LMD_UNSUPPORTED;
	return d->ops->pool_query ? d->ops->pool_query(d->state, &desc, &cost, err) : LMD_OK;
}

static enum lmd_status refuse(const struct lmi_inst *inst, const struct lmi_inst_device *d,
			      const char *what, uint32_t dtype, struct lmd_error *err)
{
	const struct lmi_dtype *t = lmi_dtype(dtype);
	char list[120] = "";
	size_t n = 0;

	for (size_t i = 0; i < LMD_LEN(offered); i++)
		if (ask(inst, d, offered[i], offered[i], NULL) == LMD_OK && n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
					      lmi_dtype(offered[i])->name);
	return lmd_fail(err, LMD_UNSUPPORTED,
			"backend %s cannot store %s of type %s; it offers %s",
			d->open->backend->f->name, what, t ? t->name : "unknown", list);
}

static enum lmd_status check(const struct lmi_inst *inst, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
		const struct lmi_inst_device *d = &inst->devices[i];

		st = ask(inst, d, inst->k_dtype, LMD_DTYPE_F32, err);
		if (st == LMD_UNSUPPORTED)
			return refuse(inst, d, "keys", inst->k_dtype, err);
		if (st == LMD_OK)
			st = ask(inst, d, LMD_DTYPE_F32, inst->v_dtype, err);
		if (st == LMD_UNSUPPORTED)
			return refuse(inst, d, "values", inst->v_dtype, err);
	}
	return st;
}

enum lmd_status lmi_engine_kv_types_choose(struct lmi_inst *inst,
					   const struct lmi_engine_model_opts *o,
					   struct lmd_error *err)
{
	uint32_t preference = inst->devices[0].info->kv_dtype;

	inst->k_dtype = o->k_dtype < 0 ? preference : (uint32_t)o->k_dtype;
	inst->v_dtype = o->v_dtype < 0 ? preference : (uint32_t)o->v_dtype;
	return o->k_dtype < 0 && o->v_dtype < 0 ? LMD_OK : check(inst, err);
}
