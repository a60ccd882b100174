/* SPDX-License-Identifier: MIT
 *
 * Pending requests: their copies, their replies, and repetitions that wait for the same reply. */
#include <string.h>

#include "core/base/alloc.h"
#include "service/service_impl.h"

/* ---- copies ---- */

/* Encodes the request and decodes it again, so that the copy owns all its memory. */
enum lmd_status lmi_svc_copy_init(struct lmi_svc_copy *c, const struct lmi_wire_request *req,
				  struct lmd_error *err)
{
	enum lmd_status st;

	*c = (struct lmi_svc_copy){0};
	c->arena = lmi_arena_create(0);
	if (!c->arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	st = lmi_wire_request_encode(&c->bytes, req, err);
	if (st == LMD_OK)
		st = lmi_wire_request_decode(&c->req, c->bytes.p, c->bytes.n, c->arena, err);
	if (st != LMD_OK)
		lmi_svc_copy_fini(c);
	return st;
}

void lmi_svc_copy_fini(struct lmi_svc_copy *c)
{
	lmi_wire_buf_fini(&c->bytes);
	if (c->arena)
		lmi_arena_destroy(c->arena);
	*c = (struct lmi_svc_copy){0};
}

/* ---- calls ---- */

enum lmd_status lmi_svc_call_create(struct lmi_svc_call **out, const struct lmi_svc_request_ctx *a,
				    struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmi_svc_call *c;
	enum lmd_status st;

	if (svc->n_call + svc->streams.n_parked >= svc->limits.calls)
		return lmd_fail(err, LMD_BUSY, "too many requests: %u are pending, the maximum is %llu",
				svc->n_call + svc->streams.n_parked,
				(unsigned long long)svc->limits.calls);
	c = lmi_alloc(1, sizeof(*c));
	if (!c)
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	st = lmi_svc_copy_init(&c->copy, a->req, err);
	if (st == LMD_OK) {
		c->arena = lmi_arena_create(0);
		if (!c->arena)
			st = lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	if (st != LMD_OK) {
		lmi_svc_copy_fini(&c->copy);
		lmi_free(c);
		return st;
	}
	c->svc = svc;
	c->reply = a->reply;
	c->arg = a->arg;
	c->who = *a->who;
	c->next = svc->calls;
	if (c->next)
		c->next->prev = c;
	svc->calls = c;
	svc->n_call++;
	*out = c;
	return LMD_OK;
}

static void unlink_wait(struct lmi_svc_call *c)
{
	struct lmi_svc_call **p;

	if (!c->rid)
		return;
	for (p = &c->rid->waits; *p != c; p = &(*p)->next_wait)
		;
	*p = c->next_wait;
	c->rid = NULL;
}

void lmi_svc_call_destroy(struct lmi_svc_call *c)
{
	struct lmi_service *svc = c->svc;

	unlink_wait(c);
	*(c->prev ? &c->prev->next : &svc->calls) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	svc->n_call--;
	if (c->res)
		lmi_svc_resident_unref(c->res, svc->now);
	lmi_svc_copy_fini(&c->copy);
	lmi_arena_destroy(c->arena);
	lmi_free(c);
}

static void job_done(void *arg)
{
	struct lmi_svc_call *c = arg;

	c->svc->n_job--;
	c->done(c);
}

enum lmd_status lmi_svc_call_submit(struct lmi_svc_call *c, struct lmi_jobs *jobs,
				    void (*run)(void *arg), struct lmd_error *err)
{
	enum lmd_status st;

	c->job = (struct lmi_job){.run = run, .done = job_done, .arg = c};
	st = lmi_jobs_submit(jobs, &c->job, err);
	if (st == LMD_OK)
		c->svc->n_job++;
	return st;
}

void lmi_svc_call_reply(struct lmi_svc_call *c, const struct lmi_wire_reply *reply)
{
	lmi_svc_reply_fn fn = c->reply;

	c->reply = NULL;
	if (fn)
		fn(c->arg, reply, NULL, 0);
}

void lmi_svc_call_fail(struct lmi_svc_call *c, const struct lmd_error *err, uint32_t retry_ms)
{
	lmi_svc_reply_fn fn = c->reply;

	c->reply = NULL;
	if (!fn)
		return;
	c->svc->count.n_refused++;
	fn(c->arg, NULL, err, retry_ms);
}

void lmi_svc_call_drop(struct lmi_svc_call *c)
{
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_CANCELLED, "the connection was closed");
	lmi_svc_call_fail(c, &err, 0);
	if (c->rid) /* a repetition has no job */
		lmi_svc_call_destroy(c);
}

/* ---- replies to requests with a request id ---- */

void lmi_svc_idempotency_key_reply_init(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_request_ctx *a)
{
	size_t n = a->req->rid.len < sizeof(o->rid_text) ? a->req->rid.len : sizeof(o->rid_text);

	*o = (struct lmi_svc_idempotency_key_reply){
		.reply = a->reply, .arg = a->arg, .rid = a->rid};
	o->head.v = a->req->v;
	o->head.op = a->req->op;
	if (n)
		memcpy(o->rid_text, a->req->rid.ptr, n);
	o->head.rid = (struct lmd_str){.ptr = o->rid_text, .len = n};
}

static void fill(struct lmi_wire_reply *r, const struct lmi_wire_request *to,
		 const struct lmi_svc_cached_reply *said)
{
	struct lmi_wire_id id;

	memcpy(id.b, said->id, sizeof(id.b));
	lmi_wire_reply_init(r, to);
	switch (to->op) {
	case LMI_WIRE_OP_GENERATE:
		r->u.generate.id = id;
		r->u.generate.seed = said->number;
		break;
	case LMI_WIRE_OP_ADD:
		r->u.add.id = id;
		break;
	case LMI_WIRE_OP_LOAD:
		r->u.load.id = id;
		break;
	case LMI_WIRE_OP_RELOAD:
		r->u.reload.id = id;
		break;
	case LMI_WIRE_OP_UNLOAD:
		r->u.unload.id = id;
		break;
	case LMI_WIRE_OP_RM:
		r->u.rm.alias = said->flag;
		r->u.rm.bytes = said->number;
		break;
	default:
		break;
	}
}

void lmi_svc_idempotency_key_repeat_reply(const struct lmi_svc_idempotency_key *rid,
					  const struct lmi_wire_request *to, lmi_svc_reply_fn fn,
					  void *arg)
{
	struct lmi_wire_reply r;

	fill(&r, to, &rid->said);
	fn(arg, &r, NULL, 0);
}

void lmi_svc_idempotency_key_set_reader(struct lmi_service *svc,
					const struct lmi_svc_idempotency_key *rid,
					const struct lmi_svc_principal *who, uint64_t now)
{
	struct lmi_svc_stream *s;

	if (lmi_svc_stream_find(&s, &svc->streams, who, rid->said.id, NULL) != LMD_OK)
		return;
	s->conn = who->conn;
	s->touched_ns = now;
}

bool lmi_svc_idempotency_key_move_stream(struct lmi_service *svc, struct lmi_svc_stream *s)
{
	const struct lmd_str text = lmi_svc_str(s->rid);
	struct lmi_svc_idempotency_key *rid =
		text.len ? lmi_svc_idempotency_key_find(&svc->rids, &s->owner, &text) : NULL;

	if (!rid)
		return false;
	for (const struct lmi_svc_call *c = rid->waits; c; c = c->next_wait) {
		if (c->who.conn == s->conn)
			continue;
		s->conn = c->who.conn;
		return true;
	}
	if (rid->answered && !memcmp(rid->said.id, s->id, sizeof(s->id)))
		lmi_svc_idempotency_key_forget(&svc->rids, rid);
	return false;
}

void lmi_svc_idempotency_key_reply_send(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_cached_reply *said)
{
	struct lmi_svc_idempotency_key *rid = o->rid;
	lmi_svc_reply_fn fn = o->reply;
	struct lmi_wire_reply r;

	if (!fn)
		return;
	o->reply = NULL;
	o->rid = NULL;
	if (rid) {
		rid->answered = true;
		rid->said = *said;
	}
	fill(&r, &o->head, said);
	fn(o->arg, &r, NULL, 0);
	while (rid && rid->waits) {
		struct lmi_svc_call *c = rid->waits;

		fill(&r, &c->copy.req, said);
		lmi_svc_call_reply(c, &r);
		lmi_svc_call_destroy(c);
	}
}

void lmi_svc_idempotency_key_reply_stream(struct lmi_svc_idempotency_key_reply *o,
					  const struct lmi_svc_stream *s, int64_t seed)
{
	struct lmi_svc_cached_reply said = {.number = seed};

	memcpy(said.id, s->id, sizeof(said.id));
	lmi_svc_idempotency_key_reply_send(o, &said);
}

void lmi_svc_idempotency_key_reply_fail(struct lmi_service *svc,
					struct lmi_svc_idempotency_key_reply *o,
					const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_idempotency_key *rid = o->rid;
	lmi_svc_reply_fn fn = o->reply;

	if (!fn)
		return;
	o->reply = NULL;
	o->rid = NULL;
	svc->count.n_refused++;
	fn(o->arg, NULL, err, retry_ms);
	while (rid && rid->waits) {
		struct lmi_svc_call *c = rid->waits;

		lmi_svc_call_fail(c, err, retry_ms);
		lmi_svc_call_destroy(c);
	}
	if (rid)
		lmi_svc_idempotency_key_forget(&svc->rids, rid);
}
