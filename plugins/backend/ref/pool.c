/* SPDX-License-Identifier: MIT
 *
 * Pools with plain pages; encodes and decodes the numbers in their caches. */
#include <string.h>

#include "ref.h"

enum lmd_status ref_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err)
{
	struct ref_dev *dev = state;
	struct lmd_pool *p;
	enum lmd_status st = host_mem_pool_create(dev->host, d, &p, err);

	if (st != LMD_OK)
		return st;
	st = d->n_seq ? ref_chain_reserve(dev, d->n_seq, err) : LMD_OK;
	if (st != LMD_OK) {
		host_mem_pool_destroy(dev->host, p);
		return st;
	}
	*out = p;
	return LMD_OK;
}

void ref_pool_destroy(void *state, struct lmd_pool *pool)
{
	host_mem_pool_destroy(((struct ref_dev *)state)->host, pool);
}

enum lmd_status ref_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done, struct lmd_error *err)
{
	(void)state;
	(void)q;
	(void)done; /* pool operations and plans run in the calling thread, always in order */
	return host_mem_pool_op(pool, &host_mem_pages_plain, ops, n, err);
}

void ref_cache_encode(const struct ref_dev *dev, uint32_t dtype, const float *src, void *dst,
		      uint32_t n)
{
	if (dtype == LMD_DTYPE_F32)
		memcpy(dst, src, n * sizeof(*src));
	else
		(void)dev->host->quant_rows(dev->host->ctx, dtype, src, dst,
					    n); /* row_bytes tried the type */
}

const float *ref_cache_decode(const struct ref_dev *dev, uint32_t dtype, const void *src,
			      float *tmp, uint32_t n)
{
	if (dtype == LMD_DTYPE_F32)
		return src;
	(void)dev->host->dequant_rows(dev->host->ctx, dtype, src, tmp, n);
	return tmp;
}

void ref_cache_read(const struct ref_dev *dev, uint32_t dtype, const void *src, float *dst,
		    uint32_t n)
{
	const float *v = ref_cache_decode(dev, dtype, src, dst, n);

	if (v != dst)
		memcpy(dst, v, n * sizeof(*dst));
}
