/* SPDX-License-Identifier: MIT
 *
 * llamactl run: generates an answer with the engine inside this program. Standard output carries
 * the answer and nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/llamactl/answer_opts.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/prompt_input.h"
#include "client/llamactl/local_generate.h"
#include "client/llamactl/conversation.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/text/chat/chat.h"

/* State shared by all answers of one run. */
struct run {
	struct lmi_ctl *ctl;
	struct lmi_engine *e;
	struct lmi_ctl_chat_args chat;
	bool use_template; /* prompts go through a chat template; otherwise they are plain text */
	bool parse; /* answers are split by the answer parser */
};

/* ---- one prompt ---- */

static uint32_t encode_flags(const struct lmi_args *a)
{
	return (lmi_arg_flag(a, "no-special") ? 0 : LMD_ENCODE_ADD_SPECIAL) |
	       (lmi_arg_flag(a, "parse-special") ? LMD_ENCODE_PARSE_SPECIAL : 0);
}

/* Encodes the prompt of the command line, or all of standard input, as tokens. */
static enum lmd_status read_prompt(struct run *r, struct lmi_text_token_buf *out,
				   struct lmi_chat_answer_format *answer_format,
				   struct lmd_error *err)
{
	struct lmi_ctl_conversation conversation = {0};
	const char *p;
	char *in;
	size_t n;
	enum lmd_status st =
		lmi_ctl_read_prompt(lmi_arg_str(&r->ctl->args, "prompt"), &p, &n, &in, err);

	if (st == LMD_OK && !r->use_template)
		st = lmi_tokenizer_encode(lmi_engine_tokenizer(r->e), p, n,
					  encode_flags(&r->ctl->args), out, err);
	if (st == LMD_OK && r->use_template) {
		st = lmi_ctl_conversation_begin(&conversation, &r->chat, err);
		if (st == LMD_OK)
			st = lmi_ctl_conversation_add(&conversation, "user", p, n, err);
		if (st == LMD_OK)
			st = lmi_ctl_conversation_encode(&conversation, r->e, &r->chat,
							 !lmi_arg_flag(&r->ctl->args, "no-special"),
							 out, answer_format, err);
		lmi_ctl_conversation_fini(&conversation);
	}
	if (st == LMD_OK && !out->n)
		st = lmd_fail(err, LMD_INVALID, "the prompt is empty: it has no tokens");
	free(in);
	return st;
}

static enum lmd_status run_once(struct run *r, struct lmd_error *err)
{
	struct lmi_ctl_local_answer a = {.e = r->e,
					 .printer = {.json = lmi_arg_flag(&r->ctl->args, "json")}};
	struct lmi_text_token_buf tokens = {0};
	enum lmd_status st = lmi_ctl_answer_printer_init(&a.printer, r->ctl, err);

	if (st == LMD_OK)
		st = read_prompt(r, &tokens, r->parse ? &a.answer_format : NULL, err);
	if (st == LMD_OK)
		st = lmi_ctl_local_generate(r->ctl, &a, &r->chat, tokens.id, tokens.n, err);
	lmi_ctl_answer_printer_end_line(&a.printer, st);
	if (st == LMD_OK && a.printer.json)
		lmi_ctl_local_answer_json(&a);
	if (st == LMD_CANCELLED)
		st = lmd_fail(err, st, "stopped by a signal");
	lmi_ctl_local_answer_fini(&a);
	lmi_text_token_buf_fini(&tokens);
	return st;
}

/* ---- many ---- */

/* An answer that Ctrl-C ended before its first character leaves "^C" on the line. */
static void end_turn(struct lmi_ctl_local_answer *a, enum lmd_status st)
{
	lmi_ctl_answer_printer_end_line(&a->printer, st);
	if (st == LMD_CANCELLED && !a->printer.last_byte && isatty(STDIN_FILENO))
		putc('\n', stderr);
}

/* Plain text: each line is appended to everything so far, and the model continues the whole. */
static enum lmd_status continue_text(struct run *r, struct lmi_text_token_buf *history,
				     const char *line, size_t n, struct lmd_error *err)
{
	uint32_t flags = encode_flags(&r->ctl->args);
	struct lmi_ctl_local_answer a = {.e = r->e};
	struct lmi_text_token_buf more = {0};
	enum lmd_status st;

	if (history->n) /* begin tokens belong only at the very beginning */
		flags &= ~LMD_ENCODE_ADD_SPECIAL;
	st = lmi_tokenizer_encode(lmi_engine_tokenizer(r->e), line, n, flags, &more, err);
	if (st == LMD_OK)
		st = lmi_text_token_buf_append(history, more.id, more.n, err);
	if (st == LMD_OK)
		st = lmi_ctl_local_generate(r->ctl, &a, &r->chat, history->id, history->n, err);
	end_turn(&a, st);
	if (st == LMD_OK || st == LMD_CANCELLED) {
		/* token healing took tokens back; the answer contains their text */
		history->n = a.n_prompt_kept;
		st = lmi_text_token_buf_append(history, a.tokens.id, a.tokens.n, err);
	}
	lmi_ctl_local_answer_fini(&a);
	lmi_text_token_buf_fini(&more);
	return st;
}

/* A conversation: the template renders all of it again; the engine keeps the KV cache of the
 * common prefix and computes from the first token that differs. */
static enum lmd_status answer_turn(struct run *r, struct lmi_ctl_conversation *conversation,
				   const char *line, size_t n, struct lmd_error *err)
{
	struct lmi_ctl_local_answer a = {.e = r->e, .printer = {.collect = true}};
	struct lmi_text_token_buf tokens = {0};
	enum lmd_status st = lmi_ctl_answer_printer_init(&a.printer, r->ctl, err);

	n -= n && line[n - 1] == '\n';
	if (st == LMD_OK)
		st = lmi_ctl_conversation_add(conversation, "user", line, n, err);
	if (st == LMD_OK)
		st = lmi_ctl_conversation_encode(conversation, r->e, &r->chat,
						 !lmi_arg_flag(&r->ctl->args, "no-special"),
						 &tokens, r->parse ? &a.answer_format : NULL, err);
	if (st == LMD_OK)
		st = lmi_ctl_local_generate(r->ctl, &a, &r->chat, tokens.id, tokens.n, err);
	end_turn(&a, st);
	if (st == LMD_OK || st == LMD_CANCELLED)
		st = lmi_ctl_conversation_add(conversation, "assistant", a.printer.text.p,
					      a.printer.text.n, err);
	lmi_ctl_local_answer_fini(&a);
	lmi_text_token_buf_fini(&tokens);
	return st;
}

static enum lmd_status run_interactive(struct run *r, struct lmd_error *err)
{
	const char *first = lmi_arg_str(&r->ctl->args, "prompt");
	struct lmi_text_token_buf history = {0};
	struct lmi_ctl_conversation conversation = {0};
	enum lmd_status st =
		r->use_template ? lmi_ctl_conversation_begin(&conversation, &r->chat, err) : LMD_OK;
	char *line = NULL;
	size_t cap = 0;

	while (st == LMD_OK) {
		const char *p = first;
		ssize_t n = first ? (ssize_t)strlen(first) : 0;

		if (!first) {
			lmi_ctl_interrupt_clear();
			if (isatty(STDIN_FILENO))
				fputs("> ", stderr);
			/* a terminal delivers one line at a time: none waits in the buffer */
			if (!isatty(STDIN_FILENO) || lmi_ctl_wait_stdin())
				n = getline(&line, &cap, stdin);
			else
				n = -1;
			p = line;
		}
		if (n < 0) {
			if (isatty(STDIN_FILENO))
				putc('\n', stderr); /* ends the line of the "> " */
			*err = (struct lmd_error){0}; /* leaving at the prompt needs no message */
			st = lmi_ctl_interrupted() ? LMD_CANCELLED : LMD_OK;
			break;
		}
		first = NULL;
		st = r->use_template ? answer_turn(r, &conversation, p, (size_t)n, err)
				     : continue_text(r, &history, p, (size_t)n, err);
		if (st == LMD_OK && lmi_ctl_interrupt_signal() == SIGTERM)
			st = lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
	}
	free(line);
	lmi_ctl_conversation_fini(&conversation);
	lmi_text_token_buf_fini(&history);
	return st;
}

/* ---- the command ---- */

/* Explains `run chat` if chat is not a file but perhaps a model of the daemon. */
static enum lmd_status check_file(const char *path, struct lmd_error *err)
{
	char shown[124];
	struct stat f;

	if (!stat(path, &f) || errno != ENOENT)
		return LMD_OK; /* a file that is not a model is reported by its reader */
	return lmd_fail(err, LMD_NOTFOUND,
			strchr(path, '/') || strstr(path, ".gguf")
				? "%s: no such file"
				: "%s: no such file; to use a model of the daemon: llamactl "
				  "generate %s",
			lmi_printable_path(shown, sizeof(shown), path), path);
}

/* Called before a prompt is read: template options need a template. */
static enum lmd_status check_template(const struct run *r, struct lmd_error *err)
{
	if (!r->use_template || r->chat.template.ptr ||
	    lmi_chat_has_template(lmi_engine_chat(r->e)))
		return LMD_OK;
	return lmd_fail(err, LMD_NOTFOUND,
			"the model has no chat template, which --system, --template-arg and "
			"--tools need: name one (usually --template chatml), or use --raw "
			"without these options");
}

static enum lmd_status open_engine(struct run *r, const char *path, struct lmd_error *err)
{
	bool interactive = lmi_arg_flag(&r->ctl->args, "interactive");
	struct lmi_engine_opts o;
	sigset_t mask, old;
	enum lmd_status st = lmi_ctl_embedded_opts(r->ctl, path, &o, err);

	if (st != LMD_OK)
		return st;
	o.inst.n_out = 1; /* a step returns the logits of one row */
	if (interactive) {
		/* the previous answer's sequence stays until the next one has begun */
		o.inst.n_seq = o.inst.n_out = 2;
		o.inst.share_kv = true;
	}
	/* the engine's threads inherit the mask, so that signals interrupt this thread */
	lmi_ctl_interrupt_install();
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGINT);
	(void)sigaddset(&mask, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &mask, &old);
	st = lmi_engine_open(&r->e, &o, err);
	if (st == LMD_OK)
		lmi_ctl_interrupt_wake(lmi_engine_fd(r->e));
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (st == LMD_CANCELLED)
		return lmd_fail(err, st, "stopped by a signal");
	return lmi_ctl_name_file(st, path, err);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	bool interactive = lmi_arg_flag(&ctl->args, "interactive");
	struct run r = {.ctl = ctl};
	enum lmd_status st;

	if (interactive && lmi_arg_flag(&ctl->args, "json"))
		return lmi_ctl_usage(ctl, err, "--interactive and --json exclude each other");
	st = check_file(path, err);
	if (st != LMD_OK)
		return st;
	st = lmi_ctl_chat_args(ctl, &r.chat, err);
	if (st == LMD_OK)
		st = open_engine(&r, path, err);
	if (st == LMD_OK) {
		r.use_template =
			!lmi_arg_flag(&ctl->args, "raw") &&
			(r.chat.needs_template || lmi_chat_has_template(lmi_engine_chat(r.e)));
		r.parse =
			r.use_template && lmi_ctl_answer_printer_wants_parsing(&ctl->args, &r.chat);
		st = check_template(&r, err);
	}
	if (st == LMD_OK)
		st = interactive ? run_interactive(&r, err) : run_once(&r, err);
	lmi_ctl_interrupt_wake(-1);
	lmi_engine_fini(r.e);
	lmi_ctl_chat_args_fini(&r.chat);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "prompt",
	 .letter = 'p',
	 .type = LMI_OPT_STR,
	 .value = "TEXT",
	 .def_text = "standard input",
	 .doc = "The message to the model; a model without a chat template continues it."},
	{.name = "interactive",
	 .letter = 'i',
	 .type = LMI_OPT_FLAG,
	 .doc = "Have a conversation: read a line at a time and answer each."},
	LMI_CTL_OPTS_ANSWER,
	LMI_CTL_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_run = {
	.name = "run",
	.args = "FILE",
	.brief = "Run a model from a file",
	.doc = "Loads FILE, a GGUF file or a Hugging Face folder, into this program and writes "
	       "the answer to standard output as it is generated, followed by a newline if it "
	       "does not end in one. Ctrl-C ends the answer after the current step.\n\nIf the "
	       "model has a chat template, the prompt is a user's message and goes through the "
	       "template. Without one, or with --raw, the model continues the prompt as plain "
	       "text. Only the template can insert control tokens; their text in a prompt stays "
	       "plain text.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
