/* SPDX-License-Identifier: MIT
 *
 * target.h - interface of fuzz targets.
 *
 * A target is a function that accepts any bytes and aborts if an invariant is violated, plus a few
 * seed inputs.  Each target is linked twice: with libFuzzer (configure --enable-fuzz):
 *     tests/fuzz/NAME_fuzz -seeds=FOLDER     writes the seeds and exits
 *     tests/fuzz/NAME_fuzz FOLDER            runs
 * and, with any compiler, with replay.c as a test:
 *     tests/fuzz/NAME_replay [FILE...]       runs these files, or seeds and mutations of them */
#ifndef LLAMAD_TESTS_FUZZ_TARGET_H
#define LLAMAD_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(x)                                                                                 \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "not true: %s\n", #x);                                     \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The bytes of a seed, allocated with malloc; the caller frees them. */
struct fuzz_bytes {
	uint8_t *p;
	size_t n;
};

/* The target defines the following two functions. */

/* Stores seed number k in *out; returns false if there are no more. */
bool fuzz_seed(size_t k, struct fuzz_bytes *out);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Defined by seeds.c: handles -seeds=FOLDER. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

#endif /* LLAMAD_TESTS_FUZZ_TARGET_H */
