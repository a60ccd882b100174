/* SPDX-License-Identifier: MIT
 *
 * The ops that are one shader each, and the table of all. */
#include "plan.h"

#include <math.h>
#include <string.h>

static struct vkb_grid columns(uint32_t n)
{
	return vkb_fixed((n + 63u) / 64u);
}

void vkb_op_embed(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_embed *e = &op->u.embed;
	const uint32_t tables[3] = {e->table, e->pos_table, e->type_table};
	const struct lmd_operand ext = {.src = b->plan->n_input ? LMD_SRC_INPUT : LMD_SRC_NONE,
					.col0 = e->ext_col0,
					.n_head = 1,
					.width = b->p->weights[e->table]->k};
	const struct vkb_weight *t = b->p->weights[e->table];
	/* the adapter's columns are the rows of the table */
	VkDeviceAddress adapters = vkb_adapters(b, e->lora_site, t->k, t->n, t->n_stack);

	for (uint32_t phase = 0; phase < 3; phase++) {
		const struct vkb_weight *w;
		uint32_t at = vkb_args(b), dtype;

		if (tables[phase] == LMD_NONE)
			continue;
		w = b->p->weights[tables[phase]];
		dtype = w->dtype == LMD_DTYPE_I32 ? LMD_DTYPE_F32 : w->dtype;
		vkb_address(b, w->rows.address);
		vkb_u32(b, w->row_bytes);
		vkb_u32(b, w->n_stack * w->n);
		vkb_u32(b, w->k);
		vkb_u32(b, e->n_id);
		vkb_u32(b, e->idx_kind == LMD_IDX_TOKEN);
		vkb_f32(b, e->scale);
		vkb_u32(b, e->neg);
		vkb_u32(b, e->neg_row);
		vkb_f32(b, e->scale_ext);
		vkb_u32(b, (uint32_t)e->pos_off);
		vkb_u32(b, e->type_row);
		vkb_address(b, b->dev->chained.address);
		vkb_view(b, &e->y);
		vkb_view(b, &e->idx);
		vkb_view(b, &e->pos);
		vkb_view(b, &ext);
		vkb_address(b, adapters);
		vkb_dispatch(b, vkb_module_for(dtype, VKB_embed, VKB_embed_all), dtype, 0, at,
			     vkb_rows(op->space, phase ? 1 : e->n_id, 1), vkb_fixed(1))
			->phase = phase;
	}
}

void vkb_op_norm(struct vkb_build *b, const struct lmd_op *op)
{
	vkb_norm_dispatch(b, &op->u.norm, NULL, op->space, false);
}

/* ---- ROPE_KV ---- */

/* Per pair: the frequency in turns of 2^-64, and the plane.  Returns the address of the words. */
static VkDeviceAddress put_rope(struct vkb_build *b, const struct lmd_rope *r)
{
	uint32_t at = vkb_args(b);

	for (uint32_t i = 0; i < r->n_rot / 2; i++) {
		double turns = fabs(r->freq[i]) / 6.283185307179586476925286766559;
		double high = floor((turns - floor(turns)) * 4294967296.0);
		double low = ((turns - floor(turns)) * 4294967296.0 - high) * 4294967296.0;

		vkb_u32(b, (uint32_t)low);
		vkb_u32(b, (uint32_t)high);
		vkb_u32(b, r->plane[i]);
	}
	return b->p->args_mem.address + 4ull * at;
}

static void put_norm(struct vkb_build *b, const struct lmd_norm *n, uint32_t width)
{
	bool any = n->kind != LMD_NORM_NONE;

	vkb_u32(b, n->kind);
	vkb_f32(b, n->eps);
	vkb_u32(b, n->n ? n->n : width ? width : 1);
	vkb_u32(b, n->g_plus_one);
	vkb_view(b, any ? &n->g : NULL);
	vkb_view(b, any ? &n->b : NULL);
}

struct vkb_cache *vkb_cache_of(struct vkb_build *b, uint32_t id)
{
	struct vkb_cache *c = id == LMD_NONE ? NULL : b->p->caches[id];

	if (id != LMD_NONE && !c && b->status == LMD_OK)
		vkb_failed(b, lmd_fail(b->err, LMD_INVALID, "vulkan: cache %u is in none of the pools",
				       id));
	return c;
}

#define WIDE_GROUPS 64u /* with memory of their own */

static uint32_t widest(const struct lmd_op_rope_kv *o)
{
	uint32_t n = o->q.width > o->k.width ? o->q.width : o->k.width;

	return n > o->v.width ? n : o->v.width;
}

void vkb_op_rope_kv(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	const struct lmd_rope *r = o->rope == LMD_NONE ? NULL : &b->plan->ropes[o->rope];
	const struct vkb_cache *c = o->append ? vkb_cache_of(b, o->cache) : NULL;
	VkDeviceAddress freq = r ? put_rope(b, r) : 0;
	uint32_t at = vkb_args(b), stores = c ? o->append : 0, most = widest(o);
	bool has_norm = o->qn.kind != LMD_NORM_NONE || o->kn.kind != LMD_NORM_NONE;
	bool is_wide = most > VKB_MOST_HEAD;
	uint32_t heads = (o->q.src ? o->q.n_head : 0) + (o->k.src ? o->k.n_head : 0) +
			 (o->v.src ? o->v.n_head : 0);

	if (c && !c->side[1].n_head)
		stores &= ~LMD_APPEND_V;
	vkb_u32(b, o->norm_when);
	vkb_u32(b, r ? r->n_rot : 0);
	vkb_u32(b, r && r->pairing == LMD_ROPE_HALVES);
	vkb_u32(b, o->rot0);
	vkb_f32(b, o->sign);
	vkb_f32(b, r ? r->magnitude : 1.0f);
	vkb_address(b, freq);
	vkb_u32(b, c ? c->desc.group : 0);
	vkb_put_side(b, c ? &c->side[0] : NULL);
	vkb_put_side(b, c ? &c->side[1] : NULL);
	vkb_u32(b, stores);
	vkb_address(b, is_wide ? vkb_take(b, 4ull * most * WIDE_GROUPS) : 0);
	vkb_u32(b, 4 * most);
	vkb_view(b, &o->q);
	vkb_view(b, &o->k);
	vkb_view(b, &o->v);
	vkb_view(b, &o->q_out);
	vkb_view(b, &o->k_out);
	vkb_view(b, &o->pos);
	put_norm(b, &o->qn, o->q.width);
	put_norm(b, &o->kn, o->k.width);
	(void)vkb_dispatch(
		b, VKB_rope_kv,
		c ? c->side[0].dtype | (stores & LMD_APPEND_V ? c->side[1].dtype : 0) << 8 : 0,
		(has_norm ? 1 : 0) | (is_wide ? 2 : 0), at,
		is_wide ? vkb_fixed(WIDE_GROUPS) : vkb_rows(op->space, heads, 1), vkb_fixed(1));
}

/* ---- elements ---- */

void vkb_op_glu(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_glu *g = &op->u.glu;
	uint32_t at = vkb_args(b);

	vkb_u32(b, g->act);
	vkb_floats(b, g->p, LMD_N_ACT_FN_PARAM);
	vkb_view(b, &g->a);
	vkb_view(b, &g->b);
	vkb_view(b, &g->y);
	(void)vkb_dispatch(b, VKB_glu, 0, 0, at, columns(g->y.width),
			   vkb_rows(op->space, g->y.n_head, 1));
}

void vkb_op_ew(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_ew *e = &op->u.ew;
	uint32_t at = vkb_args(b);

	vkb_u32(b, e->n_in);
	vkb_u32(b, e->n_out);
	vkb_u32(b, e->n_ins);
	vkb_u32(b, e->out_reg[0]);
	vkb_u32(b, e->out_reg[1]);
	for (uint32_t i = 0; i < LMD_EW_MAX_INS; i++) {
		const struct lmd_ew_ins *n = &e->ins[i];

		vkb_u32(b, n->op | (uint32_t)n->dst << 8 | (uint32_t)n->a << 16 | (uint32_t)n->b << 24);
		vkb_u32(b, n->c);
		vkb_f32(b, n->imm);
	}
	for (uint32_t i = 0; i < LMD_EW_MAX_IN; i++)
		vkb_view(b, i < e->n_in ? &e->in[i] : NULL);
	for (uint32_t i = 0; i < 2; i++)
		vkb_view(b, i < e->n_out ? &e->out[i] : NULL);
	(void)vkb_dispatch(b, VKB_ew, 0, 0, at, columns(e->out[0].width),
			   vkb_rows(op->space, e->out[0].n_head, 1));
}

void vkb_op_gather(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_gather *g = &op->u.gather;
	uint32_t at = vkb_args(b), n = g->x.n_head * g->x.width * (g->sum ? 1 : g->n_id);

	vkb_u32(b, g->idx_kind);
	vkb_u32(b, g->n_id);
	vkb_u32(b, g->sum);
	vkb_view(b, &g->x);
	vkb_view(b, &g->y);
	vkb_view(b, &g->idx);
	(void)vkb_dispatch(b, VKB_gather, 0, 0, at, columns(n), vkb_rows(op->space, 1, 1));
}

void vkb_op_cast_copy(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_cast_copy *c = &op->u.cast_copy;
	uint32_t at = vkb_args(b);

	vkb_view(b, &c->x);
	vkb_view(b, &c->y);
	(void)vkb_dispatch(b, VKB_copy, 0, 0, at, columns(c->y.width),
			   vkb_rows(op->space, c->y.n_head, 1));
}

/* ---- the table ---- */

static const vkb_op_fn table[LMD_N_OP] = {
	[LMD_OP_EMBED] = vkb_op_embed,
	[LMD_OP_NORM] = vkb_op_norm,
	[LMD_OP_LINEAR] = vkb_op_linear,
	[LMD_OP_ROPE_KV] = vkb_op_rope_kv,
	[LMD_OP_ATTN] = vkb_op_attn,
	[LMD_OP_GLU] = vkb_op_glu,
	[LMD_OP_FFN] = vkb_op_ffn,
	[LMD_OP_HEAD] = vkb_op_head,
	[LMD_OP_EW] = vkb_op_ew,
	[LMD_OP_BMM] = vkb_op_bmm,
	[LMD_OP_GATHER] = vkb_op_gather,
	[LMD_OP_CAST_COPY] = vkb_op_cast_copy,
	[LMD_OP_SOFTMAX] = vkb_op_softmax,
	[LMD_OP_REDUCE] = vkb_op_reduce,
	[LMD_OP_MIX] = vkb_op_mix,
	[LMD_OP_ROUTE] = vkb_op_route,
	[LMD_OP_MOE_FFN] = vkb_op_moe_ffn,
	[LMD_OP_SCAN] = vkb_op_scan,
	[LMD_OP_CONV] = vkb_op_conv,
	[LMD_OP_PATCH] = vkb_op_patch,
	[LMD_OP_INDEX] = vkb_op_index,
	[LMD_OP_SAMPLE] = vkb_op_sample,
	[LMD_OP_ALLREDUCE] = vkb_op_collective,
	[LMD_OP_ALLGATHER] = vkb_op_collective,
};

vkb_op_fn vkb_op_of(uint32_t code)
{
	return code < LMD_N_OP ? table[code] : NULL;
}
