/* SPDX-License-Identifier: MIT
 *
 * The SIGBUS handler and its table of ranges.
 *
 * In an entry `lo` is written last and cleared first, each with release order, so the handler sees
 * either a complete entry or none. Entries are reused; the lock serialises writers. */
#include "core/engine/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct range {
	_Atomic uintptr_t lo, hi; /* lo 0: free entry */
	struct lmi_guard *_Atomic owner;
};

/* Process-wide, like the signal. */
static struct range ranges[LMI_GUARD_RANGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool installed;
static struct sigaction before;
static size_t page_bytes;

static struct range *find(uintptr_t at)
{
	for (size_t i = 0; i < LMI_GUARD_RANGES; i++) {
		uintptr_t lo = atomic_load_explicit(&ranges[i].lo, memory_order_acquire);

		if (lo && at >= lo && at < atomic_load(&ranges[i].hi))
			return &ranges[i];
	}
	return NULL;
}

/* Handles the signal as if this handler were not installed. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else {
		/* returning repeats the access, now with the default action */
		(void)signal(sig, SIG_DFL);
	}
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	struct range *r = find(at);
	int saved = errno;
	void *page = (void *)(at & ~(page_bytes - 1));

	/* use the raw system call: a library's wrapper around mmap may not be async-signal-safe */
	if (!r || syscall(SYS_mmap, page, page_bytes, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == -1)
		pass_on(sig, info, context);
	else
		atomic_fetch_add_explicit(&atomic_load(&r->owner)->n_fault, 1,
					  memory_order_release);
	errno = saved;
}

static enum lmd_status install(struct lmd_error *err)
{
	struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_RESTART};

	if (installed)
		return LMD_OK;
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	(void)sigemptyset(&sa.sa_mask);
	if (sigaction(SIGBUS, &sa, &before))
		return lmd_fail(err, LMD_IO, "SIGBUS handler: %s", strerror(errno));
	installed = true;
	return LMD_OK;
}

static enum lmd_status add(struct lmi_guard *g, uintptr_t lo, size_t bytes, struct lmd_error *err)
{
	for (size_t i = 0; i < LMI_GUARD_RANGES; i++) {
		struct range *r = &ranges[i];

		if (atomic_load(&r->lo))
			continue;
		atomic_store(&r->owner, g);
		atomic_store(&r->hi, lo + bytes);
		atomic_store_explicit(&r->lo, lo, memory_order_release);
		return LMD_OK;
	}
	return lmd_fail(err, LMD_NOMEM, "all %d entries for mapped files are in use",
			LMI_GUARD_RANGES);
}

enum lmd_status lmi_guard_add(struct lmi_guard *g, const void *ptr, size_t bytes,
			      struct lmd_error *err)
{
	enum lmd_status st;

	(void)pthread_mutex_lock(&lock);
	st = install(err);
	if (st == LMD_OK)
		st = add(g, (uintptr_t)ptr, bytes, err);
	(void)pthread_mutex_unlock(&lock);
	return st;
}

void lmi_guard_drop(struct lmi_guard *g)
{
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < LMI_GUARD_RANGES; i++)
		if (atomic_load(&ranges[i].owner) == g)
			atomic_store_explicit(&ranges[i].lo, 0, memory_order_release);
	(void)pthread_mutex_unlock(&lock);
}
