/* SPDX-License-Identifier: MIT
 *
 * Runs the windows of a text through the engine, several at a time. */
#include <string.h>

#include "client/llamactl/ppl.h"
#include "core/base/alloc.h"
#include "core/base/file.h"

#define TEXT_MAX (256u << 20)

struct taker {
	lmi_ppl_row_fn fn;
	void *arg;
};

static enum lmd_status take(void *arg, struct lmi_event *ev, struct lmd_error *err)
{
	const struct taker *t = arg;
	uint32_t width = ev->u.rows.width;
	enum lmd_status st = LMD_OK;

	if (ev->kind != LMI_EV_ROWS)
		return LMD_OK;
	for (uint32_t i = 0; st == LMD_OK && i < ev->u.rows.n; i++)
		st = t->fn(t->arg, ev->u.rows.seq, ev->u.rows.first + i,
			   ev->u.rows.v + (size_t)i * width, width, err);
	return st;
}

enum lmd_status lmi_ppl_eval(struct lmi_ppl *p, const struct lmi_input_seq *seqs, uint32_t n,
			     enum lmi_want want, lmi_ppl_row_fn fn, void *arg,
			     struct lmd_error *err)
{
	const struct lmi_eval cmd = {
		.id = 1, .seqs = seqs, .n_seq = n, .want = want, .pooling = LMD_POOL_UNSET};
	struct taker t = {fn, arg};
	enum lmd_status st = lmi_engine_eval(p->engine, &cmd, err);

	return st == LMD_OK ? lmi_embedded_drain(p->engine, cmd.id, take, &t, NULL, err) : st;
}

/* ---- windows ---- */

struct batch {
	const struct lmi_windows *w;
	uint32_t from; /* window of sequence 0 */
	lmi_window_fn fn;
	void *arg;
};

static enum lmd_status on_row(void *arg, uint32_t seq, uint32_t row, const float *v,
			      uint32_t width, struct lmd_error *err)
{
	const struct batch *b = arg;
	uint32_t w = b->from + seq;

	if (row + 1 >= b->w->ctx) /* no token follows */
		return LMD_OK;
	return b->fn(b->arg, w, row, b->w->tokens[(size_t)w * b->w->step + row + 1], v, width, err);
}

enum lmd_status lmi_ppl_windows(struct lmi_ppl *p, struct lmi_windows *w, enum lmi_want want,
				lmi_window_fn fn, void *arg, struct lmd_error *err)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(lmi_engine_tokenizer(p->engine));
	bool bos = info->add_bos && info->bos >= 0;
	/* overlapping windows must each see their own first token */
	uint32_t n_par = w->step < w->ctx ? 1 : p->n_par;
	struct lmi_input_seq *seqs = lmi_alloc(n_par, sizeof(*seqs));
	lmd_token *kept = lmi_alloc(n_par, sizeof(*kept));
	enum lmd_status st = LMD_OK;

	if (!seqs || !kept)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u windows", n_par);
	for (uint32_t at = 0; st == LMD_OK && at < w->n;) {
		uint32_t n = w->n - at < n_par ? w->n - at : n_par;
		struct batch b = {.w = w, .from = at, .fn = fn, .arg = arg};

		for (uint32_t i = 0; i < n; i++) {
			lmd_token *v = w->tokens + (size_t)(at + i) * w->step;

			kept[i] = v[0];
			v[0] = bos ? info->bos : v[0];
			seqs[i] = (struct lmi_input_seq){.tokens = v,
							 .n_tokens = w->ctx,
							 .fork_of = LMI_NO_FORK,
							 .out_from = w->first};
		}
		st = lmi_ppl_eval(p, seqs, n, want, on_row, &b, err);
		for (uint32_t i = 0; i < n; i++)
			w->tokens[(size_t)(at + i) * w->step] = kept[i];
		at += n;
		lmi_progress_show(&p->bar, "windows", at, w->n);
	}
	lmi_progress_end(&p->bar);
	lmi_free(seqs);
	lmi_free(kept);
	return st;
}

enum lmd_status lmi_ppl_read(const char *path, char **out, size_t *n, struct lmd_error *err)
{
	struct lmi_file f;
	char *p = NULL;
	enum lmd_status st = lmi_file_open(&f, path, err);

	if (st != LMD_OK)
		return st;
	if (!f.bytes || f.bytes > TEXT_MAX)
		st = lmd_fail(err, LMD_INVALID, "%.200s: %llu bytes; a text must have 1 to %u",
			      path, (unsigned long long)f.bytes, TEXT_MAX);
	else if (!(p = lmi_alloc((size_t)f.bytes + 1, 1)))
		st = lmd_fail(err, LMD_NOMEM, "%.200s: no memory for %llu bytes", path,
			      (unsigned long long)f.bytes);
	else
		st = lmi_file_read(&f, 0, p, (size_t)f.bytes, err);
	lmi_file_close(&f);
	if (st != LMD_OK) {
		lmi_free(p);
		return st;
	}
	*n = (size_t)f.bytes;
	*out = p;
	return LMD_OK;
}
