/* SPDX-License-Identifier: MIT
 *
 * Prefix caching: which prefix of a new sequence is in memory, and making the rows of sequences
 * findable. A page becomes findable when it is full, or when its sequence ends; only committed rows
 * do. A prefix of n tokens can be used if, for each group, what a row after it sees is there: the
 * pages of its window, or the state after exactly n tokens. */
#include <assert.h>

#include "core/kv/kv_impl.h"

/* How many children of a node are compared for a part of a page. */
#define MAX_CHILDREN 32u

/* Nodes of a model that has states but few pages, beyond one for each page. */
#define MAX_STATE_NODES 65536u

/* Do rows depend only on the tokens before them, one row for each token? */
static bool is_cacheable(const struct lmd_group *g)
{
	switch ((enum lmd_group_kind)g->kind) {
	case LMD_GROUP_PAGED:
		return g->causal && lmi_kv_ratio_of(g) == 1;
	case LMD_GROUP_STATE:
		return true;
	case LMD_GROUP_CROSS:
	case LMD_GROUP_BATCH:
		break;
	}
	return false;
}

static struct lmi_kv_page_pool *pool_of(struct lmi_kv_group *g)
{
	return g->slots.seq ? &g->slots.pool : &g->pages.pool;
}

enum lmd_status lmi_kv_prefix_init(struct lmi_kv *kv, const struct lmi_kv_opts *o)
{
	uint64_t n = 0, n_state = 0;
	bool on = o->cache_prefixes;
	enum lmd_status st;

	for (uint32_t i = 0; i < kv->n_group; i++) {
		struct lmi_kv_group *g = &kv->group[i];

		on &= is_cacheable(&g->desc);
		n += pool_of(g)->n_page;
		if (g->slots.seq)
			n_state += (uint64_t)pool_of(g)->n_page * (o->n_ctx / o->page_tokens + 1);
		kv->has_states |= g->slots.seq != NULL;
	}
	n += n_state < MAX_STATE_NODES ? n_state : MAX_STATE_NODES;
	n += o->n_seq; /* roots */
	if (!on || n > LMI_KV_PAGE_MAX)
		n = 0;
	st = lmi_kv_prefix_tree_init(&kv->tree, (uint32_t)n, o->page_tokens, o->hash_key);
	for (uint32_t i = 0; i < kv->n_group && st == LMD_OK; i++) {
		pool_of(&kv->group[i])->tree = &kv->tree;
		pool_of(&kv->group[i])->group = i;
	}
	return st;
}

/* ---- finding ---- */

/* The nodes from the root on that have been passed. */
struct walk {
	const struct lmi_kv *kv;
	uint32_t n;		     /* tokens */
	uint32_t run[LMD_MAX_GROUP]; /* pages in a row that the group has, up to the last one */
};

uint32_t lmi_kv_first_needed(const struct lmi_kv *kv, const struct lmd_group *g, uint32_t n)
{
	uint32_t lo = (uint32_t)lmi_kv_span(g, n, (int64_t)n + 1).lo;

	/* even if nothing is visible, the sequence continues a page that it has begun */
	return lo == n && n % kv->page_tokens ? n - 1 : lo;
}

/* Can a sequence start after n tokens, of which the last are those of `last`? w: before it. */
static bool can_start(const struct walk *w, const struct lmi_kv_node *last, uint32_t n)
{
	const struct lmi_kv *kv = w->kv;

	for (uint32_t g = 0; g < kv->n_group; g++) {
		const struct lmd_group *d = &kv->group[g].desc;
		bool has = last->page[g] != LMI_KV_NO_PAGE;
		uint32_t lo;

		if (d->kind == LMD_GROUP_STATE && (!has || w->n + last->n_tok != n))
			return false;
		if (d->kind != LMD_GROUP_PAGED)
			continue;
		lo = lmi_kv_first_needed(kv, d, n);
		/* pages from that of row lo to that of the last token */
		if (lo < n && (!has || w->run[g] < w->n / kv->page_tokens - lo / kv->page_tokens))
			return false;
	}
	return true;
}

static void pass(struct walk *w, const struct lmi_kv_node *node)
{
	for (uint32_t g = 0; g < w->kv->n_group; g++)
		w->run[g] = node->page[g] == LMI_KV_NO_PAGE ? 0 : w->run[g] + 1;
	w->n += node->n_tok;
}

/* Finds the child of a node with which the prefix is longest if it ends within it. */
static void find_tail(const struct walk *w, uint32_t parent, const lmd_token *tokens, uint32_t n,
		      struct lmi_kv_prefix *out)
{
	const struct lmi_kv_prefix_tree *t = &w->kv->tree;
	uint32_t c = t->node[parent].child;

	for (uint32_t k = 0; c != LMI_KV_NO_NODE && k < MAX_CHILDREN; c = t->node[c].next, k++) {
		uint32_t common = lmi_kv_prefix_common(t, c, tokens, n);

		if (w->n + common > out->n_match)
			out->n_match = w->n + common;
		if (common && w->n + common > out->n &&
		    can_start(w, &t->node[c], w->n + common)) {
			out->n = w->n + common;
			out->node = parent;
			out->tail = c;
		}
	}
}

void lmi_kv_find_prefix(const struct lmi_kv *kv, const struct lmi_kv_identity *id,
			const lmd_token *tokens, uint32_t n, struct lmi_kv_prefix *out)
{
	struct walk w = {.kv = kv};
	uint32_t node = lmi_kv_prefix_root(&kv->tree, id), pt = kv->page_tokens;

	*out = (struct lmi_kv_prefix){.id = *id, .node = node, .tail = LMI_KV_NO_NODE};
	while (node != LMI_KV_NO_NODE) {
		uint32_t next = LMI_KV_NO_NODE;

		find_tail(&w, node, tokens + w.n, n - w.n, out);
		if (n - w.n >= pt)
			next = lmi_kv_prefix_child(&kv->tree, node, tokens + w.n, pt);
		if (next == LMI_KV_NO_NODE)
			return;
		out->n_match = w.n + pt > out->n_match ? w.n + pt : out->n_match;
		if (can_start(&w, &kv->tree.node[next], w.n + pt)) {
			out->n = w.n + pt;
			out->node = next;
			out->tail = LMI_KV_NO_NODE;
		}
		pass(&w, &kv->tree.node[next]);
		node = next;
	}
}

/* ---- starting with a prefix ---- */

/* Returns the number of whole pages of a prefix that other sequences use in a group. */
static uint32_t n_in_use(const struct lmi_kv *kv, const struct lmi_kv_prefix *p, uint32_t g)
{
	const struct lmi_kv_page_pool *pool = &kv->group[g].pages.pool;
	uint32_t n = 0;

	for (uint32_t i = p->n ? p->node : LMI_KV_NO_NODE; i != LMI_KV_NO_NODE;
	     i = kv->tree.node[i].parent) {
		uint32_t page = kv->tree.node[i].page[g];

		n += page != LMI_KV_NO_PAGE && lmi_kv_page_refs(pool, page);
	}
	return n;
}

bool lmi_kv_fits_after(const struct lmi_kv *kv, const struct lmi_kv_prefix *p, uint32_t n,
		       uint32_t n_step)
{
	if (n > kv->n_ctx)
		return false;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		const struct lmi_kv_group *g = &kv->group[i];
		uint32_t need, shared = 0;

		if (g->desc.kind == LMD_GROUP_STATE && !g->slots.pool.n_free)
			return false;
		if (!lmi_kv_is_paged(&g->desc))
			continue;
		need = lmi_kv_pages_for(&g->desc, kv->page_tokens, n, n_step);
		if (!g->desc.window && !g->desc.chunk)
			shared = n_in_use(kv, p, i);
		if (need > shared && need - shared > g->pages.pool.n_free)
			return false;
	}
	return true;
}

/* Puts the pages that a row after the prefix sees into the page table of a sequence. */
static void take_pages(struct lmi_kv *kv, uint32_t seq, uint32_t g, const struct lmi_kv_prefix *p)
{
	uint32_t lo = lmi_kv_first_needed(kv, &kv->group[g].desc, p->n);
	uint32_t i = p->tail != LMI_KV_NO_NODE ? p->tail : p->node;

	for (; lo < p->n; i = kv->tree.node[i].parent) {
		const struct lmi_kv_node *n = &kv->tree.node[i];

		lmi_kv_page_table_put_in_front(&kv->group[g].pages, seq, n->index, n->page[g]);
		if (n->index <= lo / kv->page_tokens)
			return;
	}
	/* nothing is visible: the table begins after the prefix */
	kv->group[g].pages.span[seq] = (struct lmi_kv_page_span){
		.first = p->n / kv->page_tokens, .end = p->n / kv->page_tokens};
}

uint32_t lmi_kv_open_prefix(struct lmi_kv *kv, const struct lmi_kv_prefix *p)
{
	uint32_t to = lmi_kv_open(kv), root;
	struct lmi_kv_seq *s;

	if (to == LMI_KV_NO_PAGE)
		return to;
	s = lmi_kv_seq_of(kv, to);
	for (uint32_t g = 0; g < kv->n_group && p->n; g++) {
		uint32_t last = p->tail != LMI_KV_NO_NODE ? p->tail : p->node;

		if (lmi_kv_is_paged(&kv->group[g].desc))
			take_pages(kv, to, g, p);
		else if (kv->group[g].desc.kind == LMD_GROUP_STATE)
			lmi_kv_slots_fork(&kv->group[g].slots, kv->tree.node[last].page[g], to);
	}
	s->len = p->n;
	s->node = p->node;
	if (!p->n) {
		root = lmi_kv_prefix_root(&kv->tree, &p->id);
		s->node = root != LMI_KV_NO_NODE ? root
						 : lmi_kv_prefix_add_root(&kv->tree, &p->id);
	}
	if (s->node == LMI_KV_NO_NODE)
		return to;
	lmi_kv_prefix_ref(&kv->tree, s->node);
	if (kv->tree.node[s->node].n_tok)
		s->n_named = (kv->tree.node[s->node].index + 1) * kv->page_tokens;
	return to;
}

/* ---- remembering ---- */

/* Makes the page findable that a sequence has of a node, unless another page already is. */
static void name_pages(struct lmi_kv *kv, uint32_t seq, uint32_t node)
{
	for (uint32_t g = 0; g < kv->n_group; g++) {
		struct lmi_kv_page_table *t = &kv->group[g].pages;
		uint32_t page, old;

		if (!lmi_kv_is_paged(&kv->group[g].desc) ||
		    kv->tree.node[node].page[g] != LMI_KV_NO_PAGE)
			continue;
		page = lmi_kv_page_table_page(t, seq, kv->tree.node[node].index);
		if (page == LMI_KV_NO_PAGE)
			continue;
		old = lmi_kv_page_node(&t->pool, page);
		if (old == LMI_KV_NO_NODE ||
		    kv->tree.node[old].n_tok < kv->tree.node[node].n_tok)
			lmi_kv_page_set_node(&t->pool, page, node);
	}
}

/* Makes the states after a node's last token findable: those of a mark, or the current ones. */
static void name_states(struct lmi_kv *kv, uint32_t seq, uint32_t node, uint32_t mark)
{
	const struct lmi_kv_seq *s = &kv->seq[seq];

	for (uint32_t g = 0; g < kv->n_group; g++) {
		struct lmi_kv_slots *t = &kv->group[g].slots;
		uint32_t slot;

		if (!t->seq || kv->tree.node[node].page[g] != LMI_KV_NO_PAGE)
			continue;
		slot = mark < s->n_mark ? t->seq[seq].mark[mark] : t->seq[seq].cur;
		if (lmi_kv_page_node(&t->pool, slot) == LMI_KV_NO_NODE)
			lmi_kv_page_set_node(&t->pool, slot, node);
	}
}

uint32_t lmi_kv_get_child(struct lmi_kv *kv, uint32_t parent, const lmd_token *tokens, uint32_t n)
{
	uint32_t c = lmi_kv_prefix_child(&kv->tree, parent, tokens, n);

	return c != LMI_KV_NO_NODE ? c : lmi_kv_prefix_add_child(&kv->tree, parent, tokens, n);
}

/* Makes a node findable in all groups; `at`: tokens up to its end; ends: the sequence ends there. */
static void name(struct lmi_kv *kv, uint32_t seq, uint32_t node, uint32_t at, bool ends)
{
	const struct lmi_kv_seq *s = &kv->seq[seq];
	uint32_t mark = kv->has_states ? lmi_kv_mark_at(s, at) : 0;

	name_pages(kv, seq, node);
	ends |= at % LMI_KV_STATE_TOKENS == 0;
	/* a pending step may overwrite the current state */
	if (kv->has_states && (mark < s->n_mark || (ends && at == s->len && !s->n_step)))
		name_states(kv, seq, node, mark);
}

/* Is there another node with a page of each group that begins with these tokens? */
static bool is_known(const struct lmi_kv *kv, uint32_t parent, const lmd_token *tokens, uint32_t n)
{
	uint32_t c = kv->tree.node[parent].child;

	for (uint32_t k = 0; c != LMI_KV_NO_NODE && k < MAX_CHILDREN; k++) {
		bool all = lmi_kv_prefix_common(&kv->tree, c, tokens, n) == n;

		for (uint32_t g = 0; g < kv->n_group; g++)
			all &= kv->tree.node[c].page[g] != LMI_KV_NO_PAGE;
		if (all)
			return true;
		c = kv->tree.node[c].next;
	}
	return false;
}

static void remember_tail(struct lmi_kv *kv, uint32_t seq, const lmd_token *tokens)
{
	const struct lmi_kv_seq *s = &kv->seq[seq];
	uint32_t n = s->len - s->n_named, node;

	tokens += s->n_named;
	if (!n || (!kv->has_states && is_known(kv, s->node, tokens, n)))
		return;
	node = lmi_kv_get_child(kv, s->node, tokens, n);
	if (node == LMI_KV_NO_NODE)
		return;
	lmi_kv_prefix_ref(&kv->tree, node); /* it may get neither a page nor a state */
	name(kv, seq, node, s->len, true);
	lmi_kv_prefix_unref(&kv->tree, node);
}

void lmi_kv_remember_first(struct lmi_kv *kv, uint32_t seq, const lmd_token *tokens, uint32_t n)
{
	struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);
	uint32_t pt = kv->page_tokens;

	n = n < s->len ? n : s->len;
	if (s->node == LMI_KV_NO_NODE)
		return;
	while (n >= pt && n - pt >= s->n_named) {
		uint32_t node = lmi_kv_get_child(kv, s->node, tokens + s->n_named, pt);

		if (node == LMI_KV_NO_NODE)
			return; /* tried again later */
		lmi_kv_prefix_ref(&kv->tree, node);
		lmi_kv_prefix_unref(&kv->tree, s->node);
		s->node = node;
		s->n_named += pt;
		name(kv, seq, node, s->n_named, false);
	}
}

void lmi_kv_remember(struct lmi_kv *kv, uint32_t seq, const lmd_token *tokens, bool ends)
{
	const struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);

	if (s->node == LMI_KV_NO_NODE)
		return;
	lmi_kv_remember_first(kv, seq, tokens, s->len);
	if (s->len - s->n_named >= kv->page_tokens)
		return; /* tried again later */
	if (ends && s->len > s->n_named)
		remember_tail(kv, seq, tokens);
	else if (ends && s->n_named)
		name(kv, seq, s->node, s->n_named, true);
}

/* ---- changes of sequences ---- */

void lmi_kv_prefix_leave(struct lmi_kv *kv, uint32_t seq)
{
	struct lmi_kv_seq *s = &kv->seq[seq];

	if (s->node != LMI_KV_NO_NODE)
		lmi_kv_prefix_unref(&kv->tree, s->node);
	s->node = LMI_KV_NO_NODE;
}

void lmi_kv_prefix_truncate(struct lmi_kv *kv, uint32_t seq, uint32_t at)
{
	struct lmi_kv_seq *s = &kv->seq[seq];

	while (s->n_named > at) {
		uint32_t node = s->node;

		s->node = kv->tree.node[node].parent;
		s->n_named -= kv->page_tokens;
		lmi_kv_prefix_ref(&kv->tree, s->node);
		lmi_kv_prefix_unref(&kv->tree, node);
	}
}

void lmi_kv_prefix_fork(struct lmi_kv *kv, uint32_t from, uint32_t to, uint32_t at)
{
	kv->seq[to].node = kv->seq[from].node;
	kv->seq[to].n_named = kv->seq[from].n_named;
	if (kv->seq[to].node == LMI_KV_NO_NODE)
		return;
	lmi_kv_prefix_ref(&kv->tree, kv->seq[to].node);
	lmi_kv_prefix_truncate(kv, to, at);
}

bool lmi_kv_has_mark(const struct lmi_kv *kv, uint32_t seq, uint32_t at)
{
	const struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);

	return lmi_kv_mark_at(s, at) < s->n_mark;
}

uint32_t lmi_kv_n_spare_states(const struct lmi_kv *kv)
{
	uint32_t n = UINT32_MAX;

	for (uint32_t i = 0; i < kv->n_group; i++) {
		const struct lmi_kv_page_pool *p = &kv->group[i].slots.pool;

		if (kv->group[i].slots.seq && p->n_free - p->n_cached < n)
			n = p->n_free - p->n_cached;
	}
	return n;
}
