/* SPDX-License-Identifier: MIT
 *
 * Two halves in turns where several devices share the layers: chosen in simulated time (bench/simulated_device.h)
 * if they are faster, and with the same tokens. A simulated step takes so long that the host's work, which
 * is measured, makes no difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/simulated_device.h"
#include "core/engine/engine_impl.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"

#define N_SEQ     16
#define N_PREDICT 400
#define N_WARM    100 /* steps before the measurement: the trials of the beginning */

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "halves");
}

static void teardown(void)
{
	story_env_fini(&env);
}

/* ---- times ---- */

static struct lmd_host *real, host;
static struct lmi_plugin_registry *registry;

/* A registry with the simulated devices, in simulated time. */
static void open_registry(void)
{
	const struct lmd_plugin *linked[] = {&sim_plugin};
	char dir[4096];
	const char *dirs[] = {dir};
	struct lmi_plugin_registry_opts o = {
		.no_default_dirs = true, .linked = linked, .n_linked = 1, .dirs = dirs};
	struct lmd_error err = {0};

	(void)snprintf(dir, sizeof(dir), "%s/plugins/.libs", lmd_build_dir());
	o.n_dirs = !access(dir, F_OK); /* otherwise they are linked in */
	OK(lmi_host_create(&real, UINT64_MAX));
	host = *real;
	host.now_ns = sim_now_ns;
	o.host = &host;
	OK(lmi_plugin_registry_create(&registry, &o, &err));
}

static void start(struct lmi_engine *e, int64_t n_predict)
{
	struct lmd_error err = {0};

	for (uint32_t i = 0; i < N_SEQ; i++) {
		const lmd_token prompt[] = {hello[0] + (lmd_token)i, hello[1], hello[2]};
		struct lmi_engine_generate cmd =
			story_command(i + 1, prompt, LMD_LEN(prompt), n_predict);

		OK(lmi_engine_generate(e, &cmd, &err));
	}
}

static void run_steps(struct lmi_engine *e, uint32_t n)
{
	struct lmi_engine_event ev;

	while (n--) {
		(void)lmi_engine_step(e);
		while (lmi_engine_poll(e, &ev)) {
			ck_assert_int_ne(ev.kind, LMI_ENGINE_EV_FAILED);
			lmi_engine_event_release(&ev);
		}
	}
}

/* Returns the simulated ms for a token of each sequence, and the share of the time in which the busiest device
 * computes. */
static double step_ms(const char *devices, enum lmi_engine_halves halves, double *busy)
{
	struct lmi_engine_opts o = story_opts(&env, N_SEQ);
	struct lmi_engine_stats before, after;
	uint64_t begin, busy_ns[SIM_N_DEVICE];
	struct lmi_engine *e;
	double ns;

	open_registry();
	o.inst.registry = registry;
	o.inst.host = &host;
	o.inst.backend = NULL;
	o.inst.device_list = devices;
	o.inst.n_ctx = N_PREDICT + 64;
	o.inst.k_dtype = o.inst.v_dtype = -1;
	o.halves = halves;
	e = story_engine(&o);
	sim_fill(N_SEQ, e->inst->desc.n_vocab);
	start(e, N_PREDICT);
	run_steps(e, N_WARM);
	lmi_engine_stats(e, &before);
	memcpy(busy_ns, sim_state.busy_ns, sizeof(busy_ns));
	begin = sim_now_ns(NULL);
	run_steps(e, N_PREDICT / 2);
	ns = (double)(sim_now_ns(NULL) - begin);
	lmi_engine_stats(e, &after);
	*busy = (double)sim_busiest_ns(busy_ns) / ns;
	lmi_engine_fini(e);
	sim_free();
	lmi_plugin_registry_destroy(registry);
	lmi_host_destroy(real);
	ck_assert_uint_gt(after.n_generated, before.n_generated);
	return ns * 1e-6 * N_SEQ / (double)(after.n_generated - before.n_generated);
}

/* Simulated steps of 400 ms: a thread sanitizer makes the host's work twenty times slower. */
static void set_device(double fixed, double first)
{
	sim_state.step_ns = 4e8;
	sim_state.fixed = fixed;
	sim_state.bytes_per_ns = 50;
	sim_state.part[0] = first;
	sim_state.part[1] = 1 - first;
}

static const struct {
	const char *name;
	double fixed,
		first; /* the part of a step's time that is the same for any rows; that of the first device */
	bool halves; /* are they faster? */
} cases[] = {
	{"two equal parts, rows cost", 0.3, 0.5, true},
	{"one of three parts, rows cost", 0.3, 0.33, true},
	{"two equal parts, weights alone", 1, 0.5, false},
	{"the first has nearly all, weights alone", 1, 0.95, false},
};

START_TEST(the_faster_way_is_found)
{
	double busy, whole, halves, took;

	set_device(cases[_i].fixed, cases[_i].first);
	whole = step_ms("simulated0,simulated1", LMI_ENGINE_HALVES_NEVER, &busy);
	halves = step_ms("simulated0,simulated1", LMI_ENGINE_HALVES_ALWAYS, &busy);
	took = step_ms("simulated0,simulated1", LMI_ENGINE_HALVES_AUTO, &busy);
	printf("%s: whole %.1f ms, halves %.1f ms, chosen %.1f ms\n", cases[_i].name, whole, halves,
	       took);
	ck_assert_int_eq(halves < 0.9 * whole, cases[_i].halves);
	/* of 100 to 200 steps; a trial of halves that take twice as long costs the time of 9 steps */
	ck_assert_double_lt(took, 1.1 * (halves < whole ? halves : whole));
}
END_TEST

/* A second device nearly doubles the rate of two batches. */
START_TEST(two_devices_have_nearly_twice_the_rate)
{
	double busy, one, two;

	set_device(1, 1);
	one = step_ms("simulated0", LMI_ENGINE_HALVES_ALWAYS, &busy);
	ck_assert_double_gt(busy, 0.97);
	set_device(1, 0.5);
	two = step_ms("simulated0,simulated1", LMI_ENGINE_HALVES_ALWAYS, &busy);
	printf("one device %.1f ms, two devices %.1f ms, %.1f %% busy\n", one, two, 100 * busy);
	ck_assert_double_gt(one, 1.8 * two);
	ck_assert_double_gt(busy, 0.9);
}
END_TEST

/* ---- tokens ---- */

/* What the engine tries meanwhile changes no token. */
START_TEST(the_tokens_are_the_same)
{
	static const char *const ways[] = {"devices=2,late=0", "devices=2,late=1,seed=3",
					   "devices=2,late=1,peer=0,buckets=1"};
	static struct story want[N_SEQ], have[N_SEQ];
	struct lmi_engine_opts o = story_opts(&env, N_SEQ);
	struct lmi_engine_stats st;
	struct lmi_engine *e;

	o.inst.n_ctx = N_PREDICT + 64;
	o.inst.backend = "ref";
	for (int k = 0; k < 2; k++) {
		struct story *s = k ? have : want;

		memset(s, 0, sizeof(want));
		e = story_engine(&o);
		start(e, N_PREDICT / 4);
		story_run(e, s, N_SEQ);
		st = story_check_idle(e);
		lmi_engine_fini(e);
		o.inst.backend = NULL;
		o.inst.device_list = "emu0,emu1";
		o.halves = LMI_ENGINE_HALVES_AUTO;
		ck_assert_int_eq(setenv("LLAMAD_EMU", ways[_i], 1), 0);
	}
	for (uint32_t i = 0; i < N_SEQ; i++) {
		ck_assert_uint_eq(want[i].n_tokens, have[i].n_tokens);
		ck_assert(!memcmp(want[i].tokens, have[i].tokens,
				  want[i].n_tokens * sizeof(lmd_token)));
	}
	ck_assert_uint_gt(st.n_overlapped, 8);
	ck_assert_uint_eq(st.step_allocs, 0);
	printf("%s: %llu of %llu steps were submitted while another ran\n", ways[_i],
	       (unsigned long long)st.n_overlapped, (unsigned long long)st.n_step);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("halves");
	TCase *t = tcase_create("halves");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_faster_way_is_found, 0, LMD_LEN(cases));
	tcase_add_test(t, two_devices_have_nearly_twice_the_rate);
	tcase_add_loop_test(t, the_tokens_are_the_same, 0, 3);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
