/* SPDX-License-Identifier: MIT
 *
 * temp_dir.h - a temporary folder for each test, and files in it. */
#ifndef LLAMAD_TESTS_TEMP_DIR_H
#define LLAMAD_TESTS_TEMP_DIR_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lmd_check.h"

static char dir[32];

static inline void temp_dir_make(void)
{
	snprintf(dir, sizeof(dir), "/tmp/lmd-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static inline void temp_dir_remove(void)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

/* Returns the path of a name in the folder, valid until the fourth next call. */
static inline const char *temp_path(const char *name)
{
	static char path[4][160];
	static unsigned k;

	k = (k + 1) % 4;
	ck_assert_int_lt(snprintf(path[k], sizeof(path[k]), "%s/%s", dir, name),
			 (int)sizeof(path[k]));
	return path[k];
}

/* Writes a file; p may be NULL if n is 0. */
static inline void temp_write(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(temp_path(name), "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert(n == 0 || fwrite(p, 1, n, f) == n);
	ck_assert_int_eq(fclose(f), 0);
}

/* Returns the number of entries in the folder. */
static inline unsigned temp_n_files(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* . and .. */
}

#endif /* LLAMAD_TESTS_TEMP_DIR_H */
