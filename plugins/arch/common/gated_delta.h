/* SPDX-License-Identifier: MIT
 *
 * gated_delta.h - linear attention by the gated delta rule (arXiv 2412.06464).
 *
 * An architecture with such layers keeps a struct arch_delta in its state, lists ARCH_SET_DELTA for
 * its recurrent layers, calls arch_delta_dim from its own dim function, and calls arch_delta as the
 * mixer of those layers. */
#ifndef LLAMAD_PLUGINS_ARCH_COMMON_GATED_DELTA_H
#define LLAMAD_PLUGINS_ARCH_COMMON_GATED_DELTA_H

#include "arch/common/blocks.h"

/* Dimension symbols; between those of ssm.h and an architecture's own. */
enum arch_d_delta {
	D_DELTA_CONV = 144, /* kernel of the convolution */
	D_DELTA_QKV,        /* q, k and v side by side: the channels of the convolution */
	D_DELTA_V,          /* n_head * dv */
	D_DELTA_HEAD,
	D_DELTA_DV,
	D_DELTA_IN, /* q, k, v and the gate */
	D_DELTA_BA  /* step and decay */
};

enum arch_delta_t {
	DL_QKV,
	DL_GATE,
	DL_BETA,
	DL_ALPHA,
	DL_CONV1D,
	DL_DT,
	DL_A,
	DL_NORM,
	DL_OUT,
	DL_N
};
extern const struct lmd_tensor_row arch_delta_rows[DL_N];
#define ARCH_SET_DELTA                                                                             \
	{                                                                                          \
		arch_delta_rows, DL_N, 0                                                           \
	}

/* Tensors of files with joint matrices, whose outputs lie side by side for each key head: ssm_ba
 * holds step and decay; ssm_in, if present, holds q, k, v and the gate of the value heads. */
enum arch_delta_joint_t { DJ_IN, DJ_BA, DJ_QKV, DJ_GATE, DJ_N };
extern const struct lmd_tensor_row arch_delta_joint_rows[DJ_N];
#define ARCH_SET_DELTA_JOINT                                                                       \
	{arch_delta_rows + DL_CONV1D, DL_OUT - DL_CONV1D + 1, 0},                                  \
	{                                                                                          \
		arch_delta_joint_rows, DJ_N, 0                                                     \
	}

struct arch_delta {
	uint32_t d_conv;
	uint32_t dk, dv;      /* of a head */
	uint32_t n_head;      /* of v */
	uint32_t n_key_head;  /* of q and k */
	uint32_t key_map;     /* enum lmd_head_map; arch_delta_read sets CYCLE */
	uint32_t gate_act;    /* enum lmd_act_fn of the output gate; arch_delta_read sets SiLU */
	uint32_t group;       /* the STATE group */
	uint32_t *conv;       /* [n_layer] convolution cache of each recurrent layer */
	uint32_t *scan;       /* [n_layer] scan cache of each recurrent layer */
	float *unit;          /* [dk] all 1/sqrt(dk): turns an RMS norm into an L2 norm */
};

/* Reads ssm.* keys. */
void arch_delta_read(struct arch_delta *d, struct arch_hparams *hp, struct arch_keys *k);

/* Declares the STATE group and two caches for every layer of class ARCH_L_RECURRENT. */
void arch_delta_memory(struct arch_delta *d, struct arch_hparams *hp, struct arch_keys *k);

/* Value of a D_DELTA_* symbol; 0 for all others. */
int64_t arch_delta_dim(const struct arch_delta *d, uint32_t symbol);

/* The mixer of the current layer; adds to the residual stream or not, as described in blocks.h. */
uint32_t arch_delta(struct arch_emit *e, const struct arch_block_io *io,
		    const struct arch_delta *d);

#endif /* LLAMAD_PLUGINS_ARCH_COMMON_GATED_DELTA_H */
