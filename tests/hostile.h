/* SPDX-License-Identifier: MIT
 *
 * hostile.h - for tests of malformed models: opening one must leak nothing, need little memory and
 * time, and fail with an error message that gives the reason. */
#ifndef LLAMAD_TESTS_HOSTILE_H
#define LLAMAD_TESTS_HOSTILE_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "llamad/attr.h"
#include "tests/arch_plugins.h"
#include "tests/temp_dir.h"

/* Of the processor, so that other work on the machine does not count. */
static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Opens and closes a model; the error message is in *err.  Checks that no memory leaks and that
 * errors come quickly. */
static inline enum lmd_status try_open(const char *path, uint32_t flags, struct lmd_error *err)
{
	struct lmi_alloc_stats before, after;
	struct lmi_model *m = NULL;
	enum lmd_status st;
	struct lmi_plugin_registry *plugins = arch_plugins();
	double t = seconds();

	memset(err, 0, sizeof(*err));
	lmi_alloc_stats(&before);
	st = lmi_model_open_any(&m, plugins, path, flags, err);
	ck_assert_int_eq(st == LMD_OK, m != NULL);
	if (st != LMD_OK) {
		ck_assert_int_eq(err->status, st);
		ck_assert_uint_gt(strlen(err->text), 8);
	}
	lmi_model_close(m);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
	ck_assert_uint_eq(after.live_bytes, before.live_bytes);
	ck_assert_uint_lt(after.peak_bytes, 256u << 20);
	ck_assert(seconds() - t < 10);
	return st;
}

/* Returns whether the text contains each of "a|b|c". */
static inline bool has_words(const char *text, const char *words)
{
	char word[128];

	while (*words) {
		size_t n = strcspn(words, "|");

		snprintf(word, sizeof(word), "%.*s", (int)n, words);
		if (!strstr(text, word))
			return false;
		words += n + (words[n] == '|');
	}
	return true;
}

/* Checks the result of opening; what: name for the message if it differs. */
static inline void check_open(const char *what, const char *path, enum lmd_status want,
			      const char *words)
{
	struct lmd_error err;
	enum lmd_status st = try_open(path, 0, &err);

	ck_assert_msg(st == want && has_words(err.text, words), "%s: %s \"%s\"", what,
		      lmd_status_text((int)st), err.text);
}

/* Lets each allocation fail, alone and with all later ones, for each way to open.  n_spared of them
 * may fail without an effect.  There must be at least n_least. */
static inline void open_without_memory(const char *path, unsigned n_spared, uint64_t n_least)
{
	static const uint32_t flags[] = {0, LMI_OPEN_NO_MMAP, LMI_OPEN_HEADER_ONLY};
	struct lmd_error err;
	uint64_t n = 0;

	(void)arch_plugins(); /* before allocations fail */
	for (size_t k = 0; k < 2 * LMD_LEN(flags); k++) {
		enum lmd_status st;
		unsigned n_ok = 0;
		bool hit;

		for (n = 1;; n++) {
			lmi_alloc_fail_nth(n, k % 2);
			st = try_open(path, flags[k / 2], &err);
			hit = lmi_alloc_did_fail();
			lmi_alloc_fail_nth(0, false);
			if (!hit)
				break;
			n_ok += st == LMD_OK;
			ck_assert_msg(st == LMD_NOMEM || (st == LMD_OK && n_ok <= n_spared),
				      "allocation %llu: %s %s", (unsigned long long)n,
				      lmd_status_text((int)st), err.text);
		}
		ck_assert_msg(st == LMD_OK, "%s", err.text);
		ck_assert_uint_gt(n, n_least);
	}
	printf("%llu allocations failed in turn\n", (unsigned long long)n - 1);
}

#endif /* LLAMAD_TESTS_HOSTILE_H */
