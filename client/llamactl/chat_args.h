/* SPDX-License-Identifier: MIT
 *
 * chat_args.h - reads, for `run` and `generate`, the options that name files or turn a prompt into
 * a conversation; answer_opts.h defines the options. */
#ifndef LLAMAD_LLAMACTL_CHAT_ARGS_H
#define LLAMAD_LLAMACTL_CHAT_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "client/llamactl/ctl.h"
#include "llamad/types.h"

/* A member with ptr NULL was not given. */
struct lmi_ctl_chat_args {
	struct lmd_str system;
	struct lmd_str template; /* template text or name */
	struct lmd_str args;     /* JSON object */
	struct lmd_str tools;    /* JSON array */
	struct lmd_str grammar, schema;
	bool needs_template; /* an option was given that needs a template */
	char *owned[5];
};

/* Release with fini, also after a failure. */
enum lmd_status lmi_ctl_chat_args(struct lmi_ctl *ctl, struct lmi_ctl_chat_args *out,
				  struct lmd_error *err);
void lmi_ctl_chat_args_fini(struct lmi_ctl_chat_args *a);

#endif /* LLAMAD_LLAMACTL_CHAT_ARGS_H */
