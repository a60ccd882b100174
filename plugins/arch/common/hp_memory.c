/* SPDX-License-Identifier: MIT
 *
 * hp_memory.c - groups, caches and adapter sites of a description. */
#include <stdio.h>
#include <string.h>

#include "arch/common/ranks.h"

uint32_t arch_hp_add_group(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_group *g)
{
	if (!hp->groups)
		hp->groups = arch_hp_alloc(hp, k, LMD_MAX_GROUP, sizeof(*hp->groups));
	if (!hp->groups)
		return LMD_NONE;
	if (hp->n_group == LMD_MAX_GROUP) {
		arch_key_fail(k, LMD_UNSUPPORTED, "architecture %s: more than %d layer groups",
			      hp->model->arch, LMD_MAX_GROUP);
		return LMD_NONE;
	}
	hp->groups[hp->n_group] = *g;
	return hp->n_group++;
}

uint32_t arch_hp_add_cache(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_cache *c)
{
	/* a layer has at most four caches (keys, index keys, two states) in each of 8 passes */
	const uint32_t max = hp->n_layer_all * 4 * (hp->n_pass > 8 ? hp->n_pass : 8);

	if (!hp->caches)
		hp->caches = arch_hp_alloc(hp, k, max, sizeof(*hp->caches));
	if (!hp->caches || hp->n_cache == max)
		return LMD_NONE;
	hp->caches[hp->n_cache] = *c;
	return hp->n_cache++;
}

/* The group of a layer's keys; created if there is none like it yet. */
static uint32_t group_of(struct arch_hparams *hp, struct arch_keys *k, const struct arch_layer *l)
{
	struct lmd_group g = {
		.name = l->chunk ? "chunk" : l->window ? "window" : "full",
		.kind = hp->causal ? LMD_GROUP_PAGED : LMD_GROUP_BATCH,
		.causal = hp->causal,
		.window = l->window,
		.chunk = l->chunk,
		.ratio = 1,
		.q_space = LMD_SPACE_TOKENS,
		.k_space = LMD_SPACE_TOKENS,
		.share = hp->causal,
	};

	for (uint32_t i = 0; i < hp->n_group; i++) {
		const struct lmd_group *h = &hp->groups[i];

		if (h->kind == g.kind && h->window == g.window && h->chunk == g.chunk &&
		    h->causal == g.causal && h->ratio == 1 && h->share == g.share)
			return i;
	}
	return arch_hp_add_group(hp, k, &g);
}

static void cache_of(struct arch_hparams *hp, struct arch_keys *k, struct arch_layer *l)
{
	struct lmd_cache c = {
		.group = l->group,
		.kind = l->cache_kind,
		.n_head = arch_heads_divide(hp, l) ? l->n_head_kv / hp->n_rank : l->n_head_kv,
		.dk = l->dk,
		.dv = l->dv,
		.dtype_policy = LMD_KV_DTYPE_USER,
	};

	l->cache = arch_hp_add_cache(hp, k, &c);
}

void arch_hp_memory(struct arch_hparams *hp, struct arch_keys *k, uint32_t n_pass)
{
	uint32_t first = hp->n_cache, n_layer = hp->n_layer + hp->n_draft;

	hp->n_pass = n_pass;
	for (uint32_t il = 0; il < n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		l->cls &= ~(ARCH_L_WINDOW | ARCH_L_FULL);
		l->cls |= l->window || l->chunk ? ARCH_L_WINDOW : ARCH_L_FULL;
	}
	/* full attention first, so that group 0 holds whole sequences if any group does */
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t il = 0; il < n_layer && k->st == LMD_OK; il++) {
			struct arch_layer *l = &hp->layer[il];

			if ((l->cls & ARCH_L_ATTN) && (pass == 1) == (l->window || l->chunk))
				l->group = group_of(hp, k, l);
		}
	}
	for (uint32_t il = 0; il < n_layer && k->st == LMD_OK; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (!(l->cls & ARCH_L_ATTN) || !hp->causal)
			continue;
		if (l->kv_layer == il)
			cache_of(hp, k, l);
		else
			l->cache = hp->layer[l->kv_layer].cache; /* an earlier layer */
	}
	hp->n_cache_pass = hp->n_cache - first;
	for (uint32_t i = 1; i < n_pass && k->st == LMD_OK; i++) {
		for (uint32_t c = 0; c < hp->n_cache_pass; c++)
			(void)arch_hp_add_cache(hp, k, &hp->caches[first + c]);
	}
}

uint32_t arch_hp_tensor(const struct arch_hparams *hp, const char *name)
{
	const struct lmd_tensor *t = hp->model->find_tensor(hp->model, name);

	return t ? (uint32_t)(t - hp->model->tensors) : LMD_NONE;
}

/* Gives the tensor STEM.weight the next adapter site, if it exists and has none. */
static void add_site(struct arch_hparams *hp, struct arch_keys *k, const char *stem)
{
	char name[128];
	uint32_t t;
	char *copy;
	size_t n = strlen(stem) + 1;

	(void)snprintf(name, sizeof(name), "%s.weight", stem);
	t = arch_hp_tensor(hp, name);
	if (t == LMD_NONE || hp->site_of_tensor[t] != LMD_NONE)
		return;
	copy = arch_hp_alloc(hp, k, n, 1);
	if (!copy)
		return;
	memcpy(copy, stem, n);
	hp->site_of_tensor[t] = hp->n_site;
	hp->sites[hp->n_site++] = copy;
}

static void row_sites(struct arch_hparams *hp, struct arch_keys *k,
		      const struct lmd_tensor_row *row)
{
	char stem[96];

	if (!(row->flags & LMD_TENSOR_LORA) || !row->dims[1] || (row->flags & LMD_TENSOR_BARE))
		return;
	for (uint32_t il = 0; il < ((row->flags & LMD_TENSOR_GLOBAL) ? 1 : hp->n_layer); il++) {
		(void)snprintf(stem, sizeof(stem), row->stem, (int)il);
		add_site(hp, k, stem);
	}
}
void arch_hp_sites(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_tensor_set *sets,
		   uint32_t n_sets)
{
	uint32_t n = hp->model->n_tensors;

	if (k->st != LMD_OK || !n)
		return;
	hp->site_of_tensor = arch_hp_alloc(hp, k, n, sizeof(*hp->site_of_tensor));
	hp->sites = arch_hp_alloc(hp, k, (size_t)n + 1, sizeof(*hp->sites));
	if (!hp->site_of_tensor || !hp->sites)
		return;
	for (uint32_t i = 0; i < n; i++)
		hp->site_of_tensor[i] = LMD_NONE;
	for (uint32_t s = 0; s < n_sets; s++) {
		for (uint32_t r = 0; r < sets[s].n_rows; r++)
			row_sites(hp, k, &sets[s].rows[r]);
	}
	if (arch_hp_tensor(hp, "output.weight") == LMD_NONE) {
		hp->site_output = hp->n_site;
		hp->sites[hp->n_site++] = "output";
	}
}

void arch_hp_finish(struct arch_hparams *hp, struct arch_keys *k,
		    const struct lmd_arch_params *params, struct lmd_arch_desc *out)
{
	const struct arch_layer *l = hp->layer;
	char *text = arch_hp_alloc(hp, k, 192, 1);
	int32_t pooling =
		params && params->pooling != LMD_POOL_UNSET ? params->pooling : hp->pooling;

	if (!text)
		return;
	(void)snprintf(text, 192,
		       "layers %u, width %u, heads %u of %u, kv heads %u, ff %u, experts %u of %u, "
		       "vocabulary %u, context %u",
		       hp->n_layer, hp->n_embd, l->n_head, l->dk, l->n_head_kv,
		       hp->n_expert ? hp->n_ff_exp : l->n_ff, hp->n_expert_used, hp->n_expert,
		       hp->n_vocab, hp->n_ctx_train);
	out->n_layer = hp->n_layer;
	out->n_vocab = hp->n_vocab;
	out->n_embd = hp->n_embd;
	out->n_embd_out = pooling == LMD_POOL_RANK ? hp->n_cls
			  : hp->n_dense3           ? hp->n_dense3
			  : hp->n_dense2           ? hp->n_dense2
						   : hp->n_embd;
	out->n_input_embd = hp->n_embd_inp;
	out->n_ctx_train = hp->n_ctx_train;
	out->driver = hp->causal ? LMD_DRIVER_AUTOREGRESSIVE : LMD_DRIVER_ENCODER;
	out->traits = 0;
	out->pooling = hp->pooling;
	out->decoder_start = -1;
	out->mask_token = -1;
	out->n_group = hp->n_group;
	out->n_cache = hp->n_cache;
	out->groups = hp->groups;
	out->caches = hp->caches;
	out->n_lora_site = hp->n_site;
	out->lora_sites = hp->sites;
	out->n_variant = 1;
	out->n_draft = hp->n_draft;
	out->n_hidden = hp->n_tap * hp->n_embd;
	out->state = hp;
	out->summary = text;
}
