/* SPDX-License-Identifier: MIT
 *
 * emit.h - thin helpers over struct lmd_builder.
 *
 * Nothing here makes decisions: weights are found by tensor row and layer, operands are windows
 * of values, and ops start with every id LMD_NONE and every factor 1.  The builder keeps the first
 * error, so callers need not check after each call. */
#ifndef LLAMAD_ARCH_COMMON_EMIT_H
#define LLAMAD_ARCH_COMMON_EMIT_H

#include "arch/common/hparams.h"
#include "arch/common/tensors.h"
#include "llamad/plan.h"

struct arch_emit {
	const struct lmd_builder *b;
	const struct arch_hparams *hp;
	int32_t il;              /* current layer, replaces "%d" in stems; -1 outside the layers */
	bool lora;               /* this plan supports adapters */
	uint32_t rank, n_rank;   /* n_rank > 1: the plan of one rank (ranks.h) */
	uint32_t arch_values[4]; /* values that an architecture's hooks keep between layers */
	uint32_t tap[LMD_MAX_TAP]; /* values of hp->taps, in plans with LMD_PLAN_HIDDEN */
	uint32_t
		hidden; /* hidden rows other than these and the stream after the last norm; LMD_NONE: none */
	uint32_t n_rope;
	struct {
		uint32_t set, n_rot, id;
	} ropes[16]; /* tables made so far */
};

void arch_emit_init(struct arch_emit *e, const struct lmd_builder *b, const struct arch_hparams *hp,
		    const struct lmd_plan_key *key);
/* Assigns the ops and weights that follow to layer il; -1: to none. */
void arch_set_layer(struct arch_emit *e, int32_t il);
const struct arch_layer *arch_current_layer(const struct arch_emit *e);

/* ---- operands ---- */

struct lmd_operand arch_operand_none(void);
struct lmd_operand arch_operand_cols(uint32_t value, uint32_t col0, uint32_t width);
struct lmd_operand arch_operand_heads(uint32_t value, uint32_t col0, uint32_t n_head,
				      uint32_t width);
/* All columns of the value. */
struct lmd_operand arch_operand_all(const struct arch_emit *e, uint32_t value);
uint32_t arch_width(const struct arch_emit *e, uint32_t value);
/* The elements of a weight as columns; LMD_NONE gives an operand NONE. */
struct lmd_operand arch_operand_weight_cols(uint32_t weight_ref, uint32_t width);
struct lmd_operand arch_operand_weight_heads(uint32_t weight_ref, uint32_t n_head, uint32_t width);
struct lmd_operand arch_operand_row_input(uint32_t k, uint32_t width);

/* Create values; the first three are in the space TOKENS. */
uint32_t arch_value_act(struct arch_emit *e, uint32_t width, const char *name);
uint32_t arch_value_f32(struct arch_emit *e, uint32_t width, const char *name);
uint32_t arch_value_i32(struct arch_emit *e, uint32_t width, const char *name);
uint32_t arch_value(struct arch_emit *e, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
		    const char *name);

/* ---- weights ---- */

/* A weight of the file with its scale, bias and adapter site. */
struct arch_weight {
	uint32_t id;          /* weight_ref, or LMD_NONE: the file has no such weight */
	uint32_t site;        /* adapter site or LMD_NONE */
	uint32_t n, k;        /* rows and columns of one slice */
	bool extras;          /* has a scale or a bias */
};

/* Does the current layer have the tensor of this row (under its name or its alt)? */
bool arch_weight_exists(const struct arch_emit *e, const struct lmd_tensor_row *row);
/* The weight, or id LMD_NONE. */
struct arch_weight arch_weight_opt(struct arch_emit *e, const struct lmd_tensor_row *row);
/* The weight; if it is absent, the plan fails with an error that names the tensor. */
struct arch_weight arch_weight_req(struct arch_emit *e, const struct lmd_tensor_row *row);
/* Rows row0 .. row0+n_row-1 of a weight, without scale and bias (for halves of fused tensors). */
struct arch_weight arch_weight_rows(struct arch_emit *e, const struct lmd_tensor_row *row,
				    uint32_t row0, uint32_t n_row);
/* A part of a matrix: rows row0 .. row0+n_row-1 (n_row 0: all) with their scales and biases, or columns
 * k0 .. k0+n_k-1 (n_k 0: all).  no_bias: without the bias. */
struct arch_window {
	uint32_t row0, n_row, k0, n_k;
	bool no_bias;
};
struct arch_weight arch_weight_window(struct arch_emit *e, const struct lmd_tensor_row *row,
				      const struct arch_window *w);
/* A part of the matrices of all experts: rows and columns of each.  fused: the rows are taken from both
 * halves of each matrix. */
struct arch_weight arch_weight_of_experts(struct arch_emit *e, const struct lmd_tensor_row *row,
					  const struct arch_window *w, bool fused);
/* A tensor of the row: its own, or that of the first expert; NULL: the file has none. */
const struct lmd_tensor *arch_weight_tensor(const struct arch_emit *e,
					    const struct lmd_tensor_row *row);
/* A tensor by its full name ("blk.3.attn_q.bias") as a plain weight_ref, or LMD_NONE. */
uint32_t arch_weight_named(struct arch_emit *e, const char *name);
/* Writes the tensor's name to out [n]: the row's stem with the layer inserted, and the suffix. */
void arch_tensor_name(const struct arch_emit *e, const struct lmd_tensor_row *row,
		      const char *suffix, char *out, size_t n);
/* The tensor's index in the model, or LMD_NONE. */
uint32_t arch_tensor_index(const struct arch_emit *e, const struct lmd_tensor_row *row,
			   const char *suffix);
/* Decodes the first n values of a float vector into `out`.  If the tensor is absent or too short,
 * or its data is not loaded, the plan fails and false is returned. */
bool arch_read_floats(struct arch_emit *e, const char *name, float *out, uint32_t n);

/* ---- norms and rotation ---- */

struct lmd_norm arch_no_norm(void);
/* Norm with hp->eps; weight and bias come from the row if the file has them (row NULL: neither). */
struct lmd_norm arch_norm(struct arch_emit *e, uint32_t kind, const struct lmd_tensor_row *row);
/* As arch_norm, but the tensor is required. */
struct lmd_norm arch_norm_req(struct arch_emit *e, uint32_t kind, const struct lmd_tensor_row *row);
/* Norm whose weights have `width` columns for each of n_head heads. */
struct lmd_norm arch_norm_heads(struct arch_emit *e, uint32_t kind,
				const struct lmd_tensor_row *row, uint32_t n_head, uint32_t width);

/* Rope table of hp->rope[set] for n_rot columns, created on first use.  Returns LMD_NONE if set is
 * LMD_NONE or n_rot is 0. */
uint32_t arch_rope(struct arch_emit *e, uint32_t set, uint32_t n_rot);

/* ---- ops ---- */

/* An empty op: ids LMD_NONE, operands NONE, factors 1. */
struct lmd_op arch_op_empty(enum lmd_op_code code);
void arch_emit_op(struct arch_emit *e, const struct lmd_op *op);

/* y = norm(x). */
void arch_put_norm(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *norm,
		   struct lmd_operand y);
/* h = x + a*r; y = norm(h). */
void arch_put_add_norm(struct arch_emit *e, struct lmd_operand x, struct lmd_operand r, float a,
		       struct lmd_operand h, const struct lmd_norm *norm, struct lmd_operand y);
/* y = norm(x) W^T, with the scale and bias of W; y has as many columns as W has rows.  pro: the
 * norm, or NULL. */
void arch_put_linear(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *pro,
		     const struct arch_weight *w, struct lmd_operand y);
/* As arch_put_linear, into a new value, which it returns. */
uint32_t arch_linear(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *pro,
		     const struct arch_weight *w, enum lmd_vtype vtype, const char *name);
/* y = act(a) * b; b may be NONE. */
void arch_put_glu(struct arch_emit *e, uint32_t act, const float p[LMD_N_ACT_FN_PARAM],
		  struct lmd_operand a, struct lmd_operand b, struct lmd_operand y);

/* Elementwise programs. */
struct arch_ew {
	struct lmd_op op;
};
struct arch_ew arch_ew(void);
uint8_t arch_ew_in(struct arch_ew *p, struct lmd_operand x); /* call before any instruction */
uint8_t arch_ew_const(struct arch_ew *p, float v);
uint8_t arch_ew1(struct arch_ew *p, enum lmd_ew ins, uint8_t a);
uint8_t arch_ew2(struct arch_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b);
uint8_t arch_ew3(struct arch_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b, uint8_t c);
/* Sets a second output. */
void arch_ew_out2(struct arch_ew *p, uint8_t reg, struct lmd_operand y);
/* Sets the first output and emits the program. */
void arch_ew_out(struct arch_emit *e, struct arch_ew *p, uint8_t reg, struct lmd_operand y);
/* y = x * s, with broadcasting. */
void arch_put_mul(struct arch_emit *e, struct lmd_operand x, struct lmd_operand s,
		  struct lmd_operand y);
/* y = x * c + z; z may be NONE. */
void arch_put_scale_add(struct arch_emit *e, struct lmd_operand x, float c, struct lmd_operand z,
			struct lmd_operand y);

/* A literal weight with one row of n values; split: enum lmd_split. */
uint32_t arch_literal(struct arch_emit *e, const float *v, uint32_t n, uint32_t split,
		      const char *name);

#endif /* LLAMAD_ARCH_COMMON_EMIT_H */
