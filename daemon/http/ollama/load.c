/* SPDX-License-Identifier: MIT
 *
 * A request without a prompt loads the model, or unloads it if keep_alive is 0.  Neither needs a
 * role: op tokenize loads the model that it needs, and sets its keep-alive time. */
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/ollama/ollama_impl.h"

struct load {
	struct lmi_http_exchange *x;
	struct lmd_str model;
	bool chat, unload;
};

static void respond(const struct load *l)
{
	struct lmi_json_text j = {0};

	lmi_json_text_object(&j);
	lmi_ollama_put_head(&j, l->model.ptr, lmi_http_created(l->x));
	if (l->chat) {
		lmi_json_text_key(&j, "message");
		lmi_json_text_object(&j);
		lmi_http_json_put_text(&j, "role", "assistant");
		lmi_http_json_put_text(&j, "content", "");
		lmi_json_text_end(&j);
	} else {
		lmi_http_json_put_text(&j, "response", "");
	}
	lmi_http_json_put_bool(&j, "done", true);
	lmi_http_json_put_text(&j, "done_reason", l->unload ? "unload" : "load");
	lmi_json_text_end(&j);
	lmi_http_reply(l->x, 200, &j);
}

static void loaded(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		   uint32_t retry_ms)
{
	struct load *l = arg;

	if (reply)
		respond(l);
	else
		lmi_http_reply_status(l->x, err, retry_ms);
}

/* Unloads the model when nobody uses it, unless it is not in memory. */
static void found(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		  uint32_t retry_ms)
{
	struct load *l = arg;
	struct lmi_wire_request req;

	if (!reply) {
		lmi_http_reply_status(l->x, err, retry_ms);
		return;
	}
	if (!reply->u.info.has_resident) {
		respond(l);
		return;
	}
	lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
	req.u.tokenize.model = l->model;
	req.u.tokenize.has_keep_alive_ms = true;
	lmi_http_call(l->x, &req, loaded, l);
}

/* An administrator's is op unload, which waits for the end of what uses the model.  It is a job, whose stream has to be read to its end. */
static void unloading(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		      uint32_t retry_ms)
{
	struct load *l = arg;
	struct lmi_wire_request next;

	if (!reply) {
		lmi_http_reply_status(l->x, err, retry_ms);
		return;
	}
	if (reply->op == LMI_WIRE_OP_NEXT && reply->u.next.end) {
		respond(l);
		return;
	}
	lmi_wire_request_init(&next, LMI_WIRE_OP_NEXT);
	if (reply->op == LMI_WIRE_OP_NEXT) {
		next.u.next.id = reply->u.next.id;
		next.u.next.after = reply->u.next.last;
	} else {
		next.u.next.id = reply->u.unload.id;
	}
	lmi_http_call(l->x, &next, unloading, l);
}

void lmi_ollama_load(struct lmi_http_exchange *x, const json_t *body, bool chat)
{
	static const struct lmi_http_at at = {.name = "model"}, at_keep = {.name = "keep_alive"};
	const json_t *keep = lmi_http_get(body, "keep_alive");
	int64_t keep_ms;
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct lmi_wire_request req;
	struct load *l = lmi_http_alloc(&r, 1, sizeof(*l));
	struct lmd_str model = lmi_http_read_line(&r, &at, lmi_http_get(body, "model"), 1,
						  LMI_WIRE_LIMIT_PATH_BYTES);

	keep_ms = keep ? lmi_ollama_read_keep_alive(&r, &at_keep, keep) : 0;
	if (r.status != LMD_OK) {
		lmi_http_reply_invalid(x, r.param, "%s", err.text);
		return;
	}
	*l = (struct load){.x = x, .model = model, .chat = chat};
	l->unload = keep && !keep_ms;
	if (!l->unload) {
		lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
		req.u.tokenize.model = model;
		req.u.tokenize.has_keep_alive_ms = keep != NULL;
		req.u.tokenize.keep_alive_ms = keep_ms;
		lmi_http_call(x, &req, loaded, l);
	} else if (lmi_http_principal(x)->role == LMI_SVC_ROLE_ADMIN) {
		lmi_wire_request_init(&req, LMI_WIRE_OP_UNLOAD);
		req.u.unload.model = model;
		lmi_http_call(x, &req, unloading, l);
	} else {
		lmi_wire_request_init(&req, LMI_WIRE_OP_INFO);
		req.u.info.model = model;
		lmi_http_call(x, &req, found, l);
	}
}
