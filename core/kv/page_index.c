/* SPDX-License-Identifier: MIT
 *
 * A polynomial of the tokens, modulo 2^64, and lists by hash. */
#include "core/kv/page_index.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/kv/prefix_tree.h"

enum lmd_status lmi_kv_page_index_init(struct lmi_kv_page_index *x, uint32_t n_node, uint32_t page_tokens,
				       uint64_t base)
{
	uint32_t n_bucket = 16;

	while (n_bucket < n_node)
		n_bucket *= 2;
	*x = (struct lmi_kv_page_index){
		.mask = n_bucket - 1, .page_tokens = page_tokens, .base = base, .high = 1};
	for (uint32_t i = 1; i < page_tokens; i++)
		x->high *= base;
	x->bucket = lmi_alloc(n_bucket, sizeof(*x->bucket));
	x->next = lmi_alloc(n_node, sizeof(*x->next));
	x->prev = lmi_alloc(n_node, sizeof(*x->prev));
	x->hash = lmi_alloc(n_node, sizeof(*x->hash));
	if (!x->bucket || !x->next || !x->prev || !x->hash) {
		lmi_kv_page_index_fini(x);
		return LMD_NOMEM;
	}
	memset(x->bucket, 0xff, n_bucket * sizeof(*x->bucket)); /* LMI_KV_NO_NODE */
	return LMD_OK;
}

void lmi_kv_page_index_fini(struct lmi_kv_page_index *x)
{
	lmi_free(x->bucket);
	lmi_free(x->next);
	lmi_free(x->prev);
	lmi_free(x->hash);
	*x = (struct lmi_kv_page_index){0};
}

static uint64_t roll_in(const struct lmi_kv_page_index *x, uint64_t hash, lmd_token token)
{
	return hash * x->base + (uint32_t)token + 1;
}

uint64_t lmi_kv_page_index_hash(const struct lmi_kv_page_index *x, const lmd_token *tokens)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < x->page_tokens; i++)
		h = roll_in(x, h, tokens[i]);
	return h;
}

uint64_t lmi_kv_page_index_roll(const struct lmi_kv_page_index *x, uint64_t hash, lmd_token out,
				lmd_token in)
{
	return roll_in(x, hash - ((uint64_t)(uint32_t)out + 1) * x->high, in);
}

static uint32_t *bucket_of(const struct lmi_kv_page_index *x, uint64_t hash)
{
	return &x->bucket[(uint32_t)((hash ^ hash >> 29) * 0x9e3779b97f4a7c15ull >> 32) & x->mask];
}

void lmi_kv_page_index_add(struct lmi_kv_page_index *x, uint32_t node, uint64_t owner,
			   const lmd_token *tokens)
{
	uint64_t hash = lmi_kv_page_index_hash(x, tokens) + owner;
	uint32_t *first = bucket_of(x, hash);

	x->hash[node] = hash;
	x->next[node] = *first;
	x->prev[node] = LMI_KV_NO_NODE;
	if (*first != LMI_KV_NO_NODE)
		x->prev[*first] = node;
	*first = node;
}

void lmi_kv_page_index_remove(struct lmi_kv_page_index *x, uint32_t node)
{
	uint32_t next = x->next[node], prev = x->prev[node];

	*(prev == LMI_KV_NO_NODE ? bucket_of(x, x->hash[node]) : &x->next[prev]) = next;
	if (next != LMI_KV_NO_NODE)
		x->prev[next] = prev;
}

static uint32_t skip_others(const struct lmi_kv_page_index *x, uint32_t node, uint64_t hash)
{
	while (node != LMI_KV_NO_NODE && x->hash[node] != hash)
		node = x->next[node];
	return node;
}

uint32_t lmi_kv_page_index_first(const struct lmi_kv_page_index *x, uint64_t owner, uint64_t hash)
{
	return skip_others(x, *bucket_of(x, hash + owner), hash + owner);
}

uint32_t lmi_kv_page_index_next(const struct lmi_kv_page_index *x, uint32_t node)
{
	return skip_others(x, x->next[node], x->hash[node]);
}
