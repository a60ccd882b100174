/* SPDX-License-Identifier: MIT
 *
 * limits.h - bounds of the protocol (LMI_LIMIT_*, made from proto/schema/bounds.json) and the
 * same as rows, for the op `limits`. */
#ifndef LLAMAD_PROTO_LIMITS_H
#define LLAMAD_PROTO_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/gen/limits.gen.h"

struct lmi_wire_limit_row {
	const char *name;
	const char *unit; /* "" when the name says it */
	int64_t value;
	bool config; /* a server may be configured to less */
};

extern const struct lmi_wire_limit_row lmi_wire_limit_rows[LMI_N_LIMIT];

#endif /* LLAMAD_PROTO_LIMITS_H */
