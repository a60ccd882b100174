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

struct lmi_emit {
	const struct lmd_builder *b;
	const struct lmi_hparams *hp;
	int32_t il;           /* current layer, replaces "%d" in stems; -1 outside the layers */
	bool lora;            /* this plan supports adapters */
	uint32_t own[4];      /* values that an architecture's hooks keep between layers */
	uint32_t n_rope;
	struct {
		uint32_t set, n_rot, id;
	} ropes[16];          /* tables made so far */
};

void lmi_emit_init(struct lmi_emit *e, const struct lmd_builder *b, const struct lmi_hparams *hp,
		   const struct lmd_plan_key *key);
/* Assigns the ops and weights that follow to layer il; -1: to none. */
void lmi_layer(struct lmi_emit *e, int32_t il);
const struct lmi_layer *lmi_cur(const struct lmi_emit *e);

/* ---- operands ---- */

struct lmd_opnd lmi_none(void);
struct lmd_opnd lmi_cols(uint32_t value, uint32_t col0, uint32_t width);
struct lmd_opnd lmi_heads(uint32_t value, uint32_t col0, uint32_t n_head, uint32_t width);
/* All columns of the value. */
struct lmd_opnd lmi_whole(const struct lmi_emit *e, uint32_t value);
uint32_t lmi_width(const struct lmi_emit *e, uint32_t value);
/* The elements of a weight as columns; LMD_NONE gives an operand NONE. */
struct lmd_opnd lmi_wcols(uint32_t wref, uint32_t width);
struct lmd_opnd lmi_wheads(uint32_t wref, uint32_t n_head, uint32_t width);
struct lmd_opnd lmi_row_in(uint32_t k, uint32_t width);

/* Create values; the first three are in the space TOKENS. */
uint32_t lmi_act(struct lmi_emit *e, uint32_t width, const char *name);
uint32_t lmi_f32(struct lmi_emit *e, uint32_t width, const char *name);
uint32_t lmi_i32(struct lmi_emit *e, uint32_t width, const char *name);
uint32_t lmi_value(struct lmi_emit *e, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
		   const char *name);

/* ---- weights ---- */

/* A weight of the file with its scale, bias and adapter site. */
struct lmi_w {
	uint32_t id;          /* wref, or LMD_NONE: the file has no such weight */
	uint32_t site;        /* adapter site or LMD_NONE */
	uint32_t n, k;        /* rows and columns of one slice */
	bool extras;          /* has a scale or a bias */
};

/* Does the current layer have the tensor of this row (under its name or its alt)? */
bool lmi_has(const struct lmi_emit *e, const struct lmd_tensor_row *row);
/* The weight, or id LMD_NONE. */
struct lmi_w lmi_w_opt(struct lmi_emit *e, const struct lmd_tensor_row *row);
/* The weight; if it is absent, the plan fails with an error that names the tensor. */
struct lmi_w lmi_w(struct lmi_emit *e, const struct lmd_tensor_row *row);
/* Rows row0 .. row0+n_row-1 of a weight, without scale and bias (for halves of fused tensors). */
struct lmi_w lmi_w_part(struct lmi_emit *e, const struct lmd_tensor_row *row, uint32_t row0,
			uint32_t n_row);
/* A tensor by its full name ("blk.3.attn_q.bias") as a plain wref, or LMD_NONE. */
uint32_t lmi_w_named(struct lmi_emit *e, const char *name);
/* Writes the tensor's name to out [n]: the row's stem with the layer inserted, and the suffix. */
void lmi_tensor_name(const struct lmi_emit *e, const struct lmd_tensor_row *row, const char *suffix,
		     char *out, size_t n);
/* The tensor's index in the model, or LMD_NONE. */
uint32_t lmi_tensor_index(const struct lmi_emit *e, const struct lmd_tensor_row *row,
			  const char *suffix);
/* Decodes the first n values of a float vector into `out`.  If the tensor is absent or too short,
 * or its data is not loaded, the plan fails and false is returned. */
bool lmi_read_floats(struct lmi_emit *e, const char *name, float *out, uint32_t n);

/* ---- norms and rotation ---- */

struct lmd_norm lmi_no_norm(void);
/* Norm with hp->eps; weight and bias come from the row if the file has them (row NULL: neither). */
struct lmd_norm lmi_norm(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row);
/* As lmi_norm, but the tensor is required. */
struct lmd_norm lmi_norm_req(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row);
/* Norm whose weights have `width` columns for each of n_head heads. */
struct lmd_norm lmi_norm_heads(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row,
			       uint32_t n_head, uint32_t width);

/* Rope table of hp->rope[set] for n_rot columns, created on first use.  Returns LMD_NONE if set is
 * LMD_NONE or n_rot is 0. */
uint32_t lmi_rope(struct lmi_emit *e, uint32_t set, uint32_t n_rot);

/* ---- ops ---- */

/* An empty op: ids LMD_NONE, operands NONE, factors 1. */
struct lmd_op lmi_op(enum lmd_op_code code);
void lmi_put(struct lmi_emit *e, const struct lmd_op *op);

/* y = norm(x). */
void lmi_put_norm(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *norm,
		  struct lmd_opnd y);
/* h = x + a*r; y = norm(h). */
void lmi_put_add_norm(struct lmi_emit *e, struct lmd_opnd x, struct lmd_opnd r, float a,
		      struct lmd_opnd h, const struct lmd_norm *norm, struct lmd_opnd y);
/* y = norm(x) W^T, with the scale and bias of W; y has as many columns as W has rows.  pro: the
 * norm, or NULL. */
void lmi_put_linear(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *pro,
		    const struct lmi_w *w, struct lmd_opnd y);
/* As lmi_put_linear, into a new value, which it returns. */
uint32_t lmi_linear(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *pro,
		    const struct lmi_w *w, enum lmd_vtype vtype, const char *name);
/* y = act(a) * b; b may be NONE. */
void lmi_put_glu(struct lmi_emit *e, uint32_t act, const float p[LMD_N_ACT_PARAM],
		 struct lmd_opnd a, struct lmd_opnd b, struct lmd_opnd y);

/* Elementwise programs. */
struct lmi_ew {
	struct lmd_op op;
};
struct lmi_ew lmi_ew(void);
uint8_t lmi_ew_in(struct lmi_ew *p, struct lmd_opnd x);     /* call before any instruction */
uint8_t lmi_ew_const(struct lmi_ew *p, float v);
uint8_t lmi_ew1(struct lmi_ew *p, enum lmd_ew ins, uint8_t a);
uint8_t lmi_ew2(struct lmi_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b);
uint8_t lmi_ew3(struct lmi_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b, uint8_t c);
/* Sets a second output. */
void lmi_ew_also(struct lmi_ew *p, uint8_t reg, struct lmd_opnd y);
/* Sets the first output and emits the program. */
void lmi_ew_out(struct lmi_emit *e, struct lmi_ew *p, uint8_t reg, struct lmd_opnd y);
/* y = x * s, with broadcasting. */
void lmi_put_mul(struct lmi_emit *e, struct lmd_opnd x, struct lmd_opnd s, struct lmd_opnd y);
/* y = x * c + z; z may be NONE. */
void lmi_put_scale_add(struct lmi_emit *e, struct lmd_opnd x, float c, struct lmd_opnd z,
		       struct lmd_opnd y);

/* A literal weight with one row of n values. */
uint32_t lmi_literal(struct lmi_emit *e, const float *v, uint32_t n, const char *name);

#endif /* LLAMAD_ARCH_COMMON_EMIT_H */
