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
	ROW(sessions, "", 1, LMI_SESSIONS_MAX, 32,
	    "Generations that run at a time, of all models."),
	ROW(queue, "", 0, 65536, 128, "Generations that wait to run; over it requests are busy."),
	ROW(streams, "", 1, 65536, 256,
	    "Streams of one principal that are kept, ended ones included."),
	ROW(models, "", 1, 256, 16, "Models in memory at a time."),
	ROW(text_bytes, "bytes", 1, 16u << 20, 16u << 20,
	    "Length of a prompt or another text for a model."),
	ROW(grammar_bytes, "bytes", 2, 256u << 10, 256u << 10, "Length of a grammar or schema."),
	ROW(stops, "", 0, 16, 16, "Stop texts of a request."),
	ROW(stop_bytes, "bytes", 1, 256, 256, "Length of a stop text."),
	ROW(biases, "", 0, 1024, 1024, "Entries of logit_bias."),
	ROW(samplers, "", 1, 32, 32, "Samplers of a chain."),
	ROW(output_default, "tokens", 1, 1u << 30, 4096,
	    "Length of an answer when the request does not say."),
	ROW(output_max, "tokens", 1, 1u << 30, 1u << 30,
	    "Length of an answer; the context ends it earlier."),
	ROW(timeout_default, "ms", 1, DAY, 10 * MINUTE, "Deadline of a request that does not say."),
	ROW(timeout_max, "ms", 1, DAY, DAY, "Greatest deadline."),
	ROW(first_token_ms, "ms", 1, DAY, 30000,
	    "Time without progress before the first token.  A prompt that is being computed makes "
	    "progress, and so does the queue while those in front compute; loading does not "
	    "count."),
	ROW(lease_default, "ms", 1000, 10 * MINUTE, 10000,
	    "Lease of a stream when the request does not say."),
	ROW(lease_max, "ms", 1000, 10 * MINUTE, 10 * MINUTE, "Longest lease."),
	ROW(wait_default, "ms", 0, MINUTE, 5000,
	    "Time that next waits when the request does not say."),
	ROW(wait_max, "ms", 0, MINUTE, MINUTE, "Longest time that next waits."),
	ROW(hold_default, "ms", 0, 1000, 25,
	    "Time that next gathers items when the request does not say."),
	ROW(hold_max, "ms", 0, 1000, 1000, "Longest time that next gathers items."),
	ROW(items, "", 1, 4096, 4096, "Items of a stream in one reply."),
	ROW(stream_bytes, "bytes", 4096, 1u << 30, 1u << 20,
	    "What lies unread of a stream; beyond it the stream is cancelled as slow_reader."),
	ROW(calls, "", 1, 1u << 20, 4096, "Calls that wait for an answer."),
	ROW(rid_ms, "ms", 1000, DAY, 10 * MINUTE, "How long a request id is remembered."),
	ROW(rids, "", 16, 1u << 20, 8192, "Request ids that are remembered."),
	ROW(keep_alive_ms, "ms", 0, 7 * DAY, 5 * MINUTE,
	    "A model that was not loaded by request is unloaded after being idle so long; 0: "
	    "never."),
	ROW(fail_ms, "ms", 0, HOUR, 1000, "Pause after a load that failed; doubles each time."),
	ROW(fail_max_ms, "ms", 0, DAY, MINUTE, "The longest such pause."),
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
