/* SPDX-License-Identifier: MIT
 *
 * mem.h - growable host memory for plugins. */
#ifndef LLAMAD_PLUGINS_COMMON_MEM_H
#define LLAMAD_PLUGINS_COMMON_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "llamad/host.h"

/* Allocates n zeroed items of item_bytes. Returns NULL if the product overflows or memory is
 * short. n = 0 allocates one item, so that NULL always means failure. */
static inline void *lmi_host_array(const struct lmd_host *host, size_t n, size_t item_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(n ? n : 1, item_bytes, &bytes))
		return NULL;
	return host->alloc(host->ctx, bytes);
}

static inline void lmi_host_free(const struct lmd_host *host, void *p)
{
	host->free(host->ctx, p);
}

/* A buffer that only grows. A zeroed struct is empty; release with lmi_buf_fini. */
struct lmi_buf {
	void *p;
	size_t bytes;
};

/* Ensures a size of at least `bytes`, at least doubling the buffer; keeps the contents. Returns
 * false if out of memory; the buffer is then unchanged. */
static inline bool lmi_buf_need(struct lmi_buf *b, const struct lmd_host *host, size_t bytes)
{
	size_t want;
	void *p;

	if (LMD_LIKELY(bytes <= b->bytes))
		return true;
	want = b->bytes <= SIZE_MAX / 2 && b->bytes * 2 > bytes ? b->bytes * 2 : bytes;
	p = host->alloc(host->ctx, want < 256 ? 256 : want);
	if (!p)
		return false;
	if (b->bytes)
		memcpy(p, b->p, b->bytes);
	host->free(host->ctx, b->p);
	b->p = p;
	b->bytes = want < 256 ? 256 : want;
	return true;
}

static inline void lmi_buf_fini(struct lmi_buf *b, const struct lmd_host *host)
{
	if (b->p)
		host->free(host->ctx, b->p);
	b->p = NULL;
	b->bytes = 0;
}

#endif /* LLAMAD_PLUGINS_COMMON_MEM_H */
