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
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
	ARCH_ROWS_REQ(T_OUTPUT, T_OUTPUT),
	ARCH_ROWS_OWN(init_rows),
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_GATE, T_ATTN_GATE),
	ARCH_SET_FFN,
};

/* hp->arch_u32 */
enum { STACK, H_CYCLES, L_CYCLES };

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	uint64_t runs;

	hp->arch_u32[STACK] =
		arch_key_u32(k, "hrm.layers_per_stack", ARCH_REQUIRED, 1, 1, ARCH_MAX_LAYER);
	hp->arch_u32[H_CYCLES] =
		arch_key_u32(k, "hrm.h_cycles", ARCH_REQUIRED, 1, 1, ARCH_MAX_LAYER);
	hp->arch_u32[L_CYCLES] =
		arch_key_u32(k, "hrm.l_cycles", ARCH_REQUIRED, 1, 1, ARCH_MAX_LAYER);
	runs = (uint64_t)hp->arch_u32[STACK] * hp->arch_u32[H_CYCLES] *
	       (hp->arch_u32[L_CYCLES] + 1);
	if (arch_key_bool(k, "hrm.prefix_lm", ARCH_OPTIONAL, false))
		arch_key_fail(
			k, LMD_UNSUPPORTED,
			"hrm_text.hrm.prefix_lm: true is not supported (bidirectional attention "
			"within the prompt)");
	if (k->st == LMD_OK && runs != hp->n_layer)
		arch_key_fail(k, LMD_INVALID,
			      "hrm_text.block_count: %u, expected %llu runs of layers", hp->n_layer,
			      (unsigned long long)runs);
	if (!hp->causal)
		arch_key_fail(k, LMD_UNSUPPORTED,
			      "hrm_text.attention.causal: false, expected true");
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		if (!(hp->layer[il].cls & ARCH_L_ATTN))
			arch_key_fail(
				k, LMD_INVALID,
				"hrm_text.attention.head_count_kv: 0 in layer %u, expected at "
				"least 1",
				il);
	}
	if (k->st != LMD_OK)
		return;
	hp->n_layer = 2 * hp->arch_u32[STACK];
	hp->embd_scale_ext = hp->embd_scale;
}

/* Declares the caches: run i of layer il has cache runs[i * n_layer + il].  Those of the first runs
 * exist already. */
static void memory(struct arch_hparams *hp, struct arch_keys *k)
{
	const uint32_t lps = hp->arch_u32[STACK],
		       n_low = hp->arch_u32[H_CYCLES] * hp->arch_u32[L_CYCLES];
	struct arch_hybrid *h = arch_hybrid(hp);

	h->runs = arch_hp_alloc(hp, k, (size_t)n_low * hp->n_layer, sizeof(*h->runs));
	for (uint32_t i = 0; h->runs && i < n_low; i++) {
		for (uint32_t il = 0; il < hp->n_layer; il++) {
			uint32_t first = hp->layer[il].cache;

			if (il >= lps && i >= hp->arch_u32[H_CYCLES])
				continue;
			h->runs[i * hp->n_layer + il] =
				i ? arch_hp_add_cache(hp, k, &hp->caches[first]) : first;
		}
	}
}

/* Runs a stack over s; returns its normalised result as a new value. */
static uint32_t stack(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual s,
		      uint32_t first, uint32_t run)
{
	const struct arch_hybrid *h = d->hp.arch_data;
	const struct lmd_norm norm = arch_norm(e, LMD_NORM_RMS, NULL);
	uint32_t y;

	for (uint32_t il = first; il < first + d->hp.arch_u32[STACK]; il++) {
		struct arch_block_io io;
		struct arch_attn a;

		arch_set_layer(e, (int32_t)il);
		io = arch_residual_read(e, &s, &norm);
		a = arch_decoder_attn(e, d, 0);
		a.cache = h->runs[run * d->hp.n_layer + il];
		s.x = arch_attn(e, &io, &a);
		io = arch_residual_read(e, &s, &norm);
		s.x = arch_decoder_ffn_block(e, d, &io);
	}
	y = arch_value_f32(e, d->hp.n_embd, "z");
	arch_put_norm(e, arch_operand_all(e, s.x), &norm, arch_operand_all(e, y));
	return y;
}

/* z_H + the learned row. */
static uint32_t begin(struct arch_emit *e, const struct arch_decoder *d, uint32_t z_h)
{
	uint32_t x = arch_value_f32(e, d->hp.n_embd, "x_init"),
		 z = arch_weight_req(e, &init_rows[0]).id;

	arch_put_scale_add(e, arch_operand_all(e, z_h), 1.0f,
			   arch_operand_weight_cols(z, d->hp.n_embd), arch_operand_all(e, x));
	return x;
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct arch_decoder *d = state;
	const uint32_t *own = d->hp.arch_u32;
	const struct lmd_norm none = arch_no_norm();
	struct arch_residual s = {.z = LMD_NONE, .a = 1.0f};
	uint32_t z_l = LMD_NONE, z_h;
	struct arch_emit e;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED, "architecture %s: plan kind %u, expected %d",
			d->hp.model->arch, key->kind, LMD_PLAN_FORWARD);
		return LMD_UNSUPPORTED;
	}
	arch_emit_init(&e, b, &d->hp, key);
	z_h = arch_embed(&e);
	for (uint32_t i = 0; i < own[H_CYCLES] && b->status(b->ctx) == LMD_OK; i++) {
		for (uint32_t j = 0; j < own[L_CYCLES]; j++) {
			s = (struct arch_residual){.x = z_h, .z = z_l, .a = 1.0f};
			if (z_l == LMD_NONE)
				s.x = begin(&e, d, z_h);
			z_l = stack(&e, d, s, 0, i * own[L_CYCLES] + j);
		}
		s = (struct arch_residual){.x = z_h, .z = z_l, .a = 1.0f};
		z_h = stack(&e, d, s, own[STACK], i);
	}
	arch_set_layer(&e, -1);
	s = (struct arch_residual){.x = z_h, .z = LMD_NONE, .a = 1.0f};
	arch_emit_outputs(&e, key, &s, &none, NULL, LMD_NONE);
	return b->status(b->ctx);
}

static const struct arch_key_f32 floats[] = {
	{"embedding_scale", ARCH_HP(embd_scale), ARCH_OPTIONAL, 0, 0, 1e6f},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.gate = ARCH_GATE_SIGMOID,
	.adjust = adjust,
	.memory = memory,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return arch_hybrid_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				    err);
}

const struct lmd_arch_ops arch_hrm_text = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = arch_hybrid_dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
	.rows = arch_decoder_rows,
};
