/* SPDX-License-Identifier: MIT
 *
 * host_services.h - the struct lmd_host that core gives to plugins. */
#ifndef LLAMAD_CORE_PLUGIN_HOST_SERVICES_H
#define LLAMAD_CORE_PLUGIN_HOST_SERVICES_H

#include "llamad/host.h"

/* One host per process would do, but nothing is global: create as many as wanted.
 * cpu_flags_mask lowers what lmd_cpu.flags shows (tests); UINT64_MAX = everything.
 * Logs to standard error, from LMD_LOG_WARN on. */
enum lmd_status lmi_host_create(struct lmd_host **out, uint64_t cpu_flags_mask);
void lmi_host_destroy(struct lmd_host *h);

/* Greatest enum lmd_log_level that is written, and where to (not owned).  Any thread may set the
 * level; the descriptor is set before others use the host. */
void lmi_host_set_log_level(struct lmd_host *h, int level);
void lmi_host_set_log_fd(struct lmd_host *h, int fd);

#endif /* LLAMAD_CORE_PLUGIN_HOST_SERVICES_H */
