/* SPDX-License-Identifier: MIT
 *
 * GET /props and /models.  That server has one model, and llamad has many: /props describes
 * the model of the query `model`, or else the default model. */
#include <string.h>

#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/model_choice.h"

/* ---- GET /props ---- */

static bool has_cap(const struct lmi_wire_rep_info *info, const char *name)
{
	for (uint32_t i = 0; info && i < info->n_template_caps; i++)
		if (info->template_caps[i].len == strlen(name) &&
		    !memcmp(info->template_caps[i].ptr, name, strlen(name)))
			return true;
	return false;
}

/* Writes what the chat template supports, under the names of that server. */
static void put_caps(struct lmi_json_text *j, const struct lmi_wire_rep_info *info)
{
	static const struct {
		const char *name, *cap;
	} caps[] = {
		{"supports_string_content", "strings"},
		{"supports_typed_content", "parts"},
		{"supports_system_role", "system"},
		{"supports_tools", "tools"},
		{"supports_tool_calls", "tool_calls"},
		{"supports_parallel_tool_calls", "parallel_tool_calls"},
		{"supports_tool_responses", "tool_results"},
		{"supports_preserve_reasoning", "reasoning"},
	};

	lmi_json_text_key(j, "chat_template_caps");
	lmi_json_text_object(j);
	for (size_t i = 0; i < LMD_LEN(caps); i++)
		lmi_http_json_put_bool(j, caps[i].name, has_cap(info, caps[i].cap));
	lmi_json_text_end(j);
}

/* info: NULL if there is no model. */
static void put_props(struct lmi_json_text *j, struct lmd_str model,
		      const struct lmi_wire_resident *m, const struct lmi_wire_rep_info *info)
{
	static const struct lmd_str none = {.ptr = ""};

	lmi_json_text_object(j);
	lmi_json_text_key(j, "default_generation_settings");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "n_ctx", m ? m->n_ctx : 0);
	lmi_json_text_key(j, "params");
	lmi_json_text_object(j);
	for (uint32_t i = 0; info && i < info->n_defaults; i++)
		lmi_llamacpp_put_setting(j, info->defaults[i].name, info->defaults[i].value);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	lmi_http_json_put_int(j, "total_slots", m ? m->n_seq : 0);
	lmi_http_json_put_str(j, "model_alias", model);
	lmi_http_json_put_text(j, "model_path", "");
	lmi_http_json_put_str(j, "chat_template", info ? info->chat_template : none);
	put_caps(j, info);
	if (info && info->has_system)
		lmi_http_json_put_str(j, "system_prompt", info->system);
	lmi_json_text_key(j, "modalities");
	lmi_json_text_object(j);
	lmi_http_json_put_bool(j, "vision", info && info->vision);
	lmi_http_json_put_bool(j, "audio", false);
	lmi_json_text_end(j);
	lmi_http_json_put_bool(j, "endpoint_slots", true);
	lmi_http_json_put_bool(j, "endpoint_props", false);
	lmi_http_json_put_text(j, "build_info", "llamad");
	lmi_http_json_put_bool(j, "is_sleeping", !m);
	lmi_json_text_end(j);
}

static void reply_info(struct lmi_http_exchange *x, const char *model,
		       const struct lmi_wire_reply *reply, void *arg)
{
	const struct lmi_wire_rep_info *info = &reply->u.info;
	struct lmi_json_text j = {0};

	(void)model;
	(void)arg;
	put_props(&j, info->model.name, info->has_resident ? &info->resident : NULL, info);
	lmi_http_reply(x, 200, &j);
}

static void call_info(struct lmi_http_exchange *x, const char *model)
{
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct lmi_wire_request *req = lmi_http_alloc(&r, 1, sizeof(*req));

	if (!req) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	lmi_wire_request_init(req, LMI_WIRE_OP_INFO);
	req->u.info.model = lmi_http_str(model);
	req->u.info.template_caps = true;
	lmi_http_call_model(x, req, &req->u.info.model, reply_info, NULL);
}

static void with_default(struct lmi_http_exchange *x, const char *model, void *arg)
{
	static const struct lmd_str none = {.ptr = ""};
	struct lmi_json_text j = {0};

	(void)arg;
	if (model) {
		call_info(x, model);
		return;
	}
	put_props(&j, none, NULL, NULL);
	lmi_http_reply(x, 200, &j);
}

/* A server without a model has properties as well. */
void lmi_llamacpp_props(struct lmi_http_exchange *x)
{
	const char *model = lmi_http_query(x, "model");

	if (model && *model)
		call_info(x, model);
	else
		lmi_http_default_model(x, with_default, NULL);
}

/* ---- GET /models ---- */

static const char *status_of(enum lmi_wire_model_state state)
{
	switch (state) {
	case LMI_WIRE_MODEL_STATE_LOADING:
		return "loading";
	case LMI_WIRE_MODEL_STATE_READY:
	case LMI_WIRE_MODEL_STATE_DRAINING:
		return "loaded";
	case LMI_WIRE_MODEL_STATE_FAILED:
	case LMI_WIRE_MODEL_STATE_QUARANTINED:
		return "failed";
	case LMI_WIRE_MODEL_STATE_UNKNOWN:
	case LMI_WIRE_MODEL_STATE_ABSENT:
	case LMI_WIRE_MODEL_STATE_UNLOADING:
		break;
	}
	return "unloaded";
}

static void reply_models(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
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
	for (uint32_t i = 0; i < reply->u.models.n_models; i++) {
		const struct lmi_wire_model *m = &reply->u.models.models[i];

		lmi_json_text_object(&j);
		lmi_http_json_put_str(&j, "id", m->name);
		lmi_http_json_put_text(&j, "object", "model");
		lmi_http_json_put_text(&j, "owned_by", "llamad");
		lmi_http_json_put_int(&j, "created", m->added);
		lmi_json_text_key(&j, "status");
		lmi_json_text_object(&j);
		lmi_http_json_put_text(&j, "value", status_of(m->state));
		lmi_json_text_end(&j);
		lmi_json_text_key(&j, "meta");
		lmi_json_text_object(&j);
		lmi_http_json_put_int(&j, "size", m->size);
		lmi_json_text_end(&j);
		lmi_json_text_end(&j);
	}
	lmi_json_text_end(&j);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

void lmi_llamacpp_models(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_MODELS);
	lmi_http_call(x, &req, reply_models, x);
}
