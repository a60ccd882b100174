/* SPDX-License-Identifier: MIT
 *
 * Which tokens fit a spot.
 *
 * Tokens are walked through in the order of their texts, so that what a token has in
 * common with the one before it is not fed again, and what has failed is skipped.  In a
 * situation that characters lead back to itself (inside of a string) a token of only such
 * characters fits without a walk; that is most of a vocabulary. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/match.h"

struct filler {
	struct lmi_matcher *m;
	const struct lmi_gvocab *v;
	uint64_t *mask;
	uint64_t loop[2]; /* ASCII characters that lead back to the situation */
	bool loop_high;   /* all others do */
	uint32_t fed;     /* walk[0..fed] hold for the text of the token before */
	uint32_t dead;    /* its so many first bytes lead nowhere; 0: they do */
	bool failed;      /* no memory */
};

/* Which classes lead back to where they came from? */
static void find_loop(struct filler *f, const struct lmi_spot *s)
{
	const struct lmi_grammar *g = f->m->g;

	if (s->left)
		return;
	for (uint32_t c = 1; c < 128; c++) {
		uint32_t to = lmi_match_class(f->m, s->situation, g->ascii[c]);

		f->failed |= to == LMI_NOWHERE;
		if (to == s->situation)
			f->loop[c / 64] |= 1ull << (c % 64);
	}
	f->loop_high = true;
	for (uint32_t i = lmi_net_class(g, 128); i < g->n_classes && f->loop_high; i++) {
		uint32_t to = lmi_match_class(f->m, s->situation, i);

		f->failed |= to == LMI_NOWHERE;
		f->loop_high = to == s->situation;
	}
}

static bool in_loop(const struct filler *f, const struct lmi_gtoken *t)
{
	return !(t->ascii[0] & ~f->loop[0]) && !(t->ascii[1] & ~f->loop[1]) &&
	       (!t->high || (f->loop_high && t->whole));
}

/* Feeds what is new of a token; true: it fits. */
static bool walk(struct filler *f, const struct lmi_gtoken *t)
{
	const char *text = f->v->text + t->text;

	while (f->fed < t->n) {
		struct lmi_spot s = f->m->walk[f->fed];

		if (!lmi_spot_feed(f->m, &s, (unsigned char)text[f->fed])) {
			f->failed |= s.situation == LMI_NOWHERE;
			f->dead = f->fed + 1;
			return false;
		}
		f->m->walk[++f->fed] = s;
	}
	return lmi_spot_alive(f->m, &f->m->walk[f->fed]);
}

static void fill_bucket(struct filler *f, uint32_t from, uint32_t to)
{
	f->fed = f->dead = 0;
	for (uint32_t i = from; i < to && !f->failed; i++) {
		const struct lmi_gtoken *t = &f->v->token[i];

		if (i > from && f->dead && t->same >= f->dead)
			continue;
		f->dead = 0;
		if (i > from && t->same < f->fed)
			f->fed = t->same;
		if (in_loop(f, t) || walk(f, t))
			lmi_bit_set(f->mask, t->id);
	}
}

/* Tokens that count by their numbers. */
static void fill_literals(struct filler *f, const struct lmi_situation *sit)
{
	const struct lmi_grammar *g = f->m->g;

	for (uint32_t i = 0; i < sit->n; i++) {
		const struct lmi_state *s = &g->state[f->m->item[sit->item + i].state];

		for (uint32_t k = s->edge; k < s->edge + s->n_edges; k++) {
			uint32_t id = g->edge[k].arg;
			bool taken = id < f->v->n && lmi_bit(f->mask, id);

			if (g->edge[k].kind == LMI_EDGE_TOKEN && id < f->v->n &&
			    !lmi_bit(f->v->eog, id))
				lmi_bit_set(f->mask, id);
			if (g->edge[k].kind != LMI_EDGE_NOT_TOKEN)
				continue;
			for (uint32_t w = 0; w < f->v->n_words; w++)
				f->mask[w] |= f->v->plain[w];
			if (id < f->v->n && !taken)
				f->mask[id / 64] &= ~(1ull << (id % 64));
		}
	}
}

static void fill(struct filler *f, const struct lmi_spot *s)
{
	find_loop(f, s);
	f->m->walk[0] = *s;
	for (uint32_t b = 1; b < 256 && !f->failed; b++) {
		struct lmi_spot first = *s;

		if (f->v->first[b] == f->v->first[b + 1])
			continue;
		if (lmi_spot_feed(f->m, &first, (unsigned char)b))
			fill_bucket(f, f->v->first[b], f->v->first[b + 1]);
		f->failed |= first.situation == LMI_NOWHERE;
	}
	if (f->failed || s->left)
		return;
	fill_literals(f, &f->m->situation[s->situation]);
	for (uint32_t w = 0; w < f->v->n_words && f->m->situation[s->situation].may_end; w++)
		f->mask[w] |= f->v->eog[w];
}

const uint64_t *lmi_mask_of(struct lmi_matcher *m, const struct lmi_spot *s)
{
	uint64_t key = (uint64_t)s->situation << 32 | s->value << 2 | s->left;
	struct filler f = {.m = m, .v = m->vocab};
	uint32_t i;

	if (lmi_keymap_find(&m->masks, key, &i))
		return m->mask[i];
	if (!lmi_matcher_grow(m, (void **)&m->mask, &m->cap_mask, m->n_mask, sizeof(*m->mask)))
		return NULL;
	f.mask = lmi_alloc(m->vocab->n_words, sizeof(*f.mask));
	if (!f.mask)
		return NULL;
	fill(&f, s);
	if (f.failed || !lmi_keymap_add(m, &m->masks, key, m->n_mask)) {
		lmi_free(f.mask);
		return NULL;
	}
	m->bytes += m->vocab->n_words * sizeof(*f.mask);
	m->mask[m->n_mask++] = f.mask;
	return f.mask;
}
