/* SPDX-License-Identifier: MIT
 *
 * op_check.h - helpers for the rules in shape_*.c, which check one op each. */
#ifndef LLAMAD_CORE_PLAN_OP_CHECK_H
#define LLAMAD_CORE_PLAN_OP_CHECK_H

#include "core/plan/plan_priv.h"

struct lmi_plan_shape {
	const struct lmd_plan *p;
	const struct lmi_plan_op_info *info;
	struct lmd_op *op;
	uint32_t index;
	uint32_t n_lora_site;
	enum lmd_status st;               /* sticky: after the first error all checks do nothing */
	struct lmd_error *err;
};

/* Reports an error: "op 12 linear (layer 3): " and the message. */
void lmi_plan_shape_fail(struct lmi_plan_shape *s, const char *fmt, ...) LMD_PRINTF(2, 3);

/* Requires value == want; otherwise reports "WHAT is VALUE, expected WANT (WHY)". */
void lmi_plan_shape_eq(struct lmi_plan_shape *s, const char *what, uint64_t value, const char *why,
		       uint64_t want);
/* Requires lo <= value <= hi. */
void lmi_plan_shape_range(struct lmi_plan_shape *s, const char *what, uint64_t value, uint64_t lo,
			  uint64_t hi);
/* Require an operand to be present or absent. */
bool lmi_plan_shape_has(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o);
void lmi_plan_shape_absent(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o,
			   const char *why);

/* Requires an operand of exactly n_head heads of the given width.  An operand without heads that
 * has n_head * width columns is split into heads. */
void lmi_plan_shape_heads(struct lmi_plan_shape *s, const char *what, struct lmd_operand *o,
			  uint64_t n_head, uint64_t width);
/* Requires an operand of n columns in any number of heads, read in order of (head, column). */
void lmi_plan_shape_cols(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o,
			 uint64_t n);
/* Requires b to have the shape of a (heads and width). */
void lmi_plan_shape_like(struct lmi_plan_shape *s, const char *what, struct lmd_operand *b,
			 const char *other, const struct lmd_operand *a);
/* Returns the row space of an operand; LMD_N_SPACE if it has one row for all (WEIGHT) or rows of
 * its own. */
uint32_t lmi_plan_shape_space(const struct lmi_plan_shape *s, const struct lmd_operand *o);
/* May rows of this space be folded, or be reduced in blocks, to the rows of the op? */
bool lmi_plan_shape_may_fold(const struct lmi_plan_shape *s, uint32_t from);
void lmi_plan_shape_rows(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o,
			 uint32_t space);
/* Returns the element type of an operand: enum lmd_vtype; weights are F32. */
uint32_t lmi_plan_shape_vtype(const struct lmi_plan_shape *s, const struct lmd_operand *o);

/* Requires a weight of [n_stack, n, k], where 0 = any; LMD_NONE is an error.  Returns the weight,
 * or NULL after an error. */
const struct lmd_weight_ref *lmi_plan_shape_weight(struct lmi_plan_shape *s, const char *what,
						   uint32_t weight_ref, uint64_t n_stack,
						   uint64_t n, uint64_t k);
/* Requires a weight of n elements in any shape. */
void lmi_plan_shape_vector(struct lmi_plan_shape *s, const char *what, uint32_t weight_ref,
			   uint64_t n);

/* Requires a norm over n_head heads of the given width. */
void lmi_plan_shape_norm(struct lmi_plan_shape *s, const char *what, struct lmd_norm *n,
			 uint64_t n_head, uint64_t width);
/* Requires both or none of r_in and r_out, with the given shape. */
void lmi_plan_shape_residual(struct lmi_plan_shape *s, struct lmd_operand *y,
			     struct lmd_operand *r_in, struct lmd_operand *r_out, uint64_t n_head,
			     uint64_t width);
/* Requires a cache of one of the kinds in `kinds` (bits 1 << enum lmd_cache_kind).  Returns NULL
 * after an error. */
const struct lmd_cache *lmi_plan_shape_cache(struct lmi_plan_shape *s, const char *what,
					     uint32_t cache, uint32_t kinds);
void lmi_plan_shape_in_space(struct lmi_plan_shape *s, uint32_t space, const char *why);

typedef void (*shape_rule)(struct lmi_plan_shape *s);
void lmi_plan_shape_embed(struct lmi_plan_shape *s);
void lmi_plan_shape_op_norm(struct lmi_plan_shape *s);
void lmi_plan_shape_linear(struct lmi_plan_shape *s);
void lmi_plan_shape_rope_kv(struct lmi_plan_shape *s);
void lmi_plan_shape_attn(struct lmi_plan_shape *s);
void lmi_plan_shape_glu(struct lmi_plan_shape *s);
void lmi_plan_shape_ffn(struct lmi_plan_shape *s);
void lmi_plan_shape_head(struct lmi_plan_shape *s);
void lmi_plan_shape_sample(struct lmi_plan_shape *s);
void lmi_plan_shape_ew(struct lmi_plan_shape *s);
void lmi_plan_shape_route(struct lmi_plan_shape *s);
void lmi_plan_shape_moe_ffn(struct lmi_plan_shape *s);
void lmi_plan_shape_bmm(struct lmi_plan_shape *s);
void lmi_plan_shape_gather(struct lmi_plan_shape *s);
void lmi_plan_shape_reduce(struct lmi_plan_shape *s);
void lmi_plan_shape_softmax(struct lmi_plan_shape *s);
void lmi_plan_shape_conv(struct lmi_plan_shape *s);
void lmi_plan_shape_scan(struct lmi_plan_shape *s);
void lmi_plan_shape_mix(struct lmi_plan_shape *s);
void lmi_plan_shape_index(struct lmi_plan_shape *s);
void lmi_plan_shape_cast_copy(struct lmi_plan_shape *s);
void lmi_plan_shape_allreduce(struct lmi_plan_shape *s);
void lmi_plan_shape_allgather(struct lmi_plan_shape *s);
void lmi_plan_shape_patch(struct lmi_plan_shape *s);

#endif /* LLAMAD_CORE_PLAN_OP_CHECK_H */
