/* SPDX-License-Identifier: MIT
 *
 * Copies of requests. */
#include "service/request.h"

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
