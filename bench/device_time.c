/* SPDX-License-Identifier: MIT
 *
 * How busy an engine keeps a device, in simulated time:
 *   device_time MODEL [-n SESSIONS] [-s STEPS] [-m MS] [-f SHARE] [-c GB/S] [-p DEVICES] [-o] [-b]
 *               [-h auto|never|always]
 * SESSIONS (64) generations decode for STEPS (400) steps of the engine on a device that computes
 * nothing.  A step of all sessions takes it MS (3.6), of which SHARE (1) does not depend on the
 * number of sessions; choosing tokens takes 0.1 ms, and copies take what the rate (50) says.  The
 * host's work takes as long as the processor time of the engine's thread, the only one.
 * With -p, a step is divided among DEVICES.  -o: the host chooses all tokens
 * (device_sampling = off); -b: from the best candidates, which the device finds.
 * -h: whether the sessions take turns in two halves (auto).
 * Prints one JSON object: "busy", the share of the simulated time in which a device computes (of
 * the busiest device: all have the same work); "step_ms", the simulated time of all sessions' next
 * token; "host_ms", the host's part of it; and "real_s", the real time of all this. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/engine/best.h"
#include "core/engine/engine_impl.h"
#include "core/engine/sample.h"
#include "core/plugin/host_services.h"
#include "llamad/plugin.h"

#define N_PROMPT 4
#define N_NOISE	 8 /* spare rows of noise, so that rows differ between steps */
#define N_DEVICE 4
#define N_WARM	 64 /* steps before the measurement */
#define TAIL_NS	 100000u
#define COPY_NS	 5000u /* of any copy, besides its bytes */

/* ---- time ---- */

static struct {
	uint64_t jumped;   /* the engine waited for a device */
	uint64_t excluded; /* processor time of what a device would do itself */
	double step_ns, fixed; /* of all rows; the share that does not depend on their number */
	double bytes_per_ns;
	float *noise; /* [n_row + N_NOISE][width] */
	bool finds_best;
	struct best {
		int32_t id;
		float logit;
	} (*best)[LMI_ENGINE_N_BEST]; /* [n_row + N_NOISE] of these rows */
	uint32_t first; /* row of noise that the last step began with */
	uint32_t n_row, width, n_run;
	uint64_t busy_ns[N_DEVICE];
} sim;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void *ctx)
{
	(void)ctx;
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - sim.excluded + sim.jumped;
}

/* ---- the device ---- */

struct lmd_queue {
	uint64_t free_ns; /* when its work is done */
};
struct lmd_event {
	uint64_t at_ns;
};
struct lmd_buffer {
	char *mem;
};
struct lmd_compiled_plan {
	const struct lmd_plan *plan;
};
struct dev {
	uint32_t index;
};

/* Adds work to a queue. */
static void work(struct lmd_queue *q, uint64_t ns)
{
	uint64_t now = now_ns(NULL);

	q->free_ns = (q->free_ns > now ? q->free_ns : now) + ns;
}

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	static const struct lmd_device_info info = {
		.caps = LMD_DEV_SAMPLE | LMD_DEV_PEER,
		.name = "simulated",
		.memory_bytes = 1ull << 36,
		.free_bytes = 1ull << 36,
		.act_dtype = LMD_DTYPE_F32,
		.page_tokens = 32,
		.kv_dtype = LMD_DTYPE_F16,
	};

	struct lmd_device_info mine = info;

	(void)host, (void)why, (void)n;
	mine.caps |= sim.finds_best ? LMD_DEV_TOPN : 0;
	for (uint32_t i = 0; i < cap && i < N_DEVICE; i++)
		LMD_PUT((struct lmd_device_info *)(void *)((char *)out + i * out->struct_size), &mine);
	return N_DEVICE;
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	(void)host, (void)err;
	((struct dev *)state)->index = p->index;
	return LMD_OK;
}

static void close_device(void *state)
{
	(void)state;
}

static void *must_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p) {
		fprintf(stderr, "device_time: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return p;
}

static enum lmd_status buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
				     struct lmd_buffer **out, struct lmd_error *err)
{
	(void)state, (void)flags, (void)import, (void)err;
	*out = must_alloc(sizeof(**out));
	(*out)->mem = must_alloc((size_t)bytes);
	return LMD_OK;
}

static void buffer_destroy(void *state, struct lmd_buffer *b)
{
	(void)state;
	if (b)
		free(b->mem);
	free(b);
}

static enum lmd_status buffer_map(void *state, struct lmd_buffer *b, void **out,
				  struct lmd_error *err)
{
	(void)state, (void)err;
	*out = b->mem;
	return LMD_OK;
}

static void buffer_unmap(void *state, struct lmd_buffer *b)
{
	(void)state, (void)b;
}

static enum lmd_status buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				   void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				   const void *src_ptr, uint64_t src_off, uint64_t bytes,
				   struct lmd_event *done, struct lmd_error *err)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	(void)state, (void)done, (void)err;
	memcpy((dst ? dst->mem : (char *)dst_ptr) + dst_off,
	       (src ? src->mem : (const char *)src_ptr) + src_off, (size_t)bytes);
	sim.excluded += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	work(q, COPY_NS + (uint64_t)((double)bytes / sim.bytes_per_ns));
	return LMD_OK;
}

static enum lmd_status weight_query(void *state, const struct lmd_weight_desc *d,
				    struct lmd_weight_plan *out, struct lmd_error *err)
{
	static const struct lmd_weight_plan plan = {.placement = LMD_PLACE_COPY};

	(void)state, (void)d, (void)err;
	LMD_PUT(out, &plan);
	return LMD_OK;
}

static enum lmd_status weight_load(void *state, const struct lmd_weight_desc *d,
				   struct lmd_weight **out, struct lmd_error *err)
{
	(void)state, (void)d, (void)err;
	*out = must_alloc(1);
	return LMD_OK;
}

static void weight_destroy(void *state, struct lmd_weight *w)
{
	(void)state;
	free(w);
}

static enum lmd_status pool_create(void *state, const struct lmd_pool_desc *d,
				   struct lmd_pool **out, struct lmd_error *err)
{
	(void)state, (void)d, (void)err;
	*out = must_alloc(1);
	return LMD_OK;
}

static enum lmd_status pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			       const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			       struct lmd_error *err)
{
	(void)state, (void)pool, (void)ops, (void)done, (void)err;
	work(q, n * COPY_NS);
	return LMD_OK;
}

static void pool_destroy(void *state, struct lmd_pool *pool)
{
	(void)state;
	free(pool);
}

static void op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		       struct lmd_support *out)
{
	static const struct lmd_support yes = {.native = 1};

	(void)state, (void)plan, (void)op;
	LMD_PUT(out, &yes);
}

static enum lmd_status plan_compile(void *state, const struct lmd_compile *c,
				    struct lmd_compiled_plan **out, struct lmd_error *err)
{
	(void)state, (void)err;
	*out = must_alloc(sizeof(**out));
	(*out)->plan = c->plan;
	return LMD_OK;
}

static void plan_destroy(void *state, struct lmd_compiled_plan *p)
{
	(void)state;
	free(p);
}

/* Logits are noise, other rows in each step; tokens are any. */
static void make_output(const struct lmd_binding *b, uint32_t n_out)
{
	uint32_t n = n_out < sim.n_row ? n_out : sim.n_row;
	int32_t *tokens = (int32_t *)(void *)b->buffer->mem;

	if (b->id == LMD_OUT_LOGITS && sim.noise) {
		sim.first = sim.n_run % N_NOISE;
		memcpy(b->buffer->mem, sim.noise + (size_t)sim.first * sim.width,
		       (size_t)n * sim.width * sizeof(float));
	}
	for (uint32_t i = 0; i < n && sim.best; i++)
		for (uint32_t k = 0; k < b->row_bytes / 4 && k < LMI_ENGINE_N_BEST; k++) {
			char *at = b->buffer->mem + i * b->row_bytes + k * 4;

			if (b->id == LMD_OUT_TOPN)
				memcpy(at, &sim.best[sim.first + i][k].id, 4);
			else if (b->id == LMD_OUT_TOPN_LOGIT)
				memcpy(at, &sim.best[sim.first + i][k].logit, 4);
		}
	for (uint32_t i = 0; i < n_out && b->id == LMD_OUT_TOKEN; i++)
		tokens[i] = (int32_t)((sim.n_run * 7919u + i * 104729u) % sim.width);
}

static enum lmd_status plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
				const struct lmd_step *step, const struct lmd_binding *in,
				uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				struct lmd_event *done)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	double rows = sim.n_row ? (double)step->head->n_out / sim.n_row : 1;
	double step_ns = sim.step_ns * (sim.fixed + (1 - sim.fixed) * rows);
	uint64_t ns = p->plan->key.kind == LMD_PLAN_TAIL ? TAIL_NS : (uint64_t)step_ns;

	(void)in, (void)n_in, (void)done;
	sim.n_run++;
	for (uint32_t i = 0; i < n_out; i++)
		make_output(&out[i], step->head->n_out);
	sim.excluded += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	work(q, ns);
	sim.busy_ns[((struct dev *)state)->index] += ns;
	return LMD_OK;
}

static enum lmd_status queue_create(void *state, int priority, struct lmd_queue **out,
				    struct lmd_error *err)
{
	(void)state, (void)priority, (void)err;
	*out = must_alloc(sizeof(**out));
	return LMD_OK;
}

static void queue_destroy(void *state, struct lmd_queue *q)
{
	(void)state;
	free(q);
}

static enum lmd_status event_create(void *state, struct lmd_event **out, struct lmd_error *err)
{
	(void)state, (void)err;
	*out = must_alloc(sizeof(**out));
	return LMD_OK;
}

static void event_destroy(void *state, struct lmd_event *e)
{
	(void)state;
	free(e);
}

static enum lmd_status event_record(void *state, struct lmd_queue *q, struct lmd_event *e,
				    struct lmd_error *err)
{
	(void)state, (void)err;
	work(q, 0);
	e->at_ns = q->free_ns;
	return LMD_OK;
}

/* Waiting takes no processor time: the clock jumps. */
static enum lmd_status event_wait(void *state, struct lmd_event *e, uint64_t timeout_ns,
				  struct lmd_error *err)
{
	uint64_t now = now_ns(NULL);

	(void)state, (void)err;
	if (now >= e->at_ns)
		return LMD_OK;
	if (!timeout_ns)
		return LMD_TIMEOUT;
	sim.jumped += e->at_ns - now;
	return LMD_OK;
}

static enum lmd_status queue_wait_event(void *state, struct lmd_queue *q, struct lmd_event *e,
					struct lmd_error *err)
{
	(void)state, (void)err;
	if (q->free_ns < e->at_ns)
		q->free_ns = e->at_ns;
	return LMD_OK;
}

static const char *last_error(void *state)
{
	(void)state;
	return "";
}

static int probe(const struct lmd_host *host, char *why, size_t n)
{
	(void)host, (void)why, (void)n;
	return 1;
}

static const struct lmd_backend_ops ops = {
	.struct_size = sizeof(ops),
	.enumerate = enumerate,
	.open = open_device,
	.close = close_device,
	.buffer_create = buffer_create,
	.buffer_destroy = buffer_destroy,
	.buffer_map = buffer_map,
	.buffer_unmap = buffer_unmap,
	.buffer_copy = buffer_copy,
	.weight_query = weight_query,
	.weight_load = weight_load,
	.weight_destroy = weight_destroy,
	.pool_create = pool_create,
	.pool_op = pool_op,
	.pool_destroy = pool_destroy,
	.op_support = op_support,
	.plan_compile = plan_compile,
	.plan_run = plan_run,
	.plan_destroy = plan_destroy,
	.queue_create = queue_create,
	.queue_destroy = queue_destroy,
	.event_create = event_create,
	.event_destroy = event_destroy,
	.event_record = event_record,
	.event_wait = event_wait,
	.queue_wait_event = queue_wait_event,
	.last_error = last_error,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "simulated",
	.probe = probe,
	.state_bytes = sizeof(struct dev),
	.ops = &ops,
}};

static const struct lmd_plugin plugin = {
	.magic = LMD_PLUGIN_MAGIC,
	.abi_major = LMD_ABI_MAJOR,
	.abi_minor = LMD_ABI_MINOR,
	.struct_size = sizeof(struct lmd_plugin),
	.name = "simulated",
	.version = LMD_VERSION,
	.license = "MIT",
	.n_factories = LMD_LEN(factories),
	.factories = factories,
};

/* ---- the engine ---- */

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

static int by_logit(const void *a, const void *b)
{
	const struct best *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit > y->logit ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

/* Finds the best candidates of all rows of noise. */
static void find_best(void)
{
	struct best *row = must_alloc(sim.width * sizeof(*row));

	sim.best = must_alloc((sim.n_row + N_NOISE) * sizeof(*sim.best));
	for (uint32_t r = 0; r < sim.n_row + N_NOISE; r++) {
		for (uint32_t i = 0; i < sim.width; i++)
			row[i] = (struct best){(int32_t)i, sim.noise[(size_t)r * sim.width + i]};
		qsort(row, sim.width, sizeof(*row), by_logit);
		for (uint32_t k = 0; k < LMI_ENGINE_N_BEST && k < sim.width; k++)
			sim.best[r][k] = row[k];
	}
	free(row);
}

static void fill_noise(uint32_t n_seq, uint32_t width)
{
	uint64_t rnd = 1;
	size_t n = (size_t)(n_seq + N_NOISE) * width;

	sim.width = width;
	sim.n_row = n_seq;
	sim.noise = must_alloc(n * sizeof(float));
	for (size_t i = 0; i < n; i++) {
		float sum = 0;

		for (int k = 0; k < 4; k++) { /* nearly normal */
			rnd = rnd * 6364136223846793005u + 1442695040888963407u;
			sum += (float)(rnd >> 40) * 0x1p-24f - 0.5f;
		}
		sim.noise[i] = 5 * sum;
	}
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
	uint64_t begin, wall, jumped, busy[N_DEVICE], most = 0, ns;

	start_all(e, s);
	run_steps(e, N_WARM);
	lmi_engine_stats(e, &before);
	memcpy(busy, sim.busy_ns, sizeof(busy));
	begin = now_ns(NULL);
	wall = clock_ns(CLOCK_MONOTONIC);
	jumped = sim.jumped;
	run_steps(e, s->n_step);
	ns = now_ns(NULL) - begin;
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	jumped = sim.jumped - jumped;
	lmi_engine_stats(e, &after);
	for (uint32_t i = 0; i < N_DEVICE; i++)
		if (sim.busy_ns[i] - busy[i] > most)
			most = sim.busy_ns[i] - busy[i];
	after.n_generated -= before.n_generated;
	printf("{\"sessions\": %u, \"vocabulary\": %u, \"devices\": %u, \"on_device\": %llu, "
	       "\"tokens\": %llu, \"busy\": %.4f, \"step_ms\": %.3f, \"host_ms\": %.3f, "
	       "\"real_s\": %.2f}\n",
	       s->n_seq, sim.width, s->n_device,
	       (unsigned long long)(after.n_on_device - before.n_on_device),
	       (unsigned long long)after.n_generated, (double)most / (double)ns,
	       (double)ns * 1e-6 * s->n_seq / (double)after.n_generated,
	       (double)(ns - jumped) * 1e-6 * s->n_seq / (double)after.n_generated,
	       (double)wall * 1e-9);
}

static void run(const struct settings *s)
{
	const char *dirs[] = {"plugins/.libs"};
	const struct lmd_plugin *linked[] = {&plugin};
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
	host.now_ns = now_ns;
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
	fill_noise(s->n_seq, e->inst->desc.n_vocab);
	if (sim.finds_best)
		find_best();
	measure(e, s);
	lmi_engine_fini(e);
	free(sim.noise);
	free(sim.best);
	lmi_plugin_registry_destroy(o.inst.registry);
	lmi_host_destroy(real);
}

int main(int argc, char **argv)
{
	struct settings s = {.n_seq = 64, .n_step = 400, .n_device = 1};
	double ms = 3.6, rate = 50, fixed = 1;
	int c;

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
			s.n_device = (uint32_t)atoi(optarg);
		else if (c == 'o')
			s.on_host = true;
		else if (c == 'b')
			sim.finds_best = true;
		else if (c == 'f')
			fixed = atof(optarg);
		else if (c == 'h')
			s.halves = !strcmp(optarg, "never")    ? LMI_ENGINE_HALVES_NEVER
				   : !strcmp(optarg, "always") ? LMI_ENGINE_HALVES_ALWAYS
							       : LMI_ENGINE_HALVES_AUTO;
		else
			return 2;
	}
	if (optind + 1 != argc || !s.n_seq || !s.n_step || !s.n_device || s.n_device > N_DEVICE ||
	    !(ms > 0) || !(rate > 0) || !(fixed >= 0 && fixed <= 1)) {
		fprintf(stderr, "usage: device_time MODEL [-n SESSIONS] [-s STEPS] [-m MS] "
				"[-f SHARE] [-c GB/S] [-p DEVICES] [-o] [-b] [-h auto|never|always]\n");
		return 2;
	}
	s.model = argv[optind];
	sim.step_ns = ms * 1e6 / s.n_device;
	sim.fixed = fixed;
	sim.bytes_per_ns = rate;
	run(&s);
	return 0;
}
