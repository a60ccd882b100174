/* SPDX-License-Identifier: MIT
 *
 * reader.h - one msgpack value at a time. */
#ifndef LLAMAD_PROTO_READER_H
#define LLAMAD_PROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/types.h"

enum lmi_mp_kind {
	LMI_MP_CUT = 0, /* the bytes end in the middle */
	LMI_MP_BAD,     /* an extension type, or c1 */
	LMI_MP_NIL,
	LMI_MP_BOOL,  /* u.b */
	LMI_MP_INT,   /* u.i */
	LMI_MP_UINT,  /* u.u, above INT64_MAX */
	LMI_MP_FLOAT, /* u.f */
	LMI_MP_STR,   /* u.s, in the message */
	LMI_MP_BIN,   /* u.s */
	LMI_MP_ARRAY, /* u.n values follow */
	LMI_MP_MAP    /* u.n pairs follow */
};

struct lmi_mp {
	enum lmi_mp_kind kind;
	union {
		bool b;
		int64_t i;
		uint64_t u;
		double f;
		struct lmd_str s;
		uint32_t n;
	} u;
};

/* Reads the value at p, of arrays and maps the head alone; returns its length in bytes.  0 with
 * LMI_MP_CUT or LMI_MP_BAD: there is none. */
size_t lmi_mp_read(const uint8_t *p, const uint8_t *end, struct lmi_mp *out);

/* What follows the value at p with all that it contains.  The bytes passed lmi_wire_check. */
const uint8_t *lmi_mp_skip(const uint8_t *p, const uint8_t *end);

/* Walks the pairs of a map whose head was read: the key is in *key, *value points to its value.
 * The bytes passed lmi_wire_check. */
const uint8_t *lmi_mp_pair(const uint8_t *p, const uint8_t *end, struct lmd_str *key,
			   struct lmi_mp *value, const uint8_t **value_at);

/* "a string", "a map" ... for sentences. */
const char *lmi_mp_kind_text(enum lmi_mp_kind kind);

static inline bool lmi_mp_is(const struct lmd_str *s, const char *word, size_t n)
{
	return s->len == n && !__builtin_memcmp(s->ptr, word, n);
}

#endif /* LLAMAD_PROTO_READER_H */
