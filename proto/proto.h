/* SPDX-License-Identifier: MIT
 *
 * proto.h - the codec of the protocol: requests and replies as C structs, and as bytes.
 *
 * A message is one msgpack map.  A request is {v, op, rid?, FIELDS}, its reply {v, op, rid?,
 * FIELDS} or {v, op, rid?, error: {code, text, retry_ms?}}.  docs/protocol.md is the
 * specification; the structs in gen/types.gen.h and the tables that the codec uses are generated
 * from proto/schema.
 *
 * Conventions of the structs:
 *  - A required field, or one with a default, always has a value; an optional field NAME has one
 *    if has_NAME is true.
 *  - A list is a pointer NAME and its length n_NAME.
 *  - Strings and bytes are struct lmd_str and are not terminated.  After decoding they point
 *    into the message, and lists with their contents are in the arena: both must outlive the
 *    struct.  For encoding the caller owns them.
 *  - STRING is one line of UTF-8 without control characters.  TEXT and BYTES are any bytes.
 *
 * Decoding first checks the bytes (check.h), so no memory is allocated that the message could not
 * fill.  Encoding checks the same bounds as decoding, so that an encoded message can be decoded.
 * Every error names the message, the field, the value and the bound:
 *     generate: temp: 7.5 is above 5
 * All functions may be called from any thread; the only state is in the arguments. */
#ifndef LLAMAD_PROTO_PROTO_H
#define LLAMAD_PROTO_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "llamad/attr.h"
#include "llamad/status.h"
#include "proto/gen/types.gen.h"
#include "proto/limits.h"
#include "proto/table.h"

/* ---- messages ---- */

struct lmi_wire_request {
	uint32_t v; /* version of the protocol */
	enum lmi_wire_op op;
	struct lmd_str rid; /* request id chosen by the client; empty: none */
	union lmi_wire_reqs u; /* by op */
};

struct lmi_wire_reply {
	uint32_t v;
	enum lmi_wire_op op; /* LMI_WIRE_OP_NONE: an error about a request without a valid op */
	struct lmd_str rid;  /* request id of the request */
	bool failed;         /* error is valid and u is not */
	struct lmi_wire_error error;
	union lmi_wire_reps u; /* by op */
};

/* Zeroes *r, then sets op, v and all defaults.  The caller sets the required fields and rid. */
void lmi_wire_request_init(struct lmi_wire_request *r, enum lmi_wire_op op);
/* Zeroes *r, then sets v, op and rid from the request, and all defaults. */
void lmi_wire_reply_init(struct lmi_wire_reply *r, const struct lmi_wire_request *to);
/* Turns *r into an error reply.  text is copied into *keep, which must outlive *r.
 * retry_ms < 0: none. */
void lmi_wire_reply_fail(struct lmi_wire_reply *r, enum lmd_status code, const char *text,
			 int64_t retry_ms, struct lmd_error *keep);
/* Sets the defaults of a struct, for rows and items that are not made by decoding. */
void lmi_wire_defaults(const struct lmi_wire_struct *s, void *p);

/* ---- decoding ---- */

/* Decodes a request.  Errors are those of check.h, an unknown op or field, a missing or invalid
 * value, a missing rid if the op needs one, and an unsupported v (except with hello).  A field with
 * the value null counts as missing.
 * On failure v, op and rid of *out are set as far as they could be decoded, so that the request can
 * be answered; the rest of *out is undefined.
 * LMD_INVALID: the request is invalid; LMD_UNSUPPORTED: unknown op or v; LMD_NOMEM: the arena is
 * full. */
enum lmd_status lmi_wire_request_decode(struct lmi_wire_request *out, const void *bytes, size_t n,
					struct lmd_arena *arena, struct lmd_error *err);

/* Decodes the reply to a request of op.  Unknown fields, words and items are ignored.
 * A reply with an error returns LMD_OK and sets out->failed.
 * LMD_CORRUPT: not a valid reply to that op. */
enum lmd_status lmi_wire_reply_decode(struct lmi_wire_reply *out, enum lmi_wire_op op,
				      const void *bytes, size_t n, struct lmd_arena *arena,
				      struct lmd_error *err);

/* ---- encoding ---- */

/* A growing buffer.  A zeroed struct is an empty buffer; lmi_wire_buf_fini frees it.  `n` may be
 * set to 0 to reuse the memory. */
struct lmi_wire_buf {
	uint8_t *p;
	size_t n, cap;
};
void lmi_wire_buf_fini(struct lmi_wire_buf *b);

/* Appends the encoded message.  On failure b->n does not change.
 * LMD_INVALID: a value that the peer would reject; LMD_NOMEM. */
enum lmd_status lmi_wire_request_encode(struct lmi_wire_buf *b, const struct lmi_wire_request *r,
					struct lmd_error *err);
/* Members of a request that are encoded already, since only the other side has to know them. */
struct lmi_wire_members {
	const struct lmd_str *names; /* [n]; not v and not op */
	uint32_t n;
	struct lmi_wire_buf pairs; /* n pairs of name and value, in the order of the names */
};
/* Like lmi_wire_request_encode, with these members in addition.  A member replaces the field of the
 * same name, or rid.  only: no fields of *r are encoded. */
enum lmd_status lmi_wire_request_encode_with(struct lmi_wire_buf *b,
					     const struct lmi_wire_request *r,
					     const struct lmi_wire_members *m, bool only,
					     struct lmd_error *err);
enum lmd_status lmi_wire_reply_encode(struct lmi_wire_buf *b, const struct lmi_wire_reply *r,
				      struct lmd_error *err);

/* ---- JSON ---- */

/* Appends any well-formed message as one line of JSON: bin that is UTF-8 as a string, other bin
 * as {"hex": "..."}, an id of a field `id` as 32 hexadecimal digits, infinities and NaN as the
 * strings "inf", "-inf", "nan". */
enum lmd_status lmi_wire_json(struct lmi_wire_buf *b, const void *bytes, size_t n,
			      struct lmd_error *err);

/* ---- names ---- */

/* Returns LMI_WIRE_OP_NONE if no op has that name. */
enum lmi_wire_op lmi_wire_op_find(const char *name, size_t n);
/* Returns the word of an enum's value, or "unknown" if the value is 0 or out of range. */
const char *lmi_wire_word(const struct lmi_wire_words *words, int value);
/* Returns whether items of that kind are final. */
bool lmi_wire_item_final(enum lmi_wire_item_kind kind);

#endif /* LLAMAD_PROTO_PROTO_H */
