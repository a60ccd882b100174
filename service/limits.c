/* SPDX-License-Identifier: MIT
 *
 * The table of limits. */
#include "service/limits.h"

#include <string.h>

#include "llamad/attr.h"

#define ROW(field, unit_, min_, max_, def_, doc_)                                                  \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct lmi_service_limits, field),              \
		.unit = unit_, .min = min_, .max = max_, .def = def_, .doc = doc_                  \
	}
#define MINUTE 60000u
#define HOUR   (60u * MINUTE)
#define DAY    (24u * HOUR)

const struct lmi_limit lmi_limits[] = {
	ROW(sessions, "", 1, 1024, 32, "Generations that run at a time, of all models."),
	ROW(queue, "", 0, 65536, 128, "Generations that wait to run; over it requests are busy."),
	ROW(streams, "", 1, 65536, 1024, "Streams that are kept, ended ones that nobody read too."),
	ROW(models, "", 1, 256, 16, "Models that are resident at a time."),
	ROW(prompt_bytes, "bytes", 1, 16u << 20, 16u << 20, "Length of a prompt."),
	ROW(predict_default, "tokens", 1, 1u << 30, 4096,
	    "Tokens of an answer when the request does not say."),
	ROW(predict_max, "tokens", 1, 1u << 30, 1u << 30, "Tokens of an answer, at most."),
	ROW(stops, "", 0, 1024, 16, "Stop texts of a request."),
	ROW(stop_bytes, "bytes", 1, 4096, 256, "Length of a stop text."),
	ROW(biases, "", 0, 65536, 1024, "Entries of a list of token biases."),
	ROW(samplers, "", 1, 32, 32, "Members of a sampler chain."),
	ROW(stream_bytes, "bytes", 4096, 1u << 30, 1u << 20,
	    "Output that a stream keeps for its reader; over it the stream ends as slow_reader."),
	ROW(items, "", 1, 65536, 4096, "Items of one reply to next."),
	ROW(hold_ms, "ms", 0, 10000, 25, "How long output is gathered for one reply to next."),
	ROW(hold_max_ms, "ms", 0, 10000, 10000, "The longest that a request may ask for."),
	ROW(wait_ms, "ms", 0, 10 * MINUTE, 30000, "How long next waits for output."),
	ROW(wait_max_ms, "ms", 0, 10 * MINUTE, 10 * MINUTE,
	    "The longest that a request may ask for."),
	ROW(lease_ms, "ms", 100, 10 * MINUTE, 10000, "How long a stream lives while nobody reads."),
	ROW(lease_max_ms, "ms", 100, DAY, 10 * MINUTE, "The longest that a request may ask for."),
	ROW(timeout_ms, "ms", 1, DAY, 10 * MINUTE, "From a request to the end of its answer."),
	ROW(timeout_max_ms, "ms", 1, DAY, DAY, "The longest that a request may ask for."),
	ROW(first_ms, "ms", 1, DAY, 10 * MINUTE,
	    "From a request to its first token, waiting and loading included."),
	ROW(rid_ms, "ms", 1000, DAY, 10 * MINUTE, "How long a request id is remembered."),
	ROW(rids, "", 1, 1u << 20, 8192, "Request ids that are remembered."),
	ROW(keep_ms, "ms", 0, 7 * DAY, 5 * MINUTE,
	    "How long a model stays resident without use; 0: until it must make room."),
	ROW(fail_ms, "ms", 0, HOUR, 1000, "Pause after a load that failed; doubles each time."),
	ROW(fail_max_ms, "ms", 0, DAY, 60000, "The longest such pause."),
	ROW(parked, "", 1, 1u << 20, 4096, "Calls that wait for an answer."),
	ROW(inline_bytes, "bytes", 0, 1u << 20, 4096,
	    "Texts up to this length are tokenised without a detour to another thread."),
};
const uint32_t lmi_n_limits = LMD_LEN(lmi_limits);

_Static_assert(LMD_LEN(lmi_limits) * sizeof(uint64_t) == sizeof(struct lmi_service_limits),
	       "every limit has a row");

uint64_t lmi_limit_get(const struct lmi_service_limits *l, const struct lmi_limit *row)
{
	uint64_t v;

	memcpy(&v, (const char *)l + row->offset, sizeof(v));
	return v;
}

void lmi_limit_set(struct lmi_service_limits *l, const struct lmi_limit *row, uint64_t value)
{
	memcpy((char *)l + row->offset, &value, sizeof(value));
}

void lmi_service_limits_default(struct lmi_service_limits *l)
{
	for (uint32_t i = 0; i < lmi_n_limits; i++)
		lmi_limit_set(l, &lmi_limits[i], lmi_limits[i].def);
}

enum lmd_status lmi_service_limits_check(const struct lmi_service_limits *l, struct lmd_error *err)
{
	for (uint32_t i = 0; i < lmi_n_limits; i++) {
		const struct lmi_limit *row = &lmi_limits[i];
		uint64_t v = lmi_limit_get(l, row);

		if (v < row->min || v > row->max)
			return lmd_fail(err, LMD_INVALID, "%s: %llu is outside %llu..%llu",
					row->name, (unsigned long long)v,
					(unsigned long long)row->min, (unsigned long long)row->max);
	}
	return LMD_OK;
}
