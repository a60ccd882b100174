/* SPDX-License-Identifier: MIT
 *
 * exec_impl.h - how plans are built, measured and compiled, shared by exec.c and its neighbours. */
#ifndef LLAMAD_CORE_ENGINE_EXEC_IMPL_H
#define LLAMAD_CORE_ENGINE_EXEC_IMPL_H

#include "core/engine/instance.h"

/* ---- exec_build.c ---- */

/* Builds the plan of e->key, lowers it for the devices of its ops and cuts it into segments; nothing of it is
 * on a device yet. */
enum lmd_status lmi_engine_exec_build(struct lmi_inst *inst, struct lmi_engine_exec *e,
				      struct lmd_error *err);
void lmi_engine_exec_discard_segments(struct lmi_engine_exec *e);
/* Finds the output that a caller of this plan wants to read, and the bytes of its rows. */
uint64_t lmi_engine_exec_find_output(const struct lmi_inst *inst, struct lmi_engine_exec *e);
/* Returns the device whose buckets the plans of an instance have: the first one that has any. */
const struct lmd_device_info *lmi_engine_exec_buckets(const struct lmi_inst *inst);
/* Returns its smallest bucket for a full step; 0: it has none, or no such bucket. */
uint32_t lmi_engine_exec_full_bucket(const struct lmi_inst *inst);
/* Sets the error message for a plan without memory. */
enum lmd_status lmi_engine_exec_no_memory(struct lmd_error *err);

/* ---- exec_memory.c ---- */

/* What a plan takes on one device. */
struct lmi_engine_exec_need {
	uint64_t weights, scratch, links;
};

/* Of n plans, which share weights and scratch memory. */
enum lmd_status lmi_engine_exec_need_on(struct lmi_inst *inst,
					const struct lmi_engine_exec *const *e, uint32_t n,
					uint32_t device, struct lmi_engine_exec_need *out,
					struct lmd_error *err);
/* Returns the bytes of scratch memory that a device lacks for a plan. */
uint64_t lmi_engine_exec_more_scratch(const struct lmi_inst_device *d, uint64_t bytes);
/* LMD_NOMEM: with the needs of one more plan, the instance exceeds the budget of the device. */
enum lmd_status lmi_engine_exec_check_memory(const struct lmi_inst_device *d, const struct lmi_inst *inst,
					     const struct lmi_engine_exec_need *n, struct lmd_error *err);

/* ---- exec.c ---- */

/* May a device choose tokens from the plan's logits? If not, inst->no_tail says why. */
bool lmi_engine_exec_may_sample(struct lmi_inst *inst, const struct lmi_engine_exec *e);
/* LMD_BUSY: steps are running. */
enum lmd_status lmi_engine_exec_wait_for_steps(const struct lmi_inst *inst, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_EXEC_IMPL_H */
