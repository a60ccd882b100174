/* SPDX-License-Identifier: MIT
 *
 * DeepSeek-V3.2 (arXiv 2512.02556): DeepSeek-V3 with attention over keys chosen by an indexer.
 * glm-dsa (GLM-5, arXiv 2602.15763): some layers reuse the choice of an earlier layer.
 * dots3note: also has layers with a window, whose latent rows have a different size; the shared
 * part of the key is normalised, and every head has a gate. */
#include "arch/mla/indexer.h"
#include "arch/mla/mla.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_MLA,   ARCH_SET_INDEXER,    ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FREQS,
};

/* Layers with an indexer in early files of GLM-5.2 (identified by context length) without the
 * key. */
static bool glm_layers(const struct arch_hparams *hp, uint32_t il)
{
	return hp->n_ctx_train < 1048576 || il < 2 || il % 4 == 2;
}

/* Selects the layers with an indexer by the key or, if it is absent, by what is known of the
 * model. */
static void layers_by_type(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t *type = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*type));
	bool given = type && arch_key_u32s(k, "attention.indexer.types", ARCH_OPTIONAL, type,
					   hp->n_layer, 1, 0, 1);

	for (uint32_t il = 0; type && il < hp->n_layer; il++) {
		if (given ? type[il] != 0 : glm_layers(hp, il))
			arch_dsa_layer(hp, il);
	}
	if (k->st == LMD_OK && !(hp->layer[0].cls & ARCH_L_INDEX))
		arch_key_fail(k, LMD_INVALID,
			      "%s.attention.indexer.types: layer 0 must have an indexer",
			      hp->model->arch);
}

static void index_rope(struct arch_hparams *hp, uint32_t pairing)
{
	hp->rope[ARCH_ROPE_INDEX] = hp->rope[ARCH_ROPE_FULL];
	hp->rope[ARCH_ROPE_INDEX].own_pairing = 1 + pairing;
}

static void adjust_deepseek(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_sparse_mla *d = arch_dsa_read(hp, k, true);

	if (!d)
		return;
	arch_deepseek_yarn(hp, k, &d->m, ARCH_YARN_LOG);
	index_rope(hp, LMD_ROPE_HALVES);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		arch_dsa_layer(hp, il);
}

static void adjust_glm(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_sparse_mla *d = arch_dsa_read(hp, k, true);

	if (!d)
		return;
	arch_deepseek_yarn(hp, k, &d->m, ARCH_YARN_LOG_NONE);
	index_rope(hp, LMD_ROPE_ADJACENT);
	layers_by_type(hp, k);
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	const struct arch_sparse_mla *x = d->hp.arch_data;
	bool window = x->w.n_head && arch_current_layer(e)->window;
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);

	(void)pass;
	s->x = arch_mla(e, &io, window ? &x->w : &x->m, LMD_NONE);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

#define HP                                                                                         \
	.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT,                              \
	.route_fn = LMD_ROUTE_SIGMOID, .route_by_key = true

static const struct arch_decoder_traits deepseek32_traits = {
	.hp = {HP},
	.adjust = adjust_deepseek,
	.memory = arch_dsa_memory,
	.layer = layer,
	.draft_layer = true,
	.draft = arch_dsa_draft,
};
static const struct arch_decoder_traits glm_dsa_traits = {
	.hp = {HP},
	.adjust = adjust_glm,
	.memory = arch_dsa_memory,
	.layer = layer,
	.draft_layer = true,
	.draft = arch_dsa_draft,
};

/* ---- dots3note ---- */

enum { D_ROT = D_IDX_END };

static const struct lmd_tensor_row note_rows[] = {
	{"blk.%d.attn_k_norm", {D_ROT}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};

static const struct lmd_tensor_set note_sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_MLA,
	ARCH_ROWS_OWN(note_rows),
	ARCH_ROWS_REQ(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD),
	ARCH_SET_INDEXER,
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_SET_MOE,
	ARCH_SET_SHEXP,
};

/* Reads the latent attention of layers with a window. */
static void window_layers(struct arch_hparams *hp, struct arch_keys *k, struct arch_sparse_mla *d)
{
	struct arch_mla *w = &d->w;
	uint32_t dk;

	*w = d->m;
	w->choose_keys = NULL;
	w->rank_kv =
		arch_key_u32(k, "attention.kv_lora_rank_swa", ARCH_REQUIRED, 1, 1, ARCH_MAX_DK);
	dk = arch_key_u32(k, "attention.key_length_mla_swa", ARCH_REQUIRED, w->n_rot + 1,
			  w->n_rot + 1, ARCH_MAX_DK);
	w->dv = arch_key_u32(k, "attention.value_length_mla_swa", ARCH_REQUIRED, 1, 1, ARCH_MAX_DK);
	w->n_nope = dk - w->n_rot;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (!l->window) {
			arch_dsa_layer(hp, il);
			continue;
		}
		l->dk = w->rank_kv + w->n_rot;
		l->dv = w->rank_kv;
	}
}

static void adjust_note(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_sparse_mla *d = arch_dsa_read(hp, k, true);

	if (!d)
		return;
	d->m.k_norm = &note_rows[0];
	d->m.gate = &arch_rows[T_ATTN_GATE_HEAD];
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
	index_rope(hp, LMD_ROPE_HALVES);
	window_layers(hp, k, d);
}

static int64_t note_dim(const void *state, uint32_t symbol, int32_t il)
{
	const struct arch_hparams *hp = state;
	const struct arch_sparse_mla *d = hp->arch_data;

	return symbol == D_ROT ? d->m.n_rot : arch_dsa_dim(state, symbol, il);
}

static const struct arch_decoder_traits dots3note_traits = {
	.hp = {HP, .window = true, .window_need = ARCH_REQUIRED},
	.adjust = adjust_note,
	.memory = arch_dsa_memory,
	.layer = layer,
};

#define ARCH(ident, sets_, dim_)                                                                   \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return arch_decoder_describe(&ident##_traits, sets_, LMD_LEN(sets_), host, arena,  \
					     model, params, out, err);                             \
	}                                                                                          \
	const struct lmd_arch_ops arch_##ident = {                                                 \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets_),                                                          \
		.sets = sets_,                                                                     \
		.describe = ident##_describe,                                                      \
		.dim = dim_,                                                                       \
		.layer_class = arch_hp_layer_class,                                                \
		.build = arch_decoder_build,                                                       \
	};

ARCH(deepseek32, sets, arch_dsa_dim)
ARCH(glm_dsa, sets, arch_dsa_dim)
ARCH(dots3note, note_sets, note_dim)
