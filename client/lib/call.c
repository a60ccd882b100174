/* SPDX-License-Identifier: MIT
 *
 * Requests as JSON. */
#include <string.h>

#include "client/lib/client.h"
#include "client/lib/members.h"

#include "core/base/alloc.h"
#include "proto/buf.h"

static enum lmd_status call_op(struct lmd_client *c, const char *name, const char *members,
			       struct lmi_client_answer *a, struct lmd_error *err)
{
	enum lmi_wire_op op = lmi_wire_op_find(name, strlen(name));
	struct lmi_wire_request req;
	struct lmi_wire_buf b = {0};
	enum lmd_status st;

	*a = (struct lmi_client_answer){0};
	if (op == LMI_WIRE_OP_NONE)
		return lmd_fail(err, LMD_UNSUPPORTED, "this library has no op '%.64s'",
				name);
	lmi_wire_request_init(&req, op);
	st = lmi_client_members_encode(&b, &req, members, true, err);
	if (st == LMD_OK)
		st = lmi_client_exchange_bytes(c, op, b.p, b.n, 0, a, err);
	lmi_wire_buf_fini(&b);
	return st;
}

LMD_EXPORT enum lmd_status lmd_client_call(struct lmd_client *c, const char *op,
					   const char *members, char **reply,
					   struct lmd_error *err)
{
	struct lmi_wire_buf b = {0};
	struct lmi_client_answer a;
	enum lmd_status st = call_op(c, op, members, &a, err);

	if (st == LMD_OK)
		st = lmi_wire_json(&b, a.msg.p, a.msg.n, err);
	if (st == LMD_OK && !lmi_wire_buf_add(&b, "", 1))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a reply of %zu bytes", b.n);
	if (st == LMD_OK)
		*reply = (char *)b.p;
	else
		lmi_wire_buf_fini(&b);
	lmi_client_reply_fini(&a);
	return st;
}

LMD_EXPORT void lmd_client_free(void *p)
{
	lmi_free(p);
}

/* Returns the id of the stream in a reply, or NULL. */
static const struct lmi_wire_id *stream_of(const struct lmi_wire_reply *r)
{
	switch (r->op) {
	case LMI_WIRE_OP_GENERATE:
		return &r->u.generate.id;
	case LMI_WIRE_OP_LOAD:
		return &r->u.load.id;
	case LMI_WIRE_OP_UNLOAD:
		return &r->u.unload.id;
	case LMI_WIRE_OP_RELOAD:
		return &r->u.reload.id;
	case LMI_WIRE_OP_ADD:
		return &r->u.add.id;
	case LMI_WIRE_OP_PULL:
		return &r->u.pull.id;
	case LMI_WIRE_OP_REPLAY:
		return &r->u.replay.id;
	default:
		return NULL;
	}
}

LMD_EXPORT enum lmd_status lmd_client_start(struct lmd_client *c, const char *op,
					    const char *members, struct lmd_stream **out,
					    struct lmd_error *err)
{
	const struct lmi_wire_id *id;
	struct lmi_client_answer a;
	enum lmd_status st = call_op(c, op, members, &a, err);

	if (st != LMD_OK)
		return st;
	id = stream_of(&a.r);
	st = id ? lmi_client_stream_open(c, id, 0, -1, out, err)
		: lmd_fail(err, LMD_INVALID, "the reply of op '%.64s' is not a stream", op);
	lmi_client_reply_fini(&a);
	return st;
}
