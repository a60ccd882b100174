/* SPDX-License-Identifier: MIT
 *
 * Records that become items of a durable stream, when they were written or are read at the start. */
#include <jansson.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/text/answer/formats.h"
#include "core/text/answer/parser.h"
#include "service/answer.h"
#include "service/durable.h"
#include "service/generate_work.h"
#include "service/service_state.h"

/* ---- failures ---- */

static struct lmi_svc_stream_writer *writer_of(const struct lmi_svc_durable *d)
{
	return d->stream ? d->stream->writer : NULL;
}

/* Ends the stream now, and its generation as soon as the engine has stopped it. */
static void end_now(struct lmi_svc_durable *d, uint64_t now, const struct lmi_svc_end *end)
{
	struct lmi_svc_stream_writer *w = writer_of(d);
	struct lmi_svc_generation *g = d->generation;

	d->failed = true; /* no end is recorded */
	d->closes = d->removes = true;
	d->records.n = 0;
	/* a request that was not answered gets the error as its answer */
	if (w && !(g && g->request.reply))
		lmi_svc_stream_end(d->svc, w, now, end);
	if (g)
		lmi_svc_gen_stop(g, now, end);
}

void lmi_svc_durable_fail(struct lmi_svc_durable *d, uint64_t now, const struct lmd_error *err)
{
	const struct lmi_svc_end end = {.kind = LMI_SVC_END_ERROR, .error = *err};

	end_now(d, now, &end);
}

/* ---- records ---- */

static char *copy(const struct lmd_str *s)
{
	char *p = lmi_alloc(s->len + 1, 1);

	if (p && s->len)
		memcpy(p, s->ptr, s->len);
	return p;
}

/* Returns the tools of a request, if the format of the answer needs them; NULL: none, or out of memory, in
 * which case values keep the type that they look like. */
static json_t *tools_of(const struct lmd_str *request, const struct lmi_answer_format *f)
{
	struct lmd_arena *arena = f && f->param ? lmi_arena_create(0) : NULL;
	struct lmi_wire_request *q = arena ? lmi_arena_alloc(arena, sizeof(*q), 64) : NULL;
	json_t *tools = NULL;

	if (q && lmi_wire_request_decode(q, request->ptr, request->len, arena, NULL) == LMD_OK &&
	    q->op == LMI_WIRE_OP_GENERATE && q->u.generate.has_tools)
		tools = json_loadb(q->u.generate.tools.ptr, q->u.generate.tools.len, JSON_ALLOW_NUL, NULL);
	lmi_arena_destroy(arena);
	return tools;
}

enum lmd_status lmi_svc_durable_take_start(struct lmi_svc_durable *d,
					   const struct lmi_svc_journal_start *r,
					   struct lmd_error *err)
{
	struct lmi_chat_answer_format format = {.tools = r->tools, .thinks = r->thinks};
	enum lmd_status st;

	if (r->n_sampling != LMI_SAMPLER_N_SCALAR)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"durable: %s was written by a version of llamad with %u sampling "
				"parameters, this one has %u",
				d->path, r->n_sampling, LMI_SAMPLER_N_SCALAR);
	if (r->format.len)
		format.format = lmi_answer_format_find(r->format);
	if (r->format.len && !format.format)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"durable: %s: the answer's format '%.*s' is unknown", d->path,
				(int)r->format.len, r->format.ptr);
	d->prompt.id = lmi_alloc(r->n_tokens + 1, sizeof(*d->prompt.id));
	d->adapter = copy(&r->adapter);
	if (!d->prompt.id || !d->adapter)
		return lmd_fail(err, LMD_NOMEM, "no memory for a durable stream");
	if (r->n_tokens)
		memcpy(d->prompt.id, r->tokens, r->n_tokens * sizeof(*d->prompt.id));
	d->prompt.n = d->prompt.cap = r->n_tokens;
	memcpy(d->sampling.value, r->sampling, sizeof(d->sampling.value));
	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR; i++)
		d->sampling.has[i] = true;
	d->format = format.format;
	d->thinks = format.thinks;
	format.tool_list = tools_of(&r->request, d->format);
	st = d->format ? lmi_svc_answer_create(&d->answer, &format, d->stream->id, err) : LMD_OK;
	lmi_chat_answer_format_fini(&format);
	d->started = st == LMD_OK;
	return st;
}

/* Adds the items of a token, or of more text of it. */
static enum lmd_status add(struct lmi_svc_durable *d, uint64_t now,
			   const struct lmi_svc_journal_token *t, bool only_text)
{
	const struct lmi_svc_item item = {.kind = LMI_SVC_ITEM_TOKEN,
					  .token = t->token,
					  .n_text = (uint32_t)t->text.len,
					  .n_logprobs = t->n_logprobs,
					  .logprobs_bytes = (uint32_t)t->logprobs.len,
					  .at_ns = now};
	struct lmi_svc_output *o = &d->stream->out;
	struct lmd_error err;

	if (only_text) {
		d->n_text++;
		return d->answer ? lmi_svc_answer_text(d->answer, o, now, t->text.ptr, item.n_text)
				 : lmi_svc_output_text(o, now, t->text.ptr, item.n_text);
	}
	if (lmi_text_token_buf_append(&d->taken, &t->token, 1, &err) != LMD_OK)
		return LMD_NOMEM;
	d->n_text = 0;
	return d->answer ? lmi_svc_answer_token(d->answer, o, &item, t->text.ptr, t->logprobs.ptr)
			 : lmi_svc_output_add(o, &item, t->text.ptr, t->logprobs.ptr);
}

static void take_token(struct lmi_svc_durable *d, uint64_t now,
		       const struct lmi_svc_journal_token *t, bool only_text)
{
	enum lmd_status st = d->full ? LMD_OK : add(d, now, t, only_text);
	struct lmd_error err;

	if (st == LMD_BUSY) {
		d->full = true;
		if (d->generation)
			lmi_svc_gen_cancel(&d->generation->writer, now,
					   LMI_WIRE_CANCEL_REASON_SLOW_READER);
	} else if (st != LMD_OK) {
		(void)lmd_fail(&err, st, "no memory for the answer");
		lmi_svc_durable_fail(d, now, &err);
	}
}

static void take_end(struct lmi_svc_durable *d, uint64_t now, const struct lmi_svc_end *read)
{
	struct lmi_svc_end end = d->full ? lmi_svc_end_of(LMI_WIRE_CANCEL_REASON_SLOW_READER) : *read;

	/* may fail if an unread stream is full, which ends anyway */
	if (d->answer && !d->full)
		(void)lmi_svc_answer_end(d->answer, &d->stream->out, now);
	if (d->answer)
		end.n_reasoning = lmi_svc_answer_n_reasoning(d->answer);
	d->ending = d->ended = true;
	d->closes = true;
	lmi_svc_stream_end(d->svc, &d->writer, now, &end);
}

/* The request of a running generation is answered when it was written. */
static void take_head(struct lmi_svc_durable *d)
{
	struct lmi_svc_generation *g = d->generation;

	if (g)
		lmi_svc_request_reply_stream(&g->request, d->stream, (int64_t)g->seed);
}

size_t lmi_svc_durable_deliver(struct lmi_svc_durable *d, uint64_t now, const char *part, size_t n,
			       uint64_t base)
{
	struct lmi_svc_journal_record r;
	struct lmd_error err;
	size_t at = 0;

	while (d->stream && !d->failed && !d->ended &&
	       lmi_svc_journal_read(part, n, base, &at, &r)) {
		switch (r.kind) {
		case LMI_SVC_JOURNAL_HEAD:
			take_head(d);
			break;
		case LMI_SVC_JOURNAL_START:
			if (!d->started && lmi_svc_durable_take_start(d, &r.u.start, &err) != LMD_OK)
				lmi_svc_durable_fail(d, now, &err);
			break;
		case LMI_SVC_JOURNAL_TOKEN:
		case LMI_SVC_JOURNAL_TEXT:
			take_token(d, now, &r.u.token, r.kind == LMI_SVC_JOURNAL_TEXT);
			break;
		case LMI_SVC_JOURNAL_END:
			take_end(d, now, &r.u.end);
			break;
		case LMI_SVC_JOURNAL_READ:
			break;
		}
	}
	return at;
}
