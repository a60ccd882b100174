/* SPDX-License-Identifier: MIT
 *
 * The form of a chat completion.  In a stream, the first chunk of a choice has its role and the
 * last one its finish_reason; the id and the name of a call come once, before its arguments. */
#include "daemon/http/json_out.h"
#include "daemon/http/logprobs.h"
#include "daemon/http/openai/openai_impl.h"

#define ID_PREFIX "chatcmpl-"

/* ---- chunks ---- */

/* Begins a chunk with one choice, up to its delta. */
static struct lmi_json_text *begin_chunk(struct lmi_openai_chat_state *s, uint32_t choice,
					 struct lmi_http_out *o)
{
	struct lmi_json_text *j = &o->json;

	lmi_json_text_object(j);
	lmi_openai_put_head(j, &s->common.head, ID_PREFIX, "chat.completion.chunk");
	lmi_json_text_key(j, "choices");
	lmi_json_text_array(j);
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "index", choice);
	lmi_json_text_key(j, "delta");
	lmi_json_text_object(j);
	return j;
}

/* Writes the log probabilities of tokens, or null. */
static void put_logprobs(struct lmi_json_text *j, const struct lmi_http_answer_token *v, uint32_t n)
{
	lmi_json_text_key(j, "logprobs");
	if (!n || !v[0].n_logprobs) {
		lmi_json_text_null(j);
		return;
	}
	lmi_json_text_object(j);
	lmi_json_text_key(j, "content");
	lmi_http_put_logprobs_list(j, v, n, LMI_HTTP_LOGPROBS_OPENAI);
	lmi_http_json_put_null(j, "refusal");
	lmi_json_text_end(j);
}

/* Ends a chunk.  token: the token that it brings; NULL: none. */
static void end_chunk_of(struct lmi_openai_chat_state *s, const char *finish,
			 const struct lmi_http_answer_token *token, struct lmi_http_out *o)
{
	struct lmi_json_text *j = &o->json;

	lmi_json_text_end(j);
	put_logprobs(j, token, token != NULL);
	lmi_openai_put_token_ids(j, &s->common, token, token != NULL);
	lmi_http_json_put_text(j, "finish_reason", finish);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	if (s->common.include_usage)
		lmi_http_json_put_null(j, "usage");
	lmi_json_text_end(j);
	lmi_http_out_event(o, NULL);
}

static void end_chunk(struct lmi_openai_chat_state *s, const char *finish, struct lmi_http_out *o)
{
	end_chunk_of(s, finish, NULL, o);
}

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	struct lmi_openai_chat_state *s = state;

	s->common.head = *head;
	for (uint32_t i = 0; i < head->n_choice; i++) {
		struct lmi_json_text *j = begin_chunk(s, i, o);

		lmi_http_json_put_text(j, "role", "assistant");
		lmi_http_json_put_text(j, "content", "");
		end_chunk(s, NULL, o);
	}
}

static void put_text(struct lmi_openai_chat_state *s, uint32_t choice, const char *key,
		     struct lmd_str text, struct lmi_http_out *o)
{
	if (!text.len)
		return;
	lmi_http_json_put_str(begin_chunk(s, choice, o), key, text);
	end_chunk(s, NULL, o);
}

/* A token has a chunk if it has text, or if the client asked for more than the text. */
static void put_token(struct lmi_openai_chat_state *s, uint32_t choice,
		      const struct lmi_wire_item *it, struct lmi_http_out *o)
{
	const struct lmi_http_answer_token token = {.token = it->u.token.token,
						    .logprobs = it->u.token.logprobs,
						    .n_logprobs = it->u.token.n_logprobs};
	struct lmd_str text = lmi_http_pieces_next(&s->choice[choice].text, s->common.arena,
						   it->u.token.text);

	if (!text.len && !token.n_logprobs && !s->common.token_ids)
		return;
	lmi_http_json_put_str(begin_chunk(s, choice, o), "content", text);
	end_chunk_of(s, NULL, &token, o);
}

/* Writes the delta of a call.  id and name are only in the first one. */
static void put_call(struct lmi_openai_chat_state *s, uint32_t choice, int64_t call,
		     const struct lmd_str *id, const struct lmd_str *name, struct lmd_str arguments,
		     struct lmi_http_out *o)
{
	struct lmi_json_text *j = begin_chunk(s, choice, o);

	lmi_json_text_key(j, "tool_calls");
	lmi_json_text_array(j);
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "index", call);
	if (id) {
		lmi_http_json_put_str(j, "id", *id);
		lmi_http_json_put_text(j, "type", "function");
	}
	lmi_json_text_key(j, "function");
	lmi_json_text_object(j);
	if (name)
		lmi_http_json_put_str(j, "name", *name);
	lmi_http_json_put_str(j, "arguments", arguments);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	end_chunk(s, NULL, o);
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	struct lmi_openai_chat_state *s = state;
	struct lmi_openai_chat_choice *c = &s->choice[choice];
	struct lmd_arena *a = s->common.arena;
	struct lmd_str text = {.ptr = ""};

	switch (it->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		put_token(s, choice, it, o);
		break;
	case LMI_WIRE_ITEM_TEXT:
		text = lmi_http_pieces_next(&c->text, a, it->u.text.text);
		put_text(s, choice, "content", text, o);
		break;
	case LMI_WIRE_ITEM_REASONING:
		text = lmi_http_pieces_next(&c->reasoning, a, it->u.reasoning.text);
		put_text(s, choice, "reasoning_content", text, o);
		break;
	case LMI_WIRE_ITEM_CALL:
		put_call(s, choice, it->u.call.call, &it->u.call.id, &it->u.call.name, text, o);
		break;
	case LMI_WIRE_ITEM_ARGUMENTS:
		text = lmi_http_pieces_next(&c->arguments, a, it->u.arguments.text);
		if (text.len)
			put_call(s, choice, it->u.arguments.call, NULL, NULL, text, o);
		break;
	case LMI_WIRE_ITEM_CALL_END:
		text = lmi_http_pieces_end(&c->arguments);
		if (text.len)
			put_call(s, choice, it->u.call_end.call, NULL, NULL, text, o);
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
	struct lmi_openai_chat_state *s = state;
	struct lmi_openai_chat_choice *c = &s->choice[choice];

	put_text(s, choice, "reasoning_content", lmi_http_pieces_end(&c->reasoning), o);
	put_text(s, choice, "content", lmi_http_pieces_end(&c->text), o);
	(void)begin_chunk(s, choice, o);
	end_chunk(s, lmi_openai_finish_reason(end), o);
}

static void end(void *state, const struct lmi_http_answer_end *sum, struct lmi_http_out *o)
{
	const struct lmi_openai_chat_state *s = state;

	lmi_openai_end_stream(&s->common, ID_PREFIX, "chat.completion.chunk", sum, o);
}

/* ---- the whole answer ---- */

static void put_calls(struct lmi_json_text *j, const struct lmi_http_answer *a)
{
	lmi_json_text_key(j, "tool_calls");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < a->n_call; i++) {
		lmi_json_text_object(j);
		lmi_http_json_put_str(j, "id", a->calls[i].id);
		lmi_http_json_put_text(j, "type", "function");
		lmi_json_text_key(j, "function");
		lmi_json_text_object(j);
		lmi_http_json_put_str(j, "name", a->calls[i].name);
		lmi_http_json_put_str(j, "arguments", a->calls[i].arguments);
		lmi_json_text_end(j);
		lmi_json_text_end(j);
	}
	lmi_json_text_end(j);
}

static void put_choice(struct lmi_json_text *j, const struct lmi_openai_state *s, uint32_t index,
		       const struct lmi_http_answer *a)
{
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "index", index);
	lmi_json_text_key(j, "message");
	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "role", "assistant");
	if (a->text.len || !a->n_call)
		lmi_http_json_put_str(j, "content", a->text);
	else
		lmi_http_json_put_null(j, "content");
	if (a->reasoning.len)
		lmi_http_json_put_str(j, "reasoning_content", a->reasoning);
	if (a->n_call)
		put_calls(j, a);
	lmi_http_json_put_null(j, "refusal");
	lmi_json_text_end(j);
	put_logprobs(j, a->tokens, a->n_token);
	lmi_openai_put_token_ids(j, s, a->tokens, a->n_token);
	lmi_http_json_put_text(j, "finish_reason", lmi_openai_finish_reason(&a->end));
	lmi_json_text_end(j);
}

static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *choices, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *j)
{
	const struct lmi_openai_chat_state *s = state;

	lmi_json_text_object(j);
	lmi_openai_put_head(j, head, ID_PREFIX, "chat.completion");
	lmi_json_text_key(j, "choices");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < head->n_choice; i++)
		put_choice(j, &s->common, i, &choices[i]);
	lmi_json_text_end(j);
	lmi_openai_put_prompt(j, &s->common, &choices[0]);
	lmi_openai_put_usage(j, sum);
	lmi_json_text_end(j);
}

const struct lmi_http_form lmi_openai_chat_form = {
	.stream_type = "text/event-stream",
	.begin = begin,
	.item = item,
	.choice_end = choice_end,
	.end = end,
	.error = lmi_openai_form_error,
	.whole = whole,
};
