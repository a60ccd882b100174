/* SPDX-License-Identifier: MIT
 *
 * The number of threads that nng starts depends on the number of processors; each takes address
 * space for its stack. */
#include "daemon/process.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/sanitized.h"

#define MIB	    ((size_t)1 << 20)
#define SPARE_BYTES (24 * MIB) /* for the daemon itself */

void lmi_daemon_process_init(void)
{
	static const int ignored[] = {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF};
	const char *dumpable = getenv("LLAMAD_DUMPABLE");
	struct rlimit r;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r); /* on failure fewer connections are possible */
	}
#ifdef M_ARENA_MAX
	/* Each thread would reserve 64 MiB for its allocations, now or later. */
	if (!getrlimit(RLIMIT_AS, &r) && r.rlim_cur != RLIM_INFINITY)
		(void)mallopt(M_ARENA_MAX, 1);
#endif
	/* the leak checker of sanitizers is a debugger */
	if (!LMI_SANITIZED && (!dumpable || strcmp(dumpable, "1") != 0))
		(void)prctl(PR_SET_DUMPABLE, 0);
}

static size_t within(size_t n, size_t min, size_t max)
{
	return n < min ? min : n > max ? max : n;
}

/* The address space that nng's threads take: two tasks for each processor, timers, and others. */
static size_t socket_bytes(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	size_t cpus = n > 0 ? (size_t)n : 1, stack = 8 * MIB;
	pthread_attr_t attr;

	if (!pthread_attr_init(&attr)) {
		(void)pthread_attr_getstacksize(&attr, &stack);
		(void)pthread_attr_destroy(&attr);
	}
	return (within(2 * cpus, 2, 16) + within(cpus, 1, 8) + 6) * stack + SPARE_BYTES;
}

enum lmd_status lmi_daemon_process_check(struct lmd_error *err)
{
	size_t need = socket_bytes();
	struct rlimit r;
	void *p;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < LMI_DAEMON_FD_MIN)
		return lmd_fail(err, LMD_IO,
				"only %llu files may be open at a time; llamad needs at least %u "
				"(ulimit -n, or LimitNOFILE of its unit)",
				(unsigned long long)r.rlim_cur, LMI_DAEMON_FD_MIN);
	if (!getrlimit(RLIMIT_AS, &r) && r.rlim_cur == RLIM_INFINITY)
		return LMD_OK;
	p = mmap(NULL, need, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return lmd_fail(err, LMD_NOMEM,
				"the address space is limited to %llu MiB, which leaves less than the "
				"%zu MiB that the start needs (ulimit -v)",
				(unsigned long long)r.rlim_cur / MIB, need / MIB);
	(void)munmap(p, need);
	return LMD_OK;
}
