/* SPDX-License-Identifier: MIT
 *
 * Opening, pools and adapters of a device in a worker. */
#include "core/worker/proxy.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/plugin/registry.h"

size_t lmi_worker_state_bytes(void)
{
	return sizeof(struct lmi_worker_proxy);
}

/* ---- numbers ---- */

uint64_t lmi_worker_number_take(struct lmi_worker_proxy *w)
{
	uint64_t number;

	(void)pthread_mutex_lock(&w->number_lock);
	number = w->n_free ? w->free_numbers[--w->n_free] : w->n_number++;
	(void)pthread_mutex_unlock(&w->number_lock);
	return number;
}

/* Makes room for one more free number. Without memory it is not used again. */
static bool has_room(struct lmi_worker_proxy *w)
{
	const size_t cap = w->cap_free ? w->cap_free * 2 : 256;
	uint64_t *more;

	if (w->n_free < w->cap_free)
		return true;
	more = lmi_realloc(w->free_numbers, cap, sizeof(*more));
	if (!more)
		return false;
	w->free_numbers = more;
	w->cap_free = cap;
	return true;
}

void lmi_worker_number_give(struct lmi_worker_proxy *w, uint64_t number)
{
	(void)pthread_mutex_lock(&w->number_lock);
	if (has_room(w))
		w->free_numbers[w->n_free++] = number;
	(void)pthread_mutex_unlock(&w->number_lock);
}

enum lmd_status lmi_worker_ask_for(struct lmi_worker_proxy *w, uint32_t kind, int fd, void *answer,
				   size_t n, struct lmd_error *err)
{
	struct lmi_worker_in in;
	enum lmd_status st = lmi_worker_link_ask(&w->link, kind, fd, &in, err);

	if (st != LMD_OK)
		return st;
	if (n)
		lmi_worker_in_read(&in, answer, n);
	return in.failed ? lmd_fail(err, LMD_INTERNAL, "worker: an answer is too short") : LMD_OK;
}

void lmi_worker_forget(struct lmi_worker_proxy *w, uint32_t kind, uint64_t number)
{
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	lmi_worker_out_u64(&w->link.out, number);
	st = lmi_worker_ask_for(w, kind, -1, NULL, 0, NULL); /* it may have ended */
	lmi_worker_link_end(&w->link);
	if (st == LMD_OK) /* otherwise the worker may still have the object */
		lmi_worker_number_give(w, number);
}

/* ---- opening ---- */

struct lmd_device_info lmi_worker_info(const struct lmd_device_info *info)
{
	struct lmd_device_info out = *info;

	/* no queues, and no buffers of other processes */
	out.caps = info->caps & LMD_DEV_HOST_MEMORY ? 0 : info->caps & LMD_DEV_TOPN;
	return out;
}

pid_t lmi_worker_pid(const void *state)
{
	const struct lmi_worker_proxy *w = state;

	return atomic_load(&w->link.pid);
}

int lmi_worker_fd(const void *state)
{
	const struct lmi_worker_proxy *w = state;

	return atomic_load(&w->link.pid) ? w->link.sock : -1;
}

enum lmd_status lmi_worker_check(void *state, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	st = lmi_worker_link_check(&w->link, err);
	lmi_worker_link_end(&w->link);
	return st;
}

/* Where the file of a plugin is; "": it is linked into the program. */
static void folder_of(const struct lmi_factory *f, char *out, size_t n)
{
	const char *slash = f->file[0] == '/' ? strrchr(f->file, '/') : NULL;

	(void)snprintf(out, n, "%.*s", slash ? (int)(slash - f->file) : 0, f->file);
}

static enum lmd_status say_hello(struct lmi_worker_proxy *w, const struct lmi_worker_opts *o,
				 int page_fd, struct lmd_error *err)
{
	struct lmi_worker_hello hello = {.abi = LMI_WORKER_ABI,
					 .index = o->params.index,
					 .n_thread = o->threads.n,
					 .n_thread_batch = o->threads.n_many,
					 .strict = o->threads.place.strict,
					 .numa = (uint32_t)o->threads.place.numa,
					 .activations = o->params.activations,
					 .attention = o->params.attention,
					 .deterministic = o->params.deterministic,
					 .trust = (uint32_t)o->trust,
					 .own_memory = w->own_memory};
	char folder[4096];
	enum lmd_status st;

	memcpy(hello.digest, o->backend->digest, sizeof(hello.digest));
	folder_of(o->backend, folder, sizeof(folder));
	lmi_worker_link_begin(&w->link);
	(void)lmi_worker_out_put(&w->link.out, &hello, sizeof(hello));
	lmi_worker_out_text(&w->link.out, o->backend->f->name);
	lmi_worker_out_text(&w->link.out, folder);
	lmi_worker_out_text(&w->link.out, o->threads.place.cpus ? o->threads.place.cpus : "");
	st = lmi_worker_ask_for(w, LMI_WORKER_HELLO, page_fd, NULL, 0, err);
	lmi_worker_link_end(&w->link);
	return st;
}

void lmi_worker_choose_threads(void *state, uint32_t n_row)
{
	((struct lmi_worker_proxy *)state)->n_row = n_row;
}

static void close_worker(void *state)
{
	struct lmi_worker_proxy *w = state;

	if (!w->started)
		return;
	lmi_worker_link_stop(&w->link);
	lmi_worker_out_fini(&w->declared);
	lmi_free(w->free_numbers);
	w->free_numbers = NULL;
	w->n_free = w->cap_free = 0;
	lmi_free(w->regions);
	w->regions = NULL;
	w->n_region = w->cap_region = 0;
	(void)pthread_mutex_destroy(&w->number_lock);
	w->started = false;
}

enum lmd_status lmi_worker_open(void *state, const struct lmi_worker_opts *o, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	int page_fd = -1;
	enum lmd_status st;

	if (!lmi_worker_can_start())
		return lmd_fail(err, LMD_UNSUPPORTED,
				"isolation: this program cannot start processes for models; use llamad");
	w->started = true;
	w->own_memory = !(o->info.caps & LMD_DEV_HOST_MEMORY);
	(void)pthread_mutex_init(&w->number_lock, NULL);
	st = lmi_worker_link_start(&w->link, o->label, o->timeout_ns, &page_fd, err);
	if (st == LMD_OK)
		st = say_hello(w, o, page_fd, err);
	if (page_fd >= 0)
		(void)close(page_fd);
	if (st != LMD_OK)
		close_worker(w);
	return st;
}

/* Makes room for one more region. */
static enum lmd_status grow_regions(struct lmi_worker_proxy *w, struct lmd_error *err)
{
	const uint32_t cap = w->cap_region ? w->cap_region * 2 : 16;
	struct lmi_worker_region *more;

	if (w->n_region < w->cap_region)
		return LMD_OK;
	more = lmi_realloc(w->regions, cap, sizeof(*more));
	if (!more)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for %u files", cap);
	w->regions = more;
	w->cap_region = cap;
	return LMD_OK;
}

enum lmd_status lmi_worker_share(void *state, const void *ptr, uint64_t bytes, int fd, uint64_t at,
				 struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmi_worker_region r = {.ptr = ptr, .bytes = bytes, .file = LMI_WORKER_NONE};
	enum lmd_status st = grow_regions(w, err);

	if (st == LMD_OK && fd >= 0) {
		const struct lmi_worker_memory m = {
			.number = lmi_worker_number_take(w), .bytes = bytes, .at = at};

		r.file = m.number;
		lmi_worker_link_begin(&w->link);
		(void)lmi_worker_out_put(&w->link.out, &m, sizeof(m));
		st = lmi_worker_ask_for(w, LMI_WORKER_FILE, fd, NULL, 0, err);
		lmi_worker_link_end(&w->link);
		if (st != LMD_OK)
			lmi_worker_number_give(w, m.number);
	}
	if (st == LMD_OK)
		w->regions[w->n_region++] = r;
	return st;
}

static const char *last_error(void *state)
{
	return ((struct lmi_worker_proxy *)state)->error.text;
}

static enum lmd_status memory(void *state, uint64_t *total, uint64_t *free, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmi_worker_device_memory m;
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	st = lmi_worker_ask_for(w, LMI_WORKER_MEMORY, -1, &m, sizeof(m), err);
	lmi_worker_link_end(&w->link);
	if (st != LMD_OK)
		return st;
	*total = m.total;
	*free = m.free;
	return LMD_OK;
}

/* ---- pools ---- */

static void put_pool(struct lmi_worker_out *o, const struct lmd_pool_desc *d)
{
	(void)lmi_worker_out_put(o, d, sizeof(*d));
	(void)lmi_worker_out_put(o, d->desc, sizeof(*d->desc));
	lmi_worker_out_text(o, d->desc->name);
	(void)lmi_worker_out_put(o, d->caches, d->n_cache * sizeof(*d->caches));
	(void)lmi_worker_out_put(o, d->cache_ids, d->n_cache * sizeof(*d->cache_ids));
}

static enum lmd_status pool_query(void *state, const struct lmd_pool_desc *d,
				  struct lmd_pool_cost *out, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmd_pool_cost cost = {.struct_size = sizeof(cost)};
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	put_pool(&w->link.out, d);
	st = lmi_worker_ask_for(w, LMI_WORKER_POOL_QUERY, -1, &cost, sizeof(cost), err);
	lmi_worker_link_end(&w->link);
	if (st == LMD_OK)
		LMD_PUT(out, &cost);
	return st;
}

static enum lmd_status pool_create(void *state, const struct lmd_pool_desc *d,
				   struct lmd_pool **out, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmd_pool *p = lmi_alloc(1, sizeof(*p));
	enum lmd_status st;

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a pool");
	p->number = lmi_worker_number_take(w);
	lmi_worker_link_begin(&w->link);
	lmi_worker_out_u64(&w->link.out, p->number);
	put_pool(&w->link.out, d);
	st = lmi_worker_ask_for(w, LMI_WORKER_POOL_CREATE, -1, NULL, 0, err);
	lmi_worker_link_end(&w->link);
	if (st == LMD_OK) {
		*out = p;
		return LMD_OK;
	}
	lmi_worker_number_give(w, p->number);
	lmi_free(p);
	return st;
}

static enum lmd_status pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			       const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			       struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmi_worker_in in;
	enum lmd_status st;

	(void)q;
	(void)done;
	lmi_worker_link_begin(&w->link);
	lmi_worker_out_u64(&w->link.out, pool->number);
	lmi_worker_out_u64(&w->link.out, n);
	(void)lmi_worker_out_put(&w->link.out, ops, n * sizeof(*ops));
	for (uint32_t i = 0; i < n; i++)
		if (ops[i].kind == LMD_POOL_IMPORT || ops[i].kind == LMD_POOL_SET_TABLE)
			(void)lmi_worker_out_put(&w->link.out, ops[i].host, (size_t)ops[i].host_bytes);
	st = lmi_worker_link_ask(&w->link, LMI_WORKER_POOL_OPS, -1, &in, err);
	for (uint32_t i = 0; i < n && st == LMD_OK; i++)
		if (ops[i].kind == LMD_POOL_EXPORT)
			lmi_worker_in_read(&in, ops[i].host, (size_t)ops[i].host_bytes);
	lmi_worker_link_end(&w->link);
	return st == LMD_OK && in.failed
		       ? lmd_fail(err, LMD_INTERNAL, "worker: fewer rows than were asked for")
		       : st;
}

static void pool_destroy(void *state, struct lmd_pool *pool)
{
	if (pool)
		lmi_worker_forget(state, LMI_WORKER_POOL_FREE, pool->number);
	lmi_free(pool);
}

static enum lmd_status adapter_bind(void *state, const struct lmd_adapter_bind *b,
				    struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	const size_t n_a = (size_t)b->n_stack * b->rank * b->k,
		     n_b = (size_t)b->n_stack * b->n * (b->rank ? b->rank : 1);
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	(void)lmi_worker_out_put(&w->link.out, b, sizeof(*b));
	if (b->b && b->rank)
		(void)lmi_worker_out_put(&w->link.out, b->a, n_a * sizeof(float));
	if (b->b)
		(void)lmi_worker_out_put(&w->link.out, b->b, n_b * sizeof(float));
	if (b->b && b->gain)
		(void)lmi_worker_out_put(&w->link.out, b->gain,
					 (size_t)b->n_stack * b->n * sizeof(float));
	st = lmi_worker_ask_for(w, LMI_WORKER_ADAPTER, -1, NULL, 0, err);
	lmi_worker_link_end(&w->link);
	return st;
}

const struct lmd_backend_ops lmi_worker_backend_ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.close = close_worker,
	.memory = memory,
	.buffer_create = lmi_worker_buffer_create,
	.buffer_destroy = lmi_worker_buffer_destroy,
	.buffer_map = lmi_worker_buffer_map,
	.buffer_unmap = lmi_worker_buffer_unmap,
	.buffer_copy = lmi_worker_buffer_copy,
	.weight_query = lmi_worker_weight_query,
	.weight_load = lmi_worker_weight_load,
	.weight_export = lmi_worker_weight_export,
	.weight_destroy = lmi_worker_weight_destroy,
	.pool_query = pool_query,
	.pool_create = pool_create,
	.pool_op = pool_op,
	.pool_destroy = pool_destroy,
	.adapter_bind = adapter_bind,
	.op_support = lmi_worker_op_support,
	.plan_query = lmi_worker_plan_query,
	.plan_compile = lmi_worker_plan_compile,
	.plan_run = lmi_worker_plan_run,
	.plan_destroy = lmi_worker_plan_destroy,
	.last_error = last_error,
};
