/* SPDX-License-Identifier: MIT
 *
 * hparams.c - sizes, heads, experts and rotation of a model from its keys.
 *
 * After arch_hp_read every number is within its bounds, and every product that plan building
 * computes (heads * head size, experts * width) fits 32 bits, so later code need not check. */
#include "arch/common/hparams.h"

#include <stdio.h>
#include <string.h>

#define MAX_EMBD_PRODUCT (1u << 24) /* columns of a value */
#define MAX_DEEPSTACK    64u

void *arch_hp_alloc(struct arch_hparams *hp, struct arch_keys *k, size_t n, size_t size)
{
	void *p = NULL;

	/* n comes from capped keys or from the tensor count of an open file */
	if (n && size <= SIZE_MAX / n)
		p = hp->host->arena_alloc(hp->host->ctx, hp->arena, n * size, 16);
	if (!p)
		arch_key_fail(k, LMD_NOMEM, "architecture %s: out of memory for %zu entries",
			      hp->model->arch, n);
	return p;
}

/* One number for each layer, allocated from the arena; NULL after an error. */
static uint32_t *per_layer(struct arch_hparams *hp, struct arch_keys *k, const char *key,
			   enum arch_need need, uint32_t def, uint32_t lo, uint32_t hi)
{
	uint32_t *v = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*v));

	if (v)
		(void)arch_key_u32s(k, key, need, v, hp->n_layer, def, lo, hi);
	return v;
}

static void read_sizes(struct arch_hparams *hp, struct arch_keys *k,
		       const struct lmd_arch_params *params)
{
	uint32_t n_draft;

	hp->n_layer_all = arch_key_u32(k, "block_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_LAYER);
	n_draft = arch_key_u32(k, "nextn_predict_layers", ARCH_OPTIONAL, 0, 0, hp->n_layer_all - 1);
	hp->n_layer = hp->n_layer_all - n_draft;
	hp->n_embd = arch_key_u32(k, "embedding_length", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH);
	hp->n_ctx_train = arch_key_u32(k, "context_length", ARCH_REQUIRED, 1, 1, ARCH_MAX_CTX);
	hp->n_ctx = params && params->n_ctx ? params->n_ctx : hp->n_ctx_train;
	hp->n_embd_inp = hp->n_embd;
	if (hp->model->tok->n_tokens)
		hp->n_vocab = hp->model->tok->n_tokens;
	else
		hp->n_vocab =
			arch_key_u32(k, "vocab_size", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_VOCAB);
	if (hp->n_vocab > ARCH_KEY_MAX_VOCAB)
		arch_key_fail(k, LMD_INVALID, "vocabulary: %u tokens, maximum %u", hp->n_vocab,
			      ARCH_KEY_MAX_VOCAB);
	hp->pooling = (int32_t)arch_key_u32(k, "pooling_type", ARCH_OPTIONAL, UINT32_MAX, 0, 4);
	hp->causal = arch_key_bool(k, "attention.causal", ARCH_OPTIONAL, true);
	hp->n_cls = (uint32_t)arch_key_len(k, "classifier.output_labels");
	hp->n_cls = hp->n_cls ? hp->n_cls : 1;
	hp->n_dense2 = arch_key_u32(k, "dense_2_feat_out", ARCH_OPTIONAL, 0, 0, ARCH_KEY_MAX_WIDTH);
	hp->n_dense3 = arch_key_u32(k, "dense_3_feat_out", ARCH_OPTIONAL, 0, 0, ARCH_KEY_MAX_WIDTH);
}

static void read_norm(struct arch_hparams *hp, struct arch_keys *k, const struct arch_hp_opts *o)
{
	static const char *const keys[2] = {
		"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"};
	bool layer = o->norm_kind == LMD_NORM_LAYER;
	const char *key = keys[layer];

	if (o->eps_either && !arch_key_has(k, key) && arch_key_has(k, keys[!layer]))
		key = keys[!layer];
	hp->norm_kind = o->norm_kind;
	hp->eps = (float)arch_key_f64(k, key, ARCH_REQUIRED, 1e-5, 0.0, 1.0);
}

static void read_heads(struct arch_hparams *hp, struct arch_keys *k, const struct arch_hp_opts *o)
{
	uint32_t lo = o->n_head_zero ? 0 : 1;
	uint32_t *head =
		per_layer(hp, k, "attention.head_count", ARCH_REQUIRED, 1, lo, ARCH_MAX_HEAD);
	uint32_t *kv = per_layer(hp, k, "attention.head_count_kv", ARCH_OPTIONAL, UINT32_MAX, 0,
				 ARCH_MAX_HEAD);
	uint32_t n_head = 0, dk, dv, n_rot;

	if (!head || !kv || k->st != LMD_OK)
		return;
	for (uint32_t il = 0; il < hp->n_layer && !n_head; il++)
		n_head = head[il];
	dk = n_head ? hp->n_embd / n_head : 0;
	dv = arch_key_u32(k, "attention.value_length", ARCH_OPTIONAL, dk, 1, ARCH_MAX_DK);
	dk = arch_key_u32(k, "attention.key_length", ARCH_OPTIONAL, dk, 1, ARCH_MAX_DK);
	n_rot = o->no_rope ? 0 : arch_key_u32(k, "rope.dimension_count", ARCH_OPTIONAL, dk, 0, dk);
	if (n_head && (!dk || !dv))
		arch_key_fail(k, LMD_INVALID,
			      "%s.attention.head_count: %u heads, but embedding_length is only %u",
			      k->model->arch, n_head, hp->n_embd);
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		struct arch_layer *l = &hp->layer[il];

		l->n_head = head[il];
		l->n_head_kv = kv[il] == UINT32_MAX ? head[il] : kv[il];
		l->dk = dk;
		l->dv = dv;
		l->n_rot = n_rot;
		if (l->n_head && l->n_head_kv && l->n_head % l->n_head_kv)
			arch_key_fail(k, LMD_INVALID,
				      "%s.attention.head_count_kv: %u in layer %u does not divide "
				      "the head count %u",
				      k->model->arch, l->n_head_kv, il, l->n_head);
		if ((uint64_t)l->n_head * (dk > dv ? dk : dv) > MAX_EMBD_PRODUCT / 4)
			arch_key_fail(
				k, LMD_INVALID,
				"%s.attention.key_length: %u heads of %u columns; the product "
				"must be at most %u",
				k->model->arch, l->n_head, dk, MAX_EMBD_PRODUCT / 4);
	}
}

static void read_experts(struct arch_hparams *hp, struct arch_keys *k, const struct arch_hp_opts *o)
{
	uint32_t n_ff0 = hp->layer[0].n_ff;

	hp->route_fn = o->route_fn ? o->route_fn : LMD_ROUTE_SOFTMAX;
	hp->route_renorm = o->route_renorm;
	hp->route_scale = 1.0f;
	hp->n_expert = arch_key_u32(k, "expert_count", ARCH_OPTIONAL, 0, 0, ARCH_MAX_EXPERT);
	if (!hp->n_expert)
		return;
	hp->n_expert_used = arch_key_u32(k, "expert_used_count", ARCH_REQUIRED, 1, 1, hp->n_expert);
	hp->n_expert_shared = arch_key_u32(k, "expert_shared_count", ARCH_OPTIONAL, 0, 0, 64);
	hp->n_expert_group =
		arch_key_u32(k, "expert_group_count", ARCH_OPTIONAL, 0, 0, hp->n_expert);
	hp->n_expert_group_used =
		arch_key_u32(k, "expert_group_used_count", ARCH_OPTIONAL, 0, 0, hp->n_expert_group);
	if (hp->n_expert_group > 1 && hp->n_expert % hp->n_expert_group)
		arch_key_fail(k, LMD_INVALID,
			      "%s.expert_group_count: %u does not divide %u experts",
			      k->model->arch, hp->n_expert_group, hp->n_expert);
	hp->n_ff_exp = arch_key_u32(k, "expert_feed_forward_length", ARCH_OPTIONAL, n_ff0, 0,
				    ARCH_KEY_MAX_WIDTH);
	hp->n_ff_shexp = arch_key_u32(k, "expert_shared_feed_forward_length", ARCH_OPTIONAL, 0, 0,
				      ARCH_KEY_MAX_WIDTH);
	hp->n_dense_lead =
		arch_key_u32(k, "leading_dense_block_count", ARCH_OPTIONAL, 0, 0, hp->n_layer);
	if (o->route_scaled || o->route_by_key)
		hp->route_scale = (float)arch_key_f64(k, "expert_weights_scale", ARCH_OPTIONAL, 1.0,
						      0.0, 1e6);
	if (hp->route_scale == 0.0f)
		hp->route_scale = 1.0f;
	if (o->route_by_key) {
		hp->route_fn = arch_key_u32(k, "expert_gating_func", ARCH_OPTIONAL, 0, 0, 4);
		if (!hp->route_fn)
			hp->route_fn = o->route_fn ? o->route_fn : LMD_ROUTE_SOFTMAX;
		hp->route_renorm =
			arch_key_bool(k, "expert_weights_norm", ARCH_OPTIONAL, o->route_renorm);
	}
}

static bool has_tensor(const struct arch_hparams *hp, uint32_t il, const char *site)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "blk.%u.%s.weight", il, site);
	return hp->model->find_tensor(hp->model, name) != NULL;
}

/* A size of 0 says that a layer has no such part.  Tensors of that part would be left out of the
 * plan, and the model would compute something else.  Hybrid models mark layers without attention by
 * zeros in an array, and may give the tensors of those layers the same names. */
static void check_zeros(const struct arch_hparams *hp, struct arch_keys *k, bool heads)
{
	static const char *const attn[] = {"attn_q", "attn_k", "attn_v", "attn_qkv"};
	static const char *const ffn[] = {"ffn_up", "ffn_gate", "ffn_down"};
	bool one = heads && !arch_key_is_array(k, "attention.head_count") &&
		   !arch_key_is_array(k, "attention.head_count_kv");

	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		const struct arch_layer *l = &hp->layer[il];

		for (size_t i = 0; one && (!l->n_head || !l->n_head_kv) && i < LMD_LEN(attn); i++)
			if (has_tensor(hp, il, attn[i]))
				arch_key_fail(k, LMD_INVALID,
					      "%s.attention.head_count%s: 0 in layer %u, which has "
					      "the tensor %s",
					      k->model->arch, l->n_head ? "_kv" : "", il, attn[i]);
		for (size_t i = 0; !l->n_ff && i < LMD_LEN(ffn); i++)
			if (has_tensor(hp, il, ffn[i]))
				arch_key_fail(k, LMD_INVALID,
					      "%s.feed_forward_length: missing or 0 in layer %u, "
					      "which has the tensor %s",
					      k->model->arch, il, ffn[i]);
	}
}

/* Sets the default class of each layer. */
static void classify(struct arch_hparams *hp)
{
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		l->kv_layer = il;
		l->group = LMD_NONE;
		l->cache = LMD_NONE;
		l->cls = l->n_head && l->n_head_kv ? ARCH_L_ATTN : 0;
		if (hp->n_expert && il >= hp->n_dense_lead)
			l->cls |= ARCH_L_MOE |
				  (hp->n_ff_shexp || hp->n_expert_shared ? ARCH_L_SHEXP : 0);
		else
			l->cls |= ARCH_L_DENSE;
	}
}

void arch_hp_read(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_host *host,
		  struct lmd_arena *arena, const struct lmd_arch_params *params,
		  const struct arch_hp_opts *o)
{
	uint32_t *ff;

	hp->host = host;
	hp->model = k->model;
	hp->arena = arena;
	hp->n_pass = 1;
	hp->site_output = LMD_NONE;
	read_sizes(hp, k, params);
	read_norm(hp, k, o);
	if (k->st != LMD_OK)
		return;
	hp->layer = arch_hp_alloc(hp, k, hp->n_layer_all, sizeof(*hp->layer));
	if (!hp->layer)
		return;
	if (!o->no_heads)
		read_heads(hp, k, o);
	ff = per_layer(hp, k, "feed_forward_length", ARCH_OPTIONAL, 0, 0, ARCH_KEY_MAX_WIDTH);
	for (uint32_t il = 0; ff && il < hp->n_layer; il++)
		hp->layer[il].n_ff = ff[il];
	if (k->st == LMD_OK)
		check_zeros(hp, k, !o->no_heads);
	if (k->st != LMD_OK)
		return;
	read_experts(hp, k, o);
	arch_hp_rope(hp, k, o);
	if (o->window)
		arch_hp_windows(hp, k, o);
	else
		arch_hp_checkpoint_windows(hp, k);
	classify(hp);
}

void arch_hp_floats(void *state, struct arch_keys *k, const struct arch_key_f32 *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct arch_key_f32 *r = &rows[i];
		float v = (float)arch_key_f64(k, r->key, r->need ? ARCH_REQUIRED : ARCH_OPTIONAL,
					      (double)r->def, (double)r->lo, (double)r->hi);

		memcpy((char *)state + r->offset, &v, sizeof(v));
	}
}

void arch_hp_deepstack(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t n = arch_key_u32(k, "n_deepstack_layers", ARCH_OPTIONAL, 0, 0, MAX_DEEPSTACK);

	for (uint32_t il = 0; il < n && il < hp->n_layer; il++)
		hp->layer[il].deepstack_after = il + 1;
	hp->n_embd_inp = hp->n_embd * (1 + n);
}

/* The layer that a symbol refers to.  For GLOBAL rows il is -1: the first layer to which the symbol
 * applies. */
static const struct arch_layer *layer_of(const struct arch_hparams *hp, uint32_t symbol, int32_t il)
{
	if (il >= 0)
		return (uint32_t)il < hp->n_layer + hp->n_draft ? &hp->layer[il] : NULL;
	for (uint32_t i = 0; symbol == D_ROT_HALF && i < hp->n_layer; i++) {
		if (hp->layer[i].n_rot && hp->layer[i].rope == ARCH_ROPE_FULL)
			return &hp->layer[i];
	}
	return hp->n_layer ? &hp->layer[0] : NULL;
}

static int64_t head_dim(const struct arch_layer *l, uint32_t symbol)
{
	int64_t q = (int64_t)l->n_head * l->dk;
	int64_t k = (int64_t)l->n_head_kv * l->dk, v = (int64_t)l->n_head_kv * l->dv;

	switch (symbol) {
	case D_Q: return q;
	case D_K: return k;
	case D_V: return v;
	case D_QKV: return q + k + v;
	case D_O: return (int64_t)l->n_head * l->dv;
	case D_DK: return l->dk;
	case D_DV: return l->dv;
	case D_HEAD: return l->n_head;
	case D_HEAD_KV: return l->n_head_kv;
	case D_Q2: return 2 * q;
	case D_QKV2: return 2 * q + k + v;
	case D_ROT_HALF: return l->n_rot / 2;
	case D_FF: return l->n_ff;
	case D_FF2: return 2 * (int64_t)l->n_ff;
	default: return 0;
	}
}

int64_t arch_hp_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hparams *hp = state;
	const struct arch_layer *l;
	int64_t shexp = hp->n_ff_shexp ? hp->n_ff_shexp
				       : (int64_t)hp->n_ff_exp * hp->n_expert_shared;

	switch (symbol) {
	case D_EMBD: return hp->n_embd;
	case D_VOCAB: return hp->n_vocab;
	case D_CTX: return hp->n_ctx_train;
	case D_EXPERT: return hp->n_expert;
	case D_FF_EXP: return hp->n_ff_exp;
	case D_FF_EXP2: return 2 * (int64_t)hp->n_ff_exp;
	case D_FF_SHEXP: return shexp;
	case D_FF_SHEXP2: return 2 * shexp;
	case D_TYPES: return hp->model->tok->n_token_types;
	case D_CLS: return hp->n_cls;
	case D_DENSE2: return hp->n_dense2;
	case D_DENSE3: return hp->n_dense3;
	default:
		l = layer_of(hp, symbol, layer);
		return l ? head_dim(l, symbol) : 0;
	}
}

uint32_t arch_hp_layer_class(const void *state, int32_t il)
{
	const struct arch_hparams *hp = state;

	return il >= 0 && (uint32_t)il < hp->n_layer + hp->n_draft ? hp->layer[il].cls
								   : UINT32_MAX;
}
