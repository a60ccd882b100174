/* SPDX-License-Identifier: MIT
 *
 * plan_priv.h - shared by the files of this folder: a plan under construction. */
#ifndef LLAMAD_CORE_PLAN_PLAN_PRIV_H
#define LLAMAD_CORE_PLAN_PLAN_PRIV_H

#include "core/plan/plan.h"

/* A plan and its memory.  The arrays of `view` grow on the heap; everything they point to (names,
 * parts, literals, tables) lies in the arena. */
struct lmi_plan {
	struct lmd_plan view;
	struct lmd_arena *arena;
	const struct lmd_host *host;
	const struct lmd_model *model, *target;
	struct lmd_value *values;
	struct lmd_op *ops;
	struct lmd_weight_ref *weight_refs;
	struct lmd_rope *ropes;
	struct lmd_input *inputs;
	struct lmd_output *outputs;
	struct lmd_cache *caches; /* in the arena */
	uint32_t cap_value, cap_op, cap_weight_ref, cap_rope, cap_input, cap_output;
	uint32_t n_lora_site;
};

/* A build function that exceeds this number of ops, values or weights is considered to be in an
 * endless loop. */
#define LMI_PLAN_MAX  (1u << 20)
#define LMI_PLAN_MAX_WIDTH (1u << 24)

/* ---- plan_store.c ---- */

/* Creates an empty plan; the numeric fields of `view` are copied from `like`. */
enum lmd_status lmi_plan_new(struct lmi_plan **out, const struct lmd_plan *like,
			     struct lmd_error *err);

/* Copies groups, caches and row inputs with their names. */
enum lmd_status lmi_plan_copy_memory(struct lmi_plan *p, const struct lmd_plan *from,
				     struct lmd_error *err);

/* Append a copy; *id is its index.  A value's name gets the prefix "L<layer>." (layer >= 0) and, if
 * the layer already has that name, a suffix such as "#2". */
enum lmd_status lmi_plan_add_value(struct lmi_plan *p, const struct lmd_value *v, int32_t layer,
				   uint32_t *id, struct lmd_error *err);
enum lmd_status lmi_plan_add_op(struct lmi_plan *p, const struct lmd_op *op, struct lmd_error *err);
/* Copies parts, literals and the name into the arena; does not merge duplicates.  w must be
 * resolved (weight_ref.h). */
enum lmd_status lmi_plan_add_weight_ref(struct lmi_plan *p, const struct lmd_weight_ref *w,
					uint32_t dtype, uint32_t *id, struct lmd_error *err);
/* The tables must already be in the arena. */
enum lmd_status lmi_plan_add_rope(struct lmi_plan *p, const struct lmd_rope *r, uint32_t *id,
				  struct lmd_error *err);
/* Copies a rope table with its arrays. */
enum lmd_status lmi_plan_copy_rope(struct lmi_plan *p, const struct lmd_rope *r,
				   struct lmd_error *err);
enum lmd_status lmi_plan_add_input(struct lmi_plan *p, const struct lmd_input *in, uint32_t *id,
				   struct lmd_error *err);
enum lmd_status lmi_plan_add_output(struct lmi_plan *p, uint32_t out_id, uint32_t value,
				    struct lmd_error *err);

/* ---- rope_table.c ---- */

/* Fills *out; the tables are allocated in the arena. */
enum lmd_status lmi_plan_rope_make(struct lmd_rope *out, struct lmd_arena *arena,
				   const struct lmd_rope_params *p, struct lmd_error *err);

/* ---- operands (operand.c) ---- */

/* Sets all operands and ids to absent and all numbers to their defaults. */
void lmi_plan_op_init(struct lmd_op *op, uint32_t code);

/* Brings everything unused into its canonical form: array elements beyond their count are NONE or
 * 0, fold 0 becomes 1, absent norms are zeroed. */
void lmi_plan_op_normalise(struct lmd_op *op);

/* Sets all members of a kind to "absent". */
void lmi_plan_op_clear(struct lmd_op *op, enum lmi_plan_field_kind kind);

/* Returns the row space of an op: that of its outputs, otherwise that of its first operand with
 * rows. */
uint32_t lmi_plan_op_space(const struct lmd_plan *p, const struct lmd_op *op);

/* Returns the columns of one row: n_head * width. */
static inline uint64_t lmi_plan_operand_cols(const struct lmd_operand *o)
{
	return (uint64_t)o->n_head * o->width;
}

/* Returns the number of elements of a weight. */
static inline uint64_t lmi_plan_weight_ref_elems(const struct lmd_weight_ref *w)
{
	return (uint64_t)w->n_stack * w->n * w->k;
}

/* Returns the size in bytes of one element of a value. */
uint32_t lmi_plan_vtype_bytes(const struct lmd_plan *p, uint32_t vtype);

/* ---- spans.c: single assignment ---- */

struct lmi_plan_span {
	uint32_t a, b; /* columns [a, b) */
};
struct lmi_plan_spans {
	struct lmi_plan_span *v; /* sorted, with at least one column between spans */
	uint32_t n, cap;
};
/* Adds [a, b).  CLASH: a part of it is already present; NOMEM: out of memory. */
enum lmi_plan_spans_result { LMI_PLAN_SPANS_OK, LMI_PLAN_SPANS_OVERLAP, LMI_PLAN_SPANS_NOMEM };
enum lmi_plan_spans_result lmi_plan_spans_add(struct lmi_plan_spans *s, uint32_t a, uint32_t b);
bool lmi_plan_spans_has(const struct lmi_plan_spans *s, uint32_t a, uint32_t b);

/* Checks ops one after another in plan order. */
struct lmi_plan_check_state {
	const struct lmi_plan *p;
	struct lmi_plan_spans *written; /* [cap], indexed by value */
	uint32_t cap;
};
void lmi_plan_check_init(struct lmi_plan_check_state *c, const struct lmi_plan *p);
void lmi_plan_check_fini(struct lmi_plan_check_state *c);
/* Checks op number `index`: first shapes (op_check.c), then that the columns it reads have been
 * written and those it writes have not.  May split operands into the heads that the op requires. */
enum lmd_status lmi_plan_check_op(struct lmi_plan_check_state *c, struct lmd_op *op, uint32_t index,
				  struct lmd_error *err);
/* Call after the last op: checks that every column of every value was written. */
enum lmd_status lmi_plan_check_end(struct lmi_plan_check_state *c, struct lmd_error *err);
/* Runs all checks on a whole plan. */
enum lmd_status lmi_plan_check(struct lmi_plan *p, struct lmd_error *err);

/* ---- op_check.c ---- */

enum lmd_status lmi_plan_op_check(const struct lmi_plan *p, struct lmd_op *op, uint32_t index,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_PLAN_PLAN_PRIV_H */
