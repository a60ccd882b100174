/* SPDX-License-Identifier: MIT
 *
 * plan_fixture.h - tests: a model with made-up tensors and no file, and an architecture whose build
 * function is supplied by the test. */
#ifndef LLAMAD_CORE_PLAN_PLAN_FIXTURE_H
#define LLAMAD_CORE_PLAN_PLAN_FIXTURE_H

#include "core/plan/plan.h"

#define FX_MAX_TENSOR 128

struct fx {
	struct lmd_model model;
	struct lmd_tensor tensors[FX_MAX_TENSOR];
	char names[FX_MAX_TENSOR][32];
	struct lmd_arch_ops arch;
	struct lmd_arch_desc desc;
	struct lmi_plan_params params;
	/* the build function under test and its argument */
	void (*build)(struct fx *fx, const struct lmd_builder *b);
	void *arg;
};

/* Sets up an empty model; limits of 8 tokens, 4 outputs, 2 sequences, 16 rows of each X space. */
void fx_init(struct fx *fx, void (*build)(struct fx *fx, const struct lmd_builder *b));

/* Declares a tensor [d1, d0] (d1 0: a vector) once; returns its number. */
uint32_t fx_tensor(struct fx *fx, const char *name, uint32_t dtype, int64_t d0, int64_t d1,
		   int64_t d2);

/* A weight that is a whole f32 tensor. */
uint32_t fx_weight(struct fx *fx, const struct lmd_builder *b, const char *name, int64_t n,
		   int64_t k);
uint32_t fx_stack(struct fx *fx, const struct lmd_builder *b, const char *name, int64_t n_stack,
		  int64_t n, int64_t k);

/* Operands. */
struct lmd_opnd fx_cols(uint32_t value, uint32_t col0, uint32_t width);
struct lmd_opnd fx_heads(uint32_t value, uint32_t col0, uint32_t n_head, uint32_t stride,
			 uint32_t width);
struct lmd_opnd fx_src(uint32_t src, uint32_t id, uint32_t width);

/* Returns an op of this code with all ids absent and all scales 1. */
struct lmd_op fx_op(uint32_t code);

#endif /* LLAMAD_CORE_PLAN_PLAN_FIXTURE_H */
