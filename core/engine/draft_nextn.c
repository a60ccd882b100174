/* SPDX-License-Identifier: MIT
 *
 * Guesses by the model's own draft layer.
 *
 * Row r of the draft layer is computed from token r and the hidden row of token r - 1, and guesses token
 * r + 1. So its keys of a row depend on the tokens up to that row alone, as those of the model do, and
 * lie in the same page. A drafter keeps the hidden rows of the last tokens, and computes draft rows of
 * the model's committed rows from them: when a guess is wanted, when there are many of them, and at once
 * for the chunks of a prompt. The rows after the last committed one are reserved while guesses are made
 * and given back after that; the first of them is computed again the next time, since its page may have
 * changed.
 *
 * A draft row sees only rows that this drafter has computed, from `from` on: those of a shared prefix, or
 * of other requests, may never have been. So guesses depend on nothing but the sequence. */
#include "core/engine/draft_nextn.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/draft.h"
#include "core/engine/topk.h"

/* Hidden rows that a drafter keeps at most; also sequences that share a step. */
#define N_KEEP 32u
/* What older times count for beside a new one. */
#define OLDER 0.8

struct lmi_engine_nextn {
	struct lmi_inst *inst;
	uint32_t exec;		      /* the plan of the draft layer */
	uint32_t n_vocab, width;      /* of a hidden row */
	uint32_t n_keep;	      /* hidden rows that a drafter keeps at most */
	struct lmi_engine_rows *rows; /* [inst->n_seq] of a step */
	double token_ns;	      /* time of one guessed token; 0: unknown */
	bool failed;		      /* a step failed: it guesses no more */
	struct lmi_engine_draft_count count;
};

struct nextn_drafter {
	struct lmi_engine_nextn *m;
	bool off;	 /* the sequence has rows without tokens */
	uint32_t cap;
	uint32_t kv_seq; /* whose rows these are; LMI_KV_NO_PAGE: of none */
	uint32_t from;	 /* the first row that was computed */
	uint32_t first, n; /* `hidden` has the rows of n tokens from `first` on; the next row to be
			    * computed is first + 1 */
	float *hidden;	 /* [N_KEEP][width], at most m->n_keep are used */
	float *last;	 /* [width] of the last guess */
};

/* ---- life ---- */

void lmi_engine_nextn_close(struct lmi_engine_nextn *m)
{
	if (!m)
		return;
	lmi_free(m->rows);
	lmi_free(m);
}

/* Do the pages of a plan's groups stay as long as the sequence? Draft rows are computed later than those of the
 * model. */
static bool pages_stay(const struct lmd_arch_desc *d, uint32_t groups)
{
	for (uint32_t g = 0; g < d->n_group; g++)
		if (groups >> g & 1 && (d->groups[g].kind != LMD_GROUP_PAGED || d->groups[g].window ||
					d->groups[g].chunk || d->groups[g].ratio > 1))
			return false;
	return true;
}

enum lmd_status lmi_engine_nextn_open(struct lmi_engine_nextn **out, struct lmi_inst *inst,
				      uint32_t n_vocab, struct lmd_error *err)
{
	const struct lmd_plan_key key = {.kind = LMD_PLAN_DRAFT,
					 .flags = LMD_PLAN_LOGITS | LMD_PLAN_HIDDEN};
	struct lmi_engine_nextn *m;
	const struct lmi_engine_exec *e;
	enum lmd_status st = LMD_OK;

	if (!inst->desc.n_draft)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%.80s (architecture %s) has no draft layers that can be run",
				inst->model->name, inst->model->arch);
	m = lmi_alloc(1, sizeof(*m));
	if (m)
		m->rows = lmi_alloc(inst->n_seq, sizeof(*m->rows));
	if (!m || !m->rows)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the draft rows of %u sequences",
			      inst->n_seq);
	if (st == LMD_OK)
		st = lmi_inst_exec(inst, &key, &m->exec, err);
	if (st == LMD_OK && !pages_stay(&inst->desc, inst->execs[m->exec]->groups))
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "architecture %s: the draft layers do not attend to all tokens",
			      inst->model->arch);
	if (st != LMD_OK) {
		lmi_engine_nextn_close(m);
		return st;
	}
	e = inst->execs[m->exec];
	m->inst = inst;
	m->width = inst->desc.n_embd;
	m->n_keep = N_KEEP < inst->n_batch ? N_KEEP : inst->n_batch;
	m->n_vocab = n_vocab < e->out_width ? n_vocab : e->out_width;
	*out = m;
	return LMD_OK;
}

static enum lmd_status create(void **out, const struct lmi_engine_draft_opts *o,
			      struct lmd_error *err)
{
	struct nextn_drafter *d = lmi_alloc(1, sizeof(*d));

	if (d)
		d->hidden = lmi_alloc((size_t)(N_KEEP + 1) * o->nextn->width, sizeof(*d->hidden));
	if (!d || !d->hidden) {
		lmi_free(d);
		return lmd_fail(err, LMD_NOMEM, "no memory for %u hidden rows", N_KEEP + 1);
	}
	d->m = o->nextn;
	d->last = d->hidden + (size_t)N_KEEP * d->m->width;
	d->kv_seq = LMI_KV_NO_PAGE;
	d->cap = o->cap;
	*out = d;
	return LMD_OK;
}

static void destroy(void *drafter)
{
	struct nextn_drafter *d = drafter;

	if (d)
		lmi_free(d->hidden);
	lmi_free(d);
}

static void restart(void *drafter)
{
	struct nextn_drafter *d = drafter;

	d->kv_seq = LMI_KV_NO_PAGE;
	d->n = 0;
}

/* ---- steps ---- */

static bool compute(struct lmi_engine_nextn *m, uint32_t slot, uint32_t n_part)
{
	struct lmd_error err = {0};
	enum lmd_status st;

	lmi_inst_hold(m->inst);
	lmi_engine_step_submit(m->inst, slot, m->exec, m->rows, n_part, NULL);
	st = lmi_engine_step_finish(m->inst, slot, &err);
	lmi_inst_let_go(m->inst);
	for (uint32_t i = 0; i < n_part; i++)
		m->count.n_row += m->rows[i].n;
	m->count.n_step++;
	if (st == LMD_OK)
		return true;
	m->failed = true;
	m->inst->host->log(m->inst->host->ctx, "engine", LMD_LOG_ERROR,
			   "the draft layer of %s guesses no more: %s", m->inst->model->name,
			   err.text);
	return false;
}

/* The rows [first, first + n) of the draft layer. before: the hidden row of token first - 1; rest: those of
 * the tokens from `first` on. */
static struct lmi_engine_rows part_of(const struct nextn_drafter *d, const lmd_token *tokens,
				      uint32_t first, uint32_t n, const float *before,
				      const float *rest)
{
	return (struct lmi_engine_rows){.kv_seq = d->kv_seq,
					.first = first,
					.n = n,
					.tokens = tokens,
					.hidden = {before, rest},
					.kv_from = d->from};
}

/* Keeps only the last hidden row. */
static void keep_last(struct nextn_drafter *d)
{
	memmove(d->hidden, d->hidden + (size_t)(d->n - 1) * d->m->width,
		d->m->width * sizeof(*d->hidden));
	d->first += d->n - 1;
	d->n = 1;
}

/* Computes the rows of which all is known and which the model has committed. */
static void compute_kept(struct nextn_drafter *d, uint32_t slot, const lmd_token *tokens)
{
	struct lmi_engine_nextn *m = d->m;

	if (d->n < 2)
		return;
	m->rows[0] = part_of(d, tokens, d->first + 1, d->n - 1, d->hidden, d->hidden + m->width);
	(void)compute(m, slot, 1);
	keep_last(d);
}

/* Computes the rows of the chunk of a prompt, whose hidden rows are given. */
static void compute_chunk(struct nextn_drafter *d, uint32_t slot, const lmd_token *tokens,
			  uint32_t n, const float *hidden)
{
	struct lmi_engine_nextn *m = d->m;
	const float *end = hidden + (size_t)(n - 1) * m->width;

	m->rows[0] = d->n ? part_of(d, tokens, d->first + 1, n, d->hidden, hidden)
			  : part_of(d, tokens, d->first + 1, n - 1, hidden, hidden + m->width);
	(void)compute(m, slot, 1);
	d->first = m->rows[0].first + m->rows[0].n - 1;
	memcpy(d->hidden, end, m->width * sizeof(*d->hidden));
	d->n = 1;
}

void lmi_engine_nextn_feed(struct lmi_engine_nextn *m, uint32_t slot, void *drafter,
			   const struct lmi_engine_rows *r, uint32_t n_kept, const float *hidden)
{
	struct nextn_drafter *d = drafter;

	d->off |= r->ext || r->n_picture || r->pos[0];
	if (d->off || m->failed || !n_kept)
		return;
	if (d->kv_seq != r->kv_seq || !d->n || d->first + d->n != r->first) {
		d->kv_seq = r->kv_seq;
		d->first = r->first;
		d->n = 0;
		d->from = r->first + 1;
	}
	if (d->n + n_kept > m->n_keep)
		compute_kept(d, slot, r->tokens);
	if (d->n + n_kept > m->n_keep) {
		compute_chunk(d, slot, r->tokens, n_kept, hidden);
		return;
	}
	memcpy(d->hidden + (size_t)d->n * m->width, hidden,
	       (size_t)n_kept * m->width * sizeof(*hidden));
	d->n += n_kept;
}

/* ---- guessing ---- */

/* Can it guess, and is there memory for the rows? Sets for how many guesses. */
static bool begin(struct lmi_engine_draft_want *w)
{
	const struct nextn_drafter *d = w->drafter;
	struct lmi_kv *kv = d->m->inst->kv;
	uint32_t n_done = w->n_tokens - 1;

	w->n = 0;
	if (d->off || !d->n || w->n_tokens >= d->cap || w->kv_seq != d->kv_seq ||
	    d->first + d->n != n_done || lmi_kv_n_pending(kv, d->kv_seq) ||
	    lmi_kv_len(kv, d->kv_seq) != n_done)
		return false;
	if (w->most > d->cap - w->n_tokens)
		w->most = d->cap - w->n_tokens;
	while (w->most && !lmi_kv_reserve(kv, d->kv_seq, w->most, NULL, 0))
		w->most /= 2;
	return w->most;
}

/* Runs a step with the parts of these sequences, and takes their guesses. */
static bool guess_once(struct lmi_engine_nextn *m, uint32_t slot, struct lmi_engine_draft_want **v,
		       uint32_t n)
{
	const struct lmi_engine_slot *t = &m->inst->slot[slot];
	uint32_t row = 0;

	for (uint32_t i = 0; i < n; i++)
		m->rows[i].n_out = 1;
	if (!compute(m, slot, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_engine_draft_want *w = v[i];
		struct nextn_drafter *d = w->drafter;

		row += m->rows[i].n;
		w->out[w->n++] = (lmd_token)lmi_engine_argmax(
			t->out + (size_t)i * m->inst->execs[m->exec]->out_width, m->n_vocab, NULL);
		memcpy(d->last, t->hidden + (size_t)(row - 1) * m->width,
		       m->width * sizeof(*d->last));
	}
	return true;
}

/* The first guesses, and the rows before them. Returns their number. */
static uint32_t guess_first(struct lmi_engine_nextn *m, uint32_t slot,
			    struct lmi_engine_draft_want *v, uint32_t n)
{
	struct lmi_engine_draft_want *part[N_KEEP];
	uint32_t n_part = 0, n_row = 0, sum = 0;

	for (uint32_t i = 0; i <= n; i++) {
		const struct nextn_drafter *d = i < n ? v[i].drafter : NULL;

		if (d && !v[i].most)
			continue;
		if (n_part && (!d || n_part == N_KEEP || n_row + d->n > m->inst->n_batch)) {
			if (!guess_once(m, slot, part, n_part))
				return 0;
			for (uint32_t k = 0; k < n_part; k++)
				keep_last(part[k]->drafter);
			sum += n_part;
			n_part = n_row = 0;
		}
		if (!d)
			break;
		m->rows[n_part] = part_of(d, v[i].tokens, d->first + 1, d->n, d->hidden,
					  d->hidden + m->width);
		part[n_part++] = &v[i];
		n_row += d->n;
	}
	return sum;
}

/* One more guess of each sequence that wants more. Returns how many there are. */
static uint32_t guess_next(struct lmi_engine_nextn *m, uint32_t slot,
			   struct lmi_engine_draft_want *v, uint32_t n)
{
	struct lmi_engine_draft_want *part[N_KEEP];
	uint32_t n_part = 0, sum = 0;

	for (uint32_t i = 0; i <= n; i++) {
		const struct nextn_drafter *d = i < n ? v[i].drafter : NULL;

		if (d && v[i].n == v[i].most)
			continue;
		if (n_part && (!d || n_part == N_KEEP)) {
			if (!guess_once(m, slot, part, n_part))
				return 0;
			sum += n_part;
			n_part = 0;
		}
		if (!d)
			break;
		m->rows[n_part] = part_of(d, v[i].tokens, v[i].n_tokens + v[i].n - 1, 1, d->last, NULL);
		part[n_part++] = &v[i];
	}
	return sum;
}

void lmi_engine_nextn_guess(struct lmi_engine_nextn *m, uint32_t slot,
			    struct lmi_engine_draft_want *v, uint32_t n)
{
	const struct lmd_host *host = m->inst->host;
	uint64_t begin_ns = host->now_ns(host->ctx);
	uint32_t sum = 0, n_guess;

	for (uint32_t i = 0; i < n; i++) {
		v[i].n = 0;
		if (m->failed || !begin(&v[i]))
			v[i].most = 0;
	}
	for (n_guess = guess_first(m, slot, v, n); n_guess; n_guess = guess_next(m, slot, v, n))
		sum += n_guess;
	for (uint32_t i = 0; i < n; i++)
		if (v[i].most)
			lmi_kv_commit(m->inst->kv, ((struct nextn_drafter *)v[i].drafter)->kv_seq, 0);
	if (sum) {
		double each = (double)(host->now_ns(host->ctx) - begin_ns) / sum;

		m->token_ns = m->token_ns > 0 ? OLDER * m->token_ns + (1 - OLDER) * each : each;
	}
}

void lmi_engine_nextn_count(const struct lmi_engine_nextn *m, struct lmi_engine_draft_count *out)
{
	*out = m->count;
}

static double cost_ns(const void *drafter, uint32_t n_tokens)
{
	const struct nextn_drafter *d = drafter;

	return d->off || d->m->failed || n_tokens >= d->cap ? -1 : d->m->token_ns;
}

const struct lmi_engine_drafter lmi_engine_drafter_nextn = {.name = "nextn",
							    .create = create,
							    .cost_ns = cost_ns,
							    .destroy = destroy,
							    .restart = restart};
