/* SPDX-License-Identifier: MIT
 *
 * host_services.h - the struct lmd_host that core gives to plugins. */
#ifndef LLAMAD_CORE_PLUGIN_HOST_SERVICES_H
#define LLAMAD_CORE_PLUGIN_HOST_SERVICES_H

#include <stdbool.h>

#include "llamad/host.h"

/* One host per process would do, but nothing is global: create as many as wanted.
 * cpu_flags_mask lowers what lmd_cpu.flags shows (tests); UINT64_MAX = everything.
 * Logs to standard error, from LMD_LOG_WARN on. */
enum lmd_status lmi_host_create(struct lmd_host **out, uint64_t cpu_flags_mask);
void lmi_host_destroy(struct lmd_host *h);

/* Greatest enum lmd_log_level that is written, where to (not owned), and whether lines are for
 * the journal (log.h).  Any thread may set the level; the others are set before somebody else
 * uses the host. */
void lmi_host_set_log_level(struct lmd_host *h, int level);
void lmi_host_set_log_fd(struct lmd_host *h, int fd);
void lmi_host_set_log_journal(struct lmd_host *h, bool journal);

#endif /* LLAMAD_CORE_PLUGIN_HOST_SERVICES_H */
