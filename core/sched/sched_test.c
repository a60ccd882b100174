/* SPDX-License-Identifier: MIT
 *
 * The scheduler under random traffic with too little memory. The test plays the engine: it submits,
 * samples, cancels, rejects drafts and lets steps fail, with up to three pending steps. After each
 * step it checks that every sequence computes its rows in order, that each row is output once, and
 * that every sequence that was not cancelled finishes. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/sched/sched.h"
#include "tests/lmd_check.h"

#define N_MAX	40
#define N_SEQ	6
#define N_BATCH 32
#define N_OUT	20

/* ck_assert reports every passed check to its parent process; there are millions here. */
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)

#define N_CTX	160
#define N_PAGE	18
#define PT	16
#define DEPTH	 3 /* pending steps */
#define NO_DRAFT UINT32_MAX

/* The test's record of a sequence. */
struct client {
	bool used, cancelled;
	struct lmi_sched_seq o;
	uint32_t n_known, draft_from;
	uint32_t n_pending, n_void; /* pending parts; those that do not count */
	uint32_t planned;	    /* rows in memory and in pending parts, if there are any */
	uint32_t out_done, out_planned; /* the first row that has not been output */
	lmd_token *token; /* [N_CTX] with prefix caching */
};

struct flight {
	uint32_t n_part;
	struct lmi_sched_part part[N_SEQ];
	int32_t row[N_SEQ][N_BATCH]; /* physical rows of the first group */
	const struct lmi_sched_part *given; /* the scheduler's own */
};

struct world {
	struct lmi_kv *kv;
	struct lmi_sched *s;
	uint32_t depth, n_flight; /* at most; now, oldest first: */
	struct flight flight[DEPTH];
	struct client c[N_MAX];
	bool cached;
	lmd_token text[6][N_CTX];
	lmd_token token[N_MAX + 1][N_CTX]; /* those of clients; the first is -1: free */
	uint32_t row[N_PAGE * PT]; /* the first group in memory: the hash of the tokens so far */
	uint64_t rnd, n_born, n_finished, n_cancelled, n_failed, n_mixed, n_marked, n_encoded,
		n_ahead, n_void, n_rejected, n_accepted, n_truncated;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return (uint32_t)(lmd_rand(&w->rnd) % n);
}

static const struct lmd_group groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 24, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
	{.name = "cross", .kind = LMD_GROUP_CROSS, .ratio = 1},
};

/* Models with CROSS groups have no prefix caching. */
static void world_init_groups(struct world *w, uint64_t seed, uint32_t depth, uint32_t n_group)
{
	struct lmi_kv_opts k = {.groups = groups,
				.n_group = n_group,
				.page_tokens = PT,
				.n_seq = N_SEQ,
				.n_ctx = N_CTX,
				.n_cross = 32,
				.cache_prefixes = true,
				.n_page = {14, N_PAGE, 0, 6},
				.n_slot = {0, 0, N_SEQ + 6, 0}};
	struct lmi_sched_opts o = {
		.n_max = N_MAX, .n_batch = N_BATCH, .n_out = N_OUT, .n_step = depth};

	memset(w, 0, sizeof(*w));
	w->rnd = seed;
	w->depth = depth;
	w->cached = n_group < LMD_LEN(groups);
	memset(w->token, -1, sizeof(w->token));
	ck_assert_int_eq(lmi_kv_create(&w->kv, &k, NULL), LMD_OK);
	o.kv = w->kv;
	ck_assert_int_eq(lmi_sched_create(&w->s, &o, NULL), LMD_OK);
}

static void world_init_deep(struct world *w, uint64_t seed, uint32_t depth)
{
	world_init_groups(w, seed, depth, LMD_LEN(groups));
}

static void world_init(struct world *w, uint64_t seed)
{
	world_init_deep(w, seed, 0);
}

static void world_fini(struct world *w)
{
	lmi_sched_destroy(w->s);
	lmi_kv_destroy(w->kv);
}

static uint32_t any_client(struct world *w)
{
	uint32_t i = below(w, N_MAX);

	for (uint32_t k = 0; k < N_MAX; k++, i = (i + 1) % N_MAX)
		if (w->c[i].used && !w->c[i].cancelled)
			return i;
	return LMI_SCHED_NO_SEQ;
}

/* ---- prefix caching ---- */

static void random_tokens(struct world *w, lmd_token *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = (lmd_token)below(w, 2);
}

/* Gives a sequence tokens that begin like those of others. */
static void choose_tokens(struct world *w, struct lmi_sched_seq *o)
{
	lmd_token *text = w->text[below(w, LMD_LEN(w->text))], *v = w->token[0];
	uint32_t n = below(w, N_CTX);

	while (*v >= 0)
		v += N_CTX;
	if (!below(w, 3))
		random_tokens(w, text + n, N_CTX - n);
	memcpy(v, text, N_CTX * sizeof(*v));
	o->tokens = v;
	o->identity.tenant = below(w, 2);
	o->share = LMI_SCHED_NO_SEQ;
}

/* A sequence was removed: nobody may read its tokens. */
static void free_tokens(struct client *c)
{
	for (uint32_t i = 0; c->token && i < N_CTX; i++)
		c->token[i] = -1;
	c->token = NULL;
}

static uint32_t next_hash(uint32_t h, lmd_token t)
{
	return (h ^ (uint32_t)t ^ 5) * 0x9e3779b1u + 1;
}

/* Checks that the rows that a part continues are those of its tokens, and writes its own. */
static void check_rows(struct world *w, const struct lmi_sched_part *p, int32_t *row)
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

/* A step has failed: nobody may use its rows. */
static void lose_rows(struct world *w, const struct flight *f)
{
	for (uint32_t k = 0; k < f->n_part; k++)
		for (uint32_t i = 0; i < f->part[k].n && w->c[f->part[k].seq].token; i++)
			w->row[f->row[k][i]] = 0;
}

static void copy_rows(struct world *w)
{
	const struct lmi_kv_copy *c;
	uint32_t n = lmi_kv_copies(w->kv, &c);

	for (uint32_t i = 0; i < n; i++)
		if (!c[i].group)
			memmove(&w->row[c[i].dst * PT], &w->row[c[i].src * PT],
				PT * sizeof(w->row[0]));
}

static void submit(struct world *w)
{
	struct lmi_sched_seq o = {.n_known = 1 + below(w, below(w, 2) ? 12 : 90),
				  .plan = below(w, 8) ? 0 : 1 + below(w, 2),
				  .out = below(w, 4) ? LMI_SCHED_OUT_LAST : LMI_SCHED_OUT_ALL,
				  .share = LMI_SCHED_NO_SEQ};
	struct lmd_error err;
	uint32_t i;
	enum lmd_status st;

	o.n_limit = o.n_known + below(w, 60);
	if (!below(w, 10))
		o.max_chunk = 1 + below(w, 3), o.chunk_from = below(w, 12);
	if (!below(w, 10) && o.n_known <= N_OUT && !o.max_chunk) {
		o.whole = true;
		o.n_limit = o.n_known;
	}
	if (!below(w, 8) && !w->cached) {
		o.n_encode = 1 + below(w, 30);
		o.encode_plan = 5;
	}
	if (!below(w, 3) && !o.n_encode) {
		o.share = o.whole ? LMI_SCHED_NO_SEQ : any_client(w);
		if (o.share != LMI_SCHED_NO_SEQ && !w->c[o.share].o.n_encode) {
			const struct client *p = &w->c[o.share];

			o.share_rows = 1 + below(w, p->n_known);
			if (o.n_known <= o.share_rows)
				o.n_known = o.share_rows + 1 + below(w, 5);
			if (o.n_limit < o.n_known)
				o.n_limit = o.n_known;
		} else {
			o.share = LMI_SCHED_NO_SEQ;
		}
	}
	if (!below(w, 6))
		o.out_from = below(w, o.n_known);
	if (o.n_limit > N_CTX)
		return;
	if (w->cached && below(w, 6))
		choose_tokens(w, &o);
	st = lmi_sched_submit(w->s, &o, &i, &err);
	if (st == LMD_BUSY) {
		struct client none = {.token = NULL};

		for (uint32_t k = 0; o.tokens && k <= N_MAX; k++)
			if (w->token[k] == o.tokens)
				none.token = w->token[k];
		free_tokens(&none);
		return;
	}
	ck_assert_msg(st == LMD_OK, "%s", err.text);
	MUST(!w->c[i].used);
	w->n_born++;
	w->c[i] = (struct client){
		.used = true, .o = o, .n_known = o.n_known, .draft_from = NO_DRAFT};
	for (uint32_t k = 0; o.tokens && k <= N_MAX; k++)
		if (w->token[k] == o.tokens)
			w->c[i].token = w->token[k];
	w->c[i].out_done = o.share == LMI_SCHED_NO_SEQ ? 0 : o.share_rows;
	if (o.out_from > w->c[i].out_done)
		w->c[i].out_done = o.out_from;
}

/* Returns the first row that a part of this sequence must output. */
static uint32_t output_from(const struct client *c)
{
	if (c->o.out == LMI_SCHED_OUT_ALL)
		return c->n_pending ? c->out_planned : c->out_done;
	return (c->draft_from < c->n_known ? c->draft_from : c->n_known) - 1;
}

static uint32_t max2(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void check_marks(const struct client *c, const struct lmi_sched_part *p)
{
	uint32_t n_draft = 0;

	for (uint32_t i = 0; i < p->n_mark; i++) {
		MUST(p->mark[i] && p->mark[i] < p->n && (!i || p->mark[i] > p->mark[i - 1]));
		n_draft += p->first + p->mark[i] >= c->draft_from;
	}
	/* each place where drafts can be rejected has a mark */
	if (c->draft_from != NO_DRAFT && p->first + p->n > c->draft_from)
		MUST(n_draft == p->first + p->n - max2(c->draft_from, p->first + 1));
}

static void check_part(struct world *w, const struct lmi_sched_step *step, uint32_t k)
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
	MUST(end <= c->n_known && lmi_kv_len(w->kv, p->kv_seq) == lmi_sched_n_done(w->s, p->seq));
	MUST(!c->o.max_chunk || p->n <= (p->first < c->o.chunk_from
						 ? c->o.chunk_from - p->first
						 : c->o.max_chunk));
	MUST(!c->o.whole || c->n_known > c->o.n_known || (!p->first && p->n == c->o.n_known));
	/* rows are output in order, none twice, none skipped */
	out = max2(output_from(c), p->first);
	MUST(p->n_out == (end > out ? end - out : 0));
	check_marks(c, p);
	w->n_marked += p->n_mark != 0;
	w->n_ahead += c->n_pending != 0;
	c->planned = end;
}

/* Sequences that lack one row come before all chunks. */
static void check_order(struct world *w, const struct lmi_sched_step *step)
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

static void check_limit(const struct world *w, const struct lmi_sched_step *step,
			const struct lmi_sched_limit *l)
{
	bool splits = true;

	for (uint32_t k = 0; k < step->n_part; k++)
		splits = splits && !step->parts[k].encode && !w->c[step->parts[k].seq].o.whole;
	MUST(!l->n_part || step->n_part <= l->n_part);
	MUST(!l->n_row || !splits || step->n_row <= l->n_row);
}

static bool plan_step(struct world *w)
{
	struct flight *f = &w->flight[w->n_flight];
	struct lmi_sched_limit limit = {below(w, 3) ? 0 : 1 + below(w, 3),
					below(w, 3) ? 0 : 1 + below(w, N_BATCH)};
	struct lmi_sched_step step;
	uint32_t n_row = 0, n_out = 0;

	MUST(lmi_sched_n_pending(w->s) == w->n_flight);
	if (!lmi_sched_next(w->s, &limit, &step))
		return false;
	MUST(w->n_flight < (w->depth ? w->depth : 1));
	MUST(step.n_part && step.n_part <= N_SEQ);
	copy_rows(w);
	*f = (struct flight){.n_part = step.n_part, .given = step.parts};
	for (uint32_t k = 0; k < step.n_part; k++) {
		check_part(w, &step, k);
		f->part[k] = step.parts[k];
		if (w->c[f->part[k].seq].token)
			check_rows(w, &f->part[k], f->row[k]);
		n_row += f->part[k].n;
		n_out += f->part[k].n_out;
	}
	MUST(n_row == step.n_row && n_row <= N_BATCH && n_out == step.n_out && n_out <= N_OUT);
	check_order(w, &step);
	check_limit(w, &step, &limit);
	for (uint32_t k = 0; k < step.n_part; k++) {
		struct client *c = &w->c[f->part[k].seq];

		c->out_planned = max2(c->n_pending ? c->out_planned : c->out_done, c->planned);
		c->n_pending++;
	}
	w->n_flight++;
	return true;
}

/* Chooses how many rows of a part count: drafts may be rejected. */
static uint32_t choose_kept(struct world *w, const struct lmi_sched_part *p)
{
	const struct client *c = &w->c[p->seq];
	uint32_t end = p->first + p->n, least;

	if (p->encode || end <= c->draft_from || c->n_void)
		return p->n;
	least = max2(c->draft_from, p->first + 1) - p->first;
	return least + below(w, p->n - least + 1);
}

/* Adds rows to a sequence whose known rows are all computed. */
static void grow(struct world *w, uint32_t seq)
{
	struct client *c = &w->c[seq];
	uint32_t n = below(w, 4) ? 0 : 1 + below(w, 4);

	if (below(w, 30) && lmi_sched_grow(w->s, seq)) {
		c->n_known++;
		if (n && lmi_sched_grow_drafts(w->s, seq, n)) {
			c->draft_from = c->n_known;
			c->n_known += n;
		}
		return;
	}
	MUST(c->o.out == LMI_SCHED_OUT_LAST || c->out_done == c->n_known);
	lmi_sched_remove(w->s, seq);
	free_tokens(c);
	c->used = false;
	w->n_finished++;
}

/* Forgets the last rows of a sequence, which may then be computed again. */
static void truncate_some(struct world *w, uint32_t seq)
{
	struct client *c = &w->c[seq];
	uint32_t n = 1 + below(w, c->n_known);

	lmi_sched_truncate(w->s, seq, n);
	w->n_truncated++;
	c->n_known = n;
	c->draft_from = NO_DRAFT;
	c->out_done = c->out_done < n ? c->out_done : n;
	MUST(lmi_sched_n_done(w->s, seq) == n || !lmi_sched_n_done(w->s, seq));
}

/* The known rows of a sequence, if they are all computed now, are followed by others or the end. */
static void go_on(struct world *w, uint32_t seq)
{
	struct client *c = &w->c[seq];

	if (c->n_pending || c->cancelled || lmi_sched_n_done(w->s, seq) < c->n_known)
		return;
	c->draft_from = NO_DRAFT;
	if (!c->o.whole && !below(w, 40))
		truncate_some(w, seq);
	if (lmi_sched_n_done(w->s, seq) == c->n_known)
		grow(w, seq);
}

static void end_part(struct world *w, const struct lmi_sched_part *p, bool ran, uint32_t kept)
{
	struct client *c = &w->c[p->seq];
	bool counts = ran && !c->n_void && !c->cancelled;

	MUST(p->n_kept == (counts ? kept : 0));
	c->n_pending--;
	w->n_void += c->n_void != 0;
	if (c->n_void)
		c->n_void--;
	else if (!ran)
		c->n_void = c->n_pending;
	if (counts && !p->encode) {
		MUST(lmi_sched_n_done(w->s, p->seq) == p->first + kept);
		c->out_done = max2(c->out_done, p->first + kept);
		w->n_rejected += p->n - kept;
		if (c->draft_from < p->first + kept)
			w->n_accepted += p->first + kept - c->draft_from;
	}
	if (counts && kept < p->n) {
		c->n_known = p->first + kept;
		c->out_done = c->out_done < c->n_known ? c->out_done : c->n_known;
		c->draft_from = NO_DRAFT;
		c->n_void = c->n_pending;
	}
	if (c->cancelled && !c->n_pending)
		c->used = false;
	else
		go_on(w, p->seq);
}

static void end_step(struct world *w)
{
	struct flight f = w->flight[0];
	uint32_t kept[N_SEQ];
	bool ran = below(w, 50) != 0, all = true;

	for (uint32_t k = 0; k < f.n_part; k++) {
		kept[k] = choose_kept(w, &f.part[k]);
		all = all && kept[k] == f.part[k].n;
	}
	if (!ran)
		lose_rows(w, &f);
	lmi_sched_commit(w->s, ran, all ? NULL : kept);
	w->n_failed += !ran;
	w->n_flight--;
	memmove(w->flight, w->flight + 1, w->n_flight * sizeof(f));
	memcpy(f.part, f.given, f.n_part * sizeof(*f.part));
	for (uint32_t k = 0; k < f.n_part; k++)
		end_part(w, &f.part[k], ran, kept[k]);
}

static void cancel(struct world *w, uint32_t i)
{
	lmi_sched_remove(w->s, i);
	free_tokens(&w->c[i]);
	w->c[i].cancelled = w->c[i].n_pending;
	w->c[i].used = w->c[i].n_pending;
	w->n_cancelled++;
}

/* Plans steps or ends one; returns false if there is nothing to do. */
static bool step(struct world *w)
{
	bool planned = plan_step(w);

	while (planned && w->n_flight < w->depth && below(w, 3))
		planned = plan_step(w);
	if (!w->n_flight)
		return false;
	if (!below(w, 20)) { /* cancelled while the step runs */
		uint32_t i = w->flight[0].part[below(w, w->flight[0].n_part)].seq;

		if (!w->c[i].cancelled)
			cancel(w, i);
	}
	end_step(w);
	return true;
}

static void expect_all_free(const struct world *w)
{
	struct lmi_kv_stats k;

	lmi_kv_stats(w->kv, &k);
	ck_assert_uint_eq(k.n_seq_free, k.n_seq);
	for (uint32_t g = 0; g < LMD_LEN(groups); g++)
		ck_assert_uint_eq(k.n_free[g], k.n_page[g]);
}

/* With _i % 4 pending steps at most; 0 counts as 1. From 4 on with prefix caching, from 8 on also with
 * states. */
START_TEST(random_traffic)
{
	uint32_t n_group = _i < 4 ? (uint32_t)LMD_LEN(groups) : _i < 8 ? 2 : 3;
	int depth = _i % 4;
	struct lmi_sched_stats st;
	struct world w;
	uint64_t allocs;
	uint32_t idle = 0;

	world_init_groups(&w, lmd_seed("sched random traffic", 5), (uint32_t)depth, n_group);
	allocs = lmi_alloc_thread_count();
	for (uint32_t op = 0; op < 60000; op++) {
		if (!below(&w, 4))
			submit(&w);
		if (!below(&w, 60)) {
			uint32_t i = any_client(&w);

			if (i != LMI_SCHED_NO_SEQ)
				cancel(&w, i);
		}
		if (!step(&w)) {
			idle++;
			MUST(any_client(&w) == LMI_SCHED_NO_SEQ);
		}
		if (!lmi_sched_check(w.s))
			ck_abort_msg("invariants after operation %u", op);
	}
	for (uint32_t k = 0; any_client(&w) != LMI_SCHED_NO_SEQ; k++) {
		MUST(step(&w));
		MUST(k < 100000); /* every sequence finishes */
	}
	while (w.n_flight)
		end_step(&w);
	ck_assert_uint_eq(lmi_alloc_thread_count(), allocs);
	lmi_sched_stats(w.s, &st);
	printf("%llu submitted, %llu finished, %llu cancelled, %llu steps, %llu failed, "
	       "%llu preempted, %llu shared rows, %llu mixed, %llu marks, %llu encoded, %u idle, "
	       "%llu ahead, %llu void, %llu rejected, %llu accepted, %llu truncated\n",
	       (unsigned long long)w.n_born, (unsigned long long)w.n_finished,
	       (unsigned long long)w.n_cancelled, (unsigned long long)st.n_step,
	       (unsigned long long)w.n_failed, (unsigned long long)st.n_preempted,
	       (unsigned long long)st.n_shared_rows, (unsigned long long)w.n_mixed,
	       (unsigned long long)w.n_marked, (unsigned long long)w.n_encoded, idle,
	       (unsigned long long)w.n_ahead, (unsigned long long)w.n_void,
	       (unsigned long long)w.n_rejected, (unsigned long long)w.n_accepted,
	       (unsigned long long)w.n_truncated);
	ck_assert_uint_eq(w.n_finished + w.n_cancelled, w.n_born);
	ck_assert(w.n_finished > 1000 && w.n_cancelled > 500 && st.n_preempted > 100 &&
		  st.n_shared_rows > 1000 && w.n_mixed > 1000 && (n_group == 2 || w.n_marked > 20) &&
		  (w.cached || w.n_encoded > 100) && w.n_rejected > 100 && w.n_accepted > 100 &&
		  w.n_truncated > 100);
	ck_assert(depth > 1 ? w.n_ahead > 1000 && w.n_void > 20 : !w.n_ahead && !w.n_void);
	if (w.cached) {
		printf("%llu of %llu found rows\n", (unsigned long long)st.n_hit,
		       (unsigned long long)st.n_started);
		ck_assert(st.n_hit > st.n_started / 20);
	}
	expect_all_free(&w);
	world_fini(&w);
}
END_TEST

/* A long prompt beside a decoding sequence, which gets a row in every step. */
START_TEST(decode_comes_first)
{
	struct lmi_sched_seq stream = {.n_known = 3, .n_limit = 100, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_seq prompt = {.n_known = 90, .n_limit = 91, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_step st;
	struct world w;
	uint32_t a, b, n = 0;

	world_init(&w, 1);
	ck_assert_int_eq(lmi_sched_submit(w.s, &stream, &a, NULL), LMD_OK);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	lmi_sched_commit(w.s, true, NULL);
	ck_assert_int_eq(lmi_sched_submit(w.s, &prompt, &b, NULL), LMD_OK);
	do {
		ck_assert(lmi_sched_grow(w.s, a));
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		ck_assert_uint_eq(st.parts[0].seq, a);
		ck_assert_uint_eq(st.parts[0].n, 1);
		ck_assert_uint_eq(st.n_row, ++n < 3 ? N_BATCH : 90 - 2 * (N_BATCH - 1) + 1);
		lmi_sched_commit(w.s, true, NULL);
	} while (lmi_sched_n_done(w.s, b) < 90);
	ck_assert_uint_eq(n, 3);
	world_fini(&w);
}
END_TEST

/* Two sequences that together exceed the memory: the older one is never preempted. */
START_TEST(the_oldest_gets_on)
{
	struct lmi_sched_seq o = {.n_known = 60, .n_limit = 150, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_stats stats;
	struct lmi_sched_step st;
	struct world w;
	uint32_t seq[3], last = 0;

	world_init(&w, 1);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(lmi_sched_submit(w.s, &o, &seq[i], NULL), LMD_OK);
	for (uint32_t known[3] = {60, 60, 60}; known[0] < 150;) {
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		lmi_sched_commit(w.s, true, NULL);
		ck_assert_uint_ge(lmi_sched_n_done(w.s, seq[0]), last);
		last = lmi_sched_n_done(w.s, seq[0]);
		for (int i = 0; i < 3; i++)
			if (lmi_sched_n_done(w.s, seq[i]) == known[i])
				known[i] += lmi_sched_grow(w.s, seq[i]);
		ck_assert(lmi_sched_check(w.s));
	}
	lmi_sched_stats(w.s, &stats);
	ck_assert_uint_gt(stats.n_preempted, 0);
	ck_assert_uint_eq(stats.n_waiting + stats.n_active, 3);
	while (lmi_sched_n_done(w.s, seq[0]) < 150) {
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		lmi_sched_commit(w.s, true, NULL);
	}
	ck_assert(!lmi_sched_grow(w.s, seq[0])); /* finishes alone */
	world_fini(&w);
}
END_TEST

static uint32_t submit_short(struct world *w, uint32_t plan, uint32_t n_known)
{
	struct lmi_sched_seq o = {
		.n_known = n_known, .n_limit = n_known, .plan = plan, .share = LMI_SCHED_NO_SEQ};
	uint32_t seq;

	ck_assert_int_eq(lmi_sched_submit(w->s, &o, &seq, NULL), LMD_OK);
	return seq;
}

/* Runs a step and removes all sequences that were part of it; returns their number. */
static uint32_t step_and_end(struct world *w, uint32_t *plan)
{
	struct lmi_sched_part parts[N_SEQ];
	struct lmi_sched_step st;

	ck_assert(lmi_sched_next(w->s, NULL, &st));
	memcpy(parts, st.parts, st.n_part * sizeof(*parts));
	*plan = st.plan;
	lmi_sched_commit(w->s, true, NULL);
	for (uint32_t k = 0; k < st.n_part; k++)
		lmi_sched_remove(w->s, parts[k].seq);
	ck_assert(lmi_sched_check(w->s));
	return st.n_part;
}

/* 40 short prompts with alternating plans: those of one plan share steps. */
START_TEST(plans_join_over_the_queue)
{
	uint32_t n_step = 0, n_done = 0, plan, n_of[2] = {0, 0};
	struct world w;

	world_init(&w, 1);
	for (uint32_t i = 0; i < 40; i++)
		(void)submit_short(&w, i % 2, 2);
	while (n_done < 40) {
		uint32_t n = step_and_end(&w, &plan);

		n_done += n;
		n_of[plan] += n;
		ck_assert_uint_ne(plan, n_step % 2 ? 0 : 1); /* the plans alternate */
		n_step++;
	}
	ck_assert_uint_eq(n_of[0], 20);
	ck_assert_uint_eq(n_of[1], 20);
	/* 5 or 6 sequences in each step; one of the 6 slots is left to the head of the queue */
	ck_assert_uint_le(n_step, 8);
	expect_all_free(&w);
	world_fini(&w);
}
END_TEST

/* One sequence of one plan among many of another: it starts when its plan is next, although
 * sequences of the other plan keep arriving and stay. */
START_TEST(overtaking_starves_nobody)
{
	struct lmi_sched_seq stays = {.n_known = 2, .n_limit = 3, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_step st;
	struct world w;
	uint32_t one, many[20];

	world_init(&w, 1);
	(void)submit_short(&w, 0, 2);
	one = submit_short(&w, 1, 2);
	for (uint32_t i = 0; i < 20; i++)
		ck_assert_int_eq(lmi_sched_submit(w.s, &stays, &many[i], NULL), LMD_OK);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.plan, 0);
	ck_assert_uint_eq(st.n_part, N_SEQ - 1); /* one slot is left free */
	lmi_sched_commit(w.s, true, NULL);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.plan, 1);
	ck_assert_uint_eq(st.n_part, 1);
	ck_assert_uint_eq(st.parts[0].seq, one);
	lmi_sched_commit(w.s, true, NULL);
	world_fini(&w);
}
END_TEST

/* The head of the queue waits for memory: no other sequence takes the memory that becomes free. */
START_TEST(a_head_without_memory_is_not_overtaken)
{
	struct lmi_sched_seq big = {.n_known = 100, .n_limit = 150, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_stats stats;
	struct lmi_sched_step st;
	struct world w;
	uint32_t first, head, small;

	world_init(&w, 1);
	ck_assert_int_eq(lmi_sched_submit(w.s, &big, &first, NULL), LMD_OK);
	while (lmi_sched_n_done(w.s, first) < 100) {
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		lmi_sched_commit(w.s, true, NULL);
	}
	head = submit_short(&w, 1, 150);
	small = submit_short(&w, 0, 2);
	for (int i = 0; i < 5; i++) {
		ck_assert(lmi_sched_grow(w.s, first));
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		ck_assert_uint_eq(st.n_part, 1);
		ck_assert_uint_eq(st.parts[0].seq, first);
		lmi_sched_commit(w.s, true, NULL);
	}
	lmi_sched_stats(w.s, &stats);
	ck_assert_uint_eq(stats.n_waiting, 2);
	lmi_sched_remove(w.s, first);
	for (int i = 0; i < 8; i++) {
		if (!lmi_sched_next(w.s, NULL, &st))
			break;
		lmi_sched_commit(w.s, true, NULL);
	}
	ck_assert_uint_eq(lmi_sched_n_done(w.s, head), 150);
	ck_assert_uint_eq(lmi_sched_n_done(w.s, small), 2);
	world_fini(&w);
}
END_TEST

START_TEST(a_fork_takes_the_rows_over)
{
	struct lmi_sched_seq parent = {.n_known = 30, .n_limit = 40, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_seq child = {.n_known = 30, .n_limit = 40, .out = LMI_SCHED_OUT_ALL};
	struct lmi_sched_step st;
	struct world w;
	uint32_t a, b;

	world_init(&w, 1);
	ck_assert_int_eq(lmi_sched_submit(w.s, &parent, &a, NULL), LMD_OK);
	child.share = a;
	child.share_rows = 21;
	ck_assert_int_eq(lmi_sched_submit(w.s, &child, &b, NULL), LMD_OK);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.n_part, 1);
	ck_assert_uint_eq(st.parts[0].n_mark, 1);
	ck_assert_uint_eq(st.parts[0].mark[0], 21);
	lmi_sched_commit(w.s, true, NULL);
	ck_assert_uint_eq(lmi_sched_n_done(w.s, b), 21);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.n_part, 1);
	ck_assert_uint_eq(st.parts[0].first, 21);
	ck_assert_uint_eq(st.parts[0].n_out, 9);
	lmi_sched_commit(w.s, true, NULL);
	ck_assert(!lmi_sched_next(w.s, NULL, &st));
	lmi_sched_remove(w.s, a);
	lmi_sched_remove(w.s, b);
	expect_all_free(&w);
	world_fini(&w);
}
END_TEST

START_TEST(refusals_have_numbers)
{
	static const struct {
		struct lmi_sched_seq o;
		const char *text;
	} cases[] = {
		{{.n_known = 0, .n_limit = 1}, "0 rows"},
		{{.n_known = 5, .n_limit = 4}, "5 rows cannot be limited to 4"},
		{{.n_known = 5, .n_limit = 6, .whole = true}, "cannot grow to 6"},
		{{.n_known = 33, .n_limit = 33, .whole = true}, "33 rows must run"},
		{{.n_known = 21, .n_limit = 21, .whole = true, .out = LMI_SCHED_OUT_ALL},
		 "21 rows must be output"},
		{{.n_known = 1, .n_limit = 1, .n_encode = 40}, "40 rows to encode"},
		{{.n_known = 1, .n_limit = 161}, "up to 161 rows"},
		{{.n_known = 4, .n_limit = 9, .share = 7, .share_rows = 2}, "cannot share 2 rows"},
	};
	struct lmd_error err;
	struct world w;
	uint32_t seq;

	world_init(&w, 1);
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_sched_seq o = cases[i].o;

		if (!o.share_rows)
			o.share = LMI_SCHED_NO_SEQ;
		ck_assert_int_eq(lmi_sched_submit(w.s, &o, &seq, &err), LMD_INVALID);
		ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
	}
	for (int i = 0; i < N_MAX; i++) {
		struct lmi_sched_seq o = {.n_known = 1, .n_limit = 1, .share = LMI_SCHED_NO_SEQ};

		ck_assert_int_eq(lmi_sched_submit(w.s, &o, &seq, &err), LMD_OK);
	}
	ck_assert_int_eq(lmi_sched_submit(w.s,
					  &(struct lmi_sched_seq){.n_known = 1,
								  .n_limit = 1,
								  .share = LMI_SCHED_NO_SEQ},
					  &seq, &err),
			 LMD_BUSY);
	world_fini(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sched");
	TCase *t = tcase_create("sched");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, random_traffic, 0, 3 * (DEPTH + 1));
	tcase_add_test(t, decode_comes_first);
	tcase_add_test(t, the_oldest_gets_on);
	tcase_add_test(t, plans_join_over_the_queue);
	tcase_add_test(t, overtaking_starves_nobody);
	tcase_add_test(t, a_head_without_memory_is_not_overtaken);
	tcase_add_test(t, a_fork_takes_the_rows_over);
	tcase_add_test(t, refusals_have_numbers);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
