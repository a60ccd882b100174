/* SPDX-License-Identifier: MIT
 *
 * DeepSeek-V3.2 (arXiv 2512.02556): DeepSeek-V3 with attention over keys chosen by an indexer.
 * glm-dsa (GLM-5, arXiv 2602.15763): some layers reuse the choice of an earlier layer.
 * dots3note: also has layers with a window, whose latent rows have a different size; the shared
 * part of the key is normalised, and every head has a gate. */
#include "arch/mla/indexer.h"
#include "arch/mla/mla.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_MLA,   LMI_SET_INDEXER,   LMI_SET_FFN_NORM,
	LMI_SET_FFN,    LMI_SET_MOE,       LMI_SET_SHEXP, LMI_SET_ROPE_FREQS,
};

/* Layers with an indexer in early files of GLM-5.2 (identified by context length) without the
 * key. */
static bool glm_layers(const struct lmi_hparams *hp, uint32_t il)
{
	return hp->n_ctx_train < 1048576 || il < 2 || il % 4 == 2;
}

/* Selects the layers with an indexer by the key or, if it is absent, by what is known of the
 * model. */
static void layers_by_type(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t *type = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*type));
	bool given = type && lmi_key_u32s(k, "attention.indexer.types", LMI_OPTIONAL, type,
					  hp->n_layer, 1, 0, 1);

	for (uint32_t il = 0; type && il < hp->n_layer; il++) {
		if (given ? type[il] != 0 : glm_layers(hp, il))
			lmi_dsa_layer(hp, il);
	}
	if (k->st == LMD_OK && !(hp->layer[0].cls & LMI_L_INDEX))
		lmi_key_fail(
			k, LMD_INVALID,
			"%s.attention.indexer.types: layer 0 must have an indexer",
			hp->model->arch);
}

static void index_rope(struct lmi_hparams *hp, uint32_t pairing)
{
	hp->rope[LMI_ROPE_INDEX] = hp->rope[LMI_ROPE_FULL];
	hp->rope[LMI_ROPE_INDEX].own_pairing = 1 + pairing;
}

static void adjust_deepseek(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_dsa *d = lmi_dsa_read(hp, k, true);

	if (!d)
		return;
	lmi_deepseek_yarn(hp, k, &d->m, LMI_YARN_LOG);
	index_rope(hp, LMD_ROPE_HALVES);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		lmi_dsa_layer(hp, il);
}

static void adjust_glm(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_dsa *d = lmi_dsa_read(hp, k, true);

	if (!d)
		return;
	lmi_deepseek_yarn(hp, k, &d->m, LMI_YARN_LOG_NONE);
	index_rope(hp, LMD_ROPE_ADJACENT);
	layers_by_type(hp, k);
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	const struct lmi_dsa *x = d->hp.own_data;
	bool window = x->w.n_head && lmi_cur(e)->window;
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);

	(void)pass;
	s->x = lmi_mla(e, &io, window ? &x->w : &x->m, LMD_NONE);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

#define HP                                                                                         \
	.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT,                              \
	.route_fn = LMD_ROUTE_SIGMOID, .route_by_key = true

static const struct lmi_decoder_traits deepseek32_traits = {
	.hp = {HP},
	.adjust = adjust_deepseek,
	.memory = lmi_dsa_memory,
	.layer = layer,
};
static const struct lmi_decoder_traits glm_dsa_traits = {
	.hp = {HP},
	.adjust = adjust_glm,
	.memory = lmi_dsa_memory,
	.layer = layer,
};

/* ---- dots3note ---- */

enum { D_ROT = D_IDX_END };

static const struct lmd_tensor_row note_rows[] = {
	{"blk.%d.attn_k_norm", {D_ROT}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};

static const struct lmd_tensor_set note_sets[] = {
	LMI_SET_GLOBAL,
	LMI_SET_ATTN_NORM,
	LMI_SET_MLA,
	LMI_OWN(note_rows),
	LMI_REQ(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD),
	LMI_SET_INDEXER,
	LMI_SET_FFN_NORM,
	LMI_SET_FFN,
	LMI_SET_MOE,
	LMI_SET_SHEXP,
};

/* Reads the latent attention of layers with a window. */
static void window_layers(struct lmi_hparams *hp, struct lmi_keys *k, struct lmi_dsa *d)
{
	struct lmi_mla *w = &d->w;
	uint32_t dk;

	*w = d->m;
	w->choose = NULL;
	w->rank_kv = lmi_key_u32(k, "attention.kv_lora_rank_swa", LMI_REQUIRED, 1, 1, LMI_MAX_DK);
	dk = lmi_key_u32(k, "attention.key_length_mla_swa", LMI_REQUIRED, w->n_rot + 1,
			 w->n_rot + 1, LMI_MAX_DK);
	w->dv = lmi_key_u32(k, "attention.value_length_mla_swa", LMI_REQUIRED, 1, 1, LMI_MAX_DK);
	w->nope = dk - w->n_rot;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (!l->window) {
			lmi_dsa_layer(hp, il);
			continue;
		}
		l->dk = w->rank_kv + w->n_rot;
		l->dv = w->rank_kv;
	}
}

static void adjust_note(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_dsa *d = lmi_dsa_read(hp, k, true);

	if (!d)
		return;
	d->m.k_norm = &note_rows[0];
	d->m.gate = &lmi_rows[T_ATTN_GATE_HEAD];
	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, false);
	index_rope(hp, LMD_ROPE_HALVES);
	window_layers(hp, k, d);
}

static int64_t note_dim(const void *state, uint32_t symbol, int32_t il)
{
	const struct lmi_hparams *hp = state;
	const struct lmi_dsa *d = hp->own_data;

	return symbol == D_ROT ? d->m.n_rot : lmi_dsa_dim(state, symbol, il);
}

static const struct lmi_decoder_traits dots3note_traits = {
	.hp = {HP, .window = true, .window_need = LMI_REQUIRED},
	.adjust = adjust_note,
	.memory = lmi_dsa_memory,
	.layer = layer,
};

#define ARCH(ident, sets_, dim_)                                                                   \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return lmi_decoder_describe(&ident##_traits, sets_, LMD_LEN(sets_), host, arena,   \
					    model, params, out, err);                              \
	}                                                                                          \
	const struct lmd_arch_ops lmi_arch_##ident = {                                             \
		.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets_),              \
		.sets = sets_, .describe = ident##_describe, .dim = dim_,                          \
		.layer_class = lmi_hp_layer_class, .build = lmi_decoder_build,                     \
	};

ARCH(deepseek32, sets, lmi_dsa_dim)
ARCH(glm_dsa, sets, lmi_dsa_dim)
ARCH(dots3note, note_sets, note_dim)
