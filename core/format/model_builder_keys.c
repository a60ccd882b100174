/* SPDX-License-Identifier: MIT
 *
 * Takes keys from a format: checks type, lengths and values, and copies everything. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/printable.h"
#include "core/format/gguf/gguf.h"
#include "core/format/model_builder_impl.h"

static enum lmd_status no_memory(struct lmi_model_builder *b, uint64_t bytes)
{
	return lmi_model_no_memory(b->o.m, bytes, &b->error);
}

/* Copies a string, with a terminating zero. */
static enum lmd_status copy_string(struct lmi_model_builder *b, const char *what, uint64_t limit,
				   const struct lmd_str *s, struct lmd_str *out)
{
	char *p;

	if (s->len > limit)
		return lmd_fail(&b->error, LMD_INVALID,
				"%s: string of %zu bytes, must be at most %llu", what, s->len,
				(unsigned long long)limit);
	if (s->len && !s->ptr)
		return lmd_fail(&b->error, LMD_INVALID, "%s: string of %zu bytes, but it is NULL",
				what, s->len);
	p = lmi_arena_strndup(b->o.m->arena, s->len ? s->ptr : "", s->len);
	if (!p)
		return no_memory(b, s->len + 1);
	*out = (struct lmd_str){.ptr = p, .len = s->len};
	return LMD_OK;
}

static enum lmd_status copy_strings(struct lmi_model_builder *b, const char *what,
				    const struct lmd_meta *from, struct lmd_meta *v)
{
	const struct lmd_str *a = from->v.a;
	struct lmd_str *out = lmi_arena_array(b->o.m->arena, (size_t)v->n, sizeof(*out));
	enum lmd_status st = LMD_OK;

	if (!out)
		return no_memory(b, v->n * sizeof(*out));
	v->v.a = out;
	for (uint64_t i = 0; i < v->n && st == LMD_OK; i++)
		st = copy_string(b, what, LMI_MODEL_STRING_BYTES, &a[i], &out[i]);
	return st;
}

static uint32_t item_bytes(uint32_t type)
{
	return type == LMD_META_ARR_BOOL  ? 1
	       : type == LMD_META_ARR_STR ? (uint32_t)sizeof(struct lmd_str)
					  : 8;
}

static enum lmd_status copy_array(struct lmi_model_builder *b, const char *what,
				  const struct lmd_meta *from, struct lmd_meta *v)
{
	uint32_t item = item_bytes(v->type);
	const uint8_t *flags;
	void *out;

	if (!v->n) {
		v->v.a = NULL;
		return LMD_OK;
	}
	if (!from->v.a)
		return lmd_fail(&b->error, LMD_INVALID,
				"%s: array of %llu elements, but it is NULL", what,
				(unsigned long long)v->n);
	if (v->n > b->o.m->heap_bytes / item)
		return lmd_fail(&b->error, LMD_INVALID,
				"%s: array of %llu elements of %u bytes, must be at most %llu "
				"bytes",
				what, (unsigned long long)v->n, item,
				(unsigned long long)b->o.m->heap_bytes);
	if (v->type == LMD_META_ARR_STR)
		return copy_strings(b, what, from, v);
	out = lmi_arena_array(b->o.m->arena, (size_t)v->n, item);
	if (!out)
		return no_memory(b, v->n * item);
	memcpy(out, from->v.a, (size_t)(v->n * item));
	v->v.a = out;
	flags = out;
	for (uint64_t i = 0; v->type == LMD_META_ARR_BOOL && i < v->n; i++)
		if (flags[i] > 1)
			return lmd_fail(&b->error, LMD_CORRUPT, "%s: boolean %u, must be 0 or 1",
					what, flags[i]);
	return LMD_OK;
}

static enum lmd_status copy_value(struct lmi_model_builder *b, const char *what,
				  const struct lmd_meta *from, struct lmd_meta *v)
{
	bool known = false;

	switch ((enum lmd_meta_type)v->type) {
	case LMD_META_ARR_BOOL:
	case LMD_META_ARR_I64:
	case LMD_META_ARR_F64:
	case LMD_META_ARR_STR:
		return copy_array(b, what, from, v);
	case LMD_META_BOOL:
	case LMD_META_I64:
	case LMD_META_U64:
	case LMD_META_F64:
	case LMD_META_STR:
		known = true;
	}
	if (!known)
		return lmd_fail(&b->error, LMD_INVALID, "%s: value type %u is unknown", what,
				v->type);
	if (v->n != 1)
		return lmd_fail(&b->error, LMD_INVALID, "%s: %llu elements, but it is no array",
				what, (unsigned long long)v->n);
	if (v->type == LMD_META_BOOL && (v->v.i < 0 || v->v.i > 1))
		return lmd_fail(&b->error, LMD_CORRUPT, "%s: boolean %lld, must be 0 or 1", what,
				(long long)v->v.i);
	if (v->type == LMD_META_U64 && v->v.u <= INT64_MAX)
		v->type = LMD_META_I64; /* the same bits */
	if (v->type == LMD_META_STR)
		return copy_string(b, what, lmi_model_string_limit(v->key), &from->v.s, &v->v.s);
	return LMD_OK;
}

/* The type of an integer in a GGUF file: the usual one that holds all values lo..hi. */
static uint32_t int_type(int64_t lo, int64_t hi, bool is_array)
{
	if (lo >= 0 && hi <= UINT32_MAX && !(is_array && hi <= INT32_MAX))
		return LMI_GGUF_U32;
	return lo >= INT32_MIN && hi <= INT32_MAX ? LMI_GGUF_I32 : LMI_GGUF_I64;
}

/* The type of a checked value in a GGUF file that is made of the model. */
static uint32_t file_type_of(const struct lmd_meta *v)
{
	const int64_t *a = v->v.a;
	int64_t lo = 0, hi = 0;

	switch ((enum lmd_meta_type)v->type) {
	case LMD_META_BOOL:
	case LMD_META_ARR_BOOL:
		return LMI_GGUF_BOOL;
	case LMD_META_STR:
	case LMD_META_ARR_STR:
		return LMI_GGUF_STRING;
	case LMD_META_F64:
	case LMD_META_ARR_F64:
		return LMI_GGUF_F32;
	case LMD_META_U64:
		return LMI_GGUF_U64;
	case LMD_META_I64:
		return int_type(v->v.i, v->v.i, false);
	case LMD_META_ARR_I64:
		for (uint64_t i = 0; i < v->n; i++) {
			lo = a[i] < lo ? a[i] : lo;
			hi = a[i] > hi ? a[i] : hi;
		}
		return int_type(lo, hi, true);
	}
	return 0;
}

enum lmd_status lmi_model_builder_take_meta(struct lmi_model_builder *b,
					    const struct lmd_meta *from)
{
	char show[64], what[80];
	struct lmd_meta v;
	enum lmd_status st;
	void *meta = b->meta;
	size_t len;

	if (!from || !from->key)
		return lmd_fail(&b->error, LMD_INVALID, "key %u: %s is NULL", b->n_meta,
				from ? "its name" : "it");
	v = *from;
	len = strnlen(v.key, LMI_MODEL_KEY_BYTES + 1);
	if (len < 1 || len > LMI_MODEL_KEY_BYTES)
		return lmd_fail(&b->error, LMD_INVALID,
				"key %u: name of %s%zu bytes, must be 1..%u", b->n_meta,
				len ? "at least " : "", len, LMI_MODEL_KEY_BYTES);
	(void)snprintf(what, sizeof(what), "key %s",
		       lmi_printable(show, sizeof(show), v.key, len));
	if (b->n_meta == LMI_MODEL_MAX_KEYS)
		return lmd_fail(&b->error, LMD_INVALID, "%s: there are more than %u keys", what,
				LMI_MODEL_MAX_KEYS);
	st = copy_value(b, what, from, &v);
	if (st != LMD_OK)
		return st;
	v.file_type = file_type_of(&v);
	v.key = lmi_arena_strndup(b->o.m->arena, v.key, len);
	if (!v.key)
		return no_memory(b, len + 1);
	if (!lmi_model_builder_grow(&meta, b->n_meta, &b->cap_meta, sizeof(*b->meta)))
		return lmd_fail(&b->error, LMD_NOMEM, "no memory for %u keys", b->n_meta + 1);
	b->meta = meta;
	b->meta[b->n_meta++] = v;
	return LMD_OK;
}
