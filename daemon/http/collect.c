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

bool lmi_http_collected_add(struct lmi_http_collected *c, const struct lmi_wire_item *item)
{
	struct lmi_http_collected_call *call;

	switch (item->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		return lmi_wire_buf_add(&c->tokens, &item->u.token.token,
					sizeof(item->u.token.token)) &&
		       add_str(&c->text, &item->u.token.text);
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
					.n_call = c->n_call,
					.tokens = (const lmd_token *)(const void *)c->tokens.p,
					.n_token = (uint32_t)(c->tokens.n / sizeof(lmd_token))};
	return true;
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
	lmi_wire_buf_fini(&c->tokens);
	*c = (struct lmi_http_collected){0};
}
