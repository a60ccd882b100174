/* SPDX-License-Identifier: MIT
 *
 * Ling 3 (BailingMoE V3): Kimi Delta Attention with a bounded decay, and latent attention with a
 * sigmoid gate per head in every few layers; leading dense layers, then shared and routed
 * experts. */
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_HYBRID_NORM,
	ARCH_SET_KDA,
	ARCH_SET_MLA,
	ARCH_ROWS_REQ(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_SET_MOE,
	ARCH_SET_SHEXP,
	ARCH_SET_ROPE_FREQS,
};

static void require_zero(struct arch_hparams *hp, struct arch_keys *k, const char *key)
{
	double *v = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*v));

	if (!v || !arch_key_f64s(k, key, ARCH_OPTIONAL, v, hp->n_layer, 0.0, 0.0, 1e6))
		return;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (v[il] != 0.0)
			arch_key_fail(k, LMD_UNSUPPORTED,
				      "bailingmoe3.%s: %g in layer %u, expected 0", key, v[il], il);
	}
}

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_hybrid *h = arch_hybrid(hp);
	struct arch_mla *m;

	arch_kda_read(&h->kda, hp, k);
	h->kda.full = true;
	h->kda.a_sign = 1.0f;
	if (!arch_key_bool(k, "kda.safe_gate", ARCH_OPTIONAL, true) || h->kda.lower == 0.0f)
		arch_key_fail(k, LMD_UNSUPPORTED,
			      "bailingmoe3.kda.gate_lower_bound: must be present and below 0; "
			      "unbounded decay is not supported");
	require_zero(hp, k, "swiglu_clamp_exp");
	require_zero(hp, k, "swiglu_clamp_shexp");
	arch_hybrid_layers(hp);
	m = arch_mla_read(hp, k, arch_key_has(k, "attention.q_lora_rank"));
	if (m)
		m->gate = &arch_rows[T_ATTN_GATE_HEAD];
	h->mla = m;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust,
	.memory = arch_hybrid_kda_memory,
	.layer = arch_hybrid_kda_layer,
	.draft_layer = true,
	.quant = {.flags = LMD_QUANT_MORE_STACKS},
};

ARCH_HYBRID_ARCH(bailingmoe3, traits, sets)
