/* SPDX-License-Identifier: MIT
 *
 * Models whose ops are divided among several devices, by layers or by tensor names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/device_fixture.h"
#include "core/engine/devices.h"
#include "core/engine/instance.h"
#include "core/engine/observe.h"
#include "tests/lmd_check.h"

/* However a model is divided among devices, each op computes the same bits; its caches are where its
 * ops are. */
START_TEST(every_division_gives_the_bits_of_one_device)
{
	static const struct {
		const char *list, *split, *override, *settings;
	} ways[] = {
		{"emu0,emu1", NULL, NULL, "devices=2"},
		{"emu0,emu1", NULL, NULL, "devices=2,late=1"},
		{"emu0,emu1", "1,1", NULL, "devices=2,late=1,seed=5"},
		{"emu0,emu1", "0,1", NULL, "devices=2,late=1,seed=6,peer=0"},
		{"emu0,emu1,emu2", NULL, NULL, "devices=3,late=1,seed=7,peer=0,buckets=1"},
		{"emu0,ref0", NULL, NULL, "late=1,seed=8"},
		{"ref0,emu0", NULL, NULL, "late=1,seed=9,buckets=1"},
		{"emu0,emu1", NULL, "ffn_down=emu0,output=emu1", "devices=2,late=1,seed=10"},
		{"emu0", NULL, "attn_q|ffn_up|in_proj=ref0", "late=1,seed=11"},
	};
	struct lmt_rows want = {0};
	struct lmd_error err = {0};

	ck_assert_msg(lmt_logits(_i, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	for (size_t i = 0; i < LMD_LEN(ways); i++) {
		struct lmt_rows have = {0};

		ck_assert_msg(lmt_placed(_i, ways[i].list, NULL, ways[i].split, ways[i].override,
				     ways[i].settings, &have, &err) == LMD_OK,
			      "%s %s: %s", ways[i].list, ways[i].settings, err.text);
		ck_assert_uint_eq(have.n_row, want.n_row);
		ck_assert_msg(!memcmp(have.v, want.v,
				      (size_t)want.n_row * want.width * sizeof(float)),
			      "%s %s: other bits", ways[i].list, ways[i].settings);
		lmi_free(have.v);
	}
	lmi_free(want.v);
}
END_TEST

/* ---- page sizes ---- */

/* Devices use the pages that the most particular of them can. */
START_TEST(devices_agree_on_a_page_size)
{
	struct lmt_rows want = {0}, have = {0};
	struct lmd_error err = {0};

	ck_assert_msg(lmt_logits(LMT_FULL, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmt_placed(LMT_FULL, "ref0,emu0", NULL, "1,1", NULL, "page=16,late=1", &have,
			     &err) == LMD_OK,
		      "%s", err.text);
	lmt_check_same(&want, &have, "pages of 16");
	lmi_free(have.v);
	have = (struct lmt_rows){0};
	ck_assert_int_eq(lmt_placed(LMT_FULL, "cpu0,emu0", NULL, "1,1", NULL, "page=64", &have, &err),
			 LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "emu0 has pages of 64 tokens, cpu0 of 32") != NULL, "%s",
		      err.text);
	lmi_free(want.v);
}
END_TEST

/* ---- showing values ---- */

#define MAX_SHOWN 4096

/* Hashes of what was shown: of the last op that wrote a value, when all of its columns are written. */
struct shown {
	uint32_t n;
	uint64_t of[MAX_SHOWN];
};

static bool add_shown(void *arg, const struct lmd_observed *o)
{
	struct shown *s = arg;
	const unsigned char *p = o->data;
	uint64_t hash = o->op;

	ck_assert_uint_lt(o->value, MAX_SHOWN);
	s->n++;
	for (size_t i = 0; i < (size_t)o->n_row * o->width * 4; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	s->of[o->value] = hash;
	return true;
}

static struct shown show_all(int kind, const char *list, const char *settings)
{
	const struct lmi_engine_input_seq in = lmt_tokens(lmt_hello, LMT_N_HELLO);
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[kind]);
	const struct lmd_plan *plan;
	struct shown s = {0};
	struct lmd_error err = {0};
	struct lmi_engine *e;

	o.inst.n_ctx = 64;
	o.inst.device_list = list;
	o.inst.keep_values = o.in_line = o.no_tokenizer = true;
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
	ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_engine_observe(e, &cmd, &plan, add_shown, &s, &err) == LMD_OK, "%s: %s",
		      list, err.text);
	lmi_engine_fini(e);
	return s;
}

/* A divided model shows the same values under the same numbers. */
START_TEST(a_divided_model_shows_its_values)
{
	struct shown want = show_all(_i, "ref0", "");

	ck_assert_uint_gt(want.n, 10);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const lists[] = {"emu0,emu1", "emu0,ref0", "emu0,emu1,emu2"};
		struct shown have = show_all(_i, lists[i], "devices=3,late=1,seed=4");

		ck_assert_uint_eq(have.n, want.n);
		ck_assert_mem_eq(have.of, want.of, sizeof(want.of));
	}
}
END_TEST

/* Whichever op a device lacks, another one runs it, or the parts that it is decomposed into. */
START_TEST(what_a_device_lacks_runs_elsewhere)
{
	struct lmt_rows want = {0};
	struct lmd_error err = {0};

	ck_assert_msg(lmt_logits(_i, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	for (uint32_t code = 1; code < LMD_N_OP; code++) {
		struct lmt_rows have = {0};
		char settings[40];

		if (code == LMD_OP_CAST_COPY) /* segments begin with it */
			continue;
		snprintf(settings, sizeof(settings), "late=1,seed=3,lacks=%u", code);
		ck_assert_msg(lmt_placed(_i, "emu0,ref0", NULL, "1,0", NULL, settings, &have, &err) ==
				      LMD_OK,
			      "%s: %s", settings, err.text);
		for (uint32_t i = 0; i < want.n_row * want.width; i++)
			ck_assert_msg(have.v[i] > want.v[i] - 1e-3f && have.v[i] < want.v[i] + 1e-3f,
				      "%s: %u: %g instead of %g", settings, i, (double)have.v[i],
				      (double)want.v[i]);
		lmi_free(have.v);
	}
	lmi_free(want.v);
}
END_TEST

/* The reader of a cache and its writers are on one device. */
START_TEST(a_cache_is_where_its_ops_are)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[LMT_FULL]);
	struct lmi_engine_placement w;
	uint32_t n_attn = 0, n_rope = 0;
	struct lmi_engine_memory m;
	struct lmd_error err = {0};
	uint32_t n_ctx;
	char settings[40];

	snprintf(settings, sizeof(settings), "lacks=%u", (unsigned)LMD_OP_ATTN);
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
	o.inst.n_ctx = 64;
	o.inst.backend = "emu"; /* the cpu is found by itself */
	ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, &w, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(w.n_device, 2);
	ck_assert_str_eq(w.devices[1].name, "cpu0");
	ck_assert_uint_eq(w.devices[0].memory.sequences, 0);
	ck_assert_uint_gt(w.devices[1].memory.sequences, 0);
	for (uint32_t i = 0; i < w.n_moved; i++) {
		ck_assert_uint_eq(w.moved[i].to, 1);
		if (!strcmp(w.moved[i].op, "attn") && strstr(w.moved[i].reason, "lacks"))
			n_attn += w.moved[i].n;
		if (!strcmp(w.moved[i].op, "rope_kv") && strstr(w.moved[i].reason, "cache"))
			n_rope += w.moved[i].n;
	}
	ck_assert_uint_eq(n_attn, w.n_layer);
	ck_assert_uint_eq(n_rope, w.n_layer);
}
END_TEST

static const struct {
	const char *list, *layers, *split, *override, *want;
} wrong[] = {
	{"emu0,emu0", NULL, NULL, NULL, "named twice"},
	{"0", NULL, NULL, NULL, "not the name of a device"},
	{"emu7", NULL, NULL, NULL, "device 7, there are 2"},
	{"nowhere0", NULL, NULL, NULL, "nowhere"},
	{"emu0,emu1", "some", NULL, NULL, "'some'"},
	{"emu0,emu1", "99999", NULL, NULL, "at most 4096"},
	{"emu0,emu1", NULL, "1", NULL, "2 numbers"},
	{"emu0,emu1", NULL, "1,2,3", NULL, "2 numbers"},
	{"emu0,emu1", NULL, "0,0", NULL, "not all 0"},
	{"emu0,emu1", NULL, "1,x", NULL, "2 numbers"},
	{"emu0", NULL, NULL, "ffn", "REGEX=DEVICE"},
	{"emu0", NULL, NULL, "(=emu1", "regular expression"},
	{"emu0", NULL, NULL, "ffn=emu9", "device 9"},
};

START_TEST(wrong_options_are_named)
{
	struct lmt_rows have = {0};
	struct lmd_error err = {0};

	ck_assert_int_ne(lmt_placed(0, wrong[_i].list, wrong[_i].layers, wrong[_i].split,
				wrong[_i].override, "devices=2", &have, &err),
			 LMD_OK);
	ck_assert_msg(strstr(err.text, wrong[_i].want) != NULL, "%s", err.text);
}
END_TEST

START_TEST(layers_are_divided_as_asked)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[LMT_FULL]);
	struct lmi_engine_placement w;
	int32_t last;

	o.inst.n_ctx = 64;
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	o.inst.device_list = "emu0,emu1";
	lmt_place(&o, &w);
	last = (int32_t)w.n_layer - 1;
	ck_assert_uint_eq(w.n_device, 2);
	ck_assert_int_gt(last, 0);
	ck_assert_int_eq(w.devices[0].first, 0);
	ck_assert_int_eq(w.devices[1].last, last);
	ck_assert_int_eq(w.devices[0].last + 1, w.devices[1].first);
	ck_assert_uint_eq(w.n_moved, 0);
	ck_assert_uint_gt(w.devices[0].memory.weights, 0);
	ck_assert_uint_gt(w.devices[1].memory.sequences, 0);

	o.inst.device_list = "ref0,emu1"; /* the last layer alone */
	o.inst.split = "99,1";
	lmt_place(&o, &w);
	ck_assert_int_eq(w.devices[1].last, -1);
	o.inst.device_list = "emu1,ref0";
	o.inst.split = NULL;
	o.inst.gpu_layers = "0"; /* nothing on the devices */
	lmt_place(&o, &w);
	ck_assert_uint_eq(w.devices[0].n_op, 0);
	ck_assert_int_eq(w.devices[1].first, 0);
	o.inst.gpu_layers = "1";
	o.inst.split = "1,0";
	lmt_place(&o, &w);
	ck_assert_int_eq(w.devices[0].first, last);
	ck_assert_int_eq(w.devices[0].last, last);
	ck_assert_int_eq(w.devices[1].last, last - 1);
}
END_TEST

/* Engines of one process use one device, and take turns on it. */
START_TEST(models_share_a_device)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[LMT_FULL]);
	struct lmi_engine_device_row *rows = NULL;
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine *e[3] = {NULL};
	struct lmd_error err = {0};
	uint64_t used[3] = {0};
	uint32_t n = 0;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2,late=1", 1), 0);
	ck_assert_int_eq(lmi_engine_devices_create(&set, lmt_device_env.registry,
						   lmt_device_env.host, &err),
			 LMD_OK);
	o.inst.devices = set;
	o.inst.n_ctx = 64;
	o.inst.device_list = "emu1";
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			o.inst.device_list = "emu0,emu1";
		ck_assert_msg(lmi_engine_open(&e[i], &o, &err) == LMD_OK, "%s", err.text);
		ck_assert_int_eq(lmi_engine_devices_list(set, &rows, &n, &err), LMD_OK);
		for (uint32_t k = 0; k < n; k++)
			if (!strcmp(rows[k].name, "emu1")) {
				used[i] = rows[k].memory_models;
				ck_assert_uint_eq(rows[k].n_model, i + 1);
				ck_assert(rows[k].open && rows[k].queues);
				ck_assert_uint_eq(rows[k].memory_total, 4096ull << 20);
				ck_assert_uint_lt(rows[k].memory_free, rows[k].memory_total);
			}
		lmi_free(rows);
	}
	ck_assert_uint_gt(used[0], 0);
	ck_assert_uint_eq(used[1], 2 * used[0]);
	ck_assert_uint_gt(used[2], used[1]);
	ck_assert_uint_lt(used[2], 3 * used[0]);
	for (int i = 0; i < 3; i++) {
		const struct lmi_engine_input_seq in = lmt_tokens(lmt_hello, LMT_N_HELLO);
		const struct lmi_engine_eval cmd = {
			.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
		struct lmt_rows have = {0};

		ck_assert_msg(lmt_eval(e[i], &cmd, &have, &err) == LMD_OK, "%s", err.text);
		lmi_free(have.v);
	}
	for (int i = 0; i < 3; i++)
		lmi_engine_fini(e[i]);
	ck_assert_int_eq(lmi_engine_devices_list(set, &rows, &n, &err), LMD_OK);
	for (uint32_t k = 0; k < n; k++)
		ck_assert(!rows[k].open && !rows[k].memory_models);
	lmi_free(rows);
	lmi_engine_devices_destroy(set);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("devices");
	TCase *t = tcase_create("devices");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, lmt_device_setup, lmt_device_teardown);
	tcase_add_loop_test(t, every_division_gives_the_bits_of_one_device, 0, LMT_N_TINY);
	tcase_add_test(t, devices_agree_on_a_page_size);
	tcase_add_loop_test(t, a_divided_model_shows_its_values, 0, LMT_N_TINY);
	tcase_add_loop_test(t, what_a_device_lacks_runs_elsewhere, 0, LMT_N_TINY);
	tcase_add_test(t, a_cache_is_where_its_ops_are);
	tcase_add_loop_test(t, wrong_options_are_named, 0, LMD_LEN(wrong));
	tcase_add_test(t, layers_are_divided_as_asked);
	tcase_add_test(t, models_share_a_device);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
