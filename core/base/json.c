/* SPDX-License-Identifier: MIT
 *
 * A JSON reader as a state machine: what may come next depends on the container and on whether the
 * last item was a value, a comma or a key. Strings are validated while they are scanned, eight
 * plain characters at a time; escapes are decoded only on request. */
#include "core/base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cancel.h"
#include "core/base/utf8.h"

/* Bytes between two looks at the cancel word, and bytes that take as long as a step. */
#define LOOK_BYTES     (1u << 16)
#define BYTES_PER_STEP 4

enum {
	WANT_VALUE,        /* at the top level, after a colon, or after a comma in an array */
	WANT_VALUE_OR_END, /* after [ */
	WANT_KEY,          /* after a comma in an object */
	WANT_KEY_OR_END,   /* after { */
	WANT_COMMA_OR_END,
	WANT_NOTHING       /* after the value */
};

void lmi_json_reader_init(struct lmi_json_reader *r, const char *text, size_t bytes)
{
	memset(r, 0, sizeof(*r));
	r->begin = r->counted = r->p = text;
	r->end = text + bytes;
	r->state = WANT_VALUE;
}

static enum lmd_status fail(const struct lmi_json_reader *r, const char *at, const char *what,
			    struct lmd_error *err)
{
	return lmd_fail(err, LMD_CORRUPT, "JSON, byte %zu: %s", (size_t)(at - r->begin), what);
}

/* Counts the bytes read so far once they are many. */
static inline enum lmd_status look(struct lmi_json_reader *r, struct lmd_error *err)
{
	size_t n = (size_t)(r->p - r->counted);

	if (n < LOOK_BYTES)
		return LMD_OK;
	r->counted = r->p;
	if (lmi_cancel_step(n / BYTES_PER_STEP))
		return LMD_OK;
	return lmd_fail(err, LMD_CANCELLED, "JSON, byte %zu: cancelled", lmi_json_reader_pos(r));
}

static enum lmd_status expected(const struct lmi_json_reader *r, const char *what,
				struct lmd_error *err)
{
	size_t at = lmi_json_reader_pos(r);
	unsigned c;

	if (r->p == r->end)
		return lmd_fail(err, LMD_CORRUPT, "JSON, byte %zu: the text ends, expected %s", at,
				what);
	c = (unsigned char)*r->p;
	if (c > 0x20 && c < 0x7f)
		return lmd_fail(err, LMD_CORRUPT, "JSON, byte %zu: found '%c', expected %s",
				at, (char)c, what);
	return lmd_fail(err, LMD_CORRUPT, "JSON, byte %zu: found byte 0x%02x, expected %s",
			at, c, what);
}

/* Skips white space: usually none, or a line feed and many spaces. */
static inline void blanks(struct lmi_json_reader *r)
{
	const char *p = r->p, *end = r->end;

	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
		uint64_t w = 0;

		p++;
		while (end - p >= 8) {
			memcpy(&w, p, 8);
			w ^= 0x2020202020202020ull;
			if (w)
				break;
			p += 8;
		}
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		if (w)
			p += __builtin_ctzll(w) >> 3;
#endif
	}
	r->p = p;
}

static bool in_object(const struct lmi_json_reader *r)
{
	return r->depth && (r->objects >> (r->depth - 1) & 1);
}

static void after_value(struct lmi_json_reader *r)
{
	r->state = r->depth ? WANT_COMMA_OR_END : WANT_NOTHING;
}

/* Returns the end of the plain bytes from p on: it stops at a quote, a backslash, a control
 * character or the first byte of a multi-byte character. */
static const char *plain(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101ull, high = 0x8080808080808080ull;

	while (end - p >= 8) {
		uint64_t w, quote, back, hit;

		memcpy(&w, p, 8);
		quote = w ^ ones * '"';
		back = w ^ ones * '\\';
		hit = (w | (quote - ones) | (back - ones) | (w - ones * 0x20)) & high;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		if (hit) /* a borrow may corrupt the bytes after the first hit */
			return p + (__builtin_ctzll(hit) >> 3);
#else
		if (hit)
			break;
#endif
		p += 8;
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
	       *p != '\\')
		p++;
	return p;
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

/* Reads XXXX, or XXXX\uXXXX for a surrogate pair, at p after \u. Returns the end, or NULL with the
 * error in *wrong. */
static const char *escaped_char(const char *p, const char *end, uint32_t *c, const char **wrong)
{
	uint32_t low;

	*wrong = "\\u is not followed by four hexadecimal digits";
	if (!hex4(p, end, c))
		return NULL;
	p += 4;
	*wrong = "second half of a surrogate pair without the first";
	if (*c >= 0xdc00 && *c < 0xe000)
		return NULL;
	if (*c < 0xd800 || *c > 0xdfff)
		return p;
	*wrong = "first half of a surrogate pair without the second";
	if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || !hex4(p + 2, end, &low) || low < 0xdc00 ||
	    low > 0xdfff)
		return NULL;
	*c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
	return p + 6;
}

/* The character for a letter after a backslash; 0 for u and for letters that are not escapes. */
static char escape_of(char letter)
{
	switch (letter) {
	case '"':
	case '\\':
	case '/':
		return letter;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return 0;
	}
}

/* Starts at the backslash; moves r->p to the end of the escape. */
static enum lmd_status check_escape(struct lmi_json_reader *r, struct lmd_error *err)
{
	const char *at = r->p++, *wrong;
	uint32_t c;

	if (r->p == r->end)
		return expected(r, "an escape", err);
	if (*r->p == 'u') {
		const char *end = escaped_char(r->p + 1, r->end, &c, &wrong);

		if (!end)
			return fail(r, at, wrong, err);
		r->p = end;
		return LMD_OK;
	}
	if (!escape_of(*r->p))
		return fail(r, at, "unknown escape", err);
	r->p++;
	return LMD_OK;
}

/* Skips multi-byte characters, of which the first is next, up to `stop`; returns false at an
 * invalid one. */
static bool pass_chars(struct lmi_json_reader *r, const char *stop)
{
	do {
		unsigned char c = (unsigned char)*r->p;
		size_t n;

		if (c >= 0xc2 && c < 0xe0 && r->end - r->p >= 2 &&
		    ((unsigned char)r->p[1] & 0xc0) == 0x80)
			n = 2; /* the most frequent length */
		else
			n = lmi_utf8_char(r->p, (size_t)(r->end - r->p));
		if (!n)
			return false;
		r->p += n;
	} while (r->p < stop && (unsigned char)*r->p >= 0x80);
	return true;
}

/* Starts at the opening quote. */
static enum lmd_status read_string(struct lmi_json_reader *r, struct lmi_json_reader_item *it,
				   struct lmd_error *err)
{
	const char *from = ++r->p;

	for (;;) {
		const char *stop =
			(size_t)(r->end - r->p) > LOOK_BYTES ? r->p + LOOK_BYTES : r->end;
		enum lmd_status st = look(r, err);

		if (st != LMD_OK)
			return st;
		r->p = plain(r->p, stop);
		if (r->p == r->end)
			return expected(r, "the end of a string", err);
		if (r->p == stop)
			continue;
		if (*r->p == '"')
			break;
		if (*r->p == '\\') {
			st = check_escape(r, err);
			if (st != LMD_OK)
				return st;
			it->escaped = true;
		} else if ((unsigned char)*r->p < 0x20) {
			return fail(r, r->p, "control character in a string", err);
		} else if (!pass_chars(r, stop)) {
			return fail(r, r->p, "not UTF-8", err);
		}
	}
	it->text = (struct lmd_str){from, (size_t)(r->p - from)};
	r->p++;
	return LMD_OK;
}

static const char *digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Returns the end of the number at p, or NULL if it is not one. */
static const char *number_end(const char *p, const char *end)
{
	const char *q;

	p += *p == '-';
	q = digits(p, end);
	if (q == p || (*p == '0' && q > p + 1))
		return NULL;
	p = q;
	if (p < end && *p == '.') {
		q = digits(p + 1, end);
		if (q == p + 1)
			return NULL;
		p = q;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		q = digits(p, end);
		if (q == p)
			return NULL;
		p = q;
	}
	return p;
}

static enum lmd_status read_number(struct lmi_json_reader *r, struct lmi_json_reader_item *it,
				   struct lmd_error *err)
{
	const char *end = number_end(r->p, r->end);

	if (!end)
		return fail(r, r->p, "not a number", err);
	if (end - r->p > LMI_JSON_READER_DIGITS)
		return lmd_fail(err, LMD_INVALID, "JSON, byte %zu: number longer than %d bytes",
				lmi_json_reader_pos(r), LMI_JSON_READER_DIGITS);
	it->type = LMI_JSON_READER_NUMBER;
	it->text = (struct lmd_str){r->p, (size_t)(end - r->p)};
	r->p = end;
	return LMD_OK;
}

static bool word(struct lmi_json_reader *r, const char *w)
{
	size_t n = strlen(w);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, w, n) != 0)
		return false;
	r->p += n;
	return true;
}

static enum lmd_status open_level(struct lmi_json_reader *r, struct lmi_json_reader_item *it,
				  bool object, struct lmd_error *err)
{
	if (r->depth == LMI_JSON_READER_DEPTH)
		return lmd_fail(err, LMD_INVALID, "JSON, byte %zu: nested more than %d levels deep",
				lmi_json_reader_pos(r), LMI_JSON_READER_DEPTH);
	r->objects = (r->objects & ~(1ull << r->depth)) | (uint64_t)object << r->depth;
	r->depth++;
	r->p++;
	it->type = object ? LMI_JSON_READER_OBJECT : LMI_JSON_READER_ARRAY;
	r->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
	return LMD_OK;
}

static enum lmd_status read_value(struct lmi_json_reader *r, struct lmi_json_reader_item *it,
				  struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	char c;

	if (r->p == r->end)
		return expected(r, "a value", err);
	c = *r->p;
	if (c == '{' || c == '[')
		return open_level(r, it, c == '{', err);
	if (c == '"') {
		it->type = LMI_JSON_READER_STRING;
		st = read_string(r, it, err);
	} else if (c == '-' || (c >= '0' && c <= '9')) {
		st = read_number(r, it, err);
	} else if (word(r, "true")) {
		it->type = LMI_JSON_READER_BOOL;
		it->b = true;
	} else if (word(r, "false")) {
		it->type = LMI_JSON_READER_BOOL;
	} else if (word(r, "null")) {
		it->type = LMI_JSON_READER_NULL;
	} else {
		return expected(r, "a value", err);
	}
	after_value(r);
	return st;
}

static enum lmd_status close_level(struct lmi_json_reader *r, struct lmi_json_reader_item *it)
{
	it->type = in_object(r) ? LMI_JSON_READER_OBJECT_END : LMI_JSON_READER_ARRAY_END;
	r->p++;
	r->depth--;
	after_value(r);
	return LMD_OK;
}

static enum lmd_status read_key(struct lmi_json_reader *r, struct lmi_json_reader_item *it,
				struct lmd_error *err)
{
	enum lmd_status st;

	if (r->p == r->end || *r->p != '"')
		return expected(r, "a key", err);
	it->type = LMI_JSON_READER_KEY;
	st = read_string(r, it, err);
	if (st != LMD_OK)
		return st;
	blanks(r);
	if (r->p == r->end || *r->p != ':')
		return expected(r, "':'", err);
	r->p++;
	r->state = WANT_VALUE;
	return LMD_OK;
}

enum lmd_status lmi_json_reader_next(struct lmi_json_reader *r, struct lmi_json_reader_item *it,
				     struct lmd_error *err)
{
	enum lmd_status st;

	memset(it, 0, sizeof(*it));
	blanks(r);
	st = look(r, err);
	if (st != LMD_OK)
		return st;
	if (r->state == WANT_NOTHING)
		return r->p == r->end ? LMD_OK : expected(r, "the end", err);
	if (r->state == WANT_COMMA_OR_END) {
		bool object = in_object(r);

		if (r->p < r->end && *r->p == (object ? '}' : ']'))
			return close_level(r, it);
		if (r->p == r->end || *r->p != ',')
			return expected(r, object ? "',' or '}'" : "',' or ']'", err);
		r->p++;
		r->state = object ? WANT_KEY : WANT_VALUE;
		blanks(r);
	}
	if (r->p < r->end && ((r->state == WANT_VALUE_OR_END && *r->p == ']') ||
			      (r->state == WANT_KEY_OR_END && *r->p == '}')))
		return close_level(r, it);
	if (r->state == WANT_KEY || r->state == WANT_KEY_OR_END)
		return read_key(r, it, err);
	return read_value(r, it, err);
}

enum lmd_status lmi_json_reader_skip(struct lmi_json_reader *r,
				     const struct lmi_json_reader_item *it, struct lmd_error *err)
{
	struct lmi_json_reader_item in = *it;
	enum lmd_status st = LMD_OK;
	uint32_t depth;

	if (in.type == LMI_JSON_READER_KEY)
		st = lmi_json_reader_next(r, &in, err);
	if (in.type != LMI_JSON_READER_OBJECT && in.type != LMI_JSON_READER_ARRAY)
		return st;
	depth = r->depth - 1;
	while (st == LMD_OK && r->depth > depth)
		st = lmi_json_reader_next(r, &in, err);
	return st;
}

size_t lmi_json_reader_unescape(const struct lmi_json_reader_item *it, char *out)
{
	const char *p = it->text.ptr, *end = p + it->text.len, *wrong;
	char *o = out;
	uint32_t c;

	while (p < end) {
		const char *back = it->escaped ? memchr(p, '\\', (size_t)(end - p)) : NULL;
		size_t n = (size_t)((back ? back : end) - p);

		memcpy(o, p, n);
		o += n;
		if (!back)
			break;
		p = back + 2; /* validated when it was read */
		if (back[1] != 'u') {
			*o++ = escape_of(back[1]);
			continue;
		}
		p = escaped_char(p, end, &c, &wrong);
		if (!p)
			break;
		o += lmi_utf8_put(o, c);
	}
	return (size_t)(o - out);
}

bool lmi_json_reader_is(const struct lmi_json_reader_item *it, const char *text)
{
	return !it->escaped && it->text.len == strlen(text) &&
	       !memcmp(it->text.ptr, text, it->text.len);
}

bool lmi_json_reader_int(const struct lmi_json_reader_item *it, int64_t *out)
{
	const char *p = it->text.ptr, *end;
	bool minus, fits = true;
	uint64_t v = 0, max;

	if (it->type != LMI_JSON_READER_NUMBER)
		return false;
	end = p + it->text.len;
	minus = *p == '-';
	max = (uint64_t)INT64_MAX + minus;
	p += minus;
	if (end - p <= 18) { /* below 10^18: cannot overflow */
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			v = v * 10 + (uint64_t)(*p - '0');
		fits = p == end;
	}
	for (; fits && p < end; p++)
		fits = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(v, 10u, &v) &&
		       !__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v) && v <= max;
	if (!fits || (minus && !v))
		return false;
	*out = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

bool lmi_json_reader_double(const struct lmi_json_reader_item *it, double *out)
{
	char text[LMI_JSON_READER_DIGITS + 1];
	double v;

	if (it->type != LMI_JSON_READER_NUMBER || it->text.len > LMI_JSON_READER_DIGITS)
		return false;
	memcpy(text, it->text.ptr, it->text.len);
	text[it->text.len] = '\0';
	v = strtod(text, NULL);
	if (!isfinite(v))
		return false;
	*out = v;
	return true;
}
