/* SPDX-License-Identifier: MIT
 *
 * faults.h - simulates failures of the file system.  A program that links faults.c overrides these
 * calls of libc; a chosen one of them, counted from when it is armed, fails as requested.  For
 * reads, core/base/file.h has lmi_file_fail_nth. */
#ifndef LLAMAD_TESTS_FAULTS_H
#define LLAMAD_TESTS_FAULTS_H

#include <stdbool.h>

enum fault {
	FAULT_NONE,
	FAULT_CREATE,	   /* open with O_CREAT: ENOSPC */
	FAULT_WRITE_EIO,   /* pwrite */
	FAULT_WRITE_NOSPC, /* pwrite */
	FAULT_WRITE_SHORT, /* pwrite writes only half; not an error */
	FAULT_WRITE_EINTR, /* pwrite is interrupted; not an error */
	FAULT_WRITE_ZERO,  /* pwrite writes nothing and returns 0 */
	FAULT_SYNC,	   /* fsync: EIO */
	FAULT_NAME,	   /* rename: EIO */
	FAULT_CUT,	   /* ftruncate: EIO */
	FAULT_KILL,	   /* pwrite by half, rename, unlink or ftruncate: the process is killed */
};

/* Lets the call after the next n calls of that kind fail, once. */
void fault_arm(enum fault kind, unsigned n);
/* Disarms; returns whether a call failed. */
bool fault_disarm(void);

#endif /* LLAMAD_TESTS_FAULTS_H */
