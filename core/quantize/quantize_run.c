/* SPDX-License-Identifier: MIT
 *
 * Runs a plan: reads, encodes and writes.  All files of a set stay open until the last one is
 * complete; then they get their names one by one. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cpu.h"
#include "core/base/printable.h"
#include "core/base/team.h"
#include "core/quantize/digest.h"
#include "core/quantize/encode.h"
#include "core/quantize/output_keys.h"

struct file {
	struct lmi_gguf_writer *w;
	uint32_t n_skip; /* tensors already written by an earlier run */
};

struct run {
	const struct lmi_quantize_plan *p;
	struct file *file; /* [n_files] */
	uint64_t done;	   /* bytes of the source */
};

char *lmi_quantize_path(const struct lmi_quantize_plan *p, const char *path, uint32_t i)
{
	size_t n = strlen(path), stem = n;
	char *out = lmi_alloc(n + 40, 1);

	if (!out)
		return NULL;
	if (p->n_files == 1) {
		memcpy(out, path, n);
		return out;
	}
	if (n > 5 && !strcmp(path + n - 5, ".gguf"))
		stem -= 5;
	(void)snprintf(out, n + 40, "%.*s-%05u-of-%05u.gguf", (int)stem, path, i + 1, p->n_files);
	return out;
}

static uint32_t file_of(const struct lmi_quantize_plan *p, uint32_t i)
{
	return p->n_files > 1 ? p->items[i].src->file : 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Overwriting the source would lose data that cannot be recovered from the result. */
static enum lmd_status check_target(const struct lmi_quantize_plan *p, const char *path,
				    struct lmd_error *err)
{
	struct lmi_model_file f;
	char show[112];

	for (uint32_t i = 0; i < lmi_model_n_files(p->model); i++) {
		lmi_model_file(p->model, i, &f);
		if (same_file(f.path, path))
			return lmd_fail(err, LMD_INVALID, "%s: is a file of the source model",
					lmi_printable_path(show, sizeof(show), path));
	}
	return LMD_OK;
}

static enum lmd_status open_one(struct run *r, const char *path, uint32_t i, const uint8_t *key,
				struct lmd_error *err)
{
	const struct lmi_quantize_plan *p = r->p;
	char *name = lmi_quantize_path(p, path, i);
	enum lmd_status st;

	if (!name)
		return lmd_fail(err, LMD_NOMEM, "no memory for a path");
	st = check_target(p, name, err);
	if (st == LMD_OK)
		st = lmi_gguf_writer_create(&r->file[i].w, 32, err);
	if (st == LMD_OK)
		st = lmi_quantize_keys(p, i, r->file[i].w, err);
	for (uint32_t k = 0; st == LMD_OK && k < p->n_items; k++) {
		const struct lmi_quantize_item *it = &p->items[k];

		if (file_of(p, k) == i)
			lmi_gguf_add_tensor(r->file[i].w, it->name, it->type, it->src->n_dim,
					    it->src->dims);
	}
	if (st == LMD_OK && p->opts.resume.keep != LMI_GGUF_KEEP_NONE) /* for what is read back */
		lmi_gguf_writer_on_progress(r->file[i].w, p->opts.progress, p->opts.progress_arg);
	if (st == LMD_OK)
		st = lmi_gguf_writer_resume(r->file[i].w, name, &p->opts.resume, key,
					    &r->file[i].n_skip, err);
	if (st == LMD_OK) /* progress of data is reported in bytes of the source, by this thread */
		lmi_gguf_writer_on_progress(r->file[i].w, NULL, NULL);
	lmi_free(name);
	return st;
}

static enum lmd_status write_data(void *arg, const void *data, size_t n, struct lmd_error *err)
{
	return lmi_gguf_writer_data(arg, data, n, err);
}

static enum lmd_status report_progress(void *arg, uint64_t n_src, struct lmd_error *err)
{
	struct run *r = arg;
	const struct lmi_quantize_opts *o = &r->p->opts;

	r->done += n_src;
	if (!o->progress || o->progress(o->progress_arg, r->done, r->p->bytes_in))
		return LMD_OK;
	return lmd_fail(err, LMD_CANCELLED, "cancelled after %llu of %llu bytes",
			(unsigned long long)r->done, (unsigned long long)r->p->bytes_in);
}

static enum lmd_status encode_all(struct run *r, struct lmd_error *err)
{
	uint32_t n_thread = r->p->opts.n_thread ? r->p->opts.n_thread : lmi_cpu_count();
	struct lmi_quantize_encoder_sink to = {
		.write = write_data, .progress = report_progress, .progress_arg = r};
	struct lmi_quantize_encoder *e = NULL;
	enum lmd_status st;

	st = lmi_quantize_encoder_create(&e, n_thread < LMI_TEAM_MAX ? n_thread : LMI_TEAM_MAX,
					 err);
	for (uint32_t i = 0; st == LMD_OK && i < r->p->n_items; i++) {
		const struct lmi_quantize_item *it = &r->p->items[i];
		struct file *f = &r->file[file_of(r->p, i)];

		to.arg = f->w;
		if (f->n_skip) {
			f->n_skip--;
			st = report_progress(r, it->src->bytes, err);
		} else {
			st = lmi_quantize_encoder_run(e, r->p->model, it, &to, err);
		}
	}
	if (st == LMD_OK)
		st = lmi_quantize_encoder_flush(e, err);
	lmi_quantize_encoder_destroy(e);
	return st;
}

/* Renames the files to their final names; if one fails, the others of the set are removed. */
static enum lmd_status finish(struct run *r, const char *path, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	uint32_t i = 0;

	for (; st == LMD_OK && i < r->p->n_files; i++)
		st = lmi_gguf_writer_finish(r->file[i].w, err);
	for (uint32_t k = 0; st != LMD_OK && k + 1 < i; k++) {
		char *name = lmi_quantize_path(r->p, path, k);

		if (name)
			(void)unlink(name);
		lmi_free(name);
	}
	return st;
}

enum lmd_status lmi_quantize_run(const struct lmi_quantize_plan *p, const char *path,
				 struct lmd_error *err)
{
	struct run r = {.p = p};
	uint8_t key[LMI_SHA256_BYTES] = {0};
	enum lmd_status st = lmi_quantize_check(p, err);

	if (st == LMD_OK && p->opts.resume.keep != LMI_GGUF_KEEP_NONE)
		st = lmi_quantize_digest(p, key, err);
	if (st != LMD_OK)
		return st;
	r.file = lmi_alloc(p->n_files, sizeof(*r.file));
	if (!r.file)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u writers", p->n_files);
	for (uint32_t i = 0; st == LMD_OK && i < p->n_files; i++)
		st = open_one(&r, path, i, key, err);
	if (st == LMD_OK)
		st = encode_all(&r, err);
	if (st == LMD_OK)
		st = finish(&r, path, err);
	for (uint32_t i = 0; i < p->n_files; i++) {
		st = lmi_gguf_writer_interrupt(r.file[i].w, st, err);
		lmi_gguf_writer_destroy(r.file[i].w);
	}
	lmi_free(r.file);
	return st;
}
