/* SPDX-License-Identifier: MIT
 *
 * gemma.h - the architectures of arch-gemma.so: the name in files, the identifier of the table.
 * A new one is a file here and a line in this list. */
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

/* Embeddings times the root of the width; external rows times `ext`, 0: the same. */
void lmi_gemma_embedding(struct lmi_hparams *hp, float ext);
void lmi_gemma_attn_scale(struct lmi_hparams *hp, uint32_t n_layer_large);

#endif /* LLAMAD_ARCH_GEMMA_GEMMA_H */
