/* SPDX-License-Identifier: MIT
 *
 * The op add: registers a file of this machine as a model.
 *
 * An io thread checks that the path is below a model folder and the file is a model, and computes
 * its digest or copies it into the store.  Then the registry's thread writes the row.  A
 * cancellation takes effect within one piece of the file; it has no effect once the row is being
 * written. */
#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/checkpoint/open.h"
#include "service/idempotency_reply.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/output.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/stream.h"
#include "service/stream_writer.h"
#include "store/import.h"

struct add_work {
	struct lmi_svc_stream_writer writer;
	struct lmi_service *svc;
	struct lmi_svc_idempotency_key_reply pending_reply;
	struct lmi_svc_copy copy;
	struct lmd_arena *arena;
	struct lmi_job job;
	struct lmd_error err;
	bool ended, job_runs;
	_Atomic bool cancelled;
	/* progress: written by the job, read when the message is delivered */
	struct lmi_mailbox_message message;
	_Atomic bool posted;
	_Atomic uint32_t phase;
	_Atomic uint64_t done, total;
	uint64_t done_before; /* bytes of the files that are complete */
	uint64_t n_bytes;
	/* the new row */
	struct lmi_store_model row;
	struct lmi_store_file *files;
};

static const struct lmi_wire_req_add *request(const struct add_work *w)
{
	return &w->copy.req.u.add;
}

/* ---- lifetime ---- */

static void release(struct add_work *w)
{
	if (!w->ended || w->job_runs)
		return;
	lmi_svc_copy_fini(&w->copy);
	lmi_arena_destroy(w->arena);
	free((char *)w->row.facts); /* allocated by jansson */
	lmi_free(w);
}

static void finish(struct add_work *w, uint64_t now, const struct lmi_svc_end *end)
{
	w->ended = true;
	lmi_svc_stream_end(w->svc, &w->writer, now, end);
	release(w);
}

static void cancel(struct lmi_svc_stream_writer *writer, uint64_t now, uint32_t reason)
{
	struct add_work *w = (struct add_work *)writer;
	const struct lmi_svc_end end = lmi_svc_end_of(reason);

	atomic_store(&w->cancelled, true);
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
	struct add_work *w = (struct add_work *)((char *)m - offsetof(struct add_work, message));
	struct lmi_svc_stream *s = w->writer.stream;

	atomic_store(&w->posted, false);
	if (!s || s->out.ended)
		return;
	(void)lmi_svc_output_progress(&s->out, w->svc->now, atomic_load(&w->phase),
				      atomic_load(&w->done), atomic_load(&w->total));
	lmi_svc_stream_pump(w->svc, s, w->svc->now);
}

static void post_progress(struct add_work *w, enum lmi_wire_phase phase, uint64_t done,
			  uint64_t total)
{
	atomic_store(&w->phase, (uint32_t)phase);
	atomic_store(&w->done, done);
	atomic_store(&w->total, total);
	if (atomic_exchange(&w->posted, true))
		return; /* the previous message has not been delivered yet */
	w->message.deliver = on_progress;
	lmi_mailbox_post(w->svc->o.mailbox, &w->message);
}

static void on_piece(void *arg, uint64_t done, uint64_t total)
{
	struct add_work *w = arg;
	bool copy = request(w)->copy;

	(void)total;
	post_progress(w, copy ? LMI_WIRE_PHASE_COPY : LMI_WIRE_PHASE_HASH, w->done_before + done,
		      w->n_bytes * (copy ? 2 : 1));
}

/* ---- the file ---- */

static bool is_below(const char *path, const char *dir)
{
	char real[PATH_MAX];
	size_t n;

	if (!realpath(dir, real))
		return false;
	n = strlen(real);
	if (n == 1) /* the root */
		return true;
	return !strncmp(path, real, n) && path[n] == '/';
}

/* Resolves links and dots in the path, and checks that it is below a model folder. */
static enum lmd_status resolve(struct add_work *w, char real[PATH_MAX])
{
	const struct lmd_str *q = &request(w)->path;
	const struct lmi_service *svc = w->svc;
	char path[LMI_STORE_PATH_MAX + 1], shown[160];

	(void)snprintf(path, sizeof(path), "%.*s", (int)q->len, q->ptr);
	(void)lmi_printable_path(shown, sizeof(shown), path);
	if (path[0] != '/' || memchr(q->ptr, 0, q->len))
		return lmd_fail(&w->err, LMD_INVALID, "path: '%s' is not absolute", shown);
	if (!svc->o.n_model_dirs)
		return lmd_fail(&w->err, LMD_INVALID,
				"path: not allowed, since no model_dir is configured");
	if (!realpath(path, real))
		return lmd_fail(&w->err, LMD_NOTFOUND, "path: '%s' does not exist", shown);
	for (uint32_t i = 0; i < svc->o.n_model_dirs; i++)
		if (is_below(real, svc->o.model_dirs[i]))
			return LMD_OK;
	return lmd_fail(&w->err, LMD_INVALID, "path: '%s' is not below any model_dir", shown);
}

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

static enum lmd_status describe(struct add_work *w, const struct lmi_model *file)
{
	const struct lmd_model *m = lmi_model_view(file);
	uint32_t n = lmi_model_n_files(file);
	struct lmi_model_file f;

	if (request(w)->copy && strncmp(m->format, "gguf", 4) && strcmp(m->format, "safetensors"))
		return lmd_fail(&w->err, LMD_UNSUPPORTED,
				"a model in format %s cannot be copied, since a copy is recognised "
				"only if it is a GGUF file: add it without copy",
				m->format);
	if (request(w)->copy && !strcmp(m->format, "safetensors"))
		return lmd_fail(
			&w->err, LMD_UNSUPPORTED,
			"a folder cannot be copied, since its files must keep their names: add it "
			"without copy, or convert it to one file with llamactl convert");
	w->files = lmi_arena_array(w->arena, n, sizeof(*w->files));
	w->row.name = lmi_arena_strndup(w->arena, request(w)->name.ptr, request(w)->name.len);
	w->row.arch = lmi_arena_printf(w->arena, "%s", m->arch);
	w->row.format = lmi_arena_printf(w->arena, "%.*s", (int)strcspn(m->format, " "), m->format);
	w->row.facts = facts_of(m);
	if (!w->files || !w->row.name || !w->row.arch || !w->row.format || !w->row.facts)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a model");
	for (uint32_t i = 0; i < n; i++) {
		lmi_model_file(file, i, &f);
		w->files[i].path = lmi_arena_printf(w->arena, "%s", f.path);
		w->n_bytes += f.bytes;
		if (!w->files[i].path)
			return lmd_fail(&w->err, LMD_NOMEM, "no memory for a model");
	}
	w->row.files = w->files;
	w->row.n_files = n;
	w->row.imported = request(w)->copy;
	return LMD_OK;
}

static enum lmd_status open_file(struct add_work *w, const char *path)
{
	struct lmi_model *file;
	enum lmd_status st = lmi_model_open_any(&file, w->svc->o.plugins, path,
						LMI_OPEN_HEADER_ONLY, &w->err);

	if (st != LMD_OK)
		return st;
	st = describe(w, file);
	lmi_model_close(file);
	return st;
}

static enum lmd_status check_digest(struct add_work *w)
{
	const struct lmd_str *want = &request(w)->digest;
	char is[LMI_STORE_DIGEST_HEX];
	size_t skip = want->len > 7 && !memcmp(want->ptr, "sha256:", 7) ? 7 : 0;
	enum lmd_status st = lmi_store_digest_join(is, w->files, w->row.n_files, &w->err);

	if (st != LMD_OK || !request(w)->has_digest)
		return st;
	if (want->len - skip == 64 && !memcmp(want->ptr + skip, is, 64))
		return LMD_OK;
	return lmd_fail(&w->err, LMD_INVALID, "digest: does not match, the file has sha256:%s", is);
}

static enum lmd_status read_files(struct add_work *w)
{
	const struct lmi_store_work work = {
		.progress = on_piece, .arg = w, .cancel = &w->cancelled};
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < w->row.n_files && st == LMD_OK; i++) {
		struct lmi_store_file f;
		const char *path = w->files[i].path;

		st = request(w)->copy ? lmi_store_import(&f, lmi_store_dir(w->svc->o.store), path,
							 &work, &w->err)
				      : lmi_store_digest_file(&f, path, &work, &w->err);
		if (st != LMD_OK)
			break;
		w->files[i] = f;
		w->files[i].path = path;
		w->done_before += f.size * (request(w)->copy ? 2 : 1);
	}
	return st == LMD_OK ? check_digest(w) : st;
}

static void run_read(void *arg)
{
	struct add_work *w = arg;
	char real[PATH_MAX];

	post_progress(w, LMI_WIRE_PHASE_CHECK, 0, 1);
	w->err.status = resolve(w, real);
	if (w->err.status == LMD_OK)
		w->err.status = open_file(w, real);
	if (w->err.status == LMD_OK)
		w->err.status = read_files(w);
}

/* ---- the row ---- */

static void run_row(void *arg)
{
	struct add_work *w = arg;
	const struct lmi_service_hooks *h = &w->svc->hooks;

	w->row.added_at = h->wall_ns ? h->wall_ns(h->arg) : 0;
	w->err.status = request(w)->replace
				? lmi_store_model_replace(w->svc->o.store, &w->row, &w->err)
				: lmi_store_model_add(w->svc->o.store, &w->row, &w->err);
}

static void end_with(struct add_work *w)
{
	struct lmi_svc_end end = {.kind = LMI_SVC_END_DONE, .why = LMI_WIRE_FINISH_DONE};

	if (w->err.status != LMD_OK) {
		end.kind = LMI_SVC_END_ERROR;
		end.error = w->err;
	}
	finish(w, w->svc->now, &end);
}

static void row_done(void *arg)
{
	struct add_work *w = arg;

	w->svc->n_job--;
	w->job_runs = false;
	lmi_svc_names_clear(w->svc);
	if (w->ended)
		release(w);
	else
		end_with(w);
}

static void read_done(void *arg)
{
	struct add_work *w = arg;
	struct lmi_service *svc = w->svc;

	w->job_runs = false;
	svc->n_job--;
	if (w->ended) {
		release(w);
		return;
	}
	if (w->err.status == LMD_OK) {
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

enum lmd_status lmi_svc_do_add(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
			       struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct add_work *w;
	enum lmd_status st = lmi_svc_stream_admit(svc, a->principal, err);

	(void)retry_ms;
	if (st == LMD_OK && !svc->o.store)
		st = lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	if (st == LMD_OK && a->principal->remote && svc->o.local_paths)
		st = lmd_fail(err, LMD_DENIED,
			      "path: not allowed over TCP unless model_dir is configured");
	if (st != LMD_OK)
		return st;
	w = lmi_alloc(1, sizeof(*w));
	if (w)
		w->arena = lmi_arena_create(0);
	if (!w || !w->arena) {
		lmi_free(w);
		return lmd_fail(err, LMD_NOMEM, "no memory for a job");
	}
	w->svc = svc;
	w->writer = (struct lmi_svc_stream_writer){.cancel = cancel, .runs = runs};
	st = lmi_svc_stream_begin(a, &w->writer, LMI_WIRE_STREAM_KIND_ADD, &a->req->u.add.name,
				  svc->limits.lease_default, err);
	if (st != LMD_OK)
		goto undo;
	w->job = (struct lmi_job){.run = run_read, .done = read_done, .arg = w};
	w->copy = *a->copy;
	st = lmi_jobs_submit(svc->o.io, &w->job, err);
	if (st != LMD_OK) {
		lmi_svc_stream_destroy(&svc->streams, w->writer.stream);
		goto undo;
	}
	*a->copy = (struct lmi_svc_copy){0};
	svc->n_job++;
	w->job_runs = true;
	lmi_svc_idempotency_key_reply_init(&w->pending_reply, a);
	lmi_svc_idempotency_key_reply_stream(&w->pending_reply, w->writer.stream, 0);
	return LMD_OK;
undo:
	lmi_arena_destroy(w->arena);
	lmi_free(w);
	return st;
}
