/* SPDX-License-Identifier: MIT
 *
 * importance.h - collects the numbers of an importance matrix: statistics of the activations that a
 * text sends into each column of a model's weights. */
#ifndef LLAMAD_CORE_ENGINE_IMPORTANCE_H
#define LLAMAD_CORE_ENGINE_IMPORTANCE_H

#include "core/engine/command.h"
#include "core/engine/instance.h"
#include "core/format/imatrix/imatrix.h"

/* Runs the sequences of an evaluation in one step. For every weight of a layer it adds the sums of
 * x[j] and x[j]^2 over the rows x that are multiplied by it, and their number: separately for each
 * expert in stacks of experts, and for each matrix with one common number in other stacks.
 * with_head: include the output head (output rows only). The instance must have been opened with
 * `apart` and not be in use by anybody else. LMD_INVALID: a value is infinite or NaN; the message
 * names the weight. */
enum lmd_status lmi_importance_add(struct lmi_inst *inst, const struct lmi_eval *cmd,
				   bool with_head, struct lmi_imatrix *m, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_IMPORTANCE_H */
