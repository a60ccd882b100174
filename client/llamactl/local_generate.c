/* SPDX-License-Identifier: MIT */
#include "client/llamactl/local_generate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/sampling_args.h"
#include "core/base/alloc.h"
#include "core/engine/constrain.h"

/* ---- one answer ---- */

/* Handles a part of the answer. */
static void take_part(void *arg, const struct lmi_answer_event *o)
{
	struct lmi_ctl_local_answer *a = arg;
	struct lmi_ctl_answer_printer *s = &a->printer;

	if (a->parse_st != LMD_OK)
		return;
	switch (o->kind) {
	case LMI_ANSWER_CONTENT:
		a->parse_st =
			lmi_ctl_answer_printer_text(s, o->text.ptr, o->text.len, a->parse_err);
		return;
	case LMI_ANSWER_REASONING:
		a->parse_st =
			lmi_ctl_answer_printer_reasoning(s, o->text.ptr, o->text.len, a->parse_err);
		return;
	case LMI_ANSWER_CALL:
		a->parse_st = lmi_ctl_answer_printer_call(s, o->text, o->id, a->parse_err);
		return;
	case LMI_ANSWER_ARGS:
		a->parse_st =
			lmi_ctl_answer_printer_args(s, o->text.ptr, o->text.len, a->parse_err);
		return;
	case LMI_ANSWER_CALL_END:
		a->parse_st = lmi_ctl_answer_printer_call_end(s, o->complete, a->parse_err);
		return;
	case LMI_ANSWER_MARKUP:
		return;
	}
}

static enum lmd_status take(struct lmi_ctl_local_answer *a, const struct lmi_engine_event *ev,
			    struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (ev->kind == LMI_ENGINE_EV_TOKEN)
		st = lmi_text_token_buf_append(&a->tokens, &ev->u.text.token, 1, err);
	if (st != LMD_OK || !ev->u.text.n)
		return st;
	if (!a->parse)
		return lmi_ctl_answer_printer_text(&a->printer, ev->u.text.bytes, ev->u.text.n,
						   err);
	a->parse_err = err;
	st = lmi_answer_parser_feed(a->parse, ev->u.text.bytes, ev->u.text.n, err);
	return st == LMD_OK ? a->parse_st : st;
}

/* Reads events until the final one; an interrupt or a failure on this side cancels the command. */
static enum lmd_status collect(struct lmi_ctl_local_answer *a, uint64_t id, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	bool cancelled = false;
	struct lmi_engine_event ev;

	for (;;) {
		if ((lmi_ctl_interrupted() || st != LMD_OK) && !cancelled)
			cancelled = lmi_engine_cancel(a->e, id) == LMD_OK;
		if (!lmi_engine_wait(a->e, &ev, -1))
			continue;
		if (ev.kind != LMI_ENGINE_EV_TOKEN && ev.kind != LMI_ENGINE_EV_TEXT)
			break;
		if (st == LMD_OK)
			st = take(a, &ev, err);
	}
	a->done = ev;
	if (a->parse && st == LMD_OK) {
		a->parse_err = err;
		lmi_answer_parser_finish(a->parse);
		st = a->parse_st;
	}
	if (st != LMD_OK)
		return st;
	if (ev.kind == LMI_ENGINE_EV_FAILED)
		return lmd_fail(err, ev.u.error.status, "%s", ev.u.error.text);
	return ev.kind == LMI_ENGINE_EV_DONE ? LMD_OK : LMD_CANCELLED;
}

/* ---- options ---- */

/* Returns --seed, or a seed from the clock: two runs differ unless asked otherwise. */
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

static enum lmi_engine_jump jump_option(const struct lmi_args *a)
{
	const char *word = lmi_arg_str(a, "jump");

	return !strcmp(word, "text")  ? LMI_ENGINE_JUMP_TEXT
	       : !strcmp(word, "off") ? LMI_ENGINE_JUMP_OFF
				      : LMI_ENGINE_JUMP_TOKEN;
}

/* Prepares the grammar and token healing; seq->n_tokens is reduced to the tokens that stay. */
static enum lmd_status constrain(struct lmi_ctl *ctl, struct lmi_engine *e,
				 const struct lmi_ctl_chat_args *chat,
				 struct lmi_engine_input_seq *seq,
				 struct lmi_engine_constraint **out, struct lmd_error *err)
{
	const char *const *list;
	uint32_t n = lmi_arg_list(&ctl->args, "grammar-trigger", &list);
	struct lmd_str *triggers;
	struct lmi_engine_constrain_opts o = {
		.grammar = {.gbnf = chat->grammar, .schema = chat->schema},
		.jump = jump_option(&ctl->args),
		.heal = lmi_arg_flag(&ctl->args, "heal"),
		.prompt = seq->tokens,
		.n_prompt = seq->n_tokens};
	size_t n_kept = seq->n_tokens;
	enum lmd_status st;

	triggers = lmi_alloc(n + 1, sizeof(*triggers));
	if (!triggers)
		return lmd_fail(err, LMD_NOMEM, "no memory for a grammar");
	for (uint32_t i = 0; i < n; i++)
		triggers[i] = (struct lmd_str){.ptr = list[i], .len = strlen(list[i])};
	o.grammar.triggers = triggers;
	o.grammar.n_triggers = n;
	st = lmi_engine_constrain(e, &o, out, &n_kept, err);
	if (st == LMD_OK)
		seq->n_tokens = (uint32_t)n_kept;
	lmi_free(triggers);
	return st;
}

enum lmd_status lmi_ctl_local_generate(struct lmi_ctl *ctl, struct lmi_ctl_local_answer *a,
				       const struct lmi_ctl_chat_args *chat,
				       const lmd_token *tokens, size_t n_tokens,
				       struct lmd_error *err)
{
	const struct lmi_args *args = &ctl->args;
	struct lmi_ctl_sampling_chain chain;
	struct lmi_engine_generate cmd = {.id = 1,
					  .seq = {.tokens = tokens, .n_tokens = (uint32_t)n_tokens},
					  .n_predict = lmi_arg_int(args, "predict"),
					  .seed = seed_of(args),
					  .shown = a->answer_format.shown.id,
					  .n_shown = (uint32_t)a->answer_format.shown.n,
					  .class = LMI_ENGINE_CLASS_INTERACTIVE};
	struct lmi_engine_info info;
	struct lmd_str *stop = NULL;
	enum lmd_status st;

	if (n_tokens > INT32_MAX)
		return lmd_fail(err, LMD_INVALID, "the prompt has %zu tokens, which is too long",
				n_tokens);
	if (lmi_arg_flag(args, "interactive"))
		cmd.flags |= LMI_ENGINE_GEN_RETAIN; /* the next line continues after this answer */
	if (lmi_arg_flag(args, "ignore-eos"))
		cmd.flags |= LMI_ENGINE_GEN_IGNORE_EOG;
	if (lmi_arg_flag(args, "special"))
		cmd.flags |= LMI_ENGINE_GEN_SPECIAL;
	lmi_engine_info(a->e, &info);
	st = lmi_ctl_sampling_chain(&chain, ctl, info.n_ctx, err);
	cmd.specs = chain.specs;
	cmd.n_specs = chain.n_specs;
	if (st == LMD_OK)
		st = stops(args, &stop, &cmd.n_stops, err);
	cmd.stops = stop;
	if (st == LMD_OK)
		st = constrain(ctl, a->e, chat, &cmd.seq, &cmd.constraint, err);
	a->n_prompt_kept = cmd.seq.n_tokens;
	if (st == LMD_OK && a->answer_format.format) {
		st = lmi_chat_answer_parser_create(&a->answer_format, &a->parse, take_part, a, err);
		if (st != LMD_OK)
			lmi_engine_constraint_destroy(cmd.constraint);
	}
	if (st == LMD_OK) {
		st = lmi_engine_generate(a->e, &cmd, err);
		if (st != LMD_OK) /* the command was not submitted and still belongs to us */
			lmi_engine_constraint_destroy(cmd.constraint);
	}
	if (st == LMD_OK)
		st = collect(a, cmd.id, err);
	lmi_free(stop);
	lmi_ctl_sampling_chain_fini(&chain);
	return st;
}

/* ---- output ---- */

void lmi_ctl_local_answer_json(const struct lmi_ctl_local_answer *a)
{
	static const char *const why[] = {"", "eog", "stop", "length", "context"};
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_answer_printer_json(&a->printer, &j);
	lmi_ctl_json_flat_array(&j, "tokens");
	for (size_t i = 0; i < a->tokens.n; i++)
		lmi_ctl_json_int(&j, NULL, a->tokens.id[i]);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_str(&j, "finish", why[a->done.u.done.finish]);
	lmi_ctl_json_uint(&j, "n_prompt", a->done.u.done.n_prompt);
	lmi_ctl_json_uint(&j, "n_out", a->done.u.done.n_out);
	lmi_ctl_json_uint(&j, "n_forced", a->done.u.done.n_forced);
	lmi_ctl_json_f64(&j, "prompt_ms", (double)a->done.u.done.prompt_ns / 1e6);
	lmi_ctl_json_f64(&j, "out_ms", (double)a->done.u.done.out_ns / 1e6);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

void lmi_ctl_local_answer_fini(struct lmi_ctl_local_answer *a)
{
	lmi_ctl_answer_printer_fini(&a->printer);
	lmi_chat_answer_format_fini(&a->answer_format);
	lmi_answer_parser_destroy(a->parse);
	a->parse = NULL;
	lmi_text_token_buf_fini(&a->tokens);
}
