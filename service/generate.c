/* SPDX-License-Identifier: MIT
 *
 * The life of a generation.  A work belongs to the service until it has ended and no job of it
 * is under way; its stream may be gone earlier (given up) or stay longer (unread).
 *
 * What fails before the request was answered is the answer; what fails later is the final
 * item. */
#include "service/generate.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "service/answer.h"
#include "service/prompt.h"

enum state {
	LOOK_UP, /* the registry is asked for the name */
	LOAD,    /* the model comes */
	ENCODE,  /* the prompt is tokenised */
	QUEUE,   /* waits for its turn */
	RUN
};

struct lmi_gen_work {
	struct lmi_work work;
	struct lmi_service *svc;
	struct lmi_gen_work *prev, *next; /* of the service */
	struct lmi_gen_work *behind;      /* in the queue */
	struct lmi_once once;
	struct lmi_copy copy;
	uint64_t serial, deadline_ns, first_ns, begun_ns;
	uint64_t seed;
	enum state state;
	struct lmi_lookup lookup;
	struct lmi_model *model; /* LOAD */
	struct lmi_waiter want;
	struct lmi_resident *res;
	struct lmi_resident *encoder; /* in use by the job */
	struct lmi_job job;
	struct lmd_error job_err;
	struct lmi_tokens tokens; /* of the prompt */
	struct lmi_chat_answer how;
	struct lmi_answer *answer; /* NULL: it is told as it is written */
	struct lmi_constraint *constraint; /* until the engine has it; or NULL */
	uint32_t slot;
	uint64_t cmd; /* id of the engine's command */
	uint32_t n_out;
	/* how it is to end although the engine goes on */
	bool stopping, cancel_waits;
	uint32_t retry_ms;
	struct lmi_end stop_end;
	/* lifetime */
	bool ended, job_runs;
	uint32_t n_hold;
};

static const struct lmi_req_generate *request(const struct lmi_gen_work *g)
{
	return &g->copy.req.u.generate;
}

/* ---- the end ---- */

static void release(struct lmi_gen_work *g)
{
	if (!g->ended || g->job_runs || g->n_hold)
		return;
	lmi_tokens_fini(&g->tokens);
	lmi_chat_answer_fini(&g->how);
	lmi_answer_destroy(g->answer);
	lmi_copy_fini(&g->copy);
	lmi_free(g);
}

static void leave_queue(struct lmi_service *svc, struct lmi_gen_work *g)
{
	for (struct lmi_gen_work **p = &svc->queue; *p; p = &(*p)->behind) {
		if (*p != g)
			continue;
		*p = g->behind;
		g->behind = NULL;
		return;
	}
}

/* While the engine that it is for is held. */
static void drop_constraint(struct lmi_gen_work *g)
{
	lmi_constraint_destroy(g->constraint);
	g->constraint = NULL;
}

static void count_end(struct lmi_service *svc, const struct lmi_end *end)
{
	svc->count.n_done += end->kind == LMI_END_DONE;
	svc->count.n_cancelled += end->kind == LMI_END_CANCELLED;
	svc->count.n_failed += end->kind == LMI_END_ERROR;
	svc->count.n_prompt_tokens += end->n_prompt;
	svc->count.n_out_tokens += end->n_out;
}

/* Frees g, unless somebody holds it. */
static void finish(struct lmi_gen_work *g, uint64_t now, const struct lmi_end *end)
{
	struct lmi_service *svc = g->svc;
	struct lmd_error err;

	assert(!g->ended);
	g->ended = true;
	if (g->state == LOAD && g->want.waits)
		lmi_model_unwant(g->model, &g->want);
	leave_queue(svc, g);
	if (g->state == RUN) {
		svc->run[g->slot] = NULL;
		svc->n_running--;
		g->res->n_running--;
		svc->mean_ns += (now - g->begun_ns) / 8 - svc->mean_ns / 8;
	} else {
		svc->n_waiting--;
	}
	*(g->prev ? &g->prev->next : &svc->works) = g->next;
	if (g->next)
		g->next->prev = g->prev;
	if (!g->job_runs)
		drop_constraint(g);
	if (g->res)
		lmi_resident_give(g->res, now);
	g->res = NULL;
	count_end(svc, end);
	if (g->once.reply) {
		if (end->kind == LMI_END_ERROR)
			err = end->error;
		else if (end->kind == LMI_END_DONE && end->why == LMI_WIRE_FINISH_DEADLINE)
			(void)lmd_fail(&err, LMD_TIMEOUT, "the deadline has passed");
		else
			(void)lmd_fail(&err, LMD_CANCELLED, "cancelled");
		if (g->work.stream)
			g->work.stream->given_up = true;
		lmi_once_fail(svc, &g->once, &err, g->retry_ms);
	}
	lmi_work_end(svc, &g->work, now, end);
	release(g);
}

static void fail(struct lmi_gen_work *g, uint64_t now, const struct lmd_error *err,
		 uint32_t retry_ms)
{
	const struct lmi_end end = {.kind = LMI_END_ERROR, .error = *err};

	g->retry_ms = retry_ms;
	finish(g, now, &end);
}

/* Ends it with `end`: at once, or when the engine has let go of it. */
static void stop(struct lmi_gen_work *g, uint64_t now, const struct lmi_end *end)
{
	if (g->stopping || g->ended)
		return;
	if (g->state != RUN) {
		finish(g, now, end);
		return;
	}
	g->stopping = true;
	g->stop_end = *end;
	g->cancel_waits = lmi_engine_cancel(g->res->engine, g->cmd) != LMD_OK;
}

static void cancel(struct lmi_work *w, uint64_t now, uint32_t reason)
{
	const struct lmi_end end = lmi_end_of(reason);

	stop((struct lmi_gen_work *)w, now, &end);
}

static void fail_later(struct lmi_gen_work *g, uint64_t now, const struct lmd_error *err)
{
	const struct lmi_end end = {.kind = LMI_END_ERROR, .error = *err};

	stop(g, now, &end);
}

static bool runs(const struct lmi_work *w)
{
	return ((const struct lmi_gen_work *)w)->state == RUN;
}

/* ---- running ---- */

static enum lmd_status start(struct lmi_gen_work *g, uint64_t now, struct lmd_error *err)
{
	struct lmi_service *svc = g->svc;
	struct lmi_prompt p = {.seed = g->seed,
			       .tokens = g->tokens.id,
			       .n_tokens = g->tokens.n,
			       .constraint = g->constraint,
			       .shown = &g->how.shown,
			       .n_max = svc->limits.output_max,
			       .n_default = svc->limits.output_default};
	enum lmd_status st;

	while (svc->run[g->slot])
		g->slot = (g->slot + 1) % LMI_SESSIONS_MAX;
	g->cmd = (++svc->serial << 16) | g->slot;
	st = lmi_prompt_run(g->res->engine, g->cmd, request(g), &p, err);
	if (st != LMD_OK)
		return st;
	g->state = RUN;
	g->begun_ns = now;
	svc->run[g->slot] = g;
	svc->n_running++;
	svc->n_waiting--;
	g->res->n_running++;
	/* the engine has a copy, and the constraint itself */
	lmi_tokens_fini(&g->tokens);
	g->constraint = NULL;
	return LMD_OK;
}

void lmi_generate_pump(struct lmi_service *svc, uint64_t now)
{
	struct lmd_error err;

	while (svc->queue && svc->n_running < svc->limits.sessions) {
		struct lmi_gen_work *g = svc->queue;
		enum lmd_status st = start(g, now, &err);

		if (st == LMD_BUSY) /* when an event comes it is tried again */
			return;
		leave_queue(svc, g);
		if (st != LMD_OK)
			fail(g, now, &err, 0);
	}
}

static void enqueue(struct lmi_gen_work *g, uint64_t now)
{
	struct lmi_gen_work **p = &g->svc->queue;

	g->state = QUEUE;
	while (*p && (*p)->serial < g->serial)
		p = &(*p)->behind;
	g->behind = *p;
	*p = g;
	lmi_generate_pump(g->svc, now);
}

static enum lmd_status add_text(const struct lmi_gen_work *g, struct lmi_output *o, uint64_t now,
				const struct lmi_event *ev)
{
	bool token = ev->kind == LMI_EV_TOKEN;
	const char *text = ev->u.text.bytes;
	uint32_t n = ev->u.text.n;

	if (g->answer)
		return token ? lmi_answer_token(g->answer, o, now, ev->u.text.token, text, n)
			     : lmi_answer_text(g->answer, o, now, text, n);
	return token ? lmi_output_token(o, now, ev->u.text.token, text, n)
		     : lmi_output_text(o, now, text, n);
}

static void take_text(struct lmi_gen_work *g, uint64_t now, const struct lmi_event *ev)
{
	struct lmi_stream *s = g->work.stream;
	struct lmd_error err;
	enum lmd_status st;

	g->n_out += ev->kind == LMI_EV_TOKEN;
	if (!s || s->given_up || g->stopping)
		return;
	st = add_text(g, &s->out, now, ev);
	if (st == LMD_BUSY) {
		cancel(&g->work, now, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	} else if (st != LMD_OK) {
		(void)lmd_fail(&err, st, "no memory for the answer");
		fail_later(g, now, &err);
	}
}

static uint32_t finish_word(enum lmi_finish f)
{
	switch (f) {
	case LMI_FINISH_NONE:
		break;
	case LMI_FINISH_EOG:
		return LMI_WIRE_FINISH_EOG;
	case LMI_FINISH_STOP:
		return LMI_WIRE_FINISH_STOP;
	case LMI_FINISH_LENGTH:
		return LMI_WIRE_FINISH_LENGTH;
	case LMI_FINISH_CONTEXT:
		return LMI_WIRE_FINISH_CONTEXT;
	}
	return LMI_WIRE_FINISH_DONE;
}

static void take_end(struct lmi_gen_work *g, uint64_t now, const struct lmi_event *ev)
{
	/* who was cancelled by nobody here: the engine is being stopped */
	struct lmi_end end = g->stopping ? g->stop_end : lmi_end_of(LMI_CANCEL_SHUTDOWN);

	if (ev->kind == LMI_EV_FAILED) {
		end = (struct lmi_end){.kind = LMI_END_ERROR, .error = ev->u.error};
	} else {
		if (ev->kind == LMI_EV_DONE) {
			end.kind = LMI_END_DONE;
			end.why = finish_word(ev->u.done.finish);
		}
		end.n_prompt = ev->u.done.n_prompt;
		end.n_out = ev->u.done.n_out;
		end.n_forced = ev->u.done.n_forced;
		end.prompt_ns = ev->u.done.prompt_ns;
		end.out_ns = ev->u.done.out_ns;
	}
	/* an unread stream that is full is at its end as it is */
	if (g->answer && g->work.stream && !g->work.stream->given_up)
		(void)lmi_answer_end(g->answer, &g->work.stream->out, now);
	finish(g, now, &end);
}

void lmi_generate_events(struct lmi_service *svc, uint64_t now, struct lmi_resident *r)
{
	struct lmi_event ev;

	lmi_engine_clear_fd(r->engine);
	while (lmi_engine_poll(r->engine, &ev)) {
		struct lmi_gen_work *g = svc->run[(ev.id & 0xffff) % LMI_SESSIONS_MAX];

		if (g && g->cmd == ev.id) {
			if (ev.kind == LMI_EV_TOKEN || ev.kind == LMI_EV_TEXT)
				take_text(g, now, &ev);
			else
				take_end(g, now, &ev);
		}
		lmi_event_release(&ev);
	}
}

/* ---- on the way there ---- */

static void encode(void *arg)
{
	struct lmi_gen_work *g = arg;

	g->job_err.status =
		lmi_prompt_encode(g->encoder->engine, request(g), &g->tokens, &g->how, &g->job_err);
	if (g->job_err.status == LMD_OK)
		g->job_err.status = lmi_prompt_constrain(g->encoder->engine, request(g), &g->tokens,
							 &g->constraint, &g->job_err);
}

/* The prompt is tokens now. */
static void encoded(struct lmi_gen_work *g, uint64_t now)
{
	struct lmd_error err = g->job_err;

	if (err.status == LMD_OK)
		err.status = lmi_prompt_check(g->res->engine, &g->tokens, &err);
	if (err.status == LMD_OK && request(g)->parse)
		err.status = lmi_answer_create(&g->answer, &g->how, g->work.stream->id, &err);
	if (err.status == LMD_OK)
		enqueue(g, now);
	else
		fail(g, now, &err, 0);
}

static void encode_done(void *arg)
{
	struct lmi_gen_work *g = arg;
	struct lmi_service *svc = g->svc;

	svc->n_job--;
	g->job_runs = false;
	if (g->ended)
		drop_constraint(g);
	lmi_resident_give(g->encoder, svc->now);
	g->encoder = NULL;
	if (g->ended)
		release(g);
	else
		encoded(g, svc->now);
}

static void model_ready(struct lmi_waiter *w, uint64_t now, struct lmi_resident *r,
			const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_gen_work *g =
		(struct lmi_gen_work *)((char *)w - offsetof(struct lmi_gen_work, want));
	struct lmi_service *svc = g->svc;
	struct lmd_error refused;

	if (!r) {
		fail(g, now, err, retry_ms);
		return;
	}
	g->res = r;
	g->state = ENCODE;
	g->first_ns = now + svc->limits.first_token_ms * LMI_MS;
	if (!lmi_prompt_is_chat(r->engine, request(g)) && !lmi_prompt_is_constrained(request(g)) &&
	    (!request(g)->has_prompt || request(g)->prompt.len <= svc->limits.inline_bytes)) {
		g->encoder = r;
		encode(g);
		g->encoder = NULL;
		encoded(g, now);
		return;
	}
	g->job = (struct lmi_job){.run = encode, .done = encode_done, .arg = g};
	g->encoder = r;
	if (lmi_jobs_submit(svc->o.work, &g->job, &refused) != LMD_OK) {
		fail(g, now, &refused, lmi_retry_ms(svc));
		return;
	}
	/* the job needs the engine even when the generation has ended meanwhile */
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
		fail(g, now, err, 0);
	} else if (!g->ended) {
		g->state = LOAD;
		g->model = m;
		g->want.ready = model_ready;
		lmi_model_want(g->svc, now, m, &g->want);
	}
	if (!g->ended)
		lmi_once_answer(&g->once, g->work.stream, (int64_t)g->seed);
	g->n_hold--;
	release(g);
}

/* ---- the request ---- */

static enum lmd_status admit(const struct lmi_service *svc, uint32_t *retry_ms,
			     struct lmd_error *err)
{
	uint64_t n = (uint64_t)svc->n_running + svc->n_waiting;

	if (n < svc->limits.sessions + svc->limits.queue)
		return LMD_OK;
	*retry_ms = lmi_retry_ms(svc);
	return lmd_fail(err, LMD_BUSY, "%u generations run and %u wait: the most are %llu and %llu",
			svc->n_running, svc->n_waiting, (unsigned long long)svc->limits.sessions,
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
	g->work = (struct lmi_work){.cancel = cancel, .runs = runs};
	st = q->has_seed ? LMD_OK : lmi_random(&g->seed, sizeof(g->seed), err);
	if (st == LMD_OK)
		st = lmi_work_begin(a, &g->work, LMI_WIRE_STREAM_KIND_GENERATE, &q->model, lease,
				    err);
	if (st != LMD_OK) {
		lmi_free(g);
		return st;
	}
	g->work.stream->own_lease = q->has_lease_ms;
	g->seed = q->has_seed ? (uint64_t)q->seed : g->seed >> 1; /* int64_t on the wire */
	g->svc = svc;
	g->copy = *a->copy;
	*a->copy = (struct lmi_copy){0};
	lmi_once_init(&g->once, a);
	g->serial = ++svc->serial;
	g->deadline_ns = a->now + timeout * LMI_MS;
	g->first_ns = UINT64_MAX;
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
	g->job_runs = true; /* until the name is found */
	lmi_lookup_start(a->svc, a->now, &g->lookup, &request(g)->model);
	return LMD_OK;
}

/* ---- time ---- */

static uint64_t deadline_of(const struct lmi_gen_work *g)
{
	uint64_t when = g->deadline_ns;

	if (g->stopping)
		return UINT64_MAX;
	if (!g->n_out && g->first_ns < when)
		when = g->first_ns;
	return when;
}

static void expire(struct lmi_gen_work *g, uint64_t now)
{
	struct lmi_end end = {.kind = LMI_END_DONE, .why = LMI_WIRE_FINISH_DEADLINE};

	if (g->deadline_ns > now) {
		end.kind = LMI_END_ERROR;
		(void)lmd_fail(&end.error, LMD_TIMEOUT, "no token came within %llu ms",
			       (unsigned long long)g->svc->limits.first_token_ms);
	}
	stop(g, now, &end);
}

void lmi_generate_turn(struct lmi_service *svc, uint64_t now)
{
	struct lmi_gen_work *next;

	for (struct lmi_gen_work *g = svc->works; g; g = next) {
		next = g->next;
		if (g->cancel_waits)
			g->cancel_waits = lmi_engine_cancel(g->res->engine, g->cmd) != LMD_OK;
		else if (deadline_of(g) <= now)
			expire(g, now);
	}
}

uint64_t lmi_generate_deadline(const struct lmi_service *svc)
{
	uint64_t when = UINT64_MAX;

	for (const struct lmi_gen_work *g = svc->works; g; g = g->next) {
		uint64_t end = g->cancel_waits ? svc->now + LMI_MS : deadline_of(g);

		when = end < when ? end : when;
	}
	return when;
}

void lmi_generate_cancel_all(struct lmi_service *svc, uint64_t now, const struct lmi_resident *r,
			     enum lmi_wire_cancel_reason reason)
{
	struct lmi_gen_work *next;

	for (struct lmi_gen_work *g = svc->works; g; g = next) {
		next = g->next;
		if (!r || g->res == r)
			cancel(&g->work, now, reason);
	}
}

void lmi_generate_refuse_waiting(struct lmi_service *svc, uint64_t now)
{
	struct lmi_gen_work *next;
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_CANCELLED, "shutting down");
	for (struct lmi_gen_work *g = svc->works; g; g = next) {
		next = g->next;
		if (g->state != RUN)
			fail(g, now, &err, 0);
	}
}

uint32_t lmi_generate_n_waiting(const struct lmi_service *svc, const struct lmi_resident *r)
{
	uint32_t n = 0;

	for (const struct lmi_gen_work *g = svc->works; g; g = g->next)
		n += g->res == r && g->state != RUN;
	return n;
}
