/* SPDX-License-Identifier: MIT
 *
 * blocks.h - the building blocks of layers.
 *
 * A block reads `io.x` through the norm `io.norm`.  If io.res is a value, it adds its result to
 * that residual stream and returns the new stream (f32).  If io.res is LMD_NONE, it returns the
 * result alone (activations), for architectures with a norm after the block. */
#ifndef LLAMAD_ARCH_COMMON_BLOCKS_H
#define LLAMAD_ARCH_COMMON_BLOCKS_H

#include "arch/common/emit.h"

struct arch_block_io {
	struct lmd_operand x;
	struct lmd_norm norm; /* kind NONE: x is read unchanged */
	uint32_t res;         /* residual stream: a value or LMD_NONE */
	float a;              /* the result is res + a * f(norm(x)) */
};

/* ---- attention ---- */

/* The tensors of an attention block; arch_attn_rows is the usual set. */
struct arch_attn_rows {
	const struct lmd_tensor_row *q, *k, *v, *qkv, *out;
};
extern const struct arch_attn_rows arch_attn_rows;

enum arch_qk_norm {
	ARCH_QKN_NONE = 0,
	/* for the next three: no norm if the file does not have the tensors */
	ARCH_QKN_HEAD = 1,     /* per head; all heads share one weight [dk] */
	ARCH_QKN_HEAD_OWN = 2, /* per head; each head has its own weight [dk] */
	ARCH_QKN_FULL = 3,     /* over all heads together */
	ARCH_QKN_BARE = 4      /* per head, without weights */
};
enum arch_gate {
	ARCH_GATE_NONE = 0,
	ARCH_GATE_SIGMOID = 1, /* attention result * sigmoid(W x), per column or per head */
	ARCH_GATE_SOFTPLUS = 2,
	ARCH_GATE_IN_Q = 3 /* sigmoid; row q computes [query | gate] of each head */
};

struct arch_attn {
	const struct arch_attn_rows *rows;
	uint32_t qk_norm;       /* enum arch_qk_norm */
	uint32_t qk_norm_kind;  /* enum lmd_norm_kind */
	float qk_norm_eps;
	bool qk_norm_after;     /* normalise after the rotation */
	bool v_norm;            /* normalise v per head, without weights */
	bool v_from_k;          /* use the k projection as v if the file has no v */
	bool out_bias_ignored;
	float scale;            /* factor of q k^T */
	float softcap;
	float clamp;            /* bound of |q|, |k|, |v|; 0: none */
	float alibi_max;        /* maximum slope exponent; 0: no ALiBi */
	uint32_t kv_map;        /* enum lmd_head_map */
	const struct lmd_tensor_row *sinks;    /* or NULL */
	const struct lmd_tensor_row *sub_norm; /* norm before the output projection, or NULL */
	uint32_t gate;                         /* enum arch_gate */
	const struct lmd_tensor_row *gate_row;
	const struct lmd_tensor_row *q_gain; /* one factor of q per head, or NULL */
	uint32_t q_row_in; /* row input [1] that q is multiplied by, or LMD_NONE */
	uint32_t cache;    /* of the layer and pass, or LMD_NONE: keys are rows of the step */
	/* attend to these keys only (i32; 1 or n_head_kv heads); src NONE: all keys */
	struct lmd_operand key_list;
	uint32_t key_list_unit; /* number of keys per list entry */
};

/* Defaults from hp and the current layer: scale, softcap, clamp, ALiBi, the cache of pass `pass`,
 * and the usual rows. */
struct arch_attn arch_attn_default(const struct arch_emit *e, uint32_t pass);
uint32_t arch_attn(struct arch_emit *e, const struct arch_block_io *io, const struct arch_attn *a);

/* ALiBi slopes (arXiv 2108.12409) for any number of heads; out: [n_head]. */
void arch_alibi_slopes(uint32_t n_head, float max_bias, float *out);

/* ---- feed-forward ---- */

struct arch_ffn {
	const struct lmd_tensor_row *gate; /* NULL: no gate */
	const struct lmd_tensor_row *up, *down;
	bool gate_optional;     /* act(up) if the file has no gate tensor */
	bool fused;             /* `up` holds [gate | up] */
	bool swap_fused;        /* if fused: `up` holds [up | gate] */
	const struct lmd_tensor_row *sub_norm; /* norm before `down`, or NULL */
	uint32_t sub_norm_kind;
	uint32_t act;
	float p[LMD_N_ACT_FN_PARAM];
};
/* Defaults: ffn_gate, ffn_up, ffn_down with SiLU. */
struct arch_ffn arch_ffn_default(void);
uint32_t arch_ffn(struct arch_emit *e, const struct arch_block_io *io, const struct arch_ffn *f);

/* ---- experts ---- */

struct arch_moe {
	uint32_t act;
	float p[LMD_N_ACT_FN_PARAM];
	uint32_t route_fn; /* enum lmd_route_fn */
	bool renorm;
	float scale;
	uint32_t n_used;
	uint32_t n_group, n_group_used;
	bool weight_before;
	bool need_gate;       /* the gate tensors are required */
	uint32_t logits;      /* value with router logits, or LMD_NONE: computed from x */
	uint32_t expert_ids;  /* i32 value with expert ids, or LMD_NONE: chosen by the logits */
	float router_softcap; /* softcap of the logits; 0: none */
	const struct lmd_tensor_row *down, *up, *gate, *gate_up, *router, *probs_b;
	/* projections into and out of the narrower row that the experts work on; NULL or absent
	 * tensors: experts work on the full row */
	const struct lmd_tensor_row *latent_down, *latent_up;
	const struct lmd_tensor_row *latent_norm; /* norm of the sum before latent_up, or NULL */
	struct arch_ffn shared;                   /* up NULL: no shared expert */
	const struct lmd_tensor_row *shared_gate; /* one logit; its sigmoid scales the shared
						   * expert */
};
/* Defaults from hp, with a shared expert if the layer has one (ARCH_L_SHEXP). */
struct arch_moe arch_moe_default(const struct arch_emit *e);
uint32_t arch_moe(struct arch_emit *e, const struct arch_block_io *io, const struct arch_moe *m);
/* norm(x) as a value of its own, for input with several readers. */
struct lmd_operand arch_normalised_input(struct arch_emit *e, const struct arch_block_io *io,
					 const char *name);
/* Router logits (f32) of x, which must be normalised. */
uint32_t arch_router(struct arch_emit *e, struct lmd_operand x, const struct lmd_tensor_row *row);

/* ---- the residual stream ---- */

/* A residual stream with a pending addition: x + a*z.  The next norm fuses the addition. */
struct arch_residual {
	uint32_t x;
	uint32_t z;           /* or LMD_NONE */
	float a;
};
/* Returns the operand and norm with which a block reads the stream; performs a pending addition. */
struct arch_block_io arch_residual_read(struct arch_emit *e, struct arch_residual *s,
					const struct lmd_norm *norm);
/* Returns the stream as one value; performs a pending addition. */
uint32_t arch_residual_flush(struct arch_emit *e, struct arch_residual *s);
/* Makes a*z the pending addition. */
void arch_residual_defer_add(struct arch_emit *e, struct arch_residual *s, uint32_t z, float a);

/* The last matrix of a block: adds to the residual stream or returns the result alone, depending on
 * io.  pro: norm before the matrix, or NULL. */
uint32_t arch_block_out(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *pro,
			const struct arch_weight *w, const struct arch_block_io *io);

/* ---- input and output ---- */

/* Token embeddings times hp->embd_scale, or external rows times hp->embd_scale_ext; f32.  A file
 * without token_embd uses the output matrix. */
uint32_t arch_embed(struct arch_emit *e);
/* As arch_embed, plus learned positions: row `step.pos` + off of the table `pos` (NULL: none). */
uint32_t arch_embed_pos(struct arch_emit *e, const struct lmd_tensor_row *pos, int32_t off);

/* Logits of the output rows, computed with `output` or, if absent, token_embd.  bias: weight_ref
 * [V] added to the logits, or LMD_NONE. */
void arch_emit_logits(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *norm,
		      uint32_t bias);
/* As arch_emit_logits, with another matrix. */
void arch_emit_head(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *norm,
		    const struct arch_weight *head, uint32_t bias);
/* The matrix of the logits: `output` or, if absent, token_embd. */
struct arch_weight arch_weight_output(struct arch_emit *e);
/* io.x after io.norm: all columns of a value. */
struct lmd_operand arch_normalised_stream(struct arch_emit *e, const struct arch_block_io *io);

struct arch_pooling {
	/* for LMD_POOL_RANK */
	bool rank_last;       /* read the last row, not the first */
	bool rank_mean;       /* read the mean of all rows */
	bool rank_softmax;    /* apply softmax over the labels at the end */
	uint32_t rank_act;    /* activation between cls and cls.output, such as LMD_ACT_FN_TANH */
};
/* Emits the output EMBED from x, which must be normalised: pooling, projections, classifier. */
void arch_emit_pooling(struct arch_emit *e, const struct lmd_plan_key *key, struct lmd_operand x,
		       const struct arch_pooling *p);

/* taps.c: the streams that were kept, side by side: the value of LMD_OUT_TAP. */
uint32_t arch_taps_join(struct arch_emit *e);

/* The usual end of a plan: final norm of the stream, then logits and EMBED as `key` requests. */
void arch_emit_outputs(struct arch_emit *e, const struct lmd_plan_key *key, struct arch_residual *s,
		       const struct lmd_norm *norm, const struct arch_pooling *pool, uint32_t bias);

#endif /* LLAMAD_ARCH_COMMON_BLOCKS_H */
