/* SPDX-License-Identifier: MIT
 *
 * simulated_device.h - devices that compute nothing, in simulated time: a step, choosing tokens and copies take
 * as long as the settings say, and the host's work takes the processor time of the calling thread, the only one.
 * Waiting takes no real time: the clock jumps. */
#ifndef LLAMAD_BENCH_SIMULATED_DEVICE_H
#define LLAMAD_BENCH_SIMULATED_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "llamad/backend.h"
#include "llamad/op.h"
#include "llamad/plan.h"
#include "llamad/plugin.h"
#include "llamad/step.h"

#define SIM_N_DEVICE 4
#define SIM_N_BEST   128 /* candidates of a row that a device can find */

struct sim_candidate {
	int32_t id;
	float logit;
};

struct sim {
	/* settings */
	/* a step of n_row rows; the share that does not depend on their number */
	double step_ns, fixed;
	double part[SIM_N_DEVICE]; /* of step_ns that each device takes */
	double bytes_per_ns;       /* of copies */
	bool finds_best;           /* the devices can find the best candidates */
	bool has_logits;           /* results have logits; otherwise they are left as they are */
	uint32_t n_row;            /* rows of a step of all sessions */
	/* so far */
	uint64_t jumped;   /* the engine waited for a device */
	uint64_t excluded; /* processor time of what a device would do itself */
	uint64_t busy_ns[SIM_N_DEVICE];
	/* logits: noise, other rows in each step */
	float *noise;                             /* [n_row + spare rows][width] */
	struct sim_candidate (*best)[SIM_N_BEST]; /* of these rows */
	uint32_t first;                           /* row of noise that the last step began with */
	uint32_t width, n_run;
};

extern struct sim sim_state;
extern const struct lmd_plugin sim_plugin; /* a backend "simulated" with SIM_N_DEVICE devices */

/* Returns the time of a clock in ns. */
uint64_t sim_clock_ns(clockid_t id);
/* Returns the simulated time in ns. ctx is not used. */
uint64_t sim_now_ns(void *ctx);
/* Returns how long the busiest device has computed since busy_ns was copied to `before`. */
uint64_t sim_busiest_ns(const uint64_t before[SIM_N_DEVICE]);
/* Makes the logits of n_row sessions and a vocabulary of `width` tokens. */
void sim_fill(uint32_t n_row, uint32_t width);
void sim_free(void);
/* Allocates zeroed memory, or ends the program. */
void *sim_alloc(size_t bytes);

#endif /* LLAMAD_BENCH_SIMULATED_DEVICE_H */
