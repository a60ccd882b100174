/* SPDX-License-Identifier: MIT
 *
 * A stream is a cursor: `next` fetches the items after it, which are then returned one by one.
 * Asking again returns the same items, so nothing is lost if a connection breaks. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/lib/client.h"

#include "core/base/alloc.h"

/* Maximum size of names and ids of tool calls; longer ones are cut, as in the server. */
#define NAME_SIZE 129

/* Maximum time that one `next` waits; to wait longer, it is sent again. */
#define WAIT_MS 10000
/* Time between two attempts while the server is away. */
#define AWAY_MS 200

struct lmd_stream {
	struct lmd_client *c;
	struct lmi_wire_id id;
	char hex[2 * sizeof(struct lmi_wire_id) + 1];
	int32_t hold_ms;
	int64_t after;		  /* number of the last item that was returned */
	struct lmi_client_answer answer; /* the fetched items */
	uint32_t at;		  /* index of the first one that was not returned yet */
	bool over;		  /* the final item was returned */
	uint32_t patience_ms; /* how long the server may be away; 0: not at all */
	uint64_t away_ms;     /* since when it is; 0: it answered */
	char name[NAME_SIZE], call_id[NAME_SIZE]; /* of the last tool call */
	struct lmd_token_logprob logprobs[LMI_WIRE_LIMIT_LOGPROBS + 1]; /* of the last token */
};

enum lmd_status lmi_client_stream_open(struct lmd_client *c, const struct lmi_wire_id *id,
				       uint64_t after, int32_t hold_ms, struct lmd_stream **out,
				       struct lmd_error *err)
{
	struct lmd_stream *s = lmi_alloc(1, sizeof(*s));

	if (!s)
		return lmd_fail(err, LMD_NOMEM, "no memory for a stream");
	s->c = c;
	s->id = *id;
	s->hold_ms = hold_ms;
	s->after = (int64_t)after;
	for (size_t i = 0; i < sizeof(id->b); i++)
		(void)snprintf(s->hex + 2 * i, 3, "%02x", id->b[i]);
	*out = s;
	return LMD_OK;
}

void lmi_client_stream_be_patient(struct lmd_stream *s, uint32_t ms)
{
	s->patience_ms = ms;
}

LMD_EXPORT const char *lmd_stream_id(const struct lmd_stream *s)
{
	return s->hex;
}

LMD_EXPORT enum lmd_status lmd_client_resume(struct lmd_client *c, const char *hex, uint64_t after,
					     struct lmd_stream **out, struct lmd_error *err)
{
	struct lmi_wire_id id;

	if (after > INT64_MAX)
		return lmd_fail(err, LMD_INVALID, "after: %llu is not a valid item number",
				(unsigned long long)after);
	if (!lmi_client_id(&id, hex, strlen(hex)))
		return lmd_fail(err, LMD_INVALID,
				"'%.40s' is not a stream id: it must have %zu hexadecimal digits",
				hex, 2 * sizeof(id.b));
	return lmi_client_stream_open(c, &id, after, -1, out, err);
}

static enum lmd_status fetch(struct lmd_stream *s, uint32_t wait_ms, struct lmd_error *err)
{
	struct lmi_wire_request req;

	lmi_client_reply_fini(&s->answer);
	s->at = 0;
	lmi_wire_request_init(&req, LMI_WIRE_OP_NEXT);
	req.u.next.id = s->id;
	req.u.next.after = s->after;
	req.u.next.has_wait_ms = true;
	req.u.next.wait_ms = wait_ms;
	if (s->hold_ms >= 0) {
		req.u.next.has_hold_ms = true;
		req.u.next.hold_ms = s->hold_ms;
	}
	return lmi_client_exchange(s->c, &req, wait_ms, &s->answer, err);
}

/* Decides after a failure whether to ask again, and waits before that, until `end` at most. */
static bool may_come_back(struct lmd_stream *s, enum lmd_status st, uint64_t end)
{
	uint64_t now = lmi_client_now_ms(), left = end > now ? end - now : 0;
	uint64_t ms = left < AWAY_MS ? left : AWAY_MS;
	const struct timespec t = {.tv_sec = (time_t)(ms / 1000),
				   .tv_nsec = (long)(ms % 1000) * 1000000};

	if (!s->patience_ms || (st != LMD_IO && st != LMD_TIMEOUT && st != LMD_BUSY &&
				st != LMD_CANCELLED))
		return false;
	if (!s->away_ms)
		s->away_ms = now;
	if (now - s->away_ms >= s->patience_ms)
		return false;
	(void)nanosleep(&t, NULL); /* a signal ends it: the caller looks */
	return true;
}

static const char *word(const struct lmi_wire_words *w, int value)
{
	return lmi_wire_word(w, value);
}

static const char *copy_str(char *out, struct lmd_str s)
{
	size_t n = s.len < NAME_SIZE ? s.len : NAME_SIZE - 1;

	if (n)
		memcpy(out, s.ptr, n);
	out[n] = '\0';
	return out;
}

/* Fills in a token of the answer or of the prompt. */
static void fill_token(struct lmd_stream *s, lmd_token token, struct lmd_str text,
		       const struct lmi_wire_token_logprob *l, uint32_t n, struct lmd_item *it)
{
	it->token = token;
	it->text = text.ptr;
	it->n_text = text.len;
	it->n_logprobs = n < LMD_LEN(s->logprobs) ? n : LMD_LEN(s->logprobs);
	for (uint32_t i = 0; i < it->n_logprobs; i++)
		s->logprobs[i] = (struct lmd_token_logprob){.token = l[i].token,
							    .logprob = l[i].logprob,
							    .text = l[i].text.ptr,
							    .n_text = l[i].text.len};
	if (n)
		it->logprobs = s->logprobs;
}

/* Fills in a tool call or a part of one. */
static void fill_call(struct lmd_stream *s, const struct lmi_wire_item *w, struct lmd_item *it)
{
	if (w->kind == LMI_WIRE_ITEM_CALL) {
		it->kind = LMD_ITEM_CALL;
		it->call = (uint64_t)w->u.call.call;
		it->name = copy_str(s->name, w->u.call.name);
		it->id = copy_str(s->call_id, w->u.call.id);
	} else if (w->kind == LMI_WIRE_ITEM_ARGUMENTS) {
		it->kind = LMD_ITEM_ARGUMENTS;
		it->call = (uint64_t)w->u.arguments.call;
		it->text = w->u.arguments.text.ptr;
		it->n_text = w->u.arguments.text.len;
	} else {
		it->kind = LMD_ITEM_CALL_END;
		it->call = (uint64_t)w->u.call_end.call;
		it->complete = w->u.call_end.complete;
	}
}

/* Converts an item for the caller; error and cancelled become a status. */
static enum lmd_status fill_item(struct lmd_stream *s, const struct lmi_wire_item *w,
				 struct lmd_item *out, struct lmd_error *err)
{
	struct lmd_item it = {.number = (uint64_t)w->n, .text = "", .phase = "", .finish = ""};

	s->over = lmi_wire_item_final(w->kind);
	switch (w->kind) {
	case LMI_WIRE_ITEM_TOKEN:
		it.kind = LMD_ITEM_TOKEN;
		fill_token(s, w->u.token.token, w->u.token.text, w->u.token.logprobs,
			   w->u.token.n_logprobs, &it);
		break;
	case LMI_WIRE_ITEM_PROMPT_TOKEN:
		it.kind = LMD_ITEM_PROMPT_TOKEN;
		fill_token(s, w->u.prompt_token.token, w->u.prompt_token.text,
			   w->u.prompt_token.logprobs, w->u.prompt_token.n_logprobs, &it);
		break;
	case LMI_WIRE_ITEM_UNKNOWN: /* sent by a newer server */
	case LMI_WIRE_ITEM_TEXT:
		it.kind = LMD_ITEM_TEXT;
		if (w->kind == LMI_WIRE_ITEM_TEXT) {
			it.text = w->u.text.text.ptr;
			it.n_text = w->u.text.text.len;
		}
		break;
	case LMI_WIRE_ITEM_REASONING:
		it.kind = LMD_ITEM_REASONING;
		it.text = w->u.reasoning.text.ptr;
		it.n_text = w->u.reasoning.text.len;
		break;
	case LMI_WIRE_ITEM_CALL:
	case LMI_WIRE_ITEM_ARGUMENTS:
	case LMI_WIRE_ITEM_CALL_END:
		fill_call(s, w, &it);
		break;
	case LMI_WIRE_ITEM_PROGRESS:
		it.kind = LMD_ITEM_PROGRESS;
		it.phase = word(&lmi_wire_words_phase, (int)w->u.progress.phase);
		it.done = (uint64_t)w->u.progress.done;
		it.total = (uint64_t)w->u.progress.total;
		break;
	case LMI_WIRE_ITEM_DONE:
		it.kind = LMD_ITEM_DONE;
		it.finish = word(&lmi_wire_words_finish, (int)w->u.done.finish);
		it.n_prompt = (uint64_t)w->u.done.n_prompt;
		it.n_out = (uint64_t)w->u.done.n_out;
		it.n_forced = (uint64_t)w->u.done.n_forced;
		it.n_cached = (uint64_t)w->u.done.n_cached;
		it.n_drafted = (uint32_t)w->u.done.n_drafted;
		it.n_accepted = (uint32_t)w->u.done.n_accepted;
		it.prompt_ns = (uint64_t)w->u.done.prompt_ns;
		it.out_ns = (uint64_t)w->u.done.out_ns;
		if (w->u.done.has_session_error) {
			it.text = w->u.done.session_error.ptr;
			it.n_text = w->u.done.session_error.len;
		}
		break;
	case LMI_WIRE_ITEM_ERROR:
		return lmd_fail(err, w->u.error.code, "%.*s", (int)w->u.error.text.len,
				w->u.error.text.ptr);
	case LMI_WIRE_ITEM_CANCELLED:
		return lmd_fail(err, LMD_CANCELLED, "cancelled: %s",
				word(&lmi_wire_words_cancel_reason, (int)w->u.cancelled.reason));
	}
	*out = it;
	return LMD_OK;
}

LMD_EXPORT enum lmd_status lmd_stream_next(struct lmd_stream *s, struct lmd_item *out,
					   int timeout_ms, struct lmd_error *err)
{
	uint64_t end = timeout_ms < 0 ? UINT64_MAX : lmi_client_now_ms() + (uint64_t)timeout_ms;

	if (s->over)
		return lmd_fail(err, LMD_INVALID, "stream %s has ended", s->hex);
	while (s->at >= s->answer.r.u.next.n_items || !s->answer.msg.own) {
		uint64_t now = lmi_client_now_ms(), left = end > now ? end - now : 0;
		enum lmd_status st = fetch(s, left < WAIT_MS ? (uint32_t)left : WAIT_MS, err);

		if (st != LMD_OK && !may_come_back(s, st, end))
			return st;
		s->away_ms = st == LMD_OK ? 0 : s->away_ms;
		if ((st != LMD_OK || !s->answer.r.u.next.n_items) && lmi_client_now_ms() >= end) {
			*out = (struct lmd_item){.number = (uint64_t)s->after,
						 .kind = LMD_ITEM_NONE,
						 .text = "",
						 .phase = "",
						 .finish = ""};
			return LMD_OK;
		}
	}
	s->after = s->answer.r.u.next.items[s->at].n;
	return fill_item(s, &s->answer.r.u.next.items[s->at++], out, err);
}

LMD_EXPORT enum lmd_status lmd_stream_cancel(struct lmd_stream *s, struct lmd_error *err)
{
	struct lmi_wire_request req;
	struct lmi_client_answer a;
	enum lmd_status st;

	lmi_wire_request_init(&req, LMI_WIRE_OP_CANCEL);
	req.u.cancel.id = s->id;
	st = lmi_client_exchange(s->c, &req, 0, &a, err);
	lmi_client_reply_fini(&a);
	return st;
}

LMD_EXPORT void lmd_stream_leave(struct lmd_stream *s)
{
	if (!s)
		return;
	lmi_client_reply_fini(&s->answer);
	lmi_free(s);
}

LMD_EXPORT void lmd_stream_close(struct lmd_stream *s)
{
	if (s && !s->over)
		(void)lmd_stream_cancel(s, NULL); /* if that fails, its lease ends it */
	lmd_stream_leave(s);
}
