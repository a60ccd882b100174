/* SPDX-License-Identifier: MIT
 *
 * Usage: rows in memory, and the jobs that add them to the registry.  A batch that cannot be written
 * is added to the rows in memory again, and written with the next one. */
#include "service/usage.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/generate_work.h"
#include "service/quota.h"
#include "service/service_state.h"

struct lmi_svc_usage_row {
	struct lmi_svc_usage_row *next;
	char principal[LMI_SVC_USAGE_PRINCIPAL], model[LMI_STORE_NAME_MAX + 1];
	char key[LMI_STORE_DIGEST_HEX];
	int32_t day;
	struct lmi_svc_used used;
};

struct batch {
	struct lmi_job job;
	struct lmi_service *svc;
	struct lmi_svc_usage_row *rows;
	struct lmi_store_usage *v; /* [n] */
	uint32_t n;
	int32_t forget; /* delete the rows before this day; 0: none */
	struct lmd_error err;
};

void lmi_svc_usage_principal(char out[LMI_SVC_USAGE_PRINCIPAL],
			     const struct lmi_svc_principal *principal)
{
	const struct lmi_svc_owner o = lmi_svc_owner_of(principal);

	if (*o.key_label)
		(void)snprintf(out, LMI_SVC_USAGE_PRINCIPAL, "key:%s", o.key_label);
	else if (o.uid == UINT32_MAX)
		(void)snprintf(out, LMI_SVC_USAGE_PRINCIPAL, "local");
	else
		(void)snprintf(out, LMI_SVC_USAGE_PRINCIPAL, "uid:%u", o.uid);
}

/* ---- rows ---- */

static void sum(struct lmi_svc_used *to, const struct lmi_svc_used *d)
{
	to->n_request += d->n_request;
	to->n_prompt += d->n_prompt;
	to->n_cached += d->n_cached;
	to->n_out += d->n_out;
	to->queue_ns += d->queue_ns;
	to->run_ns += d->run_ns;
	to->work_ns += d->work_ns;
}

static struct lmi_svc_usage_row *find(const struct lmi_svc_usage *u, const char *principal,
				      const char *key, const char *model, int32_t day)
{
	struct lmi_svc_usage_row *r = u->rows;

	while (r && (r->day != day || strcmp(r->principal, principal) || strcmp(r->key, key) ||
		     strcmp(r->model, model)))
		r = r->next;
	return r;
}

uint64_t lmi_svc_usage_unwritten(const struct lmi_service *svc, const char *key, int32_t day)
{
	uint64_t n = 0;

	for (const struct lmi_svc_usage_row *r = svc->usage.rows; r; r = r->next)
		if (r->day == day && !strcmp(r->key, key))
			n += r->used.n_prompt + r->used.n_out;
	return n;
}

/* Adds rows of a batch that was not written. */
static void merge(struct lmi_svc_usage *u, struct lmi_svc_usage_row *own_rows)
{
	struct lmi_svc_usage_row *r;

	while ((r = own_rows)) {
		struct lmi_svc_usage_row *to = find(u, r->principal, r->key, r->model, r->day);

		own_rows = r->next;
		if (to) {
			sum(&to->used, &r->used);
			lmi_free(r);
		} else {
			r->next = u->rows;
			u->rows = r;
		}
	}
}

void lmi_svc_usage_add(struct lmi_service *svc, const struct lmi_svc_principal *principal,
		       const char *model, const struct lmi_svc_used *used)
{
	struct lmi_svc_usage *u = &svc->usage;
	char name[LMI_SVC_USAGE_PRINCIPAL];
	const char *key = lmi_svc_quota_key(svc, principal);
	int32_t day = lmi_svc_today(svc);
	struct lmi_svc_usage_row *r;

	lmi_svc_quota_charge(svc, principal, used->n_prompt + used->n_out);
	if (!svc->o.store)
		return;
	lmi_svc_usage_principal(name, principal);
	r = find(u, name, key, model, day);
	if (!r) {
		r = lmi_alloc(1, sizeof(*r));
		if (!r)
			return;
		memcpy(r->principal, name, sizeof(name));
		(void)snprintf(r->model, sizeof(r->model), "%s", model);
		(void)snprintf(r->key, sizeof(r->key), "%s", key);
		r->day = day;
		r->next = u->rows;
		u->rows = r;
	}
	sum(&r->used, used);
	if (!u->due_ns)
		u->due_ns = svc->now + LMI_SVC_USAGE_MS * LMI_NS_PER_MS;
}

/* ---- generations ---- */

static void add_of(struct lmi_svc_generation *g, const struct lmi_svc_used *used)
{
	lmi_svc_usage_add(g->request.svc, &g->request.principal,
			  lmi_svc_model_record_name(g->loaded->record), used);
}

void lmi_svc_usage_started(struct lmi_svc_generation *g, uint64_t now)
{
	struct lmi_svc_used used = {
		.n_request = 1, .n_prompt = g->tokens.n, .queue_ns = now - g->ready_ns};

	g->counted.n_prompt = used.n_prompt;
	if (g->resumes) /* an earlier run of the daemon has counted them */
		used.n_request = used.n_prompt = 0;
	g->counted.until_ns = now;
	add_of(g, &used);
}

void lmi_svc_usage_count(struct lmi_svc_generation *g, uint64_t now)
{
	const struct lmi_svc_used used = {.n_out = g->n_out - g->counted.n_out,
					  .run_ns = g->paused_until_ns ? 0 : now - g->counted.until_ns};

	g->counted.n_out = g->n_out;
	g->counted.until_ns = now;
	if (used.n_out || used.run_ns)
		add_of(g, &used);
}

void lmi_svc_usage_ended(struct lmi_svc_generation *g, uint64_t now, const struct lmi_svc_end *end)
{
	struct lmi_svc_used used = {.n_cached = end->n_cached};

	lmi_svc_usage_count(g, now);
	if (end->n_out > g->counted.n_out)
		used.n_out = end->n_out - g->counted.n_out;
	if (end->n_prompt > g->counted.n_prompt)
		used.n_prompt = end->n_prompt - g->counted.n_prompt;
	add_of(g, &used);
}

void lmi_svc_usage_count_running(struct lmi_service *svc, uint64_t now)
{
	for (struct lmi_svc_generation *g = svc->generations; g; g = g->next)
		if (g->state == LMI_SVC_GEN_RUN)
			lmi_svc_usage_count(g, now);
}

/* ---- batches ---- */

static void run(void *arg)
{
	struct batch *b = arg;
	struct lmi_store *store = b->svc->o.store;

	b->err.status = lmi_store_usage_add(store, b->v, b->n, &b->err);
	if (b->err.status == LMD_OK && b->forget)
		(void)!lmi_store_usage_forget(store, b->forget, NULL); /* again tomorrow */
}

static void free_rows(struct lmi_svc_usage_row *own_rows)
{
	struct lmi_svc_usage_row *r;

	while ((r = own_rows)) {
		own_rows = r->next;
		lmi_free(r);
	}
}

static void done(void *arg)
{
	struct batch *b = arg;
	struct lmi_service *svc = b->svc;
	bool failed = b->err.status != LMD_OK;

	svc->n_job--;
	if (failed && !svc->usage.failing)
		svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_ERROR,
				 "usage could not be written and is kept in memory: %s", b->err.text);
	svc->usage.failing = failed;
	if (failed)
		merge(&svc->usage, b->rows);
	else
		free_rows(b->rows);
	if (svc->usage.rows && !svc->usage.due_ns)
		svc->usage.due_ns = svc->now + LMI_SVC_USAGE_MS * LMI_NS_PER_MS;
	lmi_free(b->v);
	lmi_free(b);
}

static bool fill(struct batch *b, struct lmi_svc_usage_row *rows)
{
	for (const struct lmi_svc_usage_row *r = rows; r; r = r->next)
		b->n++;
	b->v = lmi_alloc(b->n, sizeof(*b->v));
	if (!b->v)
		return false;
	b->n = 0;
	for (const struct lmi_svc_usage_row *r = rows; r; r = r->next)
		b->v[b->n++] = (struct lmi_store_usage){.principal = r->principal,
							.model = r->model,
							.key = r->key,
							.day = r->day,
							.n_request = r->used.n_request,
							.n_prompt = r->used.n_prompt,
							.n_cached = r->used.n_cached,
							.n_out = r->used.n_out,
							.queue_ns = r->used.queue_ns,
							.run_ns = r->used.run_ns,
							.work_ns = r->used.work_ns};
	b->rows = rows;
	return true;
}

/* Without memory or with a full queue the rows stay for the next batch. */
static void submit(struct lmi_service *svc)
{
	struct batch *b = lmi_alloc(1, sizeof(*b));
	int32_t today = lmi_svc_today(svc);

	if (!b || !fill(b, svc->usage.rows)) {
		lmi_free(b);
		return;
	}
	b->svc = svc;
	b->forget = svc->usage.forgot != today ? today - LMI_SVC_USAGE_DAYS : 0;
	b->job = (struct lmi_job){.run = run, .done = done, .arg = b};
	if (lmi_jobs_submit(svc->o.registry, &b->job, &b->err) != LMD_OK) {
		lmi_free(b->v);
		lmi_free(b);
		return;
	}
	svc->usage.forgot = today;
	svc->usage.rows = NULL;
	svc->n_job++;
}

void lmi_svc_usage_flush(struct lmi_service *svc, uint64_t now)
{
	lmi_svc_usage_count_running(svc, now);
	if (svc->usage.rows)
		submit(svc);
	svc->usage.due_ns = svc->usage.rows || svc->held.n_running
				    ? now + LMI_SVC_USAGE_MS * LMI_NS_PER_MS
				    : 0;
}

void lmi_svc_usage_tick(struct lmi_service *svc, uint64_t now)
{
	if (svc->usage.due_ns && now >= svc->usage.due_ns)
		lmi_svc_usage_flush(svc, now);
}

uint64_t lmi_svc_usage_deadline(const struct lmi_service *svc)
{
	return svc->usage.due_ns ? svc->usage.due_ns : UINT64_MAX;
}

void lmi_svc_usage_fini(struct lmi_service *svc)
{
	free_rows(svc->usage.rows);
	svc->usage.rows = NULL;
}
