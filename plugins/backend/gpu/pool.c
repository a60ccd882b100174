/* SPDX-License-Identifier: MIT
 *
 * Pools: pages and slots in canonical form (backend.h, LMD_POOL_EXPORT), one after the other, and
 * the page tables. */
#include <string.h>

#include "backend/common/device_types.h"
#include "gpu.h"

static bool can_store(uint32_t dtype)
{
	return dtype == LMD_DTYPE_F32 || dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16 ||
	       dtype == LMD_DTYPE_Q8_0 || dtype == LMD_DTYPE_F8_E4M3 ||
	       dtype == LMD_DTYPE_Q4_0_ROT || DEVICE_CACHE_IS_BLOCKS(dtype);
}

static enum lmd_status row_bytes(const struct gpu_dev *dev, uint32_t cache, uint32_t dtype,
				 uint32_t width, uint32_t *out, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	uint32_t elems = 0, bytes = 0;

	if (!can_store(dtype) || !h->dtype_info(h->ctx, (enum lmd_dtype)dtype, &elems, &bytes) ||
	    !elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: type %u; this device stores f32, f16, bf16, q8_0, "
				"f8_e4m3, q5_1, q5_0, q4_1, q4_0, iq4_nl and q4_0_rot",
				cache, dtype);
	if (width % elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: rows of %u values are not blocks of %u", cache, width,
				elems);
	*out = width / elems * bytes;
	return LMD_OK;
}

static enum lmd_status shape(const struct gpu_dev *dev, const struct lmd_pool_desc *d, uint32_t i,
			     struct gpu_pool_cache *c, struct lmd_error *err)
{
	const struct lmd_cache *x = &d->caches[i];
	bool state = d->desc->kind == LMD_GROUP_STATE;
	enum lmd_status st;

	c->desc = *x;
	c->id = d->cache_ids[i];
	c->n_row = d->page_tokens;
	c->dev =
		(struct gpu_cache){.k_dtype = x->k_dtype, .v_dtype = x->v_dtype, .group = d->group};
	if (state) {
		bool conv = x->kind == LMD_CACHE_CONV;

		c->n_row = conv ? x->dk : x->n_head;
		st = row_bytes(dev, c->id, x->k_dtype, conv ? x->n_head * x->dv : x->dk * x->dv,
			       &c->dev.k_head, err);
		c->dev.k_row = c->dev.k_head;
		return st;
	}
	st = row_bytes(dev, c->id, x->k_dtype, x->dk, &c->dev.k_head, err);
	c->dev.k_row = c->dev.k_head * x->n_head;
	if (st == LMD_OK && x->kind == LMD_CACHE_KV) {
		c->dev.has_v = 1;
		st = row_bytes(dev, c->id, x->v_dtype, x->dv, &c->dev.v_head, err);
		c->dev.v_row = c->dev.v_head * x->n_head;
	}
	return st;
}

/* Lays out the caches in a unit; returns its bytes. */
static enum lmd_status lay_out(const struct gpu_dev *dev, const struct lmd_pool_desc *d,
			       struct gpu_pool_cache *caches, uint64_t *bytes,
			       struct lmd_error *err)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < d->n_cache; i++) {
		struct gpu_pool_cache *c = &caches[i];
		enum lmd_status st = shape(dev, d, i, c, err);

		if (st != LMD_OK)
			return st;
		c->dev.k_off = at;
		at += (uint64_t)c->dev.k_row * c->n_row;
		c->dev.v_off = at;
		at += (uint64_t)c->dev.v_row * c->n_row;
	}
	*bytes = (at + 127) / 128 * 128;
	return LMD_OK;
}

enum lmd_status gpu_pool_query(void *state, const struct lmd_pool_desc *d,
			       struct lmd_pool_cost *out, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	bool slots = d->desc->kind == LMD_GROUP_STATE;
	struct lmd_pool_cost cost = {0};
	struct gpu_pool_cache *caches =
		dev->host->alloc(dev->host->ctx, (d->n_cache + (size_t)1) * sizeof(*caches));
	uint64_t unit = 0;
	enum lmd_status st;

	if (!caches)
		return lmd_fail(err, LMD_NOMEM, "group %u: no memory", d->group);
	st = lay_out(dev, d, caches, &unit, err);
	cost.bytes = unit * (slots ? d->n_slot : d->n_page);
	if (!slots)
		cost.bytes += (uint64_t)d->n_seq * d->n_index * sizeof(uint32_t);
	dev->host->free(dev->host->ctx, caches);
	if (st == LMD_OK)
		LMD_PUT(out, &cost);
	return st;
}

static enum lmd_status allocate(struct gpu_dev *dev, struct lmd_pool *p, struct lmd_error *err)
{
	uint64_t table = p->shape.state ? 0 : (uint64_t)p->shape.n_seq * p->shape.n_index * sizeof(uint32_t);
	enum lmd_status st = gpu_alloc(dev, p->unit_bytes * p->shape.n_unit, "a cache", &p->mem, err);

	if (st == LMD_OK)
		st = gpu_alloc(dev, table, "a page table", &p->table, err);
	if (st == LMD_OK && table)
		st = gpu_check(dev, dev->drv->fill(p->table, 0, (size_t)table, dev->stream),
			       "clearing a page table", err);
	return st == LMD_OK ? gpu_check(dev, dev->drv->stream_sync(dev->stream),
					"clearing a page table", err)
			    : st;
}

enum lmd_status gpu_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	struct lmd_pool *p;
	enum lmd_status st = gpu_enter(dev, err);

	if (st != LMD_OK)
		return st;
	p = dev->host->alloc(dev->host->ctx, sizeof(*p) + d->n_cache * sizeof(p->caches[0]));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "group %u: no memory for a pool", d->group);
	p->desc = *d->desc;
	p->n_cache = d->n_cache;
	st = host_mem_pool_shape_init(&p->shape, d, err);
	if (st == LMD_OK)
		st = lay_out(dev, d, p->caches, &p->unit_bytes, err);
	if (st == LMD_OK)
		st = allocate(dev, p, err);
	if (st != LMD_OK) {
		gpu_pool_destroy(dev, p);
		return st;
	}
	for (uint32_t i = 0; i < p->n_cache; i++) {
		p->caches[i].dev.mem = p->mem;
		p->caches[i].dev.unit_bytes = p->unit_bytes;
		host_mem_pool_shape_add(&p->shape, (uint64_t)p->caches[i].dev.k_row + p->caches[i].dev.v_row,
					p->caches[i].n_row);
	}
	*out = p;
	return LMD_OK;
}

void gpu_pool_destroy(void *state, struct lmd_pool *p)
{
	struct gpu_dev *dev = state;

	if (!p)
		return;
	(void)gpu_enter(dev, NULL);
	gpu_free(dev, p->mem);
	gpu_free(dev, p->table);
	dev->host->free(dev->host->ctx, p);
}

/* ---- operations ---- */

/* Copies rows between a unit and host memory, cache by cache, K before V. */
static enum lmd_status transfer(struct gpu_dev *dev, const struct lmd_pool *p,
				const struct lmd_pool_op *op, gpu_stream s, struct lmd_error *err)
{
	bool out = op->kind == LMD_POOL_EXPORT;
	gpu_ptr unit = p->mem + (uint64_t)(out ? op->src : op->dst) * p->unit_bytes;
	uint32_t row0 = p->shape.state ? 0 : op->row0;
	uint64_t at = 0;

	for (uint32_t i = 0; i < 2 * p->n_cache; i++) {
		const struct gpu_pool_cache *c = &p->caches[i / 2];
		uint64_t row = i % 2 ? c->dev.v_row : c->dev.k_row;
		gpu_ptr mem = unit + (i % 2 ? c->dev.v_off : c->dev.k_off) + row0 * row;
		size_t bytes = (size_t)((p->shape.state ? c->n_row : op->n_row) * row);
		char *host = (char *)op->host + at;
		int code = !bytes ? 0
			   : out  ? dev->drv->download(host, mem, bytes, s)
				  : dev->drv->upload(mem, host, bytes, s);

		at += bytes;
		if (code)
			return gpu_check(dev, code, "a copy of cache rows", err);
	}
	return LMD_OK;
}

/* Executes an operation that has been checked. */
static enum lmd_status execute(struct gpu_dev *dev, const struct lmd_pool *p,
			       const struct lmd_pool_op *op, gpu_stream s, struct lmd_error *err)
{
	gpu_ptr to = p->mem + op->dst * p->unit_bytes, from = p->mem + op->src * p->unit_bytes;

	switch (op->kind) {
	case LMD_POOL_SET_TABLE:
		if (!op->n_row)
			return LMD_OK;
		to = p->table + ((uint64_t)op->src * p->shape.n_index + op->dst) * sizeof(uint32_t);
		return gpu_check(dev,
				 dev->drv->upload(to, op->host, op->n_row * sizeof(uint32_t), s),
				 "a copy of page table entries", err);
	case LMD_POOL_COPY_PAGE:
	case LMD_POOL_COPY_SLOT:
		if (op->src == op->dst || !p->unit_bytes)
			return LMD_OK;
		return gpu_check(dev, dev->drv->copy(to, from, (size_t)p->unit_bytes, s),
				 "a page copy", err);
	case LMD_POOL_ZERO_SLOT:
		if (!p->unit_bytes)
			return LMD_OK;
		return gpu_check(dev, dev->drv->fill(to, 0, (size_t)p->unit_bytes, s),
				 "zeroing a slot", err);
	default:
		return transfer(dev, p, op, s, err);
	}
}

enum lmd_status gpu_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			    struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	gpu_stream s = gpu_queue_stream(dev, q);
	enum lmd_status st = gpu_enter(dev, err);

	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		st = host_mem_pool_check(&pool->shape, &ops[i], err);
		if (st == LMD_OK)
			st = execute(dev, pool, &ops[i], s, err);
	}
	return st == LMD_OK ? gpu_queue_done(dev, q, done, err) : st;
}
