/* SPDX-License-Identifier: MIT
 *
 * llamactl perplexity: measures the perplexity of a model on a text, its divergence from another
 * model on the same text, and its accuracy on multiple-choice tasks.
 *
 * Windows: the tokens of the text are split into pieces of --ctx tokens. The begin token replaces
 * the first token of a piece if the vocabulary asks for one. Each piece stands alone and its
 * second half is scored, so that every scored token has a context of at least half a window.
 * Tokens at the end that do not fill a window are left out.
 * Strided: the pieces overlap and begin every --stride tokens; the last --stride tokens of each
 * are scored. Plain: the beginning of the text in one context, everything but the first token is
 * scored. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/ppl.h"
#include "core/base/alloc.h"

#define PLAIN_CTX   2048u
#define WINDOW_CTX  512u
#define TASK_CTX    1024u
#define STEP_ROWS   512u /* windows that fit into this number of rows run together */
#define TASK_SEQS   (LMI_CTL_MAX_CHOICES + 28u)
#define TASK_TOKENS 16384u /* KV cache for the sequences of tasks that run together */

/* What the command line asks for. */
struct plan {
	const char *text, *save, *base;
	bool tasks; /* `text` is a file of tasks */
	enum lmi_ctl_task_format format;
	uint32_t stride, chunks;
	bool plain;
};

static enum lmd_status on_nll(void *arg, uint32_t w, uint32_t row, lmd_token next, const float *v,
			      uint32_t width, struct lmd_error *err)
{
	(void)w;
	(void)row;
	(void)next;
	(void)width;
	(void)err;
	lmi_ctl_mean_add(arg, (double)v[0]);
	return LMD_OK;
}

static void print_score(const struct lmi_args *a, const struct lmi_ctl_mean *m, size_t n_tokens,
			const struct lmi_ctl_windows *w)
{
	double ppl = exp(m->mean), error = ppl * lmi_ctl_mean_error(m);
	struct lmi_ctl_json j;

	if (!lmi_arg_flag(a, "json")) {
		printf("perplexity %.4f +- %.4f over %llu tokens\n", ppl, error,
		       (unsigned long long)m->n);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_f64(&j, "perplexity", ppl);
	lmi_ctl_json_f64(&j, "error", error);
	lmi_ctl_json_f64(&j, "nll", m->mean);
	lmi_ctl_json_f64(&j, "nll_error", lmi_ctl_mean_error(m));
	lmi_ctl_json_uint(&j, "scored", m->n);
	lmi_ctl_json_uint(&j, "tokens", n_tokens);
	lmi_ctl_json_uint(&j, "windows", w->n);
	lmi_ctl_json_uint(&j, "ctx", w->ctx);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* Decides how the tokens of the text are split into windows. */
static enum lmd_status split_windows(const struct lmi_ctl_ppl *p, const struct plan *o,
				     struct lmi_ctl_windows *w, struct lmd_error *err)
{
	*w = (struct lmi_ctl_windows){.tokens = w->tokens, .n_tokens = w->n_tokens, .ctx = p->ctx};
	if (o->plain) {
		w->ctx = w->step = w->n_tokens < p->ctx ? (uint32_t)w->n_tokens : p->ctx;
		w->n = 1;
		return w->ctx >= 2 ? LMD_OK
				   : lmd_fail(err, LMD_INVALID,
					      "the text has %llu tokens: 2 are needed",
					      (unsigned long long)w->n_tokens);
	}
	if (w->n_tokens < w->ctx)
		return lmd_fail(err, LMD_INVALID,
				"the text has %llu tokens: a window of %u is not full",
				(unsigned long long)w->n_tokens, w->ctx);
	w->step = o->stride ? o->stride : w->ctx;
	w->first = o->stride ? w->ctx - 1 - o->stride : w->ctx / 2;
	w->n = (uint32_t)((w->n_tokens - w->ctx) / w->step + 1);
	if (o->chunks && w->n > o->chunks)
		w->n = o->chunks;
	return LMD_OK;
}

static enum lmd_status score_text(struct lmi_ctl_ppl *p, const struct plan *o, const char *text,
				  size_t n, struct lmd_error *err)
{
	struct lmi_text_token_buf t = {0};
	struct lmi_ctl_windows w = {0};
	struct lmi_ctl_mean m = {0};
	enum lmd_status st = lmi_tokenizer_encode(lmi_engine_tokenizer(p->engine), text, n,
						  LMD_ENCODE_ADD_SPECIAL, &t, err);

	w.tokens = t.id;
	w.n_tokens = t.n;
	if (st == LMD_OK)
		st = split_windows(p, o, &w, err);
	if (st == LMD_OK)
		st = o->save ? lmi_ctl_ppl_save(p, &w, o->save, &m, err)
			     : lmi_ctl_ppl_windows(p, &w, LMI_ENGINE_WANT_NLL, on_nll, &m, err);
	if (st == LMD_OK)
		print_score(&p->ctl->args, &m, t.n, &w);
	lmi_text_token_buf_fini(&t);
	return st;
}

static enum lmd_status run_tasks(struct lmi_ctl_ppl *p, const struct plan *o, char *bytes, size_t n,
				 struct lmd_error *err)
{
	struct lmi_ctl_task_file f = {
		.format = o->format, .path = o->text, .bytes = bytes, .n_bytes = n};

	return lmi_ctl_ppl_tasks(p, &f, o->chunks, err);
}

static enum lmd_status read_plan(struct lmi_ctl *ctl, struct plan *o, struct lmd_error *err)
{
	static const char *const names[] = {"hellaswag", "winogrande", "multiple-choice"};
	const struct lmi_args *a = &ctl->args;
	uint32_t n_source = 0;

	*o = (struct plan){.text = lmi_arg_str(a, "text"),
			   .save = lmi_arg_str(a, "save-logits"),
			   .base = lmi_arg_str(a, "kl-base"),
			   .stride = (uint32_t)lmi_arg_int(a, "stride"),
			   .chunks = (uint32_t)lmi_arg_int(a, "chunks"),
			   .plain = lmi_arg_flag(a, "plain")};
	n_source = (o->text != NULL) + (o->base != NULL);
	for (uint32_t i = 0; i < LMD_LEN(names); i++) {
		if (!lmi_arg_given(a, names[i]))
			continue;
		n_source++;
		o->tasks = true;
		o->format = (enum lmi_ctl_task_format)i;
		o->text = lmi_arg_str(a, names[i]);
	}
	if (!n_source)
		return lmi_ctl_usage(ctl, err,
				     "give --text FILE, --kl-base FILE or a file of tasks");
	if (n_source > 1)
		return lmi_ctl_usage(ctl, err,
				     "give only one of --text, --kl-base, --hellaswag, "
				     "--winogrande and --multiple-choice");
	if ((o->plain || o->stride || o->save) && (o->base || o->tasks))
		return lmi_ctl_usage(ctl, err,
				     "--plain, --stride and --save-logits require --text");
	if ((o->plain != 0) + (o->stride != 0) + (o->save != NULL) > 1)
		return lmi_ctl_usage(ctl, err,
				     "--plain, --stride and --save-logits exclude each other");
	return LMD_OK;
}

/* Sets the sizes of the engine for the requested measurement. */
static enum lmd_status size_engine(struct lmi_ctl *ctl, const struct plan *o,
				   struct lmi_engine_opts *e, struct lmd_error *err)
{
	uint32_t *ctx = &e->inst.n_ctx, want = *ctx;
	enum lmd_status st = LMD_OK;

	if (o->base)
		st = lmi_ctl_ppl_base_ctx(o->base, ctx, err);
	if (st == LMD_OK && o->base && want && want != *ctx)
		st = lmi_ctl_usage(ctl, err,
				   "--ctx %u: the saved logits belong to windows of %u "
				   "tokens",
				   want, *ctx);
	if (st != LMD_OK)
		return st;
	if (!*ctx)
		*ctx = o->plain ? PLAIN_CTX : o->tasks ? TASK_CTX : WINDOW_CTX;
	if (*ctx < 4)
		return lmd_fail(err, LMD_INVALID, "--ctx %u: a window must have at least 4 "
						  "tokens", *ctx);
	if (o->stride >= *ctx)
		return lmd_fail(err, LMD_INVALID,
				"--stride %u: must be below the window of %u (--ctx)", o->stride,
				*ctx);
	if (o->tasks) {
		e->inst.n_seq = TASK_SEQS;
		e->inst.kv_tokens = TASK_TOKENS > *ctx ? TASK_TOKENS : *ctx;
	} else {
		e->inst.n_seq = lmi_arg_given(&ctl->args, "parallel")
					? (uint32_t)lmi_arg_int(&ctl->args, "parallel")
					: STEP_ROWS / *ctx;
		e->inst.n_seq = e->inst.n_seq ? e->inst.n_seq : 1;
	}
	e->n_request = e->inst.n_seq;
	return LMD_OK;
}

static enum lmd_status run_plan(struct lmi_ctl *ctl, const struct plan *o, char *bytes, size_t n,
				struct lmd_error *err)
{
	struct lmi_ctl_ppl p = {.ctl = ctl};
	struct lmi_engine_opts e;
	enum lmd_status st = lmi_ctl_embedded_opts(ctl, lmi_arg_pos(&ctl->args, 0), &e, err);

	if (st == LMD_OK)
		st = size_engine(ctl, o, &e, err);
	if (st == LMD_OK)
		st = lmi_engine_open(&p.engine, &e, err);
	if (st != LMD_OK)
		return st;
	p.ctx = e.inst.n_ctx;
	p.n_par = e.inst.n_seq;
	lmi_ctl_progress_init(&p.bar);
	st = o->base    ? lmi_ctl_ppl_compare(&p, o->base, o->chunks, err)
	     : o->tasks ? run_tasks(&p, o, bytes, n, err)
			: score_text(&p, o, bytes, n, err);
	lmi_engine_fini(p.engine);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct plan o;
	char *bytes = NULL;
	size_t n = 0;
	enum lmd_status st = read_plan(ctl, &o, err);

	if (st == LMD_OK && o.text)
		st = lmi_ctl_ppl_read(o.text, &bytes, &n, err);
	if (st != LMD_OK)
		return st;
	st = run_plan(ctl, &o, bytes, n, err);
	lmi_free(bytes);
	return lmi_ctl_name_file(st, lmi_arg_pos(&ctl->args, 0), err);
}

static const struct lmi_opt opts[] = {
	{.name = "text", .type = LMI_OPT_STR, .value = "FILE", .doc = "Text to measure on."},
	{.name = "plain",
	 .type = LMI_OPT_FLAG,
	 .doc = "Score the beginning of the text in a single context, all of it. The default of "
		"--ctx is then 2048."},
	{.name = "stride",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1 << 20,
	 .doc = "Use overlapping windows: a window begins every N tokens, and the last N tokens "
		"of each are scored."},
	{.name = "chunks",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1 << 30,
	 .def_text = "all",
	 .doc = "Use only the first N windows (also of --kl-base) or tasks."},
	{.name = "save-logits",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Write the log-probabilities at every scored token to FILE, for --kl-base; about "
		"2 bytes per scored token and token of the vocabulary."},
	{.name = "kl-base",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Compare with the log-probabilities that another model saved on the same text "
		"(--save-logits): KL divergence, probabilities, best tokens."},
	{.name = "hellaswag",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "File with tasks of six lines: beginning, number of the right ending (from 0), "
		"four endings."},
	{.name = "winogrande",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "File with comma-separated tasks: number, sentence with a gap _, two words, and "
		"which of them is right (1 or 2)."},
	{.name = "multiple-choice",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "File with questions and answers, in the binary format of llama.cpp's perplexity "
		"tool."},
	{.name = "parallel",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 256,
	 .def_text = "as many as fit into 512 tokens",
	 .doc = "Number of windows that are computed together."},
	LMI_CTL_OPTS_ENGINE_CTX("512"),
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_perplexity = {
	.name = "perplexity",
	.args = "FILE",
	.brief = "Measure perplexity on a text",
	.doc = "Splits the tokens of the text into windows of --ctx, evaluates each one alone "
	       "and scores its second half. A begin token replaces the first token of a window "
	       "if the vocabulary asks for one. Prints the perplexity (the exponential of the "
	       "mean negative log-likelihood) with its standard error.\n\nWith --kl-base the "
	       "text is that of the saved logits, and the model is compared with the one that "
	       "saved them.\n\nWith a file of tasks prints the share of tasks in which the right "
	       "continuation has the highest mean log-probability per token.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
