/* SPDX-License-Identifier: MIT
 *
 * Which ops, with which parts, exact arithmetic has. */
#include "backend/common/exact.h"

#include <stdio.h>

#include "backend/common/host_mem.h"

/* ---- parts of ops ---- */

static bool plain_type(uint32_t dtype)
{
	return dtype == LMD_DTYPE_F32 || dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16;
}

struct check {
	const struct lmd_plan *plan;
	device_exact_fn product;
	char why[160]; /* "": nothing against it */
};

static void against(struct check *c, const char *what, const char *name)
{
	if (!c->why[0])
		(void)snprintf(c->why, sizeof(c->why), "%s%s%.80s", what, *name ? " " : "", name);
}

static void check_weight(struct check *c, uint32_t ref)
{
	const struct lmd_weight_ref *w = ref == LMD_NONE ? NULL : &c->plan->weight_refs[ref];

	if (w && (w->transform != LMD_TRANSFORM_NONE || !c->product(w->dtype, w->k)))
		against(c, "products with the type of tensor", w->name);
}

/* A table of which rows are selected; position and type rows are added, and only the plain types
 * are decoded without an addition. */
static void check_table(struct check *c, uint32_t ref, bool added)
{
	const struct lmd_weight_ref *w = ref == LMD_NONE ? NULL : &c->plan->weight_refs[ref];

	if (w && !plain_type(w->dtype) && w->dtype != LMD_DTYPE_I32 &&
	    (added || !c->product(w->dtype, w->k)))
		against(c, "rows with the type of tensor", w->name);
}

static void check_act(struct check *c, uint32_t act)
{
	if (act != LMD_ACT_FN_NONE && act != LMD_ACT_FN_SILU && act != LMD_ACT_FN_GELU &&
	    act != LMD_ACT_FN_GELU_QUICK && act != LMD_ACT_FN_RELU && act != LMD_ACT_FN_RELU2)
		against(c, "its activation function", "");
}

static void check_cache(struct check *c, uint32_t cache)
{
	const struct lmd_cache *d = cache == LMD_NONE ? NULL : &c->plan->caches[cache];

	if (d && (!plain_type(d->k_dtype) || (d->dv && !plain_type(d->v_dtype))))
		against(c, "a KV cache that is not f32, f16 or bf16", "");
}

static void check_softcap(struct check *c, float softcap)
{
	if (softcap != 0.0f)
		against(c, "a soft cap", "");
}

/* ---- ops ---- */

static void check_linear(struct check *c, const struct lmd_op_linear *l)
{
	for (uint32_t i = 0; i < l->n_w; i++)
		check_weight(c, l->w[i]);
	if (l->ids.src != LMD_SRC_NONE)
		against(c, "experts", "");
	check_act(c, l->act);
	check_softcap(c, l->softcap);
}

static void check_attn(struct check *c, const struct lmd_op_attn *a)
{
	for (int i = 0; i < 2; i++) {
		if (a->src[i].kind == LMD_KV_CACHE)
			check_cache(c, a->src[i].cache);
		if (a->src[i].kind != LMD_KV_NONE && a->src[i].list.src != LMD_SRC_NONE)
			against(c, "selected keys", "");
	}
	if (a->bias != LMD_BIAS_NONE && a->bias != LMD_BIAS_ALIBI)
		against(c, "a bias other than ALiBi", "");
	check_softcap(c, a->softcap);
}

static void check_op(struct check *c, const struct lmd_op *op)
{
	switch (op->code) {
	case LMD_OP_EMBED:
		check_table(c, op->u.embed.table, false);
		check_table(c, op->u.embed.pos_table, true);
		check_table(c, op->u.embed.type_table, true);
		break;
	case LMD_OP_NORM:
		if (op->u.norm.over_rows)
			against(c, "means over several rows", "");
		break;
	case LMD_OP_LINEAR:
		check_linear(c, &op->u.linear);
		break;
	case LMD_OP_ROPE_KV:
		check_cache(c, op->u.rope_kv.append ? op->u.rope_kv.cache : LMD_NONE);
		break;
	case LMD_OP_ATTN:
		check_attn(c, &op->u.attn);
		break;
	case LMD_OP_GLU:
		check_act(c, op->u.glu.act);
		break;
	case LMD_OP_FFN:
		check_weight(c, op->u.ffn.gate);
		check_weight(c, op->u.ffn.up);
		check_weight(c, op->u.ffn.down);
		check_act(c, op->u.ffn.act);
		break;
	case LMD_OP_HEAD:
		check_weight(c, op->u.head.w);
		check_softcap(c, op->u.head.softcap);
		break;
	case LMD_OP_GATHER:
		if (op->u.gather.sum)
			against(c, "sums of rows", "");
		break;
	case LMD_OP_CAST_COPY:
		break;
	default:
		against(c, "this operation", "");
		break;
	}
}

enum lmd_status device_exact_check(const struct lmd_plan *plan, device_exact_fn product,
				   const char *who, struct lmd_error *err)
{
	struct check c = {.plan = plan, .product = product};

	if (plan->key.flags & LMD_PLAN_LORA)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: deterministic = exact does not compute adapters", who);
	for (uint32_t i = 0; i < plan->n_op; i++) {
		const struct host_mem_opinfo *info = host_mem_opinfo(plan->ops[i].code);

		check_op(&c, &plan->ops[i]);
		if (c.why[0])
			return lmd_fail(err, LMD_UNSUPPORTED,
					"%s: deterministic = exact does not compute %s (op %u, %s); "
					"use deterministic = off",
					who, c.why, i, info ? info->name : "unknown");
	}
	return LMD_OK;
}

/* ---- devices ---- */

static enum lmd_status known(const struct lmd_open_params *p, const char *who,
			     struct lmd_error *err)
{
	if (p->deterministic > LMD_DETERMINISTIC_BATCH)
		return lmd_fail(err, LMD_INVALID, "%s: unknown deterministic %u, known are 0..%d",
				who, p->deterministic, LMD_DETERMINISTIC_BATCH);
	return LMD_OK;
}

enum lmd_status device_exact_open(const struct lmd_open_params *p, const char *who,
				  struct lmd_error *err)
{
	enum lmd_status st = known(p, who, err);

	if (st != LMD_OK || p->deterministic != LMD_DETERMINISTIC_EXACT)
		return st;
	if (p->activations != LMD_ACTIVATIONS_DEFAULT && p->activations != LMD_ACTIVATIONS_INT8)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: deterministic = exact needs activations = int8, not %s", who,
				p->activations == LMD_ACTIVATIONS_F32 ? "f32" : "int16");
	if (p->attention != LMD_ATTENTION_DEFAULT)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: deterministic = exact needs attention = default", who);
	return LMD_OK;
}

enum lmd_status device_exact_refuse(const struct lmd_open_params *p, const char *who,
				    struct lmd_error *err)
{
	const bool batch = p->deterministic == LMD_DETERMINISTIC_BATCH;
	enum lmd_status st = known(p, who, err);

	if (st != LMD_OK || p->deterministic == LMD_DETERMINISTIC_OFF)
		return st;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"%s: deterministic = %s is not available; use backend cpu, %scuda or hip, "
			"or deterministic = off",
			who, batch ? "batch" : "exact", batch ? "ref, " : "");
}
