/* SPDX-License-Identifier: MIT
 *
 * Calls that fail.  Any thread may call them, so the counter is atomic. */
#include "tests/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int armed;
static _Atomic long left; /* calls that succeed before */

void fault_arm(enum fault kind, unsigned n)
{
	armed = FAULT_NONE;
	left = n;
	armed = (int)kind;
}

bool fault_disarm(void)
{
	return atomic_exchange(&armed, FAULT_NONE) != FAULT_NONE && left < 0;
}

/* Returns whether this call, of that kind, must fail. */
static bool fails(enum fault kind)
{
	return armed == (int)kind && atomic_fetch_sub(&left, 1) == 0;
}

static void die(void)
{
	(void)raise(SIGKILL);
}

int open(const char *path, int flags, ...)
{
	unsigned mode = 0;

	if (flags & O_CREAT) {
		va_list ap;

		va_start(ap, flags);
		mode = va_arg(ap, unsigned);
		va_end(ap);
		if (fails(FAULT_CREATE)) {
			errno = ENOSPC;
			return -1;
		}
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	if (fails(FAULT_WRITE_EIO)) {
		errno = EIO;
		return -1;
	}
	if (fails(FAULT_WRITE_NOSPC)) {
		errno = ENOSPC;
		return -1;
	}
	if (fails(FAULT_WRITE_EINTR)) {
		errno = EINTR;
		return -1;
	}
	if (fails(FAULT_WRITE_ZERO))
		return 0;
	if (fails(FAULT_KILL)) {
		(void)syscall(SYS_pwrite64, fd, buf, n / 2, at);
		die();
	}
	if (n > 1 && fails(FAULT_WRITE_SHORT))
		n /= 2;
	return syscall(SYS_pwrite64, fd, buf, n, at);
}

int fsync(int fd)
{
	if (fails(FAULT_SYNC)) {
		errno = EIO;
		return -1;
	}
	(void)fd; /* reads in these tests come from memory and never block */
	return 0;
}

int rename(const char *from, const char *to)
{
	if (fails(FAULT_NAME)) {
		errno = EIO;
		return -1;
	}
	if (fails(FAULT_KILL))
		die();
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
	if (fails(FAULT_KILL))
		die();
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int ftruncate(int fd, off_t n)
{
	if (fails(FAULT_CUT)) {
		errno = EIO;
		return -1;
	}
	if (fails(FAULT_KILL))
		die();
	return (int)syscall(SYS_ftruncate, fd, n);
}
