/* SPDX-License-Identifier: MIT
 *
 * prefix_memory.h - the host-memory tier of the prefix cache: copies of pages and states whose own place is
 * the memory of a device.
 *
 * They belong to no engine, so that they outlive an unload of their model. What was used longest ago is
 * dropped first, within the shares of prefix_index.h. Threads: any; only the index is locked, never while
 * rows are copied. */
#ifndef LLAMAD_SERVICE_PREFIX_MEMORY_H
#define LLAMAD_SERVICE_PREFIX_MEMORY_H

#include "service/prefix_index.h"

struct lmi_svc_prefix_memory;

enum lmd_status lmi_svc_prefix_memory_create(struct lmi_svc_prefix_memory **out, uint64_t max_bytes,
					     struct lmd_error *err);
/* m may be NULL. */
void lmi_svc_prefix_memory_destroy(struct lmi_svc_prefix_memory *m);
/* Changes the limit; 0: nothing is kept. Returns true if there is more now: call lmi_svc_prefix_memory_trim. */
bool lmi_svc_prefix_memory_limit(struct lmi_svc_prefix_memory *m, uint64_t max_bytes);
/* Drops what exceeds the limit. */
void lmi_svc_prefix_memory_trim(struct lmi_svc_prefix_memory *m);

bool lmi_svc_prefix_memory_has(struct lmi_svc_prefix_memory *m, const struct lmi_svc_prefix_key *key);
/* It was used: it is dropped later than the others. Does nothing if it is not there. */
void lmi_svc_prefix_memory_touch(struct lmi_svc_prefix_memory *m, const struct lmi_svc_prefix_key *key);
/* Copies n bytes of rows, unless they are there: then they count as used. LMD_BUSY: they exceed the limit;
 * LMD_NOMEM. */
enum lmd_status lmi_svc_prefix_memory_put(struct lmi_svc_prefix_memory *m,
					  const struct lmi_svc_prefix_key *key, const void *bytes,
					  size_t n, struct lmd_error *err);
/* Copies n bytes of rows out, which count as used. Returns false if they are not there, or have another
 * length. */
bool lmi_svc_prefix_memory_get(struct lmi_svc_prefix_memory *m, const struct lmi_svc_prefix_key *key,
			       void *bytes, size_t n);
/* Drops everything of a tenant. */
void lmi_svc_prefix_memory_forget(struct lmi_svc_prefix_memory *m, uint64_t tenant);

struct lmi_svc_prefix_memory_stats {
	uint64_t n_entry, n_bytes; /* now */
	uint64_t n_put, n_get, n_evicted;
};
void lmi_svc_prefix_memory_stats(struct lmi_svc_prefix_memory *m,
				 struct lmi_svc_prefix_memory_stats *out);

#endif /* LLAMAD_SERVICE_PREFIX_MEMORY_H */
