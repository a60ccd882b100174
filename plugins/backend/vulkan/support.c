/* SPDX-License-Identifier: MIT
 *
 * Which ops the device runs. */
#include <stdio.h>

#include "plan.h"

#define MOST_STATE 256u          /* numbers of a column of a state, as in shaders/scan.comp */
#define MOST_USED  64u           /* as in shaders/route.comp */
#define MOST_GROUP 128u

static bool has_types(const struct lmd_plan *plan, uint32_t cache)
{
	const struct lmd_cache *c = cache == LMD_NONE ? NULL : &plan->caches[cache];

	return !c || (vkb_has_cache_type(c->k_dtype) &&
		      (c->kind != LMD_CACHE_KV || vkb_has_cache_type(c->v_dtype)));
}

static const char *attn_reason(const struct lmd_plan *plan, const struct lmd_op_attn *a)
{
	if (a->q.width > VKB_MOST_HEAD || a->y.width > VKB_MOST_HEAD)
		return "heads of more than 1024 columns";
	for (int i = 0; i < 2; i++) {
		if (a->src[i].kind == LMD_KV_CACHE && !has_types(plan, a->src[i].cache))
			return "the cache's type";
	}
	return NULL;
}

static bool has_state(const struct lmd_plan *plan, uint32_t cache)
{
	return cache == LMD_NONE || plan->caches[cache].k_dtype == LMD_DTYPE_F32;
}

const char *vkb_op_reason(const struct lmd_plan *plan, const struct lmd_op *op)
{
	if (!vkb_op_of(op->code))
		return "there is no shader for this op";
	if ((op->code == LMD_OP_SCAN && !has_state(plan, op->u.scan.cache)) ||
	    (op->code == LMD_OP_CONV && !has_state(plan, op->u.conv.cache)))
		return "a state that is not f32";
	if (op->code == LMD_OP_SCAN && op->u.scan.dk > MOST_STATE)
		return "states of more than 256 rows";
	if (op->code == LMD_OP_ROUTE && op->u.route.k > MOST_USED)
		return "more than 64 chosen experts";
	if (op->code == LMD_OP_ROUTE && op->u.route.n_group > MOST_GROUP)
		return "more than 128 groups of experts";
	if (op->code == LMD_OP_PATCH && op->u.patch.y.n_head > 1)
		return "rows of several heads";
	if ((op->code == LMD_OP_INDEX && !has_types(plan, op->u.index.cache)) ||
	    (op->code == LMD_OP_ROPE_KV && !has_types(plan, op->u.rope_kv.cache)))
		return "the cache's type";
	return op->code == LMD_OP_ATTN ? attn_reason(plan, &op->u.attn) : NULL;
}

void vkb_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out)
{
	const char *reason = vkb_op_reason(plan, op);
	struct lmd_support s = {.native = !reason};

	(void)state;
	if (reason)
		(void)snprintf(s.reason, sizeof(s.reason), "vulkan: %s", reason);
	else if (op->code == LMD_OP_LINEAR)
		(void)snprintf(s.reason, sizeof(s.reason),
			       "without cooperative matrices: there is no shader for them");
	LMD_PUT(out, &s);
}
