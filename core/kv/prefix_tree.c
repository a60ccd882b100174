/* SPDX-License-Identifier: MIT
 *
 * Nodes in an array, linked to their parents and siblings and into hash buckets. */
#include "core/kv/prefix_tree.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/siphash.h"
#include "core/kv/page_pool.h"

static uint32_t n_bucket_for(uint32_t n_node)
{
	uint32_t n = 16;

	while (n < n_node)
		n *= 2;
	return n;
}

enum lmd_status lmi_kv_prefix_tree_init(struct lmi_kv_prefix_tree *t, uint32_t n_node,
					uint32_t page_tokens, const uint64_t key[2])
{
	*t = (struct lmi_kv_prefix_tree){.free = LMI_KV_NO_NODE,
					 .pinned = LMI_KV_NO_NODE,
					 .page_tokens = page_tokens,
					 .key = {key[0], key[1]}};
	if (!n_node)
		return LMD_OK;
	if (n_node > LMI_KV_PAGE_MAX)
		return LMD_INVALID;
	t->n_bucket = n_bucket_for(n_node);
	t->node = lmi_alloc(n_node, sizeof(*t->node));
	t->token = lmi_alloc((size_t)n_node * page_tokens, sizeof(*t->token));
	t->bucket = lmi_alloc(t->n_bucket, sizeof(*t->bucket));
	if (!t->node || !t->token || !t->bucket) {
		lmi_kv_prefix_tree_fini(t);
		return LMD_NOMEM;
	}
	t->n_node = n_node;
	for (uint32_t i = 0; i < t->n_bucket; i++)
		t->bucket[i] = LMI_KV_NO_NODE;
	for (uint32_t i = n_node; i-- > 0; t->free = i)
		t->node[i].next = t->free;
	return LMD_OK;
}

void lmi_kv_prefix_tree_fini(struct lmi_kv_prefix_tree *t)
{
	lmi_free(t->node);
	lmi_free(t->token);
	lmi_free(t->bucket);
	lmi_kv_page_index_fini(&t->pages);
	*t = (struct lmi_kv_prefix_tree){.free = LMI_KV_NO_NODE, .pinned = LMI_KV_NO_NODE};
}

static lmd_token *tokens_of(const struct lmi_kv_prefix_tree *t, uint32_t node)
{
	return t->token + (size_t)node * t->page_tokens;
}

/* ---- looking up ---- */

uint64_t lmi_kv_prefix_owner(const struct lmi_kv_prefix_tree *t, const struct lmi_kv_identity *id)
{
	const uint64_t v[2] = {id->tenant, id->adapter};

	return lmi_siphash(t->key, v, sizeof(v));
}

/* The hash of a child chains on that of its parent. */
static uint64_t hash_child(const struct lmi_kv_prefix_tree *t, uint32_t parent,
			   const lmd_token *tokens, uint32_t n)
{
	const uint64_t key[2] = {t->key[0] ^ t->node[parent].hash, t->key[1]};

	return lmi_siphash(key, tokens, n * sizeof(*tokens));
}

static uint32_t *bucket_of(const struct lmi_kv_prefix_tree *t, uint64_t hash)
{
	return &t->bucket[hash & (t->n_bucket - 1)];
}

uint32_t lmi_kv_prefix_root(const struct lmi_kv_prefix_tree *t, const struct lmi_kv_identity *id)
{
	uint32_t i = t->n_node ? *bucket_of(t, lmi_kv_prefix_owner(t, id)) : LMI_KV_NO_NODE;

	for (; i != LMI_KV_NO_NODE; i = t->node[i].bucket_next) {
		const struct lmi_kv_node *n = &t->node[i];

		if (!n->n_tok && n->id.tenant == id->tenant && n->id.adapter == id->adapter)
			break;
	}
	return i;
}

uint32_t lmi_kv_prefix_child(const struct lmi_kv_prefix_tree *t, uint32_t parent,
			     const lmd_token *tokens, uint32_t n)
{
	uint64_t hash = hash_child(t, parent, tokens, n);
	uint32_t i = *bucket_of(t, hash);

	for (; i != LMI_KV_NO_NODE; i = t->node[i].bucket_next)
		if (t->node[i].hash == hash && t->node[i].parent == parent &&
		    t->node[i].n_tok == n &&
		    !memcmp(tokens_of(t, i), tokens, n * sizeof(*tokens)))
			break;
	return i;
}

uint32_t lmi_kv_prefix_common(const struct lmi_kv_prefix_tree *t, uint32_t node,
			      const lmd_token *tokens, uint32_t n)
{
	const lmd_token *own = tokens_of(t, node);
	uint32_t i = 0, most = n < t->node[node].n_tok ? n : t->node[node].n_tok;

	while (i < most && own[i] == tokens[i])
		i++;
	return i;
}

/* ---- adding and freeing ---- */

static bool is_indexed(const struct lmi_kv_prefix_tree *t, uint32_t node)
{
	return t->pages.bucket && t->node[node].n_tok == t->page_tokens;
}

static void add_to_index(struct lmi_kv_prefix_tree *t, uint32_t node)
{
	lmi_kv_page_index_add(&t->pages, node, lmi_kv_prefix_owner(t, &t->node[node].id),
			      tokens_of(t, node));
}

enum lmd_status lmi_kv_prefix_index_pages(struct lmi_kv_prefix_tree *t)
{
	enum lmd_status st = LMD_OK;

	if (t->pages.bucket)
		return LMD_OK;
	st = lmi_kv_page_index_init(&t->pages, t->n_node, t->page_tokens, t->key[0] | 1);
	for (uint32_t i = 0; st == LMD_OK && i < t->n_node; i++)
		if (t->node[i].n_ref && is_indexed(t, i))
			add_to_index(t, i);
	return st;
}

static uint32_t add(struct lmi_kv_prefix_tree *t, struct lmi_kv_node node)
{
	uint32_t i = t->free;

	if (i == LMI_KV_NO_NODE)
		return i;
	t->free = t->node[i].next;
	t->n_used++;
	node.child = node.next = node.prev = LMI_KV_NO_NODE;
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		node.page[g] = LMI_KV_NO_PAGE;
	node.bucket_next = *bucket_of(t, node.hash);
	*bucket_of(t, node.hash) = i;
	t->node[i] = node;
	return i;
}

uint32_t lmi_kv_prefix_add_root(struct lmi_kv_prefix_tree *t, const struct lmi_kv_identity *id)
{
	if (!t->n_node)
		return LMI_KV_NO_NODE;
	return add(t, (struct lmi_kv_node){
			      .id = *id, .parent = LMI_KV_NO_NODE, .hash = lmi_kv_prefix_owner(t, id)});
}

uint32_t lmi_kv_prefix_add_child(struct lmi_kv_prefix_tree *t, uint32_t parent,
				 const lmd_token *tokens, uint32_t n)
{
	struct lmi_kv_node *p = &t->node[parent];
	uint32_t i = add(t, (struct lmi_kv_node){.id = p->id,
						 .parent = parent,
						 .n_tok = n,
						 .index = p->n_tok ? p->index + 1 : 0,
						 .hash = hash_child(t, parent, tokens, n)});

	if (i == LMI_KV_NO_NODE)
		return i;
	memcpy(tokens_of(t, i), tokens, n * sizeof(*tokens));
	t->node[i].next = p->child;
	if (p->child != LMI_KV_NO_NODE)
		t->node[p->child].prev = i;
	p->child = i;
	p->n_ref++;
	if (is_indexed(t, i))
		add_to_index(t, i);
	return i;
}

static void unlink_node(struct lmi_kv_prefix_tree *t, uint32_t i)
{
	const struct lmi_kv_node *n = &t->node[i];
	uint32_t *at = bucket_of(t, n->hash);

	while (*at != i)
		at = &t->node[*at].bucket_next;
	*at = n->bucket_next;
	if (n->parent == LMI_KV_NO_NODE)
		return;
	*(n->prev == LMI_KV_NO_NODE ? &t->node[n->parent].child : &t->node[n->prev].next) = n->next;
	if (n->next != LMI_KV_NO_NODE)
		t->node[n->next].prev = n->prev;
}

void lmi_kv_prefix_ref(struct lmi_kv_prefix_tree *t, uint32_t node)
{
	t->node[node].n_ref++;
}

void lmi_kv_prefix_unref(struct lmi_kv_prefix_tree *t, uint32_t node)
{
	while (node != LMI_KV_NO_NODE) {
		uint32_t parent = t->node[node].parent;

		assert(t->node[node].n_ref);
		if (--t->node[node].n_ref)
			return;
		unlink_node(t, node);
		if (is_indexed(t, node))
			lmi_kv_page_index_remove(&t->pages, node);
		t->node[node].next = t->free;
		t->free = node;
		t->n_used--;
		node = parent; /* has lost a child */
	}
}

/* ---- pins ---- */

void lmi_kv_prefix_pin(struct lmi_kv_prefix_tree *t, uint32_t node, uint64_t owner, uint64_t until)
{
	struct lmi_kv_node *n = &t->node[node];

	if (n->pin_until) {
		n->pin_until = until > n->pin_until ? until : n->pin_until;
		return;
	}
	n->pin_until = until;
	n->pin_owner = owner;
	n->pin_prev = LMI_KV_NO_NODE;
	n->pin_next = t->pinned;
	if (t->pinned != LMI_KV_NO_NODE)
		t->node[t->pinned].pin_prev = node;
	t->pinned = node;
	t->n_pinned++;
}

void lmi_kv_prefix_unpin(struct lmi_kv_prefix_tree *t, uint32_t node)
{
	struct lmi_kv_node *n = &t->node[node];

	*(n->pin_prev == LMI_KV_NO_NODE ? &t->pinned : &t->node[n->pin_prev].pin_next) = n->pin_next;
	if (n->pin_next != LMI_KV_NO_NODE)
		t->node[n->pin_next].pin_prev = n->pin_prev;
	n->pin_until = 0;
	t->n_pinned--;
}

static bool has_page(const struct lmi_kv_node *n)
{
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		if (n->page[g] != LMI_KV_NO_PAGE)
			return true;
	return false;
}

void lmi_kv_prefix_attach(struct lmi_kv_prefix_tree *t, uint32_t node, uint32_t group,
			  uint32_t page)
{
	assert(t->node[node].page[group] == LMI_KV_NO_PAGE);
	t->node[node].page[group] = page;
	lmi_kv_prefix_ref(t, node);
}

void lmi_kv_prefix_detach(struct lmi_kv_prefix_tree *t, uint32_t node, uint32_t group)
{
	assert(t->node[node].page[group] != LMI_KV_NO_PAGE);
	t->node[node].page[group] = LMI_KV_NO_PAGE;
	if (t->node[node].pin_until && !has_page(&t->node[node]))
		lmi_kv_prefix_unpin(t, node);
	lmi_kv_prefix_unref(t, node);
}

/* ---- checks ---- */

static bool check_node(const struct lmi_kv_prefix_tree *t, uint32_t i, uint64_t *n_seq_ref)
{
	const struct lmi_kv_node *n = &t->node[i];
	uint32_t n_ref = 0, prev = LMI_KV_NO_NODE;

	for (uint32_t c = n->child; c != LMI_KV_NO_NODE; prev = c, c = t->node[c].next) {
		if (c >= t->n_node || t->node[c].parent != i || t->node[c].prev != prev ||
		    n_ref++ > t->n_node)
			return false;
		if (t->node[c].index != (n->n_tok ? n->index + 1 : 0))
			return false;
	}
	if (n->child != LMI_KV_NO_NODE && n->n_tok && n->n_tok < t->page_tokens)
		return false;
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		n_ref += n->page[g] != LMI_KV_NO_PAGE;
	*n_seq_ref += n->n_ref - n_ref;
	if (n->pin_until && !has_page(n))
		return false;
	return n->n_ref >= n_ref;
}

static bool check_index(const struct lmi_kv_prefix_tree *t)
{
	uint32_t n = 0, n_listed = 0;

	for (uint32_t i = 0; i < t->n_node; i++) {
		const struct lmi_kv_node *x = &t->node[i];
		uint64_t owner = lmi_kv_prefix_owner(t, &x->id);
		uint32_t at;

		if (!x->n_ref || !is_indexed(t, i))
			continue;
		n++;
		at = lmi_kv_page_index_first(&t->pages, owner,
					     lmi_kv_page_index_hash(&t->pages, tokens_of(t, i)));
		while (at != LMI_KV_NO_NODE && at != i)
			at = lmi_kv_page_index_next(&t->pages, at);
		if (at != i)
			return false;
	}
	for (uint32_t b = 0; t->pages.bucket && b <= t->pages.mask; b++)
		for (uint32_t i = t->pages.bucket[b]; i != LMI_KV_NO_NODE && n_listed <= n;
		     i = t->pages.next[i])
			n_listed++;
	return n_listed == n;
}

bool lmi_kv_prefix_tree_check(const struct lmi_kv_prefix_tree *t, uint64_t n_seq_ref)
{
	uint64_t sum = 0;
	uint32_t n_used = 0, n_free = 0, n_pinned = 0, prev = LMI_KV_NO_NODE;

	for (uint32_t i = t->n_node ? t->pinned : LMI_KV_NO_NODE; i != LMI_KV_NO_NODE;
	     prev = i, i = t->node[i].pin_next)
		if (n_pinned++ > t->n_node || !t->node[i].pin_until || t->node[i].pin_prev != prev)
			return false;
	for (uint32_t b = 0; b < t->n_bucket; b++)
		for (uint32_t i = t->bucket[b]; i != LMI_KV_NO_NODE; i = t->node[i].bucket_next) {
			if (n_used++ > t->n_node || !t->node[i].n_ref || !check_node(t, i, &sum))
				return false;
		}
	for (uint32_t i = t->free; i != LMI_KV_NO_NODE; i = t->node[i].next)
		if (n_free++ > t->n_node)
			return false;
	return n_used == t->n_used && n_pinned == t->n_pinned && n_used + n_free == t->n_node &&
	       sum == n_seq_ref && check_index(t);
}
