/* SPDX-License-Identifier: MIT
 *
 * plugin.c - arch-encoder: encoders, encoder-decoders and diffusion models. */
#include "arch/encoder/encoder.h"
#include "llamad/plugin.h"

#define ARCH(arch_name, table)                                                                     \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_ARCH,                  \
		.name = arch_name, .ops = &table,                                                  \
	}

static const struct lmd_factory factories[] = {
	ARCH("bert", arch_bert),
	ARCH("jina-bert-v2", arch_jina_bert_v2),
	ARCH("jina-bert-v3", arch_jina_bert_v3),
	ARCH("nomic-bert", arch_nomic_bert),
	ARCH("nomic-bert-moe", arch_nomic_bert_moe),
	ARCH("eurobert", arch_eurobert),
	ARCH("modern-bert", arch_modern_bert),
	ARCH("neo-bert", arch_neo_bert),
	ARCH("t5", arch_t5),
	ARCH("t5encoder", arch_t5encoder),
	ARCH("dream", arch_dream),
	ARCH("llada", arch_llada),
	ARCH("llada-moe", arch_llada_moe),
	ARCH("rnd1", arch_rnd1),
	ARCH("wavtokenizer-dec", arch_wavtokenizer_dec),
	ARCH("clip", arch_clip),
};

LMD_PLUGIN_DEFINE("arch-encoder", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
