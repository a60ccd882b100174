/* SPDX-License-Identifier: MIT
 *
 * Generations from the public struct; members that are not set are left to the server. */
#include <string.h>

#include "client/lib/client.h"
#include "client/lib/members.h"

#include "core/base/alloc.h"

static struct lmd_generate widen(const struct lmd_generate *given)
{
	struct lmd_generate g = {0};

	lmi_client_struct_take(&g, sizeof(g), given);
	return g;
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = s ? strlen(s) : 0};
}

static void sampling(struct lmi_wire_req_generate *q, const struct lmd_generate *g)
{
	q->has_temp = g->temp > 0 || g->flags & LMD_GEN_GREEDY;
	q->temp = g->flags & LMD_GEN_GREEDY ? 0 : g->temp;
	q->has_top_k = g->top_k != 0;
	q->top_k = g->top_k;
	q->has_top_p = g->top_p > 0;
	q->top_p = g->top_p;
	q->has_min_p = g->min_p > 0;
	q->min_p = g->min_p;
	q->has_repeat_penalty = g->repeat_penalty > 0;
	q->repeat_penalty = g->repeat_penalty;
	q->has_frequency_penalty = g->frequency_penalty != 0;
	q->frequency_penalty = g->frequency_penalty;
	q->has_presence_penalty = g->presence_penalty != 0;
	q->presence_penalty = g->presence_penalty;
	if (g->flags & LMD_GEN_SEED) {
		q->has_seed = true;
		q->seed = (int64_t)(g->seed & INT64_MAX);
	}
}

static enum lmd_status fill(struct lmi_wire_req_generate *q, const struct lmd_generate *g,
			    struct lmd_str *stops, struct lmd_error *err)
{
	if (!g->model)
		return lmd_fail(err, LMD_INVALID, "generate: model is missing");
	/* a conversation is passed in g->more */
	if (g->prompt ? g->tokens != NULL : !g->tokens && !g->more)
		return lmd_fail(err, LMD_INVALID,
				"generate: exactly one of prompt and tokens is required");
	q->model = str(g->model);
	if (g->prompt) {
		q->has_prompt = true;
		q->prompt = (struct lmd_str){.ptr = g->prompt,
					     .len = g->n_prompt ? g->n_prompt : strlen(g->prompt)};
	} else if (g->tokens) {
		q->has_tokens = true;
		q->tokens = g->tokens;
		q->n_tokens = (uint32_t)g->n_tokens;
	}
	if (g->n_predict) {
		q->has_n = true;
		q->n = g->n_predict < 0 ? -1 : g->n_predict;
	}
	q->parse_special = g->flags & LMD_GEN_PARSE_SPECIAL;
	q->add_special = !(g->flags & LMD_GEN_NO_SPECIAL);
	q->raw = g->flags & LMD_GEN_RAW;
	q->parse = g->flags & LMD_GEN_PARSE;
	q->ignore_eog = g->flags & LMD_GEN_IGNORE_EOG;
	q->special = g->flags & LMD_GEN_SHOW_SPECIAL;
	q->durable = g->flags & LMD_GEN_DURABLE;
	if (g->lease_ms) {
		q->has_lease_ms = true;
		q->lease_ms = g->lease_ms;
	}
	for (size_t i = 0; i < g->n_stops; i++)
		stops[i] = str(g->stops[i]);
	q->stop = stops;
	q->n_stop = (uint32_t)g->n_stops;
	sampling(q, g);
	return LMD_OK;
}

/* Sends the request; the members of g->more override its own. */
static enum lmd_status call_generate(struct lmd_client *c, struct lmi_wire_request *req,
				     const char *more, struct lmi_client_answer *a,
				     struct lmd_error *err)
{
	struct lmi_wire_buf b = {0};
	enum lmd_status st;

	if (!more)
		return lmi_client_exchange(c, req, 0, a, err);
	st = lmi_client_members_encode(&b, req, more, false, err);
	if (st == LMD_OK)
		st = lmi_client_exchange_bytes(c, req->op, b.p, b.n, 0, a, err);
	lmi_wire_buf_fini(&b);
	return st;
}

LMD_EXPORT enum lmd_status lmd_client_generate(struct lmd_client *c,
					       const struct lmd_generate *given,
					       struct lmd_stream **out, struct lmd_error *err)
{
	const struct lmd_generate g = widen(given);
	struct lmi_wire_request req;
	struct lmi_client_answer a = {0};
	struct lmd_str *stops = NULL;
	enum lmd_status st = LMD_OK;

	if (g.n_stops > LMI_WIRE_LIMIT_STOPS || g.n_tokens > LMI_WIRE_LIMIT_TOKENS)
		return lmd_fail(
			err, LMD_INVALID,
			"generate: %zu stop sequences and %zu tokens, the maximum is %d and "
			"%d",
			g.n_stops, g.n_tokens, LMI_WIRE_LIMIT_STOPS, LMI_WIRE_LIMIT_TOKENS);
	if (g.n_stops) {
		stops = lmi_alloc(g.n_stops, sizeof(*stops));
		if (!stops)
			return lmd_fail(err, LMD_NOMEM, "no memory for stop sequences");
	}
	lmi_wire_request_init(&req, LMI_WIRE_OP_GENERATE);
	st = fill(&req.u.generate, &g, stops, err);
	if (st == LMD_OK)
		st = call_generate(c, &req, g.more, &a, err);
	if (st == LMD_OK)
		st = lmi_client_stream_open(c, &a.r.u.generate.id, 0,
					    g.hold_ms == UINT32_MAX ? 0
					    : g.hold_ms             ? (int32_t)g.hold_ms
								    : -1,
					    out, err);
	if (st == LMD_OK && g.flags & LMD_GEN_DURABLE)
		lmi_client_stream_be_patient(*out, LMI_CLIENT_PATIENCE_MS);
	lmi_client_reply_fini(&a);
	lmi_free(stops);
	return st;
}
