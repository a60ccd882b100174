/* SPDX-License-Identifier: MIT
 *
 * reader.h - reads msgpack, one value at a time. */
#ifndef LLAMAD_PROTO_READER_H
#define LLAMAD_PROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/types.h"

enum lmi_wire_mp_kind {
	LMI_WIRE_MP_CUT = 0, /* the bytes end within the value */
	LMI_WIRE_MP_BAD,     /* an extension type, or c1 */
	LMI_WIRE_MP_NIL,
	LMI_WIRE_MP_BOOL,  /* u.b */
	LMI_WIRE_MP_INT,   /* u.i */
	LMI_WIRE_MP_UINT,  /* u.u, above INT64_MAX */
	LMI_WIRE_MP_FLOAT, /* u.f */
	LMI_WIRE_MP_STR,   /* u.s, in the message */
	LMI_WIRE_MP_BIN,   /* u.s */
	LMI_WIRE_MP_ARRAY, /* u.n values follow */
	LMI_WIRE_MP_MAP    /* u.n pairs follow */
};

struct lmi_wire_mp {
	enum lmi_wire_mp_kind kind;
	union {
		bool b;
		int64_t i;
		uint64_t u;
		double f;
		struct lmd_str s;
		uint32_t n;
	} u;
};

/* Reads the value at p, or only the head of an array or map; returns its length in bytes.  Returns
 * 0 with LMI_WIRE_MP_CUT or LMI_WIRE_MP_BAD if there is no valid value. */
size_t lmi_wire_mp_read(const uint8_t *p, const uint8_t *end, struct lmi_wire_mp *out);

/* Returns the position after the value at p and its contents.  The bytes must have passed
 * lmi_wire_check. */
const uint8_t *lmi_wire_mp_skip(const uint8_t *p, const uint8_t *end);

/* Skips up to *n values that are null, bools or numbers and returns the position after them; decrements *n
 * by their number.  Stops before a value of another kind and before one that the bytes do not contain. */
const uint8_t *lmi_wire_mp_skip_scalars(const uint8_t *p, const uint8_t *end, uint64_t *n);

/* Reads up to n values that are whole numbers from 0 to INT32_MAX; returns how many, and moves *p after
 * them.  Stops as lmi_wire_mp_skip_scalars does. */
uint32_t lmi_wire_mp_read_tokens(const uint8_t **p, const uint8_t *end, lmd_token *out, uint32_t n);

/* Reads one pair of a map whose head was read before: the key, and the value (or its head), which
 * begins at *value_at.  Returns the position after the pair.  The bytes must have passed
 * lmi_wire_check. */
const uint8_t *lmi_wire_mp_pair(const uint8_t *p, const uint8_t *end, struct lmd_str *key,
				struct lmi_wire_mp *value, const uint8_t **value_at);

/* Returns "a string", "a map" ... for error messages. */
const char *lmi_wire_mp_kind_text(enum lmi_wire_mp_kind kind);

static inline bool lmi_wire_mp_is(const struct lmd_str *s, const char *word, size_t n)
{
	return s->len == n && !__builtin_memcmp(s->ptr, word, n);
}

#endif /* LLAMAD_PROTO_READER_H */
