/* SPDX-License-Identifier: MIT
 *
 * POST /v1/completions: a text is continued as it is, without a chat template.  Control tokens that
 * the prompt spells are control tokens, since clients write templates themselves here. */
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_out.h"
#include "daemon/http/openai/openai_impl.h"

#define ID_PREFIX     "cmpl-"
#define N_MAX_DEFAULT 16

struct state {
	struct lmi_openai_state common;
	bool echo;
	struct lmd_str prompt;
	struct lmi_http_pieces text[LMI_HTTP_CHOICES_MAX];
};

/* ---- the body ---- */

static void read_tokens(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	t->q->tokens = lmi_http_read_tokens(&t->r, at, v, &t->q->n_tokens);
	t->q->has_tokens = true;
}

static void read_prompt(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	const struct lmi_http_at first = {.up = at};

	if (json_is_array(v) && json_is_integer(json_array_get(v, 0))) {
		read_tokens(t, at, v);
		return;
	}
	if (json_is_array(v)) {
		if (!lmi_http_is_list(&t->r, at, v, 1,
				      1)) /* several prompts are several requests */
			return;
		v = json_array_get(v, 0);
		at = &first;
	}
	if (json_is_array(v)) {
		read_tokens(t, at, v);
		return;
	}
	t->q->prompt = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
	t->q->has_prompt = true;
}

static void read_echo(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	struct state *s = t->state;

	s->echo = lmi_http_read_bool(&t->r, at, v);
}

static void read_logprobs(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	if (!json_is_false(v))
		lmi_http_fail(&t->r, at, "probabilities of tokens are not supported");
}

static void read_response_format(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v)
{
	(void)v;
	lmi_http_fail(&t->r, at, "is not supported here: use json_schema or grammar");
}

static const struct lmi_http_member rows[] = {
	{.name = "prompt", .read = read_prompt},
	{.name = "echo", .read = read_echo},
	{.name = "logprobs", .read = read_logprobs},
	{.name = "response_format", .read = read_response_format},
	{.name = "suffix",
	 .refused = "is not supported: write the infill tokens of the model into the prompt"},
};

static const struct lmi_http_members members = {
	.v = rows, .n = LMD_LEN(rows), .more = &lmi_openai_members};

/* ---- chunks ---- */

static void put_choice(struct lmi_json_text *j, uint32_t index, const char *finish)
{
	lmi_http_json_put_int(j, "index", index);
	lmi_http_json_put_null(j, "logprobs");
	lmi_http_json_put_text(j, "finish_reason", finish);
	lmi_json_text_end(j);
}

static void put_chunk(struct state *s, uint32_t choice, struct lmd_str text, const char *finish,
		      struct lmi_http_out *o)
{
	struct lmi_json_text *j = &o->json;

	if (!text.len && !finish)
		return;
	lmi_json_text_object(j);
	lmi_openai_put_head(j, &s->common.head, ID_PREFIX, "text_completion");
	lmi_json_text_key(j, "choices");
	lmi_json_text_array(j);
	lmi_json_text_object(j);
	lmi_http_json_put_str(j, "text", text);
	put_choice(j, choice, finish);
	lmi_json_text_end(j);
	if (s->common.include_usage)
		lmi_http_json_put_null(j, "usage");
	lmi_json_text_end(j);
	lmi_http_out_event(o, NULL);
}

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	struct state *s = state;

	s->common.head = *head;
	for (uint32_t i = 0; s->echo && i < head->n_choice; i++)
		put_chunk(s, i, s->prompt, NULL, o);
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	struct state *s = state;
	struct lmd_str text;

	if (it->kind == LMI_WIRE_ITEM_TOKEN)
		text = it->u.token.text;
	else if (it->kind == LMI_WIRE_ITEM_TEXT)
		text = it->u.text.text;
	else
		return;
	text = lmi_http_pieces_next(&s->text[choice], s->common.arena, text);
	put_chunk(s, choice, text, NULL, o);
}

static void choice_end(void *state, uint32_t choice, const struct lmi_http_answer_end *end,
		       struct lmi_http_out *o)
{
	struct state *s = state;

	put_chunk(s, choice, lmi_http_pieces_end(&s->text[choice]), lmi_openai_finish_reason(end),
		  o);
}

static void end(void *state, const struct lmi_http_answer_end *sum, struct lmi_http_out *o)
{
	const struct state *s = state;

	lmi_openai_end_stream(&s->common, ID_PREFIX, "text_completion", sum, o);
}

static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *choices, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *j)
{
	struct state *s = state;

	lmi_json_text_object(j);
	lmi_openai_put_head(j, head, ID_PREFIX, "text_completion");
	lmi_json_text_key(j, "choices");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < head->n_choice; i++) {
		struct lmd_str text = choices[i].text;

		if (s->echo && s->prompt.len) {
			char *p = lmi_arena_alloc(s->common.arena, s->prompt.len + text.len + 1, 1);

			if (!p) {
				j->status = LMD_NOMEM;
				return;
			}
			memcpy(p, s->prompt.ptr, s->prompt.len);
			memcpy(p + s->prompt.len, text.ptr ? text.ptr : "", text.len);
			text = (struct lmd_str){.ptr = p, .len = s->prompt.len + text.len};
		}
		lmi_json_text_object(j);
		lmi_http_json_put_str(j, "text", text);
		put_choice(j, i, lmi_openai_finish_reason(&choices[i].end));
	}
	lmi_json_text_end(j);
	lmi_openai_put_usage(j, sum);
	lmi_json_text_end(j);
}

static const struct lmi_http_form form = {
	.stream_type = "text/event-stream",
	.begin = begin,
	.item = item,
	.choice_end = choice_end,
	.end = end,
	.error = lmi_openai_form_error,
	.whole = whole,
};

/* ---- the endpoint ---- */

enum lmd_status lmi_openai_translate_completion(struct lmi_http_generation *out, const json_t *body,
						struct lmd_arena *arena, const char **param,
						struct lmd_error *err)
{
	static const struct lmi_http_at at_prompt = {.name = "prompt"}, at_echo = {.name = "echo"};
	struct lmi_http_translation t;
	struct state *s;

	lmi_http_translation_init(&t, out, arena, err);
	s = lmi_http_alloc(&t.r, 1, sizeof(*s));
	if (s)
		s->common.arena = arena;
	t.state = out->state = s;
	out->form = &form;
	t.q->raw = t.q->parse_special = t.q->has_n = true;
	t.q->n = N_MAX_DEFAULT;
	lmi_http_members_read(&t, NULL, body, &members);
	if (!t.q->has_prompt && !t.q->has_tokens)
		lmi_http_fail(&t.r, &at_prompt, "is missing");
	if (s && s->echo && t.q->has_tokens)
		lmi_http_fail(&t.r, &at_echo, "requires a prompt that is text");
	if (s)
		s->prompt = t.q->prompt;
	return lmi_http_translation_end(&t, param);
}

void lmi_openai_completions(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, lmi_openai_translate_completion);
}
