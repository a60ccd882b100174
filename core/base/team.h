/* SPDX-License-Identifier: MIT
 *
 * team.h - threads that run the parts of one job at a time.
 *
 * A team of n has n - 1 threads of its own; the thread that calls lmi_team_run is part 0. Between
 * jobs the threads spin for a moment and then sleep in the kernel. lmi_team_run neither allocates
 * nor locks. Jobs can have fewer parts than the team has threads: memory feeds few threads, and
 * products of many rows keep all of them at work. A team runs one job at a time: calls of
 * lmi_team_run on one team must not overlap, and a job must not run another job on its own team. A
 * job with phases runs once and separates them by lmi_team_barrier. */
#ifndef LLAMAD_CORE_BASE_TEAM_H
#define LLAMAD_CORE_BASE_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cpu_set.h"
#include "llamad/host.h"

#define LMI_TEAM_MAX 1024

struct lmi_team_opts {
	uint32_t n; /* 1..LMI_TEAM_MAX parts */
	/* How long a thread spins for the next job before it sleeps, in ns; UINT32_MAX selects the
	 * default. A team larger than the number of processors never spins. */
	uint32_t spin_ns;
	/* [n] the processors of each part (cpu_set.h), which are copied; NULL: the threads run
	 * anywhere. The thread that calls lmi_team_run is bound as well, from its first call until
	 * the team is destroyed, if it does that. */
	const struct lmi_cpu_set *cpus;
	/* How long a thread spins at a barrier inside a job, in ns; 0 selects the default. With
	 * spin_ns 0 it sleeps at once. On a virtual machine a barrier of two spinning threads takes
	 * 0.3 us, one that sleeps and wakes 14 us; phases of small models differ by a few us
	 * between threads. */
	uint32_t barrier_ns;
	/* Number of parts while lmi_team_use_few holds: 1..n; 0 = n. The other threads sleep
	 * meanwhile. */
	uint32_t n_few;
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
/* Returns the number of parts of the next job; 1 for NULL. */
uint32_t lmi_team_size(const struct lmd_team *t);
/* Chooses whether the following jobs have n_few parts, or n, as they have at first. No job may be
 * running. Does nothing if t is NULL. */
void lmi_team_use_few(struct lmd_team *t, bool few);

/* Of the jobs since lmi_team_measure. */
struct lmi_team_times {
	uint64_t part_ns; /* time of jobs, times their parts */
	uint64_t wait_ns; /* of which parts waited for others, at barriers or for the end of the job */
};
/* Starts to measure, from zero. No job may be running. Does nothing if t is NULL. */
void lmi_team_measure(struct lmd_team *t);
/* Zeros unless it is measured. No job may be running. */
struct lmi_team_times lmi_team_times(const struct lmd_team *t);

/* ---- the threads of a model ---- */

/* More rows than this are many: products of fewer wait for memory, and have the same kernels. */
#define LMI_TEAM_FEW_ROWS 16u

struct lmi_team_threads {
	uint32_t n;	 /* threads for a step of few rows; 0: one per processor of the place */
	uint32_t n_many; /* threads for a step of many rows; 0: n */
	struct lmi_cpu_place place;
};

/* Creates the team of a model. t->n and t->n_many are replaced by the numbers that 0 stands for.
 * *out: NULL if the calling thread alone computes, wherever it runs. LMD_INVALID: too many threads;
 * errors of lmi_cpu_place; LMD_NOMEM. */
enum lmd_status lmi_team_open(struct lmd_team **out, struct lmi_team_threads *t,
			      struct lmd_error *err);
/* Replaces the numbers alone, and creates nothing. Errors as above. */
enum lmd_status lmi_team_resolve(struct lmi_team_threads *t, struct lmd_error *err);
/* Chooses the threads of the next jobs, which compute a step of n_row rows. team: of lmi_team_open. */
void lmi_team_choose(struct lmd_team *team, const struct lmi_team_threads *t, uint32_t n_row);

#endif /* LLAMAD_CORE_BASE_TEAM_H */
