/* SPDX-License-Identifier: MIT
 *
 * Adapters: a table of copies of A and B, sorted by (site, slot). */
#include "common/lora.h"

#include <stdbool.h>
#include <string.h>

static uint64_t key(uint32_t slot, uint32_t site)
{
	return (uint64_t)site << 32 | slot;
}

/* Returns the index of the first entry whose key is not less than k. */
static uint32_t lower_bound(const struct lora_table *t, uint64_t k)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (key(t->v[mid].slot, t->v[mid].site) < k)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct lora *lora_find(const struct lora_table *t, uint32_t slot, uint32_t site)
{
	uint32_t i = lower_bound(t, key(slot, site));

	if (i == t->n || t->v[i].slot != slot || t->v[i].site != site)
		return NULL;
	return &t->v[i];
}

static void forget(struct lora_table *t, const struct lmd_host *h, uint32_t i)
{
	h->free(h->ctx, t->v[i].a);
	h->free(h->ctx, t->v[i].b);
	h->free(h->ctx, t->v[i].gain);
	t->n--;
	memmove(&t->v[i], &t->v[i + 1],
		(t->n - i) * sizeof(*t->v));
}

static bool grow(struct lora_table *t, const struct lmd_host *h)
{
	uint32_t cap = t->cap ? 2 * t->cap : 16;
	struct lora *more;

	if (t->n < t->cap)
		return true;
	more = h->alloc(h->ctx, cap * sizeof(*more));
	if (!more)
		return false;
	if (t->n)
		memcpy(more, t->v, t->n * sizeof(*more));
	h->free(h->ctx, t->v);
	t->v = more;
	t->cap = cap;
	return true;
}

/* Copies n0*n1*n2 numbers; *out is NULL if there are none. */
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

enum lmd_status lora_bind(struct lora_table *t, const struct lmd_host *h,
			  const struct lmd_adapter_bind *b, struct lmd_error *err)
{
	uint32_t i = lower_bound(t, key(b->slot, b->site));
	bool have = lora_find(t, b->slot, b->site) != NULL;
	const float *gain = LMD_HAS(b, gain) ? b->gain : NULL;
	struct lora x = {
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
			forget(t, h, i);
		return LMD_OK;
	}
	if (!b->n || (b->rank && !b->k))
		return lmd_fail(err, LMD_INVALID,
				"adapter slot %u, site %u: shape [%u, %u] of rank %u", b->slot,
				b->site, b->n, b->k, b->rank);
	if (!copy(h, b->a, x.n_stack, x.rank, x.k, &x.a) ||
	    !copy(h, b->b, x.n_stack, x.n, x.rank ? x.rank : 1, &x.b) ||
	    (gain && !copy(h, gain, x.n_stack, x.n, 1, &x.gain)) || (!have && !grow(t, h))) {
		h->free(h->ctx, x.a);
		h->free(h->ctx, x.b);
		h->free(h->ctx, x.gain);
		return lmd_fail(err, LMD_NOMEM,
				"adapter slot %u, site %u: no memory for rank %u of "
				"[%u, %u]",
				b->slot, b->site, b->rank, b->n, b->k);
	}
	if (have)
		forget(t, h, i);
	memmove(&t->v[i + 1], &t->v[i],
		(t->n - i) * sizeof(*t->v));
	t->v[i] = x;
	t->n++;
	return LMD_OK;
}

void lora_fini(struct lora_table *t, const struct lmd_host *h)
{
	while (t->n)
		forget(t, h, t->n - 1);
	h->free(h->ctx, t->v);
	*t = (struct lora_table){0};
}

void lora_gain(const struct lora *ad, uint32_t slice, uint32_t n, float *out)
{
	const float *g = ad ? ad->gain : NULL;

	if (g && ad->n_stack > 1)
		g += (size_t)slice * ad->n;
	for (uint32_t i = 0; i < n; i++)
		out[i] = g ? g[i] : 1;
}

enum lmd_status lora_sites_add(struct lora_sites *s, const struct lmd_host *h,
			       const struct lora_site *site, struct lmd_error *err)
{
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 64;
		struct lora_site *more = h->alloc(h->ctx, cap * sizeof(*more));

		if (!more)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u adapter sites", cap);
		if (s->n)
			memcpy(more, s->v, s->n * sizeof(*more));
		h->free(h->ctx, s->v);
		s->v = more;
		s->cap = cap;
	}
	s->v[s->n++] = *site;
	return LMD_OK;
}

void lora_sites_fini(struct lora_sites *s, const struct lmd_host *h)
{
	h->free(h->ctx, s->v);
	*s = (struct lora_sites){0};
}

enum lmd_status lora_check(const struct lora_table *t, const struct lora_sites *s,
			   const int32_t *slots, uint32_t n_tok, struct lmd_error *err)
{
	for (uint32_t i = 0; i < n_tok; i++) {
		if (slots[i] <= 0 || (i && slots[i] == slots[i - 1]))
			continue;
		for (uint32_t j = 0; j < s->n; j++) {
			const struct lora_site *x = &s->v[j];
			const struct lora *a = lora_find(t, (uint32_t)slots[i], x->site);

			if (a && (a->n != x->n || (a->rank && a->k != x->k) ||
				  (a->n_stack != 1 && a->n_stack != x->n_stack)))
				return lmd_fail(err, LMD_INVALID,
						"adapter slot %d, site %u: shape "
						"[%u, %u, %u], %s has [%u, %u, %u]",
						slots[i], x->site, a->n_stack, a->n, a->k, x->name,
						x->n_stack, x->n, x->k);
		}
	}
	return LMD_OK;
}
