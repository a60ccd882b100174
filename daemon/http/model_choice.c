/* SPDX-License-Identifier: MIT
 *
 * Asks the service for the models in memory, then for those in the registry. */
#include "daemon/http/model_choice.h"

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

static void on_models(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		      uint32_t retry_ms)
{
	bool one = reply && reply->u.models.n_models == 1 && !reply->u.models.more;

	(void)err;
	(void)retry_ms;
	choose(arg, one ? &reply->u.models.models[0].name : NULL);
}

static void on_ps(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		  uint32_t retry_ms)
{
	const struct lmi_wire_resident *found = NULL;
	const struct choice *c = arg;
	struct lmi_wire_request q;
	uint32_t n = 0;

	(void)err;
	(void)retry_ms;
	for (uint32_t i = 0; reply && i < reply->u.ps.n_models; i++)
		if (reply->u.ps.models[i].state == LMI_WIRE_MODEL_STATE_READY ||
		    reply->u.ps.models[i].state == LMI_WIRE_MODEL_STATE_LOADING) {
			found = &reply->u.ps.models[i];
			n++;
		}
	if (n) {
		choose(c, n == 1 ? &found->model : NULL);
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
