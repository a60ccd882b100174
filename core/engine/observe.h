/* SPDX-License-Identifier: MIT
 *
 * observe.h - looks into a step: shows every value, for people who port models or write backends,
 * and collects the numbers of an importance matrix.
 *
 * The engine must have been opened with in_line, and no command may be waiting or running. */
#ifndef LLAMAD_CORE_ENGINE_OBSERVE_H
#define LLAMAD_CORE_ENGINE_OBSERVE_H

#include "core/base/team.h"
#include "core/checkpoint/imatrix/imatrix.h"
#include "core/engine/engine.h"
#include "llamad/backend.h"
#include "llamad/op.h"

/* Runs all sequences of an evaluation in one step (an encoder's rows in a step before) and calls fn
 * for the result of each op. The engine must have been opened with keep_values, unless fn uses a
 * value only until the last op that reads it has run. The rows of a sequence from out_from on are
 * output, at least its last one. plan: set to the plan of the step before fn is called; valid as
 * long as the engine. LMD_INVALID: more rows than fit in a step. */
enum lmd_status lmi_engine_observe(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
				   const struct lmd_plan **plan, lmd_observe_fn fn, void *arg,
				   struct lmd_error *err);

/* Runs the sequences of an evaluation in one step. For every weight of a layer it adds the sums of
 * x[j] and x[j]^2 over the rows x that are multiplied by it, and their number: separately for each
 * expert in stacks of experts, and for each matrix with one common number in other stacks.
 * with_head: include the output head (output rows only). The engine must have been opened with
 * `unfused`. LMD_INVALID: a value is infinite or NaN; the message names the weight. */
enum lmd_status lmi_engine_importance_add(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
					  bool with_head, struct lmi_imatrix *m,
					  struct lmd_error *err);

/* ---- where the time of steps goes ---- */

struct lmi_engine_times {
	/* by enum lmd_op_code: how often such operations ran, and how long, in plans that exist; zeros for
	 * backends that do not measure it */
	struct {
		uint64_t n_run, ns;
	} op[LMD_N_OP + 1];
	struct lmi_team_times team; /* of the first device, unless it is in another process */
};

/* Starts to measure how long threads wait for each other, from zero. */
void lmi_engine_measure(struct lmi_engine *e);
void lmi_engine_times(const struct lmi_engine *e, struct lmi_engine_times *out);

#endif /* LLAMAD_CORE_ENGINE_OBSERVE_H */
