/* SPDX-License-Identifier: MIT
 *
 * json_out.h - text of a model as JSON strings.
 *
 * A model can write bytes that are not UTF-8, which JSON cannot carry: they become U+FFFD.  A
 * character that is split between two pieces of a stream is not such a case, so its first bytes
 * wait for the rest. */
#ifndef LLAMAD_DAEMON_HTTP_JSON_OUT_H
#define LLAMAD_DAEMON_HTTP_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json_text.h"
#include "llamad/types.h"

struct lmd_arena;

/* Writes a string; each byte that is not part of a UTF-8 character becomes U+FFFD. */
void lmi_http_json_str(struct lmi_json_text *j, struct lmd_str s);
/* Writes a key in the same way. */
void lmi_http_json_key(struct lmi_json_text *j, struct lmd_str s);
/* Write a member of an object. */
void lmi_http_json_put_str(struct lmi_json_text *j, const char *key, struct lmd_str s);
void lmi_http_json_put_text(struct lmi_json_text *j, const char *key,
			    const char *s); /* NULL: null */
void lmi_http_json_put_int(struct lmi_json_text *j, const char *key, int64_t v);
void lmi_http_json_put_real(struct lmi_json_text *j, const char *key, double v);
void lmi_http_json_put_bool(struct lmi_json_text *j, const char *key, bool v);
void lmi_http_json_put_null(struct lmi_json_text *j, const char *key);
/* Writes a member whose value is the JSON in s; if it is not an object, writes {}. */
void lmi_http_json_put_object(struct lmi_json_text *j, const char *key, struct lmd_str s);

/* One kind of text on its way into a stream.  All zero at first. */
struct lmi_http_pieces {
	char held[4]; /* the first bytes of a character */
	uint32_t n_held;
	char *p; /* memory of the arena, for pieces that differ from those that came in */
	size_t cap;
};

/* Returns what can be sent after s has come in: UTF-8, possibly empty.  It is valid until the next
 * call, and as long as s.  If the arena is full, it is empty. */
struct lmd_str lmi_http_pieces_next(struct lmi_http_pieces *t, struct lmd_arena *arena,
				    struct lmd_str s);
/* Returns what is left at the end: U+FFFD for each byte that is held back, often none. */
struct lmd_str lmi_http_pieces_end(struct lmi_http_pieces *t);

#endif /* LLAMAD_DAEMON_HTTP_JSON_OUT_H */
