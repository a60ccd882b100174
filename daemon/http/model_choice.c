/* SPDX-License-Identifier: MIT
 *
 * Asks the service for the models in memory, then for those in the registry. */
#include "daemon/http/model_choice.h"

#include <string.h>

#include "core/base/arena.h"
#include "daemon/http/http_impl.h"
#include "proto/proto.h"

struct choice {
	struct lmi_http_exchange *x;
	lmi_http_model_fn fn;
	void *arg;
};

static void choose(const struct choice *c, const struct lmd_str *name)
{
	c->fn(c->x, name ? lmi_arena_strndup(c->x->arena, name->ptr, name->len) : NULL, c->arg);
}

const struct lmd_str *lmi_http_only_loaded(const struct lmi_wire_rep_ps *ps, uint32_t *n)
{
	const struct lmd_str *found = NULL;

	*n = 0;
	for (uint32_t i = 0; i < ps->n_models; i++)
		if (ps->models[i].state == LMI_WIRE_MODEL_STATE_READY ||
		    ps->models[i].state == LMI_WIRE_MODEL_STATE_LOADING) {
			found = &ps->models[i].model;
			++*n;
		}
	return *n == 1 ? found : NULL;
}

const struct lmd_str *lmi_http_only_model(const struct lmi_wire_rep_models *models)
{
	return models->n_models == 1 && !models->more ? &models->models[0].name : NULL;
}

static void on_models(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		      uint32_t retry_ms)
{
	(void)err;
	(void)retry_ms;
	choose(arg, reply ? lmi_http_only_model(&reply->u.models) : NULL);
}

static void on_ps(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		  uint32_t retry_ms)
{
	const struct lmd_str *found = NULL;
	const struct choice *c = arg;
	struct lmi_wire_request q;
	uint32_t n = 0;

	(void)err;
	(void)retry_ms;
	if (reply)
		found = lmi_http_only_loaded(&reply->u.ps, &n);
	if (n) {
		choose(c, found);
		return;
	}
	lmi_wire_request_init(&q, LMI_WIRE_OP_MODELS);
	q.u.models.max = 2;
	lmi_http_call(c->x, &q, on_models, arg);
}

void lmi_http_default_model(struct lmi_http_exchange *x, lmi_http_model_fn fn, void *arg)
{
	struct choice *c = lmi_arena_alloc(x->arena, sizeof(*c), 8);
	struct lmi_wire_request q;

	if (x->h->o.model || !c) {
		fn(x, x->h->o.model, arg);
		return;
	}
	*c = (struct choice){.x = x, .fn = fn, .arg = arg};
	lmi_wire_request_init(&q, LMI_WIRE_OP_PS);
	lmi_http_call(x, &q, on_ps, c);
}

bool lmi_http_replaces_model(const struct lmi_http_server *h, const struct lmd_str *name)
{
	return !name->len || !h->o.refuse_unknown;
}

/* ---- a request for a model ---- */

struct model_call {
	const struct lmi_wire_request *req;
	struct lmd_str *model;
	const char *name; /* for the answer */
	bool fallback;    /* the default model was looked for */
	struct lmi_http_exchange *x;
	lmi_http_model_reply_fn fn;
	void *arg;
};

static void on_model_reply(void *arg, const struct lmi_wire_reply *reply,
			   const struct lmd_error *err, uint32_t retry_ms);

static void with_default(struct lmi_http_exchange *x, const char *model, void *arg)
{
	struct model_call *c = arg;
	struct lmd_error err;

	if (model) {
		c->name = c->model->len ? c->name : model;
		*c->model = (struct lmd_str){.ptr = model, .len = strlen(model)};
		lmi_http_call(x, c->req, on_model_reply, c);
	} else if (c->model->len) {
		(void)lmd_fail(&err, LMD_NOTFOUND, "the model '%.200s' does not exist", c->name);
		lmi_http_reply_status(x, &err, 0);
	} else {
		lmi_http_reply_invalid(x, "model",
				       "is missing, and there is more than one model, or none");
	}
}

static void on_model_reply(void *arg, const struct lmi_wire_reply *reply,
			   const struct lmd_error *err, uint32_t retry_ms)
{
	struct model_call *c = arg;

	if (!reply && err->status == LMD_NOTFOUND && !c->fallback &&
	    lmi_http_replaces_model(c->x->h, c->model)) {
		c->fallback = true;
		lmi_http_default_model(c->x, with_default, c);
	} else if (!reply) {
		lmi_http_reply_status(c->x, err, retry_ms);
	} else {
		c->fn(c->x, c->name, reply, c->arg);
	}
}

void lmi_http_call_model(struct lmi_http_exchange *x, const struct lmi_wire_request *req,
			 struct lmd_str *model, lmi_http_model_reply_fn fn, void *arg)
{
	struct model_call *c = lmi_arena_alloc(x->arena, sizeof(*c), 8);

	if (!c) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	*c = (struct model_call){.req = req, .model = model, .x = x, .fn = fn, .arg = arg};
	if (!model->len) {
		c->fallback = true;
		lmi_http_default_model(x, with_default, c);
		return;
	}
	c->name = lmi_arena_strndup(x->arena, model->ptr, model->len);
	x->log_model = c->name;
	lmi_http_call(x, req, on_model_reply, c);
}
