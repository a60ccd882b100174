/* SPDX-License-Identifier: MIT
 *
 * The engine on a device with memory of its own: the emulated one (plugins/backend/emu), which
 * completes at once or late, fails on request, and gives the results of ref bit by bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/device_fixture.h"
#include "core/engine/devices.h"
#include "core/engine/instance.h"
#include "tests/lmd_check.h"

/* The block of a step and the rows are read when the device gets to them, not before. */
START_TEST(both_modes_give_the_bits_of_ref)
{
	static const char *const settings[] = {"", "late=1", "late=1,seed=1", "late=1,seed=2",
					       "late=1,seed=77", "buckets=1",
					       "buckets=1,late=1"};
	struct lmt_rows want = {0};
	struct lmd_error err = {0};

	ck_assert_msg(lmt_logits(_i, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	for (size_t i = 0; i < LMD_LEN(settings); i++) {
		struct lmt_rows have = {0};

		ck_assert_msg(lmt_logits(_i, "emu", 0, settings[i], &have, &err) == LMD_OK,
			      "%s: %s", settings[i], err.text);
		ck_assert_uint_eq(have.n_row, want.n_row);
		ck_assert_mem_eq(have.v, want.v, (size_t)want.n_row * want.width * sizeof(float));
		lmi_free(have.v);
	}
	lmi_free(want.v);
}
END_TEST

START_TEST(each_allocation_may_fail)
{
	struct lmi_alloc_stats before, after;
	enum lmd_status st = LMD_NOMEM;
	struct lmt_rows first = {0};
	struct lmd_error why;
	uint32_t n;

	/* maps the plugin, which then stays */
	ck_assert_int_eq(lmt_logits(0, "emu", 0, "", &first, &why), LMD_OK);
	lmi_free(first.v);
	for (n = 1; st != LMD_OK && n < 4000; n += 1 + n / 16) {
		struct lmt_rows have = {0};
		struct lmd_error err = {0};
		char settings[40];

		snprintf(settings, sizeof(settings), "fail_alloc=%u", n);
		lmi_alloc_stats(&before);
		st = lmt_logits(0, "emu", 0, settings, &have, &err);
		lmi_free(have.v);
		lmi_alloc_stats(&after);
		ck_assert_msg(after.n_live == before.n_live, "allocation %u: %llu leaked: %s", n,
			      (unsigned long long)(after.n_live - before.n_live), err.text);
		ck_assert_msg(st == LMD_OK || st == LMD_NOMEM, "allocation %u: %d: %s", n, st,
			      err.text);
		ck_assert(st == LMD_OK || *err.text);
	}
	ck_assert_int_eq(st, LMD_OK);
	ck_assert_uint_gt(n, 20);
}
END_TEST

START_TEST(a_lost_device_is_reported)
{
	static const char *const settings[] = {"lose_step=1", "lose_step=1,late=1"};

	for (size_t i = 0; i < LMD_LEN(settings); i++) {
		struct lmt_rows have = {0};
		struct lmd_error err = {0};

		ck_assert_int_eq(lmt_logits(0, "emu", 0, settings[i], &have, &err), LMD_DEVICE);
		ck_assert_ptr_nonnull(strstr(err.text, "lost at step 1"));
		lmi_free(have.v);
	}
}
END_TEST

START_TEST(devices_are_found_by_index)
{
	struct lmt_rows have = {0};
	struct lmd_error err = {0};

	ck_assert_msg(lmt_logits(0, "emu", 2, "devices=3", &have, &err) == LMD_OK, "%s", err.text);
	lmi_free(have.v);
	ck_assert_int_eq(lmt_logits(0, "emu", 3, "devices=3", &have, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "device 3, there are 3"));
	ck_assert_int_eq(lmt_logits(0, "emu", 0, "devices=3,nonsense=1", &have, &err),
			 LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "no setting 'nonsense=1'"));
}
END_TEST

/* A plan is compiled for each bucket when it is first used, and never again. */
START_TEST(plans_are_compiled_once)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[0]);
	struct lmi_engine_stats st;
	struct lmi_engine *e = NULL;
	lmd_token v[100] = {0};
	struct lmd_error err = {0};

	o.inst.n_ctx = 128;
	o.inst.n_batch = 70;
	o.inst.backend = "emu";
	ck_assert_int_eq(setenv("LLAMAD_EMU", "buckets=1", 1), 0); /* 1, 8, 64 and 512 rows */
	ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
	for (uint32_t n = 1; n < 100; n += 6) {
		const struct lmi_engine_input_seq in = lmt_tokens(v, n);
		const struct lmi_engine_eval cmd = {
			.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
		struct lmt_rows rows = {0};

		ck_assert_msg(lmt_eval(e, &cmd, &rows, &err) == LMD_OK, "%s", err.text);
		lmi_free(rows.v);
		lmi_engine_stats(e, &st);
		ck_assert_uint_eq(st.n_plan, 4);
	}
	lmi_engine_fini(e);
}
END_TEST

/* The budget is the device's memory, not the machine's. */
START_TEST(the_device_decides_what_fits)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[0]);
	struct lmi_engine_memory m;
	struct lmd_error err = {0};
	uint32_t n_ctx;

	o.inst.n_ctx = 64;
	o.inst.backend = "emu";
	ck_assert_int_eq(setenv("LLAMAD_EMU", "memory_mb=64", 1), 0);
	ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, NULL, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_le(m.budget, 64u << 20);
	ck_assert_uint_gt(m.budget, 59u << 20); /* a margin of 4.5 MiB */
	ck_assert_uint_gt(m.weights, 0); /* copied to the device */
}
END_TEST

/* ---- memory ---- */

static struct lmi_engine_device_row find_row(struct lmi_engine_devices *set, const char *name)
{
	struct lmi_engine_device_row found = lmt_device_row(set, name);

	ck_assert_str_eq(found.name, name);
	return found;
}

static uint64_t used_bytes(struct lmi_engine_devices *set, const char *name)
{
	struct lmi_engine_device_row r = find_row(set, name);

	return r.memory_total - r.memory_free;
}

/* What the devices have given away is what was estimated, within 3 %. */
START_TEST(the_estimate_is_what_the_devices_give)
{
	static const char *const names[] = {"emu0", "emu1"};
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[_i]);
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine_placement w;
	struct lmi_inst *inst = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	ck_assert_int_eq(lmi_engine_devices_create(&set, lmt_device_env.registry,
						   lmt_device_env.host, &err),
			 LMD_OK);
	o.inst.devices = set;
	o.inst.device_list = "emu0,emu1";
	o.inst.n_ctx = 4096;
	o.inst.n_seq = 64;
	lmt_place(&o, &w);
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t sum = lmi_engine_memory_sum(&w.devices[i].memory);
		uint64_t used = used_bytes(set, names[i]);

		ck_assert_str_eq(w.devices[i].name, names[i]);
		ck_assert_uint_eq(find_row(set, names[i]).memory_models, sum);
		/* in addition: the state of the backend, plans, copies of step blocks */
		ck_assert_msg(used >= sum * 97 / 100 && used <= sum * 103 / 100 + (1u << 20),
			      "%s: estimated %llu, took %llu", names[i], (unsigned long long)sum,
			      (unsigned long long)used);
	}
	lmi_inst_close(inst);
	ck_assert_uint_eq(used_bytes(set, "emu0"), 0);
	lmi_engine_devices_destroy(set);
}
END_TEST

/* Whatever the devices have, a model that is said to fit opens and computes, and the automatic choice
 * puts more layers on them the more they have. */
START_TEST(nothing_is_promised_that_a_device_lacks)
{
	static const char *const layers[] = {"auto", "all"};
	uint32_t n_fit[2] = {0};
	int32_t first = 1000;

	for (uint32_t mb = 1; mb <= 32; mb += 1 + mb / 8) {
		for (size_t k = 0; k < LMD_LEN(layers); k++) {
			struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[LMT_FULL]);
			const struct lmi_engine_input_seq in = lmt_tokens(lmt_hello, LMT_N_HELLO);
			const struct lmi_engine_eval cmd = {
				.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
			struct lmi_engine_placement w;
			struct lmi_engine_memory m;
			struct lmt_rows have = {0};
			struct lmd_error err = {0};
			enum lmd_status st;
			char settings[64];
			uint32_t n_ctx;

			snprintf(settings, sizeof(settings), "memory_mb=%u,buckets=%u", mb, mb % 2);
			ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
			o.inst.device_list = "emu0";
			o.inst.gpu_layers = layers[k];
			o.inst.n_ctx = 4096;
			o.inst.n_seq = 4;
			st = lmi_engine_estimate(&m, &n_ctx, &w, &o.inst, &err);
			ck_assert_msg(st == LMD_OK || (st == LMD_NOMEM && k), "%s: %s", settings,
				      err.text);
			if (st != LMD_OK)
				continue;
			n_fit[k]++;
			if (!k && w.devices[0].first >= 0) {
				ck_assert_int_le(w.devices[0].first, first);
				first = w.devices[0].first;
			}
			ck_assert_msg(lmt_eval_once(&o, &cmd, &have, &err) == LMD_OK, "%s %s: %s",
				      settings, layers[k], err.text);
			lmi_free(have.v);
		}
	}
	ck_assert_int_eq(first, 0);
	ck_assert_uint_gt(n_fit[0], n_fit[1]);
	ck_assert_uint_gt(n_fit[1], 0);
}
END_TEST

/* Memory that is meant for a model being loaded is not promised to another one. */
START_TEST(the_ledger_counts_what_is_promised)
{
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine_open_device *d = NULL;
	const struct lmi_engine_device_params p = {.backend = "emu", .threads = {.n = 1}};
	struct lmi_engine_claim a = {0}, b = {0};
	struct lmd_error err = {0};
	uint64_t free_bytes;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "memory_mb=64", 1), 0);
	ck_assert_int_eq(lmi_engine_devices_create(&set, lmt_device_env.registry,
						   lmt_device_env.host, &err),
			 LMD_OK);
	ck_assert_int_eq(lmi_engine_device_open(set, &p, &d, &err), LMD_OK);
	free_bytes = lmi_engine_device_free(set, d);
	ck_assert_uint_gt(free_bytes, 60u << 20);
	ck_assert_int_eq(lmi_engine_device_claim(set, d, &a, 40u << 20, true, true, &err), LMD_OK);
	ck_assert_uint_eq(lmi_engine_device_free(set, d), free_bytes - (40u << 20));
	ck_assert_int_eq(lmi_engine_device_claim(set, d, &b, 30u << 20, true, true, &err),
			 LMD_NOMEM);
	ck_assert_ptr_nonnull(strstr(err.text, "being loaded"));
	ck_assert_int_eq(lmi_engine_device_claim(set, d, &b, 20u << 20, true, true, &err), LMD_OK);
	ck_assert_uint_eq(find_row(set, "emu0").memory_models, 60u << 20);
	/* it is loaded: the device itself shows what it took, here nothing */
	ck_assert_int_eq(lmi_engine_device_claim(set, d, &a, 40u << 20, false, false, &err), LMD_OK);
	ck_assert_uint_eq(lmi_engine_device_free(set, d), free_bytes - (20u << 20));
	ck_assert_int_eq(lmi_engine_device_claim(set, d, &a, 0, false, false, &err), LMD_OK);
	ck_assert_int_eq(lmi_engine_device_claim(set, d, &b, 0, false, false, &err), LMD_OK);
	ck_assert_uint_eq(find_row(set, "emu0").memory_models, 0);
	lmi_engine_device_close(set, d);
	lmi_engine_devices_destroy(set);
}
END_TEST

/* ---- failures ---- */

static enum lmd_status eval(struct lmi_engine *e, uint32_t want, struct lmd_error *err)
{
	const struct lmi_engine_input_seq in = lmt_tokens(lmt_hello, LMT_N_HELLO);
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .want = want, .pooling = LMD_POOL_UNSET};
	struct lmt_rows rows = {0};
	enum lmd_status st = lmt_eval(e, &cmd, &rows, err);

	lmi_free(rows.v);
	return st;
}

static uint64_t stopped_clock(void *ctx)
{
	(void)ctx;
	return 1000000;
}

/* A lost device takes its models with it, but no others; it stays closed for a while. */
START_TEST(a_lost_device_is_opened_again)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[LMT_FULL]);
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine *on[4] = {NULL};
	struct lmi_engine_loss loss = {0};
	struct lmd_error err = {0};
	uint64_t wait_ns;

	lmt_device_env.host->now_ns = stopped_clock; /* the pause does not end by itself */
	ck_assert_int_eq(lmi_engine_devices_create(&set, lmt_device_env.registry,
						   lmt_device_env.host, &err),
			 LMD_OK);
	o.inst.devices = set;
	o.inst.n_ctx = 64;
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	o.inst.device_list = "emu1";
	ck_assert_int_eq(lmi_engine_open(&on[0], &o, &err), LMD_OK);
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2,late=1,lose_step=3", 1), 0);
	o.inst.device_list = "emu0";
	ck_assert_int_eq(lmi_engine_open(&on[1], &o, &err), LMD_OK);
	ck_assert_int_eq(lmi_engine_open(&on[2], &o, &err), LMD_OK); /* the same state */
	ck_assert_int_eq(eval(on[1], LMI_ENGINE_WANT_LOGITS, &err), LMD_OK);
	ck_assert_int_eq(eval(on[2], LMI_ENGINE_WANT_LOGITS, &err), LMD_OK);
	ck_assert(!find_row(set, "emu0").lost);
	ck_assert_int_eq(eval(on[1], LMI_ENGINE_WANT_LOGITS, &err), LMD_DEVICE);
	ck_assert_msg(!strncmp(err.text, "device emu0 was lost: emu: the device was lost at step 3", 56),
		      "%s", err.text);
	ck_assert(lmi_engine_is_broken(on[1], &err));
	ck_assert(find_row(set, "emu0").lost && !find_row(set, "emu1").lost);
	ck_assert_int_eq(eval(on[2], LMI_ENGINE_WANT_LOGITS, &err), LMD_DEVICE);
	ck_assert_int_eq(eval(on[0], LMI_ENGINE_WANT_LOGITS, &err), LMD_OK);
	lmi_engine_fini(on[1]);
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	/* both models lost it, which is one loss */
	ck_assert_uint_eq(lmi_engine_devices_n_loss(set), 1);
	ck_assert_uint_eq(lmi_engine_device_losses(set, "emu0", &wait_ns), 1);
	ck_assert_uint_eq(wait_ns, 1000000000);
	o.inst.loss = &loss;
	ck_assert_int_eq(lmi_engine_open(&on[3], &o, &err), LMD_BUSY);
	ck_assert_msg(strstr(err.text, "device emu0 was lost; it can be opened again in") != NULL,
		      "%s", err.text);
	ck_assert_str_eq(loss.device, "emu0");
	ck_assert_uint_eq(loss.wait_ns, wait_ns);
	o.inst.at_once = true;
	ck_assert_msg(lmi_engine_open(&on[3], &o, &err) == LMD_OK, "%s", err.text);
	ck_assert(!find_row(set, "emu0").lost);
	ck_assert_int_eq(eval(on[3], LMI_ENGINE_WANT_LOGITS, &err), LMD_OK);
	lmi_engine_fini(on[2]);
	ck_assert_int_eq(eval(on[3], LMI_ENGINE_WANT_LOGITS, &err), LMD_OK);
	ck_assert_int_eq(eval(on[0], LMI_ENGINE_WANT_LOGITS, &err), LMD_OK);
	lmi_engine_fini(on[0]);
	lmi_engine_fini(on[3]);
	lmi_engine_devices_destroy(set);
}
END_TEST

/* The report says who chooses tokens, before a model is opened and afterwards. */
START_TEST(who_chooses_tokens_is_said)
{
	static const struct {
		const char *device, *settings, *on, *why;
		enum lmi_engine_device_sampling sampling;
	} cases[] = {
		{"emu0", "late=1", "emu0", "", LMI_ENGINE_DEVICE_SAMPLING_AUTO},
		{"emu0", "late=1", "", "device_sampling is off", LMI_ENGINE_DEVICE_SAMPLING_OFF},
		{"emu0", "late=1,lacks=9", "", "emu0: ", LMI_ENGINE_DEVICE_SAMPLING_AUTO},
		{"ref0", "", "", "", LMI_ENGINE_DEVICE_SAMPLING_AUTO}, /* has no queue */
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[LMT_FULL]);
		struct lmi_engine_placement before, after;
		struct lmi_engine_memory m;
		struct lmi_engine *e = NULL;
		struct lmd_error err;
		uint32_t n_ctx;

		ck_assert_int_eq(setenv("LLAMAD_EMU", cases[i].settings, 1), 0);
		o.inst.device_list = cases[i].device;
		o.inst.n_ctx = 64;
		o.inst.device_sampling = cases[i].sampling;
		ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, &before, &o.inst, &err) == LMD_OK,
			      "%s", err.text);
		ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
		lmi_engine_where(e, &after);
		ck_assert_str_eq(before.sampling, cases[i].on);
		ck_assert_str_eq(after.sampling, cases[i].on);
		ck_assert_str_eq(before.no_sampling, after.no_sampling);
		ck_assert_msg(cases[i].why[0] ? !strncmp(after.no_sampling, cases[i].why,
							 strlen(cases[i].why))
					      : !after.no_sampling[0],
			      "%s", after.no_sampling);
		lmi_engine_fini(e);
	}
}
END_TEST

/* A plan that failed for lack of memory is made again for the next request. */
START_TEST(a_plan_is_made_again)
{
	uint32_t n_again = 0;

	for (uint32_t n = 1; n < 400; n++) {
		struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[LMT_FULL]);
		struct lmi_engine *e = NULL;
		struct lmd_error err = {0};
		enum lmd_status st;
		char settings[40];

		snprintf(settings, sizeof(settings), "fail_alloc=%u", n);
		ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
		o.inst.n_ctx = 64;
		o.inst.device_list = "emu0";
		if (lmi_engine_open(&e, &o, &err) != LMD_OK)
			continue;
		st = eval(e, LMI_ENGINE_WANT_EMBED, &err);
		if (st != LMD_OK) {
			ck_assert_msg(st == LMD_NOMEM, "%u: %s", n, err.text);
			ck_assert_msg(eval(e, LMI_ENGINE_WANT_EMBED, &err) == LMD_OK, "%u: %s", n,
				      err.text);
			n_again++;
		}
		lmi_engine_fini(e);
		if (st == LMD_OK)
			break;
	}
	ck_assert_uint_gt(n_again, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device");
	TCase *t = tcase_create("device");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, lmt_device_setup, lmt_device_teardown);
	tcase_add_loop_test(t, both_modes_give_the_bits_of_ref, 0, LMT_N_TINY);
	tcase_add_test(t, each_allocation_may_fail);
	tcase_add_test(t, a_lost_device_is_reported);
	tcase_add_test(t, devices_are_found_by_index);
	tcase_add_test(t, plans_are_compiled_once);
	tcase_add_test(t, the_device_decides_what_fits);
	tcase_add_loop_test(t, the_estimate_is_what_the_devices_give, 0, LMT_N_TINY);
	tcase_add_test(t, nothing_is_promised_that_a_device_lacks);
	tcase_add_test(t, the_ledger_counts_what_is_promised);
	tcase_add_test(t, a_lost_device_is_opened_again);
	tcase_add_test(t, a_plan_is_made_again);
	tcase_add_test(t, who_chooses_tokens_is_said);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
