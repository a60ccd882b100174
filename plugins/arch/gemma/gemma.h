/* SPDX-License-Identifier: MIT
 *
 * gemma.h - the architectures of arch-gemma.so: name in model files, identifier of the ops table.
 * To add one, add a file here and a line to this list. */
#ifndef LLAMAD_ARCH_GEMMA_GEMMA_H
#define LLAMAD_ARCH_GEMMA_GEMMA_H

#include "arch/common/decoder.h"

#define ARCH_GEMMA_LIST(X)                                                                         \
	X("gemma", gemma)                                                                          \
	X("gemma-embedding", gemma_embedding)                                                      \
	X("gemma2", gemma2)                                                                        \
	X("gemma3", gemma3)                                                                        \
	X("gemma4", gemma4)

#define ARCH_GEMMA_EXTERN(name, ident) extern const struct lmd_arch_ops arch_##ident;
ARCH_GEMMA_LIST(ARCH_GEMMA_EXTERN)

/* Scales token embeddings by sqrt(n_embd), and external rows by `ext` (0: also by sqrt(n_embd)). */
void arch_gemma_embedding_scale(struct arch_hparams *hp, float ext);
void arch_gemma_attn_scale(struct arch_hparams *hp, uint32_t n_layer_large);

/* Maps of checkpoints: head and norms, whose weights are stored minus 1; the embedding is the output
 * head unless the configuration says otherwise; attention scores are scaled by the head width, except
 * in the largest models (recognised by their number of layers), which use n_embd / n_head. */
extern const struct lmd_checkpoint_rows arch_gemma_ckpt_head, arch_gemma_ckpt_norms;
void arch_gemma_ckpt_tied(struct lmd_checkpoint *c);
void arch_gemma_ckpt_check_scale(struct lmd_checkpoint *c, uint32_t n_layer_large);

#endif /* LLAMAD_ARCH_GEMMA_GEMMA_H */
