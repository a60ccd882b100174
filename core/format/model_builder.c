/* SPDX-License-Identifier: MIT
 *
 * Takes a model's files and tensors from a format, and runs it.  Every number, pointer and length
 * is checked before it is used, and everything is copied, so that what a format does afterwards
 * with its own memory does not matter. */
#include "core/format/model_builder.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/format/model_builder_impl.h"
#include "core/format/tensor_table.h"

#define PATH_BYTES 4096u

bool lmi_model_file_name_ok(const char *name)
{
	size_t n = name ? strnlen(name, 256) : 0;

	return n >= 1 && n <= 255 && *name != '.' && !strchr(name, '/');
}

bool lmi_model_beside(char *buf, size_t n, const char *path, bool is_folder, const char *name)
{
	const char *slash = strrchr(path, '/');
	size_t len = is_folder ? strlen(path) : slash ? (size_t)(slash - path) : 0;
	int k;

	if (!is_folder && !slash)
		k = snprintf(buf, n, "%s", name);
	else
		k = snprintf(buf, n, "%.*s/%s", (int)len, path, name);
	return k > 0 && (size_t)k < n;
}

bool lmi_model_builder_grow(void **array, uint32_t n, uint32_t *cap, size_t item)
{
	uint32_t room = *cap ? 2 * *cap : 64;
	void *p;

	if (n < *cap)
		return true;
	p = lmi_realloc(*array, room, item);
	if (!p)
		return false;
	*array = p;
	*cap = room;
	return true;
}

/* ---- files ---- */

static enum lmd_status no_memory_for_files(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the list of files");
}

/* Appends an open file; takes ownership of it. */
static enum lmd_status append_file(struct lmi_model_builder *b, const char *path,
				   struct lmi_file *own_file, struct lmd_error *err)
{
	void *files = b->files;
	char *copy = lmi_arena_strndup(b->o.m->arena, path, strlen(path));

	if (!copy || !lmi_model_builder_grow(&files, b->n_files, &b->cap_files,
					      sizeof(*b->files))) {
		lmi_file_close(own_file);
		return no_memory_for_files(err);
	}
	b->files = files;
	b->files[b->n_files++] =
		(struct lmi_model_builder_file){.path = copy, .file = *own_file};
	return LMD_OK;
}

static enum lmd_status add_file(void *ctx, const char *name, uint32_t *file, struct lmd_error *err)
{
	struct lmi_model_builder *b = ctx;
	char path[PATH_BYTES], show[80];
	struct lmi_file f = {.fd = -1};
	enum lmd_status st;

	if (!b->open)
		return lmd_fail(err, LMD_INVALID, "a file was added after open");
	if (!lmi_model_file_name_ok(name))
		return lmd_fail(err, LMD_INVALID,
				"file name \"%s\": must have 1..255 bytes, no slash and no dot at "
				"its start",
				lmi_printable(show, sizeof(show), name ? name : "",
					      name ? strnlen(name, 256) : 0));
	if (b->n_files == LMD_FORMAT_MAX_FILES)
		return lmd_fail(err, LMD_INVALID, "more than %d files", LMD_FORMAT_MAX_FILES);
	if (!lmi_model_beside(path, sizeof(path), b->o.path, b->table.api.is_folder, name))
		return lmd_fail(err, LMD_INVALID, "the path of %s exceeds %u bytes",
				lmi_printable(show, sizeof(show), name, strlen(name)), PATH_BYTES);
	st = lmi_file_open(&f, path, err);
	if (st == LMD_OK)
		st = append_file(b, path, &f, err);
	if (st == LMD_OK && file)
		*file = b->n_files - 1;
	return st;
}

static uint64_t file_bytes(void *ctx, uint32_t file)
{
	const struct lmi_model_builder *b = ctx;

	return file < b->n_files ? b->files[file].file.bytes : 0;
}

static enum lmd_status read_file(void *ctx, uint32_t file, uint64_t at, void *buf, size_t n,
				 struct lmd_error *err)
{
	const struct lmi_model_builder *b = ctx;
	const struct lmi_model_builder_file *f;
	enum lmd_status st;
	char show[112];

	if (file >= b->n_files)
		return lmd_fail(err, LMD_INVALID, "file %u, but there are %u", file, b->n_files);
	f = &b->files[file];
	if (at > f->file.bytes || n > f->file.bytes - at)
		return lmd_fail(err, LMD_INVALID,
				"%s: %zu bytes at byte %llu, but the file ends at %llu",
				lmi_printable_path(show, sizeof(show), f->path), n,
				(unsigned long long)at, (unsigned long long)f->file.bytes);
	st = lmi_file_read(&f->file, at, buf, n, err);
	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), f->path));
	return st;
}

/* ---- tensors ---- */

static enum lmd_status check_dims(struct lmi_model_builder *b, const char *what,
				  struct lmd_tensor *t)
{
	if (t->n_dim < 1 || t->n_dim > LMD_MAX_DIMS)
		return lmd_fail(&b->error, LMD_INVALID, "%s: %u dimensions, must be 1..%d", what,
				t->n_dim, LMD_MAX_DIMS);
	for (uint32_t i = 0; i < LMD_MAX_DIMS; i++) {
		bool used = i < t->n_dim;

		if (!used && !t->dims[i])
			t->dims[i] = 1;
		if (t->dims[i] < 1 || (uint64_t)t->dims[i] > (used ? LMI_MODEL_MAX_DIM : 1))
			return lmd_fail(&b->error, LMD_INVALID,
					"%s: dimension %u is %lld, must be 1..%llu", what, i,
					(long long)t->dims[i], used ? LMI_MODEL_MAX_DIM : 1ull);
	}
	return LMD_OK;
}

/* The alignment in a file of tensors that are used in place. */
static uint32_t alignment_of(uint32_t dtype)
{
	return dtype == LMD_DTYPE_F32					 ? 4
	       : dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16 ? 2
								 : 8;
}

static enum lmd_status check_place(struct lmi_model_builder *b, const char *what,
				   const struct lmd_tensor *t)
{
	uint32_t align = alignment_of(t->dtype);
	uint64_t end, size;

	if (t->file == LMD_FORMAT_NO_FILE) {
		if (!b->o.ops->read_rows || t->offset)
			return lmd_fail(&b->error, LMD_INVALID,
					b->o.ops->read_rows
						? "%s: offset %llu, must be 0 without a file"
						: "%s: it is in no file, and the format has no "
						  "read_rows",
					what, (unsigned long long)t->offset);
		return LMD_OK;
	}
	if (t->file >= b->n_files)
		return lmd_fail(&b->error, LMD_INVALID, "%s: file %u, but there are %u", what,
				t->file, b->n_files);
	if (t->offset % align)
		return lmd_fail(&b->error, LMD_INVALID,
				"%s: offset %llu is not a multiple of %u", what,
				(unsigned long long)t->offset, align);
	size = b->files[t->file].file.bytes;
	if (!lmi_add_ok(t->offset, t->bytes, &end) || end > size)
		return lmd_fail(&b->error, LMD_CORRUPT,
				"%s: %llu bytes at byte %llu, but the file ends at %llu", what,
				(unsigned long long)t->bytes, (unsigned long long)t->offset,
				(unsigned long long)size);
	return LMD_OK;
}

/* Checks everything that concerns one tensor alone, and sets its size. */
static enum lmd_status check_tensor(struct lmi_model_builder *b, const char *what,
				    struct lmd_tensor *t)
{
	uint64_t given = t->bytes;
	enum lmd_status st;

	if (t->data || t->reserved)
		return lmd_fail(&b->error, LMD_INVALID, "%s: %s", what,
				t->data ? "data must be NULL" : "reserved must be 0");
	st = check_dims(b, what, t);
	if (st == LMD_OK)
		st = lmi_model_tensor_size(what, t, &b->error);
	if (st == LMD_OK && given && given != t->bytes)
		st = lmd_fail(&b->error, LMD_INVALID,
			      "%s: size %llu, but type and dimensions give %llu", what,
			      (unsigned long long)given, (unsigned long long)t->bytes);
	return st == LMD_OK ? check_place(b, what, t) : st;
}

static enum lmd_status take_tensor(struct lmi_model_builder *b, const struct lmd_tensor *from)
{
	char show[80], what[96];
	struct lmd_tensor t;
	enum lmd_status st;
	void *tensors = b->tensors;
	size_t len;

	if (!from || !from->name)
		return lmd_fail(&b->error, LMD_INVALID, "tensor %u: %s is NULL", b->n_tensors,
				from ? "its name" : "it");
	t = *from;
	len = strnlen(t.name, LMI_MODEL_NAME_BYTES + 1);
	if (len < 1 || len > LMI_MODEL_NAME_BYTES)
		return lmd_fail(&b->error, LMD_INVALID,
				"tensor %u: name of %s%zu bytes, must be 1..%u", b->n_tensors,
				len ? "at least " : "", len, LMI_MODEL_NAME_BYTES);
	(void)snprintf(what, sizeof(what), "tensor %s",
		       lmi_printable(show, sizeof(show), t.name, len));
	if (b->n_tensors == LMI_MODEL_MAX_TENSORS)
		return lmd_fail(&b->error, LMD_INVALID, "%s: there are more than %u tensors", what,
				LMI_MODEL_MAX_TENSORS);
	st = check_tensor(b, what, &t);
	if (st != LMD_OK)
		return st;
	t.name = lmi_arena_strndup(b->o.m->arena, t.name, len);
	if (!t.name)
		return lmi_model_no_memory(b->o.m, len + 1, &b->error);
	if (!lmi_model_builder_grow(&tensors, b->n_tensors, &b->cap_tensors, sizeof(*b->tensors)))
		return lmd_fail(&b->error, LMD_NOMEM, "no memory for %u tensors", b->n_tensors + 1);
	b->tensors = tensors;
	b->tensors[b->n_tensors++] = t;
	return LMD_OK;
}

static enum lmd_status add_meta(void *ctx, const struct lmd_meta *v)
{
	struct lmi_model_builder *b = ctx;

	if (b->open && b->status == LMD_OK)
		b->status = lmi_model_builder_take_meta(b, v);
	return b->open ? b->status : LMD_INVALID;
}

static enum lmd_status add_tensor(void *ctx, const struct lmd_tensor *t)
{
	struct lmi_model_builder *b = ctx;

	if (b->open && b->status == LMD_OK)
		b->status = take_tensor(b, t);
	return b->open ? b->status : LMD_INVALID;
}

static enum lmd_status status(void *ctx)
{
	const struct lmi_model_builder *b = ctx;

	return b->status;
}

/* ---- life cycle ---- */

struct lmi_model *lmi_model_builder_fill(const struct lmd_model_builder *api, uint32_t *open_flags,
					 struct lmi_file *file)
{
	struct lmi_model_builder *b = api->ctx;

	b->is_filled = true;
	*open_flags = b->o.open_flags;
	*file = (struct lmi_file){.fd = -1};
	if (b->n_files)
		*file = b->files[0].file;
	b->n_files = 0;
	return b->o.m;
}

static void destroy(struct lmi_model_builder *b)
{
	for (uint32_t i = 0; i < b->n_files && !b->has_parts; i++)
		lmi_file_close(&b->files[i].file);
	if (b->o.release)
		b->o.release(b->o.arg);
	lmi_free(b->files);
	lmi_free(b->meta);
	lmi_free(b->tensors);
	lmi_free(b->state);
	lmi_free(b);
}

/* Ends an open format with its model. */
static void close_format(void *state)
{
	struct lmi_model_builder *b = state;

	if (b->o.ops->close)
		b->o.ops->close(b->state);
	destroy(b);
}

static enum lmd_status create(struct lmi_model_builder **out,
			      const struct lmi_model_builder_opts *o, struct lmd_error *err)
{
	struct lmi_model_builder *b = lmi_alloc(1, sizeof(*b));
	enum lmd_status st = LMD_OK;

	if (!b) {
		if (o->own_file)
			lmi_file_close(o->own_file);
		if (o->release)
			o->release(o->arg);
		return lmd_fail(err, LMD_NOMEM, "no memory to open a model");
	}
	b->o = *o;
	b->table.api = (struct lmd_model_builder){
		.struct_size = sizeof(b->table.api),
		.flags = o->open_flags & LMI_OPEN_HEADER_ONLY ? LMD_FORMAT_HEADER_ONLY : 0,
		.ctx = b,
		.host = o->host,
		.path = lmi_arena_strndup(o->m->arena, o->path, strlen(o->path)),
		.is_folder = !o->own_file,
		.add_file = add_file,
		.file_bytes = file_bytes,
		.read_file = read_file,
		.add_meta = add_meta,
		.add_tensor = add_tensor,
		.status = status,
	};
	b->o.path = b->table.api.path;
	if (o->own_file)
		st = append_file(b, o->path, o->own_file, err);
	b->state = o->state_bytes ? lmi_alloc(o->state_bytes, 1) : NULL;
	if (st == LMD_OK && (!b->o.path || (o->state_bytes && !b->state)))
		st = lmd_fail(err, LMD_NOMEM, "no memory to open a model");
	if (st != LMD_OK)
		destroy(b);
	else
		*out = b;
	return st;
}

enum lmd_status lmi_model_builder_run(const struct lmi_model_builder_opts *o,
				      struct lmd_error *err)
{
	struct lmi_model_builder *b = NULL;
	struct lmd_error own = {0};
	enum lmd_status st = create(&b, o, err);

	if (st != LMD_OK)
		return st;
	b->open = true;
	st = o->ops->open(b->state, &b->table.api, &own);
	b->open = false;
	if (st != LMD_OK) {
		/* an error of the builder that the format passed on has no message of its own */
		if (!own.text[0] && b->status != LMD_OK)
			own = b->error;
		if (!own.text[0])
			(void)lmd_fail(&own, st, "opening failed without a message (%s)",
				       lmd_status_text((int)st));
		own.status = st;
		if (err)
			*err = own;
		destroy(b);
		return st;
	}
	if (b->is_filled && !o->ops->close) {
		destroy(b); /* the model has its own reader */
		return LMD_OK;
	}
	o->m->reader_state = b;
	o->m->reader_close = close_format;
	if (b->status != LMD_OK) {
		if (err)
			*err = b->error;
		return b->status;
	}
	return lmi_model_builder_finish(b, err);
}
