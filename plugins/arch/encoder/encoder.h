/* SPDX-License-Identifier: MIT
 *
 * encoder.h - the architectures of arch-encoder.so: models that read a whole text at once. */
#ifndef LLAMAD_ARCH_ENCODER_ENCODER_H
#define LLAMAD_ARCH_ENCODER_ENCODER_H

#include "llamad/arch.h"

extern const struct lmd_arch_ops arch_bert, arch_jina_bert_v2, arch_jina_bert_v3, arch_nomic_bert,
	arch_nomic_bert_moe, arch_eurobert, arch_modern_bert, arch_neo_bert, arch_t5,
	arch_t5encoder, arch_wavtokenizer_dec, arch_dream, arch_llada, arch_llada_moe, arch_rnd1,
	arch_clip;

#endif /* LLAMAD_ARCH_ENCODER_ENCODER_H */
