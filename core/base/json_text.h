/* SPDX-License-Identifier: MIT
 *
 * json_text.h - writes JSON into a growing buffer.
 *
 *     struct lmi_jtext j = {.max_bytes = 1 << 20};
 *     lmi_jtext_object(&j);
 *     lmi_jtext_key(&j, "ids");
 *     lmi_jtext_array(&j);
 *     lmi_jtext_int(&j, 42);
 *     lmi_jtext_end(&j);
 *     lmi_jtext_end(&j);
 *     st = lmi_jtext_finish(&j, &err);         // j.text, j.bytes
 *     lmi_jtext_fini(&j);
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

struct lmi_jnode;

#define LMI_JTEXT_DEPTH 64

/* All zero except max_bytes. */
struct lmi_jtext {
	size_t max_bytes; /* 0: 16 MiB; finish returns LMD_INVALID if exceeded */
	char *text;       /* bytes and a terminating zero */
	size_t bytes, room;
	uint32_t depth;
	uint64_t objects; /* bit d: level d is an object */
	bool started, key_set;
	enum lmd_status status; /* the first error */
};

void lmi_jtext_object(struct lmi_jtext *j);
void lmi_jtext_array(struct lmi_jtext *j);
void lmi_jtext_end(struct lmi_jtext *j); /* Ends the innermost object or array. */
void lmi_jtext_key(struct lmi_jtext *j, const char *key);

void lmi_jtext_str(struct lmi_jtext *j, const char *s); /* NULL writes null */
void lmi_jtext_strn(struct lmi_jtext *j, const char *s, size_t n);
void lmi_jtext_int(struct lmi_jtext *j, int64_t v);
void lmi_jtext_uint(struct lmi_jtext *j, uint64_t v);
/* Writes the shortest text that reads back as the same number. */
void lmi_jtext_real(struct lmi_jtext *j, double v);
void lmi_jtext_bool(struct lmi_jtext *j, bool v);
void lmi_jtext_null(struct lmi_jtext *j);
/* Writes a value of a tree with everything in it. */
void lmi_jtext_node(struct lmi_jtext *j, const struct lmi_jnode *v);

/* Returns LMD_OK if exactly one complete value was written without error. */
LMD_NODISCARD enum lmd_status lmi_jtext_finish(struct lmi_jtext *j, struct lmd_error *err);

/* *j may be zeroed. */
void lmi_jtext_fini(struct lmi_jtext *j);

#endif /* LLAMAD_CORE_BASE_JSON_TEXT_H */
