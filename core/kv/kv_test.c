/* SPDX-License-Identifier: MIT
 *
 * Tests the KV memory against a model without pages: each sequence has a list of tags, one per
 * token, and a row that is read through the device's page table must have the expected tag.
 * The device (its tables, rows and states) is simulated by arrays that are updated only with
 * what a step block would pass to a real device. */
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

static const struct lmd_group groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 20, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
	{.name = "chunk", .kind = LMD_GROUP_PAGED, .causal = 1, .chunk = 33, .ratio = 1},
	{.name = "blocks", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 3},
	{.name = "cross", .kind = LMD_GROUP_CROSS, .ratio = 1},
	{.name = "batch", .kind = LMD_GROUP_BATCH, .ratio = 1},
};
#define N_GROUP LMD_LEN(groups)
#define G_STATE 2
#define G_CROSS 5

/* ck_assert reports every passed check to its parent process; there are millions here. */
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)

/* The model's view of a sequence. */
struct model_seq {
	bool open;
	uint32_t len, n, mark;
	uint32_t cross;
	uint32_t tag[N_CTX];
	uint32_t cross_tag;
};

struct world {
	struct lmi_kv *kv;
	struct model_seq seq[N_SEQ];
	uint32_t table[N_GROUP][N_SEQ][N_CTX]; /* the device's page tables */
	uint32_t row[N_GROUP][N_PAGE * PT];
	uint32_t state[64];
	uint32_t next_tag;
	uint64_t rnd;
	uint32_t n_refused, n_copied, n_forked, n_marked, n_failed, n_closed;
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

static void world_init(struct world *w, uint64_t seed)
{
	struct lmi_kv_opts o = {.groups = groups,
				.n_group = N_GROUP,
				.page_tokens = PT,
				.n_seq = N_SEQ,
				.n_ctx = N_CTX,
				.n_cross = N_CROSS};

	memset(w, 0, sizeof(*w));
	w->rnd = seed;
	w->next_tag = 1;
	for (uint32_t g = 0; g < N_GROUP; g++) {
		o.n_page[g] = N_PAGE - 8 * (g % 2);
		o.n_slot[g] = N_SEQ + 4;
	}
	ck_assert_int_eq(lmi_kv_create(&w->kv, &o, NULL), LMD_OK);
}

/* Looks up a row of the simulated device as a kernel does. */
static uint32_t device_read(const struct world *w, uint32_t g, uint32_t seq, uint32_t row)
{
	uint32_t page = w->table[g][seq][row / PT];

	MUST(page < N_PAGE);
	return w->row[g][page * PT + row % PT];
}

static uint32_t group_ratio(uint32_t g)
{
	return groups[g].ratio > 1 ? groups[g].ratio : 1;
}

/* Checks that everything the row of token `pos` sees is what was written for it. */
static void verify_row(const struct world *w, uint32_t s, uint32_t pos, uint32_t n)
{
	const struct model_seq *m = &w->seq[s];

	for (uint32_t g = 0; g < N_GROUP; g++) {
		struct lmi_kv_span v;

		if (groups[g].kind == LMD_GROUP_CROSS) {
			for (uint32_t r = 0; r < m->cross; r++)
				MUST(device_read(w, g, s, r) == m->cross_tag + r);
			continue;
		}
		if (groups[g].kind != LMD_GROUP_PAGED)
			continue;
		v = lmi_kv_interval(w->kv, g, pos, n);
		for (int32_t r = v.lo; r < v.hi; r++)
			MUST(device_read(w, g, s, (uint32_t)r) ==
			     m->tag[((uint32_t)r + 1) * group_ratio(g) - 1]);
	}
}

static void apply_tables(struct world *w)
{
	const struct lmi_kv_copy *copy;
	struct lmd_page_set set[N_CTX];
	uint32_t n = lmi_kv_copies(w->kv, &copy);

	for (uint32_t i = 0; i < n; i++, w->n_copied++)
		memmove(&w->row[copy[i].group][copy[i].dst * PT],
			&w->row[copy[i].group][copy[i].src * PT], PT * sizeof(uint32_t));
	for (uint32_t g = 0; g < N_GROUP; g++) {
		if (groups[g].kind != LMD_GROUP_PAGED && groups[g].kind != LMD_GROUP_CROSS)
			continue;
		for (uint32_t s = 0; s < N_SEQ; s++) {
			if ((g + s) % 2) { /* in one run, which does not go through a step */
				struct lmi_kv_run r;

				n = lmi_kv_n_changes(w->kv, g, s);
				r = lmi_kv_take_run(w->kv, g, s);
				MUST(r.n == n && !lmi_kv_n_changes(w->kv, g, s));
				for (uint32_t i = 0; i < n; i++)
					w->table[g][s][r.index + i] = r.pages[i];
				continue;
			}
			n = lmi_kv_changes(w->kv, g, s, set, N_CTX);
			for (uint32_t i = 0; i < n; i++)
				w->table[g][set[i].seq_slot][set[i].index] = set[i].page;
		}
	}
}

/* Checks that no slot is read by one sequence and written by another, nor written twice. */
static void verify_slots(const struct world *w)
{
	for (uint32_t a = 0; a < N_SEQ; a++) {
		for (uint32_t b = 0; b < N_SEQ; b++) {
			int32_t out, mark;

			if (a == b || !w->seq[a].n || !w->seq[b].n)
				continue;
			out = lmi_kv_state_out(w->kv, G_STATE, b);
			mark = lmi_kv_state_mark(w->kv, G_STATE, b);
			MUST(out >= 0);
			MUST(lmi_kv_state_in(w->kv, G_STATE, a) != out);
			MUST(lmi_kv_state_out(w->kv, G_STATE, a) != out);
			MUST(mark < 0 || (mark != lmi_kv_state_in(w->kv, G_STATE, a) &&
					  mark != lmi_kv_state_out(w->kv, G_STATE, a)));
		}
	}
}

static void run_seq(struct world *w, uint32_t s)
{
	struct model_seq *m = &w->seq[s];
	int32_t in = lmi_kv_state_in(w->kv, G_STATE, s);

	MUST((in < 0 ? 0 : w->state[in]) == state_after(m, m->len));
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t pos = m->len + i;

		m->tag[pos] = w->next_tag++;
		for (uint32_t g = 0; g < N_GROUP; g++) {
			int32_t row;

			if (groups[g].kind != LMD_GROUP_PAGED)
				continue;
			row = lmi_kv_row(w->kv, g, s, pos);
			MUST((row < 0) == ((pos + 1) % group_ratio(g) != 0));
			if (row >= 0)
				w->row[g][row] = m->tag[pos];
		}
	}
}

static void store_states(struct world *w, uint32_t s)
{
	const struct model_seq *m = &w->seq[s];
	int32_t mark = lmi_kv_state_mark(w->kv, G_STATE, s);

	w->state[lmi_kv_state_out(w->kv, G_STATE, s)] = state_after(m, m->len + m->n);
	MUST((mark >= 0) == (m->mark != 0));
	if (mark >= 0)
		w->state[mark] = state_after(m, m->len + m->mark);
}

static void fork_some(struct world *w, uint32_t s)
{
	struct model_seq *m = &w->seq[s];
	uint32_t at = m->len, to;

	if (m->mark && below(w, 2))
		at = m->len - m->n + m->mark;
	else if (!below(w, 4))
		at = below(w, m->len + 1);
	if (!lmi_kv_can_fork(w->kv, s, at)) {
		MUST(!at || at != m->len);
		return;
	}
	to = lmi_kv_fork(w->kv, s, at);
	if (to == LMI_KV_NO_PAGE) {
		MUST(lmi_kv_n_free_seq(w->kv) == 0);
		return;
	}
	MUST(!w->seq[to].open);
	w->seq[to] = *m;
	w->seq[to].len = at;
	w->seq[to].n = w->seq[to].mark = 0;
	w->n_forked++;
}

static void plan_step(struct world *w)
{
	for (uint32_t s = 0; s < N_SEQ; s++) {
		struct model_seq *m = &w->seq[s];
		uint32_t n = 1 + below(w, below(w, 3) ? 2 : N_STEP), mark;

		m->n = m->mark = 0;
		if (!m->open || !below(w, 3))
			continue;
		mark = n > 1 && !below(w, 3) ? 1 + below(w, n - 1) : 0;
		if (lmi_kv_reserve(w->kv, s, n, mark)) {
			m->n = n;
			m->mark = mark;
			w->n_marked += mark != 0;
		} else {
			w->n_refused++;
		}
	}
}

static void step(struct world *w)
{
	bool fails;

	plan_step(w);
	if (!below(w, 40)) { /* a sequence is closed while the step is planned */
		uint32_t s = below(w, N_SEQ);

		if (w->seq[s].open) {
			lmi_kv_close(w->kv, s);
			w->seq[s].open = false;
			w->seq[s].n = 0;
		}
	}
	fails = !below(w, 30);
	apply_tables(w);
	verify_slots(w);
	for (uint32_t s = 0; s < N_SEQ && !fails; s++)
		if (w->seq[s].n)
			run_seq(w, s);
	for (uint32_t s = 0; s < N_SEQ && !fails; s++)
		if (w->seq[s].n)
			store_states(w, s);
	for (uint32_t s = 0; s < N_SEQ && !fails; s++)
		for (uint32_t i = 0; i < w->seq[s].n; i++)
			verify_row(w, s, w->seq[s].len + i, w->seq[s].len + w->seq[s].n);
	w->n_failed += fails;
	for (uint32_t s = 0; s < N_SEQ; s++) {
		struct model_seq *m = &w->seq[s];

		if (!m->n)
			continue;
		lmi_kv_commit(w->kv, s, fails ? 0 : m->n);
		if (fails)
			continue;
		m->len += m->n;
		MUST(lmi_kv_len(w->kv, s) == m->len);
		while (!below(w, 3))
			fork_some(w, s);
		lmi_kv_trim(w->kv, s);
	}
}

static void open_or_close(struct world *w)
{
	uint32_t s = below(w, N_SEQ);

	if (w->seq[s].open && !below(w, 3)) {
		lmi_kv_close(w->kv, s);
		w->seq[s].open = false;
		w->n_closed++;
		return;
	}
	s = lmi_kv_open(w->kv);
	if (s == LMI_KV_NO_PAGE)
		return;
	MUST(!w->seq[s].open);
	w->seq[s] = (struct model_seq){.open = true};
	if (below(w, 2) && lmi_kv_reserve_cross(w->kv, s, 1 + below(w, N_CROSS))) {
		w->seq[s].cross = lmi_kv_cross(w->kv, s);
		w->seq[s].cross_tag = w->next_tag;
		w->next_tag += N_CROSS;
		for (uint32_t i = 0; i < w->seq[s].cross; i++)
			w->row[G_CROSS][lmi_kv_row(w->kv, G_CROSS, s, i)] = w->seq[s].cross_tag + i;
	}
}

START_TEST(random_walk)
{
	struct lmi_alloc_stats before, after;
	struct world *w;
	struct lmi_kv_stats st;
	uint64_t allocs;

	lmi_alloc_stats(&before);
	w = lmi_alloc(1, sizeof(*w));
	ck_assert_ptr_nonnull(w);
	world_init(w, lmd_seed("kv random walk", 11));
	allocs = lmi_alloc_thread_count();
	for (uint32_t op = 0; op < 100000; op++) {
		if (below(w, 3))
			step(w);
		else
			open_or_close(w);
		if (!lmi_kv_check(w->kv))
			ck_abort_msg("invariants violated after operation %u", op);
	}
	ck_assert_uint_eq(lmi_alloc_thread_count(), allocs);
	printf("refused %u, copied %u, forked %u, marked %u, failed %u, closed %u\n", w->n_refused,
	       w->n_copied, w->n_forked, w->n_marked, w->n_failed, w->n_closed);
	ck_assert(w->n_refused > 100 && w->n_copied > 100 && w->n_forked > 100 &&
		  w->n_marked > 100 && w->n_failed > 100 && w->n_closed > 100);
	for (uint32_t s = 0; s < N_SEQ; s++)
		if (w->seq[s].open)
			lmi_kv_close(w->kv, s);
	lmi_kv_stats(w->kv, &st);
	ck_assert_uint_eq(st.n_seq_free, N_SEQ);
	for (uint32_t g = 0; g < N_GROUP; g++)
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
		ck_assert(lmi_kv_reserve(kv, s, 40, 0));
		lmi_kv_commit(kv, s, 40);
		lmi_kv_trim(kv, s);
		lmi_kv_stats(kv, &st);
		if (st.n_page[0] - st.n_free[0] > most)
			most = st.n_page[0] - st.n_free[0];
		ck_assert(lmi_kv_check(kv));
	}
	ck_assert_uint_le(most, 3);
	ck_assert(!lmi_kv_reserve(kv, s, 1, 0)); /* context full */
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
				.n_group = N_GROUP,
				.page_tokens = PT,
				.n_seq = 2,
				.n_ctx = 64,
				.n_cross = 16};
	struct lmi_alloc_stats before, after;
	struct lmi_kv *kv = NULL;
	uint64_t nth = 1;

	for (uint32_t g = 0; g < N_GROUP; g++)
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
	tcase_add_test(t, random_walk);
	tcase_add_test(t, window_gives_pages_back);
	tcase_add_test(t, impossible_sizes);
	tcase_add_test(t, out_of_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
