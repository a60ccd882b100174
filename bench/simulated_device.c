/* SPDX-License-Identifier: MIT
 *
 * The simulated devices, and the logits that they answer with. */
#include "bench/simulated_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NOISE 8 /* spare rows of noise, so that rows differ between steps */
#define TAIL_NS 100000u
#define COPY_NS 5000u /* of any copy, besides its bytes */

struct sim sim_state;

/* ---- time ---- */

uint64_t sim_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sim_now_ns(void *ctx)
{
	(void)ctx;
	return sim_clock_ns(CLOCK_THREAD_CPUTIME_ID) - sim_state.excluded + sim_state.jumped;
}

uint64_t sim_busiest_ns(const uint64_t before[SIM_N_DEVICE])
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < SIM_N_DEVICE; i++)
		if (sim_state.busy_ns[i] - before[i] > most)
			most = sim_state.busy_ns[i] - before[i];
	return most;
}

/* ---- logits ---- */

void *sim_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p) {
		fprintf(stderr, "simulated device: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return p;
}

static int by_logit(const void *a, const void *b)
{
	const struct sim_candidate *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit > y->logit ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

/* Finds the best candidates of all rows of noise. */
static void find_best(void)
{
	struct sim_candidate *row = sim_alloc(sim_state.width * sizeof(*row));

	sim_state.best = sim_alloc((sim_state.n_row + N_NOISE) * sizeof(*sim_state.best));
	for (uint32_t r = 0; r < sim_state.n_row + N_NOISE; r++) {
		for (uint32_t i = 0; i < sim_state.width; i++)
			row[i] = (struct sim_candidate){
				(int32_t)i, sim_state.noise[(size_t)r * sim_state.width + i]};
		qsort(row, sim_state.width, sizeof(*row), by_logit);
		for (uint32_t k = 0; k < SIM_N_BEST && k < sim_state.width; k++)
			sim_state.best[r][k] = row[k];
	}
	free(row);
}

void sim_fill(uint32_t n_row, uint32_t width)
{
	uint64_t rnd = 1;
	size_t n = (size_t)(n_row + N_NOISE) * width;

	sim_state.width = width;
	sim_state.n_row = n_row;
	sim_state.noise = sim_alloc(n * sizeof(float));
	for (size_t i = 0; i < n; i++) {
		float sum = 0;

		for (int k = 0; k < 4; k++) { /* nearly normal */
			rnd = rnd * 6364136223846793005u + 1442695040888963407u;
			sum += (float)(rnd >> 40) * 0x1p-24f - 0.5f;
		}
		sim_state.noise[i] = 5 * sum;
	}
	if (sim_state.finds_best)
		find_best();
}

void sim_free(void)
{
	free(sim_state.noise);
	free(sim_state.best);
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
	uint64_t now = sim_now_ns(NULL);

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
	mine.caps |= sim_state.finds_best ? LMD_DEV_TOPN : 0;
	for (uint32_t i = 0; i < cap && i < SIM_N_DEVICE; i++)
		LMD_PUT((struct lmd_device_info *)(void *)((char *)out + i * out->struct_size),
			&mine);
	return SIM_N_DEVICE;
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

static enum lmd_status buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
				     struct lmd_buffer **out, struct lmd_error *err)
{
	(void)state, (void)flags, (void)import, (void)err;
	*out = sim_alloc(sizeof(**out));
	(*out)->mem = sim_alloc((size_t)bytes);
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
	uint64_t begin = sim_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	(void)state, (void)done, (void)err;
	memcpy((dst ? dst->mem : (char *)dst_ptr) + dst_off,
	       (src ? src->mem : (const char *)src_ptr) + src_off, (size_t)bytes);
	sim_state.excluded += sim_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	work(q, COPY_NS + (uint64_t)((double)bytes / sim_state.bytes_per_ns));
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
	*out = sim_alloc(1);
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
	*out = sim_alloc(1);
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
	*out = sim_alloc(sizeof(**out));
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
	uint32_t n = n_out < sim_state.n_row ? n_out : sim_state.n_row;
	int32_t *tokens = (int32_t *)(void *)b->buffer->mem;

	if (b->id == LMD_OUT_LOGITS && sim_state.has_logits) {
		sim_state.first = sim_state.n_run % N_NOISE;
		memcpy(b->buffer->mem, sim_state.noise + (size_t)sim_state.first * sim_state.width,
		       (size_t)n * sim_state.width * sizeof(float));
	}
	for (uint32_t i = 0; i < n && sim_state.best; i++)
		for (uint32_t k = 0; k < b->row_bytes / 4 && k < SIM_N_BEST; k++) {
			char *at = b->buffer->mem + i * b->row_bytes + k * 4;

			if (b->id == LMD_OUT_TOPN)
				memcpy(at, &sim_state.best[sim_state.first + i][k].id, 4);
			else if (b->id == LMD_OUT_TOPN_LOGIT)
				memcpy(at, &sim_state.best[sim_state.first + i][k].logit, 4);
		}
	for (uint32_t i = 0; i < n_out && b->id == LMD_OUT_TOKEN; i++)
		tokens[i] = (int32_t)((sim_state.n_run * 7919u + i * 104729u) % sim_state.width);
}

static enum lmd_status plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
				const struct lmd_step *step, const struct lmd_binding *in,
				uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				struct lmd_event *done)
{
	uint64_t begin = sim_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	double rows = sim_state.n_row ? (double)step->head->n_out / sim_state.n_row : 1;
	uint32_t index = ((struct dev *)state)->index;
	double all = sim_state.step_ns * (sim_state.fixed + (1 - sim_state.fixed) * rows);
	uint64_t ns = p->plan->key.kind == LMD_PLAN_TAIL ? TAIL_NS
							 : (uint64_t)(all * sim_state.part[index]);

	(void)in, (void)n_in, (void)done;
	sim_state.n_run++;
	for (uint32_t i = 0; i < n_out; i++)
		make_output(&out[i], step->head->n_out);
	sim_state.excluded += sim_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	work(q, ns);
	sim_state.busy_ns[index] += ns;
	return LMD_OK;
}

static enum lmd_status queue_create(void *state, int priority, struct lmd_queue **out,
				    struct lmd_error *err)
{
	(void)state, (void)priority, (void)err;
	*out = sim_alloc(sizeof(**out));
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
	*out = sim_alloc(sizeof(**out));
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
	uint64_t now = sim_now_ns(NULL);

	(void)state, (void)err;
	if (now >= e->at_ns)
		return LMD_OK;
	if (!timeout_ns)
		return LMD_TIMEOUT;
	sim_state.jumped += e->at_ns - now;
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

const struct lmd_plugin sim_plugin = {
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
