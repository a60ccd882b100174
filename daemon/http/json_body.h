/* SPDX-License-Identifier: MIT
 *
 * json_body.h - typed readers of the JSON bodies of requests, with bounds.
 *
 * A reader remembers the first error: after it, all functions do nothing and return zeroed values,
 * so that the calls in between need no checks.  An error names the member, such as
 * messages[2].content, the value and the bound.
 *
 * Strings point into the body and are valid as long as it is; lists and JSON texts are in the
 * arena.  A reader belongs to one thread. */
#ifndef LLAMAD_DAEMON_HTTP_JSON_BODY_H
#define LLAMAD_DAEMON_HTTP_JSON_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "llamad/attr.h"
#include "llamad/sampler.h"
#include "llamad/status.h"
#include "llamad/types.h"

/* Depth of a JSON value that is passed on as text. */
#define LMI_HTTP_JSON_DEPTH 64

struct lmi_http_reader {
	struct lmd_arena *arena;
	struct lmd_error *err;
	enum lmd_status status; /* the first error */
	const char *param;      /* the member at fault; NULL: the whole body */
};

/* A position in the body.  NULL is the body itself. */
struct lmi_http_at {
	const struct lmi_http_at *up;
	const char *name; /* a member; NULL: an element of a list */
	size_t index;
};

/* Remembers an error of status LMD_INVALID. */
void lmi_http_fail(struct lmi_http_reader *r, const struct lmi_http_at *at, const char *fmt, ...)
	LMD_PRINTF(3, 4);
/* Remembers that the arena is full. */
void lmi_http_fail_nomem(struct lmi_http_reader *r);
/* Allocates n zeroed items from the arena; returns NULL after an error. */
void *lmi_http_alloc(struct lmi_http_reader *r, size_t n, size_t item_bytes);

/* Returns a member of an object; NULL if it is absent or null. */
const json_t *lmi_http_get(const json_t *object, const char *name);
/* Returns false after remembering an error. */
bool lmi_http_is_object(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v);
bool lmi_http_is_list(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
		      size_t min, size_t max);

bool lmi_http_read_bool(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v);
/* Reads a number without fraction; 3.0 is accepted and 3.5 is not. */
int64_t lmi_http_read_int(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
			  int64_t min, int64_t max);
double lmi_http_read_real(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
			  double min, double max);
/* Reads a string of min to max bytes. */
struct lmd_str lmi_http_read_str(struct lmi_http_reader *r, const struct lmi_http_at *at,
				 const json_t *v, size_t min, size_t max);
/* Reads a string without control characters. */
struct lmd_str lmi_http_read_line(struct lmi_http_reader *r, const struct lmi_http_at *at,
				  const json_t *v, size_t min, size_t max);
/* Reads one of the words and returns its index; the list ends with NULL. */
size_t lmi_http_read_word(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
			  const char *const *words);
/* Reads a string or a list of strings.  Empty strings are left out.  NULL and *n = 0 if one of them is
 * wrong. */
const struct lmd_str *lmi_http_read_strs(struct lmi_http_reader *r, const struct lmi_http_at *at,
					 const json_t *v, uint32_t max_items, size_t max_bytes,
					 uint32_t *n);
const lmd_token *lmi_http_read_tokens(struct lmi_http_reader *r, const struct lmi_http_at *at,
				      const json_t *v, uint32_t *n);
/* Reads {"token": bias} or a list of [token, bias].  A bias is a number, or false for minus
 * infinity; tokens are given by number. */
const struct lmd_bias *lmi_http_read_bias(struct lmi_http_reader *r, const struct lmi_http_at *at,
					  const json_t *v, uint32_t max, uint32_t *n);
/* Returns the value as JSON text of at most max bytes. */
struct lmd_str lmi_http_read_json(struct lmi_http_reader *r, const struct lmi_http_at *at,
				  const json_t *v, size_t max);

static inline struct lmd_str lmi_http_str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = __builtin_strlen(s)};
}

#endif /* LLAMAD_DAEMON_HTTP_JSON_BODY_H */
