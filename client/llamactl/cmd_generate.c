/* SPDX-License-Identifier: MIT
 *
 * llamactl generate: text from a running daemon. Standard output carries the answer and nothing
 * else, as with `run`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/llamactl/answer_opts.h"
#include "client/llamactl/chat_args.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/prompt_input.h"
#include "client/llamactl/remote.h"
#include "client/llamactl/answer_printer.h"

#define TICK_MS 200

struct answer {
	struct lmi_ctl_answer_printer printer;
	json_t *tokens; /* only with --json */
	struct lmd_item done;
};

static enum lmd_status take(struct answer *a, const struct lmd_item *it, struct lmd_error *err)
{
	struct lmi_ctl_answer_printer *s = &a->printer;

	if (it->kind == LMD_ITEM_TOKEN && a->tokens &&
	    json_array_append_new(a->tokens, json_integer(it->token)))
		return lmd_fail(err, LMD_NOMEM, "no memory for the answer");
	switch (it->kind) {
	case LMD_ITEM_TOKEN:
	case LMD_ITEM_TEXT:
		return lmi_ctl_answer_printer_text(s, it->text, it->n_text, err);
	case LMD_ITEM_REASONING:
		return lmi_ctl_answer_printer_reasoning(s, it->text, it->n_text, err);
	case LMD_ITEM_CALL:
		return lmi_ctl_answer_printer_call(
			s, (struct lmd_str){.ptr = it->name, .len = strlen(it->name)},
			(struct lmd_str){.ptr = it->id, .len = strlen(it->id)}, err);
	case LMD_ITEM_ARGUMENTS:
		return lmi_ctl_answer_printer_args(s, it->text, it->n_text, err);
	case LMD_ITEM_CALL_END:
		return lmi_ctl_answer_printer_call_end(s, it->complete, err);
	default: /* nothing yet, progress, or an item that only a newer server knows */
		return LMD_OK;
	}
}

/* Reads items until the final one; Ctrl-C and errors on this side cancel the stream. */
static enum lmd_status collect(struct lmd_stream *s, struct answer *a, struct lmd_error *err)
{
	struct lmd_item it;

	for (;;) {
		enum lmd_status st;

		if (lmi_ctl_interrupted())
			return lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
		st = lmd_stream_next(s, &it, TICK_MS, err);
		if (st == LMD_OK && it.kind != LMD_ITEM_DONE)
			st = take(a, &it, err);
		if (st != LMD_OK)
			return st;
		if (it.kind == LMD_ITEM_DONE)
			break;
	}
	a->done = it;
	return LMD_OK;
}

static void print_json(const struct answer *a, const char *id)
{
	struct lmi_ctl_json j;
	json_t *t;
	size_t i;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_answer_printer_json(&a->printer, &j);
	lmi_ctl_json_flat_array(&j, "tokens");
	json_array_foreach(a->tokens, i, t) lmi_ctl_json_int(&j, NULL, json_integer_value(t));
	lmi_ctl_json_end(&j);
	lmi_ctl_json_str(&j, "finish", a->done.finish);
	lmi_ctl_json_uint(&j, "n_prompt", a->done.n_prompt);
	lmi_ctl_json_uint(&j, "n_out", a->done.n_out);
	lmi_ctl_json_uint(&j, "n_forced", a->done.n_forced);
	lmi_ctl_json_f64(&j, "prompt_ms", (double)a->done.prompt_ns / 1e6);
	lmi_ctl_json_f64(&j, "out_ms", (double)a->done.out_ns / 1e6);
	lmi_ctl_json_str(&j, "id", id);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* ---- the request ---- */

static json_t *members(const struct lmi_args *a)
{
	const char *const *stops;
	uint32_t n = lmi_arg_list(a, "stop", &stops);
	json_t *m = json_pack("{s:b, s:b, s:b, s:b, s:b, s:s, s:s, s:I}", "parse_special",
			      lmi_arg_flag(a, "parse-special"), "add_special",
			      !lmi_arg_flag(a, "no-special"), "ignore_eog",
			      lmi_arg_flag(a, "ignore-eos"), "special", lmi_arg_flag(a, "special"),
			      "heal", lmi_arg_flag(a, "heal"), "jump", lmi_arg_str(a, "jump"),
			      "class", "interactive", "n",
			      (json_int_t)lmi_arg_int(a, "predict"));
	json_t *list = json_array();

	if (!m || !list) {
		json_decref(m);
		json_decref(list);
		return NULL;
	}
	if (lmi_arg_given(a, "seed"))
		(void)json_object_set_new(m, "seed", json_integer(lmi_arg_int(a, "seed")));
	for (uint32_t i = 0; i < n; i++)
		(void)json_array_append_new(list, json_string(stops[i]));
	(void)json_object_set_new(m, "stop", list);
	return m;
}

static enum lmd_status give_text(json_t *m, const char *member, struct lmd_str s,
				 struct lmd_error *err)
{
	if (s.ptr && json_object_set_new(m, member, json_stringn(s.ptr, s.len)))
		return lmd_fail(err, LMD_INVALID, "%s: it is not UTF-8", member);
	return LMD_OK;
}

static enum lmd_status give_texts(json_t *m, const struct lmi_ctl_chat_args *chat,
				  struct lmd_error *err)
{
	enum lmd_status st = give_text(m, "template", chat->template, err);

	if (st == LMD_OK)
		st = give_text(m, "template_args", chat->args, err);
	if (st == LMD_OK)
		st = give_text(m, "tools", chat->tools, err);
	if (st == LMD_OK)
		st = give_text(m, "grammar", chat->grammar, err);
	return st == LMD_OK ? give_text(m, "json_schema", chat->schema, err) : st;
}

/* The members for the chat template and the grammar. With a system message the prompt becomes a
 * conversation. */
static enum lmd_status give_chat(json_t *m, const struct lmi_args *a,
				 const struct lmi_ctl_chat_args *chat, const char *prompt, size_t n,
				 struct lmd_error *err)
{
	const char *const *triggers;
	uint32_t n_triggers = lmi_arg_list(a, "grammar-trigger", &triggers);
	json_t *list = json_array(), *conversation;
	enum lmd_status st;

	(void)json_object_set_new(m, "raw", json_boolean(lmi_arg_flag(a, "raw")));
	for (uint32_t i = 0; i < n_triggers; i++)
		(void)json_array_append_new(list, json_string(triggers[i]));
	if (n_triggers)
		(void)json_object_set(m, "grammar_triggers", list);
	json_decref(list);
	st = give_texts(m, chat, err);
	if (st != LMD_OK || !chat->system.ptr)
		return st;
	conversation =
		json_pack("[{s:s, s:s%}, {s:s, s:s%}]", "role", "system", "content",
			  chat->system.ptr, chat->system.len, "role", "user", "content", prompt, n);
	if (!conversation)
		return lmd_fail(err, LMD_INVALID, "the prompt is not UTF-8");
	(void)json_object_set_new(m, "messages", conversation);
	return LMD_OK;
}

static enum lmd_status start(struct lmi_ctl *ctl, const struct lmi_ctl_chat_args *chat,
			     const char *prompt, size_t n, struct lmd_stream **out,
			     struct lmd_error *err)
{
	struct lmd_generate g = {
		.struct_size = sizeof(g),
		.model = lmi_arg_pos(&ctl->args, 0),
		.prompt = prompt,
		.n_prompt = n,
		.flags = lmi_ctl_answer_printer_wants_parsing(&ctl->args, chat) ? LMD_GEN_PARSE : 0,
		.hold_ms = (uint32_t)lmi_arg_int(&ctl->args, "hold")};
	struct lmd_client *c;
	json_t *m = members(&ctl->args);
	enum lmd_status st = m ? lmi_ctl_sampling_members(m, ctl, err)
			       : lmd_fail(err, LMD_NOMEM, "no memory for a request");
	char *more = NULL;

	if (st == LMD_OK)
		st = give_chat(m, &ctl->args, chat, prompt, n, err);
	if (st == LMD_OK)
		more = json_dumps(m, JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(m);
	if (st == LMD_OK && !more)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	if (st != LMD_OK)
		return st;
	g.more = more;
	if (chat->system.ptr)
		g.prompt = NULL;
	if (lmi_arg_given(&ctl->args, "hold") && !g.hold_ms)
		g.hold_ms = UINT32_MAX;
	st = lmi_ctl_client(ctl, &c, err);
	if (st == LMD_OK)
		st = lmd_client_generate(c, &g, out, err);
	free(more);
	return st;
}

/* After a rejected request, adds what to type instead to the error: either the name is that of a
 * file, or the daemon found no chat template and cannot know the options of this program. */
static void suggest(const char *name, const struct lmi_ctl_chat_args *chat, struct lmd_error *err)
{
	struct lmd_error e = *err;
	struct stat f;

	if (strstr(e.text, name) && !stat(name, &f))
		(void)lmd_fail(err, e.status,
			       "%.400s; to run a file without the daemon: llamactl run %.300s",
			       e.text, name);
	else if (chat->needs_template && !chat->template.ptr && strstr(e.text, "chat template"))
		(void)lmd_fail(err, e.status, "%.400s (--template chatml, or --raw)", e.text);
}

static enum lmd_status generate(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct answer a = {.printer = {.json = lmi_arg_flag(&ctl->args, "json")}};
	struct lmi_ctl_chat_args chat;
	struct lmd_stream *s = NULL;
	const char *prompt;
	char *in = NULL;
	size_t n;
	enum lmd_status st = lmi_ctl_chat_args(ctl, &chat, err);

	lmi_ctl_interrupt_install();
	if (st == LMD_OK)
		st = lmi_ctl_answer_printer_init(&a.printer, ctl, err);
	if (st == LMD_OK && a.printer.json) {
		a.tokens = json_array();
		if (!a.tokens)
			st = lmd_fail(err, LMD_NOMEM, "no memory for the answer");
	}
	if (st == LMD_OK)
		st = lmi_ctl_read_prompt(lmi_arg_str(&ctl->args, "prompt"), &prompt, &n, &in, err);
	if (st == LMD_OK)
		st = start(ctl, &chat, prompt, n, &s, err);
	if (st == LMD_OK)
		st = collect(s, &a, err);
	if (st == LMD_NOTFOUND || st == LMD_INVALID)
		suggest(lmi_arg_pos(&ctl->args, 0), &chat, err);
	lmi_ctl_answer_printer_end_line(&a.printer, st);
	if (st == LMD_OK && a.printer.json)
		print_json(&a, lmd_stream_id(s));
	lmd_stream_close(s);
	lmi_ctl_chat_args_fini(&chat);
	lmi_ctl_answer_printer_fini(&a.printer);
	json_decref(a.tokens);
	free(in);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "prompt",
	 .letter = 'p',
	 .type = LMI_OPT_STR,
	 .value = "TEXT",
	 .def_text = "all of standard input",
	 .doc = "The message to the model; a model without a chat template continues it."},
	LMI_CTL_OPTS_ANSWER,
	{.name = "hold",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 0,
	 .max = 1000,
	 .def_text = "25ms",
	 .doc = "Output batching delay: how long the daemon collects text before it sends it; "
		"0ms sends each token at once."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_generate = {
	.name = "generate",
	.args = "NAME",
	.brief = "Generate text with a model of the daemon",
	.doc = "Works like `run`, but the daemon computes the answer. The answer goes to "
	       "standard output as it is generated, followed by a newline if it does not end in "
	       "one. The model is loaded if it is not in memory. Ctrl-C, or the end of this "
	       "program, cancels the request after the current step.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = generate,
};
