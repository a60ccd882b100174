/* SPDX-License-Identifier: MIT
 *
 * observed.h - the values of one step, kept by name: what debug observe prints and debug diff
 * compares. */
#ifndef LLAMAD_LLAMACTL_OBSERVED_H
#define LLAMAD_LLAMACTL_OBSERVED_H

#include "client/llamactl/eval_args.h"
#include "core/engine/observe.h"

struct lmi_seen {
	char name[64]; /* of the value */
	char op[16];   /* that wrote it (last) */
	uint32_t n_row, width;
	bool i32;
	float *v; /* [n_row][width]; integers as numbers */
};

struct lmi_seen_list {
	struct lmi_seen *v; /* in the order in which they were first written */
	uint32_t n, cap;
};

/* Opens the model of the running command on `backend` with `activations`, runs the input in one
 * step and keeps every value.  only: name of the one that is wanted; NULL: all.  Release
 * with fini, after a failure too. */
enum lmd_status lmi_seen_run(struct lmi_ctl *ctl, const struct lmi_eval_args *in,
			     const char *backend, uint32_t activations, const char *only,
			     struct lmi_seen_list *out, struct lmd_error *err);
void lmi_seen_fini(struct lmi_seen_list *l);
/* NULL when there is none of that name. */
const struct lmi_seen *lmi_seen_find(const struct lmi_seen_list *l, const char *name);

#endif /* LLAMAD_LLAMACTL_OBSERVED_H */
