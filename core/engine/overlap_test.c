/* SPDX-License-Identifier: MIT
 *
 * The decision between one batch and two halves, for devices with known costs, in simulated time. */
#include <math.h>
#include <stdio.h>

#include "core/engine/overlap.h"
#include "llamad/attr.h"
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

/* ---- several devices, which a step passes one after the other ---- */

#define N_DEVICE 3

struct pipeline {
	const char *name;
	double fixed[N_DEVICE], row[N_DEVICE]; /* ns for a step on each device: fixed + row * n */
	double host;                           /* ns for each row, after its step */
	bool halves;                           /* are they faster? */
};

struct in_flight {
	uint32_t n;
	double done;
	bool halves;
};

/* Computes n_seq sequences for n_row generated tokens as an engine does: up to two halves are in flight, or one
 * step. way: 0 whole steps, 1 halves, 2 as *o decides. Returns ns for a token of all sequences. */
static double generate(struct lmi_engine_overlap *o, const struct pipeline *p, uint32_t n_seq,
		       uint32_t n_row, int way)
{
	struct in_flight steps[2];
	double now = 0, last = 0, until[N_DEVICE] = {0};
	uint32_t n_step = 0, n_done = 0;

	while (n_done < n_row) {
		bool halves = way == 2 ? lmi_engine_overlap_in_turns(o, n_seq) : way;

		while (n_step < (halves ? 2 : 1)) {
			uint32_t n = !halves  ? n_seq
				     : n_step ? n_seq - steps[0].n
					      : (n_seq + 1) / 2;
			double t = now;

			if (!n)
				break;
			for (int d = 0; d < N_DEVICE; d++)
				until[d] = t =
					(t > until[d] ? t : until[d]) + p->fixed[d] + p->row[d] * n;
			steps[n_step++] = (struct in_flight){n, t, halves};
		}
		now = now > steps[0].done ? now : steps[0].done;
		if (last > 0)
			lmi_engine_overlap_add_turn(o, steps[0].halves, steps[0].n,
						    (uint64_t)(now - last));
		last = now;
		now += p->host * steps[0].n;
		n_done += steps[0].n;
		steps[0] = steps[1];
		n_step--;
	}
	return now / n_done * n_seq;
}

static const struct pipeline pipelines[] = {
	{"two equal ones, rows cost", {5e5, 5e5}, {2e4, 2e4}, 0, true},
	{"two equal ones, rows cost little", {1.8e6, 1.8e6}, {5e3, 5e3}, 0, true},
	{"two equal ones, weights alone", {1.8e6, 1.8e6}, {0, 0}, 0, false},
	{"two equal ones, weights alone, and the host", {1.8e6, 1.8e6}, {0, 0}, 5e4, true},
	{"the first has nearly all", {3e6, 1e5}, {1e3, 1e2}, 0, false},
	{"the last has nearly all", {1e5, 3e6}, {1e2, 1e3}, 5e2, false},
	{"three", {3e5, 3e5, 3e5}, {2e4, 2e4, 2e4}, 1e3, true},
};

/* Whatever the devices are like, the faster way is found, and trying the other one costs little. */
START_TEST(devices_compute_halves_in_turns)
{
	const struct pipeline *p = &pipelines[_i];
	struct lmi_engine_overlap o = {0}, unused = {0};
	double whole = generate(&unused, p, 64, 1u << 20, 0),
	       halves = generate(&unused, p, 64, 1u << 20, 1);
	double best = whole < halves ? whole : halves, took = generate(&o, p, 64, 1u << 20, 2);

	printf("%s: whole %.3f ms, halves %.3f ms, chosen %.3f ms\n", p->name, whole * 1e-6,
	       halves * 1e-6, took * 1e-6);
	ck_assert_int_eq(halves < 0.97 * whole, p->halves);
	ck_assert_double_lt(took, 1.02 * best);
	ck_assert_int_eq(o.tries ? !o.halves : o.halves, p->halves);
	/* what was learned with many sequences does not hold for few of them, and the other way round */
	for (uint32_t n = 2; n < 2048; n = n < 8 ? 300 : 7 * n) {
		whole = generate(&unused, p, n, n << 13, 0);
		halves = generate(&unused, p, n, n << 13, 1);
		best = whole < halves ? whole : halves;
		took = generate(&o, p, n, n << 13, 2);
		ck_assert_msg(took < 1.04 * best, "%s, %u sequences: %f, best %f", p->name, n, took,
			      best);
	}
}
END_TEST

/* Sequences come and go all the time, so that nothing that was measured holds for long: even then the trials
 * of a way that takes nearly twice as long cost little. */
START_TEST(trials_are_rare)
{
	const struct pipeline *p = &pipelines[4];
	struct lmi_engine_overlap o = {0}, unused = {0};
	double took = 0, whole = 0;

	for (int i = 0; i < 200; i++) {
		uint32_t n = i % 2 ? 64 : 8;

		took += generate(&o, p, n, n * 60, 2);
		whole += generate(&unused, p, n, n * 60, 0);
	}
	ck_assert_double_lt(took, 1.05 * whole);
	printf("%.3f times the time without trials\n", took / whole);
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
	tcase_add_loop_test(t, devices_compute_halves_in_turns, 0, LMD_LEN(pipelines));
	tcase_add_test(t, trials_are_rare);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
