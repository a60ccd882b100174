/* SPDX-License-Identifier: MIT
 *
 * dense.h - the architectures of arch-dense.so: name in model files, identifier of the ops table.
 * To add one, add a file here and a line to this list. */
#ifndef LLAMAD_ARCH_DENSE_DENSE_H
#define LLAMAD_ARCH_DENSE_DENSE_H

#include "arch/common/decoder.h"

#define ARCH_DENSE_LIST(X)                                                                         \
	X("apertus", apertus)                                                                      \
	X("arcee", arcee)                                                                          \
	X("baichuan", baichuan)                                                                    \
	X("bitnet", bitnet)                                                                        \
	X("chameleon", chameleon)                                                                  \
	X("chatglm", chatglm)                                                                      \
	X("cogvlm", cogvlm)                                                                        \
	X("deci", deci)                                                                            \
	X("dflash", dflash)                                                                        \
	X("eagle3", eagle3)                                                                        \
	X("ernie4_5", ernie4_5)                                                                    \
	X("exaone", exaone)                                                                        \
	X("exaone4", exaone4)                                                                      \
	X("glm4", glm4)                                                                            \
	X("granite", granite)                                                                      \
	X("granite_swa", granite_swa)                                                              \
	X("granitemoe", granite)                                                                   \
	X("graniteswitch", graniteswitch)                                                          \
	X("hunyuan-dense", hunyuan_dense)                                                          \
	X("hunyuan_vl", hunyuan_vl)                                                                \
	X("internlm2", internlm2)                                                                  \
	X("llama", llama)                                                                          \
	X("llama-embed", llama_embed)                                                              \
	X("maincoder", maincoder)                                                                  \
	X("minicpm", minicpm)                                                                      \
	X("mistral3", mistral3)                                                                    \
	X("muse-glimmer", muse_glimmer)                                                            \
	X("nanbeige", nanbeige)                                                                    \
	X("olmo2", olmo2)                                                                          \
	X("openelm", openelm)                                                                      \
	X("paddleocr", paddleocr)                                                                  \
	X("pangu-embedded", pangu)                                                                 \
	X("phi3", phi3)                                                                            \
	X("plamo3", plamo3)                                                                        \
	X("qwen", qwen)                                                                            \
	X("qwen2", qwen2)                                                                          \
	X("qwen2vl", qwen2vl)                                                                      \
	X("qwen3", qwen3)                                                                          \
	X("qwen3tts", qwen3tts)                                                                    \
	X("qwen3vl", qwen3vl)                                                                      \
	X("refact", refact)                                                                        \
	X("seed_oss", seed_oss)                                                                    \
	X("smollm3", smollm3)                                                                      \
	X("spark2_5", spark2_5)                                                                    \
	X("talkie", talkie)                                                                        \
	X("xverse", xverse)

#define ARCH_DENSE_EXTERN(name, ident) extern const struct lmd_arch_ops arch_##ident;
ARCH_DENSE_LIST(ARCH_DENSE_EXTERN)

/* Read keys that the Granite architectures share. */
void arch_granite_scales(struct arch_hparams *hp, struct arch_keys *k);
void arch_granite_deepstack(struct arch_hparams *hp, struct arch_keys *k);
/* Applies rope.scaling.alpha: base * alpha^(d / (d - 2)). */
void arch_hunyuan_alpha(struct arch_hparams *hp, struct arch_keys *k);

#endif /* LLAMAD_ARCH_DENSE_DENSE_H */
