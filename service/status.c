/* SPDX-License-Identifier: MIT
 *
 * The ops hello, ping, status, limits and ps, and those on the process: drain, shutdown,
 * config_reload. */
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "service/call.h"
#include "service/generate.h"
#include "service/limits.h"
#include "service/model.h"
#include "service/model_status.h"
#include "service/ops.h"
#include "service/quota.h"
#include "service/request.h"
#include "service/service.h"
#include "service/service_state.h"

/* ---- limits ---- */

static const struct lmi_svc_limit *own_limit(const char *name)
{
	for (uint32_t i = 0; i < lmi_svc_n_limits; i++)
		if (!strcmp(lmi_svc_limits[i].name, name))
			return &lmi_svc_limits[i];
	return NULL;
}

static bool is_wire_limit(const char *name)
{
	for (uint32_t i = 0; i < LMI_WIRE_N_LIMIT; i++)
		if (!strcmp(lmi_wire_limit_rows[i].name, name))
			return true;
	return false;
}

/* Lists the limits of the protocol with this server's values, then those of the service.  A limit
 * with a deprecated name appears under both names. */
static enum lmd_status list_limits(const struct lmi_service *svc, struct lmi_wire_limit **out,
				   uint32_t *n, struct lmd_error *err)
{
	struct lmi_wire_limit *v = lmi_alloc(LMI_WIRE_N_LIMIT + 2 * lmi_svc_n_limits, sizeof(*v));
	uint32_t k = 0;

	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for a list of limits");
	for (uint32_t i = 0; i < LMI_WIRE_N_LIMIT; i++) {
		const struct lmi_wire_limit_row *row = &lmi_wire_limit_rows[i];
		const struct lmi_svc_limit *own = own_limit(row->name);

		v[k++] = (struct lmi_wire_limit){
			.name = lmi_svc_str(row->name),
			.unit = lmi_svc_str(row->unit),
			.value = own ? (int64_t)lmi_svc_limit_get(&svc->limits, own) : row->value};
	}
	for (uint32_t i = 0; i < lmi_svc_n_limits; i++) {
		const struct lmi_svc_limit *own = &lmi_svc_limits[i];
		const char *const names[] = {own->name, own->old_name};

		for (uint32_t j = 0; j < LMD_LEN(names) && names[j]; j++)
			if (!is_wire_limit(names[j]))
				v[k++] = (struct lmi_wire_limit){
					.name = lmi_svc_str(names[j]),
					.unit = lmi_svc_str(own->unit),
					.value = (int64_t)lmi_svc_limit_get(&svc->limits, own)};
	}
	*out = v;
	*n = k;
	return LMD_OK;
}

enum lmd_status lmi_svc_do_limits(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	struct lmi_wire_limit *v;
	struct lmi_wire_reply r;
	uint32_t n;
	enum lmd_status st = list_limits(a->svc, &v, &n, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	lmi_wire_reply_init(&r, a->req);
	r.u.limits.limits = v;
	r.u.limits.n_limits = n;
	(void)lmi_svc_reply_send(a, &r);
	lmi_free(v);
	return LMD_OK;
}

/* ---- hello, ping, status ---- */

static enum lmi_wire_role role_of(const struct lmi_svc_principal *principal)
{
	return principal->role == LMI_SVC_ROLE_ADMIN ? LMI_WIRE_ROLE_ADMIN : LMI_WIRE_ROLE_USER;
}

enum lmd_status lmi_svc_do_hello(struct lmi_svc_request *a, uint32_t *retry_ms,
				 struct lmd_error *err)
{
	struct lmd_str features[LMI_WIRE_N_OP];
	struct lmi_wire_limit *v;
	struct lmi_wire_reply r;
	uint32_t n, n_feature = 0;
	enum lmd_status st = list_limits(a->svc, &v, &n, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	lmi_wire_reply_init(&r, a->req);
	for (int op = LMI_WIRE_OP_NONE + 1; op < LMI_WIRE_N_OP; op++)
		if (lmi_wire_ops[op].role != LMI_WIRE_ROLE_ADMIN ||
		    a->principal.role == LMI_SVC_ROLE_ADMIN)
			features[n_feature++] = lmi_svc_str(lmi_wire_ops[op].name);
	r.u.hello.server = lmi_svc_str("llamad");
	r.u.hello.version = lmi_svc_str(a->svc->o.version);
	r.u.hello.v_min = LMI_WIRE_V_MIN;
	r.u.hello.v_max = LMI_WIRE_V;
	r.u.hello.revision = LMI_WIRE_REVISION;
	r.u.hello.boot = a->svc->boot;
	r.u.hello.role = role_of(&a->principal);
	r.u.hello.features = features;
	r.u.hello.n_features = n_feature;
	r.u.hello.limits = v;
	r.u.hello.n_limits = n;
	(void)lmi_svc_reply_send(a, &r);
	lmi_free(v);
	return LMD_OK;
}

enum lmd_status lmi_svc_do_ping(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	struct lmi_wire_reply r;

	(void)retry_ms;
	(void)err;
	lmi_wire_reply_init(&r, a->req);
	r.u.ping.state = lmi_service_state(a->svc);
	r.u.ping.uptime_ms = (int64_t)((a->now - a->svc->start_ns) / LMI_NS_PER_MS);
	return lmi_svc_reply_send(a, &r);
}

/* ---- models in memory ---- */

static enum lmd_status list_generations(const struct lmi_svc_request *a, struct lmi_wire_reply *r,
					struct lmd_arena **arena, struct lmd_error *err)
{
	const struct lmi_service *svc = a->svc;
	struct lmi_wire_running_generation *v;

	*arena = lmi_arena_create(0);
	v = *arena ? lmi_arena_array(*arena, LMI_SVC_RUNNING_MAX, sizeof(*v)) : NULL;
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for a list of generations");
	r->u.ps.generations = v;
	for (const struct lmi_svc_loaded_model *m = svc->loaded_models; m; m = m->next)
		r->u.ps.n_generations += lmi_svc_generate_running(
			svc, m, &a->principal, v + r->u.ps.n_generations,
			LMI_SVC_RUNNING_MAX - r->u.ps.n_generations, *arena);
	return LMD_OK;
}

enum lmd_status lmi_svc_do_ps(struct lmi_svc_request *a, uint32_t *retry_ms,
			      struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmd_arena *arena = NULL;
	struct lmi_wire_resident *v;
	struct lmi_wire_reply r;
	uint32_t n = 0, n_max = svc->n_loaded_model + 1;
	enum lmd_status st = LMD_OK;

	(void)retry_ms;
	for (const struct lmi_svc_model *m = svc->models; m; m = m->next)
		n_max++;
	v = lmi_alloc(n_max, sizeof(*v));
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u models", n_max);
	for (const struct lmi_svc_loaded_model *res = svc->loaded_models; res; res = res->next)
		if (lmi_svc_quota_allows(svc, &a->principal, lmi_svc_model_name(res->model), NULL))
			lmi_svc_fill_resident(svc, res, &v[n++]);
	for (const struct lmi_svc_model *m = svc->models; m; m = m->next)
		if (lmi_svc_quota_allows(svc, &a->principal, lmi_svc_model_name(m), NULL))
			n += lmi_svc_fill_waiting(svc, m, &v[n]);
	lmi_wire_reply_init(&r, a->req);
	r.u.ps.models = v;
	r.u.ps.n_models = n;
	if (a->req->u.ps.generations)
		st = list_generations(a, &r, &arena, err);
	if (st == LMD_OK)
		(void)lmi_svc_reply_send(a, &r);
	lmi_arena_destroy(arena);
	lmi_free(v);
	return st;
}

/* ---- status: the number of models and the notice are read from the registry ---- */

struct registry_state {
	uint32_t n_model;
	const char *notice; /* NULL: none */
};

static void read_registry(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct lmi_store_models m = {0};
	const struct lmi_store_report *r;
	struct registry_state *s =
		lmi_arena_alloc(c->request.arena, sizeof(*s), _Alignof(struct registry_state));

	if (!s) {
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for a call");
		return;
	}
	*s = (struct registry_state){0};
	c->data = s;
	c->err.status = lmi_store_model_list(c->request.svc->o.store, &m, &c->err);
	s->n_model = m.n;
	lmi_store_models_fini(&m);
	r = lmi_store_replacement(c->request.svc->o.store);
	if (r)
		s->notice = lmi_arena_printf(c->request.arena,
					     "the registry was damaged (%s); a new one has the %llu "
					     "rows that could be read; the old one is %s/%s",
					     r->reason, (unsigned long long)r->n_rows_kept,
					     lmi_store_dir(c->request.svc->o.store), r->moved_to);
}

/* Lists the addresses of HTTP; a client on another machine is not told of sockets in this one's folders. */
static void fill_http(const struct lmi_svc_call *c,
		      char addresses[LMI_SERVICE_ADDRESSES][LMI_SERVICE_ADDRESS_BYTES],
		      struct lmd_str list[LMI_SERVICE_ADDRESSES], struct lmi_wire_rep_status *out)
{
	const struct lmi_service_hooks *h = &c->request.svc->hooks;
	uint32_t n = h->http_addresses ? h->http_addresses(h->arg, addresses) : 0;

	out->http = list;
	for (uint32_t i = 0; i < n; i++)
		if (!c->request.principal.remote || strncmp(addresses[i], "unix:", 5) != 0)
			list[out->n_http++] = lmi_svc_str(addresses[i]);
}

static void answer_status(struct lmi_svc_call *c)
{
	char addresses[LMI_SERVICE_ADDRESSES][LMI_SERVICE_ADDRESS_BYTES];
	const struct registry_state *s = c->data;
	struct lmi_service *svc = c->request.svc;
	struct lmd_str http[LMI_SERVICE_ADDRESSES];
	struct lmi_wire_reply r;

	if (c->err.status != LMD_OK) {
		lmi_svc_request_fail(&c->request, &c->err, 0);
		lmi_svc_call_destroy(c);
		return;
	}
	lmi_wire_reply_init(&r, c->request.req);
	r.u.status.state = lmi_service_state(svc);
	r.u.status.version = lmi_svc_str(svc->o.version);
	r.u.status.pid = getpid();
	r.u.status.uptime_ms = (int64_t)((svc->now - svc->start_ns) / LMI_NS_PER_MS);
	r.u.status.models = s ? s->n_model : 0;
	r.u.status.has_notice = s && s->notice;
	if (r.u.status.has_notice)
		r.u.status.notice = lmi_svc_str(s->notice);
	fill_http(c, addresses, http, &r.u.status);
	r.u.status.running = svc->held.n_running;
	r.u.status.waiting = svc->held.n_waiting;
	r.u.status.streams = svc->streams.n;
	r.u.status.connections =
		svc->hooks.n_connection ? svc->hooks.n_connection(svc->hooks.arg) : 0;
	for (const struct lmi_svc_loaded_model *res = svc->loaded_models; res; res = res->next) {
		struct lmi_wire_resident row;

		lmi_svc_fill_resident(svc, res, &row);
		r.u.status.resident += res->state == LMI_SVC_MODEL_READY ||
				       res->state == LMI_SVC_MODEL_DRAINING;
		r.u.status.memory_bytes += row.weight_bytes + row.kv_bytes + row.scratch_bytes;
	}
	r.u.status.memory_limit = (int64_t)svc->o.inst.memory_limit;
	lmi_svc_request_reply(&c->request, &r);
	lmi_svc_call_destroy(c);
}

enum lmd_status lmi_svc_do_status(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = lmi_svc_call_create(&c, a, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	c->done = answer_status;
	if (!a->svc->o.store) {
		answer_status(c);
		return LMD_OK;
	}
	st = lmi_svc_call_submit(c, a->svc->o.registry, read_registry, err);
	if (st != LMD_OK)
		lmi_svc_call_destroy(c);
	return st;
}

/* ---- the process ---- */

enum lmd_status lmi_svc_do_drain(struct lmi_svc_request *a, uint32_t *retry_ms,
				 struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmi_wire_reply r;

	(void)retry_ms;
	if (!a->req->u.drain.on && svc->stopping)
		return lmd_fail(err, LMD_CANCELLED, "shutting down");
	lmi_wire_reply_init(&r, a->req);
	r.u.drain.running = svc->held.n_running;
	r.u.drain.waiting = svc->held.n_waiting;
	if (a->req->u.drain.on) {
		lmi_service_close(svc);
		lmi_svc_generate_fail_queued(svc, a->now);
	} else {
		lmi_service_open(svc);
	}
	return lmi_svc_reply_send(a, &r);
}

enum lmd_status lmi_svc_do_shutdown(struct lmi_svc_request *a, uint32_t *retry_ms,
				    struct lmd_error *err)
{
	const struct lmi_wire_req_shutdown *q = &a->req->u.shutdown;
	struct lmi_service *svc = a->svc;
	struct lmi_wire_reply r;

	(void)retry_ms;
	if (!svc->hooks.shutdown)
		return lmd_fail(err, LMD_UNSUPPORTED, "this program does not support op shutdown");
	lmi_service_close(svc);
	lmi_wire_reply_init(&r, a->req);
	r.u.shutdown.running = svc->held.n_running;
	(void)lmi_svc_reply_send(a, &r);
	svc->hooks.shutdown(svc->hooks.arg, q->has_drain_ms ? q->drain_ms : -1);
	return LMD_OK;
}

enum lmd_status lmi_svc_do_config_reload(struct lmi_svc_request *a, uint32_t *retry_ms,
					 struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmi_svc_config_change c = {0};
	struct lmi_wire_reply r;
	enum lmd_status st;

	(void)retry_ms;
	if (!svc->hooks.config_reload)
		return lmd_fail(err, LMD_UNSUPPORTED, "this program has no configuration");
	st = svc->hooks.config_reload(svc->hooks.arg, &c, err);
	if (st != LMD_OK)
		return st;
	lmi_wire_reply_init(&r, a->req);
	r.u.config_reload.changed = c.changed;
	r.u.config_reload.n_changed = c.n_changed;
	r.u.config_reload.restart = c.restart;
	r.u.config_reload.n_restart = c.n_restart;
	return lmi_svc_reply_send(a, &r);
}
