/* SPDX-License-Identifier: MIT
 *
 * POST /v1/completions: a text is continued as it is, without a chat template.  Control tokens that
 * the prompt spells are control tokens, since clients write templates themselves here. */
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_out.h"
#include "daemon/http/logprobs.h"
#include "daemon/http/openai/openai_impl.h"

#define ID_PREFIX     "cmpl-"
#define N_MAX_DEFAULT 16

struct state {
	struct lmi_openai_state common;
	bool echo, logprobs;
	uint32_t n;            /* choices of each prompt, of which the n_best likeliest are sent */
	uint32_t n_best;
	const struct lmi_http_prompt_text *prompts; /* of all choices; NULL: an error */
	struct lmi_http_pieces text[LMI_HTTP_CHOICES_MAX];
	int64_t offset[LMI_HTTP_CHOICES_MAX]; /* characters before the next token */
};

/* ---- the body ---- */

static void read_echo(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	struct state *s = t->state;

	s->echo = lmi_http_read_bool(&t->r, at, v);
}

static void read_best_of(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	struct state *s = t->state;

	s->n = (uint32_t)lmi_http_read_int(&t->r, at, v, 1, LMI_HTTP_N_MAX);
}

static void read_logprobs(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	if (json_is_boolean(v))
		t->q->has_logprobs = json_is_true(v);
	else
		lmi_http_wire_read(t, at, v, "logprobs", false);
}

/* An empty suffix is that of a text that is merely continued. */
static void read_suffix(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	t->q->suffix = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
	t->q->has_suffix = t->q->suffix.len > 0;
}

static const struct lmi_http_member rows[] = {
	{.name = "prompt", .read = lmi_http_read_prompts},
	{.name = "best_of", .read = read_best_of},
	{.name = "echo", .read = read_echo},
	{.name = "logprobs", .read = read_logprobs},
	{.name = "response_format", .read = lmi_openai_read_response_format},
	{.name = "suffix", .read = read_suffix},
};

static const struct lmi_http_members members = {
	.v = rows, .n = LMD_LEN(rows), .more = &lmi_openai_members, .unknown = LMI_OPENAI_UNKNOWN};

/* The prompt of a choice; empty if it is a list of tokens. */
static struct lmd_str prompt_of(const struct state *s, uint32_t choice)
{
	return s->prompts[choice / s->n].text;
}

/* ---- log probabilities ---- */

/* The tokens of a choice in two parts: of the prompt, and of the answer. */
struct parts {
	const struct lmi_http_answer_token *v[2];
	uint32_t n[2];
};

#define EACH(t, p)                                                                                 \
	for (int part_ = 0; part_ < 2; part_++)                                                    \
		for (const struct lmi_http_answer_token *t = (p)->v[part_];                        \
		     t && t < (p)->v[part_] + (p)->n[part_]; t++)

static struct lmd_str text_of(const struct lmi_http_answer_token *t)
{
	return t->n_logprobs ? t->logprobs[0].text : t->text;
}

static void put_top(struct lmi_json_text *j, const struct lmi_http_answer_token *t)
{
	if (!t->n_logprobs) {
		lmi_json_text_null(j);
		return;
	}
	lmi_json_text_object(j);
	for (uint32_t i = 1; i < t->n_logprobs; i++) {
		lmi_http_json_key(j, t->logprobs[i].text);
		lmi_json_text_real(j, t->logprobs[i].logprob);
	}
	lmi_json_text_end(j);
}

static void put_offsets(struct lmi_json_text *j, const struct parts *p, int64_t *offset)
{
	EACH(t, p)
	{
		struct lmd_str s = text_of(t);

		lmi_json_text_int(j, *offset);
		for (size_t i = 0; i < s.len; i++) /* the first byte of each character */
			*offset += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	}
}

static void put_logprobs(struct lmi_json_text *j, const struct parts *p, int64_t *offset)
{
	lmi_json_text_key(j, "logprobs");
	lmi_json_text_object(j);
	lmi_json_text_key(j, "tokens");
	lmi_json_text_array(j);
	EACH(t, p) lmi_http_json_str(j, text_of(t));
	lmi_json_text_end(j);
	lmi_json_text_key(j, "token_logprobs");
	lmi_json_text_array(j);
	EACH(t, p)
	{
		if (t->n_logprobs)
			lmi_json_text_real(j, t->logprobs[0].logprob);
		else
			lmi_json_text_null(j);
	}
	lmi_json_text_end(j);
	lmi_json_text_key(j, "top_logprobs");
	lmi_json_text_array(j);
	EACH(t, p) put_top(j, t);
	lmi_json_text_end(j);
	lmi_json_text_key(j, "text_offset");
	lmi_json_text_array(j);
	put_offsets(j, p, offset);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
}

/* ---- chunks ---- */

/* Writes the members of a choice after its text. */
static void put_choice(struct state *s, struct lmi_json_text *j, uint32_t index,
		       const struct parts *p, const char *finish)
{
	lmi_http_json_put_int(j, "index", index);
	if (s->logprobs && p->n[0] + p->n[1])
		put_logprobs(j, p, &s->offset[index]);
	else
		lmi_http_json_put_null(j, "logprobs");
	lmi_openai_put_token_ids(j, &s->common, p->v[1], p->n[1]);
	lmi_http_json_put_text(j, "finish_reason", finish);
}

static void put_chunk(struct state *s, uint32_t choice, struct lmd_str text, const struct parts *p,
		      const char *finish, struct lmi_http_out *o)
{
	struct lmi_json_text *j = &o->json;
	bool more = p->n[0] + p->n[1] && (s->logprobs || s->common.token_ids);

	if (!text.len && !finish && !more)
		return;
	lmi_json_text_object(j);
	lmi_openai_put_head(j, &s->common.head, ID_PREFIX, "text_completion");
	lmi_json_text_key(j, "choices");
	lmi_json_text_array(j);
	lmi_json_text_object(j);
	lmi_http_json_put_str(j, "text", text);
	put_choice(s, j, choice, p, finish);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	if (s->common.include_usage)
		lmi_http_json_put_null(j, "usage");
	lmi_json_text_end(j);
	lmi_http_out_event(o, NULL);
}

static const struct parts none;

/* A token of the prompt: its text is sent already if the prompt was text. */
static void prompt_item(struct state *s, uint32_t choice, const struct lmi_wire_item *it,
			struct lmi_http_out *o)
{
	const struct lmi_http_answer_token t = {.token = it->u.prompt_token.token,
						.text = it->u.prompt_token.text,
						.logprobs = it->u.prompt_token.logprobs,
						.n_logprobs = it->u.prompt_token.n_logprobs};
	const struct parts p = {.v = {&t}, .n = {1}};
	struct lmd_str text = {.ptr = ""};

	if (!s->echo)
		return;
	if (!prompt_of(s, choice).len)
		text = lmi_http_pieces_next(&s->text[choice], s->common.arena, t.text);
	put_chunk(s, choice, text, &p, NULL, o);
}

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	struct state *s = state;

	s->common.head = *head;
	for (uint32_t i = 0; s->echo && i < head->n_choice; i++)
		put_chunk(s, i, prompt_of(s, i), &none, NULL, o);
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	struct state *s = state;
	struct lmi_http_answer_token t = {0};
	struct parts p = {0};
	struct lmd_str text;

	if (it->kind == LMI_WIRE_ITEM_TOKEN) {
		text = it->u.token.text;
		t = (struct lmi_http_answer_token){.token = it->u.token.token,
						   .logprobs = it->u.token.logprobs,
						   .n_logprobs = it->u.token.n_logprobs};
		p = (struct parts){.v = {NULL, &t}, .n = {0, 1}};
	} else if (it->kind == LMI_WIRE_ITEM_TEXT) {
		text = it->u.text.text;
	} else {
		if (it->kind == LMI_WIRE_ITEM_PROMPT_TOKEN)
			prompt_item(s, choice, it, o);
		return;
	}
	text = lmi_http_pieces_next(&s->text[choice], s->common.arena, text);
	put_chunk(s, choice, text, &p, NULL, o);
}

static void choice_end(void *state, uint32_t choice, const struct lmi_http_answer_end *end,
		       struct lmi_http_out *o)
{
	struct state *s = state;

	put_chunk(s, choice, lmi_http_pieces_end(&s->text[choice]), &none,
		  lmi_openai_finish_reason(end), o);
}

static void end(void *state, const struct lmi_http_answer_end *sum, struct lmi_http_out *o)
{
	const struct state *s = state;

	lmi_openai_end_stream(&s->common, ID_PREFIX, "text_completion", sum, o);
}

/* Returns the text of a choice, which begins with the prompt if it is echoed.  ptr NULL: out of
 * memory. */
static struct lmd_str whole_text(const struct state *s, uint32_t choice,
				 const struct lmi_http_answer *a)
{
	struct lmd_str prompt = prompt_of(s, choice), out = {.ptr = ""};
	size_t bytes = prompt.len;
	char *p;

	if (!s->echo)
		return a->text;
	for (uint32_t i = 0; i < a->n_prompt && !prompt.len; i++)
		bytes += a->prompt[i].text.len;
	p = lmi_arena_alloc(s->common.arena, bytes + a->text.len + 1, 1);
	out.ptr = p;
	if (!p)
		return out;
	if (prompt.len)
		memcpy(p, prompt.ptr, prompt.len);
	p += prompt.len;
	for (uint32_t i = 0; i < a->n_prompt && !prompt.len; i++) {
		memcpy(p, a->prompt[i].text.ptr, a->prompt[i].text.len);
		p += a->prompt[i].text.len;
	}
	memcpy(p, a->text.ptr ? a->text.ptr : "", a->text.len);
	out.len = bytes + a->text.len;
	return out;
}

/* Returns the mean log probability of the answer's tokens. */
static double likelihood(const struct lmi_http_answer *a)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->n_token; i++)
		sum += a->tokens[i].n_logprobs ? a->tokens[i].logprobs[0].logprob : 0;
	return a->n_token ? sum / a->n_token : 0;
}

/* Is choice i of a prompt's n among its n_best likeliest?  Of equal ones, the first is. */
static bool is_best(const struct state *s, const struct lmi_http_answer *of_prompt, uint32_t i)
{
	uint32_t better = 0;

	for (uint32_t k = 0; k < s->n && s->n_best < s->n; k++) {
		double d = likelihood(&of_prompt[k]) - likelihood(&of_prompt[i]);

		better += d > 0 || (d == 0 && k < i);
	}
	return better < s->n_best;
}

static void whole_choice(struct state *s, uint32_t choice, uint32_t index,
			 const struct lmi_http_answer *a, struct lmi_json_text *j)
{
	const struct parts p = {.v = {a->prompt, a->tokens},
				.n = {s->echo ? a->n_prompt : 0, a->n_token}};
	struct lmd_str text = whole_text(s, choice, a);

	if (!text.ptr && s->echo) {
		j->status = LMD_NOMEM;
		return;
	}
	lmi_json_text_object(j);
	lmi_http_json_put_str(j, "text", text);
	put_choice(s, j, index, &p, lmi_openai_finish_reason(&a->end));
	lmi_openai_put_prompt(j, &s->common, a);
	lmi_json_text_end(j);
}

static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *choices, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *j)
{
	struct state *s = state;
	uint32_t index = 0;

	lmi_json_text_object(j);
	lmi_openai_put_head(j, head, ID_PREFIX, "text_completion");
	lmi_json_text_key(j, "choices");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < head->n_choice; i++)
		if (is_best(s, choices + i / s->n * s->n, i % s->n))
			whole_choice(s, i, index++, &choices[i], j);
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

/* Runs after all members were read. */
static void finish(struct lmi_http_translation *t, struct state *s)
{
	static const struct lmi_http_at at = {.name = "best_of"};
	struct lmi_wire_req_generate *q = t->q;

	s->n_best = t->out->n_choice;
	s->n = s->n ? s->n : s->n_best;
	s->prompts = t->out->prompts;
	s->logprobs = q->has_logprobs;
	if (s->n < s->n_best)
		lmi_http_fail(&t->r, &at, "is %u, but n is %u", s->n, s->n_best);
	if (s->n > s->n_best && t->out->stream)
		lmi_http_fail(&t->r, &at, "cannot be above n in a stream");
	q->has_logprobs |= s->n > s->n_best; /* to find the likeliest */
	t->out->n_choice = s->n;
	lmi_http_finish_prompts(t);
	if (s->echo && s->logprobs && !q->has_prompt_logprobs) {
		q->has_prompt_logprobs = true;
		q->prompt_logprobs = q->logprobs;
	}
	for (uint32_t i = 0; s->echo && i < (t->out->n_prompt ? t->out->n_prompt : 1); i++)
		q->prompt_tokens |= s->prompts && s->prompts[i].is_tokens;
}

enum lmd_status lmi_openai_translate_completion(struct lmi_http_generation *out, const json_t *body,
						struct lmd_arena *arena, const char **param,
						struct lmd_error *err)
{
	static const struct lmi_http_at at_prompt = {.name = "prompt"};
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
	if (s)
		finish(&t, s);
	return lmi_http_translation_end(&t, param);
}

void lmi_openai_completions(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, lmi_openai_translate_completion);
}
