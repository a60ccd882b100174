/* SPDX-License-Identifier: MIT
 *
 * Reads the header of one safetensors file.  The length of the header is checked against the file
 * and its limit before it is read; afterwards every tensor has a known type and a shape that
 * matches its bytes, and the tensors cover the data exactly, without gap or overlap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/checked.h"
#include "core/base/json_tree.h"
#include "core/base/printable.h"
#include "core/format/safetensors/safetensors.h"

#define LENGTH_BYTES 8u
#define MAX_NODES    (1u << 21)
#define ROW_STEPS    20 /* of work (cancel.h) for one tensor */

static const struct {
	const char *name;
	uint32_t bytes;
} types[LMI_ST_N_TYPES] = {
	[LMI_ST_BOOL] = {"BOOL", 1},       [LMI_ST_U8] = {"U8", 1},
	[LMI_ST_I8] = {"I8", 1},           [LMI_ST_F8_E5M2] = {"F8_E5M2", 1},
	[LMI_ST_F8_E4M3] = {"F8_E4M3", 1}, [LMI_ST_F8_E8M0] = {"F8_E8M0", 1},
	[LMI_ST_I16] = {"I16", 2},         [LMI_ST_U16] = {"U16", 2},
	[LMI_ST_F16] = {"F16", 2},         [LMI_ST_BF16] = {"BF16", 2},
	[LMI_ST_I32] = {"I32", 4},         [LMI_ST_U32] = {"U32", 4},
	[LMI_ST_F32] = {"F32", 4},         [LMI_ST_F64] = {"F64", 8},
	[LMI_ST_I64] = {"I64", 8},         [LMI_ST_U64] = {"U64", 8},
};

const char *lmi_st_type_name(enum lmi_st_type type)
{
	return types[type].name;
}

uint32_t lmi_st_type_bytes(enum lmi_st_type type)
{
	return types[type].bytes;
}

bool lmi_st_sniff(const uint8_t head[16])
{
	uint64_t n = lmi_get_le64(head);

	return n >= 2 && n <= LMI_ST_HEADER_BYTES && head[LENGTH_BYTES] == '{';
}

/* State while one file is read. */
struct header {
	struct lmi_st *st;
	struct lmd_arena *arena;
	uint64_t data_at, data_bytes;
	uint32_t part;
	char what[80]; /* the current tensor, for error messages */
	struct lmd_error *err;
};

/* Returns a member that must exist with this type. */
static const struct lmi_json_node *member(struct header *h, const struct lmi_json_node *o,
					  const char *key, enum lmi_json_kind type,
					  const char *kind)
{
	const struct lmi_json_node *v = lmi_json_node_get(o, key);

	if (lmi_json_node_is(v, type))
		return v;
	(void)lmd_fail(h->err, LMD_CORRUPT, "tensor %s: \"%s\" is %s, not %s", h->what, key,
		       lmi_json_node_kind(v), kind);
	return NULL;
}

static enum lmd_status read_type(struct header *h, const struct lmi_json_node *o,
				 struct lmi_st_tensor *t)
{
	const struct lmi_json_node *v = member(h, o, "dtype", LMI_JSON_STRING, "a string");
	char show[32];

	if (!v)
		return LMD_CORRUPT;
	for (unsigned i = 0; i < LMI_ST_N_TYPES; i++) {
		if (lmi_json_node_eq(v, types[i].name)) {
			t->type = (uint8_t)i;
			return LMD_OK;
		}
	}
	return lmd_fail(h->err, LMD_UNSUPPORTED, "tensor %s: dtype \"%s\" is unknown", h->what,
			lmi_printable(show, sizeof(show), v->u.s, v->n));
}

static enum lmd_status read_shape(struct header *h, const struct lmi_json_node *o,
				  struct lmi_st_tensor *t)
{
	const struct lmi_json_node *a = member(h, o, "shape", LMI_JSON_ARRAY, "an array"), *v;
	uint64_t bytes = types[t->type].bytes;

	if (!a)
		return LMD_CORRUPT;
	if (a->n > LMI_ST_MAX_DIMS)
		return lmd_fail(h->err, LMD_INVALID, "tensor %s: %u dimensions, must be at most %u",
				h->what, a->n, LMI_ST_MAX_DIMS);
	v = lmi_json_node_first(a);
	t->n_dim = (uint8_t)a->n;
	for (uint32_t i = 0; i < a->n; i++, v = lmi_json_node_next(v)) {
		if (v->type != LMI_JSON_INT)
			return lmd_fail(h->err, LMD_CORRUPT,
					"tensor %s: dimension %u is not an integer", h->what, i);
		if (v->u.i < 0 || v->u.i > (int64_t)LMI_MODEL_MAX_DIM)
			return lmd_fail(h->err, LMD_INVALID,
					"tensor %s: dimension %u is %lld, must be 0..%llu", h->what,
					i, (long long)v->u.i, LMI_MODEL_MAX_DIM);
		t->dims[i] = v->u.i;
	}
	/* multiply before looking for zeros, so that a later 0 hides no overflow */
	for (uint32_t i = 0; i < a->n; i++)
		if (t->dims[i] && !lmi_mul_ok(bytes, (uint64_t)t->dims[i], &bytes))
			return lmd_fail(h->err, LMD_INVALID,
					"tensor %s: the product of its dimensions overflows",
					h->what);
	for (uint32_t i = 0; i < a->n; i++)
		if (!t->dims[i])
			bytes = 0;
	t->bytes = bytes;
	return LMD_OK;
}

static enum lmd_status read_span(struct header *h, const struct lmi_json_node *o,
				 struct lmi_st_tensor *t)
{
	const struct lmi_json_node *a = member(h, o, "data_offsets", LMI_JSON_ARRAY, "an array");
	int64_t begin, end;

	if (!a)
		return LMD_CORRUPT;
	if (a->n != 2 || !lmi_json_node_int(lmi_json_node_at(a, 0), 0, INT64_MAX, &begin) ||
	    !lmi_json_node_int(lmi_json_node_at(a, 1), 0, INT64_MAX, &end))
		return lmd_fail(h->err, LMD_CORRUPT,
				"tensor %s: \"data_offsets\" must be two integers >= 0", h->what);
	if (end < begin || (uint64_t)end > h->data_bytes)
		return lmd_fail(h->err, LMD_CORRUPT,
				"tensor %s: bytes %lld..%lld, but the data has %llu", h->what,
				(long long)begin, (long long)end,
				(unsigned long long)h->data_bytes);
	if ((uint64_t)(end - begin) != t->bytes)
		return lmd_fail(h->err, LMD_CORRUPT,
				"tensor %s: %lld bytes of data, but type %s and shape need %llu",
				h->what, (long long)(end - begin), types[t->type].name,
				(unsigned long long)t->bytes);
	t->offset = h->data_at + (uint64_t)begin;
	return LMD_OK;
}

static enum lmd_status read_tensor(struct header *h, const struct lmi_json_node *key,
				   struct lmi_st_tensor *t)
{
	const struct lmi_json_node *o = lmi_json_node_next(key);
	enum lmd_status st;

	(void)lmi_printable(h->what, sizeof(h->what), key->u.s, key->n);
	if (key->n < 1 || key->n > LMI_ST_NAME_BYTES || memchr(key->u.s, 0, key->n))
		return lmd_fail(h->err, LMD_INVALID,
				"tensor \"%s\": name of %u bytes, must be 1..%u without a zero "
				"byte",
				h->what, key->n, LMI_ST_NAME_BYTES);
	if (o->type != LMI_JSON_OBJECT)
		return lmd_fail(h->err, LMD_CORRUPT, "tensor %s: is %s, not an object", h->what,
				lmi_json_node_kind(o));
	st = read_type(h, o, t);
	if (st == LMD_OK)
		st = read_shape(h, o, t);
	if (st == LMD_OK)
		st = read_span(h, o, t);
	if (st != LMD_OK)
		return st;
	t->part = h->part;
	t->name = lmi_arena_strndup(h->arena, key->u.s, key->n);
	return t->name ? LMD_OK
		       : lmd_fail(h->err, LMD_NOMEM, "tensor %s: no memory for its name", h->what);
}

static enum lmd_status check_metadata(struct header *h, const struct lmi_json_node *o)
{
	const struct lmi_json_node *k = lmi_json_node_first(o);

	if (o->type != LMI_JSON_OBJECT)
		return lmd_fail(h->err, LMD_CORRUPT, "\"__metadata__\" is %s, not an object",
				lmi_json_node_kind(o));
	for (uint32_t i = 0; i < o->n; i++) {
		const struct lmi_json_node *v = lmi_json_node_next(k);

		if (v->type != LMI_JSON_STRING)
			return lmd_fail(h->err, LMD_CORRUPT,
					"\"__metadata__\": \"%.40s\" is %s, not a string", k->u.s,
					lmi_json_node_kind(v));
		k = lmi_json_node_next(v);
	}
	return LMD_OK;
}

static enum lmd_status grow(struct header *h, uint32_t more)
{
	struct lmi_st *st = h->st;
	struct lmi_st_tensor *v;

	if (more > LMI_MODEL_MAX_TENSORS - st->n)
		return lmd_fail(h->err, LMD_INVALID, "%llu tensors, must be at most %u",
				(unsigned long long)st->n + more, LMI_MODEL_MAX_TENSORS);
	v = lmi_realloc(st->v, st->n + more + 1, sizeof(*v));
	if (!v)
		return lmd_fail(h->err, LMD_NOMEM, "no memory for %u tensors", st->n + more);
	st->v = v;
	st->cap = st->n + more + 1;
	return LMD_OK;
}

static enum lmd_status read_all(struct header *h, const struct lmi_json_node *root)
{
	const struct lmi_json_node *k = lmi_json_node_first(root);
	enum lmd_status st;

	if (root->type != LMI_JSON_OBJECT)
		return lmd_fail(h->err, LMD_CORRUPT, "the header is %s, not an object",
				lmi_json_node_kind(root));
	st = grow(h, root->n);
	for (uint32_t i = 0; st == LMD_OK && i < root->n; i++) {
		const struct lmi_json_node *v = lmi_json_node_next(k);
		struct lmi_st_tensor t = {0};

		if (!lmi_cancel_step(ROW_STEPS))
			return lmd_fail(h->err, LMD_CANCELLED, "cancelled");
		if (lmi_json_node_eq(k, "__metadata__")) {
			st = check_metadata(h, v);
		} else {
			st = read_tensor(h, k, &t);
			if (st == LMD_OK)
				h->st->v[h->st->n++] = t;
		}
		k = lmi_json_node_next(v);
	}
	return st;
}

static int by_offset(const void *a, const void *b)
{
	const struct lmi_st_tensor *x = *(const struct lmi_st_tensor *const *)a;
	const struct lmi_st_tensor *y = *(const struct lmi_st_tensor *const *)b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Checks that the tensors from `first` on cover the data exactly. */
static enum lmd_status check_cover(struct header *h, uint32_t first)
{
	uint32_t n = h->st->n - first;
	const struct lmi_st_tensor **v = lmi_alloc(n + 1, sizeof(*v));
	uint64_t at = h->data_at, end = h->data_at + h->data_bytes;
	enum lmd_status st = LMD_OK;

	if (!v)
		return lmd_fail(h->err, LMD_NOMEM, "no memory to compare %u tensors", n);
	for (uint32_t i = 0; i < n; i++)
		v[i] = &h->st->v[first + i];
	qsort(v, n, sizeof(*v), by_offset);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		if (v[i]->offset != at)
			st = lmd_fail(h->err, LMD_CORRUPT,
				      "tensor %s: begins at byte %llu of the data, but the "
				      "previous one ends at %llu",
				      lmi_printable(h->what, sizeof(h->what), v[i]->name,
						    strlen(v[i]->name)),
				      (unsigned long long)(v[i]->offset - h->data_at),
				      (unsigned long long)(at - h->data_at));
		at = v[i]->offset + v[i]->bytes; /* cannot overflow: checked by read_span */
	}
	if (st == LMD_OK && at != end)
		st = lmd_fail(h->err, LMD_CORRUPT,
			      "the tensors end at byte %llu, but the data has %llu bytes",
			      (unsigned long long)(at - h->data_at),
			      (unsigned long long)h->data_bytes);
	lmi_free(v);
	return st;
}

/* Reads the text of the header and sets the length of the data after it. */
static enum lmd_status read_text(struct header *h, const struct lmi_file *f, char **out,
				 size_t *n_out)
{
	uint8_t head[LENGTH_BYTES];
	enum lmd_status st;
	uint64_t n;
	char *text;

	if (f->bytes < LENGTH_BYTES + 2)
		return lmd_fail(h->err, LMD_CORRUPT,
				"%llu bytes, but a safetensors file has at least %u",
				(unsigned long long)f->bytes, LENGTH_BYTES + 2);
	st = lmi_file_read(f, 0, head, sizeof(head), h->err);
	if (st != LMD_OK)
		return st;
	n = lmi_get_le64(head);
	if (n > LMI_ST_HEADER_BYTES)
		return lmd_fail(h->err, LMD_INVALID, "header of %llu bytes, must be at most %u",
				(unsigned long long)n, LMI_ST_HEADER_BYTES);
	if (n > f->bytes - LENGTH_BYTES)
		return lmd_fail(h->err, LMD_CORRUPT,
				"header of %llu bytes, but the file has only %llu more",
				(unsigned long long)n,
				(unsigned long long)(f->bytes - LENGTH_BYTES));
	text = lmi_alloc((size_t)n + 1, 1);
	if (!text)
		return lmd_fail(h->err, LMD_NOMEM, "no memory for a header of %llu bytes",
				(unsigned long long)n);
	st = lmi_file_read(f, LENGTH_BYTES, text, (size_t)n, h->err);
	if (st != LMD_OK) {
		lmi_free(text);
		return st;
	}
	if (n && text[0] != '{') {
		lmi_free(text);
		return lmd_fail(h->err, LMD_CORRUPT, "the header does not begin with '{'");
	}
	h->data_at = LENGTH_BYTES + n;
	h->data_bytes = f->bytes - h->data_at;
	*out = text;
	*n_out = (size_t)n;
	return LMD_OK;
}

enum lmd_status lmi_st_read_header(struct lmi_st *st, struct lmd_arena *arena,
				   const struct lmi_file *f, uint32_t part, struct lmd_error *err)
{
	static const struct lmi_json_tree_opts opts = {
		.max_bytes = LMI_ST_HEADER_BYTES, .max_nodes = MAX_NODES, .unique_keys = true};
	struct header h = {.st = st, .arena = arena, .part = part, .err = err};
	uint32_t first = st->n;
	struct lmi_json_tree tree = {0};
	char *text = NULL;
	size_t n = 0;
	enum lmd_status s = read_text(&h, f, &text, &n);

	if (s == LMD_OK) {
		s = lmi_json_tree_parse(&tree, text, n, &opts, err);
		if (s != LMD_OK)
			lmd_error_prefix(err, "header");
	}
	lmi_free(text);
	if (s == LMD_OK)
		s = read_all(&h, tree.root);
	lmi_json_tree_fini(&tree);
	return s == LMD_OK ? check_cover(&h, first) : s;
}
