/* SPDX-License-Identifier: MIT
 *
 * observe.h - runs one step of given sequences and shows every value, for people who port models or
 * write backends. */
#ifndef LLAMAD_CORE_ENGINE_OBSERVE_H
#define LLAMAD_CORE_ENGINE_OBSERVE_H

#include "core/engine/command.h"
#include "core/engine/instance.h"

/* Runs all sequences of an evaluation in one step (an encoder's rows in a step before) and calls fn
 * for the result of each op. The instance must have been opened with keep_values, unless fn uses a
 * value only until the last op that reads it has run; and it must not be in use by anybody else.
 * The rows of a sequence from out_from on are output, at least its last one. exec: set to the
 * number of the plan that ran. LMD_INVALID: more rows than fit in a step. */
enum lmd_status lmi_observe(struct lmi_inst *inst, const struct lmi_eval *cmd, uint32_t *exec,
			    lmd_observe_fn fn, void *arg, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_OBSERVE_H */
