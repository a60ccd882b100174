/* SPDX-License-Identifier: MIT
 *
 * proto_fixture.h - test messages generated from the tables: random values within the bounds,
 * comparison of all fields, and bytes that no encoder would write. */
#ifndef LLAMAD_PROTO_PROTO_FIXTURE_H
#define LLAMAD_PROTO_PROTO_FIXTURE_H

#include <msgpack/pack.h>

#include "proto/buf.h"
#include "proto/proto.h"

struct fill {
	uint64_t seed; /* changes with each value */
	struct lmd_arena *arena;
	bool full; /* every optional field is present */
};

/* Fills all fields of a zeroed struct. */
void fill_struct(struct fill *f, const struct lmi_wire_struct *s, void *out);
void fill_request(struct fill *f, enum lmi_wire_op op, struct lmi_wire_request *out);
void fill_reply(struct fill *f, enum lmi_wire_op op, struct lmi_wire_reply *out);

/* Returns NULL if equal, otherwise the name of a field that differs. */
const char *differs(const struct lmi_wire_struct *s, const void *a, const void *b);

/* A message written by hand. */
struct raw {
	struct lmi_wire_buf b;
	msgpack_packer pk;
};
void raw_init(struct raw *r);
void raw_str(struct raw *r, const char *s);
void raw_span(struct raw *r, char c, uint64_t n, bool bin); /* n times c */
/* Writes the smallest valid value of a field. */
void raw_least(struct raw *r, const struct lmi_wire_field *f);
/* Begins a request with v, op, rid and minimal required fields, except field `without`, and with
 * space for `more` pairs. */
void raw_request(struct raw *r, enum lmi_wire_op op, const char *without, uint32_t more);

#endif /* LLAMAD_PROTO_PROTO_FIXTURE_H */
