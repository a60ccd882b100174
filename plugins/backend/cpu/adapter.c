/* SPDX-License-Identifier: MIT
 *
 * Adapters: a table ordered by (site, slot) of copies of A and B. */
#include <string.h>

#include "cpu.h"

static uint64_t key(uint32_t slot, uint32_t site)
{
	return (uint64_t)site << 32 | slot;
}

/* Index of the first entry whose key is not less. */
static uint32_t lower_bound(const struct cpu_dev *dev, uint64_t k)
{
	uint32_t lo = 0, hi = dev->n_adapter;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (key(dev->adapters[mid].slot, dev->adapters[mid].site) < k)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct cpu_adapter *cpu_adapter_find(const struct cpu_dev *dev, uint32_t slot, uint32_t site)
{
	uint32_t i = lower_bound(dev, key(slot, site));

	if (i == dev->n_adapter || dev->adapters[i].slot != slot || dev->adapters[i].site != site)
		return NULL;
	return &dev->adapters[i];
}

static void forget(struct cpu_dev *dev, uint32_t i)
{
	const struct lmd_host *h = dev->host;

	h->free(h->ctx, dev->adapters[i].a);
	h->free(h->ctx, dev->adapters[i].b);
	dev->n_adapter--;
	memmove(&dev->adapters[i], &dev->adapters[i + 1],
		(dev->n_adapter - i) * sizeof(*dev->adapters));
}

static bool grow(struct cpu_dev *dev)
{
	const struct lmd_host *h = dev->host;
	uint32_t cap = dev->cap_adapter ? 2 * dev->cap_adapter : 16;
	struct cpu_adapter *more;

	if (dev->n_adapter < dev->cap_adapter)
		return true;
	more = h->alloc(h->ctx, cap * sizeof(*more));
	if (!more)
		return false;
	if (dev->n_adapter)
		memcpy(more, dev->adapters, dev->n_adapter * sizeof(*more));
	h->free(h->ctx, dev->adapters);
	dev->adapters = more;
	dev->cap_adapter = cap;
	return true;
}

/* Copies n0*n1*n2 numbers; *out NULL for none. */
static bool copy(const struct lmd_host *h, const float *src, uint64_t n0, uint64_t n1, uint64_t n2,
		 float **out)
{
	uint64_t n;

	*out = NULL;
	if (__builtin_mul_overflow(n0, n1, &n) || __builtin_mul_overflow(n, n2, &n) ||
	    n > SIZE_MAX / sizeof(float))
		return false;
	if (!n)
		return true;
	*out = h->alloc(h->ctx, (size_t)n * sizeof(float));
	if (*out)
		memcpy(*out, src, (size_t)n * sizeof(float));
	return *out != NULL;
}

enum lmd_status cpu_adapter_bind(void *state, const struct lmd_adapter_bind *b,
				 struct lmd_error *err)
{
	struct cpu_dev *dev = state;
	const struct lmd_host *h = dev->host;
	uint32_t i = lower_bound(dev, key(b->slot, b->site));
	bool have = cpu_adapter_find(dev, b->slot, b->site) != NULL;
	struct cpu_adapter x = {
		.slot = b->slot,
		.site = b->site,
		.rank = b->rank,
		.n = b->n,
		.k = b->k,
		.n_stack = b->n_stack ? b->n_stack : 1,
		.scale = b->scale,
	};

	if (!b->slot)
		return lmd_fail(err, LMD_INVALID, "adapter: slot 0 means no adapter");
	if (!b->b || (b->rank && !b->a)) {
		if (have)
			forget(dev, i);
		return LMD_OK;
	}
	if (!b->n || (b->rank && !b->k))
		return lmd_fail(err, LMD_INVALID,
				"adapter slot %u, site %u: shape [%u, %u] of rank %u", b->slot,
				b->site, b->n, b->k, b->rank);
	if (!copy(h, b->a, x.n_stack, x.rank, x.k, &x.a) ||
	    !copy(h, b->b, x.n_stack, x.n, x.rank ? x.rank : 1, &x.b) || (!have && !grow(dev))) {
		h->free(h->ctx, x.a);
		h->free(h->ctx, x.b);
		return lmd_fail(err, LMD_NOMEM,
				"adapter slot %u, site %u: no memory for rank %u of "
				"[%u, %u]",
				b->slot, b->site, b->rank, b->n, b->k);
	}
	if (have)
		forget(dev, i);
	memmove(&dev->adapters[i + 1], &dev->adapters[i],
		(dev->n_adapter - i) * sizeof(*dev->adapters));
	dev->adapters[i] = x;
	dev->n_adapter++;
	return LMD_OK;
}

void cpu_adapter_fini(struct cpu_dev *dev)
{
	while (dev->n_adapter)
		forget(dev, dev->n_adapter - 1);
	dev->host->free(dev->host->ctx, dev->adapters);
	dev->adapters = NULL;
	dev->cap_adapter = 0;
}
