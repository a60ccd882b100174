/* SPDX-License-Identifier: MIT
 *
 * A ring of tensors; the oldest go when there is no room. */
#include "core/conformance/tensor_cache.h"

#include <string.h>

#include "core/base/alloc.h"

#define N_ENTRY 1024u

struct entry {
	struct oc_tensor_key key;
	uint64_t bytes, rng;
	void *data; /* NULL: unused */
};

struct oc_tensor_cache {
	uint64_t most, used;
	uint32_t oldest, n; /* in use: oldest .. oldest + n - 1, around the end */
	struct entry entries[N_ENTRY];
};

struct oc_tensor_cache *oc_tensor_cache_create(uint64_t bytes)
{
	struct oc_tensor_cache *c = lmi_alloc(1, sizeof(*c));

	if (c)
		c->most = bytes;
	return c;
}

static void drop_oldest(struct oc_tensor_cache *c)
{
	struct entry *e = &c->entries[c->oldest];

	lmi_free(e->data);
	c->used -= e->bytes;
	*e = (struct entry){0};
	c->oldest = (c->oldest + 1) % N_ENTRY;
	c->n--;
}

void oc_tensor_cache_destroy(struct oc_tensor_cache *c)
{
	while (c && c->n)
		drop_oldest(c);
	lmi_free(c);
}

static bool same(const struct oc_tensor_key *a, const struct oc_tensor_key *b)
{
	return a->dtype == b->dtype && a->n == b->n && a->k == b->k && a->rng == b->rng &&
	       !memcmp(&a->mean, &b->mean, sizeof(a->mean)) &&
	       !memcmp(&a->std, &b->std, sizeof(a->std));
}

bool oc_tensor_cache_get(const struct oc_tensor_cache *c, const struct oc_tensor_key *key, void *out,
			 uint64_t bytes, uint64_t *rng)
{
	for (uint32_t i = 0; c && i < c->n; i++) {
		const struct entry *e = &c->entries[(c->oldest + i) % N_ENTRY];

		if (e->bytes != bytes || !same(&e->key, key))
			continue;
		memcpy(out, e->data, (size_t)bytes);
		*rng = e->rng;
		return true;
	}
	return false;
}

void oc_tensor_cache_put(struct oc_tensor_cache *c, const struct oc_tensor_key *key, const void *data,
			 uint64_t bytes, uint64_t rng)
{
	void *copy;

	if (!c || !bytes || bytes > c->most)
		return;
	while (c->n == N_ENTRY || c->used + bytes > c->most)
		drop_oldest(c);
	copy = lmi_alloc(1, (size_t)bytes);
	if (!copy)
		return;
	memcpy(copy, data, (size_t)bytes);
	c->entries[(c->oldest + c->n++) % N_ENTRY] =
		(struct entry){.key = *key, .bytes = bytes, .rng = rng, .data = copy};
	c->used += bytes;
}
