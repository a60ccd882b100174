/* SPDX-License-Identifier: MIT
 *
 * The emulated devices and the backend's table of functions.  Everything that ref allocates comes
 * from the device's memory, through a host table of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"

/* ---- the host that ref sees ---- */

static const struct lmd_host *outer(const void *ctx)
{
	return ((const struct emu_dev *)ctx)->host;
}

static void *inner_alloc(void *ctx, size_t bytes)
{
	return emu_alloc(&((struct emu_dev *)ctx)->mem, bytes);
}

static void inner_free(void *ctx, void *p)
{
	emu_free(&((struct emu_dev *)ctx)->mem, p);
}

static const struct lmd_cpu *inner_cpu(void *ctx)
{
	return outer(ctx)->cpu(outer(ctx)->ctx);
}

static uint64_t inner_now(void *ctx)
{
	return outer(ctx)->now_ns(outer(ctx)->ctx);
}

static enum lmd_status inner_dequant(void *ctx, enum lmd_dtype type, const void *src, float *dst,
				     size_t n)
{
	return outer(ctx)->dequant_rows(outer(ctx)->ctx, type, src, dst, n);
}

static enum lmd_status inner_quant(void *ctx, enum lmd_dtype type, const float *src, void *dst,
				   size_t n)
{
	return outer(ctx)->quant_rows(outer(ctx)->ctx, type, src, dst, n);
}

static bool inner_info(void *ctx, enum lmd_dtype type, uint32_t *elems, uint32_t *bytes)
{
	return outer(ctx)->dtype_info(outer(ctx)->ctx, type, elems, bytes);
}

static void inner_run(void *ctx, struct lmd_team *team, lmd_part_fn fn, void *arg)
{
	outer(ctx)->team_run(outer(ctx)->ctx, team, fn, arg);
}

static uint32_t inner_size(void *ctx, const struct lmd_team *team)
{
	return outer(ctx)->team_size(outer(ctx)->ctx, team);
}

static void inner_barrier(void *ctx, struct lmd_team *team)
{
	outer(ctx)->team_barrier(outer(ctx)->ctx, team);
}

static uint32_t inner_head(void *ctx, enum lmd_dtype type)
{
	return outer(ctx)->dtype_head(outer(ctx)->ctx, type);
}

/* ---- devices ---- */

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	struct emu_settings s;
	struct lmd_error err = {.text = ""};

	(void)host;
	if (n)
		why[0] = '\0';
	if (emu_settings_read(&s, &err) != LMD_OK) {
		(void)snprintf(why, n, "%s", err.text);
		return 0;
	}
	for (uint32_t i = 0; i < s.devices && i < cap; i++) {
		struct lmd_device_info info = {
			.caps = LMD_DEV_IMPORT_HOST | LMD_DEV_SAMPLE |
				(s.peer ? LMD_DEV_PEER : 0) | (s.best ? LMD_DEV_TOPN : 0),
			.memory_bytes = s.memory,
			.free_bytes = s.memory,
			.act_dtype = LMD_DTYPE_F32,
			.page_tokens = s.page ? s.page : 32,
			.page_sizes = s.page ? 0 : 16 + 32 + 64 + 128 + 256,
			.kv_dtype = LMD_DTYPE_F32,
			.n_bucket = s.buckets ? 4 : 0,
			.bucket = {1, 8, 64, 512},
		};

		(void)snprintf(info.name, sizeof(info.name), "emu %u", i);
		(void)snprintf(info.id, sizeof(info.id), "emu:%u", i);
		LMD_PUT((char *)out + (size_t)i * out->struct_size, &info);
	}
	return s.devices;
}

static void close_device(void *state)
{
	struct emu_dev *dev = state;

	if (!dev->mem.base)
		return;
	emu_enter(&dev->mem);
	if (dev->ref)
		ref_backend_ops.close(dev->ref);
	emu_leave(&dev->mem);
	emu_work_fini(dev);
	emu_memory_close(&dev->mem);
}

static enum lmd_status open_ref(struct emu_dev *dev, const struct lmd_open_params *p,
				struct lmd_error *err)
{
	struct lmd_open_params inner = *p;

	inner.index = 0;
	dev->ref = emu_alloc(&dev->mem, 4096); /* more than ref's state */
	return dev->ref ? ref_backend_ops.open(dev->ref, &dev->inner, &inner, err)
			: lmd_fail(err, LMD_NOMEM, "emu: no device memory for its state");
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	struct emu_dev *dev = state;
	enum lmd_status st = emu_settings_read(&dev->set, err);

	if (st == LMD_OK && p->index >= dev->set.devices)
		return lmd_fail(err, LMD_NOTFOUND, "emu: device %u does not exist, there are %u",
				p->index, dev->set.devices);
	if (st == LMD_OK)
		st = emu_memory_open(&dev->mem, &dev->set, err);
	if (st != LMD_OK)
		return st;
	if (dev->set.lose_device != EMU_MAX_DEVICE && dev->set.lose_device != p->index)
		dev->set.lose_step = 0;
	dev->host = host;
	dev->index = p->index;
	dev->rng = dev->set.seed;
	dev->inner = (struct lmd_host){
		.struct_size = sizeof(dev->inner),
		.ctx = dev,
		.alloc = inner_alloc,
		.free = inner_free,
		.cpu = inner_cpu,
		.now_ns = inner_now,
		.dequant_rows = inner_dequant,
		.quant_rows = inner_quant,
		.dtype_info = inner_info,
		.team_run = inner_run,
		.team_size = inner_size,
		.team_barrier = inner_barrier,
		.dtype_head = inner_head,
	};
	emu_enter(&dev->mem);
	st = open_ref(dev, p, err);
	emu_leave(&dev->mem);
	if (st == LMD_OK)
		st = emu_work_reserve(dev, err);
	if (st != LMD_OK) {
		emu_work_fini(dev);
		emu_memory_close(&dev->mem);
	}
	return st;
}

static enum lmd_status memory(void *state, uint64_t *total, uint64_t *free, struct lmd_error *err)
{
	struct emu_dev *dev = state;

	(void)err;
	(void)pthread_mutex_lock(&dev->mem.lock);
	*total = dev->mem.bytes;
	*free = dev->mem.bytes - dev->mem.used;
	(void)pthread_mutex_unlock(&dev->mem.lock);
	return LMD_OK;
}

static const char *last_error(void *state)
{
	return ((struct emu_dev *)state)->error.text;
}

/* ---- buffers ---- */

static void buffer_destroy(void *state, struct lmd_buffer *b)
{
	struct emu_dev *dev = state;

	if (!b)
		return;
	emu_enter(&dev->mem);
	if (b->own)
		free(b->mem);
	else if (!(b->flags & LMD_BUF_IMPORT))
		emu_free(&dev->mem, b->mem);
	emu_leave(&dev->mem);
	dev->host->free(dev->host->ctx, b);
}

static enum lmd_status buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
				     struct lmd_buffer **out, struct lmd_error *err)
{
	struct emu_dev *dev = state;
	struct lmd_buffer *b;
	enum lmd_status st = emu_alive(dev, err);

	if (st != LMD_OK)
		return st;
	if (flags != LMD_BUF_DEVICE && flags != LMD_BUF_PINNED && flags != LMD_BUF_IMPORT)
		return lmd_fail(err, LMD_UNSUPPORTED, "emu: a buffer with flags %#x", flags);
	b = dev->host->alloc(dev->host->ctx, sizeof(*b));
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "emu: no memory for a buffer");
	*b = (struct lmd_buffer){
		.dev = dev, .bytes = bytes, .flags = flags, .own = flags == LMD_BUF_PINNED};
	emu_enter(&dev->mem);
	b->mem = flags == LMD_BUF_IMPORT   ? import
		 : flags == LMD_BUF_PINNED ? malloc((size_t)(bytes ? bytes : 1))
					   : emu_alloc(&dev->mem, (size_t)(bytes ? bytes : 1));
	if (b->mem && flags != LMD_BUF_IMPORT)
		memset(b->mem, 0xa5, (size_t)bytes); /* the contents are undefined */
	emu_leave(&dev->mem);
	if (!b->mem) {
		dev->host->free(dev->host->ctx, b);
		return lmd_fail(err, LMD_NOMEM, "emu: no memory for a buffer of %llu bytes",
				(unsigned long long)bytes);
	}
	*out = b;
	return LMD_OK;
}

static enum lmd_status buffer_map(void *state, struct lmd_buffer *b, void **out,
				  struct lmd_error *err)
{
	(void)state;
	if (b->flags == LMD_BUF_DEVICE)
		return lmd_fail(err, LMD_INVALID, "emu: device memory cannot be mapped");
	*out = b->mem;
	return LMD_OK;
}

static void buffer_unmap(void *state, struct lmd_buffer *b)
{
	(void)state;
	(void)b;
}

static enum lmd_status side(const struct lmd_buffer *b, const void *ptr, uint64_t off,
			    uint64_t bytes, const char **out, struct lmd_error *err)
{
	if (b && (off > b->bytes || bytes > b->bytes - off))
		return lmd_fail(err, LMD_INVALID,
				"emu: a copy of %llu bytes at %llu of a buffer of %llu",
				(unsigned long long)bytes, (unsigned long long)off,
				(unsigned long long)b->bytes);
	*out = (b ? b->mem : (const char *)ptr) + off;
	return LMD_OK;
}

static enum lmd_status buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				   void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				   const void *src_ptr, uint64_t src_off, uint64_t bytes,
				   struct lmd_event *done, struct lmd_error *err)
{
	struct emu_work w = {.kind = EMU_COPY, .event = done, .bytes = bytes};
	const uint32_t fault = ((struct emu_dev *)state)->set.fault;
	const char *to = NULL;
	enum lmd_status st = side(dst, dst_ptr, dst_off, bytes, &to, err);

	if (st == LMD_OK && dst && dst->dev != state)
		st = lmd_fail(err, LMD_INVALID, "emu: a copy to another device's memory");
	if (st == LMD_OK && src && src->dev != state) {
		if (!src->dev->set.peer)
			st = lmd_fail(err, LMD_INVALID, "emu: a copy from another device's memory");
		w.peer = src->dev;
	}
	if (st == LMD_OK)
		st = side(src, src_ptr, fault == EMU_FAULT_OFFSET ? 0 : src_off, bytes, &w.src_ptr,
			  err);
	if (fault == EMU_FAULT_PINNED && dst && (dst->flags & LMD_BUF_PINNED))
		w.bytes = 0;
	w.dst_ptr = (char *)(uintptr_t)to;
	return st == LMD_OK ? emu_submit(state, q, &w, err) : st;
}

/* ---- pools and adapters ---- */

static enum lmd_status pool_query(void *state, const struct lmd_pool_desc *d,
				  struct lmd_pool_cost *out, struct lmd_error *err)
{
	struct emu_dev *dev = state;
	enum lmd_status st;

	emu_enter(&dev->mem);
	st = ref_backend_ops.pool_query(dev->ref, d, out, err);
	emu_leave(&dev->mem);
	return st;
}

static enum lmd_status pool_create(void *state, const struct lmd_pool_desc *d,
				   struct lmd_pool **out, struct lmd_error *err)
{
	struct emu_dev *dev = state;
	enum lmd_status st = emu_alive(dev, err);

	if (st != LMD_OK)
		return st;
	emu_enter(&dev->mem);
	st = ref_backend_ops.pool_create(dev->ref, d, out, err);
	emu_leave(&dev->mem);
	return st;
}

static void pool_destroy(void *state, struct lmd_pool *pool)
{
	struct emu_dev *dev = state;

	emu_enter(&dev->mem);
	ref_backend_ops.pool_destroy(dev->ref, pool);
	emu_leave(&dev->mem);
}

static enum lmd_status pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			       const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			       struct lmd_error *err)
{
	const struct emu_work w = {.kind = EMU_POOL,
				   .event = done,
				   .pool = pool,
				   .ops = (struct lmd_pool_op *)(uintptr_t)ops,
				   .n_op = n};

	return emu_submit(state, q, &w, err);
}

static enum lmd_status adapter_bind(void *state, const struct lmd_adapter_bind *b,
				    struct lmd_error *err)
{
	struct emu_dev *dev = state;
	enum lmd_status st;

	emu_drain(dev);
	emu_enter(&dev->mem);
	st = ref_backend_ops.adapter_bind(dev->ref, b, err);
	emu_leave(&dev->mem);
	return st;
}

/* ---- plans ---- */

static void op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		       struct lmd_support *out)
{
	const struct emu_dev *dev = state;
	struct lmd_support s = {.reason = "emu lacks this op, as set by LLAMAD_EMU"};

	if (dev->set.lacks == op->code)
		LMD_PUT(out, &s);
	else
		ref_backend_ops.op_support(dev->ref, plan, op, out);
}

static enum lmd_status plan_query(void *state, const struct lmd_compile *c,
				  struct lmd_plan_cost *out, struct lmd_error *err)
{
	const struct lmd_plan_cost cost = {.scratch_bytes = c->plan->scratch_bytes,
					   .bytes = c->layout ? c->layout->bytes : 0};

	(void)state;
	(void)err;
	LMD_PUT(out, &cost);
	return LMD_OK;
}

static void destroy_plan(struct emu_dev *dev, struct emu_plan *p)
{
	emu_enter(&dev->mem);
	ref_backend_ops.plan_destroy(dev->ref, p->ref);
	emu_free(&dev->mem, p->block);
	emu_free(&dev->mem, p->own_values);
	emu_leave(&dev->mem);
	dev->host->free(dev->host->ctx, p);
}

static void plan_destroy(void *state, struct lmd_compiled_plan *plan)
{
	if (plan)
		destroy_plan(state, (struct emu_plan *)(void *)plan);
}

/* The ref backend's own objects of the plan's weights; the caller frees them. */
static struct lmd_weight **weights_of(struct emu_dev *dev, const struct lmd_compile *c)
{
	uint32_t n = c->plan->n_weight_ref;
	struct lmd_weight **w = dev->host->alloc(dev->host->ctx, (n + 1u) * sizeof(struct lmd_weight *));

	for (uint32_t i = 0; w && i < n; i++)
		w[i] = emu_weight_ref(c->weights[i]);
	return w;
}

/* Called with the memory accessible. */
static enum lmd_status compile(struct emu_dev *dev, const struct lmd_compile *c, struct emu_plan *p,
			       struct lmd_error *err)
{
	struct lmd_compile inner = *c;
	struct lmd_weight **w = weights_of(dev, c);
	enum lmd_status st;

	p->block = emu_alloc(&dev->mem, (size_t)c->layout->bytes);
	if (c->scratch.buffer && c->scratch.bytes >= c->plan->scratch_bytes)
		p->values = c->scratch.buffer->mem + c->scratch.offset;
	else
		p->values = p->own_values = emu_alloc(&dev->mem, (size_t)c->plan->scratch_bytes);
	if (!w || !p->block || (!p->values && c->plan->scratch_bytes)) {
		dev->host->free(dev->host->ctx, w);
		return lmd_fail(err, LMD_NOMEM,
				"emu: no device memory for %llu bytes of values and a step block of "
				"%llu",
				(unsigned long long)c->plan->scratch_bytes,
				(unsigned long long)c->layout->bytes);
	}
	inner.weights = w;
	inner.devgroup = emu_group_ref((const struct emu_group *)(const void *)c->devgroup);
	inner.scratch = (struct lmd_scratch){.bytes = c->plan->scratch_bytes, .ptr = p->values};
	st = ref_backend_ops.plan_compile(dev->ref, &inner, &p->ref, err);
	dev->host->free(dev->host->ctx, w);
	return st;
}

static enum lmd_status plan_compile(void *state, const struct lmd_compile *c,
				    struct lmd_compiled_plan **out, struct lmd_error *err)
{
	struct emu_dev *dev = state;
	struct emu_plan *p;
	enum lmd_status st = emu_alive(dev, err);

	if (st == LMD_OK && !c->layout)
		st = lmd_fail(err, LMD_INVALID, "emu: the layout of the step block is missing");
	if (st == LMD_OK && c->devgroup &&
	    !emu_group_has((const struct emu_group *)(const void *)c->devgroup, dev,
			   c->plan->key.rank))
		st = lmd_fail(err, LMD_INVALID, "emu: device %u is not rank %u of the group",
			      dev->index, c->plan->key.rank);
	if (st == LMD_OK && c->devgroup && dev->index == dev->set.refuse)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "emu: device %u compiles no plan with collectives, as set by LLAMAD_EMU",
			      dev->index);
	if (st != LMD_OK)
		return st;
	p = dev->host->alloc(dev->host->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "emu: no memory for a plan");
	p->plan = c->plan;
	p->layout = *c->layout;
	for (uint32_t i = 0; i < c->plan->n_op; i++)
		if (c->plan->ops[i].code == LMD_OP_ALLREDUCE ||
		    c->plan->ops[i].code == LMD_OP_ALLGATHER)
			p->group = (struct emu_group *)(void *)c->devgroup;
	emu_enter(&dev->mem);
	emu_group_enter(p->group);
	st = compile(dev, c, p, err);
	emu_group_leave(p->group);
	emu_leave(&dev->mem);
	if (st != LMD_OK) {
		destroy_plan(dev, p);
		return st;
	}
	*out = (struct lmd_compiled_plan *)(void *)p;
	return LMD_OK;
}

static enum lmd_status plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *plan,
				const struct lmd_step *step, const struct lmd_binding *in,
				uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				struct lmd_event *done)
{
	struct emu_dev *dev = state;
	struct emu_work w = {.kind = EMU_PLAN,
			     .event = done,
			     .plan = (struct emu_plan *)(void *)plan,
			     .step = *step,
			     .n_in = n_in,
			     .n_out = n_out};

	if (w.plan->group)
		w.run = emu_group_call(w.plan->group, w.plan->plan->key.rank);
	if (w.plan->group && !q)
		return lmd_fail(&dev->error, LMD_INVALID, "emu: a plan with collectives needs a queue");
	if (n_in > EMU_MAX_BINDING || n_out > EMU_MAX_BINDING)
		return lmd_fail(&dev->error, LMD_INVALID, "emu: %u inputs and %u outputs, at most %d",
				n_in, n_out, EMU_MAX_BINDING);
	if (n_in)
		memcpy(w.in, in, n_in * sizeof(*in));
	if (n_out)
		memcpy(w.out, out, n_out * sizeof(*out));
	return emu_submit(dev, q, &w, &dev->error);
}

static enum lmd_status plan_observe(void *state, struct lmd_compiled_plan *plan,
				    const struct lmd_step *step, const struct lmd_binding *in,
				    uint32_t n_in, lmd_observe_fn fn, void *arg)
{
	struct emu_dev *dev = state;
	struct lmd_binding own[EMU_MAX_BINDING];
	enum lmd_status st = emu_alive(dev, &dev->error);

	if (st == LMD_OK && n_in > EMU_MAX_BINDING)
		st = lmd_fail(&dev->error, LMD_INVALID, "emu: %u inputs, at most %d", n_in,
			      EMU_MAX_BINDING);
	if (st != LMD_OK)
		return st;
	emu_drain(dev);
	for (uint32_t i = 0; i < n_in; i++) {
		own[i] = in[i];
		if (in[i].buffer)
			own[i].ptr = in[i].buffer->mem + in[i].offset;
	}
	emu_enter(&dev->mem);
	st = ref_backend_ops.plan_observe(dev->ref, ((struct emu_plan *)(void *)plan)->ref, step,
					  own, n_in, fn, arg);
	if (st != LMD_OK)
		(void)lmd_fail(&dev->error, st, "%s", ref_backend_ops.last_error(dev->ref));
	emu_leave(&dev->mem);
	return st;
}

const struct lmd_backend_ops emu_backend_ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.enumerate = enumerate,
	.open = open_device,
	.close = close_device,
	.memory = memory,
	.buffer_create = buffer_create,
	.buffer_destroy = buffer_destroy,
	.buffer_map = buffer_map,
	.buffer_unmap = buffer_unmap,
	.buffer_copy = buffer_copy,
	.weight_query = emu_weight_query,
	.weight_load = emu_weight_load,
	.weight_export = emu_weight_export,
	.weight_destroy = emu_weight_destroy,
	.pool_query = pool_query,
	.pool_create = pool_create,
	.pool_op = pool_op,
	.pool_destroy = pool_destroy,
	.adapter_bind = adapter_bind,
	.op_support = op_support,
	.plan_query = plan_query,
	.plan_compile = plan_compile,
	.plan_run = plan_run,
	.plan_observe = plan_observe,
	.plan_destroy = plan_destroy,
	.queue_create = emu_queue_create,
	.queue_destroy = emu_queue_destroy,
	.event_create = emu_event_create,
	.event_destroy = emu_event_destroy,
	.event_record = emu_event_record,
	.event_wait = emu_event_wait,
	.queue_wait_event = emu_queue_wait_event,
	.group_create = emu_group_create,
	.group_destroy = emu_group_destroy,
	.last_error = last_error,
};
