/* SPDX-License-Identifier: MIT
 *
 * simulate.h - the scheduler in simulated time: requests arrive, steps take the time that a simple
 * model of a device gives, and the tokens of each request are reported with their times. The
 * scheduler and the page pool are those of the engine. */
#ifndef LLAMAD_CORE_SCHED_SIMULATE_H
#define LLAMAD_CORE_SCHED_SIMULATE_H

#include "core/sched/sched.h"

#define LMI_SCHED_SIM_REQUESTS_MAX 65536u

struct lmi_sched_sim_request {
	uint64_t at_ns; /* when it arrives */
	uint64_t client;
	enum lmi_sched_class class;
	uint32_t n_prompt, n_out; /* tokens, >= 1 */
};

struct lmi_sched_sim_opts {
	const struct lmi_sched_sim_request *request; /* [n_request], in order of arrival */
	uint32_t n_request;
	uint32_t n_seq, n_batch, n_ctx;
	/* requests that wait or run at once; what arrives beyond is refused. 0: all fit */
	uint32_t n_max;
	uint32_t page_tokens, n_page;
	uint64_t target_ns[LMI_SCHED_N_CLASS];
	uint32_t client_slowdown_percent; /* as in struct lmi_sched_opts */
	bool in_order; /* ignore clients and classes: all requests are those of one client */
	/* The time of a step: fixed_ns, row_ns for each row, and pair_ns for each pair of a row and
	 * one before it in the same sequence. host_ns follow before the next step. */
	double fixed_ns, row_ns, pair_ns, host_ns;
};

struct lmi_sched_sim_totals {
	uint64_t end_ns;  /* when the last request has ended */
	uint64_t busy_ns; /* time of the device in steps */
	uint64_t empty_ns; /* time without any request */
	/* requests that arrived when n_max others waited or ran; they have no tokens */
	uint32_t n_refused;
	struct lmi_sched_stats stats;
};

/* Called for each token: which request, and the time since its last token, or since its arrival.
 * n: how many tokens it has now. */
typedef void (*lmi_sched_sim_token_fn)(void *arg, uint32_t request, uint32_t n, uint64_t ns);

/* Runs all requests to their end. LMD_INVALID: a request does not fit; LMD_NOMEM. */
enum lmd_status lmi_sched_simulate(const struct lmi_sched_sim_opts *o, lmi_sched_sim_token_fn token,
				   void *arg, struct lmi_sched_sim_totals *out,
				   struct lmd_error *err);

#endif /* LLAMAD_CORE_SCHED_SIMULATE_H */
