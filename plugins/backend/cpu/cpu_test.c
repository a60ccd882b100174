/* SPDX-License-Identifier: MIT
 *
 * Compares the CPU backend with `ref` for every set of kernels that this processor can run, and
 * with itself: the number of threads and the way the work is cut must not change a bit.  Also tests
 * cancellation and running out of memory. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/team.h"
#include "core/conformance/opcase_priv.h"
#include "core/conformance/tensor_cache.h"
#include "core/engine/memory_plan.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

#define SEED 7

struct fixture {
	struct lmd_host *host;
	struct lmi_plugin_registry *registry;
	const struct lmi_factory *cpu, *ref;
	uint64_t seed;
	struct oc_tensor_cache *tensor_cache;
};
static struct fixture fx;

static void setup(void)
{
	static char dir[4096];
	static const char *const dirs[] = {dir};
	struct lmd_error err = {.text = ""};
	struct lmi_plugin_registry_opts opts = {.dirs = dirs, .n_dirs = 1, .no_default_dirs = true};

	snprintf(dir, sizeof(dir), "%s/plugins/.libs", lmd_build_dir());
	ck_assert_int_eq(lmi_host_create(&fx.host, UINT64_MAX), LMD_OK);
	opts.host = fx.host;
	ck_assert_int_eq(lmi_plugin_registry_create(&fx.registry, &opts, &err), LMD_OK);
	ck_assert_msg(lmi_factory_take(fx.registry, LMD_KIND_BACKEND, "cpu", &fx.cpu, &err) ==
			      LMD_OK,
		      "%s", err.text);
	ck_assert_msg(lmi_factory_take(fx.registry, LMD_KIND_BACKEND, "ref", &fx.ref, &err) ==
			      LMD_OK,
		      "%s", err.text);
	fx.seed = lmd_seed("cpu", SEED);
	fx.tensor_cache = oc_tensor_cache_create(64u << 20);
}

static void teardown(void)
{
	oc_tensor_cache_destroy(fx.tensor_cache);
	lmi_factory_give(fx.registry, fx.cpu);
	lmi_factory_give(fx.registry, fx.ref);
	lmi_plugin_registry_destroy(fx.registry);
	lmi_host_destroy(fx.host);
}

/* ---- against ref ---- */

static const struct {
	const char *name;
	uint64_t flags; /* CPU features that the backend sees */
	uint32_t n_thread;
} variants[] = {
	{"plain C", 0, 1},
	{"avx2", LMD_CPU_AVX2, 2},
	{"avx512", LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI, 3},
	{"all", UINT64_MAX, 4},
};

static void report(void *arg, const struct lmi_opcase_result *r)
{
	(void)arg;
	if (r->verdict == LMI_OPCASE_FAIL)
		printf("FAIL: %s %s; %s; %s: %s\n", r->op, r->name, r->layout, r->setting, r->text);
	/* The host samples, so this backend skips SAMPLE. It computes in the host's memory on one
	 * device, so it skips cases of queues, buffers and further devices. */
	ck_assert(r->verdict != LMI_OPCASE_SKIP || !strcmp(r->op, "sample") ||
		  !strcmp(r->op, "device"));
}

START_TEST(matches_ref)
{
	uint64_t have = fx.host->cpu(fx.host->ctx)->flags, flags = variants[_i].flags;
	const struct lmi_team_opts to = {.n = variants[_i].n_thread, .spin_ns = 0};
	struct lmi_opcase_totals totals;
	struct lmd_host *host;
	struct lmd_team *team;
	struct lmd_error err = {.text = ""};
	struct lmi_opcase_opts o = {.a = fx.cpu, .b = fx.ref, .seed = fx.seed, .report = report};

	if (flags != UINT64_MAX && (flags & ~have)) {
		LMD_SKIP(variants[_i].name, "this processor does not support it");
		return;
	}
	ck_assert_int_eq(lmi_host_create(&host, flags), LMD_OK);
	ck_assert_int_eq(lmi_team_create(&team, &to, &err), LMD_OK);
	o.host = host;
	o.team = team;
	ck_assert_msg(lmi_opcase_run(&o, &totals, &err) == LMD_OK, "%s", err.text);
	LMD_CASES(variants[_i].name, totals.n_pass, totals.n_fail, totals.n_skip);
	ck_assert_uint_eq(totals.n_fail, 0);
	ck_assert_uint_ge(totals.n_pass, 1000);
	lmi_team_destroy(team);
	lmi_host_destroy(host);
}
END_TEST

/* ---- the same bits ---- */

/* Keys in several chunks: with more threads than key heads, attention splits them. */
static const struct oc_layout many_chunks[] = {
	{.name = "1 row after 150", .n_seq = 1, .past = {150}, .len = {1}},
	{.name = "2 rows after 159 and 128", .n_seq = 2, .past = {159, 128}, .len = {1, 1}},
	{.name = "9 rows after 140", .n_seq = 1, .past = {140}, .len = {9}},
};

static void open_cpu(struct oc_backend *be, const struct lmi_factory *f, struct lmd_team *team,
		     uint32_t activations)
{
	struct lmd_error err = {.text = ""};

	ck_assert_msg(oc_backend_open(be, f, 0, fx.host, team, activations, &err) == LMD_OK, "%s",
		      err.text);
}

static void execute(struct oc_backend *be, const struct opcase *def, const struct oc_layout *layout,
		    struct oc_result *out)
{
	struct oc_device dev = oc_backend_device(be);
	struct lmd_error err = {.text = ""};
	struct oc *c;

	dev.tensor_cache = fx.tensor_cache;
	ck_assert_msg(oc_create(&c, def, layout, be->host, &dev, fx.seed, false, &err) == LMD_OK,
		      "%s", err.text);
	ck_assert_msg(oc_execute(be, c, out, &err) == LMD_OK, "%s: %s", def->name, err.text);
	oc_destroy(c);
}

/* Are the results of both backends equal within `nmse`?  0 = must be bit-identical. */
static bool equal(struct oc_backend be[2], const struct opcase_set *set, const struct opcase *def,
		  const struct oc_layout *layout, double nmse)
{
	struct lmi_opcase_result r = {.tol_nmse = nmse, .tol_abs = 50 * sqrt(nmse)};
	struct oc_result a = {0}, b = {0};
	char text[480] = "";
	bool ok;

	execute(&be[0], def, layout, &a);
	execute(&be[1], def, layout, &b);
	ok = oc_compare(&a, &b, def->flags & OC_SETS, 0, &r, text, sizeof(text));
	if (!ok)
		printf("FAIL: %s %s; %s: %s\n", lmi_plan_op_info(set->op)->name, def->name,
		       layout->name, text);
	oc_result_free(&a);
	oc_result_free(&b);
	return ok;
}

START_TEST(threads_change_nothing)
{
	const struct lmi_team_opts opts = {.n = 5, .n_few = 2};
	static const uint32_t activations[] = {LMD_ACTIVATIONS_F32, LMD_ACTIVATIONS_INT8,
					       LMD_ACTIVATIONS_INT16};
	const uint32_t step = lmd_long() ? 1 : 2;
	struct oc_backend be[2];
	struct lmd_team *team;
	uint32_t n[2] = {0};

	ck_assert_int_eq(lmi_team_create(&team, &opts, NULL), LMD_OK);
	open_cpu(&be[0], fx.cpu, NULL, activations[_i]);
	open_cpu(&be[1], fx.cpu, team, activations[_i]);
	for (uint32_t i = 0; i < n_opcase_sets; i++) {
		const struct opcase_set *set = opcase_sets[i];

		for (uint32_t j = 0; j < set->n && set->op != LMD_OP_SAMPLE; j++) {
			if (_i && !(set->cases[j].flags & OC_INT8))
				continue;
			/* every layout with half of the cases, all of them in make check-long */
			for (uint32_t k = j % step; k < n_oc_layouts; k += step) {
				lmi_team_use_few(team, (j + k) / 2 % 2);
				n[equal(be, set, &set->cases[j], &oc_layouts[k], 0)]++;
			}
		}
	}
	for (uint32_t j = 0; !_i && j < opcase_attn.n; j++) {
		for (uint32_t k = 0; k < 2 * LMD_LEN(many_chunks); k++) {
			lmi_team_use_few(team, k % 2);
			n[equal(be, &opcase_attn, &opcase_attn.cases[j], &many_chunks[k / 2], 0)]++;
		}
	}
	oc_backend_close(&be[0]);
	oc_backend_close(&be[1]);
	lmi_team_destroy(team);
	LMD_CASES("cpu with 1, 2 and 5 threads", n[1], n[0], 0);
	ck_assert_uint_eq(n[0], 0);
}
END_TEST

/* Weights that are copied into interleaved groups give the same bits as those in the file. */
START_TEST(copies_change_nothing)
{
	static const struct opcase_set *const sets[] = {&opcase_linear, &opcase_ffn, &opcase_head,
							&opcase_moe_ffn};
	static const char *const how[] = {"off", "on"};
	struct oc_backend be[2];
	uint32_t n[2] = {0};

	for (int i = 0; i < 2; i++) {
		ck_assert(!setenv("LLAMAD_CPU_REPACK", how[i], 1));
		open_cpu(&be[i], fx.cpu, NULL, _i ? LMD_ACTIVATIONS_INT16 : LMD_ACTIVATIONS_INT8);
	}
	for (size_t i = 0; i < LMD_LEN(sets); i++)
		for (uint32_t j = 0; j < sets[i]->n; j++)
			for (uint32_t k = 0; k < n_oc_layouts; k++)
				n[equal(be, sets[i], &sets[i]->cases[j], &oc_layouts[k], 0)]++;
	for (int i = 0; i < 2; i++)
		oc_backend_close(&be[i]);
	LMD_CASES("cpu with and without copies of weights", n[1], n[0], 0);
	ck_assert_uint_eq(n[0], 0);
}
END_TEST

/* Products of weights in bf16 with rounded activations are close to those with floats, and have the
 * same bits with any number of threads. */
START_TEST(bf16_products)
{
	static const struct opcase_set *const sets[] = {&opcase_linear, &opcase_ffn, &opcase_head,
							&opcase_moe_ffn};
	const struct lmi_team_opts opts = {.n = 5, .spin_ns = 0};
	struct oc_backend close_by[2], threads[2];
	struct lmd_error err = {.text = ""};
	struct lmd_team *team;
	uint32_t n[2] = {0};

	ck_assert_int_eq(lmi_team_create(&team, &opts, NULL), LMD_OK);
	ck_assert(!setenv("LLAMAD_CPU_BF16", "off", 1));
	open_cpu(&close_by[0], fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	ck_assert(!setenv("LLAMAD_CPU_BF16", "on", 1));
	open_cpu(&close_by[1], fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	threads[0] = close_by[1];
	open_cpu(&threads[1], fx.cpu, team, LMD_ACTIVATIONS_INT8);
	for (size_t i = 0; i < LMD_LEN(sets); i++)
		for (uint32_t j = 0; j < sets[i]->n; j++)
			for (uint32_t k = 0; k < n_oc_layouts; k++) {
				n[equal(close_by, sets[i], &sets[i]->cases[j], &oc_layouts[k], 1e-4)]++;
				n[equal(threads, sets[i], &sets[i]->cases[j], &oc_layouts[k], 0)]++;
			}
	oc_backend_close(&close_by[0]);
	oc_backend_close(&threads[1]);
	oc_backend_close(&close_by[1]);
	lmi_team_destroy(team);
	LMD_CASES("cpu with bf16 activations", n[1], n[0], 0);
	ck_assert_uint_eq(n[0], 0);
	ck_assert(!setenv("LLAMAD_CPU_BF16", "1", 1));
	ck_assert_int_eq(oc_backend_open(&threads[1], fx.cpu, 0, fx.host, NULL, LMD_ACTIVATIONS_INT8,
					 &err),
			 LMD_INVALID);
	ck_assert_msg(strstr(err.text, "'1', must be auto, on or off") != NULL, "%s", err.text);
}
END_TEST

static char logged[512];

LMD_PRINTF(4, 5)
static void keep_log(void *ctx, const char *topic, int level, const char *fmt, ...)
{
	va_list ap;

	(void)ctx;
	(void)topic;
	if (level > LMD_LOG_WARN)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(logged, sizeof(logged), fmt, ap);
	va_end(ap);
}

/* On a processor without tiles the other kernels are used, and the log says why. */
START_TEST(no_tiles)
{
	static const char *const how[] = {"off", "on", ""};
	const uint64_t flags = fx.host->cpu(fx.host->ctx)->flags & ~(LMD_CPU_AMX_INT8 | LMD_CPU_AMX_BF16);
	struct lmd_error err = {.text = ""};
	struct oc_backend be[2];
	struct lmd_host *host;
	uint32_t n[2] = {0};

	ck_assert_int_eq(lmi_host_create(&host, flags), LMD_OK);
	host->log = keep_log;
	for (int i = 2; i >= 0; i--) {
		logged[0] = '\0';
		ck_assert(!setenv("LLAMAD_CPU_AMX", how[i], 1));
		ck_assert_msg(oc_backend_open(&be[i % 2], fx.cpu, 0, host, NULL, LMD_ACTIVATIONS_INT8, &err) == LMD_OK,
			      "%s", err.text);
		ck_assert_msg(!*logged == (i != 1), "%s: %s", how[i], logged);
		if (i == 1)
			ck_assert_msg(strstr(logged, "LLAMAD_CPU_AMX is on, but ") && strstr(logged, " AMX"), "%s", logged);
		if (i == 2)
			oc_backend_close(&be[0]);
	}
	for (uint32_t j = 0; j < opcase_linear.n; j++)
		n[equal(be, &opcase_linear, &opcase_linear.cases[j], &oc_layouts[0], 0)]++;
	LMD_CASES("cpu without tiles", n[1], n[0], 0);
	ck_assert_uint_eq(n[0], 0);
	for (int i = 0; i < 2; i++)
		oc_backend_close(&be[i]);
	ck_assert(!setenv("LLAMAD_CPU_AMX", "auto", 1));
	ck_assert_int_eq(oc_backend_open(&be[0], fx.cpu, 0, host, NULL, LMD_ACTIVATIONS_INT8, &err), LMD_INVALID);
	ck_assert_msg(strstr(err.text, "'auto', must be on or off") != NULL, "%s", err.text);
	ck_assert(!unsetenv("LLAMAD_CPU_AMX"));
	lmi_host_destroy(host);
}
END_TEST

static uint64_t copied(const struct oc_backend *be, const struct lmd_weight_desc *d)
{
	struct lmd_weight_plan plan = {.struct_size = sizeof(plan)};
	struct lmd_error err = {.text = ""};

	ck_assert_msg(be->ops->weight_query(be->state, d, &plan, &err) == LMD_OK, "%s", err.text);
	return plan.bytes;
}

/* The copies count as memory, and the environment decides whether there are any. */
START_TEST(copies_are_reported)
{
	static const uint8_t data[2][40 * 36];
	const struct lmd_weight_ref ref = {.n_stack = 1, .n = 40, .k = 64, .name = "w"};
	const struct lmd_weight_piece piece = {
		.data = data, .row_bytes = 36, .n_row = 40, .n_slice = 1};
	const struct lmd_weight_desc d = {.dtype = LMD_DTYPE_Q4_0,
					  .ref = &ref,
					  .n_piece = 1,
					  .pieces = &piece};
	bool vector = fx.host->cpu(fx.host->ctx)->flags & LMD_CPU_AVX2;
	struct lmd_error err = {.text = ""};
	struct oc_backend be;

	ck_assert(!setenv("LLAMAD_CPU_REPACK", "on", 1));
	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	/* Three groups of two blocks, each 256 bytes of codes and 32 of scales. */
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(copied(&be, &d), vector ? 3 * 2 * 288 : 0);
	oc_backend_close(&be);
	ck_assert(!setenv("LLAMAD_CPU_REPACK", "off", 1));
	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	ck_assert_uint_eq(copied(&be, &d), 0);
	oc_backend_close(&be);
	ck_assert(!setenv("LLAMAD_CPU_REPACK", "yes", 1));
	ck_assert_int_eq(oc_backend_open(&be, fx.cpu, 0, fx.host, NULL, LMD_ACTIVATIONS_INT8, &err),
			 LMD_INVALID);
	ck_assert_msg(strstr(err.text, "'yes', must be auto, on or off") != NULL, "%s", err.text);
}
END_TEST

static uint64_t fake_now_ns;

static uint64_t fake_clock(void *ctx)
{
	(void)ctx;
	return fake_now_ns;
}

static void load_and_destroy(struct oc_backend *be, const struct lmd_weight_desc *d, const uint8_t *data)
{
	struct lmd_weight_piece piece = d->pieces[0];
	struct lmd_weight_desc own = *d;
	struct lmd_error err = {.text = ""};
	struct lmd_weight *w;

	piece.data = data;
	own.pieces = &piece;
	ck_assert_msg(be->ops->weight_load(be->state, &own, &w, &err) == LMD_OK, "%s", err.text);
	be->ops->weight_destroy(be->state, w);
}

/* Decisions take their share of the limit while somebody may still load the weight, and not for ever; weights of
 * other sizes at the same address have decisions of their own. */
START_TEST(decisions_are_forgotten)
{
	static const uint8_t data[3][64];
	struct lmd_weight_ref ref = {.n_stack = 1, .k = 64, .name = "w"};
	struct lmd_weight_piece piece = {.row_bytes = 36, .n_slice = 1};
	const struct lmd_weight_desc d = {.dtype = LMD_DTYPE_Q4_0, .ref = &ref, .n_piece = 1, .pieces = &piece};
	uint64_t (*const clock)(void *ctx) = fx.host->now_ns;
	struct oc_backend be;

	if (!(fx.host->cpu(fx.host->ctx)->flags & LMD_CPU_AVX2))
		return; /* nothing is copied */
	/* more than a half of the limit, which is an eighth of the available memory; nothing is read */
	piece.n_row = ref.n = (uint32_t)(lmi_engine_memory_available() / 8 * 7 / 10 / 36);
	fx.host->now_ns = fake_clock;
	fake_now_ns = 1;
	ck_assert(!setenv("LLAMAD_CPU_REPACK", "auto", 1));
	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	piece.data = data[0];
	ck_assert_uint_gt(copied(&be, &d), 0);
	piece.data = data[1];
	ck_assert_uint_eq(copied(&be, &d), 0);
	fake_now_ns += 599ull * 1000000000;
	piece.data = data[0];
	ck_assert_uint_gt(copied(&be, &d), 0);
	fake_now_ns += 599ull * 1000000000; /* after the last question about the first */
	piece.data = data[2];
	ck_assert_uint_eq(copied(&be, &d), 0);
	fake_now_ns += 2ull * 1000000000;
	piece.data = data[1]; /* its refusal is forgotten as well */
	ck_assert_uint_gt(copied(&be, &d), 0);
	piece.data = data[0];
	ck_assert_uint_eq(copied(&be, &d), 0);
	fake_now_ns += 601ull * 1000000000; /* also if the next question is about a refused one */
	ck_assert_uint_gt(copied(&be, &d), 0);
	load_and_destroy(&be, &d, data[1]); /* without a copy */
	load_and_destroy(&be, &d, data[0]);
	piece.data = data[1]; /* the refusal was for one load */
	ck_assert_uint_gt(copied(&be, &d), 0);
	ref.n = piece.n_row = 16;
	ck_assert_uint_eq(copied(&be, &d), 2 * 288);
	oc_backend_close(&be);
	fx.host->now_ns = clock;
}
END_TEST

static struct lmd_weight *load_weight(struct oc_backend *be, const uint8_t *data)
{
	const struct lmd_weight_ref ref = {.n_stack = 1, .n = 256, .k = 512, .name = "w"};
	const struct lmd_weight_piece piece = {
		.data = data, .row_bytes = 544, .n_row = 256, .n_slice = 1};
	const struct lmd_weight_desc d = {.dtype = LMD_DTYPE_Q8_0,
					  .ref = &ref,
					  .n_piece = 1,
					  .pieces = &piece};
	struct lmd_error err = {.text = ""};
	struct lmd_weight *w;

	ck_assert_msg(be->ops->weight_load(be->state, &d, &w, &err) == LMD_OK, "%s", err.text);
	return w;
}

/* Small copies share a block, which is freed with the last of them. */
START_TEST(copies_share_memory)
{
	static const uint8_t data[3][256 * 544];
	struct lmi_alloc_stats start, one, now;
	struct lmd_weight *w[3];
	struct oc_backend be;

	ck_assert(!setenv("LLAMAD_CPU_REPACK", "on", 1));
	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	lmi_alloc_stats(&start);
	w[0] = load_weight(&be, data[0]);
	lmi_alloc_stats(&one);
	w[1] = load_weight(&be, data[1]);
	w[2] = load_weight(&be, data[2]);
	lmi_alloc_stats(&now);
	ck_assert_uint_lt(now.live_bytes - one.live_bytes, sizeof(data[0]));
	be.ops->weight_destroy(be.state, w[0]);
	be.ops->weight_destroy(be.state, w[2]);
	w[0] = load_weight(&be, data[0]);
	be.ops->weight_destroy(be.state, w[1]);
	be.ops->weight_destroy(be.state, w[0]);
	lmi_alloc_stats(&now);
	ck_assert_uint_eq(now.live_bytes, start.live_bytes);
	ck_assert_uint_eq(now.n_live, start.n_live);
	oc_backend_close(&be);
}
END_TEST

/* What was exported, used or not, is the copy; a weight that gets it is used without its rows in the file,
 * and takes no memory. */
START_TEST(copies_are_kept)
{
	enum { N = 40, K = 64, BYTES = 3 * 2 * 288 };
	static uint8_t data[N * 36];
	static _Alignas(64) uint8_t out[2][BYTES];
	const struct lmd_weight_ref ref = {.n_stack = 1, .n = N, .k = K, .name = "w"};
	const struct lmd_weight_piece piece = {.data = data, .row_bytes = 36, .n_row = N, .n_slice = 1};
	struct lmd_weight_desc d = {.struct_size = sizeof(d),
				    .dtype = LMD_DTYPE_Q4_0,
				    .ref = &ref,
				    .n_piece = 1,
				    .pieces = &piece};
	struct lmd_weight_plan plan = {.struct_size = sizeof(plan)};
	struct lmd_error err = {.text = ""};
	struct lmd_weight *w;
	struct oc_backend be;
	size_t n;

	if (!(fx.host->cpu(fx.host->ctx)->flags & LMD_CPU_AVX2))
		return; /* nothing is copied */
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 % 251);
	ck_assert(!setenv("LLAMAD_CPU_REPACK", "on", 1));
	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	ck_assert_int_eq(be.ops->weight_query(be.state, &d, &plan, &err), LMD_OK);
	ck_assert_uint_eq(plan.placement, LMD_PLACE_REPACK);
	ck_assert_uint_eq(plan.bytes, BYTES);
	ck_assert_uint_ne(plan.layout, 0);
	ck_assert_int_eq(be.ops->weight_load(be.state, &d, &w, &err), LMD_OK);
	ck_assert_int_eq(be.ops->weight_export(be.state, w, NULL, 0, &n), LMD_OK);
	ck_assert_uint_eq(n, BYTES);
	ck_assert_int_eq(be.ops->weight_export(be.state, w, out[0], sizeof(out[0]), &n), LMD_OK);
	be.ops->weight_destroy(be.state, w);
	d.stored = out[0];
	d.stored_bytes = BYTES;
	d.stored_layout = plan.layout;
	ck_assert_int_eq(be.ops->weight_query(be.state, &d, &plan, &err), LMD_OK);
	ck_assert_uint_eq(plan.bytes, 0);
	ck_assert_uint_eq(plan.placement, LMD_PLACE_REPACK);
	memset(data, 0, sizeof(data)); /* if it were copied again, it would be from here */
	ck_assert_int_eq(be.ops->weight_load(be.state, &d, &w, &err), LMD_OK);
	ck_assert_int_eq(be.ops->weight_export(be.state, w, out[1], sizeof(out[1]), &n), LMD_OK);
	ck_assert_uint_eq(n, BYTES);
	ck_assert_mem_eq(out[1], out[0], BYTES);
	be.ops->weight_destroy(be.state, w);
	/* bytes of another length or layout are not used */
	for (int i = 0; i < 2; i++) {
		d.stored_layout = plan.layout + (i == 0);
		d.stored_bytes = BYTES - (i == 1);
		ck_assert_int_eq(be.ops->weight_query(be.state, &d, &plan, &err), LMD_OK);
		ck_assert_uint_eq(plan.bytes, BYTES);
		d.stored_layout = plan.layout;
	}
	oc_backend_close(&be);
}
END_TEST

START_TEST(many_keys)
{
	const struct lmi_team_opts opts = {.n = 4, .spin_ns = 0};
	struct oc_backend be[2];
	struct lmd_team *team;
	uint32_t n[2] = {0};

	ck_assert_int_eq(lmi_team_create(&team, &opts, NULL), LMD_OK);
	open_cpu(&be[0], fx.cpu, team, LMD_ACTIVATIONS_F32);
	open_cpu(&be[1], fx.ref, NULL, LMD_ACTIVATIONS_F32);
	for (uint32_t j = 0; j < opcase_attn.n; j++) {
		const struct opcase *def = &opcase_attn.cases[j];

		for (uint32_t k = 0; k < LMD_LEN(many_chunks); k++)
			n[equal(be, &opcase_attn, def, &many_chunks[k], def->nmse)]++;
	}
	oc_backend_close(&be[0]);
	oc_backend_close(&be[1]);
	lmi_team_destroy(team);
	LMD_CASES("attention over several chunks", n[1], n[0], 0);
	ck_assert_uint_eq(n[0], 0);
}
END_TEST

/* ---- cancellation and memory ---- */

static struct oc *create(struct oc_backend *be, const struct opcase_set *set, uint32_t number)
{
	struct oc_device dev = oc_backend_device(be);
	struct lmd_error err = {.text = ""};
	struct oc *c = NULL;

	ck_assert_msg(oc_create(&c, &set->cases[number], &oc_layouts[3], be->host, &dev, fx.seed,
				false, &err) == LMD_OK,
		      "%s", err.text);
	return c;
}

START_TEST(cancelled)
{
	volatile int32_t word = 1;
	struct lmd_error err = {.text = ""};
	struct oc_backend be;
	struct oc_result out = {0};
	struct oc *c;

	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_F32);
	c = create(&be, &opcase_ffn, 0);
	c->step->view.cancel = &word;
	ck_assert_int_eq(oc_execute(&be, c, &out, &err), LMD_CANCELLED);
	oc_destroy(c);
	oc_backend_close(&be);
}
END_TEST

/* The host sees that a step goes on. */
START_TEST(progress_is_counted)
{
	volatile uint32_t n = 0;
	struct lmd_error err = {.text = ""};
	struct oc_backend be;
	struct oc_result out = {0};
	struct oc *c;

	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_F32);
	c = create(&be, &opcase_ffn, 0);
	c->step->view.progress = &n;
	ck_assert_msg(oc_execute(&be, c, &out, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_gt(n, 0);
	oc_result_free(&out);
	oc_destroy(c);
	oc_backend_close(&be);
}
END_TEST

/* Each allocation of loading, compiling and running fails once; nothing may leak, and each failure
 * must come with an error message. */
START_TEST(memory_runs_out)
{
	static const struct opcase_set *const sets[] = {&opcase_linear, &opcase_ffn, &opcase_attn,
							&opcase_rope_kv, &opcase_moe_ffn};
	struct oc_backend be;

	open_cpu(&be, fx.cpu, NULL, LMD_ACTIVATIONS_INT8);
	for (size_t i = 0; i < LMD_LEN(sets); i++) {
		struct oc *c = create(&be, sets[i], 0);
		enum lmd_status st = LMD_NOMEM;
		uint64_t nth = 1;

		for (; nth < 1000 && st != LMD_OK; nth++) {
			struct lmi_alloc_stats before, after;
			struct lmd_error err = {.text = ""};
			struct oc_result out = {0};

			lmi_alloc_stats(&before);
			lmi_alloc_fail_nth(nth, false);
			st = oc_execute(&be, c, &out, &err);
			if (!lmi_alloc_did_fail())
				ck_assert_msg(st == LMD_OK, "%s", err.text);
			else
				ck_assert_msg(st != LMD_OK && err.text[0], "allocation %d of %s",
					      (int)nth, c->def->name);
			lmi_alloc_fail_nth(0, false);
			oc_result_free(&out);
			lmi_alloc_stats(&after);
			/* The device keeps its table of adapters. */
			ck_assert_uint_le(after.n_live, before.n_live + 1);
		}
		ck_assert_int_eq(st, LMD_OK);
		ck_assert_uint_gt(nth, 5);
		oc_destroy(c);
	}
	oc_backend_close(&be);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("backend cpu");
	TCase *t = tcase_create("cpu");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, matches_ref, 0, (int)LMD_LEN(variants));
	tcase_add_loop_test(t, threads_change_nothing, 0, 3);
	tcase_add_loop_test(t, copies_change_nothing, 0, 2);
	tcase_add_test(t, bf16_products);
	tcase_add_test(t, no_tiles);
	tcase_add_test(t, many_keys);
	tcase_add_test(t, cancelled);
	tcase_add_test(t, progress_is_counted);
	tcase_add_test(t, memory_runs_out);
	suite_add_tcase(s, t);
	t = tcase_create("copies");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, copies_are_reported);
	tcase_add_test(t, copies_are_kept);
	tcase_add_test(t, decisions_are_forgotten);
	tcase_add_test(t, copies_share_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
