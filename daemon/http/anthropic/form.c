/* SPDX-License-Identifier: MIT
 *
 * The form of an answer: a message that consists of blocks.  In a stream each block begins, grows
 * and ends before the next one begins; a text that follows a tool call is a block of its own. */
#include <stdio.h>
#include <string.h>

#include "daemon/http/anthropic/anthropic_impl.h"
#include "daemon/http/json_body.h"

/* ---- parts of messages ---- */

static const char *stop_reason(const struct lmi_http_answer_end *end)
{
	switch (end->finish) {
	case LMI_WIRE_FINISH_LENGTH:
	case LMI_WIRE_FINISH_DEADLINE:
	case LMI_WIRE_FINISH_SHUTDOWN:
		return "max_tokens";
	case LMI_WIRE_FINISH_CONTEXT:
		return "model_context_window_exceeded";
	case LMI_WIRE_FINISH_STOP:
		return end->called ? "tool_use" : "stop_sequence";
	case LMI_WIRE_FINISH_EOG:
	case LMI_WIRE_FINISH_DONE:
	case LMI_WIRE_FINISH_UNKNOWN:
		break;
	}
	return end->called ? "tool_use" : "end_turn";
}

static void put_stop(struct lmi_json_text *j, const struct lmi_anthropic_state *s,
		     const struct lmi_http_answer_end *end)
{
	bool stopped = end && end->finish == LMI_WIRE_FINISH_STOP && !end->called && s->stop.len;

	lmi_http_json_put_text(j, "stop_reason", end ? stop_reason(end) : NULL);
	if (stopped)
		lmi_http_json_put_str(j, "stop_sequence", s->stop);
	else
		lmi_http_json_put_null(j, "stop_sequence");
}

/* input_tokens are those that had to be computed and are not pinned. */
static void put_usage(struct lmi_json_text *j, const struct lmi_http_answer_end *end)
{
	int64_t created = end && end->n_pinned > end->n_cached ? end->n_pinned - end->n_cached : 0;

	lmi_json_text_key(j, "usage");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "input_tokens",
			      end ? (int64_t)end->n_prompt - end->n_cached - created : 0);
	lmi_http_json_put_int(j, "cache_creation_input_tokens", created);
	lmi_http_json_put_int(j, "cache_read_input_tokens", end ? end->n_cached : 0);
	lmi_http_json_put_int(j, "output_tokens", end ? end->n_out : 0);
	lmi_json_text_end(j);
}

static void begin_message(struct lmi_json_text *j, const struct lmi_http_answer_head *head)
{
	char id[128];

	(void)snprintf(id, sizeof(id), "msg_%s", head->id);
	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "id", id);
	lmi_http_json_put_text(j, "type", "message");
	lmi_http_json_put_text(j, "role", "assistant");
	lmi_http_json_put_text(j, "model", head->model);
	lmi_json_text_key(j, "content");
	lmi_json_text_array(j);
}

/* ---- blocks of a stream ---- */

static struct lmi_json_text *begin_event(struct lmi_http_out *o, const char *type)
{
	lmi_json_text_object(&o->json);
	lmi_http_json_put_text(&o->json, "type", type);
	return &o->json;
}

static void end_event(struct lmi_http_out *o, const char *type)
{
	lmi_json_text_end(&o->json);
	lmi_http_out_event(o, type);
}

static void put_delta(struct lmi_anthropic_state *s, struct lmd_str text, struct lmi_http_out *o)
{
	static const char *const types[][2] = {
		[LMI_ANTHROPIC_TEXT] = {"text_delta", "text"},
		[LMI_ANTHROPIC_THINKING] = {"thinking_delta", "thinking"},
		[LMI_ANTHROPIC_TOOL_USE] = {"input_json_delta", "partial_json"},
	};
	struct lmi_json_text *j;

	if (!text.len || !s->block)
		return;
	j = begin_event(o, "content_block_delta");
	lmi_http_json_put_int(j, "index", (int64_t)s->n_block - 1);
	lmi_json_text_key(j, "delta");
	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "type", types[s->block][0]);
	lmi_http_json_put_str(j, types[s->block][1], text);
	lmi_json_text_end(j);
	end_event(o, "content_block_delta");
}

static void end_block(struct lmi_anthropic_state *s, struct lmi_http_out *o)
{
	if (!s->block)
		return;
	put_delta(s, lmi_http_pieces_end(&s->pieces), o);
	lmi_http_json_put_int(begin_event(o, "content_block_stop"), "index",
			      (int64_t)s->n_block - 1);
	end_event(o, "content_block_stop");
	s->block = LMI_ANTHROPIC_NO_BLOCK;
}

/* Begins a block and writes its content_block up to the members of the type. */
static struct lmi_json_text *begin_block(struct lmi_anthropic_state *s,
					 enum lmi_anthropic_block block, const char *type,
					 struct lmi_http_out *o)
{
	struct lmi_json_text *j;

	end_block(s, o);
	s->block = block;
	s->n_block++;
	j = begin_event(o, "content_block_start");
	lmi_http_json_put_int(j, "index", (int64_t)s->n_block - 1);
	lmi_json_text_key(j, "content_block");
	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "type", type);
	return j;
}

static void put_text(struct lmi_anthropic_state *s, struct lmd_str text, struct lmi_http_out *o)
{
	if (!text.len)
		return;
	if (s->block != LMI_ANTHROPIC_TEXT) {
		lmi_http_json_put_text(begin_block(s, LMI_ANTHROPIC_TEXT, "text", o), "text", "");
		lmi_json_text_end(&o->json);
		end_event(o, "content_block_start");
	}
	put_delta(s, lmi_http_pieces_next(&s->pieces, s->arena, text), o);
}

static void put_thinking(struct lmi_anthropic_state *s, struct lmd_str text, struct lmi_http_out *o)
{
	struct lmi_json_text *j;

	if (!text.len)
		return;
	if (s->block != LMI_ANTHROPIC_THINKING) {
		j = begin_block(s, LMI_ANTHROPIC_THINKING, "thinking", o);
		lmi_http_json_put_text(j, "thinking", "");
		lmi_http_json_put_text(j, "signature", "");
		lmi_json_text_end(j);
		end_event(o, "content_block_start");
	}
	put_delta(s, lmi_http_pieces_next(&s->pieces, s->arena, text), o);
}

static void begin_tool_use(struct lmi_anthropic_state *s, struct lmd_str id, struct lmd_str name,
			   struct lmi_http_out *o)
{
	struct lmi_json_text *j = begin_block(s, LMI_ANTHROPIC_TOOL_USE, "tool_use", o);

	lmi_http_json_put_str(j, "id", id);
	lmi_http_json_put_str(j, "name", name);
	lmi_json_text_key(j, "input");
	lmi_json_text_object(j);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	end_event(o, "content_block_start");
}

/* ---- the stream ---- */

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	struct lmi_json_text *j = begin_event(o, "message_start");

	lmi_json_text_key(j, "message");
	begin_message(j, head);
	lmi_json_text_end(j);
	put_stop(j, state, NULL);
	put_usage(j, NULL); /* the length of the prompt is known at the end */
	lmi_json_text_end(j);
	end_event(o, "message_start");
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	struct lmi_anthropic_state *s = state;

	(void)choice;
	switch (it->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		put_text(s, it->u.token.text, o);
		break;
	case LMI_WIRE_ITEM_TEXT:
		put_text(s, it->u.text.text, o);
		break;
	case LMI_WIRE_ITEM_REASONING:
		put_thinking(s, it->u.reasoning.text, o);
		break;
	case LMI_WIRE_ITEM_CALL:
		begin_tool_use(s, it->u.call.id, it->u.call.name, o);
		break;
	case LMI_WIRE_ITEM_ARGUMENTS:
		if (s->block == LMI_ANTHROPIC_TOOL_USE)
			put_delta(s,
				  lmi_http_pieces_next(&s->pieces, s->arena, it->u.arguments.text),
				  o);
		break;
	case LMI_WIRE_ITEM_CALL_END:
		end_block(s, o);
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
	struct lmi_anthropic_state *s = state;
	struct lmi_json_text *j;

	(void)choice;
	end_block(s, o);
	j = begin_event(o, "message_delta");
	lmi_json_text_key(j, "delta");
	lmi_json_text_object(j);
	put_stop(j, s, end);
	lmi_json_text_end(j);
	put_usage(j, end);
	end_event(o, "message_delta");
}

static void end(void *state, const struct lmi_http_answer_end *sum, struct lmi_http_out *o)
{
	(void)state;
	(void)sum;
	(void)begin_event(o, "message_stop");
	end_event(o, "message_stop");
}

static void error(void *state, const struct lmi_http_error *e, struct lmi_http_out *o)
{
	(void)state;
	lmi_anthropic_error(&o->json, e);
	lmi_http_out_event(o, "error");
}

/* ---- the whole answer ---- */

static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *a, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *j)
{
	begin_message(j, head);
	if (a->reasoning.len) {
		lmi_json_text_object(j);
		lmi_http_json_put_text(j, "type", "thinking");
		lmi_http_json_put_str(j, "thinking", a->reasoning);
		lmi_http_json_put_text(j, "signature", "");
		lmi_json_text_end(j);
	}
	if (a->text.len) {
		lmi_json_text_object(j);
		lmi_http_json_put_text(j, "type", "text");
		lmi_http_json_put_str(j, "text", a->text);
		lmi_json_text_end(j);
	}
	for (uint32_t i = 0; i < a->n_call; i++) {
		if (!a->calls[i].complete) /* a client must not run a call that was cut off */
			continue;
		lmi_json_text_object(j);
		lmi_http_json_put_text(j, "type", "tool_use");
		lmi_http_json_put_str(j, "id", a->calls[i].id);
		lmi_http_json_put_str(j, "name", a->calls[i].name);
		lmi_http_json_put_object(j, "input", a->calls[i].arguments);
		lmi_json_text_end(j);
	}
	lmi_json_text_end(j);
	put_stop(j, state, &a->end);
	put_usage(j, sum);
	lmi_json_text_end(j);
}

const struct lmi_http_form lmi_anthropic_form = {
	.stream_type = "text/event-stream",
	.begin = begin,
	.item = item,
	.choice_end = choice_end,
	.end = end,
	.error = error,
	.whole = whole,
};
