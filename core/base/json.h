/* SPDX-License-Identifier: MIT
 *
 * json.h - reads JSON (RFC 8259) from memory, item by item, without allocating.
 *
 *     lmi_json_reader_init(&r, text, bytes);
 *     while ((st = lmi_json_reader_next(&r, &it, err)) == LMD_OK && it.type != LMI_JSON_READER_END)
 *             ...
 *
 * Inside an object, each value follows an item of type LMI_JSON_READER_KEY. The reader is strict:
 * exactly one value, no comments, no trailing commas; strings are UTF-8 without surrogates, and \u
 * escapes of surrogates come in pairs. Nesting is at most LMI_JSON_READER_DEPTH levels, a number at
 * most LMI_JSON_READER_DIGITS bytes. json_tree.h builds a tree from the items. A reader belongs to
 * one thread.
 *
 * Two parsers are in use. This one, with the tree of json_tree.h, reads what models and strangers
 * bring: tokenizer.json, headers and indexes of safetensors files, config.json, the arguments of tool
 * calls, facts in the store. Such texts have megabytes, need bounds on bytes, depth and nodes before
 * anything is allocated, and are only read. jansson is used for values that are built or changed: JSON
 * schemas (core/grammar/schema_read.c), members of requests in clients, messages and variables of chat
 * templates, tool calls that are rewritten, replies that llamactl prints. Measured with a tokenizer.json of 6.5 MB (150,000
 * tokens and merges; AMD EPYC, gcc 12 -O2, best of 7): the reader takes 6 ms and no memory, the tree
 * 20 ms and 14 MiB, jansson 2.14 127 ms and 33 MiB; with the 4.2 MB header of 40,000 tensors 4 ms,
 * 15 ms and 13 MiB, 78 ms and 40 MiB. */
#ifndef LLAMAD_CORE_BASE_JSON_H
#define LLAMAD_CORE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_JSON_READER_DEPTH  64
#define LMI_JSON_READER_DIGITS 1024

enum lmi_json_reader_type {
	LMI_JSON_READER_END, /* after the value */
	LMI_JSON_READER_OBJECT,
	LMI_JSON_READER_OBJECT_END,
	LMI_JSON_READER_ARRAY,
	LMI_JSON_READER_ARRAY_END,
	LMI_JSON_READER_KEY,    /* sets text */
	LMI_JSON_READER_STRING, /* sets text */
	LMI_JSON_READER_NUMBER, /* sets text: as written in the input */
	LMI_JSON_READER_BOOL,   /* sets b */
	LMI_JSON_READER_NULL
};

struct lmi_json_reader_item {
	enum lmi_json_reader_type type;
	bool escaped; /* text contains escapes: read it with lmi_json_reader_unescape */
	bool b;
	struct lmd_str text; /* between the quotes; points into the input */
};

struct lmi_json_reader {
	const char *begin, *p, *end;
	const char *counted; /* steps (cancel.h) are counted up to here */
	uint32_t depth;
	uint64_t objects; /* bit d: level d is an object */
	uint8_t state;
};

void lmi_json_reader_init(struct lmi_json_reader *r, const char *text, size_t bytes);

/* Reads the next item. LMD_CORRUPT: not JSON; the error message names the byte and the problem.
 * LMD_INVALID: a limit is exceeded. LMD_CANCELLED: see cancel.h. */
LMD_NODISCARD enum lmd_status lmi_json_reader_next(struct lmi_json_reader *r,
						   struct lmi_json_reader_item *it,
						   struct lmd_error *err);

/* Skips the rest of the value that `it` started: to the end of an object or array, nothing for
 * other values. After a KEY it skips the value. */
LMD_NODISCARD enum lmd_status lmi_json_reader_skip(struct lmi_json_reader *r,
						   const struct lmi_json_reader_item *it,
						   struct lmd_error *err);

/* Iterates over an array or object whose start has been read:
 *     while (lmi_json_reader_more(&r, LMI_JSON_READER_ARRAY_END, &it, &st, err))
 *             st = ...
 * Stores the next item in *it. Returns false at the end, and if *st is or becomes an error. */
static inline bool lmi_json_reader_more(struct lmi_json_reader *r, enum lmi_json_reader_type end,
					struct lmi_json_reader_item *it, enum lmd_status *st,
					struct lmd_error *err)
{
	if (*st == LMD_OK)
		*st = lmi_json_reader_next(r, it, err);
	return *st == LMD_OK && it->type != end;
}

/* Returns the byte offset of the reader, for error messages. */
static inline size_t lmi_json_reader_pos(const struct lmi_json_reader *r)
{
	return (size_t)(r->p - r->begin);
}

/* Writes the text of a KEY or STRING with its escapes decoded, at most text.len bytes; returns the
 * length. */
size_t lmi_json_reader_unescape(const struct lmi_json_reader_item *it, char *out);

/* Compares the text of a KEY or STRING with `text`. */
bool lmi_json_reader_is(const struct lmi_json_reader_item *it, const char *text);

/* Converts a NUMBER without point and exponent that fits int64_t; fails for -0. */
bool lmi_json_reader_int(const struct lmi_json_reader_item *it, int64_t *out);
/* Converts any NUMBER within the range of a double. */
bool lmi_json_reader_double(const struct lmi_json_reader_item *it, double *out);

#endif /* LLAMAD_CORE_BASE_JSON_H */
