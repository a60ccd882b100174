/* SPDX-License-Identifier: MIT
 *
 * ssm.h - state space layers: Mamba (arXiv 2312.00752) and Mamba-2 (arXiv 2405.21060).
 *
 * An architecture with such layers keeps a struct lmi_ssm after its struct lmi_hparams, lists
 * LMI_SET_MAMBA1 or LMI_SET_MAMBA2 for its recurrent layers, calls lmi_ssm_dim from its own dim
 * function, and calls lmi_ssm as the mixer of those layers. */
#ifndef LLAMAD_ARCH_COMMON_SSM_H
#define LLAMAD_ARCH_COMMON_SSM_H

#include "arch/common/blocks.h"

/* Dimension symbols; between those of tensors.h and an architecture's own. */
enum lmi_d_ssm {
	D_SSM_CONV = 128, /* kernel of the convolution */
	D_SSM_INNER,
	D_SSM_XBC,        /* channels of the convolution; in Mamba-2 they include B and C */
	D_SSM_IN,         /* outputs of the input projection */
	D_SSM_X,          /* dt, B, C of Mamba */
	D_SSM_DT,         /* rank of dt (Mamba), heads (Mamba-2) */
	D_SSM_STATE,
	D_SSM_GROUP,
	D_SSM_INNER_GROUP /* inner / groups */
};

enum lmi_ssm_t {
	S_IN, S_CONV1D, S_X, S_DT, S_A, S_D, S_DT_NORM, S_B_NORM, S_C_NORM, S_OUT, S_N
};
extern const struct lmd_tensor_row lmi_mamba1_rows[S_N];
enum lmi_ssm2_t { S2_IN, S2_CONV1D, S2_DT, S2_A, S2_D, S2_NORM, S2_OUT, S2_N };
extern const struct lmd_tensor_row lmi_mamba2_rows[S2_N];
#define LMI_SET_MAMBA1 {lmi_mamba1_rows, S_N, 0}
#define LMI_SET_MAMBA2 {lmi_mamba2_rows, S2_N, 0}

struct lmi_ssm {
	uint32_t version;     /* 1 or 2 */
	uint32_t d_conv;
	uint32_t d_inner;
	uint32_t d_state;
	uint32_t dt_rank;     /* Mamba-2: number of heads */
	uint32_t n_group;     /* Mamba-2 */
	bool plain_norm;      /* Mamba: dt, B and C are normalised without weights */
	uint32_t group;       /* the STATE group */
	uint32_t *conv;       /* [n_layer] convolution cache of each recurrent layer */
	uint32_t *scan;       /* [n_layer] scan cache of each recurrent layer */
};

/* Reads ssm.* keys; version 1 or 2. */
void lmi_ssm_read(struct lmi_ssm *s, struct lmi_hparams *hp, struct lmi_keys *k, uint32_t version);

/* Declares the STATE group and two caches for every layer of class LMI_L_RECURRENT. */
void lmi_ssm_memory(struct lmi_ssm *s, struct lmi_hparams *hp, struct lmi_keys *k);

/* Value of a D_SSM_* symbol; 0 for all others. */
int64_t lmi_ssm_dim(const struct lmi_ssm *s, uint32_t symbol);

/* The mixer of the current layer; adds to the residual stream or not, as described in blocks.h. */
uint32_t lmi_ssm(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_ssm *s);

#endif /* LLAMAD_ARCH_COMMON_SSM_H */
