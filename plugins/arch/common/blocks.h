/* SPDX-License-Identifier: MIT
 *
 * blocks.h - the blocks that layers are made of.
 *
 * A block reads `io.x` through the norm `io.norm` and either adds its result to the residual
 * stream (io.res is a value: the new stream is returned, f32) or returns the result alone (io.res
 * LMD_NONE: activations, for norms after the block). */
#ifndef LLAMAD_ARCH_COMMON_BLOCKS_H
#define LLAMAD_ARCH_COMMON_BLOCKS_H

#include "arch/common/emit.h"

struct lmi_io {
	struct lmd_opnd x;
	struct lmd_norm norm; /* kind NONE: x is read as it is */
	uint32_t res;         /* value or LMD_NONE */
	float a;              /* res + a * f(norm(x)) */
};

/* ---- attention ---- */

/* The tensors of one attention; lmi_attn_rows is the usual set. */
struct lmi_attn_rows {
	const struct lmd_tensor_row *q, *k, *v, *qkv, *out;
};
extern const struct lmi_attn_rows lmi_attn_rows;

enum lmi_qk_norm {
	LMI_QKN_NONE = 0,
	LMI_QKN_HEAD = 1,   /* one weight of dk for all heads; absent tensors: no norm */
	LMI_QKN_EACH = 2,   /* a run of dk for each head; absent tensors: no norm */
	LMI_QKN_FULL = 3,   /* over all heads together; absent tensors: no norm */
	LMI_QKN_BARE = 4    /* per head, without weights */
};
enum lmi_gate {
	LMI_GATE_NONE = 0,
	LMI_GATE_SIGMOID = 1, /* result of attention * sigmoid(W x), per column or per head */
	LMI_GATE_SOFTPLUS = 2,
	LMI_GATE_IN_Q = 3     /* sigmoid; row q gives the query, then the gate of each head */
};

struct lmi_attn {
	const struct lmi_attn_rows *rows;
	uint32_t qk_norm;       /* enum lmi_qk_norm */
	uint32_t qk_norm_kind;  /* enum lmd_norm_kind */
	float qk_norm_eps;
	bool qk_norm_after;     /* after the rotation */
	bool v_norm;            /* v is normalised per head without weights */
	bool v_from_k;          /* v is the k projection where the file has no v */
	bool out_bias_ignored;
	float scale;            /* of q k^T */
	float softcap;
	float clamp;            /* of q, k, v; 0: none */
	float alibi_max;        /* greatest slope exponent; 0: no ALiBi */
	uint32_t kv_map;        /* enum lmd_head_map */
	const struct lmd_tensor_row *sinks;    /* or NULL */
	const struct lmd_tensor_row *sub_norm; /* norm before the output projection, or NULL */
	uint32_t gate;          /* enum lmi_gate */
	const struct lmd_tensor_row *gate_row;
	const struct lmd_tensor_row *q_gain; /* one number for each head that q is multiplied by */
	uint32_t q_row_in;      /* row input [1] that q is multiplied by, or LMD_NONE */
	uint32_t cache;         /* of the layer and pass, or LMD_NONE: keys are rows of the step */
	struct lmd_opnd list;   /* only these keys (i32, heads 1 or of the keys); src NONE: all */
	uint32_t list_unit;     /* keys of an entry */
};

/* What the layer and hp say: scale, softcap, clamp, alibi, cache of pass `pass`, usual rows. */
struct lmi_attn lmi_attn_default(const struct lmi_emit *e, uint32_t pass);
uint32_t lmi_attn(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_attn *a);

/* Slopes of ALiBi (arXiv 2108.12409) for any number of heads; out [n_head]. */
void lmi_alibi_slopes(uint32_t n_head, float max_bias, float *out);

/* ---- feed-forward ---- */

struct lmi_ffn {
	const struct lmd_tensor_row *gate; /* NULL: no gate */
	const struct lmd_tensor_row *up, *down;
	bool gate_optional;     /* without the tensor: act(up) */
	bool fused;             /* `up` holds gate, then up */
	bool swap_fused;        /* ... up, then gate */
	const struct lmd_tensor_row *sub_norm; /* norm before `down`, or NULL */
	uint32_t sub_norm_kind;
	uint32_t act;
	float p[LMD_N_ACT_PARAM];
};
/* ffn_gate, ffn_up, ffn_down with SiLU. */
struct lmi_ffn lmi_ffn_default(void);
uint32_t lmi_ffn(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_ffn *f);

/* ---- experts ---- */

struct lmi_moe {
	uint32_t act;
	float p[LMD_N_ACT_PARAM];
	uint32_t fn;            /* enum lmd_route_fn */
	bool renorm;
	float scale;
	uint32_t n_used;
	uint32_t n_group, n_group_used;
	bool weight_before;
	bool need_gate;         /* the gate tensors must be there */
	uint32_t logits;        /* value with the router's logits, or LMD_NONE: made from x */
	uint32_t given;         /* i32 value with the experts, or LMD_NONE: chosen by the logits */
	float router_softcap;   /* of the logits */
	const struct lmd_tensor_row *down, *up, *gate, *gate_up, *router, *probs_b;
	/* experts work on a narrower row: into it and back; NULL or absent: they do not */
	const struct lmd_tensor_row *latent_down, *latent_up;
	const struct lmd_tensor_row *latent_norm; /* of the sum before latent_up, or NULL */
	struct lmi_ffn shared;  /* up NULL: no shared expert */
	const struct lmd_tensor_row *shared_gate; /* one logit; times its sigmoid */
};
/* What hp says; shared expert when the layer has one (LMI_L_SHEXP). */
struct lmi_moe lmi_moe_default(const struct lmi_emit *e);
uint32_t lmi_moe(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_moe *m);
/* x through the norm as a value of its own, when several readers want it. */
struct lmd_opnd lmi_normed(struct lmi_emit *e, const struct lmi_io *io, const char *name);
/* Router logits of x (already normalised), f32. */
uint32_t lmi_router(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *row);

/* ---- the residual stream ---- */

/* A stream with something still to be added: x + a*z.  Norms add on the way. */
struct lmi_stream {
	uint32_t x;
	uint32_t z;           /* or LMD_NONE */
	float a;
};
/* Operand and norm with which a block reads the stream; adds what is pending. */
struct lmi_io lmi_read(struct lmi_emit *e, struct lmi_stream *s, const struct lmd_norm *norm);
/* The stream as one value; adds what is pending. */
uint32_t lmi_flush(struct lmi_emit *e, struct lmi_stream *s);
/* Leaves z to be added. */
void lmi_add_later(struct lmi_emit *e, struct lmi_stream *s, uint32_t z, float a);

/* The last matrix of a block: adds to the stream, or returns the result alone, as io says.  pro
 * NULL: no norm before it. */
uint32_t lmi_block_out(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *pro,
		       const struct lmi_w *w, const struct lmi_io *io);

/* ---- ends ---- */

/* Embeddings of tokens times hp->embd_scale, external rows times hp->embd_scale_ext.  f32.  A file
 * without token_embd shares the output matrix. */
uint32_t lmi_embed(struct lmi_emit *e);
/* The same with learned positions: row `step.pos` + off of the table. */
uint32_t lmi_embed_pos(struct lmi_emit *e, const struct lmd_tensor_row *pos, int32_t off);

/* Logits of the rows that leave: output or, when absent, token_embd.  `bias` is a wref [V] that
 * is added at the end (LMD_NONE: none). */
void lmi_head(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *norm, uint32_t bias);

struct lmi_pool {
	bool rank_last;       /* RANK reads the last row, not the first */
	bool rank_mean;       /* ... the mean of all rows */
	bool rank_softmax;    /* ... and ends in a softmax over the labels */
	uint32_t rank_act;    /* between cls and cls.output: LMD_ACT_TANH, ... */
};
/* The output EMBED from x (already normalised): pooled, projected, classified. */
void lmi_pool(struct lmi_emit *e, const struct lmd_plan_key *key, struct lmd_opnd x,
	      const struct lmi_pool *p);

/* The common end: final norm of the stream, then logits and EMBED as the key asks. */
void lmi_finish(struct lmi_emit *e, const struct lmd_plan_key *key, struct lmi_stream *s,
		const struct lmd_norm *norm, const struct lmi_pool *pool, uint32_t bias);

#endif /* LLAMAD_ARCH_COMMON_BLOCKS_H */
