/* SPDX-License-Identifier: MIT
 *
 * value.h - types of values in messages. */
#ifndef LLAMAD_PROTO_VALUE_H
#define LLAMAD_PROTO_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "llamad/sampler.h"

/* The id of a stream: 16 random bytes chosen by the server.  Sent as bin 8 of length 16. */
struct lmi_wire_id {
	uint8_t b[16];
};

static inline bool lmi_wire_id_equal(const struct lmi_wire_id *a, const struct lmi_wire_id *b)
{
	return !memcmp(a->b, b->b, sizeof(a->b));
}

/* A parameter of a sampler.  Sent as a member of the sampler's map: bool, int, float, string, a
 * list of strings, a list of pairs [token, number or false], or a map {"token": number or false};
 * false is minus infinity, and the strings "-inf" and "inf" are numbers in pairs. */
struct lmi_wire_arg {
	const char *name; /* with a terminating zero */
	enum lmd_param_type type;
	struct lmd_param_value v;
};

/* A member of a chain: a map with the key "sampler", or only a name. */
struct lmi_wire_sampler {
	const char *name;                /* with a terminating zero */
	const struct lmi_wire_arg *args; /* [n_args] */
	uint32_t n_args;
};

/* Maximum length of a list that is a parameter of a sampler. */
#define LMI_WIRE_ARG_LIST_MAX (1u << 20)

#endif /* LLAMAD_PROTO_VALUE_H */
