/* SPDX-License-Identifier: MIT
 *
 * How busy an engine keeps a device, in simulated time:
 *   device_time MODEL [-n SESSIONS] [-s STEPS] [-m MS] [-f SHARE] [-c GB/S] [-p DEVICES] [-o] [-b]
 *               [-h auto|never|always]
 * SESSIONS (64) generations decode for STEPS (400) steps of the engine on a device that computes
 * nothing.  A step of all sessions takes it MS (3.6), of which SHARE (1) does not depend on the
 * number of sessions; choosing tokens takes 0.1 ms, and copies take what the rate (50) says.  The
 * host's work takes as long as the processor time of the engine's thread, the only one.
 * With -p, a step is divided among DEVICES: their number, or their parts of it, such as 3,1.  -o: the host chooses all tokens
 * (device_sampling = off); -b: from the best candidates, which the device finds.
 * -h: whether the sessions take turns in two halves (auto).
 * Prints one JSON object: "busy", the share of the simulated time in which a device computes (of
 * the busiest device); "step_ms", the simulated time of all sessions' next
 * token; "host_ms", the host's part of it; and "real_s", the real time of all this. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/simulated_device.h"
#include "core/engine/best.h"
#include "core/engine/engine_impl.h"
#include "core/engine/sample.h"
#include "core/plugin/host_services.h"

#define N_PROMPT 4
#define N_WARM   64 /* steps before the measurement */

_Static_assert(SIM_N_BEST == LMI_ENGINE_N_BEST, "as many candidates as the engine asks for");

struct settings {
	const char *model;
	uint32_t n_seq, n_step, n_device;
	bool on_host;
	enum lmi_engine_halves halves;
};

static void must(enum lmd_status st, const struct lmd_error *err)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "device_time: %s\n", err->text);
	exit(1);
}

static void start_all(struct lmi_engine *e, const struct settings *s)
{
	static struct lmi_sampler_spec_list list;
	struct lmi_sampler_params p;
	lmd_token prompt[N_PROMPT] = {1, 2, 3, 4};
	struct lmd_error err;

	lmi_sampler_params_default(&p);
	lmi_sampler_specs(&list, &p);
	for (uint32_t i = 0; i < s->n_seq; i++) {
		struct lmi_engine_generate cmd = {
			.id = i + 1,
			.seq = {.tokens = prompt, .n_tokens = N_PROMPT,
				.fork_of = LMI_ENGINE_NO_FORK},
			.n_predict = 2 * (int64_t)(s->n_step + N_WARM),
			.specs = list.spec,
			.n_specs = list.n,
			.seed = i,
			.flags = LMI_ENGINE_GEN_IGNORE_EOG};

		must(lmi_engine_generate(e, &cmd, &err), &err);
	}
}

static void run_steps(struct lmi_engine *e, uint32_t n)
{
	struct lmi_engine_event ev;

	while (n--) {
		(void)lmi_engine_step(e);
		while (lmi_engine_poll(e, &ev)) {
			if (ev.kind == LMI_ENGINE_EV_FAILED)
				must(ev.u.error.status, &ev.u.error);
			lmi_engine_event_release(&ev);
		}
	}
}

static void measure(struct lmi_engine *e, const struct settings *s)
{
	struct lmi_engine_stats before, after;
	uint64_t begin, wall, jumped, busy[SIM_N_DEVICE], ns;

	start_all(e, s);
	run_steps(e, N_WARM);
	lmi_engine_stats(e, &before);
	memcpy(busy, sim_state.busy_ns, sizeof(busy));
	begin = sim_now_ns(NULL);
	wall = sim_clock_ns(CLOCK_MONOTONIC);
	jumped = sim_state.jumped;
	run_steps(e, s->n_step);
	ns = sim_now_ns(NULL) - begin;
	wall = sim_clock_ns(CLOCK_MONOTONIC) - wall;
	jumped = sim_state.jumped - jumped;
	lmi_engine_stats(e, &after);
	after.n_generated -= before.n_generated;
	printf("{\"sessions\": %u, \"vocabulary\": %u, \"devices\": %u, \"on_device\": %llu, "
	       "\"tokens\": %llu, \"busy\": %.4f, \"step_ms\": %.3f, \"host_ms\": %.3f, "
	       "\"real_s\": %.2f}\n",
	       s->n_seq, sim_state.width, s->n_device,
	       (unsigned long long)(after.n_on_device - before.n_on_device),
	       (unsigned long long)after.n_generated, (double)sim_busiest_ns(busy) / (double)ns,
	       (double)ns * 1e-6 * s->n_seq / (double)after.n_generated,
	       (double)(ns - jumped) * 1e-6 * s->n_seq / (double)after.n_generated,
	       (double)wall * 1e-9);
}

static void run(const struct settings *s)
{
	const char *dirs[] = {"plugins/.libs"};
	const struct lmd_plugin *linked[] = {&sim_plugin};
	struct lmi_plugin_registry_opts ro = {.no_default_dirs = true,
					      .dirs = dirs,
					      .n_dirs = 1,
					      .linked = linked,
					      .n_linked = 1};
	struct lmi_engine_opts o = {.in_line = true, .n_request = s->n_seq};
	char devices[64] = "simulated0";
	struct lmd_host *real, host;
	struct lmi_engine *e;
	struct lmd_error err = {0};

	must(lmi_host_create(&real, UINT64_MAX), &err);
	host = *real;
	host.now_ns = sim_now_ns;
	ro.host = &host;
	must(lmi_plugin_registry_create(&o.inst.registry, &ro, &err), &err);
	for (uint32_t i = 1; i < s->n_device; i++)
		(void)snprintf(devices + strlen(devices), sizeof(devices) - strlen(devices),
			       ",simulated%u", i);
	o.inst.host = &host;
	o.inst.path = s->model;
	o.inst.device_list = devices;
	o.inst.n_thread = 1;
	o.inst.n_seq = s->n_seq;
	o.inst.n_ctx = 2 * (s->n_step + N_WARM) + 64;
	o.inst.k_dtype = o.inst.v_dtype = -1;
	o.inst.pooling = LMD_POOL_UNSET;
	o.inst.device_sampling = s->on_host ? LMI_ENGINE_DEVICE_SAMPLING_OFF
					    : LMI_ENGINE_DEVICE_SAMPLING_AUTO;
	o.halves = s->halves;
	must(lmi_engine_open(&e, &o, &err), &err);
	sim_fill(s->n_seq, e->inst->desc.n_vocab);
	measure(e, s);
	lmi_engine_fini(e);
	sim_free();
	lmi_plugin_registry_destroy(o.inst.registry);
	lmi_host_destroy(real);
}

/* Reads the number of devices, or the part of each; returns their number, 0: it is neither. */
static uint32_t read_parts(const char *text)
{
	double parts[SIM_N_DEVICE], sum = 0;
	uint32_t n = 0;

	for (char *end = NULL; n < SIM_N_DEVICE && (!end || *end == ','); n++) {
		parts[n] = strtod(end ? end + 1 : text, &end);
		if (!(parts[n] > 0) || (*end && (*end != ',' || n + 1 == SIM_N_DEVICE)))
			return 0;
		sum += parts[n];
	}
	if (n == 1) {
		n = sum <= SIM_N_DEVICE ? (uint32_t)sum : 0;
		for (uint32_t i = 0; i < n; i++)
			parts[i] = 1;
		sum = n;
	}
	for (uint32_t i = 0; i < n; i++)
		sim_state.part[i] = parts[i] / sum;
	return n;
}

int main(int argc, char **argv)
{
	struct settings s = {.n_seq = 64, .n_step = 400, .n_device = 1};
	double ms = 3.6, rate = 50, fixed = 1;
	int c;

	sim_state.part[0] = 1;
	while ((c = getopt(argc, argv, "n:s:m:f:c:p:obh:")) != -1) {
		if (c == 'n')
			s.n_seq = (uint32_t)atoi(optarg);
		else if (c == 's')
			s.n_step = (uint32_t)atoi(optarg);
		else if (c == 'm')
			ms = atof(optarg);
		else if (c == 'c')
			rate = atof(optarg);
		else if (c == 'p')
			s.n_device = read_parts(optarg);
		else if (c == 'o')
			s.on_host = true;
		else if (c == 'b')
			sim_state.finds_best = true;
		else if (c == 'f')
			fixed = atof(optarg);
		else if (c == 'h')
			s.halves = !strcmp(optarg, "never")    ? LMI_ENGINE_HALVES_NEVER
				   : !strcmp(optarg, "always") ? LMI_ENGINE_HALVES_ALWAYS
							       : LMI_ENGINE_HALVES_AUTO;
		else
			return 2;
	}
	if (optind + 1 != argc || !s.n_seq || !s.n_step || !s.n_device || !(ms > 0) ||
	    !(rate > 0) || !(fixed >= 0 && fixed <= 1)) {
		fprintf(stderr, "usage: device_time MODEL [-n SESSIONS] [-s STEPS] [-m MS] "
				"[-f SHARE] [-c GB/S] [-p DEVICES] [-o] [-b] [-h auto|never|always]\n");
		return 2;
	}
	s.model = argv[optind];
	sim_state.step_ns = ms * 1e6;
	sim_state.fixed = fixed;
	sim_state.has_logits = s.on_host;
	sim_state.bytes_per_ns = rate;
	run(&s);
	return 0;
}
