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
