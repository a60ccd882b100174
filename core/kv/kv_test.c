/* SPDX-License-Identifier: MIT
 *
 * Tests the KV memory against a model without pages: each sequence has a list of tags, one per
 * token, and a row that is read through the device's page table must have the expected tag.
 * The device (its tables, rows and states) is simulated by arrays that are updated only with
 * what a step block would pass to a real device.  It runs up to three steps late. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/kv/kv.h"
#include "core/kv/page_table.h"
#include "core/kv/slots.h"
#include "tests/lmd_check.h"

#define PT	16
#define N_SEQ	9
#define N_CTX	120
#define N_CROSS 40
#define N_PAGE	40
#define N_STEP	24

static const struct lmd_group all_groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 20, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
	{.name = "chunk", .kind = LMD_GROUP_PAGED, .causal = 1, .chunk = 33, .ratio = 1},
	{.name = "blocks", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 3},
	{.name = "cross", .kind = LMD_GROUP_CROSS, .ratio = 1},
	{.name = "batch", .kind = LMD_GROUP_BATCH, .ratio = 1},
};
/* those whose prefixes can be found */
static const struct lmd_group cached_groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 20, .ratio = 1},
	{.name = "chunk", .kind = LMD_GROUP_PAGED, .causal = 1, .chunk = 33, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
};
static const struct lmd_group *groups = all_groups;
static uint32_t n_group = LMD_LEN(all_groups);
static uint32_t g_state = 2; /* the group of states; n_group: none */
#define N_GROUP LMD_LEN(all_groups)
#define G_CROSS 5

/* ck_assert reports every passed check to its parent process; there are millions here. */
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)

#define DEPTH 3 /* steps in flight */
#define LOST  UINT32_MAX /* what rows and states are that do not count */

/* The model's view of a sequence. */
struct model_seq {
	bool open;
	uint32_t id;	  /* unique */
	uint32_t len, end; /* tokens committed, and planned */
	uint32_t n_pending, n_void; /* pending steps; those that do not count */
	uint32_t cross;
	uint32_t tag[N_CTX];
	uint32_t cross_tag;
	lmd_token token[N_CTX]; /* only with prefix caching */
};

/* What a step block tells the device about one sequence. */
struct part {
	uint32_t s, id, first, n, cross;
	uint32_t n_mark, mark[3];
	int32_t row[LMD_MAX_GROUP][N_STEP];
	int32_t in, out, mark_slot[3];
	uint32_t tag[N_STEP];
	uint32_t cross_tag;
	int32_t cross_row[N_CROSS]; /* written before the step if cross_tag */
};

struct flight {
	bool has_run, failed;
	uint32_t n_part, n_copy, n_set[LMD_MAX_GROUP];
	struct part part[N_SEQ];
	struct lmi_kv_copy copy[N_SEQ * LMD_MAX_GROUP];
	struct lmd_page_set set[LMD_MAX_GROUP][N_SEQ * N_CTX];
};

struct world {
	struct lmi_kv *kv;
	struct model_seq seq[N_SEQ];
	uint32_t depth, n_flight; /* at most; now, oldest first: */
	struct flight flight[DEPTH];
	uint32_t table[N_GROUP][N_SEQ][N_CTX]; /* the device's page tables */
	uint32_t row[N_GROUP][N_PAGE * PT];
	uint32_t state[64];
	uint32_t next_tag, next_id;
	bool cached; /* prefix caching: tags are hashes of the tokens up to theirs */
	lmd_token text[8][N_CTX];
	struct lmi_kv_identity who[2];
	uint64_t now, n_pinned;
	uint32_t n_open, n_hit, n_tail;
	uint64_t n_hit_tokens;
	uint64_t rnd;
	uint32_t n_refused, n_copied, n_forked, n_marked, n_failed, n_closed, n_void, n_partial,
		n_truncated, n_deep;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return (uint32_t)(lmd_rand(&w->rnd) % n);
}

/* The state after the first n tokens; 0 = zeros. */
static uint32_t state_after(const struct model_seq *m, uint32_t n)
{
	uint32_t h = 0;

	for (uint32_t i = 0; i < n; i++)
		h = h * 31 + m->tag[i];
	return h;
}

/* The hash of the tokens up to token i of a sequence. */
static uint32_t tag_of(const struct model_seq *m, uint32_t i)
{
	uint32_t h = i ? m->tag[i - 1] : 77 + m->id % 2;

	return (h ^ (uint32_t)m->token[i]) * 0x9e3779b1u % (LOST - 1) + 1;
}

/* Tokens of few kinds, so that sequences have parts in common. */
static void random_tokens(struct world *w, lmd_token *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = !below(w, 20);
}

static void world_init(struct world *w, uint64_t seed, uint32_t depth, bool cached)
{
	struct lmi_kv_opts o = {.groups = groups,
				.n_group = n_group,
				.page_tokens = PT,
				.n_seq = N_SEQ,
				.n_ctx = N_CTX,
				.n_cross = N_CROSS};

	memset(w, 0, sizeof(*w));
	w->rnd = seed;
	w->depth = depth;
	w->cached = o.cache_prefixes = cached;
	for (uint32_t i = 0; i < LMD_LEN(w->text); i++)
		random_tokens(w, w->text[i], N_CTX);
	w->who[1].tenant = 1;
	w->next_tag = w->next_id = 1;
	for (uint32_t g = 0; g < n_group; g++) {
		o.n_page[g] = N_PAGE - 8 * (g % 2);
		o.n_slot[g] = N_SEQ + 4;
	}
	ck_assert_int_eq(lmi_kv_create(&w->kv, &o, NULL), LMD_OK);
}

static uint32_t group_ratio(uint32_t g)
{
	return groups[g].ratio > 1 ? groups[g].ratio : 1;
}

static bool is_paged(uint32_t g)
{
	return groups[g].kind == LMD_GROUP_PAGED || groups[g].kind == LMD_GROUP_CROSS;
}

static bool has_states(void)
{
	return g_state < n_group;
}

/* ---- the device ---- */

/* Looks up a row of the simulated device as a kernel does. */
static uint32_t device_read(const struct world *w, uint32_t g, uint32_t seq, uint32_t row)
{
	uint32_t page = w->table[g][seq][row / PT];

	MUST(page < N_PAGE);
	return w->row[g][page * PT + row % PT];
}

/* Checks that everything the row of token `pos` sees is what was written for it. */
static void verify_row(const struct world *w, const struct part *p, uint32_t pos)
{
	const struct model_seq *m = &w->seq[p->s];

	for (uint32_t g = 0; g < n_group; g++) {
		struct lmi_kv_span v;

		if (groups[g].kind == LMD_GROUP_CROSS) {
			for (uint32_t r = 0; r < p->cross; r++)
				MUST(device_read(w, g, p->s, r) == m->cross_tag + r);
			continue;
		}
		if (groups[g].kind != LMD_GROUP_PAGED)
			continue;
		v = lmi_kv_interval(w->kv, g, pos, p->first + p->n);
		for (int32_t r = v.lo; r < v.hi; r++)
			MUST(device_read(w, g, p->s, (uint32_t)r) ==
			     m->tag[((uint32_t)r + 1) * group_ratio(g) - 1]);
	}
}

static void apply_tables(struct world *w, const struct flight *f)
{
	for (uint32_t i = 0; i < f->n_copy; i++, w->n_copied++)
		memmove(&w->row[f->copy[i].group][f->copy[i].dst * PT],
			&w->row[f->copy[i].group][f->copy[i].src * PT], PT * sizeof(uint32_t));
	for (uint32_t g = 0; g < n_group; g++)
		for (uint32_t i = 0; i < f->n_set[g]; i++)
			w->table[g][f->set[g][i].seq_slot][f->set[g][i].index] = f->set[g][i].page;
}

/* Does the part continue rows that count, of a sequence that is still there? */
static bool counts(const struct world *w, const struct part *p)
{
	const struct model_seq *m = &w->seq[p->s];

	return m->open && m->id == p->id && !m->n_void;
}

static void write_rows(struct world *w, const struct part *p, bool valid)
{
	for (uint32_t i = 0; p->cross_tag && i < p->cross; i++)
		w->row[G_CROSS][p->cross_row[i]] = valid ? p->cross_tag + i : LOST;
	for (uint32_t g = 0; g < n_group; g++)
		for (uint32_t i = 0; i < p->n && groups[g].kind == LMD_GROUP_PAGED; i++)
			if (p->row[g][i] >= 0)
				w->row[g][p->row[g][i]] = valid ? p->tag[i] : LOST;
}

static void write_states(struct world *w, const struct part *p, bool valid)
{
	if (!has_states())
		return;
	const struct model_seq *m = &w->seq[p->s];

	w->state[p->out] = valid ? state_after(m, p->first + p->n) : LOST;
	for (uint32_t i = 0; i < p->n_mark; i++)
		w->state[p->mark_slot[i]] = valid ? state_after(m, p->first + p->mark[i]) : LOST;
}

/* Runs a step; steps run in order. */
static void device_run(struct world *w, struct flight *f)
{
	f->has_run = true;
	f->failed = !below(w, 30);
	apply_tables(w, f);
	for (uint32_t k = 0; k < f->n_part && !f->failed; k++) {
		const struct part *p = &f->part[k];

		MUST(!has_states() || !counts(w, p) || (p->in < 0 ? 0 : w->state[p->in]) ==
					      state_after(&w->seq[p->s], p->first));
	}
	for (uint32_t k = 0; k < f->n_part && !f->failed; k++)
		write_rows(w, &f->part[k], counts(w, &f->part[k]));
	for (uint32_t k = 0; k < f->n_part && !f->failed; k++) {
		const struct part *p = &f->part[k];

		write_states(w, p, counts(w, p));
		for (uint32_t i = 0; i < p->n && counts(w, p); i++)
			verify_row(w, p, p->first + i);
	}
	/* the rows that a failed step did not write are missing for those after it */
	for (uint32_t k = 0; k < f->n_part && f->failed; k++)
		if (counts(w, &f->part[k]))
			w->seq[f->part[k].s].n_void = w->seq[f->part[k].s].n_pending;
}

/* ---- planning ---- */

/* Checks that no slot is read by one sequence and written by another, nor written twice. */
static void verify_slots(const struct flight *f)
{
	for (uint32_t a = 0; a < f->n_part && has_states(); a++) {
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

	for (uint32_t g = 0; g < n_group; g++) {
		for (uint32_t i = 0; i < p->n && groups[g].kind == LMD_GROUP_PAGED; i++) {
			p->row[g][i] = lmi_kv_row(w->kv, g, p->s, p->first + i);
			MUST((p->row[g][i] < 0) == ((p->first + i + 1) % group_ratio(g) != 0));
		}
		if (is_paged(g))
			fill_changes(w, f, g, p->s);
	}
	for (uint32_t i = 0; i < p->n; i++)
		p->tag[i] = m->tag[p->first + i] =
			w->cached ? tag_of(m, p->first + i) : w->next_tag++;
	if (has_states()) {
		p->in = lmi_kv_state_in(w->kv, g_state, p->s);
		p->out = lmi_kv_state_out(w->kv, g_state, p->s);
	}
	for (uint32_t i = 0; i < 3 && has_states(); i++) {
		p->mark_slot[i] = lmi_kv_state_mark(w->kv, g_state, p->s, i);
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
	p->n = 1 + below(w, below(w, 3) ? 2 : N_STEP);
	for (uint32_t at = 0; p->n_mark < 3 && !below(w, 2); p->n_mark++) {
		at += 1 + below(w, 4);
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
		if (w->seq[s].open && !lmi_kv_is_void(w->kv, s) && !w->seq[s].n_void && below(w, 3))
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

	if (p->n_mark && below(w, 2))
		at = p->first + p->mark[below(w, p->n_mark)];
	else if (!below(w, 4))
		at = below(w, m->len + 1);
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
		random_tokens(w, w->seq[to].token + at, N_CTX - at);
	w->seq[to].len = w->seq[to].end = at;
	w->seq[to].n_pending = w->seq[to].n_void = 0;
	w->n_forked++;
}

/* Pins the beginning of a sequence, or lets time pass. */
static void pin_some(struct world *w, uint32_t s)
{
	uint32_t owner = below(w, 3), n, len = w->seq[s].len;
	struct lmi_kv_stats st;

	w->now++;
	if (below(w, 2)) {
		lmi_kv_unpin(w->kv, w->now);
		return;
	}
	n = lmi_kv_pin(w->kv, &w->who[w->seq[s].id % 2], w->seq[s].token, below(w, len + 1), owner,
		       w->now + 1 + below(w, 30), 5);
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
	if (!p->n_mark || below(w, 4))
		return p->n;
	w->n_partial++;
	return p->mark[below(w, p->n_mark)];
}

/* Shortens the sequence to a mark, as long as it has one, or to any length. */
static void truncate_some(struct world *w, const struct part *p)
{
	struct model_seq *m = &w->seq[p->s];
	uint32_t at = p->n_mark ? p->first + p->mark[below(w, p->n_mark)] : below(w, m->len + 1);

	if (!lmi_kv_truncate(w->kv, p->s, at)) {
		MUST(at != m->len && !lmi_kv_can_fork(w->kv, p->s, at));
		return;
	}
	w->n_truncated += at < m->len;
	m->len = m->end = at;
	random_tokens(w, m->token + at, N_CTX - at);
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
	while (kept && !below(w, w->cached ? 8 : 3))
		fork_some(w, p);
	if (w->cached && kept && below(w, 4))
		lmi_kv_remember(w->kv, p->s, m->token, false);
	if (kept && !m->n_pending && !below(w, 4))
		truncate_some(w, p);
	lmi_kv_trim(w->kv, p->s);
}

static void end_step(struct world *w)
{
	struct flight *f = &w->flight[0];

	if (!f->has_run)
		device_run(w, f);
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
	uint32_t i = below(w, LMD_LEN(w->text)), n = below(w, N_CTX), s;
	struct lmi_kv_prefix p;

	if (below(w, 2)) /* from here on the texts differ */
		random_tokens(w, w->text[i] + n, N_CTX - n);
	memcpy(m.token, w->text[i], sizeof(m.token));
	lmi_kv_find_prefix(w->kv, &w->who[m.id % 2], m.token, below(w, N_CTX), &p);
	(void)lmi_kv_fits_after(w->kv, &p, N_CTX, N_STEP);
	s = lmi_kv_open_prefix(w->kv, &p);
	if (s == LMI_KV_NO_PAGE)
		return;
	MUST(!w->seq[s].open && lmi_kv_len(w->kv, s) == p.n);
	m.len = m.end = p.n;
	for (uint32_t k = 0; k < p.n; k++)
		m.tag[k] = tag_of(&m, k);
	w->seq[s] = m;
	w->n_open++;
	w->n_hit += p.n > 0;
	w->n_tail += p.n % PT != 0;
	w->n_hit_tokens += p.n;
}

static void open_or_close(struct world *w)
{
	uint32_t s = below(w, N_SEQ);

	if (w->seq[s].open && !below(w, w->cached ? 1 : 3)) {
		close_seq(w, s, below(w, 4) && !lmi_kv_is_void(w->kv, s)); /* perhaps while it is part of a step */
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
	if (below(w, 2) && lmi_kv_reserve_cross(w->kv, s, 1 + below(w, N_CROSS)))
		w->seq[s].cross = lmi_kv_cross(w->kv, s);
}

static void walk(struct world *w)
{
	switch (below(w, 5)) {
	case 0:
		open_or_close(w);
		break;
	case 1: /* the device is as late as it likes, but in order */
		for (uint32_t i = 0; i < w->n_flight; i++) {
			if (w->flight[i].has_run)
				continue;
			device_run(w, &w->flight[i]);
			break;
		}
		break;
	default:
		if (w->n_flight < w->depth)
			plan_step(w);
		if (w->n_flight == w->depth || (w->n_flight && below(w, 2)))
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
	if (_i >= 3) {
		groups = cached_groups;
		n_group = LMD_LEN(cached_groups) - (_i < 6);
		g_state = 3;
	}
	world_init(w, lmd_seed("kv random walk", 11), (uint32_t)_i % 3 + 1, _i >= 3);
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
	for (uint32_t g = 0; g < n_group; g++)
		ck_assert_uint_eq(st.n_free[g], st.n_page[g]);
	ck_assert(lmi_kv_check(w->kv));
	lmi_kv_destroy(w->kv);
	lmi_free(w);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST

/* Checks every interval against its definition, key by key. */
START_TEST(intervals)
{
	static const struct lmd_group kinds[] = {
		{.causal = 1},
		{.causal = 1, .window = 5},
		{.causal = 1, .window = 1},
		{.causal = 1, .chunk = 7},
		{.causal = 1, .ratio = 4},
		{.causal = 0},
		{.causal = 1, .ratio = 4, .window = 3},
		{.causal = 0, .window = 6},
		{.causal = 1, .chunk = 8, .ratio = 4},
	};

	for (uint32_t k = 0; k < LMD_LEN(kinds); k++) {
		const struct lmd_group *g = &kinds[k];
		int64_t ratio = g->ratio > 1 ? g->ratio : 1;

		for (int64_t n = 1; n < 40; n++) {
			for (int64_t p = 0; p < n; p++) {
				struct lmi_kv_span v = lmi_kv_span(g, p, n);

				for (int64_t key = 0; key < n / ratio; key++) {
					int64_t last = (key + 1) * ratio - 1; /* its last token */
					bool sees = !g->causal || last <= p;

					if (g->window && g->causal)
						sees = sees && key >= (p + 1) / ratio - g->window;
					if (g->window && !g->causal)
						sees = sees && llabs(key - p) <= g->window / 2;
					if (g->chunk)
						sees = sees &&
						       key * ratio >= p / g->chunk * g->chunk;
					if ((key >= v.lo && key < v.hi) != sees)
						ck_abort_msg(
							"kind %u row %d of %d key %d: [%d, %d)", k,
							(int)p, (int)n, (int)key, v.lo, v.hi);
				}
			}
		}
	}
}
END_TEST

START_TEST(window_gives_pages_back)
{
	struct lmd_group g = {.kind = LMD_GROUP_PAGED, .causal = 1, .window = 32, .ratio = 1};
	struct lmi_kv_opts o = {
		.groups = &g, .n_group = 1, .page_tokens = 16, .n_seq = 1, .n_ctx = 10000};
	struct lmi_kv_stats st;
	struct lmi_kv *kv;
	uint32_t s, most = 0;

	o.n_page[0] = lmi_kv_pages_for(&g, 16, o.n_ctx, 40);
	ck_assert_uint_le(o.n_page[0], 6);
	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_OK);
	s = lmi_kv_open(kv);
	for (uint32_t n = 0; n < 10000; n += 40) {
		ck_assert(lmi_kv_reserve(kv, s, 40, NULL, 0));
		lmi_kv_commit(kv, s, 40);
		lmi_kv_trim(kv, s);
		lmi_kv_stats(kv, &st);
		if (st.n_page[0] - st.n_free[0] > most)
			most = st.n_page[0] - st.n_free[0];
		ck_assert(lmi_kv_check(kv));
	}
	ck_assert_uint_le(most, 3);
	ck_assert(!lmi_kv_reserve(kv, s, 1, NULL, 0)); /* context full */
	lmi_kv_destroy(kv);
}
END_TEST

/* Only the last page of a sequence is partly empty: at lengths of 1000 tokens and more on average, less than
 * 4 % of the memory, and half of a page a sequence. */
START_TEST(little_memory_is_empty)
{
	enum { N = 64, PAGE = 32 };
	struct lmd_group g = {.kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1};
	struct lmi_kv_opts o = {.groups = &g,
				.n_group = 1,
				.page_tokens = PAGE,
				.n_seq = N,
				.n_ctx = 4096,
				.n_page = {N * 4096 / PAGE}};
	uint64_t rnd = lmd_seed("kv waste", 3), used, sum = 0;
	struct lmi_kv_stats st;
	struct lmi_kv *kv;

	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_OK);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t s = lmi_kv_open(kv), n = 400 + (uint32_t)(lmd_rand(&rnd) % 1700);

		ck_assert(lmi_kv_reserve(kv, s, n, NULL, 0));
		lmi_kv_commit(kv, s, n);
		sum += n;
	}
	lmi_kv_stats(kv, &st);
	used = (uint64_t)(st.n_page[0] - st.n_free[0]) * PAGE;
	printf("%llu tokens in %llu rows\n", (unsigned long long)sum, (unsigned long long)used);
	ck_assert_uint_ge(sum, 1000u * N);
	ck_assert_uint_ge(used, sum);
	ck_assert_uint_lt((used - sum) * 100, used * 4);
	ck_assert_uint_le(used - sum, N * (PAGE - 1));
	lmi_kv_destroy(kv);
}
END_TEST

START_TEST(impossible_sizes)
{
	struct lmd_group g = {.kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1};
	struct lmi_kv_opts o = {
		.groups = &g, .n_group = 1, .page_tokens = 32, .n_seq = 1, .n_ctx = 64};
	struct lmi_kv_page_pool pool;
	struct lmi_kv *kv;

	o.n_page[0] = 1u << 27; /* rows beyond int32 */
	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_INVALID);
	o.n_page[0] = 2;
	o.n_seq = 0;
	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_INVALID);
	ck_assert_int_eq(lmi_kv_page_pool_init(&pool, LMI_KV_PAGE_MAX + 1), LMD_INVALID);
	ck_assert_int_eq(lmi_kv_page_pool_init(&pool, 0), LMD_OK);
	ck_assert_uint_eq(lmi_kv_page_take(&pool), LMI_KV_NO_PAGE);
}
END_TEST

START_TEST(out_of_memory)
{
	struct lmi_kv_opts o = {.groups = groups,
				.n_group = n_group,
				.page_tokens = PT,
				.n_seq = 2,
				.n_ctx = 64,
				.n_cross = 16};
	struct lmi_alloc_stats before, after;
	struct lmi_kv *kv = NULL;
	uint64_t nth = 1;

	for (uint32_t g = 0; g < n_group; g++)
		o.n_page[g] = o.n_slot[g] = 8;
	lmi_alloc_stats(&before);
	for (;; nth++) {
		enum lmd_status st;

		lmi_alloc_fail_nth(nth, false);
		st = lmi_kv_create(&kv, &o, NULL);
		if (!lmi_alloc_did_fail()) {
			lmi_alloc_fail_nth(0, false);
			ck_assert_int_eq(st, LMD_OK);
			break;
		}
		lmi_alloc_fail_nth(0, false);
		ck_assert_int_eq(st, LMD_NOMEM);
	}
	ck_assert_uint_gt(nth, 8);
	lmi_kv_destroy(kv);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kv");
	TCase *t = tcase_create("kv");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, intervals);
	tcase_add_loop_test(t, random_walk, 0, 3 * DEPTH);
	tcase_add_test(t, window_gives_pages_back);
	tcase_add_test(t, little_memory_is_empty);
	tcase_add_test(t, impossible_sizes);
	tcase_add_test(t, out_of_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
