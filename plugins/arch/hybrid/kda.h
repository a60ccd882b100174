/* SPDX-License-Identifier: MIT
 *
 * kda.h - Kimi Delta Attention (arXiv 2510.26692): the gated delta rule with a decay of its own
 * for each column of the key.
 *
 * It is used as delta.h is: LMI_SET_KDA and what the file has of LMI_SET_KDA_LOW, lmi_kda_dim, and
 * lmi_kda in the place of the mixer. */
#ifndef LLAMAD_ARCH_HYBRID_KDA_H
#define LLAMAD_ARCH_HYBRID_KDA_H

#include "arch/common/blocks.h"

/* Symbols of dims; after those of delta.h. */
enum lmi_d_kda {
	D_KDA_CONV = 192, /* kernel of the convolutions */
	D_KDA_INNER,      /* heads of dk */
	D_KDA_HEAD,
	D_KDA_DK,
	D_KDA_LOW         /* between the two matrices of decay and gate; full: INNER */
};

enum lmi_kda_t {
	KDA_Q, KDA_K, KDA_V, KDA_F_A, KDA_CONV_Q, KDA_CONV_K, KDA_CONV_V, KDA_BETA, KDA_A, KDA_DT,
	KDA_NORM, KDA_OUT, KDA_N
};
enum lmi_kda_low_t { KDA_F_B, KDA_G, KDA_G_A, KDA_G_B, KDA_LOW_N };
extern const struct lmd_tensor_row lmi_kda_rows[KDA_N], lmi_kda_low_rows[KDA_LOW_N];
#define LMI_SET_KDA {lmi_kda_rows, KDA_N, 0}, {lmi_kda_low_rows, KDA_LOW_N, 0}

struct lmi_kda {
	uint32_t d_conv;
	uint32_t n_head, dk;  /* of keys and values */
	bool full;            /* decay and gate come out of one matrix each */
	float a_sign;         /* of the file's A where there is a lower bound; else 1 */
	float lower;          /* least log decay; 0: no bound */
	uint32_t *conv;       /* [n_layer] cache of each recurrent layer */
	uint32_t *scan;
	float *unit;          /* [dk] 1/sqrt(dk) */
};

/* Reads kda.* keys and ssm.conv_kernel; heads are those of attention. */
void lmi_kda_read(struct lmi_kda *a, struct lmi_hparams *hp, struct lmi_keys *k);

/* Declares the STATE group and two caches for every layer of class LMI_L_RECURRENT. */
void lmi_kda_memory(struct lmi_kda *a, struct lmi_hparams *hp, struct lmi_keys *k);

/* Value of a D_KDA_* symbol; 0 for all others. */
int64_t lmi_kda_dim(const struct lmi_kda *a, uint32_t symbol);

/* The mixer of the current layer, with the residual or without it as blocks.h says. */
uint32_t lmi_kda(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_kda *a);

#endif /* LLAMAD_ARCH_HYBRID_KDA_H */
