/* SPDX-License-Identifier: MIT
 *
 * model_check.h - the tensors of a model against the tables of its architecture: what is there,
 * what is missing, what has another shape, what is not used. */
#ifndef LLAMAD_CORE_PLAN_MODEL_CHECK_H
#define LLAMAD_CORE_PLAN_MODEL_CHECK_H

#include "llamad/arch.h"
#include "llamad/model.h"
#include "llamad/status.h"

enum lmi_fit {
	LMI_FIT_USED = 0,    /* as a table says */
	LMI_FIT_MISSING = 1, /* required and not there */
	LMI_FIT_SHAPE = 2,   /* there, with another shape */
	LMI_FIT_IGNORED = 3, /* known; not needed for what this program does */
	LMI_FIT_BEYOND = 4,  /* of a block behind the trunk (drafts) */
	LMI_FIT_UNKNOWN = 5  /* in no table */
};
#define LMI_N_FIT 6

/* "used", "missing", "shape", "ignored", "beyond", "unknown". */
const char *lmi_fit_text(enum lmi_fit fit);

struct lmi_model_fit {
	const char *name;
	enum lmi_fit fit;
	const struct lmd_tensor *tensor; /* NULL: missing */
	uint32_t n_want;		 /* dimensions other than 1; 0: any shape, or not known */
	int64_t want[LMD_MAX_DIMS];
};

/* Entries of the model's tensors in file order, then the missing ones. */
struct lmi_model_check {
	uint32_t n;
	const struct lmi_model_fit *fits;
	uint32_t count[LMI_N_FIT];
	struct lmd_arena *arena; /* owns the entries */
};

/* Compares.  desc: of describe() for this model.  LMD_OK also when things are missing; fails for
 * want of memory alone, or when a table is no table (LMD_INVALID).  Release with _fini. */
enum lmd_status lmi_model_check(struct lmi_model_check *out, const struct lmd_model *m,
				const struct lmd_arch_ops *arch, const struct lmd_arch_desc *desc,
				struct lmd_error *err);
void lmi_model_check_fini(struct lmi_model_check *c);

/* LMD_OK, or the sentence a loader refuses with: the first missing tensor (LMD_NOTFOUND) or the
 * first of another shape (LMD_INVALID), expected and found, and how many more there are. */
enum lmd_status lmi_model_check_verdict(const struct lmi_model_check *c, struct lmd_error *err);

/* "[576, 49152]" of the dimensions other than 1; "[1]" when all are. */
const char *lmi_shape_text(char *buf, size_t n, const int64_t *dims, uint32_t n_dim);

#endif /* LLAMAD_CORE_PLAN_MODEL_CHECK_H */
