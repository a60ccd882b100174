/* SPDX-License-Identifier: MIT
 *
 * Tests the KV memory against a model without pages (kv_fixture.h), by steps that are planned, run and end at
 * random. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/kv/kv_fixture.h"

/* ---- planning ---- */

/* Checks that no slot is read by one sequence and written by another, nor written twice. */
static void verify_slots(const struct flight *f)
{
	for (uint32_t a = 0; a < f->n_part && kv_fixture_has_states(); a++) {
		for (uint32_t b = 0; b < f->n_part; b++) {
			const struct part *p = &f->part[a], *q = &f->part[b];

			MUST(q->out >= 0);
			MUST(a == b || (p->in != q->out && p->out != q->out));
			for (uint32_t i = 0; i < q->n_mark; i++)
				MUST(q->mark_slot[i] != p->in && q->mark_slot[i] != p->out);
		}
	}
}

static void fill_changes(struct world *w, struct flight *f, uint32_t g, uint32_t s)
{
	struct lmd_page_set *set = f->set[g] + f->n_set[g];
	uint32_t n = lmi_kv_n_changes(w->kv, g, s);
	struct lmi_kv_run r;

	if ((g + s) % 2 == 0) {
		f->n_set[g] += lmi_kv_changes(w->kv, g, s, set, N_CTX);
		return;
	}
	r = lmi_kv_take_run(w->kv, g, s); /* in one run, which does not go through a step */
	MUST(r.n == n && !lmi_kv_n_changes(w->kv, g, s));
	for (uint32_t i = 0; i < n; i++)
		set[i] = (struct lmd_page_set){.seq_slot = s, .index = r.index + i, .page = r.pages[i]};
	f->n_set[g] += n;
}

static void fill_part(struct world *w, struct flight *f, struct part *p)
{
	struct model_seq *m = &w->seq[p->s];

	for (uint32_t g = 0; g < kv_fixture_n_group; g++) {
		for (uint32_t i = 0; i < p->n && kv_fixture_groups[g].kind == LMD_GROUP_PAGED; i++) {
			p->row[g][i] = lmi_kv_row(w->kv, g, p->s, p->first + i);
			MUST((p->row[g][i] < 0) == ((p->first + i + 1) % kv_fixture_ratio(g) != 0));
		}
		if (kv_fixture_is_paged(g))
			fill_changes(w, f, g, p->s);
	}
	for (uint32_t i = 0; i < p->n; i++)
		p->tag[i] = m->tag[p->first + i] =
			w->cached ? kv_fixture_tag_of(m, p->first + i) : w->next_tag++;
	if (kv_fixture_has_states()) {
		p->in = lmi_kv_state_in(w->kv, kv_fixture_g_state, p->s);
		p->out = lmi_kv_state_out(w->kv, kv_fixture_g_state, p->s);
	}
	for (uint32_t i = 0; i < 3 && kv_fixture_has_states(); i++) {
		p->mark_slot[i] = lmi_kv_state_mark(w->kv, kv_fixture_g_state, p->s, i);
		MUST((p->mark_slot[i] >= 0) == (i < p->n_mark));
	}
	if (m->cross && !m->cross_tag) { /* its first step writes the CROSS rows */
		p->cross_tag = m->cross_tag = w->next_tag;
		w->next_tag += N_CROSS;
		for (uint32_t i = 0; i < m->cross; i++)
			p->cross_row[i] = lmi_kv_row(w->kv, G_CROSS, p->s, i);
	}
}

static void plan_seq(struct world *w, struct flight *f, uint32_t s)
{
	struct model_seq *m = &w->seq[s];
	struct part *p = &f->part[f->n_part];

	*p = (struct part){.s = s, .id = m->id, .first = m->end, .cross = m->cross};
	p->n = 1 + kv_fixture_below(w, kv_fixture_below(w, 3) ? 2 : N_STEP);
	for (uint32_t at = 0; p->n_mark < 3 && !kv_fixture_below(w, 2); p->n_mark++) {
		at += 1 + kv_fixture_below(w, 4);
		if (at >= p->n)
			break;
		p->mark[p->n_mark] = at;
	}
	MUST(lmi_kv_n_pending(w->kv, s) == m->n_pending);
	if (!lmi_kv_reserve(w->kv, s, p->n, p->mark, p->n_mark)) {
		w->n_refused++;
		return;
	}
	m->end += p->n;
	w->n_deep += m->n_pending++ > 0;
	w->n_marked += p->n_mark;
	f->n_part++;
}

static void plan_step(struct world *w)
{
	struct flight *f = &w->flight[w->n_flight];
	const struct lmi_kv_copy *copy;

	*f = (struct flight){.has_run = false};
	for (uint32_t s = 0; s < N_SEQ; s++)
		if (w->seq[s].open && !lmi_kv_is_void(w->kv, s) && !w->seq[s].n_void && kv_fixture_below(w, 3))
			plan_seq(w, f, s);
	if (!f->n_part)
		return;
	for (uint32_t k = 0; k < f->n_part; k++)
		fill_part(w, f, &f->part[k]);
	f->n_copy = lmi_kv_copies(w->kv, &copy);
	memcpy(f->copy, copy, f->n_copy * sizeof(*copy));
	verify_slots(f);
	w->n_flight++;
}

/* ---- the end of a step ---- */

static void fork_some(struct world *w, const struct part *p)
{
	struct model_seq *m = &w->seq[p->s];
	uint32_t at = m->len, to;

	if (p->n_mark && kv_fixture_below(w, 2))
		at = p->first + p->mark[kv_fixture_below(w, p->n_mark)];
	else if (!kv_fixture_below(w, 4))
		at = kv_fixture_below(w, m->len + 1);
	if (!lmi_kv_can_fork(w->kv, p->s, at)) {
		MUST(!at || at != m->len || m->n_pending);
		return;
	}
	to = lmi_kv_fork(w->kv, p->s, at);
	if (to == LMI_KV_NO_PAGE) {
		MUST(lmi_kv_n_free_seq(w->kv) == 0);
		return;
	}
	MUST(!w->seq[to].open);
	w->seq[to] = *m;
	w->next_id += (w->next_id + m->id) % 2; /* of the same tenant */
	w->seq[to].id = w->next_id++;
	if (w->cached)
		kv_fixture_random_tokens(w, w->seq[to].token + at, N_CTX - at);
	w->seq[to].len = w->seq[to].end = at;
	w->seq[to].n_pending = w->seq[to].n_void = 0;
	w->n_forked++;
}

/* Pins the beginning of a sequence, or lets time pass. */
static void pin_some(struct world *w, uint32_t s)
{
	uint32_t owner = kv_fixture_below(w, 3), n, len = w->seq[s].len;
	struct lmi_kv_stats st;

	w->now++;
	if (kv_fixture_below(w, 2)) {
		lmi_kv_unpin(w->kv, w->now);
		return;
	}
	n = lmi_kv_pin(w->kv, &w->who[w->seq[s].id % 2], w->seq[s].token, kv_fixture_below(w, len + 1), owner,
		       w->now + 1 + kv_fixture_below(w, 30), 5);
	MUST(n <= len && n % PT == 0);
	lmi_kv_stats(w->kv, &st);
	MUST(st.n_pinned <= 3 * 5);
	w->n_pinned += n;
}

static void close_seq(struct world *w, uint32_t s, bool remember)
{
	if (w->cached && remember) {
		lmi_kv_remember(w->kv, s, w->seq[s].token, true);
		pin_some(w, s);
	}
	lmi_kv_close(w->kv, s);
	w->seq[s].open = false;
	w->n_closed++;
}

/* Returns how many tokens of the part count. */
static uint32_t kept_of(struct world *w, const struct flight *f, const struct part *p)
{
	if (f->failed)
		return 0;
	if (!p->n_mark || kv_fixture_below(w, 4))
		return p->n;
	w->n_partial++;
	return p->mark[kv_fixture_below(w, p->n_mark)];
}

/* Shortens the sequence to a mark, as long as it has one, or to any length. */
static void truncate_some(struct world *w, const struct part *p)
{
	struct model_seq *m = &w->seq[p->s];
	uint32_t at = p->n_mark ? p->first + p->mark[kv_fixture_below(w, p->n_mark)] : kv_fixture_below(w, m->len + 1);

	if (!lmi_kv_truncate(w->kv, p->s, at)) {
		MUST(at != m->len && !lmi_kv_can_fork(w->kv, p->s, at));
		return;
	}
	w->n_truncated += at < m->len;
	m->len = m->end = at;
	kv_fixture_random_tokens(w, m->token + at, N_CTX - at);
	MUST(lmi_kv_len(w->kv, p->s) == at);
}

static void end_part(struct world *w, const struct flight *f, const struct part *p)
{
	struct model_seq *m = &w->seq[p->s];
	uint32_t kept;

	if (!m->open || m->id != p->id)
		return;
	m->n_pending--;
	if (p->cross_tag && (f->failed || lmi_kv_is_void(w->kv, p->s)))
		m->cross_tag = 0; /* its next step writes the CROSS rows again */
	if (lmi_kv_is_void(w->kv, p->s)) {
		w->n_void++;
		m->n_void--;
		lmi_kv_commit(w->kv, p->s, 0);
		if (!m->n_pending && m->end == LOST)
			close_seq(w, p->s, false); /* its state may be overwritten */
		return;
	}
	kept = kept_of(w, f, p);
	lmi_kv_commit(w->kv, p->s, kept);
	m->len += kept;
	MUST(lmi_kv_len(w->kv, p->s) == m->len);
	MUST(lmi_kv_is_void(w->kv, p->s) == (kept < p->n && m->n_pending));
	if (kept < p->n) {
		m->n_void = m->n_pending;
		m->end = !kept && m->n_pending ? LOST : m->len;
	}
	while (kept && !kv_fixture_below(w, w->cached ? 8 : 3))
		fork_some(w, p);
	if (w->cached && kept && kv_fixture_below(w, 4))
		lmi_kv_remember(w->kv, p->s, m->token, false);
	if (kept && !m->n_pending && !kv_fixture_below(w, 4))
		truncate_some(w, p);
	lmi_kv_trim(w->kv, p->s);
}

static void end_step(struct world *w)
{
	struct flight *f = &w->flight[0];

	if (!f->has_run)
		kv_fixture_run(w, f);
	w->n_failed += f->failed;
	for (uint32_t k = 0; k < f->n_part; k++)
		end_part(w, f, &f->part[k]);
	w->n_flight--;
	memmove(f, f + 1, w->n_flight * sizeof(*f));
}

/* ---- the walk ---- */

/* Opens a sequence whose tokens begin like those of others. */
static void open_prefix(struct world *w)
{
	struct model_seq m = {.open = true, .id = w->next_id++};
	uint32_t i = kv_fixture_below(w, LMD_LEN(w->text)), n = kv_fixture_below(w, N_CTX), s;
	struct lmi_kv_prefix p;

	if (kv_fixture_below(w, 2)) /* from here on the texts differ */
		kv_fixture_random_tokens(w, w->text[i] + n, N_CTX - n);
	memcpy(m.token, w->text[i], sizeof(m.token));
	lmi_kv_find_prefix(w->kv, &w->who[m.id % 2], m.token, kv_fixture_below(w, N_CTX), &p);
	(void)lmi_kv_fits_after(w->kv, &p, N_CTX, N_STEP);
	s = lmi_kv_open_prefix(w->kv, &p);
	if (s == LMI_KV_NO_PAGE)
		return;
	MUST(!w->seq[s].open && lmi_kv_len(w->kv, s) == p.n);
	m.len = m.end = p.n;
	for (uint32_t k = 0; k < p.n; k++)
		m.tag[k] = kv_fixture_tag_of(&m, k);
	w->seq[s] = m;
	w->n_open++;
	w->n_hit += p.n > 0;
	w->n_tail += p.n % PT != 0;
	w->n_hit_tokens += p.n;
}

static void open_or_close(struct world *w)
{
	uint32_t s = kv_fixture_below(w, N_SEQ);

	if (w->seq[s].open && !kv_fixture_below(w, w->cached ? 1 : 3)) {
		close_seq(w, s, kv_fixture_below(w, 4) && !lmi_kv_is_void(w->kv, s)); /* perhaps while it is part of a step */
		return;
	}
	if (w->cached) {
		open_prefix(w);
		return;
	}
	s = lmi_kv_open(w->kv);
	if (s == LMI_KV_NO_PAGE)
		return;
	MUST(!w->seq[s].open);
	w->seq[s] = (struct model_seq){.open = true, .id = w->next_id++};
	if (kv_fixture_below(w, 2) && lmi_kv_reserve_cross(w->kv, s, 1 + kv_fixture_below(w, N_CROSS)))
		w->seq[s].cross = lmi_kv_cross(w->kv, s);
}

static void walk(struct world *w)
{
	switch (kv_fixture_below(w, 5)) {
	case 0:
		open_or_close(w);
		break;
	case 1: /* the device is as late as it likes, but in order */
		for (uint32_t i = 0; i < w->n_flight; i++) {
			if (w->flight[i].has_run)
				continue;
			kv_fixture_run(w, &w->flight[i]);
			break;
		}
		break;
	default:
		if (w->n_flight < w->depth)
			plan_step(w);
		if (w->n_flight == w->depth || (w->n_flight && kv_fixture_below(w, 2)))
			end_step(w);
	}
}

/* _i % 3 + 1 steps in flight; from 3 on with prefix caching, from 6 on also with states */
START_TEST(random_walk)
{
	struct lmi_alloc_stats before, after;
	struct world *w;
	struct lmi_kv_stats st;
	uint64_t allocs;

	lmi_alloc_stats(&before);
	w = lmi_alloc(1, sizeof(*w));
	ck_assert_ptr_nonnull(w);
	kv_fixture_init(w, lmd_seed("kv random walk", 11), (uint32_t)_i % 3 + 1, _i >= 3,
		      _i >= 6);
	allocs = lmi_alloc_thread_count();
	for (uint32_t op = 0; op < 100000; op++) {
		walk(w);
		if (!lmi_kv_check(w->kv))
			ck_abort_msg("invariants violated after operation %u", op);
	}
	while (w->n_flight)
		end_step(w);
	ck_assert_uint_eq(lmi_alloc_thread_count(), allocs);
	printf("%d in flight: refused %u, copied %u, forked %u, marked %u, failed %u, closed %u, "
	       "void %u, partial %u, truncated %u, deep %u\n",
	       _i + 1, w->n_refused, w->n_copied, w->n_forked, w->n_marked, w->n_failed, w->n_closed,
	       w->n_void, w->n_partial, w->n_truncated, w->n_deep);
	ck_assert(w->n_refused > 100 && w->n_copied > 100 && w->n_forked > 100 &&
		  w->n_marked > 100 && w->n_failed > 100 && w->n_closed > 100 &&
		  w->n_partial > 100 && w->n_truncated > 100);
	if (w->cached) {
		lmi_kv_stats(w->kv, &st);
		printf("opened %u, %u with %llu tokens found, %u in the middle of a page, "
		       "evicted %llu\n",
		       w->n_open, w->n_hit, (unsigned long long)w->n_hit_tokens, w->n_tail,
		       (unsigned long long)st.n_evicted);
		ck_assert(w->n_hit > w->n_open / 50 && w->n_tail > 50 && st.n_evicted > 1000 &&
			  w->n_pinned > 1000);
	}
	ck_assert(_i % 3 ? w->n_void > 100 && w->n_deep > 1000 : !w->n_void && !w->n_deep);
	for (uint32_t s = 0; s < N_SEQ; s++)
		if (w->seq[s].open)
			close_seq(w, s, false);
	lmi_kv_stats(w->kv, &st);
	ck_assert_uint_eq(st.n_seq_free, N_SEQ);
	for (uint32_t g = 0; g < kv_fixture_n_group; g++)
		ck_assert_uint_eq(st.n_free[g], st.n_page[g]);
	ck_assert(lmi_kv_check(w->kv));
	lmi_kv_destroy(w->kv);
	lmi_free(w);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST
int main(void)
{
	Suite *s = suite_create("kv walk");
	TCase *t = tcase_create("kv walk");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, random_walk, 0, 3 * DEPTH);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
