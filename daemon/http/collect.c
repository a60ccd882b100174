/* SPDX-License-Identifier: MIT
 *
 * Growing buffers, and one of each kind per tool call. */
#include "daemon/http/collect.h"

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "proto/buf.h"

struct lmi_http_collected_call {
	struct lmi_wire_buf name, id, arguments;
	bool complete;
};

/* A token, and an entry of its log probabilities; their texts are in the order of the tokens. */
struct token_head {
	lmd_token token;
	uint32_t n_text, n_logprobs;
};

struct logprob_entry {
	lmd_token token;
	uint32_t n_text;
	double logprob;
};

static bool add_str(struct lmi_wire_buf *b, const struct lmd_str *s)
{
	return !s->len || lmi_wire_buf_add(b, s->ptr, s->len);
}

/* Returns the call with that number, which is one of those there are or the next one. */
static struct lmi_http_collected_call *call_at(struct lmi_http_collected *c, int64_t number)
{
	uint32_t cap = c->cap_call ? 2 * c->cap_call : 4;
	struct lmi_http_collected_call *v;

	if (number < 0 || number > (int64_t)c->n_call)
		return NULL;
	if (number < (int64_t)c->n_call)
		return &c->calls[number];
	if (c->n_call == c->cap_call) {
		v = lmi_realloc(c->calls, cap, sizeof(*v));
		if (!v)
			return NULL;
		c->calls = v;
		c->cap_call = cap;
	}
	return &c->calls[c->n_call++];
}

static bool add_token(struct lmi_http_collected_tokens *c, lmd_token token,
		      const struct lmd_str *text, const struct lmi_wire_token_logprob *v, uint32_t n)
{
	const struct token_head h = {
		.token = token, .n_text = (uint32_t)text->len, .n_logprobs = n};
	bool good = lmi_wire_buf_add(&c->heads, &h, sizeof(h)) && add_str(&c->text, text);

	for (uint32_t i = 0; i < n && good; i++) {
		const struct logprob_entry e = {.token = v[i].token,
						.n_text = (uint32_t)v[i].text.len,
						.logprob = v[i].logprob};

		good = lmi_wire_buf_add(&c->entries, &e, sizeof(e)) && add_str(&c->text, &v[i].text);
	}
	return good;
}

bool lmi_http_collected_add(struct lmi_http_collected *c, const struct lmi_wire_item *item)
{
	struct lmi_http_collected_call *call;

	switch (item->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		return add_token(&c->tokens, item->u.token.token, &(struct lmd_str){0},
				 item->u.token.logprobs, item->u.token.n_logprobs) &&
		       add_str(&c->text, &item->u.token.text);
	case LMI_WIRE_ITEM_PROMPT_TOKEN:
		return add_token(&c->prompt, item->u.prompt_token.token, &item->u.prompt_token.text,
				 item->u.prompt_token.logprobs, item->u.prompt_token.n_logprobs);
	case LMI_WIRE_ITEM_TEXT:
		return add_str(&c->text, &item->u.text.text);
	case LMI_WIRE_ITEM_REASONING:
		return add_str(&c->reasoning, &item->u.reasoning.text);
	case LMI_WIRE_ITEM_CALL:
		call = call_at(c, item->u.call.call);
		return call && add_str(&call->name, &item->u.call.name) &&
		       add_str(&call->id, &item->u.call.id);
	case LMI_WIRE_ITEM_ARGUMENTS:
		call = call_at(c, item->u.arguments.call);
		return call && add_str(&call->arguments, &item->u.arguments.text);
	case LMI_WIRE_ITEM_CALL_END:
		call = call_at(c, item->u.call_end.call);
		if (call)
			call->complete = item->u.call_end.complete;
		return call != NULL;
	default:
		return true;
	}
}

static struct lmd_str str_of(const struct lmi_wire_buf *b)
{
	return (struct lmd_str){.ptr = b->n ? (const char *)b->p : "", .len = b->n};
}

/* Returns the tokens, of which there are *n; NULL if out of memory. */
static const struct lmi_http_answer_token *tokens_of(const struct lmi_http_collected_tokens *c,
						     struct lmd_arena *arena, uint32_t *n)
{
	const struct token_head *h = (const void *)c->heads.p;
	const struct logprob_entry *e = (const void *)c->entries.p;
	const char *text = c->text.n ? (const char *)c->text.p : "";
	uint32_t n_entry = (uint32_t)(c->entries.n / sizeof(*e));
	struct lmi_wire_token_logprob *l = lmi_arena_array(arena, n_entry + 1, sizeof(*l));
	struct lmi_http_answer_token *v;

	*n = (uint32_t)(c->heads.n / sizeof(*h));
	v = lmi_arena_array(arena, *n + 1, sizeof(*v));
	if (!v || !l)
		return NULL;
	for (uint32_t i = 0; i < *n; i++) {
		v[i] = (struct lmi_http_answer_token){.token = h[i].token,
						      .text = {.ptr = text, .len = h[i].n_text},
						      .logprobs = l,
						      .n_logprobs = h[i].n_logprobs};
		text += h[i].n_text;
		for (uint32_t k = 0; k < h[i].n_logprobs; k++, e++) {
			*l++ = (struct lmi_wire_token_logprob){
				.token = e->token,
				.logprob = e->logprob,
				.text = {.ptr = text, .len = e->n_text}};
			text += e->n_text;
		}
	}
	return v;
}

bool lmi_http_collected_answer(const struct lmi_http_collected *c, struct lmd_arena *arena,
			       struct lmi_http_answer *out)
{
	struct lmi_http_answer_call *calls = lmi_arena_array(arena, c->n_call + 1, sizeof(*calls));

	if (!calls)
		return false;
	for (uint32_t i = 0; i < c->n_call; i++)
		calls[i] = (struct lmi_http_answer_call){.id = str_of(&c->calls[i].id),
							 .name = str_of(&c->calls[i].name),
							 .arguments = str_of(&c->calls[i].arguments),
							 .complete = c->calls[i].complete};
	*out = (struct lmi_http_answer){.text = str_of(&c->text),
					.reasoning = str_of(&c->reasoning),
					.calls = calls,
					.n_call = c->n_call};
	out->tokens = tokens_of(&c->tokens, arena, &out->n_token);
	out->prompt = tokens_of(&c->prompt, arena, &out->n_prompt);
	return out->tokens && out->prompt;
}

static void tokens_fini(struct lmi_http_collected_tokens *c)
{
	lmi_wire_buf_fini(&c->heads);
	lmi_wire_buf_fini(&c->entries);
	lmi_wire_buf_fini(&c->text);
}

void lmi_http_collected_fini(struct lmi_http_collected *c)
{
	for (uint32_t i = 0; i < c->n_call; i++) {
		lmi_wire_buf_fini(&c->calls[i].name);
		lmi_wire_buf_fini(&c->calls[i].id);
		lmi_wire_buf_fini(&c->calls[i].arguments);
	}
	lmi_free(c->calls);
	lmi_wire_buf_fini(&c->text);
	lmi_wire_buf_fini(&c->reasoning);
	tokens_fini(&c->tokens);
	tokens_fini(&c->prompt);
	*c = (struct lmi_http_collected){0};
}

static const struct lmi_wire_setting *copy_settings(const struct lmi_wire_setting *v, uint32_t n,
						    struct lmd_arena *arena)
{
	struct lmi_wire_setting *out = n ? lmi_arena_array(arena, n, sizeof(*out)) : NULL;

	for (uint32_t i = 0; i < n && out; i++) {
		const char *name = lmi_arena_strndup(arena, v[i].name.ptr, v[i].name.len);

		out[i] = (struct lmi_wire_setting){.name = {.ptr = name, .len = v[i].name.len},
						   .value = v[i].value};
		if (!name)
			return NULL;
	}
	return out;
}

void lmi_http_collect_end(struct lmi_http_answer_end *out, const struct lmi_wire_item *item,
			  struct lmd_arena *arena)
{
	out->finish = item->u.done.finish;
	out->n_prompt = (uint32_t)item->u.done.n_prompt;
	out->n_out = (uint32_t)item->u.done.n_out;
	out->n_forced = (uint32_t)item->u.done.n_forced;
	out->n_cached = (uint32_t)item->u.done.n_cached;
	out->n_drafted = (uint32_t)item->u.done.n_drafted;
	out->n_accepted = (uint32_t)item->u.done.n_accepted;
	out->n_reasoning = (uint32_t)item->u.done.n_reasoning;
	out->n_shift = (uint32_t)item->u.done.n_shift;
	out->broke_at = (uint32_t)item->u.done.prefix_broke_at;
	out->n_pinned = (uint32_t)item->u.done.n_pinned;
	out->prompt_ns = (uint64_t)item->u.done.prompt_ns;
	out->out_ns = (uint64_t)item->u.done.out_ns;
	out->settings = copy_settings(item->u.done.settings, item->u.done.n_settings, arena);
	out->n_settings = out->settings ? item->u.done.n_settings : 0;
}
