/* SPDX-License-Identifier: MIT
 *
 * wref.h - from a weight reference to rows of tensors. */
#ifndef LLAMAD_CORE_PLAN_WREF_H
#define LLAMAD_CORE_PLAN_WREF_H

#include "llamad/backend.h"
#include "llamad/plan.h"

/* Checks a weight reference against the tensors of `model` (and `target`, NULL = none) and computes
 * the members that are 0: n_row of the parts, n, k, n_stack.  parts: w->parts, writable.  *dtype is
 * set to the enum lmd_dtype of the parts.  LMD_INVALID (or LMD_UNSUPPORTED) names weight, tensor
 * and both numbers. */
enum lmd_status lmi_wref_resolve(struct lmd_wref *w, struct lmd_wpart *parts,
				 const struct lmd_model *model, const struct lmd_model *target,
				 uint32_t *dtype, struct lmd_error *err);

/* Locates the parts of a resolved weight reference: pieces [w->n_part].  The tensors must have
 * data; otherwise (only the header was opened) returns LMD_INVALID. */
enum lmd_status lmi_wref_pieces(const struct lmd_wref *w, const struct lmd_model *model,
				const struct lmd_model *target, struct lmd_wpiece *pieces,
				uint32_t *dtype, struct lmd_error *err);

/* Returns the model that the scale and bias of a weight reference belong to: that of its first
 * part. */
const struct lmd_model *lmi_wref_model(const struct lmd_wref *w, const struct lmd_model *model,
				       const struct lmd_model *target);

#endif /* LLAMAD_CORE_PLAN_WREF_H */
