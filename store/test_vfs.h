/* SPDX-License-Identifier: MIT
 *
 * test_vfs.h - an sqlite VFS with injected failures of single calls.  Files are not really synced,
 * so that thousands of runs stay fast. */
#ifndef LLAMAD_STORE_TEST_VFS_H
#define LLAMAD_STORE_TEST_VFS_H

#include <stdbool.h>
#include <stdint.h>

enum test_fault {
	FAULT_IO,    /* any call fails with a device error */
	FAULT_FULL,  /* a write or truncation fails: no space */
	FAULT_SHORT, /* a write fails after half of the bytes */
};
#define N_FAULT 3

/* The name of the VFS. */
#define TEST_VFS "lmd-fault"

/* Registers the VFS; call it once per process. */
void test_vfs_register(void);

/* Lets the nth call of the kind `what` fail (1 = the next), with `ever_after` also all later ones;
 * nth 0: none. */
void test_vfs_arm(enum test_fault what, uint64_t nth, bool ever_after);
bool test_vfs_did_fail(void);

#endif /* LLAMAD_STORE_TEST_VFS_H */
