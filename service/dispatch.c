/* SPDX-License-Identifier: MIT
 *
 * Dispatch: checks that a request is allowed and calls the function of its op.  This is the only
 * file that knows all ops. */
#include "service/call.h"
#include "service/idempotency.h"
#include "service/ops.h"
#include "service/request.h"
#include "service/service.h"
#include "service/service_state.h"
#include "service/stream.h"

static const struct {
	lmi_svc_do_fn fn;
	uint32_t flags;
} ops[LMI_WIRE_N_OP] = {
#define OP(name, NAME, flags) [LMI_WIRE_OP_##NAME] = {lmi_svc_do_##name, flags},
	LMI_SVC_OPS(OP)
#undef OP
};

static const char *role_word(enum lmi_svc_role role)
{
	return role == LMI_SVC_ROLE_ADMIN ? "admin" : role == LMI_SVC_ROLE_USER ? "user" : "none";
}

static enum lmd_status check_op(const struct lmi_svc_request *a, struct lmd_error *err)
{
	enum lmi_wire_op op = a->req->op;
	enum lmi_svc_role least;

	if (op <= LMI_WIRE_OP_NONE || op >= LMI_WIRE_N_OP || !ops[op].fn)
		return lmd_fail(err, LMD_UNSUPPORTED, "op %d is unknown", (int)op);
	least = lmi_wire_ops[op].role == LMI_WIRE_ROLE_ADMIN ? LMI_SVC_ROLE_ADMIN
							     : LMI_SVC_ROLE_USER;
	if (ops[op].flags & LMI_SVC_OP_ANYBODY)
		least = LMI_SVC_ROLE_NONE;
	if (a->principal.role < least)
		return lmd_fail(err, LMD_DENIED, "op %s requires the role %s: yours is %s",
				lmi_wire_ops[op].name, role_word(least),
				role_word(a->principal.role));
	if (a->svc->closed && !(ops[op].flags & LMI_SVC_OP_CLOSED_OK))
		return lmd_fail(err, LMD_CANCELLED, "shutting down");
	return LMD_OK;
}

/* Moves the stream of a request id to the connection that repeated the request. */
static void set_reader(const struct lmi_svc_request *a, const struct lmi_svc_idempotency_key *key)
{
	struct lmi_svc_stream *s;

	if (lmi_svc_stream_find(&s, &a->svc->streams, &a->principal, key->reply.id, false, NULL) !=
	    LMD_OK)
		return;
	s->conn = a->principal.conn;
	s->touched_ns = a->now;
}

/* Answers a repetition like the first request, or waits until that has been answered. */
static enum lmd_status repeat(struct lmi_svc_request *a, struct lmi_svc_idempotency_key *key,
			      struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st;

	if (key->answered) {
		set_reader(a, key);
		lmi_svc_request_reply_cached(a, key);
		return LMD_OK;
	}
	st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	c->repeats = key;
	c->next_wait = key->waiters;
	key->waiters = c;
	return LMD_OK;
}

static enum lmd_status run_once(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(&a->principal);
	struct lmi_svc_idempotency_key *key = NULL;
	bool is_new = true;
	enum lmd_status st = lmi_svc_request_copy(a, err);

	if (st == LMD_OK && a->req->rid.len && !a->push) /* a subscriber does not repeat its requests */
		st = lmi_svc_idempotency_key_take(
			&a->svc->idempotency_keys, &key, &is_new, &owner, a->req->op, &a->req->rid,
			lmi_svc_idempotency_key_digest(a->bytes.p, a->bytes.n), a->now, err);
	if (st != LMD_OK)
		return st;
	if (!is_new)
		return repeat(a, key, err);
	a->key = key;
	return ops[a->req->op].fn(a, retry_ms, err);
}

void lmi_svc_dispatch(struct lmi_svc_request *a)
{
	enum lmi_wire_op op = a->req->op;
	struct lmd_error err = {0};
	uint32_t retry_ms = 0;
	enum lmd_status st;

	a->svc->now = a->now;
	st = check_op(a, &err);
	if (st == LMD_OK && lmi_wire_ops[op].changes == LMI_WIRE_CHANGES_ONCE)
		st = run_once(a, &retry_ms, &err);
	else if (st == LMD_OK)
		st = ops[op].fn(a, &retry_ms, &err);
	if (st == LMD_BUSY && !retry_ms)
		retry_ms = lmi_svc_retry_ms(a->svc);
	if (st != LMD_OK)
		lmi_svc_request_fail(a, &err, retry_ms);
	lmi_svc_request_fini(a);
}

void lmi_service_call(struct lmi_service *svc, uint64_t now,
		      const struct lmi_svc_principal *principal,
		      const struct lmi_wire_request *req, lmi_svc_reply_fn reply, void *arg)
{
	struct lmi_svc_request a = {
		.svc = svc, .now = now, .principal = *principal,
		.req = req, .reply = reply, .arg = arg};

	lmi_svc_dispatch(&a);
}
