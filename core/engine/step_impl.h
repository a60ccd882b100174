/* SPDX-License-Identifier: MIT
 *
 * step_impl.h - the parts of a step before it runs (step.c): its block and the pools. */
#ifndef LLAMAD_CORE_ENGINE_STEP_IMPL_H
#define LLAMAD_CORE_ENGINE_STEP_IMPL_H

#include "core/engine/step.h"

/* Fills the block of the plan's first device for these parts, page tables included. w may be NULL.
 * Errors: those of lmi_engine_step_changes; LMD_* of the architecture's row inputs. */
enum lmd_status lmi_engine_step_fill(struct lmi_inst *inst, struct lmi_engine_exec *e,
				     uint32_t slot, const struct lmi_engine_rows *parts,
				     uint32_t n_part, const struct lmi_engine_step_watch *w,
				     struct lmd_error *err);

/* Puts the page table changes of a sequence in a group into the block; if it has more than fit, they
 * are made by an operation before the step. Errors are the backend's. */
enum lmd_status lmi_engine_step_changes(struct lmi_inst *inst, const struct lmi_engine_exec *e,
					struct lmi_engine_slot *slot, struct lmi_plan_step *s,
					uint32_t g, uint32_t seq, struct lmd_error *err);
/* Makes the changes of the block on the devices that take no part in the step: they do not get it. */
enum lmd_status lmi_engine_step_tell_others(struct lmi_inst *inst, const struct lmi_engine_exec *e,
					    const struct lmi_plan_step *s, struct lmd_error *err);
/* Copies the shared pages that the step writes to. */
enum lmd_status lmi_engine_step_copy_pages(struct lmi_inst *inst, const struct lmi_engine_exec *e,
					   struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_STEP_IMPL_H */
