/* SPDX-License-Identifier: MIT
 *
 * The formats of the msgpack specification: a first byte, then a big-endian number whose width the
 * first byte determines, then that many bytes or values. */
#include "proto/reader.h"

#include "core/base/bytes.h"

static size_t cut(struct lmi_wire_mp *out)
{
	out->kind = LMI_WIRE_MP_CUT;
	return 0;
}

/* Reads n bytes of str or bin after a head of `head` bytes. */
static size_t take_span(const uint8_t *p, const uint8_t *end, size_t head, uint32_t n,
			enum lmi_wire_mp_kind kind, struct lmi_wire_mp *out)
{
	if ((size_t)(end - p) < head || (size_t)(end - p) - head < n)
		return cut(out);
	out->kind = kind;
	out->u.s = (struct lmd_str){.ptr = (const char *)p + head, .len = n};
	return head + n;
}

static size_t take_count(size_t head, uint32_t n, enum lmi_wire_mp_kind kind,
			 struct lmi_wire_mp *out)
{
	out->kind = kind;
	out->u.n = n;
	return head;
}

static size_t take_int(size_t bytes, int64_t v, struct lmi_wire_mp *out)
{
	out->kind = LMI_WIRE_MP_INT;
	out->u.i = v;
	return bytes;
}

static size_t take_u64(uint64_t v, struct lmi_wire_mp *out)
{
	if (v <= INT64_MAX)
		return take_int(9, (int64_t)v, out);
	out->kind = LMI_WIRE_MP_UINT;
	out->u.u = v;
	return 9;
}

static size_t take_float(size_t bytes, double v, struct lmi_wire_mp *out)
{
	out->kind = LMI_WIRE_MP_FLOAT;
	out->u.f = v;
	return bytes;
}

/* Width in bytes of the number after the first byte 0xC0 + i. */
static const uint8_t width[32] = {
	0, 0, 0, 0,    /* nil, never used, false, true */
	1, 2, 4,       /* bin */
	0, 0, 0,       /* ext */
	4, 8,          /* float */
	1, 2, 4, 8,    /* unsigned */
	1, 2, 4, 8,    /* signed */
	0, 0, 0, 0, 0, /* fixext */
	1, 2, 4,       /* str */
	2, 4,          /* array */
	2, 4           /* map */
};

static uint64_t number(const uint8_t *p, uint8_t bytes)
{
	switch (bytes) {
	case 1:
		return p[0];
	case 2:
		return lmi_get_be16(p);
	case 4:
		return lmi_get_be32(p);
	case 8:
		return lmi_get_be64(p);
	}
	return 0;
}

/* Reads a value with a first byte of C0 to DF. */
static size_t read_long(const uint8_t *p, const uint8_t *end, struct lmi_wire_mp *out)
{
	uint8_t w = width[p[0] - 0xC0];
	uint64_t v;

	if ((size_t)(end - p) < 1u + w)
		return cut(out);
	v = number(p + 1, w);
	switch (p[0]) {
	case 0xC0:
		out->kind = LMI_WIRE_MP_NIL;
		return 1;
	case 0xC2:
	case 0xC3:
		out->kind = LMI_WIRE_MP_BOOL;
		out->u.b = p[0] == 0xC3;
		return 1;
	case 0xC4:
	case 0xC5:
	case 0xC6:
		return take_span(p, end, 1u + w, (uint32_t)v, LMI_WIRE_MP_BIN, out);
	case 0xCA:
		return take_float(5, (double)lmi_bits_f32((uint32_t)v), out);
	case 0xCB:
		return take_float(9, lmi_bits_f64(v), out);
	case 0xCC:
	case 0xCD:
	case 0xCE:
		return take_int(1u + w, (int64_t)v, out);
	case 0xCF:
		return take_u64(v, out);
	case 0xD0:
		return take_int(2, (int8_t)v, out);
	case 0xD1:
		return take_int(3, (int16_t)v, out);
	case 0xD2:
		return take_int(5, (int32_t)v, out);
	case 0xD3:
		return take_int(9, (int64_t)v, out);
	case 0xD9:
	case 0xDA:
	case 0xDB:
		return take_span(p, end, 1u + w, (uint32_t)v, LMI_WIRE_MP_STR, out);
	case 0xDC:
	case 0xDD:
		return take_count(1u + w, (uint32_t)v, LMI_WIRE_MP_ARRAY, out);
	case 0xDE:
	case 0xDF:
		return take_count(1u + w, (uint32_t)v, LMI_WIRE_MP_MAP, out);
	default:
		out->kind = LMI_WIRE_MP_BAD;
		return 0;
	}
}

size_t lmi_wire_mp_read(const uint8_t *p, const uint8_t *end, struct lmi_wire_mp *out)
{
	if (p == end)
		return cut(out);
	if (p[0] < 0x80)
		return take_int(1, p[0], out);
	if (p[0] >= 0xE0)
		return take_int(1, (int8_t)p[0], out);
	if (p[0] >= 0xC0)
		return read_long(p, end, out);
	if (p[0] >= 0xA0)
		return take_span(p, end, 1, p[0] & 31u, LMI_WIRE_MP_STR, out);
	return take_count(1, p[0] & 15u, p[0] >= 0x90 ? LMI_WIRE_MP_ARRAY : LMI_WIRE_MP_MAP, out);
}

/* ---- runs of numbers ----
 *
 * Lists of tokens have up to millions, of mixed lengths: no branch depends on a value. */

#define SAME16(n) n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n
#define SAME64(n) SAME16(n), SAME16(n), SAME16(n), SAME16(n)

/* Bytes of the null, bool or number that begins with this byte; 0: another kind of value. */
static const uint8_t scalar_bytes[256] = {
	SAME64(1), SAME64(1), SAME64(0),                /* fixint; fixmap, fixarray, fixstr */
	1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 5, 9, 2, 3, 5, 9, /* C0 to CF */
	2, 3, 5, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* D0 to DF */
	SAME16(1), SAME16(1)                            /* negative fixint */
};

const uint8_t *lmi_wire_mp_skip_scalars(const uint8_t *p, const uint8_t *end, uint64_t *n)
{
	uint64_t todo = *n;

	for (; todo && p < end; todo--) {
		size_t bytes = scalar_bytes[*p];

		if (!bytes || bytes > (size_t)(end - p))
			break;
		p += bytes;
	}
	*n = todo;
	return p;
}

/* Reads a whole number in one of the unsigned forms of up to 5 bytes, at least 8 of which follow p.
 * Returns its length, or 0 if it has another form. */
static size_t read_unsigned(const uint8_t *p, uint64_t *out)
{
	size_t bytes = *p < 0x80 || (*p >= 0xCC && *p <= 0xCE) ? scalar_bytes[*p] : 0;
	uint64_t number = bytes > 1 ? lmi_get_be64(p) << 8 >> (72 - 8 * bytes) : *p;

	*out = number;
	return bytes;
}

uint32_t lmi_wire_mp_read_tokens(const uint8_t **p, const uint8_t *end, lmd_token *out, uint32_t n)
{
	const uint8_t *at = *p;
	uint32_t i = 0;

	for (; i < n; i++) {
		uint64_t number;
		size_t bytes = end - at < 8 ? 0 : read_unsigned(at, &number);

		if (!bytes) {
			struct lmi_wire_mp v;

			bytes = lmi_wire_mp_read(at, end, &v);
			number = v.kind == LMI_WIRE_MP_INT ? (uint64_t)v.u.i : UINT64_MAX;
		}
		if (number > INT32_MAX)
			break;
		out[i] = (lmd_token)number;
		at += bytes;
	}
	*p = at;
	return i;
}

const uint8_t *lmi_wire_mp_skip(const uint8_t *p, const uint8_t *end)
{
	struct lmi_wire_mp v;

	for (uint64_t todo = 1;; todo--) {
		size_t n;

		p = lmi_wire_mp_skip_scalars(p, end, &todo);
		if (!todo)
			return p;
		n = lmi_wire_mp_read(p, end, &v);
		if (!n)
			return end;
		p += n;
		if (v.kind == LMI_WIRE_MP_ARRAY)
			todo += v.u.n;
		else if (v.kind == LMI_WIRE_MP_MAP)
			todo += 2 * (uint64_t)v.u.n;
	}
}

const uint8_t *lmi_wire_mp_pair(const uint8_t *p, const uint8_t *end, struct lmd_str *key,
				struct lmi_wire_mp *value, const uint8_t **value_at)
{
	struct lmi_wire_mp k;

	p += lmi_wire_mp_read(p, end, &k);
	*key = k.u.s;
	*value_at = p;
	(void)lmi_wire_mp_read(p, end, value);
	return lmi_wire_mp_skip(p, end);
}

const char *lmi_wire_mp_kind_text(enum lmi_wire_mp_kind kind)
{
	switch (kind) {
	case LMI_WIRE_MP_NIL:
		return "null";
	case LMI_WIRE_MP_BOOL:
		return "a bool";
	case LMI_WIRE_MP_INT:
	case LMI_WIRE_MP_UINT:
		return "a whole number";
	case LMI_WIRE_MP_FLOAT:
		return "a float";
	case LMI_WIRE_MP_STR:
		return "a string";
	case LMI_WIRE_MP_BIN:
		return "bytes";
	case LMI_WIRE_MP_ARRAY:
		return "a list";
	case LMI_WIRE_MP_MAP:
		return "a map";
	case LMI_WIRE_MP_CUT:
	case LMI_WIRE_MP_BAD:
		break;
	}
	return "nothing";
}
