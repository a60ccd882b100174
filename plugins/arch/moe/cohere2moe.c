/* SPDX-License-Identifier: MIT
 *
 * Command A with experts (cohere2moe): attention and feed-forward block share a norm, which is a
 * LayerNorm or an RMS norm depending on the file's epsilon key.  The first of four layers has full
 * attention and, unless it is a leading dense layer, no rotation.  If there is a shared expert, its
 * sum with the others is halved. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN, LMI_SET_MOE, LMI_SET_SHEXP,
	LMI_SET_ROPE_FREQS,
};

static const struct lmi_key_f32 floats[] = {
	{"logit_scale", LMI_HP(logit_scale), LMI_REQUIRED, 1, 0, 1e6f},
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (!l->window && il >= hp->n_dense_lead)
			l->rope = LMD_NONE;
		if (!hp->n_expert_shared)
			l->cls &= ~LMI_L_SHEXP;
	}
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);

	io.x = lmi_normed(e, &io, "attn_norm");
	io.norm = lmi_no_norm();
	io.res = lmi_attn(e, &io, &a);
	io.a = lmi_cur(e)->cls & LMI_L_SHEXP ? 0.5f : 1.0f;
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static void no_bias(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_moe *m)
{
	(void)e;
	(void)d;
	m->probs_b = NULL;
}

#define TRAITS(norm)                                                                               \
	{                                                                                          \
		.hp = {.norm_kind = norm,                                                          \
		       .rope_pairing = LMD_ROPE_ADJACENT,                                          \
		       .window = true,                                                             \
		       .window_need = LMI_REQUIRED,                                                \
		       .window_period = 4,                                                         \
		       .window_dense_first = true,                                                 \
		       .route_fn = LMD_ROUTE_SIGMOID,                                              \
		       .route_by_key = true},                                                      \
		.floats = floats, .n_floats = LMD_LEN(floats), .adjust = adjust, .layer = layer,   \
		.moe = no_bias,                                                                    \
	}
static const struct lmi_decoder_traits traits_layer = TRAITS(LMD_NORM_LAYER);
static const struct lmi_decoder_traits traits_rms = TRAITS(LMD_NORM_RMS);

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	const struct lmi_decoder_traits *t = &traits_layer;
	struct lmi_keys k;

	lmi_keys_init(&k, model, err);
	if (lmi_key_has(&k, "attention.layer_norm_rms_epsilon"))
		t = &traits_rms;
	return lmi_decoder_describe(t, sets, LMD_LEN(sets), host, arena, model, params, out, err);
}

const struct lmd_arch_ops lmi_arch_cohere2moe = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = lmi_hp_dim,
	.layer_class = lmi_hp_layer_class,
	.build = lmi_decoder_build,
};
