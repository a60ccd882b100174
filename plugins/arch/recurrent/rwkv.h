/* SPDX-License-Identifier: MIT
 *
 * rwkv.h - parts shared by the RWKV architectures: sizes, memory, token shift, blends of a row with
 * the previous row, the per-head norm of the mixer, the channel mix. */
#ifndef LLAMAD_ARCH_RECURRENT_RWKV_H
#define LLAMAD_ARCH_RECURRENT_RWKV_H

#include "arch/common/blocks.h"

enum rwkv_d {
	D_RWKV_HEAD = D_OWN, /* size of a head */
	D_RWKV_N_HEAD,
	D_RWKV_KV,           /* columns of k and v */
	D_RWKV_RANK,         /* D_RWKV_RANK + i: rwkv.rank[i], of the low-rank products */
};
#define RWKV_N_RANK 5

struct rwkv_kind;

struct rwkv {
	struct lmi_hparams hp;
	const struct rwkv_kind *kind;
	uint32_t d;           /* head size */
	uint32_t n_head, n_head_kv;
	uint32_t rank[RWKV_N_RANK];
	uint32_t rescale;     /* the stream is halved after every `rescale` layers; 0: never */
	bool channel_mix;     /* RWKV's channel mix; otherwise a gated feed-forward block */
	uint32_t *shift_att, *shift_ffn, *scan; /* [n_layer] caches */
};

/* A generation of RWKV. */
struct rwkv_kind {
	/* Reads the keys of this generation. */
	void (*ranks)(struct rwkv *m, struct lmi_keys *k);
	/* Returns x + mixer(norm(x)).  v_first: the values of the first layer, LMD_NONE before
	 * it. */
	uint32_t (*time_mix)(struct lmi_emit *e, const struct rwkv *m, uint32_t x,
			     uint32_t *v_first);
};

/* Reads the keys and declares group and caches: a state [d, d] for each head, and one row of
 * history for each shift.  qwen: layers with the norms and feed-forward blocks of Qwen 2. */
enum lmd_status rwkv_describe(const struct rwkv_kind *kind, bool qwen,
			      const struct lmd_tensor_set *sets, uint32_t n_sets,
			      const struct lmd_host *host, struct lmd_arena *arena,
			      const struct lmd_model *model, const struct lmd_arch_params *params,
			      struct lmd_arch_desc *out, struct lmd_error *err);
/* Builds layers of a mixer and a channel mix or gated feed-forward block. */
enum lmd_status rwkv_build(const void *state, const struct lmd_builder *b,
			   const struct lmd_plan_key *key);
int64_t rwkv_dim(const void *state, uint32_t symbol, int32_t layer);

/* The row that precedes each row of x (zeros before the first). */
uint32_t rwkv_shift(struct lmi_emit *e, uint32_t x, uint32_t cache);
/* cur + (prev - cur) * (mu + more) for n blends side by side; mu has n heads of n_embd columns.
 * more: NONE, or as many heads. */
uint32_t rwkv_blend(struct lmi_emit *e, uint32_t cur, uint32_t prev, uint32_t n,
		    struct lmd_opnd mu, struct lmd_opnd more);
/* W_2 act(W_1 x), a low-rank product; the result is f32. */
uint32_t rwkv_small(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *w1,
		    uint32_t act, const struct lmd_tensor_row *w2, const char *name);
/* act(W x) as a new value. */
uint32_t rwkv_linear(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *row,
		     uint32_t act, const char *name);
/* Normalises each head of the mixer's result if the file has the weights. */
uint32_t rwkv_head_norm(struct lmi_emit *e, const struct rwkv *m, uint32_t y,
			const struct lmd_tensor_row *row);

/* Tensor rows of the channel mix. */
enum rwkv_ffn_t {
	C_NORM, C_LERP_K, C_LERP_R, C_KEY, C_VALUE, C_RECEPTANCE, C_N
};
extern const struct lmd_tensor_row rwkv_channel_rows[C_N];
/* x + channel_mix(norm(x)); if there is a receptance (RWKV-6), it gates the result. */
uint32_t rwkv_channel_mix(struct lmi_emit *e, const struct rwkv *m, uint32_t x);

/* Defines an architecture with mixers of kind_; qwen_: in layers of Qwen 2, with its norms and
 * feed-forward blocks. */
#define RWKV_ARCH(ident, kind_, qwen_, sets_)                                                      \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return rwkv_describe(&(kind_), qwen_, sets_, LMD_LEN(sets_), host, arena, model,   \
				     params, out, err);                                            \
	}                                                                                          \
	const struct lmd_arch_ops arch_##ident = {                                                 \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets_),                                                          \
		.sets = sets_,                                                                     \
		.describe = ident##_describe,                                                      \
		.dim = rwkv_dim,                                                                   \
		.layer_class = lmi_hp_layer_class,                                                 \
		.build = rwkv_build,                                                               \
	};

#endif /* LLAMAD_ARCH_RECURRENT_RWKV_H */
