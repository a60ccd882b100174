/* SPDX-License-Identifier: MIT
 *
 * What the host does in a step of an engine, apart from the device's work:
 *   host_work MODEL [-n SESSIONS] [-s STEPS] [-t THREADS] [-g]
 * SESSIONS (64) generations decode STEPS (200) tokens each with the default chain of samplers, or
 * greedily with -g, on a device that copies given logits: normal noise, other rows in each step. The
 * weights of the model do not matter, but its vocabulary does (bench/make_model --vocab).
 * Prints one JSON object with times per step in ms, without the time in the device: "wall_ms", and
 * "engine_ms", the processor time of the engine's thread; medians over the steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "core/engine/sample.h"
#include "core/plugin/host_services.h"

#define N_PROMPT 4
#define N_NOISE	 8 /* spare rows of noise, so that rows differ between steps */

/* ---- the device ---- */

struct device {
	struct lmd_backend_ops ops;
	float *noise; /* [n_seq + N_NOISE][width] */
	uint32_t width, n_run;
	double wall, cpu; /* seconds in it */
};
static struct device device;

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static enum lmd_status run_plan(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
				const struct lmd_step *step, const struct lmd_binding *in,
				uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				struct lmd_event *done)
{
	double wall = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_THREAD_CPUTIME_ID);

	(void)state, (void)q, (void)p, (void)in, (void)n_in, (void)n_out, (void)done;
	memcpy(out->ptr, device.noise + (size_t)(device.n_run++ % N_NOISE) * device.width,
	       (size_t)step->head->n_out * device.width * sizeof(float));
	device.wall += clock_s(CLOCK_MONOTONIC) - wall;
	device.cpu += clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return LMD_OK;
}

static void fill_noise(uint32_t n_seq, uint32_t width)
{
	uint64_t rnd = 1;
	size_t n = (size_t)(n_seq + N_NOISE) * width;

	device.width = width;
	device.noise = malloc(n * sizeof(float));
	for (size_t i = 0; device.noise && i < n; i++) {
		float sum = 0;

		for (int k = 0; k < 4; k++) { /* nearly normal */
			rnd = rnd * 6364136223846793005u + 1442695040888963407u;
			sum += (float)(rnd >> 40) * 0x1p-24f - 0.5f;
		}
		device.noise[i] = 5 * sum;
	}
}

/* ---- the engine ---- */

struct settings {
	const char *model;
	uint32_t n_seq, n_step, n_thread;
	bool greedy;
};

static void must(enum lmd_status st, const struct lmd_error *err)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "host_work: %s\n", err->text);
	exit(1);
}

static void start_all(struct lmi_engine *e, const struct settings *s)
{
	static struct lmi_sampler_spec_list list;
	struct lmi_sampler_params p;
	lmd_token prompt[N_PROMPT] = {1, 2, 3, 4};
	struct lmd_error err;

	lmi_sampler_params_default(&p);
	if (s->greedy)
		p.temp = 0;
	lmi_sampler_specs(&list, &p);
	for (uint32_t i = 0; i < s->n_seq; i++) {
		struct lmi_engine_generate cmd = {
			.id = i + 1,
			.seq = {.tokens = prompt, .n_tokens = N_PROMPT,
				.fork_of = LMI_ENGINE_NO_FORK},
			.n_predict = s->n_step + 16,
			.specs = list.spec,
			.n_specs = list.n,
			.seed = i,
			.flags = LMI_ENGINE_GEN_IGNORE_EOG};

		must(lmi_engine_generate(e, &cmd, &err), &err);
	}
}

static void drop_events(struct lmi_engine *e)
{
	struct lmi_engine_event ev;

	while (lmi_engine_poll(e, &ev)) {
		if (ev.kind == LMI_ENGINE_EV_FAILED)
			must(ev.u.error.status, &ev.u.error);
		lmi_engine_event_release(&ev);
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, uint32_t n)
{
	qsort(v, n, sizeof(*v), by_size);
	return v[n / 2];
}

static void measure(struct lmi_engine *e, const struct settings *s)
{
	double *wall = calloc(s->n_step, sizeof(*wall)), *cpu = calloc(s->n_step, sizeof(*cpu));
	struct lmi_engine_stats before, after;

	if (!wall || !cpu)
		exit(1);
	start_all(e, s);
	do { /* until all decode */
		(void)lmi_engine_step(e);
		drop_events(e);
		lmi_engine_stats(e, &before);
	} while (before.n_generated < s->n_seq);
	for (uint32_t i = 0; i < s->n_step; i++) {
		double w, c;

		device.wall = device.cpu = 0;
		w = clock_s(CLOCK_MONOTONIC);
		c = clock_s(CLOCK_THREAD_CPUTIME_ID);
		(void)lmi_engine_step(e);
		wall[i] = clock_s(CLOCK_MONOTONIC) - w - device.wall;
		cpu[i] = clock_s(CLOCK_THREAD_CPUTIME_ID) - c - device.cpu;
		drop_events(e);
	}
	lmi_engine_stats(e, &after);
	printf("{\"sessions\": %u, \"vocabulary\": %u, \"threads\": %u, \"greedy\": %s, "
	       "\"tokens\": %llu, \"wall_ms\": %.4f, \"engine_ms\": %.4f}\n",
	       s->n_seq, device.width, s->n_thread, s->greedy ? "true" : "false",
	       (unsigned long long)(after.n_generated - before.n_generated),
	       1e3 * median(wall, s->n_step), 1e3 * median(cpu, s->n_step));
	free(wall);
	free(cpu);
}

static void run(const struct settings *s)
{
	const char *dirs[] = {"plugins/.libs"};
	struct lmi_plugin_registry_opts ro = {
		.no_default_dirs = true, .dirs = dirs, .n_dirs = 1};
	struct lmi_engine_opts o = {.in_line = true, .n_request = s->n_seq};
	const struct lmd_backend_ops *ops;
	struct lmi_engine *e;
	struct lmd_error err = {0};

	must(lmi_host_create((struct lmd_host **)(uintptr_t)&ro.host, UINT64_MAX), &err);
	must(lmi_plugin_registry_create(&o.inst.registry, &ro, &err), &err);
	o.inst.host = ro.host;
	o.inst.path = s->model;
	o.inst.backend = "null";
	o.inst.n_thread = s->n_thread;
	o.inst.n_seq = s->n_seq;
	o.inst.n_ctx = s->n_step + 64;
	o.inst.k_dtype = o.inst.v_dtype = -1;
	o.inst.pooling = LMD_POOL_UNSET;
	must(lmi_engine_open(&e, &o, &err), &err);
	ops = e->inst->devices[0].ops;
	device.ops = *ops;
	device.ops.plan_run = run_plan;
	e->inst->devices[0].ops = &device.ops;
	fill_noise(s->n_seq, e->inst->desc.n_vocab);
	measure(e, s);
	e->inst->devices[0].ops = ops;
	lmi_engine_fini(e);
	free(device.noise);
	lmi_plugin_registry_destroy(o.inst.registry);
	lmi_host_destroy((struct lmd_host *)(uintptr_t)ro.host);
}

int main(int argc, char **argv)
{
	struct settings s = {.n_seq = 64, .n_step = 200, .n_thread = 1};
	int c;

	while ((c = getopt(argc, argv, "n:s:t:g")) != -1) {
		if (c == 'n')
			s.n_seq = (uint32_t)atoi(optarg);
		else if (c == 's')
			s.n_step = (uint32_t)atoi(optarg);
		else if (c == 't')
			s.n_thread = (uint32_t)atoi(optarg);
		else if (c == 'g')
			s.greedy = true;
		else
			return 2;
	}
	if (optind + 1 != argc || !s.n_seq || !s.n_step || !s.n_thread) {
		fprintf(stderr,
			"usage: host_work MODEL [-n SESSIONS] [-s STEPS] [-t THREADS] [-g]\n");
		return 2;
	}
	s.model = argv[optind];
	run(&s);
	return 0;
}
