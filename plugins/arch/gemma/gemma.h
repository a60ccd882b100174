/* SPDX-License-Identifier: MIT
 *
 * gemma.h - the architectures of arch-gemma.so: name in model files, identifier of the ops table.
 * To add one, add a file here and a line to this list. */
#ifndef LLAMAD_ARCH_GEMMA_GEMMA_H
#define LLAMAD_ARCH_GEMMA_GEMMA_H

#include "arch/common/decoder.h"

#define LMI_GEMMA_LIST(X)                                                                          \
	X("gemma", gemma)                                                                          \
	X("gemma-embedding", gemma_embedding)                                                      \
	X("gemma2", gemma2)                                                                        \
	X("gemma3", gemma3)                                                                        \
	X("gemma4", gemma4)

#define LMI_GEMMA_EXTERN(name, ident) extern const struct lmd_arch_ops lmi_arch_##ident;
LMI_GEMMA_LIST(LMI_GEMMA_EXTERN)

/* Scales token embeddings by sqrt(n_embd), and external rows by `ext` (0: also by sqrt(n_embd)). */
void lmi_gemma_embedding(struct lmi_hparams *hp, float ext);
void lmi_gemma_attn_scale(struct lmi_hparams *hp, uint32_t n_layer_large);

#endif /* LLAMAD_ARCH_GEMMA_GEMMA_H */
