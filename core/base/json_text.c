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

static bool failed(struct lmi_jtext *j, enum lmd_status st)
{
	if (j->status == LMD_OK)
		j->status = st;
	return false;
}

static bool grow(struct lmi_jtext *j, size_t n)
{
	size_t max = j->max_bytes ? j->max_bytes : MAX_BYTES, room = j->room ? 2 * j->room : 256;
	char *p;

	if (j->status != LMD_OK)
		return false;
	if (n > max || j->bytes > max - n)
		return failed(j, LMD_INVALID);
	if (j->bytes + n < j->room)
		return true;
	while (room <= j->bytes + n)
		room *= 2;
	p = lmi_realloc(j->text, room, 1);
	if (!p)
		return failed(j, LMD_NOMEM);
	j->text = p;
	j->room = room;
	return true;
}

static void put(struct lmi_jtext *j, const char *s, size_t n)
{
	if (!grow(j, n))
		return;
	memcpy(j->text + j->bytes, s, n);
	j->bytes += n;
	j->text[j->bytes] = 0;
}

static bool in_object(const struct lmi_jtext *j)
{
	return j->depth && (j->objects >> (j->depth - 1) & 1);
}

/* Writes the comma before a value or key; returns false if none may stand here. */
static bool place(struct lmi_jtext *j, bool key)
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

static void quoted(struct lmi_jtext *j, const char *s, size_t n)
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

static void open_level(struct lmi_jtext *j, bool object)
{
	if (!place(j, false))
		return;
	if (j->depth == LMI_JTEXT_DEPTH) {
		failed(j, LMD_INVALID);
		return;
	}
	j->objects = (j->objects & ~(1ull << j->depth)) | (uint64_t)object << j->depth;
	j->depth++;
	put(j, object ? "{" : "[", 1);
}

void lmi_jtext_object(struct lmi_jtext *j)
{
	open_level(j, true);
}

void lmi_jtext_array(struct lmi_jtext *j)
{
	open_level(j, false);
}

void lmi_jtext_end(struct lmi_jtext *j)
{
	if (j->status == LMD_OK && (!j->depth || j->key_set))
		failed(j, LMD_INTERNAL);
	if (j->status != LMD_OK)
		return;
	put(j, in_object(j) ? "}" : "]", 1);
	j->depth--;
}

void lmi_jtext_key(struct lmi_jtext *j, const char *key)
{
	if (!place(j, true))
		return;
	quoted(j, key, strlen(key));
	put(j, ":", 1);
}

void lmi_jtext_strn(struct lmi_jtext *j, const char *s, size_t n)
{
	if (place(j, false))
		quoted(j, s, n);
}

void lmi_jtext_str(struct lmi_jtext *j, const char *s)
{
	if (s)
		lmi_jtext_strn(j, s, strlen(s));
	else
		lmi_jtext_null(j);
}

static void bare(struct lmi_jtext *j, const char *s)
{
	if (place(j, false))
		put(j, s, strlen(s));
}

void lmi_jtext_int(struct lmi_jtext *j, int64_t v)
{
	char s[32];

	(void)snprintf(s, sizeof(s), "%lld", (long long)v);
	bare(j, s);
}

void lmi_jtext_uint(struct lmi_jtext *j, uint64_t v)
{
	char s[32];

	(void)snprintf(s, sizeof(s), "%llu", (unsigned long long)v);
	bare(j, s);
}

void lmi_jtext_real(struct lmi_jtext *j, double v)
{
	char s[40];

	if (!isfinite(v)) {
		lmi_jtext_str(j, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(s, sizeof(s), "%.*g", digits, v);
		if (strtod(s, NULL) == v)
			break;
	}
	bare(j, s);
}

void lmi_jtext_bool(struct lmi_jtext *j, bool v)
{
	bare(j, v ? "true" : "false");
}

void lmi_jtext_null(struct lmi_jtext *j)
{
	bare(j, "null");
}

static void scalar(struct lmi_jtext *j, const struct lmi_jnode *v)
{
	if (v->type == LMI_JBOOL)
		lmi_jtext_bool(j, v->u.b);
	else if (v->type == LMI_JINT)
		lmi_jtext_int(j, v->u.i);
	else if (v->type == LMI_JREAL)
		lmi_jtext_real(j, v->u.d);
	else if (v->type == LMI_JSTRING)
		lmi_jtext_strn(j, v->u.s, v->n);
	else
		lmi_jtext_null(j);
}

/* The recursion depth is bounded by the depth of the tree. */
void lmi_jtext_node(struct lmi_jtext *j, const struct lmi_jnode *v)
{
	const struct lmi_jnode *k = lmi_jnode_first(v);
	bool object = v->type == LMI_JOBJECT;

	if (v->type < LMI_JARRAY) {
		scalar(j, v);
		return;
	}
	open_level(j, object);
	for (uint32_t i = 0; i < v->n && j->status == LMD_OK; i++) {
		if (object && place(j, true)) {
			quoted(j, k->u.s, k->n);
			put(j, ":", 1);
		}
		k += object;
		lmi_jtext_node(j, k);
		k = lmi_jnode_next(k);
	}
	lmi_jtext_end(j);
}

enum lmd_status lmi_jtext_finish(struct lmi_jtext *j, struct lmd_error *err)
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
				j->max_bytes ? j->max_bytes : MAX_BYTES, LMI_JTEXT_DEPTH);
	default:
		return lmd_fail(err, LMD_INTERNAL, "JSON: misplaced value at byte %zu",
				j->bytes);
	}
}

void lmi_jtext_fini(struct lmi_jtext *j)
{
	lmi_free(j->text);
	*j = (struct lmi_jtext){.max_bytes = j->max_bytes};
}
