/* SPDX-License-Identifier: MIT
 *
 * hybrid.h - the architectures of arch-hybrid.so, and their shared state and hooks.
 *
 * They use the shared decoder (common/decoder.h); in some layers (class ARCH_L_RECURRENT) a mixer
 * with a state of fixed size replaces attention.  To add one, add a file here and a line to
 * ARCH_HYBRID_LIST. */
#ifndef LLAMAD_ARCH_HYBRID_HYBRID_H
#define LLAMAD_ARCH_HYBRID_HYBRID_H

#include "arch/common/attn_mla.h"
#include "arch/common/decoder.h"
#include "arch/common/gated_delta.h"
#include "arch/common/ssm.h"
#include "arch/hybrid/kda.h"

#define ARCH_HYBRID_LIST(X)                                                                        \
	X("bailingmoe3", bailingmoe3)                                                              \
	X("falcon-h1", falcon_h1)                                                                  \
	X("granitehybrid", granitehybrid)                                                          \
	X("hrm_text", hrm_text)                                                                    \
	X("kimi-k3", kimi_k3)                                                                      \
	X("kimi-linear", kimi_linear)                                                              \
	X("lfm2", lfm2)                                                                            \
	X("lfm2moe", lfm2moe)                                                                      \
	X("minimax-01", minimax_01)                                                                \
	X("nemotron_h", nemotron_h)                                                                \
	X("nemotron_h_moe", nemotron_h_moe)                                                        \
	X("plamo2", plamo2)                                                                        \
	X("qwen35", qwen35)                                                                        \
	X("qwen35moe", qwen35moe)                                                                  \
	X("qwen3next", qwen3next)

#define ARCH_HYBRID_EXTERN(name, ident) extern const struct lmd_arch_ops arch_##ident;
ARCH_HYBRID_LIST(ARCH_HYBRID_EXTERN)

/* Number of an architecture's own dimension symbols, from D_OWN. */
#define ARCH_HYBRID_N_DIM 8u

/* The state.  Build hooks find it in hp->arch_data, the hooks of describe by arch_hybrid(). */
struct arch_hybrid {
	struct arch_decoder d;
	struct arch_ssm ssm;
	struct arch_delta delta;
	uint32_t n_conv;      /* LFM2: kernel size of the convolution */
	uint32_t *conv;       /* LFM2: [n_layer] cache of each recurrent layer */
	uint32_t *scan;       /* MiniMax-01: [n_layer] cache of each recurrent layer */
	uint32_t *runs;       /* HRM-Text: cache of each run of each layer */
	float *ban;           /* MiniMax-01: bias of the logits */
	float situ[2];        /* Kimi-K3: parameters of LMD_ACT_FN_SITU */
	struct arch_kda kda;
	const struct arch_mla *mla;
	int64_t dims[ARCH_HYBRID_N_DIM];
};

static inline struct arch_hybrid *arch_hybrid(struct arch_hparams *hp)
{
	return (struct arch_hybrid *)hp;
}

/* attn_norm, required in all layers regardless of their mixer. */
extern const struct lmd_tensor_row arch_hybrid_norm_rows[1];
#define ARCH_SET_HYBRID_NORM ARCH_ROWS_OWN(arch_hybrid_norm_rows)

/* Makes layers without key heads recurrent. */
void arch_hybrid_layers(struct arch_hparams *hp);
/* Makes layers recurrent according to attention.recurrent_layers (one flag per layer) or
 * full_attention_interval (every n-th layer has attention; n is the default of the key). */
void arch_hybrid_kinds(struct arch_hparams *hp, struct arch_keys *k, uint32_t n);

/* Gives shared experts to the layers that have their tensors, regardless of the keys. */
void arch_hybrid_shared(struct arch_hparams *hp);

/* Hooks adjust, memory and mixer for models whose layers without key heads are Mamba-2 layers. */
void arch_hybrid_mamba2(struct arch_hparams *hp, struct arch_keys *k);
void arch_hybrid_mamba2_memory(struct arch_hparams *hp, struct arch_keys *k);
uint32_t arch_hybrid_mamba2_mixer(struct arch_emit *e, const struct arch_decoder *d,
				  const struct arch_block_io *io);

/* Hooks for models with Kimi Delta Attention and latent attention (members kda, mla): memory, the
 * first half of a layer, and a whole layer. */
void arch_hybrid_kda_memory(struct arch_hparams *hp, struct arch_keys *k);
void arch_hybrid_kda_mixer(struct arch_emit *e, const struct arch_decoder *d,
			   struct arch_residual *s);
void arch_hybrid_kda_layer(struct arch_emit *e, const struct arch_decoder *d,
			   struct arch_residual *s, uint32_t pass);

enum lmd_status arch_hybrid_describe(const struct arch_decoder_traits *t,
				     const struct lmd_tensor_set *sets, uint32_t n_sets,
				     const struct lmd_host *host, struct lmd_arena *arena,
				     const struct lmd_model *model,
				     const struct lmd_arch_params *params,
				     struct lmd_arch_desc *out, struct lmd_error *err);
int64_t arch_hybrid_dim(const void *state, uint32_t symbol, int32_t layer);

/* ARCH_DECODER_ARCH for architectures whose state is a struct arch_hybrid. */
#define ARCH_HYBRID_ARCH(ident, traits_, sets_)                                                    \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return arch_hybrid_describe(&(traits_), sets_, LMD_LEN(sets_), host, arena, model, \
					    params, out, err);                                     \
	}                                                                                          \
	const struct lmd_arch_ops arch_##ident = {                                                 \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets_),                                                          \
		.sets = sets_,                                                                     \
		.describe = ident##_describe,                                                      \
		.dim = arch_hybrid_dim,                                                            \
		.layer_class = arch_hp_layer_class,                                                \
		.build = arch_decoder_build,                                                       \
		.rows = arch_decoder_rows,                                                         \
		.quant = &(traits_).quant,                                                         \
		.checkpoints = &(traits_).checkpoints,                                             \
	};

#endif /* LLAMAD_ARCH_HYBRID_HYBRID_H */
