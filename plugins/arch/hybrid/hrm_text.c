/* SPDX-License-Identifier: MIT
 *
 * HRM-Text (Hierarchical Reasoning Model, arXiv 2506.21734, as a language model): two short stacks
 * of layers run in nested cycles over the same tokens.  The low stack refines z_L several times,
 * then the high stack refines z_H; each reads z_H + z_L and ends with a norm.  z_H starts as the
 * embeddings, z_L as a learned row.  Norms have no weights; attention has a sigmoid gate.
 *
 * The file contains each layer once, low stack first; block_count is the number of runs, because
 * each run of a layer has its own keys and values. */
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_row init_rows[] = {
	{"hrm.z_l_init", {D_EMBD}, LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL | LMD_TENSOR_BARE,
	 LMD_SPLIT_REPLICATE, 0, NULL},
};

static const struct lmd_tensor_set sets[] = {
	LMI_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD), LMI_REQ(T_OUTPUT, T_OUTPUT), LMI_OWN(init_rows),
	LMI_SET_QKV, LMI_REQ(T_ATTN_GATE, T_ATTN_GATE), LMI_SET_FFN,
};

/* hp->own */
enum { STACK, H_CYCLES, L_CYCLES };

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint64_t runs;

	hp->own[STACK] = lmi_key_u32(k, "hrm.layers_per_stack", LMI_REQUIRED, 1, 1, LMI_MAX_LAYER);
	hp->own[H_CYCLES] = lmi_key_u32(k, "hrm.h_cycles", LMI_REQUIRED, 1, 1, LMI_MAX_LAYER);
	hp->own[L_CYCLES] = lmi_key_u32(k, "hrm.l_cycles", LMI_REQUIRED, 1, 1, LMI_MAX_LAYER);
	runs = (uint64_t)hp->own[STACK] * hp->own[H_CYCLES] * (hp->own[L_CYCLES] + 1);
	if (lmi_key_bool(k, "hrm.prefix_lm", LMI_OPTIONAL, false))
		lmi_key_fail(
			k, LMD_UNSUPPORTED,
			"hrm_text.hrm.prefix_lm: true is not supported (bidirectional attention "
			"within the prompt)");
	if (k->st == LMD_OK && runs != hp->n_layer)
		lmi_key_fail(k, LMD_INVALID,
			     "hrm_text.block_count: %u, expected %llu runs of layers", hp->n_layer,
			     (unsigned long long)runs);
	if (!hp->causal)
		lmi_key_fail(k, LMD_UNSUPPORTED, "hrm_text.attention.causal: false, expected true");
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		if (!(hp->layer[il].cls & LMI_L_ATTN))
			lmi_key_fail(k, LMD_INVALID,
				     "hrm_text.attention.head_count_kv: 0 in layer %u, expected at "
				     "least 1",
				     il);
	}
	if (k->st != LMD_OK)
		return;
	hp->n_layer = 2 * hp->own[STACK];
	hp->embd_scale_ext = hp->embd_scale;
}

/* Declares the caches: run i of layer il has cache runs[i * n_layer + il].  Those of the first runs
 * exist already. */
static void memory(struct lmi_hparams *hp, struct lmi_keys *k)
{
	const uint32_t lps = hp->own[STACK], n_low = hp->own[H_CYCLES] * hp->own[L_CYCLES];
	struct lmi_hybrid *h = lmi_hybrid(hp);

	h->runs = lmi_hp_alloc(hp, k, (size_t)n_low * hp->n_layer, sizeof(*h->runs));
	for (uint32_t i = 0; h->runs && i < n_low; i++) {
		for (uint32_t il = 0; il < hp->n_layer; il++) {
			uint32_t first = hp->layer[il].cache;

			if (il >= lps && i >= hp->own[H_CYCLES])
				continue;
			h->runs[i * hp->n_layer + il] =
				i ? lmi_hp_add_cache(hp, k, &hp->caches[first]) : first;
		}
	}
}

/* Runs a stack over s; returns its normalised result as a new value. */
static uint32_t stack(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream s,
		      uint32_t first, uint32_t run)
{
	const struct lmi_hybrid *h = d->hp.own_data;
	const struct lmd_norm norm = lmi_norm(e, LMD_NORM_RMS, NULL);
	uint32_t y;

	for (uint32_t il = first; il < first + d->hp.own[STACK]; il++) {
		struct lmi_io io;
		struct lmi_attn a;

		lmi_layer(e, (int32_t)il);
		io = lmi_read(e, &s, &norm);
		a = lmi_decoder_attn(e, d, 0);
		a.cache = h->runs[run * d->hp.n_layer + il];
		s.x = lmi_attn(e, &io, &a);
		io = lmi_read(e, &s, &norm);
		s.x = lmi_decoder_ffn_block(e, d, &io);
	}
	y = lmi_f32(e, d->hp.n_embd, "z");
	lmi_put_norm(e, lmi_whole(e, s.x), &norm, lmi_whole(e, y));
	return y;
}

/* z_H + the learned row. */
static uint32_t begin(struct lmi_emit *e, const struct lmi_decoder *d, uint32_t z_h)
{
	uint32_t x = lmi_f32(e, d->hp.n_embd, "x_init"), z = lmi_w(e, &init_rows[0]).id;

	lmi_put_scale_add(e, lmi_whole(e, z_h), 1.0f, lmi_wcols(z, d->hp.n_embd), lmi_whole(e, x));
	return x;
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct lmi_decoder *d = state;
	const uint32_t *own = d->hp.own;
	const struct lmd_norm none = lmi_no_norm();
	struct lmi_stream s = {.z = LMD_NONE, .a = 1.0f};
	uint32_t z_l = LMD_NONE, z_h;
	struct lmi_emit e;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED, "architecture %s: plan kind %u, expected %d",
			d->hp.model->arch, key->kind, LMD_PLAN_FORWARD);
		return LMD_UNSUPPORTED;
	}
	lmi_emit_init(&e, b, &d->hp, key);
	z_h = lmi_embed(&e);
	for (uint32_t i = 0; i < own[H_CYCLES] && b->status(b->ctx) == LMD_OK; i++) {
		for (uint32_t j = 0; j < own[L_CYCLES]; j++) {
			s = (struct lmi_stream){.x = z_h, .z = z_l, .a = 1.0f};
			if (z_l == LMD_NONE)
				s.x = begin(&e, d, z_h);
			z_l = stack(&e, d, s, 0, i * own[L_CYCLES] + j);
		}
		s = (struct lmi_stream){.x = z_h, .z = z_l, .a = 1.0f};
		z_h = stack(&e, d, s, own[STACK], i);
	}
	lmi_layer(&e, -1);
	s = (struct lmi_stream){.x = z_h, .z = LMD_NONE, .a = 1.0f};
	lmi_finish(&e, key, &s, &none, NULL, LMD_NONE);
	return b->status(b->ctx);
}

static const struct lmi_key_f32 floats[] = {
	{"embedding_scale", LMI_HP(embd_scale), LMI_OPTIONAL, 0, 0, 1e6f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.gate = LMI_GATE_SIGMOID,
	.adjust = adjust,
	.memory = memory,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return lmi_hybrid_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				   err);
}

const struct lmd_arch_ops lmi_arch_hrm_text = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = lmi_hybrid_dim, .layer_class = lmi_hp_layer_class,
	.build = build,
	.rows = lmi_decoder_rows,
};
