/* SPDX-License-Identifier: MIT
 *
 * Plain prompts in the bodies of requests: a text, a list of tokens, or a list of both. */
#include "daemon/http/chat_body.h"

static struct lmi_http_prompt_text read_one(struct lmi_http_translation *t,
					    const struct lmi_http_at *at, const json_t *v)
{
	struct lmi_http_prompt_text p = {.is_tokens = json_is_array(v)};

	if (p.is_tokens)
		p.tokens = lmi_http_read_tokens(&t->r, at, v, &p.n_token);
	else if (json_is_object(v))
		lmi_http_fail(&t->r, at, "must be a text: images and audio are not supported");
	else
		p.text = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
	return p;
}

void lmi_http_read_prompts(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	bool several = json_is_array(v) && !json_is_number(json_array_get(v, 0));
	size_t n = several ? json_array_size(v) : 1;
	struct lmi_http_prompt_text *p;

	if (several && !lmi_http_is_list(&t->r, at, v, 1, LMI_HTTP_CHOICES_MAX))
		return;
	p = lmi_http_alloc(&t->r, n, sizeof(*p));
	for (size_t i = 0; p && t->r.status == LMD_OK && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		p[i] = read_one(t, several ? &here : at, several ? json_array_get(v, i) : v);
	}
	if (!p || t->r.status != LMD_OK)
		return;
	t->q->has_prompt = !p[0].is_tokens;
	t->q->prompt = p[0].text;
	t->q->has_tokens = p[0].is_tokens;
	t->q->tokens = p[0].tokens;
	t->q->n_tokens = p[0].n_token;
	t->out->prompts = p;
	t->out->n_prompt = n > 1 ? (uint32_t)n : 0;
}

void lmi_http_finish_prompts(struct lmi_http_translation *t)
{
	static const struct lmi_http_at at = {.name = "prompt"};
	struct lmi_http_generation *g = t->out;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < g->n_prompt; i++)
		bytes += g->prompts[i].text.len + g->prompts[i].n_token * sizeof(lmd_token);
	if (bytes > LMI_WIRE_LIMIT_TEXT_BYTES)
		lmi_http_fail(&t->r, &at, "has %llu bytes of text, the maximum is %d",
			      (unsigned long long)bytes, LMI_WIRE_LIMIT_TEXT_BYTES);
	if (!g->n_prompt || t->r.status != LMD_OK)
		return;
	if (g->n_prompt * g->n_choice > LMI_HTTP_CHOICES_MAX)
		lmi_http_fail(&t->r, &at, "%u prompts with %u answers each: at most %d answers",
			      g->n_prompt, g->n_choice, LMI_HTTP_CHOICES_MAX);
	else
		g->n_choice *= g->n_prompt;
}
