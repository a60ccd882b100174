/* SPDX-License-Identifier: MIT
 *
 * json_text.h - writes JSON into memory that grows.
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
 * Failures are kept until finish, so that writing needs no checks on the way.  What is written
 * is strict JSON: strings that are no UTF-8 are a failure, as is a value where none may stand;
 * NaN and infinities are the strings "nan", "inf" and "-inf".  Owned by one thread. */
#ifndef LLAMAD_CORE_BASE_JSON_TEXT_H
#define LLAMAD_CORE_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_jnode;

#define LMI_JTEXT_DEPTH 64

/* Zeroed but for max_bytes. */
struct lmi_jtext {
	size_t max_bytes; /* 0: 16 MiB; beyond it finish says LMD_INVALID */
	char *text;       /* bytes and a zero */
	size_t bytes, room;
	uint32_t depth;
	uint64_t objects; /* bit d: level d is an object */
	bool started, key_set;
	enum lmd_status status; /* the first failure */
};

void lmi_jtext_object(struct lmi_jtext *j);
void lmi_jtext_array(struct lmi_jtext *j);
void lmi_jtext_end(struct lmi_jtext *j); /* of the innermost object or array */
void lmi_jtext_key(struct lmi_jtext *j, const char *key);

void lmi_jtext_str(struct lmi_jtext *j, const char *s); /* NULL: null */
void lmi_jtext_strn(struct lmi_jtext *j, const char *s, size_t n);
void lmi_jtext_int(struct lmi_jtext *j, int64_t v);
void lmi_jtext_uint(struct lmi_jtext *j, uint64_t v);
/* The shortest text that reads back as the same number. */
void lmi_jtext_real(struct lmi_jtext *j, double v);
void lmi_jtext_bool(struct lmi_jtext *j, bool v);
void lmi_jtext_null(struct lmi_jtext *j);
/* A value of a tree with all that is in it. */
void lmi_jtext_node(struct lmi_jtext *j, const struct lmi_jnode *v);

/* LMD_OK when one whole value was written and nothing failed. */
LMD_NODISCARD enum lmd_status lmi_jtext_finish(struct lmi_jtext *j, struct lmd_error *err);

/* A zeroed struct is allowed. */
void lmi_jtext_fini(struct lmi_jtext *j);

#endif /* LLAMAD_CORE_BASE_JSON_TEXT_H */
