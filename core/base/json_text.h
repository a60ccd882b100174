/* SPDX-License-Identifier: MIT
 *
 * json_text.h - writes JSON into a growing buffer, or piece by piece to the caller's own place.
 *
 *     struct lmi_json_text j = {.max_bytes = 1 << 20};
 *     lmi_json_text_object(&j);
 *     lmi_json_text_key(&j, "ids");
 *     lmi_json_text_array(&j);
 *     lmi_json_text_int(&j, 42);
 *     lmi_json_text_end(&j);
 *     lmi_json_text_end(&j);
 *     st = lmi_json_text_finish(&j, &err);         // j.text, j.bytes
 *     lmi_json_text_fini(&j);
 *
 * Errors are remembered until finish, so that the calls in between need no checks. The output is
 * strict JSON: a string that is not UTF-8 is an error unless LMI_JSON_TEXT_LENIENT is set, and a
 * misplaced value always is. NaN and infinities are written as the strings "nan", "inf" and "-inf".
 * A writer belongs to one thread.
 *
 * This is the writer of everything but two kinds of text: trees of jansson are written by jansson, and
 * the filter tojson of chat templates follows Python (core/jinja/json.c). */
#ifndef LLAMAD_CORE_BASE_JSON_TEXT_H
#define LLAMAD_CORE_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_json_node;

#define LMI_JSON_TEXT_DEPTH 64

/* Spaces after commas and colons. */
#define LMI_JSON_TEXT_SPACED 1u
/* A line for each value, indented by two spaces; flat objects and arrays on one line, spaced. */
#define LMI_JSON_TEXT_LINES 2u
/* Bytes that are not UTF-8 become U+FFFD, and DEL is escaped. */
#define LMI_JSON_TEXT_LENIENT 4u

/* All zero except max_bytes, flags, write and arg. */
struct lmi_json_text {
	/* Finish returns LMD_INVALID if exceeded.  0: 16 MiB, or no limit with `write`. */
	size_t max_bytes;
	uint32_t flags; /* LMI_JSON_TEXT_* */
	/* Optional: takes the text in place of the buffer; then nothing is allocated.  Returns false
	 * if memory runs out. */
	bool (*write)(void *arg, const char *s, size_t n);
	void *arg;
	char *text;       /* bytes and a terminating zero */
	size_t bytes, cap;
	uint32_t depth;
	uint64_t objects, used, flat; /* bit d: level d is an object, has a value, is on one line */
	bool started, key_set;
	enum lmd_status status; /* the first error */
};

void lmi_json_text_object(struct lmi_json_text *j);
void lmi_json_text_array(struct lmi_json_text *j);
/* Like object and array, on one line. */
void lmi_json_text_flat_object(struct lmi_json_text *j);
void lmi_json_text_flat_array(struct lmi_json_text *j);
void lmi_json_text_end(struct lmi_json_text *j); /* Ends the innermost object or array. */
void lmi_json_text_key(struct lmi_json_text *j, const char *key);
void lmi_json_text_keyn(struct lmi_json_text *j, const char *key, size_t n);

void lmi_json_text_str(struct lmi_json_text *j, const char *s); /* NULL writes null */
void lmi_json_text_strn(struct lmi_json_text *j, const char *s, size_t n);
void lmi_json_text_int(struct lmi_json_text *j, int64_t v);
void lmi_json_text_uint(struct lmi_json_text *j, uint64_t v);
/* Write a short text that reads back as the same number. */
void lmi_json_text_real(struct lmi_json_text *j, double v);
void lmi_json_text_f32(struct lmi_json_text *j, float v);
void lmi_json_text_bool(struct lmi_json_text *j, bool v);
void lmi_json_text_null(struct lmi_json_text *j);
/* Writes a value of a tree with everything in it. */
void lmi_json_text_node(struct lmi_json_text *j, const struct lmi_json_node *v);

/* Returns LMD_OK if exactly one complete value was written without error. */
LMD_NODISCARD enum lmd_status lmi_json_text_finish(struct lmi_json_text *j, struct lmd_error *err);

/* *j may be zeroed. */
void lmi_json_text_fini(struct lmi_json_text *j);

#endif /* LLAMAD_CORE_BASE_JSON_TEXT_H */
