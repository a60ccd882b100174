/* SPDX-License-Identifier: MIT
 *
 * indexer.h - latent attention over keys chosen by a small indexer (DeepSeek-V3.2,
 * arXiv 2512.02556): a few small heads score every key, and attention reads the best `top` keys.  A
 * layer without its own indexer uses the choice of the last layer that has one.
 *
 * The reference multiplies index queries and keys by a Hadamard matrix.  That does not change the
 * scores, so it is omitted here. */
#ifndef LLAMAD_ARCH_MLA_INDEXER_H
#define LLAMAD_ARCH_MLA_INDEXER_H

#include "arch/common/attn_mla.h"

#define ARCH_L_INDEX    ARCH_L_OWN /* layers with an indexer */
#define ARCH_ROPE_INDEX 2u         /* rope set of the indexer */

enum arch_d_indexer { D_IDX_Q = D_OWN, D_IDX_K, D_IDX_HEAD, D_IDX_END };
enum arch_indexer_t { IDX_Q, IDX_K, IDX_K_NORM, IDX_PROJ, IDX_N };
extern const struct lmd_tensor_row arch_indexer_rows[IDX_N];
#define ARCH_SET_INDEXER {arch_indexer_rows, IDX_N, 0}

/* hp->arch_data points to this. */
struct arch_sparse_mla {
	struct arch_mla m; /* must be first: arch_mla_hp_dim reads it */
	struct arch_mla w; /* for layers with a window, if they differ */
	uint32_t n_head, dk, top;
	bool rope_last;       /* the last columns rotate, not the first */
	float eps;            /* for the norm of index keys */
	uint32_t *cache;      /* [n_layer] cache of index keys; LMD_NONE: no indexer */
};

/* Allocates the state and reads the keys of latent attention and, if `index`, of the indexer.
 * Returns NULL after an error. */
struct arch_sparse_mla *arch_dsa_read(struct arch_hparams *hp, struct arch_keys *k, bool index);
/* Marks layer il as having an indexer. */
void arch_dsa_layer(struct arch_hparams *hp, uint32_t il);
/* The `memory` hook: places index keys in the group of the keys that they represent. */
/* Hook draft: a draft layer has an indexer if the file has one for it; otherwise it attends to all keys. */
void arch_dsa_draft(struct arch_hparams *hp, uint32_t il);
void arch_dsa_memory(struct arch_hparams *hp, struct arch_keys *k);
int64_t arch_dsa_dim(const void *state, uint32_t symbol, int32_t layer);

#endif /* LLAMAD_ARCH_MLA_INDEXER_H */
