/* SPDX-License-Identifier: MIT
 *
 * Reads the tensor table.  Afterwards every tensor has a known type, a shape whose product and size
 * in bytes do not overflow, and its own range of bytes inside the file. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/format/gguf/gguf.h"
#include "core/format/tensor_table.h"

static enum lmd_status read_name(struct lmi_model_byte_reader *r, struct lmi_model *m, uint32_t i,
				 const char **out, struct lmd_error *err)
{
	char buf[LMI_MODEL_NAME_BYTES], show[80], *name;
	uint64_t len = 0;
	enum lmd_status st;

	(void)snprintf(r->what, sizeof(r->what), "tensor %u", i);
	st = lmi_gguf_reader_count(r, &len, err);
	if (st != LMD_OK)
		return st;
	if (len < 1 || len > LMI_MODEL_NAME_BYTES)
		return lmd_fail(err, LMD_INVALID, "tensor %u: name of %llu bytes, must be 1..%u", i,
				(unsigned long long)len, LMI_MODEL_NAME_BYTES);
	st = lmi_gguf_reader_bytes(r, buf, len, err);
	if (st != LMD_OK)
		return st;
	if (memchr(buf, 0, (size_t)len))
		return lmd_fail(err, LMD_CORRUPT, "tensor %u: name \"%s\" contains a zero byte", i,
				lmi_printable(show, sizeof(show), buf, (size_t)len));
	name = lmi_arena_strndup(m->arena, buf, (size_t)len);
	if (!name)
		return lmi_model_no_memory(m, len + 1, err);
	(void)snprintf(r->what, sizeof(r->what), "tensor %s",
		       lmi_printable(show, sizeof(show), buf, (size_t)len));
	*out = name;
	return LMD_OK;
}

/* Each dimension must be 1..2^40.  Zero dimensions mean a single value. */
static enum lmd_status read_dims(struct lmi_model_byte_reader *r, struct lmd_tensor *t,
				 struct lmd_error *err)
{
	enum lmd_status st = lmi_gguf_reader_u32(r, &t->n_dim, err);

	if (st != LMD_OK)
		return st;
	if (t->n_dim > LMD_MAX_DIMS)
		return lmd_fail(err, LMD_INVALID, "%s: %u dimensions, must be at most %d", r->what,
				t->n_dim, LMD_MAX_DIMS);
	for (uint32_t i = 0; i < LMD_MAX_DIMS; i++) {
		uint64_t d = 1;

		if (i < t->n_dim)
			st = lmi_gguf_reader_count(r, &d, err);
		if (st != LMD_OK)
			return st;
		if (d < 1 || d > LMI_MODEL_MAX_DIM)
			return lmd_fail(err, LMD_INVALID,
					"%s: dimension %u is %lld, must be 1..%llu", r->what, i,
					(long long)d, LMI_MODEL_MAX_DIM);
		t->dims[i] = (int64_t)d;
	}
	if (!t->n_dim)
		t->n_dim = 1;
	return LMD_OK;
}

static enum lmd_status read_tensor(struct lmi_model_byte_reader *r, struct lmi_model *m, uint32_t i,
				   uint32_t alignment, struct lmd_tensor *t, struct lmd_error *err)
{
	enum lmd_status st = read_name(r, m, i, &t->name, err);

	if (st == LMD_OK)
		st = read_dims(r, t, err);
	if (st == LMD_OK)
		st = lmi_gguf_reader_u32(r, &t->dtype, err);
	if (st == LMD_OK)
		st = lmi_gguf_reader_u64(r, &t->offset, err);
	if (st == LMD_OK)
		st = lmi_model_tensor_size(r->what, t, err);
	if (st == LMD_OK && t->offset % alignment)
		st = lmd_fail(err, LMD_CORRUPT,
			      "%s: offset %llu is not a multiple of the alignment %u", r->what,
			      (unsigned long long)t->offset, alignment);
	return st;
}

/* Converts the offset in the data section to a file offset. */
static enum lmd_status resolve_offset(struct lmd_tensor *t, uint64_t data_at, uint64_t file_bytes,
				      struct lmd_error *err)
{
	uint64_t at, end;
	char show[80];

	if (!lmi_add_ok(data_at, t->offset, &at) || !lmi_add_ok(at, t->bytes, &end) ||
	    end > file_bytes)
		return lmd_fail(err, LMD_CORRUPT,
				"tensor %s: %llu bytes at offset %llu of the data, which starts at "
				"byte %llu, but the file ends at %llu",
				lmi_printable(show, sizeof(show), t->name, strlen(t->name)),
				(unsigned long long)t->bytes, (unsigned long long)t->offset,
				(unsigned long long)data_at, (unsigned long long)file_bytes);
	t->offset = at;
	return LMD_OK;
}

enum lmd_status lmi_gguf_read_tensors(struct lmi_model_byte_reader *r, uint32_t n,
				      uint32_t alignment, uint32_t file, struct lmi_model *m,
				      uint64_t *data_at, struct lmd_error *err)
{
	uint32_t first = m->view.n_tensors;

	for (uint32_t i = 0; i < n; i++) {
		struct lmd_tensor t = {.file = file};
		enum lmd_status st = read_tensor(r, m, i, alignment, &t, err);

		if (st == LMD_OK)
			st = lmi_model_add_tensor(m, &t, err);
		if (st != LMD_OK)
			return st;
	}
	if (!lmi_align_ok(r->pos, alignment, data_at) || *data_at > r->file->bytes)
		*data_at = r->file->bytes;
	for (uint32_t i = 0; i < n; i++) {
		enum lmd_status st =
			resolve_offset(&m->tensors[first + i], *data_at, r->file->bytes, err);

		if (st != LMD_OK)
			return st;
	}
	return lmi_model_check_overlap(n ? &m->tensors[first] : NULL, n, err);
}
