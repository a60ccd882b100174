/* SPDX-License-Identifier: MIT
 *
 * POST /completion: the body as a request.  The prompt is plain text, and control tokens that it
 * spells are control tokens. */
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"

static void read_prompt(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	const struct lmi_http_at first = {.up = at};

	if (json_is_array(v) && json_array_size(v) == 1 && !json_is_number(json_array_get(v, 0))) {
		v = json_array_get(v, 0);
		at = &first;
	}
	if (json_is_array(v)) {
		if (!json_is_number(json_array_get(v, 0)))
			lmi_http_fail(&t->r, at, "must be a text, or a list of tokens");
		t->q->tokens = lmi_http_read_tokens(&t->r, at, v, &t->q->n_tokens);
		t->q->has_tokens = true;
	} else if (json_is_object(v)) {
		lmi_http_fail(&t->r, at, "must be a text: images and audio are not supported");
	} else {
		t->q->prompt = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
		t->q->has_prompt = true;
	}
}

static void read_n_cmpl(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	t->out->n_choice = (uint32_t)lmi_http_read_int(&t->r, at, v, 1, 1);
}

static void read_return_tokens(struct lmi_http_translation *t, const struct lmi_http_at *at,
			       const json_t *v)
{
	struct lmi_llamacpp_state *s = t->state;

	s->return_tokens = lmi_http_read_bool(&t->r, at, v);
}

static const struct lmi_http_member rows[] = {
	{.name = "model", .read = lmi_http_read_model},
	{.name = "prompt", .read = read_prompt},
	{.name = "n_predict", .read = lmi_http_read_n_max},
	{.name = "max_tokens", .read = lmi_http_read_n_max},
	{.name = "stream", .read = lmi_http_read_stream},
	{.name = "temperature", .wire = "temp"},
	{.name = "top_p", .wire = "top_p"},
	{.name = "presence_penalty", .wire = "presence_penalty"},
	{.name = "frequency_penalty", .wire = "frequency_penalty"},
	{.name = "logit_bias", .wire = "logit_bias"},
	{.name = "stop", .wire = "stop"},
	{.name = "seed", .read = lmi_http_read_seed},
	{.name = "n", .read = read_n_cmpl},
	{.name = "n_cmpl", .read = read_n_cmpl},
	{.name = "return_tokens", .read = read_return_tokens},
};

static const struct lmi_http_members members = {
	.v = rows, .n = LMD_LEN(rows), .more = &lmi_http_sampling_members, .clamp = true};

enum lmd_status lmi_llamacpp_translate(struct lmi_http_generation *out, const json_t *body,
				       struct lmd_arena *arena, const char **param,
				       struct lmd_error *err)
{
	static const struct lmi_http_at at_prompt = {.name = "prompt"};
	struct lmi_http_translation t;
	struct lmi_llamacpp_state *s;

	lmi_http_translation_init(&t, out, arena, err);
	t.state = out->state = s = lmi_http_alloc(&t.r, 1, sizeof(*s));
	out->form = &lmi_llamacpp_form;
	t.q->raw = t.q->parse_special = true;
	lmi_http_members_read(&t, NULL, body, &members);
	if (!t.q->has_prompt && !t.q->has_tokens)
		lmi_http_fail(&t.r, &at_prompt, "is missing");
	if (s) {
		s->arena = arena;
		s->logprobs = t.q->sampled_probs ? LMI_HTTP_LOGPROBS_SAMPLED
						 : LMI_HTTP_LOGPROBS_LLAMACPP;
		s->stop = t.q->n_stop == 1 ? t.q->stop[0] : (struct lmd_str){.ptr = ""};
	}
	return lmi_http_translation_end(&t, param);
}

void lmi_llamacpp_completion(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, lmi_llamacpp_translate);
}
