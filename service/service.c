/* SPDX-License-Identifier: MIT
 *
 * The service as a whole: its life cycle, the dispatch of ops, and its ticks.
 *
 * State changes only in four calls, all on one thread: call, gone, tick, and the end of a job,
 * which is part of a tick.  After each of them, all readers that are due have been answered and all
 * generations that can run have been started. */
#include "service/service.h"

#include <poll.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "service/generate.h"
#include "service/service_impl.h"

/* ---- ops ---- */

enum {
	CLOSED_OK = 1, /* allowed while the daemon is draining */
	ANYBODY = 2,   /* requires no role */
};

static const struct {
	lmi_svc_do_fn fn;
	uint32_t flags;
} ops[LMI_WIRE_N_OP] = {
	[LMI_WIRE_OP_ADD] = {lmi_svc_do_add, 0},
	[LMI_WIRE_OP_ALIAS] = {lmi_svc_do_alias, 0},
	[LMI_WIRE_OP_CANCEL] = {lmi_svc_do_cancel, CLOSED_OK},
	[LMI_WIRE_OP_CONFIG_RELOAD] = {lmi_svc_do_config_reload, 0},
	[LMI_WIRE_OP_DETOKENIZE] = {lmi_svc_do_detokenize, 0},
	[LMI_WIRE_OP_DRAIN] = {lmi_svc_do_drain, CLOSED_OK},
	[LMI_WIRE_OP_GENERATE] = {lmi_svc_do_generate, 0},
	[LMI_WIRE_OP_HELLO] = {lmi_svc_do_hello, CLOSED_OK | ANYBODY},
	[LMI_WIRE_OP_INFO] = {lmi_svc_do_info, CLOSED_OK},
	[LMI_WIRE_OP_KEY_ADD] = {lmi_svc_do_key_add, 0},
	[LMI_WIRE_OP_KEY_RM] = {lmi_svc_do_key_rm, CLOSED_OK},
	[LMI_WIRE_OP_KEYS] = {lmi_svc_do_keys, CLOSED_OK},
	[LMI_WIRE_OP_LIMITS] = {lmi_svc_do_limits, CLOSED_OK},
	[LMI_WIRE_OP_LOAD] = {lmi_svc_do_load, 0},
	[LMI_WIRE_OP_MODELS] = {lmi_svc_do_models, CLOSED_OK},
	[LMI_WIRE_OP_NEXT] = {lmi_svc_do_next, CLOSED_OK},
	[LMI_WIRE_OP_PING] = {lmi_svc_do_ping, CLOSED_OK | ANYBODY},
	[LMI_WIRE_OP_PLUGINS] = {lmi_svc_do_plugins, CLOSED_OK},
	[LMI_WIRE_OP_PLUGINS_RELOAD] = {lmi_svc_do_plugins_reload, 0},
	[LMI_WIRE_OP_PS] = {lmi_svc_do_ps, CLOSED_OK},
	[LMI_WIRE_OP_RELOAD] = {lmi_svc_do_reload, 0},
	[LMI_WIRE_OP_RM] = {lmi_svc_do_rm, 0},
	[LMI_WIRE_OP_SHUTDOWN] = {lmi_svc_do_shutdown, CLOSED_OK},
	[LMI_WIRE_OP_STATS] = {lmi_svc_do_stats, CLOSED_OK},
	[LMI_WIRE_OP_STATUS] = {lmi_svc_do_status, CLOSED_OK},
	[LMI_WIRE_OP_STREAMS] = {lmi_svc_do_streams, CLOSED_OK},
	[LMI_WIRE_OP_TOKENIZE] = {lmi_svc_do_tokenize, 0},
	[LMI_WIRE_OP_UNLOAD] = {lmi_svc_do_unload, 0},
};

static const char *role_word(enum lmi_svc_role role)
{
	return role == LMI_SVC_ROLE_ADMIN ? "admin" : role == LMI_SVC_ROLE_USER ? "user" : "none";
}

static enum lmd_status check_op(const struct lmi_svc_request_ctx *a, struct lmd_error *err)
{
	enum lmi_wire_op op = a->req->op;
	enum lmi_svc_role least;

	if (op <= LMI_WIRE_OP_NONE || op >= LMI_WIRE_N_OP || !ops[op].fn)
		return lmd_fail(err, LMD_UNSUPPORTED, "op %d is unknown", (int)op);
	least = lmi_wire_ops[op].role == LMI_WIRE_ROLE_ADMIN ? LMI_SVC_ROLE_ADMIN
							     : LMI_SVC_ROLE_USER;
	if (ops[op].flags & ANYBODY)
		least = LMI_SVC_ROLE_NONE;
	if (a->who->role < least)
		return lmd_fail(err, LMD_DENIED, "op %s requires the role %s: yours is %s",
				lmi_wire_ops[op].name, role_word(least), role_word(a->who->role));
	if (a->svc->closed && !(ops[op].flags & CLOSED_OK))
		return lmd_fail(err, LMD_CANCELLED, "shutting down");
	return LMD_OK;
}

/* Answers a repetition like the first request, or waits until that has been answered. */
static enum lmd_status repeat(const struct lmi_svc_request_ctx *a,
			      struct lmi_svc_idempotency_key *rid, struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st;

	if (rid->answered) {
		lmi_svc_idempotency_key_set_reader(a->svc, rid, a->who, a->now);
		lmi_svc_idempotency_key_repeat_reply(rid, a->req, a->reply, a->arg);
		return LMD_OK;
	}
	st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	c->rid = rid;
	c->next_wait = rid->waits;
	rid->waits = c;
	return LMD_OK;
}

static enum lmd_status run_once(struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(a->who);
	struct lmi_svc_copy copy;
	struct lmi_svc_idempotency_key *rid = NULL;
	bool is_new = true;
	enum lmd_status st = lmi_svc_copy_init(&copy, a->req, err);

	if (st != LMD_OK)
		return st;
	if (a->req->rid.len)
		st = lmi_svc_idempotency_key_take(
			&a->svc->rids, &rid, &is_new, &owner, a->req->op, &a->req->rid,
			lmi_svc_idempotency_key_digest(copy.bytes.p, copy.bytes.n), a->now, err);
	a->copy = &copy;
	a->rid = rid;
	if (st == LMD_OK)
		st = is_new ? ops[a->req->op].fn(a, retry_ms, err) : repeat(a, rid, err);
	if (st != LMD_OK && rid && is_new)
		lmi_svc_idempotency_key_forget(&a->svc->rids, rid);
	lmi_svc_copy_fini(&copy);
	return st;
}

void lmi_service_call(struct lmi_service *svc, uint64_t now, const struct lmi_svc_principal *who,
		      const struct lmi_wire_request *req, lmi_svc_reply_fn reply, void *arg)
{
	struct lmi_svc_request_ctx a = {
		.svc = svc, .now = now, .who = who, .req = req, .reply = reply, .arg = arg};
	struct lmd_error err = {0};
	uint32_t retry_ms = 0;
	enum lmd_status st;

	svc->now = now;
	st = check_op(&a, &err);
	if (st == LMD_OK && lmi_wire_ops[req->op].changes == LMI_WIRE_CHANGES_ONCE)
		st = run_once(&a, &retry_ms, &err);
	else if (st == LMD_OK)
		st = ops[req->op].fn(&a, &retry_ms, &err);
	if (st == LMD_OK)
		return;
	svc->count.n_refused++;
	reply(arg, NULL, &err, retry_ms);
}

/* ---- connections ---- */

void lmi_service_disconnected(struct lmi_service *svc, uint64_t now, uint64_t conn)
{
	struct lmi_svc_call *next_call;
	struct lmi_svc_stream *next;

	svc->now = now;
	for (struct lmi_svc_call *c = svc->calls; c; c = next_call) {
		next_call = c->next;
		if (c->who.conn == conn)
			lmi_svc_call_drop(c);
	}
	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		struct lmi_svc_waiting_reader *p;

		next = s->next;
		while ((p = lmi_svc_stream_remove_reader(&svc->streams, s, conn)))
			lmi_svc_waiting_reader_drop(p);
		if (s->conn == conn && !s->own_lease && !s->given_up &&
		    !lmi_svc_idempotency_key_move_stream(svc, s))
			lmi_svc_stream_give_up(svc, s, now, LMI_WIRE_CANCEL_REASON_GONE);
	}
	lmi_svc_generate_pump(svc, now);
}

bool lmi_service_has_running_stream(const struct lmi_service *svc, uint64_t conn)
{
	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next)
		if (s->conn == conn && s->work)
			return true;
	return false;
}

/* ---- ticks ---- */

static void engines(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_loaded_model *next;
	struct lmd_error lost;
	bool used;

	for (struct lmi_svc_loaded_model *r = svc->residents; r; r = next) {
		next = r->next;
		if (r->state != LMI_SVC_RESIDENT_READY && r->state != LMI_SVC_RESIDENT_DRAINING)
			continue;
		if (svc->o.in_line)
			(void)lmi_engine_step(r->engine);
		used = r->n_user > 0;
		lmi_svc_resident_ref(r); /* keeps r alive if its last user leaves */
		lmi_svc_generate_events(svc, now, r);
		if (lmi_engine_is_broken(r->engine, &lost))
			lmi_svc_resident_lost(svc, now, r, &lost);
		lmi_svc_resident_unref(r, used ? now : r->idle_ns);
	}
}

static void streams(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_stream *next;

	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		next = s->next;
		lmi_svc_stream_pump(svc, s, now);
		if (!lmi_svc_stream_lease_expired(s, now))
			continue;
		if (s->work) {
			/* the stream stays for another lease, so that a late reader gets the
			 * reason */
			s->touched_ns = now;
			s->work->cancel(s->work, now, LMI_WIRE_CANCEL_REASON_LEASE);
		} else {
			lmi_svc_stream_give_up(svc, s, now, LMI_WIRE_CANCEL_REASON_LEASE);
		}
	}
}

void lmi_service_tick(struct lmi_service *svc, uint64_t now)
{
	svc->now = now;
	(void)lmi_mailbox_drain(svc->o.mailbox);
	engines(svc, now);
	lmi_svc_generate_tick(svc, now);
	lmi_svc_generate_pump(svc, now);
	lmi_svc_models_tick(svc, now);
	streams(svc, now);
	lmi_svc_generate_defer_wakeups(svc, now);
	lmi_svc_idempotency_keys_expire(&svc->rids, now);
}

uint64_t lmi_service_deadline(const struct lmi_service *svc)
{
	uint64_t when = lmi_svc_generate_deadline(svc), end = lmi_svc_models_deadline(svc);

	when = end < when ? end : when;
	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next) {
		end = lmi_svc_stream_deadline(s);
		when = end < when ? end : when;
	}
	return when;
}

/* ---- life ---- */

enum lmd_status lmi_service_create(struct lmi_service **out, const struct lmi_service_opts *opts,
				   struct lmd_error *err)
{
	enum lmd_status st = lmi_service_limits_check(&opts->limits, err);
	struct lmi_service *svc;

	if (st != LMD_OK)
		return st;
	svc = lmi_alloc(1, sizeof(*svc));
	if (!svc)
		return lmd_fail(err, LMD_NOMEM, "no memory for a service");
	svc->o = *opts;
	svc->limits = opts->limits;
	if (opts->hooks)
		svc->hooks = *opts->hooks;
	svc->start_ns = svc->now = opts->host->now_ns(opts->host->ctx);
	svc->mean_ns = 1000 * LMI_SVC_NS_PER_MS;
	st = lmi_svc_random(svc->boot.b, sizeof(svc->boot.b), err);
	if (st == LMD_OK)
		st = lmi_svc_streams_init(&svc->streams, err);
	if (st == LMD_OK)
		st = lmi_svc_idempotency_keys_init(&svc->rids, (uint32_t)svc->limits.rids,
						   svc->limits.rid_ms * LMI_SVC_NS_PER_MS, err);
	if (st != LMD_OK) {
		lmi_svc_streams_fini(&svc->streams);
		lmi_free(svc);
		return st;
	}
	*out = svc;
	return LMD_OK;
}

enum lmd_status lmi_service_set_limits(struct lmi_service *svc,
				       const struct lmi_service_limits *limits,
				       struct lmd_error *err)
{
	enum lmd_status st = lmi_service_limits_check(limits, err);

	if (st != LMD_OK)
		return st;
	svc->limits = *limits;
	svc->rids.n_max = (uint32_t)limits->rids;
	svc->rids.age_ns = limits->rid_ms * LMI_SVC_NS_PER_MS;
	return LMD_OK;
}

void lmi_service_close(struct lmi_service *svc)
{
	svc->closed = true;
}

void lmi_service_open(struct lmi_service *svc)
{
	if (!svc->stopping)
		svc->closed = false;
}

bool lmi_service_is_idle(const struct lmi_service *svc)
{
	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next)
		if (s->work || !s->read_out)
			return false;
	return !svc->works && !svc->n_call;
}

void lmi_service_stop(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_stream *next;

	svc->now = now;
	svc->closed = svc->stopping = true;
	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		next = s->next;
		if (s->work)
			s->work->cancel(s->work, now, LMI_SVC_CANCEL_SHUTDOWN);
	}
}

/* Waits for all jobs and engines to end. */
static void drain(struct lmi_service *svc)
{
	while (svc->n_job || svc->works || svc->residents || svc->calls) {
		struct pollfd p = {.fd = lmi_mailbox_fd(svc->o.mailbox), .events = POLLIN};

		lmi_service_tick(svc, svc->now);
		if (lmi_jobs_run_one(svc->o.registry) || lmi_jobs_run_one(svc->o.io) ||
		    lmi_jobs_run_one(svc->o.work))
			continue;
		lmi_svc_models_fini(svc);
		(void)poll(&p, 1, 1);
	}
}

void lmi_service_destroy(struct lmi_service *svc)
{
	struct lmi_svc_call *next_call;
	struct lmi_svc_stream *next;

	if (!svc)
		return;
	lmi_service_stop(svc, svc->now);
	for (struct lmi_svc_call *c = svc->calls; c; c = next_call) {
		next_call = c->next;
		lmi_svc_call_drop(c);
	}
	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		next = s->next;
		lmi_svc_stream_give_up(svc, s, svc->now, LMI_SVC_CANCEL_SHUTDOWN);
	}
	drain(svc);
	lmi_svc_streams_fini(&svc->streams);
	lmi_svc_idempotency_keys_fini(&svc->rids);
	lmi_svc_names_clear(svc);
	lmi_free(svc);
}

/* ---- counts ---- */

enum lmi_wire_server_state lmi_service_state(const struct lmi_service *svc)
{
	return svc->closed ? LMI_WIRE_SERVER_STATE_DRAINING : LMI_WIRE_SERVER_STATE_READY;
}

uint32_t lmi_svc_retry_ms(const struct lmi_service *svc)
{
	uint64_t ms =
		svc->mean_ns / LMI_SVC_NS_PER_MS * (svc->n_waiting + 1) / svc->limits.max_running;

	return (uint32_t)(ms < 100 ? 100 : ms > 60000 ? 60000 : ms);
}

void lmi_service_stats(const struct lmi_service *svc, struct lmi_service_stats *out)
{
	*out = svc->count;
	out->n_running = svc->n_running;
	out->n_waiting = svc->n_waiting;
	out->n_stream = svc->streams.n;
	out->n_parked = svc->streams.n_parked + svc->n_call;
	for (const struct lmi_svc_loaded_model *r = svc->residents; r; r = r->next) {
		struct lmi_engine_stats st;

		out->n_model++;
		if (r->state != LMI_SVC_RESIDENT_READY && r->state != LMI_SVC_RESIDENT_DRAINING)
			continue;
		lmi_engine_stats(r->engine, &st);
		out->n_step += st.n_step;
		for (int g = 0; g < LMD_MAX_GROUP; g++) {
			out->n_page += st.n_page[g];
			out->n_page_free += st.n_free[g];
		}
	}
}
