/* SPDX-License-Identifier: MIT */
#include "tests/http/api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "daemon/http/anthropic/anthropic.h"
#include "daemon/http/llamacpp/llamacpp.h"
#include "daemon/http/ollama/ollama.h"
#include "daemon/http/openai/openai.h"
#include "proto/proto.h"
#include "tests/support.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);          \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

lmi_http_translate_fn api_translation(const char *path)
{
	static const struct {
		const char *path;
		lmi_http_translate_fn fn;
	} rows[] = {
		{"/v1/chat/completions", lmi_openai_translate_chat},
		{"/v1/completions", lmi_openai_translate_completion},
		{"/v1/responses", lmi_openai_translate_response},
		{"/v1/responses/input_tokens", lmi_openai_translate_response},
		{"/v1/messages", lmi_anthropic_translate},
		{"/api/chat", lmi_ollama_translate_chat},
		{"/api/generate", lmi_ollama_translate_generate},
		{"/completion", lmi_llamacpp_translate},
		{"/infill", lmi_llamacpp_translate_infill},
	};

	for (size_t i = 0; i < LMD_LEN(rows); i++)
		if (!strcmp(rows[i].path, path))
			return rows[i].fn;
	return NULL;
}

/* ---- translations ---- */

static json_t *request_json(struct lmi_wire_request *req)
{
	struct lmi_wire_buf bytes = {0}, text = {0};
	struct lmd_error err = {0};
	json_t *j;

	req->rid = (struct lmd_str){.ptr = "r", .len = 1}; /* generate needs one */
	if (!req->u.generate.model.len)
		req->u.generate.model = (struct lmd_str){.ptr = "default", .len = 7};
	if (lmi_wire_request_encode(&bytes, req, &err) != LMD_OK ||
	    lmi_wire_json(&text, bytes.p, bytes.n, &err) != LMD_OK) {
		fprintf(stderr, "a translation accepts what the protocol does not: %s\n", err.text);
		abort();
	}
	j = json_loadb((const char *)text.p, text.n, JSON_ALLOW_NUL, NULL);
	MUST(j);
	(void)json_object_del(j, "v");
	(void)json_object_del(j, "op");
	(void)json_object_del(j, "rid");
	lmi_wire_buf_fini(&bytes);
	lmi_wire_buf_fini(&text);
	return j;
}

static json_t *run(struct lmd_arena *arena, const char *path, const json_t *body,
		   struct lmi_http_generation *g)
{
	lmi_http_translate_fn fn = api_translation(path);
	struct lmd_error err = {0};
	const char *param = NULL;
	enum lmd_status st;

	MUST(fn);
	st = fn(g, body, arena, &param, &err);
	if (st == LMD_OK)
		return NULL;
	MUST(err.text[0] && err.status == st);
	return json_pack("{s:s?,s:s}", "param", param, "error", err.text);
}

json_t *api_translate(const char *path, const json_t *body)
{
	struct lmd_arena *arena = lmi_arena_create(64u << 20);
	struct lmi_http_generation g;
	json_t *out;

	MUST(arena);
	out = run(arena, path, body, &g);
	if (!out) {
		MUST(g.form && g.state && g.n_choice >= 1 && g.n_choice <= LMI_HTTP_CHOICES_MAX);
		out = json_pack("{s:o,s:b}", "request", request_json(&g.req), "stream", g.stream);
		if (g.n_prompt)
			json_object_set_new(out, "n_prompt", json_integer(g.n_prompt));
		if (g.n_choice > 1)
			json_object_set_new(out, "n_choice", json_integer(g.n_choice));
	}
	MUST(out);
	lmi_arena_destroy(arena);
	return out;
}

/* ---- items ---- */

static struct lmd_str text_of(struct lmd_arena *arena, const json_t *v)
{
	const char *hex = json_string_value(json_object_get(v, "hex"));
	size_t n = hex ? strlen(hex) / 2 : 0;
	char *p = lmi_arena_alloc(arena, n + 1, 1);

	if (json_is_string(v))
		return (struct lmd_str){.ptr = json_string_value(v), .len = json_string_length(v)};
	MUST(hex && p);
	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		MUST(sscanf(hex + 2 * i, "%2x", &byte) == 1);
		p[i] = (char)byte;
	}
	return (struct lmd_str){.ptr = p, .len = n};
}

/* A list of [token, logprob, text]; NULL: none. */
static const struct lmi_wire_token_logprob *logprobs_of(struct lmd_arena *arena, const json_t *v,
							uint32_t *n)
{
	struct lmi_wire_token_logprob *out = lmi_arena_alloc(
		arena, (json_array_size(v) + 1) * sizeof(*out), _Alignof(struct lmi_wire_token_logprob));

	MUST(out);
	*n = (uint32_t)json_array_size(v);
	for (uint32_t i = 0; i < *n; i++) {
		const json_t *e = json_array_get(v, i);

		out[i] = (struct lmi_wire_token_logprob){
			.token = (lmd_token)json_integer_value(json_array_get(e, 0)),
			.logprob = json_number_value(json_array_get(e, 1)),
			.text = text_of(arena, json_array_get(e, 2))};
	}
	return out;
}

static struct lmi_wire_item item_of(struct lmd_arena *arena, const json_t *v)
{
	struct lmi_wire_item it = {.n = 1};
	const json_t *a = json_array_get(v, 1), *b = json_array_get(v, 2);
	const char *kind = json_string_value(json_array_get(v, 0));

	MUST(kind);
	if (!strcmp(kind, "token")) {
		it.kind = LMI_WIRE_ITEM_TOKEN;
		it.u.token.token = (lmd_token)json_integer_value(a);
		it.u.token.text = text_of(arena, b);
		it.u.token.logprobs =
			logprobs_of(arena, json_array_get(v, 3), &it.u.token.n_logprobs);
	} else if (!strcmp(kind, "prompt_token")) {
		it.kind = LMI_WIRE_ITEM_PROMPT_TOKEN;
		it.u.prompt_token.token = (lmd_token)json_integer_value(a);
		it.u.prompt_token.text = text_of(arena, b);
		it.u.prompt_token.logprobs = logprobs_of(arena, json_array_get(v, 3),
							 &it.u.prompt_token.n_logprobs);
	} else if (!strcmp(kind, "text")) {
		it.kind = LMI_WIRE_ITEM_TEXT;
		it.u.text.text = text_of(arena, a);
	} else if (!strcmp(kind, "reasoning")) {
		it.kind = LMI_WIRE_ITEM_REASONING;
		it.u.reasoning.text = text_of(arena, a);
	} else if (!strcmp(kind, "call")) {
		it.kind = LMI_WIRE_ITEM_CALL;
		it.u.call.call = json_integer_value(a);
		it.u.call.name = text_of(arena, b);
		it.u.call.id = text_of(arena, json_array_get(v, 3));
	} else if (!strcmp(kind, "arguments")) {
		it.kind = LMI_WIRE_ITEM_ARGUMENTS;
		it.u.arguments.call = json_integer_value(a);
		it.u.arguments.text = text_of(arena, b);
	} else {
		MUST(!strcmp(kind, "call_end"));
		it.kind = LMI_WIRE_ITEM_CALL_END;
		it.u.call_end.call = json_integer_value(a);
		it.u.call_end.complete = json_is_true(b);
	}
	return it;
}

static enum lmi_wire_finish finish_of(const char *word)
{
	for (int i = LMI_WIRE_FINISH_EOG; i <= LMI_WIRE_FINISH_DONE; i++)
		if (word && !strcmp(word, lmi_wire_word(&lmi_wire_words_finish, i)))
			return (enum lmi_wire_finish)i;
	MUST(!"a finish");
	return LMI_WIRE_FINISH_UNKNOWN;
}

static struct lmi_http_answer_end end_of(const json_t *v)
{
	static const struct lmi_wire_setting settings[] = {
		{.name = {.ptr = "temp", .len = 4}, .value = 0.25},
		{.name = {.ptr = "top_k", .len = 5}, .value = 40},
		{.name = {.ptr = "n", .len = 1}, .value = -1},
		{.name = {.ptr = "context_shift", .len = 13}, .value = 1}};

	return (struct lmi_http_answer_end){
		.finish = finish_of(json_string_value(json_object_get(v, "finish"))),
		.called = json_is_true(json_object_get(v, "called")),
		.n_prompt = (uint32_t)json_integer_value(json_object_get(v, "n_prompt")),
		.n_out = (uint32_t)json_integer_value(json_object_get(v, "n_out")),
		.n_cached = (uint32_t)json_integer_value(json_object_get(v, "n_cached")),
		.prompt_ns = 20000000,
		.out_ns = 500000000,
		.queue_ns = 1000000,
		.settings = settings,
		.n_settings = LMD_LEN(settings),
	};
}

/* ---- the collected answer ---- */

struct collected {
	struct lmi_http_answer a;
	struct lmi_http_answer_call calls[8];
	struct lmi_http_answer_token tokens[64], prompt[64];
};

static void append(struct lmd_arena *arena, struct lmd_str *s, struct lmd_str more)
{
	char *p = lmi_arena_alloc(arena, s->len + more.len + 1, 1);

	MUST(p);
	memcpy(p, s->ptr ? s->ptr : "", s->len);
	memcpy(p + s->len, more.ptr, more.len);
	*s = (struct lmd_str){.ptr = p, .len = s->len + more.len};
}

static void collect(struct lmd_arena *arena, struct collected *c, const struct lmi_wire_item *it)
{
	switch (it->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		append(arena, &c->a.text, it->u.token.text);
		MUST(c->a.n_token < LMD_LEN(c->tokens));
		c->tokens[c->a.n_token++] =
			(struct lmi_http_answer_token){.token = it->u.token.token,
						       .logprobs = it->u.token.logprobs,
						       .n_logprobs = it->u.token.n_logprobs};
		break;
	case LMI_WIRE_ITEM_PROMPT_TOKEN:
		MUST(c->a.n_prompt < LMD_LEN(c->prompt));
		c->prompt[c->a.n_prompt++] = (struct lmi_http_answer_token){
			.token = it->u.prompt_token.token,
			.text = it->u.prompt_token.text,
			.logprobs = it->u.prompt_token.logprobs,
			.n_logprobs = it->u.prompt_token.n_logprobs};
		break;
	case LMI_WIRE_ITEM_TEXT:
		append(arena, &c->a.text, it->u.text.text);
		break;
	case LMI_WIRE_ITEM_REASONING:
		append(arena, &c->a.reasoning, it->u.reasoning.text);
		break;
	case LMI_WIRE_ITEM_CALL:
		MUST(c->a.n_call < LMD_LEN(c->calls));
		c->calls[c->a.n_call++] = (struct lmi_http_answer_call){
			.id = it->u.call.id, .name = it->u.call.name, .arguments = {.ptr = ""}};
		break;
	case LMI_WIRE_ITEM_ARGUMENTS:
		append(arena, &c->calls[it->u.arguments.call].arguments, it->u.arguments.text);
		break;
	case LMI_WIRE_ITEM_CALL_END:
		c->calls[it->u.call_end.call].complete = it->u.call_end.complete;
		break;
	default:
		MUST(!"an item of an answer");
	}
}

/* ---- forms ---- */

static struct lmi_http_answer_end sum_of(const json_t *choices)
{
	struct lmi_http_answer_end sum = end_of(json_object_get(json_array_get(choices, 0), "end"));

	for (size_t i = 1; i < json_array_size(choices); i++) {
		struct lmi_http_answer_end end =
			end_of(json_object_get(json_array_get(choices, i), "end"));

		sum.n_out += end.n_out;
	}
	return sum;
}

static char *stream_of(const struct lmi_http_generation *g, struct lmd_arena *arena,
		       const struct lmi_http_answer_head *head, const json_t *choices)
{
	struct lmi_http_out o = {0};
	struct lmi_http_answer_end sum = sum_of(choices);
	char *text;

	if (g->form->begin)
		g->form->begin(g->state, head, &o);
	for (uint32_t i = 0; i < json_array_size(choices); i++) {
		const json_t *c = json_array_get(choices, i), *items = json_object_get(c, "items");
		struct lmi_http_answer_end end = end_of(json_object_get(c, "end"));

		for (size_t k = 0; k < json_array_size(items); k++) {
			struct lmi_wire_item it = item_of(arena, json_array_get(items, k));

			g->form->item(g->state, i, &it, &o);
		}
		if (json_object_get(c, "error")) {
			struct lmi_http_error e = {
				.code = 500,
				.cause = LMD_DEVICE,
				.text = json_string_value(json_object_get(c, "error"))};

			g->form->error(g->state, &e, &o);
			goto out;
		}
		g->form->choice_end(g->state, i, &end, &o);
	}
	if (g->form->end)
		g->form->end(g->state, &sum, &o);
out:
	MUST(!o.failed);
	text = strndup(o.text ? o.text : "", o.n);
	lmi_http_out_fini(&o);
	return text;
}

static json_t *whole_of(const struct lmi_http_generation *g, struct lmd_arena *arena,
			const struct lmi_http_answer_head *head, const json_t *choices)
{
	struct collected *c = calloc(LMI_HTTP_CHOICES_MAX, sizeof(*c));
	struct lmi_http_answer a[LMI_HTTP_CHOICES_MAX];
	struct lmi_http_answer_end sum = sum_of(choices);
	struct lmi_json_text j = {0};
	struct lmd_error err = {0};
	json_t *out;

	for (uint32_t i = 0; i < json_array_size(choices); i++) {
		const json_t *from = json_array_get(choices, i),
			     *items = json_object_get(from, "items");

		for (size_t k = 0; k < json_array_size(items); k++) {
			struct lmi_wire_item it = item_of(arena, json_array_get(items, k));

			collect(arena, &c[i], &it);
		}
		c[i].a.calls = c[i].calls;
		c[i].a.tokens = c[i].tokens;
		c[i].a.prompt = c[i].prompt;
		c[i].a.end = end_of(json_object_get(from, "end"));
		a[i] = c[i].a;
	}
	g->form->whole(g->state, head, a, &sum, &j);
	if (lmi_json_text_finish(&j, &err) != LMD_OK)
		fprintf(stderr, "%s\n", err.text);
	out = json_loadb(j.text, j.bytes, JSON_ALLOW_NUL, NULL);
	MUST(out);
	lmi_json_text_fini(&j);
	free(c);
	return out;
}

json_t *api_answer(const char *path, const json_t *body, const json_t *choices)
{
	static const int64_t seeds[LMI_HTTP_CHOICES_MAX] = {42, 43, 44, 45, 46, 47, 48, 49};
	const struct lmi_http_answer_head head = {.id = "0123456789abcdef",
						  .model = "smollm2",
						  .created = 1700000000,
						  .n_choice = (uint32_t)json_array_size(choices),
						  .seeds = seeds};
	struct lmd_arena *arena = lmi_arena_create(64u << 20);
	struct lmi_http_generation g;
	json_t *failed, *whole;
	char *stream;

	MUST(arena && json_array_size(choices) <= LMI_HTTP_CHOICES_MAX);
	failed = run(arena, path, body, &g);
	MUST(!failed);
	stream = stream_of(&g, arena, &head, choices);
	failed = run(arena, path, body, &g); /* with a fresh state */
	MUST(!failed);
	whole = whole_of(&g, arena, &head, choices);
	lmi_arena_destroy(arena);
	failed = json_pack("{s:s,s:o}", "stream", stream, "whole", whole);
	free(stream);
	return failed;
}
