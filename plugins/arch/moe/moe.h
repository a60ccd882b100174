/* SPDX-License-Identifier: MIT
 *
 * moe.h - the architectures of arch-moe.so: the name in files, the identifier of the table.
 * A new one is a file here and a line in this list. */
#ifndef LLAMAD_ARCH_MOE_MOE_H
#define LLAMAD_ARCH_MOE_MOE_H

#include "arch/common/decoder.h"

#define LMI_MOE_LIST(X)                                                                            \
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

#define LMI_MOE_EXTERN(name, ident) extern const struct lmd_arch_ops lmi_arch_##ident;
LMI_MOE_LIST(LMI_MOE_EXTERN)

/* Hooks' helpers, after the keys are read: which layers have experts.  All of them have the
 * shared one when the keys speak of it. */
/* ... those with a router in the file, and a shared one where it has that too. */
void lmi_moe_by_tensor(struct lmi_hparams *hp);
/* ... every step-th after the dense ones; step 0: none. */
void lmi_moe_by_step(struct lmi_hparams *hp, uint32_t step);
/* Files without a width of an expert: the chosen ones share that of the layer. */
void lmi_moe_split_ff(struct lmi_hparams *hp, struct lmi_keys *k);

#endif /* LLAMAD_ARCH_MOE_MOE_H */
