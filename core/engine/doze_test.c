/* SPDX-License-Identifier: MIT
 *
 * Wakeup coalescing: readers that do not want a wakeup for each token. */
#include <poll.h>

#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_PREDICT 24

static const struct lmi_sampler_spec greedy = {.name = "greedy"};
static const lmd_token hello[] = {7, 8, 9};
static struct lmt_env env;
static struct lmi_engine *engine;
static char path[256];

static void open_with(uint32_t n_event)
{
	struct lmi_engine_opts o;
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	(void)snprintf(path, sizeof(path), "%s/core/engine/doze.gguf", lmd_build_dir());
	lmt_tiny_write(LMT_FULL, lmd_seed("doze", 7), path);
	o = lmt_opts(&env, path);
	o.no_tokenizer = false;
	o.n_event = n_event;
	o.n_request = n_event ? 4 : 0;
	ck_assert_msg(lmi_engine_open(&engine, &o, &err) == LMD_OK, "%s", err.text);
}

static void setup(void)
{
	open_with(0);
}

static void setup_small(void)
{
	open_with(1);
}

static void teardown(void)
{
	lmi_engine_fini(engine);
	(void)remove(path);
	lmt_env_fini(&env);
}

static void begin(int64_t n_predict)
{
	struct lmi_generate cmd = {.id = 1,
				   .seq = lmt_tokens(hello, 3),
				   .n_predict = n_predict,
				   .specs = &greedy,
				   .n_specs = 1,
				   .flags = LMI_GEN_IGNORE_EOG};
	struct lmd_error err;

	ck_assert_msg(lmi_engine_generate(engine, &cmd, &err) == LMD_OK, "%s", err.text);
}

static bool is_told(void)
{
	struct pollfd p = {.fd = lmi_engine_fd(engine), .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Reads the waiting events; returns the number of tokens. *ended: the final event was among
 * them. */
static uint32_t read_all(bool *ended)
{
	struct lmi_event ev;
	uint32_t n = 0;

	*ended = false;
	lmi_engine_clear_fd(engine);
	while (lmi_engine_poll(engine, &ev)) {
		n += ev.kind == LMI_EV_TOKEN;
		*ended |= ev.kind == LMI_EV_DONE;
		lmi_event_release(&ev);
	}
	return n;
}

START_TEST(tokens_wake_nobody_the_end_does)
{
	bool ended = false;
	uint32_t n;

	lmi_engine_doze(engine, UINT64_MAX);
	begin(N_PREDICT);
	for (int i = 0; i + 1 < N_PREDICT; i++) {
		ck_assert_int_eq(lmi_engine_turn(engine), LMI_TURN_RAN);
		ck_assert_msg(!is_told(), "told in turn %d", i);
	}
	n = read_all(&ended); /* the events are there nevertheless */
	ck_assert_uint_ge(n, N_PREDICT - 2);
	ck_assert(!ended);
	while (lmi_engine_turn(engine) != LMI_TURN_IDLE)
		;
	ck_assert(is_told());
	ck_assert_uint_eq(n + read_all(&ended), N_PREDICT);
	ck_assert(ended);
}
END_TEST

START_TEST(who_is_awake_hears_of_each)
{
	const uint64_t until[] = {0, 1}; /* never, and long ago */
	bool ended = false;
	uint32_t n = 0;

	lmi_engine_doze(engine, until[_i]);
	begin(N_PREDICT);
	while (!ended) {
		uint32_t got;

		ck_assert_int_ne(lmi_engine_turn(engine), LMI_TURN_FULL);
		ck_assert(is_told());
		got = read_all(&ended);
		ck_assert_uint_le(got, 2);
		n += got;
	}
	ck_assert_uint_eq(n, N_PREDICT);
}
END_TEST

/* Nothing is read until the engine has to wait for space in the ring. */
START_TEST(a_queue_that_fills_wakes)
{
	bool told = false, ended = false;
	uint32_t n_silent = 0, n;

	lmi_engine_doze(engine, UINT64_MAX);
	begin(200);
	for (;;) {
		enum lmi_turn t = lmi_engine_turn(engine);

		ck_assert_msg(!told || is_told(), "told once and not any more");
		told = is_told();
		if (t != LMI_TURN_RAN)
			break;
		n_silent += !told;
	}
	ck_assert(is_told());
	ck_assert_uint_gt(n_silent, 0);
	n = read_all(&ended);
	ck_assert_uint_gt(n, n_silent);
	ck_assert(!ended);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("doze");
	TCase *t = tcase_create("doze");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, tokens_wake_nobody_the_end_does);
	tcase_add_loop_test(t, who_is_awake_hears_of_each, 0, 2);
	suite_add_tcase(s, t);
	t = tcase_create("a small queue");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup_small, teardown);
	tcase_add_test(t, a_queue_that_fills_wakes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
