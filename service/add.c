/* SPDX-License-Identifier: MIT
 *
 * The op add: registers a file of this machine as a model.  The stage checks that the path is below
 * a model folder and the file is a model, and computes its digest or copies it into the store. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/printable.h"
#include "core/base/tower_file.h"
#include "core/checkpoint/open.h"
#include "core/engine/tower_check.h"
#include "service/import_job.h"
#include "service/ops.h"
#include "service/service_state.h"

static const struct lmi_wire_req_add *request(const struct lmi_svc_import *w)
{
	return &w->request.message.u.add;
}

static void on_piece(void *arg, uint64_t done, uint64_t total)
{
	struct lmi_svc_import *w = arg;
	bool copy = request(w)->copy;

	(void)total;
	lmi_svc_import_progress(w, copy ? LMI_WIRE_PHASE_COPY : LMI_WIRE_PHASE_HASH, w->done_before + done,
		      w->n_bytes * (copy ? 2 : 1));
}

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
static enum lmd_status resolve_path(struct lmi_svc_import *w, const char *path, char real[PATH_MAX])
{
	const struct lmi_service *svc = w->request.svc;
	char shown[160];

	(void)lmi_printable_path(shown, sizeof(shown), path);
	if (!realpath(path, real))
		return lmd_fail(&w->err, LMD_NOTFOUND, "path: '%s' does not exist", shown);
	for (uint32_t i = 0; i < svc->o.n_model_dirs; i++)
		if (is_below(real, svc->o.model_dirs[i]))
			return LMD_OK;
	return lmd_fail(&w->err, LMD_INVALID, "path: '%s' is not below any model_dir", shown);
}

/* Resolves the path of the request. */
static enum lmd_status resolve(struct lmi_svc_import *w, char real[PATH_MAX])
{
	const struct lmd_str *q = &request(w)->path;
	const struct lmi_service *svc = w->request.svc;
	char path[LMI_STORE_PATH_MAX + 1], shown[160];

	(void)snprintf(path, sizeof(path), "%.*s", (int)q->len, q->ptr);
	(void)lmi_printable_path(shown, sizeof(shown), path);
	if (path[0] != '/' || memchr(q->ptr, 0, q->len))
		return lmd_fail(&w->err, LMD_INVALID, "path: '%s' is not absolute", shown);
	if (!svc->o.n_model_dirs)
		return lmd_fail(&w->err, LMD_INVALID,
				"path: not allowed, since no model_dir is configured");
	return resolve_path(w, path, real);
}

/* Finds the vision tower that is copied with the model at `real`; "": none. The model does without a file that
 * must not be read, or that only has the name of a tower. An error is one of the model. */
static enum lmd_status find_tower(struct lmi_svc_import *w, const char *real, char tower[PATH_MAX])
{
	struct lmi_plugin_registry *plugins = w->request.svc->o.plugins;
	const struct lmd_host *host = w->request.svc->o.host;
	struct lmi_model *model;
	char beside[PATH_MAX];
	struct stat sb;
	enum lmd_status st;

	*tower = 0;
	if (!lmi_tower_beside(beside, sizeof(beside), real))
		return LMD_OK;
	st = lmi_model_open_any(&model, plugins, real, LMI_OPEN_HEADER_ONLY, &w->err);
	if (st != LMD_OK)
		return st;
	st = resolve_path(w, beside, tower);
	if (st == LMD_OK)
		st = lmi_engine_tower_check(tower, lmi_model_view(model), plugins, &w->err);
	lmi_model_close(model);
	if (st == LMD_OK) {
		w->n_bytes += stat(tower, &sb) == 0 ? (uint64_t)sb.st_size : 0;
		return LMD_OK;
	}
	host->log(host->ctx, "service", LMD_LOG_WARN, "add %s: added without the vision tower beside it: %s",
		  w->row.name, w->err.text);
	w->err = (struct lmd_error){0};
	*tower = 0;
	return LMD_OK;
}

/* Only some models can be copied: a copy has no name of its own. */
static enum lmd_status check_copy(struct lmi_svc_import *w)
{
	const char *format = w->row.format;

	if (strcmp(format, "gguf") != 0 && strcmp(format, "safetensors") != 0)
		return lmd_fail(&w->err, LMD_UNSUPPORTED,
				"a model in format %s cannot be copied, since a copy is recognised "
				"only if it is a GGUF file: add it without copy",
				format);
	if (!strcmp(format, "safetensors"))
		return lmd_fail(
			&w->err, LMD_UNSUPPORTED,
			"a folder cannot be copied, since its files must keep their names: add it "
			"without copy, or convert it to one file with llamactl convert");
	return LMD_OK;
}

static enum lmd_status read_files(struct lmi_svc_import *w)
{
	const struct lmi_store_work work = {
		.progress = on_piece, .arg = w, .cancel = &w->cancelled};
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < w->row.n_files && st == LMD_OK; i++) {
		struct lmi_store_file f;
		const char *path = w->files[i].path;

		st = request(w)->copy ? lmi_store_import(&f, lmi_store_dir(w->request.svc->o.store), path,
							 &work, &w->err)
				      : lmi_store_digest_file(&f, path, &work, &w->err);
		if (st != LMD_OK)
			break;
		w->files[i] = f;
		w->files[i].path = path;
		w->done_before += f.size * (request(w)->copy ? 2 : 1);
	}
	if (st != LMD_OK || !request(w)->has_digest)
		return st;
	return lmi_svc_import_check_digest(w, &request(w)->digest);
}

static enum lmd_status copy_tower(struct lmi_svc_import *w, const char *tower)
{
	const struct lmi_store_work work = {.progress = on_piece, .arg = w, .cancel = &w->cancelled};

	return lmi_store_import_tower(lmi_store_dir(w->request.svc->o.store), w->files[0].digest, tower, &work,
				      &w->err);
}

static enum lmd_status stage(struct lmi_svc_import *w)
{
	char real[PATH_MAX], tower[PATH_MAX] = "";
	enum lmd_status st;

	lmi_svc_import_progress(w, LMI_WIRE_PHASE_CHECK, 0, 1);
	w->replace = request(w)->replace;
	w->row.imported = request(w)->copy;
	st = resolve(w, real);
	if (st == LMD_OK)
		st = lmi_svc_import_describe(w, real, &request(w)->name);
	if (st == LMD_OK && request(w)->copy)
		st = check_copy(w);
	if (st == LMD_OK && request(w)->copy)
		st = find_tower(w, real, tower);
	if (st == LMD_OK)
		st = read_files(w);
	if (st == LMD_OK && *tower)
		st = copy_tower(w, tower);
	return st == LMD_OK && request(w)->copy ? lmi_svc_import_keep_manifest(w, real) : st;
}

enum lmd_status lmi_svc_do_add(struct lmi_svc_request *a, uint32_t *retry_ms,
			       struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	struct lmi_svc_import *w;
	enum lmd_status st = lmi_svc_stream_admit(svc, &a->principal, err);

	(void)retry_ms;
	if (st == LMD_OK && !svc->o.store)
		st = lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	if (st == LMD_OK && a->principal.remote && svc->o.local_paths)
		st = lmd_fail(err, LMD_DENIED,
			      "path: not allowed over TCP unless model_dir is configured");
	if (st == LMD_OK)
		st = lmi_svc_import_begin(&w, a, LMI_WIRE_STREAM_KIND_ADD, &a->req->u.add.name,
					  svc->o.io, stage, err);
	if (st == LMD_OK)
		lmi_svc_request_reply_stream(&w->request, w->writer.stream, 0);
	return st;
}
