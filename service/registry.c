/* SPDX-License-Identifier: MIT
 *
 * The ops models, info, rm and alias.  Each is a job on the registry's thread; the states of loaded
 * models are added afterwards. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "core/engine/engine.h"
#include "service/call.h"
#include "service/describe.h"
#include "service/idempotency.h"
#include "service/load_guard.h"
#include "service/model.h"
#include "service/model_status.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/preset_rows.h"
#include "service/quota.h"
#include "service/request.h"
#include "service/service.h"
#include "service/service_state.h"

/* The results of a job, in the call's arena. */
struct found {
	struct lmi_store_models models;
	struct lmi_store_aliases aliases;
	struct lmd_str *quarantine; /* models: [models.n] why it is not loaded, or "" */
	char name[LMI_STORE_NAME_MAX + 1], other[LMI_STORE_NAME_MAX + 1];
	char *before; /* alias: the model it named before */
	bool alias;
	bool has_rows; /* rm, alias: `rows` are those of the changed registry */
	struct lmi_svc_preset_row *rows;
	int64_t bytes;
	struct lmi_wire_rep_info info;
	struct lmd_str template; /* info: of the configuration; ptr NULL: none */
	uint32_t caps; /* info: of the chat template, if they are asked for */
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

	if (!a->svc->o.store && !(a->svc->o.embedded && a->req->op == LMI_WIRE_OP_INFO))
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

static enum lmd_status submit(struct lmi_svc_call *c, struct lmi_jobs *jobs, void (*run)(void *arg),
			      void (*done)(struct lmi_svc_call *c), struct lmd_error *err)
{
	enum lmd_status st;

	c->done = done;
	st = lmi_svc_call_submit(c, jobs, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}

static const struct lmd_str none = {.ptr = ""};

/* ---- rows ---- */

static enum lmi_wire_model_state state_of(const struct lmi_service *svc,
					  const struct lmi_store_model *m,
					  const struct lmd_str *quarantine, struct lmd_str *reason)
{
	enum lmi_wire_model_state state = LMI_WIRE_MODEL_STATE_ABSENT;
	const struct lmi_svc_model *in = NULL;

	for (const struct lmi_svc_model *k = svc->models; k && !in; k = k->next)
		if (!strcmp(lmi_svc_model_name(k), m->name))
			in = k;
	if (in)
		state = lmi_svc_model_state(svc, in);
	if (state == LMI_WIRE_MODEL_STATE_FAILED)
		*reason = lmi_svc_str(in->fail.text);
	if (!quarantine->len ||
	    (state != LMI_WIRE_MODEL_STATE_FAILED && state != LMI_WIRE_MODEL_STATE_ABSENT))
		return state;
	*reason = *quarantine;
	return LMI_WIRE_MODEL_STATE_QUARANTINED;
}

/* A key whose quota has only aliases of the model sees these: the first one is the name. */
static void hide_names(const struct lmi_svc_call *c, const char *name, struct lmi_wire_model *out,
		       struct lmd_str *aliases)
{
	const struct lmi_svc_principal *p = &c->request.principal;
	uint32_t n = 0;

	if (lmi_svc_quota_allows(c->request.svc, p, name, NULL))
		return;
	for (uint32_t i = 0; i < out->n_aliases; i++)
		if (lmi_svc_quota_allows(c->request.svc, p, aliases[i].ptr, NULL))
			aliases[n++] = aliases[i];
	if (!n)
		return;
	out->name = aliases[0];
	out->aliases = aliases + 1;
	out->n_aliases = n - 1;
}

/* Fills the row of model number k. */
static enum lmd_status fill_row(struct lmi_svc_call *c, struct lmi_wire_model *out, uint32_t k)
{
	const struct found *f = c->data;
	const struct lmi_store_model *m = &f->models.v[k];
	struct lmd_str *aliases;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->aliases.n; i++)
		n += !strcmp(f->aliases.v[i].name, m->name);
	aliases = lmi_arena_array(c->request.arena, n + 1u, sizeof(*aliases));
	*out = (struct lmi_wire_model){.name = lmi_svc_str(m->name),
				       .size = (int64_t)m->size,
				       .arch = lmi_svc_str(m->arch),
				       .format = lmi_svc_str(m->format),
				       .added = m->added_at > 0 ? m->added_at / 1000000000 : 0,
				       .reason = none,
				       .digest = none};
	if (!aliases)
		return LMD_NOMEM;
	n = 0;
	for (uint32_t i = 0; i < f->aliases.n && n < 64; i++)
		if (!strcmp(f->aliases.v[i].name, m->name))
			aliases[n++] = lmi_svc_str(f->aliases.v[i].alias);
	out->aliases = aliases;
	out->n_aliases = n;
	hide_names(c, m->name, out, aliases);
	out->state = state_of(c->request.svc, m, &f->quarantine[k], &out->reason);
	if (m->digest[0]) {
		const char *digest = lmi_arena_printf(c->request.arena, "sha256:%s", m->digest);

		if (!digest)
			return LMD_NOMEM;
		out->digest = lmi_svc_str(digest);
	}
	if (c->request.principal.role == LMI_SVC_ROLE_ADMIN && m->n_files) {
		out->has_path = true;
		out->path = lmi_svc_str(m->files[0].path);
	}
	return LMD_OK;
}

/* ---- models ---- */

/* Notes which models are in quarantine, which files of the state folder say. */
static enum lmd_status find_quarantine(struct lmi_svc_call *c)
{
	const struct lmi_service_hooks *h = &c->request.svc->hooks;
	int64_t now = h->wall_ns ? h->wall_ns(h->arg) : 0;
	struct found *f = c->data;

	f->quarantine = lmi_arena_array(c->request.arena, f->models.n + 1u, sizeof(*f->quarantine));
	for (uint32_t i = 0; f->quarantine && i < f->models.n; i++) {
		struct lmd_error why = {0};

		f->quarantine[i] = none;
		if (!c->request.svc->o.store) /* embedded */
			continue;
		if (!lmi_svc_load_guard_refuses(lmi_store_dir(c->request.svc->o.store),
						f->models.v[i].name, now, &why))
			continue;
		f->quarantine[i] = lmi_svc_str(lmi_arena_printf(c->request.arena, "%s", why.text));
		if (!f->quarantine[i].len)
			f->quarantine = NULL;
	}
	return f->quarantine ? LMD_OK : lmd_fail(&c->err, LMD_NOMEM, "no memory for a list of models");
}

static void run_models(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct found *f = c->data;
	struct lmi_store *store = c->request.svc->o.store;

	if (c->request.message.u.models.has_model)
		c->err.status = lmi_store_model_find(store, f->name, &f->models, &c->err);
	else
		c->err.status = lmi_store_model_list(store, &f->models, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_alias_list(store, &f->aliases, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = find_quarantine(c);
}

/* Returns whether the quota of the principal's key has the model or one of its aliases. */
static bool is_allowed(const struct lmi_svc_call *c, const struct lmi_store_model *m)
{
	const struct lmi_svc_principal *p = &c->request.principal;
	const struct found *f = c->data;

	if (lmi_svc_quota_allows(c->request.svc, p, m->name, NULL))
		return true;
	for (uint32_t i = 0; i < f->aliases.n; i++)
		if (!strcmp(f->aliases.v[i].name, m->name) &&
		    lmi_svc_quota_allows(c->request.svc, p, f->aliases.v[i].alias, NULL))
			return true;
	return false;
}

static void answer_models(struct lmi_svc_call *c)
{
	const struct lmi_wire_req_models *q = &c->request.message.u.models;
	struct found *f = c->data;
	struct lmi_wire_model *v;
	struct lmi_wire_reply r;
	uint32_t n = 0;

	if (failed(c))
		return;
	lmi_wire_reply_init(&r, c->request.req);
	v = lmi_arena_array(c->request.arena, f->models.n + 1u, sizeof(*v));
	for (uint32_t i = 0; v && i < f->models.n; i++) {
		if (f->other[0] && strcmp(f->models.v[i].name, f->other) <= 0)
			continue;
		if (!is_allowed(c, &f->models.v[i]))
			continue;
		if (n == q->max) {
			r.u.models.more = true;
			break;
		}
		if (fill_row(c, &v[n++], i) != LMD_OK)
			v = NULL;
	}
	if (!v) {
		c->err.status =
			lmd_fail(&c->err, LMD_NOMEM, "no memory for %u models", f->models.n);
		(void)failed(c);
		return;
	}
	r.u.models.models = v;
	r.u.models.n_models = n;
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

enum lmd_status lmi_svc_do_models(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	const struct lmi_wire_req_models *q = &a->req->u.models;
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, q->has_model ? &q->model : &none, &q->after, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, a->svc->o.registry, run_models, answer_models, err) : st;
}

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

	lmi_svc_names_clear(c->request.svc);
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
	return submit(c, a->svc->o.registry, run_rm, answer_rm, err);
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

	lmi_svc_names_clear(c->request.svc);
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
	return st == LMD_OK ? submit(c, a->svc->o.registry, run_alias, answer_alias, err) : st;
}

/* ---- info ---- */

static void run_info(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct found *f = c->data;
	struct lmi_open_opts how = {.flags = LMI_OPEN_HEADER_ONLY, .plugins = c->request.svc->o.plugins};
	const char **paths = lmi_svc_model_paths(&f->models.v[0], &how.n_files, &c->err);
	struct lmi_model *file;
	enum lmd_status st;

	how.files = paths;
	if (c->err.status == LMD_OK)
		c->err.status = find_quarantine(c);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_model_open_with(&file, f->models.v[0].files[0].path, &how,
						    &c->err);
	lmi_free(paths);
	if (c->err.status != LMD_OK)
		return;
	st = lmi_svc_describe(c->request.arena, lmi_model_view(file),
			      c->request.message.u.info.keys, &f->info);
	if (st == LMD_OK && c->request.message.u.info.template_caps)
		st = lmi_svc_template_caps(&f->caps, lmi_model_view(file), f->template);
	if (st == LMD_OK && c->request.message.u.info.template_caps)
		st = lmi_svc_describe_template_caps(c->request.arena, f->caps, &f->info);
	if (st != LMD_OK)
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for the description of a model");
	lmi_model_close(file);
}

/* The paths of a model of several files, for admins. */
static enum lmd_status fill_files(struct lmi_svc_call *c, struct lmi_wire_rep_info *out)
{
	const struct found *f = c->data;
	const struct lmi_store_model *m = &f->models.v[0];
	struct lmd_str *files;

	if (c->request.principal.role != LMI_SVC_ROLE_ADMIN || m->n_files < 2)
		return LMD_OK;
	files = lmi_arena_array(c->request.arena, m->n_files, sizeof(*files));
	if (!files)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < m->n_files; i++)
		files[i] = lmi_svc_str(m->files[i].path);
	out->files = files;
	out->n_files = m->n_files;
	return LMD_OK;
}

static const struct lmi_svc_preset *preset_of(const struct lmi_svc_call *c)
{
	const struct lmd_str *asked = &c->request.message.u.info.model;
	const struct found *f = c->data;
	const char *name = f->models.v[0].name;
	const struct lmi_svc_preset *p = lmi_svc_preset_find(c->request.svc, asked->ptr, asked->len);

	return p ? p : lmi_svc_preset_find(c->request.svc, name, strlen(name));
}

/* Returns the model as it is loaded; NULL: it is not ready, or is loaded from what the name had before. */
static struct lmi_svc_loaded_model *ready_model(const struct lmi_svc_call *c)
{
	struct lmi_svc_loaded_model *r = c->request.svc->loaded_models;
	const struct found *f = c->data;
	const struct lmi_store_model *m = &f->models.v[0];

	while (r && (r->state != LMI_SVC_MODEL_READY ||
		     strcmp(lmi_svc_model_name(r->model), m->name) != 0 ||
		     strcmp(r->record->m.v[0].digest, m->digest) != 0))
		r = r->next;
	return r;
}

static void answer_info(struct lmi_svc_call *c)
{
	struct lmi_svc_loaded_model *ready;
	const struct lmi_svc_preset_row *row;
	struct found *f = c->data;
	struct lmi_wire_reply r;

	if (failed(c))
		return;
	ready = ready_model(c);
	if (ready && c->request.message.u.info.template_caps && !f->template.len) {
		ready->template_caps = f->caps;
		ready->has_template_caps = true;
	}
	lmi_wire_reply_init(&r, c->request.req);
	r.u.info = f->info;
	lmi_svc_preset_describe_own(preset_of(c), &r.u.info);
	row = lmi_svc_preset_row_find(c->request.svc, c->request.req->u.info.model.ptr,
				      c->request.req->u.info.model.len);
	r.u.info.has_modelfile = row != NULL;
	if (row)
		r.u.info.modelfile = lmi_svc_str(row->text);
	if (fill_row(c, &r.u.info.model, 0) != LMD_OK || fill_files(c, &r.u.info) != LMD_OK) {
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for a model");
		(void)failed(c);
		return;
	}
	for (const struct lmi_svc_loaded_model *res = c->request.svc->loaded_models; res; res = res->next) {
		if (strcmp(lmi_svc_model_name(res->model), f->models.v[0].name))
			continue;
		lmi_svc_fill_resident(c->request.svc, res, &r.u.info.resident);
		r.u.info.has_resident = true;
		break;
	}
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

static void run_find(void *arg)
{
	struct lmi_svc_call *c = arg;
	const struct lmd_str *path = &c->request.message.u.info.model;
	const struct lmi_service_named_file *named;
	struct found *f = c->data;
	char text[LMI_STORE_PATH_MAX + 1];

	if (c->request.svc->o.embedded) {
		(void)snprintf(text, sizeof(text), "%.*s", (int)path->len, path->ptr);
		named = lmi_svc_named_file(c->request.svc, text);
		c->err.status = lmi_svc_models_of_file(&f->models, named ? named->model : text,
						       named ? named->path : text, &c->err);
		return;
	}
	c->err.status = lmi_store_model_find(c->request.svc->o.store, f->name, &f->models, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_alias_list(c->request.svc->o.store, &f->aliases, &c->err);
}

/* Copies the template of the configuration, which may change while a job reads it. */
static void copy_template(struct lmi_svc_call *c)
{
	const struct lmi_svc_preset *p = preset_of(c);
	struct found *f = c->data;

	if (!p || !p->template)
		return;
	f->template.len = strlen(p->template);
	f->template.ptr = lmi_arena_strndup(c->request.arena, p->template, f->template.len);
	if (!f->template.ptr)
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for the description of a model");
}

/* Describes a model from what its engine has read.  Returns false if it is not ready, if its metadata is
 * asked for, of which the engine may have only a mapping, or if its template was not examined yet. */
static bool describe_ready(struct lmi_svc_call *c)
{
	const struct lmi_wire_req_info *q = &c->request.message.u.info;
	const struct lmi_svc_loaded_model *r = ready_model(c);
	struct found *f = c->data;
	struct lmi_engine_info e;
	enum lmd_status st;

	if (!r || q->keys || c->request.svc->o.embedded ||
	    (q->template_caps && (f->template.len || !r->has_template_caps)))
		return false;
	f->quarantine = lmi_arena_array(c->request.arena, 1, sizeof(*f->quarantine));
	if (!f->quarantine)
		return false;
	f->quarantine[0] = none; /* it could be loaded */
	lmi_engine_info(r->engine, &e);
	st = lmi_svc_describe(c->request.arena, e.file, false, &f->info);
	f->caps = r->template_caps;
	if (st == LMD_OK && q->template_caps)
		st = lmi_svc_describe_template_caps(c->request.arena, f->caps, &f->info);
	if (st != LMD_OK)
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for the description of a model");
	return true;
}

static void found_info(struct lmi_svc_call *c)
{
	const struct found *f = c->data;
	struct lmd_error err;

	if (c->err.status == LMD_OK &&
	    !lmi_svc_quota_allows(c->request.svc, &c->request.principal, f->models.v[0].name, f->name))
		c->err.status = lmd_fail(&c->err, LMD_NOTFOUND, LMI_SVC_MODEL_UNKNOWN, f->name);
	if (c->err.status == LMD_OK && c->request.message.u.info.template_caps)
		copy_template(c);
	if (failed(c))
		return;
	if (describe_ready(c)) {
		answer_info(c);
		return;
	}
	c->done = answer_info;
	c->drops = true;
	if (lmi_svc_call_submit(c, c->request.svc->o.io, run_info, &err) == LMD_OK)
		return;
	lmi_svc_request_fail(&c->request, &err, lmi_svc_retry_ms(c->request.svc));
	end(c);
}

enum lmd_status lmi_svc_do_info(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, &a->req->u.info.model, &none, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, a->svc->o.registry, run_find, found_info, err) : st;
}
