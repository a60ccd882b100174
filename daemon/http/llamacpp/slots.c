/* SPDX-License-Identifier: MIT
 *
 * GET /slots: the places for sequences of the loaded models.  That server binds a sequence to a place;
 * here the running generations of a model, from the oldest on, are shown in its first places.  Those of
 * other users are places that are busy, and nothing more. */
#include <string.h>

#include "daemon/http/exchange.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"

static bool same(const struct lmd_str *a, const struct lmd_str *b)
{
	return a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

static int64_t n_predict(const struct lmi_wire_running_generation *g)
{
	static const struct lmd_str name = {.ptr = "n", .len = 1};

	for (uint32_t i = 0; i < g->n_settings; i++)
		if (same(&g->settings[i].name, &name))
			return (int64_t)g->settings[i].value;
	return -1;
}

static void put_generation(struct lmi_json_text *j, const struct lmi_wire_running_generation *g)
{
	int64_t n = n_predict(g);

	lmi_http_json_put_int(j, "id_task", g->number);
	lmi_http_json_put_int(j, "n_prompt_tokens", g->n_prompt);
	lmi_http_json_put_int(j, "n_past", g->n_out ? g->n_prompt + g->n_out : 0);
	lmi_json_text_key(j, "params");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "seed", g->seed);
	for (uint32_t i = 0; i < g->n_settings; i++)
		lmi_llamacpp_put_setting(j, g->settings[i].name, g->settings[i].value);
	lmi_json_text_end(j);
	lmi_json_text_key(j, "next_token");
	lmi_json_text_array(j);
	lmi_json_text_object(j);
	lmi_http_json_put_bool(j, "has_next_token", true);
	lmi_http_json_put_int(j, "n_remain", n < 0 ? -1 : n - g->n_out);
	lmi_http_json_put_int(j, "n_decoded", g->n_out);
	lmi_json_text_end(j);
	lmi_json_text_end(j);
}

/* Writes the places of one model and returns the number of those that are free. */
static int64_t put_slots(struct lmi_json_text *j, const struct lmi_wire_rep_ps *ps,
			 const struct lmi_wire_resident *m, int64_t *id)
{
	const struct lmi_wire_running_generation *g = ps->generations, *end = g + ps->n_generations;

	for (int64_t k = 0; k < m->n_seq; k++) {
		while (g < end && !same(&g->model, &m->model))
			g++;
		lmi_json_text_object(j);
		lmi_http_json_put_int(j, "id", (*id)++);
		lmi_http_json_put_str(j, "model", m->model);
		lmi_http_json_put_int(j, "n_ctx", m->n_ctx);
		lmi_http_json_put_bool(j, "speculative", g < end && g->speculative);
		lmi_http_json_put_bool(j, "is_processing", k < m->active);
		if (g < end)
			put_generation(j, g++);
		lmi_json_text_end(j);
	}
	return m->n_seq > m->active ? m->n_seq - m->active : 0;
}

static void reply_slots(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
			uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	const char *fail = lmi_http_query(x, "fail_on_no_slot");
	struct lmi_json_text j = {0};
	struct lmd_error busy;
	int64_t id = 0, n_free = 0;

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	lmi_json_text_array(&j);
	for (uint32_t i = 0; i < reply->u.ps.n_models; i++)
		n_free += put_slots(&j, &reply->u.ps, &reply->u.ps.models[i], &id);
	lmi_json_text_end(&j);
	if (id && !n_free && fail && *fail && strcmp(fail, "0") != 0) {
		lmi_json_text_fini(&j);
		(void)lmd_fail(&busy, LMD_BUSY, "no slot is free: all %lld are processing", (long long)id);
		lmi_http_reply_status(x, &busy, 0);
		return;
	}
	lmi_http_reply(x, 200, &j);
}

void lmi_llamacpp_slots(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_PS);
	req.u.ps.generations = true;
	lmi_http_call(x, &req, reply_slots, x);
}
