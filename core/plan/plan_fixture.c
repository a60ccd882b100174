/* SPDX-License-Identifier: MIT */
#include "core/plan/plan_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_priv.h"

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	struct fx *fx;

	(void)key;
	memcpy(&fx, &state, sizeof(fx));
	fx->build(fx, b);
	return b->status(b->ctx);
}

void fx_init(struct fx *fx, void (*fn)(struct fx *fx, const struct lmd_builder *b))
{
	static const uint32_t rows[LMD_N_SPACE] = {8, 4, 2, 16, 16, 16, 16, 16, 16};

	memset(fx, 0, sizeof(*fx));
	fx->model.struct_size = sizeof(fx->model);
	fx->model.arch = "fake";
	fx->model.name = "fake";
	fx->model.tensors = fx->tensors;
	fx->arch.struct_size = sizeof(fx->arch);
	fx->arch.build = build;
	fx->desc.struct_size = sizeof(fx->desc);
	fx->desc.state = fx;
	fx->desc.n_variant = 1;
	fx->build = fn;
	fx->params.model = &fx->model;
	fx->params.arch = &fx->arch;
	fx->params.desc = &fx->desc;
	fx->params.key.struct_size = sizeof(fx->params.key);
	fx->params.key.pooling = LMD_POOL_UNSET;
	fx->params.act_dtype = LMD_DTYPE_F32;
	fx->params.k_dtype = fx->params.v_dtype = LMD_DTYPE_F32;
	memcpy(fx->params.max_rows, rows, sizeof(rows));
}

uint32_t fx_tensor(struct fx *fx, const char *name, uint32_t dtype, int64_t d0, int64_t d1,
		   int64_t d2)
{
	uint32_t i;

	for (i = 0; i < fx->model.n_tensors; i++)
		if (!strcmp(fx->tensors[i].name, name))
			return i;
	if (i == FX_MAX_TENSOR)
		abort();
	snprintf(fx->names[i], sizeof(fx->names[i]), "%s", name);
	fx->tensors[i] = (struct lmd_tensor){
		.name = fx->names[i],
		.dtype = dtype,
		.n_dim = d2   ? 3
			 : d1 ? 2
			      : 1,
		.dims = {d0, d1 ? d1 : 1, d2 ? d2 : 1, 1},
	};
	fx->model.n_tensors++;
	return i;
}

static uint32_t weight(const struct lmd_builder *b, uint32_t tensor, uint32_t n_stack)
{
	const struct lmd_weight_part part = {.kind = LMD_WEIGHT_PART_TENSOR, .tensor = tensor};
	const struct lmd_weight_ref w = {.n_part = 1,
					 .parts = &part,
					 .n_stack = n_stack,
					 .scale = LMD_NONE,
					 .bias = LMD_NONE};

	return b->weight_ref(b->ctx, &w);
}

uint32_t fx_weight(struct fx *fx, const struct lmd_builder *b, const char *name, int64_t n,
		   int64_t k)
{
	return weight(b, fx_tensor(fx, name, LMD_DTYPE_F32, k, n > 1 ? n : 0, 0), 1);
}

uint32_t fx_stack(struct fx *fx, const struct lmd_builder *b, const char *name, int64_t n_stack,
		  int64_t n, int64_t k)
{
	return weight(b, fx_tensor(fx, name, LMD_DTYPE_F32, k, n, n_stack), (uint32_t)n_stack);
}

struct lmd_operand fx_cols(uint32_t value, uint32_t col0, uint32_t width)
{
	return (struct lmd_operand){
		.src = LMD_SRC_VALUE, .id = value, .col0 = col0, .n_head = 1, .width = width};
}

struct lmd_operand fx_heads(uint32_t value, uint32_t col0, uint32_t n_head, uint32_t stride,
			    uint32_t width)
{
	return (struct lmd_operand){.src = LMD_SRC_VALUE,
				    .id = value,
				    .col0 = col0,
				    .n_head = n_head,
				    .head_stride = stride,
				    .width = width};
}

struct lmd_operand fx_src(uint32_t src, uint32_t id, uint32_t width)
{
	return (struct lmd_operand){.src = src, .id = id, .n_head = 1, .width = width};
}

struct lmd_op fx_op(uint32_t code)
{
	struct lmd_op op;

	lmi_plan_op_init(&op, code);
	return op;
}
