/* SPDX-License-Identifier: MIT
 *
 * The op pull: downloads a model and registers it.  The files arrive in DIR/downloads/KEY/, where
 * an interrupted download stays for the next one of the same source, and become imported files. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/base/tower_file.h"
#include "hub/hub.h"
#include "service/import_job.h"
#include "service/ops.h"
#include "service/service_state.h"
#include "store/import.h"

#define FOLDER "downloads"

static const struct lmi_wire_req_pull *request(const struct lmi_svc_import *w)
{
	return &w->request.message.u.pull;
}

/* ---- the folder ---- */

static enum lmd_status make_folder(const char *path, struct lmd_error *err)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return LMD_OK;
	return lmd_fail(err, LMD_IO, "%.300s: cannot create the folder: %s", path, strerror(errno));
}

/* Makes the folder of a source.  Two sources never share one. */
static enum lmd_status folder_of(struct lmi_svc_import *w, const char *source, const char **out)
{
	const char *dir = lmi_store_dir(w->request.svc->o.store);
	uint8_t digest[LMI_SHA256_BYTES];
	char hex[LMI_SHA256_HEX];
	struct lmi_sha256 h;
	enum lmd_status st;

	if (!lmi_sha256_init(&h))
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, source, strlen(source));
	if (!lmi_sha256_final(&h, digest))
		return lmd_fail(&w->err, LMD_INTERNAL, "the digest cannot be computed");
	lmi_sha256_hex(hex, digest);
	*out = lmi_arena_printf(w->request.arena, "%s/" FOLDER "/%.32s", dir, hex);
	if (!*out)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a path");
	st = make_folder(lmi_arena_printf(w->request.arena, "%s/" FOLDER, dir), &w->err);
	return st == LMD_OK ? make_folder(*out, &w->err) : st;
}

/* Removes what an earlier version of the source may have left. */
static void remove_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	(void)rmdir(path);
}

/* ---- the stage ---- */

static void on_piece(void *arg, uint64_t done, uint64_t total, bool checking)
{
	struct lmi_svc_import *w = arg;

	if (checking) /* of one file, since it is as fast as the disk */
		lmi_svc_import_progress(w, LMI_WIRE_PHASE_HASH, done, total);
	else
		lmi_svc_import_progress(w, LMI_WIRE_PHASE_DOWNLOAD, w->done_before + done,
					w->n_bytes ? w->n_bytes : total);
}

/* If the store has a file with the announced digest, puts a link to it in place of a download. */
static bool have_already(struct lmi_svc_import *w, const struct lmi_hub_file *f, const char *path,
			 char digest[LMI_SHA256_HEX])
{
	const char *blob = lmi_arena_printf(w->request.arena, "%s/models/sha256-%s",
					    lmi_store_dir(w->request.svc->o.store), f->sha256);
	const struct lmi_store_work work = {.cancel = &w->cancelled};
	struct lmi_store_file is;
	struct lmd_error err;

	if (!*f->sha256 || !blob || lmi_store_digest_file(&is, blob, &work, &err) != LMD_OK ||
	    strcmp(is.digest, f->sha256) != 0)
		return false;
	(void)unlink(path);
	if (symlink(blob, path) < 0)
		return false;
	memcpy(digest, is.digest, LMI_SHA256_HEX);
	w->done_before += f->size;
	return true;
}

/* Returns whether a file has the announced size and digest. */
static bool has_content(struct lmi_svc_import *w, const struct lmi_hub_file *f, const char *path)
{
	const struct lmi_store_work work = {.cancel = &w->cancelled};
	struct lmi_store_file is;
	struct lmd_error err;
	struct stat sb;

	return *f->sha256 && !lstat(path, &sb) && (uint64_t)sb.st_size == f->size &&
	       lmi_store_digest_file(&is, path, &work, &err) == LMD_OK && !strcmp(is.digest, f->sha256);
}

/* If a model of the store has the same vision tower, makes a second name for that file. */
static bool share_tower(struct lmi_svc_import *w, const struct lmi_hub_file *f, const char *path)
{
	const size_t n_end = strlen(LMI_TOWER_SUFFIX);
	char models[PATH_MAX], there[PATH_MAX + 257];
	struct dirent *e;
	bool shared = false;
	DIR *d;

	(void)snprintf(models, sizeof(models), "%s/models", lmi_store_dir(w->request.svc->o.store));
	d = *f->sha256 ? opendir(models) : NULL;
	while (d && !shared && !atomic_load(&w->cancelled) && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n <= n_end || strcmp(e->d_name + n - n_end, LMI_TOWER_SUFFIX) != 0)
			continue;
		(void)snprintf(there, sizeof(there), "%s/%s", models, e->d_name);
		if (has_content(w, f, there)) {
			(void)unlink(path);
			shared = !link(there, path);
		}
	}
	if (d)
		closedir(d);
	return shared;
}

/* Gets the vision tower into the folder: before the model, since a complete file of the folder is recognised,
 * and it is the smaller one. */
static enum lmd_status fetch_tower(struct lmi_svc_import *w, const struct lmi_hub_file *f, const char *folder)
{
	const struct lmi_hub_transfer t = {.progress = on_piece, .arg = w};
	const struct lmi_service_opts *o = &w->request.svc->o;
	const char *path = lmi_arena_printf(w->request.arena, "%s/%s", folder, f->name);
	char digest[LMI_SHA256_HEX];
	enum lmd_status st = LMD_OK;

	if (!path)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a path");
	if (!has_content(w, f, path) && !share_tower(w, f, path))
		st = o->hub->fetch(f, path, o->hub_opts, &t, digest, &w->err);
	w->done_before += f->size;
	return st;
}

static enum lmd_status fetch(struct lmi_svc_import *w, const struct lmi_hub_model *m,
			     const char *folder, char (*digests)[LMI_SHA256_HEX])
{
	const struct lmi_hub_transfer t = {.progress = on_piece, .arg = w};
	const struct lmi_service_opts *o = &w->request.svc->o;
	char manifest[LMI_SHA256_HEX];
	enum lmd_status st = LMD_OK;

	w->n_bytes = m->size;
	if (m->tower)
		st = fetch_tower(w, m->tower, folder);
	for (uint32_t i = 0; i < m->n_files && st == LMD_OK; i++) {
		const char *path = lmi_arena_printf(w->request.arena, "%s/%s", folder, m->files[i].name);

		if (!path)
			return lmd_fail(&w->err, LMD_NOMEM, "no memory for a path");
		if (have_already(w, &m->files[i], path, digests[i]))
			continue;
		st = o->hub->fetch(&m->files[i], path, o->hub_opts, &t, digests[i], &w->err);
		w->done_before += m->files[i].size;
	}
	if (st == LMD_OK && m->manifest) {
		const char *path = lmi_arena_printf(w->request.arena, "%s/%s", folder, m->manifest->name);

		if (!path)
			return lmd_fail(&w->err, LMD_NOMEM, "no memory for a path");
		st = o->hub->fetch(m->manifest, path, o->hub_opts, &t, manifest, &w->err);
	}
	return st;
}

/* Moves the vision tower, which is in the folder, beside the first file of the model. */
static enum lmd_status adopt_tower(struct lmi_svc_import *w, const char *folder, const struct lmi_hub_file *f,
				   const char *digest)
{
	const char *from = lmi_arena_printf(w->request.arena, "%s/%s", folder, f->name);
	const char *to = lmi_arena_printf(w->request.arena, "%s/models/sha256-%s" LMI_TOWER_SUFFIX,
					  lmi_store_dir(w->request.svc->o.store), digest);

	if (!from || !to)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a path");
	if (rename(from, to) < 0)
		return lmd_fail(&w->err, LMD_IO, "%.300s: %s", to, strerror(errno));
	lmi_file_sync_folder(to);
	return LMD_OK;
}

/* Moves the files, which are in the order of the parts, to the store. */
static enum lmd_status adopt(struct lmi_svc_import *w, char (*digests)[LMI_SHA256_HEX])
{
	const struct lmi_store_work work = {.cancel = &w->cancelled};
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < w->row.n_files && st == LMD_OK; i++) {
		const char *path = w->files[i].path;

		st = lmi_store_adopt(&w->files[i], lmi_store_dir(w->request.svc->o.store), path, digests[i],
				     &work, &w->err);
		w->files[i].path = path;
	}
	return st;
}

/* The digests that were computed while the files arrived. */
static enum lmd_status check_digest(struct lmi_svc_import *w, uint32_t n,
				    char (*digests)[LMI_SHA256_HEX])
{
	if (w->row.n_files != n)
		return lmd_fail(&w->err, LMD_CORRUPT, "the model has %u files and the source %u",
				w->row.n_files, n);
	for (uint32_t i = 0; i < n; i++)
		memcpy(w->files[i].digest, digests[i], sizeof(w->files[i].digest));
	return request(w)->has_digest ? lmi_svc_import_check_digest(w, &request(w)->digest)
				      : LMD_OK;
}

static enum lmd_status pull(struct lmi_svc_import *w, const struct lmi_hub_model *m)
{
	const struct lmd_str name = {.ptr = w->name, .len = strlen(w->name)};
	char(*digests)[LMI_SHA256_HEX] =
		lmi_arena_array(w->request.arena, m->n_files, sizeof(*digests));
	const char *folder = NULL;
	enum lmd_status st = folder_of(w, m->source, &folder);
	const char *first;

	if (!digests)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for %u files", m->n_files);
	if (st == LMD_OK)
		st = fetch(w, m, folder, digests);
	if (st != LMD_OK)
		return st;
	first = lmi_arena_printf(w->request.arena, "%s/%s", folder, m->files[0].name);
	if (!first)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a path");
	st = lmi_svc_import_describe(w, first, &name);
	if (st == LMD_OK)
		st = check_digest(w, m->n_files, digests);
	if (st == LMD_OK)
		st = adopt(w, digests);
	if (st == LMD_OK && m->tower)
		st = adopt_tower(w, folder, m->tower, digests[0]);
	if (st == LMD_OK)
		st = lmi_svc_import_keep_manifest(w, first);
	/* complete files that are no model, or not the expected one, are of no use any more */
	if (st == LMD_OK || st == LMD_CORRUPT || st == LMD_INVALID || st == LMD_UNSUPPORTED)
		remove_folder(folder);
	return st;
}

static enum lmd_status stage(struct lmi_svc_import *w)
{
	const struct lmi_wire_req_pull *q = request(w);
	char source[LMI_HUB_SOURCE_MAX + 1];
	struct lmi_hub_model *m;
	enum lmd_status st;

	w->dry_run = q->dry_run;
	w->replace = q->replace;
	w->row.imported = w->once = true;
	lmi_svc_import_progress(w, LMI_WIRE_PHASE_CHECK, 0, 1);
	(void)snprintf(source, sizeof(source), "%.*s", (int)q->source.len, q->source.ptr);
	st = w->request.svc->o.hub->resolve(&m, source, w->request.svc->o.hub_opts, &w->err);
	if (st != LMD_OK)
		return st;
	if (m->is_folder)
		st = lmd_fail(&w->err, LMD_UNSUPPORTED,
			      "%s has safetensors and no GGUF file; download it into a folder and "
			      "use that: llamactl pull %s --to FOLDER",
			      m->source, m->source);
	else if (w->dry_run)
		lmi_svc_import_progress(w, LMI_WIRE_PHASE_DOWNLOAD, 0, m->size);
	else
		st = pull(w, m);
	w->request.svc->o.hub->model_free(m);
	return st;
}

enum lmd_status lmi_svc_do_pull(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	const struct lmi_wire_req_pull *q = &a->req->u.pull;
	char source[LMI_HUB_SOURCE_MAX + 1], proposed[LMI_HUB_NAME_MAX + 1];
	struct lmd_str name = q->name;
	struct lmi_service *svc = a->svc;
	struct lmi_svc_import *w;
	enum lmd_status st = lmi_svc_stream_admit(svc, &a->principal, err);

	(void)retry_ms;
	if (st == LMD_OK && (!svc->o.store || !svc->o.pulls || !svc->o.hub))
		st = lmd_fail(err, LMD_UNSUPPORTED, "this server does not download models");
	if (st == LMD_OK && memchr(q->source.ptr, 0, q->source.len))
		st = lmd_fail(err, LMD_INVALID, "source: a zero byte");
	(void)snprintf(source, sizeof(source), "%.*s", (int)q->source.len, q->source.ptr);
	if (st == LMD_OK && !q->has_name) {
		st = svc->o.hub->default_name(proposed, source, err);
		name = (struct lmd_str){.ptr = proposed, .len = strlen(proposed)};
	}
	if (st == LMD_OK)
		st = lmi_svc_import_begin(&w, a, LMI_WIRE_STREAM_KIND_PULL, &name, svc->o.pulls,
					  stage, err);
	if (st == LMD_OK)
		lmi_svc_request_reply_stream(&w->request, w->writer.stream, 0);
	return st;
}
