/* SPDX-License-Identifier: MIT
 *
 * observed_values.h - the values of one step, kept by name: debug observe prints them and debug
 * diff compares them. */
#ifndef LLAMAD_CLIENT_LLAMACTL_OBSERVED_VALUES_H
#define LLAMAD_CLIENT_LLAMACTL_OBSERVED_VALUES_H

#include "client/llamactl/eval_args.h"
#include "core/engine/observe.h"

struct lmi_ctl_observed_value {
	char name[64]; /* name of the value */
	char op[16];   /* operation that wrote the value (last) */
	uint32_t n_row, width;
	bool i32;
	float *v; /* [n_row][width]; integers as numbers */
};

struct lmi_ctl_seen_list {
	struct lmi_ctl_observed_value *v; /* in the order in which they were first written */
	uint32_t n, cap;
};

/* Opens the model of the running command on `backend` with `activations`, runs the input in one
 * step and keeps every value. only: the name of the one value to keep; NULL: all. Release with
 * fini, also after a failure. */
enum lmd_status lmi_ctl_observe_values(struct lmi_ctl *ctl, const struct lmi_ctl_eval_args *in,
				       const char *backend, uint32_t activations, const char *only,
				       struct lmi_ctl_seen_list *out, struct lmd_error *err);
void lmi_ctl_seen_fini(struct lmi_ctl_seen_list *l);
/* Returns NULL if there is no value of that name. */
const struct lmi_ctl_observed_value *lmi_ctl_seen_find(const struct lmi_ctl_seen_list *l,
						       const char *name);

#endif /* LLAMAD_CLIENT_LLAMACTL_OBSERVED_VALUES_H */
