/* SPDX-License-Identifier: MIT
 *
 * model_check.h - compares the tensors of a model with the tables of its architecture: which are
 * used, missing, of another shape, or unused. */
#ifndef LLAMAD_CORE_PLAN_MODEL_CHECK_H
#define LLAMAD_CORE_PLAN_MODEL_CHECK_H

#include "llamad/arch.h"
#include "llamad/model.h"
#include "llamad/status.h"

enum lmi_plan_tensor_match {
	LMI_PLAN_TENSOR_USED = 0,        /* as the table says */
	LMI_PLAN_TENSOR_MISSING = 1,     /* required but absent */
	LMI_PLAN_TENSOR_BAD_SHAPE = 2,   /* present with another shape */
	LMI_PLAN_TENSOR_IGNORED = 3,     /* known, but not needed by this program */
	LMI_PLAN_TENSOR_AFTER_TRUNK = 4, /* of a block after the trunk (drafts) */
	LMI_PLAN_TENSOR_UNKNOWN = 5      /* not in any table */
};
#define LMI_PLAN_N_TENSOR_MATCH 6

/* "used", "missing", "shape", "ignored", "beyond", "unknown". */
const char *lmi_plan_tensor_match_text(enum lmi_plan_tensor_match fit);

struct lmi_plan_model_tensor {
	const char *name;
	enum lmi_plan_tensor_match match;
	const struct lmd_tensor *tensor; /* NULL: missing */
	uint32_t n_expected;             /* dimensions other than 1; 0: any shape, or unknown */
	int64_t expected[LMD_MAX_DIMS];
};

/* Entries for the model's tensors in file order, then for the missing ones. */
struct lmi_plan_model_check {
	uint32_t n;
	const struct lmi_plan_model_tensor *tensors;
	uint32_t count[LMI_PLAN_N_TENSOR_MATCH];
	struct lmd_arena *arena; /* owns the entries */
};

/* Compares the tensors.  desc: result of describe() for this model.  Returns LMD_OK even if tensors
 * are missing; fails only if out of memory or if a table is invalid (LMD_INVALID).  Release with
 * _fini. */
enum lmd_status lmi_plan_model_check(struct lmi_plan_model_check *out, const struct lmd_model *m,
				     const struct lmd_arch_ops *arch,
				     const struct lmd_arch_desc *desc, struct lmd_error *err);
void lmi_plan_model_check_fini(struct lmi_plan_model_check *c);

/* Returns LMD_OK, or the error with which a loader rejects the model: the first missing tensor
 * (LMD_NOTFOUND) or the first with another shape (LMD_INVALID), with the expected and actual shape
 * and the number of further mismatches. */
enum lmd_status lmi_plan_model_check_status(const struct lmi_plan_model_check *c,
					    struct lmd_error *err);

/* Formats the dimensions other than 1, as in "[576, 49152]"; "[1]" if all are 1. */
const char *lmi_plan_dims_text(char *buf, size_t n, const int64_t *dims, uint32_t n_dim);

#endif /* LLAMAD_CORE_PLAN_MODEL_CHECK_H */
