/* SPDX-License-Identifier: MIT
 *
 * tail_plan.h - a plan of one op over the rows of logits, which a device runs after the plan of a step:
 * what choosing tokens (tail.h) and finding the best candidates (best.h) have in common.
 *
 * Threads: the engine's. */
#ifndef LLAMAD_CORE_ENGINE_TAIL_PLAN_H
#define LLAMAD_CORE_ENGINE_TAIL_PLAN_H

#include "core/engine/instance.h"
#include "core/engine/step.h"

#define LMI_ENGINE_TAIL_MEM 2u

struct lmi_engine_tail_slot {
	struct lmi_plan_step *step;
	struct lmi_engine_shared block, mem[LMI_ENGINE_TAIL_MEM]; /* of the device and the host */
};

struct lmi_engine_tail_plan {
	uint32_t device, n_vocab, n_row; /* n_row: of a step at most; set by the owner */
	struct lmi_plan *plan;
	struct lmd_step_layout layout;
	struct lmd_compiled_plan *compiled_plan;
	struct lmi_engine_tail_slot slot[LMI_ENGINE_MAX_STEP];
};

struct lmi_engine_tail_spec {
	/* Emits the op; as in struct lmd_arch_ops. */
	enum lmd_status (*build)(const void *state, const struct lmd_builder *b,
				 const struct lmd_plan_key *key);
	const void *state;
	const char *unsupported; /* if the device does not run the op and gives no reason */
	uint64_t bytes[LMI_ENGINE_TAIL_MEM]; /* of the memory of a slot */
};

/* Builds the plan alone.  LMD_UNSUPPORTED: the device does not run the op.  The caller holds inst. */
LMD_NODISCARD enum lmd_status lmi_engine_tail_plan_build(struct lmi_engine_tail_plan *t,
							 const struct lmi_inst *inst,
							 const struct lmi_engine_tail_spec *spec,
							 struct lmd_error *err);
/* Builds and compiles the plan and makes the slots.  Whatever it returns, close it. */
LMD_NODISCARD enum lmd_status lmi_engine_tail_plan_open(struct lmi_engine_tail_plan *t,
							struct lmi_inst *inst,
							const struct lmi_engine_tail_spec *spec,
							struct lmd_error *err);
void lmi_engine_tail_plan_close(struct lmi_inst *inst, struct lmi_engine_tail_plan *t);

/* Does it run over the output of this plan? */
bool lmi_engine_tail_plan_serves(const struct lmi_engine_tail_plan *t,
				 const struct lmi_engine_exec *e);
/* Queues a run. */
LMD_NODISCARD enum lmd_status lmi_engine_tail_plan_run(struct lmi_inst *inst,
						       const struct lmi_engine_tail_plan *t,
						       uint32_t slot, const struct lmd_binding *in,
						       uint32_t n_in, const struct lmd_binding *out,
						       uint32_t n_out, struct lmd_error *err);
struct lmd_binding lmi_engine_tail_plan_bind(uint32_t id, const struct lmi_engine_shared *m,
					     uint32_t n_row, uint64_t row_bytes, uint64_t offset);

#endif /* LLAMAD_CORE_ENGINE_TAIL_PLAN_H */
