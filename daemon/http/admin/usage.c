/* SPDX-License-Identifier: MIT
 *
 * GET /v1/usage: what was used per principal, model and day. */
#include <string.h>

#include "core/base/json_text.h"
#include "daemon/http/admin/admin.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_out.h"
#include "proto/proto.h"

static void put_row(struct lmi_json_text *j, const struct lmi_wire_usage_row *r)
{
	lmi_json_text_object(j);
	lmi_http_json_put_str(j, "date", r->date);
	lmi_http_json_put_str(j, "principal", r->principal);
	lmi_http_json_put_str(j, "model", r->model);
	lmi_http_json_put_int(j, "requests", r->n_request);
	lmi_http_json_put_int(j, "prompt_tokens", r->n_prompt);
	lmi_http_json_put_int(j, "cached_tokens", r->n_cached);
	lmi_http_json_put_int(j, "generated_tokens", r->n_out);
	lmi_http_json_put_int(j, "queue_ms", r->queue_ms);
	lmi_http_json_put_int(j, "run_ms", r->run_ms);
	lmi_http_json_put_int(j, "work_ms", r->work_ms);
	lmi_json_text_end(j);
}

static void answer(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		   uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	struct lmi_json_text j = {0};

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "object", "list");
	lmi_json_text_key(&j, "data");
	lmi_json_text_array(&j);
	for (uint32_t i = 0; i < reply->u.usage.n_usage; i++)
		put_row(&j, &reply->u.usage.usage[i]);
	lmi_json_text_end(&j);
	lmi_http_json_put_bool(&j, "has_more", reply->u.usage.more);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

/* Takes a member of the query; returns whether it is there. */
static bool take(struct lmi_http_exchange *x, const char *name, struct lmd_str *out)
{
	const char *text = lmi_http_query(x, name);

	if (text)
		*out = (struct lmd_str){.ptr = text, .len = strlen(text)};
	return text != NULL;
}

void lmi_http_admin_usage(struct lmi_http_exchange *x)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_USAGE);
	q.u.usage.has_since = take(x, "since", &q.u.usage.since);
	q.u.usage.has_principal = take(x, "principal", &q.u.usage.principal);
	q.u.usage.has_model = take(x, "model", &q.u.usage.model);
	lmi_http_call(x, &q, answer, x);
}
