/* SPDX-License-Identifier: MIT
 *
 * Encodes keys and tensor table.  Keys are encoded as they are put; the tensor table is encoded at
 * the end, because its position depends on all keys.  There are two growing buffers and one sticky
 * error. */
#include "core/format/gguf/write_impl.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/quant/quant.h"

static void grow(struct lmi_gguf_writer *w, struct lmi_gguf_buf *b, const void *p, size_t n)
{
	if (w->err.status != LMD_OK)
		return;
	if (n > b->cap - b->n) {
		size_t cap = b->cap ? b->cap : 4096;
		uint8_t *q;

		while (cap - b->n < n)
			cap *= 2;
		q = lmi_realloc(b->p, cap, 1);
		if (!q) {
			(void)lmd_fail(&w->err, LMD_NOMEM, "no memory for %zu bytes of keys", cap);
			return;
		}
		b->p = q;
		b->cap = cap;
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void put32(struct lmi_gguf_writer *w, struct lmi_gguf_buf *b, uint32_t v)
{
	uint8_t p[4];

	lmi_put_le32(p, v);
	grow(w, b, p, sizeof(p));
}

static void put64(struct lmi_gguf_writer *w, struct lmi_gguf_buf *b, uint64_t v)
{
	uint8_t p[8];

	lmi_put_le64(p, v);
	grow(w, b, p, sizeof(p));
}

static void put_text(struct lmi_gguf_writer *w, struct lmi_gguf_buf *b, const char *s, size_t n)
{
	put64(w, b, n);
	grow(w, b, s, n);
}

enum lmd_status lmi_gguf_writer_create(struct lmi_gguf_writer **out, uint32_t alignment,
				       struct lmd_error *err)
{
	struct lmi_gguf_writer *w;

	if (alignment < LMI_GGUF_MIN_ALIGN || alignment > LMI_GGUF_MAX_ALIGN ||
	    (alignment & (alignment - 1)))
		return lmd_fail(err, LMD_INVALID, "alignment %u, must be a power of two in %u..%u",
				alignment, LMI_GGUF_MIN_ALIGN, LMI_GGUF_MAX_ALIGN);
	w = lmi_alloc(1, sizeof(*w));
	if (!w)
		return lmd_fail(err, LMD_NOMEM, "no memory for a writer");
	w->alignment = alignment;
	if (alignment != 32)
		lmi_gguf_put_u32(w, "general.alignment", alignment);
	*out = w;
	return LMD_OK;
}

/* Writes name and type of a key; the caller appends the value. */
static void begin_key(struct lmi_gguf_writer *w, const char *key, uint32_t type)
{
	size_t n = strlen(key);

	if (w->err.status != LMD_OK)
		return;
	if (n < 1 || n > LMI_MODEL_KEY_BYTES || w->n_keys == LMI_MODEL_MAX_KEYS) {
		(void)lmd_fail(&w->err, LMD_INVALID, "key %llu: name of %zu bytes, must be 1..%u",
			       (unsigned long long)w->n_keys, n, LMI_MODEL_KEY_BYTES);
		return;
	}
	if (w->n_keys == w->cap_keys) {
		size_t cap = w->cap_keys ? 2 * w->cap_keys : 64;
		char **names = lmi_realloc(w->key_names, cap, sizeof(*names));

		if (names) {
			w->key_names = names;
			w->cap_keys = cap;
		}
	}
	if (w->n_keys < w->cap_keys)
		w->key_names[w->n_keys] = lmi_strndup(key, n);
	if (w->n_keys == w->cap_keys || !w->key_names[w->n_keys]) {
		(void)lmd_fail(&w->err, LMD_NOMEM, "no memory for key %s", key);
		return;
	}
	w->n_keys++;
	put_text(w, &w->keys, key, n);
	put32(w, &w->keys, type);
}

void lmi_gguf_put_u32(struct lmi_gguf_writer *w, const char *key, uint32_t v)
{
	begin_key(w, key, LMI_GGUF_U32);
	put32(w, &w->keys, v);
}

void lmi_gguf_put_u16(struct lmi_gguf_writer *w, const char *key, uint16_t v)
{
	uint8_t p[2];

	begin_key(w, key, LMI_GGUF_U16);
	lmi_put_le16(p, v);
	grow(w, &w->keys, p, sizeof(p));
}

void lmi_gguf_put_i32(struct lmi_gguf_writer *w, const char *key, int32_t v)
{
	begin_key(w, key, LMI_GGUF_I32);
	put32(w, &w->keys, (uint32_t)v);
}

void lmi_gguf_put_f32(struct lmi_gguf_writer *w, const char *key, float v)
{
	begin_key(w, key, LMI_GGUF_F32);
	put32(w, &w->keys, lmi_f32_bits(v));
}

void lmi_gguf_put_bool(struct lmi_gguf_writer *w, const char *key, bool v)
{
	begin_key(w, key, LMI_GGUF_BOOL);
	grow(w, &w->keys, &(uint8_t){v}, 1);
}

void lmi_gguf_put_str(struct lmi_gguf_writer *w, const char *key, const char *s)
{
	begin_key(w, key, LMI_GGUF_STRING);
	put_text(w, &w->keys, s, strlen(s));
}

void lmi_gguf_put_strings(struct lmi_gguf_writer *w, const char *key, const struct lmd_str *s,
			  uint64_t n)
{
	begin_key(w, key, LMI_GGUF_ARRAY);
	put32(w, &w->keys, LMI_GGUF_STRING);
	put64(w, &w->keys, n);
	for (uint64_t i = 0; i < n; i++)
		put_text(w, &w->keys, s[i].ptr, s[i].len);
}

/* Writes a number with the width of its type; the caller passes it as integer or as float. */
static void put_number(struct lmi_gguf_writer *w, uint32_t type, int64_t i, double f)
{
	static const uint8_t width[LMI_GGUF_N_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
	uint8_t p[8];

	if (type == LMI_GGUF_F32)
		lmi_put_le32(p, lmi_f32_bits((float)f));
	else
		lmi_put_le64(p, type == LMI_GGUF_F64 ? lmi_f64_bits(f) : (uint64_t)i);
	grow(w, &w->keys, p, width[type]);
}

static void put_array(struct lmi_gguf_writer *w, const struct lmd_meta *v)
{
	begin_key(w, v->key, LMI_GGUF_ARRAY);
	put32(w, &w->keys, v->file_type);
	put64(w, &w->keys, v->n);
	for (uint64_t i = 0; i < v->n; i++) {
		if (v->type == LMD_META_ARR_F64)
			put_number(w, v->file_type, 0, ((const double *)v->v.a)[i]);
		else if (v->type == LMD_META_ARR_BOOL)
			put_number(w, v->file_type, ((const uint8_t *)v->v.a)[i], 0);
		else
			put_number(w, v->file_type, ((const int64_t *)v->v.a)[i], 0);
	}
}

void lmi_gguf_put_meta(struct lmi_gguf_writer *w, const struct lmd_meta *v)
{
	if (!strcmp(v->key, "general.alignment") || !strncmp(v->key, "folder.", 7))
		return;
	if (v->file_type >= LMI_GGUF_N_TYPES || v->file_type == LMI_GGUF_ARRAY) {
		if (w->err.status == LMD_OK)
			(void)lmd_fail(&w->err, LMD_INVALID, "key %s: type %u cannot be written",
				       v->key, v->file_type);
		return;
	}
	switch ((enum lmd_meta_type)v->type) {
	case LMD_META_STR:
		begin_key(w, v->key, LMI_GGUF_STRING);
		put_text(w, &w->keys, v->v.s.ptr, v->v.s.len);
		return;
	case LMD_META_ARR_STR:
		lmi_gguf_put_strings(w, v->key, v->v.a, v->n);
		return;
	case LMD_META_ARR_BOOL:
	case LMD_META_ARR_I64:
	case LMD_META_ARR_F64:
		put_array(w, v);
		return;
	case LMD_META_F64:
		begin_key(w, v->key, v->file_type);
		put_number(w, v->file_type, 0, v->v.f);
		return;
	case LMD_META_BOOL:
	case LMD_META_I64:
	case LMD_META_U64:
		begin_key(w, v->key, v->file_type);
		put_number(w, v->file_type, v->v.i, 0);
		return;
	}
}

/* Computes t->bytes from type and shape; false if they are invalid. */
static bool tensor_bytes(struct lmi_gguf_tensor_entry *t)
{
	const struct lmi_dtype *type = lmi_dtype(t->type);
	uint64_t rows = 1;

	if (!type || type->memory_only || t->n_dim < 1 || t->n_dim > LMD_MAX_DIMS)
		return false;
	for (uint32_t i = 0; i < t->n_dim; i++)
		if (t->dims[i] < 1 || (uint64_t)t->dims[i] > LMI_MODEL_MAX_DIM ||
		    (i && !lmi_mul_ok(rows, (uint64_t)t->dims[i], &rows)))
			return false;
	return lmi_quant_row_bytes(type, (uint64_t)t->dims[0], &t->bytes) &&
	       lmi_mul_ok(t->bytes, rows, &t->bytes);
}

void lmi_gguf_add_tensor(struct lmi_gguf_writer *w, const char *name, enum lmd_dtype type,
			 uint32_t n_dim, const int64_t *dims)
{
	struct lmi_gguf_tensor_entry t = {.type = type, .n_dim = n_dim, .offset = w->data_bytes};
	size_t len = strlen(name);
	uint64_t end;

	if (w->err.status != LMD_OK)
		return;
	for (uint32_t i = 0; i < n_dim && i < LMD_MAX_DIMS; i++)
		t.dims[i] = dims[i];
	if (len < 1 || len > LMI_MODEL_NAME_BYTES || w->n_tensors == LMI_MODEL_MAX_TENSORS ||
	    !tensor_bytes(&t) || !lmi_add_ok(t.offset, t.bytes, &end) ||
	    !lmi_align_ok(end, w->alignment, &end)) {
		(void)lmd_fail(&w->err, LMD_INVALID,
			       "tensor %u \"%.63s\": name, type or shape is out of range",
			       w->n_tensors, name);
		return;
	}
	if (w->n_tensors == w->cap_tensors) {
		uint32_t cap = w->cap_tensors ? 2 * w->cap_tensors : 64;
		struct lmi_gguf_tensor_entry *p = lmi_realloc(w->tensors, cap, sizeof(*p));

		if (!p) {
			(void)lmd_fail(&w->err, LMD_NOMEM, "no memory for tensor %s", name);
			return;
		}
		w->tensors = p;
		w->cap_tensors = cap;
	}
	memcpy(t.name, name, len);
	w->tensors[w->n_tensors++] = t;
	w->data_bytes = end;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the names and compares neighbours. */
static enum lmd_status check_unique(const char *what, const char **names, size_t n,
				    struct lmd_error *err)
{
	char show[80];

	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(names[i - 1], names[i]))
			return lmd_fail(
				err, LMD_INVALID, "%s %s is defined twice", what,
				lmi_printable(show, sizeof(show), names[i], strlen(names[i])));
	return LMD_OK;
}

static enum lmd_status check_names(const struct lmi_gguf_writer *w, struct lmd_error *err)
{
	size_t n = w->n_keys > w->n_tensors ? (size_t)w->n_keys : w->n_tensors;
	const char **names = lmi_alloc(n + 1, sizeof(*names));
	enum lmd_status st;

	if (!names)
		return lmd_fail(err, LMD_NOMEM, "no memory to compare %zu names", n);
	for (size_t i = 0; i < w->n_keys; i++)
		names[i] = w->key_names[i];
	st = check_unique("key", names, (size_t)w->n_keys, err);
	for (size_t i = 0; i < w->n_tensors; i++)
		names[i] = w->tensors[i].name;
	if (st == LMD_OK)
		st = check_unique("tensor", names, w->n_tensors, err);
	lmi_free(names);
	return st;
}

static void put_table(struct lmi_gguf_writer *w)
{
	for (uint32_t i = 0; i < w->n_tensors; i++) {
		const struct lmi_gguf_tensor_entry *t = &w->tensors[i];

		put_text(w, &w->head, t->name, strlen(t->name));
		put32(w, &w->head, t->n_dim);
		for (uint32_t k = 0; k < t->n_dim; k++)
			put64(w, &w->head, (uint64_t)t->dims[k]);
		put32(w, &w->head, t->type);
		put64(w, &w->head, t->offset);
	}
}

enum lmd_status lmi_gguf_writer_header(struct lmi_gguf_writer *w, const uint8_t **bytes, size_t *n,
				       struct lmd_error *err)
{
	enum lmd_status st;

	w->head.n = 0;
	grow(w, &w->head, "GGUF", 4);
	put32(w, &w->head, 3);
	put64(w, &w->head, w->n_tensors);
	put64(w, &w->head, w->n_keys);
	grow(w, &w->head, w->keys.p, w->keys.n);
	put_table(w);
	while (w->err.status == LMD_OK && w->n_tensors && w->head.n % w->alignment)
		grow(w, &w->head, "", 1);
	if (w->err.status != LMD_OK)
		return lmd_fail(err, w->err.status, "%s", w->err.text);
	st = check_names(w, err);
	if (st != LMD_OK)
		return st;
	*bytes = w->head.p;
	*n = w->head.n;
	return LMD_OK;
}

enum lmd_status lmi_gguf_writer_bytes(struct lmi_gguf_writer *w, uint64_t *bytes,
				      struct lmd_error *err)
{
	const uint8_t *head;
	size_t n;
	enum lmd_status st = lmi_gguf_writer_header(w, &head, &n, err);

	if (st == LMD_OK && !lmi_add_ok(n, w->data_bytes, bytes))
		st = lmd_fail(err, LMD_INVALID, "the file would have 2^64 bytes or more");
	return st;
}
