/* SPDX-License-Identifier: MIT
 *
 * proto_fixture.h - messages for tests, made by the tables: any values within the bounds, all
 * fields compared, and bytes that no encoder would write. */
#ifndef LLAMAD_PROTO_PROTO_FIXTURE_H
#define LLAMAD_PROTO_PROTO_FIXTURE_H

#include <msgpack/pack.h>

#include "proto/buf.h"
#include "proto/proto.h"

struct fill {
	uint64_t seed; /* moves on */
	struct lmd_arena *arena;
	bool full; /* every optional field is there */
};

/* Fills all fields of a struct that is zero. */
void fill_struct(struct fill *f, const struct lmi_wire_struct *s, void *out);
void fill_request(struct fill *f, enum lmi_wire_op op, struct lmi_request *out);
void fill_reply(struct fill *f, enum lmi_wire_op op, struct lmi_reply *out);

/* NULL when equal, else the name of a field that differs. */
const char *differs(const struct lmi_wire_struct *s, const void *a, const void *b);

/* Bytes by hand. */
struct raw {
	struct lmi_wire_buf b;
	msgpack_packer pk;
};
void raw_init(struct raw *r);
void raw_str(struct raw *r, const char *s);
void raw_span(struct raw *r, char c, uint64_t n, bool bin); /* n times c */
/* The smallest value of a field that it takes. */
void raw_least(struct raw *r, const struct lmi_wire_field *f);
/* A request with v, op, rid and the least that it needs, besides field `without`, and with room
 * for `more` pairs. */
void raw_request(struct raw *r, enum lmi_wire_op op, const char *without, uint32_t more);

#endif /* LLAMAD_PROTO_PROTO_FIXTURE_H */
