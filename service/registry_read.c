/* SPDX-License-Identifier: MIT
 *
 * The ops models and info.  They are answered during the call from the rows that are kept of the
 * registry (registry_rows.h) and from what the engine of a loaded model has read.  Rows are read by a
 * job on the registry's thread, and the file of a model that is not loaded by one of the io threads. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/tower_file.h"
#include "core/checkpoint/open.h"
#include "core/engine/engine.h"
#include "core/engine/tower_check.h"
#include "service/call.h"
#include "service/describe.h"
#include "service/model.h"
#include "service/model_status.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/preset_rows.h"
#include "service/quota.h"
#include "service/registry_rows.h"
#include "service/request.h"
#include "service/service.h"
#include "service/service_state.h"

#define ALIASES_MAX 64u /* of a model that are reported */

static const struct lmd_str none = {.ptr = ""};

/* What an answer is made of; in the arena of a call, or on the stack. */
struct reading {
	struct lmi_svc_registry_rows *rows; /* a call has a reference */
	/* info */
	uint32_t row;
	struct lmi_wire_rep_info info;
	struct lmd_str template; /* of the configuration; ptr NULL: none */
	uint32_t caps;		 /* of the chat template, if they are asked for */
	bool has_mmproj;	 /* the file of a vision tower is beside the model, which is not ready */
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the description of a model");
}

/* ---- calls ---- */

static void end(struct lmi_svc_call *c)
{
	const struct reading *f = c->data;

	lmi_svc_registry_rows_give(f->rows);
	lmi_svc_call_destroy(c);
}

/* Ends a call that was answered, or answers with its error. */
static void finish(struct lmi_svc_call *c, uint32_t retry_ms)
{
	if (c->err.status != LMD_OK)
		lmi_svc_request_fail(&c->request, &c->err, retry_ms);
	end(c);
}

/* Creates a call with these rows, or with empty ones. */
static enum lmd_status begin(struct lmi_svc_call **out, struct lmi_svc_request *a,
			     struct lmi_svc_registry_rows *rows, struct lmd_error *err)
{
	enum lmd_status st = lmi_svc_call_create(out, a, err);
	struct reading *f;

	if (st != LMD_OK)
		return st;
	f = lmi_arena_alloc((*out)->request.arena, sizeof(*f), _Alignof(struct reading));
	if (f && rows)
		lmi_svc_registry_rows_take(rows);
	else if (f)
		rows = lmi_svc_registry_rows_create(a->svc);
	if (!f || !rows) {
		lmi_svc_call_destroy(*out);
		return no_memory(err);
	}
	f->rows = rows;
	(*out)->data = f;
	return LMD_OK;
}

static void run_rows(void *arg)
{
	struct lmi_svc_call *c = arg;
	const struct reading *f = c->data;

	c->err.status = lmi_svc_registry_rows_read(f->rows, c->request.svc->o.store, &c->err);
}

/* Reads the rows, or what `run` reads, and calls `done`. */
static enum lmd_status read_rows(struct lmi_svc_request *a, void (*run)(void *arg),
				 void (*done)(struct lmi_svc_call *c), struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, NULL, err);

	if (st != LMD_OK)
		return st;
	c->done = done;
	st = lmi_svc_call_submit(c, a->svc->o.registry, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}

/* ---- rows ---- */

static enum lmi_wire_model_state state_of(const struct lmi_service *svc, const char *name,
					  struct lmd_str *reason)
{
	enum lmi_wire_model_state state = LMI_WIRE_MODEL_STATE_ABSENT;
	const struct lmi_svc_model *in = NULL;

	for (const struct lmi_svc_model *k = svc->models; k && !in; k = k->next)
		if (!strcmp(lmi_svc_model_name(k), name))
			in = k;
	if (in)
		state = lmi_svc_model_state(svc, in);
	if (state == LMI_WIRE_MODEL_STATE_FAILED)
		*reason = lmi_svc_str(in->fail.text);
	return state;
}

/* Writes why a model in that state would not be loaded by itself.  Returns LMD_NOMEM. */
static enum lmd_status fill_quarantine(const struct lmi_service *svc,
				       const struct lmi_svc_load_guard *g, struct lmd_arena *arena,
				       struct lmi_wire_model *out)
{
	int64_t now = svc->hooks.wall_ns ? svc->hooks.wall_ns(svc->hooks.arg) : 0;
	struct lmd_error why;

	if (out->state != LMI_WIRE_MODEL_STATE_FAILED && out->state != LMI_WIRE_MODEL_STATE_ABSENT)
		return LMD_OK;
	if (!lmi_svc_load_guard_refuses(g, now, &why))
		return LMD_OK;
	out->state = LMI_WIRE_MODEL_STATE_QUARANTINED;
	out->reason = lmi_svc_str(lmi_arena_printf(arena, "%s", why.text));
	return out->reason.len ? LMD_OK : LMD_NOMEM;
}

/* A key whose quota has only aliases of the model sees these: the first one is the name. */
static void hide_names(const struct lmi_svc_request *a, const char *name, struct lmi_wire_model *out,
		       struct lmd_str *aliases)
{
	uint32_t n = 0;

	if (lmi_svc_quota_allows(a->svc, &a->principal, name, NULL))
		return;
	for (uint32_t i = 0; i < out->n_aliases; i++)
		if (lmi_svc_quota_allows(a->svc, &a->principal, aliases[i].ptr, NULL))
			aliases[n++] = aliases[i];
	if (!n)
		return;
	out->name = aliases[0];
	out->aliases = aliases + 1;
	out->n_aliases = n - 1;
}

/* Returns the number of aliases of model number k, and the first of them in *i; see registry_rows.h. */
static uint32_t aliases_of(const struct lmi_svc_registry_rows *rows, uint32_t k, uint32_t *i)
{
	*i = rows->first_alias ? rows->first_alias[k] : 0;
	return rows->first_alias ? rows->first_alias[k + 1] - *i : 0;
}

/* Fills the row of model number k. */
static enum lmd_status fill_row(const struct lmi_svc_request *a,
				const struct lmi_svc_registry_rows *rows, uint32_t k,
				struct lmd_arena *arena, struct lmi_wire_model *out)
{
	const struct lmi_store_model *m = &rows->models.v[k];
	uint32_t first, n = aliases_of(rows, k, &first);
	struct lmd_str *aliases;

	n = n < ALIASES_MAX ? n : ALIASES_MAX;
	aliases = lmi_arena_array(arena, n + 1u, sizeof(*aliases));
	*out = (struct lmi_wire_model){.name = lmi_svc_str(m->name),
				       .size = (int64_t)m->size,
				       .arch = lmi_svc_str(m->arch),
				       .format = lmi_svc_str(m->format),
				       .added = m->added_at > 0 ? m->added_at / 1000000000 : 0,
				       .reason = none,
				       .digest = none};
	if (!aliases)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		aliases[i] = lmi_svc_str(rows->aliases.v[rows->alias_of[first + i]].alias);
	out->aliases = aliases;
	out->n_aliases = n;
	hide_names(a, m->name, out, aliases);
	out->state = state_of(a->svc, m->name, &out->reason);
	if (rows->guards && fill_quarantine(a->svc, &rows->guards[k], arena, out) != LMD_OK)
		return LMD_NOMEM;
	if (m->digest[0]) {
		const char *digest = lmi_arena_printf(arena, "sha256:%s", m->digest);

		if (!digest)
			return LMD_NOMEM;
		out->digest = lmi_svc_str(digest);
	}
	if (a->principal.role == LMI_SVC_ROLE_ADMIN && m->n_files) {
		out->has_path = true;
		out->path = lmi_svc_str(m->files[0].path);
	}
	return LMD_OK;
}

/* ---- models ---- */

/* Returns whether the quota of the principal's key has model number k or one of its aliases. */
static bool is_allowed(const struct lmi_svc_request *a, const struct lmi_svc_registry_rows *rows,
		       uint32_t k)
{
	uint32_t first, n = aliases_of(rows, k, &first);

	if (lmi_svc_quota_allows(a->svc, &a->principal, rows->models.v[k].name, NULL))
		return true;
	for (uint32_t i = first; i < first + n; i++)
		if (lmi_svc_quota_allows(a->svc, &a->principal, rows->aliases.v[rows->alias_of[i]].alias,
					 NULL))
			return true;
	return false;
}

/* Copies a name with a terminating zero. */
static const char *name_of(char out[LMI_STORE_NAME_MAX + 1], const struct lmd_str *s)
{
	(void)snprintf(out, LMI_STORE_NAME_MAX + 1, "%.*s", (int)s->len, s->ptr);
	return out;
}

static enum lmd_status reply_models(struct lmi_svc_request *a,
				    const struct lmi_svc_registry_rows *rows,
				    struct lmd_arena *arena, struct lmd_error *err)
{
	const struct lmi_wire_req_models *q = &a->req->u.models;
	uint32_t k = 0, to = rows->models.n, n = 0;
	char name[LMI_STORE_NAME_MAX + 1];
	struct lmi_wire_model *v;
	struct lmi_wire_reply r;

	if (q->has_model && lmi_svc_registry_rows_find(rows, name_of(name, &q->model), &k, err) != LMD_OK)
		return err->status;
	if (q->has_model)
		to = k + 1;
	(void)name_of(name, &q->after);
	lmi_wire_reply_init(&r, a->req);
	v = lmi_arena_array(arena, to - k + 1u, sizeof(*v));
	for (; v && k < to; k++) {
		const char *model = rows->models.v[k].name;

		if ((name[0] && strcmp(model, name) <= 0) || !is_allowed(a, rows, k))
			continue;
		if (n == q->max) {
			r.u.models.more = true;
			break;
		}
		if (fill_row(a, rows, k, arena, &v[n++]) != LMD_OK)
			v = NULL;
	}
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u models", to);
	r.u.models.models = v;
	r.u.models.n_models = n;
	lmi_svc_request_reply(a, &r);
	return LMD_OK;
}

static void answer_models(struct lmi_svc_call *c)
{
	const struct reading *f = c->data;

	if (c->err.status == LMD_OK) {
		lmi_svc_registry_rows_keep(c->request.svc, f->rows);
		c->err.status = reply_models(&c->request, f->rows, c->request.arena, &c->err);
	}
	finish(c, 0);
}

enum lmd_status lmi_svc_do_models(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	const struct lmi_svc_registry_rows *rows;
	struct lmd_arena *arena;
	enum lmd_status st;

	(void)retry_ms;
	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	rows = lmi_svc_registry_rows_get(a->svc);
	if (!rows)
		return read_rows(a, run_rows, answer_models, err);
	arena = lmi_arena_create(0);
	st = arena ? reply_models(a, rows, arena, err) : no_memory(err);
	lmi_arena_destroy(arena);
	return st;
}

/* ---- info ---- */

static const struct lmi_store_model *model_of(const struct reading *f)
{
	return &f->rows->models.v[f->row];
}

static const struct lmi_svc_preset *preset_of(const struct lmi_svc_request *a,
					      const struct reading *f)
{
	const struct lmd_str *asked = &a->req->u.info.model;
	const char *name = model_of(f)->name;
	const struct lmi_svc_preset *p = lmi_svc_preset_find(a->svc, asked->ptr, asked->len);

	return p ? p : lmi_svc_preset_find(a->svc, name, strlen(name));
}

/* Returns the model as it is loaded; NULL: it is not ready, or is loaded from what the name had before. */
static struct lmi_svc_loaded_model *ready_model(const struct lmi_service *svc,
						const struct lmi_store_model *m)
{
	struct lmi_svc_loaded_model *r = svc->loaded_models;

	while (r && (r->state != LMI_SVC_MODEL_READY ||
		     strcmp(lmi_svc_model_name(r->model), m->name) != 0 ||
		     strcmp(r->record->m.v[0].digest, m->digest) != 0))
		r = r->next;
	return r;
}

/* Finds the row of the model that is asked for, and the template that the configuration has for it. */
static enum lmd_status find_model(const struct lmi_svc_request *a, struct reading *f,
				  struct lmd_arena *arena, struct lmd_error *err)
{
	const struct lmi_wire_req_info *q = &a->req->u.info;
	char name[LMI_STORE_NAME_MAX + 1];
	const struct lmi_svc_preset *p;

	(void)name_of(name, &q->model);
	if (!a->svc->o.embedded && lmi_svc_registry_rows_find(f->rows, name, &f->row, err) != LMD_OK)
		return err->status;
	if (!lmi_svc_quota_allows(a->svc, &a->principal, model_of(f)->name, name))
		return lmd_fail(err, LMD_NOTFOUND, LMI_SVC_MODEL_UNKNOWN, name);
	p = preset_of(a, f);
	if (!q->template_caps || !p || !p->template)
		return LMD_OK;
	/* a copy, since the configuration may change while a job reads it */
	f->template.len = strlen(p->template);
	f->template.ptr = lmi_arena_strndup(arena, p->template, f->template.len);
	return f->template.ptr ? LMD_OK : no_memory(err);
}

/* Returns whether a model can be described from what its engine has read: not if it is not ready, if its
 * metadata is asked for, of which the engine may have only a mapping, or if its template was not
 * examined yet. */
static bool has_description(const struct lmi_svc_request *a, const struct reading *f)
{
	const struct lmi_wire_req_info *q = &a->req->u.info;
	const struct lmi_svc_loaded_model *r = ready_model(a->svc, model_of(f));

	return r && !q->keys && !a->svc->o.embedded &&
	       (!q->template_caps || (!f->template.len && r->has_template_caps));
}

/* Describes the model of a file, or of an engine. */
static enum lmd_status describe(const struct lmi_svc_request *a, struct reading *f,
				const struct lmd_model *file, struct lmd_arena *arena)
{
	const struct lmi_wire_req_info *q = &a->req->u.info;
	enum lmd_status st = lmi_svc_describe(arena, file, q->keys, &f->info);

	return st == LMD_OK && q->template_caps
		       ? lmi_svc_describe_template_caps(arena, f->caps, &f->info)
		       : st;
}

/* The paths of a model of several files, for admins. */
static enum lmd_status fill_files(const struct lmi_svc_request *a, const struct lmi_store_model *m,
				  struct lmd_arena *arena, struct lmi_wire_rep_info *out)
{
	struct lmd_str *files;

	if (a->principal.role != LMI_SVC_ROLE_ADMIN || m->n_files < 2)
		return LMD_OK;
	files = lmi_arena_array(arena, m->n_files, sizeof(*files));
	if (!files)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < m->n_files; i++)
		files[i] = lmi_svc_str(m->files[i].path);
	out->files = files;
	out->n_files = m->n_files;
	return LMD_OK;
}

static enum lmd_status reply_info(struct lmi_svc_request *a, const struct reading *f,
				  struct lmd_arena *arena, struct lmd_error *err)
{
	const struct lmd_str *asked = &a->req->u.info.model;
	const struct lmi_svc_preset_row *row = lmi_svc_preset_row_find(a->svc, asked->ptr, asked->len);
	const struct lmi_svc_loaded_model *ready = ready_model(a->svc, model_of(f));
	const struct lmi_svc_preset *preset = preset_of(a, f);
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, a->req);
	r.u.info = f->info;
	r.u.info.vision = ready ? lmi_engine_picture(ready->engine) != NULL
				: f->has_mmproj || (preset && preset->mmproj);
	lmi_svc_preset_describe_own(preset, &r.u.info);
	r.u.info.has_modelfile = row != NULL;
	if (row)
		r.u.info.modelfile = lmi_svc_str(row->text);
	if (fill_row(a, f->rows, f->row, arena, &r.u.info.model) != LMD_OK ||
	    fill_files(a, model_of(f), arena, &r.u.info) != LMD_OK)
		return lmd_fail(err, LMD_NOMEM, "no memory for a model");
	for (const struct lmi_svc_loaded_model *res = a->svc->loaded_models; res; res = res->next) {
		if (strcmp(lmi_svc_model_name(res->model), model_of(f)->name))
			continue;
		lmi_svc_fill_resident(a->svc, res, &r.u.info.resident);
		r.u.info.has_resident = true;
		break;
	}
	lmi_svc_request_reply(a, &r);
	return LMD_OK;
}

/* Answers from the engine. */
static enum lmd_status reply_ready(struct lmi_svc_request *a, struct reading *f,
				   struct lmd_arena *arena, struct lmd_error *err)
{
	const struct lmi_svc_loaded_model *ready = ready_model(a->svc, model_of(f));
	struct lmi_engine_info e;

	lmi_engine_info(ready->engine, &e);
	f->caps = ready->template_caps;
	return describe(a, f, e.file, arena) == LMD_OK ? reply_info(a, f, arena, err) : no_memory(err);
}

/* Reads the file of the model. */
static void run_file(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct reading *f = c->data;
	const struct lmi_store_model *m = model_of(f);
	struct lmi_open_opts how = {.flags = LMI_OPEN_HEADER_ONLY, .plugins = c->request.svc->o.plugins};
	const char **paths = lmi_svc_model_paths(m, &how.n_files, &c->err);
	char mmproj[LMI_STORE_PATH_MAX + 1];
	struct lmi_model *file;
	enum lmd_status st = LMD_OK;

	how.files = paths;
	if (c->err.status == LMD_OK)
		c->err.status = lmi_model_open_with(&file, m->files[0].path, &how, &c->err);
	lmi_free(paths);
	if (c->err.status != LMD_OK)
		return;
	if (c->request.message.u.info.template_caps)
		st = lmi_svc_template_caps(&f->caps, lmi_model_view(file), f->template);
	if (st == LMD_OK)
		st = describe(&c->request, f, lmi_model_view(file), c->request.arena);
	if (st != LMD_OK)
		c->err.status = no_memory(&c->err);
	f->has_mmproj = lmi_tower_beside(mmproj, sizeof(mmproj), m->files[0].path) &&
			lmi_engine_tower_check(mmproj, lmi_model_view(file), how.plugins, NULL) == LMD_OK;
	lmi_model_close(file);
}

static void answer_file(struct lmi_svc_call *c)
{
	const struct reading *f = c->data;
	struct lmi_svc_loaded_model *ready;

	if (c->err.status == LMD_OK) {
		ready = ready_model(c->request.svc, model_of(f));
		if (ready && c->request.message.u.info.template_caps && !f->template.len) {
			ready->template_caps = f->caps;
			ready->has_template_caps = true;
		}
		c->err.status = reply_info(&c->request, f, c->request.arena, &c->err);
	}
	finish(c, 0);
}

/* Answers, when the rows are known, from the engine or from the file. */
static void answer_info(struct lmi_svc_call *c)
{
	struct reading *f = c->data;

	if (c->err.status == LMD_OK && c->request.svc->o.store)
		lmi_svc_registry_rows_keep(c->request.svc, f->rows);
	if (c->err.status == LMD_OK)
		c->err.status = find_model(&c->request, f, c->request.arena, &c->err);
	if (c->err.status != LMD_OK || has_description(&c->request, f)) {
		if (c->err.status == LMD_OK)
			c->err.status = reply_ready(&c->request, f, c->request.arena, &c->err);
		finish(c, 0);
		return;
	}
	c->done = answer_file;
	c->drops = true;
	if (lmi_svc_call_submit(c, c->request.svc->o.io, run_file, &c->err) != LMD_OK)
		finish(c, lmi_svc_retry_ms(c->request.svc));
}

/* Of an embedded service: the file is the model. */
static void run_embedded(void *arg)
{
	struct lmi_svc_call *c = arg;
	const struct lmd_str *path = &c->request.message.u.info.model;
	const struct lmi_service_named_file *named;
	const struct reading *f = c->data;
	char text[LMI_STORE_PATH_MAX + 1];

	(void)snprintf(text, sizeof(text), "%.*s", (int)path->len, path->ptr);
	named = lmi_svc_named_file(c->request.svc, text);
	c->err.status = lmi_svc_models_of_file(&f->rows->models, named ? named->model : text,
					       named ? named->path : text, &c->err);
}

/* Answers during the call if that is possible; otherwise *done is false. */
static enum lmd_status answer_at_once(struct lmi_svc_request *a, struct lmi_svc_registry_rows *rows,
				      bool *done, struct lmd_error *err)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct reading f = {.rows = rows};
	enum lmd_status st = arena ? find_model(a, &f, arena, err) : no_memory(err);

	*done = st == LMD_OK && has_description(a, &f);
	if (*done)
		st = reply_ready(a, &f, arena, err);
	lmi_arena_destroy(arena);
	return st;
}

enum lmd_status lmi_svc_do_info(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	struct lmi_svc_registry_rows *rows;
	struct lmi_svc_call *c;
	enum lmd_status st;
	bool done;

	(void)retry_ms;
	if (a->svc->o.embedded)
		return read_rows(a, run_embedded, answer_info, err);
	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	rows = lmi_svc_registry_rows_get(a->svc);
	if (!rows)
		return read_rows(a, run_rows, answer_info, err);
	st = answer_at_once(a, rows, &done, err);
	if (st != LMD_OK || done)
		return st;
	st = begin(&c, a, rows, err);
	if (st == LMD_OK)
		answer_info(c);
	return st;
}
