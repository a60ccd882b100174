/* SPDX-License-Identifier: MIT
 *
 * attn_mla.h - multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).
 *
 * The keys and values of all heads are products of one latent row; a part of each key (rope) is
 * rotated and shared by the heads.  There are two equivalent forms:
 *   absorbed  the cache holds [latent | rope] as one key head; queries are multiplied by k_b and
 *             results by v_b (both can be derived from kv_b if a file has only that),
 *   expanded  kv_b computes the keys and values of every head, and the cache holds those.
 *
 * An architecture calls arch_mla_read from its adjust hook and keeps the result in
 * hp->arch_data (first member of whatever it points to). */
#ifndef LLAMAD_ARCH_COMMON_ATTN_MLA_H
#define LLAMAD_ARCH_COMMON_ATTN_MLA_H

#include "arch/common/decoder.h"

/* Dimension symbols, resolved by arch_mla_dim. */
enum arch_d_mla {
	D_MLA_RANK_Q = 160,
	D_MLA_Q, /* heads * dk */
	D_MLA_RANK_KV,
	D_MLA_KV_A, /* latent and rope */
	D_MLA_KV_B, /* heads * (nope + dv) */
	D_MLA_NOPE,
	D_MLA_DV,
	D_MLA_O, /* heads * dv */
	D_MLA_END
};

enum arch_mla_t {
	MLA_Q_A,
	MLA_Q_A_NORM,
	MLA_Q_B,
	MLA_Q,
	MLA_KV_A,
	MLA_KV_A_NORM,
	MLA_KV_B,
	MLA_K_B,
	MLA_V_B,
	MLA_OUT,
	MLA_N
};
extern const struct lmd_tensor_row arch_mla_rows[MLA_N];
#define ARCH_SET_MLA                                                                               \
	{                                                                                          \
		arch_mla_rows, MLA_N, 0                                                            \
	}

struct arch_mla {
	uint32_t rank_q;      /* 0: q is a single matrix */
	uint32_t rank_kv;
	uint32_t n_head;
	uint32_t n_nope, n_rot; /* parts of a key; dk = n_nope + n_rot */
	uint32_t dv;
	bool absorbed;
	float scale;          /* factor of q k^T; 0: 1/sqrt(dk) */

	/* optional parts; NULL if the architecture does not have them */
	const struct lmd_tensor_row *k_norm; /* norm of the key's shared part, before rotation */
	const struct lmd_tensor_row *sinks;
	const struct lmd_tensor_row *gate;   /* sigmoid gate of the result, per head or column */
	/* Returns the list of keys to attend to (i32, one head), or NONE for all keys.  x: the
	 * block's normalised input; qr: the normalised low-rank query. */
	struct lmd_operand (*choose_keys)(struct arch_emit *e, struct lmd_operand x,
					  struct lmd_operand qr);
};

/* Reads q_lora_rank (if `low_q`), kv_lora_rank and the head sizes; sets the key heads and sizes of
 * each layer to what the cache holds.  Returns NULL after an error. */
struct arch_mla *arch_mla_read(struct arch_hparams *hp, struct arch_keys *k, bool low_q);

/* Value of a D_MLA_* symbol; 0 for others. */
int64_t arch_mla_dim(const struct arch_mla *m, uint32_t symbol);
/* lmd_arch_ops.dim of decoders whose hp->arch_data is a struct arch_mla. */
int64_t arch_mla_hp_dim(const void *state, uint32_t symbol, int32_t layer);

/* Emits the attention of the current layer and returns its output value.  q_row_in: row input [1]
 * that multiplies the queries, or LMD_NONE. */
uint32_t arch_mla(struct arch_emit *e, const struct arch_block_io *io, const struct arch_mla *m,
		  uint32_t q_row_in);

/* ARCH_DECODER_ARCH (decoder.h) for decoders whose hp->arch_data is a struct arch_mla. */
#define ARCH_MLA_ARCH(ident, traits, sets_)                                                        \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return arch_decoder_describe(&(traits), sets_, LMD_LEN(sets_), host, arena, model, \
					     params, out, err);                                    \
	}                                                                                          \
	const struct lmd_arch_ops arch_##ident = {                                                 \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets_),                                                          \
		.sets = sets_,                                                                     \
		.describe = ident##_describe,                                                      \
		.dim = arch_mla_hp_dim,                                                            \
		.layer_class = arch_hp_layer_class,                                                \
		.build = arch_decoder_build,                                                       \
		.rows = arch_decoder_rows,                                                         \
		.checkpoints = &(traits).checkpoints,                                              \
	};

#endif /* LLAMAD_ARCH_COMMON_ATTN_MLA_H */
