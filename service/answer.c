/* SPDX-License-Identifier: MIT */
#include "service/answer.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

struct lmi_svc_answer_stream {
	struct lmi_answer_parser *parse;
	uint8_t seed[4];
	uint32_t n_call;
	uint32_t n_reasoning; /* tokens */
	bool in_reasoning;    /* the latest text was */
	/* used while a piece is fed */
	struct lmi_svc_output *o;
	uint64_t now;
	struct lmi_svc_item token; /* has not been added yet; token < 0: none */
	const void *logprobs;      /* of the token */
	enum lmd_status st;
};

static void add(struct lmi_svc_answer_stream *a, struct lmi_svc_item *item, const char *text)
{
	item->at_ns = a->now;
	if (a->st == LMD_OK)
		a->st = lmi_svc_output_add(a->o, item, text, a->logprobs);
}

/* Adds the token's item, with text or without. */
static void add_token(struct lmi_svc_answer_stream *a, struct lmd_str text)
{
	struct lmi_svc_item item = a->token;

	if (item.token < 0)
		return;
	a->token.token = -1;
	item.n_text = (uint32_t)text.len;
	add(a, &item, text.ptr);
}

static void add_text(struct lmi_svc_answer_stream *a, enum lmi_svc_item_kind kind,
		     struct lmd_str text)
{
	struct lmi_svc_item item = {.kind = kind,
				    .token = -1,
				    .n_text = (uint32_t)text.len,
				    .call = a->n_call - (kind == LMI_SVC_ITEM_ARGUMENTS)};

	if (text.len)
		add(a, &item, text.ptr);
}

/* Adds a tool call; name and id are stored as one text. */
static void add_call(struct lmi_svc_answer_stream *a, struct lmd_str name, struct lmd_str id)
{
	struct lmi_svc_item item = {.kind = LMI_SVC_ITEM_CALL, .token = -1, .call = a->n_call++};
	char own[16], both[2 * LMI_SVC_ANSWER_NAME_MAX];

	if (!id.len) { /* Mistral's templates accept only ids of nine letters and digits */
		id.len =
			(size_t)snprintf(own, sizeof(own), "%02x%02x%02x%03x", a->seed[0],
					 a->seed[1], a->seed[2], (a->seed[3] + item.call) & 0xfffu);
		id.ptr = own;
	}
	item.n_name =
		(uint32_t)(name.len < LMI_SVC_ANSWER_NAME_MAX ? name.len : LMI_SVC_ANSWER_NAME_MAX);
	if (id.len > LMI_SVC_ANSWER_NAME_MAX)
		id.len = LMI_SVC_ANSWER_NAME_MAX;
	memcpy(both, name.ptr, item.n_name);
	memcpy(both + item.n_name, id.ptr, id.len);
	item.n_text = item.n_name + (uint32_t)id.len;
	add(a, &item, both);
}

static void take(void *arg, const struct lmi_answer_event *out)
{
	struct lmi_svc_answer_stream *a = arg;
	struct lmi_svc_item end = {.kind = LMI_SVC_ITEM_CALL_END,
				   .token = -1,
				   .call = a->n_call - 1,
				   .complete = out->complete};

	if (out->kind == LMI_ANSWER_MARKUP)
		return;
	a->in_reasoning = out->kind == LMI_ANSWER_REASONING;
	if (out->kind == LMI_ANSWER_CONTENT && a->token.token >= 0) {
		add_token(a, out->text);
		return;
	}
	add_token(a, (struct lmd_str){0});
	switch (out->kind) {
	case LMI_ANSWER_CONTENT:
		add_text(a, LMI_SVC_ITEM_TEXT, out->text);
		return;
	case LMI_ANSWER_REASONING:
		add_text(a, LMI_SVC_ITEM_REASONING, out->text);
		return;
	case LMI_ANSWER_CALL:
		add_call(a, out->text, out->id);
		return;
	case LMI_ANSWER_ARGS:
		add_text(a, LMI_SVC_ITEM_ARGUMENTS, out->text);
		return;
	case LMI_ANSWER_CALL_END:
		add(a, &end, NULL);
		return;
	case LMI_ANSWER_MARKUP:
		return;
	}
}

enum lmd_status lmi_svc_answer_create(struct lmi_svc_answer_stream **out,
				      const struct lmi_chat_answer_format *format,
				      const uint8_t seed[4], struct lmd_error *err)
{
	struct lmi_svc_answer_stream *a = lmi_alloc(1, sizeof(*a));
	enum lmd_status st;

	if (!a)
		return lmd_fail(err, LMD_NOMEM, "no memory for an answer");
	st = lmi_chat_answer_parser_create(format, &a->parse, take, a, err);
	if (st != LMD_OK) {
		lmi_free(a);
		return st;
	}
	memcpy(a->seed, seed, sizeof(a->seed));
	a->token.token = -1;
	*out = a;
	return LMD_OK;
}

void lmi_svc_answer_destroy(struct lmi_svc_answer_stream *a)
{
	if (!a)
		return;
	lmi_answer_parser_destroy(a->parse);
	lmi_free(a);
}

static enum lmd_status feed(struct lmi_svc_answer_stream *a, struct lmi_svc_output *o, uint64_t now,
			    const char *text, uint32_t n)
{
	enum lmd_status st;

	a->o = o;
	a->now = now;
	st = lmi_answer_parser_feed(a->parse, text, n, NULL);
	add_token(a, (struct lmd_str){0});
	return st == LMD_OK ? a->st : st;
}

enum lmd_status lmi_svc_answer_token(struct lmi_svc_answer_stream *a, struct lmi_svc_output *o,
				     const struct lmi_svc_item *item, const char *text,
				     const void *logprobs)
{
	enum lmd_status st;

	a->token = *item;
	a->logprobs = logprobs;
	st = feed(a, o, item->at_ns, text, item->n_text);
	a->n_reasoning += a->in_reasoning;
	return st;
}

enum lmd_status lmi_svc_answer_text(struct lmi_svc_answer_stream *a, struct lmi_svc_output *o,
				    uint64_t now, const char *text, uint32_t n)
{
	return feed(a, o, now, text, n);
}

uint32_t lmi_svc_answer_n_reasoning(const struct lmi_svc_answer_stream *a)
{
	return a->n_reasoning;
}

enum lmd_status lmi_svc_answer_end(struct lmi_svc_answer_stream *a, struct lmi_svc_output *o,
				   uint64_t now)
{
	a->o = o;
	a->now = now;
	lmi_answer_parser_finish(a->parse);
	return a->st;
}
