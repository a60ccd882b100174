/* SPDX-License-Identifier: MIT
 *
 * indexer.h - latent attention over the keys that a small indexer chooses (DeepSeek-V3.2,
 * arXiv 2512.02556): a few small heads score every key, the best `top` are looked at.  A layer
 * without an indexer of its own looks at those of the last layer that has one.
 *
 * The reference turns index queries and keys by a Hadamard matrix, which preserves the scores
 * and is left out. */
#ifndef LLAMAD_ARCH_MLA_INDEXER_H
#define LLAMAD_ARCH_MLA_INDEXER_H

#include "arch/common/attn_mla.h"

#define LMI_L_INDEX    LMI_L_OWN /* layers with an indexer */
#define LMI_ROPE_INDEX 2u        /* its rotation */

enum lmi_d_indexer { D_IDX_Q = D_OWN, D_IDX_K, D_IDX_HEAD, D_IDX_END };
enum lmi_indexer_t { IDX_Q, IDX_K, IDX_K_NORM, IDX_PROJ, IDX_N };
extern const struct lmd_tensor_row lmi_indexer_rows[IDX_N];
#define LMI_SET_INDEXER {lmi_indexer_rows, IDX_N, 0}

/* What hp->own_data points to. */
struct lmi_dsa {
	struct lmi_mla m;     /* first: lmi_mla_hp_dim reads it */
	struct lmi_mla w;     /* of layers with a window, where they differ */
	uint32_t n_head, dk, top;
	bool rope_last;       /* the last columns rotate, not the first */
	float eps;            /* of the norm of index keys */
	uint32_t *cache;      /* [n_layer] of index keys; LMD_NONE: no indexer */
};

/* Allocates, reads the keys of latent attention, and those of the indexer when `index`.  NULL after
 * an error. */
struct lmi_dsa *lmi_dsa_read(struct lmi_hparams *hp, struct lmi_keys *k, bool index);
/* The layer has an indexer. */
void lmi_dsa_layer(struct lmi_hparams *hp, uint32_t il);
/* Traits' hook: index keys lie in the group of the keys that they stand for. */
void lmi_dsa_memory(struct lmi_hparams *hp, struct lmi_keys *k);
int64_t lmi_dsa_dim(const void *state, uint32_t symbol, int32_t layer);

#endif /* LLAMAD_ARCH_MLA_INDEXER_H */
