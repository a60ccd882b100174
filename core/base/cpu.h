/* SPDX-License-Identifier: MIT
 *
 * cpu.h - detects the processor and the features that the operating system lets us use. */
#ifndef LLAMAD_CORE_BASE_CPU_H
#define LLAMAD_CORE_BASE_CPU_H

#include <stdbool.h>

#include "llamad/host.h"

/* Fills every member of struct lmd_cpu. A flag is set only if the processor has the feature and the
 * operating system saves its registers. For AMX a process also asks the kernel for permission before its
 * first tile; the code that uses tiles does that. Never fails: an unknown item gets its documented
 * "unknown" value. */
void lmi_cpu_detect(struct lmd_cpu *out);

/* Returns how many processors this process may run on, at least 1. */
uint32_t lmi_cpu_count(void);
/* Returns the number of the processor that the calling thread is on; 0 if that is unknown. */
uint32_t lmi_cpu_current(void);

/* Fills in the cache sizes described in the folder `sysfs_cpu0_cache`
 * ("/sys/devices/system/cpu/cpu0/cache"). Leaves *out unchanged if the folder describes none. */
void lmi_cpu_caches(const char *sysfs_cpu0_cache, struct lmd_cpu *out);

#endif /* LLAMAD_CORE_BASE_CPU_H */
