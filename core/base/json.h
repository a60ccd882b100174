/* SPDX-License-Identifier: MIT
 *
 * json.h - reads JSON (RFC 8259) from memory, item by item, without allocating.
 *
 *     lmi_jr_init(&r, text, bytes);
 *     while ((st = lmi_jr_next(&r, &it, err)) == LMD_OK && it.type != LMI_JR_END)
 *             ...
 *
 * Inside an object, each value comes after an item of type LMI_JR_KEY.  Strict: one value and
 * nothing else, no comments, no trailing commas; strings are UTF-8 without surrogates, and \u
 * escapes of surrogates come in pairs.  Nesting is at most LMI_JR_DEPTH, a number at most
 * LMI_JR_DIGITS bytes.  json_tree.h makes a tree of the items.  Owned by one thread. */
#ifndef LLAMAD_CORE_BASE_JSON_H
#define LLAMAD_CORE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_JR_DEPTH  64
#define LMI_JR_DIGITS 1024

enum lmi_jr_type {
	LMI_JR_END, /* behind the value */
	LMI_JR_OBJECT,
	LMI_JR_OBJECT_END,
	LMI_JR_ARRAY,
	LMI_JR_ARRAY_END,
	LMI_JR_KEY,    /* text */
	LMI_JR_STRING, /* text */
	LMI_JR_NUMBER, /* text: as it stands */
	LMI_JR_BOOL,   /* b */
	LMI_JR_NULL
};

struct lmi_jr_item {
	enum lmi_jr_type type;
	bool escaped;        /* text holds backslashes: read it with lmi_jr_unescape */
	bool b;
	struct lmd_str text; /* inside of the quotes; points into the input */
};

struct lmi_jr {
	const char *begin, *p, *end;
	uint32_t depth;
	uint64_t objects; /* bit d: level d is an object */
	uint8_t state;
};

void lmi_jr_init(struct lmi_jr *r, const char *text, size_t bytes);

/* The next item.  LMD_CORRUPT: not JSON, the sentence names the byte and what is wrong there;
 * LMD_INVALID: beyond a bound. */
LMD_NODISCARD enum lmd_status lmi_jr_next(struct lmi_jr *r, struct lmi_jr_item *it,
					  struct lmd_error *err);

/* Goes behind the value that `it` began: to the end of an object or array, nothing for
 * others.  After a KEY: behind its value. */
LMD_NODISCARD enum lmd_status lmi_jr_skip(struct lmi_jr *r, const struct lmi_jr_item *it,
					  struct lmd_error *err);

/* For the items of an array or object whose begin was read:
 *     while (lmi_jr_more(&r, LMI_JR_ARRAY_END, &it, &st, err))
 *             st = ...
 * The next item in *it; false at the end, and when *st, then or already, is a failure. */
static inline bool lmi_jr_more(struct lmi_jr *r, enum lmi_jr_type end, struct lmi_jr_item *it,
			       enum lmd_status *st, struct lmd_error *err)
{
	if (*st == LMD_OK)
		*st = lmi_jr_next(r, it, err);
	return *st == LMD_OK && it->type != end;
}

/* Where the reader is, for sentences. */
static inline size_t lmi_jr_pos(const struct lmi_jr *r)
{
	return (size_t)(r->p - r->begin);
}

/* Writes the text of a KEY or STRING with escapes undone, at most text.len bytes; returns the
 * length. */
size_t lmi_jr_unescape(const struct lmi_jr_item *it, char *out);

/* Is the text of a KEY or STRING this one? */
bool lmi_jr_is(const struct lmi_jr_item *it, const char *text);

/* A NUMBER without point and exponent that fits 64 bits with sign; not -0. */
bool lmi_jr_int(const struct lmi_jr_item *it, int64_t *out);
/* Any NUMBER within the range of a double. */
bool lmi_jr_double(const struct lmi_jr_item *it, double *out);

#endif /* LLAMAD_CORE_BASE_JSON_H */
