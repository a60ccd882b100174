/* SPDX-License-Identifier: MIT
 *
 * daemon_model.h - commands on a file, applied to a model of the daemon by its name instead. */
#ifndef LLAMAD_CLIENT_LLAMACTL_DAEMON_MODEL_H
#define LLAMAD_CLIENT_LLAMACTL_DAEMON_MODEL_H

#include "client/llamactl/remote.h"

/* Returns true if `what` is not a file here and a daemon is there to be asked. */
bool lmi_ctl_is_named(struct lmi_ctl *ctl, const char *what);

/* Print the same output as the command prints for a file; options that only a file can serve are a
 * usage error. */
enum lmd_status lmi_ctl_named_info(struct lmi_ctl *ctl, struct lmd_error *err);
enum lmd_status lmi_ctl_named_tokenize(struct lmi_ctl *ctl, const char *text, size_t n,
				       struct lmd_error *err);
/* Prints a text in the form of detokenize: its bytes, or an object with text and hex. */
void lmi_ctl_detokenize_print(const char *text, size_t n, bool json);
enum lmd_status lmi_ctl_named_detokenize(struct lmi_ctl *ctl, const lmd_token *ids, size_t n,
					 struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LLAMACTL_DAEMON_MODEL_H */
