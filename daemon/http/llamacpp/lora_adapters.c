/* SPDX-License-Identifier: MIT
 *
 * /lora-adapters: the adapters of the model of the query `model`, or else the default model. Their numbers
 * are those that the member `lora` of a request names. POST sets the adapters of requests that name
 * none; an empty list stands for those of the configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/lora_list.h"
#include "daemon/http/model_choice.h"

/* Returns the scale that the chosen adapters "NAME[:SCALE],..." have for a name or its number. */
static double chosen_scale(const struct lmi_wire_rep_adapters *r, uint32_t i)
{
	const char *p = r->chosen.ptr, *end = p + r->chosen.len;

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
		const char *colon = memchr(p, ':', (size_t)(stop - p)), *tail = colon ? colon : stop;
		size_t n = (size_t)(tail - p);
		char text[32], *rest;

		(void)snprintf(text, sizeof(text), "%.*s", (int)(n < 31 ? n : 31), p);
		if ((r->adapters[i].name.len == n && !memcmp(r->adapters[i].name.ptr, p, n)) ||
		    (n && strtoul(text, &rest, 10) == i && !*rest)) {
			(void)snprintf(text, sizeof(text), "%.*s",
				       (int)(colon && stop - colon < 31 ? stop - colon - 1 : 0),
				       colon ? colon + 1 : "");
			return colon ? strtod(text, NULL) : 1;
		}
		p = stop + 1;
	}
	return 0;
}

static void reply_adapters(struct lmi_http_exchange *x, const char *model,
			   const struct lmi_wire_reply *reply, void *arg)
{
	const struct lmi_wire_rep_adapters *r = &reply->u.adapters;
	struct lmi_json_text j = {0};

	(void)model;
	(void)arg;
	lmi_json_text_array(&j);
	for (uint32_t i = 0; i < r->n_adapters; i++) {
		const struct lmi_wire_adapter *a = &r->adapters[i];

		lmi_json_text_object(&j);
		lmi_http_json_put_int(&j, "id", i);
		lmi_http_json_put_str(&j, "path", a->path.len ? a->path : a->name);
		lmi_http_json_put_str(&j, "name", a->name);
		lmi_json_text_key(&j, "scale");
		lmi_json_text_real(&j, chosen_scale(r, i));
		lmi_json_text_end(&j);
	}
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

static void list_of_model(struct lmi_http_exchange *x, const char *model, void *arg)
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
	lmi_wire_request_init(req, LMI_WIRE_OP_ADAPTERS);
	req->u.adapters.model = lmi_http_str(model);
	lmi_http_call_model(x, req, &req->u.adapters.model, reply_adapters, NULL);
}

static void with_model(struct lmi_http_exchange *x, lmi_http_model_fn fn, void *arg)
{
	const char *model = lmi_http_query(x, "model");

	if (model && *model)
		fn(x, model, arg);
	else
		lmi_http_default_model(x, fn, arg);
}

void lmi_llamacpp_adapters(struct lmi_http_exchange *x)
{
	with_model(x, list_of_model, NULL);
}

/* ---- POST ---- */

static void reply_set(struct lmi_http_exchange *x, const char *model,
		      const struct lmi_wire_reply *reply, void *arg)
{
	struct lmi_json_text j = {0};

	(void)model;
	(void)reply;
	(void)arg;
	lmi_json_text_object(&j);
	lmi_json_text_key(&j, "success");
	lmi_json_text_bool(&j, true);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

static void set_of_model(struct lmi_http_exchange *x, const char *model, void *arg)
{
	struct lmi_wire_request *req = arg;

	if (!model) {
		lmi_http_reply_invalid(x, "model", "is missing, and there is no default model");
		return;
	}
	req->u.adapter_set.model = lmi_http_str(model);
	lmi_http_call_model(x, req, &req->u.adapter_set.model, reply_set, NULL);
}

/* Returns the adapters of the list.  Where it gives all of them the scale 0, that is not the empty text, which
 * would mean those of the configuration. */
static struct lmd_str chosen_of(struct lmi_http_reader *r, const json_t *list)
{
	struct lmd_str s = lmi_http_read_lora(r, NULL, list);
	char *text;

	if (r->status != LMD_OK || s.len || !json_array_size(list))
		return s;
	text = lmi_http_alloc(r, 16, 1);
	if (text) {
		s.ptr = text;
		s.len = (size_t)snprintf(text, 16, "%d:0",
					 (int)json_integer_value(json_object_get(json_array_get(list, 0), "id")));
	}
	return s;
}

void lmi_llamacpp_adapters_set(struct lmi_http_exchange *x)
{
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	const json_t *body = lmi_http_body_list(x);
	struct lmi_wire_request *req;

	if (!body)
		return;
	req = lmi_http_alloc(&r, 1, sizeof(*req));
	if (req) {
		lmi_wire_request_init(req, LMI_WIRE_OP_ADAPTER_SET);
		req->u.adapter_set.has_chosen = true;
		req->u.adapter_set.chosen = chosen_of(&r, body);
	}
	if (r.status != LMD_OK)
		lmi_http_reply_status(x, &err, 0);
	else
		with_model(x, set_of_model, req);
}
