/* SPDX-License-Identifier: MIT
 *
 * Converts any checked message to one line of JSON without using its schema, for logs and tests. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/buf.h"
#include "core/base/utf8.h"
#include "proto/check.h"
#include "proto/reader.h"

#define ID_BYTES sizeof(struct lmi_wire_id)

struct out {
	struct lmi_wire_buf *b;
	bool failed;
};

static void add(struct out *o, const char *p, size_t n)
{
	if (!o->failed)
		o->failed = !lmi_wire_buf_add(o->b, p, n);
}

static void add_text(struct out *o, const char *s)
{
	add(o, s, strlen(s));
}

/* Writes a string, which must be UTF-8. */
static void add_string(struct out *o, const char *s, size_t n)
{
	static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	size_t done = 0;

	add(o, "\"", 1);
	for (size_t i = 0; i < n; i++) {
		const char *short_form = NULL;
		char text[8];

		for (size_t k = 0; k + 1 < sizeof(named) && !short_form; k += 2)
			if (s[i] == named[k])
				short_form = &named[k + 1];
		if (!short_form && (unsigned char)s[i] >= 0x20 && s[i] != 0x7F)
			continue;
		add(o, s + done, i - done);
		done = i + 1;
		if (short_form)
			(void)snprintf(text, sizeof(text), "\\%c", *short_form);
		else
			(void)snprintf(text, sizeof(text), "\\u%04x", (unsigned char)s[i]);
		add_text(o, text);
	}
	add(o, s + done, n - done);
	add(o, "\"", 1);
}

static void add_hex(struct out *o, const char *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";

	add(o, "\"", 1);
	for (size_t i = 0; i < n; i++) {
		const char two[2] = {digit[(unsigned char)p[i] >> 4], digit[p[i] & 15]};

		add(o, two, 2);
	}
	add(o, "\"", 1);
}

static void add_bin(struct out *o, const struct lmd_str *key, const struct lmd_str *s)
{
	bool is_id = key && s->len == ID_BYTES &&
		     (lmi_wire_mp_is(key, "id", 2) || lmi_wire_mp_is(key, "boot", 4));

	if (is_id) {
		add_hex(o, s->ptr, s->len);
	} else if (lmi_utf8_valid_prefix(s->ptr, s->len) == s->len) {
		add_string(o, s->ptr, s->len);
	} else {
		add_text(o, "{\"hex\": ");
		add_hex(o, s->ptr, s->len);
		add(o, "}", 1);
	}
}

/* Writes a number with the fewest digits that are parsed as the same number. */
static void add_float(struct out *o, double f)
{
	char text[40];

	if (!isfinite(f)) {
		add_text(o, isnan(f) ? "\"nan\"" : f > 0 ? "\"inf\"" : "\"-inf\"");
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, f);
		if (!(strtod(text, NULL) < f) && !(strtod(text, NULL) > f))
			break;
	}
	add_text(o, text);
}

static const uint8_t *add_value(struct out *o, const struct lmd_str *key, const uint8_t *p,
				const uint8_t *end);

static const uint8_t *add_array(struct out *o, uint32_t n, const uint8_t *p, const uint8_t *end)
{
	add(o, "[", 1);
	for (uint32_t i = 0; i < n; i++) {
		add(o, ", ", i ? 2 : 0);
		p = add_value(o, NULL, p, end);
	}
	add(o, "]", 1);
	return p;
}

static const uint8_t *add_map(struct out *o, uint32_t n, const uint8_t *p, const uint8_t *end)
{
	add(o, "{", 1);
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_wire_mp key;

		p += lmi_wire_mp_read(p, end, &key);
		add(o, ", ", i ? 2 : 0);
		add_string(o, key.u.s.ptr, key.u.s.len);
		add(o, ": ", 2);
		p = add_value(o, &key.u.s, p, end);
	}
	add(o, "}", 1);
	return p;
}

static void add_scalar(struct out *o, const struct lmd_str *key, const struct lmi_wire_mp *v)
{
	char text[24];

	switch (v->kind) {
	case LMI_WIRE_MP_BOOL:
		add_text(o, v->u.b ? "true" : "false");
		return;
	case LMI_WIRE_MP_INT:
		(void)snprintf(text, sizeof(text), "%" PRId64, v->u.i);
		add_text(o, text);
		return;
	case LMI_WIRE_MP_UINT:
		(void)snprintf(text, sizeof(text), "%" PRIu64, v->u.u);
		add_text(o, text);
		return;
	case LMI_WIRE_MP_FLOAT:
		add_float(o, v->u.f);
		return;
	case LMI_WIRE_MP_STR:
		add_string(o, v->u.s.ptr, v->u.s.len);
		return;
	case LMI_WIRE_MP_BIN:
		add_bin(o, key, &v->u.s);
		return;
	case LMI_WIRE_MP_NIL:
	case LMI_WIRE_MP_ARRAY:
	case LMI_WIRE_MP_MAP:
	case LMI_WIRE_MP_CUT:
	case LMI_WIRE_MP_BAD:
		break;
	}
	add_text(o, "null");
}

/* Recursive, at most as deep as lmi_wire_check allows. */
static const uint8_t *add_value(struct out *o, const struct lmd_str *key, const uint8_t *p,
				const uint8_t *end)
{
	struct lmi_wire_mp v;

	p += lmi_wire_mp_read(p, end, &v);
	if (v.kind == LMI_WIRE_MP_ARRAY)
		return add_array(o, v.u.n, p, end);
	if (v.kind == LMI_WIRE_MP_MAP)
		return add_map(o, v.u.n, p, end);
	add_scalar(o, key, &v);
	return p;
}

enum lmd_status lmi_wire_json(struct lmi_wire_buf *b, const void *bytes, size_t n,
			      struct lmd_error *err)
{
	struct out o = {.b = b};
	size_t before = b->n;
	enum lmd_status st = lmi_wire_check(bytes, n, err);

	if (st != LMD_OK)
		return st;
	(void)add_value(&o, NULL, bytes, (const uint8_t *)bytes + n);
	if (!o.failed)
		return LMD_OK;
	b->n = before;
	return lmd_fail(err, LMD_NOMEM, "message: out of memory for its JSON");
}
