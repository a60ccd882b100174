/* SPDX-License-Identifier: MIT
 *
 * group_ranks.h - the ranks of a group of devices under test: their plans, memory and steps. */
#ifndef LLAMAD_CORE_CONFORMANCE_GROUP_RANKS_H
#define LLAMAD_CORE_CONFORMANCE_GROUP_RANKS_H

#include "core/conformance/opcase_priv.h"

#define OC_MAX_RANK   4u
#define OC_RANK_ROWS  33u
#define OC_RANK_WIDTH 96u
#define OC_RANK_OUT   3u /* sums, rows side by side, sums of the sums */

struct oc_group_case;

/* A rank, with two steps that can be on the queue at the same time. */
struct oc_rank {
	struct oc_group_case *c;
	struct oc_backend be;
	bool opened;
	struct lmi_plan *plan;
	struct lmd_compiled_plan *compiled_plan;
	struct lmd_queue *q;
	struct lmd_event *event;
	struct {
		struct lmi_plan_step *step;
		struct lmd_buffer *in, *out[OC_RANK_OUT];
		float x[OC_RANK_ROWS * OC_RANK_WIDTH],
			y[OC_RANK_OUT][OC_RANK_ROWS * OC_RANK_WIDTH * OC_MAX_RANK];
		struct lmd_binding bind_in, bind_out[OC_RANK_OUT];
	} run[2];
	enum lmd_status st; /* of the last run */
	struct lmd_error err;
};

struct oc_group_case {
	const struct lmd_backend_ops *ops;
	struct lmd_devgroup *group;
	uint32_t n, width, n_row[2];
	struct oc_rank ranks[OC_MAX_RANK];
	uint64_t rng;
	struct lmd_host host; /* of a case with a clock of its own */
	const char *layout;   /* how the ranks run */
	struct lmd_error err;
	bool skip;
};

/* The text of why a case fails; returns false. */
bool oc_group_fail(struct oc_group_case *c, const char *text);

/* Opens the device of a rank; rank 0 is the device under test itself, unless the case has a host of its own. */
bool oc_group_open_rank(struct oc_group_case *c, struct oc_backend *be, uint32_t r);
/* Makes the group, and what its ranks need for their steps. */
bool oc_group_open(struct oc_group_case *c);
void oc_group_close(struct oc_group_case *c);
/* The plan of a rank. */
bool oc_group_make_plan(struct oc_group_case *c, uint32_t r);

/* New numbers and a step of n_row rows. */
void oc_group_fill(struct oc_group_case *c, uint32_t run, uint32_t n_row);
/* A rank's part of a step. */
enum lmd_status oc_group_upload(struct oc_rank *k, uint32_t run);
enum lmd_status oc_group_submit(struct oc_rank *k, uint32_t run);
/* Runs the step, or two steps one after the other without a wait between them; sets the status of each rank. */
bool oc_group_run(struct oc_group_case *c, uint32_t n_run);
/* ... which has to end well. */
bool oc_group_run_well(struct oc_group_case *c, uint32_t n_run);

#endif /* LLAMAD_CORE_CONFORMANCE_GROUP_RANKS_H */
