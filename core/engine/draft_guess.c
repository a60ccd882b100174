/* SPDX-License-Identifier: MIT
 *
 * Guesses by a draft model: the tokens that it finds most likely, one after the other.
 *
 * A drafter has a sequence in the draft model's KV memory, with rows for the tokens of the target's
 * sequence and for its own last guesses. Before each guess it drops the rows of guesses that were
 * wrong and computes those of tokens that it has not seen. The sequences that want guesses at the same
 * time share the steps of the draft model: one that computes what they have not seen, and one for each
 * further token. The first has no more rows than any step, so that a long prompt does not delay other
 * sequences; what does not fit is computed next time, and there are no guesses until then. When memory
 * is short, a drafter gives up its sequence. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/draft.h"
#include "core/engine/draft_model_impl.h"
#include "core/engine/draft_tree.h"

/* A sequence that has to compute at most so many rows that it has not seen goes on as usual. */
#define USUAL_ROWS (2 + LMI_ENGINE_DRAFT_MAX)
/* Of an answer, at least so many more guesses are expected, over which the time of computing a text
 * that was not seen is divided. */
#define FURTHER_GUESSES 64
/* What older times count for beside a new one. */
#define KEEP 0.8

struct model_drafter {
	struct lmi_engine_draft_model *m;
	struct lmi_kv_identity id;
	bool caches;
	bool off;	   /* memory was short */
	uint32_t kv_seq;   /* LMI_KV_NO_PAGE: none */
	uint32_t n_row;	   /* computed rows */
	uint32_t n_known;  /* the first tokens, which are the target's */
	uint32_t cap;
	lmd_token *tokens; /* [cap + LMI_ENGINE_DRAFT_MAX] of the computed rows and the next ones */
};

static enum lmd_status create(void **out, const struct lmi_engine_draft_opts *o,
			      struct lmd_error *err)
{
	struct model_drafter *d = lmi_alloc(1, sizeof(*d));

	if (d)
		d->tokens = lmi_alloc((size_t)o->cap + LMI_ENGINE_DRAFT_MAX, sizeof(*d->tokens));
	if (!d || !d->tokens) {
		lmi_free(d);
		return lmd_fail(err, LMD_NOMEM, "no memory to draft %u tokens", o->cap);
	}
	d->m = o->model;
	d->id = (struct lmi_kv_identity){.tenant = o->tenant};
	d->caches = o->caches;
	d->kv_seq = LMI_KV_NO_PAGE;
	d->cap = o->cap < o->model->n_ctx ? o->cap : o->model->n_ctx;
	atomic_fetch_add(&d->m->n_drafter, 1);
	*out = d;
	return LMD_OK;
}

static void close_seq(struct model_drafter *d, bool remember)
{
	struct lmi_kv *kv = d->m->inst->kv;

	if (d->kv_seq == LMI_KV_NO_PAGE)
		return;
	if (remember && d->caches)
		lmi_kv_remember(kv, d->kv_seq, d->tokens, true);
	lmi_kv_close(kv, d->kv_seq);
	d->kv_seq = LMI_KV_NO_PAGE;
	d->n_row = 0;
}

static void destroy(void *drafter)
{
	struct model_drafter *d = drafter;

	if (!d)
		return;
	close_seq(d, true);
	atomic_fetch_sub(&d->m->n_drafter, 1);
	lmi_free(d->tokens);
	lmi_free(d);
}

static void restart(void *drafter)
{
	struct model_drafter *d = drafter;

	close_seq(d, true);
	d->n_known = 0;
}

/* Opens the sequence with what is known of these tokens from others. */
static bool open_seq(struct model_drafter *d, uint32_t n)
{
	struct lmi_kv *kv = d->m->inst->kv;
	struct lmi_kv_prefix prefix;

	if (d->kv_seq != LMI_KV_NO_PAGE)
		return true;
	if (d->caches) {
		lmi_kv_find_prefix(kv, &d->id, d->tokens, n - 1, &prefix);
		d->kv_seq = lmi_kv_open_prefix(kv, &prefix);
	} else {
		d->kv_seq = lmi_kv_open(kv);
	}
	if (d->kv_seq == LMI_KV_NO_PAGE)
		return false;
	d->n_row = lmi_kv_len(kv, d->kv_seq);
	return true;
}

/* Takes the target's tokens and drops the rows of guesses that were wrong. The last token's row is
 * always computed again, for its logits. */
static void follow(struct model_drafter *d, const lmd_token *tokens, uint32_t n)
{
	uint32_t same = d->n_known < n ? d->n_known : n - 1;

	while (same < d->n_row && same < n - 1 && d->tokens[same] == tokens[same])
		same++;
	if (d->n_row > same && d->kv_seq != LMI_KV_NO_PAGE) {
		if (lmi_kv_truncate(d->m->inst->kv, d->kv_seq, same))
			d->n_row = same;
		else
			close_seq(d, false);
	}
	memcpy(d->tokens + d->n_known, tokens + d->n_known, (n - d->n_known) * sizeof(*tokens));
	d->n_known = n;
}

/* ---- steps ---- */

/* Adds the next n rows of a sequence to a step. Returns false if it gives up. */
static bool add_rows(struct model_drafter *d, uint32_t n, uint32_t *n_part)
{
	struct lmi_engine_draft_model *m = d->m;

	if (!lmi_kv_reserve(m->inst->kv, d->kv_seq, n, NULL, 0)) {
		close_seq(d, false);
		d->off = true;
		return false;
	}
	m->rows[(*n_part)++] = (struct lmi_engine_rows){.kv_seq = d->kv_seq,
							.first = d->n_row,
							.n = n,
							.n_out = 1,
							.tokens = d->tokens};
	return true;
}

/* Computes the rows that were added. */
static bool compute(struct lmi_engine_draft_model *m, uint32_t n_part)
{
	struct lmd_error err = {0};
	enum lmd_status st = lmi_engine_step_run(m->inst, m->exec, m->rows, n_part, NULL, &err);

	for (uint32_t i = 0; i < n_part; i++) {
		lmi_kv_commit(m->inst->kv, m->rows[i].kv_seq, st == LMD_OK ? m->rows[i].n : 0);
		m->count.n_row += m->rows[i].n;
	}
	m->count.n_step++;
	if (st == LMD_OK)
		return true;
	m->failed = true;
	lmi_engine_draft_failed(m->inst, "the draft model", &err);
	return false;
}

/* Takes the token that follows the last row of a sequence. */
static void take(struct lmi_engine_draft_want *w, uint32_t part)
{
	struct model_drafter *d = w->drafter;
	struct lmi_inst *inst = d->m->inst;
	float *logits = inst->slot[0].out + (size_t)part * inst->execs[d->m->exec]->out_width;

	w->out[w->n] = d->tokens[w->n_tokens + w->n] =
		lmi_engine_tree_rank(w->tree, w->n, logits, d->m->n_vocab, NULL);
	w->n++;
}

static uint64_t now(const struct lmi_engine_draft_model *m)
{
	return m->inst->host->now_ns(m->inst->host->ctx);
}

static void measure(double *mean, uint64_t ns, uint32_t n)
{
	double each = (double)ns / n;

	*mean = *mean > 0 ? KEEP * *mean + (1 - KEEP) * each : each;
}

/* Returns how many rows a sequence has to compute before its first guess; 0: it makes none. */
static uint32_t n_missing(const struct lmi_engine_draft_want *w)
{
	const struct model_drafter *d = w->drafter;

	return w->most && d->kv_seq != LMI_KV_NO_PAGE ? w->n_tokens - d->n_row : 0;
}

/* Adds the missing rows of those sequences that lack few, or of those that lack many, as far as they
 * fit. */
static void add_missing(struct lmi_engine_draft_want *v, uint32_t n, bool few, uint32_t *n_row,
			uint32_t *n_part)
{
	for (uint32_t i = 0; i < n; i++) {
		struct model_drafter *d = v[i].drafter;
		uint32_t left = n_missing(&v[i]), room = d->m->inst->n_batch - *n_row;

		if (!left || !room || few != (left <= USUAL_ROWS))
			continue;
		v[i].part = *n_part;
		v[i].n_added = left < room ? left : room;
		if (!add_rows(d, v[i].n_added, n_part))
			v[i].n_added = 0;
		*n_row += v[i].n_added;
	}
}

/* Computes what the sequences have not seen, and their first guesses. Returns the number of guesses. */
static uint32_t catch_up(struct lmi_engine_draft_model *m, struct lmi_engine_draft_want *v,
			 uint32_t n)
{
	uint64_t begin_ns = now(m);
	uint32_t n_row = 0, n_part = 0, n_usual, n_guess = 0;

	add_missing(v, n, true, &n_row, &n_part);
	n_usual = n_row;
	add_missing(v, n, false, &n_row, &n_part);
	if (!n_part || !compute(m, n_part))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct model_drafter *d = v[i].drafter;

		d->n_row += v[i].n_added;
		if (v[i].n_added && d->n_row == v[i].n_tokens)
			take(&v[i], v[i].part);
		n_guess += v[i].n;
	}
	if (n_row > n_usual)
		measure(&m->row_ns, now(m) - begin_ns, n_row);
	return n_guess;
}

/* Computes one more guess of each sequence that wants more. Returns how many there are. */
static uint32_t go_on(struct lmi_engine_draft_model *m, struct lmi_engine_draft_want *v, uint32_t n)
{
	uint32_t n_part = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct model_drafter *d = v[i].drafter;

		v[i].n_added = 0;
		if (!v[i].n || v[i].n == v[i].most || v[i].n_tokens + v[i].n >= d->cap)
			continue;
		v[i].part = n_part;
		v[i].n_added = add_rows(d, 1, &n_part);
	}
	if (!n_part || !compute(m, n_part))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!v[i].n_added)
			continue;
		((struct model_drafter *)v[i].drafter)->n_row++;
		take(&v[i], v[i].part);
	}
	return n_part;
}

/* The turn on the devices is taken. */
static void guess_all(struct lmi_engine_draft_model *m, struct lmi_engine_draft_want *v, uint32_t n)
{
	uint64_t begin_ns = now(m);
	uint32_t n_guess, sum = 0;
	bool usual = true;

	for (uint32_t i = 0; i < n; i++) {
		struct model_drafter *d = v[i].drafter;

		if (d->off || v[i].n_tokens >= d->cap)
			v[i].most = 0;
		if (!v[i].most)
			continue;
		follow(d, v[i].tokens, v[i].n_tokens);
		if (open_seq(d, v[i].n_tokens))
			lmi_kv_trim(m->inst->kv, d->kv_seq);
		usual &= n_missing(&v[i]) <= USUAL_ROWS;
	}
	for (n_guess = catch_up(m, v, n); n_guess; n_guess = go_on(m, v, n))
		sum += n_guess;
	if (usual && sum)
		measure(&m->token_ns, now(m) - begin_ns, sum);
}

void lmi_engine_draft_model_guess(struct lmi_engine_draft_model *m,
				  struct lmi_engine_draft_want *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i].n = v[i].n_added = 0;
	if (m->failed)
		return;
	m->inst->step_class = m->target->step_class;
	lmi_inst_hold(m->target);
	if (lmi_inst_hold_within(m->inst, m->target)) {
		guess_all(m, v, n);
		lmi_inst_let_go(m->inst);
	}
	lmi_inst_let_go(m->target);
}

void lmi_engine_draft_model_count(const struct lmi_engine_draft_model *m,
				  struct lmi_engine_draft_count *out)
{
	*out = m->count;
}

static double cost_ns(const void *drafter, uint32_t n_tokens)
{
	const struct model_drafter *d = drafter;
	uint32_t n_new = n_tokens > d->n_row ? n_tokens - d->n_row : 0;

	if (d->off || d->m->failed || n_tokens >= d->cap)
		return -1;
	return d->m->token_ns +
	       (n_new > USUAL_ROWS ? n_new * d->m->row_ns / FURTHER_GUESSES : 0);
}

const struct lmi_engine_drafter lmi_engine_drafter_model = {.name = "model",
							    .create = create,
							    .cost_ns = cost_ns,
							    .destroy = destroy,
							    .restart = restart};
