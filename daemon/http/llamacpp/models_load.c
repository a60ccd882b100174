/* SPDX-License-Identifier: MIT
 *
 * POST /models/load and /models/unload of a server with several models. A load is answered when the model is
 * in memory, and an unload when it has begun. */
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"

static void done(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		 uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	struct lmi_json_text j = {0};

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	lmi_json_text_object(&j);
	lmi_http_json_put_bool(&j, "success", true);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

/* Reads the name of the model; returns false after it has refused the body. */
static bool read_model(struct lmi_http_exchange *x, struct lmd_str *out)
{
	static const struct lmi_http_at at = {.name = "model"};
	const json_t *body = lmi_http_body_object(x);
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};

	if (!body)
		return false;
	*out = lmi_http_read_line(&r, &at, lmi_http_get(body, "model"), 1, LMI_WIRE_LIMIT_NAME_BYTES);
	if (r.status == LMD_OK)
		return true;
	lmi_http_reply_invalid(x, r.param, "%s", err.text);
	return false;
}

/* A request for tokens of a model waits until it is in memory. */
void lmi_llamacpp_model_load(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
	if (read_model(x, &req.u.tokenize.model))
		lmi_http_call(x, &req, done, x);
}

void lmi_llamacpp_model_unload(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_UNLOAD);
	if (read_model(x, &req.u.unload.model))
		lmi_http_call(x, &req, done, x);
}
