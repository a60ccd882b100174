/* SPDX-License-Identifier: MIT
 *
 * input_texts.h - several texts for one request, from the command line or standard input. */
#ifndef LLAMAD_CLIENT_LLAMACTL_INPUT_TEXTS_H
#define LLAMAD_CLIENT_LLAMACTL_INPUT_TEXTS_H

#include <stdint.h>

#include "client/llamactl/ctl.h"
#include "llamad/types.h"

struct lmi_ctl_texts {
	struct lmd_str *v; /* [n] */
	uint32_t n;
	char *own;
};

/* Takes the positional arguments from number `first` on or, if there are none, the lines of standard
 * input that are not empty.  Zero *t before, and release it with fini, also after a failure. */
enum lmd_status lmi_ctl_texts_read(struct lmi_ctl_texts *t, const struct lmi_args *a, uint32_t first,
				   struct lmd_error *err);
void lmi_ctl_texts_fini(struct lmi_ctl_texts *t);

#endif /* LLAMAD_CLIENT_LLAMACTL_INPUT_TEXTS_H */
