/* SPDX-License-Identifier: MIT
 *
 * Replies to requests with a request id: repetitions that wait for the same reply get it too. */
#include "service/idempotency_reply.h"

#include <string.h>

#include "service/call.h"
#include "service/service_state.h"

void lmi_svc_idempotency_key_reply_init(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_request_ctx *a)
{
	size_t n = a->req->rid.len < sizeof(o->rid_text) ? a->req->rid.len : sizeof(o->rid_text);

	*o = (struct lmi_svc_idempotency_key_reply){
		.reply = a->reply, .arg = a->arg, .key = a->key};
	o->head.v = a->req->v;
	o->head.op = a->req->op;
	if (n)
		memcpy(o->rid_text, a->req->rid.ptr, n);
	o->head.rid = (struct lmd_str){.ptr = o->rid_text, .len = n};
}

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

void lmi_svc_idempotency_key_repeat_reply(const struct lmi_svc_idempotency_key *key,
					  const struct lmi_wire_request *to, lmi_svc_reply_fn fn,
					  void *arg)
{
	struct lmi_wire_reply r;

	fill(&r, to, &key->reply);
	fn(arg, &r, NULL, 0);
}

void lmi_svc_idempotency_key_set_reader(struct lmi_service *svc,
					const struct lmi_svc_idempotency_key *key,
					const struct lmi_svc_principal *principal, uint64_t now)
{
	struct lmi_svc_stream *s;

	if (lmi_svc_stream_find(&s, &svc->streams, principal, key->reply.id, false, NULL) != LMD_OK)
		return;
	s->conn = principal->conn;
	s->touched_ns = now;
}

bool lmi_svc_idempotency_key_move_stream(struct lmi_service *svc, struct lmi_svc_stream *s)
{
	const struct lmd_str text = lmi_svc_str(s->rid);
	struct lmi_svc_idempotency_key *key =
		text.len ? lmi_svc_idempotency_key_find(&svc->idempotency_keys, &s->owner, &text)
			 : NULL;

	if (!key)
		return false;
	for (const struct lmi_svc_call *c = key->waiters; c; c = c->next_wait) {
		if (c->principal.conn == s->conn)
			continue;
		s->conn = c->principal.conn;
		return true;
	}
	if (key->answered && !memcmp(key->reply.id, s->id, sizeof(s->id)))
		lmi_svc_idempotency_key_forget(&svc->idempotency_keys, key);
	return false;
}

void lmi_svc_idempotency_key_reply_send(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_cached_reply *reply)
{
	struct lmi_svc_idempotency_key *key = o->key;
	lmi_svc_reply_fn fn = o->reply;
	struct lmi_wire_reply r;

	if (!fn)
		return;
	o->reply = NULL;
	o->key = NULL;
	if (key) {
		key->answered = true;
		key->reply = *reply;
	}
	fill(&r, &o->head, reply);
	fn(o->arg, &r, NULL, 0);
	while (key && key->waiters) {
		struct lmi_svc_call *c = key->waiters;

		fill(&r, &c->copy.req, reply);
		lmi_svc_call_reply(c, &r);
		lmi_svc_call_destroy(c);
	}
}

void lmi_svc_idempotency_key_reply_stream(struct lmi_svc_idempotency_key_reply *o,
					  const struct lmi_svc_stream *s, int64_t seed)
{
	struct lmi_svc_cached_reply reply = {.number = seed};

	memcpy(reply.id, s->id, sizeof(reply.id));
	lmi_svc_idempotency_key_reply_send(o, &reply);
}

void lmi_svc_idempotency_key_reply_fail(struct lmi_service *svc,
					struct lmi_svc_idempotency_key_reply *o,
					const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_idempotency_key *key = o->key;
	lmi_svc_reply_fn fn = o->reply;

	if (!fn)
		return;
	o->reply = NULL;
	o->key = NULL;
	svc->count.n_refused++;
	fn(o->arg, NULL, err, retry_ms);
	while (key && key->waiters) {
		struct lmi_svc_call *c = key->waiters;

		lmi_svc_call_fail(c, err, retry_ms);
		lmi_svc_call_destroy(c);
	}
	if (key)
		lmi_svc_idempotency_key_forget(&svc->idempotency_keys, key);
}
