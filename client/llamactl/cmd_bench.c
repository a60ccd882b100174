/* SPDX-License-Identifier: MIT
 *
 * llamactl bench: speed of prefill and decode in tokens per second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/bench_steps.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/engine/observe.h"
#include "core/plan/plan.h"

#define RUNS_MAX 1000
#define SEQS_MAX 256

struct result {
	char test[64];	       /* "pp512", "tg64x8@4096" */
	double median, lo, hi; /* tokens per second */
	struct lmi_engine_times times; /* of the measured runs, with --phases */
};

/* "AMD EPYC 7763 64-Core Processor, 8 cores". */
static void machine_name(const struct lmd_host *host, char *buf, size_t n)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], model[160] = "unknown processor";

	while (f && fgets(line, sizeof(line), f)) {
		char *p = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !p)
			continue;
		p[strcspn(p, "\n")] = 0;
		(void)snprintf(model, sizeof(model), "%s", p + 1 + strspn(p + 1, " "));
		break;
	}
	if (f)
		(void)fclose(f);
	(void)snprintf(buf, n, "%s, %u cores", model, host->cpu(host->ctx)->n_core);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* "pp512", "tg64", "tg64x8" with 8 sequences, "tg64@4096" at a depth of 4096. */
static void test_name(char *buf, size_t n, const struct lmi_ctl_bench_work *w)
{
	char seqs[16] = "", depth[16] = "";

	if (w->n_seq > 1)
		(void)snprintf(seqs, sizeof(seqs), "x%u", w->n_seq);
	if (w->depth)
		(void)snprintf(depth, sizeof(depth), "@%u", w->depth);
	(void)snprintf(buf, n, "%s%u%s%s", w->prompt ? "pp" : "tg", w->n, seqs, depth);
}

/* The times of a plan that no longer exists count neither before nor after. */
static uint64_t time_since(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static enum lmd_status measure(struct lmi_engine *e, const struct lmi_ctl_bench_work *w, uint32_t n_run,
			       bool phases, struct result *out, struct lmd_error *err)
{
	double *rate = lmi_alloc(n_run + 1u, sizeof(*rate));
	struct lmi_engine_times before = {0};
	enum lmd_status st = LMD_OK;

	if (!rate)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u runs", n_run);
	/* run 0 warms caches and is not counted */
	for (uint32_t i = 0; i <= n_run && st == LMD_OK; i++) {
		st = lmi_ctl_bench_run(e, w, &rate[i], err);
		if (!i && phases) {
			lmi_engine_measure(e);
			lmi_engine_times(e, &before);
		}
	}
	if (st == LMD_OK && phases) {
		lmi_engine_times(e, &out->times);
		for (uint32_t i = 0; i <= LMD_N_OP; i++)
			out->times.op[i].ns = time_since(before.op[i].ns, out->times.op[i].ns);
	}
	if (st == LMD_OK) {
		qsort(rate + 1, n_run, sizeof(*rate), by_size);
		test_name(out->test, sizeof(out->test), w);
		out->lo = rate[1];
		out->hi = rate[n_run];
		out->median = (rate[1 + (n_run - 1) / 2] + rate[1 + n_run / 2]) / 2;
	}
	lmi_free(rate);
	return st;
}

/* ---- phases ---- */

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static uint64_t op_sum(const struct lmi_engine_times *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i <= LMD_N_OP; i++)
		sum += t->op[i].ns;
	return sum;
}

static void print_phases(const struct lmi_engine_times *t)
{
	const uint64_t all = op_sum(t);

	if (t->team.part_ns)
		printf("  threads waited %.1f %% of their time for each other\n",
		       percent(t->team.wait_ns, t->team.part_ns));
	for (uint32_t i = 1; i <= LMD_N_OP; i++)
		if (t->op[i].ns)
			printf("  %-12s %5.1f %%\n", lmi_plan_op_info(i)->name,
			       percent(t->op[i].ns, all));
}

static void json_phases(struct lmi_ctl_json *j, const struct lmi_engine_times *t)
{
	const uint64_t all = op_sum(t);

	lmi_ctl_json_f64(j, "wait_percent", percent(t->team.wait_ns, t->team.part_ns));
	lmi_ctl_json_object(j, "op_percent");
	for (uint32_t i = 1; i <= LMD_N_OP; i++)
		if (t->op[i].ns)
			lmi_ctl_json_f64(j, lmi_plan_op_info(i)->name, percent(t->op[i].ns, all));
	lmi_ctl_json_end(j);
}

static void print_results(const struct lmi_args *a, const struct lmi_engine *e,
			  const struct result *r, uint32_t n)
{
	struct lmi_engine_info info;
	struct lmi_ctl_json j;
	char machine[200];

	lmi_engine_info(e, &info);
	machine_name(info.host, machine, sizeof(machine));
	if (!lmi_arg_flag(a, "json")) {
		printf("%s, backend %s, %u threads", info.model, info.backend, info.n_thread);
		if (info.n_thread_batch != info.n_thread)
			printf(" (%u for prompts)", info.n_thread_batch);
		printf(", %s\n", machine);
		for (uint32_t i = 0; i < n; i++) {
			printf("%-8s %10.2f tokens/s (%.2f to %.2f)\n", r[i].test, r[i].median,
			       r[i].lo, r[i].hi);
			if (lmi_arg_flag(a, "phases"))
				print_phases(&r[i].times);
		}
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; i < n; i++) {
		lmi_ctl_json_object(&j, NULL);
		lmi_ctl_json_str(&j, "test", r[i].test);
		lmi_ctl_json_uint(&j, "threads", info.n_thread);
		lmi_ctl_json_uint(&j, "threads_batch", info.n_thread_batch);
		lmi_ctl_json_str(&j, "backend", info.backend);
		lmi_ctl_json_f64(&j, "median", r[i].median);
		lmi_ctl_json_f64(&j, "min", r[i].lo);
		lmi_ctl_json_f64(&j, "max", r[i].hi);
		lmi_ctl_json_str(&j, "model", info.model);
		lmi_ctl_json_str(&j, "machine", machine);
		if (lmi_arg_flag(a, "phases"))
			json_phases(&j, &r[i].times);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* The work of the two tests, the prompt and the generation. */
static void works(const struct lmi_args *a, struct lmi_ctl_bench_work w[2])
{
	uint32_t depth = (uint32_t)lmi_arg_int(a, "depth");

	w[0] = (struct lmi_ctl_bench_work){.prompt = true,
					   .n = (uint32_t)lmi_arg_int(a, "prompt"),
					   .n_seq = 1,
					   .depth = depth};
	w[1] = (struct lmi_ctl_bench_work){.n = (uint32_t)lmi_arg_int(a, "predict"),
					   .n_seq = (uint32_t)lmi_arg_int(a, "seqs"),
					   .depth = depth};
}

static enum lmd_status bench(const struct lmi_args *a, struct lmi_engine *e, struct lmd_error *err)
{
	uint32_t n_run = (uint32_t)lmi_arg_int(a, "runs"), n_result = 0;
	struct lmi_ctl_bench_work w[2];
	struct result r[2];
	enum lmd_status st = LMD_OK;

	works(a, w);
	for (int i = 0; i < 2 && st == LMD_OK; i++)
		if (w[i].n)
			st = measure(e, &w[i], n_run, lmi_arg_flag(a, "phases"), &r[n_result++], err);
	if (st == LMD_OK)
		print_results(a, e, r, n_result);
	return st;
}

/* ---- loading ---- */

#define LOAD_TESTS 2 /* time until the model is open; time until the logits of the first token */

/* Resident memory of this process in bytes: all of it, and the part not mapped from files. */
static void resident(uint64_t *all, uint64_t *own)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib;
	char line[128];

	*all = *own = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmRSS: %llu kB", &kib) == 1)
			*all = kib << 10;
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			*own = kib << 10;
	}
	if (f)
		(void)fclose(f);
}

static enum lmd_status load_once(const struct lmi_engine_opts *o, double ms[LOAD_TESTS],
				 uint64_t rss[2], struct lmd_error *err)
{
	const struct lmd_host *host = o->inst.host;
	struct lmi_engine *e = NULL;
	const struct lmi_ctl_bench_work first = {.prompt = true, .n = 1, .n_seq = 1};
	uint64_t t0 = host->now_ns(host->ctx);
	enum lmd_status st = lmi_engine_open(&e, o, err);
	double rate;

	ms[0] = (double)(host->now_ns(host->ctx) - t0) / 1e6;
	resident(&rss[0], &rss[1]);
	if (st == LMD_OK)
		st = lmi_ctl_bench_run(e, &first, &rate, err);
	ms[1] = (double)(host->now_ns(host->ctx) - t0) / 1e6;
	lmi_engine_fini(e);
	return st;
}

static void print_load(const struct lmi_args *a, const double *ms, uint32_t n,
		       const uint64_t rss[2])
{
	static const char *const names[LOAD_TESTS] = {"load", "first"};
	struct lmi_ctl_json j;

	if (lmi_arg_flag(a, "json")) {
		lmi_ctl_json_init(&j, stdout);
		lmi_ctl_json_array(&j, NULL);
	}
	for (int t = 0; t < LOAD_TESTS; t++) {
		const double *v = ms + (size_t)t * n;
		double median = (v[(n - 1) / 2] + v[n / 2]) / 2;

		if (!lmi_arg_flag(a, "json")) {
			printf("%-8s %10.2f ms (%.2f to %.2f)\n", names[t], median, v[0], v[n - 1]);
			continue;
		}
		lmi_ctl_json_object(&j, NULL);
		lmi_ctl_json_str(&j, "test", names[t]);
		lmi_ctl_json_str(&j, "unit", "ms");
		lmi_ctl_json_f64(&j, "median", median);
		lmi_ctl_json_f64(&j, "min", v[0]);
		lmi_ctl_json_f64(&j, "max", v[n - 1]);
		lmi_ctl_json_uint(&j, "rss", rss[0]);
		lmi_ctl_json_uint(&j, "rss_own", rss[1]);
		lmi_ctl_json_end(&j);
	}
	if (!lmi_arg_flag(a, "json")) {
		printf("resident %10.1f MiB after loading, %.1f MiB of it not mapped from "
		       "files\n",
		       (double)rss[0] / 1048576, (double)rss[1] / 1048576);
		return;
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status bench_load(const struct lmi_args *a, const struct lmi_engine_opts *o,
				  struct lmd_error *err)
{
	uint32_t n = (uint32_t)lmi_arg_int(a, "runs");
	double *ms = lmi_alloc((size_t)LOAD_TESTS * n, sizeof(*ms)), one[LOAD_TESTS];
	uint64_t rss[2] = {0};
	enum lmd_status st = LMD_OK;

	if (!ms)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u runs", n);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		st = load_once(o, one, rss, err);
		for (int t = 0; t < LOAD_TESTS; t++)
			ms[(size_t)t * n + i] = one[t];
	}
	for (int t = 0; t < LOAD_TESTS; t++)
		qsort(ms + (size_t)t * n, n, sizeof(*ms), by_size);
	if (st == LMD_OK)
		print_load(a, ms, n, rss);
	lmi_free(ms);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *path = lmi_arg_pos(a, 0);
	struct lmi_ctl_bench_work w[2];
	uint64_t kv[2];
	struct lmi_engine_opts o;
	struct lmi_engine *e = NULL;
	enum lmd_status st;

	works(a, w);
	if (!w[0].n && !w[1].n && !lmi_arg_flag(a, "load"))
		return lmi_ctl_usage(ctl, err, "-p 0 -n 0: nothing to measure");
	st = lmi_ctl_embedded_opts(ctl, path, &o, err);
	if (st != LMD_OK)
		return st;
	o.in_line = true;
	if (lmi_arg_flag(a, "load"))
		return lmi_ctl_name_file(bench_load(a, &o, err), path, err);
	o.no_tokenizer = true;
	for (int i = 0; i < 2; i++)
		kv[i] = w[i].n ? lmi_ctl_bench_kv_tokens(&w[i]) : 0;
	o.inst.kv_tokens = kv[0] > kv[1] ? kv[0] : kv[1];
	o.inst.n_seq = w[1].n_seq;
	st = lmi_engine_open(&e, &o, err);
	if (st == LMD_OK)
		st = bench(a, e, err);
	lmi_engine_fini(e);
	return lmi_ctl_name_file(st, path, err);
}

static const struct lmi_opt opts[] = {
	{.name = "prompt",
	 .letter = 'p',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "512",
	 .min = 0,
	 .max = 1 << 24,
	 .doc = "Prompt length in tokens; 0 skips this test."},
	{.name = "predict",
	 .letter = 'n',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "64",
	 .min = 0,
	 .max = 1 << 24,
	 .doc = "Number of tokens to generate one by one; 0 skips this test."},
	{.name = "seqs",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "1",
	 .min = 1,
	 .max = SEQS_MAX,
	 .doc = "Number of sequences that generate together; the speed is that of all of them."},
	{.name = "depth",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .min = 0,
	 .max = 1 << 24,
	 .doc = "Number of tokens that are in the context of each sequence when the measurement starts."},
	{.name = "runs",
	 .letter = 'r',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "5",
	 .min = 1,
	 .max = RUNS_MAX,
	 .doc = "Measured runs of each test; one more run before them warms the caches."},
	{.name = "phases",
	 .type = LMI_OPT_FLAG,
	 .doc = "Also print which share of the time each kind of operation took, and which share of "
		"their time the threads of the first device waited for each other. Measuring it takes "
		"a few hundredths of a microsecond for each time a thread waits."},
	{.name = "load",
	 .type = LMI_OPT_FLAG,
	 .doc = "Measure loading instead, in milliseconds: the time until the model is ready and "
		"the time until the logits of the first token, then the memory of the process. "
		"No run is left out as a warm-up."},
	LMI_CTL_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_bench = {
	.name = "bench",
	.args = "FILE",
	.brief = "Measure the speed of a model in tokens per second",
	.doc = "Computes a prompt of N tokens at once (ppN), then generates N tokens one by one "
	       "with the logits of each (tgN), both from an empty context or at a given depth of "
	       "it. Prints the median of the runs, with the minimum and the maximum.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
