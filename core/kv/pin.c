/* SPDX-License-Identifier: MIT
 *
 * Pins: prefixes that stay in memory for a time, as far as sequences leave room. */
#include "core/kv/kv_impl.h"

static struct lmi_kv_page_pool *pool_of(struct lmi_kv *kv, uint32_t g)
{
	return kv->group[g].slots.seq ? &kv->group[g].slots.pool : &kv->group[g].pages.pool;
}

/* Tells the pools whether the pages of a node are pinned. */
static void tell_pools(struct lmi_kv *kv, uint32_t node)
{
	const struct lmi_kv_node *n = &kv->tree.node[node];

	for (uint32_t g = 0; g < kv->n_group; g++)
		if (n->page[g] != LMI_KV_NO_PAGE)
			lmi_kv_page_pin(pool_of(kv, g), n->page[g], n->pin_until != 0);
}

static uint32_t n_pinned_by(const struct lmi_kv *kv, uint64_t owner)
{
	uint32_t n = 0;

	for (uint32_t i = kv->tree.pinned; i != LMI_KV_NO_NODE; i = kv->tree.node[i].pin_next)
		n += kv->tree.node[i].pin_owner == owner;
	return n;
}

static bool has_page(const struct lmi_kv *kv, uint32_t node)
{
	for (uint32_t g = 0; g < kv->n_group; g++)
		if (kv->tree.node[node].page[g] != LMI_KV_NO_PAGE)
			return true;
	return false;
}

uint32_t lmi_kv_pin(struct lmi_kv *kv, const struct lmi_kv_identity *id, const lmd_token *tokens,
		    uint32_t n, uint64_t owner, uint64_t until, uint32_t most)
{
	uint32_t node = lmi_kv_prefix_root(&kv->tree, id), at = 0, pt = kv->page_tokens;
	uint32_t used = n_pinned_by(kv, owner), n_pinned = 0;

	while (node != LMI_KV_NO_NODE && n - at >= pt && until) {
		node = lmi_kv_prefix_child(&kv->tree, node, tokens + at, pt);
		if (node == LMI_KV_NO_NODE)
			break;
		at += pt;
		if (!has_page(kv, node)) /* only the states of some places are kept */
			continue;
		if (!kv->tree.node[node].pin_until && used++ >= most)
			break;
		lmi_kv_prefix_pin(&kv->tree, node, owner, until);
		tell_pools(kv, node);
		n_pinned = at;
	}
	return n_pinned;
}

void lmi_kv_unpin(struct lmi_kv *kv, uint64_t now)
{
	uint32_t next;

	for (uint32_t i = kv->tree.pinned; i != LMI_KV_NO_NODE; i = next) {
		next = kv->tree.node[i].pin_next;
		if (kv->tree.node[i].pin_until > now)
			continue;
		lmi_kv_prefix_unpin(&kv->tree, i);
		tell_pools(kv, i);
	}
}

uint32_t lmi_kv_capacity(const struct lmi_kv *kv)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < kv->n_group; g++) {
		const struct lmi_kv_group *x = &kv->group[g];
		uint32_t pages = x->slots.seq ? x->slots.pool.n_page : x->pages.pool.n_page;

		n = pages > n ? pages : n;
	}
	return n;
}
