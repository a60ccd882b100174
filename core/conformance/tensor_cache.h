/* SPDX-License-Identifier: MIT
 *
 * tensor_cache.h - encoded tensors of cases.  A case makes the same tensors for each layout, device and
 * kind of activations, and the search of some encoders takes far longer than the case itself.
 *
 * Threads: one at a time. */
#ifndef LLAMAD_CORE_CONFORMANCE_TENSOR_CACHE_H
#define LLAMAD_CORE_CONFORMANCE_TENSOR_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Everything that decides the bytes of a tensor. */
struct oc_tensor_key {
	uint32_t dtype;
	uint64_t n, k;
	double mean, std;
	uint64_t rng; /* before its first number */
};

struct oc_tensor_cache;

/* Keeps at most so many bytes, those that were made last.  NULL: out of memory. */
struct oc_tensor_cache *oc_tensor_cache_create(uint64_t bytes);
void oc_tensor_cache_destroy(struct oc_tensor_cache *c);
/* Copies a tensor of so many bytes to `out` and sets *rng to what it was after the last number; false if
 * it is not there.  c NULL: nothing is. */
bool oc_tensor_cache_get(const struct oc_tensor_cache *c, const struct oc_tensor_key *key, void *out,
			 uint64_t bytes, uint64_t *rng);
/* Keeps a copy, if there is memory.  c NULL: does nothing. */
void oc_tensor_cache_put(struct oc_tensor_cache *c, const struct oc_tensor_key *key, const void *data,
			 uint64_t bytes, uint64_t rng);

#endif /* LLAMAD_CORE_CONFORMANCE_TENSOR_CACHE_H */
