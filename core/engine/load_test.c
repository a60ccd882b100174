/* SPDX-License-Identifier: MIT
 *
 * Opening a model: the same weights by every path, memory use compared with the estimate, progress
 * callbacks, and disks that fail at any moment. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/checkpoint/open.h"
#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/engine/instance.h"
#include "core/engine/sample.h"
#include "tests/adapter_file.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

static const lmd_token hello[] = {40, 69, 76, 76, 79};
static const uint32_t ways[] = {0, LMI_OPEN_NO_MMAP, LMI_OPEN_DIRECT, LMI_OPEN_MLOCK,
				LMI_OPEN_DIRECT | LMI_OPEN_MLOCK};
static struct lmt_env env;
static char paths[LMT_N_TINY][256];

static void setup(void)
{
	uint64_t seed = lmd_seed("load", 3);
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	for (int k = 0; k < LMT_N_TINY; k++) {
		snprintf(paths[k], sizeof(paths[k]), "%s/core/engine/load.%d.%d.gguf",
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

static struct lmi_engine_opts opts(int kind)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[kind]);

	o.inst.n_ctx = 64;
	return o;
}

/* Opens an engine and gets the logits of a few tokens. */
static enum lmd_status logits(const struct lmi_engine_opts *o, struct lmt_rows *rows,
			      struct lmd_error *err)
{
	const struct lmi_engine_input_seq in = lmt_tokens(hello, LMD_LEN(hello));
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};

	return lmt_eval_once(o, &cmd, rows, err);
}

START_TEST(every_way_gives_the_same)
{
	struct lmt_rows want = {0};

	for (size_t w = 0; w < LMD_LEN(ways); w++) {
		struct lmi_engine_opts o = opts(_i);
		struct lmt_rows have = {0};
		struct lmd_error err;

		o.inst.open_flags = ways[w];
		ck_assert_msg(logits(&o, &have, &err) == LMD_OK, "%s", err.text);
		if (!w) {
			want = have;
			continue;
		}
		ck_assert_mem_eq(have.v, want.v, (size_t)want.n_row * want.width * sizeof(float));
		lmi_free(have.v);
	}
	lmi_free(want.v);
}
END_TEST

/* ---- keys that contradict the tensors ---- */

static const struct {
	struct lmt_tiny_key keys[2];
	const char *words[2];
} lies[] = {
	{{{"attention.head_count_kv", LMD_META_I64, 0}}, {"head_count_kv: 0 in layer 0", "attn_q"}},
	{{{"feed_forward_length", LMD_META_I64, 0}}, {"feed_forward_length", "ffn_up"}},
	{{{"rope.dimension_count", LMD_META_BOOL, 1}}, {"rope.dimension_count", "a boolean"}},
	{{{"attention.causal", LMD_META_BOOL, 1}}, {NULL}},
};

START_TEST(keys_that_lie)
{
	struct lmi_engine_opts o = opts(LMT_FULL);
	struct lmi_inst *inst = NULL;
	struct lmd_error err = {0};
	enum lmd_status st;
	char path[280];

	(void)snprintf(path, sizeof(path), "%s.lies", paths[LMT_FULL]);
	lmt_tiny_keys = lies[_i].keys;
	lmt_tiny_write(LMT_FULL, 3, path);
	lmt_tiny_keys = NULL;
	o.inst.path = path;
	st = lmi_inst_open(&inst, &o.inst, &err);
	(void)remove(path);
	lmi_inst_close(inst);
	if (!lies[_i].words[0]) {
		ck_assert_msg(st == LMD_OK, "%s", err.text);
		return;
	}
	ck_assert_int_eq(st, LMD_INVALID);
	for (size_t k = 0; k < LMD_LEN(lies[_i].words); k++)
		ck_assert_msg(strstr(err.text, lies[_i].words[k]) != NULL, "%s", err.text);
}
END_TEST

/* ---- estimate ---- */

/* The memory taken matches the estimate, item by item and by the allocator's count. With that much
 * the model opens; with one byte less it does not, and then hardly anything was allocated. */
START_TEST(the_estimate_is_kept)
{
	static const char *const backends[] = {"ref", "cpu"};

	for (size_t k = 0; k < 2 * LMD_LEN(backends); k++) {
		struct lmi_engine_opts o = opts(_i);
		struct lmi_alloc_stats before, after;
		struct lmi_inst *inst = NULL;
		struct lmi_engine_memory m;
		struct lmd_error err = {0};
		uint64_t sum, taken;
		uint32_t n_ctx = 0;

		o.inst.backend = backends[k / 2];
		o.inst.open_flags = k % 2 ? LMI_OPEN_NO_MMAP : 0;
		o.inst.n_seq = 3;
		ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, NULL, &o.inst, &err) == LMD_OK, "%s",
			      err.text);
		ck_assert_uint_eq(n_ctx, 64);
		sum = lmi_engine_memory_sum(&m);
		ck_assert_uint_eq(k % 2 ? m.file : m.copied, 0);
		o.inst.memory_limit = sum;
		lmi_alloc_stats(&before);
		ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(inst->devices[0].weight_bytes, m.weights);
		ck_assert_uint_eq(inst->kv_bytes, m.sequences);
		ck_assert_uint_eq(inst->devices[0].scratch_bytes, m.step);
		ck_assert_uint_eq(inst->devices[0].out_bytes, m.results);
		taken = after.live_bytes - before.live_bytes;
		/* in addition: tables of the file, the plan, the page tables */
		ck_assert_msg(taken >= sum * 97 / 100 && taken <= sum * 103 / 100 + (6u << 20),
			      "%s: estimated %llu, took %llu",
			      o.inst.backend, (unsigned long long)sum, (unsigned long long)taken);
		lmi_inst_close(inst);

		o.inst.memory_limit = sum - 1;
		lmi_alloc_stats(&before);
		ck_assert_int_eq(lmi_inst_open(&inst, &o.inst, &err), LMD_NOMEM);
		ck_assert_msg(strstr(err.text, "MiB") != NULL, "%s", err.text);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
	}
}
END_TEST

/* Returns the memory that an instance with these options keeps. */
static uint64_t live_bytes(const struct lmi_engine_model_opts *o)
{
	struct lmi_alloc_stats before, after;
	struct lmi_inst *inst = NULL;
	struct lmd_error err = {0};

	lmi_alloc_stats(&before);
	ck_assert_msg(lmi_inst_open(&inst, o, &err) == LMD_OK, "%s", err.text);
	lmi_alloc_stats(&after);
	lmi_inst_close(inst);
	return after.live_bytes - before.live_bytes;
}

/* Two files with a common site: the estimate is within 3 % of the memory taken, and no number is
 * read for it. */
START_TEST(adapters_are_in_the_estimate)
{
	enum { RANK0 = 2000, RANK1 = 1500 };
	static const char *const names[2][2] = {{"blk.0.attn_q.weight", "blk.0.ffn_down.weight"},
						{"blk.0.attn_q.weight", "token_embd.weight"}};
	struct lmi_engine_opts o = opts(LMT_FULL);
	struct lmi_alloc_stats before, after;
	struct lmi_engine_adapter_ref refs[2];
	struct lmi_model *base = NULL;
	struct lmi_inst *inst = NULL;
	struct lmi_engine_memory m;
	struct lmd_error err = {0};
	uint64_t want = 0, plain, taken;
	char path[2][300];
	uint32_t n_ctx;

	ck_assert_int_eq(lmi_model_open(&base, paths[LMT_FULL], LMI_OPEN_HEADER_ONLY, &err), LMD_OK);
	for (int i = 0; i < 2; i++) {
		const struct lmd_model *v = lmi_model_view(base);

		snprintf(path[i], sizeof(path[i]), "%s.%d.lora", paths[LMT_FULL], i);
		lmt_adapter_write(path[i], v, i ? RANK1 : RANK0, names[i], 2, 0);
		refs[i] = (struct lmi_engine_adapter_ref){path[i], 1};
		for (int k = 0; k < 2; k++) {
			const struct lmd_tensor *t = v->find_tensor(v, names[i][k]);

			want += 4ull * (i ? RANK1 : RANK0) * (uint64_t)(t->dims[0] + t->dims[1]);
		}
	}
	lmi_model_close(base);
	o.inst.backend = _i ? "cpu" : "ref";
	o.inst.adapters = true;
	plain = live_bytes(&o.inst);
	o.inst.adapter_files = refs;
	o.inst.n_adapter_files = 2;

	lmi_alloc_reset_peak();
	lmi_alloc_stats(&before);
	ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, NULL, &o.inst, &err) == LMD_OK, "%s", err.text);
	lmi_alloc_stats(&after);
	ck_assert_uint_lt(after.peak_bytes - before.live_bytes, want);
	ck_assert_uint_eq(m.adapters, want);
	o.inst.memory_limit = lmi_engine_memory_sum(&m);
	taken = live_bytes(&o.inst) - plain;
	ck_assert_msg(want >= taken * 97 / 100 && want <= taken * 103 / 100,
		      "%s: estimated %llu, took %llu", o.inst.backend, (unsigned long long)want,
		      (unsigned long long)taken);
	o.inst.memory_limit--;
	ck_assert_int_eq(lmi_inst_open(&inst, &o.inst, &err), LMD_NOMEM);

	(void)remove(path[1]);
	ck_assert_int_eq(lmi_engine_estimate(&m, &n_ctx, NULL, &o.inst, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, path[1]));
	(void)remove(path[0]);
}
END_TEST

/* A file that is to be copied and does not fit is not read. */
START_TEST(a_copy_has_a_bound)
{
	struct lmi_model *m = NULL;
	struct lmi_open_opts how = {.flags = LMI_OPEN_NO_MMAP, .max_copy = 1000};
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_model_open_with(&m, paths[_i], &how, &err), LMD_NOMEM);
	ck_assert_ptr_nonnull(strstr(err.text, "MiB"));
	how.flags = 0;
	ck_assert_int_eq(lmi_model_open_with(&m, paths[_i], &how, &err), LMD_OK);
	lmi_model_close(m);
}
END_TEST

/* ---- progress ---- */

struct watch {
	uint32_t n, stop; /* calls; the one that cancels, 0: none */
	enum lmi_engine_load_phase phase;
	uint64_t done, total;
	bool seen[2];
};

static bool on_load(void *arg, enum lmi_engine_load_phase phase, uint64_t done, uint64_t total)
{
	struct watch *w = arg;

	ck_assert_uint_le(done, total);
	ck_assert_uint_ge(phase, w->phase);
	if (phase == w->phase)
		ck_assert_uint_ge(done, w->done);
	*w = (struct watch){w->n + 1, w->stop, phase, done, total, {w->seen[0], w->seen[1]}};
	w->seen[phase] = true;
	return w->n != w->stop;
}

START_TEST(who_waits_is_told)
{
	for (size_t k = 0; k < LMD_LEN(ways); k++) {
		struct lmi_engine_opts o = opts(_i);
		struct lmi_alloc_stats before, after;
		struct lmi_inst *inst = NULL;
		struct lmd_error err = {0};
		struct watch w = {0};
		uint32_t n;

		o.inst.open_flags = ways[k];
		o.inst.progress = on_load;
		o.inst.progress_arg = &w;
		ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
		lmi_inst_close(inst);
		ck_assert(w.seen[LMI_ENGINE_LOAD_WEIGHTS] && w.done == w.total && w.total > 1000);
		ck_assert(w.seen[LMI_ENGINE_LOAD_READ] ||
			  !(ways[k] & (LMI_OPEN_NO_MMAP | LMI_OPEN_DIRECT)));
		n = w.n;
		lmi_alloc_stats(&before);
		for (uint32_t stop = 1; stop <= n; stop++) {
			w = (struct watch){.stop = stop};
			ck_assert_int_eq(lmi_inst_open(&inst, &o.inst, &err), LMD_CANCELLED);
			ck_assert_uint_eq(w.n, stop);
		}
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
	}
}
END_TEST

/* ---- disks ---- */

/* Each call that reads or maps fails once: the result is an error and no leak, or no effect at
 * all. */
START_TEST(every_read_may_fail)
{
	static const enum lmi_file_fault faults[] = {LMI_FILE_FAULT_EIO, LMI_FILE_FAULT_SHORT,
						     LMI_FILE_FAULT_EINTR, LMI_FILE_FAULT_END};
	struct lmi_engine_opts first = opts(_i);
	struct lmt_rows none = {0};
	struct lmd_error why;
	uint64_t n_fault = 0;

	ck_assert_int_eq(logits(&first, &none, &why), LMD_OK); /* plugins stay loaded */
	lmi_free(none.v);
	for (size_t w = 0; w < 3; w++)
		for (size_t k = 0; k < LMD_LEN(faults); k++)
			for (uint64_t nth = 1;; nth++) {
				struct lmi_engine_opts o = opts(_i);
				struct lmi_alloc_stats before, after;
				struct lmt_rows rows = {0};
				struct lmd_error err = {0};
				enum lmd_status st;
				bool failed;

				o.inst.open_flags = ways[w];
				lmi_alloc_stats(&before);
				lmi_file_fail_nth(nth, faults[k]);
				st = logits(&o, &rows, &err);
				failed = lmi_file_did_fail();
				lmi_file_fail_nth(0, faults[k]);
				lmi_free(rows.v);
				lmi_alloc_stats(&after);
				ck_assert_uint_eq(after.n_live, before.n_live);
				if (!failed) {
					ck_assert_int_eq(st, LMD_OK);
					ck_assert_uint_gt(nth, 3);
					break;
				}
				n_fault++;
				if (st == LMD_OK) /* direct reads have a fallback; mappings must
						   * fail */
					ck_assert(faults[k] == LMI_FILE_FAULT_SHORT ||
						  faults[k] == LMI_FILE_FAULT_EINTR ||
						  ways[w] == LMI_OPEN_DIRECT ||
						  faults[k] == LMI_FILE_FAULT_END);
				else
					ck_assert_msg(st == LMD_IO && strstr(err.text, paths[_i]),
						      "call %llu: %s: %s", (unsigned long long)nth,
						      lmd_status_text(st), err.text);
			}
	printf("%llu faults\n", (unsigned long long)n_fault);
}
END_TEST

/* Memory runs out while files are copied, not only while they are mapped. */
START_TEST(every_allocation_of_a_copy_may_fail)
{
	struct lmi_engine_opts o = opts(_i);
	struct lmi_alloc_stats before, after;
	struct lmt_rows rows = {0};
	struct lmd_error err;

	o.inst.open_flags = LMI_OPEN_DIRECT;
	ck_assert_int_eq(logits(&o, &rows, &err), LMD_OK); /* plugins stay loaded */
	lmi_free(rows.v);
	lmi_alloc_stats(&before);
	for (uint64_t nth = 1;; nth++) {
		enum lmd_status st;

		rows = (struct lmt_rows){0};
		lmi_alloc_fail_nth(nth, nth % 2);
		st = logits(&o, &rows, &err);
		if (!lmi_alloc_did_fail())
			break;
		lmi_alloc_fail_nth(0, false);
		ck_assert_msg(st == LMD_NOMEM, "allocation %llu: %s: %s", (unsigned long long)nth,
			      lmd_status_text(st), err.text);
		lmi_free(rows.v);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
	}
	lmi_alloc_fail_nth(0, false);
	lmi_free(rows.v);
}
END_TEST

/* 64 sequences of up to 32768 tokens with two kinds of memory: what a step uploads. */
START_TEST(a_usual_step_is_small)
{
	static const struct lmd_group groups[] = {
		{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
		{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 512, .ratio = 1},
	};
	const struct lmi_kv_opts o = {.groups = groups,
				      .n_group = 2,
				      .n_seq = 64,
				      .n_ctx = 32768,
				      .page_tokens = 32,
				      .n_page = {65536, 65536}};
	struct lmd_plan plan = {
		.struct_size = sizeof(plan),
		.key = {.struct_size = sizeof(plan.key), .flags = LMD_PLAN_LOGITS | LMD_PLAN_LORA},
		.n_group = 2,
		.groups = groups,
		.max_rows = {512, 64, 64},
	};
	struct lmd_step_layout l;
	struct lmd_error err = {0};
	struct lmi_kv *kv;

	ck_assert_msg(lmi_kv_create(&kv, &o, &err) == LMD_OK, "%s", err.text);
	ck_assert_int_eq(lmi_plan_step_layout(&l, &plan, lmi_kv_usual_changes(kv, 512), &err),
			 LMD_OK);
	/* enough for prompts of 512 rows and for a page of each sequence, copied or new */
	ck_assert_uint_ge(l.max_change, 512 / 32 + 64);
	ck_assert_uint_le(l.bytes, 64 << 10);
	lmi_kv_destroy(kv);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("load");
	TCase *t = tcase_create("load");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, a_usual_step_is_small);
	tcase_add_loop_test(t, every_way_gives_the_same, 0, LMT_N_TINY);
	tcase_add_loop_test(t, keys_that_lie, 0, (int)LMD_LEN(lies));
	tcase_add_loop_test(t, the_estimate_is_kept, 0, LMT_N_TINY);
	tcase_add_loop_test(t, adapters_are_in_the_estimate, 0, 2);
	tcase_add_loop_test(t, a_copy_has_a_bound, 0, 1);
	tcase_add_loop_test(t, who_waits_is_told, 0, LMT_N_TINY);
	tcase_add_loop_test(t, every_read_may_fail, 0, LMT_N_TINY);
	tcase_add_loop_test(t, every_allocation_of_a_copy_may_fail, 0, 1);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
