/* SPDX-License-Identifier: MIT
 *
 * POST /sleep and /wake_up, and GET /is_sleeping, as vLLM has them.  Models sleep by leaving memory:
 * /sleep unloads them one after the other, each when its generations have ended, and /wake_up loads
 * one.  With the query `model` they are about one model. */
#include "core/base/arena.h"
#include "daemon/http/admin/admin.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/json_out.h"
#include "daemon/http/model_choice.h"
#include "proto/proto.h"

struct sleep {
	struct lmi_http_exchange *x;
	const char *only; /* of the query; NULL: all models */
};

static void respond(struct lmi_http_exchange *x)
{
	lmi_http_reply_text(x, 200, "text/plain", "", 0);
}

static bool asked(const struct sleep *s, const struct lmi_wire_resident *m)
{
	struct lmd_str only = lmi_http_str(s->only ? s->only : "");

	return m->state == LMI_WIRE_MODEL_STATE_READY &&
	       (!s->only || (only.len == m->model.len &&
			     !__builtin_memcmp(only.ptr, m->model.ptr, only.len)));
}

/* ---- POST /sleep ---- */

static void next_model(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		       uint32_t retry_ms);

static void list(struct sleep *s)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_PS);
	lmi_http_call(s->x, &req, next_model, s);
}

/* Reads the stream of the job to its end.  An error of the job, such as a model that was unloaded
 * meanwhile, ends it as well. */
static void unloading(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		      uint32_t retry_ms)
{
	struct sleep *s = arg;
	struct lmi_wire_request next;

	if (!reply && err->status != LMD_NOTFOUND) {
		lmi_http_reply_status(s->x, err, retry_ms);
		return;
	}
	if (!reply || (reply->op == LMI_WIRE_OP_NEXT && reply->u.next.end)) {
		list(s);
		return;
	}
	lmi_wire_request_init(&next, LMI_WIRE_OP_NEXT);
	next.u.next.id = reply->op == LMI_WIRE_OP_NEXT ? reply->u.next.id : reply->u.unload.id;
	next.u.next.after = reply->op == LMI_WIRE_OP_NEXT ? reply->u.next.last : 0;
	lmi_http_call(s->x, &next, unloading, s);
}

static void next_model(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		       uint32_t retry_ms)
{
	struct sleep *s = arg;
	struct lmi_wire_request req;

	if (!reply) {
		lmi_http_reply_status(s->x, err, retry_ms);
		return;
	}
	for (uint32_t i = 0; i < reply->u.ps.n_models; i++) {
		const struct lmi_wire_resident *m = &reply->u.ps.models[i];
		const char *name;

		if (!asked(s, m))
			continue;
		name = lmi_arena_strndup(lmi_http_arena(s->x), m->model.ptr, m->model.len);
		lmi_wire_request_init(&req, LMI_WIRE_OP_UNLOAD);
		req.u.unload.model = lmi_http_str(name ? name : "");
		lmi_http_call(s->x, &req, unloading, s);
		return;
	}
	respond(s->x);
}

void lmi_http_admin_sleep(struct lmi_http_exchange *x)
{
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct sleep *s = lmi_http_alloc(&r, 1, sizeof(*s));

	if (!s) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	*s = (struct sleep){.x = x, .only = lmi_http_query(x, "model")};
	list(s);
}

/* ---- POST /wake_up ---- */

static void loaded(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		   uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;

	if (reply)
		respond(x);
	else
		lmi_http_reply_status(x, err, retry_ms);
}

static void load(struct lmi_http_exchange *x, const char *model, void *arg)
{
	const struct lmd_error none = {.status = LMD_NOTFOUND,
				       .text = "there is no default model: give ?model=NAME"};
	struct lmi_wire_request req;

	(void)arg;
	if (!model) {
		lmi_http_reply_status(x, &none, 0);
		return;
	}
	lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
	req.u.tokenize.model = lmi_http_str(model);
	lmi_http_call(x, &req, loaded, x);
}

void lmi_http_admin_wake_up(struct lmi_http_exchange *x)
{
	const char *model = lmi_http_query(x, "model");

	if (model && *model)
		load(x, model, NULL);
	else
		lmi_http_default_model(x, load, NULL);
}

/* ---- GET /is_sleeping ---- */

static void reply_sleeping(void *arg, const struct lmi_wire_reply *reply,
			   const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	const struct sleep s = {.only = lmi_http_query(x, "model")};
	struct lmi_json_text j = {0};
	bool awake = false;

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	for (uint32_t i = 0; i < reply->u.ps.n_models; i++)
		awake |= asked(&s, &reply->u.ps.models[i]);
	lmi_json_text_object(&j);
	lmi_http_json_put_bool(&j, "is_sleeping", !awake);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

void lmi_http_admin_is_sleeping(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_PS);
	lmi_http_call(x, &req, reply_sleeping, x);
}
