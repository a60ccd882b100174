/* SPDX-License-Identifier: MIT
 *
 * Tables of a matcher, and steps from one parser state to the next. */
#include "core/grammar/match.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Tables */

bool lmi_gr_matcher_grow(struct lmi_grammar_matcher *m, void **p, uint32_t *cap, uint32_t n,
			 size_t item)
{
	uint32_t want = *cap ? 2 * *cap : 64;
	void *q;

	if (n < *cap)
		return true;
	while (want <= n && want < UINT32_MAX / 2)
		want *= 2;
	/* Hard limit: the live parser states alone need four times the configured memory. */
	if (m->bytes + (want - *cap) * (uint64_t)item > 4 * m->cache_bytes)
		return false;
	q = want > n ? lmi_realloc(*p, want, item) : NULL;
	if (!q)
		return false;
	m->bytes += (want - *cap) * (uint64_t)item;
	*p = q;
	*cap = want;
	return true;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9E3779B97F4A7C15ull;
	return x ^ x >> 29;
}

bool lmi_gr_keymap_find(const struct lmi_gr_keymap *map, uint64_t key, uint32_t *value)
{
	uint32_t i;

	if (!map->n_slots)
		return false;
	for (i = (uint32_t)mix(key) & (map->n_slots - 1); map->slot[i].used;
	     i = (i + 1) & (map->n_slots - 1)) {
		if (map->slot[i].key == key) {
			*value = map->slot[i].value;
			return true;
		}
	}
	return false;
}

static void put_key(struct lmi_gr_keymap *map, uint64_t key, uint32_t value)
{
	uint32_t i = (uint32_t)mix(key) & (map->n_slots - 1);

	while (map->slot[i].used)
		i = (i + 1) & (map->n_slots - 1);
	map->slot[i] = (struct lmi_gr_key){key, value, 1};
}

bool lmi_gr_keymap_add(struct lmi_grammar_matcher *m, struct lmi_gr_keymap *map, uint64_t key,
		       uint32_t value)
{
	if (2 * (map->n + 1) > map->n_slots) {
		struct lmi_gr_keymap old = *map;
		uint32_t n = old.n_slots ? 2 * old.n_slots : 256;

		map->slot = lmi_alloc(n, sizeof(*map->slot));
		if (!map->slot) {
			*map = old;
			return false;
		}
		map->n_slots = n;
		m->bytes += (n - old.n_slots) * sizeof(*map->slot);
		for (uint32_t i = 0; i < old.n_slots; i++) {
			if (old.slot[i].used)
				put_key(map, old.slot[i].key, old.slot[i].value);
		}
		lmi_free(old.slot);
	}
	put_key(map, key, value);
	map->n++;
	return true;
}

static int by_item(const void *a, const void *b)
{
	const struct lmi_gr_parser_item *x = a, *y = b;

	if (x->state != y->state)
		return x->state > y->state ? 1 : -1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static uint32_t sort_items(struct lmi_gr_parser_item *items, uint32_t n)
{
	uint32_t k = 0;

	if (n > 1)
		qsort(items, n, sizeof(*items), by_item);
	for (uint32_t i = 0; i < n; i++) {
		if (!k || by_item(&items[k - 1], &items[i]))
			items[k++] = items[i];
	}
	return k;
}

static uint32_t hash_items(const struct lmi_gr_parser_item *items, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = mix(h ^ ((uint64_t)items[i].state << 32 | items[i].frame));
	return (uint32_t)(h >> 16);
}

static uint32_t *new_slots(struct lmi_grammar_matcher *m, struct lmi_gr_intern *t)
{
	uint32_t n = t->n_slots ? 2 * t->n_slots : 256;
	uint32_t *slot = lmi_alloc(n, sizeof(*slot));

	if (!slot)
		return NULL;
	m->bytes += (n - t->n_slots) * sizeof(*slot);
	lmi_free(t->slot);
	t->slot = slot;
	t->n_slots = n;
	return slot;
}

static void put_slot(struct lmi_gr_intern *t, uint32_t hash, uint32_t number)
{
	uint32_t i = hash & (t->n_slots - 1);

	while (t->slot[i])
		i = (i + 1) & (t->n_slots - 1);
	t->slot[i] = number + 1;
}

static bool same_items(const struct lmi_grammar_matcher *m, uint32_t at,
		       const struct lmi_gr_parser_item *items, uint32_t n)
{
	return !n || !memcmp(m->item + at, items, n * sizeof(*items));
}

static bool add_items(struct lmi_grammar_matcher *m, const struct lmi_gr_parser_item *items,
		      uint32_t n)
{
	if (!lmi_gr_matcher_grow(m, (void **)&m->item, &m->cap_item, m->n_item + n,
				 sizeof(*m->item)))
		return false;
	if (n)
		memcpy(m->item + m->n_item, items, n * sizeof(*items));
	m->n_item += n;
	return true;
}

uint32_t lmi_gr_gss_node_intern(struct lmi_grammar_matcher *m, struct lmi_gr_parser_item *items,
				uint32_t n)
{
	struct lmi_gr_intern *t = &m->frames;
	uint32_t h;

	n = sort_items(items, n);
	h = hash_items(items, n);
	for (uint32_t i = t->n_slots ? h & (t->n_slots - 1) : 0; t->n_slots && t->slot[i];
	     i = (i + 1) & (t->n_slots - 1)) {
		const struct lmi_gr_gss_node *f = &m->frame[t->slot[i] - 1];

		if (f->hash == h && f->n == n && same_items(m, f->item, items, n))
			return t->slot[i] - 1;
	}
	if (2 * (t->n + 1) > t->n_slots) {
		if (!new_slots(m, t))
			return LMI_GR_PARSER_STATE_ERROR;
		for (uint32_t i = 0; i < m->n_frame; i++)
			put_slot(t, m->frame[i].hash, i);
	}
	if (!lmi_gr_matcher_grow(m, (void **)&m->frame, &m->cap_frame, m->n_frame,
				 sizeof(*m->frame)) ||
	    !add_items(m, items, n))
		return LMI_GR_PARSER_STATE_ERROR;
	m->frame[m->n_frame] = (struct lmi_gr_gss_node){.item = m->n_item - n, .n = n, .hash = h};
	put_slot(t, h, m->n_frame);
	t->n++;
	return m->n_frame++;
}

/* Makes room for the transitions of one more parser state. */
static bool grow_next(struct lmi_grammar_matcher *m)
{
	uint32_t want = m->cap_next ? 2 * m->cap_next : 16;
	uint32_t *p;

	if (m->n_parser_state < m->cap_next)
		return true;
	if (m->bytes + (want - m->cap_next) * 4ull * m->n_ascii > 4 * m->cache_bytes)
		return false;
	p = lmi_realloc(m->next, (size_t)want * m->n_ascii, sizeof(*p));
	if (!p)
		return false;
	m->bytes += (want - m->cap_next) * 4ull * m->n_ascii;
	m->next = p;
	m->cap_next = want;
	return true;
}

uint32_t lmi_gr_parser_state_intern(struct lmi_grammar_matcher *m, struct lmi_gr_parser_item *items,
				    uint32_t n, bool may_end)
{
	struct lmi_gr_intern *t = &m->parser_states;
	uint32_t h;

	n = sort_items(items, n);
	h = hash_items(items, n) + may_end;
	for (uint32_t i = t->n_slots ? h & (t->n_slots - 1) : 0; t->n_slots && t->slot[i];
	     i = (i + 1) & (t->n_slots - 1)) {
		const struct lmi_gr_parser_state *s = &m->parser_state[t->slot[i] - 1];

		if (s->hash == h && s->n == n && s->may_end == may_end &&
		    same_items(m, s->item, items, n))
			return t->slot[i] - 1;
	}
	if (2 * (t->n + 1) > t->n_slots) {
		if (!new_slots(m, t))
			return LMI_GR_PARSER_STATE_ERROR;
		for (uint32_t i = 0; i < m->n_parser_state; i++)
			put_slot(t, m->parser_state[i].hash, i);
	}
	if (!grow_next(m) ||
	    !lmi_gr_matcher_grow(m, (void **)&m->parser_state, &m->cap_parser_state,
				 m->n_parser_state, sizeof(*m->parser_state)) ||
	    !add_items(m, items, n))
		return LMI_GR_PARSER_STATE_ERROR;
	m->parser_state[m->n_parser_state] = (struct lmi_gr_parser_state){
		.item = m->n_item - n, .n = n, .hash = h, .may_end = may_end};
	memset(m->next + (size_t)m->n_parser_state * m->n_ascii, 0xff,
	       m->n_ascii * sizeof(*m->next));
	put_slot(t, h, m->n_parser_state);
	t->n++;
	return m->n_parser_state++;
}

/* Steps */

static uint32_t compute_class(struct lmi_grammar_matcher *m, uint32_t parser_state,
			      uint32_t class_id)
{
	const struct lmi_grammar *g = m->g;

	lmi_gr_closure_begin(m->closure);
	for (uint32_t i = 0; i < m->parser_state[parser_state].n; i++) {
		struct lmi_gr_parser_item it = m->item[m->parser_state[parser_state].item + i];
		const struct lmi_gr_nfa_state *s = &g->state[it.state];

		for (uint32_t k = s->edge; k < s->edge + s->n_edges; k++) {
			const struct lmi_gr_nfa_edge *e = &g->edge[k];

			if (e->kind == LMI_GR_EDGE_CHARS &&
			    lmi_gr_nfa_set_intersects(g, e->arg, class_id, class_id) &&
			    !lmi_gr_closure_add(m->closure, e->to, it.frame))
				return LMI_GR_PARSER_STATE_ERROR;
		}
	}
	return lmi_gr_closure_end(m);
}

uint32_t lmi_gr_match_class(struct lmi_grammar_matcher *m, uint32_t parser_state, uint32_t class_id)
{
	uint64_t key = (uint64_t)parser_state << 32 | class_id;
	uint32_t to;

	if (class_id < m->n_ascii) {
		to = m->next[(size_t)parser_state * m->n_ascii + class_id];
		if (to != LMI_GR_PARSER_STATE_ERROR)
			return to;
	} else if (lmi_gr_keymap_find(&m->others, key, &to)) {
		return to;
	}
	to = compute_class(m, parser_state, class_id);
	if (to == LMI_GR_PARSER_STATE_ERROR)
		return to;
	if (class_id < m->n_ascii)
		m->next[(size_t)parser_state * m->n_ascii + class_id] = to;
	else if (!lmi_gr_keymap_add(m, &m->others, key, to))
		return LMI_GR_PARSER_STATE_ERROR;
	return to;
}

uint32_t lmi_gr_match_token(struct lmi_grammar_matcher *m, uint32_t parser_state, lmd_token token)
{
	const struct lmi_grammar *g = m->g;
	bool any = false;

	lmi_gr_closure_begin(m->closure);
	for (uint32_t i = 0; i < m->parser_state[parser_state].n; i++) {
		struct lmi_gr_parser_item it = m->item[m->parser_state[parser_state].item + i];
		const struct lmi_gr_nfa_state *s = &g->state[it.state];

		for (uint32_t k = s->edge; k < s->edge + s->n_edges; k++) {
			const struct lmi_gr_nfa_edge *e = &g->edge[k];
			bool same = e->arg == (uint32_t)token;

			if (!(e->kind == LMI_GR_EDGE_TOKEN && same) &&
			    !(e->kind == LMI_GR_EDGE_NOT_TOKEN && !same &&
			      lmi_gr_bit(m->vocab->starts_with_char, (uint32_t)token)))
				continue;
			any = true;
			if (!lmi_gr_closure_add(m->closure, e->to, it.frame))
				return LMI_GR_PARSER_STATE_ERROR;
		}
	}
	return any ? lmi_gr_closure_end(m) : LMI_GR_PARSER_STATE_DEAD;
}

uint32_t lmi_gr_match_union(struct lmi_grammar_matcher *m, uint32_t a, uint32_t b)
{
	uint32_t n = m->parser_state[a].n + m->parser_state[b].n, u;
	struct lmi_gr_parser_item *items;

	if (a == b || b == LMI_GR_PARSER_STATE_DEAD)
		return a;
	if (a == LMI_GR_PARSER_STATE_DEAD)
		return b;
	items = lmi_alloc(n ? n : 1, sizeof(*items));
	if (!items)
		return LMI_GR_PARSER_STATE_ERROR;
	memcpy(items, m->item + m->parser_state[a].item, m->parser_state[a].n * sizeof(*items));
	memcpy(items + m->parser_state[a].n, m->item + m->parser_state[b].item,
	       m->parser_state[b].n * sizeof(*items));
	u = lmi_gr_parser_state_intern(m, items, n,
				       m->parser_state[a].may_end || m->parser_state[b].may_end);
	lmi_free(items);
	return u;
}

bool lmi_gr_match_cursor_feed(struct lmi_grammar_matcher *m, struct lmi_gr_match_cursor *s,
			      unsigned char byte)
{
	if (s->n_missing) {
		if ((byte & 0xc0) != 0x80)
			return false;
		s->value = s->value << 6 | (byte & 0x3f);
		if (--s->n_missing)
			return true;
		s->parser_state = lmi_gr_match_class(m, s->parser_state,
						     lmi_gr_nfa_char_class(m->g, s->value));
		s->value = 0;
	} else if (byte < 0x80) {
		/* NUL is in no set, so its class leads to the dead state */
		s->parser_state = lmi_gr_match_class(m, s->parser_state, m->g->ascii[byte]);
	} else if (byte < 0xc0) {
		return false;
	} else {
		/* Bytes from F0 on start a sequence of four; their low four bits are used. */
		s->n_missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
		s->value = byte & (byte < 0xe0 ? 0x1f : 0x0f);
		return true;
	}
	return s->parser_state != LMI_GR_PARSER_STATE_DEAD &&
	       s->parser_state != LMI_GR_PARSER_STATE_ERROR;
}

bool lmi_gr_match_cursor_alive(const struct lmi_grammar_matcher *m,
			       const struct lmi_gr_match_cursor *s)
{
	const struct lmi_gr_parser_state *sit = &m->parser_state[s->parser_state];
	uint32_t low = s->value << 6 * s->n_missing, high, a, b;

	if (!s->n_missing)
		return s->parser_state != LMI_GR_PARSER_STATE_DEAD;
	if (s->n_missing == 1 && s->value < 2)
		return false; /* overlong encoding of an ASCII character */
	high = low | ((1u << 6 * s->n_missing) - 1);
	if (!low)
		low = s->n_missing == 2 ? 0x800 : 0x10000;
	a = lmi_gr_nfa_char_class(m->g, low);
	b = lmi_gr_nfa_char_class(m->g, high);
	for (uint32_t i = 0; i < sit->n; i++) {
		const struct lmi_gr_nfa_state *st = &m->g->state[m->item[sit->item + i].state];

		for (uint32_t k = st->edge; k < st->edge + st->n_edges; k++) {
			if (m->g->edge[k].kind == LMI_GR_EDGE_CHARS &&
			    lmi_gr_nfa_set_intersects(m->g, m->g->edge[k].arg, a, b))
				return true;
		}
	}
	return false;
}
