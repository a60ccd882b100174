/* SPDX-License-Identifier: MIT
 *
 * linear_work.h - checks the work of a function that handles outside input, in counted steps
 * (core/base/cancel.h): it grows at most linearly with the input, no more steps pass between two
 * looks at the cancel word than allowed, and a set cancel word ends it with LMD_CANCELLED.  In long
 * runs, the processor time between two looks is measured too, since a loop may forget to count. */
#ifndef LLAMAD_TESTS_LINEAR_WORK_H
#define LLAMAD_TESTS_LINEAR_WORK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cancel.h"
#include "core/base/sanitized.h"
#include "llamad/status.h"
#include "tests/lmd_check.h"

#define LINEAR_WORK_SIZES 4

/* Bytes of the smallest input; the largest has 8 times as many. Long runs use 1 to 8 MiB. */
static inline size_t linear_work_min(void)
{
	return getenv("LMD_TEST_LONG") ? 1u << 20 : 1u << 15;
}

/* Returns a text of n bytes or a few more, which the caller frees: a head, a piece again and again,
 * and a tail.  In the piece, % becomes a number, and @ a string of 8 bytes after its length in 8
 * bytes. */
static inline char *linear_work_text(const char *head, const char *piece, const char *tail,
				     size_t n, size_t *bytes)
{
	char *text = malloc(n + 512), *p = stpcpy(text, head);

	for (unsigned i = 1; *piece && (size_t)(p - text) < n; i++) {
		for (const char *q = piece; *q; q++) {
			if (*q == '%') {
				p += sprintf(p, "%u", i);
			} else if (*q == '@') {
				memcpy(p, "\x08\0\0\0\0\0\0\0", 8);
				p += 8;
				p += sprintf(p, "%08u", i);
			} else {
				*p++ = *q;
			}
		}
	}
	p = stpcpy(p, tail);
	*bytes = (size_t)(p - text);
	return text;
}

/* Handles an input of about n bytes; calls linear_work_begin when the input is made. */
static inline void linear_work_begin(void)
{
	(void)lmi_cancel_step(0);
}
typedef enum lmd_status (*linear_work_fn)(const void *arg, size_t n);

/* For work of O(n log n), one doubling of n may cost this much more. */
#define LINEAR_WORK_FACTOR 2.25
/* Steps that small inputs may not count, since steps are counted in batches. */
#define LINEAR_WORK_SLACK (8u << 16)

#define LINEAR_WORK_GAP_NS 50000000u
#define LINEAR_WORK_TRIES  4 /* other programs take the caches */

/* The longest time between two looks at the cancel word, of several runs the shortest. */
static inline void linear_work_check_time(const char *name, linear_work_fn f, const void *arg)
{
	size_t n = linear_work_min() << (LINEAR_WORK_SIZES - 1);
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < LINEAR_WORK_TRIES && least > LINEAR_WORK_GAP_NS; i++) {
		struct lmi_cancel_counts c;

		lmi_cancel_counts_time();
		(void)f(arg, n);
		c = lmi_cancel_counts();
		if (c.max_gap_ns < least)
			least = c.max_gap_ns;
	}
	lmi_cancel_counts_reset();
	ck_assert_msg(least <= LINEAR_WORK_GAP_NS, "%s: %.1f ms between two looks at the cancel word",
		      name, (double)least / 1e6);
}

static inline void linear_work_check(const char *name, linear_work_fn f, const void *arg)
{
	struct lmi_cancel stop = {true};
	uint64_t last = 0, max_gap = LMI_CANCEL_GAP_MAX / ((1u << 20) / linear_work_min());

	for (uint32_t i = 0; i < LINEAR_WORK_SIZES; i++) {
		size_t n = linear_work_min() << i;
		struct lmi_cancel_counts c;

		lmi_cancel_counts_reset();
		(void)f(arg, n); /* errors in the input are fine */
		c = lmi_cancel_counts();
		ck_assert_msg(c.max_gap <= max_gap,
			      "%s: %zu bytes: %llu steps between two looks at the cancel word, "
			      "%llu are allowed",
			      name, n, (unsigned long long)c.max_gap, (unsigned long long)max_gap);
		ck_assert_msg(!i || (double)c.n_step <= LINEAR_WORK_FACTOR * (double)last + LINEAR_WORK_SLACK,
			      "%s: %llu steps for %zu bytes, %llu for half of them", name,
			      (unsigned long long)c.n_step, n, (unsigned long long)last);
		last = c.n_step;
	}
	/* whatever is long enough to matter looks at the cancel word */
	lmi_cancel_counts_reset();
	(void)lmi_cancel_attach(&stop);
	if (last > max_gap) {
		enum lmd_status st = f(arg, linear_work_min() << (LINEAR_WORK_SIZES - 1));
		struct lmi_cancel_counts c = lmi_cancel_counts();

		ck_assert_msg(st == LMD_CANCELLED, "%s: status %d although it was cancelled", name, st);
		ck_assert_msg(c.n_step <= 2 * max_gap,
			      "%s: %llu steps after it was cancelled", name,
			      (unsigned long long)c.n_step);
	}
	(void)lmi_cancel_attach(NULL);
	if (getenv("LMD_TEST_LONG") && !LMI_SANITIZED)
		linear_work_check_time(name, f, arg);
}

/* Fails if the work is not counted at all, so that nothing could cancel it. */
static inline void linear_work_check_counted(const char *name, linear_work_fn f, const void *arg)
{
	size_t n = linear_work_min() << (LINEAR_WORK_SIZES - 1);

	lmi_cancel_counts_reset();
	(void)f(arg, n);
	ck_assert_msg(lmi_cancel_counts().n_step >= n / 64, "%s: %llu steps are counted for %zu bytes",
		      name, (unsigned long long)lmi_cancel_counts().n_step, n);
}

#endif /* LLAMAD_TESTS_LINEAR_WORK_H */
