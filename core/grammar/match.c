/* SPDX-License-Identifier: MIT
 *
 * Tables of a matcher, and steps from one parser state to the next. */
#include "core/grammar/match.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Tables */

bool lmi_matcher_grow(struct lmi_matcher *m, void **p, uint32_t *cap, uint32_t n, size_t item)
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

bool lmi_keymap_find(const struct lmi_keymap *map, uint64_t key, uint32_t *value)
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

static void put_key(struct lmi_keymap *map, uint64_t key, uint32_t value)
{
	uint32_t i = (uint32_t)mix(key) & (map->n_slots - 1);

	while (map->slot[i].used)
		i = (i + 1) & (map->n_slots - 1);
	map->slot[i] = (struct lmi_key){key, value, 1};
}

bool lmi_keymap_add(struct lmi_matcher *m, struct lmi_keymap *map, uint64_t key, uint32_t value)
{
	if (2 * (map->n + 1) > map->n_slots) {
		struct lmi_keymap old = *map;
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
	const struct lmi_item *x = a, *y = b;

	if (x->state != y->state)
		return x->state > y->state ? 1 : -1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static uint32_t sort_items(struct lmi_item *items, uint32_t n)
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

static uint32_t hash_items(const struct lmi_item *items, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = mix(h ^ ((uint64_t)items[i].state << 32 | items[i].frame));
	return (uint32_t)(h >> 16);
}

static uint32_t *new_slots(struct lmi_matcher *m, struct lmi_intern *t)
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

static void put_slot(struct lmi_intern *t, uint32_t hash, uint32_t number)
{
	uint32_t i = hash & (t->n_slots - 1);

	while (t->slot[i])
		i = (i + 1) & (t->n_slots - 1);
	t->slot[i] = number + 1;
}

static bool same_items(const struct lmi_matcher *m, uint32_t at, const struct lmi_item *items,
		       uint32_t n)
{
	return !n || !memcmp(m->item + at, items, n * sizeof(*items));
}

static bool add_items(struct lmi_matcher *m, const struct lmi_item *items, uint32_t n)
{
	if (!lmi_matcher_grow(m, (void **)&m->item, &m->cap_item, m->n_item + n, sizeof(*m->item)))
		return false;
	if (n)
		memcpy(m->item + m->n_item, items, n * sizeof(*items));
	m->n_item += n;
	return true;
}

uint32_t lmi_frame_intern(struct lmi_matcher *m, struct lmi_item *items, uint32_t n)
{
	struct lmi_intern *t = &m->frames;
	uint32_t h;

	n = sort_items(items, n);
	h = hash_items(items, n);
	for (uint32_t i = t->n_slots ? h & (t->n_slots - 1) : 0; t->n_slots && t->slot[i];
	     i = (i + 1) & (t->n_slots - 1)) {
		const struct lmi_frame *f = &m->frame[t->slot[i] - 1];

		if (f->hash == h && f->n == n && same_items(m, f->item, items, n))
			return t->slot[i] - 1;
	}
	if (2 * (t->n + 1) > t->n_slots) {
		if (!new_slots(m, t))
			return LMI_NOWHERE;
		for (uint32_t i = 0; i < m->n_frame; i++)
			put_slot(t, m->frame[i].hash, i);
	}
	if (!lmi_matcher_grow(m, (void **)&m->frame, &m->cap_frame, m->n_frame,
			      sizeof(*m->frame)) ||
	    !add_items(m, items, n))
		return LMI_NOWHERE;
	m->frame[m->n_frame] = (struct lmi_frame){.item = m->n_item - n, .n = n, .hash = h};
	put_slot(t, h, m->n_frame);
	t->n++;
	return m->n_frame++;
}

/* Makes room for the transitions of one more parser state. */
static bool grow_next(struct lmi_matcher *m)
{
	uint32_t want = m->cap_next ? 2 * m->cap_next : 16;
	uint32_t *p;

	if (m->n_situation < m->cap_next)
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

uint32_t lmi_situation_intern(struct lmi_matcher *m, struct lmi_item *items, uint32_t n,
			      bool may_end)
{
	struct lmi_intern *t = &m->situations;
	uint32_t h;

	n = sort_items(items, n);
	h = hash_items(items, n) + may_end;
	for (uint32_t i = t->n_slots ? h & (t->n_slots - 1) : 0; t->n_slots && t->slot[i];
	     i = (i + 1) & (t->n_slots - 1)) {
		const struct lmi_situation *s = &m->situation[t->slot[i] - 1];

		if (s->hash == h && s->n == n && s->may_end == may_end &&
		    same_items(m, s->item, items, n))
			return t->slot[i] - 1;
	}
	if (2 * (t->n + 1) > t->n_slots) {
		if (!new_slots(m, t))
			return LMI_NOWHERE;
		for (uint32_t i = 0; i < m->n_situation; i++)
			put_slot(t, m->situation[i].hash, i);
	}
	if (!grow_next(m) ||
	    !lmi_matcher_grow(m, (void **)&m->situation, &m->cap_situation, m->n_situation,
			      sizeof(*m->situation)) ||
	    !add_items(m, items, n))
		return LMI_NOWHERE;
	m->situation[m->n_situation] = (struct lmi_situation){
		.item = m->n_item - n, .n = n, .hash = h, .may_end = may_end};
	memset(m->next + (size_t)m->n_situation * m->n_ascii, 0xff, m->n_ascii * sizeof(*m->next));
	put_slot(t, h, m->n_situation);
	t->n++;
	return m->n_situation++;
}

/* Steps */

static uint32_t compute_class(struct lmi_matcher *m, uint32_t situation, uint32_t class_id)
{
	const struct lmi_grammar *g = m->g;

	lmi_closure_begin(m->closure);
	for (uint32_t i = 0; i < m->situation[situation].n; i++) {
		struct lmi_item it = m->item[m->situation[situation].item + i];
		const struct lmi_state *s = &g->state[it.state];

		for (uint32_t k = s->edge; k < s->edge + s->n_edges; k++) {
			const struct lmi_edge *e = &g->edge[k];

			if (e->kind == LMI_EDGE_CHARS &&
			    lmi_net_meets(g, e->arg, class_id, class_id) &&
			    !lmi_closure_add(m->closure, e->to, it.frame))
				return LMI_NOWHERE;
		}
	}
	return lmi_closure_end(m);
}

uint32_t lmi_match_class(struct lmi_matcher *m, uint32_t situation, uint32_t class_id)
{
	uint64_t key = (uint64_t)situation << 32 | class_id;
	uint32_t to;

	if (class_id < m->n_ascii) {
		to = m->next[(size_t)situation * m->n_ascii + class_id];
		if (to != LMI_NOWHERE)
			return to;
	} else if (lmi_keymap_find(&m->others, key, &to)) {
		return to;
	}
	to = compute_class(m, situation, class_id);
	if (to == LMI_NOWHERE)
		return to;
	if (class_id < m->n_ascii)
		m->next[(size_t)situation * m->n_ascii + class_id] = to;
	else if (!lmi_keymap_add(m, &m->others, key, to))
		return LMI_NOWHERE;
	return to;
}

uint32_t lmi_match_token(struct lmi_matcher *m, uint32_t situation, lmd_token token)
{
	const struct lmi_grammar *g = m->g;
	bool any = false;

	lmi_closure_begin(m->closure);
	for (uint32_t i = 0; i < m->situation[situation].n; i++) {
		struct lmi_item it = m->item[m->situation[situation].item + i];
		const struct lmi_state *s = &g->state[it.state];

		for (uint32_t k = s->edge; k < s->edge + s->n_edges; k++) {
			const struct lmi_edge *e = &g->edge[k];
			bool same = e->arg == (uint32_t)token;

			if (!(e->kind == LMI_EDGE_TOKEN && same) &&
			    !(e->kind == LMI_EDGE_NOT_TOKEN && !same &&
			      lmi_bit(m->vocab->plain, (uint32_t)token)))
				continue;
			any = true;
			if (!lmi_closure_add(m->closure, e->to, it.frame))
				return LMI_NOWHERE;
		}
	}
	return any ? lmi_closure_end(m) : LMI_DEAD;
}

uint32_t lmi_match_union(struct lmi_matcher *m, uint32_t a, uint32_t b)
{
	uint32_t n = m->situation[a].n + m->situation[b].n, u;
	struct lmi_item *items;

	if (a == b || b == LMI_DEAD)
		return a;
	if (a == LMI_DEAD)
		return b;
	items = lmi_alloc(n ? n : 1, sizeof(*items));
	if (!items)
		return LMI_NOWHERE;
	memcpy(items, m->item + m->situation[a].item, m->situation[a].n * sizeof(*items));
	memcpy(items + m->situation[a].n, m->item + m->situation[b].item,
	       m->situation[b].n * sizeof(*items));
	u = lmi_situation_intern(m, items, n, m->situation[a].may_end || m->situation[b].may_end);
	lmi_free(items);
	return u;
}

bool lmi_spot_feed(struct lmi_matcher *m, struct lmi_spot *s, unsigned char byte)
{
	if (s->left) {
		if ((byte & 0xc0) != 0x80)
			return false;
		s->value = s->value << 6 | (byte & 0x3f);
		if (--s->left)
			return true;
		s->situation = lmi_match_class(m, s->situation, lmi_net_class(m->g, s->value));
		s->value = 0;
	} else if (byte < 0x80) {
		/* NUL is in no set, so its class leads to the dead state */
		s->situation = lmi_match_class(m, s->situation, m->g->ascii[byte]);
	} else if (byte < 0xc0) {
		return false;
	} else {
		/* Bytes from F0 on start a sequence of four; their low four bits are used. */
		s->left = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
		s->value = byte & (byte < 0xe0 ? 0x1f : 0x0f);
		return true;
	}
	return s->situation != LMI_DEAD && s->situation != LMI_NOWHERE;
}

bool lmi_spot_alive(const struct lmi_matcher *m, const struct lmi_spot *s)
{
	const struct lmi_situation *sit = &m->situation[s->situation];
	uint32_t low = s->value << 6 * s->left, high, a, b;

	if (!s->left)
		return s->situation != LMI_DEAD;
	if (s->left == 1 && s->value < 2)
		return false; /* overlong encoding of an ASCII character */
	high = low | ((1u << 6 * s->left) - 1);
	if (!low)
		low = s->left == 2 ? 0x800 : 0x10000;
	a = lmi_net_class(m->g, low);
	b = lmi_net_class(m->g, high);
	for (uint32_t i = 0; i < sit->n; i++) {
		const struct lmi_state *st = &m->g->state[m->item[sit->item + i].state];

		for (uint32_t k = st->edge; k < st->edge + st->n_edges; k++) {
			if (m->g->edge[k].kind == LMI_EDGE_CHARS &&
			    lmi_net_meets(m->g, m->g->edge[k].arg, a, b))
				return true;
		}
	}
	return false;
}
