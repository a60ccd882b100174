/* SPDX-License-Identifier: MIT
 *
 * emit.h - thin helpers over struct lmd_builder.
 *
 * Nothing here decides anything: weights by tensor row and layer, operands by windows, ops with
 * every absent id LMD_NONE and every factor 1.  Errors stick in the builder, so callers go on. */
#ifndef LLAMAD_ARCH_COMMON_EMIT_H
#define LLAMAD_ARCH_COMMON_EMIT_H

#include "arch/common/hparams.h"
#include "arch/common/tensors.h"
#include "llamad/plan.h"

struct lmi_emit {
	const struct lmd_builder *b;
	const struct lmi_hparams *hp;
	int32_t il;           /* layer of rows with "%d"; -1 outside of layers */
	bool lora;            /* rows of this plan may carry adapters */
	uint32_t own[4];      /* values that an architecture's hooks keep between layers */
	uint32_t n_rope;
	struct {
		uint32_t set, n_rot, id;
	} ropes[16];          /* tables made so far */
};

void lmi_emit_init(struct lmi_emit *e, const struct lmd_builder *b, const struct lmi_hparams *hp,
		   const struct lmd_plan_key *key);
/* Following ops and weights belong to layer il; -1: to none. */
void lmi_layer(struct lmi_emit *e, int32_t il);
const struct lmi_layer *lmi_cur(const struct lmi_emit *e);

/* ---- operands ---- */

struct lmd_opnd lmi_none(void);
struct lmd_opnd lmi_cols(uint32_t value, uint32_t col0, uint32_t width);
struct lmd_opnd lmi_heads(uint32_t value, uint32_t col0, uint32_t n_head, uint32_t width);
/* All columns. */
struct lmd_opnd lmi_whole(const struct lmi_emit *e, uint32_t value);
uint32_t lmi_width(const struct lmi_emit *e, uint32_t value);
/* A weight's elements as columns; LMD_NONE gives NONE. */
struct lmd_opnd lmi_wcols(uint32_t wref, uint32_t width);
struct lmd_opnd lmi_wheads(uint32_t wref, uint32_t n_head, uint32_t width);
struct lmd_opnd lmi_row_in(uint32_t k, uint32_t width);

/* New values over TOKENS (or another space). */
uint32_t lmi_act(struct lmi_emit *e, uint32_t width, const char *name);
uint32_t lmi_f32(struct lmi_emit *e, uint32_t width, const char *name);
uint32_t lmi_i32(struct lmi_emit *e, uint32_t width, const char *name);
uint32_t lmi_value(struct lmi_emit *e, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
		   const char *name);

/* ---- weights ---- */

/* A weight of the file with what belongs to it; id LMD_NONE: the file has none. */
struct lmi_w {
	uint32_t id;          /* wref */
	uint32_t site;        /* adapter site or LMD_NONE */
	uint32_t n, k;        /* of a slice */
	bool extras;          /* has a scale or a bias */
};

/* Is there a tensor of this row in the current layer (under its name or its alt)? */
bool lmi_has(const struct lmi_emit *e, const struct lmd_tensor_row *row);
/* The weight, or id LMD_NONE. */
struct lmi_w lmi_w_opt(struct lmi_emit *e, const struct lmd_tensor_row *row);
/* The weight; the plan fails with the tensor's name when it is not there. */
struct lmi_w lmi_w(struct lmi_emit *e, const struct lmd_tensor_row *row);
/* Rows row0 .. row0+n_row of it, without scale and bias (for halves of fused tensors). */
struct lmi_w lmi_w_part(struct lmi_emit *e, const struct lmd_tensor_row *row, uint32_t row0,
			uint32_t n_row);
/* A tensor by its whole name ("blk.3.attn_q.bias") as a plain wref, or LMD_NONE. */
uint32_t lmi_w_named(struct lmi_emit *e, const char *name);
/* The tensor's name for sentences: row's stem with the layer and the suffix put in. */
void lmi_tensor_name(const struct lmi_emit *e, const struct lmd_tensor_row *row, const char *suffix,
		     char *out, size_t n);
/* Its index in the model, or LMD_NONE. */
uint32_t lmi_tensor_index(const struct lmi_emit *e, const struct lmd_tensor_row *row,
			  const char *suffix);
/* The first n values of a float vector, decoded; false with a failed plan when it is absent or
 * shorter, or its data is not at hand. */
bool lmi_read_floats(struct lmi_emit *e, const char *name, float *out, uint32_t n);

/* ---- norms and rotation ---- */

struct lmd_norm lmi_no_norm(void);
/* Norm with hp->eps; weight and bias from the row when the file has them; row NULL: neither. */
struct lmd_norm lmi_norm(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row);
/* The same, the row must exist. */
struct lmd_norm lmi_norm_req(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row);
/* Weights with one run of `width` columns for each of n_head heads. */
struct lmd_norm lmi_norm_heads(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row,
			       uint32_t n_head, uint32_t width);

/* Table of hp->rope[set] for n_rot columns (made once); LMD_NONE for set LMD_NONE or n_rot 0. */
uint32_t lmi_rope(struct lmi_emit *e, uint32_t set, uint32_t n_rot);

/* ---- ops ---- */

/* An op of the code with nothing in it: ids LMD_NONE, operands NONE, factors 1. */
struct lmd_op lmi_op(enum lmd_op_code code);
void lmi_put(struct lmi_emit *e, const struct lmd_op *op);

/* y = norm(x). */
void lmi_put_norm(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *norm,
		  struct lmd_opnd y);
/* h = x + a*r; y = norm(h). */
void lmi_put_add_norm(struct lmi_emit *e, struct lmd_opnd x, struct lmd_opnd r, float a,
		      struct lmd_opnd h, const struct lmd_norm *norm, struct lmd_opnd y);
/* y = x W^T (with scale and bias of W); y of W's rows. */
void lmi_put_linear(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *pro,
		    const struct lmi_w *w, struct lmd_opnd y);
/* The same into a new value. */
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
uint8_t lmi_ew_in(struct lmi_ew *p, struct lmd_opnd x);     /* before any instruction */
uint8_t lmi_ew_const(struct lmi_ew *p, float v);
uint8_t lmi_ew1(struct lmi_ew *p, enum lmd_ew ins, uint8_t a);
uint8_t lmi_ew2(struct lmi_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b);
uint8_t lmi_ew3(struct lmi_ew *p, enum lmd_ew ins, uint8_t a, uint8_t b, uint8_t c);
void lmi_ew_also(struct lmi_ew *p, uint8_t reg, struct lmd_opnd y); /* a second output */
void lmi_ew_out(struct lmi_emit *e, struct lmi_ew *p, uint8_t reg, struct lmd_opnd y); /* last */
/* y = x * s for operands that broadcast. */
void lmi_put_mul(struct lmi_emit *e, struct lmd_opnd x, struct lmd_opnd s, struct lmd_opnd y);
/* y = x * c + z; z may be NONE. */
void lmi_put_scale_add(struct lmi_emit *e, struct lmd_opnd x, float c, struct lmd_opnd z,
		       struct lmd_opnd y);

/* A literal weight of one row. */
uint32_t lmi_literal(struct lmi_emit *e, const float *v, uint32_t n, const char *name);

#endif /* LLAMAD_ARCH_COMMON_EMIT_H */
