/* SPDX-License-Identifier: MIT
 *
 * json.h - reads JSON (RFC 8259) from memory, item by item, without allocating.
 *
 *     lmi_jr_init(&r, text, bytes);
 *     while ((st = lmi_jr_next(&r, &it, err)) == LMD_OK && it.type != LMI_JR_END)
 *             ...
 *
 * Inside an object, each value follows an item of type LMI_JR_KEY. The reader is strict: exactly
 * one value, no comments, no trailing commas; strings are UTF-8 without surrogates, and \u escapes
 * of surrogates come in pairs. Nesting is at most LMI_JR_DEPTH levels, a number at most
 * LMI_JR_DIGITS bytes. json_tree.h builds a tree from the items. A reader belongs to one thread. */
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
	LMI_JR_END, /* after the value */
	LMI_JR_OBJECT,
	LMI_JR_OBJECT_END,
	LMI_JR_ARRAY,
	LMI_JR_ARRAY_END,
	LMI_JR_KEY,    /* sets text */
	LMI_JR_STRING, /* sets text */
	LMI_JR_NUMBER, /* sets text: as written in the input */
	LMI_JR_BOOL,   /* sets b */
	LMI_JR_NULL
};

struct lmi_jr_item {
	enum lmi_jr_type type;
	bool escaped;        /* text contains escapes: read it with lmi_jr_unescape */
	bool b;
	struct lmd_str text; /* between the quotes; points into the input */
};

struct lmi_jr {
	const char *begin, *p, *end;
	uint32_t depth;
	uint64_t objects; /* bit d: level d is an object */
	uint8_t state;
};

void lmi_jr_init(struct lmi_jr *r, const char *text, size_t bytes);

/* Reads the next item. LMD_CORRUPT: not JSON; the error message names the byte and the problem.
 * LMD_INVALID: a limit is exceeded. */
LMD_NODISCARD enum lmd_status lmi_jr_next(struct lmi_jr *r, struct lmi_jr_item *it,
					  struct lmd_error *err);

/* Skips the rest of the value that `it` started: to the end of an object or array, nothing for
 * other values. After a KEY it skips the value. */
LMD_NODISCARD enum lmd_status lmi_jr_skip(struct lmi_jr *r, const struct lmi_jr_item *it,
					  struct lmd_error *err);

/* Iterates over an array or object whose start has been read:
 *     while (lmi_jr_more(&r, LMI_JR_ARRAY_END, &it, &st, err))
 *             st = ...
 * Stores the next item in *it. Returns false at the end, and if *st is or becomes an error. */
static inline bool lmi_jr_more(struct lmi_jr *r, enum lmi_jr_type end, struct lmi_jr_item *it,
			       enum lmd_status *st, struct lmd_error *err)
{
	if (*st == LMD_OK)
		*st = lmi_jr_next(r, it, err);
	return *st == LMD_OK && it->type != end;
}

/* Returns the byte offset of the reader, for error messages. */
static inline size_t lmi_jr_pos(const struct lmi_jr *r)
{
	return (size_t)(r->p - r->begin);
}

/* Writes the text of a KEY or STRING with its escapes decoded, at most text.len bytes; returns the
 * length. */
size_t lmi_jr_unescape(const struct lmi_jr_item *it, char *out);

/* Compares the text of a KEY or STRING with `text`. */
bool lmi_jr_is(const struct lmi_jr_item *it, const char *text);

/* Converts a NUMBER without point and exponent that fits int64_t; fails for -0. */
bool lmi_jr_int(const struct lmi_jr_item *it, int64_t *out);
/* Converts any NUMBER within the range of a double. */
bool lmi_jr_double(const struct lmi_jr_item *it, double *out);

#endif /* LLAMAD_CORE_BASE_JSON_H */
