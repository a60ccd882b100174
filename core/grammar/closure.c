/* SPDX-License-Identifier: MIT
 *
 * Closure of a set of items before the next character: follows empty edges, calls rules, and
 * returns from completed rules.
 *
 * A rule that is called here gets one new frame for all its callers, so the work is bounded by
 * states times frames, however many paths there are. While the closure grows, new frames have no
 * content yet and are named by their rule. When nothing is left to follow, they get their content
 * in order of rank: the callers of a rule get theirs first, because no rule calls itself before it
 * has consumed something.
 *
 * A rule that ends where it started is not returned from: its callers have already gone on,
 * because it is nullable. A call at the end of a rule is a tail call: it returns to where that
 * rule returns to, and no frame is made for it. This keeps right-recursive lists from growing the
 * stack. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/match.h"

#define NEW     0x80000000u      /* frame of a rule that is called in this closure */
#define TAIL    UINT32_MAX       /* state of a tail-call return: wherever the frame returns to */
/* Maximum number of items in one closure; more means that the ambiguity explodes. */
#define ITEMS_MAX 200000

struct ret {
	uint32_t state, frame; /* state TAIL: all returns of that frame */
	uint32_t next;         /* + 1 */
};

struct lmi_gr_closure {
	const struct lmi_grammar *g;
	struct lmi_gr_parser_item *todo, *leaf, *content;
	uint32_t n_todo, cap_todo, n_leaf, cap_leaf, n_content, cap_content;
	struct lmi_gr_parser_item *seen; /* [n_slots] open addressing, cleared through its list */
	uint32_t *seen_at, n_seen, cap_seen, n_slots;
	struct ret *ret;
	uint32_t n_ret, cap_ret;
	uint32_t *first_ret; /* [n_rules] + 1 */
	uint32_t *called;    /* [n_rules] rules that have a new frame */
	uint32_t n_called;
	uint32_t *frame_of; /* [n_rules] number of the new frame once it has content */
	bool *is_called;    /* [n_rules] */
	bool may_end, failed;
	uint64_t *budget; /* items that may still be added, or NULL */
};

struct lmi_gr_closure *lmi_gr_closure_create(const struct lmi_grammar *g)
{
	struct lmi_gr_closure *c = lmi_alloc(1, sizeof(*c));
	size_t n = g->n_rules ? g->n_rules : 1;

	if (!c)
		return NULL;
	c->g = g;
	c->n_slots = 256;
	c->seen = lmi_alloc(c->n_slots, sizeof(*c->seen));
	c->first_ret = lmi_alloc(n, sizeof(*c->first_ret));
	c->called = lmi_alloc(n, sizeof(*c->called));
	c->frame_of = lmi_alloc(n, sizeof(*c->frame_of));
	c->is_called = lmi_alloc(n, sizeof(*c->is_called));
	if (c->seen && c->first_ret && c->called && c->frame_of && c->is_called)
		return c;
	lmi_gr_closure_destroy(c);
	return NULL;
}

void lmi_gr_closure_destroy(struct lmi_gr_closure *c)
{
	if (!c)
		return;
	lmi_free(c->todo);
	lmi_free(c->leaf);
	lmi_free(c->content);
	lmi_free(c->seen);
	lmi_free(c->seen_at);
	lmi_free(c->ret);
	lmi_free(c->first_ret);
	lmi_free(c->called);
	lmi_free(c->frame_of);
	lmi_free(c->is_called);
	lmi_free(c);
}

static bool grow(struct lmi_gr_closure *c, void **p, uint32_t *cap, uint32_t n, size_t item)
{
	uint32_t want = *cap ? 2 * *cap : 64;
	void *q;

	if (n < *cap)
		return true;
	q = lmi_realloc(*p, want, item);
	if (!q) {
		c->failed = true;
		return false;
	}
	*p = q;
	*cap = want;
	return true;
}

void lmi_gr_closure_set_budget(struct lmi_gr_closure *c, uint64_t *budget)
{
	c->budget = budget;
}

void lmi_gr_closure_begin(struct lmi_gr_closure *c)
{
	for (uint32_t i = 0; i < c->n_seen; i++)
		c->seen[c->seen_at[i]] = (struct lmi_gr_parser_item){0, 0};
	for (uint32_t i = 0; i < c->n_called; i++) {
		c->is_called[c->called[i]] = false;
		c->first_ret[c->called[i]] = 0;
	}
	c->n_seen = c->n_todo = c->n_leaf = c->n_ret = c->n_called = 0;
	c->may_end = c->failed = false;
}

static uint32_t hash_item(uint32_t state, uint32_t frame)
{
	uint64_t x = ((uint64_t)state << 32 | frame) * 0x9E3779B97F4A7C15ull;

	return (uint32_t)(x >> 32);
}

/* The table stores state + 1, so that 0 marks a free slot. */
static uint32_t find_slot(const struct lmi_gr_closure *c, uint32_t state, uint32_t frame)
{
	uint32_t i = hash_item(state, frame) & (c->n_slots - 1);

	while (c->seen[i].state && (c->seen[i].state != state + 1 || c->seen[i].frame != frame))
		i = (i + 1) & (c->n_slots - 1);
	return i;
}

static bool more_slots(struct lmi_gr_closure *c)
{
	struct lmi_gr_parser_item *old = c->seen;
	uint32_t n = c->n_slots;

	c->seen = lmi_alloc(2 * (size_t)n, sizeof(*c->seen));
	if (!c->seen) {
		c->seen = old;
		c->failed = true;
		return false;
	}
	c->n_slots = 2 * n;
	for (uint32_t i = 0; i < c->n_seen; i++) {
		struct lmi_gr_parser_item it = old[c->seen_at[i]];
		uint32_t at = find_slot(c, it.state - 1, it.frame);

		c->seen[at] = it;
		c->seen_at[i] = at;
	}
	lmi_free(old);
	return true;
}

bool lmi_gr_closure_add(struct lmi_gr_closure *c, uint32_t state, uint32_t frame)
{
	uint32_t at;

	if (state == LMI_GR_NFA_FINAL_STATE) {
		c->may_end = true;
		return true;
	}
	at = find_slot(c, state, frame);
	if (c->failed || c->seen[at].state)
		return !c->failed;
	if (c->n_seen >= ITEMS_MAX || (c->budget && !*c->budget))
		c->failed = true;
	if (c->failed ||
	    !grow(c, (void **)&c->seen_at, &c->cap_seen, c->n_seen, sizeof(uint32_t)) ||
	    !grow(c, (void **)&c->todo, &c->cap_todo, c->n_todo, sizeof(*c->todo)))
		return false;
	c->seen[at] = (struct lmi_gr_parser_item){state + 1, frame};
	c->seen_at[c->n_seen++] = at;
	if (c->budget)
		--*c->budget;
	c->todo[c->n_todo++] = (struct lmi_gr_parser_item){state, frame};
	return 2 * c->n_seen < c->n_slots || more_slots(c);
}

static void call(struct lmi_gr_closure *c, const struct lmi_gr_nfa_edge *e, uint32_t frame)
{
	bool last = c->g->state[e->to].only_accept;

	if (!grow(c, (void **)&c->ret, &c->cap_ret, c->n_ret, sizeof(*c->ret)))
		return;
	c->ret[c->n_ret] = (struct ret){
		.state = last ? TAIL : e->to, .frame = frame, .next = c->first_ret[e->arg]};
	c->first_ret[e->arg] = ++c->n_ret;
	if (!c->is_called[e->arg]) {
		c->is_called[e->arg] = true;
		c->called[c->n_called++] = e->arg;
		/* c keeps a failure */
		(void)lmi_gr_closure_add(c, c->g->rule[e->arg].start, NEW | e->arg);
	}
	if (c->g->rule[e->arg].nullable)
		(void)lmi_gr_closure_add(c, e->to, frame); /* c keeps a failure */
}

static void follow(struct lmi_grammar_matcher *m, struct lmi_gr_closure *c,
		   struct lmi_gr_parser_item it)
{
	const struct lmi_gr_nfa_state *s = &c->g->state[it.state];

	if (s->consumes) {
		if (!grow(c, (void **)&c->leaf, &c->cap_leaf, c->n_leaf, sizeof(*c->leaf)))
			return;
		c->leaf[c->n_leaf++] = it;
	}
	for (uint32_t i = s->edge; i < s->edge + s->n_edges && !c->failed; i++) {
		const struct lmi_gr_nfa_edge *e = &c->g->edge[i];

		if (e->kind == LMI_GR_EDGE_EMPTY)
			(void)lmi_gr_closure_add(c, e->to, it.frame); /* c keeps a failure */
		else if (e->kind == LMI_GR_EDGE_RULE)
			call(c, e, it.frame);
	}
	if (!s->accept || it.frame & NEW)
		return;
	for (uint32_t i = 0; i < m->frame[it.frame].n && !c->failed; i++) {
		struct lmi_gr_parser_item back = m->item[m->frame[it.frame].item + i];

		(void)lmi_gr_closure_add(c, back.state, back.frame); /* c keeps a failure */
	}
}

static uint32_t numbered(const struct lmi_gr_closure *c, uint32_t frame)
{
	return frame & NEW ? c->frame_of[frame & ~NEW] : frame;
}

static bool add_content(struct lmi_gr_closure *c, uint32_t state, uint32_t frame)
{
	if (c->n_content >= ITEMS_MAX)
		c->failed = true;
	if (c->failed ||
	    !grow(c, (void **)&c->content, &c->cap_content, c->n_content, sizeof(*c->content)))
		return false;
	c->content[c->n_content++] = (struct lmi_gr_parser_item){state, frame};
	return true;
}

/* Fills in the frame of a rule once its callers' frames have numbers. */
static bool fill_frame(struct lmi_grammar_matcher *m, struct lmi_gr_closure *c, uint32_t rule)
{
	c->n_content = 0;
	for (uint32_t i = c->first_ret[rule]; i; i = c->ret[i - 1].next) {
		const struct ret *r = &c->ret[i - 1];
		uint32_t frame = numbered(c, r->frame);

		if (r->state != TAIL) {
			if (!add_content(c, r->state, frame))
				return false;
			continue;
		}
		for (uint32_t k = 0; k < m->frame[frame].n; k++) {
			struct lmi_gr_parser_item it = m->item[m->frame[frame].item + k];

			if (!add_content(c, it.state, it.frame))
				return false;
		}
	}
	c->frame_of[rule] = lmi_gr_gss_node_intern(m, c->content, c->n_content);
	return c->frame_of[rule] != LMI_GR_PARSER_STATE_ERROR;
}

static void sort_by_rank(const struct lmi_grammar *g, uint32_t *rule, uint32_t n)
{
	/* Shell sort by rank: each rule is replaced by its rank, which identifies it. */
	for (uint32_t i = 0; i < n; i++)
		rule[i] = g->rule[rule[i]].rank;
	for (uint32_t gap = n / 2; gap; gap /= 2) {
		for (uint32_t i = gap; i < n; i++) {
			uint32_t x = rule[i], k = i;

			for (; k >= gap && rule[k - gap] > x; k -= gap)
				rule[k] = rule[k - gap];
			rule[k] = x;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		rule[i] = g->by_rank[rule[i]];
}

uint32_t lmi_gr_closure_end(struct lmi_grammar_matcher *m)
{
	struct lmi_gr_closure *c = m->closure;

	while (c->n_todo && !c->failed)
		follow(m, c, c->todo[--c->n_todo]);
	if (c->failed)
		return LMI_GR_PARSER_STATE_ERROR;
	sort_by_rank(c->g, c->called, c->n_called);
	for (uint32_t i = 0; i < c->n_called; i++) {
		if (!fill_frame(m, c, c->called[i]))
			return LMI_GR_PARSER_STATE_ERROR;
	}
	for (uint32_t i = 0; i < c->n_leaf; i++)
		c->leaf[i].frame = numbered(c, c->leaf[i].frame);
	return lmi_gr_parser_state_intern(m, c->leaf, c->n_leaf, c->may_end);
}
