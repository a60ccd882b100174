/* SPDX-License-Identifier: MIT
 *
 * signatures.h - which models this program may open: --signatures and --trusted-key, and the
 * environment variables that stand for them. */
#ifndef LLAMAD_LLAMACTL_SIGNATURES_H
#define LLAMAD_LLAMACTL_SIGNATURES_H

#include "client/llamactl/ctl.h"
#include "core/sign/policy.h"

/* Makes the common options the policy of the process. */
enum lmd_status lmi_ctl_set_signatures(struct lmi_ctl *ctl, struct lmd_error *err);

/* Returns the files and folders of the trusted keys; *one has room for one of the environment. */
uint32_t lmi_ctl_trusted_keys(const struct lmi_ctl *ctl, const char *const **out, const char **one);

#endif /* LLAMAD_LLAMACTL_SIGNATURES_H */
