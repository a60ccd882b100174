/* SPDX-License-Identifier: MIT
 *
 * gpt.h - the architectures of arch-gpt.so: name in model files, identifier of the ops table.
 * To add one, add a file here and a line to this list. */
#ifndef LLAMAD_ARCH_GPT_GPT_H
#define LLAMAD_ARCH_GPT_GPT_H

#include "arch/common/decoder.h"

#define LMI_GPT_LIST(X)                                                                            \
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

#define LMI_GPT_EXTERN(name, ident) extern const struct lmd_arch_ops lmi_arch_##ident;
LMI_GPT_LIST(LMI_GPT_EXTERN)

#endif /* LLAMAD_ARCH_GPT_GPT_H */
