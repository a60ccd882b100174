/* SPDX-License-Identifier: MIT
 *
 * shape.h - helpers for the rules in shape_*.c, which check one op each. */
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
	enum lmd_status st;	    /* sticky: after the first error all checks do nothing */
	struct lmd_error *err;
};

/* Reports an error: "op 12 linear (layer 3): " and the message. */
void shape_fail(struct shape *s, const char *fmt, ...) LMD_PRINTF(2, 3);

/* Requires value == want; otherwise reports "WHAT is VALUE, expected WANT (WHY)". */
void shape_eq(struct shape *s, const char *what, uint64_t value, const char *why, uint64_t want);
/* Requires lo <= value <= hi. */
void shape_range(struct shape *s, const char *what, uint64_t value, uint64_t lo, uint64_t hi);
/* Require an operand to be present or absent. */
bool shape_has(struct shape *s, const char *what, const struct lmd_opnd *o);
void shape_absent(struct shape *s, const char *what, const struct lmd_opnd *o, const char *why);

/* Requires an operand of exactly n_head heads of the given width.  An operand without heads that
 * has n_head * width columns is split into heads. */
void shape_heads(struct shape *s, const char *what, struct lmd_opnd *o, uint64_t n_head,
		 uint64_t width);
/* Requires an operand of n columns in any number of heads, read in order of (head, column). */
void shape_cols(struct shape *s, const char *what, const struct lmd_opnd *o, uint64_t n);
/* Requires b to have the shape of a (heads and width). */
void shape_like(struct shape *s, const char *what, struct lmd_opnd *b, const char *other,
		const struct lmd_opnd *a);
/* Returns the row space of an operand; LMD_N_SPACE if it has one row for all (WEIGHT) or rows of
 * its own. */
uint32_t shape_space(const struct shape *s, const struct lmd_opnd *o);
void shape_rows(struct shape *s, const char *what, const struct lmd_opnd *o, uint32_t space);
/* Returns the element type of an operand: enum lmd_vtype; weights are F32. */
uint32_t shape_vtype(const struct shape *s, const struct lmd_opnd *o);

/* Requires a weight of [n_stack, n, k], where 0 = any; LMD_NONE is an error.  Returns the weight,
 * or NULL after an error. */
const struct lmd_wref *shape_weight(struct shape *s, const char *what, uint32_t wref,
				    uint64_t n_stack, uint64_t n, uint64_t k);
/* Requires a weight of n elements in any shape. */
void shape_vector(struct shape *s, const char *what, uint32_t wref, uint64_t n);

/* Requires a norm over n_head heads of the given width. */
void shape_norm(struct shape *s, const char *what, struct lmd_norm *n, uint64_t n_head,
		uint64_t width);
/* Requires both or none of r_in and r_out, with the given shape. */
void shape_residual(struct shape *s, struct lmd_opnd *y, struct lmd_opnd *r_in,
		    struct lmd_opnd *r_out, uint64_t n_head, uint64_t width);
/* Requires a cache of one of the kinds in `kinds` (bits 1 << enum lmd_cache_kind).  Returns NULL
 * after an error. */
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
