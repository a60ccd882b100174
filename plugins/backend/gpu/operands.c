/* SPDX-License-Identifier: MIT
 *
 * What ops are made of: operands, weights, caches and launches as kernels see them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan.h"

void gpu_build_fail(struct gpu_build *b, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	if (b->status != LMD_OK)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	b->status = lmd_fail(b->err, LMD_UNSUPPORTED, "%s: op %u: %s", b->p->dev->vendor->name,
			     b->op, text);
}

static void note(struct gpu_build *b, enum lmd_status st)
{
	if (b->status == LMD_OK)
		b->status = st;
}

static void view_source(struct gpu_build *b, const struct lmd_operand *o, struct gpu_view *v)
{
	const struct lmd_plan *plan = b->plan;
	bool i32 = false;

	switch ((enum lmd_src)o->src) {
	case LMD_SRC_NONE:
		return;
	case LMD_SRC_VALUE:
		v->base = b->p->values + plan->values[o->id].offset;
		v->row_bytes = plan->values[o->id].row_bytes;
		v->value_width = plan->values[o->id].width;
		v->space = (uint8_t)plan->values[o->id].space;
		i32 = plan->values[o->id].vtype == LMD_VTYPE_I32;
		break;
	case LMD_SRC_ROW_IN:
		v->base = b->p->block + b->p->layout.row_in[o->id];
		v->row_bytes = 4 * plan->row_ins[o->id].width;
		v->value_width = plan->row_ins[o->id].width;
		v->space = LMD_SPACE_TOKENS;
		i32 = plan->row_ins[o->id].vtype == LMD_VTYPE_I32;
		break;
	case LMD_SRC_INPUT:
		if (o->id >= GPU_MAX_INPUT) {
			gpu_build_fail(b, "input %u; at most %d are supported", o->id,
				       GPU_MAX_INPUT);
			return;
		}
		v->input = (uint8_t)(o->id + 1);
		v->value_width = plan->inputs[o->id].width;
		v->space = (uint8_t)(plan->inputs[o->id].own_rows ? GPU_N_SPACE
								  : plan->inputs[o->id].space);
		i32 = plan->inputs[o->id].vtype == LMD_VTYPE_I32;
		break;
	case LMD_SRC_WEIGHT:
		v->base = gpu_build_flat(b, o->id);
		v->row_bytes = 0;
		v->fold = v->div = 1;
		v->value_width = plan->weight_refs[o->id].n_stack * plan->weight_refs[o->id].n *
				 plan->weight_refs[o->id].k;
		break;
	}
	v->flags = (uint8_t)(GPU_VIEW_SET | (i32 ? GPU_VIEW_I32 : 0));
}

struct gpu_view gpu_build_view(struct gpu_build *b, const struct lmd_operand *o)
{
	struct gpu_view v = {
		.col0 = o->col0,
		.n_head = o->n_head,
		.head_stride = o->head_stride,
		.width = o->width,
		.fold = o->fold ? o->fold : 1,
		.div = o->fold ? o->fold : 1,
		.value_width = 1,
		.space = GPU_N_SPACE,
	};

	view_source(b, o, &v);
	return v;
}

struct gpu_norm gpu_build_norm(struct gpu_build *b, const struct lmd_norm *n)
{
	return (struct gpu_norm){
		.kind = n->kind,
		.eps = n->eps,
		.n = n->n,
		.plus = n->g_plus_one ? 1.0f : 0.0f,
		.g = gpu_build_view(b, &n->g),
		.b = gpu_build_view(b, &n->b),
	};
}

struct gpu_weight gpu_build_weight(struct gpu_build *b, uint32_t ref)
{
	const struct lmd_weight_ref *r;

	if (ref == LMD_NONE)
		return (struct gpu_weight){0};
	if (b->p->weights)
		return b->p->weights[ref]->dev;
	r = &b->plan->weight_refs[ref];
	return (struct gpu_weight){.dtype = r->dtype, .n_stack = r->n_stack, .n = r->n, .k = r->k};
}

gpu_ptr gpu_build_flat(struct gpu_build *b, uint32_t ref)
{
	if (ref == LMD_NONE || !b->p->weights)
		return 0;
	note(b, gpu_weight_flatten(b->p->dev, b->p->weights[ref], b->err));
	return b->p->weights[ref]->flat;
}

struct gpu_cache gpu_build_cache(struct gpu_build *b, uint32_t cache)
{
	const struct lmd_pool *pool;

	if (cache == LMD_NONE || b->measure)
		return (struct gpu_cache){0};
	pool = b->p->pools[b->plan->caches[cache].group];
	for (uint32_t i = 0; pool && i < pool->n_cache; i++) {
		if (pool->caches[i].id == cache)
			return pool->caches[i].dev;
	}
	gpu_build_fail(b, "cache %u has no pool", cache);
	return (struct gpu_cache){0};
}

static uint32_t type_read(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_0_ROT ? LMD_DTYPE_Q4_0 : dtype;
}

struct gpu_cache gpu_build_read_cache(struct gpu_build *b, uint32_t cache)
{
	struct gpu_cache c = gpu_build_cache(b, cache);

	c.k_dtype = type_read(c.k_dtype);
	c.v_dtype = type_read(c.v_dtype);
	return c;
}

void gpu_build_hadamard(struct gpu_build *b, const struct gpu_view *x, const struct gpu_view *y)
{
	const struct gpu_hadamard_args a = {.run = b->p->run, .x = *x, .y = *y};

	if (x->width % 64)
		gpu_build_fail(b,
			       "heads of %u columns with a cache of q4_0_rot, which needs whole 64",
			       x->width);
	gpu_build_block(b, GPU_K_hadamard, &a, sizeof(a), x->width <= 64 ? 64 : 128,
			x->width * (uint32_t)sizeof(float), x, x->n_head);
}

struct gpu_view gpu_build_hadamard_rows(struct gpu_build *b, const struct gpu_view *x)
{
	gpu_ptr at =
		gpu_build_temp(b, gpu_build_max_rows(b, x) * x->n_head, x->width * sizeof(float));
	struct gpu_view rows = gpu_build_rows(x, at, x->n_head, x->width);

	gpu_build_hadamard(b, x, &rows);
	return rows;
}

gpu_ptr gpu_build_adapters(struct gpu_build *b, uint32_t site)
{
	gpu_ptr table = 0;

	if (site == LMD_NONE || !(b->plan->key.flags & LMD_PLAN_LORA))
		return 0;
	note(b, gpu_adapter_table(b->p->dev, site, &table, b->err));
	return table;
}

gpu_ptr gpu_build_temp(struct gpu_build *b, uint64_t n, uint64_t item)
{
	uint64_t at = b->temp_at, bytes;

	if (__builtin_mul_overflow(n, item, &bytes) || bytes > UINT64_MAX / 4) {
		gpu_build_fail(b, "needs more memory than can be addressed");
		return 0;
	}
	b->temp_at += (bytes + 255) / 256 * 256;
	if (b->temp_at > b->p->temp_bytes)
		b->p->temp_bytes = b->temp_at;
	return b->p->temp + at;
}

struct gpu_view gpu_build_rows(const struct gpu_view *like, gpu_ptr at, uint32_t heads,
			       uint32_t width)
{
	return (struct gpu_view){
		.base = at,
		.row_bytes = 4 * heads * width,
		.n_head = heads,
		.head_stride = width,
		.width = width,
		.fold = 1,
		.div = like->div,
		.value_width = heads * width,
		.space = like->space,
		.flags = GPU_VIEW_SET,
	};
}

uint64_t gpu_build_max_rows(const struct gpu_build *b, const struct gpu_view *v)
{
	return v->space < LMD_N_SPACE ? b->plan->max_rows[v->space] / v->div : 1;
}

/* ---- launches ---- */

static void *grow(struct gpu_build *b, void *old, size_t used, size_t bytes)
{
	const struct lmd_host *h = b->p->dev->host;
	void *p = h->alloc(h->ctx, bytes);

	if (!p)
		note(b, lmd_fail(b->err, LMD_NOMEM, "%s: no memory for a plan",
				 b->p->dev->vendor->name));
	else if (used)
		memcpy(p, old, used);
	if (p)
		h->free(h->ctx, old);
	return p;
}

static bool make_room(struct gpu_build *b, size_t bytes)
{
	struct lmd_compiled_plan *p = b->p;
	void *room;

	if (p->n_launch == p->cap_launch) {
		uint32_t cap = p->cap_launch ? 2 * p->cap_launch : 256;

		room = grow(b, p->launches, p->n_launch * sizeof(*p->launches),
			    cap * sizeof(*p->launches));
		if (!room)
			return false;
		p->launches = room;
		p->cap_launch = cap;
	}
	if (p->args_bytes + bytes > p->cap_args) {
		size_t cap = 2 * p->cap_args + bytes + 65536;

		room = grow(b, p->args, p->args_bytes, cap);
		if (!room)
			return false;
		p->args = room;
		p->cap_args = cap;
	}
	return true;
}

void gpu_build_launch(struct gpu_build *b, uint32_t kernel, const void *args, size_t bytes,
		      uint32_t threads, uint32_t shared, struct gpu_blocks x, struct gpu_blocks y)
{
	struct lmd_compiled_plan *p = b->p;

	if (b->measure || b->status != LMD_OK || !make_room(b, bytes))
		return;
	p->launches[p->n_launch++] = (struct gpu_launch){
		.kernel = kernel,
		.op = b->op,
		.threads = threads,
		.shared = shared,
		.x = x,
		.y = y,
		.args = p->args_bytes,
	};
	memcpy(p->args + p->args_bytes, args, bytes);
	p->args_bytes += (bytes + 15) / 16 * 16;
}

struct gpu_launch *gpu_build_last(struct gpu_build *b)
{
	bool none = b->measure || b->status != LMD_OK || !b->p->n_launch;

	return none ? NULL : &b->p->launches[b->p->n_launch - 1];
}

static const struct gpu_blocks single = {.space = GPU_N_SPACE, .div = 1, .times = 1, .per = 1};

void gpu_build_each(struct gpu_build *b, uint32_t kernel, const void *args, size_t bytes,
		    const struct gpu_view *like, uint64_t times)
{
	const struct gpu_blocks x = {
		.space = like->space, .div = like->div, .times = times, .per = 256};

	gpu_build_launch(b, kernel, args, bytes, 256, 0, x, single);
}

void gpu_build_block(struct gpu_build *b, uint32_t kernel, const void *args, size_t bytes,
		     uint32_t threads, uint32_t shared, const struct gpu_view *like, uint64_t times)
{
	const struct gpu_blocks x = {
		.space = like->space, .div = like->div, .times = times, .per = 1};

	gpu_build_launch(b, kernel, args, bytes, threads, shared, x, single);
}
