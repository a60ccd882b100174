/* SPDX-License-Identifier: MIT
 *
 * target.h - what a fuzz target is: a function over any bytes that aborts when something that
 * must hold does not, and a few inputs to begin with.
 *
 * Each target is linked twice.  With libFuzzer (configure --enable-fuzz):
 *     tests/fuzz/NAME_fuzz -seeds=FOLDER     writes the seeds and ends
 *     tests/fuzz/NAME_fuzz FOLDER            runs
 * and with replay.c, by any compiler, as a test:
 *     tests/fuzz/NAME_replay [FILE...]       the seeds and changes of them, or these files */
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

/* Both defined by the target.  The bytes of a seed come from malloc. */
struct fuzz_bytes {
	uint8_t *p;
	size_t n;
};

/* Seed number k; false when there are no more. */
bool fuzz_seed(size_t k, struct fuzz_bytes *out);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Defined by seeds.c: handles -seeds=FOLDER. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

#endif /* LLAMAD_TESTS_FUZZ_TARGET_H */
