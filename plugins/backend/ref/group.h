/* SPDX-License-Identifier: MIT
 *
 * group.h - groups of devices that run one plan each at the same time, and exchange values.
 *
 * Threads: plan_run of each rank is called in a thread of its own, which computes all parts of the
 * plan: the team cannot be shared. */
#ifndef LLAMAD_PLUGINS_BACKEND_REF_GROUP_H
#define LLAMAD_PLUGINS_BACKEND_REF_GROUP_H

#include "backend/common/view.h"
#include "ref.h"

#define REF_MAX_RANK 8

enum lmd_status ref_group_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				 struct lmd_error *err);
void ref_group_destroy(struct lmd_devgroup *g);
uint32_t ref_group_size(const struct lmd_devgroup *g);

/* Begin and end a run of a rank's plan.  After a failure the other ranks do not wait for this one. */
void ref_group_begin(struct lmd_devgroup *g, uint32_t rank);
void ref_group_end(struct lmd_devgroup *g, uint32_t rank, enum lmd_status st);
/* Runs ALLREDUCE or ALLGATHER.  LMD_CANCELLED: the step was cancelled, or another rank failed;
 * LMD_TIMEOUT: another rank did not come. */
enum lmd_status ref_group_exchange(struct lmd_devgroup *g, const struct ref_run *r,
				   const struct lmd_op *op, struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_BACKEND_REF_GROUP_H */
