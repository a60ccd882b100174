/* SPDX-License-Identifier: MIT
 *
 * The form of an answer: lines of JSON, of which the last one has the counts and times.  A tool
 * call is sent as a whole, since its arguments are an object in this API; one that was cut off is
 * left out. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/http/logprobs.h"
#include "daemon/http/ollama/ollama_impl.h"

void lmi_ollama_time(char out[LMI_OLLAMA_TIME_BYTES], int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(out, LMI_OLLAMA_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm))
		(void)snprintf(out, LMI_OLLAMA_TIME_BYTES, "1970-01-01T00:00:00Z");
}

void lmi_ollama_put_head(struct lmi_json_text *j, const char *model, int64_t created)
{
	char at[LMI_OLLAMA_TIME_BYTES];

	lmi_ollama_time(at, created);
	lmi_http_json_put_text(j, "model", model);
	lmi_http_json_put_text(j, "created_at", at);
}

/* Begins a line, up to the first member of the message. */
static struct lmi_json_text *begin_line(const struct lmi_ollama_state *s, struct lmi_json_text *j)
{
	lmi_json_text_object(j);
	lmi_ollama_put_head(j, s->head.model, s->head.created);
	if (s->chat) {
		lmi_json_text_key(j, "message");
		lmi_json_text_object(j);
		lmi_http_json_put_text(j, "role", "assistant");
	}
	return j;
}

static void put_text(const struct lmi_ollama_state *s, struct lmi_json_text *j, struct lmd_str text)
{
	lmi_http_json_put_str(j, s->chat ? "content" : "response", text);
}

/* Ends the message and the line. */
static void end_line(const struct lmi_ollama_state *s, struct lmi_http_out *o)
{
	if (s->chat)
		lmi_json_text_end(&o->json);
	lmi_http_json_put_bool(&o->json, "done", false);
	lmi_json_text_end(&o->json);
	lmi_http_out_line(o);
}

static const char *done_reason(const struct lmi_http_answer_end *end)
{
	switch (end->finish) {
	case LMI_WIRE_FINISH_LENGTH:
	case LMI_WIRE_FINISH_CONTEXT:
	case LMI_WIRE_FINISH_DEADLINE:
	case LMI_WIRE_FINISH_SHUTDOWN:
		return "length";
	case LMI_WIRE_FINISH_EOG:
	case LMI_WIRE_FINISH_STOP:
	case LMI_WIRE_FINISH_DONE:
	case LMI_WIRE_FINISH_UNKNOWN:
		break;
	}
	return "stop";
}

static void put_end(struct lmi_json_text *j, const struct lmi_http_answer_end *end)
{
	lmi_http_json_put_bool(j, "done", true);
	lmi_http_json_put_text(j, "done_reason", done_reason(end));
	lmi_http_json_put_int(j, "total_duration",
			      (int64_t)(end->queue_ns + end->prompt_ns + end->out_ns));
	lmi_http_json_put_int(j, "load_duration", (int64_t)end->queue_ns);
	lmi_http_json_put_int(j, "prompt_eval_count", end->n_prompt);
	lmi_http_json_put_int(j, "prompt_eval_duration", (int64_t)end->prompt_ns);
	lmi_http_json_put_int(j, "eval_count", end->n_out);
	lmi_http_json_put_int(j, "eval_duration", (int64_t)end->out_ns);
}

static void put_call(struct lmi_json_text *j, struct lmd_str id, struct lmd_str name,
		     struct lmd_str arguments)
{
	lmi_json_text_object(j);
	if (id.len)
		lmi_http_json_put_str(j, "id", id);
	lmi_json_text_key(j, "function");
	lmi_json_text_object(j);
	lmi_http_json_put_str(j, "name", name);
	lmi_http_json_put_object(j, "arguments", arguments);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
}

/* ---- the stream ---- */

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	struct lmi_ollama_state *s = state;

	(void)o;
	s->head = *head;
}

static void text_line(struct lmi_ollama_state *s, struct lmd_str text, struct lmi_http_out *o)
{
	if (!text.len)
		return;
	put_text(s, begin_line(s, &o->json), text);
	end_line(s, o);
}

/* A token with log probabilities has a line even if it has no text. */
static void token_line(struct lmi_ollama_state *s, const struct lmi_wire_item *it,
		       struct lmi_http_out *o)
{
	struct lmd_str text = lmi_http_pieces_next(&s->text, s->arena, it->u.token.text);

	if (!it->u.token.n_logprobs) {
		text_line(s, text, o);
		return;
	}
	put_text(s, begin_line(s, &o->json), text);
	if (s->chat)
		lmi_json_text_end(&o->json);
	lmi_json_text_key(&o->json, "logprobs");
	lmi_json_text_array(&o->json);
	lmi_http_put_logprobs(&o->json, it->u.token.logprobs, it->u.token.n_logprobs,
			      LMI_HTTP_LOGPROBS_OPENAI);
	lmi_json_text_end(&o->json);
	lmi_http_json_put_bool(&o->json, "done", false);
	lmi_json_text_end(&o->json);
	lmi_http_out_line(o);
}

static void reasoning_line(struct lmi_ollama_state *s, struct lmd_str text, struct lmi_http_out *o)
{
	struct lmi_json_text *j;

	if (!text.len)
		return;
	j = begin_line(s, &o->json);
	put_text(s, j, (struct lmd_str){.ptr = ""});
	lmi_http_json_put_str(j, "thinking", text);
	end_line(s, o);
}

static struct lmd_str copy(struct lmi_ollama_state *s, struct lmd_str text)
{
	const char *p = lmi_arena_strndup(s->arena, text.ptr ? text.ptr : "", text.len);

	return (struct lmd_str){.ptr = p, .len = p ? text.len : 0};
}

static void add_arguments(struct lmi_ollama_state *s, struct lmd_str text, struct lmi_http_out *o)
{
	size_t cap = s->cap_args ? s->cap_args : 256;
	char *p;

	while (cap < s->n_args + text.len)
		cap *= 2;
	if (cap != s->cap_args) {
		p = lmi_arena_alloc(s->arena, cap, 1);
		if (!p) {
			o->failed = true;
			return;
		}
		memcpy(p, s->args ? s->args : "", s->n_args);
		s->args = p;
		s->cap_args = cap;
	}
	memcpy(s->args + s->n_args, text.ptr ? text.ptr : "", text.len);
	s->n_args += text.len;
}

static void call_line(struct lmi_ollama_state *s, struct lmi_http_out *o)
{
	struct lmi_json_text *j;

	if (!s->chat)
		return;
	j = begin_line(s, &o->json);
	put_text(s, j, (struct lmd_str){.ptr = ""});
	lmi_json_text_key(j, "tool_calls");
	lmi_json_text_array(j);
	put_call(j, s->call_id, s->call_name, (struct lmd_str){.ptr = s->args, .len = s->n_args});
	lmi_json_text_end(j);
	end_line(s, o);
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	struct lmi_ollama_state *s = state;

	(void)choice;
	switch (it->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		token_line(s, it, o);
		break;
	case LMI_WIRE_ITEM_TEXT:
		text_line(s, lmi_http_pieces_next(&s->text, s->arena, it->u.text.text), o);
		break;
	case LMI_WIRE_ITEM_REASONING:
		reasoning_line(
			s, lmi_http_pieces_next(&s->reasoning, s->arena, it->u.reasoning.text), o);
		break;
	case LMI_WIRE_ITEM_CALL:
		s->call_id = copy(s, it->u.call.id);
		s->call_name = copy(s, it->u.call.name);
		s->n_args = 0;
		break;
	case LMI_WIRE_ITEM_ARGUMENTS:
		add_arguments(s, it->u.arguments.text, o);
		break;
	case LMI_WIRE_ITEM_CALL_END:
		if (it->u.call_end.complete)
			call_line(s, o);
		break;
	case LMI_WIRE_ITEM_UNKNOWN:
	case LMI_WIRE_ITEM_PROMPT_TOKEN:
	case LMI_WIRE_ITEM_PROGRESS:
	case LMI_WIRE_ITEM_DONE:
	case LMI_WIRE_ITEM_ERROR:
	case LMI_WIRE_ITEM_CANCELLED:
		break;
	}
}

static void choice_end(void *state, uint32_t choice, const struct lmi_http_answer_end *end,
		       struct lmi_http_out *o)
{
	struct lmi_ollama_state *s = state;
	struct lmi_json_text *j;

	(void)choice;
	reasoning_line(s, lmi_http_pieces_end(&s->reasoning), o);
	j = begin_line(s, &o->json);
	put_text(s, j, lmi_http_pieces_end(&s->text));
	if (s->chat)
		lmi_json_text_end(j);
	put_end(j, end);
	lmi_json_text_end(j);
	lmi_http_out_line(o);
}

static void error(void *state, const struct lmi_http_error *e, struct lmi_http_out *o)
{
	(void)state;
	lmi_ollama_error(&o->json, e);
	lmi_http_out_line(o);
}

/* ---- the whole answer ---- */

static void put_calls(struct lmi_json_text *j, const struct lmi_http_answer *a)
{
	lmi_json_text_key(j, "tool_calls");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < a->n_call; i++)
		if (a->calls[i].complete)
			put_call(j, a->calls[i].id, a->calls[i].name, a->calls[i].arguments);
	lmi_json_text_end(j);
}

static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *a, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *j)
{
	struct lmi_ollama_state *s = state;

	(void)sum;
	s->head = *head;
	(void)begin_line(s, j);
	put_text(s, j, a->text);
	if (a->reasoning.len)
		lmi_http_json_put_str(j, "thinking", a->reasoning);
	if (s->chat && a->end.called)
		put_calls(j, a);
	if (s->chat)
		lmi_json_text_end(j);
	if (a->n_token && a->tokens[0].n_logprobs) {
		lmi_json_text_key(j, "logprobs");
		lmi_http_put_logprobs_list(j, a->tokens, a->n_token, LMI_HTTP_LOGPROBS_OPENAI);
	}
	put_end(j, &a->end);
	lmi_json_text_end(j);
}

const struct lmi_http_form lmi_ollama_form = {
	.stream_type = "application/x-ndjson",
	.begin = begin,
	.item = item,
	.choice_end = choice_end,
	.error = error,
	.whole = whole,
};
