/* SPDX-License-Identifier: MIT
 *
 * The same code reads the text twice: first without a tree, to validate it and to count nodes and
 * string bytes; then into the single allocation, in which escapes leave a little unused space. The
 * first pass finds every error, so the second cannot fail. */
#include "core/base/json_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"

struct builder {
	struct lmi_json_reader r;
	uint32_t max_nodes, n_nodes;
	size_t n_text;          /* string bytes, with terminating zeros */
	struct lmi_json_node *node; /* NULL in the counting pass */
	char *text;
	struct {
		uint32_t at, n; /* an open container: its node, elements or members so far */
	} level[LMI_JSON_READER_DEPTH];
	struct lmd_error *err;
};

static enum lmd_status put_node(struct builder *b, const struct lmi_json_node *v)
{
	if (b->n_nodes == b->max_nodes)
		return lmd_fail(b->err, LMD_INVALID, "JSON, byte %zu: more than %u values",
				lmi_json_reader_pos(&b->r), b->max_nodes);
	if (b->node)
		b->node[b->n_nodes] = *v;
	b->n_nodes++;
	return LMD_OK;
}

static enum lmd_status put_string(struct builder *b, const struct lmi_json_reader_item *it)
{
	struct lmi_json_node v = {.type = LMI_JSON_STRING, .span = 1};

	if (b->text) {
		char *to = b->text + b->n_text;

		v.u.s = to;
		v.n = (uint32_t)lmi_json_reader_unescape(it, to);
		to[v.n] = '\0';
		b->n_text += v.n + 1u;
	} else {
		b->n_text += it->text.len + 1;
	}
	return put_node(b, &v);
}

static enum lmd_status put_number(struct builder *b, const struct lmi_json_reader_item *it)
{
	struct lmi_json_node v = {.type = LMI_JSON_INT, .span = 1, .n = (uint32_t)it->text.len};

	if (!lmi_json_reader_int(it, &v.u.i)) {
		v.type = LMI_JSON_REAL;
		if (!lmi_json_reader_double(it, &v.u.d))
			return lmd_fail(b->err, LMD_INVALID,
					"JSON, byte %zu: number exceeds the range of a double",
					(size_t)(it->text.ptr - b->r.begin));
	}
	return put_node(b, &v);
}

/* A container gets its node when it starts; its size is known only at its end. */
static void close_container(struct builder *b, bool object)
{
	uint32_t at = b->level[b->r.depth].at;

	if (b->node)
		b->node[at] =
			(struct lmi_json_node){.type = object ? LMI_JSON_OBJECT : LMI_JSON_ARRAY,
					       .span = b->n_nodes - at,
					       .n = b->level[b->r.depth].n};
}

static enum lmd_status put_item(struct builder *b, const struct lmi_json_reader_item *it)
{
	struct lmi_json_node v = {.span = 1};

	switch (it->type) {
	case LMI_JSON_READER_OBJECT:
	case LMI_JSON_READER_ARRAY:
		b->level[b->r.depth - 1].at = b->n_nodes;
		b->level[b->r.depth - 1].n = 0;
		return put_node(b, &v);
	case LMI_JSON_READER_OBJECT_END:
	case LMI_JSON_READER_ARRAY_END:
		close_container(b, it->type == LMI_JSON_READER_OBJECT_END);
		return LMD_OK;
	case LMI_JSON_READER_KEY:
	case LMI_JSON_READER_STRING:
		return put_string(b, it);
	case LMI_JSON_READER_NUMBER:
		return put_number(b, it);
	case LMI_JSON_READER_BOOL:
		v.type = LMI_JSON_BOOL;
		v.u.b = it->b;
		return put_node(b, &v);
	case LMI_JSON_READER_NULL:
		v.type = LMI_JSON_NULL;
		return put_node(b, &v);
	case LMI_JSON_READER_END:
		break;
	}
	return LMD_OK;
}

static enum lmd_status parse_document(struct builder *b, const char *text, size_t bytes)
{
	struct lmi_json_reader_item it;
	enum lmd_status st;

	lmi_json_reader_init(&b->r, text, bytes);
	b->n_nodes = 0;
	b->n_text = 0;
	while ((st = lmi_json_reader_next(&b->r, &it, b->err)) == LMD_OK &&
	       it.type != LMI_JSON_READER_END) {
		bool opens = it.type == LMI_JSON_READER_OBJECT || it.type == LMI_JSON_READER_ARRAY;
		bool closes = it.type == LMI_JSON_READER_OBJECT_END ||
			      it.type == LMI_JSON_READER_ARRAY_END;
		uint32_t inside = b->r.depth - (opens ? 1 : 0);

		/* an element of an array or the key of a member */
		if (inside && !closes &&
		    (it.type == LMI_JSON_READER_KEY || !(b->r.objects >> (inside - 1) & 1)))
			b->level[inside - 1].n++;
		st = put_item(b, &it);
		if (st != LMD_OK)
			return st;
	}
	return st;
}

static int by_text(const void *a, const void *b)
{
	const struct lmi_json_node *x = *(const struct lmi_json_node *const *)a;
	const struct lmi_json_node *y = *(const struct lmi_json_node *const *)b;
	int c;

	if (!lmi_cancel_step(2)) /* the order no longer matters */
		return 0;
	c = memcmp(x->u.s, y->u.s, x->n < y->n ? x->n : y->n);
	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Checks for duplicates by comparing adjacent sorted keys; `keys` has room for all keys of the
 * tree. */
static enum lmd_status unique(const struct lmi_json_tree *t, const struct lmi_json_node **keys,
			      struct lmd_error *err)
{
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct lmi_json_node *o = t->root + i, *k = lmi_json_node_first(o);

		if (o->type != LMI_JSON_OBJECT)
			continue;
		for (uint32_t m = 0; m < o->n; m++, k = lmi_json_node_next(k + 1))
			keys[m] = k;
		qsort(keys, o->n, sizeof(*keys), by_text);
		if (!lmi_cancel_step(o->n))
			return lmd_fail(err, LMD_CANCELLED, "JSON: cancelled");
		for (uint32_t m = 1; m < o->n; m++)
			if (by_text(&keys[m - 1], &keys[m]) == 0)
				return lmd_fail(err, LMD_CORRUPT, "JSON: duplicate key '%.64s'",
						keys[m]->u.s);
	}
	return LMD_OK;
}

static enum lmd_status check_unique(const struct lmi_json_tree *t, struct lmd_error *err)
{
	const struct lmi_json_node **keys = lmi_alloc(t->n_nodes, sizeof(*keys));
	enum lmd_status st;

	if (!keys)
		return lmd_fail(err, LMD_NOMEM, "JSON: no memory to check its keys");
	st = unique(t, keys, err);
	lmi_free(keys);
	return st;
}

enum lmd_status lmi_json_tree_parse(struct lmi_json_tree *t, const char *text, size_t bytes,
				    const struct lmi_json_tree_opts *opts, struct lmd_error *err)
{
	static const struct lmi_json_tree_opts defaults;
	const struct lmi_json_tree_opts *o = opts ? opts : &defaults;
	size_t max = o->max_bytes ? o->max_bytes : LMI_JSON_TREE_BYTES;
	struct builder b = {.max_nodes = o->max_nodes ? o->max_nodes : LMI_JSON_TREE_NODES,
			    .err = err};
	struct lmi_json_tree out;
	enum lmd_status st;

	if (bytes > max || bytes > 1u << 30)
		return lmd_fail(err, LMD_INVALID, "JSON: %zu bytes exceed the limit of %zu",
				bytes, max);
	st = parse_document(&b, text, bytes);
	if (st != LMD_OK)
		return st;
	out.n_nodes = b.n_nodes;
	out.root = lmi_alloc(b.n_nodes * sizeof(*out.root) + b.n_text, 1);
	if (!out.root)
		return lmd_fail(err, LMD_NOMEM, "JSON: no memory for %u values", b.n_nodes);
	b.node = out.root;
	b.text = (char *)(out.root + b.n_nodes);
	st = parse_document(&b, text, bytes);
	if (st == LMD_OK && o->unique_keys)
		st = check_unique(&out, err);
	if (st == LMD_OK)
		*t = out;
	else
		lmi_json_tree_fini(&out);
	return st;
}

void lmi_json_tree_fini(struct lmi_json_tree *t)
{
	lmi_free(t->root);
	*t = (struct lmi_json_tree){0};
}

bool lmi_json_node_is(const struct lmi_json_node *v, enum lmi_json_kind type)
{
	return v && v->type == type;
}

const struct lmi_json_node *lmi_json_node_first(const struct lmi_json_node *c)
{
	return (lmi_json_node_is(c, LMI_JSON_ARRAY) || lmi_json_node_is(c, LMI_JSON_OBJECT)) && c->n
		       ? c + 1
		       : NULL;
}

const struct lmi_json_node *lmi_json_node_at(const struct lmi_json_node *array, uint32_t i)
{
	const struct lmi_json_node *v = lmi_json_node_first(array);

	if (!lmi_json_node_is(array, LMI_JSON_ARRAY) || i >= array->n)
		return NULL;
	while (i--)
		v = lmi_json_node_next(v);
	return v;
}

const struct lmi_json_node *lmi_json_node_get(const struct lmi_json_node *object, const char *key)
{
	const struct lmi_json_node *k = lmi_json_node_first(object), *found = NULL;

	if (!lmi_json_node_is(object, LMI_JSON_OBJECT))
		return NULL;
	for (uint32_t i = 0; i < object->n; i++, k = lmi_json_node_next(k + 1))
		if (lmi_json_node_eq(k, key))
			found = k + 1;
	return found;
}

bool lmi_json_node_eq(const struct lmi_json_node *v, const char *text)
{
	size_t n = strlen(text);

	return lmi_json_node_is(v, LMI_JSON_STRING) && v->n == n && memcmp(v->u.s, text, n) == 0;
}

bool lmi_json_node_int(const struct lmi_json_node *v, int64_t min, int64_t max, int64_t *out)
{
	int64_t i;

	if (lmi_json_node_is(v, LMI_JSON_INT))
		i = v->u.i;
	else if (lmi_json_node_is(v, LMI_JSON_REAL) && fabs(v->u.d) <= 0x1p53 &&
		 v->u.d == floor(v->u.d))
		i = (int64_t)v->u.d;
	else
		return false;
	if (i < min || i > max)
		return false;
	*out = i;
	return true;
}

bool lmi_json_node_real(const struct lmi_json_node *v, double *out)
{
	if (lmi_json_node_is(v, LMI_JSON_REAL))
		*out = v->u.d;
	else if (lmi_json_node_is(v, LMI_JSON_INT))
		*out = (double)v->u.i;
	else
		return false;
	return true;
}

const char *lmi_json_node_kind(const struct lmi_json_node *v)
{
	static const char *const kind[] = {"null",   "boolean", "integer", "number",
					   "string", "array",   "object"};

	return v && v->type < LMD_LEN(kind) ? kind[v->type] : "nothing";
}
