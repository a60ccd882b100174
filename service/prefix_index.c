/* SPDX-License-Identifier: MIT
 *
 * A hash table and, for each tenant, a list by time of use. */
#include "service/prefix_index.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"

#define N_BUCKET   65536u
#define EXCESS_MAX 1024u /* entries that are taken out at a time */

static struct lmi_svc_prefix_entry **bucket_of(const struct lmi_svc_prefix_index *x,
					       const struct lmi_svc_prefix_key *k)
{
	/* the chain is a SHA-256: its bits need no further hash */
	return &x->bucket[(lmi_get_le32(k->chain) ^ k->group ^ (uint32_t)k->tenant) % N_BUCKET];
}

static bool same_key(const struct lmi_svc_prefix_key *a, const struct lmi_svc_prefix_key *b)
{
	return a->tenant == b->tenant && a->group == b->group &&
	       !memcmp(a->chain, b->chain, sizeof(a->chain));
}

enum lmd_status lmi_svc_prefix_index_init(struct lmi_svc_prefix_index *x, uint64_t max_bytes,
					  struct lmd_error *err)
{
	*x = (struct lmi_svc_prefix_index){.max_bytes = max_bytes};
	x->bucket = lmi_alloc(N_BUCKET, sizeof(*x->bucket));
	return x->bucket ? LMD_OK
			 : lmd_fail(err, LMD_NOMEM, "no memory for the index of saved prefixes");
}

void lmi_svc_prefix_index_fini(struct lmi_svc_prefix_index *x)
{
	lmi_free(x->bucket);
	*x = (struct lmi_svc_prefix_index){0};
}

struct lmi_svc_prefix_entry *lmi_svc_prefix_index_find(const struct lmi_svc_prefix_index *x,
						       const struct lmi_svc_prefix_key *key)
{
	struct lmi_svc_prefix_entry *e = *bucket_of(x, key);

	while (e && !same_key(&e->key, key))
		e = e->bucket_next;
	return e;
}

/* ---- by use ---- */

static void list_remove(struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_tenant *t = e->tenant;

	*(e->older ? &e->older->newer : &t->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &t->newest) = e->older;
}

static void list_append(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_tenant *t = e->tenant;

	e->used = ++x->n_use;
	e->newer = NULL;
	e->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = e;
	t->newest = e;
}

void lmi_svc_prefix_index_touch(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_entry *e)
{
	list_remove(e);
	list_append(x, e);
}

static struct lmi_svc_prefix_tenant *find_tenant(const struct lmi_svc_prefix_index *x, uint64_t id)
{
	struct lmi_svc_prefix_tenant *t = x->tenants;

	while (t && t->id != id)
		t = t->next;
	return t;
}

static struct lmi_svc_prefix_tenant *take_tenant(struct lmi_svc_prefix_index *x, uint64_t id)
{
	struct lmi_svc_prefix_tenant *t = find_tenant(x, id);

	if (t || !(t = lmi_alloc(1, sizeof(*t))))
		return t;
	t->id = id;
	t->next = x->tenants;
	x->tenants = t;
	x->n_tenant++;
	return t;
}

static void drop_tenant(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_tenant *t)
{
	struct lmi_svc_prefix_tenant **p = &x->tenants;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	x->n_tenant--;
	lmi_free(t);
}

/* ---- entries ---- */

bool lmi_svc_prefix_index_add(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_entry **b = bucket_of(x, &e->key);

	if (lmi_svc_prefix_index_find(x, &e->key) || !(e->tenant = take_tenant(x, e->key.tenant)))
		return false;
	e->bucket_next = *b;
	*b = e;
	list_append(x, e);
	e->tenant->n_entry++;
	e->tenant->n_bytes += e->bytes;
	x->n_entry++;
	x->n_bytes += e->bytes;
	return true;
}

void lmi_svc_prefix_index_take(struct lmi_svc_prefix_index *x, struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_entry **b = bucket_of(x, &e->key);

	while (*b != e)
		b = &(*b)->bucket_next;
	*b = e->bucket_next;
	list_remove(e);
	e->tenant->n_bytes -= e->bytes;
	x->n_entry--;
	x->n_bytes -= e->bytes;
	if (!--e->tenant->n_entry)
		drop_tenant(x, e->tenant);
}

struct lmi_svc_prefix_entry *lmi_svc_prefix_index_take_any(struct lmi_svc_prefix_index *x)
{
	struct lmi_svc_prefix_entry *e = x->tenants ? x->tenants->oldest : NULL;

	if (e)
		lmi_svc_prefix_index_take(x, e);
	return e;
}

struct lmi_svc_prefix_entry *lmi_svc_prefix_index_take_of(struct lmi_svc_prefix_index *x,
							  uint64_t tenant)
{
	const struct lmi_svc_prefix_tenant *t = find_tenant(x, tenant);
	struct lmi_svc_prefix_entry *e = t ? t->oldest : NULL;

	if (e)
		lmi_svc_prefix_index_take(x, e);
	return e;
}

/* ---- limits ---- */

bool lmi_svc_prefix_index_is_full(const struct lmi_svc_prefix_index *x)
{
	return x->n_bytes > x->max_bytes || x->n_entry > LMI_SVC_PREFIX_ENTRIES_MAX;
}

/* Returns what was used longest ago of the tenants that have more than their share. If the limits are
 * exceeded, one has. */
static struct lmi_svc_prefix_entry *oldest_excess(const struct lmi_svc_prefix_index *x)
{
	uint64_t most_bytes = x->max_bytes / (2 * x->n_tenant);
	uint64_t most_entries = LMI_SVC_PREFIX_ENTRIES_MAX / (2 * x->n_tenant);
	struct lmi_svc_prefix_entry *best = NULL;

	for (const struct lmi_svc_prefix_tenant *t = x->tenants; t; t = t->next)
		if ((t->n_bytes > most_bytes || t->n_entry > most_entries) &&
		    (!best || t->oldest->used < best->used))
			best = t->oldest;
	return best;
}

struct lmi_svc_prefix_entry *lmi_svc_prefix_index_take_excess(struct lmi_svc_prefix_index *x)
{
	struct lmi_svc_prefix_entry *all = NULL;

	for (uint32_t n = 0; n < EXCESS_MAX && lmi_svc_prefix_index_is_full(x); n++) {
		struct lmi_svc_prefix_entry *e = oldest_excess(x);

		lmi_svc_prefix_index_take(x, e);
		x->n_evicted++;
		e->newer = all;
		all = e;
	}
	return all;
}
