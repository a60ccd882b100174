/* SPDX-License-Identifier: MIT
 *
 * The writer tracks what may come next and validates strings as it writes them. */
#include "core/base/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
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
	if (j->write) {
		if (j->status == LMD_OK && j->max_bytes && n > j->max_bytes - j->bytes)
			failed(j, LMD_INVALID);
		else if (j->status == LMD_OK && !j->write(j->arg, s, n))
			failed(j, LMD_NOMEM);
		else
			j->bytes += n;
		return;
	}
	if (!grow(j, n))
		return;
	memcpy(j->text + j->bytes, s, n);
	j->bytes += n;
	j->text[j->bytes] = 0;
}

static bool at_level(const struct lmi_json_text *j, uint64_t bits)
{
	return j->depth && (bits >> (j->depth - 1) & 1);
}

static bool in_object(const struct lmi_json_text *j)
{
	return at_level(j, j->objects);
}

static bool has_lines(const struct lmi_json_text *j)
{
	return j->flags & LMI_JSON_TEXT_LINES && !at_level(j, j->flat);
}

static void put_line(struct lmi_json_text *j)
{
	put(j, "\n", 1);
	for (uint32_t i = 0; i < j->depth; i++)
		put(j, "  ", 2);
}

/* Writes a comma or colon. */
static void put_mark(struct lmi_json_text *j, const char *mark)
{
	put(j, mark, 1);
	if (j->flags & (LMI_JSON_TEXT_SPACED | LMI_JSON_TEXT_LINES))
		put(j, " ", 1);
}

/* Writes the comma before a value or key; returns false if none may stand here. */
static bool put_comma(struct lmi_json_text *j, bool key)
{
	bool first = !j->key_set && !at_level(j, j->used);

	if (j->status != LMD_OK)
		return false;
	if (j->depth ? in_object(j) != (key || j->key_set) || (key && j->key_set)
		     : key || j->started)
		return failed(j, LMD_INTERNAL);
	if (j->depth && !j->key_set) {
		if (!first && has_lines(j))
			put(j, ",", 1);
		else if (!first)
			put_mark(j, ",");
		if (has_lines(j))
			put_line(j);
		j->used |= 1ull << (j->depth - 1);
	}
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
		const char *k;
		char esc[8];

		len = 1;
		if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\')
			continue; /* nearly all text */
		k = c ? strchr(plain, c) : NULL;
		len = lmi_utf8_char(s + i, n - i);
		if (!len && !(j->flags & LMI_JSON_TEXT_LENIENT))
			failed(j, LMD_CORRUPT);
		if (!k && c >= 0x20 && len && !(c == 0x7F && j->flags & LMI_JSON_TEXT_LENIENT))
			continue;
		put(j, s + from, i - from);
		from = i + 1;
		if (!len)
			(void)snprintf(esc, sizeof(esc), "\xEF\xBF\xBD");
		else if (k)
			memcpy(esc, (char[]){'\\', letter[k - plain], 0}, 3);
		else
			(void)snprintf(esc, sizeof(esc), "\\u%04x", c);
		put(j, esc, strlen(esc));
		len = 1; /* what is not UTF-8 is replaced byte by byte */
	}
	put(j, s + from, n - from);
	put(j, "\"", 1);
}

static void open_level(struct lmi_json_text *j, bool object, bool flat)
{
	uint64_t bit;

	flat = flat || at_level(j, j->flat);
	if (!put_comma(j, false))
		return;
	if (j->depth == LMI_JSON_TEXT_DEPTH) {
		failed(j, LMD_INVALID);
		return;
	}
	bit = 1ull << j->depth;
	j->objects = object ? j->objects | bit : j->objects & ~bit;
	j->flat = flat ? j->flat | bit : j->flat & ~bit;
	j->used &= ~bit;
	j->depth++;
	put(j, object ? "{" : "[", 1);
}

void lmi_json_text_object(struct lmi_json_text *j)
{
	open_level(j, true, false);
}

void lmi_json_text_array(struct lmi_json_text *j)
{
	open_level(j, false, false);
}

void lmi_json_text_flat_object(struct lmi_json_text *j)
{
	open_level(j, true, true);
}

void lmi_json_text_flat_array(struct lmi_json_text *j)
{
	open_level(j, false, true);
}

void lmi_json_text_end(struct lmi_json_text *j)
{
	bool object, line;

	if (j->status == LMD_OK && (!j->depth || j->key_set))
		failed(j, LMD_INTERNAL);
	if (j->status != LMD_OK)
		return;
	object = in_object(j);
	line = has_lines(j) && at_level(j, j->used);
	j->depth--;
	if (line)
		put_line(j);
	put(j, object ? "}" : "]", 1);
}

void lmi_json_text_keyn(struct lmi_json_text *j, const char *key, size_t n)
{
	if (!put_comma(j, true))
		return;
	quoted(j, key, n);
	put_mark(j, ":");
}

void lmi_json_text_key(struct lmi_json_text *j, const char *key)
{
	lmi_json_text_keyn(j, key, strlen(key));
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

	(void)snprintf(s, sizeof(s), "%" PRId64, v);
	put_literal(j, s);
}

void lmi_json_text_uint(struct lmi_json_text *j, uint64_t v)
{
	char s[32];

	(void)snprintf(s, sizeof(s), "%" PRIu64, v);
	put_literal(j, s);
}

/* Writes the word for NaN or an infinity and returns true; false if v is finite. */
static bool put_special(struct lmi_json_text *j, double v)
{
	if (isfinite(v))
		return false;
	lmi_json_text_str(j, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
	return true;
}

void lmi_json_text_f32(struct lmi_json_text *j, float v)
{
	char s[40];

	if (put_special(j, (double)v))
		return;
	for (int digits = 6; digits <= 9; digits++) {
		(void)snprintf(s, sizeof(s), "%.*g", digits, (double)v);
		if (strtof(s, NULL) == v)
			break;
	}
	put_literal(j, s);
}

void lmi_json_text_real(struct lmi_json_text *j, double v)
{
	char s[40];

	if (put_special(j, v))
		return;
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
	*j = (struct lmi_json_text){.max_bytes = j->max_bytes,
				    .flags = j->flags,
				    .write = j->write,
				    .arg = j->arg};
}
