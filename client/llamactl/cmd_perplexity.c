/* SPDX-License-Identifier: MIT
 *
 * llamactl perplexity: how well a model foretells a text.
 *
 * Windows: the tokens of the text are cut into pieces of --ctx; the first token of a piece is
 * replaced by the begin token where the vocabulary wants one; each piece stands alone, and
 * the second half of it is scored, so that every scored token has a context of at least half
 * a window.  What does not fill a window is left out.
 * Plain: the beginning of the text in one context, everything but the first token scored. */
#include <math.h>
#include <string.h>

#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/text/tokenizer.h"

#define TEXT_MAX   (256u << 20)
#define PLAIN_CTX  2048u
#define WINDOW_CTX 512u

struct score {
	double nll; /* sum of minus log probabilities */
	uint64_t n;
};

static enum lmd_status take(void *arg, struct lmi_event *ev, struct lmd_error *err)
{
	struct score *s = arg;

	(void)err;
	for (uint32_t i = 0; ev->kind == LMI_EV_ROWS && i < ev->u.rows.n; i++) {
		s->nll += (double)ev->u.rows.v[i];
		s->n++;
	}
	return LMD_OK;
}

/* Scores tokens first+1 .. n-1 of one context. */
static enum lmd_status window(struct lmi_engine *e, const lmd_token *v, uint32_t n, uint32_t first,
			      struct score *s, struct lmd_error *err)
{
	const struct lmi_input_seq in = {
		.tokens = v, .n_tokens = n, .fork_of = LMI_NO_FORK, .out_from = first};
	const struct lmi_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_WANT_NLL, .pooling = LMD_POOL_UNSET};
	enum lmd_status st = lmi_engine_eval(e, &cmd, err);

	return st == LMD_OK ? lmi_embedded_drain(e, cmd.id, take, s, NULL, err) : st;
}

static enum lmd_status read_text(const char *path, char **out, size_t *n, struct lmd_error *err)
{
	struct lmi_file f;
	char *p = NULL;
	enum lmd_status st = lmi_file_open(&f, path, err);

	if (st != LMD_OK)
		return st;
	if (!f.bytes || f.bytes > TEXT_MAX)
		st = lmd_fail(err, LMD_INVALID, "%.200s: %llu bytes: a text has 1 to %u", path,
			      (unsigned long long)f.bytes, TEXT_MAX);
	else if (!(p = lmi_alloc((size_t)f.bytes, 1)))
		st = lmd_fail(err, LMD_NOMEM, "%.200s: no memory for %llu bytes", path,
			      (unsigned long long)f.bytes);
	else
		st = lmi_file_read(&f, 0, p, (size_t)f.bytes, err);
	*n = (size_t)f.bytes;
	*out = p;
	lmi_file_close(&f);
	return st;
}

static enum lmd_status score_plain(struct lmi_engine *e, const struct lmi_tokens *t, uint32_t ctx,
				   struct score *s, struct lmd_error *err)
{
	uint32_t n = t->n < ctx ? (uint32_t)t->n : ctx;

	if (n < 2)
		return lmd_fail(err, LMD_INVALID, "the text has %zu tokens: 2 are needed", t->n);
	return window(e, t->id, n, 0, s, err);
}

static enum lmd_status score_windows(struct lmi_engine *e, struct lmi_tokens *t, uint32_t ctx,
				     uint32_t *n_window, struct score *s, struct lmd_error *err)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(lmi_engine_tokenizer(e));
	enum lmd_status st = LMD_OK;

	if (t->n < ctx)
		return lmd_fail(err, LMD_INVALID,
				"the text has %zu tokens: a window of %u is not full", t->n, ctx);
	for (*n_window = 0; st == LMD_OK && (uint64_t)(*n_window + 1) * ctx <= t->n; ++*n_window) {
		lmd_token *v = t->id + (size_t)*n_window * ctx;

		if (info->add_bos && info->bos >= 0)
			v[0] = info->bos;
		st = window(e, v, ctx, ctx / 2, s, err);
	}
	return st;
}

static void print_score(const struct lmi_args *a, const struct score *s, size_t n_tokens,
			uint32_t n_window, uint32_t ctx)
{
	double ppl = exp(s->nll / (double)s->n);
	struct lmi_json j;

	if (!lmi_arg_flag(a, "json")) {
		printf("perplexity %.4f over %llu tokens\n", ppl, (unsigned long long)s->n);
		return;
	}
	lmi_json_init(&j, stdout);
	lmi_json_object(&j, NULL);
	lmi_json_f64(&j, "perplexity", ppl);
	lmi_json_f64(&j, "nll", s->nll / (double)s->n);
	lmi_json_uint(&j, "scored", s->n);
	lmi_json_uint(&j, "tokens", n_tokens);
	lmi_json_uint(&j, "windows", n_window);
	lmi_json_uint(&j, "ctx", ctx);
	lmi_json_end(&j);
	lmi_json_fini(&j);
}

static enum lmd_status score(struct lmi_ctl *ctl, struct lmi_engine *e, const char *text, size_t n,
			     uint32_t ctx, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	struct lmi_tokens t = {0};
	struct score s = {0};
	uint32_t n_window = 1;
	enum lmd_status st = lmi_tokenizer_encode(lmi_engine_tokenizer(e), text, n,
						  LMD_ENCODE_ADD_SPECIAL, &t, err);

	if (st == LMD_OK)
		st = lmi_arg_flag(a, "plain") ? score_plain(e, &t, ctx, &s, err)
					      : score_windows(e, &t, ctx, &n_window, &s, err);
	if (st == LMD_OK)
		print_score(a, &s, t.n, n_window, ctx);
	lmi_tokens_fini(&t);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *path = lmi_arg_pos(a, 0), *file = lmi_arg_str(a, "text");
	struct lmi_engine_opts o;
	struct lmi_engine *e = NULL;
	char *text = NULL;
	size_t n = 0;
	enum lmd_status st;

	if (!file)
		return lmi_usage(ctl, err, "--text FILE is needed");
	st = read_text(file, &text, &n, err);
	if (st == LMD_OK)
		st = lmi_embedded_opts(ctl, path, &o, err);
	if (st == LMD_OK && !o.inst.n_ctx)
		o.inst.n_ctx = lmi_arg_flag(a, "plain") ? PLAIN_CTX : WINDOW_CTX;
	if (st == LMD_OK && o.inst.n_ctx < 4)
		st = lmd_fail(err, LMD_INVALID, "--ctx %u: a window has at least 4", o.inst.n_ctx);
	if (st == LMD_OK)
		st = lmi_engine_open(&e, &o, err);
	if (st == LMD_OK)
		st = score(ctl, e, text, n, o.inst.n_ctx, err);
	lmi_engine_fini(e);
	lmi_free(text);
	return text ? lmi_name_file(st, path, err) : st;
}

static const struct lmi_opt opts[] = {
	{.name = "text", .type = LMI_OPT_STR, .value = "FILE", .doc = "The text."},
	{.name = "plain",
	 .type = LMI_OPT_FLAG,
	 .doc = "The beginning of the text in one context (of 2048 unless --ctx says otherwise), "
		"all of it scored."},
	LMI_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cmd lmi_cmd_perplexity = {
	.name = "perplexity",
	.args = "FILE",
	.brief = "Measure how well a model foretells a text",
	.doc = "Cuts the tokens of the text into windows of --ctx (512 without it), evaluates each "
	       "alone and scores the second half of each; a begin token takes the place of a "
	       "window's first token where the vocabulary wants one.  Prints the exponential of "
	       "the mean of minus the logarithms of the probabilities.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
