/* SPDX-License-Identifier: MIT
 *
 * Ling 3 (BailingMoE V3): Kimi Delta Attention with a bounded decay, and latent attention with a
 * sigmoid gate per head in every few layers; leading dense layers, then shared and routed
 * experts. */
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_HYBRID_NORM, LMI_SET_KDA, LMI_SET_MLA,
	LMI_REQ(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD), LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_SHEXP, LMI_SET_ROPE_FREQS,
};

static void require_zero(struct lmi_hparams *hp, struct lmi_keys *k, const char *key)
{
	double *v = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*v));

	if (!v || !lmi_key_f64s(k, key, LMI_OPTIONAL, v, hp->n_layer, 0.0, 0.0, 1e6))
		return;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (v[il] != 0.0)
			lmi_key_fail(k, LMD_UNSUPPORTED,
				     "bailingmoe3.%s: %g in layer %u, expected 0", key, v[il], il);
	}
}

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_hybrid *h = lmi_hybrid(hp);
	struct lmi_mla *m;

	lmi_kda_read(&h->kda, hp, k);
	h->kda.full = true;
	h->kda.a_sign = 1.0f;
	if (!lmi_key_bool(k, "kda.safe_gate", LMI_OPTIONAL, true) || h->kda.lower == 0.0f)
		lmi_key_fail(k, LMD_UNSUPPORTED,
			     "bailingmoe3.kda.gate_lower_bound: must be present and below 0; "
			     "unbounded decay is not supported");
	require_zero(hp, k, "swiglu_clamp_exp");
	require_zero(hp, k, "swiglu_clamp_shexp");
	lmi_hybrid_layers(hp);
	m = lmi_mla_read(hp, k, lmi_key_has(k, "attention.q_lora_rank"));
	if (m)
		m->gate = &lmi_rows[T_ATTN_GATE_HEAD];
	h->mla = m;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = adjust,
	.memory = lmi_hybrid_kda_memory,
	.layer = lmi_hybrid_kda_layer,
};

LMI_HYBRID_ARCH(bailingmoe3, traits, sets)
