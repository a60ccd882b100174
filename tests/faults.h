/* SPDX-License-Identifier: MIT
 *
 * faults.h - a file system that fails.  In a program that links faults.c these calls of libc are
 * its own; one of them, counted from when it is armed, fails in the way that was asked for.  For
 * reads, core/base/file.h has lmi_file_fail_nth. */
#ifndef LLAMAD_TESTS_FAULTS_H
#define LLAMAD_TESTS_FAULTS_H

#include <stdbool.h>

enum fault {
	FAULT_NONE,
	FAULT_CREATE,	   /* open with O_CREAT: ENOSPC */
	FAULT_WRITE_EIO,   /* pwrite */
	FAULT_WRITE_NOSPC, /* pwrite */
	FAULT_WRITE_SHORT, /* pwrite does half: no failure */
	FAULT_WRITE_EINTR, /* pwrite is interrupted: no failure */
	FAULT_WRITE_ZERO,  /* pwrite does nothing, and says so */
	FAULT_SYNC,	   /* fsync: EIO */
	FAULT_NAME,	   /* rename: EIO */
	FAULT_CUT,	   /* ftruncate: EIO */
	FAULT_KILL,	   /* pwrite by half, rename, unlink or ftruncate: the process is killed */
};

/* The call that comes after n others of the kind fails, once. */
void fault_arm(enum fault kind, unsigned n);
/* None fails any more; did one? */
bool fault_disarm(void);

#endif /* LLAMAD_TESTS_FAULTS_H */
