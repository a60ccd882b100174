/* SPDX-License-Identifier: MIT
 *
 * Life cycle of a matcher: its tables, and dropping what no state needs. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/state.h"

static void clear_tables(struct lmi_grammar_matcher *m)
{
	lmi_free(m->item);
	lmi_free(m->frame);
	lmi_free(m->parser_state);
	lmi_free(m->frames.slot);
	lmi_free(m->parser_states.slot);
	lmi_free(m->next);
	lmi_free(m->others.slot);
	lmi_free(m->masks.slot);
	for (uint32_t i = 0; i < m->n_mask; i++)
		lmi_free(m->mask[i]);
	lmi_free(m->mask);
	for (uint32_t i = 0; i < m->n_class_tokens; i++)
		lmi_gr_class_tokens_fini(&m->class_tokens[i]);
	lmi_free(m->class_tokens);
}

static void empty_tables(struct lmi_grammar_matcher *m)
{
	m->item = NULL;
	m->frame = NULL;
	m->parser_state = NULL;
	m->next = NULL;
	m->mask = NULL;
	m->frames = m->parser_states = (struct lmi_gr_intern){0};
	m->others = m->masks = (struct lmi_gr_keymap){0};
	m->n_item = m->cap_item = m->n_frame = m->cap_frame = 0;
	m->class_tokens = NULL;
	m->n_class_tokens = m->cap_class_tokens = 0;
	m->n_parser_state = m->cap_parser_state = m->cap_next = m->n_mask = m->cap_mask = 0;
	m->bytes = 0;
}

/* Creates frame 0, parser state 0, and the parser state before the first character. */
static bool first_entries(struct lmi_grammar_matcher *m)
{
	struct lmi_gr_parser_item bottom = {LMI_GR_NFA_FINAL_STATE, 0};

	if (lmi_gr_gss_node_intern(m, &bottom, 1) != 0 ||
	    lmi_gr_parser_state_intern(m, NULL, 0, false) != LMI_GR_PARSER_STATE_DEAD)
		return false;
	lmi_gr_closure_begin(m->closure);
	if (!lmi_gr_closure_add(m->closure, m->g->rule[m->g->root].start, 0))
		return false;
	m->start = lmi_gr_closure_end(m);
	return m->start != LMI_GR_PARSER_STATE_ERROR;
}

/* Copies the frames and parser states that some state needs from `old` to the new tables. */
struct copy {
	const struct lmi_grammar_matcher *old;
	struct lmi_grammar_matcher *m;
	uint32_t *frame; /* [old->n_frame] new number, NOWHERE: not copied */
};

static struct lmi_gr_parser_item *new_items(const struct copy *c, uint32_t at, uint32_t n)
{
	struct lmi_gr_parser_item *items = lmi_alloc(n ? n : 1, sizeof(*items));

	for (uint32_t i = 0; items && i < n; i++) {
		items[i] = c->old->item[at + i];
		items[i].frame = c->frame[items[i].frame];
	}
	return items;
}

/* The items of a frame refer to older frames, or to itself in case of the bottom. Numbers
 * therefore ascend: whatever a frame needs has a smaller number. */
static bool copy_frames(const struct copy *c, const uint8_t *needed)
{
	for (uint32_t f = 0; f < c->old->n_frame; f++) {
		const struct lmi_gr_gss_node *old = &c->old->frame[f];
		struct lmi_gr_parser_item *items;

		if (f == 0) {
			c->frame[0] = 0;
			continue;
		}
		if (!needed[f])
			continue;
		items = new_items(c, old->item, old->n);
		c->frame[f] = items ? lmi_gr_gss_node_intern(c->m, items, old->n)
				    : LMI_GR_PARSER_STATE_ERROR;
		lmi_free(items);
		if (c->frame[f] == LMI_GR_PARSER_STATE_ERROR)
			return false;
	}
	return true;
}

static void need_frames(const struct lmi_grammar_matcher *old, uint8_t *needed)
{
	for (const struct lmi_grammar_state *s = old->states; s; s = s->next) {
		const struct lmi_gr_parser_state *sit = &old->parser_state[s->cursor.parser_state];

		for (uint32_t i = 0; i < sit->n; i++)
			needed[old->item[sit->item + i].frame] = 1;
	}
	for (uint32_t f = old->n_frame; f-- > 1;) {
		for (uint32_t i = 0; needed[f] && i < old->frame[f].n; i++)
			needed[old->item[old->frame[f].item + i].frame] = 1;
	}
}

static bool copy_parser_states(const struct copy *c, uint32_t *number)
{
	uint32_t k = 0;

	for (struct lmi_grammar_state *s = c->old->states; s; s = s->next, k++) {
		const struct lmi_gr_parser_state *sit =
			&c->old->parser_state[s->cursor.parser_state];
		struct lmi_gr_parser_item *items = new_items(c, sit->item, sit->n);

		number[k] = items ? lmi_gr_parser_state_intern(c->m, items, sit->n, sit->may_end)
				  : LMI_GR_PARSER_STATE_ERROR;
		lmi_free(items);
		if (number[k] == LMI_GR_PARSER_STATE_ERROR)
			return false;
	}
	return true;
}

void lmi_gr_matcher_collect_garbage(struct lmi_grammar_matcher *m)
{
	struct lmi_grammar_matcher old = *m;
	struct copy c = {.old = &old, .m = m};
	uint32_t n_states = 0, k = 0;
	uint32_t *number;
	uint8_t *needed = lmi_alloc(old.n_frame, 1);
	bool ok;

	for (const struct lmi_grammar_state *s = m->states; s; s = s->next)
		n_states++;
	number = lmi_alloc((size_t)n_states + 1, sizeof(*number));
	c.frame = lmi_alloc(old.n_frame, sizeof(*c.frame));
	ok = needed && number && c.frame;
	empty_tables(m);
	if (ok) {
		memset(c.frame, 0xff, old.n_frame * sizeof(*c.frame));
		need_frames(&old, needed);
		ok = first_entries(m) && copy_frames(&c, needed) && copy_parser_states(&c, number);
	}
	if (ok) {
		for (struct lmi_grammar_state *s = m->states; s; s = s->next)
			s->cursor.parser_state = number[k++];
		clear_tables(&old);
		m->live_bytes = m->bytes;
	} else {
		clear_tables(m);
		*m = old;
	}
	lmi_free(needed);
	lmi_free(number);
	lmi_free(c.frame);
}

void lmi_gr_matcher_enforce_limit(struct lmi_grammar_matcher *m)
{
	/* The memory that states need may exceed the limit; in that case let it double first. */
	if (m->bytes > m->cache_bytes && m->bytes > 2 * m->live_bytes)
		lmi_gr_matcher_collect_garbage(m);
}

enum lmd_status lmi_gr_matcher_create(struct lmi_grammar_matcher **out,
				      const struct lmi_gr_matcher_opts *o, struct lmd_error *err)
{
	struct lmi_grammar_matcher *m = lmi_alloc(1, sizeof(*m));
	enum lmd_status st = LMD_OK;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory");
	m->g = o->grammar;
	m->vocab = o->vocab;
	m->cache_bytes = o->cache_bytes ? o->cache_bytes : 64u << 20;
	if (o->n_patterns || o->n_tokens)
		st = lmi_gr_trigger_create(&m->trigger, o, err);
	if (st == LMD_OK && !m->g->unconstrained) {
		m->n_ascii = m->g->ascii[127] + 1u;
		m->closure = lmi_gr_closure_create(m->g);
		m->cursors = lmi_alloc((size_t)m->vocab->longest + 1, sizeof(*m->cursors));
		if (!m->closure || !m->cursors || !first_entries(m))
			st = lmd_fail(err, LMD_NOMEM,
				      "grammar: too ambiguous at its start, or out of memory");
	}
	if (st != LMD_OK) {
		lmi_gr_matcher_destroy(m);
		return st;
	}
	*out = m;
	return LMD_OK;
}

void lmi_gr_matcher_destroy(struct lmi_grammar_matcher *m)
{
	if (!m)
		return;
	clear_tables(m);
	lmi_gr_closure_destroy(m->closure);
	lmi_free(m->cursors);
	lmi_gr_trigger_destroy(m->trigger);
	lmi_free(m);
}

uint64_t lmi_gr_matcher_bytes(const struct lmi_grammar_matcher *m)
{
	return m->bytes;
}
