/* SPDX-License-Identifier: MIT
 *
 * A generation from its request to the queue: finds and loads its model, and tokenises its
 * prompt. */
#include "core/base/alloc.h"
#include "service/generate_work.h"

static void encode(void *arg)
{
	struct lmi_gen_work *g = arg;

	const struct lmi_req_generate *q = lmi_gen_request(g);
	struct lmi_engine *e = g->encoder->engine;
	struct lmd_error *err = &g->job_err;

	err->status = lmi_prompt_encode(e, q, &g->tokens, &g->how, err);
	if (err->status == LMD_OK)
		err->status = lmi_prompt_constrain(e, q, &g->tokens, &g->constraint, err);
}

/* Continues after the prompt has been tokenised. */
static void encoded(struct lmi_gen_work *g, uint64_t now)
{
	struct lmd_error err = g->job_err;

	if (err.status == LMD_OK)
		err.status = lmi_prompt_check(g->res->engine, &g->tokens, &err);
	if (err.status == LMD_OK && lmi_gen_request(g)->parse)
		err.status = lmi_answer_create(&g->answer, &g->how, g->work.stream->id, &err);
	if (err.status == LMD_OK)
		lmi_gen_enqueue(g, now);
	else
		lmi_gen_fail(g, now, &err, 0);
}

static void encode_done(void *arg)
{
	struct lmi_gen_work *g = arg;
	struct lmi_service *svc = g->svc;

	svc->n_job--;
	g->job_runs = false;
	if (g->ended)
		lmi_gen_drop_constraint(g);
	lmi_resident_give(g->encoder, svc->now);
	g->encoder = NULL;
	if (g->ended)
		lmi_gen_release(g);
	else
		encoded(g, svc->now);
}

static void model_ready(struct lmi_waiter *w, uint64_t now, struct lmi_resident *r,
			const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_gen_work *g =
		(struct lmi_gen_work *)((char *)w - offsetof(struct lmi_gen_work, want));
	const struct lmi_req_generate *q = lmi_gen_request(g);
	struct lmi_service *svc = g->svc;
	struct lmd_error refused;

	if (!r) {
		lmi_gen_fail(g, now, err, retry_ms);
		return;
	}
	g->res = r;
	g->state = LMI_GEN_ENCODE;
	g->ready_ns = now;
	if (!lmi_prompt_is_chat(r->engine, q) && !lmi_prompt_is_constrained(q) &&
	    (!q->has_prompt || q->prompt.len <= svc->limits.inline_bytes)) {
		g->encoder = r;
		encode(g);
		g->encoder = NULL;
		encoded(g, now);
		return;
	}
	g->job = (struct lmi_job){.run = encode, .done = encode_done, .arg = g};
	g->encoder = r;
	if (lmi_jobs_submit(svc->o.work, &g->job, &refused) != LMD_OK) {
		lmi_gen_fail(g, now, &refused, lmi_retry_ms(svc));
		return;
	}
	/* the job needs the engine even if the generation ends meanwhile */
	lmi_resident_take(r);
	g->job_runs = true;
	svc->n_job++;
}

static void found(struct lmi_lookup *l, uint64_t now, struct lmi_model *m,
		  const struct lmd_error *err)
{
	struct lmi_gen_work *g =
		(struct lmi_gen_work *)((char *)l - offsetof(struct lmi_gen_work, lookup));

	g->job_runs = false;
	g->n_hold++;
	if (!g->ended && !m) {
		lmi_gen_fail(g, now, err, 0);
	} else if (!g->ended) {
		g->state = LMI_GEN_LOAD;
		g->model = m;
		g->want.ready = model_ready;
		lmi_model_want(g->svc, now, m, &g->want);
	}
	if (!g->ended)
		lmi_once_answer(&g->once, g->work.stream, (int64_t)g->seed);
	g->n_hold--;
	lmi_gen_release(g);
}

/* ---- the request ---- */

static enum lmd_status admit(const struct lmi_service *svc, uint32_t *retry_ms,
			     struct lmd_error *err)
{
	uint64_t n = (uint64_t)svc->n_running + svc->n_waiting;

	if (n < svc->limits.max_running + svc->limits.queue)
		return LMD_OK;
	*retry_ms = lmi_retry_ms(svc);
	return lmd_fail(err, LMD_BUSY,
			"the server is busy: %u generations are running and %u are queued, the "
			"maximum is %llu (max_running) and %llu (queue)",
			svc->n_running, svc->n_waiting, (unsigned long long)svc->limits.max_running,
			(unsigned long long)svc->limits.queue);
}

static enum lmd_status create(struct lmi_gen_work **out, const struct lmi_ask *a,
			      struct lmd_error *err)
{
	const struct lmi_req_generate *q = &a->req->u.generate;
	struct lmi_service *svc = a->svc;
	uint64_t lease = q->has_lease_ms ? (uint64_t)q->lease_ms : svc->limits.lease_default;
	uint64_t timeout =
		q->has_timeout_ms ? (uint64_t)q->timeout_ms : svc->limits.timeout_default;
	struct lmi_gen_work *g = lmi_alloc(1, sizeof(*g));
	enum lmd_status st;

	if (!g)
		return lmd_fail(err, LMD_NOMEM, "no memory for a generation");
	g->work = (struct lmi_work){.cancel = lmi_gen_cancel, .runs = lmi_gen_runs};
	st = q->has_seed ? LMD_OK : lmi_random(&g->seed, sizeof(g->seed), err);
	if (st == LMD_OK)
		st = lmi_work_begin(a, &g->work, LMI_WIRE_STREAM_KIND_GENERATE, &q->model, lease,
				    err);
	if (st != LMD_OK) {
		lmi_free(g);
		return st;
	}
	g->work.stream->own_lease = q->has_lease_ms;
	g->seed = q->has_seed ? (uint64_t)q->seed : g->seed >> 1; /* the protocol has an int64_t */
	g->svc = svc;
	g->copy = *a->copy;
	*a->copy = (struct lmi_copy){0};
	lmi_once_init(&g->once, a);
	g->serial = ++svc->serial;
	g->deadline_ns = a->now + timeout * LMI_MS;
	g->ready_ns = UINT64_MAX;
	g->next = svc->works;
	if (g->next)
		g->next->prev = g;
	svc->works = g;
	svc->n_waiting++;
	*out = g;
	return LMD_OK;
}

enum lmd_status lmi_do_generate(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err)
{
	const struct lmi_req_generate *q = &a->req->u.generate;
	struct lmi_gen_work *g = NULL;
	enum lmd_status st = lmi_generate_check(&a->svc->limits, q, err);

	if (st == LMD_OK)
		st = admit(a->svc, retry_ms, err);
	if (st == LMD_OK)
		st = lmi_stream_admit(a->svc, a->who, err);
	if (st == LMD_OK)
		st = create(&g, a, err);
	if (st != LMD_OK)
		return st;
	a->svc->count.n_request++;
	g->lookup.found = found;
	g->job_runs = true; /* until the name has been looked up */
	lmi_lookup_start(a->svc, a->now, &g->lookup, &lmi_gen_request(g)->model);
	return LMD_OK;
}
