/* SPDX-License-Identifier: MIT
 *
 * The table of limits. */
#include "service/limits.h"

#include <string.h>

#include "llamad/attr.h"

/* Further arguments are initialisers of further members. */
#define ROW(field, unit_, min_, max_, def_, ...)                                                   \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct lmi_service_limits, field),              \
		.unit = unit_, .min = min_, .max = max_, .def = def_, .doc = __VA_ARGS__           \
	}
#define MINUTE 60000u
#define HOUR   (60u * MINUTE)
#define DAY    (24u * HOUR)

const struct lmi_svc_limit lmi_svc_limits[] = {
	ROW(max_running, "", 1, LMI_SVC_RUNNING_MAX, 32,
	    "Maximum number of generations that run concurrently, for all models together "
	    "(continuous batching). Further ones are queued. While several models are loaded, one "
	    "place in eight is kept for those that run none or few.",
	    .old_name = "sessions"),
	ROW(queue, "", 0, 65536, 128,
	    "Maximum number of queued generations. If the queue is full, requests fail as busy."),
	ROW(max_running_per_user, "", 0, LMI_SVC_RUNNING_MAX, 0,
	    "Maximum number of generations of one user that run concurrently; 0 = three quarters of "
	    "max_running. Administrators have no share, and one place in sixteen is kept for them."),
	ROW(queue_per_user, "", 0, 65536, 0,
	    "Maximum number of queued generations of one user; 0 = three quarters of queue."),
	ROW(target_itl, "ms", 0, MINUTE, 200,
	    "How long a running generation may wait for its next token because the prompt of another "
	    "request is computed in the same step: longer prompts are split, by measured times. 0 = "
	    "any time: only n_batch limits a step. Applies to models that are loaded afterwards."),
	ROW(target_itl_interactive, "ms", 0, MINUTE, 100,
	    "As target_itl, for generations of class interactive."),
	ROW(target_itl_batch, "ms", 0, MINUTE, 0,
	    "As target_itl, for generations of class batch."),
	ROW(client_slowdown_percent, "", 0, 10000, 20,
	    "How much longer a step may take because a user runs more generations than another one; "
	    "those of the user with more take turns then. 0 = any time: all generations are part of "
	    "every step. Applies to models that are loaded afterwards."),
	ROW(streams, "", 1, 65536, 256,
	    "Maximum number of streams of one user, including ended ones that are still kept; an administrator "
	    "may have four times as many."),
	ROW(models, "", 1, 256, 16, "Maximum number of models in memory."),
	ROW(text_bytes, "bytes", 1, 16u << 20, 16u << 20,
	    "Maximum length of a prompt or of any other text for a model."),
	ROW(grammar_bytes, "bytes", 2, 256u << 10, 256u << 10,
	    "Maximum length of a grammar or JSON schema."),
	ROW(stops, "", 0, 16, 16, "Maximum number of stop sequences in a request."),
	ROW(stop_bytes, "bytes", 1, 256, 256, "Maximum length of a stop sequence."),
	ROW(biases, "", 0, 1024, 1024,
	    "Maximum number of entries of logit_bias and of suppress_tokens."),
	ROW(samplers, "", 1, 32, 32, "Maximum number of samplers in a chain."),
	ROW(prompt_max, "tokens", 1, 1u << 30, 1u << 30,
	    "Maximum length of a prompt, its chat template included. The context size usually ends it "
	    "earlier."),
	ROW(output_default, "tokens", 1, 1u << 30, 4096,
	    "Maximum length of an answer if the request does not set it."),
	ROW(output_max, "tokens", 1, 1u << 30, 1u << 30,
	    "Maximum length of an answer that a request can set. The context size usually ends it "
	    "earlier."),
	ROW(timeout_default, "ms", 1, DAY, 10 * MINUTE,
	    "Deadline of a request that does not set one."),
	ROW(timeout_max, "ms", 1, DAY, DAY, "Longest deadline that a request can set."),
	ROW(first_token_ms, "ms", 1, DAY, 30000,
	    "Maximum time without progress before the first token. Prefill counts as progress, "
	    "and so does the work of the requests ahead in the queue; time for loading the model "
	    "is not counted."),
	ROW(lease_default, "ms", 1000, 10 * MINUTE, 10000,
	    "Lease of a stream if the request does not set one."),
	ROW(lease_max, "ms", 1000, 10 * MINUTE, 10 * MINUTE,
	    "Longest lease that a request can set."),
	ROW(wait_default, "ms", 0, MINUTE, 5000,
	    "Time that next waits for an item if the request does not set it."),
	ROW(wait_max, "ms", 0, MINUTE, MINUTE, "Longest time that next waits for an item."),
	ROW(hold_default, "ms", 0, 1000, 25,
	    "How long next waits for more items after the first unread one if the request does not "
	    "set it."),
	ROW(hold_max, "ms", 0, 1000, 1000, "Longest output batching delay of next."),
	ROW(items, "", 1, 4096, 4096, "Maximum number of items in one reply to next."),
	ROW(stream_bytes, "bytes", 4096, 1u << 30, 1u << 20,
	    "Maximum amount of unread output of a stream. Beyond it the stream is cancelled as "
	    "slow_reader."),
	ROW(calls, "", 1, 1u << 20, 4096, "Maximum number of pending requests."),
	ROW(calls_per_user, "", 0, 1u << 20, 0,
	    "Maximum number of pending requests of one user; 0 = three quarters of calls."),
	ROW(bytes_per_user, "bytes", 4096, 1ull << 40, 256u << 20,
	    "Maximum amount of pending requests of one user."),
	ROW(work_percent_per_user, "", 0, 100, 0,
	    "Maximum share in percent that one user may have of the processor time of the threads that "
	    "tokenise texts, fill in templates and read grammars, over the last 10 seconds. Beyond it "
	    "requests with such work fail as busy, with the time until a retry makes sense, while "
	    "another user has requests. 0 = three quarters. Administrators have no share."),
	ROW(buffer_bytes, "bytes", 4096, 1ull << 40, 1u << 30,
	    "Maximum amount of pending requests and unread output of all users together; beyond it "
	    "requests fail as busy. One byte in sixteen is kept for administrators."),
	ROW(rid_ms, "ms", 1000, DAY, 10 * MINUTE, "How long a request id is remembered."),
	ROW(rids, "", 16, 1u << 20, 8192, "Maximum number of request ids that are remembered."),
	ROW(keep_alive_ms, "ms", 0, 7 * DAY, 5 * MINUTE,
	    "Idle time after which a model is unloaded, unless it was loaded with op load, which "
	    "has a value of its own; 0 = never."),
	ROW(fail_ms, "ms", 0, HOUR, 1000, "Pause after a failed load; doubles with each failure."),
	ROW(fail_max_ms, "ms", 0, DAY, MINUTE, "Longest pause after failed loads."),
	ROW(durable_streams, "", 0, LMI_SVC_DURABLE_MAX, 32,
	    "Maximum number of durable streams, which go on after the daemon was stopped, killed or "
	    "replaced: their prompts and answers are written to the state folder. Only requests that "
	    "ask for it make one. 0 = none; those of earlier runs are removed at the start."),
	ROW(durable_bytes, "bytes", 65536, 1ull << 32, 64u << 20,
	    "Maximum size of the files of all durable streams together. A stream that would exceed it "
	    "ends with an error."),
	ROW(durable_percent_per_user, "", 0, 100, 0,
	    "Maximum share in percent of durable_streams and of durable_bytes that one user may have; 0 "
	    "= three quarters. Administrators have no share."),
	ROW(durable_age_ms, "ms", MINUTE, 7 * DAY, HOUR,
	    "How long a durable stream that nobody reads is kept, whether it runs or has ended."),
	ROW(pause_max, "ms", 1000, 7 * DAY, 10 * MINUTE,
	    "Longest time that a generation can be paused; after that it is cancelled."),
	ROW(replay_requests, "", 0, 65536, 0,
	    "How many requests of all users together are kept in memory after their end, so that op replay can "
	    "generate their answers again: the request with its prompt, its settings, its seed, and digests of "
	    "model and answer. 0 = none."),
	ROW(replay_bytes, "bytes", 1024, 1ull << 34, 16u << 20,
	    "Maximum size of the kept requests together; the oldest is dropped first."),
	ROW(inline_bytes, "bytes", 0, 1u << 20, 4096,
	    "Texts up to this length are tokenised in the main thread, longer ones in another "
	    "thread."),
	ROW(session_bytes, "bytes", 0, 1ull << 46, 0,
	    "Maximum size of the saved sessions of one user; 0 = sessions are off. A session in use takes "
	    "as much memory for a moment."),
	ROW(session_bytes_all, "bytes", 0, 1ull << 50, 0,
	    "Maximum size of the saved sessions of all users together; 0 = no limit."),
	ROW(session_number, "", 1, 4096, 64, "Maximum number of saved sessions of one user."),
	ROW(session_age, "ms", 0, 3650ull * DAY, 30ull * DAY,
	    "A saved session is removed when it has not been written for so long; 0 = never."),
	ROW(prefix_memory_bytes, "bytes", 0, 1ull << 50, 0,
	    "Maximum size of the host-memory tier of the prefix cache: copies of the pages of prompts and answers "
	    "that devices with memory of their own computed, so that their rows are copied back instead of computed "
	    "again where that takes less time, also after the model was loaded again. What was used longest ago is "
	    "dropped first. Pages that lie in host memory anyway (backend cpu) are not copied. 0 = off."),
	ROW(prefix_disk_bytes, "bytes", 0, 1ull << 50, 0,
	    "Maximum size of the disk tier of the prefix cache: prompts and answers of at least 256 tokens, or "
	    "with a beginning that was found in the cache, are written to the state folder, so that their rows "
	    "are not computed again after they were evicted, or after the model or the daemon was started again. "
	    "What was used longest ago is removed first. 0 = off; what was written before is removed."),
	ROW(repack_cache, "bytes", 0, 1ull << 50, 0,
	    "Maximum size of the repack cache: weights in the layout of a backend are written to the state "
	    "folder when a model is loaded for the first time, and mapped when it is loaded again, so that "
	    "they are not repacked again and processes share them. The first load takes longer, and a "
	    "damaged file is replaced. What was used longest ago is removed first. 0 = off; what was written "
	    "before stays."),
};
const uint32_t lmi_svc_n_limits = LMD_LEN(lmi_svc_limits);

_Static_assert(LMD_LEN(lmi_svc_limits) * sizeof(uint64_t) == sizeof(struct lmi_service_limits),
	       "every limit has a row");

uint64_t lmi_svc_limit_get(const struct lmi_service_limits *l, const struct lmi_svc_limit *row)
{
	uint64_t v;

	memcpy(&v, (const char *)l + row->offset, sizeof(v));
	return v;
}

void lmi_svc_limit_set(struct lmi_service_limits *l, const struct lmi_svc_limit *row,
		       uint64_t value)
{
	memcpy((char *)l + row->offset, &value, sizeof(value));
}

void lmi_service_limits_default(struct lmi_service_limits *l)
{
	for (uint32_t i = 0; i < lmi_svc_n_limits; i++)
		lmi_svc_limit_set(l, &lmi_svc_limits[i], lmi_svc_limits[i].def);
}

enum lmd_status lmi_service_limits_check(const struct lmi_service_limits *l, struct lmd_error *err)
{
	for (uint32_t i = 0; i < lmi_svc_n_limits; i++) {
		const struct lmi_svc_limit *row = &lmi_svc_limits[i];
		uint64_t v = lmi_svc_limit_get(l, row);

		if (v < row->min || v > row->max)
			return lmd_fail(err, LMD_INVALID, "%s: %llu is outside %llu..%llu",
					row->name, (unsigned long long)v,
					(unsigned long long)row->min, (unsigned long long)row->max);
	}
	return LMD_OK;
}
