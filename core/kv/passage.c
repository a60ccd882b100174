/* SPDX-License-Identifier: MIT
 *
 * Passages. A rolling hash of its tokens finds the pages of the tree at every token of the new text
 * (page_index.h): an edit moves a text by any number of tokens, so that pages of the tree begin anywhere in a page
 * of it. The index is made when the first request asks for passages, and is kept from then on.
 *
 * In a text that repeats itself, each token may begin a page that many pages of the tree equal, and each of them a
 * long run. So a few equal pages are tried, and a look-up tries and follows no more pages than the text has tokens
 * twice. */
#include <assert.h>
#include <string.h>

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

bool lmi_kv_index_passages(struct lmi_kv *kv)
{
	return lmi_kv_has_passages(kv) && lmi_kv_prefix_index_pages(&kv->tree) == LMD_OK;
}

/* Pages of the tree with equal tokens that are tried. */
#define SAME_MAX 8u

/* ---- finding ---- */

/* A look-up. */
struct text {
	const struct lmi_kv *kv;
	const struct lmi_kv_identity *id;
	const lmd_token *tokens; /* [n] */
	uint32_t n;
	uint64_t n_left; /* pages that may still be tried or followed */
};

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

/* Follows a page of the tree that begins at token o of the text, as long as tokens and rows are there. Returns the
 * tokens that they have in common; sets *last. */
static uint32_t follow(struct text *t, uint32_t node, uint32_t o, uint32_t *last)
{
	uint32_t pt = t->kv->page_tokens, len = pt;

	*last = node;
	while (o + len + pt <= t->n && t->n_left) {
		t->n_left--;
		node = lmi_kv_prefix_child(&t->kv->tree, *last, t->tokens + o + len, pt);
		if (node == LMI_KV_NO_NODE || !is_usable(t->kv, node, t->id))
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
static uint32_t longest(struct text *t, uint32_t o, uint64_t h, uint64_t owner, uint32_t *first,
			uint32_t *last)
{
	const struct lmi_kv_page_index *x = &t->kv->tree.pages;
	uint32_t best = 0, n_same = 0, node = lmi_kv_page_index_first(x, owner, h);

	for (; node != LMI_KV_NO_NODE && n_same < SAME_MAX && t->n_left;
	     node = lmi_kv_page_index_next(x, node)) {
		uint32_t end, len;

		t->n_left--;
		if (!is_usable(t->kv, node, t->id) ||
		    memcmp(tokens_of(t->kv, node), t->tokens + o, x->page_tokens * sizeof(*t->tokens)) != 0)
			continue;
		n_same++;
		len = follow(t, node, o, &end);
		if (len <= best)
			continue;
		best = len;
		*first = node;
		*last = end;
	}
	return best;
}

bool lmi_kv_find_passage(const struct lmi_kv *kv, const struct lmi_kv_identity *id,
		       const lmd_token *tokens, uint32_t n, uint32_t from, uint32_t least,
		       struct lmi_kv_passage *out)
{
	const struct lmi_kv_page_index *x = &kv->tree.pages;
	struct text t = {.kv = kv, .id = id, .tokens = tokens, .n = n, .n_left = 2 * (uint64_t)n};
	uint32_t pt = kv->page_tokens, first, last, o;
	uint64_t owner, h;

	if (!x->bucket || n < pt || from > n - pt)
		return false;
	owner = lmi_kv_prefix_owner(&kv->tree, id);
	/* a run may begin in the page before, of which it has a part */
	o = from < pt ? 0 : from - pt + 1;
	h = lmi_kv_page_index_hash(x, tokens + o);
	for (; t.n_left; o++) {
		uint32_t len = longest(&t, o, h, owner, &first, &last);

		if (len && make_passage(kv, first, last, o, len, from, least, out))
			return true;
		if (o + pt >= n)
			return false;
		h = lmi_kv_page_index_roll(x, h, tokens[o], tokens[o + pt]);
	}
	return false;
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
