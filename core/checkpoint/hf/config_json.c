/* SPDX-License-Identifier: MIT
 *
 * Looks up values of config.json by name, and adds keys to the model.  Every number is checked
 * against the limits given by the caller before it is used.  The first error is sticky, so that the
 * code of the families consists of plain lists without error checks. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/format/gguf/gguf.h"

#define NAME_MAX_BYTES 64u

void lmi_checkpoint_fail(struct lmi_checkpoint *f, enum lmd_status st, const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT];
	va_list ap;

	if (f->status != LMD_OK)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f->status = lmd_fail(f->err, st, "%s", text);
}

void *lmi_checkpoint_alloc(struct lmi_checkpoint *f, size_t n, size_t item_bytes)
{
	void *p = f->status == LMD_OK ? lmi_arena_array(f->m->arena, n ? n : 1, item_bytes) : NULL;

	if (!p && f->status == LMD_OK)
		f->status = lmi_model_no_memory(f->m, (uint64_t)n * item_bytes, f->err);
	return p;
}

/* ---- values ---- */

/* Returns the first of "a|b|c" that exists in an object; a dot selects a member of a member. */
static const struct lmi_json_node *find_key(const struct lmi_json_node *o, const char *names)
{
	while (*names) {
		size_t n = strcspn(names, "|");
		const struct lmi_json_node *v = o;
		char name[NAME_MAX_BYTES];

		for (size_t at = 0; v && at < n;) {
			size_t k = strcspn(names + at, ".|");

			(void)snprintf(name, sizeof(name), "%.*s", (int)k, names + at);
			v = lmi_json_node_get(v, name);
			at += k + 1;
		}
		if (v && v->type != LMI_JSON_NULL)
			return v;
		names += n + (names[n] == '|');
	}
	return NULL;
}

const struct lmi_json_node *lmi_checkpoint_config_find(const struct lmi_checkpoint *f,
						       const char *names)
{
	const struct lmi_json_node *v = find_key(f->text, names);

	return v || f->text == f->root ? v : find_key(f->root, names);
}

bool lmi_checkpoint_config_has(const struct lmi_checkpoint *f, const char *names)
{
	return lmi_checkpoint_config_find(f, names) != NULL;
}

static int first_len(const char *names)
{
	return (int)strcspn(names, "|");
}

/* An array with the same number for each layer counts as that number. */
static const struct lmi_json_node *one_for_all(const struct lmi_json_node *v)
{
	const struct lmi_json_node *first = lmi_json_node_first(v), *e = first;

	if (!lmi_json_node_is(v, LMI_JSON_ARRAY) || v->n < 2 || first->type != LMI_JSON_INT)
		return v;
	for (uint32_t i = 0; i < v->n; i++, e = lmi_json_node_next(e))
		if (e->type != LMI_JSON_INT || e->u.i != first->u.i)
			return v;
	return first;
}

int64_t lmi_checkpoint_config_int(struct lmi_checkpoint *f, const char *names, int64_t def,
				  int64_t min, int64_t max)
{
	const struct lmi_json_node *v = one_for_all(lmi_checkpoint_config_find(f, names));
	int64_t n = def;

	char number[32];

	if (!v || lmi_json_node_int(v, min, max, &n))
		return n;
	(void)snprintf(number, sizeof(number), "%.15g",
		       v->type == LMI_JSON_INT ? (double)v->u.i : v->u.d);
	lmi_checkpoint_fail(
		f, LMD_INVALID, "%s/config.json: \"%.*s\" is %s, must be an integer in %lld..%lld",
		f->dir, first_len(names), names,
		v->type == LMI_JSON_INT || v->type == LMI_JSON_REAL ? number
								    : lmi_json_node_kind(v),
		(long long)min, (long long)max);
	return n;
}

int64_t lmi_checkpoint_config_require_int(struct lmi_checkpoint *f, const char *names, int64_t min,
					  int64_t max)
{
	if (!lmi_checkpoint_config_has(f, names))
		lmi_checkpoint_fail(f, LMD_NOTFOUND, "%s/config.json: \"%.*s\" is missing", f->dir,
				    first_len(names), names);
	return lmi_checkpoint_config_int(f, names, min, min, max);
}

double lmi_checkpoint_config_float(struct lmi_checkpoint *f, const char *names, double def)
{
	const struct lmi_json_node *v = lmi_checkpoint_config_find(f, names);
	double d = def;

	if (v && (!lmi_json_node_real(v, &d) || !(fabs(d) <= (double)FLT_MAX)))
		lmi_checkpoint_fail(f, LMD_INVALID, "%s/config.json: \"%.*s\" is %s, not a float",
				    f->dir, first_len(names), names,
				    lmi_json_node_real(v, &d) ? "out of range"
							      : lmi_json_node_kind(v));
	return d;
}

bool lmi_checkpoint_config_bool(struct lmi_checkpoint *f, const char *names, bool def)
{
	const struct lmi_json_node *v = lmi_checkpoint_config_find(f, names);

	if (v && v->type != LMI_JSON_BOOL)
		lmi_checkpoint_fail(f, LMD_INVALID, "%s/config.json: \"%.*s\" is %s, not a boolean",
				    f->dir, first_len(names), names, lmi_json_node_kind(v));
	return v && v->type == LMI_JSON_BOOL ? v->u.b : def;
}

bool lmi_checkpoint_config_equals(const struct lmi_checkpoint *f, const char *names,
				  const char *text)
{
	return lmi_json_node_eq(lmi_checkpoint_config_find(f, names), text);
}

/* ---- files ---- */

enum lmd_status lmi_checkpoint_read_json(struct lmi_checkpoint *f, const char *name, bool optional,
					 size_t max_bytes, uint32_t max_nodes,
					 struct lmi_json_tree *t)
{
	struct lmi_json_tree_opts opts = {.max_bytes = max_bytes, .max_nodes = max_nodes};
	const char *path = lmi_arena_printf(f->m->arena, "%s/%s", f->dir, name);
	struct lmi_file file;
	struct lmi_map map = {0};
	enum lmd_status st;
	char show[112];

	if (!path)
		return lmi_model_no_memory(f->m, strlen(f->dir) + strlen(name) + 2, f->err);
	st = lmi_file_open(&file, path, f->err);
	if (st == LMD_NOTFOUND && optional)
		return LMD_OK;
	if (st != LMD_OK)
		return st;
	if (file.bytes < 1 || file.bytes > max_bytes)
		st = lmd_fail(f->err, LMD_INVALID, "%llu bytes, must be 1..%zu",
			      (unsigned long long)file.bytes, max_bytes);
	else
		st = lmi_map_read(&map, &file, 0, file.bytes, f->err);
	lmi_file_close(&file);
	if (st == LMD_OK)
		st = lmi_json_tree_parse(t, (const char *)map.ptr, (size_t)map.bytes, &opts,
					 f->err);
	lmi_map_close(&map);
	if (st == LMD_OK && t->root->type != LMI_JSON_OBJECT) {
		st = lmd_fail(f->err, LMD_CORRUPT, "is %s, not an object",
			      lmi_json_node_kind(t->root));
		lmi_json_tree_fini(t);
	}
	if (st != LMD_OK)
		lmd_error_prefix(f->err, lmi_printable_path(show, sizeof(show), path));
	return st;
}

/* ---- keys ---- */

/* Adds a value under its full name. */
static void put(struct lmi_checkpoint *f, const char *key, struct lmd_meta v)
{
	if (f->status != LMD_OK)
		return;
	v.key = *key == '@' ? lmi_arena_strndup(f->m->arena, key + 1, strlen(key + 1))
			    : lmi_arena_printf(f->m->arena, "%s.%s", f->map->arch, key);
	if (!v.key)
		f->status = lmi_model_no_memory(f->m, strlen(key) + 64, f->err);
	else
		f->status = lmi_model_add_meta(f->m, &v, f->err);
}

void lmi_checkpoint_put_u32(struct lmi_checkpoint *f, const char *key, int64_t v)
{
	put(f, key,
	    (struct lmd_meta){.type = LMD_META_I64, .file_type = LMI_GGUF_U32, .n = 1, .v.i = v});
}

void lmi_checkpoint_put_i32(struct lmi_checkpoint *f, const char *key, int64_t v)
{
	put(f, key,
	    (struct lmd_meta){.type = LMD_META_I64, .file_type = LMI_GGUF_I32, .n = 1, .v.i = v});
}

void lmi_checkpoint_put_f32(struct lmi_checkpoint *f, const char *key, double v)
{
	put(f, key,
	    (struct lmd_meta){.type = LMD_META_F64,
			      .file_type = LMI_GGUF_F32,
			      .n = 1,
			      .v.f = (double)(float)v});
}

void lmi_checkpoint_put_bool(struct lmi_checkpoint *f, const char *key, bool v)
{
	put(f, key,
	    (struct lmd_meta){.type = LMD_META_BOOL, .file_type = LMI_GGUF_BOOL, .n = 1, .v.i = v});
}

void lmi_checkpoint_put_str(struct lmi_checkpoint *f, const char *key, const char *s, size_t n)
{
	const char *copy = f->status == LMD_OK ? lmi_arena_strndup(f->m->arena, s, n) : NULL;

	if (f->status == LMD_OK && !copy)
		f->status = lmi_model_no_memory(f->m, n + 1, f->err);
	put(f, key,
	    (struct lmd_meta){.type = LMD_META_STR,
			      .file_type = LMI_GGUF_STRING,
			      .n = 1,
			      .v.s = {copy, n}});
}

void lmi_checkpoint_put_strings(struct lmi_checkpoint *f, const char *key, const struct lmd_str *v,
				uint64_t n)
{
	put(f, key,
	    (struct lmd_meta){
		    .type = LMD_META_ARR_STR, .file_type = LMI_GGUF_STRING, .n = n, .v.a = v});
}

void lmi_checkpoint_put_ints(struct lmi_checkpoint *f, const char *key, const int64_t *v,
			     uint64_t n)
{
	put(f, key,
	    (struct lmd_meta){
		    .type = LMD_META_ARR_I64, .file_type = LMI_GGUF_I32, .n = n, .v.a = v});
}

void lmi_checkpoint_put_floats(struct lmi_checkpoint *f, const char *key, const double *v,
			       uint64_t n)
{
	put(f, key,
	    (struct lmd_meta){
		    .type = LMD_META_ARR_F64, .file_type = LMI_GGUF_F32, .n = n, .v.a = v});
}

void lmi_checkpoint_put_bools(struct lmi_checkpoint *f, const char *key, const uint8_t *v,
			      uint64_t n)
{
	put(f, key,
	    (struct lmd_meta){
		    .type = LMD_META_ARR_BOOL, .file_type = LMI_GGUF_BOOL, .n = n, .v.a = v});
}

void lmi_checkpoint_put_bytes(struct lmi_checkpoint *f, const char *key, const int64_t *v,
			      uint64_t n)
{
	put(f, key,
	    (struct lmd_meta){
		    .type = LMD_META_ARR_I64, .file_type = LMI_GGUF_U8, .n = n, .v.a = v});
}
