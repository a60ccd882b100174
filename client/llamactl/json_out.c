/* SPDX-License-Identifier: MIT
 *
 * A streaming JSON writer. It keeps no tree: one bit of state per open level tells whether a comma
 * is due. */
#include "client/llamactl/json_out.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

void lmi_json_init(struct lmi_json *j, FILE *f)
{
	*j = (struct lmi_json){.f = f};
}

void lmi_json_fini(struct lmi_json *j)
{
	assert(j->depth == 0 && j->level[0].used);
	putc('\n', j->f);
}

static void indent(struct lmi_json *j)
{
	putc('\n', j->f);
	for (uint32_t i = 0; i < j->depth; i++)
		fputs("  ", j->f);
}

static void put_char(FILE *f, unsigned char c)
{
	switch (c) {
	case '"':
		fputs("\\\"", f);
		break;
	case '\\':
		fputs("\\\\", f);
		break;
	case '\n':
		fputs("\\n", f);
		break;
	case '\r':
		fputs("\\r", f);
		break;
	case '\t':
		fputs("\\t", f);
		break;
	default:
		if (c < 0x20 || c == 0x7F)
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
}

static void put_text(FILE *f, const char *s, size_t n)
{
	putc('"', f);
	while (n) {
		size_t len = lmi_utf8_char(s, n);

		if (len == 1)
			put_char(f, (unsigned char)*s);
		else if (len)
			fwrite(s, 1, len, f);
		else
			fputs("\xEF\xBF\xBD", f);
		len += !len;
		s += len;
		n -= len;
	}
	putc('"', f);
}

/* Writes the comma, line break and key that precede the next value. */
static void begin(struct lmi_json *j, const char *key)
{
	bool flat = j->level[j->depth].flat;

	assert(j->level[j->depth].object == (key != NULL));
	assert(j->depth || !j->level[0].used);
	if (j->level[j->depth].used)
		fputs(flat ? ", " : ",", j->f);
	j->level[j->depth].used = true;
	if (j->depth && !flat)
		indent(j);
	if (key) {
		put_text(j->f, key, strlen(key));
		fputs(": ", j->f);
	}
}

static void open_level(struct lmi_json *j, const char *key, bool object, bool flat)
{
	begin(j, key);
	assert(j->depth + 1 < LMI_JSON_DEPTH);
	flat = flat || j->level[j->depth].flat;
	j->depth++;
	j->level[j->depth].object = object;
	j->level[j->depth].flat = flat;
	j->level[j->depth].used = false;
	putc(object ? '{' : '[', j->f);
}

void lmi_json_object(struct lmi_json *j, const char *key)
{
	open_level(j, key, true, false);
}

void lmi_json_array(struct lmi_json *j, const char *key)
{
	open_level(j, key, false, false);
}

void lmi_json_flat_object(struct lmi_json *j, const char *key)
{
	open_level(j, key, true, true);
}

void lmi_json_flat_array(struct lmi_json *j, const char *key)
{
	open_level(j, key, false, true);
}

void lmi_json_end(struct lmi_json *j)
{
	bool object = j->level[j->depth].object;
	bool lines = j->level[j->depth].used && !j->level[j->depth].flat;

	assert(j->depth);
	j->depth--;
	if (lines)
		indent(j);
	putc(object ? '}' : ']', j->f);
}

void lmi_json_strn(struct lmi_json *j, const char *key, const char *s, size_t n)
{
	begin(j, key);
	put_text(j->f, s, n);
}

void lmi_json_str(struct lmi_json *j, const char *key, const char *s)
{
	if (s)
		lmi_json_strn(j, key, s, strlen(s));
	else
		lmi_json_null(j, key);
}

void lmi_json_int(struct lmi_json *j, const char *key, int64_t v)
{
	begin(j, key);
	fprintf(j->f, "%lld", (long long)v);
}

void lmi_json_uint(struct lmi_json *j, const char *key, uint64_t v)
{
	begin(j, key);
	fprintf(j->f, "%llu", (unsigned long long)v);
}

/* Writes "inf", "-inf" or "nan" and returns true if v is one of them. */
static bool put_special(struct lmi_json *j, double v)
{
	if (isfinite(v))
		return false;
	fputs(isnan(v) ? "\"nan\"" : v > 0 ? "\"inf\"" : "\"-inf\"", j->f);
	return true;
}

void lmi_json_f32(struct lmi_json *j, const char *key, float v)
{
	char text[40];

	begin(j, key);
	if (put_special(j, (double)v))
		return;
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)v);
		if (strtof(text, NULL) == v)
			break;
	}
	fputs(text, j->f);
}

void lmi_json_f64(struct lmi_json *j, const char *key, double v)
{
	char text[40];

	begin(j, key);
	if (put_special(j, v))
		return;
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	fputs(text, j->f);
}

void lmi_json_bool(struct lmi_json *j, const char *key, bool v)
{
	begin(j, key);
	fputs(v ? "true" : "false", j->f);
}

void lmi_json_null(struct lmi_json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->f);
}
