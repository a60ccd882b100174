/* SPDX-License-Identifier: MIT */
#include "common/trie.h"

#include <string.h>

#include "common/mem.h"

static bool grow_nodes(struct tok_trie *t, const struct lmd_host *host, size_t cap)
{
	struct tok_trie_node *node;

	if (cap >= 1u << 30)
		return false;
	node = tok_host_array(host, cap, sizeof(*node));
	if (!node)
		return false;
	if (t->n)
		memcpy(node, t->node, t->n * sizeof(*node));
	tok_host_free(host, t->node);
	t->node = node;
	t->cap = (uint32_t)cap;
	return true;
}

static void insert_slot(struct tok_trie *t, uint32_t child)
{
	const struct tok_trie_node *c = &t->node[child];
	uint32_t i = (uint32_t)tok_mix((uint64_t)c->parent << 8 | c->byte, t->mul) & t->mask;

	while (t->slot[i])
		i = (i + 1) & t->mask;
	t->slot[i] = child;
}

static bool grow_slots(struct tok_trie *t, const struct lmd_host *host, size_t n)
{
	size_t size = 64;
	uint32_t *slot;

	while (size / 2 < n)
		size *= 2;
	slot = tok_host_array(host, size, sizeof(*slot));
	if (!slot)
		return false;
	tok_host_free(host, t->slot);
	t->slot = slot;
	t->mask = (uint32_t)(size - 1);
	for (uint32_t c = 1; c < t->n; c++)
		if (t->node[c].parent != TOK_TRIE_ROOT)
			insert_slot(t, c);
	return true;
}

bool tok_trie_init(struct tok_trie *t, const struct lmd_host *host, size_t bytes)
{
	uint64_t now = host->now_ns ? host->now_ns(host->ctx) : 0;

	memset(t, 0, sizeof(*t));
	bytes = bytes < 1u << 24 ? bytes : 1u << 24;
	t->mul = tok_mix(now ^ 0x589965cc75374cc3ull, (uint64_t)(uintptr_t)t | 1) | 1;
	if (!grow_nodes(t, host, bytes + 16) || !grow_slots(t, host, bytes + 16)) {
		tok_trie_fini(t, host);
		return false;
	}
	t->node[0].value = TOK_NONE;
	t->n = 1;
	return true;
}

void tok_trie_fini(struct tok_trie *t, const struct lmd_host *host)
{
	tok_host_free(host, t->node);
	tok_host_free(host, t->slot);
	t->node = NULL;
	t->slot = NULL;
}

static uint32_t add_child(struct tok_trie *t, const struct lmd_host *host, uint32_t parent,
			  unsigned char byte)
{
	uint32_t c = t->n;

	if (c == t->cap && !grow_nodes(t, host, (size_t)t->cap * 2))
		return TOK_NONE;
	if (c >= (t->mask + 1) / 2 && !grow_slots(t, host, (size_t)c * 2))
		return TOK_NONE;
	t->node[c] = (struct tok_trie_node){parent, TOK_NONE, byte};
	t->n++;
	if (parent == TOK_TRIE_ROOT)
		t->first[byte] = c;
	else
		insert_slot(t, c);
	return c;
}

bool tok_trie_add(struct tok_trie *t, const struct lmd_host *host, const char *s, size_t n,
		  uint32_t value)
{
	uint32_t node = TOK_TRIE_ROOT;

	if (!n || n > TOK_TRIE_DEPTH)
		return true;
	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)s[i];
		uint32_t c = tok_trie_next(t, node, byte);

		if (c == TOK_NONE)
			c = add_child(t, host, node, byte);
		if (c == TOK_NONE)
			return false;
		node = c;
	}
	t->node[node].value = value;
	return true;
}

size_t tok_trie_longest_from(const struct tok_trie *t, uint32_t node, const char *s, size_t n,
			     uint32_t *value)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		node = tok_trie_next(t, node, (unsigned char)s[i]);
		if (node == TOK_NONE)
			break;
		if (t->node[node].value != TOK_NONE) {
			len = i + 1;
			*value = t->node[node].value;
		}
	}
	return len;
}
