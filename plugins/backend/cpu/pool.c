/* SPDX-License-Identifier: MIT
 *
 * Pools of pages with the layout of kv.h. */
#include <string.h>
#include <sys/mman.h>

#include "kv.h"

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

static bool is_transposed(const struct lmd_cache *x)
{
	return x->kind == LMD_CACHE_KV &&
	       (x->k_dtype == LMD_DTYPE_F32 || x->k_dtype == LMD_DTYPE_F16 ||
		x->k_dtype == LMD_DTYPE_BF16);
}

enum lmd_status cpu_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err)
{
	enum lmd_status st;

	if (d->desc->kind != LMD_GROUP_STATE && d->page_tokens != CPU_PAGE_TOKENS)
		return lmd_fail(err, LMD_INVALID,
				"group %u: pages have %u tokens, this backend needs %u", d->group,
				d->page_tokens, CPU_PAGE_TOKENS);
	st = host_mem_pool_create(((struct cpu_dev *)state)->host, d, out, err);
	if (st != LMD_OK)
		return st;
	cpu_large_pages((*out)->mem, (*out)->bytes);
	for (uint32_t i = 0; i < (*out)->n_cache; i++)
		(*out)->caches[i].k_turned = is_transposed(&(*out)->caches[i].desc);
	return LMD_OK;
}

void cpu_pool_destroy(void *state, struct lmd_pool *pool)
{
	host_mem_pool_destroy(((struct cpu_dev *)state)->host, pool);
}

static void copy_page(const struct lmd_pool *p, uint32_t src, uint32_t dst)
{
	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct host_mem_cache *c = &p->caches[i];

		for (uint32_t h = 0; h < c->desc.n_head; h++) {
			memcpy(cpu_kv_k(c, dst, h), cpu_kv_k(c, src, h),
			       c->k_head * CPU_PAGE_TOKENS);
			if (c->has_v)
				memcpy(cpu_kv_v(c, dst, h), cpu_kv_v(c, src, h),
				       c->v_head * CPU_PAGE_TOKENS);
		}
	}
}

/* Copies between pool memory and host memory; `out` = from the pool. */
static void move(bool out, char *mem, char *host, size_t n)
{
	memcpy(out ? host : mem, out ? mem : host, n);
}

static void move_rows(const struct lmd_pool *p, const struct host_mem_cache *c, bool v, bool out,
		      uint32_t page, uint32_t row0, uint32_t n_row, char *host)
{
	size_t head_bytes = v ? c->v_head : c->k_head, item = c->k_head / c->desc.dk;

	(void)p;
	for (uint32_t row = row0; row < row0 + n_row; row++) {
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

enum lmd_status cpu_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done, struct lmd_error *err)
{
	static const struct host_mem_pages pages = {copy_page, move_rows};

	(void)state;
	(void)q;
	(void)done; /* pool operations and plans run in the calling thread, always in order */
	return host_mem_pool_op(pool, &pages, ops, n, err);
}
