/* SPDX-License-Identifier: MIT
 *
 * team.h - threads that run the parts of one job at a time.
 *
 * A team of n has n - 1 threads of its own; the thread that calls lmi_team_run is part 0. Between
 * jobs the threads spin for a moment and then sleep in the kernel. lmi_team_run neither allocates
 * nor locks. A team runs one job at a time: calls of lmi_team_run on one team must not overlap, and
 * a job must not run another job on its own team. A job with phases runs once and separates them by
 * lmi_team_barrier. */
#ifndef LLAMAD_CORE_BASE_TEAM_H
#define LLAMAD_CORE_BASE_TEAM_H

#include <stdint.h>

#include "llamad/host.h"

#define LMI_TEAM_MAX 1024

struct lmi_team_opts {
	uint32_t n; /* 1..LMI_TEAM_MAX parts */
	/* How long a thread spins for the next job before it sleeps, in ns; UINT32_MAX selects the
	 * default. A team larger than the number of processors never spins. */
	uint32_t spin_ns;
	/* Pins part i > 0 to the i-th processor of the affinity mask (modulo their number). */
	bool pin;
	/* How long a thread spins at a barrier inside a job, in ns; 0 selects the default. With
	 * spin_ns 0 it sleeps at once. On a virtual machine a barrier of two spinning threads takes
	 * 0.3 us, one that sleeps and wakes 14 us; phases of small models differ by a few us
	 * between threads. */
	uint32_t barrier_ns;
};
#define LMI_TEAM_SPIN_DEFAULT    200000u
#define LMI_TEAM_BARRIER_DEFAULT 50000u

enum lmd_status lmi_team_create(struct lmd_team **out, const struct lmi_team_opts *opts,
				struct lmd_error *err);
/* No job may be running. t may be NULL. */
void lmi_team_destroy(struct lmd_team *t);

/* Runs fn(arg, part, n) for every part and returns when all are done; everything they wrote is then
 * visible. If t is NULL, runs a single part on the calling thread. */
void lmi_team_run(struct lmd_team *t, lmd_part_fn fn, void *arg);
/* Called the same number of times in every part of a job. Returns when all parts have called it;
 * what they wrote before is then visible. Does nothing if t is NULL. */
void lmi_team_barrier(struct lmd_team *t);
/* Returns the number of parts; 1 for NULL. */
uint32_t lmi_team_size(const struct lmd_team *t);

#endif /* LLAMAD_CORE_BASE_TEAM_H */
