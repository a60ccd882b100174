/* SPDX-License-Identifier: MIT
 *
 * test_vfs.h - a way to the file system that fails when told: sqlite's own, with one call of
 * the many refused.  Files are not really synced, so that thousands of runs stay fast. */
#ifndef LLAMAD_STORE_TEST_VFS_H
#define LLAMAD_STORE_TEST_VFS_H

#include <stdbool.h>
#include <stdint.h>

enum test_fault {
	FAULT_IO,    /* any call: an error of the device */
	FAULT_FULL,  /* a write or truncation: no space */
	FAULT_SHORT, /* a write: half of it arrives, then an error */
};
#define N_FAULT 3

/* The name to give to sqlite. */
#define TEST_VFS "lmd-fault"

/* Once per process. */
void test_vfs_register(void);

/* The nth call that `what` is about (1 = the next) fails, with `ever_after` all later ones too;
 * nth 0: none. */
void test_vfs_arm(enum test_fault what, uint64_t nth, bool ever_after);
bool test_vfs_did_fail(void);

#endif /* LLAMAD_STORE_TEST_VFS_H */
