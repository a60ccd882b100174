/* SPDX-License-Identifier: MIT
 *
 * codec.h - code shared by decoding and encoding: positions in a message, and checks of values. */
#ifndef LLAMAD_PROTO_CODEC_H
#define LLAMAD_PROTO_CODEC_H

#include <msgpack/pack.h>

#include "proto/proto.h"
#include "proto/reader.h"

/* A position in a message: the root is the message, the others are fields or elements. */
struct lmi_wire_msg_pos {
	const struct lmi_wire_msg_pos *up; /* NULL: the root */
	struct lmd_str name;        /* name of a field; "" for an element */
	uint32_t index;             /* index of an element */
};

/* The state of an encoder or decoder. */
struct lmi_wire_codec {
	const char *what; /* "generate", "reply to generate" */
	/* For decoding replies, which may come from a newer server: ignores what is unknown, and
	 * does not check bounds. */
	bool lenient;
	enum lmd_status bad;     /* status for an invalid value */
	struct lmd_arena *arena; /* for decoding */
	msgpack_packer pk;       /* for encoding; fails if out of memory or beyond message_bytes */
	/* For encoding replies: cuts strings that are too long and replaces invalid bytes, so that
	 * one unusual file name does not prevent a listing. */
	bool tidy;
	const struct lmi_wire_members *members; /* for encoding requests; or NULL */
	struct lmd_error *err;
};

/* Fails with "what: a.b[3]: ...".  If `at` is NULL, the error is about the whole message. */
enum lmd_status lmi_wire_codec_fail(const struct lmi_wire_codec *c, enum lmd_status st,
				    const struct lmi_wire_msg_pos *at, const char *fmt, ...)
	LMD_PRINTF(4, 5);
enum lmd_status lmi_wire_codec_nomem(const struct lmi_wire_codec *c,
				     const struct lmi_wire_msg_pos *at);

/* Check a value against the field's bounds. */
enum lmd_status lmi_wire_fit_int(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_field *f, int64_t v);
enum lmd_status lmi_wire_fit_float(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at,
				   const struct lmi_wire_field *f, double v);
enum lmd_status lmi_wire_fit_span(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_field *f, const struct lmd_str *s);
enum lmd_status lmi_wire_fit_items(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at, uint32_t n, uint32_t max);
/* Checks that exactly one of the fields in one_of is present; seen: the number of present ones. */
enum lmd_status lmi_wire_fit_one_of(const struct lmi_wire_codec *c,
				    const struct lmi_wire_msg_pos *at,
				    const struct lmi_wire_struct *s, uint32_t seen);
/* Checks the name of a sampler or parameter: 1 to 48 printable ASCII characters without spaces. */
enum lmd_status lmi_wire_fit_name(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmd_str *s);
enum lmd_status lmi_wire_fit_bias(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmd_bias *b);
/* Returns whether the text has no control characters. */
bool lmi_wire_is_line(const char *s, size_t n);

/* Returns the size of a list's element, or of the value of a field that is not a list. */
size_t lmi_wire_elem_bytes(const struct lmi_wire_field *f);

/* chain.c: lists of samplers and of biases. */
enum lmd_status lmi_wire_chain_decode(const struct lmi_wire_codec *c,
				      const struct lmi_wire_msg_pos *at, const uint8_t *p,
				      const uint8_t *end, struct lmi_wire_sampler *out);
enum lmd_status lmi_wire_bias_decode(const struct lmi_wire_codec *c,
				     const struct lmi_wire_msg_pos *at,
				     const struct lmi_wire_mp *list, const uint8_t *p,
				     const uint8_t *end, uint32_t max, const struct lmd_bias **out,
				     uint32_t *n);

/* pack.c: encode single values.  They return non-zero if the packer failed. */
int lmi_wire_pack_str(struct lmi_wire_codec *c, const char *s, size_t n);
int lmi_wire_pack_bin(struct lmi_wire_codec *c, const void *p, size_t n);
/* as str if it is UTF-8, otherwise as bin */
int lmi_wire_pack_text(struct lmi_wire_codec *c, const struct lmd_str *s);
/* as one line of UTF-8, cut to at most max bytes */
int lmi_wire_pack_sanitised(struct lmi_wire_codec *c, const struct lmd_str *s, size_t max);
int lmi_wire_pack_bias(struct lmi_wire_codec *c, const struct lmd_bias *b);
/* If the packer fails, returns LMD_OK and sets *failed. */
enum lmd_status lmi_wire_pack_sampler(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				      const struct lmi_wire_sampler *s, int *failed);

#endif /* LLAMAD_PROTO_CODEC_H */
