/* SPDX-License-Identifier: MIT
 *
 * limits.h - what one request, one stream and the whole service may take.
 *
 * One table (lmi_limits) names every limit with its unit, range, default and meaning: requests
 * are checked against the values; configuration and the op `limits` read the table.  What the
 * protocol bounds as well has the same name there; a value may only be stricter. */
#ifndef LLAMAD_SERVICE_LIMITS_H
#define LLAMAD_SERVICE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_SESSIONS_MAX 1024

struct lmi_service_limits {
	uint64_t sessions;
	uint64_t queue;
	uint64_t streams;
	uint64_t models;
	uint64_t text_bytes;
	uint64_t grammar_bytes;
	uint64_t stops;
	uint64_t stop_bytes;
	uint64_t biases;
	uint64_t samplers;
	uint64_t output_default;
	uint64_t output_max;
	uint64_t timeout_default;
	uint64_t timeout_max;
	uint64_t first_token_ms;
	uint64_t lease_default;
	uint64_t lease_max;
	uint64_t wait_default;
	uint64_t wait_max;
	uint64_t hold_default;
	uint64_t hold_max;
	uint64_t items;
	uint64_t stream_bytes;
	uint64_t calls;
	uint64_t rid_ms;
	uint64_t rids;
	uint64_t keep_alive_ms;
	uint64_t fail_ms;
	uint64_t fail_max_ms;
	uint64_t inline_bytes;
};

struct lmi_limit {
	const char *name; /* as in the struct */
	size_t offset;    /* of the uint64_t in it */
	const char *unit; /* "tokens", "bytes", "ms", "" */
	uint64_t min, max, def;
	const char *doc; /* one sentence */
};

extern const struct lmi_limit lmi_limits[];
extern const uint32_t lmi_n_limits;

void lmi_service_limits_default(struct lmi_service_limits *l);
/* LMD_INVALID names the first that is outside its range. */
enum lmd_status lmi_service_limits_check(const struct lmi_service_limits *l, struct lmd_error *err);
uint64_t lmi_limit_get(const struct lmi_service_limits *l, const struct lmi_limit *row);
void lmi_limit_set(struct lmi_service_limits *l, const struct lmi_limit *row, uint64_t value);

#endif /* LLAMAD_SERVICE_LIMITS_H */
