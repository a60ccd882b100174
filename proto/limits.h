/* SPDX-License-Identifier: MIT
 *
 * limits.h - the bounds of the protocol (LMI_WIRE_LIMIT_*, generated from
 * proto/schema/bounds.json), also as a table for the op `limits`. */
#ifndef LLAMAD_PROTO_LIMITS_H
#define LLAMAD_PROTO_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/gen/limits.gen.h"

struct lmi_wire_limit_row {
	const char *name;
	const char *unit; /* "" if the name implies it */
	int64_t value;
	bool config; /* a server can be configured to a lower value */
};

extern const struct lmi_wire_limit_row lmi_wire_limit_rows[LMI_WIRE_N_LIMIT];

#endif /* LLAMAD_PROTO_LIMITS_H */
