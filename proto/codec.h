/* SPDX-License-Identifier: MIT
 *
 * codec.h - what decoding and encoding share: where we are, and which values fit. */
#ifndef LLAMAD_PROTO_CODEC_H
#define LLAMAD_PROTO_CODEC_H

#include <msgpack/pack.h>

#include "proto/proto.h"
#include "proto/reader.h"

/* A place in a message: the root is the message, each further one a field or an element. */
struct lmi_where {
	const struct lmi_where *up; /* NULL: the root */
	struct lmd_str name;        /* "" for an element */
	uint32_t index;             /* of an element */
};

/* What is at work, and how it fails. */
struct lmi_codec {
	const char *what; /* "generate", "reply to generate" */
	/* Decoding of replies, which may come from a newer server: what is unknown is passed
	 * over, and bounds bind the sender. */
	bool lenient;
	enum lmd_status bad;     /* status of a value that does not fit */
	struct lmd_arena *arena; /* decoding */
	msgpack_packer pk;       /* encoding; it fails without memory and beyond message_bytes */
	/* Encoding of replies: a string that does not fit is cut, bytes that it may not hold are
	 * replaced, so that one odd file name does not spoil a listing. */
	bool tidy;
	struct lmd_error *err;
};

/* "what: a.b[3]: ..."; at NULL: about the message as a whole. */
enum lmd_status lmi_codec_fail(const struct lmi_codec *c, enum lmd_status st,
			       const struct lmi_where *at, const char *fmt, ...) LMD_PRINTF(4, 5);
enum lmd_status lmi_codec_nomem(const struct lmi_codec *c, const struct lmi_where *at);

/* Within the field's bounds? */
enum lmd_status lmi_fit_int(const struct lmi_codec *c, const struct lmi_where *at,
			    const struct lmi_wire_field *f, int64_t v);
enum lmd_status lmi_fit_float(const struct lmi_codec *c, const struct lmi_where *at,
			      const struct lmi_wire_field *f, double v);
enum lmd_status lmi_fit_span(const struct lmi_codec *c, const struct lmi_where *at,
			     const struct lmi_wire_field *f, const struct lmd_str *s);
enum lmd_status lmi_fit_items(const struct lmi_codec *c, const struct lmi_where *at, uint32_t n,
			      uint32_t max);
/* Of those fields of which one must be there, `seen` are. */
enum lmd_status lmi_fit_one_of(const struct lmi_codec *c, const struct lmi_where *at,
			       const struct lmi_wire_struct *s, uint32_t seen);
/* The name of a sampler or of a parameter: 1 to 48 printable ASCII characters, no space. */
enum lmd_status lmi_fit_name(const struct lmi_codec *c, const struct lmi_where *at,
			     const struct lmd_str *s);
enum lmd_status lmi_fit_bias(const struct lmi_codec *c, const struct lmi_where *at,
			     const struct lmd_bias *b);
/* True without bytes that a line must not hold. */
bool lmi_is_line(const char *s, size_t n);

/* Size of an element of a list, and of the value of a field that is none. */
size_t lmi_wire_elem_bytes(const struct lmi_wire_field *f);

/* chain.c: lists of samplers and of biases. */
enum lmd_status lmi_chain_decode(const struct lmi_codec *c, const struct lmi_where *at,
				 const uint8_t *p, const uint8_t *end,
				 struct lmi_wire_sampler *out);
enum lmd_status lmi_bias_decode(const struct lmi_codec *c, const struct lmi_where *at,
				const struct lmi_mp *list, const uint8_t *p, const uint8_t *end,
				uint32_t max, const struct lmd_bias **out, uint32_t *n);

/* pack.c: single values to bytes.  Non-zero when the packer failed. */
int lmi_pack_str(struct lmi_codec *c, const char *s, size_t n);
int lmi_pack_bin(struct lmi_codec *c, const void *p, size_t n);
/* str when it is UTF-8 and bin when it is not */
int lmi_pack_text(struct lmi_codec *c, const struct lmd_str *s);
/* at most max bytes of it, as one line of UTF-8 */
int lmi_pack_tidy(struct lmi_codec *c, const struct lmd_str *s, size_t max);
int lmi_pack_bias(struct lmi_codec *c, const struct lmd_bias *b);
/* LMD_OK with *failed when the packer failed. */
enum lmd_status lmi_pack_sampler(struct lmi_codec *c, const struct lmi_where *at,
				 const struct lmi_wire_sampler *s, int *failed);

#endif /* LLAMAD_PROTO_CODEC_H */
