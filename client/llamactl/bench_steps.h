/* SPDX-License-Identifier: MIT
 *
 * bench_steps.h - the speed of an engine, taken step by step. */
#ifndef LLAMAD_LLAMACTL_BENCH_STEPS_H
#define LLAMAD_LLAMACTL_BENCH_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"

struct lmi_ctl_bench_work {
	bool prompt;    /* all at once, with the logits of the last; else one by one, with all */
	uint32_t n;     /* tokens of each sequence that count */
	uint32_t n_seq; /* sequences that generate together; 1 for a prompt */
	uint32_t depth; /* tokens of each sequence before those that count */
};

/* Returns the tokens of the KV cache that the work needs. */
uint64_t lmi_ctl_bench_kv_tokens(const struct lmi_ctl_bench_work *w);

/* Runs the work once in an in-line engine. *rate: tokens per second, of all sequences together. */
enum lmd_status lmi_ctl_bench_run(struct lmi_engine *e, const struct lmi_ctl_bench_work *w,
				  double *rate, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_BENCH_STEPS_H */
