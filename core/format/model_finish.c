/* SPDX-License-Identifier: MIT
 *
 * Turns a complete description into a model: keys and tensors with unique names, the vocabulary,
 * the files as parts, and the data.  Tensors that lie in files are mapped or read by the host;
 * those in no file are asked from the format row by row, into memory that is the last part of the
 * model. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/format/model_builder_impl.h"
#include "core/format/part_load.h"
#include "core/format/tensor_table.h"
#include "core/quant/quant.h"

/* The bytes that read_rows is asked for at once, at least one row. */
#define PIECE_BYTES (8ull << 20)

static bool is_computed(const struct lmi_model_builder *b, uint32_t i)
{
	return b->tensors[i].file == LMD_FORMAT_NO_FILE;
}

/* Gives the files to the model.  Tensors without a file get one more part. */
static enum lmd_status move_files(struct lmi_model_builder *b, struct lmd_error *err)
{
	struct lmi_model *m = b->o.m;
	bool computed = false;
	enum lmd_status st;

	if (!b->n_files)
		return lmd_fail(err, LMD_INVALID, "the format has added no file");
	for (uint32_t i = 0; i < b->n_tensors; i++)
		computed = computed || is_computed(b, i);
	st = lmi_model_reserve_parts(m, b->n_files + computed, err);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < b->n_files; i++) {
		m->parts[i].path = b->files[i].path;
		m->parts[i].file = b->files[i].file;
	}
	if (computed) /* in messages and lists its tensors belong to the first file */
		m->parts[b->n_files].path = b->files[0].path;
	m->has_built_part = computed;
	b->has_parts = true;
	return LMD_OK;
}

static enum lmd_status move_tables(struct lmi_model_builder *b, struct lmd_error *err)
{
	struct lmi_model *m = b->o.m;
	enum lmd_status st = lmi_model_reserve_meta(m, b->n_meta, err);

	for (uint32_t i = 0; i < b->n_meta && st == LMD_OK; i++)
		st = lmi_model_add_meta(m, &b->meta[i], err);
	if (st == LMD_OK)
		st = lmi_model_reserve_tensors(m, b->n_tensors, err);
	for (uint32_t i = 0; i < b->n_tensors && st == LMD_OK; i++)
		st = lmi_model_add_tensor(m, &b->tensors[i], err);
	return st == LMD_OK ? lmi_model_check_overlap(m->tensors, b->n_tensors, err) : st;
}

/* Gives each tensor without a file its place in the last part, aligned to 64 bytes. */
static enum lmd_status place_computed(struct lmi_model_builder *b, struct lmd_error *err)
{
	struct lmi_model *m = b->o.m;
	uint64_t total = 0;

	for (uint32_t i = 0; i < b->n_tensors; i++) {
		struct lmd_tensor *t = &m->tensors[i];

		if (!is_computed(b, i))
			continue;
		t->file = b->n_files;
		t->offset = total;
		if (!lmi_add_ok(total, t->bytes, &total) || !lmi_align_ok(total, 64, &total) ||
		    total > INT64_MAX)
			return lmd_fail(err, LMD_INVALID,
					"tensor %s: the tensors exceed 2^63 bytes", t->name);
		m->parts[b->n_files].built_bytes = total;
	}
	return LMD_OK;
}

/* ---- data ---- */

static uint64_t row_bytes_of(const struct lmd_tensor *t)
{
	uint64_t n = 1; /* checked when the tensor was added */

	(void)lmi_quant_row_bytes(lmi_dtype(t->dtype), (uint64_t)t->dims[0], &n);
	return n;
}

static enum lmd_status read_rows(const struct lmi_model_builder *b, uint32_t i, uint64_t row,
				 uint64_t n, void *out, struct lmd_error *err)
{
	const struct lmd_tensor *t = &b->o.m->tensors[i];
	struct lmd_error own = {0};
	enum lmd_status st = b->o.ops->read_rows(b->state, i, row, n, out, &own);

	if (st == LMD_OK)
		return LMD_OK;
	return lmd_fail(err, st, "tensor %s: %s", t->name,
			own.text[0] ? own.text : lmd_status_text((int)st));
}

/* Reads bytes of any tensor, for lmi_model_read.  Any thread. */
static enum lmd_status read_tensor(void *state, uint32_t i, uint64_t at, void *buf, size_t n,
				   struct lmd_error *err)
{
	const struct lmi_model_builder *b = state;
	const struct lmd_tensor *t = &b->o.m->tensors[i];
	uint64_t row_bytes, row, rows;
	enum lmd_status st;
	uint8_t *p;

	if (!is_computed(b, i))
		return b->table.api.read_file(b->table.api.ctx, t->file, t->offset + at, buf, n,
					      err);
	if (!n)
		return LMD_OK;
	row_bytes = row_bytes_of(t);
	row = at / row_bytes;
	rows = (at + n - 1) / row_bytes + 1 - row;
	if (at % row_bytes == 0 && n == rows * row_bytes)
		return read_rows(b, i, row, rows, buf, err);
	p = lmi_alloc(rows, row_bytes);
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "tensor %s: no memory for %llu rows", t->name,
				(unsigned long long)rows);
	st = read_rows(b, i, row, rows, p, err);
	if (st == LMD_OK)
		memcpy(buf, p + (at - row * row_bytes), n);
	lmi_free(p);
	return st;
}

static bool is_needed(const struct lmi_model_builder *b, uint32_t part)
{
	for (uint32_t i = 0; i < b->n_tensors; i++)
		if (b->o.m->tensors[i].file == part)
			return true;
	return false;
}

/* Maps the files that hold tensors, or reads them into memory. */
static enum lmd_status load_files(struct lmi_model_builder *b, struct lmd_error *err)
{
	uint32_t flags = b->o.open_flags;
	struct lmi_model *m = b->o.m;
	uint64_t copied = 0;
	enum lmd_status st;

	for (uint32_t i = 0; i < b->n_files; i++)
		if ((flags & (LMI_OPEN_NO_MMAP | LMI_OPEN_DIRECT)) && is_needed(b, i))
			copied += m->parts[i].file.bytes;
	st = lmi_model_load_begin(m, copied, flags, err);
	if (st == LMD_OK && m->has_built_part && !(flags & LMI_OPEN_MEASURE))
		st = lmi_model_load_add_built(m, m->parts[b->n_files].built_bytes, err);
	for (uint32_t i = 0; i < b->n_files && st == LMD_OK; i++)
		if (is_needed(b, i))
			st = lmi_model_load_part(m, i, 0, false, flags, err);
	return st;
}

static enum lmd_status alloc_computed(struct lmi_model_builder *b, struct lmd_error *err)
{
	struct lmi_model_part *p = &b->o.m->parts[b->n_files];
	uint8_t *data;

	if (b->o.open_flags & LMI_OPEN_MEASURE)
		return lmi_map_zeros(&p->map, p->built_bytes, err);
	data = lmi_alloc((size_t)p->built_bytes, 1);
	if (!data)
		return lmd_fail(err, LMD_NOMEM,
				"no memory for %llu bytes of tensors that are not stored in the "
				"form in which they are used",
				(unsigned long long)p->built_bytes);
	p->map = (struct lmi_map){
		.ptr = data, .bytes = p->built_bytes, .on_heap = true, .block = data};
	return LMD_OK;
}

static enum lmd_status compute_tensor(struct lmi_model_builder *b, uint32_t i, uint8_t *out,
				      struct lmd_error *err)
{
	const struct lmd_tensor *t = &b->o.m->tensors[i];
	uint64_t row_bytes = row_bytes_of(t), n_rows = t->bytes / row_bytes;
	uint64_t most = PIECE_BYTES / row_bytes + 1;
	enum lmd_status st = LMD_OK;

	for (uint64_t row = 0; row < n_rows && st == LMD_OK; row += most) {
		uint64_t n = n_rows - row < most ? n_rows - row : most;

		st = read_rows(b, i, row, n, out + row * row_bytes, err);
		if (st == LMD_OK)
			st = lmi_model_load_built(b->o.m, n * row_bytes, err);
	}
	return st;
}

static enum lmd_status load(struct lmi_model_builder *b, struct lmd_error *err)
{
	struct lmi_model *m = b->o.m;
	enum lmd_status st = load_files(b, err);

	if (st == LMD_OK && m->has_built_part)
		st = alloc_computed(b, err);
	for (uint32_t i = 0; i < b->n_tensors && st == LMD_OK; i++) {
		struct lmd_tensor *t = &m->tensors[i];
		const struct lmi_model_part *part = &m->parts[t->file];

		t->data = part->map.ptr + t->offset;
		if (is_computed(b, i) && !(b->o.open_flags & LMI_OPEN_MEASURE))
			st = compute_tensor(b, i, (uint8_t *)part->map.block + t->offset, err);
	}
	return st;
}

enum lmd_status lmi_model_builder_finish(struct lmi_model_builder *b, struct lmd_error *err)
{
	struct lmi_model *m = b->o.m;
	enum lmd_status st;

	if (b->is_filled)
		return LMD_OK;
	m->reader_read = read_tensor;
	m->view.format = lmi_arena_strndup(m->arena, b->o.format, strlen(b->o.format));
	if (!m->view.format)
		return lmi_model_no_memory(m, strlen(b->o.format) + 1, err);
	st = move_files(b, err);
	if (st == LMD_OK)
		st = move_tables(b, err);
	if (st == LMD_OK)
		st = place_computed(b, err);
	if (st == LMD_OK)
		st = lmi_model_check_general(m, b->o.path, err);
	if (st == LMD_OK)
		st = lmi_model_read_tokspec(m, err);
	if (st == LMD_OK && !(b->o.open_flags & LMI_OPEN_HEADER_ONLY))
		st = load(b, err);
	return st;
}
