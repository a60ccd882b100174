/* SPDX-License-Identifier: MIT
 *
 * Converts any checked message to one line of JSON without using its schema, for logs and tests. */
#include <string.h>

#include "proto/buf.h"
#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/utf8.h"
#include "proto/check.h"
#include "proto/reader.h"

#define ID_BYTES sizeof(struct lmi_wire_id)

static void add_hex(struct lmi_json_text *j, const char *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	char *hex = lmi_alloc(n + 1, 2);

	if (!hex) {
		j->status = LMD_NOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digit[(unsigned char)p[i] >> 4];
		hex[2 * i + 1] = digit[p[i] & 15];
	}
	lmi_json_text_strn(j, hex, 2 * n);
	lmi_free(hex);
}

static void add_bin(struct lmi_json_text *j, const struct lmd_str *key, const struct lmd_str *s)
{
	bool is_id = key && s->len == ID_BYTES &&
		     (lmi_wire_mp_is(key, "id", 2) || lmi_wire_mp_is(key, "boot", 4));

	if (is_id) {
		add_hex(j, s->ptr, s->len);
	} else if (lmi_utf8_valid_prefix(s->ptr, s->len) == s->len) {
		lmi_json_text_strn(j, s->ptr, s->len);
	} else {
		lmi_json_text_object(j);
		lmi_json_text_key(j, "hex");
		add_hex(j, s->ptr, s->len);
		lmi_json_text_end(j);
	}
}

static void add_scalar(struct lmi_json_text *j, const struct lmd_str *key,
		       const struct lmi_wire_mp *v)
{
	switch (v->kind) {
	case LMI_WIRE_MP_BOOL:
		lmi_json_text_bool(j, v->u.b);
		return;
	case LMI_WIRE_MP_INT:
		lmi_json_text_int(j, v->u.i);
		return;
	case LMI_WIRE_MP_UINT:
		lmi_json_text_uint(j, v->u.u);
		return;
	case LMI_WIRE_MP_FLOAT:
		lmi_json_text_real(j, v->u.f);
		return;
	case LMI_WIRE_MP_STR:
		lmi_json_text_strn(j, v->u.s.ptr, v->u.s.len);
		return;
	case LMI_WIRE_MP_BIN:
		add_bin(j, key, &v->u.s);
		return;
	case LMI_WIRE_MP_NIL:
	case LMI_WIRE_MP_ARRAY:
	case LMI_WIRE_MP_MAP:
	case LMI_WIRE_MP_CUT:
	case LMI_WIRE_MP_BAD:
		break;
	}
	lmi_json_text_null(j);
}

/* Recursive, at most as deep as lmi_wire_check allows. */
static const uint8_t *add_value(struct lmi_json_text *j, const struct lmd_str *key,
				const uint8_t *p, const uint8_t *end)
{
	struct lmi_wire_mp v, name;

	p += lmi_wire_mp_read(p, end, &v);
	if (v.kind != LMI_WIRE_MP_ARRAY && v.kind != LMI_WIRE_MP_MAP) {
		add_scalar(j, key, &v);
		return p;
	}
	if (v.kind == LMI_WIRE_MP_ARRAY)
		lmi_json_text_array(j);
	else
		lmi_json_text_object(j);
	for (uint32_t i = 0; i < v.u.n; i++) {
		if (v.kind == LMI_WIRE_MP_MAP) {
			p += lmi_wire_mp_read(p, end, &name);
			lmi_json_text_keyn(j, name.u.s.ptr, name.u.s.len);
		}
		p = add_value(j, v.kind == LMI_WIRE_MP_MAP ? &name.u.s : NULL, p, end);
	}
	lmi_json_text_end(j);
	return p;
}

static bool write_to(void *b, const char *s, size_t n)
{
	return lmi_wire_buf_add(b, s, n);
}

enum lmd_status lmi_wire_json(struct lmi_wire_buf *b, const void *bytes, size_t n,
			      struct lmd_error *err)
{
	struct lmi_json_text j = {.flags = LMI_JSON_TEXT_SPACED | LMI_JSON_TEXT_LENIENT,
				  .write = write_to,
				  .arg = b};
	size_t before = b->n;
	enum lmd_status st = lmi_wire_check(bytes, n, err);

	if (st != LMD_OK)
		return st;
	(void)add_value(&j, NULL, bytes, (const uint8_t *)bytes + n);
	if (lmi_json_text_finish(&j, NULL) == LMD_OK)
		return LMD_OK;
	b->n = before;
	return lmd_fail(err, LMD_NOMEM, "message: out of memory for its JSON");
}
