/* SPDX-License-Identifier: MIT
 *
 * plan_priv.h - what the files of this folder share about a plan under construction. */
#ifndef LLAMAD_CORE_PLAN_PLAN_PRIV_H
#define LLAMAD_CORE_PLAN_PLAN_PRIV_H

#include "core/plan/plan.h"

/* A plan and its memory: the arrays of `view` are grown on the heap, everything that they point
 * to (names, parts, literals, tables) lies in the arena. */
struct lmi_plan {
	struct lmd_plan view;
	struct lmd_arena *arena;
	const struct lmd_host *host;
	const struct lmd_model *model, *target;
	struct lmd_value *values;
	struct lmd_op *ops;
	struct lmd_wref *wrefs;
	struct lmd_rope *ropes;
	struct lmd_input *inputs;
	struct lmd_output *outputs;
	struct lmd_cache *caches; /* the arena's */
	uint32_t cap_value, cap_op, cap_wref, cap_dtype, cap_rope, cap_input, cap_output;
	uint32_t *wref_dtype; /* [cap_dtype] enum lmd_dtype of the parts */
	uint32_t n_lora_site;
};

/* More ops, values or weights than this is a runaway build function. */
#define LMI_PLAN_MAX  (1u << 20)
#define LMI_MAX_WIDTH (1u << 24)

/* ---- store.c ---- */

/* An empty plan; the fields of `view` that are numbers are copied from `like`. */
enum lmd_status lmi_plan_new(struct lmi_plan **out, const struct lmd_plan *like,
			     struct lmd_error *err);

/* Groups, caches and row inputs, with their names. */
enum lmd_status lmi_plan_copy_memory(struct lmi_plan *p, const struct lmd_plan *from,
				     struct lmd_error *err);

/* Append a copy; *id is its index.  The name gets the prefix "L<layer>." (layer >= 0) and, when
 * the layer has it already, a suffix "#2". */
enum lmd_status lmi_plan_add_value(struct lmi_plan *p, const struct lmd_value *v, int32_t layer,
				   uint32_t *id, struct lmd_error *err);
enum lmd_status lmi_plan_add_op(struct lmi_plan *p, const struct lmd_op *op, struct lmd_error *err);
/* Takes parts, literals and the name into the arena; no dedupe.  w is resolved (wref.h). */
enum lmd_status lmi_plan_add_wref(struct lmi_plan *p, const struct lmd_wref *w, uint32_t dtype,
				  uint32_t *id, struct lmd_error *err);
/* The tables are the arena's already. */
enum lmd_status lmi_plan_add_rope(struct lmi_plan *p, const struct lmd_rope *r, uint32_t *id,
				  struct lmd_error *err);
/* With its tables. */
enum lmd_status lmi_plan_copy_rope(struct lmi_plan *p, const struct lmd_rope *r,
				   struct lmd_error *err);
enum lmd_status lmi_plan_add_input(struct lmi_plan *p, const struct lmd_input *in, uint32_t *id,
				   struct lmd_error *err);
enum lmd_status lmi_plan_add_output(struct lmi_plan *p, uint32_t out_id, uint32_t value,
				    struct lmd_error *err);

/* ---- rope.c ---- */

/* Fills *out; tables in the arena. */
enum lmd_status lmi_rope_make(struct lmd_rope *out, struct lmd_arena *arena,
			      const struct lmd_rope_params *p, struct lmd_error *err);

/* ---- operands (opnd.c) ---- */

/* An op with all operands and ids absent and all numbers at their defaults. */
void lmi_op_init(struct lmd_op *op, uint32_t code);

/* An op with everything unused in its canonical form: array elements beyond their count NONE or 0,
 * fold 0 as 1, norms that are absent zeroed. */
void lmi_op_normalise(struct lmd_op *op);

/* Sets all members of a kind to "absent". */
void lmi_op_clear(struct lmd_op *op, enum lmi_field_kind kind);

/* Row space of an op: that of its outputs, else of its first operand with rows. */
uint32_t lmi_op_space(const struct lmd_plan *p, const struct lmd_op *op);

/* Columns of one row: n_head * width. */
static inline uint64_t lmi_opnd_cols(const struct lmd_opnd *o)
{
	return (uint64_t)o->n_head * o->width;
}

/* Elements of a weight. */
static inline uint64_t lmi_wref_elems(const struct lmd_wref *w)
{
	return (uint64_t)w->n_stack * w->n * w->k;
}

/* Bytes of an element of a value. */
uint32_t lmi_vtype_bytes(const struct lmd_plan *p, uint32_t vtype);

/* ---- cover.c: single assignment ---- */

struct lmi_span {
	uint32_t a, b; /* columns [a, b) */
};
struct lmi_spans {
	struct lmi_span *v; /* sorted, apart by at least one column */
	uint32_t n, cap;
};
/* Adds [a, b).  false with *clash set when a part of it is there already; LMD_NOMEM by *nomem. */
enum lmi_cover { LMI_COVER_OK, LMI_COVER_CLASH, LMI_COVER_NOMEM };
enum lmi_cover lmi_spans_add(struct lmi_spans *s, uint32_t a, uint32_t b);
bool lmi_spans_has(const struct lmi_spans *s, uint32_t a, uint32_t b);

/* Checks ops one after another in plan order. */
struct lmi_check {
	const struct lmi_plan *p;
	struct lmi_spans *written; /* [cap], by value */
	uint32_t cap;
};
void lmi_check_init(struct lmi_check *c, const struct lmi_plan *p);
void lmi_check_fini(struct lmi_check *c);
/* Op number `index`: shapes (shape.c), then columns read were written and columns written were
 * not.  May bring operands into the heads that the op wants. */
enum lmd_status lmi_check_op(struct lmi_check *c, struct lmd_op *op, uint32_t index,
			     struct lmd_error *err);
/* After the last op: outputs, and that every column of every value was written. */
enum lmd_status lmi_check_end(struct lmi_check *c, struct lmd_error *err);
/* All of it for a whole plan. */
enum lmd_status lmi_plan_check(struct lmi_plan *p, struct lmd_error *err);

/* ---- shape.c ---- */

enum lmd_status lmi_shape_op(const struct lmi_plan *p, struct lmd_op *op, uint32_t index,
			     struct lmd_error *err);

#endif /* LLAMAD_CORE_PLAN_PLAN_PRIV_H */
