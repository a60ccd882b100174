/* SPDX-License-Identifier: MIT */
#include "service/import_job.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "service/event.h"
#include "service/names.h"
#include "service/output.h"
#include "service/service_state.h"
#include "service/stream.h"

/* ---- lifetime ---- */

static void release(struct lmi_svc_import *w)
{
	if (!w->ended || w->job_runs)
		return;
	if (!w->succeeded && w->err.status == LMD_OK)
		(void)lmd_fail(&w->err, LMD_CANCELLED, "cancelled");
	lmi_svc_event_of_job(&w->request, w->succeeded ? NULL : &w->err);
	lmi_svc_request_fini(&w->request);
	free((char *)w->row.facts); /* allocated by jansson */
	lmi_free(w);
}

static void finish(struct lmi_svc_import *w, uint64_t now, const struct lmi_svc_end *end)
{
	w->ended = true;
	lmi_svc_stream_end(w->request.svc, &w->writer, now, end);
	release(w);
}

static void cancel(struct lmi_svc_stream_writer *writer, uint64_t now, uint32_t reason)
{
	struct lmi_svc_import *w = (struct lmi_svc_import *)writer;
	const struct lmi_svc_end end = lmi_svc_end_of(reason);

	atomic_store(&w->cancelled, true);
	if (w->job_runs)
		lmi_jobs_cancel(&w->job);
	finish(w, now, &end);
}

static bool runs(const struct lmi_svc_stream_writer *writer)
{
	(void)writer;
	return true;
}

/* ---- progress ---- */

static void on_progress(struct lmi_mailbox_message *m)
{
	struct lmi_svc_import *w = (struct lmi_svc_import *)((char *)m - offsetof(struct lmi_svc_import, message));
	struct lmi_svc_stream *s = w->writer.stream;

	atomic_store(&w->posted, false);
	if (!s || s->out.ended)
		return;
	(void)lmi_svc_output_progress(&s->out, w->request.svc->now, atomic_load(&w->phase),
				      atomic_load(&w->done), atomic_load(&w->total));
	lmi_svc_stream_pump(w->request.svc, s, w->request.svc->now);
}

void lmi_svc_import_progress(struct lmi_svc_import *w, enum lmi_wire_phase phase, uint64_t done,
			     uint64_t total)
{
	atomic_store(&w->phase, (uint32_t)phase);
	atomic_store(&w->done, done);
	atomic_store(&w->total, total);
	if (atomic_exchange(&w->posted, true))
		return; /* the previous message has not been delivered yet */
	w->message.deliver = on_progress;
	lmi_mailbox_post(w->request.svc->o.mailbox, &w->message);
}

/* ---- the description ---- */

static int64_t int_key(const struct lmd_model *m, const char *suffix)
{
	const struct lmd_meta *v;
	char key[96];

	(void)snprintf(key, sizeof(key), "%s.%s", m->arch, suffix);
	v = m->find_meta(m, key);
	return v && v->type == LMD_META_I64 ? v->v.i : 0;
}

/* Returns a JSON object of properties to be known without opening the file, or NULL if out of
 * memory. */
static char *facts_of(const struct lmd_model *m)
{
	const struct lmd_meta *license = m->find_meta(m, "general.license");
	json_t *o = json_object();
	uint64_t n = 0;
	char *text;

	for (uint32_t i = 0; i < m->n_tensors; i++) {
		uint64_t k = 1;

		for (uint32_t d = 0; d < m->tensors[i].n_dim; d++)
			k *= (uint64_t)m->tensors[i].dims[d];
		n += k;
	}
	(void)json_object_set_new(o, "name", json_string(m->name));
	(void)json_object_set_new(o, "parameters", json_integer((json_int_t)n));
	(void)json_object_set_new(o, "layers", json_integer(int_key(m, "block_count")));
	(void)json_object_set_new(o, "context", json_integer(int_key(m, "context_length")));
	(void)json_object_set_new(o, "vocabulary", json_integer(m->tok->n_tokens));
	(void)json_object_set_new(o, "chat_template", json_boolean(m->chat_template.ptr != NULL));
	/* left out if it is not UTF-8, which JSON cannot contain */
	if (license && license->type == LMD_META_STR && license->v.s.len <= 256)
		(void)json_object_set_new(o, "license",
					  json_stringn(license->v.s.ptr, license->v.s.len));
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static enum lmd_status describe(struct lmi_svc_import *w, const struct lmi_model *file,
				const struct lmd_str *name)
{
	const struct lmd_model *m = lmi_model_view(file);
	uint32_t n = lmi_model_n_files(file);
	struct lmi_model_file f;

	w->files = lmi_arena_array(w->request.arena, n, sizeof(*w->files));
	w->row.name = lmi_arena_strndup(w->request.arena, name->ptr, name->len);
	w->row.arch = lmi_arena_printf(w->request.arena, "%s", m->arch);
	w->row.format = lmi_arena_printf(w->request.arena, "%.*s", (int)strcspn(m->format, " "), m->format);
	w->row.facts = facts_of(m);
	if (!w->files || !w->row.name || !w->row.arch || !w->row.format || !w->row.facts)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a model");
	for (uint32_t i = 0; i < n; i++) {
		lmi_model_file(file, i, &f);
		w->files[i].path = lmi_arena_printf(w->request.arena, "%s", f.path);
		w->n_bytes += f.bytes;
		if (!w->files[i].path)
			return lmd_fail(&w->err, LMD_NOMEM, "no memory for a model");
	}
	w->row.files = w->files;
	w->row.n_files = n;
	return LMD_OK;
}

enum lmd_status lmi_svc_import_describe(struct lmi_svc_import *w, const char *path,
					const struct lmd_str *name)
{
	struct lmi_model *file;
	enum lmd_status st = lmi_model_open_any(&file, w->request.svc->o.plugins, path,
						LMI_OPEN_HEADER_ONLY, &w->err);

	if (st != LMD_OK)
		return st;
	st = describe(w, file, name);
	lmi_model_close(file);
	return st;
}

enum lmd_status lmi_svc_import_check_digest(struct lmi_svc_import *w, const struct lmd_str *want)
{
	char is[LMI_STORE_DIGEST_HEX];
	size_t skip = want->len > 7 && !memcmp(want->ptr, "sha256:", 7) ? 7 : 0;
	enum lmd_status st = lmi_store_digest_join(is, w->files, w->row.n_files, &w->err);

	if (st != LMD_OK)
		return st;
	if (want->len - skip == 64 && !memcmp(want->ptr + skip, is, 64))
		return LMD_OK;
	return lmd_fail(&w->err, LMD_INVALID, "digest: does not match, the file has sha256:%s", is);
}

/* ---- the row ---- */

/* Returns whether the model of that name is the same one, so that nothing is left to do. */
static bool is_registered(struct lmi_svc_import *w)
{
	struct lmi_store_models found = {0};
	char digest[LMI_STORE_DIGEST_HEX];
	bool same;

	if (!w->once ||
	    lmi_store_digest_join(digest, w->files, w->row.n_files, &w->err) != LMD_OK ||
	    lmi_store_model_find(w->request.svc->o.store, w->row.name, &found, &w->err) != LMD_OK) {
		w->err = (struct lmd_error){0};
		return false;
	}
	same = found.n == 1 && !strcmp(found.v[0].digest, digest) &&
	       !strcmp(found.v[0].name, w->row.name) &&
	       lmi_store_model_changed(&found.v[0], &w->err) == LMD_OK;
	w->err = (struct lmd_error){0};
	lmi_store_models_fini(&found);
	return same;
}

static void run_row(void *arg)
{
	struct lmi_svc_import *w = arg;
	const struct lmi_service_hooks *h = &w->request.svc->hooks;

	w->row.added_at = h->wall_ns ? h->wall_ns(h->arg) : 0;
	w->succeeded = !w->replace && is_registered(w);
	if (w->succeeded)
		return;
	w->err.status = w->replace
				? lmi_store_model_replace(w->request.svc->o.store, &w->row, &w->err)
				: lmi_store_model_add(w->request.svc->o.store, &w->row, &w->err);
	w->succeeded = w->err.status == LMD_OK;
}

static void end_with(struct lmi_svc_import *w)
{
	struct lmi_svc_end end = {.kind = LMI_SVC_END_DONE, .why = LMI_WIRE_FINISH_DONE};

	w->succeeded = w->err.status == LMD_OK; /* a dry run as well */
	if (!w->succeeded) {
		end.kind = LMI_SVC_END_ERROR;
		end.error = w->err;
	}
	finish(w, w->request.svc->now, &end);
}

static void row_done(void *arg)
{
	struct lmi_svc_import *w = arg;

	w->request.svc->n_job--;
	w->job_runs = false;
	lmi_svc_names_change(w->request.svc, w->name);
	if (w->ended)
		release(w);
	else
		end_with(w);
}

static void stage_done(void *arg)
{
	struct lmi_svc_import *w = arg;
	struct lmi_service *svc = w->request.svc;

	w->job_runs = false;
	svc->n_job--;
	if (w->ended) {
		release(w);
		return;
	}
	if (w->err.status == LMD_OK && !w->dry_run) {
		enum lmd_status st;

		w->job = (struct lmi_job){.run = run_row, .done = row_done, .arg = w};
		st = lmi_jobs_submit(svc->o.registry, &w->job, &w->err);
		/* once submitted, w->err belongs to the job */
		if (st == LMD_OK) {
			w->job_runs = true;
			svc->n_job++;
			return;
		}
		w->err.status = st;
	}
	end_with(w);
}

static void run_stage(void *arg)
{
	struct lmi_svc_import *w = arg;

	w->err.status = w->stage(w);
}

enum lmd_status lmi_svc_import_begin(struct lmi_svc_import **out,
				     struct lmi_svc_request *a, uint32_t kind,
				     const struct lmd_str *model, struct lmi_jobs *queue,
				     enum lmd_status (*stage)(struct lmi_svc_import *w),
				     struct lmd_error *err)
{
	static const struct lmi_svc_account no_places = {0};
	struct lmi_service *svc = a->svc;
	struct lmi_svc_import *w = lmi_alloc(1, sizeof(*w));
	enum lmd_status st;

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "no memory for a job");
	st = lmi_svc_request_keep(&w->request, a, &no_places, err);
	if (st != LMD_OK)
		goto undo;
	w->name = lmi_arena_strndup(w->request.arena, model->ptr, model->len);
	w->stage = stage;
	w->writer = (struct lmi_svc_stream_writer){.cancel = cancel, .runs = runs};
	st = w->name ? lmi_svc_stream_begin(a, &w->writer, kind, model, svc->limits.lease_default,
					    err)
		     : lmd_fail(err, LMD_NOMEM, "no memory for a job");
	if (st != LMD_OK)
		goto undo;
	w->job = (struct lmi_job){.run = run_stage, .done = stage_done, .arg = w};
	st = lmi_jobs_submit(queue, &w->job, err);
	if (st != LMD_OK) {
		lmi_svc_stream_drop(svc, w->writer.stream);
		goto undo;
	}
	svc->n_job++;
	w->job_runs = true;
	*out = w;
	return LMD_OK;
undo:
	lmi_svc_request_fini(&w->request);
	lmi_free(w);
	return st;
}
