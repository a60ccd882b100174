/* SPDX-License-Identifier: MIT
 *
 * Writes the file: header first, then tensor data in order. */
#include "core/format/gguf/write_impl.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"

void lmi_gguf_writer_on_progress(struct lmi_gguf_writer *w, lmi_gguf_progress_fn fn, void *arg)
{
	w->progress = fn;
	w->progress_arg = arg;
}

static enum lmd_status report_progress(const struct lmi_gguf_writer *w, struct lmd_error *err)
{
	const struct lmi_new_file *f = &w->out.file;

	if (!w->progress || w->progress(w->progress_arg, f->bytes, w->total))
		return LMD_OK;
	return lmd_fail(err, LMD_CANCELLED, "%s: cancelled after %llu of %llu bytes", f->path,
			(unsigned long long)f->bytes, (unsigned long long)w->total);
}

static enum lmd_status put(struct lmi_gguf_writer *w, const void *data, size_t n,
			   struct lmd_error *err)
{
	return w->resumable ? lmi_resumable_file_write(&w->out, data, n, err)
			    : lmi_new_file_write(&w->out.file, data, n, err);
}

/* Records that everything since the last mark, the header or a tensor, is complete. */
static enum lmd_status mark(struct lmi_gguf_writer *w, struct lmd_error *err)
{
	return w->resumable ? lmi_resumable_file_end_segment(&w->out, err) : LMD_OK;
}

/* Returns the bytes of the header, after checking that no file is open yet. */
static enum lmd_status prepare(struct lmi_gguf_writer *w, const char *path, const uint8_t **head,
			       size_t *n, struct lmd_error *err)
{
	enum lmd_status st;

	if (w->is_open)
		return lmd_fail(err, LMD_INVALID, "%s: the writer already has an open file", path);
	st = lmi_gguf_writer_bytes(w, &w->total, err);
	return st == LMD_OK ? lmi_gguf_writer_header(w, head, n, err) : st;
}

static enum lmd_status begin(struct lmi_gguf_writer *w, const uint8_t *head, size_t n,
			     struct lmd_error *err)
{
	enum lmd_status st = put(w, head, n, err);

	if (st == LMD_OK)
		st = mark(w, err);
	return st == LMD_OK ? report_progress(w, err) : st;
}

enum lmd_status lmi_gguf_writer_start(struct lmi_gguf_writer *w, const char *path,
				      struct lmd_error *err)
{
	const uint8_t *head;
	enum lmd_status st;
	size_t n;

	st = prepare(w, path, &head, &n, err);
	if (st == LMD_OK)
		st = lmi_new_file_open(&w->out.file, path, 0644, err);
	if (st != LMD_OK)
		return st;
	w->is_open = true;
	return begin(w, head, n, err);
}

/* ---- resuming a run ---- */

static bool report_read_back(void *arg, uint64_t done)
{
	const struct lmi_gguf_writer *w = arg;

	return !w->progress || w->progress(w->progress_arg, done, w->total);
}

/* Tells the caller what was found of an earlier run. */
static void report_found(const struct lmi_gguf_writer *w, const struct lmi_gguf_resume *r,
			 enum lmi_resumable_file_found found, uint32_t n_done)
{
	char text[256], path[120];

	lmi_printable_path(path, sizeof(path), w->out.file.temp);
	if (!r->note || found == LMI_RESUMABLE_FILE_NOTHING)
		return;
	if (found == LMI_RESUMABLE_FILE_KEPT)
		(void)snprintf(text, sizeof(text), "%s: resuming after %u of %u tensors", path,
			       n_done, w->n_tensors);
	else
		(void)snprintf(text, sizeof(text), "%s: %s; starting from the beginning", path,
			       found == LMI_RESUMABLE_FILE_OTHER
				       ? "is from another source, other options or another version"
				       : "contains no complete tensor");
	r->note(r->note_arg, text);
}

/* File offset where segment n ends: the header is segment 0, tensor i is segment i + 1. */
static uint64_t segment_end(const struct lmi_gguf_writer *w, size_t head, uint32_t n)
{
	return n < w->n_tensors ? head + w->tensors[n].offset : w->total;
}

enum lmd_status lmi_gguf_writer_resume(struct lmi_gguf_writer *w, const char *path,
				       const struct lmi_gguf_resume *r,
				       const uint8_t key[LMI_SHA256_BYTES], uint32_t *n_done,
				       struct lmd_error *err)
{
	struct lmi_resumable_file_opts o = {.restart = r->keep == LMI_GGUF_KEEP_RESTART,
					    .progress = report_read_back,
					    .progress_arg = w};
	enum lmi_resumable_file_found found = LMI_RESUMABLE_FILE_NOTHING;
	struct lmi_sha256 h = {0};
	const uint8_t *head;
	enum lmd_status st;
	uint32_t n;
	size_t n_head;

	*n_done = 0;
	if (r->keep == LMI_GGUF_KEEP_NONE)
		return lmi_gguf_writer_start(w, path, err);
	st = prepare(w, path, &head, &n_head, err);
	if (st != LMD_OK)
		return st;
	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, key, LMI_SHA256_BYTES);
	lmi_sha256_update(&h, head, n_head);
	if (!lmi_sha256_final(&h, o.key))
		return lmd_fail(err, LMD_INTERNAL,
				"%s: cannot compute the digest of the header", path);
	st = lmi_resumable_file_open(&w->out, path, 0644, &o, &found, err);
	if (st != LMD_OK)
		return st;
	w->is_open = w->resumable = true;
	n = w->out.n_segment;
	if (n && (n - 1 > w->n_tensors || w->out.file.bytes != segment_end(w, n_head, n - 1))) {
		found = LMI_RESUMABLE_FILE_DAMAGED; /* the fingerprints matched by chance */
		st = lmi_resumable_file_restart(&w->out, err);
		n = 0;
	}
	*n_done = w->current = n ? n - 1 : 0;
	if (st == LMD_OK)
		report_found(w, r, found, *n_done);
	return st != LMD_OK || n ? st : begin(w, head, n_head, err);
}

enum lmd_status lmi_gguf_writer_interrupt(struct lmi_gguf_writer *w, enum lmd_status st,
					  struct lmd_error *err)
{
	char text[sizeof(err->text)], path[120];

	if (!w || !w->is_open || !w->resumable || st == LMD_OK)
		return st;
	if (!w->current || st == LMD_INVALID || st == LMD_UNSUPPORTED || st == LMD_CORRUPT)
		return st; /* nothing to keep, or a later run would fail in the same way */
	lmi_printable_path(path, sizeof(path), w->out.file.temp);
	lmi_resumable_file_keep(&w->out);
	w->is_open = false;
	if (!err)
		return st;
	(void)snprintf(text, sizeof(text), "%s", err->text);
	return lmd_fail(err, st,
			"%s; %u of %u tensors are kept in %s, the same command resumes after them",
			text, w->current, w->n_tensors, path);
}

/* ---- data ---- */

static enum lmd_status pad(struct lmi_gguf_writer *w, struct lmd_error *err)
{
	static const uint8_t zero[4096];
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && w->out.file.bytes % w->alignment) {
		size_t n = w->alignment - (size_t)(w->out.file.bytes % w->alignment);

		st = put(w, zero, n < sizeof(zero) ? n : sizeof(zero), err);
	}
	return st;
}

enum lmd_status lmi_gguf_writer_data(struct lmi_gguf_writer *w, const void *data, uint64_t n,
				     struct lmd_error *err)
{
	const struct lmi_gguf_tensor_entry *t =
		w->current < w->n_tensors ? &w->tensors[w->current] : NULL;
	enum lmd_status st;

	if (!w->is_open || !t || n > t->bytes - w->written)
		return lmd_fail(err, LMD_INVALID,
				"tensor %s: got %llu bytes of data, must be at most %llu",
				t ? t->name : "(none)", (unsigned long long)n,
				(unsigned long long)(t ? t->bytes - w->written : 0));
	st = put(w, data, (size_t)n, err);
	if (st != LMD_OK)
		return st;
	w->written += n;
	if (w->written == t->bytes) {
		st = pad(w, err);
		if (st == LMD_OK)
			st = mark(w, err);
		if (st != LMD_OK)
			return st;
		w->current++;
		w->written = 0;
	}
	return report_progress(w, err);
}

enum lmd_status lmi_gguf_writer_finish(struct lmi_gguf_writer *w, struct lmd_error *err)
{
	enum lmd_status st;

	if (!w->is_open)
		return lmd_fail(err, LMD_INVALID, "the writer has no open file");
	if (w->current < w->n_tensors)
		return lmd_fail(err, LMD_INVALID, "tensor %s: %llu bytes of data are missing",
				w->tensors[w->current].name,
				(unsigned long long)(w->tensors[w->current].bytes - w->written));
	st = w->resumable ? lmi_resumable_file_commit(&w->out, err)
			  : lmi_new_file_commit(&w->out.file, err);
	w->is_open = w->resumable && st != LMD_OK; /* for lmi_gguf_writer_interrupt */
	return st;
}

/* Removes an unfinished file. */
static void discard(struct lmi_gguf_writer *w)
{
	if (!w->is_open)
		return;
	if (w->resumable)
		lmi_resumable_file_abort(&w->out);
	else
		lmi_new_file_abort(&w->out.file);
	w->is_open = false;
}

void lmi_gguf_writer_destroy(struct lmi_gguf_writer *w)
{
	if (!w)
		return;
	discard(w);
	for (uint64_t i = 0; i < w->n_keys; i++)
		lmi_free(w->key_names[i]);
	lmi_free(w->key_names);
	lmi_free(w->tensors);
	lmi_free(w->keys.p);
	lmi_free(w->head.p);
	lmi_free(w);
}
