/* SPDX-License-Identifier: MIT
 *
 * gpt.h - the architectures of arch-gpt.so: name in model files, identifier of the ops table.
 * To add one, add a file here and a line to this list. */
#ifndef LLAMAD_ARCH_GPT_GPT_H
#define LLAMAD_ARCH_GPT_GPT_H

#include "arch/common/decoder.h"

#define ARCH_GPT_LIST(X)                                                                           \
	X("bloom", bloom)                                                                          \
	X("codeshell", codeshell)                                                                  \
	X("cohere2", cohere2)                                                                      \
	X("command-r", command_r)                                                                  \
	X("falcon", falcon)                                                                        \
	X("gpt2", gpt2)                                                                            \
	X("gptneox", gptneox)                                                                      \
	X("jais", jais)                                                                            \
	X("jais2", jais2)                                                                          \
	X("mpt", mpt)                                                                              \
	X("nemotron", nemotron)                                                                    \
	X("olmo", olmo)                                                                            \
	X("orion", orion)                                                                          \
	X("phi2", phi2)                                                                            \
	X("plamo", plamo)                                                                          \
	X("pockettts", pockettts)                                                                  \
	X("stablelm", stablelm)                                                                    \
	X("starcoder", starcoder)                                                                  \
	X("starcoder2", starcoder2)

#define ARCH_GPT_EXTERN(name, ident) extern const struct lmd_arch_ops arch_##ident;
ARCH_GPT_LIST(ARCH_GPT_EXTERN)

/* Maps of checkpoints: what StarCoder shares with GPT-2, and Cohere 2 with Command R. */
extern const struct lmd_checkpoint_rows arch_gpt2_ckpt_head, arch_cohere_ckpt_rows;
void arch_gpt2_ckpt_keys(struct lmd_checkpoint *c);
void arch_cohere_ckpt_keys(struct lmd_checkpoint *c);

#endif /* LLAMAD_ARCH_GPT_GPT_H */
