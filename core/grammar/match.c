/* SPDX-License-Identifier: MIT
 *
 * Tables of a matcher, and steps from one situation to the next. */
#include "core/grammar/match.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/expr.h"
#include "core/grammar/state.h"

/* State behind the whole grammar (closure.c). */
#define THE_END (UINT32_MAX - 1)

/* Tables */

bool lmi_matcher_grow(struct lmi_matcher *m, void **p, uint32_t *cap, uint32_t n, size_t item)
{
	uint32_t want = *cap ? 2 * *cap : 64;
	void *q;

	if (n < *cap)
		return true;
	while (want <= n && want < UINT32_MAX / 2)
		want *= 2;
	/* Four times the bound is the end: live situations alone need it. */
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

/* Room for the transitions of one more situation. */
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
		/* NUL is in no set, so its class leads nowhere */
		s->situation = lmi_match_class(m, s->situation, m->g->ascii[byte]);
	} else if (byte < 0xc0) {
		return false;
	} else {
		/* Any byte from F0 on begins four: it is its four lower bits that count. */
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
		return false; /* an ASCII character in two bytes */
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

/* Memory */

static void clear_tables(struct lmi_matcher *m)
{
	lmi_free(m->item);
	lmi_free(m->frame);
	lmi_free(m->situation);
	lmi_free(m->frames.slot);
	lmi_free(m->situations.slot);
	lmi_free(m->next);
	lmi_free(m->others.slot);
	lmi_free(m->masks.slot);
	for (uint32_t i = 0; i < m->n_mask; i++)
		lmi_free(m->mask[i]);
	lmi_free(m->mask);
	for (uint32_t i = 0; i < m->n_cover; i++)
		lmi_cover_fini(&m->cover[i]);
	lmi_free(m->cover);
}

static void empty_tables(struct lmi_matcher *m)
{
	m->item = NULL;
	m->frame = NULL;
	m->situation = NULL;
	m->next = NULL;
	m->mask = NULL;
	m->frames = m->situations = (struct lmi_intern){0};
	m->others = m->masks = (struct lmi_keymap){0};
	m->n_item = m->cap_item = m->n_frame = m->cap_frame = 0;
	m->cover = NULL;
	m->n_cover = m->cap_cover = 0;
	m->n_situation = m->cap_situation = m->cap_next = m->n_mask = m->cap_mask = 0;
	m->bytes = 0;
}

/* Frame 0, situation 0, and the situation before the first character. */
static bool first_entries(struct lmi_matcher *m)
{
	struct lmi_item bottom = {THE_END, 0};

	if (lmi_frame_intern(m, &bottom, 1) != 0 ||
	    lmi_situation_intern(m, NULL, 0, false) != LMI_DEAD)
		return false;
	lmi_closure_begin(m->closure);
	if (!lmi_closure_add(m->closure, m->g->rule[m->g->root].start, 0))
		return false;
	m->start = lmi_closure_end(m);
	return m->start != LMI_NOWHERE;
}

/* Copies frames and situations that a state needs from `old` to the new tables. */
struct copy {
	const struct lmi_matcher *old;
	struct lmi_matcher *m;
	uint32_t *frame; /* [old->n_frame] new number, NOWHERE: not copied */
};

static struct lmi_item *new_items(const struct copy *c, uint32_t at, uint32_t n)
{
	struct lmi_item *items = lmi_alloc(n ? n : 1, sizeof(*items));

	for (uint32_t i = 0; items && i < n; i++) {
		items[i] = c->old->item[at + i];
		items[i].frame = c->frame[items[i].frame];
	}
	return items;
}

/* A frame's items are older frames or itself (the bottom), so numbers ascend: what a frame
 * needs has a smaller number. */
static bool copy_frames(const struct copy *c, const uint8_t *needed)
{
	for (uint32_t f = 0; f < c->old->n_frame; f++) {
		const struct lmi_frame *old = &c->old->frame[f];
		struct lmi_item *items;

		if (f == 0) {
			c->frame[0] = 0;
			continue;
		}
		if (!needed[f])
			continue;
		items = new_items(c, old->item, old->n);
		c->frame[f] = items ? lmi_frame_intern(c->m, items, old->n) : LMI_NOWHERE;
		lmi_free(items);
		if (c->frame[f] == LMI_NOWHERE)
			return false;
	}
	return true;
}

static void need_frames(const struct lmi_matcher *old, uint8_t *needed)
{
	for (const struct lmi_gstate *s = old->states; s; s = s->next) {
		const struct lmi_situation *sit = &old->situation[s->spot.situation];

		for (uint32_t i = 0; i < sit->n; i++)
			needed[old->item[sit->item + i].frame] = 1;
	}
	for (uint32_t f = old->n_frame; f-- > 1;) {
		for (uint32_t i = 0; needed[f] && i < old->frame[f].n; i++)
			needed[old->item[old->frame[f].item + i].frame] = 1;
	}
}

static bool copy_situations(const struct copy *c, uint32_t *number)
{
	uint32_t k = 0;

	for (struct lmi_gstate *s = c->old->states; s; s = s->next, k++) {
		const struct lmi_situation *sit = &c->old->situation[s->spot.situation];
		struct lmi_item *items = new_items(c, sit->item, sit->n);

		number[k] = items ? lmi_situation_intern(c->m, items, sit->n, sit->may_end)
				  : LMI_NOWHERE;
		lmi_free(items);
		if (number[k] == LMI_NOWHERE)
			return false;
	}
	return true;
}

void lmi_matcher_forget(struct lmi_matcher *m)
{
	struct lmi_matcher old = *m;
	struct copy c = {.old = &old, .m = m};
	uint32_t n_states = 0, k = 0;
	uint32_t *number;
	uint8_t *needed = lmi_alloc(old.n_frame, 1);
	bool ok;

	for (const struct lmi_gstate *s = m->states; s; s = s->next)
		n_states++;
	number = lmi_alloc((size_t)n_states + 1, sizeof(*number));
	c.frame = lmi_alloc(old.n_frame, sizeof(*c.frame));
	ok = needed && number && c.frame;
	empty_tables(m);
	if (ok) {
		memset(c.frame, 0xff, old.n_frame * sizeof(*c.frame));
		need_frames(&old, needed);
		ok = first_entries(m) && copy_frames(&c, needed) && copy_situations(&c, number);
	}
	if (ok) {
		for (struct lmi_gstate *s = m->states; s; s = s->next)
			s->spot.situation = number[k++];
		clear_tables(&old);
		m->floor = m->bytes;
	} else {
		clear_tables(m);
		*m = old;
	}
	lmi_free(needed);
	lmi_free(number);
	lmi_free(c.frame);
}

void lmi_matcher_tidy(struct lmi_matcher *m)
{
	/* What is needed may be more than the bound: then it may double. */
	if (m->bytes > m->cache_bytes && m->bytes > 2 * m->floor)
		lmi_matcher_forget(m);
}

enum lmd_status lmi_matcher_create(struct lmi_matcher **out, const struct lmi_matcher_opts *o,
				   struct lmd_error *err)
{
	struct lmi_matcher *m = lmi_alloc(1, sizeof(*m));
	enum lmd_status st = LMD_OK;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory");
	m->g = o->grammar;
	m->vocab = o->vocab;
	m->cache_bytes = o->cache_bytes ? o->cache_bytes : 64u << 20;
	if (o->n_patterns || o->n_tokens)
		st = lmi_trigger_create(&m->trigger, o, err);
	if (st == LMD_OK && !m->g->free) {
		m->n_ascii = m->g->ascii[127] + 1u;
		m->closure = lmi_closure_create(m->g);
		m->walk = lmi_alloc((size_t)m->vocab->longest + 1, sizeof(*m->walk));
		if (!m->closure || !m->walk || !first_entries(m))
			st = lmd_fail(err, LMD_NOMEM,
				      "grammar: too many ways to begin, or out of memory");
	}
	if (st != LMD_OK) {
		lmi_matcher_destroy(m);
		return st;
	}
	*out = m;
	return LMD_OK;
}

void lmi_matcher_destroy(struct lmi_matcher *m)
{
	if (!m)
		return;
	clear_tables(m);
	lmi_closure_destroy(m->closure);
	lmi_free(m->walk);
	lmi_trigger_destroy(m->trigger);
	lmi_free(m);
}

uint64_t lmi_matcher_bytes(const struct lmi_matcher *m)
{
	return m->bytes;
}
