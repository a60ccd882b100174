/* SPDX-License-Identifier: MIT
 *
 * importance.h - what a text sends through the weights of a model, column by column: the
 * numbers of an importance matrix. */
#ifndef LLAMAD_CORE_ENGINE_IMPORTANCE_H
#define LLAMAD_CORE_ENGINE_IMPORTANCE_H

#include "core/engine/command.h"
#include "core/engine/instance.h"
#include "core/format/imatrix/imatrix.h"

/* Runs the sequences of an evaluation in one step and adds, for every weight of a layer, the sums
 * of x[j] and x[j]^2 over the rows x that are multiplied with it, and their number; in stacks of
 * experts for each expert by itself, in other stacks for each matrix with one number for all.
 * with_head: the output head too (rows that leave).  The instance was opened with `apart` and is in
 * nobody else's use.  LMD_INVALID: a value is infinite or no number; names the weight. */
enum lmd_status lmi_importance_add(struct lmi_inst *inst, const struct lmi_eval *cmd,
				   bool with_head, struct lmi_imatrix *m, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_IMPORTANCE_H */
