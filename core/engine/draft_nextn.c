/* SPDX-License-Identifier: MIT
 *
 * Guesses from hidden rows: by the model's own draft layer, or by a draft model of its own (EAGLE-3).
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
 * of other requests, may never have been. So guesses depend on nothing but the sequence.
 *
 * A draft model has a sequence in its own KV memory, whose row 0 is row `from`, with the rows up to `first`.
 * Positions are rotations, so it does not matter where they begin. When memory is short, or another model uses
 * the devices, the drafter forgets its rows and begins again with the next ones of the target. */
#include "core/engine/draft_nextn_impl.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/draft.h"
#include "core/engine/draft_tree.h"

#define N_KEEP LMI_ENGINE_NEXTN_KEEP
/* What older times count for beside a new one. */
#define OLDER 0.8

/* ---- life ---- */

static enum lmd_status create(void **out, const struct lmi_engine_draft_opts *o,
			      struct lmd_error *err)
{
	struct lmi_engine_nextn_drafter *d = lmi_alloc(1, sizeof(*d));

	if (d)
		d->hidden = lmi_alloc((size_t)N_KEEP * o->nextn->width + o->nextn->own_width,
				      sizeof(*d->hidden));
	if (!d || !d->hidden) {
		lmi_free(d);
		return lmd_fail(err, LMD_NOMEM, "no memory for %u hidden rows", N_KEEP + 1);
	}
	d->m = o->nextn;
	d->last = d->hidden + (size_t)N_KEEP * d->m->width;
	d->kv_seq = d->own_seq = LMI_KV_NO_PAGE;
	d->cap = o->cap;
	if (d->m->n_block && !lmi_engine_block_create(d)) {
		lmi_free(d->hidden);
		lmi_free(d);
		return lmd_fail(err, LMD_NOMEM, "no memory to draft %u tokens", o->cap);
	}
	*out = d;
	return LMD_OK;
}

/* Forgets all rows. */
static void forget(struct lmi_engine_nextn_drafter *d)
{
	if (d->own_seq != LMI_KV_NO_PAGE)
		lmi_kv_close(d->m->inst->kv, d->own_seq);
	d->kv_seq = d->own_seq = LMI_KV_NO_PAGE;
	d->n = 0;
}

static void destroy(void *drafter)
{
	struct lmi_engine_nextn_drafter *d = drafter;

	if (!d)
		return;
	forget(d);
	lmi_free(d->block);
	lmi_free(d->hidden);
	lmi_free(d);
}

static void restart(void *drafter)
{
	forget(drafter);
}

/* ---- rows ---- */

static bool is_separate(const struct lmi_engine_nextn *m)
{
	return m->inst != m->target;
}

bool lmi_engine_nextn_reserve(struct lmi_engine_nextn_drafter *d, uint32_t n)
{
	struct lmi_kv *kv = d->m->inst->kv;

	if (!is_separate(d->m))
		return true;
	if (d->own_seq == LMI_KV_NO_PAGE)
		d->own_seq = lmi_kv_open(kv);
	return d->own_seq != LMI_KV_NO_PAGE && lmi_kv_reserve(kv, d->own_seq, n, NULL, 0);
}

/* Ends the reservation: the first n rows count. */
static void commit(struct lmi_engine_nextn_drafter *d, uint32_t n)
{
	if (is_separate(d->m))
		lmi_kv_commit(d->m->inst->kv, d->own_seq, n);
}

/* The rows [first, first + n). before: the hidden row of token first - 1; rest: those of the tokens from `first`
 * on. */
static struct lmi_engine_rows part_of(const struct lmi_engine_nextn_drafter *d, const lmd_token *tokens,
				      uint32_t first, uint32_t n, const float *before,
				      const float *rest)
{
	const bool separate = is_separate(d->m);
	const uint32_t base = separate ? d->from : 0;

	return (struct lmi_engine_rows){.kv_seq = separate ? d->own_seq : d->kv_seq,
					.first = first - base,
					.n = n,
					.tokens = tokens + base,
					.hidden = {before, rest},
					.kv_from = d->from - base};
}

static bool hold(struct lmi_engine_nextn *m)
{
	lmi_inst_hold(m->target);
	if (!is_separate(m) || lmi_inst_hold_within(m->inst, m->target))
		return true;
	lmi_inst_let_go(m->target);
	return false;
}

bool lmi_engine_nextn_compute(struct lmi_engine_nextn *m, uint32_t exec, uint32_t slot, uint32_t n_part)
{
	struct lmd_error err = {0};
	enum lmd_status st;

	if (!hold(m))
		return false;
	lmi_engine_step_submit(m->inst, slot, exec, m->rows, n_part, NULL);
	st = lmi_engine_step_finish(m->inst, slot, &err);
	if (is_separate(m))
		lmi_inst_let_go(m->inst);
	lmi_inst_let_go(m->target);
	for (uint32_t i = 0; i < n_part; i++)
		m->count.n_row += m->rows[i].n;
	m->count.n_step++;
	if (st == LMD_OK)
		return true;
	m->failed = true;
	lmi_engine_draft_failed(m->inst, is_separate(m) ? "the draft model" : "the draft layer of", &err);
	return false;
}

/* Keeps only the last hidden row. */
static void keep_last(struct lmi_engine_nextn_drafter *d)
{
	memmove(d->hidden, d->hidden + (size_t)(d->n - 1) * d->m->width,
		d->m->width * sizeof(*d->hidden));
	d->first += d->n - 1;
	d->n = 1;
}

/* Computes rows that the target has committed; false: all are forgotten. */
static bool compute_part(struct lmi_engine_nextn_drafter *d, uint32_t slot,
			 const struct lmi_engine_rows *part)
{
	struct lmi_engine_nextn *m = d->m;
	bool ok = lmi_engine_nextn_reserve(d, part->n);

	if (ok) {
		m->rows[0] = *part;
		m->rows[0].kv_seq = is_separate(m) ? d->own_seq : d->kv_seq;
		ok = lmi_engine_nextn_compute(m, m->exec, slot, 1);
		commit(d, ok ? part->n : 0);
	}
	if (!ok)
		forget(d);
	return ok;
}

/* By how many rows a row comes after the token of the hidden row that it is computed from. */
static uint32_t shift(const struct lmi_engine_nextn *m)
{
	return m->n_block ? 0 : 1;
}

bool lmi_engine_nextn_compute_kept(struct lmi_engine_nextn_drafter *d, uint32_t slot, const lmd_token *tokens)
{
	const struct lmi_engine_rows part = part_of(d, tokens, d->first + shift(d->m), d->n - shift(d->m),
						    d->hidden, d->hidden + d->m->width);

	if (!compute_part(d, slot, &part))
		return false;
	if (shift(d->m)) {
		keep_last(d);
		return true;
	}
	d->first += d->n;
	d->n = 0;
	return true;
}

/* Computes the rows of the chunk of a prompt, whose hidden rows are given, after that which is kept. */
static void compute_chunk(struct lmi_engine_nextn_drafter *d, uint32_t slot, const lmd_token *tokens,
			  uint32_t n, const float *hidden)
{
	const uint32_t first = d->first + shift(d->m), n_row = d->n ? n : n - shift(d->m);
	const struct lmi_engine_rows part = part_of(d, tokens, first, n_row, d->n ? d->hidden : hidden,
						    d->n ? hidden : hidden + d->m->width);

	if (!compute_part(d, slot, &part))
		return;
	d->first += n_row;
	d->n = shift(d->m);
	memcpy(d->hidden, hidden + (size_t)(n - 1) * d->m->width, d->n * d->m->width * sizeof(*d->hidden));
}

/* Begins with the rows of a part. */
static void begin_at(struct lmi_engine_nextn_drafter *d, const struct lmi_engine_rows *r)
{
	forget(d);
	d->kv_seq = r->kv_seq;
	d->first = r->first;
	d->from = r->first + shift(d->m);
}

void lmi_engine_nextn_feed(struct lmi_engine_nextn *m, uint32_t slot, void *drafter,
			   const struct lmi_engine_rows *r, uint32_t n_kept, const float *hidden)
{
	struct lmi_engine_nextn_drafter *d = drafter;

	slot = is_separate(m) ? 0 : slot;
	d->off |= r->ext || r->n_picture || r->pos[0];
	if (d->off || m->failed || !n_kept)
		return;
	if (d->kv_seq != r->kv_seq || d->first + d->n != r->first)
		begin_at(d, r);
	if (d->n > shift(m) && d->n + n_kept > m->n_keep &&
	    !lmi_engine_nextn_compute_kept(d, slot, r->tokens))
		begin_at(d, r);
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
	struct lmi_engine_nextn_drafter *d = w->drafter;
	struct lmi_kv *kv = d->m->target->kv;
	uint32_t n_done = w->n_tokens - 1;

	w->n = 0;
	if (d->off || !d->n || w->n_tokens >= d->cap || w->kv_seq != d->kv_seq ||
	    d->first + d->n != n_done || lmi_kv_n_pending(kv, d->kv_seq) ||
	    lmi_kv_len(kv, d->kv_seq) != n_done)
		return false;
	if (w->most > d->cap - w->n_tokens)
		w->most = d->cap - w->n_tokens;
	w->part = d->n - 1; /* of the rows before the first guess, those that count */
	while (w->most && !(is_separate(d->m) ? lmi_engine_nextn_reserve(d, w->part + w->most)
					      : lmi_kv_reserve(kv, d->kv_seq, w->most, NULL, 0)))
		w->most /= 2;
	return w->most;
}

/* Gives back the memory of rows that do not count. */
static void end(struct lmi_engine_draft_want *w)
{
	struct lmi_engine_nextn_drafter *d = w->drafter;

	if (!is_separate(d->m))
		lmi_kv_commit(d->m->target->kv, d->kv_seq, 0);
	else
		commit(d, w->n ? w->part : 0);
	if (!w->n)
		forget(d);
}

/* Runs a step with the parts of these sequences, and takes their guesses. */
static bool guess_once(struct lmi_engine_nextn *m, uint32_t exec, uint32_t slot,
		       struct lmi_engine_draft_want **v, uint32_t n)
{
	const struct lmi_engine_slot *t = &m->inst->slot[slot];
	uint32_t row = 0;

	for (uint32_t i = 0; i < n; i++)
		m->rows[i].n_out = 1;
	if (!lmi_engine_nextn_compute(m, exec, slot, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_engine_draft_want *w = v[i];
		struct lmi_engine_nextn_drafter *d = w->drafter;

		row += m->rows[i].n;
		w->out[w->n] = lmi_engine_tree_rank(
			w->tree, w->n, t->out + (size_t)i * m->inst->execs[exec]->out_width, m->n_vocab,
			m->map);
		w->n++;
		memcpy(d->last, t->hidden + (size_t)(row - 1) * m->own_width,
		       m->own_width * sizeof(*d->last));
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
		const struct lmi_engine_nextn_drafter *d = i < n ? v[i].drafter : NULL;

		if (d && !v[i].most)
			continue;
		if (n_part && (!d || n_part == N_KEEP || n_row + d->n > m->inst->n_batch)) {
			if (!guess_once(m, m->exec, slot, part, n_part))
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
		const struct lmi_engine_nextn_drafter *d = i < n ? v[i].drafter : NULL;

		if (d && v[i].n == v[i].most)
			continue;
		if (n_part && (!d || n_part == N_KEEP)) {
			if (!guess_once(m, m->next_exec, slot, part, n_part))
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
	uint32_t sum = 0, n_guess = 0;

	slot = is_separate(m) ? 0 : slot;
	m->inst->step_class = m->target->step_class;
	for (uint32_t i = 0; i < n; i++)
		v[i].n = 0;
	if (m->n_block)
		sum = lmi_engine_block_guess(m, v, n);
	for (uint32_t i = 0; i < n && !m->n_block; i++)
		if (m->failed || !begin(&v[i]))
			v[i].most = 0;
	if (!m->n_block)
		n_guess = guess_first(m, slot, v, n);
	for (; n_guess; n_guess = guess_next(m, slot, v, n))
		sum += n_guess;
	for (uint32_t i = 0; i < n && !m->n_block; i++)
		if (v[i].most)
			end(&v[i]);
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
	const struct lmi_engine_nextn_drafter *d = drafter;

	return d->off || d->m->failed || n_tokens >= d->cap ? -1 : d->m->token_ns;
}

const struct lmi_engine_drafter lmi_engine_drafter_nextn = {.name = "nextn",
							    .create = create,
							    .cost_ns = cost_ns,
							    .destroy = destroy,
							    .restart = restart};
