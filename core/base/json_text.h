/* SPDX-License-Identifier: MIT
 *
 * json_text.h - writes JSON into a growing buffer.
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
 * strict JSON: a string that is not UTF-8 is an error, and so is a misplaced value. NaN and
 * infinities are written as the strings "nan", "inf" and "-inf". A writer belongs to one thread. */
#ifndef LLAMAD_CORE_BASE_JSON_TEXT_H
#define LLAMAD_CORE_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_json_node;

#define LMI_JSON_TEXT_DEPTH 64

/* All zero except max_bytes. */
struct lmi_json_text {
	size_t max_bytes; /* 0: 16 MiB; finish returns LMD_INVALID if exceeded */
	char *text;       /* bytes and a terminating zero */
	size_t bytes, cap;
	uint32_t depth;
	uint64_t objects; /* bit d: level d is an object */
	bool started, key_set;
	enum lmd_status status; /* the first error */
};

void lmi_json_text_object(struct lmi_json_text *j);
void lmi_json_text_array(struct lmi_json_text *j);
void lmi_json_text_end(struct lmi_json_text *j); /* Ends the innermost object or array. */
void lmi_json_text_key(struct lmi_json_text *j, const char *key);

void lmi_json_text_str(struct lmi_json_text *j, const char *s); /* NULL writes null */
void lmi_json_text_strn(struct lmi_json_text *j, const char *s, size_t n);
void lmi_json_text_int(struct lmi_json_text *j, int64_t v);
/* Writes the shortest text that reads back as the same number. */
void lmi_json_text_real(struct lmi_json_text *j, double v);
void lmi_json_text_bool(struct lmi_json_text *j, bool v);
void lmi_json_text_null(struct lmi_json_text *j);
/* Writes a value of a tree with everything in it. */
void lmi_json_text_node(struct lmi_json_text *j, const struct lmi_json_node *v);

/* Returns LMD_OK if exactly one complete value was written without error. */
LMD_NODISCARD enum lmd_status lmi_json_text_finish(struct lmi_json_text *j, struct lmd_error *err);

/* *j may be zeroed. */
void lmi_json_text_fini(struct lmi_json_text *j);

#endif /* LLAMAD_CORE_BASE_JSON_TEXT_H */
