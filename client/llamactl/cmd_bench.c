/* SPDX-License-Identifier: MIT
 *
 * llamactl bench: speed of prefill and decode in tokens per second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"

#define RUNS_MAX 1000

struct result {
	char test[24];	       /* "pp512", "tg64" */
	double median, lo, hi; /* tokens per second */
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

/* Tokens that every vocabulary has and that differ from each other. */
static void fill_tokens(lmd_token *v, uint32_t n, uint32_t n_vocab)
{
	uint64_t x = 1;

	for (uint32_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		v[i] = (lmd_token)((x >> 33) % n_vocab);
	}
}

/* One run: n tokens at once with the logits of the last one, or one by one with all logits. */
static enum lmd_status run_once(struct lmi_engine *e, const lmd_token *v, uint32_t n, bool prompt,
				double *rate, struct lmd_error *err)
{
	struct lmi_engine_info info;
	const struct lmi_engine_input_seq in = {
		.tokens = v, .n_tokens = n, .fork_of = LMI_ENGINE_NO_FORK};
	const struct lmi_engine_eval cmd = {.id = 1,
					    .seqs = &in,
					    .n_seq = 1,
					    .want = prompt ? LMI_ENGINE_WANT_LAST
							   : LMI_ENGINE_WANT_LOGITS,
					    .pooling = LMD_POOL_UNSET,
					    .chunk = prompt ? 0 : 1};
	enum lmd_status st;
	uint64_t t0;

	lmi_engine_info(e, &info);
	t0 = info.host->now_ns(info.host->ctx);
	st = lmi_engine_eval(e, &cmd, err);
	if (st == LMD_OK)
		st = lmi_ctl_embedded_drain(e, cmd.id, NULL, NULL, NULL, err);
	*rate = n * 1e9 / (double)(info.host->now_ns(info.host->ctx) - t0);
	return st;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static enum lmd_status measure(struct lmi_engine *e, uint32_t n, bool prompt, uint32_t n_run,
			       struct result *out, struct lmd_error *err)
{
	lmd_token *v = lmi_alloc(n, sizeof(*v));
	double *rate = lmi_alloc(n_run + 1u, sizeof(*rate));
	struct lmi_engine_info info;
	enum lmd_status st = LMD_OK;

	if (!v || !rate)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u runs of %u tokens", n_run, n);
	lmi_engine_info(e, &info);
	if (st == LMD_OK)
		fill_tokens(v, n, info.desc->n_vocab);
	/* run 0 warms caches and is not counted */
	for (uint32_t i = 0; i <= n_run && st == LMD_OK; i++)
		st = run_once(e, v, n, prompt, &rate[i], err);
	if (st == LMD_OK) {
		qsort(rate + 1, n_run, sizeof(*rate), by_size);
		(void)snprintf(out->test, sizeof(out->test), "%s%u", prompt ? "pp" : "tg", n);
		out->lo = rate[1];
		out->hi = rate[n_run];
		out->median = (rate[1 + (n_run - 1) / 2] + rate[1 + n_run / 2]) / 2;
	}
	lmi_free(rate);
	lmi_free(v);
	return st;
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
		printf("%s, backend %s, %u threads, %s\n", info.model, info.backend,
		       info.n_thread, machine);
		for (uint32_t i = 0; i < n; i++)
			printf("%-8s %10.2f tokens/s (%.2f to %.2f)\n", r[i].test, r[i].median,
			       r[i].lo, r[i].hi);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; i < n; i++) {
		lmi_ctl_json_object(&j, NULL);
		lmi_ctl_json_str(&j, "test", r[i].test);
		lmi_ctl_json_uint(&j, "threads", info.n_thread);
		lmi_ctl_json_str(&j, "backend", info.backend);
		lmi_ctl_json_f64(&j, "median", r[i].median);
		lmi_ctl_json_f64(&j, "min", r[i].lo);
		lmi_ctl_json_f64(&j, "max", r[i].hi);
		lmi_ctl_json_str(&j, "model", info.model);
		lmi_ctl_json_str(&j, "machine", machine);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status bench(const struct lmi_args *a, struct lmi_engine *e, struct lmd_error *err)
{
	uint32_t n[2] = {(uint32_t)lmi_arg_int(a, "prompt"), (uint32_t)lmi_arg_int(a, "predict")};
	uint32_t n_run = (uint32_t)lmi_arg_int(a, "runs"), n_result = 0;
	struct result r[2];
	enum lmd_status st = LMD_OK;

	for (int i = 0; i < 2 && st == LMD_OK; i++)
		if (n[i])
			st = measure(e, n[i], i == 0, n_run, &r[n_result++], err);
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
	const lmd_token first = 1;
	uint64_t t0 = host->now_ns(host->ctx);
	enum lmd_status st = lmi_engine_open(&e, o, err);
	double rate;

	ms[0] = (double)(host->now_ns(host->ctx) - t0) / 1e6;
	resident(&rss[0], &rss[1]);
	if (st == LMD_OK)
		st = run_once(e, &first, 1, true, &rate, err);
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
	uint32_t pp = (uint32_t)lmi_arg_int(a, "prompt"), tg = (uint32_t)lmi_arg_int(a, "predict");
	struct lmi_engine_opts o;
	struct lmi_engine *e = NULL;
	enum lmd_status st;

	if (!pp && !tg && !lmi_arg_flag(a, "load"))
		return lmi_ctl_usage(ctl, err, "-p 0 -n 0: nothing to measure");
	st = lmi_ctl_embedded_opts(ctl, path, &o, err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(a, "load"))
		return lmi_ctl_name_file(bench_load(a, &o, err), path, err);
	o.no_tokenizer = true;
	o.inst.kv_tokens = pp > tg ? pp : tg;
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
	{.name = "runs",
	 .letter = 'r',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "5",
	 .min = 1,
	 .max = RUNS_MAX,
	 .doc = "Measured runs of each test; one more run before them warms the caches."},
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
	       "with the logits of each (tgN), both from an empty context. Prints the median of "
	       "the runs, with the minimum and the maximum.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
