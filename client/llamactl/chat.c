/* SPDX-License-Identifier: MIT */
#include "client/llamactl/chat.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/lib/client.h"
#include "client/llamactl/chat_impl.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/remote.h"
#include "client/llamactl/user_state.h"
#include "core/base/alloc.h"
#include "core/cli/texts.h"

/* ---- an answer ---- */

/* Prints what an answer took, wrapped at the width of the terminal. */
static void print_counts(const struct lmd_item *d)
{
	int columns = lmi_ctl_terminal_width();
	double seconds = (double)d->out_ns / 1e9;
	char text[240];

	(void)snprintf(text, sizeof(text),
		       "[%llu tokens, %.1f tokens/s, %u of %u guesses right; prompt %llu tokens, "
		       "%llu of them cached, %.0f ms]",
		       (unsigned long long)d->n_out, seconds > 0 ? (double)d->n_out / seconds : 0.0,
		       d->n_accepted, d->n_drafted, (unsigned long long)d->n_prompt,
		       (unsigned long long)d->n_cached, (double)d->prompt_ns / 1e6);
	lmi_cli_text_wrap_to(stderr, text, 0, 0, columns ? columns - 1 : (int)sizeof(text));
}

/* Ends the line of an answer. One that Ctrl-C ended before its first character leaves "^C" there. */
static void end_turn(const struct lmi_ctl_chat *c, struct lmi_ctl_answer *a, enum lmd_status st)
{
	lmi_ctl_answer_printer_end_line(&a->printer, st);
	if (st == LMD_CANCELLED && !a->printer.last_byte && isatty(STDIN_FILENO))
		putc('\n', stderr);
	if (st == LMD_OK && c->verbose)
		print_counts(&a->done);
}

/* Appends the tokens of a line to the conversation. */
static enum lmd_status add_line(struct lmi_ctl_chat *c, const char *line, size_t n,
				struct lmd_error *err)
{
	const struct lmi_ctl_generation *g = c->g;
	const struct lmi_wire_req_generate *q = &g->req.u.generate;
	struct lmi_client_answer reply;
	struct lmi_wire_request req;
	struct lmd_client *client;
	enum lmd_status st = lmi_ctl_client(g->ctl, &client, err);

	lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
	req.u.tokenize.model = q->model;
	req.u.tokenize.text = (struct lmd_str){.ptr = line, .len = n};
	req.u.tokenize.parse_special = q->parse_special;
	/* begin tokens belong only at the very beginning */
	req.u.tokenize.add_special = q->add_special && !c->tokens.n;
	if (st == LMD_OK)
		st = lmi_client_exchange(client, &req, 0, &reply, err);
	if (st != LMD_OK)
		return st;
	st = lmi_text_token_buf_append(&c->tokens, reply.r.u.tokenize.tokens,
				       reply.r.u.tokenize.n_tokens, err);
	lmi_client_reply_fini(&reply);
	return st;
}

static enum lmd_status generate(struct lmi_ctl_chat *c, struct lmi_ctl_answer *a,
				struct lmd_error *err)
{
	enum lmd_status st;

	lmi_ctl_line_editor_hide(c->editor);
	st = lmi_ctl_generate(c->g, a, err);
	lmi_ctl_line_editor_show(c->editor);
	return st;
}

/* Plain text: each line is appended to everything so far, and the model continues the whole. */
static enum lmd_status continue_text(struct lmi_ctl_chat *c, const char *line, size_t n,
				     struct lmd_error *err)
{
	struct lmi_wire_req_generate *q = &c->g->req.u.generate;
	struct lmi_ctl_answer a = {.keep_tokens = true};
	enum lmd_status st = add_line(c, line, n, err);

	if (st == LMD_OK) {
		q->has_tokens = true;
		q->tokens = c->tokens.id;
		q->n_tokens = (uint32_t)c->tokens.n;
		q->parse = false;
		st = generate(c, &a, err);
	}
	end_turn(c, &a, st);
	/* Token healing took tokens back; the answer contains their text.  How many is not known
	 * of an answer that was stopped, which is then forgotten. */
	if (st == LMD_OK)
		c->tokens.n = a.done.n_prompt;
	if (st == LMD_OK || (st == LMD_CANCELLED && !q->heal)) {
		enum lmd_status added = lmi_text_token_buf_append(&c->tokens, a.tokens.id,
								  a.tokens.n, err);

		st = added == LMD_OK ? st : added;
	}
	lmi_ctl_answer_fini(&a);
	return st;
}

/* Adds the calls of an answer to its message. Arguments that are not JSON become a string. */
static enum lmd_status add_calls(struct lmi_ctl_chat *c, const struct lmi_ctl_answer_printer *s,
				 struct lmd_error *err)
{
	json_t *list = json_array();
	enum lmd_status st;
	char *text;

	for (uint32_t i = 0; i < s->n_call; i++) {
		struct lmd_str name, id, args;
		json_t *v;

		lmi_ctl_answer_printer_get_call(s, i, &name, &id, &args);
		v = json_loadb(args.len ? args.ptr : "{}", args.len ? args.len : 2, 0, NULL);
		v = v ? v : json_stringn(args.ptr, args.len);
		(void)json_array_append_new(
			list, json_pack("{s:s%, s:s, s:{s:s%, s:o}}", "id", id.len ? id.ptr : "",
					id.len, "type", "function", "function", "name", name.ptr,
					name.len, "arguments", v ? v : json_object()));
	}
	text = json_dumps(list, JSON_COMPACT);
	st = text ? lmi_ctl_messages_set_calls(&c->messages, text, err)
		  : lmd_fail(err, LMD_NOMEM, "no memory for the calls");
	free(text);
	json_decref(list);
	return st;
}

/* Reads the results of the calls, which answer_messages then shows to the model. An empty line
 * skips the rest. */
static enum lmd_status read_results(struct lmi_ctl_chat *c, const struct lmi_ctl_answer_printer *s,
				    struct lmd_error *err)
{
	for (uint32_t i = 0; i < s->n_call; i++) {
		struct lmd_str name, id, args;
		const char *text;
		char prompt[64];
		size_t n;
		enum lmd_status st;

		lmi_ctl_answer_printer_get_call(s, i, &name, &id, &args);
		(void)snprintf(prompt, sizeof(prompt), "result of %.*s> ",
			       (int)(name.len < 40 ? name.len : 40), name.ptr);
		if (lmi_ctl_line_editor_read(c->editor, prompt, &text, &n) != LMI_CTL_LINE_TEXT ||
		    !n)
			return LMD_OK;
		st = lmi_ctl_messages_add(&c->messages, "tool", text, n, err);
		if (st == LMD_OK)
			st = lmi_ctl_messages_set_result_of(&c->messages, name, id, err);
		if (st != LMD_OK)
			return st;
		c->answer = true;
	}
	return LMD_OK;
}

/* The template renders the whole conversation again; the engine keeps the KV cache of the common
 * prefix and computes from the first token that differs. */
static enum lmd_status answer_messages(struct lmi_ctl_chat *c, struct lmd_error *err)
{
	struct lmi_wire_req_generate *q = &c->g->req.u.generate;
	struct lmi_ctl_answer a = {
		.printer = {.collect = true, .markdown = c->markdown, .fold = c->fold}};
	const struct lmi_text_byte_buf *text = &a.printer.text;
	enum lmd_status st = lmi_ctl_answer_printer_init(&a.printer, c->g->ctl, err), added;

	c->answer = false;
	if (!c->fold)
		a.printer.show_reasoning = isatty(STDOUT_FILENO) || a.printer.show_reasoning;
	if (st == LMD_OK) {
		q->has_messages = true;
		q->messages = c->messages.v;
		q->n_messages = c->messages.n;
		st = generate(c, &a, err);
	}
	end_turn(c, &a, st);
	if (st == LMD_OK || st == LMD_CANCELLED) {
		added = lmi_ctl_messages_add(&c->messages, "assistant", text->p, text->n, err);
		if (added == LMD_OK && st == LMD_OK && a.printer.n_call)
			added = add_calls(c, &a.printer, err);
		if (added == LMD_OK && st == LMD_OK && a.printer.n_call && isatty(STDIN_FILENO))
			added = read_results(c, &a.printer, err);
		st = added == LMD_OK ? st : added;
	} else if (c->messages.n) {
		lmi_ctl_messages_cut(&c->messages, c->messages.n - 1); /* the question */
	}
	lmi_ctl_answer_fini(&a);
	return st;
}

/* ---- a message ---- */

static enum lmd_status say(struct lmi_ctl_chat *c, const char *text, size_t n,
			   struct lmd_error *err)
{
	enum lmd_status st;

	if (!c->use_template)
		return continue_text(c, text, n, err);
	if (!c->attached.n) {
		st = lmi_ctl_messages_add(&c->messages, "user", text, n, err);
	} else {
		st = lmi_text_byte_buf_append(&c->attached, text, n, err);
		if (st == LMD_OK)
			st = lmi_ctl_messages_add(&c->messages, "user", c->attached.p,
						  c->attached.n, err);
		c->attached.n = 0;
	}
	if (st == LMD_OK && c->n_picture) {
		st = lmi_ctl_messages_set_pictures(&c->messages, c->pictures, c->n_picture, err);
		c->n_picture = 0;
	}
	c->answer = st == LMD_OK;
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

/* ---- input ---- */

/* Reads the rest of a message that begins with """: lines up to one that ends with """. */
static enum lmi_ctl_line read_block(struct lmi_ctl_chat *c, const char *first, size_t n,
				    struct lmi_text_byte_buf *out, struct lmd_error *err)
{
	enum lmi_ctl_line kind = LMI_CTL_LINE_TEXT;
	const char *text = first + 3;
	enum lmd_status st;

	n -= 3;
	for (;;) {
		bool last = n >= 3 && !memcmp(text + n - 3, "\"\"\"", 3);

		st = lmi_text_byte_buf_append(out, text, last ? n - 3 : n, err);
		if (st == LMD_OK && !last && out->n)
			st = lmi_text_byte_buf_append(out, "\n", 1, err);
		if (st != LMD_OK || last)
			return st == LMD_OK ? LMI_CTL_LINE_TEXT : LMI_CTL_LINE_END;
		kind = lmi_ctl_line_editor_read(c->editor, ". ", &text, &n);
		if (kind != LMI_CTL_LINE_TEXT)
			return kind;
	}
}

/* Reads a message or command into `out`, with a terminating zero that does not count. */
static enum lmi_ctl_line read_message(struct lmi_ctl_chat *c, struct lmi_text_byte_buf *out,
				      struct lmd_error *err)
{
	const char *text;
	size_t n;
	enum lmi_ctl_line kind = lmi_ctl_line_editor_read(c->editor, "> ", &text, &n);

	out->n = 0;
	if (kind == LMI_CTL_LINE_TEXT && n >= 3 && !memcmp(text, "\"\"\"", 3) && c->use_template)
		kind = read_block(c, text, n, out, err);
	else if (kind == LMI_CTL_LINE_TEXT &&
		 lmi_text_byte_buf_append(out, text, n, err) != LMD_OK)
		return LMI_CTL_LINE_END;
	/* plain text is continued with the newline of each line */
	if (kind == LMI_CTL_LINE_TEXT && !c->use_template &&
	    lmi_text_byte_buf_append(out, "\n", 1, err) != LMD_OK)
		return LMI_CTL_LINE_END;
	if (kind == LMI_CTL_LINE_TEXT && lmi_text_byte_buf_append(out, "", 1, err) != LMD_OK)
		return LMI_CTL_LINE_END;
	out->n -= kind == LMI_CTL_LINE_TEXT;
	return kind;
}

/* Handles a line. An error of the request is printed, and the conversation goes on, if a person is
 * there to change something. */
static enum lmd_status take_message(struct lmi_ctl_chat *c, const char *text, size_t n,
				    struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (isatty(STDIN_FILENO) && lmi_ctl_chat_is_command(text))
		st = lmi_ctl_chat_command(c, text, err);
	else if (n || !isatty(STDIN_FILENO))
		st = say(c, text, n, err);
	while (st == LMD_OK && c->answer)
		st = answer_messages(c, err);
	if (st == LMD_OK && *c->session) {
		lmi_ctl_user_state_make_folders(c->session);
		st = lmi_ctl_messages_save(&c->messages, c->session, lmi_arg_pos(&c->g->ctl->args, 0), err);
	}
	if (st == LMD_CANCELLED && lmi_ctl_interrupt_signal() == SIGINT)
		return LMD_OK; /* Ctrl-C ended this answer only */
	if ((st == LMD_INVALID || st == LMD_UNSUPPORTED) && isatty(STDIN_FILENO)) {
		fprintf(stderr, "%s\n", err->text);
		*err = (struct lmd_error){0};
		return LMD_OK;
	}
	return st;
}

static enum lmd_status converse(struct lmi_ctl_chat *c, struct lmd_error *err)
{
	struct lmi_text_byte_buf line = {0};
	enum lmd_status st = LMD_OK;
	bool stopped = false; /* Ctrl-C was the last input */

	while (st == LMD_OK && !c->leave) {
		enum lmi_ctl_line kind = read_message(c, &line, err);

		if (kind == LMI_CTL_LINE_TEXT) {
			stopped = false;
			lmi_ctl_line_editor_remember(c->editor, line.p);
			st = take_message(c, line.p, line.n, err);
			continue;
		}
		*err = (struct lmd_error){0}; /* leaving at the prompt needs no message */
		st = kind == LMI_CTL_LINE_STOPPED ? LMD_CANCELLED : LMD_OK;
		/* perhaps it was meant for an answer that had just ended */
		if (st == LMD_OK || stopped || lmi_ctl_interrupt_signal() != SIGINT)
			break;
		fputs("Ctrl-D leaves, and so does a second Ctrl-C\n", stderr);
		stopped = true;
		st = LMD_OK;
	}
	lmi_text_byte_buf_fini(&line);
	return st;
}

/* Goes on with the messages of --session, whose keys and values the server has, if there are any. */
static enum lmd_status continue_session(struct lmi_ctl_chat *c, struct lmd_error *err)
{
	const char *name = lmi_arg_str(&c->g->ctl->args, "session");
	enum lmd_status st;

	if (!name || !c->use_template)
		return LMD_OK;
	lmi_ctl_user_state_session(c->session, name);
	if (!*c->session || access(c->session, F_OK))
		return LMD_OK;
	st = lmi_ctl_messages_load(&c->messages, c->session, err);
	if (st == LMD_OK && isatty(STDIN_FILENO))
		fprintf(stderr, "session %s goes on after %u messages\n", name, c->messages.n);
	return st;
}

static void print_greeting(const struct lmi_ctl_chat *c)
{
	if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		fprintf(stderr, "%s: /help lists the commands, Ctrl-D leaves\n",
			lmi_arg_pos(&c->g->ctl->args, 0));
}

enum lmd_status lmi_ctl_chat(struct lmi_ctl_generation *g, const char *first, struct lmd_error *err)
{
	struct lmi_ctl_chat c = {.g = g, .markdown = lmi_ctl_has_styles(),
				 .fold = isatty(STDOUT_FILENO) != 0,
				 .verbose = lmi_arg_flag(&g->ctl->args, "verbose")};
	enum lmd_status st = wants_template(g, &c.use_template, err);

	if (st == LMD_OK)
		st = continue_session(&c, err);
	if (st == LMD_OK)
		st = lmi_ctl_line_editor_open(&c.editor, err);
	if (st == LMD_OK && g->chat.system.ptr)
		st = lmi_ctl_messages_set_system(&c.messages, g->chat.system.ptr, err);
	if (st == LMD_OK) {
		c.markdown = c.markdown && c.use_template;
		print_greeting(&c);
		if (first)
			st = take_message(&c, first, strlen(first), err);
	}
	if (st == LMD_OK)
		st = converse(&c, err);
	lmi_ctl_line_editor_close(c.editor);
	lmi_ctl_messages_fini(&c.messages);
	lmi_text_token_buf_fini(&c.tokens);
	lmi_ctl_chat_drop_files(&c);
	lmi_text_byte_buf_fini(&c.attached);
	return st;
}
