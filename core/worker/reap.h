/* SPDX-License-Identifier: MIT
 *
 * reap.h - waits for the end of processes that were killed, but not for ever: one that is stuck in the kernel,
 * for example in a driver, ends when the kernel lets it go. Such a process is noted and reaped later.
 *
 * The list belongs to the process, as its children do. Any thread. */
#ifndef LLAMAD_CORE_WORKER_REAP_H
#define LLAMAD_CORE_WORKER_REAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a worker may take to end after SIGKILL; unmapping much memory takes part of a second. */
#define LMI_WORKER_REAP_MS 5000

/* Processes that are noted; of more, a zombie stays until this process ends. */
#define LMI_WORKER_LEFT_MAX 64

/* Reaps a child that ends within timeout_ns; *status as of waitpid. Returns false if it has not ended: it is
 * noted. Reaps noted ones that have ended meanwhile. */
bool lmi_worker_reap(pid_t pid, uint64_t timeout_ns, int *status);
/* Reaps noted ones that have ended; returns how many have not. */
uint32_t lmi_worker_reap_left(void);

#endif /* LLAMAD_CORE_WORKER_REAP_H */
