/* SPDX-License-Identifier: MIT
 *
 * Writes the seeds of a target into the folder that libFuzzer reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"

static void write_seeds(const char *folder)
{
	struct fuzz_bytes b;

	for (size_t k = 0; fuzz_seed(k, &b); k++) {
		char path[4096];
		FILE *f;

		snprintf(path, sizeof(path), "%s/seed%02zu", folder, k);
		f = fopen(path, "wb");
		if (!f || fwrite(b.p, 1, b.n, f) != b.n || fclose(f)) {
			perror(path);
			exit(1);
		}
		free(b.p);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strncmp((*argv)[i], "-seeds=", 7) != 0)
			continue;
		write_seeds((*argv)[i] + 7);
		exit(0);
	}
	return 0;
}
