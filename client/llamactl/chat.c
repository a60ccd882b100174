/* SPDX-License-Identifier: MIT */
#include "client/llamactl/chat.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/lib/client.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/prompt_input.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"

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

enum lmd_status lmi_ctl_chat(struct lmi_ctl_generation *g, const char *first, struct lmd_error *err)
{
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
