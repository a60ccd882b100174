/* SPDX-License-Identifier: MIT
 *
 * What must hold for each step: rows are computed in order, each one is output once, and the rows in
 * memory are those of the sequence's tokens. */
#include <string.h>

#include "core/sched/sched_fixture.h"

static uint32_t next_hash(uint32_t h, lmd_token t)
{
	return (h ^ (uint32_t)t ^ 5) * 0x9e3779b1u + 1;
}

/* Checks that the rows that a part continues are those of its tokens, and writes its own. */
void fixture_check_rows(struct fixture *w, const struct lmi_sched_part *p, int32_t *row)
{
	const struct client *c = &w->c[p->seq];
	uint32_t h = (uint32_t)c->o.identity.tenant;

	for (uint32_t i = 0; i < p->first + p->n; i++) {
		int32_t at = lmi_kv_row(w->kv, 0, p->kv_seq, i);

		h = next_hash(h, c->token[i]);
		if (i < p->first) {
			MUST(w->row[at] == h);
			continue;
		}
		w->row[at] = h;
		row[i - p->first] = at;
	}
}

/* Does a step that runs after the oldest one write a physical row? */
static bool is_written_later(const struct fixture *w, int32_t row)
{
	for (uint32_t i = 1; i < w->n_flight; i++) {
		const struct flight *f = &w->flight[i];

		for (uint32_t k = 0; k < f->n_part; k++)
			for (uint32_t n = 0; n < f->part[k].n && w->c[f->part[k].seq].token; n++)
				if (f->row[k][n] == row)
					return true;
	}
	return false;
}

void fixture_lose_rows(struct fixture *w, const struct flight *f)
{
	for (uint32_t k = 0; k < f->n_part; k++)
		for (uint32_t i = 0; i < f->part[k].n && w->c[f->part[k].seq].token; i++)
			if (!is_written_later(w, f->row[k][i]))
				w->row[f->row[k][i]] = 0;
}

void fixture_copy_rows(struct fixture *w)
{
	const struct lmi_kv_copy *c;
	uint32_t n = lmi_kv_copies(w->kv, &c);

	for (uint32_t i = 0; i < n; i++)
		if (!c[i].group)
			memmove(&w->row[c[i].dst * PT], &w->row[c[i].src * PT],
				PT * sizeof(w->row[0]));
}

void fixture_drop_drafts(struct fixture *w)
{
	for (uint32_t i = 0; i < N_MAX; i++) {
		struct client *c = &w->c[i];
		uint32_t n;

		if (!c->used || c->cancelled || c->draft_from == NO_DRAFT)
			continue;
		n = lmi_sched_n_known(w->s, i);
		MUST(n <= c->n_known && n >= c->draft_from);
		w->n_dropped += c->n_known - n;
		c->n_known = n;
		if (n == c->draft_from)
			c->draft_from = NO_DRAFT;
	}
}

/* Returns the first row that a part of this sequence must output. */
static uint32_t output_from(const struct client *c)
{
	if (c->o.out == LMI_SCHED_OUT_ALL)
		return c->n_pending ? c->out_planned : c->out_done;
	return (c->draft_from < c->n_known ? c->draft_from : c->n_known) - 1;
}

static void check_marks(const struct client *c, const struct lmi_sched_part *p)
{
	uint32_t n_draft = 0;

	for (uint32_t i = 0; i < p->n_mark; i++) {
		MUST(p->mark[i] && p->mark[i] < p->n && (!i || p->mark[i] > p->mark[i - 1]));
		n_draft += p->first + p->mark[i] >= c->draft_from;
	}
	/* a part that decides about drafts has them all, and a mark where each can be rejected */
	MUST(c->draft_from == NO_DRAFT || p->first + p->n < c->draft_from ||
	     p->first + p->n == c->n_known);
	if (c->draft_from != NO_DRAFT && p->first + p->n > c->draft_from)
		MUST(n_draft == p->first + p->n - fixture_max2(c->draft_from, p->first + 1));
}

static void check_part(struct fixture *w, const struct lmi_sched_step *step, uint32_t k)
{
	const struct lmi_sched_part *p = &step->parts[k];
	struct client *c = &w->c[p->seq];
	uint32_t end = p->first + p->n, out;

	MUST(c->used && !c->cancelled && p->n && !c->n_void);
	for (uint32_t i = 0; i < k; i++)
		MUST(step->parts[i].seq != p->seq && step->parts[i].kv_seq != p->kv_seq);
	if (p->encode) {
		MUST(step->plan == c->o.encode_plan && p->n == c->o.n_encode && !p->n_out);
		MUST(lmi_kv_cross(w->kv, p->kv_seq) == p->n && !c->n_pending);
		c->planned = 0;
		w->n_encoded++;
		return;
	}
	MUST(step->plan == c->o.plan);
	MUST(!c->o.n_encode || lmi_kv_cross(w->kv, p->kv_seq));
	MUST(p->first == (c->n_pending ? c->planned : lmi_sched_n_done(w->s, p->seq)));
	MUST(end + c->held <= c->n_known && lmi_kv_len(w->kv, p->kv_seq) == lmi_sched_n_done(w->s, p->seq));
	MUST(!c->o.max_chunk || p->n <= (p->first < c->o.chunk_from
						 ? c->o.chunk_from - p->first
						 : c->o.max_chunk));
	MUST(!c->o.whole || c->n_known > c->o.n_known || (!p->first && p->n == c->o.n_known));
	/* rows are output in order, none twice, none skipped */
	out = fixture_max2(output_from(c), p->first);
	MUST(p->n_out == (end > out ? end - out : 0));
	check_marks(c, p);
	w->n_marked += p->n_mark != 0;
	w->n_ahead += c->n_pending != 0;
	c->planned = end;
}

/* Sequences that lack one row come before all chunks. */
static void check_order(struct fixture *w, const struct lmi_sched_step *step)
{
	uint32_t n_single = 0, n_many = 0;

	for (uint32_t k = 0; k < step->n_part; k++) {
		const struct lmi_sched_part *p = &step->parts[k];
		bool single = !p->encode && w->c[p->seq].n_known - p->first == 1 && p->first;

		n_single += single;
		n_many += !single;
	}
	w->n_mixed += n_single && n_many;
}

static void check_limit(const struct fixture *w, const struct lmi_sched_step *step,
			const struct lmi_sched_limit *l)
{
	bool splits = true;

	for (uint32_t k = 0; k < step->n_part; k++)
		splits = splits && !step->parts[k].encode && !w->c[step->parts[k].seq].o.whole;
	MUST(!l->n_part || step->n_part <= l->n_part);
	MUST(!l->n_row || !splits || step->n_row <= l->n_row);
}

void fixture_check_step(struct fixture *w, const struct lmi_sched_step *step,
		      const struct lmi_sched_limit *limit)
{
	for (uint32_t k = 0; k < step->n_part; k++)
		check_part(w, step, k);
	check_order(w, step);
	check_limit(w, step, limit);
}
