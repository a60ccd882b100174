/* SPDX-License-Identifier: MIT
 *
 * llamactl run: text from a model file, with the engine inside of this program.  Standard
 * output carries the answer and nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/llamactl/answer_opts.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/engine/sample_params.h"
#include "core/text/tokenizer.h"

#define PROMPT_MAX (64u << 20)

/* ---- Ctrl-C ---- */

/* The handler only notes the signal and wakes the wait for events. */
static volatile sig_atomic_t interrupted;
static volatile int wake_fd = -1;

static void on_interrupt(int sig)
{
	const uint64_t one = 1;
	int saved = errno;
	ssize_t n;

	(void)sig;
	interrupted = 1;
	n = write(wake_fd, &one, sizeof(one));
	(void)n;
	errno = saved;
}

static void catch_interrupt(const struct lmi_engine *e)
{
	struct sigaction sa = {.sa_handler = on_interrupt};

	wake_fd = lmi_engine_fd(e);
	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGINT, &sa, NULL);
}

/* ---- one answer ---- */

struct answer {
	struct lmi_engine *e;
	bool json;	      /* kept for the end instead of written as it comes */
	struct lmi_text text; /* json: the answer */
	lmd_token *tokens;    /* generated */
	uint32_t n_tokens, cap;
	char last; /* byte that was written; 0: none yet */
	struct lmi_event done;
};

static enum lmd_status keep_text(struct answer *a, const char *p, size_t n, struct lmd_error *err)
{
	if (a->text.n + n > a->text.cap) {
		size_t cap = 2 * (a->text.n + n) + 256;
		char *q = lmi_realloc(a->text.p, cap, 1);

		if (!q)
			return lmd_fail(err, LMD_NOMEM, "no memory for the answer");
		a->text.p = q;
		a->text.cap = cap;
	}
	memcpy(a->text.p + a->text.n, p, n);
	a->text.n += n;
	return LMD_OK;
}

static enum lmd_status keep_token(struct answer *a, lmd_token id, struct lmd_error *err)
{
	if (a->n_tokens == a->cap) {
		uint32_t cap = a->cap ? 2 * a->cap : 256;
		lmd_token *p = lmi_realloc(a->tokens, cap, sizeof(*p));

		if (!p)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u tokens", cap);
		a->tokens = p;
		a->cap = cap;
	}
	a->tokens[a->n_tokens++] = id;
	return LMD_OK;
}

static enum lmd_status take(struct answer *a, const struct lmi_event *ev, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (ev->kind == LMI_EV_TOKEN)
		st = keep_token(a, ev->u.text.token, err);
	if (st != LMD_OK || !ev->u.text.n)
		return st;
	if (a->json)
		return keep_text(a, ev->u.text.bytes, ev->u.text.n, err);
	a->last = ev->u.text.bytes[ev->u.text.n - 1];
	if (fwrite(ev->u.text.bytes, 1, ev->u.text.n, stdout) != ev->u.text.n || fflush(stdout))
		return lmd_fail(err, LMD_IO, "standard output: %s", strerror(errno));
	return LMD_OK;
}

/* Reads events until the final one; an interrupt or a failure here cancels the command. */
static enum lmd_status collect(struct answer *a, uint64_t id, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	bool cancelled = false;
	struct lmi_event ev;

	for (;;) {
		if ((interrupted || st != LMD_OK) && !cancelled)
			cancelled = lmi_engine_cancel(a->e, id) == LMD_OK;
		if (!lmi_engine_wait(a->e, &ev, -1))
			continue;
		if (ev.kind != LMI_EV_TOKEN && ev.kind != LMI_EV_TEXT)
			break;
		if (st == LMD_OK)
			st = take(a, &ev, err);
	}
	a->done = ev;
	if (st != LMD_OK)
		return st;
	if (ev.kind == LMI_EV_FAILED)
		return lmd_fail(err, ev.u.error.status, "%s", ev.u.error.text);
	return ev.kind == LMI_EV_DONE ? LMD_OK : LMD_CANCELLED;
}

/* ---- options ---- */

static void sampling(const struct lmi_args *a, const struct lmi_engine *e,
		     struct lmi_sample_params *p)
{
	lmi_sample_params_default(p);
	if (lmi_arg_given(a, "temp"))
		p->temp = lmi_arg_float(a, "temp");
	if (lmi_arg_given(a, "top-k"))
		p->top_k = lmi_arg_int(a, "top-k");
	if (lmi_arg_given(a, "top-p"))
		p->top_p = lmi_arg_float(a, "top-p");
	if (lmi_arg_given(a, "min-p"))
		p->min_p = lmi_arg_float(a, "min-p");
	if (lmi_arg_given(a, "repeat-penalty"))
		p->repeat_penalty = lmi_arg_float(a, "repeat-penalty");
	if (lmi_arg_given(a, "frequency-penalty"))
		p->frequency_penalty = lmi_arg_float(a, "frequency-penalty");
	if (lmi_arg_given(a, "presence-penalty"))
		p->presence_penalty = lmi_arg_float(a, "presence-penalty");
	p->n_ctx = lmi_engine_inst(e)->n_ctx;
}

/* --seed, or one from the clock: two runs differ unless asked otherwise. */
static uint64_t seed_of(const struct lmi_args *a)
{
	struct timespec now;

	if (lmi_arg_given(a, "seed"))
		return (uint64_t)lmi_arg_int(a, "seed");
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static enum lmd_status stops(const struct lmi_args *a, struct lmd_str **out, uint32_t *n,
			     struct lmd_error *err)
{
	const char *const *list;

	*n = lmi_arg_list(a, "stop", &list);
	*out = *n ? lmi_alloc(*n, sizeof(**out)) : NULL;
	if (*n && !*out)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u stop texts", *n);
	for (uint32_t i = 0; i < *n; i++)
		(*out)[i] = (struct lmd_str){.ptr = list[i], .len = strlen(list[i])};
	return LMD_OK;
}

/* Generates from the tokens and gives the answer in *a. */
static enum lmd_status generate(struct lmi_ctl *ctl, struct answer *a, const lmd_token *tokens,
				size_t n_tokens, struct lmd_error *err)
{
	const struct lmi_args *args = &ctl->args;
	struct lmi_sample_params p;
	struct lmi_spec_list *specs;
	struct lmi_generate cmd = {.id = 1,
				   .seq = {.tokens = tokens, .n_tokens = (uint32_t)n_tokens},
				   .n_predict = lmi_arg_int(args, "predict"),
				   .seed = seed_of(args),
				   .class = LMI_CLASS_INTERACTIVE};
	struct lmd_str *stop = NULL;
	enum lmd_status st;

	if (n_tokens > INT32_MAX)
		return lmd_fail(err, LMD_INVALID, "a prompt of %zu tokens", n_tokens);
	if (lmi_arg_flag(args, "interactive"))
		cmd.flags |= LMI_GEN_KEEP; /* the next line goes behind it */
	if (lmi_arg_flag(args, "ignore-eos"))
		cmd.flags |= LMI_GEN_IGNORE_EOG;
	if (lmi_arg_flag(args, "special"))
		cmd.flags |= LMI_GEN_SPECIAL;
	specs = lmi_alloc(1, sizeof(*specs));
	if (!specs)
		return lmd_fail(err, LMD_NOMEM, "no memory for samplers");
	sampling(args, a->e, &p);
	lmi_sample_specs(specs, &p);
	cmd.specs = specs->spec;
	cmd.n_specs = specs->n;
	st = stops(args, &stop, &cmd.n_stops, err);
	cmd.stops = stop;
	if (st == LMD_OK)
		st = lmi_engine_generate(a->e, &cmd, err);
	if (st == LMD_OK)
		st = collect(a, cmd.id, err);
	lmi_free(stop);
	lmi_free(specs);
	return st;
}

/* ---- output ---- */

static void print_json(const struct answer *a)
{
	static const char *const why[] = {"", "eog", "stop", "length", "context"};
	struct lmi_json j;

	lmi_json_init(&j, stdout);
	lmi_json_object(&j, NULL);
	lmi_json_strn(&j, "text", a->text.p ? a->text.p : "", a->text.n);
	lmi_json_flat_array(&j, "tokens");
	for (uint32_t i = 0; i < a->n_tokens; i++)
		lmi_json_int(&j, NULL, a->tokens[i]);
	lmi_json_end(&j);
	lmi_json_str(&j, "finish", why[a->done.u.done.finish]);
	lmi_json_uint(&j, "n_prompt", a->done.u.done.n_prompt);
	lmi_json_uint(&j, "n_out", a->done.u.done.n_out);
	lmi_json_f64(&j, "prompt_ms", (double)a->done.u.done.prompt_ns / 1e6);
	lmi_json_f64(&j, "out_ms", (double)a->done.u.done.out_ns / 1e6);
	lmi_json_end(&j);
	lmi_json_fini(&j);
}

/* A newline if the answer has none; an answer that failed before its first byte is nothing. */
static void end_line(const struct answer *a, enum lmd_status st)
{
	if (!a->json && a->last != '\n' && (a->last || st == LMD_OK))
		putchar('\n');
}

static void answer_fini(struct answer *a)
{
	lmi_text_fini(&a->text);
	lmi_free(a->tokens);
}

/* ---- one prompt ---- */

static uint32_t encode_flags(const struct lmi_args *a)
{
	return (lmi_arg_flag(a, "no-special") ? 0 : LMD_ENCODE_ADD_SPECIAL) |
	       (lmi_arg_flag(a, "parse-special") ? LMD_ENCODE_PARSE_SPECIAL : 0);
}

/* All of standard input. */
static enum lmd_status read_stdin(struct lmi_text *out, struct lmd_error *err)
{
	for (;;) {
		size_t n;

		if (out->n == out->cap) {
			size_t cap = out->cap ? 2 * out->cap : 4096;
			char *p = cap <= PROMPT_MAX ? lmi_realloc(out->p, cap, 1) : NULL;

			if (!p)
				return lmd_fail(err, LMD_INVALID,
						"the prompt on standard input is longer than %u "
						"bytes",
						PROMPT_MAX);
			out->p = p;
			out->cap = cap;
		}
		n = fread(out->p + out->n, 1, out->cap - out->n, stdin);
		out->n += n;
		if (!n)
			return ferror(stdin) ? lmd_fail(err, LMD_IO, "standard input: %s",
							strerror(errno))
					     : LMD_OK;
	}
}

static enum lmd_status run_once(struct lmi_ctl *ctl, struct lmi_engine *e, struct lmd_error *err)
{
	const struct lmi_args *args = &ctl->args;
	const char *prompt = lmi_arg_str(args, "prompt");
	struct answer a = {.e = e, .json = lmi_arg_flag(args, "json")};
	struct lmi_tokens tokens = {0};
	struct lmi_text in = {0};
	enum lmd_status st = prompt ? LMD_OK : read_stdin(&in, err);

	if (st == LMD_OK)
		st = lmi_tokenizer_encode(lmi_engine_tokenizer(e), prompt ? prompt : in.p,
					  prompt ? strlen(prompt) : in.n, encode_flags(args),
					  &tokens, err);
	if (st == LMD_OK)
		st = generate(ctl, &a, tokens.id, tokens.n, err);
	end_line(&a, st);
	if (st == LMD_OK && a.json)
		print_json(&a);
	if (st == LMD_CANCELLED)
		st = lmd_fail(err, st, "stopped by a signal");
	answer_fini(&a);
	lmi_tokens_fini(&tokens);
	lmi_text_fini(&in);
	return st;
}

/* ---- many ---- */

static enum lmd_status append(struct lmi_tokens *t, const lmd_token *v, size_t n,
			      struct lmd_error *err)
{
	if (t->n + n > t->cap) {
		size_t cap = 2 * (t->n + n) + 64;
		lmd_token *p = lmi_realloc(t->id, cap, sizeof(*p));

		if (!p)
			return lmd_fail(err, LMD_NOMEM, "no memory for %zu tokens", cap);
		t->id = p;
		t->cap = cap;
	}
	if (n)
		memcpy(t->id + t->n, v, n * sizeof(*v));
	t->n += n;
	return LMD_OK;
}

/* A line goes behind everything that was said so far; the model continues the whole. */
static enum lmd_status turn(struct lmi_ctl *ctl, struct lmi_engine *e, struct lmi_tokens *history,
			    const char *line, size_t n, struct lmd_error *err)
{
	uint32_t flags = encode_flags(&ctl->args);
	struct answer a = {.e = e};
	struct lmi_tokens more = {0};
	enum lmd_status st;

	if (history->n) /* begin tokens stand at the very beginning alone */
		flags &= ~LMD_ENCODE_ADD_SPECIAL;
	st = lmi_tokenizer_encode(lmi_engine_tokenizer(e), line, n, flags, &more, err);
	if (st == LMD_OK)
		st = append(history, more.id, more.n, err);
	if (st == LMD_OK)
		st = generate(ctl, &a, history->id, history->n, err);
	end_line(&a, st);
	if (st == LMD_OK || st == LMD_CANCELLED)
		st = append(history, a.tokens, a.n_tokens, err);
	answer_fini(&a);
	lmi_tokens_fini(&more);
	return st;
}

static enum lmd_status run_interactive(struct lmi_ctl *ctl, struct lmi_engine *e,
				       struct lmd_error *err)
{
	const char *first = lmi_arg_str(&ctl->args, "prompt");
	struct lmi_tokens history = {0};
	enum lmd_status st = LMD_OK;
	char *line = NULL;
	size_t cap = 0;

	if (first)
		st = turn(ctl, e, &history, first, strlen(first), err);
	while (st == LMD_OK) {
		ssize_t n;

		interrupted = 0;
		if (isatty(STDIN_FILENO))
			fputs("> ", stderr);
		n = getline(&line, &cap, stdin);
		if (n < 0)
			break; /* the end of input, or Ctrl-C at the prompt */
		st = turn(ctl, e, &history, line, (size_t)n, err);
	}
	free(line);
	lmi_tokens_fini(&history);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	struct lmi_engine_opts o;
	struct lmi_engine *e = NULL;
	sigset_t mask, old;
	enum lmd_status st = lmi_embedded_opts(ctl, path, &o, err);

	if (st != LMD_OK)
		return st;
	o.inst.n_out = 1; /* one row leaves a step */
	if (lmi_arg_flag(&ctl->args, "interactive")) {
		/* the turn before stays until the next one has begun */
		o.inst.n_seq = o.inst.n_out = 2;
		o.inst.share_kv = true;
	}
	if (lmi_arg_flag(&ctl->args, "interactive") && lmi_arg_flag(&ctl->args, "json"))
		return lmi_usage(ctl, err, "--interactive and --json exclude each other");
	/* threads of the engine inherit the mask: the signal is for this one */
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &mask, &old);
	st = lmi_engine_open(&e, &o, err);
	if (st == LMD_OK)
		catch_interrupt(e);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (st == LMD_OK)
		st = lmi_arg_flag(&ctl->args, "interactive") ? run_interactive(ctl, e, err)
							     : run_once(ctl, e, err);
	wake_fd = -1;
	lmi_engine_fini(e);
	return lmi_name_file(st, path, err);
}

static const struct lmi_opt opts[] = {
	{.name = "prompt",
	 .letter = 'p',
	 .type = LMI_OPT_STR,
	 .value = "TEXT",
	 .doc = "What the model continues; without it standard input."},
	{.name = "interactive",
	 .letter = 'i',
	 .type = LMI_OPT_FLAG,
	 .doc = "Read line after line; each goes behind all that was said before."},
	LMI_OPTS_ANSWER,
	LMI_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cmd lmi_cmd_run = {
	.name = "run",
	.args = "FILE",
	.brief = "Continue a text with a model file",
	.doc = "Loads FILE into this program and writes the continuation of the prompt to standard "
	       "output as it comes, with a newline at the end if it has none.  Ctrl-C ends it "
	       "after the step that is being computed.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
