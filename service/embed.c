/* SPDX-License-Identifier: MIT
 *
 * The ops embed and rerank.  The inputs are tokenised in the work queue; then each is an evaluation of its own,
 * several of them at a time, so that the engine can compute them in one step. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "core/text/tokenizer.h"
#include "service/call.h"
#include "service/evaluate.h"
#include "service/model.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/pair.h"
#include "service/quota.h"
#include "service/request.h"
#include "service/service_state.h"

/* Evaluations of one request at a time. */
#define AT_A_TIME 8u
/* Most numbers in one reply, of 9 bytes each, so that it fits into a message. */
#define NUMBERS_MAX 1500000u

struct input {
	struct embed *embed;
	uint32_t number;
	struct lmi_text_token_buf tokens;
	struct lmi_service_evaluation what;
	struct lmi_svc_evaluation *running; /* or NULL */
	double *rows;                       /* [n_row][width], in the arena of the call */
	uint32_t n_row;
};

/* What both ops have in common. */
struct embed {
	struct lmi_svc_call *call;
	struct lmi_wire_req_embed q; /* of rerank: its documents, with the outputs of the classifier */
	struct lmd_str query;        /* of rerank; ptr NULL: the op is embed */
	struct input *v; /* [n] */
	uint32_t n, n_started, n_running;
	uint32_t width; /* of the reply's vectors; 0: not known yet */
	uint64_t n_number, n_token;
	uint64_t begun_ns; /* when the first evaluation was started; 0: not yet */
	bool starting; /* start_some() is running */
};

static const struct lmi_wire_req_embed *request(const struct lmi_svc_call *c)
{
	return &((const struct embed *)c->data)->q;
}

static const char *inputs_of(const struct embed *e)
{
	return e->query.ptr ? "documents" : "inputs";
}

/* Counts usage, while the model is known. */
static void count(struct lmi_svc_call *c, const struct lmi_svc_used *used)
{
	lmi_svc_usage_add(c->request.svc, &c->request.principal,
			  lmi_svc_model_record_name(c->loaded->record), used);
}

static void end(struct lmi_svc_call *c)
{
	struct embed *e = c->data;

	if (e->begun_ns)
		count(c, &(struct lmi_svc_used){.run_ns = c->request.svc->now - e->begun_ns});
	for (uint32_t i = 0; i < e->n; i++)
		lmi_text_token_buf_fini(&e->v[i].tokens);
	lmi_svc_call_destroy(c);
}

static void fail(struct lmi_svc_call *c, const struct lmd_error *err, uint32_t retry_ms)
{
	lmi_svc_request_fail(&c->request, err, retry_ms);
	end(c);
}

/* ---- tokens ---- */

static enum lmd_status take_tokens(struct lmi_svc_call *c, struct input *in, struct lmd_error *err)
{
	const struct lmi_wire_req_embed *q = request(c);
	struct lmi_engine_info info;
	struct embed *e = c->data;

	lmi_engine_info(c->loaded->engine, &info);
	in->what.tokens = q->has_tokens ? q->tokens : in->tokens.id;
	in->what.n_tokens = q->has_tokens ? q->n_tokens : (uint32_t)in->tokens.n;
	if (!in->what.n_tokens)
		return lmd_fail(err, LMD_INVALID, "%s: number %u has no tokens", inputs_of(e),
				in->number);
	if (in->what.n_tokens > info.n_ctx && !q->truncate)
		return lmd_fail(err, LMD_INVALID,
				"%s: number %u has %u tokens, the context of the model has %u; "
				"use a shorter text or truncate",
				inputs_of(e), in->number, in->what.n_tokens, info.n_ctx);
	if (in->what.n_tokens > info.n_ctx)
		in->what.n_tokens = info.n_ctx;
	e->n_token += in->what.n_tokens;
	return LMD_OK;
}

static enum lmd_status encode(struct lmi_svc_call *c, struct input *in, struct lmd_error *err)
{
	const struct lmi_engine *engine = c->loaded->engine;
	const struct embed *e = c->data;
	const struct lmd_str *text;
	struct lmi_engine_info info;

	if (request(c)->has_tokens)
		return LMD_OK;
	text = &request(c)->inputs[in->number];
	if (!e->query.ptr)
		return lmi_tokenizer_encode(lmi_engine_tokenizer(engine), text->ptr, text->len,
					    LMD_ENCODE_ADD_SPECIAL, &in->tokens, err);
	lmi_engine_info(engine, &info);
	return lmi_svc_pair_encode(engine, e->query, *text, request(c)->truncate ? info.n_ctx : 0,
				   &in->tokens, err);
}

static void tokenize(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct embed *e = c->data;

	for (uint32_t i = 0; i < e->n && c->err.status == LMD_OK; i++) {
		c->err.status = encode(c, &e->v[i], &c->err);
		if (c->err.status == LMD_OK)
			c->err.status = take_tokens(c, &e->v[i], &c->err);
	}
}

/* ---- vectors ---- */

/* Copies the rows, cut and scaled as requested. */
static enum lmd_status take_rows(struct input *in, const float *rows, uint32_t n_row, uint32_t width,
				 struct lmd_error *err)
{
	struct embed *e = in->embed;
	const struct lmi_wire_req_embed *q = request(e->call);

	if (q->dimensions > width)
		return lmd_fail(err, LMD_INVALID, "dimensions: %lld, the vectors of the model have %u",
				(long long)q->dimensions, width);
	e->width = q->dimensions ? (uint32_t)q->dimensions : width;
	e->n_number += (uint64_t)n_row * e->width;
	if (e->n_number > NUMBERS_MAX)
		return lmd_fail(err, LMD_INVALID,
				"inputs: their vectors have more than %u numbers, the maximum of a "
				"reply; send fewer inputs at once",
				NUMBERS_MAX);
	in->rows = lmi_arena_array(e->call->request.arena, (size_t)n_row * e->width, sizeof(*in->rows));
	if (!in->rows)
		return lmd_fail(err, LMD_NOMEM, "no memory for the embeddings");
	in->n_row = n_row;
	for (uint32_t r = 0; r < n_row; r++) {
		const float *from = rows + (size_t)r * width;
		double *to = in->rows + (size_t)r * e->width, sum = 0;

		for (uint32_t k = 0; k < e->width; k++)
			sum += (double)from[k] * from[k];
		sum = q->normalize && sum > 0 ? 1 / sqrt(sum) : 1;
		for (uint32_t k = 0; k < e->width; k++)
			to[k] = (float)(from[k] * sum);
	}
	return LMD_OK;
}

/* The first output of the classifier is the score. */
static void answer_rerank(struct lmi_svc_call *c)
{
	const struct embed *e = c->data;
	double *scores = lmi_arena_array(c->request.arena, e->n, sizeof(*scores));
	struct lmi_wire_reply r;
	struct lmd_error err;

	if (!scores) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for the scores");
		fail(c, &err, 0);
		return;
	}
	for (uint32_t i = 0; i < e->n; i++)
		scores[i] = e->v[i].rows[0];
	lmi_wire_reply_init(&r, c->request.req);
	r.u.rerank.scores = scores;
	r.u.rerank.n_scores = e->n;
	r.u.rerank.n_prompt = (int64_t)e->n_token;
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

static void answer(struct lmi_svc_call *c)
{
	const struct embed *e = c->data;
	uint32_t n = 0, at = 0;
	struct lmi_wire_embedding *v;
	struct lmi_wire_reply r;

	for (uint32_t i = 0; i < e->n; i++)
		n += e->v[i].n_row;
	v = lmi_arena_array(c->request.arena, n, sizeof(*v));
	if (!v || n > LMI_WIRE_LIMIT_EMBEDDINGS) {
		struct lmd_error err;

		(void)lmd_fail(&err, v ? LMD_INVALID : LMD_NOMEM,
			       "inputs: %u vectors, the maximum of a reply is %u", n,
			       (unsigned)LMI_WIRE_LIMIT_EMBEDDINGS);
		fail(c, &err, 0);
		return;
	}
	for (uint32_t i = 0; i < e->n; i++)
		for (uint32_t k = 0; k < e->v[i].n_row; k++)
			v[at++] = (struct lmi_wire_embedding){
				.input = i,
				.vector = e->v[i].rows + (size_t)k * e->width,
				.n_vector = e->width};
	lmi_wire_reply_init(&r, c->request.req);
	r.u.embed.embeddings = v;
	r.u.embed.n_embeddings = n;
	r.u.embed.n_prompt = (int64_t)e->n_token;
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

/* ---- evaluations ---- */

static void cancel_all(struct embed *e)
{
	for (uint32_t i = 0; i < e->n_started; i++)
		if (e->v[i].running)
			lmi_svc_evaluation_cancel(e->v[i].running);
}

/* Starts evaluations; ends the request after the last one. */
static void start_some(struct embed *e)
{
	struct lmi_svc_call *c = e->call;

	if (e->starting) /* an evaluation has ended at once */
		return;
	e->starting = true;
	while (c->err.status == LMD_OK && e->n_started < e->n && e->n_running < AT_A_TIME) {
		struct input *in = &e->v[e->n_started++];

		e->n_running++;
		in->running = lmi_svc_evaluation_start(c->request.svc, c->request.svc->now, c->loaded, &in->what);
	}
	e->starting = false;
	if (e->n_running)
		return;
	if (c->err.status == LMD_OK && e->query.ptr)
		answer_rerank(c);
	else if (c->err.status == LMD_OK)
		answer(c);
	else
		fail(c, &c->err, c->err.status == LMD_BUSY ? lmi_svc_retry_ms(c->request.svc) : 0);
}

static void evaluated(void *arg, float *own_rows, uint32_t n_row, uint32_t width,
		      const struct lmd_error *err)
{
	struct input *in = arg;
	struct embed *e = in->embed;
	struct lmi_svc_call *c = e->call;

	in->running = NULL;
	e->n_running--;
	if (c->err.status == LMD_OK) {
		if (err)
			c->err = *err;
		else
			c->err.status = take_rows(in, own_rows, n_row, width, &c->err);
		if (c->err.status != LMD_OK)
			cancel_all(e);
	}
	lmi_free(own_rows);
	start_some(e);
}

/* The client has left, or the service stops. */
static void cancelled(struct lmi_svc_call *c)
{
	struct embed *e = c->data;

	if (c->err.status == LMD_OK)
		(void)lmd_fail(&c->err, LMD_CANCELLED, "the request was cancelled");
	cancel_all(e);
}

static void tokenized(struct lmi_svc_call *c)
{
	struct embed *e = c->data;

	c->cancel = cancelled;
	if (c->err.status == LMD_OK) {
		e->begun_ns = c->request.svc->now;
		count(c, &(struct lmi_svc_used){.n_request = 1, .n_prompt = e->n_token});
	}
	start_some(e);
}

/* ---- the model ---- */

static void ready(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
		  const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_call *c =
		(struct lmi_svc_call *)((char *)w - offsetof(struct lmi_svc_call, load_waiter));
	struct lmd_error refused;

	(void)now;
	if (!r) {
		fail(c, err, retry_ms);
		return;
	}
	c->loaded = r;
	if (!c->request.reply) { /* the connection has ended */
		end(c);
		return;
	}
	if (request(c)->has_keep_alive_ms)
		lmi_svc_loaded_model_keep(r, request(c)->keep_alive_ms);
	if (request(c)->pooling == LMI_WIRE_POOLING_RANK &&
	    lmi_engine_pooling(r->engine, LMD_POOL_UNSET) != LMD_POOL_RANK) {
		(void)lmd_fail(&refused, LMD_UNSUPPORTED,
			       "the model has no classifier (pooling rank): use a reranker or a "
			       "classifier");
		fail(c, &refused, 0);
		return;
	}
	c->done = tokenized;
	if (lmi_svc_call_submit(c, c->request.svc->o.work, tokenize, &refused) != LMD_OK)
		fail(c, &refused, lmi_svc_retry_ms(c->request.svc));
}

static void found(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
		  const struct lmd_error *err)
{
	struct lmi_svc_call *c =
		(struct lmi_svc_call *)((char *)l - offsetof(struct lmi_svc_call, lookup));

	if (!m)
		lmi_svc_quota_return_request(c->request.svc, &c->request.principal, c->request.now);
	if (!m || !c->request.reply) { /* unknown, or the connection has ended */
		fail(c, err, 0);
		return;
	}
	c->load_waiter.ready = ready;
	lmi_svc_model_add_waiter(c->request.svc, now, m, &c->load_waiter);
}

static int32_t pooling_of(enum lmi_wire_pooling word)
{
	switch (word) {
	case LMI_WIRE_POOLING_UNKNOWN:
	case LMI_WIRE_POOLING_AUTO:
		break;
	case LMI_WIRE_POOLING_NONE:
		return LMD_POOL_NONE;
	case LMI_WIRE_POOLING_MEAN:
		return LMD_POOL_MEAN;
	case LMI_WIRE_POOLING_CLS:
		return LMD_POOL_CLS;
	case LMI_WIRE_POOLING_LAST:
		return LMD_POOL_LAST;
	case LMI_WIRE_POOLING_RANK:
		return LMD_POOL_RANK;
	}
	return LMD_POOL_UNSET;
}

static void set_rerank(struct embed *e, const struct lmi_wire_req_rerank *q)
{
	e->query = q->query;
	e->q = (struct lmi_wire_req_embed){.model = q->model,
					   .has_inputs = true,
					   .inputs = q->documents,
					   .n_inputs = q->n_documents,
					   .pooling = LMI_WIRE_POOLING_RANK,
					   .truncate = q->truncate};
}

static bool make_inputs(struct lmi_svc_call *c)
{
	struct embed *e = lmi_arena_array(c->request.arena, 1, sizeof(*e));
	const struct lmi_wire_req_embed *q;

	c->data = e;
	if (!e)
		return false;
	e->call = c;
	if (c->request.message.op == LMI_WIRE_OP_RERANK)
		set_rerank(e, &c->request.message.u.rerank);
	else
		e->q = c->request.message.u.embed;
	q = &e->q;
	e->v = lmi_arena_array(c->request.arena, q->has_tokens ? 1 : q->n_inputs, sizeof(*e->v));
	if (!e->v)
		return false;
	e->n = q->has_tokens ? 1 : q->n_inputs;
	for (uint32_t i = 0; i < e->n; i++) {
		e->v[i].embed = e;
		e->v[i].number = i;
		e->v[i].what = (struct lmi_service_evaluation){.want = LMI_ENGINE_WANT_EMBED,
							       .pooling = pooling_of(q->pooling),
							       .done = evaluated,
							       .arg = &e->v[i]};
	}
	return true;
}

static enum lmd_status begin(struct lmi_svc_request *a, const char *what,
			     const struct lmd_str *inputs, uint32_t n, uint64_t more_bytes,
			     const struct lmd_str *model, uint32_t *retry_ms, struct lmd_error *err)
{
	uint64_t bytes = more_bytes;
	struct lmi_svc_call *c;
	enum lmd_status st;

	for (uint32_t i = 0; i < n; i++)
		bytes += inputs[i].len;
	if (bytes > a->svc->limits.text_bytes)
		return lmd_fail(err, LMD_INVALID, "%s: %llu bytes, the maximum is %llu", what,
				(unsigned long long)bytes,
				(unsigned long long)a->svc->limits.text_bytes);
	st = lmi_svc_user_admit_work(a->svc, &a->principal, retry_ms, err);
	if (st == LMD_OK)
		st = lmi_svc_quota_take_request(a->svc, &a->principal, retry_ms, err);
	if (st == LMD_OK)
		st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	if (!make_inputs(c)) {
		lmi_svc_call_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for %u inputs", n);
	}
	c->lookup.found = found;
	c->lookup.principal = &c->request.principal;
	c->drops = true;
	lmi_svc_lookup_start(a->svc, a->now, &c->lookup, model);
	return LMD_OK;
}

enum lmd_status lmi_svc_do_embed(struct lmi_svc_request *a, uint32_t *retry_ms,
				 struct lmd_error *err)
{
	const struct lmi_wire_req_embed *q = &a->req->u.embed;

	if (q->has_inputs && !q->n_inputs)
		return lmd_fail(err, LMD_INVALID, "inputs: the list is empty");
	return begin(a, "inputs", q->inputs, q->n_inputs, 0, &q->model, retry_ms, err);
}

/* Each pair is tokenised with its own copy of the query. */
enum lmd_status lmi_svc_do_rerank(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	const struct lmi_wire_req_rerank *q = &a->req->u.rerank;

	if (!q->n_documents)
		return lmd_fail(err, LMD_INVALID, "documents: the list is empty");
	return begin(a, "documents", q->documents, q->n_documents,
		     (uint64_t)q->n_documents * q->query.len, &q->model, retry_ms, err);
}
