/* SPDX-License-Identifier: MIT
 *
 * lower.h - what the decompositions of lower_*.c are written in.
 *
 * A rule gets an op that the device refuses and emits simpler ops that give the same values; each
 * of these is offered to the device in turn.  It returns false, having done nothing, when the op is
 * as simple as it gets. */
#ifndef LLAMAD_CORE_PLAN_LOWER_H
#define LLAMAD_CORE_PLAN_LOWER_H

#include "core/plan/plan_priv.h"

struct lower {
	struct lmi_plan *p;
	lmi_support_fn support; /* NULL: everything that can be decomposed is */
	void *arg;
	struct lmd_op *out; /* the new list */
	uint32_t n, cap;
	uint32_t depth;
	const struct lmd_op *from; /* being decomposed */
	enum lmd_status st;	   /* sticks */
	struct lmd_error *err;
};

/* A new value in the row space of the op, named after `like` (an operand of it). */
uint32_t lower_value(struct lower *l, const struct lmd_opnd *like, uint32_t vtype, uint64_t width,
		     const char *suffix);
/* The same as an operand of n_head heads. */
struct lmd_opnd lower_temp(struct lower *l, const struct lmd_opnd *like, uint32_t vtype,
			   uint64_t n_head, uint64_t width, const char *suffix);
/* An f32 weight of n numbers. */
uint32_t lower_literal(struct lower *l, const float *v, uint32_t n, const char *name);
/* Appends an op of the same layer, or what it decomposes into. */
void lower_emit(struct lower *l, struct lmd_op *op);

/* ---- EW programs ---- */

struct prog {
	struct lmd_op op;
	uint8_t next; /* free register */
	bool full;    /* more than a program can hold */
};
void prog_init(struct prog *g);
uint8_t prog_in(struct prog *g, const struct lmd_opnd *o);
uint8_t prog_const(struct prog *g, float v);
/* Unused arguments are 0. */
uint8_t prog_ins(struct prog *g, uint32_t op, uint8_t a, uint8_t b, uint8_t c);
void prog_out(struct prog *g, const struct lmd_opnd *o, uint8_t reg);
/* act(x) times b, b == NULL: act(x). */
uint8_t prog_act(struct prog *g, uint32_t act, const float *p, uint8_t x, const uint8_t *b);
/* y = v, r_out = r_in + a*v, for those that are there. */
void prog_store(struct prog *g, uint8_t v, const struct lmd_opnd *y, float a,
		const struct lmd_opnd *r_in, const struct lmd_opnd *r_out);

typedef bool (*lower_rule)(struct lower *l, const struct lmd_op *op);
bool lower_norm(struct lower *l, const struct lmd_op *op);
bool lower_linear(struct lower *l, const struct lmd_op *op);
bool lower_rope_kv(struct lower *l, const struct lmd_op *op);
bool lower_glu(struct lower *l, const struct lmd_op *op);
bool lower_ffn(struct lower *l, const struct lmd_op *op);
bool lower_head(struct lower *l, const struct lmd_op *op);
bool lower_moe_ffn(struct lower *l, const struct lmd_op *op);

#endif /* LLAMAD_CORE_PLAN_LOWER_H */
