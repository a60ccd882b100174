/* SPDX-License-Identifier: MIT
 *
 * Ops without products: EMBED, NORM, GLU, EW, GATHER and CAST_COPY. */
#include <string.h>

#include "plan.h"

#define N_SUM (64 * sizeof(float)) /* shared memory of a sum over a block */

static uint64_t columns(const struct gpu_view *v)
{
	return (uint64_t)v->n_head * v->width;
}

void gpu_lower_embed(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_embed *e = &op->u.embed;
	struct gpu_embed_args a = {
		.run = b->p->run,
		.table = gpu_build_weight(b, e->table),
		.pos_table = gpu_build_weight(b, e->pos_table),
		.type_table = gpu_build_weight(b, e->type_table),
		.y = gpu_build_view(b, &e->y),
		.idx = gpu_build_view(b, &e->idx),
		.pos = gpu_build_view(b, &e->pos),
		.use_token = e->idx_kind == LMD_IDX_TOKEN,
		.n_id = e->n_id,
		.scale = e->scale,
		.scale_ext = e->scale_ext,
		.pos_off = e->pos_off,
		.type_row = e->type_row,
		.neg = e->neg,
		.neg_row = e->neg_row,
		.ext_col0 = e->ext_col0,
		.ext_width = b->plan->n_input ? b->plan->inputs[0].width : 0,
		.lora = gpu_build_adapters(b, e->lora_site),
		.n_slot = GPU_N_SLOT,
	};

	gpu_build_each(b, GPU_K_embed, &a, sizeof(a), &a.y, columns(&a.y));
}

void gpu_lower_norm(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_norm *n = &op->u.norm;
	struct gpu_norm_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &n->x),
		.r = gpu_build_view(b, &n->r),
		.h = gpu_build_view(b, &n->h),
		.y = gpu_build_view(b, &n->y),
		.stat = gpu_build_view(b, &n->stat),
		.norm = gpu_build_norm(b, &n->norm),
		.a = n->a,
		.over_rows = n->over_rows,
	};
	struct gpu_view seqs = {.space = LMD_SPACE_SEQS, .div = 1};
	uint32_t size = n->norm.n ? n->norm.n : a.y.width;

	if (n->over_rows)
		gpu_build_block(b, GPU_K_norm_seq, &a, sizeof(a), 256, N_SUM, &seqs,
				(a.y.width + size - 1) / size);
	else
		gpu_build_block(b, gpu_norm_kernel(b), &a, sizeof(a), 256, N_SUM, &a.y, a.y.n_head);
}

void gpu_lower_glu(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_glu *g = &op->u.glu;
	struct gpu_glu_args a = {
		.run = b->p->run,
		.a = gpu_build_view(b, &g->a),
		.b = gpu_build_view(b, &g->b),
		.y = gpu_build_view(b, &g->y),
		.act = g->act,
	};

	memcpy(a.p, g->p, sizeof(a.p));
	gpu_build_each(b, gpu_glu_kernel(b), &a, sizeof(a), &a.y, columns(&a.y));
}

void gpu_lower_ew(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_ew *e = &op->u.ew;
	struct gpu_ew_args a = {
		.run = b->p->run, .n_in = e->n_in, .n_out = e->n_out, .n_ins = e->n_ins};

	LMD_STATIC_ASSERT(sizeof(struct gpu_ew_ins) == sizeof(struct lmd_ew_ins),
			  "copied as they are");
	for (uint32_t i = 0; i < e->n_in; i++)
		a.in[i] = gpu_build_view(b, &e->in[i]);
	for (uint32_t i = 0; i < e->n_out; i++)
		a.out[i] = gpu_build_view(b, &e->out[i]);
	memcpy(a.ins, e->ins, sizeof(a.ins));
	memcpy(a.out_reg, e->out_reg, sizeof(a.out_reg));
	gpu_build_each(b, GPU_K_ew, &a, sizeof(a), &a.out[0], columns(&a.out[0]));
}

void gpu_lower_gather(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_gather *g = &op->u.gather;
	struct gpu_gather_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &g->x),
		.y = gpu_build_view(b, &g->y),
		.idx = gpu_build_view(b, &g->idx),
		.idx_kind = g->idx_kind,
		.n_id = g->n_id,
		.sum = g->sum,
	};

	gpu_build_each(b, GPU_K_gather, &a, sizeof(a), &a.y, columns(&a.y));
}

void gpu_lower_cast_copy(struct gpu_build *b, const struct lmd_op *op)
{
	struct gpu_copy_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &op->u.cast_copy.x),
		.y = gpu_build_view(b, &op->u.cast_copy.y),
	};

	gpu_build_each(b, GPU_K_copy, &a, sizeof(a), &a.y, columns(&a.y));
}
