/* SPDX-License-Identifier: MIT
 *
 * kda.h - Kimi Delta Attention (arXiv 2510.26692): the gated delta rule with a separate decay for
 * each column of the key.
 *
 * Use it like gated_delta.h: list ARCH_SET_KDA, call arch_kda_dim from the dim function, and call
 * arch_kda as the mixer. */
#ifndef LLAMAD_ARCH_HYBRID_KDA_H
#define LLAMAD_ARCH_HYBRID_KDA_H

#include "arch/common/blocks.h"

/* Dimension symbols; after those of gated_delta.h. */
enum arch_d_kda {
	D_KDA_CONV = 192, /* kernel of the convolutions */
	D_KDA_INNER,      /* n_head * dk */
	D_KDA_HEAD,
	D_KDA_DK,
	D_KDA_LOW /* rank of the low-rank decay and gate; INNER if `full` */
};

enum arch_kda_t {
	KDA_Q,
	KDA_K,
	KDA_V,
	KDA_F_A,
	KDA_CONV_Q,
	KDA_CONV_K,
	KDA_CONV_V,
	KDA_BETA,
	KDA_A,
	KDA_DT,
	KDA_NORM,
	KDA_OUT,
	KDA_N
};
enum arch_kda_low_t { KDA_F_B, KDA_G, KDA_G_A, KDA_G_B, KDA_LOW_N };
extern const struct lmd_tensor_row arch_kda_rows[KDA_N], arch_kda_low_rows[KDA_LOW_N];
#define ARCH_SET_KDA                                                                               \
	{arch_kda_rows, KDA_N, 0},                                                                 \
	{                                                                                          \
		arch_kda_low_rows, KDA_LOW_N, 0                                                    \
	}

struct arch_kda {
	uint32_t d_conv;
	uint32_t n_head, dk;  /* of keys and values */
	bool full;            /* decay and gate are computed by one matrix each, not low-rank */
	float a_sign;         /* sign of the file's A if there is a lower bound; else 1 */
	float lower;          /* lower bound of the log decay; 0: none */
	uint32_t *conv;       /* [n_layer] convolution cache of each recurrent layer */
	uint32_t *scan;       /* [n_layer] scan cache of each recurrent layer */
	float *unit;          /* [dk] all 1/sqrt(dk) */
};

/* Reads kda.* keys and ssm.conv_kernel; the number of heads is that of attention. */
void arch_kda_read(struct arch_kda *a, struct arch_hparams *hp, struct arch_keys *k);

/* Declares the STATE group and two caches for every layer of class ARCH_L_RECURRENT. */
void arch_kda_memory(struct arch_kda *a, struct arch_hparams *hp, struct arch_keys *k);

/* Value of a D_KDA_* symbol; 0 for all others. */
int64_t arch_kda_dim(const struct arch_kda *a, uint32_t symbol);

/* The mixer of the current layer; adds to the residual stream or not, as described in blocks.h. */
uint32_t arch_kda(struct arch_emit *e, const struct arch_block_io *io, const struct arch_kda *a);

#endif /* LLAMAD_ARCH_HYBRID_KDA_H */
