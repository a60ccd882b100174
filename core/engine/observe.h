/* SPDX-License-Identifier: MIT
 *
 * observe.h - one step of given sequences, value by value: for people who port models or
 * write backends. */
#ifndef LLAMAD_CORE_ENGINE_OBSERVE_H
#define LLAMAD_CORE_ENGINE_OBSERVE_H

#include "core/engine/command.h"
#include "core/engine/instance.h"

/* Runs all sequences of an evaluation in one step (an encoder's rows in a step before) and calls fn
 * for what each op wrote.  The instance was opened with keep_values, or fn looks at a value only
 * until the last op that uses it has run, and is in nobody else's use.  Rows from out_from of a
 * sequence on leave, at least its last one.  exec: the number of the plan that ran.  LMD_INVALID:
 * more rows than a step has. */
enum lmd_status lmi_observe(struct lmi_inst *inst, const struct lmi_eval *cmd, uint32_t *exec,
			    lmd_observe_fn fn, void *arg, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_OBSERVE_H */
