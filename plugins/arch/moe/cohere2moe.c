/* SPDX-License-Identifier: MIT
 *
 * Command A with experts (cohere2moe): attention and feed-forward block share a norm, which is a
 * LayerNorm or an RMS norm depending on the file's epsilon key.  The first of four layers has full
 * attention and, unless it is a leading dense layer, no rotation.  If there is a shared expert, its
 * sum with the others is halved. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,        ARCH_SET_FFN,
	ARCH_SET_MOE,    ARCH_SET_SHEXP,     ARCH_SET_ROPE_FREQS,
};

static const struct arch_key_f32 floats[] = {
	{"logit_scale", ARCH_HP(logit_scale), ARCH_REQUIRED, 1, 0, 1e6f},
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (!l->window && il >= hp->n_dense_lead)
			l->rope = LMD_NONE;
		if (!hp->n_expert_shared)
			l->cls &= ~ARCH_L_SHEXP;
	}
}

/* Draft layers rotate, although they attend to all keys. */
static void draft(struct arch_hparams *hp, uint32_t il)
{
	hp->layer[il].rope = ARCH_ROPE_FULL;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);

	io.x = arch_normalised_input(e, &io, "attn_norm");
	io.norm = arch_no_norm();
	io.res = arch_attn(e, &io, &a);
	io.a = arch_current_layer(e)->cls & ARCH_L_SHEXP ? 0.5f : 1.0f;
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static void no_bias(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
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
		       .window_need = ARCH_REQUIRED,                                               \
		       .window_period = 4,                                                         \
		       .window_dense_first = true,                                                 \
		       .route_fn = LMD_ROUTE_SIGMOID,                                              \
		       .route_by_key = true},                                                      \
		.floats = floats, .n_floats = LMD_LEN(floats), .adjust = adjust, .layer = layer,   \
		.draft_layer = true, .draft = draft, .moe = no_bias,                               \
	}
static const struct arch_decoder_traits traits_layer = TRAITS(LMD_NORM_LAYER);
static const struct arch_decoder_traits traits_rms = TRAITS(LMD_NORM_RMS);

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	const struct arch_decoder_traits *t = &traits_layer;
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	if (arch_key_has(&k, "attention.layer_norm_rms_epsilon"))
		t = &traits_rms;
	return arch_decoder_describe(t, sets, LMD_LEN(sets), host, arena, model, params, out, err);
}

const struct lmd_arch_ops arch_cohere2moe = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = arch_hp_dim,
	.layer_class = arch_hp_layer_class,
	.build = arch_decoder_build,
};
