/* SPDX-License-Identifier: MIT
 *
 * The memory of sequences: pages (their insides: kv.h) and state slots, which hold their caches one
 * after the other in canonical order.  Copies are memcpy; export and import turn pages into
 * canonical order, where a row is its heads side by side, and back. */
#include <string.h>
#include <sys/mman.h>

#include "kv.h"

static enum lmd_status row_bytes(struct cpu_dev *dev, uint32_t cache, uint32_t dtype, uint32_t cols,
				 size_t *out, struct lmd_error *err)
{
	uint32_t elems, bytes;
	float zeros[256] = {0};
	uint8_t block[512];

	if (!dev->host->dtype_info(dev->host->ctx, dtype, &elems, &bytes) || !elems)
		return lmd_fail(err, LMD_UNSUPPORTED, "cache %u: type %u is unknown", cache, dtype);
	if (cols % elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: %u values do not divide into blocks of "
				"%u",
				cache, cols, elems);
	if (elems > LMD_LEN(zeros) || bytes > sizeof(block) ||
	    dev->host->quant_rows(dev->host->ctx, dtype, zeros, block, elems) != LMD_OK)
		return lmd_fail(err, LMD_UNSUPPORTED, "cache %u: type %u cannot be encoded", cache,
				dtype);
	*out = (size_t)cols / elems * bytes;
	return LMD_OK;
}

/* Shapes of one cache; offsets relative to the page or slot are filled by the caller. */
static enum lmd_status shape(struct cpu_dev *dev, const struct lmd_pool_desc *d, uint32_t i,
			     struct cpu_cache *c, struct lmd_error *err)
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
	case LMD_CACHE_STATE: /* n_head matrices */
		c->n_row = x->kind == LMD_CACHE_CONV ? x->dk : x->n_head;
		c->k_cols = x->kind == LMD_CACHE_CONV ? x->n_head * x->dv : x->dk * x->dv;
		st = row_bytes(dev, c->id, x->k_dtype, c->k_cols, &c->k_row, err);
		c->k_head = c->k_row;
		return st;
	}
	c->k_cols = x->n_head * x->dk;
	c->k_turned = x->kind == LMD_CACHE_KV &&
		      (x->k_dtype == LMD_DTYPE_F32 || x->k_dtype == LMD_DTYPE_F16 ||
		       x->k_dtype == LMD_DTYPE_BF16);
	st = row_bytes(dev, c->id, x->k_dtype, x->dk, &c->k_head, err);
	c->k_row = c->k_head * x->n_head;
	if (st == LMD_OK && c->has_v) {
		st = row_bytes(dev, c->id, x->v_dtype, x->dv, &c->v_head, err);
		c->v_row = c->v_head * x->n_head;
	}
	return st;
}

static enum lmd_status layout(struct cpu_dev *dev, const struct lmd_pool_desc *d,
			      struct lmd_pool *p, struct lmd_error *err)
{
	size_t at = 0;

	for (uint32_t i = 0; i < d->n_cache; i++) {
		struct cpu_cache *c = &p->caches[i];
		enum lmd_status st = shape(dev, d, i, c, err);

		if (st != LMD_OK)
			return st;
		c->k_off = at;
		at += c->k_row * c->n_row;
		c->v_off = at;
		at += c->v_row * c->n_row;
	}
	p->unit_bytes = (at + 63) / 64 * 64;
	return LMD_OK;
}

void cpu_large_pages(void *mem, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	const uintptr_t large = (uintptr_t)2 << 20;
	uintptr_t from = ((uintptr_t)mem + large - 1) / large * large;
	uintptr_t to = ((uintptr_t)mem + bytes) / large * large;

	if (from < to)
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
	(void)mem;
	(void)bytes;
#endif
}

enum lmd_status cpu_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err)
{
	struct cpu_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct lmd_pool *p;
	size_t total, entries;
	enum lmd_status st;

	p = h->alloc(h->ctx, sizeof(*p) + d->n_cache * sizeof(*p->caches));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "group %u: no memory for a pool", d->group);
	p->caches = (struct cpu_cache *)(p + 1);
	p->n_cache = d->n_cache;
	p->desc = *d->desc;
	p->state = d->desc->kind == LMD_GROUP_STATE;
	p->n_unit = p->state ? d->n_slot : d->n_page;
	p->page_tokens = d->page_tokens;
	p->n_seq = d->n_seq;
	p->n_index = d->n_index;
	st = LMD_INVALID;
	if (!p->state && d->page_tokens != CPU_PAGE_TOKENS) {
		(void)lmd_fail(err, st, "group %u: pages of %u tokens, they have %u here", d->group,
			       d->page_tokens, CPU_PAGE_TOKENS);
		goto undo;
	}
	if (!p->n_unit || (!p->state && (!d->page_tokens || !d->n_seq || !d->n_index))) {
		(void)lmd_fail(err, st,
			       "group %u: a pool of %u units, %u tokens a page, %u sequences "
			       "of %u pages is empty",
			       d->group, p->n_unit, d->page_tokens, d->n_seq, d->n_index);
		goto undo;
	}
	st = layout(dev, d, p, err);
	if (st != LMD_OK)
		goto undo;
	st = LMD_NOMEM;
	if (__builtin_mul_overflow(p->unit_bytes, (size_t)p->n_unit, &total) ||
	    (p->unit_bytes && !(p->mem = h->alloc(h->ctx, total)))) {
		(void)lmd_fail(err, st, "group %u: no memory for %u units of %zu bytes", d->group,
			       p->n_unit, p->unit_bytes);
		goto undo;
	}
	cpu_large_pages(p->mem, total);
	for (uint32_t i = 0; i < p->n_cache; i++) {
		p->caches[i].mem = p->mem;
		p->caches[i].n_unit = p->n_unit;
	}
	if (!p->state) {
		if (__builtin_mul_overflow((size_t)p->n_seq, (size_t)p->n_index, &entries) ||
		    entries > SIZE_MAX / sizeof(*p->table) ||
		    !(p->table = h->alloc(h->ctx, entries * sizeof(*p->table)))) {
			(void)lmd_fail(err, st, "group %u: no memory for a page table of %u x %u",
				       d->group, p->n_seq, p->n_index);
			goto undo;
		}
		memset(p->table, 0xff, entries * sizeof(*p->table));
	}
	*out = p;
	return LMD_OK;
undo:
	cpu_pool_destroy(dev, p);
	return st;
}

void cpu_pool_destroy(void *state, struct lmd_pool *pool)
{
	const struct lmd_host *h = ((struct cpu_dev *)state)->host;

	if (!pool)
		return;
	h->free(h->ctx, pool->mem);
	h->free(h->ctx, pool->table);
	h->free(h->ctx, pool);
}

/* Copies between two places, either way. */
static void move(bool out, char *mem, char *host, size_t n)
{
	memcpy(out ? host : mem, out ? mem : host, n);
}

/* Rows row0 .. row0+n_row of a cache's K or V, from or to `host`. */
static void move_rows(const struct cpu_cache *c, bool v, bool out, const struct lmd_pool_op *op,
		      char *host)
{
	uint32_t page = out ? op->src : op->dst;
	size_t head_bytes = v ? c->v_head : c->k_head, item = c->k_head / c->desc.dk;

	for (uint32_t i = 0; i < op->n_row; i++) {
		uint32_t row = op->row0 + i;

		for (uint32_t h = 0; h < c->desc.n_head; h++, host += head_bytes) {
			char *mem = v ? cpu_kv_v(c, page, h) : cpu_kv_k(c, page, h);

			if (v || !c->k_turned) {
				move(out, mem + row * head_bytes, host, head_bytes);
				continue;
			}
			for (uint32_t j = 0; j < c->desc.dk; j++)
				move(out, mem + (j * CPU_PAGE_TOKENS + row) * item, host + j * item,
				     item);
		}
	}
}

/* Moves rows between a unit and host memory, cache by cache, K then V. */
static enum lmd_status transfer(struct lmd_pool *p, const struct lmd_pool_op *op,
				struct lmd_error *err)
{
	bool out = op->kind == LMD_POOL_EXPORT;
	char *mem = p->mem + (size_t)(out ? op->src : op->dst) * p->unit_bytes, *host = op->host;
	uint64_t need = 0;

	if (!p->state && (op->row0 > p->page_tokens || op->n_row > p->page_tokens - op->row0))
		return lmd_fail(err, LMD_INVALID, "pool: rows %u..%llu of a page of %u", op->row0,
				(unsigned long long)op->row0 + op->n_row, p->page_tokens);
	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct cpu_cache *c = &p->caches[i];

		need += (p->state ? c->n_row : op->n_row) * (uint64_t)(c->k_row + c->v_row);
	}
	if (need > op->host_bytes || (need && !host))
		return lmd_fail(err, LMD_INVALID, "pool: %llu bytes of host memory, %llu needed",
				(unsigned long long)op->host_bytes, (unsigned long long)need);
	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct cpu_cache *c = &p->caches[i];
		size_t n = p->state ? c->n_row : op->n_row;

		if (p->state) {
			move(out, mem + c->k_off, host, n * c->k_row);
		} else {
			move_rows(c, false, out, op, host);
			if (c->has_v)
				move_rows(c, true, out, op, host + n * c->k_row);
		}
		host += n * (c->k_row + c->v_row);
	}
	return LMD_OK;
}

static void copy_page(const struct lmd_pool *p, uint32_t src, uint32_t dst)
{
	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct cpu_cache *c = &p->caches[i];

		for (uint32_t h = 0; h < c->desc.n_head; h++) {
			memcpy(cpu_kv_k(c, dst, h), cpu_kv_k(c, src, h),
			       c->k_head * CPU_PAGE_TOKENS);
			if (c->has_v)
				memcpy(cpu_kv_v(c, dst, h), cpu_kv_v(c, src, h),
				       c->v_head * CPU_PAGE_TOKENS);
		}
	}
}

enum lmd_status cpu_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_error *err)
{
	(void)state;
	(void)q; /* pool and plan run in the calling thread: always in order */
	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_pool_op *op = &ops[i];
		bool src = op->kind == LMD_POOL_COPY_PAGE || op->kind == LMD_POOL_COPY_SLOT ||
			   op->kind == LMD_POOL_EXPORT;
		bool dst = op->kind != LMD_POOL_EXPORT;
		enum lmd_status st;

		if ((src && op->src >= pool->n_unit) || (dst && op->dst >= pool->n_unit))
			return lmd_fail(err, LMD_INVALID, "pool: unit %u of %u",
					src && op->src >= pool->n_unit ? op->src : op->dst,
					pool->n_unit);
		if (pool->state ? op->kind == LMD_POOL_COPY_PAGE
				: op->kind == LMD_POOL_COPY_SLOT || op->kind == LMD_POOL_ZERO_SLOT)
			return lmd_fail(err, LMD_INVALID, "pool: operation %u on a pool of %s",
					op->kind, pool->state ? "slots" : "pages");
		switch (op->kind) {
		case LMD_POOL_COPY_PAGE:
			if (op->src != op->dst)
				copy_page(pool, op->src, op->dst);
			break;
		case LMD_POOL_COPY_SLOT:
			if (op->src != op->dst)
				memcpy(pool->mem + (size_t)op->dst * pool->unit_bytes,
				       pool->mem + (size_t)op->src * pool->unit_bytes,
				       pool->unit_bytes);
			break;
		case LMD_POOL_ZERO_SLOT:
			memset(pool->mem + (size_t)op->dst * pool->unit_bytes, 0, pool->unit_bytes);
			break;
		case LMD_POOL_EXPORT:
		case LMD_POOL_IMPORT:
			st = transfer(pool, op, err);
			if (st != LMD_OK)
				return st;
			break;
		default:
			return lmd_fail(err, LMD_UNSUPPORTED, "pool: operation %u is unknown",
					op->kind);
		}
	}
	return LMD_OK;
}
