/* SPDX-License-Identifier: MIT
 *
 * GET /v1/models and GET /v1/models/{model}: the models of the registry.  `created` is when a model
 * was added. */
#include <stdio.h>
#include <string.h>

#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/json_out.h"
#include "daemon/http/openai/openai_impl.h"

static void put_model(struct lmi_json_text *j, const struct lmi_wire_model *m)
{
	lmi_json_text_object(j);
	lmi_http_json_put_str(j, "id", m->name);
	lmi_http_json_put_text(j, "object", "model");
	lmi_http_json_put_int(j, "created", m->added);
	lmi_http_json_put_text(j, "owned_by", "llamad");
	if (m->n_aliases) {
		lmi_json_text_key(j, "aliases");
		lmi_json_text_array(j);
		for (uint32_t i = 0; i < m->n_aliases; i++)
			lmi_http_json_str(j, m->aliases[i]);
		lmi_json_text_end(j);
	}
	lmi_json_text_key(j, "meta");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "size", m->size);
	lmi_http_json_put_str(j, "architecture", m->arch);
	lmi_http_json_put_text(j, "state",
			       lmi_wire_word(&lmi_wire_words_model_state, (int)m->state));
	lmi_json_text_end(j);
	lmi_json_text_end(j);
}

static void reply_list(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
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
	for (uint32_t i = 0; i < reply->u.models.n_models; i++)
		put_model(&j, &reply->u.models.models[i]);
	lmi_json_text_end(&j);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

void lmi_openai_models(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_MODELS);
	lmi_http_call(x, &req, reply_list, x);
}

static void reply_model(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
			uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	struct lmi_json_text j = {0};

	if (!reply || !reply->u.models.n_models) {
		struct lmd_error none = {.status = LMD_NOTFOUND};

		(void)snprintf(none.text, sizeof(none.text), "there is no model %.200s",
			       lmi_http_path_member(x, "model"));
		lmi_http_reply_status(x, reply ? &none : err, retry_ms);
		return;
	}
	put_model(&j, &reply->u.models.models[0]);
	lmi_http_reply(x, 200, &j);
}

void lmi_openai_model(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_MODELS);
	req.u.models.has_model = true;
	req.u.models.model = lmi_http_str(lmi_http_path_member(x, "model"));
	lmi_http_call(x, &req, reply_model, x);
}
