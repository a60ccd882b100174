/* SPDX-License-Identifier: MIT
 *
 * process.h - what the daemon sets and needs of its process: signals, descriptors, address space,
 * and that nobody reads its memory. */
#ifndef LLAMAD_DAEMON_PROCESS_H
#define LLAMAD_DAEMON_PROCESS_H

#include "llamad/status.h"

/* The fewest descriptors with which the daemon starts: about 45 are open before the first client. */
#define LMI_DAEMON_FD_MIN 64u

/* Ignores signals that would end the process without a shutdown, raises the soft limit of
 * descriptors to the hard one, and forbids core dumps and debuggers of other users of the same uid,
 * since prompts and keys are in the memory (the environment variable LLAMAD_DUMPABLE=1 allows
 * them). */
void lmi_daemon_process_init(void);

/* Returns LMD_NOMEM or LMD_IO if the process has too few descriptors, or not the address space that
 * the threads of the socket library need: the library would crash or hang. */
enum lmd_status lmi_daemon_process_check(struct lmd_error *err);

#endif /* LLAMAD_DAEMON_PROCESS_H */
