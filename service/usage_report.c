/* SPDX-License-Identifier: MIT
 *
 * The op usage.  What is in memory is written first, so that the rows are up to date. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/printable.h"
#include "service/call.h"
#include "service/ops.h"
#include "service/quota.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/usage.h"

#define DAY_S 86400

struct report {
	char principal[128 + 1], model[LMI_STORE_NAME_MAX + 1], key[LMI_STORE_DIGEST_HEX];
	struct lmi_store_usage_filter filter;
	struct lmi_store_usages found;
};

static void end(struct lmi_svc_call *c)
{
	struct report *p = c->data;

	lmi_store_usages_fini(&p->found);
	lmi_svc_call_destroy(c);
}

static void run(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct report *p = c->data;

	c->err.status = lmi_store_usage_list(c->request.svc->o.store, &p->filter, &p->found, &c->err);
}

static struct lmd_str date_of(struct lmd_arena *arena, int32_t day)
{
	time_t t = (time_t)day * DAY_S;
	struct tm tm;

	if (!gmtime_r(&t, &tm))
		return lmi_svc_str("");
	return lmi_svc_str(lmi_arena_printf(arena, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
					    tm.tm_mday));
}

static enum lmd_status fill(struct lmi_svc_call *c, struct lmi_wire_reply *r)
{
	const struct lmi_store_usages *u = &((const struct report *)c->data)->found;
	struct lmi_wire_usage_row *v = lmi_arena_array(c->request.arena, u->n + 1u, sizeof(*v));

	if (!v)
		return lmd_fail(&c->err, LMD_NOMEM, "no memory for %u rows", u->n);
	for (uint32_t i = 0; i < u->n; i++)
		v[i] = (struct lmi_wire_usage_row){
			.date = date_of(c->request.arena, u->v[i].day),
			.principal = lmi_svc_str(u->v[i].principal),
			.model = lmi_svc_str(u->v[i].model),
			.n_request = (int64_t)u->v[i].n_request,
			.n_prompt = (int64_t)u->v[i].n_prompt,
			.n_cached = (int64_t)u->v[i].n_cached,
			.n_out = (int64_t)u->v[i].n_out,
			.queue_ms = (int64_t)(u->v[i].queue_ns / LMI_NS_PER_MS),
			.run_ms = (int64_t)(u->v[i].run_ns / LMI_NS_PER_MS),
			.work_ms = (int64_t)(u->v[i].work_ns / LMI_NS_PER_MS),
		};
	r->u.usage.usage = v;
	r->u.usage.n_usage = u->n;
	r->u.usage.more = u->more;
	return LMD_OK;
}

static void answer(struct lmi_svc_call *c)
{
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, c->request.req);
	if (c->err.status == LMD_OK)
		c->err.status = fill(c, &r);
	if (c->err.status == LMD_OK)
		lmi_svc_request_reply(&c->request, &r);
	else
		lmi_svc_request_fail(&c->request, &c->err, 0);
	end(c);
}

/* Parses YYYY-MM-DD. */
static enum lmd_status parse_day(const struct lmd_str *text, int32_t *day, struct lmd_error *err)
{
	char date[11] = "", shown[40], tail;
	struct tm tm = {0};
	time_t t = -1;

	if (text->len == 10) {
		memcpy(date, text->ptr, 10);
		if (strspn(date, "0123456789-") == 10 &&
		    sscanf(date, "%4d-%2d-%2d%c", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tail) == 3) {
			const struct tm in = tm;

			tm.tm_year -= 1900;
			tm.tm_mon--;
			t = timegm(&tm);
			if (tm.tm_mday != in.tm_mday || tm.tm_mon != in.tm_mon - 1)
				t = -1; /* such as February 30 */
		}
	}
	if (t < 0)
		return lmd_fail(err, LMD_INVALID,
				"since: '%s' is not a day from 1970-01-01 on, as YYYY-MM-DD",
				lmi_printable(shown, sizeof(shown), text->ptr, text->len));
	*day = (int32_t)(t / DAY_S);
	return LMD_OK;
}

static enum lmd_status set_filter(struct report *p, const struct lmi_svc_request *a,
				  struct lmd_error *err)
{
	const struct lmi_wire_req_usage *q = &a->req->u.usage;
	char own[LMI_SVC_USAGE_PRINCIPAL];

	p->filter.max = LMI_WIRE_LIMIT_ROWS;
	if (q->has_principal) {
		(void)snprintf(p->principal, sizeof(p->principal), "%.*s", (int)q->principal.len,
			       q->principal.ptr);
		p->filter.principal = p->principal;
	}
	if (a->principal.role != LMI_SVC_ROLE_ADMIN) {
		lmi_svc_usage_principal(own, &a->principal);
		if (q->has_principal && strcmp(own, p->principal) != 0)
			return lmd_fail(err, LMD_DENIED,
					"principal: only admins see the usage of others; yours is '%s'",
					own);
		(void)snprintf(p->principal, sizeof(p->principal), "%s", own);
		(void)snprintf(p->key, sizeof(p->key), "%s", lmi_svc_quota_key(a->svc, &a->principal));
		p->filter.principal = p->principal;
		p->filter.key = p->key;
	}
	if (q->has_model) {
		(void)snprintf(p->model, sizeof(p->model), "%.*s", (int)q->model.len, q->model.ptr);
		p->filter.model = p->model;
	}
	return q->has_since ? parse_day(&q->since, &p->filter.first, err) : LMD_OK;
}

enum lmd_status lmi_svc_do_usage(struct lmi_svc_request *a, uint32_t *retry_ms,
				 struct lmd_error *err)
{
	struct lmi_svc_call *c;
	struct report *p;
	enum lmd_status st;

	(void)retry_ms;
	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	p = lmi_arena_array(c->request.arena, 1, sizeof(*p));
	c->data = p;
	if (!p) {
		lmi_svc_call_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	st = set_filter(p, a, err);
	if (st == LMD_OK) {
		lmi_svc_usage_flush(a->svc, a->now);
		c->done = answer;
		st = lmi_svc_call_submit(c, a->svc->o.registry, run, err);
	}
	if (st != LMD_OK)
		end(c);
	return st;
}
