/* SPDX-License-Identifier: MIT
 *
 * The engine on a device with memory of its own: the emulated one (plugins/backend/emu), which
 * completes at once or late, fails on request, and gives the results of ref bit by bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/devices.h"
#include "core/engine/instance.h"
#include "core/engine/observe.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

static const lmd_token hello[] = {40, 69, 76, 76, 79};
static struct lmt_env env;
static char paths[LMT_N_TINY][256];

static void setup(void)
{
	uint64_t seed = lmd_seed("device", 3);
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	for (int k = 0; k < LMT_N_TINY; k++) {
		snprintf(paths[k], sizeof(paths[k]), "%s/core/engine/device.%d.%d.gguf",
			 lmd_build_dir(), k, (int)getpid());
		lmt_tiny_write((enum lmt_tiny)k, seed, paths[k]);
	}
}

static void teardown(void)
{
	for (int k = 0; k < LMT_N_TINY; k++)
		(void)remove(paths[k]);
	lmt_env_fini(&env);
}

/* Gets the logits of a few tokens on a backend. */
static enum lmd_status logits(int kind, const char *backend, uint32_t device, const char *settings,
			      struct lmt_rows *rows, struct lmd_error *err)
{
	const struct lmi_engine_input_seq in = lmt_tokens(hello, LMD_LEN(hello));
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
	struct lmi_engine_opts o = lmt_opts(&env, paths[kind]);

	o.inst.n_ctx = 64;
	o.inst.backend = backend;
	o.inst.device = device;
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
	return lmt_eval_once(&o, &cmd, rows, err);
}

/* The block of a step and the rows are read when the device gets to them, not before. */
START_TEST(both_modes_give_the_bits_of_ref)
{
	static const char *const settings[] = {"", "late=1", "late=1,seed=1", "late=1,seed=2",
					       "late=1,seed=77", "buckets=1",
					       "buckets=1,late=1"};
	struct lmt_rows want = {0};
	struct lmd_error err = {0};

	ck_assert_msg(logits(_i, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	for (size_t i = 0; i < LMD_LEN(settings); i++) {
		struct lmt_rows have = {0};

		ck_assert_msg(logits(_i, "emu", 0, settings[i], &have, &err) == LMD_OK, "%s: %s",
			      settings[i], err.text);
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
	ck_assert_int_eq(logits(0, "emu", 0, "", &first, &why), LMD_OK);
	lmi_free(first.v);
	for (n = 1; st != LMD_OK && n < 4000; n += 1 + n / 16) {
		struct lmt_rows have = {0};
		struct lmd_error err = {0};
		char settings[40];

		snprintf(settings, sizeof(settings), "fail_alloc=%u", n);
		lmi_alloc_stats(&before);
		st = logits(0, "emu", 0, settings, &have, &err);
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

		ck_assert_int_eq(logits(0, "emu", 0, settings[i], &have, &err), LMD_DEVICE);
		ck_assert_ptr_nonnull(strstr(err.text, "lost at step 1"));
		lmi_free(have.v);
	}
}
END_TEST

START_TEST(devices_are_found_by_index)
{
	struct lmt_rows have = {0};
	struct lmd_error err = {0};

	ck_assert_msg(logits(0, "emu", 2, "devices=3", &have, &err) == LMD_OK, "%s", err.text);
	lmi_free(have.v);
	ck_assert_int_eq(logits(0, "emu", 3, "devices=3", &have, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "device 3, there are 3"));
	ck_assert_int_eq(logits(0, "emu", 0, "devices=3,nonsense=1", &have, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "no setting 'nonsense=1'"));
}
END_TEST

/* A plan is compiled for each bucket when it is first used, and never again. */
START_TEST(plans_are_compiled_once)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[0]);
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
	struct lmi_engine_opts o = lmt_opts(&env, paths[0]);
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

/* ---- several devices ---- */

/* Gets the logits with the given options for devices. */
static enum lmd_status placed(int kind, const char *list, const char *layers, const char *split,
			      const char *override, const char *settings, struct lmt_rows *rows,
			      struct lmd_error *err)
{
	const struct lmi_engine_input_seq in = lmt_tokens(hello, LMD_LEN(hello));
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
	struct lmi_engine_opts o = lmt_opts(&env, paths[kind]);

	o.inst.n_ctx = 64;
	o.inst.device_list = list;
	o.inst.gpu_layers = layers;
	o.inst.split = split;
	o.inst.override_tensor = override;
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
	return lmt_eval_once(&o, &cmd, rows, err);
}

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

	ck_assert_msg(logits(_i, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	for (size_t i = 0; i < LMD_LEN(ways); i++) {
		struct lmt_rows have = {0};

		ck_assert_msg(placed(_i, ways[i].list, NULL, ways[i].split, ways[i].override,
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

/* ---- tensor parallelism ---- */

static void check_same(const struct lmt_rows *want, const struct lmt_rows *have, const char *what)
{
	ck_assert_uint_eq(have->n_row, want->n_row);
	ck_assert_msg(!memcmp(have->v, want->v, (size_t)want->n_row * want->width * sizeof(float)),
		      "%s: other bits", what);
}

/* In four parts, a model gives the same bits on one, two and four devices, also of two backends. */
START_TEST(four_parts_give_the_same_bits)
{
	static const struct {
		const char *list, *settings;
	} ways[] = {
		{"emu0", "late=1,seed=1"},
		{"emu0,emu1", "devices=2"},
		{"emu0,emu1", "devices=2,late=1,seed=5,peer=0"},
		{"emu0,emu1,emu2,emu3", "devices=4,late=1,seed=6"},
		{"emu0,emu1,emu2,emu3", "devices=4,late=1,seed=7,peer=0,buckets=1"},
		{"emu0,ref0", "late=1,seed=8"},
	};
	struct lmt_rows want = {0}, whole = {0};
	struct lmd_error err = {0};

	if (_i == LMT_STATE || _i == LMT_HYBRID) /* not made by the shared decoder */
		return;
	ck_assert_msg(logits(_i, "ref", 0, "", &whole, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(placed(_i, "ref0", NULL, "tensor:4", NULL, "", &want, &err) == LMD_OK, "%s",
		      err.text);
	for (uint32_t i = 0; i < want.n_row * want.width; i++)
		ck_assert_float_eq_tol(want.v[i], whole.v[i], 1e-4f);
	for (size_t i = 0; i < LMD_LEN(ways); i++) {
		struct lmt_rows have = {0};

		ck_assert_msg(placed(_i, ways[i].list, NULL, "tensor:4", NULL, ways[i].settings,
				     &have, &err) == LMD_OK,
			      "%s %s: %s", ways[i].list, ways[i].settings, err.text);
		check_same(&want, &have, ways[i].list);
		lmi_free(have.v);
	}
	lmi_free(want.v);
	lmi_free(whole.v);
}
END_TEST

START_TEST(what_cannot_be_divided_is_said)
{
	static const struct {
		int kind;
		const char *list, *split, *text;
	} wrong_splits[] = {
		{LMT_STATE, "emu0,emu1", "tensor", "its matrices cannot be divided in 2 parts"},
		{LMT_FULL, "emu0,emu1", "tensor:1", "from 2, the number of devices, to 8"},
		{LMT_FULL, "emu0,emu1", "tensor:9", "from 2, the number of devices, to 8"},
		{LMT_FULL, "emu0,emu1", "tensor:2x", "from 2, the number of devices, to 8"},
		{LMT_FULL, "emu0,emu1", "tensors", "split 'tensors': tensor, or 2 numbers"},
	};

	for (size_t i = 0; i < LMD_LEN(wrong_splits); i++) {
		struct lmt_rows rows = {0};
		struct lmd_error err = {0};

		ck_assert_int_ne(placed(wrong_splits[i].kind, wrong_splits[i].list, NULL,
					wrong_splits[i].split, NULL, "devices=2", &rows, &err),
				 LMD_OK);
		ck_assert_msg(strstr(err.text, wrong_splits[i].text) != NULL, "%s", err.text);
	}
}
END_TEST

/* ---- page sizes ---- */

/* Devices use the pages that the most particular of them can. */
START_TEST(devices_agree_on_a_page_size)
{
	struct lmt_rows want = {0}, have = {0};
	struct lmd_error err = {0};

	ck_assert_msg(logits(LMT_FULL, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(placed(LMT_FULL, "ref0,emu0", NULL, "1,1", NULL, "page=16,late=1", &have,
			     &err) == LMD_OK,
		      "%s", err.text);
	check_same(&want, &have, "pages of 16");
	lmi_free(have.v);
	have = (struct lmt_rows){0};
	ck_assert_int_eq(placed(LMT_FULL, "cpu0,emu0", NULL, "1,1", NULL, "page=64", &have, &err),
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
	const struct lmi_engine_input_seq in = lmt_tokens(hello, LMD_LEN(hello));
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
	struct lmi_engine_opts o = lmt_opts(&env, paths[kind]);
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

	ck_assert_msg(logits(_i, "ref", 0, "", &want, &err) == LMD_OK, "%s", err.text);
	for (uint32_t code = 1; code < LMD_N_OP; code++) {
		struct lmt_rows have = {0};
		char settings[40];

		if (code == LMD_OP_CAST_COPY) /* segments begin with it */
			continue;
		snprintf(settings, sizeof(settings), "late=1,seed=3,lacks=%u", code);
		ck_assert_msg(placed(_i, "emu0,ref0", NULL, "1,0", NULL, settings, &have, &err) ==
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
	struct lmi_engine_opts o = lmt_opts(&env, paths[LMT_FULL]);
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

	ck_assert_int_ne(placed(0, wrong[_i].list, wrong[_i].layers, wrong[_i].split,
				wrong[_i].override, "devices=2", &have, &err),
			 LMD_OK);
	ck_assert_msg(strstr(err.text, wrong[_i].want) != NULL, "%s", err.text);
}
END_TEST

/* Opens a model on devices, and tells where its ops are. */
static void place(struct lmi_engine_opts *o, struct lmi_engine_placement *where)
{
	struct lmi_engine_memory m;
	struct lmd_error err = {0};
	uint32_t n_ctx;

	ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, where, &o->inst, &err) == LMD_OK, "%s",
		      err.text);
}

START_TEST(layers_are_divided_as_asked)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[LMT_FULL]);
	struct lmi_engine_placement w;
	int32_t last;

	o.inst.n_ctx = 64;
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	o.inst.device_list = "emu0,emu1";
	place(&o, &w);
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
	place(&o, &w);
	ck_assert_int_eq(w.devices[1].last, -1);
	o.inst.device_list = "emu1,ref0";
	o.inst.split = NULL;
	o.inst.gpu_layers = "0"; /* nothing on the devices */
	place(&o, &w);
	ck_assert_uint_eq(w.devices[0].n_op, 0);
	ck_assert_int_eq(w.devices[1].first, 0);
	o.inst.gpu_layers = "1";
	o.inst.split = "1,0";
	place(&o, &w);
	ck_assert_int_eq(w.devices[0].first, last);
	ck_assert_int_eq(w.devices[0].last, last);
	ck_assert_int_eq(w.devices[1].last, last - 1);
}
END_TEST

/* Engines of one process use one device, and take turns on it. */
START_TEST(models_share_a_device)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[LMT_FULL]);
	struct lmi_engine_device_row *rows = NULL;
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine *e[3] = {NULL};
	struct lmd_error err = {0};
	uint64_t used[3] = {0};
	uint32_t n = 0;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2,late=1", 1), 0);
	ck_assert_int_eq(lmi_engine_devices_create(&set, env.registry, env.host, &err), LMD_OK);
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
		const struct lmi_engine_input_seq in = lmt_tokens(hello, LMD_LEN(hello));
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

/* ---- memory ---- */

static struct lmi_engine_device_row find_row(struct lmi_engine_devices *set, const char *name)
{
	struct lmi_engine_device_row *rows = NULL, found = {0};
	struct lmd_error err = {0};
	uint32_t n = 0;

	ck_assert_int_eq(lmi_engine_devices_list(set, &rows, &n, &err), LMD_OK);
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(rows[i].name, name))
			found = rows[i];
	lmi_free(rows);
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
	struct lmi_engine_opts o = lmt_opts(&env, paths[_i]);
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine_placement w;
	struct lmi_inst *inst = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	ck_assert_int_eq(lmi_engine_devices_create(&set, env.registry, env.host, &err), LMD_OK);
	o.inst.devices = set;
	o.inst.device_list = "emu0,emu1";
	o.inst.n_ctx = 4096;
	o.inst.n_seq = 64;
	place(&o, &w);
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
			struct lmi_engine_opts o = lmt_opts(&env, paths[LMT_FULL]);
			const struct lmi_engine_input_seq in = lmt_tokens(hello, LMD_LEN(hello));
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
	const struct lmi_engine_device_params p = {.backend = "emu", .n_thread = 1};
	struct lmi_engine_claim a = {0}, b = {0};
	struct lmd_error err = {0};
	uint64_t free_bytes;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "memory_mb=64", 1), 0);
	ck_assert_int_eq(lmi_engine_devices_create(&set, env.registry, env.host, &err), LMD_OK);
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
	const struct lmi_engine_input_seq in = lmt_tokens(hello, LMD_LEN(hello));
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .want = want, .pooling = LMD_POOL_UNSET};
	struct lmt_rows rows = {0};
	enum lmd_status st = lmt_eval(e, &cmd, &rows, err);

	lmi_free(rows.v);
	return st;
}

/* A lost device takes its models with it, but no others; it can be opened again at once. */
START_TEST(a_lost_device_is_opened_again)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[LMT_FULL]);
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine *on[4] = {NULL};
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_engine_devices_create(&set, env.registry, env.host, &err), LMD_OK);
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
	ck_assert_ptr_nonnull(strstr(err.text, "lost at step 3"));
	ck_assert(lmi_engine_is_broken(on[1], &err));
	ck_assert(find_row(set, "emu0").lost && !find_row(set, "emu1").lost);
	ck_assert_int_eq(eval(on[2], LMI_ENGINE_WANT_LOGITS, &err), LMD_DEVICE);
	ck_assert_int_eq(eval(on[0], LMI_ENGINE_WANT_LOGITS, &err), LMD_OK);
	lmi_engine_fini(on[1]);
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
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

/* A plan that failed for lack of memory is made again for the next request. */
START_TEST(a_plan_is_made_again)
{
	uint32_t n_again = 0;

	for (uint32_t n = 1; n < 400; n++) {
		struct lmi_engine_opts o = lmt_opts(&env, paths[LMT_FULL]);
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
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, both_modes_give_the_bits_of_ref, 0, LMT_N_TINY);
	tcase_add_test(t, each_allocation_may_fail);
	tcase_add_test(t, a_lost_device_is_reported);
	tcase_add_test(t, devices_are_found_by_index);
	tcase_add_test(t, plans_are_compiled_once);
	tcase_add_test(t, the_device_decides_what_fits);
	tcase_add_loop_test(t, every_division_gives_the_bits_of_one_device, 0, LMT_N_TINY);
	tcase_add_loop_test(t, four_parts_give_the_same_bits, 0, LMT_N_TINY);
	tcase_add_test(t, what_cannot_be_divided_is_said);
	tcase_add_test(t, devices_agree_on_a_page_size);
	tcase_add_loop_test(t, a_divided_model_shows_its_values, 0, LMT_N_TINY);
	tcase_add_loop_test(t, what_a_device_lacks_runs_elsewhere, 0, LMT_N_TINY);
	tcase_add_test(t, a_cache_is_where_its_ops_are);
	tcase_add_loop_test(t, wrong_options_are_named, 0, LMD_LEN(wrong));
	tcase_add_test(t, layers_are_divided_as_asked);
	tcase_add_test(t, models_share_a_device);
	tcase_add_loop_test(t, the_estimate_is_what_the_devices_give, 0, LMT_N_TINY);
	tcase_add_test(t, nothing_is_promised_that_a_device_lacks);
	tcase_add_test(t, the_ledger_counts_what_is_promised);
	tcase_add_test(t, a_lost_device_is_opened_again);
	tcase_add_test(t, a_plan_is_made_again);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
