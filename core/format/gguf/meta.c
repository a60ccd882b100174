/* SPDX-License-Identifier: MIT
 *
 * Reads keys and values.  Every length is compared with its limit and with the rest of the file
 * before anything is allocated.  Arrays do not nest. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/format/gguf/gguf.h"

/* Size of a number in bytes; 0 for strings, arrays and unknown types. */
static uint32_t width_of(uint32_t type)
{
	static const uint8_t width[LMI_GGUF_N_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

	return type < LMI_GGUF_N_TYPES ? width[type] : 0;
}

static bool is_float(uint32_t type)
{
	return type == LMI_GGUF_F32 || type == LMI_GGUF_F64;
}

/* Decodes an integer in the file's byte order, sign-extended; a U64 keeps its bits. */
static int64_t get_int(const struct lmi_model_byte_reader *r, uint32_t type, const uint8_t *p)
{
	switch (type) {
	case LMI_GGUF_I8:
		return (int8_t)p[0];
	case LMI_GGUF_U16:
		return lmi_gguf_reader_get16(r, p);
	case LMI_GGUF_I16:
		return (int16_t)lmi_gguf_reader_get16(r, p);
	case LMI_GGUF_U32:
		return lmi_gguf_reader_get32(r, p);
	case LMI_GGUF_I32:
		return (int32_t)lmi_gguf_reader_get32(r, p);
	case LMI_GGUF_U64:
	case LMI_GGUF_I64:
		return (int64_t)lmi_gguf_reader_get64(r, p);
	default: /* U8, BOOL */
		return p[0];
	}
}

static double get_float(const struct lmi_model_byte_reader *r, uint32_t type, const uint8_t *p)
{
	return type == LMI_GGUF_F32 ? lmi_bits_f32(lmi_gguf_reader_get32(r, p))
				    : lmi_bits_f64(lmi_gguf_reader_get64(r, p));
}

static enum lmd_status bad_bool(const struct lmi_model_byte_reader *r, unsigned v,
				struct lmd_error *err)
{
	return lmd_fail(err, LMD_CORRUPT, "%s: boolean %u, must be 0 or 1", r->what, v);
}

/* Reads a string and stores a copy with a terminating zero. */
static enum lmd_status read_string(struct lmi_model_byte_reader *r, struct lmi_model *m,
				   uint64_t cap, struct lmd_str *out, struct lmd_error *err)
{
	uint64_t len = 0;
	enum lmd_status st = lmi_gguf_reader_count(r, &len, err);
	char *p;

	if (st != LMD_OK)
		return st;
	if (len > cap)
		return lmd_fail(err, LMD_INVALID,
				"%s: string of %llu bytes, must be at most %llu", r->what,
				(unsigned long long)len, (unsigned long long)cap);
	if (len > lmi_gguf_reader_left(r))
		return lmd_fail(err, LMD_CORRUPT,
				"%s: string of %llu bytes, but only %llu are left", r->what,
				(unsigned long long)len,
				(unsigned long long)lmi_gguf_reader_left(r));
	p = lmi_arena_alloc(m->arena, (size_t)len + 1, 1);
	if (!p)
		return lmi_model_no_memory(m, len + 1, err);
	*out = (struct lmd_str){.ptr = p, .len = (size_t)len};
	return lmi_gguf_reader_bytes(r, p, len, err);
}

static enum lmd_status read_scalar(struct lmi_model_byte_reader *r, struct lmd_meta *v,
				   struct lmd_error *err)
{
	uint8_t b[8];
	enum lmd_status st = lmi_gguf_reader_bytes(r, b, width_of(v->file_type), err);

	if (st != LMD_OK)
		return st;
	if (is_float(v->file_type)) {
		v->type = LMD_META_F64;
		v->v.f = get_float(r, v->file_type, b);
		return LMD_OK;
	}
	v->v.i = get_int(r, v->file_type, b);
	v->type = LMD_META_I64;
	if (v->file_type == LMI_GGUF_BOOL) {
		v->type = LMD_META_BOOL;
		if (v->v.i > 1)
			return bad_bool(r, b[0], err);
	}
	if (v->file_type == LMI_GGUF_U64 && v->v.i < 0)
		v->type = LMD_META_U64; /* the same bits in v.u */
	return LMD_OK;
}

static enum lmd_status read_numbers(struct lmi_model_byte_reader *r, struct lmi_model *m,
				    struct lmd_meta *v, struct lmd_error *err)
{
	bool is_bool = v->file_type == LMI_GGUF_BOOL;
	uint32_t width = width_of(v->file_type), item = is_bool ? 1 : 8;
	void *a = lmi_arena_array(m->arena, (size_t)v->n, item);
	uint8_t chunk[1024];

	if (!a)
		return lmi_model_no_memory(m, v->n * item, err);
	v->type = is_bool                  ? LMD_META_ARR_BOOL
		  : is_float(v->file_type) ? LMD_META_ARR_F64
					   : LMD_META_ARR_I64;
	v->v.a = a;
	for (uint64_t i = 0; i < v->n;) {
		uint64_t k = sizeof(chunk) / width < v->n - i ? sizeof(chunk) / width : v->n - i;
		enum lmd_status st = lmi_gguf_reader_bytes(r, chunk, k * width, err);

		if (st != LMD_OK)
			return st;
		for (uint64_t j = 0; j < k; j++, i++) {
			const uint8_t *p = chunk + j * width;

			if (is_bool && *p > 1)
				return bad_bool(r, *p, err);
			if (is_bool)
				((uint8_t *)a)[i] = *p;
			else if (v->type == LMD_META_ARR_F64)
				((double *)a)[i] = get_float(r, v->file_type, p);
			else
				((int64_t *)a)[i] = get_int(r, v->file_type, p);
		}
	}
	return LMD_OK;
}

static enum lmd_status read_strings(struct lmi_model_byte_reader *r, struct lmi_model *m,
				    struct lmd_meta *v, struct lmd_error *err)
{
	struct lmd_str *a = lmi_arena_array(m->arena, (size_t)v->n, sizeof(*a));
	enum lmd_status st = LMD_OK;

	if (!a)
		return lmi_model_no_memory(m, v->n * sizeof(*a), err);
	v->type = LMD_META_ARR_STR;
	v->v.a = a;
	for (uint64_t i = 0; st == LMD_OK && i < v->n; i++)
		st = read_string(r, m, LMI_MODEL_STRING_BYTES, &a[i], err);
	return st;
}

static enum lmd_status read_array(struct lmi_model_byte_reader *r, struct lmi_model *m,
				  struct lmd_meta *v, struct lmd_error *err)
{
	uint64_t min_bytes;
	enum lmd_status st = lmi_gguf_reader_u32(r, &v->file_type, err);

	if (st == LMD_OK)
		st = lmi_gguf_reader_count(r, &v->n, err);
	if (st != LMD_OK)
		return st;
	if (v->file_type == LMI_GGUF_ARRAY)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: arrays of arrays are not supported",
				r->what);
	if (v->file_type >= LMI_GGUF_N_TYPES)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: element type %u, must be 0..%d", r->what,
				v->file_type, LMI_GGUF_N_TYPES - 1);
	min_bytes = v->file_type == LMI_GGUF_STRING ? (r->narrow ? 4 : 8) : width_of(v->file_type);
	if (v->n > lmi_gguf_reader_left(r) / min_bytes)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: array of %llu elements, but only %llu bytes are left", r->what,
				(unsigned long long)v->n,
				(unsigned long long)lmi_gguf_reader_left(r));
	if (v->n == 0) {
		v->type = v->file_type == LMI_GGUF_STRING ? LMD_META_ARR_STR
			  : v->file_type == LMI_GGUF_BOOL ? LMD_META_ARR_BOOL
			  : is_float(v->file_type)        ? LMD_META_ARR_F64
							  : LMD_META_ARR_I64;
		v->v.a = NULL;
		return LMD_OK;
	}
	return v->file_type == LMI_GGUF_STRING ? read_strings(r, m, v, err)
					       : read_numbers(r, m, v, err);
}

static enum lmd_status read_value(struct lmi_model_byte_reader *r, struct lmi_model *m,
				  struct lmd_meta *v, struct lmd_error *err)
{
	enum lmd_status st = lmi_gguf_reader_u32(r, &v->file_type, err);

	if (st != LMD_OK)
		return st;
	v->n = 1;
	if (v->file_type >= LMI_GGUF_N_TYPES)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: value type %u, must be 0..%d", r->what,
				v->file_type, LMI_GGUF_N_TYPES - 1);
	if (v->file_type == LMI_GGUF_ARRAY)
		return read_array(r, m, v, err);
	if (v->file_type != LMI_GGUF_STRING)
		return read_scalar(r, v, err);
	v->type = LMD_META_STR;
	return read_string(r, m, lmi_model_string_limit(v->key), &v->v.s, err);
}

enum lmd_status lmi_gguf_read_meta(struct lmi_model_byte_reader *r, uint32_t n, struct lmi_model *m,
				   struct lmd_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		struct lmd_meta v = {0};
		struct lmd_str key = {0};
		char show[64];
		enum lmd_status st;

		(void)snprintf(r->what, sizeof(r->what), "key %u", i);
		st = read_string(r, m, LMI_MODEL_KEY_BYTES, &key, err);
		if (st != LMD_OK)
			return st;
		if (!key.len || memchr(key.ptr, 0, key.len))
			return lmd_fail(err, LMD_CORRUPT, "key %u: the name \"%s\" %s", i,
					lmi_printable(show, sizeof(show), key.ptr, key.len),
					key.len ? "contains a zero byte" : "is empty");
		(void)snprintf(r->what, sizeof(r->what), "key %s",
			       lmi_printable(show, sizeof(show), key.ptr, key.len));
		v.key = key.ptr;
		st = read_value(r, m, &v, err);
		if (st == LMD_OK)
			st = lmi_model_add_meta(m, &v, err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

enum lmd_status lmi_gguf_read_file_props(const struct lmi_model *m, struct lmi_gguf_file_props *f,
					 struct lmd_error *err)
{
	int64_t align = 32, no = 0, count = 1;
	bool found;
	enum lmd_status st;

	*f = (struct lmi_gguf_file_props){.split_tensors = -1};
	st = lmi_model_get_int(m, "general.alignment", LMI_GGUF_MIN_ALIGN, LMI_GGUF_MAX_ALIGN,
			       &align, &found, err);
	if (st == LMD_OK && (align & (align - 1)))
		st = lmd_fail(err, LMD_INVALID,
			      "key general.alignment: %lld, must be a power of two",
			      (long long)align);
	if (st == LMD_OK)
		st = lmi_model_get_int(m, "split.count", 0, LMI_GGUF_MAX_PARTS, &count, &found,
				       err);
	if (st == LMD_OK)
		st = lmi_model_get_int(m, "split.no", 0, LMI_GGUF_MAX_PARTS - 1, &no, &found, err);
	if (st == LMD_OK)
		st = lmi_model_get_int(m, "split.tensors.count", 0, LMI_MODEL_MAX_TENSORS,
				       &f->split_tensors, &found, err);
	f->alignment = (uint32_t)align;
	f->has_split = count > 1;
	f->split_no = (uint32_t)no;
	f->split_count = (uint32_t)count;
	return st;
}
