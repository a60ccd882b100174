/* SPDX-License-Identifier: MIT */
#include "client/llamactl/generation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/client.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/prompt_input.h"
#include "client/llamactl/remote.h"
#include "client/llamactl/sampling_args.h"
#include "core/base/arena.h"

#define ARENA_BYTES (64u << 20)
/* How often a wait checks for Ctrl-C. */
#define TICK_MS 200

/* ---- the request ---- */

static void set_optional(bool *has, struct lmd_str *member, struct lmd_str value)
{
	*has = value.ptr != NULL;
	*member = value;
}

static enum lmi_wire_jump jump_option(const struct lmi_args *a)
{
	const char *word = lmi_arg_str(a, "jump");

	return !strcmp(word, "text")  ? LMI_WIRE_JUMP_TEXT
	       : !strcmp(word, "off") ? LMI_WIRE_JUMP_OFF
				      : LMI_WIRE_JUMP_TOKEN;
}

static void fill_options(struct lmi_wire_req_generate *q, const struct lmi_args *a,
			 const struct lmi_ctl_chat_args *chat)
{
	q->raw = lmi_arg_flag(a, "raw");
	q->parse_special = lmi_arg_flag(a, "parse-special");
	q->add_special = !lmi_arg_flag(a, "no-special");
	q->ignore_eog = lmi_arg_flag(a, "ignore-eos");
	q->special = lmi_arg_flag(a, "special");
	q->heal = lmi_arg_flag(a, "heal");
	q->jump = jump_option(a);
	q->class = LMI_WIRE_CLASS_INTERACTIVE;
	q->has_suffix = lmi_arg_given(a, "suffix");
	if (q->has_suffix)
		q->suffix = (struct lmd_str){.ptr = lmi_arg_str(a, "suffix"),
					     .len = strlen(lmi_arg_str(a, "suffix"))};
	q->parse = !q->has_suffix && lmi_ctl_answer_printer_wants_parsing(a, chat);
	q->has_n = true;
	q->n = lmi_arg_int(a, "predict");
	q->has_context_shift = lmi_arg_flag(a, "context-shift");
	q->context_shift = q->has_context_shift;
	q->has_n_keep = lmi_arg_given(a, "keep");
	q->n_keep = q->has_n_keep ? lmi_arg_int(a, "keep") : 0;
	q->has_seed = lmi_arg_given(a, "seed");
	q->seed = q->has_seed ? lmi_arg_int(a, "seed") : 0;
	q->min_tokens = lmi_arg_int(a, "min-tokens");
	q->has_adapter = lmi_arg_given(a, "adapter");
	if (q->has_adapter)
		q->adapter = (struct lmd_str){.ptr = lmi_arg_str(a, "adapter"),
					      .len = strlen(lmi_arg_str(a, "adapter"))};
	q->has_session = lmi_arg_given(a, "session");
	if (q->has_session)
		q->session = (struct lmd_str){.ptr = lmi_arg_str(a, "session"),
					      .len = strlen(lmi_arg_str(a, "session"))};
	q->has_draft_max = lmi_arg_given(a, "draft-max");
	q->draft_max = q->has_draft_max ? lmi_arg_int(a, "draft-max") : 0;
	set_optional(&q->has_prediction, &q->prediction,
		     (struct lmd_str){.ptr = lmi_arg_str(a, "prediction"),
				      .len = lmi_arg_given(a, "prediction")
						     ? strlen(lmi_arg_str(a, "prediction"))
						     : 0});
	q->has_logprobs = lmi_arg_given(a, "logprobs");
	q->logprobs = q->has_logprobs ? lmi_arg_int(a, "logprobs") : 0;
	q->has_prompt_logprobs = lmi_arg_given(a, "prompt-logprobs");
	q->prompt_logprobs = q->has_prompt_logprobs ? lmi_arg_int(a, "prompt-logprobs") : 0;
	set_optional(&q->has_template, &q->template, chat->template);
	set_optional(&q->has_template_args, &q->template_args, chat->args);
	set_optional(&q->has_tools, &q->tools, chat->tools);
	set_optional(&q->has_grammar, &q->grammar, chat->grammar);
	set_optional(&q->has_json_schema, &q->json_schema, chat->schema);
}

static enum lmd_status read_options(struct lmi_ctl_generation *g, struct lmd_str model,
				    struct lmd_error *err)
{
	struct lmi_wire_req_generate *q = &g->req.u.generate;
	struct lmi_ctl *ctl = g->ctl;
	enum lmd_status st = lmi_ctl_chat_args(ctl, &g->chat, err);

	if (st != LMD_OK)
		return st;
	lmi_wire_request_init(&g->req, LMI_WIRE_OP_GENERATE);
	q->model = model;
	fill_options(q, &ctl->args, &g->chat);
	st = lmi_ctl_sampling(q, ctl, g->arena, err);
	if (st == LMD_OK)
		st = lmi_ctl_arg_texts(&ctl->args, "stop", g->arena, &q->stop, &q->n_stop, err);
	if (st == LMD_OK)
		st = lmi_ctl_arg_texts(&ctl->args, "grammar-trigger", g->arena,
				       &q->grammar_triggers, &q->n_grammar_triggers, err);
	return st;
}

enum lmd_status lmi_ctl_generation_init(struct lmi_ctl_generation *g, struct lmi_ctl *ctl,
					struct lmd_error *err)
{
	const char *model = lmi_arg_pos(&ctl->args, 0);

	*g = (struct lmi_ctl_generation){.ctl = ctl, .hold_ms = -1};
	g->arena = lmi_arena_create(ARENA_BYTES);
	if (!g->arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	return read_options(g, (struct lmd_str){.ptr = model, .len = strlen(model)}, err);
}

enum lmd_status lmi_ctl_generation_update(struct lmi_ctl_generation *g, struct lmd_error *err)
{
	lmi_ctl_chat_args_fini(&g->chat);
	return read_options(g, g->req.u.generate.model, err);
}

void lmi_ctl_generation_fini(struct lmi_ctl_generation *g)
{
	lmi_ctl_chat_args_fini(&g->chat);
	lmi_arena_destroy(g->arena);
	g->arena = NULL;
}

/* ---- the answer ---- */

static enum lmd_status take(struct lmi_ctl_answer *a, const struct lmd_item *it,
			    struct lmd_error *err)
{
	struct lmi_ctl_answer_printer *s = &a->printer;
	enum lmd_status st = LMD_OK;

	if (it->kind == LMD_ITEM_TOKEN && a->keep_tokens)
		st = lmi_text_token_buf_append(&a->tokens, &it->token, 1, err);
	if (st == LMD_OK && a->keep_tokens)
		st = lmi_ctl_logprobs_add(&a->logprobs, it, err);
	if (st != LMD_OK)
		return st;
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
	case LMD_ITEM_DONE:
		if (it->n_text)
			fprintf(stderr, "llamactl: the session was not saved: %.*s\n",
				(int)it->n_text, it->text);
		return LMD_OK;
	default: /* nothing yet, progress, or an item that only a newer server knows */
		return LMD_OK;
	}
}

/* Reads items until the final one, Ctrl-C, or an error on this side. */
static enum lmd_status collect(struct lmd_stream *s, struct lmi_ctl_answer *a,
			       struct lmd_error *err)
{
	struct lmd_item it;
	enum lmd_status st;

	do {
		if (lmi_ctl_interrupted())
			return lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
		st = lmd_stream_next(s, &it, TICK_MS, err);
		if (st == LMD_OK)
			st = take(a, &it, err);
	} while (st == LMD_OK && it.kind != LMD_ITEM_DONE);
	a->done = it;
	return st;
}

enum lmd_status lmi_ctl_generate(struct lmi_ctl_generation *g, struct lmi_ctl_answer *a,
				 struct lmd_error *err)
{
	struct lmi_client_answer reply;
	struct lmd_client *c;
	struct lmd_stream *s;
	enum lmd_status st = lmi_ctl_client(g->ctl, &c, err);

	if (st == LMD_OK)
		st = lmi_client_exchange(c, &g->req, 0, &reply, err);
	if (st != LMD_OK)
		return st;
	st = lmi_client_stream_open(c, &reply.r.u.generate.id, 0, g->hold_ms, &s, err);
	lmi_client_reply_fini(&reply);
	if (st != LMD_OK)
		return st;
	if (g->req.u.generate.durable)
		lmi_client_stream_be_patient(s, LMI_CLIENT_PATIENCE_MS);
	(void)snprintf(a->id, sizeof(a->id), "%s", lmd_stream_id(s));
	st = collect(s, a, err);
	lmd_stream_close(s); /* cancels it unless it has ended */
	return st;
}

enum lmd_status lmi_ctl_replay(struct lmi_ctl *ctl, const char *id, struct lmi_ctl_answer *a,
			       struct lmd_error *err)
{
	json_t *m = json_pack("{s:s}", "id", id);
	char *members = m ? json_dumps(m, 0) : NULL;
	struct lmd_client *c;
	struct lmd_stream *s;
	enum lmd_status st = members ? lmi_ctl_client(ctl, &c, err)
				     : lmd_fail(err, LMD_NOMEM, "no memory for a request");

	if (st == LMD_OK)
		st = lmd_client_start(c, "replay", members, &s, err);
	free(members);
	json_decref(m);
	if (st != LMD_OK)
		return st;
	(void)snprintf(a->id, sizeof(a->id), "%s", lmd_stream_id(s));
	st = collect(s, a, err);
	lmd_stream_close(s);
	return st;
}

void lmi_ctl_answer_fini(struct lmi_ctl_answer *a)
{
	lmi_ctl_answer_printer_fini(&a->printer);
	lmi_text_token_buf_fini(&a->tokens);
	lmi_ctl_logprobs_fini(&a->logprobs);
}

/* ---- one answer ---- */

static void print_json(const struct lmi_ctl_answer *a, bool show_id)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_answer_printer_json(&a->printer, &j);
	lmi_ctl_json_flat_array(&j, "tokens");
	for (size_t i = 0; i < a->tokens.n; i++)
		lmi_ctl_json_int(&j, NULL, a->tokens.id[i]);
	lmi_ctl_json_end(&j);
	lmi_ctl_logprobs_json(&a->logprobs, &j);
	lmi_ctl_json_str(&j, "finish", a->done.finish);
	lmi_ctl_json_uint(&j, "n_prompt", a->done.n_prompt);
	lmi_ctl_json_uint(&j, "n_out", a->done.n_out);
	lmi_ctl_json_uint(&j, "n_forced", a->done.n_forced);
	lmi_ctl_json_uint(&j, "n_cached", a->done.n_cached);
	lmi_ctl_json_uint(&j, "n_drafted", a->done.n_drafted);
	lmi_ctl_json_uint(&j, "n_accepted", a->done.n_accepted);
	lmi_ctl_json_f64(&j, "prompt_ms", (double)a->done.prompt_ns / 1e6);
	lmi_ctl_json_f64(&j, "out_ms", (double)a->done.out_ns / 1e6);
	if (show_id)
		lmi_ctl_json_str(&j, "id", a->id);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* Sets the prompt; with a system message it becomes a conversation. */
static void set_prompt(struct lmi_wire_req_generate *q, struct lmd_str system,
		       struct lmi_wire_chat_message m[2], const char *prompt, size_t n)
{
	const struct lmd_str text = {.ptr = prompt, .len = n};

	q->has_prompt = !system.ptr;
	q->has_messages = !q->has_prompt;
	q->prompt = text;
	m[0] = (struct lmi_wire_chat_message){.role = {.ptr = "system", .len = 6},
					      .content = system};
	m[1] = (struct lmi_wire_chat_message){.role = {.ptr = "user", .len = 4}, .content = text};
	q->messages = m;
	q->n_messages = 2;
}

/* Adds what to type to the error of a server that found no chat template, since the server does not
 * know the options of this program. */
static void suggest_template(const struct lmi_ctl_chat_args *chat, struct lmd_error *err)
{
	struct lmd_error e = *err;

	if (chat->needs_template && !chat->template.ptr && strstr(e.text, "chat template"))
		(void)lmd_fail(err, e.status, "%.400s (--template chatml, or --raw)", e.text);
}

enum lmd_status lmi_ctl_generate_once(struct lmi_ctl_generation *g, const char *given,
				      bool show_id, struct lmd_error *err)
{
	const struct lmi_args *args = &g->ctl->args;
	bool json = lmi_arg_flag(args, "json");
	struct lmi_ctl_answer a = {.printer = {.json = json}, .keep_tokens = json};
	struct lmi_wire_chat_message messages[2];
	const char *prompt;
	char *in = NULL;
	size_t n;
	enum lmd_status st = lmi_ctl_answer_printer_init(&a.printer, g->ctl, err);

	if (st == LMD_OK)
		st = lmi_ctl_read_prompt(given, &prompt, &n, &in, err);
	if (st == LMD_OK) {
		set_prompt(&g->req.u.generate, g->chat.system, messages, prompt, n);
		st = lmi_ctl_generate(g, &a, err);
	}
	if (st == LMD_NOTFOUND || st == LMD_INVALID)
		suggest_template(&g->chat, err);
	lmi_ctl_answer_printer_end_line(&a.printer, st);
	if (st == LMD_OK && json)
		print_json(&a, show_id);
	lmi_ctl_answer_fini(&a);
	free(in);
	return st;
}
