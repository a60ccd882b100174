/* SPDX-License-Identifier: MIT
 *
 * The decision between one batch and two halves, for devices with known costs. */
#include <math.h>

#include "core/engine/overlap.h"
#include "tests/lmd_check.h"

/* A device that takes fixed + row * n ns for a step, with up to 5 % noise. */
static uint64_t device_ns(uint64_t *rnd, double fixed, double row, uint32_t n)
{
	double noise = (double)(lmd_rand(rnd) % 1000) / 1000 * 0.1 - 0.05;

	return (uint64_t)((fixed + row * n) * (1 + noise));
}

static void run(struct lmi_engine_overlap *o, uint64_t *rnd, double fixed, double row, uint32_t n,
		double host_per_row)
{
	lmi_engine_overlap_add_device(o, n, device_ns(rnd, fixed, row, n));
	lmi_engine_overlap_add_host(o, n, (uint64_t)(host_per_row * n));
}

START_TEST(the_fixed_cost_is_found)
{
	struct lmi_engine_overlap o = {0};
	uint64_t rnd = lmd_seed("overlap", 1);

	for (int i = 0; i < 300; i++)
		run(&o, &rnd, 4e6, 2e4, 1 + (uint32_t)(lmd_rand(&rnd) % 512), 1);
	ck_assert_double_gt(lmi_engine_overlap_fixed_ns(&o), 3e6);
	ck_assert_double_lt(lmi_engine_overlap_fixed_ns(&o), 5e6);
}
END_TEST

/* 64 sequences, whose logits are sampled in 5 us each: 0.3 ms. */
START_TEST(reading_the_weights_twice_costs_more)
{
	struct lmi_engine_overlap o = {0};
	uint64_t rnd = lmd_seed("overlap", 1);

	ck_assert(!lmi_engine_overlap_pays(&o, 64)); /* nothing is known yet */
	for (int i = 0; i < 100; i++)
		run(&o, &rnd, 3.5e6, 1e3, 56 + (uint32_t)(lmd_rand(&rnd) % 16), 5e3);
	ck_assert(!lmi_engine_overlap_pays(&o, 64));
}
END_TEST

/* A small model with a large vocabulary on a fast device; and a constant number of rows, of which
 * nothing can be learned about the fixed cost. */
START_TEST(slow_sampling_is_hidden)
{
	struct lmi_engine_overlap o = {0};
	uint64_t rnd = lmd_seed("overlap", 1);

	for (int i = 0; i < 100; i++)
		run(&o, &rnd, 3e5, 1e3, 64, 2e4);
	ck_assert(lmi_engine_overlap_pays(&o, 64));
	ck_assert(!lmi_engine_overlap_pays(&o, 1));
	/* when sampling becomes faster, the halves are given up */
	for (int i = 0; i < 400; i++)
		run(&o, &rnd, 3e5, 1e3, 32, 1e2);
	ck_assert(!lmi_engine_overlap_pays(&o, 64));
}
END_TEST

/* The host's work is about as long as the fixed cost, now longer, now shorter: that changes nothing, in
 * whichever way the sequences are computed. */
START_TEST(noise_does_not_decide)
{
	for (int halves = 0; halves < 2; halves++) {
		struct lmi_engine_overlap o = {0};
		uint64_t rnd = lmd_seed("overlap", 1);
		uint32_t n_change = 0;
		bool last = halves;

		for (int i = 0; i < 50; i++)
			run(&o, &rnd, 3e5, 0, 64, halves ? 1e4 : 1e2);
		ck_assert_int_eq(lmi_engine_overlap_pays(&o, 64), halves);
		for (int i = 0; i < 400; i++) {
			/* 1.15 times the fixed cost, give or take */
			run(&o, &rnd, 3e5, 0, 64, (double)(450 + lmd_rand(&rnd) % 180) * 10);
			n_change += lmi_engine_overlap_pays(&o, 64) != last;
			last = o.halves;
		}
		ck_assert_uint_eq(n_change, 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("overlap");
	TCase *t = tcase_create("overlap");

	tcase_add_test(t, the_fixed_cost_is_found);
	tcase_add_test(t, reading_the_weights_twice_costs_more);
	tcase_add_test(t, slow_sampling_is_hidden);
	tcase_add_test(t, noise_does_not_decide);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
