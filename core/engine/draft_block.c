/* SPDX-License-Identifier: MIT
 *
 * Guesses of whole blocks (DFlash): one step computes the last token and as many mask tokens as a block has after
 * it, which see each other and all tokens before them.
 *
 * Keys of the tokens so far are computed from their hidden rows alone, so the rows of a draft model up to `first`
 * are known before a guess. The rows of a block are given back after it: their keys are of tokens that are not
 * known. */
#include "core/engine/draft_nextn_impl.h"

#include "core/base/alloc.h"
#include "core/engine/draft.h"
#include "core/engine/draft_tree.h"

bool lmi_engine_block_create(struct lmi_engine_nextn_drafter *d)
{
	const uint32_t n = d->cap + d->m->n_block;

	d->block = lmi_alloc(n, sizeof(*d->block));
	for (uint32_t i = 0; d->block && i < n; i++)
		d->block[i] = d->m->mask;
	return d->block;
}

/* Can it guess, and is there memory for a block? */
static bool begin(struct lmi_engine_draft_want *w)
{
	struct lmi_engine_nextn_drafter *d = w->drafter;
	struct lmi_kv *kv = d->m->target->kv;
	const uint32_t n_done = w->n_tokens - 1;

	w->n = 0;
	if (d->off || !w->most || w->n_tokens >= d->cap || d->kv_seq == LMI_KV_NO_PAGE ||
	    w->kv_seq != d->kv_seq || d->first + d->n != n_done || lmi_kv_n_pending(kv, d->kv_seq))
		return false;
	if (d->n && !lmi_engine_nextn_compute_kept(d, 0, w->tokens))
		return false;
	if (w->most > d->m->n_block - 1)
		w->most = d->m->n_block - 1;
	if (w->most > d->cap - w->n_tokens)
		w->most = d->cap - w->n_tokens;
	return lmi_engine_nextn_reserve(d, d->m->n_block);
}

/* The rows of a block. The tokens of a draft model's sequence are counted from row 0, which is row `from`. */
static struct lmi_engine_rows part_of(const struct lmi_engine_draft_want *w)
{
	const struct lmi_engine_nextn_drafter *d = w->drafter;
	const uint32_t first = d->first - d->from;

	d->block[first] = w->tokens[w->n_tokens - 1];
	return (struct lmi_engine_rows){.kv_seq = d->own_seq,
					.first = first,
					.n = d->m->n_block,
					.n_out = d->m->n_block - 1,
					.tokens = d->block};
}

static void take(struct lmi_engine_draft_want *w, float *out)
{
	const struct lmi_engine_nextn_drafter *d = w->drafter;
	const uint32_t width = d->m->inst->execs[d->m->next_exec]->out_width;

	for (; w->n < w->most; w->n++)
		w->out[w->n] = lmi_engine_tree_rank(w->tree, w->n, out + (size_t)w->n * width,
						    d->m->n_vocab, d->m->map);
}

/* Computes the blocks of some sequences and takes their guesses. Returns their number. */
static uint32_t guess_once(struct lmi_engine_nextn *m, struct lmi_engine_draft_want **v, uint32_t n)
{
	const uint32_t width = m->inst->execs[m->next_exec]->out_width;
	uint32_t sum = 0;
	bool ok;

	for (uint32_t i = 0; i < n; i++)
		m->rows[i] = part_of(v[i]);
	ok = !m->failed && lmi_engine_nextn_compute(m, m->next_exec, 0, n);
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_engine_nextn_drafter *d = v[i]->drafter;

		lmi_kv_commit(m->inst->kv, d->own_seq, 0);
		d->block[d->first - d->from] = m->mask;
		if (ok)
			take(v[i], m->inst->slot[0].out + (size_t)i * (m->n_block - 1) * width);
		sum += v[i]->n;
	}
	return sum;
}

uint32_t lmi_engine_block_guess(struct lmi_engine_nextn *m, struct lmi_engine_draft_want *v, uint32_t n)
{
	const uint32_t most = m->inst->n_batch / m->n_block;
	struct lmi_engine_draft_want *part[LMI_ENGINE_NEXTN_KEEP];
	uint32_t n_part = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!m->failed && begin(&v[i]))
			part[n_part++] = &v[i];
		if (n_part && (i + 1 == n || n_part == most || n_part == LMI_ENGINE_NEXTN_KEEP)) {
			sum += guess_once(m, part, n_part);
			n_part = 0;
		}
	}
	return sum;
}
