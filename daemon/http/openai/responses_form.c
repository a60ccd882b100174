/* SPDX-License-Identifier: MIT
 *
 * The form of a response: the object, and the events of its stream.
 *
 * The output consists of items in the order in which the model wrote them.  In a stream each item is
 * added, grows by deltas, and is done; the last event repeats the whole response, so the form
 * collects the texts. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "daemon/http/openai/responses.h"

/* ---- values of the request ---- */

void lmi_openai_put_json(struct lmi_json_text *j, const json_t *v)
{
	const char *key;
	json_t *m;
	size_t i;

	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_OBJECT:
		lmi_json_text_object(j);
		json_object_foreach((json_t *)v, key, m)
		{
			lmi_json_text_key(j, key);
			lmi_openai_put_json(j, m);
		}
		lmi_json_text_end(j);
		return;
	case JSON_ARRAY:
		lmi_json_text_array(j);
		json_array_foreach(v, i, m) lmi_openai_put_json(j, m);
		lmi_json_text_end(j);
		return;
	case JSON_STRING:
		lmi_json_text_strn(j, json_string_value(v), json_string_length(v));
		return;
	case JSON_INTEGER:
		lmi_json_text_int(j, json_integer_value(v));
		return;
	case JSON_REAL:
		lmi_json_text_real(j, json_real_value(v));
		return;
	case JSON_TRUE:
	case JSON_FALSE:
		lmi_json_text_bool(j, json_is_true(v));
		return;
	case JSON_NULL:
		break;
	}
	lmi_json_text_null(j);
}

/* Repeats a member of the request; `json`: its value if it is absent. */
static void put_same(struct lmi_json_text *j, const json_t *body, const char *name,
		     const char *absent)
{
	const json_t *v = lmi_http_get(body, name);
	json_t *other = v || !absent ? NULL : json_loads(absent, JSON_DECODE_ANY, NULL);

	lmi_json_text_key(j, name);
	lmi_openai_put_json(j, v ? v : other);
	json_decref(other);
}

/* ---- items ---- */

static void add_text(struct lmi_openai_response_state *s, struct lmi_openai_text *t,
		     struct lmd_str text)
{
	size_t cap = t->cap ? t->cap : 256;
	char *p;

	while (cap < t->n + text.len)
		cap *= 2;
	if (cap != t->cap) {
		p = lmi_arena_alloc(s->arena, cap, 1);
		if (!p) {
			s->failed = true;
			return;
		}
		if (t->n)
			memcpy(p, t->p, t->n);
		t->p = p;
		t->cap = cap;
	}
	if (text.len)
		memcpy(t->p + t->n, text.ptr, text.len);
	t->n += text.len;
}

/* Begins an item; returns NULL if out of memory. */
static struct lmi_openai_item *add_item(struct lmi_openai_response_state *s,
					enum lmi_openai_item_kind kind)
{
	uint32_t cap = s->cap_item ? 2 * s->cap_item : 4;
	struct lmi_openai_item *v;

	if (s->n_item == s->cap_item) {
		v = lmi_arena_array(s->arena, cap, sizeof(*v));
		if (!v) {
			s->failed = true;
			return NULL;
		}
		if (s->n_item)
			memcpy(v, s->items, s->n_item * sizeof(*v));
		s->items = v;
		s->cap_item = cap;
	}
	v = &s->items[s->n_item];
	*v = (struct lmi_openai_item){.kind = kind, .index = s->n_item++, .status = "in_progress"};
	s->open = true;
	return v;
}

static const char *prefix_of(enum lmi_openai_item_kind kind)
{
	switch (kind) {
	case LMI_OPENAI_ITEM_REASONING:
		return "rs_";
	case LMI_OPENAI_ITEM_CALL:
		return "fc_";
	case LMI_OPENAI_ITEM_MESSAGE:
	case LMI_OPENAI_ITEM_NONE:
		break;
	}
	return "msg_";
}

static void put_item_id(struct lmi_openai_response_state *s, const struct lmi_openai_item *it,
			const char *key, struct lmi_json_text *j)
{
	char id[96];

	(void)snprintf(id, sizeof(id), "%s%s_%u", prefix_of(it->kind), s->head.id, it->index);
	lmi_http_json_put_text(j, key, id);
}

static struct lmd_str text_of(const struct lmi_openai_item *it)
{
	return (struct lmd_str){.ptr = it->text.n ? it->text.p : "", .len = it->text.n};
}

/* Writes the part of a message or of reasoning. */
static void put_part(const struct lmi_openai_item *it, struct lmd_str text, struct lmi_json_text *j)
{
	bool message = it->kind == LMI_OPENAI_ITEM_MESSAGE;

	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "type", message ? "output_text" : "reasoning_text");
	lmi_http_json_put_str(j, "text", text);
	if (message) {
		lmi_json_text_key(j, "annotations");
		lmi_json_text_array(j);
		lmi_json_text_end(j);
		lmi_json_text_key(j, "logprobs");
		lmi_json_text_array(j);
		lmi_json_text_end(j);
	}
	lmi_json_text_end(j);
}

/* Writes an item; one that has just been added has no content yet. */
static void put_item(struct lmi_openai_response_state *s, const struct lmi_openai_item *it,
		     bool empty, struct lmi_json_text *j)
{
	lmi_json_text_object(j);
	put_item_id(s, it, "id", j);
	if (it->kind == LMI_OPENAI_ITEM_CALL) {
		lmi_http_json_put_text(j, "type", "function_call");
		lmi_http_json_put_text(j, "status", it->status);
		lmi_http_json_put_str(j, "call_id", it->call_id);
		lmi_http_json_put_str(j, "name", it->name);
		lmi_http_json_put_str(j, "arguments", text_of(it));
		lmi_json_text_end(j);
		return;
	}
	if (it->kind == LMI_OPENAI_ITEM_REASONING) {
		lmi_http_json_put_text(j, "type", "reasoning");
		lmi_json_text_key(j, "summary");
		lmi_json_text_array(j);
		lmi_json_text_end(j);
	} else {
		lmi_http_json_put_text(j, "type", "message");
		lmi_http_json_put_text(j, "role", "assistant");
	}
	lmi_http_json_put_text(j, "status", it->status);
	lmi_json_text_key(j, "content");
	lmi_json_text_array(j);
	if (!empty)
		put_part(it, text_of(it), j);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
}

/* ---- the response ---- */

static bool is_cut(const struct lmi_http_answer_end *end)
{
	return end && !strcmp(lmi_openai_finish_reason(end), "length");
}

static void put_error(struct lmi_json_text *j, const struct lmi_http_error *e)
{
	lmi_json_text_key(j, "error");
	if (!e) {
		lmi_json_text_null(j);
		return;
	}
	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "code",
			       e->code == 429 || e->code == 503 ? "rate_limit_exceeded"
			       : e->code < 500                  ? "invalid_prompt"
								: "server_error");
	lmi_http_json_put_text(j, "message", e->text);
	lmi_json_text_end(j);
}

static void put_usage(struct lmi_json_text *j, const struct lmi_http_answer_end *end)
{
	lmi_json_text_key(j, "usage");
	if (!end) {
		lmi_json_text_null(j);
		return;
	}
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "input_tokens", end->n_prompt);
	lmi_json_text_key(j, "input_tokens_details");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "cached_tokens", end->n_cached);
	lmi_http_json_put_int(j, "cache_write_tokens", 0);
	lmi_json_text_end(j);
	lmi_http_json_put_int(j, "output_tokens", end->n_out);
	lmi_json_text_key(j, "output_tokens_details");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "reasoning_tokens", end->n_reasoning);
	lmi_json_text_end(j);
	lmi_http_json_put_int(j, "total_tokens", (int64_t)end->n_prompt + end->n_out);
	lmi_json_text_end(j);
}

void lmi_openai_put_response(struct lmi_openai_response_state *s, const char *status,
			     const struct lmi_http_answer_end *end,
			     const struct lmi_http_error *error, struct lmi_json_text *j)
{
	const json_t *body = s->body;
	char id[96];

	(void)snprintf(id, sizeof(id), LMI_OPENAI_RESPONSE_PREFIX "%s", s->head.id);
	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "id", id);
	lmi_http_json_put_text(j, "object", "response");
	lmi_http_json_put_int(j, "created_at", s->head.created);
	lmi_http_json_put_text(j, "status", status);
	lmi_http_json_put_bool(j, "background", s->background);
	put_error(j, error);
	lmi_json_text_key(j, "incomplete_details");
	if (is_cut(end)) {
		lmi_json_text_object(j);
		lmi_http_json_put_text(j, "reason", "max_output_tokens");
		lmi_json_text_end(j);
	} else {
		lmi_json_text_null(j);
	}
	put_same(j, body, "instructions", NULL);
	put_same(j, body, "max_output_tokens", NULL);
	put_same(j, body, "max_tool_calls", NULL);
	lmi_http_json_put_text(j, "model", s->head.model);
	lmi_json_text_key(j, "output");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < s->n_item; i++)
		put_item(s, &s->items[i], false, j);
	lmi_json_text_end(j);
	put_same(j, body, "parallel_tool_calls", "true");
	lmi_http_json_put_text(j, "previous_response_id", s->previous);
	put_same(j, body, "reasoning", "{\"effort\":null,\"summary\":null}");
	lmi_http_json_put_bool(j, "store", s->stored);
	put_same(j, body, "temperature", NULL);
	put_same(j, body, "text", "{\"format\":{\"type\":\"text\"}}");
	put_same(j, body, "tool_choice", "\"auto\"");
	put_same(j, body, "tools", "[]");
	put_same(j, body, "top_p", NULL);
	put_same(j, body, "truncation", "\"disabled\"");
	put_usage(j, end);
	put_same(j, body, "user", NULL);
	put_same(j, body, "metadata", "{}");
	lmi_json_text_end(j);
}

/* Hands the complete response to the one who keeps it. */
static void save(struct lmi_openai_response_state *s, const char *status,
		 const struct lmi_http_answer_end *end, const struct lmi_http_error *error)
{
	struct lmi_json_text j = {0};

	if (!s->save)
		return;
	lmi_openai_put_response(s, status, end, error, &j);
	if (lmi_json_text_finish(&j, NULL) == LMD_OK)
		s->save(s->save_arg, &s->head, j.text, j.bytes);
	lmi_json_text_fini(&j);
}

/* ---- events ---- */

static struct lmi_json_text *begin_event(struct lmi_openai_response_state *s, const char *type,
					 struct lmi_http_out *o)
{
	struct lmi_json_text *j = &o->json;

	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "type", type);
	lmi_http_json_put_int(j, "sequence_number", (int64_t)s->n_event++);
	return j;
}

static void end_event(const char *type, struct lmi_http_out *o)
{
	lmi_json_text_end(&o->json);
	lmi_http_out_event(o, type);
}

static void response_event(struct lmi_openai_response_state *s, const char *type,
			   const char *status, const struct lmi_http_answer_end *end,
			   const struct lmi_http_error *error, struct lmi_http_out *o)
{
	struct lmi_json_text *j = begin_event(s, type, o);

	lmi_json_text_key(j, "response");
	lmi_openai_put_response(s, status, end, error, j);
	end_event(type, o);
}

static void item_event(struct lmi_openai_response_state *s, const char *type,
		       const struct lmi_openai_item *it, bool empty, struct lmi_http_out *o)
{
	struct lmi_json_text *j = begin_event(s, type, o);

	lmi_http_json_put_int(j, "output_index", it->index);
	lmi_json_text_key(j, "item");
	put_item(s, it, empty, j);
	end_event(type, o);
}

/* Begins an event about the content of an item. */
static struct lmi_json_text *content_event(struct lmi_openai_response_state *s, const char *type,
					   const struct lmi_openai_item *it, struct lmi_http_out *o)
{
	struct lmi_json_text *j = begin_event(s, type, o);

	put_item_id(s, it, "item_id", j);
	lmi_http_json_put_int(j, "output_index", it->index);
	if (it->kind != LMI_OPENAI_ITEM_CALL)
		lmi_http_json_put_int(j, "content_index", 0);
	return j;
}

static void part_event(struct lmi_openai_response_state *s, const char *type,
		       const struct lmi_openai_item *it, struct lmd_str text, struct lmi_http_out *o)
{
	struct lmi_json_text *j = content_event(s, type, it, o);

	lmi_json_text_key(j, "part");
	put_part(it, text, j);
	end_event(type, o);
}

/* Writes a delta, or the whole text of an item that is done. */
static void text_event(struct lmi_openai_response_state *s, const struct lmi_openai_item *it,
		       bool done, struct lmd_str text, struct lmi_http_out *o)
{
	static const char *const types[][2] = {
		[LMI_OPENAI_ITEM_NONE] = {"", ""},
		[LMI_OPENAI_ITEM_REASONING] = {"response.reasoning_text.delta",
					       "response.reasoning_text.done"},
		[LMI_OPENAI_ITEM_MESSAGE] = {"response.output_text.delta",
					     "response.output_text.done"},
		[LMI_OPENAI_ITEM_CALL] = {"response.function_call_arguments.delta",
					  "response.function_call_arguments.done"},
	};
	const char *type = types[it->kind][done];
	struct lmi_json_text *j = content_event(s, type, it, o);

	if (done && it->kind == LMI_OPENAI_ITEM_CALL)
		lmi_http_json_put_str(j, "name", it->name);
	lmi_http_json_put_str(j,
			      !done                              ? "delta"
			      : it->kind == LMI_OPENAI_ITEM_CALL ? "arguments"
								 : "text",
			      text);
	if (it->kind == LMI_OPENAI_ITEM_MESSAGE) {
		lmi_json_text_key(j, "logprobs");
		lmi_json_text_array(j);
		lmi_json_text_end(j);
	}
	end_event(type, o);
}

static void grow(struct lmi_openai_response_state *s, struct lmd_str text, struct lmi_http_out *o)
{
	struct lmi_openai_item *it = &s->items[s->n_item - 1];

	if (!text.len)
		return;
	add_text(s, &it->text, text);
	text_event(s, it, false, text, o);
}

static struct lmi_openai_item *open_item(struct lmi_openai_response_state *s,
					 enum lmi_openai_item_kind kind, const struct lmd_str *name,
					 const struct lmd_str *call_id, struct lmi_http_out *o)
{
	struct lmi_openai_item *it = add_item(s, kind);

	if (!it)
		return NULL;
	if (name) {
		it->name.ptr = lmi_arena_strndup(s->arena, name->ptr, name->len);
		it->call_id.ptr = lmi_arena_strndup(s->arena, call_id->ptr, call_id->len);
		it->name.len = it->name.ptr ? name->len : 0;
		it->call_id.len = it->call_id.ptr ? call_id->len : 0;
	}
	item_event(s, "response.output_item.added", it, true, o);
	if (kind != LMI_OPENAI_ITEM_CALL)
		part_event(s, "response.content_part.added", it, (struct lmd_str){.ptr = ""}, o);
	return it;
}

static void close_item(struct lmi_openai_response_state *s, const char *status,
		       struct lmi_http_out *o)
{
	struct lmi_openai_item *it = s->n_item ? &s->items[s->n_item - 1] : NULL;

	if (!it || !s->open)
		return;
	grow(s, lmi_http_pieces_end(&s->pieces), o);
	s->open = false;
	it->status = status;
	text_event(s, it, true, text_of(it), o);
	if (it->kind != LMI_OPENAI_ITEM_CALL)
		part_event(s, "response.content_part.done", it, text_of(it), o);
	item_event(s, "response.output_item.done", it, false, o);
}

/* Adds text to the open item if it is of that kind, otherwise to a new one. */
static void put_text(struct lmi_openai_response_state *s, enum lmi_openai_item_kind kind,
		     struct lmd_str text, struct lmi_http_out *o)
{
	if (!text.len)
		return;
	if (s->open && s->items[s->n_item - 1].kind != kind)
		close_item(s, "completed", o);
	if (!s->open && !open_item(s, kind, NULL, NULL, o))
		return;
	grow(s, lmi_http_pieces_next(&s->pieces, s->arena, text), o);
}

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	struct lmi_openai_response_state *s = state;

	s->head = *head;
	response_event(s, "response.created", "in_progress", NULL, NULL, o);
	response_event(s, "response.in_progress", "in_progress", NULL, NULL, o);
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	struct lmi_openai_response_state *s = state;

	(void)choice;
	switch (it->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		put_text(s, LMI_OPENAI_ITEM_MESSAGE, it->u.token.text, o);
		break;
	case LMI_WIRE_ITEM_TEXT:
		put_text(s, LMI_OPENAI_ITEM_MESSAGE, it->u.text.text, o);
		break;
	case LMI_WIRE_ITEM_REASONING:
		put_text(s, LMI_OPENAI_ITEM_REASONING, it->u.reasoning.text, o);
		break;
	case LMI_WIRE_ITEM_CALL:
		close_item(s, "completed", o);
		(void)open_item(s, LMI_OPENAI_ITEM_CALL, &it->u.call.name, &it->u.call.id, o);
		break;
	case LMI_WIRE_ITEM_ARGUMENTS:
		if (s->open)
			grow(s, lmi_http_pieces_next(&s->pieces, s->arena, it->u.arguments.text), o);
		break;
	case LMI_WIRE_ITEM_CALL_END:
		close_item(s, it->u.call_end.complete ? "completed" : "incomplete", o);
		break;
	case LMI_WIRE_ITEM_UNKNOWN:
	case LMI_WIRE_ITEM_PROMPT_TOKEN:
	case LMI_WIRE_ITEM_PROGRESS:
	case LMI_WIRE_ITEM_DONE:
	case LMI_WIRE_ITEM_ERROR:
	case LMI_WIRE_ITEM_CANCELLED:
		break;
	}
	o->failed |= s->failed;
}

static void choice_end(void *state, uint32_t choice, const struct lmi_http_answer_end *end,
		       struct lmi_http_out *o)
{
	struct lmi_openai_response_state *s = state;

	(void)choice;
	if (!s->n_item) /* an empty answer is an empty message */
		(void)open_item(s, LMI_OPENAI_ITEM_MESSAGE, NULL, NULL, o);
	close_item(s, is_cut(end) ? "incomplete" : "completed", o);
	o->failed |= s->failed;
}

static void end(void *state, const struct lmi_http_answer_end *sum, struct lmi_http_out *o)
{
	struct lmi_openai_response_state *s = state;
	const char *status = is_cut(sum) ? "incomplete" : "completed";

	response_event(s, is_cut(sum) ? "response.incomplete" : "response.completed", status, sum,
		       NULL, o);
	save(s, status, sum, NULL);
}

static void error(void *state, const struct lmi_http_error *e, struct lmi_http_out *o)
{
	struct lmi_openai_response_state *s = state;

	close_item(s, "incomplete", o);
	response_event(s, "response.failed", "failed", NULL, e, o);
	save(s, "failed", NULL, e);
}

/* ---- the whole answer ---- */

/* Adds a complete item of a collected answer. */
static struct lmi_openai_item *add_done(struct lmi_openai_response_state *s,
					enum lmi_openai_item_kind kind, struct lmd_str text,
					const char *status)
{
	struct lmi_openai_item *it = add_item(s, kind);

	s->open = false;
	if (!it)
		return NULL;
	it->text = (struct lmi_openai_text){.p = (char *)text.ptr, .n = text.len};
	it->status = status;
	return it;
}

static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *a, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *j)
{
	struct lmi_openai_response_state *s = state;
	const char *status = is_cut(sum) ? "incomplete" : "completed";

	s->head = *head;
	if (a->reasoning.len)
		(void)add_done(s, LMI_OPENAI_ITEM_REASONING, a->reasoning, "completed");
	if (a->text.len || !(a->n_call + s->n_item))
		(void)add_done(s, LMI_OPENAI_ITEM_MESSAGE, a->text,
			       a->n_call ? "completed" : status);
	for (uint32_t i = 0; i < a->n_call; i++) {
		struct lmi_openai_item *it =
			add_done(s, LMI_OPENAI_ITEM_CALL, a->calls[i].arguments,
				 a->calls[i].complete ? "completed" : "incomplete");

		if (it) {
			it->name = a->calls[i].name;
			it->call_id = a->calls[i].id;
		}
	}
	if (s->failed) {
		j->status = LMD_NOMEM;
		return;
	}
	lmi_openai_put_response(s, status, sum, NULL, j);
	save(s, status, sum, NULL);
}

const struct lmi_http_form lmi_openai_response_form = {
	.stream_type = "text/event-stream",
	.begin = begin,
	.item = item,
	.choice_end = choice_end,
	.end = end,
	.error = error,
	.whole = whole,
};
