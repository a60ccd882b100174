/* SPDX-License-Identifier: MIT
 *
 * Health, readiness and version. */
#include <string.h>

#include "daemon/http/admin/admin.h"
#include "daemon/http/http_impl.h"
#include "proto/proto.h"

void lmi_http_admin_live(struct lmi_http_exchange *x)
{
	lmi_http_reply_text(x, 200, "text/plain", "ok\n", 3);
}

void lmi_http_admin_ping(struct lmi_http_exchange *x)
{
	lmi_http_reply_text(x, 200, "text/plain", "pong\n", 5);
}

void lmi_http_admin_version(struct lmi_http_exchange *x)
{
	struct lmi_json_text j = {0};

	lmi_json_text_object(&j);
	lmi_json_text_key(&j, "version");
	lmi_json_text_str(&j, x->h->o.version);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

static void not_ready(struct lmi_http_exchange *x, const struct lmi_wire_reply *reply)
{
	const struct lmi_http_error e = {.code = 503,
					 .cause = LMD_BUSY,
					 .text = reply && reply->u.ping.state ==
								  LMI_WIRE_SERVER_STATE_STARTING
							 ? "the server is starting"
							 : "the server is shutting down",
					 .retry_ms = 1000};

	lmi_http_reply_error(x, &e);
}

/* The number of generations that run or wait. */
static void answer_load(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
			uint32_t retry_ms)
{
	struct lmi_json_text j = {0};

	if (!reply) {
		lmi_http_reply_status(arg, err, retry_ms);
		return;
	}
	lmi_json_text_object(&j);
	lmi_json_text_key(&j, "server_load");
	lmi_json_text_int(&j, reply->u.status.running + reply->u.status.waiting);
	lmi_json_text_end(&j);
	lmi_http_reply(arg, 200, &j);
}

void lmi_http_admin_load(struct lmi_http_exchange *x)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_STATUS);
	lmi_http_call(x, &q, answer_load, x);
}

static bool is_ready(const struct lmi_wire_reply *reply)
{
	return reply && reply->u.ping.state == LMI_WIRE_SERVER_STATE_READY;
}

static void answer_ready(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
			 uint32_t retry_ms)
{
	(void)err;
	(void)retry_ms;
	if (is_ready(reply))
		lmi_http_admin_live(arg);
	else
		not_ready(arg, reply);
}

static void answer_health(void *arg, const struct lmi_wire_reply *reply,
			  const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_json_text j = {0};

	(void)err;
	(void)retry_ms;
	if (!is_ready(reply)) {
		not_ready(arg, reply);
		return;
	}
	lmi_json_text_object(&j);
	lmi_json_text_key(&j, "status");
	lmi_json_text_str(&j, "ok");
	lmi_json_text_end(&j);
	lmi_http_reply(arg, 200, &j);
}

static void ask(struct lmi_http_exchange *x, lmi_svc_reply_fn answer)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_PING);
	lmi_http_call(x, &q, answer, x);
}

void lmi_http_admin_ready(struct lmi_http_exchange *x)
{
	ask(x, answer_ready);
}

void lmi_http_admin_health(struct lmi_http_exchange *x)
{
	ask(x, answer_health);
}
