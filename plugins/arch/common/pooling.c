/* SPDX-License-Identifier: MIT
 *
 * pooling.c - one vector for each sequence (or output row): pooling, the projections of
 * sentence-transformers models (dense_2, dense_3), and the classifiers of rerankers (cls,
 * cls.norm, cls.output). */
#include "arch/common/blocks.h"

static uint32_t reduce(struct arch_emit *e, struct lmd_operand x, enum lmd_reduce kind)
{
	struct lmd_op op = arch_op_empty(LMD_OP_REDUCE);
	uint32_t y = arch_value(e, LMD_SPACE_SEQS, LMD_VTYPE_F32, x.width, "pooled");

	op.u.reduce.x = x;
	op.u.reduce.y = arch_operand_cols(y, 0, x.width);
	op.u.reduce.kind = kind;
	op.u.reduce.axis = LMD_AXIS_SEQ;
	arch_emit_op(e, &op);
	return y;
}

static uint32_t leaving_rows(struct arch_emit *e, struct lmd_operand x)
{
	struct lmd_op op = arch_op_empty(LMD_OP_GATHER);
	uint32_t y = arch_value(e, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, x.width, "rows");

	op.u.gather.x = x;
	op.u.gather.y = arch_operand_cols(y, 0, x.width);
	op.u.gather.idx_kind = LMD_IDX_OUT_ROW;
	arch_emit_op(e, &op);
	return y;
}

static uint32_t in_space_of(struct arch_emit *e, uint32_t like, uint32_t width, const char *name)
{
	struct lmd_value v = {.space = LMD_SPACE_SEQS};

	(void)e->b->value_info(e->b->ctx, like, &v);
	return arch_value(e, (enum lmd_space)v.space, LMD_VTYPE_F32, width, name);
}

/* One matrix with its bias, and an activation function; x itself if the file has no such matrix. */
static uint32_t dense(struct arch_emit *e, uint32_t x, enum arch_t row, uint32_t act,
		      const char *name)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct arch_weight w = arch_weight_opt(e, &arch_rows[row]);
	uint32_t y;

	if (w.id == LMD_NONE)
		return x;
	y = in_space_of(e, x, w.n, name);
	op.u.linear.x = arch_operand_all(e, x);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.y[0] = arch_operand_cols(y, 0, w.n);
	op.u.linear.act = act;
	arch_emit_op(e, &op);
	return y;
}

static uint32_t classify(struct arch_emit *e, uint32_t x, const struct arch_pooling *p)
{
	uint32_t y = dense(e, x, T_CLS, p->rank_act, "cls"), z;

	if (y != x && arch_weight_exists(e, &arch_rows[T_CLS_NORM])) {
		struct lmd_norm n = arch_norm(e, LMD_NORM_LAYER, &arch_rows[T_CLS_NORM]);

		z = in_space_of(e, y, arch_width(e, y), "cls_norm");
		arch_put_norm(e, arch_operand_all(e, y), &n, arch_operand_all(e, z));
		y = z;
	}
	y = dense(e, y, T_CLS_OUT, LMD_ACT_FN_NONE, "labels");
	if (p->rank_softmax) {
		struct lmd_op op = arch_op_empty(LMD_OP_SOFTMAX);

		z = in_space_of(e, y, arch_width(e, y), "scores");
		op.u.softmax.x = arch_operand_all(e, y);
		op.u.softmax.y = arch_operand_all(e, z);
		arch_emit_op(e, &op);
		y = z;
	}
	return y;
}

void arch_emit_pooling(struct arch_emit *e, const struct lmd_plan_key *key, struct lmd_operand x,
		       const struct arch_pooling *p)
{
	uint32_t y;

	switch (key->pooling) {
	case LMD_POOL_UNSET:
	case LMD_POOL_NONE: y = leaving_rows(e, x); break;
	case LMD_POOL_MEAN: y = reduce(e, x, LMD_REDUCE_MEAN); break;
	case LMD_POOL_CLS: y = reduce(e, x, LMD_REDUCE_FIRST); break;
	case LMD_POOL_LAST: y = reduce(e, x, LMD_REDUCE_LAST); break;
	case LMD_POOL_RANK:
		y = reduce(e, x, p->rank_mean   ? LMD_REDUCE_MEAN
				 : p->rank_last ? LMD_REDUCE_LAST
						: LMD_REDUCE_FIRST);
		y = classify(e, y, p);
		break;
	default:
		e->b->fail(e->b->ctx, LMD_UNSUPPORTED, "pooling type %d is not in 0..4",
			   key->pooling);
		return;
	}
	y = dense(e, y, T_DENSE_2, LMD_ACT_FN_NONE, "dense_2");
	y = dense(e, y, T_DENSE_3, LMD_ACT_FN_NONE, "dense_3");
	e->b->output(e->b->ctx, LMD_OUT_EMBED, y);
}
