/* SPDX-License-Identifier: MIT
 *
 * Runs an in-line engine step by step and times the steps that count.
 *
 * Sequences at a depth become ready one after the other, since a step has a limited number of
 * rows.  So each of them generates `spare` more tokens before the timed ones and after them: while
 * the time is taken, all generate. */
#include "client/llamactl/bench_steps.h"

#include "core/base/alloc.h"

#define MIN_BATCH 64u /* rows of a step, at least */
#define PAGE      256u /* the KV cache of a sequence is rounded up to whole pages */

static uint64_t spare(const struct lmi_ctl_bench_work *w)
{
	return w->n_seq > 1 && w->depth ? (uint64_t)w->n_seq * w->depth / MIN_BATCH + w->n_seq : 0;
}

static uint64_t row_count(const struct lmi_ctl_bench_work *w)
{
	return w->depth + 2 * spare(w) + w->n;
}

uint64_t lmi_ctl_bench_kv_tokens(const struct lmi_ctl_bench_work *w)
{
	return w->n_seq * (w->n_seq > 1 ? row_count(w) + PAGE : row_count(w));
}

/* Fills in tokens that every vocabulary has and that differ from each other and from those of
 * other sequences. */
static void fill_tokens(lmd_token *v, uint64_t n, uint64_t seq, uint32_t n_vocab)
{
	uint64_t x = 1 + seq;

	for (uint64_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		v[i] = (lmd_token)((x >> 33) % n_vocab);
	}
}

/* Reads all waiting events; *over: the command has ended. */
static enum lmd_status read_events(struct lmi_engine *e, bool *over, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_engine_event ev;

	while (lmi_engine_poll(e, &ev)) {
		if (ev.kind == LMI_ENGINE_EV_FAILED)
			st = lmd_fail(err, ev.u.error.status, "%s", ev.u.error.text);
		else if (ev.kind == LMI_ENGINE_EV_CANCELLED)
			st = lmd_fail(err, LMD_CANCELLED, "cancelled");
		*over |= ev.kind == LMI_ENGINE_EV_DONE || st != LMD_OK;
		lmi_engine_event_release(&ev);
	}
	return st;
}

static uint64_t rows_done(struct lmi_engine *e)
{
	struct lmi_engine_stats s;

	lmi_engine_stats(e, &s);
	return s.n_row;
}

/* Runs all steps.  The time is taken from the first step that begins with at least `from` rows
 * done to the first that ends with `n` more. */
static enum lmd_status time_rows(struct lmi_engine *e, uint64_t from, uint64_t n, double *rate,
				 struct lmd_error *err)
{
	const struct lmd_host *host;
	struct lmi_engine_info info;
	uint64_t zero = rows_done(e), begin = 0, t0 = 0, done = 0;
	enum lmd_status st = LMD_OK;
	bool timing = false, over = false;

	lmi_engine_info(e, &info);
	host = info.host;
	*rate = 0;
	while (st == LMD_OK && !over) {
		if (!timing && done >= from) {
			timing = true;
			begin = done;
			t0 = host->now_ns(host->ctx);
		}
		(void)lmi_engine_step(e);
		st = read_events(e, &over, err);
		done = rows_done(e) - zero;
		if (timing && *rate == 0 && done >= begin + n)
			*rate = (double)(done - begin) * 1e9 /
				(double)(host->now_ns(host->ctx) - t0);
	}
	if (st == LMD_OK && *rate == 0)
		st = lmd_fail(err, LMD_INTERNAL, "%llu rows were computed, not %llu",
			      (unsigned long long)done, (unsigned long long)(from + n));
	return st;
}

enum lmd_status lmi_ctl_bench_run(struct lmi_engine *e, const struct lmi_ctl_bench_work *w,
				  double *rate, struct lmd_error *err)
{
	uint64_t n = row_count(w);
	lmd_token *tokens = lmi_alloc(w->n_seq * n, sizeof(*tokens));
	struct lmi_engine_input_seq *seqs = lmi_alloc(w->n_seq, sizeof(*seqs));
	struct lmi_engine_eval cmd = {.id = 1,
				      .seqs = seqs,
				      .n_seq = w->n_seq,
				      .want = w->prompt ? LMI_ENGINE_WANT_LAST
							: LMI_ENGINE_WANT_LOGITS,
				      .pooling = LMD_POOL_UNSET,
				      .chunk = !w->prompt  ? 1
					       : w->depth ? UINT32_MAX
							  : 0,
				      .chunk_from = w->depth};
	struct lmi_engine_info info;
	enum lmd_status st = LMD_OK;

	lmi_engine_info(e, &info);
	if (!tokens || !seqs)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u sequences of %llu tokens", w->n_seq,
			      (unsigned long long)n);
	for (uint32_t i = 0; st == LMD_OK && i < w->n_seq; i++) {
		fill_tokens(tokens + i * n, n, i, info.desc->n_vocab);
		seqs[i] = (struct lmi_engine_input_seq){.tokens = tokens + i * n,
							.n_tokens = (uint32_t)n,
							.fork_of = LMI_ENGINE_NO_FORK,
							.out_from = w->depth};
	}
	if (st == LMD_OK)
		st = lmi_engine_eval(e, &cmd, err);
	if (st == LMD_OK)
		st = time_rows(e, w->n_seq * (w->depth + spare(w)), (uint64_t)w->n_seq * w->n, rate,
			       err);
	lmi_free(seqs);
	lmi_free(tokens);
	return st;
}
