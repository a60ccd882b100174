/* SPDX-License-Identifier: MIT */
#include "client/llamactl/latencies.h"

#include <stdlib.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

static struct lmi_ctl_latencies l;

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

START_TEST(nothing)
{
	l = (struct lmi_ctl_latencies){0};
	ck_assert_double_eq(lmi_ctl_latencies_mean_ms(&l), 0);
	ck_assert_double_eq(lmi_ctl_latencies_max_ms(&l), 0);
	ck_assert_double_eq(lmi_ctl_latencies_percentile_ms(&l, 50), 0);
}
END_TEST

/* Percentiles of random times against the sorted times. */
START_TEST(percentiles)
{
	enum { N = 5000 };
	static const double percent[] = {0, 1, 10, 50, 90, 95, 99, 99.9, 100};
	uint64_t ns[N], state = 88172645463325252u;

	l = (struct lmi_ctl_latencies){0};
	for (int i = 0; i < N; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		ns[i] = 1000 + (state >> (24 + state % 24)); /* 1 us to 18 minutes */
		lmi_ctl_latencies_add(&l, ns[i]);
	}
	qsort(ns, N, sizeof(*ns), compare);
	for (size_t i = 0; i < LMD_LEN(percent); i++) {
		int rank = (int)(percent[i] / 100 * N + 0.999999);
		double want = (double)ns[rank > 1 ? rank - 1 : 0] / 1e6;
		double got = lmi_ctl_latencies_percentile_ms(&l, percent[i]);

		ck_assert_msg(got > want / 1.011 && got < want * 1.011, "%g %%: %g ms, not %g",
			      percent[i], got, want);
	}
	ck_assert_double_eq(lmi_ctl_latencies_max_ms(&l), (double)ns[N - 1] / 1e6);
}
END_TEST

/* Times outside the bins count, and never exceed the longest. */
START_TEST(extremes)
{
	l = (struct lmi_ctl_latencies){0};
	lmi_ctl_latencies_add(&l, 0);
	ck_assert_double_eq(lmi_ctl_latencies_percentile_ms(&l, 100), 0);
	lmi_ctl_latencies_add(&l, UINT64_MAX);
	ck_assert(lmi_ctl_latencies_percentile_ms(&l, 50) <= 0.00102);
	ck_assert(lmi_ctl_latencies_percentile_ms(&l, 100) > 36e6); /* over ten hours */
	ck_assert_uint_eq(l.n, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("latencies");
	TCase *t = tcase_create("latencies");

	tcase_add_test(t, nothing);
	tcase_add_test(t, percentiles);
	tcase_add_test(t, extremes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
