/* SPDX-License-Identifier: MIT
 *
 * Dispatch: checks that a request is allowed and calls the function of its op.  This is the only
 * file that knows all ops. */
#include "service/call.h"
#include "service/idempotency.h"
#include "service/idempotency_reply.h"
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

static enum lmd_status check_op(const struct lmi_svc_request_ctx *a, struct lmd_error *err)
{
	enum lmi_wire_op op = a->req->op;
	enum lmi_svc_role least;

	if (op <= LMI_WIRE_OP_NONE || op >= LMI_WIRE_N_OP || !ops[op].fn)
		return lmd_fail(err, LMD_UNSUPPORTED, "op %d is unknown", (int)op);
	least = lmi_wire_ops[op].role == LMI_WIRE_ROLE_ADMIN ? LMI_SVC_ROLE_ADMIN
							     : LMI_SVC_ROLE_USER;
	if (ops[op].flags & LMI_SVC_OP_ANYBODY)
		least = LMI_SVC_ROLE_NONE;
	if (a->principal->role < least)
		return lmd_fail(err, LMD_DENIED, "op %s requires the role %s: yours is %s",
				lmi_wire_ops[op].name, role_word(least),
				role_word(a->principal->role));
	if (a->svc->closed && !(ops[op].flags & LMI_SVC_OP_CLOSED_OK))
		return lmd_fail(err, LMD_CANCELLED, "shutting down");
	return LMD_OK;
}

/* Answers a repetition like the first request, or waits until that has been answered. */
static enum lmd_status repeat(const struct lmi_svc_request_ctx *a,
			      struct lmi_svc_idempotency_key *key, struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st;

	if (key->answered) {
		lmi_svc_idempotency_key_set_reader(a->svc, key, a->principal, a->now);
		lmi_svc_idempotency_key_repeat_reply(key, a->req, a->reply, a->arg);
		return LMD_OK;
	}
	st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	c->idempotency_key = key;
	c->next_wait = key->waiters;
	key->waiters = c;
	return LMD_OK;
}

static enum lmd_status run_once(struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(a->principal);
	struct lmi_svc_copy copy;
	struct lmi_svc_idempotency_key *key = NULL;
	bool is_new = true;
	enum lmd_status st = lmi_svc_copy_init(&copy, a->req, err);

	if (st != LMD_OK)
		return st;
	if (a->req->rid.len && !a->push) /* a subscriber does not repeat its requests */
		st = lmi_svc_idempotency_key_take(
			&a->svc->idempotency_keys, &key, &is_new, &owner, a->req->op, &a->req->rid,
			lmi_svc_idempotency_key_digest(copy.bytes.p, copy.bytes.n), a->now, err);
	a->copy = &copy;
	a->key = key;
	if (st == LMD_OK)
		st = is_new ? ops[a->req->op].fn(a, retry_ms, err) : repeat(a, key, err);
	if (st != LMD_OK && key && is_new)
		lmi_svc_idempotency_key_forget(&a->svc->idempotency_keys, key);
	lmi_svc_copy_fini(&copy);
	return st;
}

void lmi_svc_dispatch(struct lmi_svc_request_ctx *a)
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
	if (st == LMD_OK)
		return;
	if (st == LMD_BUSY && !retry_ms)
		retry_ms = lmi_svc_retry_ms(a->svc);
	a->svc->count.n_refused++;
	a->reply(a->arg, NULL, &err, retry_ms);
}

void lmi_service_call(struct lmi_service *svc, uint64_t now,
		      const struct lmi_svc_principal *principal,
		      const struct lmi_wire_request *req, lmi_svc_reply_fn reply, void *arg)
{
	struct lmi_svc_request_ctx a = {
		.svc = svc, .now = now, .principal = principal,
		.req = req, .reply = reply, .arg = arg};

	lmi_svc_dispatch(&a);
}
