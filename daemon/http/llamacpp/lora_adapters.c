/* SPDX-License-Identifier: MIT
 *
 * GET /lora-adapters: the adapters of the model of the query `model`, or else the default model.
 * Their numbers are those that the member `lora` of a request names. */
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/model_choice.h"

static void reply_adapters(struct lmi_http_exchange *x, const char *model,
			   const struct lmi_wire_reply *reply, void *arg)
{
	const struct lmi_wire_rep_info *info = &reply->u.info;
	struct lmi_json_text j = {0};

	(void)model;
	(void)arg;
	lmi_json_text_array(&j);
	for (uint32_t i = 0; info->has_resident && i < info->resident.n_adapters; i++) {
		lmi_json_text_object(&j);
		lmi_http_json_put_int(&j, "id", i);
		lmi_http_json_put_str(&j, "path", info->resident.adapters[i]);
		lmi_http_json_put_str(&j, "name", info->resident.adapters[i]);
		lmi_json_text_key(&j, "scale");
		lmi_json_text_real(&j, 0);
		lmi_json_text_end(&j);
	}
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

static void with_model(struct lmi_http_exchange *x, const char *model, void *arg)
{
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct lmi_wire_request *req;
	struct lmi_json_text j = {0};

	(void)arg;
	if (!model) {
		lmi_json_text_array(&j);
		lmi_json_text_end(&j);
		lmi_http_reply(x, 200, &j);
		return;
	}
	req = lmi_http_alloc(&r, 1, sizeof(*req));
	if (!req) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	lmi_wire_request_init(req, LMI_WIRE_OP_INFO);
	req->u.info.model = lmi_http_str(model);
	lmi_http_call_model(x, req, &req->u.info.model, reply_adapters, NULL);
}

void lmi_llamacpp_adapters(struct lmi_http_exchange *x)
{
	const char *model = lmi_http_query(x, "model");

	if (model && *model)
		with_model(x, model, NULL);
	else
		lmi_http_default_model(x, with_model, NULL);
}
