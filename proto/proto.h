/* SPDX-License-Identifier: MIT
 *
 * proto.h - requests and replies as C structs, and the bytes that they are on the wire.
 *
 * A message is one msgpack map.  A request is {v, op, rid?, FIELDS}, its reply {v, op, rid?,
 * FIELDS} or {v, op, rid?, error: {code, text, retry_ms?}}.  docs/protocol.md is the
 * specification; the structs in gen/types.gen.h and the tables behind this file are made from
 * proto/schema.
 *
 * Conventions of the structs:
 *  - NAME of a required field or of one with a default always has a value; an optional NAME
 *    counts when has_NAME is true.
 *  - A list is a pointer NAME and its length n_NAME.
 *  - Strings and bytes are struct lmd_str and are not terminated.  After decoding they point
 *    into the message, lists and what they contain are in the arena: both must outlive the
 *    struct.  For encoding they are the caller's.
 *  - STRING is one line of UTF-8 without control characters.  TEXT and BYTES are any bytes.
 *
 * Decoding first walks the bytes (check.h), so nothing is reserved that the message could not
 * fill.  Encoding checks the same bounds as decoding: what was encoded can be decoded.
 * Every refusal names the message, the field, the value and the bound:
 *     generate: temp: 7.5 is above 5
 * All functions may be called from any thread; there is no state besides the arguments. */
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

struct lmi_request {
	uint32_t v; /* version of the protocol */
	enum lmi_wire_op op;
	struct lmd_str rid; /* request id of the client's choice; empty: none */
	union lmi_reqs u;   /* by op */
};

struct lmi_reply {
	uint32_t v;
	enum lmi_wire_op op; /* LMI_WIRE_OP_NONE: an error about a request that named no op */
	struct lmd_str rid;  /* that of the request */
	bool failed;         /* error counts, u does not */
	struct lmi_wire_error error;
	union lmi_reps u; /* by op */
};

/* Zeroes, then writes op, v and all defaults.  The required fields and rid are the caller's. */
void lmi_request_init(struct lmi_request *r, enum lmi_wire_op op);
/* The same for an answer to a request: v, op and rid are the request's. */
void lmi_reply_init(struct lmi_reply *r, const struct lmi_request *to);
/* Makes it an error reply.  text is copied into *keep, which must outlive *r.
 * retry_ms < 0: none. */
void lmi_reply_fail(struct lmi_reply *r, enum lmd_status code, const char *text, int64_t retry_ms,
		    struct lmd_error *keep);
/* Defaults of one struct of a table, for those who build rows or items by hand. */
void lmi_wire_defaults(const struct lmi_wire_struct *s, void *p);

/* ---- decoding ---- */

/* Reads a request.  Refused: what check.h refuses, an unknown op or field, a missing or unfit
 * value, a rid that is missing where the op needs one, a v that is not spoken here (except with
 * hello).  A null stands for an absent field.
 * On refusal v, op and rid of *out are what could be read of them, so that it can be answered,
 * and nothing else counts.
 * LMD_INVALID: the request; LMD_UNSUPPORTED: op or v; LMD_NOMEM: the arena is full. */
enum lmd_status lmi_request_decode(struct lmi_request *out, const void *bytes, size_t n,
				   struct lmd_arena *arena, struct lmd_error *err);

/* Reads the reply to a request of op.  Unknown fields, words and items are passed over.
 * A reply that says that the request failed is LMD_OK here with out->failed.
 * LMD_CORRUPT: it is no reply to that. */
enum lmd_status lmi_reply_decode(struct lmi_reply *out, enum lmi_wire_op op, const void *bytes,
				 size_t n, struct lmd_arena *arena, struct lmd_error *err);

/* ---- encoding ---- */

/* Bytes that grow.  All zero is empty; lmi_wire_buf_fini frees.  `n` may be set to 0 to use the
 * memory again. */
struct lmi_wire_buf {
	uint8_t *p;
	size_t n, cap;
};
void lmi_wire_buf_fini(struct lmi_wire_buf *b);

/* Appends the message.  On failure b->n is as it was.
 * LMD_INVALID: a value that the other side would refuse; LMD_NOMEM. */
enum lmd_status lmi_request_encode(struct lmi_wire_buf *b, const struct lmi_request *r,
				   struct lmd_error *err);
enum lmd_status lmi_reply_encode(struct lmi_wire_buf *b, const struct lmi_reply *r,
				 struct lmd_error *err);

/* ---- JSON ---- */

/* Appends any well-formed message as one line of JSON: bin that is UTF-8 as a string, other bin
 * as {"hex": "..."}, an id of a field `id` as 32 hexadecimal digits, infinities and NaN as the
 * strings "inf", "-inf", "nan". */
enum lmd_status lmi_wire_json(struct lmi_wire_buf *b, const void *bytes, size_t n,
			      struct lmd_error *err);

/* ---- names ---- */

/* LMI_WIRE_OP_NONE when there is none of that name. */
enum lmi_wire_op lmi_wire_op_find(const char *name, size_t n);
/* The word of an enum's value, "unknown" for 0 and what is outside. */
const char *lmi_wire_word(const struct lmi_wire_words *words, int value);
/* True when no item comes behind one of that kind. */
bool lmi_wire_item_final(enum lmi_wire_item_kind kind);

#endif /* LLAMAD_PROTO_PROTO_H */
