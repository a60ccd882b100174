/* SPDX-License-Identifier: MIT
 *
 * The text is read twice by the same code: first without a tree, to check it and to count nodes
 * and bytes of strings; then into the one allocation of just that size.  Whatever is wrong is
 * found by the first pass, which the second one repeats step by step. */
#include "core/base/json_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

struct reader {
	const char *begin, *p, *end;
	uint32_t depth, max_nodes;
	uint32_t n_nodes;
	size_t n_text;          /* bytes of strings, with their zeros */
	struct lmi_jnode *node; /* NULL: counting */
	char *text;
	struct lmd_error *err;
};

static enum lmd_status value(struct reader *r);

static enum lmd_status fail(const struct reader *r, const char *at, const char *what)
{
	return lmd_fail(r->err, LMD_CORRUPT, "JSON, byte %zu: %s", (size_t)(at - r->begin), what);
}

static enum lmd_status expected(const struct reader *r, const char *what)
{
	size_t at = (size_t)(r->p - r->begin);
	unsigned c;

	if (r->p == r->end)
		return lmd_fail(r->err, LMD_CORRUPT, "JSON, byte %zu: the text ends, %s expected",
				at, what);
	c = (unsigned char)*r->p;
	if (c > 0x20 && c < 0x7f)
		return lmd_fail(r->err, LMD_CORRUPT, "JSON, byte %zu: '%c', %s expected", at,
				(char)c, what);
	return lmd_fail(r->err, LMD_CORRUPT, "JSON, byte %zu: 0x%02x, %s expected", at, c, what);
}

static void blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
		r->p++;
}

static enum lmd_status new_node(struct reader *r, uint32_t *i)
{
	if (r->n_nodes == r->max_nodes)
		return lmd_fail(r->err, LMD_INVALID, "JSON, byte %zu: more than %u values",
				(size_t)(r->p - r->begin), r->max_nodes);
	*i = r->n_nodes++;
	return LMD_OK;
}

static enum lmd_status leaf(struct reader *r, struct lmi_jnode v)
{
	uint32_t i = 0;
	enum lmd_status st = new_node(r, &i);

	if (st == LMD_OK && r->node) {
		v.span = 1;
		r->node[i] = v;
	}
	return st;
}

size_t lmi_json_char(const char *p, const char *end)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char c = (unsigned char)*p;
	size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
	uint32_t v = n == 1 ? c : n == 4 ? c & 0xfu : n == 3 ? c & 0xfu : c & 0x1fu;

	if (!n || c >= 0xf8 || (size_t)(end - p) < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | ((unsigned char)p[i] & 0x3f);
	}
	return v < least[n] || (v >= 0xd800 && v < 0xe000) || v > 0x10ffff ? 0 : n;
}

static void put(struct reader *r, const char *s, size_t n)
{
	if (r->text)
		memcpy(r->text + r->n_text, s, n);
	r->n_text += n;
}

static void put_char(struct reader *r, uint32_t c)
{
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (n == 1) {
		s[0] = (char)c;
	} else {
		for (size_t i = n - 1; i; i--, c >>= 6)
			s[i] = (char)(0x80 | (c & 0x3f));
		s[0] = (char)((0xf00u >> n) | c);
	}
	put(r, s, n);
}

static bool hex4(const char *p, const char *end, uint32_t *out)
{
	uint32_t v = 0;

	if (end - p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = p[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v << 4 | (uint32_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	*out = v;
	return true;
}

/* At the u of \uXXXX. */
static enum lmd_status unicode_escape(struct reader *r)
{
	const char *at = r->p - 1;
	uint32_t c, low;

	if (!hex4(r->p + 1, r->end, &c))
		return fail(r, at, "\\u without four hexadecimal digits");
	r->p += 5;
	if (c >= 0xdc00 && c < 0xe000)
		return fail(r, at, "second half of a surrogate pair without the first");
	if (c >= 0xd800 && c < 0xdc00) {
		if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u' ||
		    !hex4(r->p + 2, r->end, &low) || low < 0xdc00 || low > 0xdfff)
			return fail(r, at, "first half of a surrogate pair without the second");
		r->p += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	put_char(r, c);
	return LMD_OK;
}

/* At the backslash. */
static enum lmd_status escape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *k;

	if (++r->p == r->end)
		return expected(r, "an escape");
	if (*r->p == 'u')
		return unicode_escape(r);
	k = *r->p ? strchr(from, *r->p) : NULL;
	if (!k)
		return fail(r, r->p - 1, "unknown escape");
	put(r, to + (k - from), 1);
	r->p++;
	return LMD_OK;
}

/* At the opening quote; a node of its own. */
static enum lmd_status string(struct reader *r)
{
	size_t from = r->n_text;
	enum lmd_status st = LMD_OK;
	struct lmi_jnode v = {.type = LMI_JSTRING};

	r->p++;
	while (st == LMD_OK && r->p < r->end && *r->p != '"') {
		size_t n;

		if (*r->p == '\\') {
			st = escape(r);
			continue;
		}
		if ((unsigned char)*r->p < 0x20)
			return fail(r, r->p, "control character in a string");
		n = lmi_json_char(r->p, r->end);
		if (!n)
			return fail(r, r->p, "not UTF-8");
		put(r, r->p, n);
		r->p += n;
	}
	if (st != LMD_OK)
		return st;
	if (r->p == r->end)
		return expected(r, "the end of a string");
	r->p++;
	v.n = (uint32_t)(r->n_text - from);
	put(r, "", 1);
	v.u.s = r->text ? r->text + from : NULL;
	return leaf(r, v);
}

static const char *digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* The end of the number at p, or NULL. */
static const char *number_end(const char *p, const char *end, bool *integer)
{
	const char *q;

	*integer = true;
	p += *p == '-';
	q = digits(p, end);
	if (q == p || (*p == '0' && q > p + 1))
		return NULL;
	p = q;
	if (p < end && *p == '.') {
		*integer = false;
		q = digits(p + 1, end);
		if (q == p + 1)
			return NULL;
		p = q;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		*integer = false;
		p++;
		p += p < end && (*p == '+' || *p == '-');
		q = digits(p, end);
		if (q == p)
			return NULL;
		p = q;
	}
	return p;
}

static enum lmd_status number(struct reader *r)
{
	char s[LMI_JTREE_DIGITS + 1];
	bool integer;
	const char *end = number_end(r->p, r->end, &integer), *at = r->p;
	struct lmi_jnode v = {.type = LMI_JINT};

	if (!end)
		return fail(r, at, "not a number");
	if (end - at > LMI_JTREE_DIGITS)
		return lmd_fail(r->err, LMD_INVALID,
				"JSON, byte %zu: a number of more than %d bytes",
				(size_t)(at - r->begin), LMI_JTREE_DIGITS);
	v.n = (uint32_t)(end - at);
	memcpy(s, at, v.n);
	s[v.n] = 0;
	errno = 0;
	if (integer)
		v.u.i = strtoll(s, NULL, 10);
	if (!integer || errno || (v.u.i == 0 && *s == '-')) { /* -0 is no integer of 64 bits */
		v.type = LMI_JREAL;
		v.u.d = strtod(s, NULL);
		if (!isfinite(v.u.d))
			return lmd_fail(r->err, LMD_INVALID,
					"JSON, byte %zu: a number beyond the range of a double",
					(size_t)(at - r->begin));
	}
	r->p = end;
	return leaf(r, v);
}

static enum lmd_status word(struct reader *r, const char *w, struct lmi_jnode v)
{
	size_t n = strlen(w);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, w, n) != 0)
		return expected(r, "a value");
	r->p += n;
	return leaf(r, v);
}

static enum lmd_status member(struct reader *r)
{
	enum lmd_status st;

	if (r->p == r->end || *r->p != '"')
		return expected(r, "a key");
	st = string(r);
	if (st != LMD_OK)
		return st;
	blanks(r);
	if (r->p == r->end || *r->p != ':')
		return expected(r, "':'");
	r->p++;
	return value(r);
}

/* At the bracket. */
static enum lmd_status container(struct reader *r)
{
	bool object = *r->p == '{';
	char close = object ? '}' : ']';
	uint32_t i = 0, n = 0;
	enum lmd_status st = new_node(r, &i);

	if (st != LMD_OK)
		return st;
	if (r->depth == LMI_JTREE_DEPTH)
		return lmd_fail(r->err, LMD_INVALID, "JSON, byte %zu: nested more than %d deep",
				(size_t)(r->p - r->begin), LMI_JTREE_DEPTH);
	r->depth++;
	r->p++;
	blanks(r);
	while (r->p == r->end || *r->p != close) {
		if (n && (r->p == r->end || *r->p != ','))
			return expected(r, object ? "',' or '}'" : "',' or ']'");
		r->p += n > 0;
		blanks(r);
		st = object ? member(r) : value(r);
		if (st != LMD_OK)
			return st;
		n++;
		blanks(r);
	}
	r->p++;
	r->depth--;
	if (r->node)
		r->node[i] = (struct lmi_jnode){
			.type = object ? LMI_JOBJECT : LMI_JARRAY, .span = r->n_nodes - i, .n = n};
	return LMD_OK;
}

static enum lmd_status value(struct reader *r)
{
	blanks(r);
	if (r->p == r->end)
		return expected(r, "a value");
	switch (*r->p) {
	case '{':
	case '[':
		return container(r);
	case '"':
		return string(r);
	case 't':
		return word(r, "true", (struct lmi_jnode){.type = LMI_JBOOL, .u.b = true});
	case 'f':
		return word(r, "false", (struct lmi_jnode){.type = LMI_JBOOL});
	case 'n':
		return word(r, "null", (struct lmi_jnode){.type = LMI_JNULL});
	default:
		return *r->p == '-' || (*r->p >= '0' && *r->p <= '9') ? number(r)
								      : expected(r, "a value");
	}
}

static enum lmd_status whole(struct reader *r)
{
	enum lmd_status st = value(r);

	if (st != LMD_OK)
		return st;
	blanks(r);
	return r->p == r->end ? LMD_OK : expected(r, "the end");
}

static int by_text(const void *a, const void *b)
{
	const struct lmi_jnode *x = *(const struct lmi_jnode *const *)a;
	const struct lmi_jnode *y = *(const struct lmi_jnode *const *)b;
	int c = memcmp(x->u.s, y->u.s, x->n < y->n ? x->n : y->n);

	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Sorted keys beside each other; `keys` has room for all of the tree. */
static enum lmd_status unique(const struct lmi_jtree *t, const struct lmi_jnode **keys,
			      struct lmd_error *err)
{
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct lmi_jnode *o = t->root + i, *k = lmi_jnode_first(o);

		if (o->type != LMI_JOBJECT)
			continue;
		for (uint32_t m = 0; m < o->n; m++, k = lmi_jnode_next(k + 1))
			keys[m] = k;
		qsort(keys, o->n, sizeof(*keys), by_text);
		for (uint32_t m = 1; m < o->n; m++)
			if (by_text(&keys[m - 1], &keys[m]) == 0)
				return lmd_fail(err, LMD_CORRUPT, "JSON: key '%.64s' comes twice",
						keys[m]->u.s);
	}
	return LMD_OK;
}

static enum lmd_status check_unique(const struct lmi_jtree *t, struct lmd_error *err)
{
	const struct lmi_jnode **keys = lmi_alloc(t->n_nodes, sizeof(*keys));
	enum lmd_status st;

	if (!keys)
		return lmd_fail(err, LMD_NOMEM, "JSON: no memory for its keys");
	st = unique(t, keys, err);
	lmi_free(keys);
	return st;
}

enum lmd_status lmi_jtree_parse(struct lmi_jtree *t, const char *text, size_t bytes,
				const struct lmi_jtree_opts *opts, struct lmd_error *err)
{
	static const struct lmi_jtree_opts defaults;
	const struct lmi_jtree_opts *o = opts ? opts : &defaults;
	size_t max = o->max_bytes ? o->max_bytes : LMI_JTREE_BYTES;
	struct reader r = {.begin = text,
			   .p = text,
			   .end = text + bytes,
			   .max_nodes = o->max_nodes ? o->max_nodes : LMI_JTREE_NODES,
			   .err = err};
	struct lmi_jtree out;
	enum lmd_status st;

	if (bytes > max || bytes > 1u << 30)
		return lmd_fail(err, LMD_INVALID, "JSON: %zu bytes, at most %zu", bytes, max);
	st = whole(&r);
	if (st != LMD_OK)
		return st;
	out.n_nodes = r.n_nodes;
	out.root = lmi_alloc(r.n_nodes * sizeof(*out.root) + r.n_text, 1);
	if (!out.root)
		return lmd_fail(err, LMD_NOMEM, "JSON: no memory for %u values", r.n_nodes);
	r.node = out.root;
	r.text = (char *)(out.root + r.n_nodes);
	r.p = text;
	r.n_nodes = 0;
	r.n_text = 0;
	st = whole(&r);
	if (st == LMD_OK && o->unique_keys)
		st = check_unique(&out, err);
	if (st == LMD_OK)
		*t = out;
	else
		lmi_jtree_fini(&out);
	return st;
}

void lmi_jtree_fini(struct lmi_jtree *t)
{
	lmi_free(t->root);
	*t = (struct lmi_jtree){0};
}

bool lmi_jnode_is(const struct lmi_jnode *v, enum lmi_jtype type)
{
	return v && v->type == type;
}

const struct lmi_jnode *lmi_jnode_first(const struct lmi_jnode *c)
{
	return (lmi_jnode_is(c, LMI_JARRAY) || lmi_jnode_is(c, LMI_JOBJECT)) && c->n ? c + 1 : NULL;
}

const struct lmi_jnode *lmi_jnode_at(const struct lmi_jnode *array, uint32_t i)
{
	const struct lmi_jnode *v = lmi_jnode_first(array);

	if (!lmi_jnode_is(array, LMI_JARRAY) || i >= array->n)
		return NULL;
	while (i--)
		v = lmi_jnode_next(v);
	return v;
}

const struct lmi_jnode *lmi_jnode_get(const struct lmi_jnode *object, const char *key)
{
	const struct lmi_jnode *k = lmi_jnode_first(object), *found = NULL;

	if (!lmi_jnode_is(object, LMI_JOBJECT))
		return NULL;
	for (uint32_t i = 0; i < object->n; i++, k = lmi_jnode_next(k + 1))
		if (lmi_jnode_eq(k, key))
			found = k + 1;
	return found;
}

bool lmi_jnode_eq(const struct lmi_jnode *v, const char *text)
{
	size_t n = strlen(text);

	return lmi_jnode_is(v, LMI_JSTRING) && v->n == n && memcmp(v->u.s, text, n) == 0;
}

bool lmi_jnode_int(const struct lmi_jnode *v, int64_t min, int64_t max, int64_t *out)
{
	int64_t i;

	if (lmi_jnode_is(v, LMI_JINT))
		i = v->u.i;
	else if (lmi_jnode_is(v, LMI_JREAL) && fabs(v->u.d) <= 0x1p53 && v->u.d == floor(v->u.d))
		i = (int64_t)v->u.d;
	else
		return false;
	if (i < min || i > max)
		return false;
	*out = i;
	return true;
}

bool lmi_jnode_real(const struct lmi_jnode *v, double *out)
{
	if (lmi_jnode_is(v, LMI_JREAL))
		*out = v->u.d;
	else if (lmi_jnode_is(v, LMI_JINT))
		*out = (double)v->u.i;
	else
		return false;
	return true;
}

const char *lmi_jnode_kind(const struct lmi_jnode *v)
{
	static const char *const kind[] = {"null",   "boolean", "integer", "number",
					   "string", "array",   "object"};

	return v && v->type < LMD_LEN(kind) ? kind[v->type] : "nothing";
}
