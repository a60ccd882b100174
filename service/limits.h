/* SPDX-License-Identifier: MIT
 *
 * limits.h - the limits of a request, a stream and the whole service.
 *
 * The table lmi_svc_limits names every limit with its unit, range, default and meaning.  Requests
 * are checked against the values; the configuration and the op `limits` use the table.  A limit
 * that the protocol has as well has the same name there and can only be stricter. */
#ifndef LLAMAD_SERVICE_LIMITS_H
#define LLAMAD_SERVICE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_SVC_RUNNING_MAX 1024
#define LMI_SVC_DURABLE_MAX 1024

struct lmi_service_limits {
	uint64_t max_running;
	uint64_t queue;
	uint64_t max_running_per_user;
	uint64_t queue_per_user;
	uint64_t target_itl;
	uint64_t target_itl_interactive;
	uint64_t target_itl_batch;
	uint64_t client_slowdown_percent;
	uint64_t streams;
	uint64_t models;
	uint64_t text_bytes;
	uint64_t grammar_bytes;
	uint64_t stops;
	uint64_t stop_bytes;
	uint64_t biases;
	uint64_t samplers;
	uint64_t prompt_max;
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
	uint64_t calls_per_user;
	uint64_t bytes_per_user;
	uint64_t work_percent_per_user;
	uint64_t buffer_bytes;
	uint64_t rid_ms;
	uint64_t rids;
	uint64_t keep_alive_ms;
	uint64_t fail_ms;
	uint64_t fail_max_ms;
	uint64_t pause_max;
	uint64_t replay_requests;
	uint64_t replay_bytes;
	uint64_t inline_bytes;
	uint64_t session_bytes;
	uint64_t session_bytes_all;
	uint64_t session_number;
	uint64_t session_age;
	uint64_t prefix_memory_bytes;
	uint64_t prefix_disk_bytes;
	uint64_t repack_cache;
	uint64_t durable_streams;
	uint64_t durable_bytes;
	uint64_t durable_percent_per_user;
	uint64_t durable_age_ms;
};

struct lmi_svc_limit {
	const char *name;     /* name of the member */
	const char *old_name; /* deprecated name; NULL = none */
	size_t offset;        /* of the member, a uint64_t */
	const char *unit;     /* "tokens", "bytes", "ms", "" */
	uint64_t min, max, def;
	const char *doc;
};

extern const struct lmi_svc_limit lmi_svc_limits[];
extern const uint32_t lmi_svc_n_limits;

void lmi_service_limits_default(struct lmi_service_limits *l);
/* Returns LMD_INVALID if a value is outside its range, and names the first such limit. */
enum lmd_status lmi_service_limits_check(const struct lmi_service_limits *l, struct lmd_error *err);
uint64_t lmi_svc_limit_get(const struct lmi_service_limits *l, const struct lmi_svc_limit *row);
void lmi_svc_limit_set(struct lmi_service_limits *l, const struct lmi_svc_limit *row,
		       uint64_t value);

#endif /* LLAMAD_SERVICE_LIMITS_H */
