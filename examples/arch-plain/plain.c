/* SPDX-License-Identifier: MIT
 *
 * A transformer in a table: the decoder of LLaMA (arXiv 2302.13971) under the name "plain", made of
 * the building blocks that llamad's own architectures use.  Models select it by general.architecture
 * = "plain"; their keys begin with "plain." and are otherwise those of LLaMA.
 *
 * The sets are the tensors that a file has; the traits say how the decoder differs from the usual
 * one.  Hooks in the traits replace a part of it (arch/common/decoder.h).  The library is linked into
 * the plugin, so that a new version of llamad does not change it. */
#include <arch/common/decoder.h>
#include <llamad/plugin.h>

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
};

ARCH_DECODER_ARCH(plain, traits, sets)

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_ARCH,
	.name = "plain",
	.ops = &arch_plain,
}};

LMD_PLUGIN_DEFINE("arch-plain", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
