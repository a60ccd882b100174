/* SPDX-License-Identifier: MIT
 *
 * support.h - shared by all test programs, with or without the Check library: skips, counters,
 * paths, seeds.
 *
 * Helper programs such as mktiny include this header alone, so that they build where Check is not
 * installed.  Check programs include tests/lmd_check.h. */
#ifndef LLAMAD_TESTS_SUPPORT_H
#define LLAMAD_TESTS_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sanitized.h"

/* A program that cannot run a case calls LMD_SKIP("name", "reason"): scripts/summary prints and
 * counts the line; the case does not count as passed. */
#define LMD_SKIP(name, ...)                                                                        \
	do {                                                                                       \
		printf("SKIP: %s: ", name);                                                        \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		fflush(stdout);                                                                    \
	} while (0)

/* Additional counters of a program with data-driven cases, printed as
 * "CASES: name: P passed, F failed, S skipped" and added up by the summary. */
#define LMD_CASES(name, passed, failed, skipped)                                                   \
	printf("CASES: %s: %u passed, %u failed, %u skipped\n", name, (unsigned)(passed),          \
	       (unsigned)(failed), (unsigned)(skipped))

/* Returns the folder of the parity packs, or NULL if there is none. */
static inline const char *lmd_parity_dir(void)
{
	const char *d = getenv("LLAMAD_PARITY_DIR");
	FILE *f;
	char path[4096];

	if (!d || !*d)
		return NULL;
	snprintf(path, sizeof(path), "%s/README.md", d);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	fclose(f);
	return d;
}

static inline const char *lmd_env_or(const char *name, const char *fallback)
{
	const char *v = getenv(name);

	return v && *v ? v : fallback;
}

/* Build and source folders (set by make check). */
static inline const char *lmd_build_dir(void)
{
	return lmd_env_or("LMD_TEST_BUILDDIR", ".");
}

static inline const char *lmd_source_dir(void)
{
	return lmd_env_or("LMD_TEST_SRCDIR", ".");
}

/* Returns true in make check-long, where tests that take minutes may run. */
static inline bool lmd_long(void)
{
	return !strcmp(lmd_env_or("LMD_TEST_LONG", ""), "1");
}

/* Returns the seed of a property test, LMD_TEST_SEED or `fallback`, and prints it, so that a
 * failure can be repeated. */
static inline uint64_t lmd_seed(const char *what, uint64_t fallback)
{
	uint64_t seed = strtoull(lmd_env_or("LMD_TEST_SEED", "0"), NULL, 0);

	seed = seed ? seed : fallback;
	printf("seed of %s: %llu\n", what, (unsigned long long)seed);
	return seed;
}

/* Returns how many of the n rounds of a property test run: all of them in make check-long, otherwise a third, and a
 * fifth with a sanitizer, which looks for faults of memory and threads and not for rare answers, and takes 20 times as
 * long. */
static inline uint32_t lmd_rounds(uint32_t n)
{
	uint32_t share = lmd_long() ? 1 : LMI_SANITIZED ? 5 : 3;

	return (n + share - 1) / share;
}

/* splitmix64: random numbers for property tests. */
static inline uint64_t lmd_rand(uint64_t *s)
{
	uint64_t z = (*s += 0x9E3779B97F4A7C15ull);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

#endif /* LLAMAD_TESTS_SUPPORT_H */
