/* SPDX-License-Identifier: MIT
 *
 * A model whose device is in a process of its own: the same bits, and what happens when that process ends,
 * stops, or crashes in a step. With devices in host memory, and with one that has memory of its own. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/sanitized.h"
#include "core/engine/device_fixture.h"
#include "core/engine/devices.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/engine_impl.h"
#include "core/worker/proxy.h"
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
	static const char *const backends[] = {"ref", "cpu", "emu"};

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

/* A prompt has other threads than a token, in this process and in a worker, and the bits of one thread.
 * _i: isolated */
START_TEST(threads_by_rows)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "cpu");
	lmd_token prompt[LMI_TEAM_FEW_ROWS + 20];
	struct lmt_rows want[2], have;
	struct lmi_engine *e = NULL;
	struct lmi_engine_info info;
	struct lmd_error err = {0};

	for (uint32_t i = 0; i < LMD_LEN(prompt); i++)
		prompt[i] = lmt_hello[i % LMT_N_HELLO];
	for (int k = 0; k < 7; k++) {
		const struct lmi_engine_input_seq in =
			lmt_tokens(prompt, k % 2 ? (uint32_t)LMD_LEN(prompt) : LMI_TEAM_FEW_ROWS);
		const struct lmi_engine_eval cmd = {
			.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};

		if (k == 0 || k == 2) {
			lmi_engine_fini(e);
			o.inst.n_thread = 1;
			o.inst.n_thread_batch = k ? 3 : 0;
			o.inst.isolated = k && _i;
			OK(lmi_engine_open(&e, &o, &err));
			lmi_engine_info(e, &info);
			ck_assert_uint_eq(info.n_thread, 1);
			ck_assert_uint_eq(info.n_thread_batch, k ? 3 : 1);
		}
		OK(lmt_eval(e, &cmd, k < 2 ? &want[k] : &have, &err));
		if (k < 2)
			continue;
		lmt_check_same(&want[k % 2], &have, "threads by rows");
		lmi_free(have.v);
		if (!_i)
			ck_assert_uint_eq(lmi_team_size(e->inst->devices[0].open->team), k % 2 ? 3 : 1);
	}
	lmi_engine_fini(e);
	lmi_free(want[0].v);
	lmi_free(want[1].v);
}
END_TEST

/* Threads of a model stay where they should; what cannot be is refused with a word. _i: isolated */
START_TEST(threads_have_a_place)
{
	static const struct {
		struct lmi_cpu_place place;
		const char *says;
	} bad[] = {{{.cpus = "5-4"}, "cpus: '5-4' is not a set of processors"},
		   {{.cpus = "1023"}, "cpus: this process may not use processor 1023"},
		   {{.cpus = "0-1023"}, "cpus: this process may not use processor"}};
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "cpu");
	struct lmi_engine *e = NULL;
	struct lmt_rows want, have;
	struct lmd_error err = {0};

	o.inst.isolated = _i;
	o.inst.n_thread = 1;
	OK(lmi_engine_open(&e, &o, &err));
	OK(hello(e, &want, &err));
	lmi_engine_fini(e);
	o.inst.n_thread = 2;
	o.inst.place.strict = true;
	OK(lmi_engine_open(&e, &o, &err));
	OK(hello(e, &have, &err));
	lmt_check_same(&want, &have, "strict");
	lmi_engine_fini(e);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		o.inst.place = bad[i].place;
		ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_INVALID);
		ck_assert_msg(strstr(err.text, bad[i].says) != NULL, "%s", err.text);
	}
	lmi_free(want.v);
	lmi_free(have.v);
}
END_TEST

static const char *const on[] = {"cpu", "ref", "emu"};

/* Generations: in this process, in a worker, and with a draft model, which has a worker of its own. _i:
 * backend */
START_TEST(answers_are_the_same)
{
	static const struct lmi_sampler_spec greedy[] = {{.name = "greedy"}};
	char draft[40];
	lmd_token tokens[3][30];
	uint32_t n[3] = {0};

	for (int isolate = 0; isolate < 3; isolate++) {
		struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], on[_i]);
		const struct lmi_engine_generate cmd = {
			.id = 1,
			.seq = lmt_tokens(lmt_hello, LMT_N_HELLO),
			.n_predict = 30,
			.specs = greedy,
			.n_specs = 1,
			.draft = isolate == 2 ? LMI_ENGINE_DRAFT_MODEL : LMI_ENGINE_DRAFT_OFF,
			.n_draft = 4,
			.flags = LMI_ENGINE_GEN_IGNORE_EOG | LMI_ENGINE_GEN_DRAFT_ALWAYS};
		struct lmi_engine *e = NULL;
		struct lmi_engine_event ev;
		struct lmi_engine_stats stats;
		struct lmd_error err = {0};
		bool done = false;

		o.inst.isolated = isolate;
		o.inst.draft_path = isolate == 2 ? lmt_paths[LMT_FULL] : NULL;
		o.no_tokenizer = false;
		OK(lmi_engine_open(&e, &o, &err));
		(void)snprintf(draft, sizeof(draft), "%s0@tiny-draft", on[_i]);
		if (isolate == 2)
			ck_assert_str_eq(lmi_engine_draft_model_inst(e->inst->draft)->devices[0].name,
					 draft);
		OK(lmi_engine_generate(e, &cmd, &err));
		while (!done) {
			(void)lmi_engine_step(e);
			while (lmi_engine_poll(e, &ev)) {
				ck_assert_int_ne(ev.kind, LMI_ENGINE_EV_FAILED);
				if (ev.kind == LMI_ENGINE_EV_TOKEN)
					tokens[isolate][n[isolate]++ % 30] = ev.u.text.token;
				done |= ev.kind == LMI_ENGINE_EV_DONE;
				lmi_engine_event_release(&ev);
			}
		}
		lmi_engine_stats(e, &stats);
		ck_assert_int_eq(stats.n_accepted > 0, isolate == 2);
		lmi_engine_fini(e);
	}
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(n[i], 30);
		ck_assert_mem_eq(tokens[0], tokens[i], sizeof(tokens[0]));
	}
}
END_TEST

/* Does the message tell this end?  A sanitizer catches signals and exits. */
static bool tells(const struct lmd_error *err, int signal)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "ended by signal %d", signal);
	if (LMI_SANITIZED && (strstr(err->text, "ended with status 1") || strstr(err->text, "ended with status 66")))
		return true; /* of AddressSanitizer and of ThreadSanitizer */
	return strstr(err->text, text);
}

/* How long a worker may not move.  Under a sanitizer a busy machine needs longer for what is no end. */
#define PATIENCE_MS (LMI_SANITIZED ? "5000" : "300")

static const struct {
	const char *backend;
	int signal;
	const char *text;
} ends[] = {{"ref", SIGKILL, "ended by signal 9"},
	    {"ref", SIGSEGV, "ended by signal 11"},
	    {"ref", SIGSTOP, "did not move for "},
	    {"emu", SIGKILL, "ended by signal 9"},
	    {"emu", SIGSEGV, "ended by signal 11"},
	    {"emu", SIGSTOP, "did not move for "}};

/* What ends the process of a model takes this model alone. */
START_TEST(its_end_takes_one_model)
{
	const char *backend = ends[_i].backend;
	char device[24], mine[24], third_one[24], lost[48];
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], backend), other = o;
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine *e = NULL, *beside = NULL, *third = NULL;
	struct lmt_rows rows = {0};
	struct lmi_engine_loss loss = {0};
	struct lmd_error err = {0};
	pid_t pid, pid2;
	uint64_t wait_ns;

	(void)snprintf(device, sizeof(device), "%s0", backend);
	(void)snprintf(mine, sizeof(mine), "%s0@tiny", backend);
	(void)snprintf(third_one, sizeof(third_one), "%s0@other", backend);
	(void)snprintf(lost, sizeof(lost), "device %s was lost", mine);
	ck_assert_int_eq(setenv("LLAMAD_WORKER_PATIENCE_MS", PATIENCE_MS, 1), 0);
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
	ck_assert_msg(strstr(err.text, lost) && (strstr(err.text, ends[_i].text) || tells(&err, ends[_i].signal)),
		      "%s", err.text);
	ck_assert(ends[_i].signal != SIGSTOP || strstr(err.text, PATIENCE_MS));
	ck_assert_uint_eq(lmi_engine_device_losses(set, mine, &wait_ns), 1);
	ck_assert_uint_gt(wait_ns, 0);
	ck_assert_uint_eq(lmi_engine_device_losses(set, device, &wait_ns), 0);
	ck_assert_uint_eq(lmi_engine_device_losses(set, third_one, &wait_ns), 0);
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
	ck_assert_str_eq(loss.device, mine);
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

/* Devices of models whose long names begin alike are different ones. */
START_TEST(long_names_differ)
{
	static const char *const labels[] = {"a-model-with-a-long-name-of-8-bits",
					     "a-model-with-a-long-name-of-4-bits"};
	struct lmi_engine *e[2] = {0};
	struct lmd_error err = {0};

	for (int i = 0; i < 2; i++) {
		struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "ref");

		o.inst.label = labels[i];
		OK(lmi_engine_open(&e[i], &o, &err));
		ck_assert_int_eq(strncmp(e[i]->inst->devices[0].name, "ref0@a-model-with-a-~", 21), 0);
	}
	ck_assert_str_ne(e[0]->inst->devices[0].name, e[1]->inst->devices[0].name);
	lmi_engine_fini(e[0]);
	lmi_engine_fini(e[1]);
}
END_TEST

/* Two workers of one model, as while it is loaded again, are lost one by one. */
START_TEST(the_next_worker_goes_on)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "ref");
	struct lmi_engine_placement where[2];
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine *e[2] = {0};
	struct lmt_rows rows = {0};
	struct lmd_error err = {0};
	uint64_t wait_ns;

	OK(lmi_engine_devices_create(&set, lmt_device_env.registry, lmt_device_env.host, &err));
	o.inst.devices = set;
	for (int i = 0; i < 2; i++) {
		OK(lmi_engine_open(&e[i], &o, &err));
		lmi_engine_where(e[i], &where[i]);
		ck_assert_str_eq(where[i].devices[0].name, "ref0@tiny");
	}
	for (int i = 0; i < 2; i++) {
		OK(hello(e[i], &rows, &err));
		lmi_free(rows.v);
		ck_assert(!lmi_engine_device_is_lost(set, where[i].devices[0].opening, &wait_ns));
		ck_assert_int_eq(kill(worker_of(e[i]), SIGKILL), 0);
		ck_assert_int_eq(hello(e[i], &rows, &err), LMD_DEVICE);
		ck_assert(lmi_engine_device_is_lost(set, where[i].devices[0].opening, &wait_ns));
		ck_assert_uint_gt(wait_ns, 0);
		ck_assert_uint_eq(lmi_engine_device_losses(set, "ref0@tiny", &wait_ns), i + 1);
	}
	lmi_engine_fini(e[0]);
	lmi_engine_fini(e[1]);
	ck_assert(!lmi_engine_device_is_lost(set, where[0].devices[0].opening, &wait_ns));
	lmi_engine_devices_destroy(set);
}
END_TEST

/* A worker that ends while it has nothing to do is reaped, and breaks its engine, at once. */
START_TEST(its_end_is_noticed_without_work)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "ref");
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};
	struct pollfd p;
	pid_t pid;

	o.in_line = false;
	OK(lmi_engine_open(&e, &o, &err));
	pid = worker_of(e);
	p = (struct pollfd){.fd = lmi_engine_fd(e), .events = POLLIN};
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	while (!lmi_engine_is_broken(e, &err)) {
		ck_assert_int_eq(poll(&p, 1, 60000), 1);
		lmi_engine_clear_fd(e);
	}
	ck_assert(is_gone(pid));
	ck_assert_msg(strstr(err.text, "device ref0@tiny was lost: worker process") != NULL, "%s", err.text);
	lmi_engine_fini(e);
}
END_TEST

/* So are further ones of the model. */
START_TEST(the_end_of_several_is_noticed)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], NULL);
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	o.inst.device_list = "emu0,emu1";
	o.inst.split = "1,1";
	o.in_line = false;
	OK(lmi_engine_open(&e, &o, &err));
	for (int i = 0; i < 2; i++) {
		const pid_t pid = lmi_worker_pid(e->inst->devices[i].state);

		ck_assert_int_gt(pid, 0);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		while (!is_gone(pid)) /* the test has a time limit */
			(void)poll(NULL, 0, 10);
	}
	while (!lmi_engine_is_broken(e, &err))
		(void)poll(NULL, 0, 10);
	ck_assert_msg(strstr(err.text, "device emu0@tiny was lost: worker process") != NULL, "%s", err.text);
	lmi_engine_fini(e);
}
END_TEST

/* A backend that never returns is ended, although its process counts. */
START_TEST(a_step_without_end)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "emu");
	struct lmi_worker_link *link;
	struct lmi_engine *e = NULL;
	struct lmt_rows rows = {0};
	struct lmd_error err = {0};

	ck_assert_int_eq(setenv("LLAMAD_EMU", "hang_step=2", 1), 0);
	o.inst.isolation_timeout_ns = 3600000000000;
	OK(lmi_engine_open(&e, &o, &err));
	OK(hello(e, &rows, &err));
	lmi_free(rows.v);
	link = &((struct lmi_worker_proxy *)e->inst->devices[0].state)->link;
	ck_assert_uint_eq(link->timeout_ns, o.inst.isolation_timeout_ns);
	link->timeout_ns = 200000000; /* only of the step that does not end */
	ck_assert_int_eq(hello(e, &rows, &err), LMD_DEVICE);
	ck_assert_msg(strstr(err.text, "made no progress for 200 ms (isolation_timeout)") != NULL, "%s",
		      err.text);
	lmi_engine_fini(e);
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
	ck_assert_msg(tells(&err, SIGBUS), "%s", err.text);
	lmi_engine_fini(e);
	(void)remove(path);
}
END_TEST

/* The memory of a device is counted once for all processes, and what its driver refuses is refused here. */
START_TEST(one_ledger)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "emu");
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine_device_row *rows = NULL;
	struct lmi_engine *e[2] = {0};
	struct lmd_error err = {0};
	uint64_t used[2] = {0};
	uint32_t n = 0;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "memory_mb=64", 1), 0);
	OK(lmi_engine_devices_create(&set, lmt_device_env.registry, lmt_device_env.host, &err));
	o.inst.devices = set;
	for (int i = 0; i < 2; i++) {
		OK(lmi_engine_open(&e[i], &o, &err));
		OK(lmi_engine_devices_list(set, &rows, &n, &err));
		for (uint32_t k = 0; k < n; k++)
			if (!strcmp(rows[k].name, "emu0")) {
				used[i] = rows[k].memory_models;
				ck_assert_uint_eq(rows[k].n_model, i + 1);
				ck_assert_uint_eq(rows[k].memory_total, 64u << 20);
				ck_assert_uint_eq(rows[k].memory_free, (64u << 20) - used[i]);
			}
		lmi_free(rows);
		o.inst.label = "other";
	}
	ck_assert_uint_gt(used[0], 0);
	ck_assert_uint_eq(used[1], 2 * used[0]);
	/* neither the rest nor more than that is promised to a third one */
	o.inst.label = "third";
	o.inst.kv_tokens = 0;
	o.inst.n_ctx = 1u << 20;
	o.inst.n_seq = 64;
	lmi_engine_fini(e[1]);
	ck_assert_int_eq(lmi_engine_open(&e[1], &o, &err), LMD_NOMEM);
	lmi_engine_fini(e[0]);
	lmi_engine_devices_destroy(set);
}
END_TEST

/* A draft that uses the embedding of its target maps it where it is; what is copied is counted. */
START_TEST(a_draft_maps_the_weights_of_its_target)
{
	static char path[300], draft[320];
	struct lmi_engine_opts o = isolated(path, "ref");
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};

	(void)snprintf(path, sizeof(path), "%s/core/engine/isolation.%d", lmd_build_dir(), (int)getpid());
	(void)snprintf(draft, sizeof(draft), "%s.eagle", path);
	lmt_tiny_write(LMT_NEXTN, 1, path);
	lmt_tiny_write(LMT_EAGLE3, 2, draft);
	o.inst.draft_path = draft;
	o.no_tokenizer = false;
	OK(lmi_engine_open(&e, &o, &err));
	ck_assert_ptr_nonnull(lmi_engine_nextn_inst(e->inst->nextn));
	ck_assert(lmi_engine_nextn_inst(e->inst->nextn)->devices[0].open->isolated);
	ck_assert_uint_lt(lmi_engine_nextn_inst(e->inst->nextn)->devices[0].weight_bytes,
			  LMT_VOCAB * LMT_EMBD * sizeof(float));
	lmi_engine_fini(e);
	(void)remove(path);
	(void)remove(draft);
}
END_TEST

/* A device that its driver has lost is lost for this model; its process is ended with the model. */
START_TEST(a_loss_in_the_worker)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], "emu");
	struct lmi_engine *e = NULL;
	struct lmt_rows rows = {0};
	struct lmd_error err = {0};
	pid_t pid;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "lose_step=1", 1), 0);
	OK(lmi_engine_open(&e, &o, &err));
	pid = worker_of(e);
	ck_assert_int_eq(hello(e, &rows, &err), LMD_DEVICE);
	ck_assert_msg(strstr(err.text, "device emu0@tiny was lost: emu: the device was lost at step 1"), "%s",
		      err.text);
	lmi_engine_fini(e);
	ck_assert(is_gone(pid));
}
END_TEST

/* A model that is divided among devices, each of which has a process. _i: how */
static const struct {
	const char *list, *split;
} parts[] = {{"emu0,emu1", "1,1"},   {"emu0,ref0", "1,1"},     {"ref0,emu0", "1,1"},
	     {"emu1,emu0", "2,1"}, {"emu0,emu1", "tensor"}, {"ref0,emu1", "tensor:4"}};

START_TEST(divided_models)
{
	struct lmi_engine_opts o = isolated(lmt_paths[LMT_FULL], NULL);
	struct lmt_rows want = {0}, have = {0};
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	o.inst.device_list = parts[_i].list;
	o.inst.split = parts[_i].split;
	for (int k = 0; k < 2; k++) {
		o.inst.isolated = k;
		OK(lmi_engine_open(&e, &o, &err));
		ck_assert_uint_eq(e->inst->n_device, 2);
		OK(hello(e, k ? &have : &want, &err));
		lmi_engine_fini(e);
	}
	lmt_check_same(&want, &have, parts[_i].list);
	lmi_free(want.v);
	lmi_free(have.v);
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
	tcase_add_loop_test(t, threads_by_rows, 0, 2);
	tcase_add_loop_test(t, threads_have_a_place, 0, 2);
	tcase_add_loop_test(t, answers_are_the_same, 0, LMD_LEN(on));
	tcase_add_loop_test(t, its_end_takes_one_model, 0, LMD_LEN(ends));
	tcase_add_test(t, the_next_worker_goes_on);
	tcase_add_test(t, its_end_is_noticed_without_work);
	tcase_add_test(t, the_end_of_several_is_noticed);
	tcase_add_test(t, a_step_without_end);
	tcase_add_test(t, long_names_differ);
	tcase_add_test(t, a_crash_in_a_step);
	tcase_add_test(t, one_ledger);
	tcase_add_test(t, a_draft_maps_the_weights_of_its_target);
	tcase_add_test(t, a_loss_in_the_worker);
	tcase_add_loop_test(t, divided_models, 0, LMD_LEN(parts));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
