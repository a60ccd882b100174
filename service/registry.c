/* SPDX-License-Identifier: MIT
 *
 * The ops rm and alias, which change the registry.  Each is a job on the registry's thread. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service/call.h"
#include "service/idempotency.h"
#include "service/model.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/preset_rows.h"
#include "service/request.h"
#include "service/service.h"
#include "service/service_state.h"

/* The results of a job, in the call's arena. */
struct found {
	struct lmi_store_models models;
	struct lmi_store_aliases aliases;
	char name[LMI_STORE_NAME_MAX + 1], other[LMI_STORE_NAME_MAX + 1];
	char *before; /* alias: the model it named before */
	bool alias;
	bool has_rows; /* `rows` are those of the changed registry */
	struct lmi_svc_preset_row *rows;
	int64_t bytes;
};

static void end(struct lmi_svc_call *c)
{
	struct found *f = c->data;

	lmi_store_models_fini(&f->models);
	lmi_store_aliases_fini(&f->aliases);
	lmi_svc_preset_rows_destroy(f->rows);
	lmi_svc_call_destroy(c);
}

/* If the job failed, ends the call and returns true. */
static bool failed(struct lmi_svc_call *c)
{
	if (c->err.status == LMD_OK)
		return false;
	lmi_svc_request_fail(&c->request, &c->err, 0);
	end(c);
	return true;
}

/* Creates a call with space for the results; copies the names with a terminating zero. */
static enum lmd_status begin(struct lmi_svc_call **out, struct lmi_svc_request *a,
			     const struct lmd_str *name, const struct lmd_str *other,
			     struct lmd_error *err)
{
	struct found *f;
	enum lmd_status st;

	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	st = lmi_svc_call_create(out, a, err);
	if (st != LMD_OK)
		return st;
	f = (*out)->data = lmi_arena_alloc((*out)->request.arena, sizeof(*f), _Alignof(struct found));
	if (!f) {
		lmi_svc_call_destroy(*out);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	(void)snprintf(f->name, sizeof(f->name), "%.*s", (int)name->len, name->ptr);
	(void)snprintf(f->other, sizeof(f->other), "%.*s", (int)other->len, other->ptr);
	return LMD_OK;
}

static enum lmd_status submit(struct lmi_svc_call *c, void (*run)(void *arg),
			      void (*done)(struct lmi_svc_call *c), struct lmd_error *err)
{
	enum lmd_status st;

	c->done = done;
	st = lmi_svc_call_submit(c, c->request.svc->o.registry, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}

static const struct lmd_str none = {.ptr = ""};

/* ---- presets after a change of the registry ---- */

/* Reads the presets within the job. The registry is changed already, so a failure is only logged. */
static void read_presets(struct lmi_svc_call *c)
{
	const struct lmi_service *svc = c->request.svc;
	struct found *f = c->data;
	struct lmd_error err;

	if (c->err.status != LMD_OK)
		return;
	f->has_rows = lmi_svc_preset_rows_read(&f->rows, svc, &err) == LMD_OK;
	if (!f->has_rows)
		svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_WARN,
				 "the Modelfiles of the registry could not be read again: %s", err.text);
}

static void replace_presets(struct lmi_svc_call *c)
{
	struct found *f = c->data;

	if (f->has_rows)
		lmi_svc_preset_rows_replace(c->request.svc, f->rows);
	f->rows = NULL;
}

/* ---- rm ---- */

static bool is_alias(const struct lmi_store_aliases *list, const char *name)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i].alias, name))
			return true;
	return false;
}

static void remove_name(struct lmi_svc_call *c)
{
	struct found *f = c->data;
	struct lmi_store *store = c->request.svc->o.store;
	const struct lmi_store_model *m;

	c->err.status = lmi_store_alias_list(store, &f->aliases, &c->err);
	if (c->err.status != LMD_OK)
		return;
	f->alias = is_alias(&f->aliases, f->name);
	if (f->alias) {
		c->err.status = lmi_store_alias_remove(store, f->name, &c->err);
		return;
	}
	c->err.status = lmi_store_model_find(store, f->name, &f->models, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_model_remove(store, f->name, &c->err);
	if (c->err.status != LMD_OK)
		return;
	m = &f->models.v[0];
	for (uint32_t i = 0; m->imported && i < m->n_files; i++)
		if (access(m->files[i].path, F_OK))
			f->bytes += (int64_t)m->files[i].size;
}

static void run_rm(void *arg)
{
	remove_name(arg);
	read_presets(arg);
}

static void answer_rm(struct lmi_svc_call *c)
{
	struct found *f = c->data;
	const struct lmi_svc_cached_reply reply = {.flag = f->alias, .number = f->bytes};

	lmi_svc_names_change(c->request.svc, f->name);
	if (c->err.status == LMD_OK) {
		replace_presets(c);
		lmi_svc_request_reply_once(&c->request, &reply);
	} else {
		lmi_svc_request_fail(&c->request, &c->err, 0);
	}
	end(c);
}

enum lmd_status lmi_svc_do_rm(struct lmi_svc_request *a, uint32_t *retry_ms,
			      struct lmd_error *err)
{
	struct lmi_svc_call *c;
	struct lmi_svc_model *m;
	struct found *f;
	enum lmd_status st = begin(&c, a, &a->req->u.rm.name, &none, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	f = c->data;
	for (const struct lmi_svc_loaded_model *r = a->svc->loaded_models; r; r = r->next) {
		if (strcmp(lmi_svc_model_name(r->model), f->name))
			continue;
		st = lmd_fail(err, LMD_BUSY, "model %s is in memory: unload it first", f->name);
		end(c);
		return st;
	}
	m = lmi_svc_model_find(a->svc, f->name);
	if (m) /* it may wait for its device */
		(void)lmi_svc_model_forget_loss(m);
	return submit(c, run_rm, answer_rm, err);
}

/* ---- alias ---- */

static void run_alias(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct found *f = c->data;
	struct lmi_store *store = c->request.svc->o.store;

	c->err.status = lmi_store_alias_list(store, &f->aliases, &c->err);
	for (uint32_t i = 0; c->err.status == LMD_OK && i < f->aliases.n; i++)
		if (!strcmp(f->aliases.v[i].alias, f->name))
			f->before = lmi_arena_printf(c->request.arena, "%s", f->aliases.v[i].name);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_alias_set(store, f->name, f->other, &c->err);
	read_presets(c);
}

static void answer_alias(struct lmi_svc_call *c)
{
	const struct found *f = c->data;
	struct lmi_wire_reply r;

	lmi_svc_names_change(c->request.svc, f->name);
	if (failed(c))
		return;
	replace_presets(c);
	lmi_wire_reply_init(&r, c->request.req);
	r.u.alias.has_before = f->before != NULL;
	r.u.alias.before = lmi_svc_str(f->before);
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

enum lmd_status lmi_svc_do_alias(struct lmi_svc_request *a, uint32_t *retry_ms,
				 struct lmd_error *err)
{
	const struct lmi_wire_req_alias *q = &a->req->u.alias;
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, &q->alias, &q->model, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, run_alias, answer_alias, err) : st;
}
