/* SPDX-License-Identifier: MIT
 *
 * Passages. The pages of a tenant in the tree get a table by a rolling hash of their tokens, which is then looked up
 * at every token of the new text: an edit moves a text by any number of tokens, so that pages of the tree
 * begin anywhere in a page of it. The table is made for each look-up; requests that do not ask for passages
 * cost nothing.
 *
 * In a text that repeats itself, each token may begin a page that many pages of the tree equal, and each of them a
 * long run. So a few equal pages are tried, and a look-up follows no more pages than the text has tokens. */
#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/kv/kv_impl.h"

bool lmi_kv_has_passages(const struct lmi_kv *kv)
{
	for (uint32_t g = 0; g < kv->n_group; g++) {
		const struct lmd_group *d = &kv->group[g].desc;

		if (d->kind != LMD_GROUP_PAGED || d->window || d->chunk)
			return false;
	}
	return kv->n_group && kv->tree.n_node; /* with a tree, groups are causal and have a row a token */
}

/* Pages of the tree with equal tokens that are in the table; others are not tried. */
#define SAME_MAX 8u

/* ---- the table ---- */

struct table {
	uint32_t *node; /* [mask + 1] LMI_KV_NO_NODE: free */
	uint64_t *hash; /* [mask + 1] */
	uint32_t mask;
	uint64_t base, high; /* of the rolling hash: base, and its power for the token that leaves */
	uint32_t n_left; /* pages that may still be followed */
};

static uint64_t roll_in(const struct table *t, uint64_t h, lmd_token token)
{
	return h * t->base + (uint32_t)token + 1;
}

static uint64_t hash_of(const struct table *t, const lmd_token *v, uint32_t n)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < n; i++)
		h = roll_in(t, h, v[i]);
	return h;
}

static const lmd_token *tokens_of(const struct lmi_kv *kv, uint32_t node)
{
	return kv->tree.token + (size_t)node * kv->page_tokens;
}

/* Is it a whole page of this identity with all rows in memory? */
static bool is_usable(const struct lmi_kv *kv, uint32_t node, const struct lmi_kv_identity *id)
{
	const struct lmi_kv_node *x = &kv->tree.node[node];
	bool has = x->n_ref && x->n_tok == kv->page_tokens && x->id.tenant == id->tenant &&
		   x->id.adapter == id->adapter;

	for (uint32_t g = 0; g < kv->n_group && has; g++)
		has = x->page[g] != LMI_KV_NO_PAGE;
	return has;
}

static uint32_t slot_of(const struct table *t, uint64_t h)
{
	return (uint32_t)((h ^ h >> 29) * 0x9e3779b97f4a7c15ull >> 32) & t->mask;
}

static bool table_init(struct table *t, const struct lmi_kv *kv, const struct lmi_kv_identity *id)
{
	uint32_t n = 0, room = 16;

	*t = (struct table){.base = kv->tree.key[0] | 1, .high = 1};
	for (uint32_t i = 1; i < kv->page_tokens; i++)
		t->high *= t->base;
	for (uint32_t i = 0; i < kv->tree.n_node; i++)
		n += is_usable(kv, i, id);
	while (room < 2 * n)
		room *= 2;
	t->mask = room - 1;
	t->node = n ? lmi_alloc(room, sizeof(*t->node)) : NULL;
	t->hash = n ? lmi_alloc(room, sizeof(*t->hash)) : NULL;
	if (!t->node || !t->hash)
		return false;
	memset(t->node, 0xff, room * sizeof(*t->node));
	for (uint32_t i = 0; i < kv->tree.n_node; i++) {
		uint32_t s, n_same = 0;
		uint64_t h;

		if (!is_usable(kv, i, id))
			continue;
		h = hash_of(t, tokens_of(kv, i), kv->page_tokens);
		for (s = slot_of(t, h); t->node[s] != LMI_KV_NO_NODE && n_same < SAME_MAX;
		     s = (s + 1) & t->mask)
			n_same += t->hash[s] == h;
		if (n_same == SAME_MAX)
			continue;
		t->node[s] = i;
		t->hash[s] = h;
	}
	return true;
}

static void table_fini(struct table *t)
{
	lmi_free(t->node);
	lmi_free(t->hash);
}

/* ---- finding ---- */

/* Follows a page of the tree that begins at token o of the text, as long as tokens and rows are there. Returns the
 * tokens that they have in common; sets *last. */
static uint32_t follow(const struct lmi_kv *kv, struct table *t, const struct lmi_kv_identity *id,
		       uint32_t node, const lmd_token *tokens, uint32_t n, uint32_t o, uint32_t *last)
{
	uint32_t pt = kv->page_tokens, len = pt;

	*last = node;
	while (o + len + pt <= n && t->n_left) {
		t->n_left--;
		node = lmi_kv_prefix_child(&kv->tree, *last, tokens + o + len, pt);
		if (node == LMI_KV_NO_NODE || !is_usable(kv, node, id))
			break;
		*last = node;
		len += pt;
	}
	return len;
}

static uint32_t node_at(const struct lmi_kv *kv, uint32_t node, uint32_t index)
{
	while (kv->tree.node[node].index > index)
		node = kv->tree.node[node].parent;
	assert(kv->tree.node[node].n_tok && kv->tree.node[node].index == index);
	return node;
}

/* Makes the whole pages of the text that lie in a run of `len` tokens from token o on, and not before token
 * `from`, a passage. */
static bool make_passage(const struct lmi_kv *kv, uint32_t first, uint32_t last, uint32_t o,
			 uint32_t len, uint32_t from, uint32_t least, struct lmi_kv_passage *out)
{
	uint32_t pt = kv->page_tokens, at = ((o > from ? o : from) + pt - 1) / pt * pt;
	uint32_t end = (o + len) / pt * pt;

	if (end <= at || end - at < least)
		return false;
	*out = (struct lmi_kv_passage){.at = at,
				     .n = end - at,
				     .from = kv->tree.node[first].index * pt + (at - o)};
	out->node = node_at(kv, last, (out->from + out->n - 1) / pt);
	return true;
}

/* Returns the longest run of the pages with this hash at token o, and its first and last node; 0: none. */
static uint32_t longest(const struct lmi_kv *kv, struct table *t,
			const struct lmi_kv_identity *id, const lmd_token *tokens, uint32_t n,
			uint32_t o, uint64_t h, uint32_t *first, uint32_t *last)
{
	uint32_t best = 0;

	for (uint32_t s = slot_of(t, h); t->node[s] != LMI_KV_NO_NODE; s = (s + 1) & t->mask) {
		uint32_t end, len;

		if (t->hash[s] != h || memcmp(tokens_of(kv, t->node[s]), tokens + o,
					      kv->page_tokens * sizeof(*tokens)) != 0)
			continue;
		len = follow(kv, t, id, t->node[s], tokens, n, o, &end);
		if (len <= best)
			continue;
		best = len;
		*first = t->node[s];
		*last = end;
	}
	return best;
}

bool lmi_kv_find_passage(const struct lmi_kv *kv, const struct lmi_kv_identity *id,
		       const lmd_token *tokens, uint32_t n, uint32_t from, uint32_t least,
		       struct lmi_kv_passage *out)
{
	uint32_t pt = kv->page_tokens, first, last;
	bool found = false;
	struct table t;
	uint64_t h;

	if (!lmi_kv_has_passages(kv) || n < pt || from > n - pt)
		return false;
	if (table_init(&t, kv, id)) {
		/* a run may begin in the page before, of which it has a part */
		uint32_t o = from < pt ? 0 : from - pt + 1;

		t.n_left = n;
		for (h = hash_of(&t, tokens + o, pt); !found && t.n_left; o++) {
			uint32_t len = longest(kv, &t, id, tokens, n, o, h, &first, &last);

			found = len && make_passage(kv, first, last, o, len, from, least, out);
			if (o + pt >= n)
				break;
			h = roll_in(&t, h - ((uint32_t)tokens[o] + 1) * t.high, tokens[o + pt]);
		}
	}
	table_fini(&t);
	return found;
}

/* ---- using ---- */

uint32_t lmi_kv_passage_page(const struct lmi_kv *kv, const struct lmi_kv_passage *c, uint32_t g,
			   uint32_t pos)
{
	return kv->tree.node[node_at(kv, c->node, pos / kv->page_tokens)].page[g];
}

static void each_page(struct lmi_kv *kv, const struct lmi_kv_passage *c,
		      void (*fn)(struct lmi_kv_page_pool *p, uint32_t page))
{
	uint32_t pt = kv->page_tokens, i = (c->from + c->n - 1) / pt, node = node_at(kv, c->node, i);

	for (;; i--, node = kv->tree.node[node].parent) {
		for (uint32_t g = 0; g < kv->n_group; g++)
			fn(&kv->group[g].pages.pool, kv->tree.node[node].page[g]);
		if (i == c->from / pt)
			return;
	}
}

void lmi_kv_hold_passage(struct lmi_kv *kv, const struct lmi_kv_passage *c)
{
	each_page(kv, c, lmi_kv_page_ref);
}

void lmi_kv_let_go_passage(struct lmi_kv *kv, const struct lmi_kv_passage *c)
{
	each_page(kv, c, lmi_kv_page_release);
}
