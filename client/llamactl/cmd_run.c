/* SPDX-License-Identifier: MIT
 *
 * llamactl run: generates an answer with the engine inside this program, which is a client of a
 * service in the same process; everything else is as in `generate`. Standard output carries the
 * answer and nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/embedded/embedded.h"
#include "client/lib/client.h"
#include "client/llamactl/answer_opts.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/generation.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/prompt_input.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"

/* ---- a conversation ---- */

/* What was said so far: messages or, without a chat template, tokens. */
struct history {
	struct lmi_wire_chat_message *messages; /* [n]; owns their contents */
	uint32_t n, cap;
	struct lmi_text_token_buf tokens;
};

/* Adds a message. role must be a constant; the text is copied. */
static enum lmd_status add_message(struct history *h, const char *role, const char *text, size_t n,
				   struct lmd_error *err)
{
	char *copy;

	if (h->n == h->cap) {
		uint32_t cap = h->cap ? 2 * h->cap : 8;
		struct lmi_wire_chat_message *m = lmi_realloc(h->messages, cap, sizeof(*m));

		if (!m)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u messages", cap);
		h->messages = m;
		h->cap = cap;
	}
	copy = lmi_strndup(n ? text : "", n);
	if (!copy)
		return lmd_fail(err, LMD_NOMEM, "no memory for a message of %zu bytes", n);
	h->messages[h->n++] =
		(struct lmi_wire_chat_message){.role = {.ptr = role, .len = strlen(role)},
					       .content = {.ptr = copy, .len = n}};
	return LMD_OK;
}

static void history_fini(struct history *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		lmi_free((void *)(uintptr_t)h->messages[i].content.ptr);
	lmi_free(h->messages);
	lmi_text_token_buf_fini(&h->tokens);
}

/* An answer that Ctrl-C ended before its first character leaves "^C" on the line. */
static void end_turn(struct lmi_ctl_answer *a, enum lmd_status st)
{
	lmi_ctl_answer_printer_end_line(&a->printer, st);
	if (st == LMD_CANCELLED && !a->printer.last_byte && isatty(STDIN_FILENO))
		putc('\n', stderr);
}

/* Appends the tokens of a line to the history. */
static enum lmd_status add_line(struct lmi_ctl_generation *g, struct history *h, const char *line,
				size_t n, struct lmd_error *err)
{
	const struct lmi_wire_req_generate *q = &g->req.u.generate;
	struct lmi_client_answer reply;
	struct lmi_wire_request req;
	struct lmd_client *c;
	enum lmd_status st = lmi_ctl_client(g->ctl, &c, err);

	lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
	req.u.tokenize.model = q->model;
	req.u.tokenize.text = (struct lmd_str){.ptr = line, .len = n};
	req.u.tokenize.parse_special = q->parse_special;
	/* begin tokens belong only at the very beginning */
	req.u.tokenize.add_special = q->add_special && !h->tokens.n;
	if (st == LMD_OK)
		st = lmi_client_exchange(c, &req, 0, &reply, err);
	if (st != LMD_OK)
		return st;
	st = lmi_text_token_buf_append(&h->tokens, reply.r.u.tokenize.tokens,
				       reply.r.u.tokenize.n_tokens, err);
	lmi_client_reply_fini(&reply);
	return st;
}

/* Plain text: each line is appended to everything so far, and the model continues the whole. */
static enum lmd_status continue_text(struct lmi_ctl_generation *g, struct history *h,
				     const char *line, size_t n, struct lmd_error *err)
{
	struct lmi_wire_req_generate *q = &g->req.u.generate;
	struct lmi_ctl_answer a = {.keep_tokens = true};
	enum lmd_status st = add_line(g, h, line, n, err);

	if (st == LMD_OK) {
		q->has_tokens = true;
		q->tokens = h->tokens.id;
		q->n_tokens = (uint32_t)h->tokens.n;
		q->parse = false;
		st = lmi_ctl_generate(g, &a, err);
	}
	end_turn(&a, st);
	/* Token healing took tokens back; the answer contains their text.  How many is not known
	 * of an answer that was stopped, which is then forgotten. */
	if (st == LMD_OK)
		h->tokens.n = a.done.n_prompt;
	if (st == LMD_OK || (st == LMD_CANCELLED && !q->heal)) {
		enum lmd_status added = lmi_text_token_buf_append(&h->tokens, a.tokens.id,
								  a.tokens.n, err);

		st = added == LMD_OK ? st : added;
	}
	lmi_ctl_answer_fini(&a);
	return st;
}

/* The template renders the whole conversation again; the engine keeps the KV cache of the common
 * prefix and computes from the first token that differs. */
static enum lmd_status answer_turn(struct lmi_ctl_generation *g, struct history *h,
				   const char *line, size_t n, struct lmd_error *err)
{
	struct lmi_wire_req_generate *q = &g->req.u.generate;
	struct lmi_ctl_answer a = {.printer = {.collect = true}};
	enum lmd_status added, st = lmi_ctl_answer_printer_init(&a.printer, g->ctl, err);

	n -= n && line[n - 1] == '\n';
	if (st == LMD_OK)
		st = add_message(h, "user", line, n, err);
	if (st == LMD_OK) {
		q->has_messages = true;
		q->messages = h->messages;
		q->n_messages = h->n;
		st = lmi_ctl_generate(g, &a, err);
	}
	end_turn(&a, st);
	if (st == LMD_OK || st == LMD_CANCELLED) {
		added = add_message(h, "assistant", a.printer.text.p, a.printer.text.n, err);
		st = added == LMD_OK ? st : added;
	}
	lmi_ctl_answer_fini(&a);
	return st;
}

/* Returns whether prompts go through a chat template; otherwise they are plain text. */
static enum lmd_status wants_template(struct lmi_ctl_generation *g, bool *out,
				      struct lmd_error *err)
{
	struct lmi_client_answer reply;
	struct lmi_wire_request req;
	struct lmd_client *c;
	enum lmd_status st;

	*out = g->chat.needs_template;
	if (*out || g->req.u.generate.raw)
		return LMD_OK;
	lmi_wire_request_init(&req, LMI_WIRE_OP_INFO);
	req.u.info.model = g->req.u.generate.model;
	st = lmi_ctl_client(g->ctl, &c, err);
	if (st == LMD_OK)
		st = lmi_client_exchange(c, &req, 0, &reply, err);
	if (st != LMD_OK)
		return st;
	*out = reply.r.u.info.has_chat_template;
	lmi_client_reply_fini(&reply);
	return LMD_OK;
}

/* Reads the next line; *n < 0: the end of standard input, or a signal. */
static void read_line(char **line, size_t *cap, ssize_t *n)
{
	bool terminal = isatty(STDIN_FILENO);

	lmi_ctl_interrupt_clear();
	if (terminal)
		fputs("> ", stderr);
	*n = lmi_ctl_read_line(line, cap);
	if (*n < 0 && terminal)
		putc('\n', stderr); /* ends the line of the "> " */
}

static enum lmd_status run_interactive(struct lmi_ctl_generation *g, struct lmd_error *err)
{
	const char *first = lmi_arg_str(&g->ctl->args, "prompt");
	struct history h = {0};
	bool use_template = false;
	char *line = NULL;
	size_t cap = 0;
	enum lmd_status st = wants_template(g, &use_template, err);

	if (st == LMD_OK && g->chat.system.ptr)
		st = add_message(&h, "system", g->chat.system.ptr, g->chat.system.len, err);
	while (st == LMD_OK) {
		const char *p = first;
		ssize_t n = first ? (ssize_t)strlen(first) : 0;

		if (!first) {
			read_line(&line, &cap, &n);
			p = line;
		}
		if (n < 0) {
			*err = (struct lmd_error){0}; /* leaving at the prompt needs no message */
			st = lmi_ctl_interrupted() ? LMD_CANCELLED : LMD_OK;
			break;
		}
		first = NULL;
		st = use_template ? answer_turn(g, &h, p, (size_t)n, err)
				  : continue_text(g, &h, p, (size_t)n, err);
		if (st == LMD_CANCELLED && lmi_ctl_interrupt_signal() == SIGINT)
			st = LMD_OK; /* Ctrl-C ended this answer only */
	}
	free(line);
	history_fini(&h);
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

/* Opens the client in this process, and loads the file. */
static enum lmd_status open_model(struct lmi_ctl *ctl, const char *path, struct lmd_error *err)
{
	struct lmi_engine_opts engine;
	struct lmi_embedded_opts o;
	enum lmd_status st = lmi_ctl_embedded_opts(ctl, path, &engine, err);

	if (st != LMD_OK)
		return st;
	o = (struct lmi_embedded_opts){
		.host = ctl->host, .plugins = engine.inst.registry, .model = engine.inst};
	o.model.n_seq = o.model.n_out = 1; /* a step returns the logits of one row */
	st = lmi_embedded_open(&ctl->client, &o, err);
	if (st == LMD_OK)
		st = lmi_ctl_remote_job(ctl, "load", json_pack("{s:s}", "model", path), err);
	return st == LMD_CANCELLED ? st : lmi_ctl_name_file(st, path, err);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	bool interactive = lmi_arg_flag(&ctl->args, "interactive");
	struct lmi_ctl_generation g;
	enum lmd_status st;

	if (interactive && lmi_arg_flag(&ctl->args, "json"))
		return lmi_ctl_usage(ctl, err, "--interactive and --json exclude each other");
	st = check_file(path, err);
	if (st != LMD_OK)
		return st;
	lmi_ctl_interrupt_install();
	st = lmi_ctl_generation_init(&g, ctl, err);
	if (st == LMD_OK)
		st = open_model(ctl, path, err);
	if (st == LMD_OK)
		st = interactive ? run_interactive(&g, err) : lmi_ctl_generate_once(&g, false, err);
	lmi_ctl_generation_fini(&g);
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
	.doc = "Loads FILE, a GGUF file, a Hugging Face folder or a model in the format of a "
	       "plugin, into this program and writes "
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
