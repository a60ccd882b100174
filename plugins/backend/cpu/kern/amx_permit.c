/* SPDX-License-Identifier: MIT
 *
 * Permission to use tiles (Documentation/arch/x86/xstate.rst of Linux): the processor's bits, which the host
 * has read, do not suffice; the first tile instruction of a process without permission raises SIGILL. */
#include "amx_permit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "llamad/host.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#endif

#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA  18

#define AMX (LMD_CPU_AMX_INT8 | LMD_CPU_AMX_BF16)

int kern_amx_ask(void)
{
#if defined(__linux__) && defined(__x86_64__)
	return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) ? errno : 0;
#else
	return ENOSYS;
#endif
}

uint64_t kern_amx_flags(uint64_t flags, bool use, int (*ask)(void), char *why, size_t n)
{
#ifdef KERN_WITH_AMX
	const bool built = true;
#else
	const bool built = false;
#endif
	int error;

	if (n)
		why[0] = '\0';
	if (!use)
		return flags & ~AMX;
	if (!built) {
		(void)snprintf(why, n, "this build has no kernels for AMX");
		return flags & ~AMX;
	}
	if (!(flags & AMX)) {
		(void)snprintf(why, n,
			       "the processor has no AMX, or the system does not save its tiles");
		return flags;
	}
	error = ask();
	if (!error)
		return flags;
	(void)snprintf(why, n, "the system does not permit tiles: %s", strerror(error));
	return flags & ~AMX;
}
