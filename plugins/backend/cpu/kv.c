/* SPDX-License-Identifier: MIT
 *
 * Stores and reads single rows and whole pages of keys and values; kv.h describes the layouts. */
#include "kv.h"

#include <string.h>

#include "kern/float.h"

void cpu_cache_encode(const struct cpu_dev *dev, uint32_t dtype, const float *src, void *dst,
		      uint32_t n)
{
	switch (dtype) {
	case LMD_DTYPE_F32:
		memcpy(dst, src, n * sizeof(*src));
		break;
	case LMD_DTYPE_F16:
		dev->fl->f16_from(src, dst, n);
		break;
	case LMD_DTYPE_BF16:
		dev->fl->bf16_from(src, dst, n);
		break;
	default: /* pool_create tried the type */
		(void)dev->host->quant_rows(dev->host->ctx, dtype, src, dst, n);
		break;
	}
}

void cpu_cache_decode(const struct cpu_dev *dev, uint32_t dtype, const void *src, float *dst,
		      uint32_t n)
{
	switch (dtype) {
	case LMD_DTYPE_F32:
		memcpy(dst, src, n * sizeof(*dst));
		break;
	case LMD_DTYPE_F16:
		dev->fl->f16_to(src, dst, n);
		break;
	case LMD_DTYPE_BF16:
		dev->fl->bf16_to(src, dst, n);
		break;
	default: /* pool_create tried the type */
		(void)dev->host->dequant_rows(dev->host->ctx, dtype, src, dst, n);
		break;
	}
}

/* Bytes of an element of a transposed K. */
static size_t item_bytes(const struct host_mem_cache *c)
{
	return c->desc.k_dtype == LMD_DTYPE_F32 ? 4 : 2;
}

/* Copies n elements of `item` bytes to every 32nd element of `to`. */
static void scatter(char *to, const void *from, uint32_t n, size_t item)
{
	for (uint32_t i = 0; item == 2 && i < n; i++)
		((uint16_t *)(void *)to)[i * CPU_PAGE_TOKENS] = ((const uint16_t *)from)[i];
	for (uint32_t i = 0; item == 4 && i < n; i++)
		((uint32_t *)(void *)to)[i * CPU_PAGE_TOKENS] = ((const uint32_t *)from)[i];
}

void cpu_kv_put_k(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
		  uint32_t head, uint32_t row, const float *x, void *tmp)
{
	char *k = cpu_kv_k(c, page, head);
	size_t item = item_bytes(c);

	if (!c->k_turned) {
		cpu_cache_encode(dev, c->desc.k_dtype, x, k + row * c->k_head, c->desc.dk);
		return;
	}
	cpu_cache_encode(dev, c->desc.k_dtype, x, tmp, c->desc.dk);
	scatter(k + row * item, tmp, c->desc.dk, item);
}

void cpu_kv_put_v(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
		  uint32_t head, uint32_t row, const float *x)
{
	cpu_cache_encode(dev, c->desc.v_dtype, x, cpu_kv_v(c, page, head) + row * c->v_head,
			 c->desc.dv);
}

void cpu_kv_get_k(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
		  uint32_t head, uint32_t row, float *x)
{
	const char *k = cpu_kv_k(c, page, head);
	size_t item = item_bytes(c);

	if (!c->k_turned) {
		cpu_cache_decode(dev, c->desc.k_dtype, k + row * c->k_head, x, c->desc.dk);
		return;
	}
	for (uint32_t i = 0; i < c->desc.dk; i++)
		cpu_cache_decode(dev, c->desc.k_dtype, k + (i * CPU_PAGE_TOKENS + row) * item,
				 x + i, 1);
}

const float *cpu_kv_tile_k(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
			   uint32_t head, float *tmp, float *tmp2)
{
	const char *k = cpu_kv_k(c, page, head);
	uint32_t dk = c->desc.dk;

	if (c->k_turned && c->desc.k_dtype == LMD_DTYPE_F32)
		return (const float *)(const void *)k;
	if (c->k_turned) {
		cpu_cache_decode(dev, c->desc.k_dtype, k, tmp, dk * CPU_PAGE_TOKENS);
		return tmp;
	}
	cpu_cache_decode(dev, c->desc.k_dtype, k, tmp2, dk * CPU_PAGE_TOKENS);
	for (uint32_t i = 0; i < dk; i++) {
		for (uint32_t row = 0; row < CPU_PAGE_TOKENS; row++)
			tmp[i * CPU_PAGE_TOKENS + row] = tmp2[(size_t)row * dk + i];
	}
	return tmp;
}

const float *cpu_kv_tile_v(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
			   uint32_t head, float *tmp, uint32_t *ld)
{
	const char *v = c->has_v ? cpu_kv_v(c, page, head) : cpu_kv_k(c, page, head);
	uint32_t dtype = c->has_v ? c->desc.v_dtype : c->desc.k_dtype;

	*ld = c->has_v ? c->desc.dv : c->desc.dk;
	if (dtype == LMD_DTYPE_F32)
		return (const float *)(const void *)v;
	cpu_cache_decode(dev, dtype, v, tmp, *ld * CPU_PAGE_TOKENS);
	return tmp;
}
