/* SPDX-License-Identifier: MIT
 *
 * The memory of sequences: pages and state slots. */
#include <string.h>

#include "backend/common/host_mem.h"

static enum lmd_status row_bytes(const struct lmd_host *h, uint32_t cache, uint32_t dtype,
				 uint32_t cols, size_t *out, struct lmd_error *err)
{
	uint32_t elems, bytes;
	float zeros[256] = {0};
	uint8_t block[512];

	if (!h->dtype_info(h->ctx, dtype, &elems, &bytes) || !elems)
		return lmd_fail(err, LMD_UNSUPPORTED, "cache %u: type %u is unknown", cache, dtype);
	if (h->dtype_head(h->ctx, dtype))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: rows of type %u begin with a header, which a cache "
				"cannot store",
				cache, dtype);
	if (cols % elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: rows of %u values are not a multiple of the block "
				"size %u",
				cache, cols, elems);
	if (elems > LMD_LEN(zeros) || bytes > sizeof(block) ||
	    h->quant_rows(h->ctx, dtype, zeros, block, elems) != LMD_OK)
		return lmd_fail(err, LMD_UNSUPPORTED, "cache %u: type %u cannot be encoded", cache,
				dtype);
	*out = (size_t)cols / elems * bytes;
	return LMD_OK;
}

/* Computes the sizes of one cache.  The caller fills in its offsets within the page or slot. */
static enum lmd_status shape(const struct lmd_host *h, const struct lmd_pool_desc *d, uint32_t i,
			     struct host_mem_cache *c, struct lmd_error *err)
{
	const struct lmd_cache *x = &d->caches[i];
	enum lmd_status st;

	c->desc = *x;
	c->id = d->cache_ids[i];
	c->n_row = d->page_tokens;
	switch ((enum lmd_cache_kind)x->kind) {
	case LMD_CACHE_KV:
		c->has_v = true;
		break;
	case LMD_CACHE_K_ONLY:
	case LMD_CACHE_V_IN_K:
	case LMD_CACHE_INDEX:
		break;
	case LMD_CACHE_CONV:  /* dk rows of n_head*dv columns, encoded as a whole */
	case LMD_CACHE_STATE: /* n_head matrices of dk*dv */
		c->n_row = x->kind == LMD_CACHE_CONV ? x->dk : x->n_head;
		c->k_cols = x->kind == LMD_CACHE_CONV ? x->n_head * x->dv : x->dk * x->dv;
		st = row_bytes(h, c->id, x->k_dtype, c->k_cols, &c->k_row, err);
		c->k_head = c->k_row;
		return st;
	}
	c->k_cols = x->n_head * x->dk;
	st = row_bytes(h, c->id, x->k_dtype, x->dk, &c->k_head, err);
	c->k_row = c->k_head * x->n_head;
	if (st == LMD_OK && c->has_v) {
		st = row_bytes(h, c->id, x->v_dtype, x->dv, &c->v_head, err);
		c->v_row = c->v_head * x->n_head;
	}
	return st;
}

static enum lmd_status layout(const struct lmd_host *h, const struct lmd_pool_desc *d,
			      struct lmd_pool *p, struct lmd_error *err)
{
	size_t at = 0;

	for (uint32_t i = 0; i < d->n_cache; i++) {
		struct host_mem_cache *c = &p->caches[i];
		enum lmd_status st = shape(h, d, i, c, err);

		if (st != LMD_OK)
			return st;
		c->k_off = at;
		at += c->k_row * c->n_row;
		c->v_off = at;
		at += c->v_row * c->n_row;
		host_mem_pool_shape_add(&p->shape, c->k_row + c->v_row, c->n_row);
	}
	p->unit_bytes = (at + 63) / 64 * 64;
	return LMD_OK;
}

enum lmd_status host_mem_pool_query(const struct lmd_host *h, const struct lmd_pool_desc *d,
				    struct lmd_pool_cost *out, struct lmd_error *err)
{
	bool state = d->desc->kind == LMD_GROUP_STATE;
	struct lmd_pool_cost cost = {0};
	struct lmd_pool p = {0};
	enum lmd_status st;

	p.caches = h->alloc(h->ctx, (d->n_cache + (size_t)1) * sizeof(*p.caches));
	if (!p.caches)
		return lmd_fail(err, LMD_NOMEM, "group %u: no memory", d->group);
	st = layout(h, d, &p, err);
	cost.bytes = (uint64_t)p.unit_bytes * (state ? d->n_slot : d->n_page);
	if (!state)
		cost.bytes += (uint64_t)d->n_seq * d->n_index * sizeof(*p.table);
	h->free(h->ctx, p.caches);
	if (st == LMD_OK)
		LMD_PUT(out, &cost);
	return st;
}

enum lmd_status host_mem_pool_create(const struct lmd_host *h, const struct lmd_pool_desc *d,
				     struct lmd_pool **out, struct lmd_error *err)
{
	struct lmd_pool *p;
	size_t entries;
	enum lmd_status st;

	p = h->alloc(h->ctx, sizeof(*p) + d->n_cache * sizeof(*p->caches));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "group %u: no memory for a pool", d->group);
	p->caches = (struct host_mem_cache *)(p + 1);
	p->n_cache = d->n_cache;
	p->desc = *d->desc;
	st = host_mem_pool_shape_init(&p->shape, d, err);
	if (st == LMD_OK)
		st = layout(h, d, p, err);
	if (st != LMD_OK)
		goto undo;
	st = LMD_NOMEM;
	if (__builtin_mul_overflow(p->unit_bytes, (size_t)p->shape.n_unit, &p->bytes) ||
	    (p->unit_bytes && !(p->mem = h->alloc(h->ctx, p->bytes)))) {
		(void)lmd_fail(err, st, "group %u: no memory for %u units of %zu bytes", d->group,
			       p->shape.n_unit, p->unit_bytes);
		goto undo;
	}
	for (uint32_t i = 0; i < p->n_cache; i++) {
		p->caches[i].mem = p->mem;
		p->caches[i].n_unit = p->shape.n_unit;
	}
	if (!p->shape.state) {
		if (__builtin_mul_overflow((size_t)p->shape.n_seq, (size_t)p->shape.n_index, &entries) ||
		    entries > SIZE_MAX / sizeof(*p->table) ||
		    !(p->table = h->alloc(h->ctx, entries * sizeof(*p->table)))) {
			(void)lmd_fail(err, st, "group %u: no memory for a page table of %u x %u",
				       d->group, p->shape.n_seq, p->shape.n_index);
			goto undo;
		}
		memset(p->table, 0xff, entries * sizeof(*p->table));
	}
	*out = p;
	return LMD_OK;
undo:
	host_mem_pool_destroy(h, p);
	return st;
}

void host_mem_pool_destroy(const struct lmd_host *h, struct lmd_pool *pool)
{
	if (!pool)
		return;
	h->free(h->ctx, pool->mem);
	h->free(h->ctx, pool->table);
	h->free(h->ctx, pool);
}

static void copy_unit(const struct lmd_pool *p, uint32_t src, uint32_t dst)
{
	memcpy(host_mem_pool_unit(p, dst), host_mem_pool_unit(p, src), p->unit_bytes);
}

static void move_rows(const struct lmd_pool *p, const struct host_mem_cache *c, bool v, bool out,
		      uint32_t unit, uint32_t row0, uint32_t n_row, char *host)
{
	size_t row = v ? c->v_row : c->k_row;
	char *mem = host_mem_pool_unit(p, unit) + (v ? c->v_off : c->k_off) + row0 * row;

	memcpy(out ? host : mem, out ? mem : host, n_row * row);
}

const struct host_mem_pages host_mem_pages_plain = {copy_unit, move_rows};

/* Copies rows between a unit and host memory, cache by cache, K before V. */
static void transfer(struct lmd_pool *p, const struct host_mem_pages *pages,
		     const struct lmd_pool_op *op)
{
	bool out = op->kind == LMD_POOL_EXPORT;
	uint32_t unit = out ? op->src : op->dst, row0 = p->shape.state ? 0 : op->row0;
	char *host = op->host;

	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct host_mem_cache *c = &p->caches[i];
		uint32_t n = p->shape.state ? c->n_row : op->n_row;

		pages->move(p, c, false, out, unit, row0, n, host);
		host += n * c->k_row;
		if (c->v_row)
			pages->move(p, c, true, out, unit, row0, n, host);
		host += n * c->v_row;
	}
}

/* Executes an operation that has been checked. */
static void execute(struct lmd_pool *p, const struct host_mem_pages *pages,
		    const struct lmd_pool_op *op)
{
	switch (op->kind) {
	case LMD_POOL_SET_TABLE:
		if (op->n_row)
			memcpy(p->table + (size_t)op->src * p->shape.n_index + op->dst, op->host,
			       op->n_row * sizeof(*p->table));
		break;
	case LMD_POOL_COPY_PAGE:
	case LMD_POOL_COPY_SLOT:
		if (op->src != op->dst)
			pages->copy(p, op->src, op->dst);
		break;
	case LMD_POOL_ZERO_SLOT:
		memset(host_mem_pool_unit(p, op->dst), 0, p->unit_bytes);
		break;
	default:
		transfer(p, pages, op);
		break;
	}
}

enum lmd_status host_mem_pool_op(struct lmd_pool *pool, const struct host_mem_pages *pages,
				 const struct lmd_pool_op *ops, uint32_t n, struct lmd_error *err)
{
	if (pool->shape.state)
		pages = &host_mem_pages_plain;
	for (uint32_t i = 0; i < n; i++) {
		enum lmd_status st = host_mem_pool_check(&pool->shape, &ops[i], err);

		if (st != LMD_OK)
			return st;
		execute(pool, pages, &ops[i]);
	}
	return LMD_OK;
}

static enum lmd_status bad(struct lmd_error *err, const char *field, uint32_t at, uint32_t value,
			   uint32_t bound)
{
	return lmd_fail(err, LMD_INVALID, "step: %s[%u] is %u, bound %u", field, at, value, bound);
}

enum lmd_status host_mem_pool_changes(struct lmd_pool *p, const struct lmd_page_set *change,
				      uint32_t n, struct lmd_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_page_set *c = &change[i];

		if (c->seq_slot >= p->shape.n_seq)
			return bad(err, "change.seq_slot", i, c->seq_slot, p->shape.n_seq);
		if (c->index >= p->shape.n_index)
			return bad(err, "change.index", i, c->index, p->shape.n_index);
		if (c->page >= p->shape.n_unit)
			return bad(err, "change.page", i, c->page, p->shape.n_unit);
		p->table[(size_t)c->seq_slot * p->shape.n_index + c->index] = c->page;
	}
	return LMD_OK;
}
