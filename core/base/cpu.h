/* SPDX-License-Identifier: MIT
 *
 * cpu.h - what processor this is and what the operating system lets us use of it. */
#ifndef LLAMAD_CORE_BASE_CPU_H
#define LLAMAD_CORE_BASE_CPU_H

#include <stdbool.h>

#include "llamad/host.h"

/* Fills everything of struct lmd_cpu.  A flag is set only if the processor has the feature and the
 * operating system saves its registers; for AMX that includes asking the kernel for the
 * permission, which holds for the whole process from then on.  Never fails: what cannot be
 * found out has its documented "unknown" value. */
void lmi_cpu_detect(struct lmd_cpu *out);

/* Processors this process may run on, at least 1. */
uint32_t lmi_cpu_count(void);

/* The caches as described below `sysfs_cpu0_cache` ("/sys/devices/system/cpu/cpu0/cache");
 * a folder that says nothing leaves *out alone. */
void lmi_cpu_caches(const char *sysfs_cpu0_cache, struct lmd_cpu *out);

/* The names of the set flags, separated by blanks, for `llamactl` and the log; returns buf. */
const char *lmi_cpu_flag_names(uint64_t flags, char *buf, size_t n);

#endif /* LLAMAD_CORE_BASE_CPU_H */
