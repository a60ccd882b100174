/* SPDX-License-Identifier: MIT
 *
 * A model whose device is in a process of its own: the same bits, and what happens when that process ends,
 * stops, or crashes in a step. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/device_fixture.h"
#include "core/engine/devices.h"
#include "core/engine/engine_impl.h"
#include "core/worker/worker.h"
#include "tests/lmd_check.h"

static struct lmi_engine_opts isolated(const char *path, const char *backend)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, path);

	o.inst.backend = backend;
	o.inst.n_ctx = 64;
	o.inst.label = "tiny";
	o.inst.isolated = true;
	return o;
}

static enum lmd_status hello(struct lmi_engine *e, struct lmt_rows *rows, struct lmd_error *err)
{
	const struct lmi_engine_input_seq in = lmt_tokens(lmt_hello, LMT_N_HELLO);
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};

	return lmt_eval(e, &cmd, rows, err);
}

static pid_t worker_of(const struct lmi_engine *e)
{
	ck_assert(e->inst->devices[0].open->isolated);
	return lmi_worker_pid(e->inst->devices[0].state);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

/* _i: kind of model */
START_TEST(the_bits_are_the_same)
{
	static const char *const backends[] = {"ref", "cpu"};

	for (size_t b = 0; b < LMD_LEN(backends); b++)
		for (uint32_t n_thread = 1; n_thread < 3; n_thread++) {
			struct lmi_engine_opts o = isolated(lmt_paths[_i], backends[b]);
			struct lmt_rows want = {0}, have = {0};
			struct lmi_engine *e = NULL;
			struct lmd_error err = {0};
			pid_t pid;

			o.inst.n_thread = n_thread;
			o.inst.isolated = false;
			OK(lmi_engine_open(&e, &o, &err));
			OK(hello(e, &want, &err));
			lmi_engine_fini(e);
			o.inst.isolated = true;
			OK(lmi_engine_open(&e, &o, &err));
			pid = worker_of(e);
			ck_assert_int_gt(pid, 0);
			ck_assert_int_ne(pid, getpid());
			for (int k = 0; k < 3; k++) {
				OK(hello(e, &have, &err));
				lmt_check_same(&want, &have, backends[b]);
				lmi_free(have.v);
			}
			lmi_engine_fini(e);
			ck_assert(is_gone(pid));
			lmi_free(want.v);
		}
}
END_TEST

/* Generations, with forks, preemption and copies of pages. */
START_TEST(answers_are_the_same)
{
	static const struct lmi_sampler_spec greedy[] = {{.name = "greedy"}};
	lmd_token tokens[2][30];
	uint32_t n[2] = {0};

	for (int isolate = 0; isolate < 2; isolate++) {
		struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "cpu");
		const struct lmi_engine_generate cmd = {.id = 1,
							.seq = lmt_tokens(lmt_hello, LMT_N_HELLO),
							.n_predict = 30,
							.specs = greedy,
							.n_specs = 1,
							.flags = LMI_ENGINE_GEN_IGNORE_EOG};
		struct lmi_engine *e = NULL;
		struct lmi_engine_event ev;
		struct lmd_error err = {0};
		bool done = false;

		o.inst.isolated = isolate;
		o.no_tokenizer = false;
		OK(lmi_engine_open(&e, &o, &err));
		OK(lmi_engine_generate(e, &cmd, &err));
		while (!done) {
			(void)lmi_engine_step(e);
			while (lmi_engine_poll(e, &ev)) {
				ck_assert_int_ne(ev.kind, LMI_ENGINE_EV_FAILED);
				if (ev.kind == LMI_ENGINE_EV_TOKEN)
					tokens[isolate][n[isolate]++] = ev.u.text.token;
				done |= ev.kind == LMI_ENGINE_EV_DONE;
				lmi_engine_event_release(&ev);
			}
		}
		lmi_engine_fini(e);
	}
	ck_assert_uint_eq(n[0], 30);
	ck_assert_uint_eq(n[1], 30);
	ck_assert_mem_eq(tokens[0], tokens[1], sizeof(tokens[0]));
}
END_TEST

/* What ends the process of a model takes this model alone. */
START_TEST(its_end_takes_one_model)
{
	static const struct {
		int signal;
		const char *text;
	} ends[] = {{SIGKILL, "ended by signal 9"},
		    {SIGSEGV, "ended by signal 11"},
		    {SIGSTOP, "did not move for 300 ms"}};
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "ref"), other = o;
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine *e = NULL, *beside = NULL, *third = NULL;
	struct lmt_rows rows = {0};
	struct lmi_engine_loss loss = {0};
	struct lmd_error err = {0};
	pid_t pid, pid2;
	uint64_t wait_ns;

	ck_assert_int_eq(setenv("LLAMAD_WORKER_PATIENCE_MS", "300", 1), 0);
	OK(lmi_engine_devices_create(&set, lmt_device_env.registry, lmt_device_env.host, &err));
	o.inst.devices = other.inst.devices = set;
	other.inst.isolated = false;
	OK(lmi_engine_open(&beside, &other, &err));
	other.inst.isolated = true;
	other.inst.label = "other";
	OK(lmi_engine_open(&third, &other, &err));
	o.inst.at_once = true;
	o.inst.loss = &loss;
	OK(lmi_engine_open(&e, &o, &err));
	pid = worker_of(e);
	pid2 = worker_of(third);
	ck_assert_int_ne(pid, pid2);
	OK(hello(e, &rows, &err));
	lmi_free(rows.v);
	ck_assert_int_eq(kill(pid, ends[_i].signal), 0);
	ck_assert_int_eq(hello(e, &rows, &err), LMD_DEVICE);
	ck_assert_msg(strstr(err.text, "device ref0@tiny was lost") && strstr(err.text, ends[_i].text),
		      "%s", err.text);
	ck_assert_uint_eq(lmi_engine_device_losses(set, "ref0@tiny", &wait_ns), 1);
	ck_assert_uint_gt(wait_ns, 0);
	ck_assert_uint_eq(lmi_engine_device_losses(set, "ref0", &wait_ns), 0);
	ck_assert_uint_eq(lmi_engine_device_losses(set, "ref0@other", &wait_ns), 0);
	ck_assert(is_gone(pid));
	ck_assert_int_eq(worker_of(e), 0);
	OK(hello(beside, &rows, &err));
	lmi_free(rows.v);
	OK(hello(third, &rows, &err));
	lmi_free(rows.v);
	lmi_engine_fini(e);
	/* it stays closed for a while, unless somebody insists */
	o.inst.at_once = false;
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_BUSY);
	ck_assert_str_eq(loss.device, "ref0@tiny");
	o.inst.at_once = true;
	OK(lmi_engine_open(&e, &o, &err));
	ck_assert_int_ne(worker_of(e), pid);
	OK(hello(e, &rows, &err));
	lmi_free(rows.v);
	lmi_engine_fini(e);
	lmi_engine_fini(beside);
	lmi_engine_fini(third);
	ck_assert(is_gone(pid2));
	lmi_engine_devices_destroy(set);
}
END_TEST

/* The process crashes in a step: its weights are in a file that has become shorter. */
START_TEST(a_crash_in_a_step)
{
	char path[300] = "";
	struct lmi_engine_opts o = isolated(path, "ref");
	struct lmi_engine *e = NULL;
	struct lmt_rows rows = {0};
	struct lmd_error err = {0};

	(void)snprintf(path, sizeof(path), "%s/core/engine/isolation.%d.gguf", lmd_build_dir(),
		       (int)getpid());
	lmt_tiny_write(LMT_FULL, 5, path);
	OK(lmi_engine_open(&e, &o, &err));
	ck_assert_int_eq(truncate(path, 4096), 0);
	ck_assert_int_eq(hello(e, &rows, &err), LMD_DEVICE);
	ck_assert_msg(strstr(err.text, "ended by signal 7") != NULL, "%s", err.text);
	lmi_engine_fini(e);
	(void)remove(path);
}
END_TEST

START_TEST(devices_with_memory_of_their_own_are_refused)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "emu");
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "device emu0 has memory of its own") != NULL, "%s", err.text);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("isolation");
	TCase *t = tcase_create("isolation");
	int status;

	if (lmi_worker_main_if_asked(argc, argv, &status))
		return status;
	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, lmt_device_setup, lmt_device_teardown);
	tcase_add_loop_test(t, the_bits_are_the_same, 0, LMT_N_TINY);
	tcase_add_test(t, answers_are_the_same);
	tcase_add_loop_test(t, its_end_takes_one_model, 0, 3);
	tcase_add_test(t, a_crash_in_a_step);
	tcase_add_test(t, devices_with_memory_of_their_own_are_refused);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
