/* SPDX-License-Identifier: MIT
 *
 * host_services.h - the struct lmd_host that core passes to plugins. */
#ifndef LLAMAD_CORE_PLUGIN_HOST_SERVICES_H
#define LLAMAD_CORE_PLUGIN_HOST_SERVICES_H

#include <stdbool.h>

#include "llamad/host.h"

/* Creates a host. There is no global state, so a process may have several. cpu_flags_mask restricts
 * lmd_cpu.flags (for tests); UINT64_MAX = everything. Logs to standard error from LMD_LOG_WARN
 * on. */
enum lmd_status lmi_host_create(struct lmd_host **out, uint64_t cpu_flags_mask);
void lmi_host_destroy(struct lmd_host *h);

/* Set the most verbose level that is written, and whether lines are for the journal (log.h), with the path of
 * the journal's socket for entries with fields (NULL: lines alone). Any thread may set the level; the other must
 * be set before another thread uses the host. */
void lmi_host_set_log_level(struct lmd_host *h, int level);
void lmi_host_set_log_journal(struct lmd_host *h, bool journal, const char *socket_path);

#endif /* LLAMAD_CORE_PLUGIN_HOST_SERVICES_H */
