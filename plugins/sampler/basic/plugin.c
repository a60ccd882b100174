/* SPDX-License-Identifier: MIT
 *
 * The samplers: one file each, listed here.  Only that file knows the sampler's state, so its size
 * comes from extra_bytes and state_bytes is 0. */
#include "llamad/plugin.h"

#include "common.h"

#define SAMPLER(name_, aliases_, ops_)                                                             \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_SAMPLER,               \
		.name = name_, .aliases = aliases_, .ops = &ops_                                   \
	}

static const struct lmd_factory factories[] = {
	SAMPLER("greedy", NULL, sampler_greedy),
	SAMPLER("dist", "sample\0", sampler_dist),
	SAMPLER("temp", "temperature\0", sampler_temp),
	SAMPLER("temp_ext", "dynatemp\0", sampler_temp_ext),
	SAMPLER("top_k", NULL, sampler_top_k),
	SAMPLER("top_p", "nucleus\0", sampler_top_p),
	SAMPLER("min_p", NULL, sampler_min_p),
	SAMPLER("typical", "typ_p\0typical_p\0", sampler_typical),
	SAMPLER("penalties", NULL, sampler_penalties),
	SAMPLER("logit_bias", NULL, sampler_logit_bias),
	SAMPLER("top_n_sigma", NULL, sampler_top_n_sigma),
	SAMPLER("xtc", NULL, sampler_xtc),
	SAMPLER("dry", NULL, sampler_dry),
	SAMPLER("mirostat", NULL, sampler_mirostat),
	SAMPLER("mirostat_v2", NULL, sampler_mirostat_v2),
	SAMPLER("adaptive_p", NULL, sampler_adaptive_p),
	SAMPLER("infill", NULL, sampler_infill),
};

#undef SAMPLER

LMD_PLUGIN_DEFINE("sampler-basic", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_SAMPLER), factories)
