/* SPDX-License-Identifier: MIT
 *
 * lower.h - helpers for the decompositions in lower_*.c.
 *
 * A rule gets an op that the device does not support and emits simpler ops that compute the same
 * values; each of these is offered to the device in turn.  A rule that cannot simplify its op
 * changes nothing and returns false. */
#ifndef LLAMAD_CORE_PLAN_LOWER_H
#define LLAMAD_CORE_PLAN_LOWER_H

#include "core/plan/plan_priv.h"

struct lmi_plan_lower {
	struct lmi_plan *p;
	lmi_plan_support_fn support; /* NULL: decompose everything that can be decomposed */
	lmi_plan_keep_fn keep;	     /* may be NULL */
	void *arg;
	struct lmd_op *out; /* the new list of ops */
	uint32_t n, cap;
	uint32_t depth;
	const struct lmd_op *from; /* the op being decomposed */
	enum lmd_status st;	   /* sticky */
	struct lmd_error *err;
};

/* Creates a value in the row space of the op, named after `like` (an operand of the op). */
uint32_t lmi_plan_lower_value(struct lmi_plan_lower *l, const struct lmd_operand *like,
			      uint32_t vtype, uint64_t width, const char *suffix);
/* Creates such a value and returns it as an operand of n_head heads. */
struct lmd_operand lmi_plan_lower_temp(struct lmi_plan_lower *l, const struct lmd_operand *like,
				       uint32_t vtype, uint64_t n_head, uint64_t width,
				       const char *suffix);
/* Creates an f32 weight of n numbers. */
uint32_t lmi_plan_lower_literal(struct lmi_plan_lower *l, const float *v, uint32_t n,
				const char *name);
/* Appends an op of the same layer, or its decomposition. */
void lmi_plan_lower_emit(struct lmi_plan_lower *l, struct lmd_op *op);

/* ---- EW programs ---- */

struct lmi_plan_prog {
	struct lmd_op op;
	uint8_t next; /* next free register */
	bool full;    /* the program has become too large */
};
void lmi_plan_prog_init(struct lmi_plan_prog *g);
uint8_t lmi_plan_prog_in(struct lmi_plan_prog *g, const struct lmd_operand *o);
uint8_t lmi_plan_prog_const(struct lmi_plan_prog *g, float v);
/* Appends an instruction; unused arguments are 0. */
uint8_t lmi_plan_prog_ins(struct lmi_plan_prog *g, uint32_t op, uint8_t a, uint8_t b, uint8_t c);
void lmi_plan_prog_out(struct lmi_plan_prog *g, const struct lmd_operand *o, uint8_t reg);
/* Appends act(x) times b, or act(x) if b is NULL. */
uint8_t lmi_plan_prog_act(struct lmi_plan_prog *g, uint32_t act, const float *p, uint8_t x,
			  const uint8_t *b);
/* Appends y = v and r_out = r_in + a*v, for those outputs that exist. */
void lmi_plan_prog_store(struct lmi_plan_prog *g, uint8_t v, const struct lmd_operand *y, float a,
			 const struct lmd_operand *r_in, const struct lmd_operand *r_out);

typedef bool (*lower_rule)(struct lmi_plan_lower *l, const struct lmd_op *op);
bool lmi_plan_lower_norm(struct lmi_plan_lower *l, const struct lmd_op *op);
bool lmi_plan_lower_linear(struct lmi_plan_lower *l, const struct lmd_op *op);
bool lmi_plan_lower_rope_kv(struct lmi_plan_lower *l, const struct lmd_op *op);
bool lmi_plan_lower_glu(struct lmi_plan_lower *l, const struct lmd_op *op);
bool lmi_plan_lower_ffn(struct lmi_plan_lower *l, const struct lmd_op *op);
bool lmi_plan_lower_head(struct lmi_plan_lower *l, const struct lmd_op *op);
bool lmi_plan_lower_moe_ffn(struct lmi_plan_lower *l, const struct lmd_op *op);

#endif /* LLAMAD_CORE_PLAN_LOWER_H */
