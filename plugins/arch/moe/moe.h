/* SPDX-License-Identifier: MIT
 *
 * moe.h - the architectures of arch-moe.so: name in model files, identifier of the ops table.
 * To add one, add a file here and a line to this list. */
#ifndef LLAMAD_ARCH_MOE_MOE_H
#define LLAMAD_ARCH_MOE_MOE_H

#include "arch/common/decoder.h"

#define ARCH_MOE_LIST(X)                                                                           \
	X("afmoe", afmoe)                                                                          \
	X("arctic", arctic)                                                                        \
	X("bailingmoe", bailingmoe)                                                                \
	X("bailingmoe2", bailingmoe2)                                                              \
	X("cohere2moe", cohere2moe)                                                                \
	X("dbrx", dbrx)                                                                            \
	X("deepseek", deepseek)                                                                    \
	X("deepseek2-ocr", deepseek2_ocr)                                                          \
	X("dots1", dots1)                                                                          \
	X("ernie4_5-moe", ernie4_5_moe)                                                            \
	X("exaone-moe", exaone_moe)                                                                \
	X("flex-olmo", flex_olmo)                                                                  \
	X("glm4moe", glm4moe)                                                                      \
	X("gpt-oss", gpt_oss)                                                                      \
	X("grok", grok)                                                                            \
	X("grovemoe", grovemoe)                                                                    \
	X("hunyuan-moe", hunyuan_moe)                                                              \
	X("hy_v3", hy_v3)                                                                          \
	X("laguna", laguna)                                                                        \
	X("llama4", llama4)                                                                        \
	X("maple", maple)                                                                          \
	X("mellum", mellum)                                                                        \
	X("mimo2", mimo2)                                                                          \
	X("minimax-m2", minimax_m2)                                                                \
	X("minimax-m3", minimax_m3)                                                                \
	X("olmoe", olmoe)                                                                          \
	X("phimoe", phimoe)                                                                        \
	X("qwen2moe", qwen2moe)                                                                    \
	X("qwen3moe", qwen3moe)                                                                    \
	X("qwen3vlmoe", qwen3vlmoe)                                                                \
	X("smallthinker", smallthinker)                                                            \
	X("step35", step35)

#define ARCH_MOE_EXTERN(name, ident) extern const struct lmd_arch_ops arch_##ident;
ARCH_MOE_LIST(ARCH_MOE_EXTERN)

/* Helpers for adjust hooks, which select the layers that have experts. */

/* Layers with a router tensor have experts, and a shared expert if its tensors exist. */
void arch_moe_by_tensor(struct arch_hparams *hp);
/* The same for one layer, such as a draft layer. */
void arch_moe_layer_by_tensor(struct arch_hparams *hp, uint32_t il);
/* Every step-th layer, except leading dense ones, has experts, and a shared expert if the keys
 * give one; step 0: no layer. */
void arch_moe_by_step(struct arch_hparams *hp, uint32_t step);
/* For files without an expert width: the chosen experts divide that of the layer among them. */
void arch_moe_split_ff(struct arch_hparams *hp, struct arch_keys *k);

#endif /* LLAMAD_ARCH_MOE_MOE_H */
