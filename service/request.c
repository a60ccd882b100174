/* SPDX-License-Identifier: MIT
 *
 * A request: its copy, its account and its reply. */
#include "service/request.h"

#include "service/call.h"
#include "service/event.h"
#include "service/service_state.h"

/* ---- the message and the account ---- */

/* Encodes the message and decodes it again, so that the copy owns all its memory. */
enum lmd_status lmi_svc_request_copy(struct lmi_svc_request *r, struct lmd_error *err)
{
	enum lmd_status st;

	if (r->arena)
		return LMD_OK;
	r->arena = lmi_arena_create(0);
	if (!r->arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	st = lmi_wire_request_encode(&r->bytes, r->req, err);
	if (st == LMD_OK)
		st = lmi_wire_request_decode(&r->message, r->bytes.p, r->bytes.n, r->arena, err);
	if (st != LMD_OK)
		lmi_svc_request_fini(r);
	return st;
}

enum lmd_status lmi_svc_request_keep(struct lmi_svc_request *out, struct lmi_svc_request *r,
				     const struct lmi_svc_account *places, struct lmd_error *err)
{
	struct lmi_svc_user *user;
	enum lmd_status st = lmi_svc_request_copy(r, err);

	if (st != LMD_OK)
		return st;
	user = lmi_svc_user_ref(r->svc, &r->principal);
	if (!user)
		return lmd_fail(err, LMD_NOMEM, "no memory for a user");
	*out = *r;
	out->req = &out->message;
	out->replays = NULL;
	r->bytes = (struct lmi_wire_buf){0};
	r->arena = NULL;
	out->user = user;
	out->held = *places;
	out->held.bytes = out->bytes.n;
	lmi_svc_user_hold(out->svc, user, &out->held);
	return LMD_OK;
}

void lmi_svc_request_release(struct lmi_svc_request *r)
{
	if (!r->user)
		return;
	lmi_svc_user_release(r->svc, r->user, &r->held);
	lmi_svc_user_unref(r->user);
	r->user = NULL;
}

void lmi_svc_request_fini(struct lmi_svc_request *r)
{
	lmi_svc_request_release(r);
	lmi_wire_buf_fini(&r->bytes);
	lmi_arena_destroy(r->arena);
	r->arena = NULL;
}

/* ---- replies ---- */

/* Fills the reply to an op that is not idempotent. */
static void fill(struct lmi_wire_reply *r, const struct lmi_wire_request *to,
		 const struct lmi_svc_cached_reply *reply)
{
	struct lmi_wire_id id;

	memcpy(id.b, reply->id, sizeof(id.b));
	lmi_wire_reply_init(r, to);
	switch (to->op) {
	case LMI_WIRE_OP_GENERATE:
		r->u.generate.id = id;
		r->u.generate.seed = reply->number;
		break;
	case LMI_WIRE_OP_REPLAY:
		r->u.replay.id = id;
		r->u.replay.seed = reply->number;
		break;
	case LMI_WIRE_OP_ADD:
		r->u.add.id = id;
		break;
	case LMI_WIRE_OP_PULL:
		r->u.pull.id = id;
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
		r->u.rm.alias = reply->flag;
		r->u.rm.bytes = reply->number;
		break;
	default:
		break;
	}
}

static void send_reply(struct lmi_svc_request *r, const struct lmi_wire_reply *reply)
{
	lmi_svc_reply_fn fn = r->reply;

	r->reply = NULL;
	if (fn)
		fn(r->arg, reply, NULL, 0);
}

void lmi_svc_request_reply(struct lmi_svc_request *r, const struct lmi_wire_reply *reply)
{
	if (r->reply)
		lmi_svc_event_of_request(r, NULL);
	send_reply(r, reply);
}

void lmi_svc_request_reply_cached(struct lmi_svc_request *r,
				  const struct lmi_svc_idempotency_key *key)
{
	struct lmi_wire_reply reply;

	fill(&reply, r->req, &key->reply);
	send_reply(r, &reply); /* nothing has happened again */
}

void lmi_svc_request_reply_once(struct lmi_svc_request *r,
				const struct lmi_svc_cached_reply *cached)
{
	struct lmi_wire_request to = {.v = r->req->v, .op = r->req->op, .rid = r->req->rid};
	struct lmi_svc_idempotency_key *key = r->key;
	struct lmi_wire_reply reply;

	if (!r->reply)
		return;
	r->key = NULL;
	if (key) {
		key->answered = true;
		key->reply = *cached;
	}
	if (r->is_replay) /* the message is one of op generate */
		to.op = LMI_WIRE_OP_REPLAY;
	fill(&reply, &to, cached);
	lmi_svc_request_reply(r, &reply);
	while (key && key->waiters) {
		struct lmi_svc_call *c = key->waiters;

		lmi_svc_request_reply_cached(&c->request, key);
		lmi_svc_call_destroy(c);
	}
}

void lmi_svc_request_reply_stream(struct lmi_svc_request *r, const struct lmi_svc_stream *s,
				  int64_t seed)
{
	struct lmi_svc_cached_reply reply = {.number = seed};

	memcpy(reply.id, s->id, sizeof(reply.id));
	lmi_svc_request_reply_once(r, &reply);
}

void lmi_svc_request_fail(struct lmi_svc_request *r, const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_idempotency_key *key = r->key;
	lmi_svc_reply_fn fn = r->reply;

	if (!fn)
		return;
	r->reply = NULL;
	r->key = NULL;
	r->svc->count.n_refused++;
	lmi_svc_event_of_request(r, err);
	fn(r->arg, NULL, err, retry_ms);
	while (key && key->waiters) {
		struct lmi_svc_call *c = key->waiters;

		lmi_svc_request_fail(&c->request, err, retry_ms);
		lmi_svc_call_destroy(c);
	}
	if (key)
		lmi_svc_idempotency_key_forget(&r->svc->idempotency_keys, key);
}
