/* SPDX-License-Identifier: MIT
 *
 * weight_ref.h - from a weight reference to rows of tensors. */
#ifndef LLAMAD_CORE_PLAN_WEIGHT_REF_H
#define LLAMAD_CORE_PLAN_WEIGHT_REF_H

#include "llamad/backend.h"
#include "llamad/plan.h"

/* Checks a weight reference against the tensors of `model` (and `target`, NULL = none) and computes
 * the members that are 0: n_row of the parts, n, k, n_stack.  parts: w->parts, writable.  *dtype is
 * set to the enum lmd_dtype of the parts.  LMD_INVALID (or LMD_UNSUPPORTED) names weight, tensor
 * and both numbers. */
enum lmd_status lmi_plan_weight_ref_resolve(struct lmd_weight_ref *w, struct lmd_weight_part *parts,
					    const struct lmd_model *model,
					    const struct lmd_model *target, uint32_t *dtype,
					    struct lmd_error *err);

/* Locates the parts of a resolved weight reference: pieces [w->n_part].  The tensors must have
 * data; otherwise (only the header was opened) returns LMD_INVALID. */
enum lmd_status lmi_plan_weight_ref_pieces(const struct lmd_weight_ref *w,
					   const struct lmd_model *model,
					   const struct lmd_model *target,
					   struct lmd_weight_piece *pieces, uint32_t *dtype,
					   struct lmd_error *err);

/* Returns the model that the scale and bias of a weight reference belong to: that of its first
 * part. */
const struct lmd_model *lmi_plan_weight_ref_model(const struct lmd_weight_ref *w,
						  const struct lmd_model *model,
						  const struct lmd_model *target);

#endif /* LLAMAD_CORE_PLAN_WEIGHT_REF_H */
