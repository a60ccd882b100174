/* SPDX-License-Identifier: MIT
 *
 * The memory of sequences.  A page holds, for each cache of its group in order, page_tokens rows of
 * K and then as many of V; a row is its heads one after the other, each head encoded on its own.  A
 * state slot holds its caches one after the other.  So the order of bytes in a page or a slot
 * is the canonical one already, and copies and exports are memcpy. */
#include <string.h>

#include "ref.h"

static enum lmd_status row_bytes(struct ref_dev *dev, uint32_t cache, uint32_t dtype, uint32_t cols,
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
static enum lmd_status shape(struct ref_dev *dev, const struct lmd_pool_desc *d, uint32_t i,
			     struct ref_cache *c, struct lmd_error *err)
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
	st = row_bytes(dev, c->id, x->k_dtype, x->dk, &c->k_head, err);
	c->k_row = c->k_head * x->n_head;
	if (st == LMD_OK && c->has_v) {
		c->v_cols = x->n_head * x->dv;
		st = row_bytes(dev, c->id, x->v_dtype, x->dv, &c->v_head, err);
		c->v_row = c->v_head * x->n_head;
	}
	return st;
}

static enum lmd_status layout(struct ref_dev *dev, const struct lmd_pool_desc *d,
			      struct lmd_pool *p, struct lmd_error *err)
{
	size_t at = 0;

	for (uint32_t i = 0; i < d->n_cache; i++) {
		struct ref_cache *c = &p->caches[i];
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

enum lmd_status ref_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err)
{
	struct ref_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct lmd_pool *p;
	size_t total, entries;
	enum lmd_status st;

	p = h->alloc(h->ctx, sizeof(*p) + d->n_cache * sizeof(*p->caches));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "group %u: no memory for a pool", d->group);
	p->caches = (struct ref_cache *)(p + 1);
	p->n_cache = d->n_cache;
	p->desc = *d->desc;
	p->state = d->desc->kind == LMD_GROUP_STATE;
	p->n_unit = p->state ? d->n_slot : d->n_page;
	p->page_tokens = d->page_tokens;
	p->n_seq = d->n_seq;
	p->n_index = d->n_index;
	st = LMD_INVALID;
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
	st = d->n_seq ? ref_chain_reserve(dev, d->n_seq, err) : LMD_OK;
	if (st != LMD_OK)
		goto undo;
	*out = p;
	return LMD_OK;
undo:
	ref_pool_destroy(dev, p);
	return st;
}

void ref_pool_destroy(void *state, struct lmd_pool *pool)
{
	const struct lmd_host *h = ((struct ref_dev *)state)->host;

	if (!pool)
		return;
	h->free(h->ctx, pool->mem);
	h->free(h->ctx, pool->table);
	h->free(h->ctx, pool);
}

/* Moves rows between a unit and host memory, cache by cache, K then V. */
static enum lmd_status transfer(struct lmd_pool *p, const struct lmd_pool_op *op,
				struct lmd_error *err)
{
	bool export = op->kind == LMD_POOL_EXPORT;
	uint32_t unit = export ? op->src : op->dst;
	char *mem = p->mem + (size_t)unit * p->unit_bytes, *host = op->host;
	uint64_t need = 0;

	if (!p->state && (op->row0 > p->page_tokens || op->n_row > p->page_tokens - op->row0))
		return lmd_fail(err, LMD_INVALID, "pool: rows %u..%u of a page of %u", op->row0,
				op->row0 + op->n_row, p->page_tokens);
	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct ref_cache *c = &p->caches[i];

		need += (p->state ? c->n_row : op->n_row) * (uint64_t)(c->k_row + c->v_row);
	}
	if (need > op->host_bytes || (need && !host))
		return lmd_fail(err, LMD_INVALID, "pool: %llu bytes of host memory, %llu needed",
				(unsigned long long)op->host_bytes, (unsigned long long)need);
	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct ref_cache *c = &p->caches[i];
		uint32_t row0 = p->state ? 0 : op->row0, n = p->state ? c->n_row : op->n_row;
		char *part[2] = {mem + c->k_off + row0 * c->k_row,
				 mem + c->v_off + row0 * c->v_row};
		size_t bytes[2] = {n * c->k_row, n * c->v_row};

		for (int j = 0; j < 2; j++) {
			if (bytes[j])
				memcpy(export ? host : part[j], export ? part[j] : host, bytes[j]);
			host += bytes[j];
		}
	}
	return LMD_OK;
}

enum lmd_status ref_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
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
		switch (op->kind) {
		case LMD_POOL_COPY_PAGE:
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

void ref_cache_encode(const struct ref_dev *dev, uint32_t dtype, const float *src, void *dst,
		      uint32_t n)
{
	if (dtype == LMD_DTYPE_F32)
		memcpy(dst, src, n * sizeof(*src));
	else
		(void)dev->host->quant_rows(dev->host->ctx, dtype, src, dst,
					    n); /* the type was tried in row_bytes */
}

const float *ref_cache_decode(const struct ref_dev *dev, uint32_t dtype, const void *src,
			      float *tmp, uint32_t n)
{
	if (dtype == LMD_DTYPE_F32)
		return src;
	(void)dev->host->dequant_rows(dev->host->ctx, dtype, src, tmp, n);
	return tmp;
}
