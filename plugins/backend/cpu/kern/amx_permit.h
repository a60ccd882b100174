/* SPDX-License-Identifier: MIT
 *
 * amx_permit.h - whether kernels may use the tiles of AMX in this process. */
#ifndef LLAMAD_CPU_KERN_AMX_PERMIT_H
#define LLAMAD_CPU_KERN_AMX_PERMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Asks the kernel to let this process use tiles: 0, or an errno.  The permission holds for all threads, for
 * good.  From then on, contexts of threads may have 8 KiB more, and the kernel rejects alternate signal
 * stacks that have no room for them. */
int kern_amx_ask(void);

/* Returns the LMD_CPU_* flags for which kernels are to be chosen.  Those of AMX remain if use is set, there are
 * kernels for them, and `ask` (kern_amx_ask, which is asked once) permits it.  Otherwise they are cleared; if use
 * is set, why[n] says why, else it is "". */
uint64_t kern_amx_flags(uint64_t flags, bool use, int (*ask)(void), char *why, size_t n);

#endif /* LLAMAD_CPU_KERN_AMX_PERMIT_H */
