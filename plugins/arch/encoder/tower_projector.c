/* SPDX-License-Identifier: MIT
 *
 * The projectors of vision towers: what they compute, and what a language model was trained to see
 * around the rows of a picture. */
#include <stdio.h>
#include <string.h>

#include "arch/encoder/tower.h"

/* A block of merge x merge neighbouring rows as one row. */
static struct lmd_operand block(const struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	struct lmd_operand o = arch_operand_all(e, x);

	o.fold = m->x_ratio;
	o.width *= o.fold;
	o.head_stride = o.width;
	return o;
}

/* act(x W^T) in a row space. */
static uint32_t linear(struct arch_emit *e, uint32_t space, struct lmd_operand x,
		       const struct lmd_tensor_row *row, uint32_t act, const char *name)
{
	struct arch_weight w = arch_weight_req(e, row);
	uint32_t y = arch_value(e, (enum lmd_space)space, LMD_VTYPE_F32, w.n ? w.n : 1, name);
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);

	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.y[0] = arch_operand_all(e, y);
	op.u.linear.act = act;
	arch_emit_op(e, &op);
	return y;
}

/* Idefics3 (arXiv 2408.12637), SmolVLM (arXiv 2504.05299): pixel shuffle and a matrix. */
static uint32_t idefics3(struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	bool merges = m->picture.merge > 1;

	return linear(e, merges ? LMD_SPACE_X0 : LMD_SPACE_TOKENS, block(e, m, x), &arch_tower_rows[TW_FC],
		      LMD_ACT_FN_NONE, "rows");
}

/* LLaVA 1.5 (arXiv 2310.03744): two matrices. */
static uint32_t mlp(struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	uint32_t h = linear(e, LMD_SPACE_TOKENS, block(e, m, x), &arch_tower_rows[TW_MM_0],
			    LMD_ACT_FN_GELU_ERF, "mm_0");

	return linear(e, LMD_SPACE_TOKENS, arch_operand_all(e, h), &arch_tower_rows[TW_MM_2],
		      LMD_ACT_FN_NONE, "rows");
}

/* Qwen2-VL (arXiv 2409.12191): blocks of 2 x 2, two matrices. */
static uint32_t qwen2vl(struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	uint32_t h = linear(e, LMD_SPACE_X0, block(e, m, x), &arch_tower_rows[TW_MM_0], LMD_ACT_FN_GELU_ERF,
			    "mm_0");

	return linear(e, LMD_SPACE_X0, arch_operand_all(e, h), &arch_tower_rows[TW_MM_2], LMD_ACT_FN_NONE,
		      "rows");
}

/* Gemma 3 (arXiv 2503.19786): the mean of each block, an RMS norm, and a matrix that is stored the other
 * way round. */
static uint32_t gemma3(struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	uint32_t n = m->hp.n_embd;
	uint32_t mean = arch_value(e, LMD_SPACE_X0, LMD_VTYPE_F32, n, "mean"),
		 y = arch_value(e, LMD_SPACE_X0, LMD_VTYPE_F32, m->n_out, "rows");
	struct lmd_weight_part part = {.kind = LMD_WEIGHT_PART_TENSOR,
				       .tensor = arch_hp_tensor(&m->hp, m->projector->required)};
	const struct lmd_weight_ref w = {.struct_size = sizeof(w),
					 .n_part = 1,
					 .parts = &part,
					 .transform = LMD_TRANSFORM_HEAD_TRANSPOSE,
					 .n_head = 1,
					 .n_stack = 1,
					 .n = m->n_out,
					 .k = n,
					 .scale = LMD_NONE,
					 .bias = LMD_NONE,
					 .name = m->projector->required};
	struct lmd_op op = arch_op_empty(LMD_OP_REDUCE);

	op.u.reduce.x = arch_operand_all(e, x);
	op.u.reduce.y = arch_operand_all(e, mean);
	op.u.reduce.kind = LMD_REDUCE_MEAN;
	op.u.reduce.axis = LMD_AXIS_BLOCK;
	op.u.reduce.n = m->x_ratio;
	arch_emit_op(e, &op);
	op = arch_op_empty(LMD_OP_LINEAR);
	op.u.linear.x = arch_operand_all(e, mean);
	op.u.linear.pro = arch_norm_req(e, LMD_NORM_RMS, &arch_tower_rows[TW_MM_NORM]);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = e->b->weight_ref(e->b->ctx, &w);
	op.u.linear.y[0] = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	return y;
}

static const struct arch_projector projectors[] = {
	{.name = "idefics3",
	 .required = "mm.model.fc.weight",
	 .emit = idefics3,
	 .picture = {.fit = LMD_PICTURE_TILES,
		     .filter = LMD_PICTURE_LANCZOS,
		     .before = "<fake_token_around_image><global-img>",
		     .after = "<fake_token_around_image>",
		     .tile = "<fake_token_around_image><row_%r_col_%c>",
		     .line_end = "\n",
		     .whole = "\n<fake_token_around_image><global-img>"}},
	{.name = "mlp",
	 .merge = 1,
	 .required = "mm.2.weight",
	 .emit = mlp,
	 .picture = {.fit = LMD_PICTURE_PAD,
		     .before = "",
		     .after = "",
		     .tile = "",
		     .line_end = "",
		     .whole = ""}},
	{.name = "gemma3",
	 .merge = 4,
	 .required = "mm.input_projection.weight",
	 .emit = gemma3,
	 .picture = {.fit = LMD_PICTURE_SQUARE,
		     .filter = LMD_PICTURE_BILINEAR,
		     .flags = LMD_PICTURE_BOTH_WAYS,
		     .before = "\n\n<start_of_image>",
		     .after = "<end_of_image>\n\n",
		     .tile = "",
		     .line_end = "",
		     .whole = ""}},
	{.name = "qwen2vl_merger",
	 .merge = 2,
	 .rope = true,
	 .required = "mm.2.weight",
	 .emit = qwen2vl,
	 .picture = {.fit = LMD_PICTURE_FREE,
		     .flags = LMD_PICTURE_GRID,
		     .min_pixels = 16,
		     .max_pixels = 4096,
		     .before = "<|vision_start|>",
		     .after = "<|vision_end|>",
		     .tile = "",
		     .line_end = "",
		     .whole = ""}},
};

const struct arch_projector *arch_projector_find(struct lmd_str name)
{
	for (size_t i = 0; i < LMD_LEN(projectors); i++)
		if (strlen(projectors[i].name) == name.len &&
		    !memcmp(projectors[i].name, name.ptr, name.len))
			return &projectors[i];
	return NULL;
}

void arch_projector_names(char *out, size_t n)
{
	size_t at = 0;

	*out = 0;
	for (size_t i = 0; i < LMD_LEN(projectors) && at < n; i++)
		at += (size_t)snprintf(out + at, n - at, "%s%s", i ? ", " : "", projectors[i].name);
}
