/* SPDX-License-Identifier: MIT
 *
 * observed.h - the values of one step, kept by name: debug observe prints them and debug diff
 * compares them. */
#ifndef LLAMAD_LLAMACTL_OBSERVED_H
#define LLAMAD_LLAMACTL_OBSERVED_H

#include "client/llamactl/eval_args.h"
#include "core/engine/observe.h"

struct lmi_seen {
	char name[64]; /* name of the value */
	char op[16];   /* operation that wrote the value (last) */
	uint32_t n_row, width;
	bool i32;
	float *v; /* [n_row][width]; integers as numbers */
};

struct lmi_seen_list {
	struct lmi_seen *v; /* in the order in which they were first written */
	uint32_t n, cap;
};

/* Opens the model of the running command on `backend` with `activations`, runs the input in one
 * step and keeps every value. only: the name of the one value to keep; NULL: all. Release with
 * fini, also after a failure. */
enum lmd_status lmi_seen_run(struct lmi_ctl *ctl, const struct lmi_eval_args *in,
			     const char *backend, uint32_t activations, const char *only,
			     struct lmi_seen_list *out, struct lmd_error *err);
void lmi_seen_fini(struct lmi_seen_list *l);
/* Returns NULL if there is no value of that name. */
const struct lmi_seen *lmi_seen_find(const struct lmi_seen_list *l, const char *name);

#endif /* LLAMAD_LLAMACTL_OBSERVED_H */
