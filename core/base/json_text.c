/* SPDX-License-Identifier: MIT
 *
 * The writer tracks what may come next and validates strings as it writes them. */
#include "core/base/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_tree.h"
#include "core/base/utf8.h"

#define MAX_BYTES (16u << 20)

static bool failed(struct lmi_json_text *j, enum lmd_status st)
{
	if (j->status == LMD_OK)
		j->status = st;
	return false;
}

static bool grow(struct lmi_json_text *j, size_t n)
{
	size_t max = j->max_bytes ? j->max_bytes : MAX_BYTES, cap = j->cap ? 2 * j->cap : 256;
	char *p;

	if (j->status != LMD_OK)
		return false;
	if (n > max || j->bytes > max - n)
		return failed(j, LMD_INVALID);
	if (j->bytes + n < j->cap)
		return true;
	while (cap <= j->bytes + n)
		cap *= 2;
	p = lmi_realloc(j->text, cap, 1);
	if (!p)
		return failed(j, LMD_NOMEM);
	j->text = p;
	j->cap = cap;
	return true;
}

static void put(struct lmi_json_text *j, const char *s, size_t n)
{
	if (!grow(j, n))
		return;
	memcpy(j->text + j->bytes, s, n);
	j->bytes += n;
	j->text[j->bytes] = 0;
}

static bool in_object(const struct lmi_json_text *j)
{
	return j->depth && (j->objects >> (j->depth - 1) & 1);
}

/* Writes the comma before a value or key; returns false if none may stand here. */
static bool put_comma(struct lmi_json_text *j, bool key)
{
	char last = j->bytes ? j->text[j->bytes - 1] : 0;

	if (j->status != LMD_OK)
		return false;
	if (j->depth ? in_object(j) != (key || j->key_set) || (key && j->key_set)
		     : key || j->started)
		return failed(j, LMD_INTERNAL);
	if (j->depth && !j->key_set && last != '{' && last != '[')
		put(j, ",", 1);
	j->started = true;
	j->key_set = key;
	return j->status == LMD_OK;
}

static void quoted(struct lmi_json_text *j, const char *s, size_t n)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	size_t from = 0, len;

	put(j, "\"", 1);
	for (size_t i = 0; i < n && j->status == LMD_OK; i += len) {
		unsigned char c = (unsigned char)s[i];
		const char *k = c ? strchr(plain, c) : NULL;
		char esc[8];

		len = lmi_utf8_char(s + i, n - i);
		if (!len)
			failed(j, LMD_CORRUPT);
		if (!k && c >= 0x20)
			continue;
		put(j, s + from, i - from);
		from = i + 1;
		if (k)
			(void)snprintf(esc, sizeof(esc), "\\%c", letter[k - plain]);
		else
			(void)snprintf(esc, sizeof(esc), "\\u%04x", c);
		put(j, esc, strlen(esc));
	}
	put(j, s + from, n - from);
	put(j, "\"", 1);
}

static void open_level(struct lmi_json_text *j, bool object)
{
	if (!put_comma(j, false))
		return;
	if (j->depth == LMI_JSON_TEXT_DEPTH) {
		failed(j, LMD_INVALID);
		return;
	}
	j->objects = (j->objects & ~(1ull << j->depth)) | (uint64_t)object << j->depth;
	j->depth++;
	put(j, object ? "{" : "[", 1);
}

void lmi_json_text_object(struct lmi_json_text *j)
{
	open_level(j, true);
}

void lmi_json_text_array(struct lmi_json_text *j)
{
	open_level(j, false);
}

void lmi_json_text_end(struct lmi_json_text *j)
{
	if (j->status == LMD_OK && (!j->depth || j->key_set))
		failed(j, LMD_INTERNAL);
	if (j->status != LMD_OK)
		return;
	put(j, in_object(j) ? "}" : "]", 1);
	j->depth--;
}

void lmi_json_text_key(struct lmi_json_text *j, const char *key)
{
	if (!put_comma(j, true))
		return;
	quoted(j, key, strlen(key));
	put(j, ":", 1);
}

void lmi_json_text_strn(struct lmi_json_text *j, const char *s, size_t n)
{
	if (put_comma(j, false))
		quoted(j, s, n);
}

void lmi_json_text_str(struct lmi_json_text *j, const char *s)
{
	if (s)
		lmi_json_text_strn(j, s, strlen(s));
	else
		lmi_json_text_null(j);
}

static void put_literal(struct lmi_json_text *j, const char *s)
{
	if (put_comma(j, false))
		put(j, s, strlen(s));
}

void lmi_json_text_int(struct lmi_json_text *j, int64_t v)
{
	char s[32];

	(void)snprintf(s, sizeof(s), "%lld", (long long)v);
	put_literal(j, s);
}

void lmi_json_text_real(struct lmi_json_text *j, double v)
{
	char s[40];

	if (!isfinite(v)) {
		lmi_json_text_str(j, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(s, sizeof(s), "%.*g", digits, v);
		if (strtod(s, NULL) == v)
			break;
	}
	put_literal(j, s);
}

void lmi_json_text_bool(struct lmi_json_text *j, bool v)
{
	put_literal(j, v ? "true" : "false");
}

void lmi_json_text_null(struct lmi_json_text *j)
{
	put_literal(j, "null");
}

static void scalar(struct lmi_json_text *j, const struct lmi_json_node *v)
{
	if (v->type == LMI_JSON_BOOL)
		lmi_json_text_bool(j, v->u.b);
	else if (v->type == LMI_JSON_INT)
		lmi_json_text_int(j, v->u.i);
	else if (v->type == LMI_JSON_REAL)
		lmi_json_text_real(j, v->u.d);
	else if (v->type == LMI_JSON_STRING)
		lmi_json_text_strn(j, v->u.s, v->n);
	else
		lmi_json_text_null(j);
}

/* The recursion depth is bounded by the depth of the tree. */
void lmi_json_text_node(struct lmi_json_text *j, const struct lmi_json_node *v)
{
	const struct lmi_json_node *k = lmi_json_node_first(v);
	bool object = v->type == LMI_JSON_OBJECT;

	if (v->type < LMI_JSON_ARRAY) {
		scalar(j, v);
		return;
	}
	open_level(j, object);
	for (uint32_t i = 0; i < v->n && j->status == LMD_OK; i++) {
		if (object && put_comma(j, true)) {
			quoted(j, k->u.s, k->n);
			put(j, ":", 1);
		}
		k += object;
		lmi_json_text_node(j, k);
		k = lmi_json_node_next(k);
	}
	lmi_json_text_end(j);
}

enum lmd_status lmi_json_text_finish(struct lmi_json_text *j, struct lmd_error *err)
{
	if (j->status == LMD_OK && (j->depth || !j->started))
		j->status = LMD_INTERNAL;
	switch (j->status) {
	case LMD_OK:
		return LMD_OK;
	case LMD_NOMEM:
		return lmd_fail(err, LMD_NOMEM, "JSON: no memory for more than %zu bytes",
				j->bytes);
	case LMD_CORRUPT:
		return lmd_fail(err, LMD_CORRUPT, "JSON: the string at byte %zu is not UTF-8",
				j->bytes);
	case LMD_INVALID:
		return lmd_fail(err, LMD_INVALID, "JSON: exceeds %zu bytes or %d levels",
				j->max_bytes ? j->max_bytes : MAX_BYTES, LMI_JSON_TEXT_DEPTH);
	default:
		return lmd_fail(err, LMD_INTERNAL, "JSON: misplaced value at byte %zu",
				j->bytes);
	}
}

void lmi_json_text_fini(struct lmi_json_text *j)
{
	lmi_free(j->text);
	*j = (struct lmi_json_text){.max_bytes = j->max_bytes};
}
