/* SPDX-License-Identifier: MIT
 *
 * shape.h - the checks of one op: what the rules of shape_*.c are written in. */
#ifndef LLAMAD_CORE_PLAN_SHAPE_H
#define LLAMAD_CORE_PLAN_SHAPE_H

#include "core/plan/plan_priv.h"

struct shape {
	const struct lmd_plan *p;
	const struct lmi_op_info *info;
	struct lmd_op *op;
	uint32_t index;
	uint32_t n_lora_site;
	const uint32_t *wref_dtype; /* [n_wref] */
	enum lmd_status st;	    /* sticks: after the first refusal all checks do nothing */
	struct lmd_error *err;
};

/* Refuses: "op 12 linear (layer 3): " and the sentence. */
void shape_fail(struct shape *s, const char *fmt, ...) LMD_PRINTF(2, 3);

/* value == want, else "WHAT is VALUE, expected WANT (WHY)". */
void shape_eq(struct shape *s, const char *what, uint64_t value, const char *why, uint64_t want);
/* lo <= value <= hi. */
void shape_range(struct shape *s, const char *what, uint64_t value, uint64_t lo, uint64_t hi);
/* An operand that must (not) be there. */
bool shape_has(struct shape *s, const char *what, const struct lmd_opnd *o);
void shape_absent(struct shape *s, const char *what, const struct lmd_opnd *o, const char *why);

/* Operand of exactly n_head heads of width.  An operand without heads whose columns are
 * n_head * width is given that form. */
void shape_heads(struct shape *s, const char *what, struct lmd_opnd *o, uint64_t n_head,
		 uint64_t width);
/* Operand of n columns in any number of heads, read in order of (head, column). */
void shape_cols(struct shape *s, const char *what, const struct lmd_opnd *o, uint64_t n);
/* b of the shape of a (heads and width). */
void shape_like(struct shape *s, const char *what, struct lmd_opnd *b, const char *other,
		const struct lmd_opnd *a);
/* Row space of an operand; LMD_N_SPACE when it has one row for all (WEIGHT) or rows of its own. */
uint32_t shape_space(const struct shape *s, const struct lmd_opnd *o);
void shape_rows(struct shape *s, const char *what, const struct lmd_opnd *o, uint32_t space);
/* Element type of an operand: enum lmd_vtype; weights are F32. */
uint32_t shape_vtype(const struct shape *s, const struct lmd_opnd *o);

/* A weight of [n_stack, n, k]; LMD_NONE is refused.  0 = any.  Returns it, NULL after a refusal. */
const struct lmd_wref *shape_weight(struct shape *s, const char *what, uint32_t wref,
				    uint64_t n_stack, uint64_t n, uint64_t k);
/* A weight of n elements in any shape. */
void shape_vector(struct shape *s, const char *what, uint32_t wref, uint64_t n);

/* A norm over n_head heads of width. */
void shape_norm(struct shape *s, const char *what, struct lmd_norm *n, uint64_t n_head,
		uint64_t width);
/* r_in and r_out: both or none, of the shape given. */
void shape_residual(struct shape *s, struct lmd_opnd *y, struct lmd_opnd *r_in,
		    struct lmd_opnd *r_out, uint64_t n_head, uint64_t width);
/* A cache of one of the kinds in `kinds` (bits 1 << enum lmd_cache_kind); NULL after a refusal. */
const struct lmd_cache *shape_cache(struct shape *s, const char *what, uint32_t cache,
				    uint32_t kinds);
void shape_in_space(struct shape *s, uint32_t space, const char *why);

typedef void (*shape_rule)(struct shape *s);
void shape_embed(struct shape *s);
void shape_op_norm(struct shape *s);
void shape_linear(struct shape *s);
void shape_rope_kv(struct shape *s);
void shape_attn(struct shape *s);
void shape_glu(struct shape *s);
void shape_ffn(struct shape *s);
void shape_head(struct shape *s);
void shape_sample(struct shape *s);
void shape_ew(struct shape *s);
void shape_route(struct shape *s);
void shape_moe_ffn(struct shape *s);
void shape_bmm(struct shape *s);
void shape_gather(struct shape *s);
void shape_reduce(struct shape *s);
void shape_softmax(struct shape *s);
void shape_conv(struct shape *s);
void shape_scan(struct shape *s);
void shape_mix(struct shape *s);
void shape_index(struct shape *s);
void shape_cast_copy(struct shape *s);
void shape_allreduce(struct shape *s);
void shape_allgather(struct shape *s);
void shape_patch(struct shape *s);

#endif /* LLAMAD_CORE_PLAN_SHAPE_H */
