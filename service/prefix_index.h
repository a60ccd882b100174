/* SPDX-License-Identifier: MIT
 *
 * prefix_index.h - what a tier of the prefix cache has: pages and states by key, and for each tenant in the
 * order of use.
 *
 * Half of the limits is divided equally among the tenants that have something. Of what a tenant has within
 * its share nothing is removed for others, so that one cannot push out what all others have. Not
 * thread-safe: the tiers lock it. */
#ifndef LLAMAD_SERVICE_PREFIX_INDEX_H
#define LLAMAD_SERVICE_PREFIX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "llamad/status.h"

/* Names a page or state: CHAIN is the SHA-256 of the tokens up to its end, the model and all that its rows
 * depend on (prefix_parts.c), GROUP the number of the group of caches. */
struct lmi_svc_prefix_key {
	uint64_t tenant;
	uint32_t group;
	uint8_t chain[LMI_SHA256_BYTES];
};

#define LMI_SVC_PREFIX_ENTRIES_MAX 262144u /* of a tier; more are not kept */

struct lmi_svc_prefix_entry {
	struct lmi_svc_prefix_key key;
	struct lmi_svc_prefix_tenant *tenant;
	uint64_t bytes; /* that it takes */
	uint64_t used;	/* number of its last use */
	uint32_t refs;	/* prefix_memory.c: readers, and one while it is in the index */
	uint8_t *rows;	/* prefix_memory.c: owned; NULL in the index of files */
	struct lmi_svc_prefix_entry *bucket_next;
	struct lmi_svc_prefix_entry *older, *newer; /* of the tenant, by last use */
};

/* One that has something. */
struct lmi_svc_prefix_tenant {
	struct lmi_svc_prefix_tenant *next;
	uint64_t id, n_entry, n_bytes;
	struct lmi_svc_prefix_entry *oldest, *newest;
};

struct lmi_svc_prefix_index {
	uint64_t max_bytes, n_use;
	uint64_t n_entry, n_bytes, n_evicted;
	struct lmi_svc_prefix_entry **bucket;
	struct lmi_svc_prefix_tenant *tenants;
	uint64_t n_tenant;
};

enum lmd_status lmi_svc_prefix_index_init(struct lmi_svc_prefix_index *x, uint64_t max_bytes,
					  struct lmd_error *err);
/* The index must be empty. */
void lmi_svc_prefix_index_fini(struct lmi_svc_prefix_index *x);
struct lmi_svc_prefix_entry *lmi_svc_prefix_index_find(const struct lmi_svc_prefix_index *x,
						       const struct lmi_svc_prefix_key *key);
/* Adds an entry as the latest one. Returns false, with the entry unchanged, if there is one with this key
 * or no memory. */
bool lmi_svc_prefix_index_add(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_entry *own_e);
/* Makes it the latest one. */
void lmi_svc_prefix_index_touch(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_entry *e);
/* Takes an entry out; the caller owns it then. */
void lmi_svc_prefix_index_take(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_entry *e);
/* Takes any entry out, or any of one tenant; NULL: there is none. */
struct lmi_svc_prefix_entry *lmi_svc_prefix_index_take_any(struct lmi_svc_prefix_index *x);
struct lmi_svc_prefix_entry *lmi_svc_prefix_index_take_of(struct lmi_svc_prefix_index *x,
							  uint64_t tenant);
bool lmi_svc_prefix_index_is_full(const struct lmi_svc_prefix_index *x);
/* Takes out what exceeds the limits, but at most 1024 entries; returns it as a list by `newer`. */
struct lmi_svc_prefix_entry *lmi_svc_prefix_index_take_excess(struct lmi_svc_prefix_index *x);

#endif /* LLAMAD_SERVICE_PREFIX_INDEX_H */
