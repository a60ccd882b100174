/* SPDX-License-Identifier: MIT
 *
 * ps_memory.h - what the models of a daemon have in memory. */
#ifndef LLAMAD_CLIENT_LLAMACTL_PS_MEMORY_H
#define LLAMAD_CLIENT_LLAMACTL_PS_MEMORY_H

#include "client/llamactl/ctl.h"

/* Prints it as a table, or with --json as a list. */
enum lmd_status lmi_ctl_ps_memory(struct lmi_ctl *ctl, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LLAMACTL_PS_MEMORY_H */
