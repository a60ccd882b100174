/* SPDX-License-Identifier: MIT
 *
 * chat_args.h - the options of an answer that name files or say how a prompt becomes a
 * conversation, read for `run` and `generate`; the options are those of answer_opts.h. */
#ifndef LLAMAD_LLAMACTL_CHAT_ARGS_H
#define LLAMAD_LLAMACTL_CHAT_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "client/llamactl/ctl.h"
#include "llamad/types.h"

/* ptr NULL: not given. */
struct lmi_chat_args {
	struct lmd_str system;
	struct lmd_str template; /* a text or a name */
	struct lmd_str args;     /* JSON object */
	struct lmd_str tools;    /* JSON array */
	struct lmd_str grammar, schema;
	bool wanted; /* something was given that only a template can do */
	char *own[5];
};

/* Release with fini, after a failure too. */
enum lmd_status lmi_chat_args(struct lmi_ctl *ctl, struct lmi_chat_args *out,
			      struct lmd_error *err);
void lmi_chat_args_fini(struct lmi_chat_args *a);

#endif /* LLAMAD_LLAMACTL_CHAT_ARGS_H */
