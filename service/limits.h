/* SPDX-License-Identifier: MIT
 *
 * limits.h - what one request, one stream and the whole service may take.
 *
 * One table (lmi_limits) names every limit with its unit, range and default: requests are
 * checked against the values, configuration and the `limits` request read the table. */
#ifndef LLAMAD_SERVICE_LIMITS_H
#define LLAMAD_SERVICE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_service_limits {
	uint64_t sessions;	  /* generations that run at a time, of all models */
	uint64_t queue;		  /* generations that wait for that */
	uint64_t streams;	  /* streams that are kept, ended ones too */
	uint64_t models;	  /* models resident at a time */
	uint64_t prompt_bytes;	  /* of a text */
	uint64_t predict_default; /* tokens of an answer unless asked otherwise */
	uint64_t predict_max;	  /* tokens of an answer, at most */
	uint64_t stops;		  /* stop texts */
	uint64_t stop_bytes;	  /* of one */
	uint64_t biases;	  /* entries of logit_bias */
	uint64_t samplers;	  /* members of a chain */
	uint64_t stream_bytes;	  /* output that is kept for a reader */
	uint64_t items;		  /* of one reply to `next` */
	uint64_t hold_ms;	  /* `next`: default of hold_ms */
	uint64_t hold_max_ms;
	uint64_t wait_ms; /* `next`: default of wait_ms */
	uint64_t wait_max_ms;
	uint64_t lease_ms; /* default of lease_ms */
	uint64_t lease_max_ms;
	uint64_t timeout_ms; /* default of timeout_ms, from the request to the end */
	uint64_t timeout_max_ms;
	uint64_t first_ms; /* from the request to the first token */
	uint64_t rid_ms;   /* how long a request id is remembered */
	uint64_t rids;	   /* request ids remembered */
	uint64_t keep_ms;  /* how long a model stays without use; 0: for ever */
	uint64_t fail_ms;  /* the first hold-off after a load that failed; doubles */
	uint64_t fail_max_ms;
	uint64_t parked;       /* calls that wait, of all streams */
	uint64_t inline_bytes; /* texts up to this are tokenised at once */
};

struct lmi_limit {
	const char *name; /* as in the struct */
	size_t offset;	  /* of the uint64_t in it */
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
