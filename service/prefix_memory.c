/* SPDX-License-Identifier: MIT
 *
 * Copies of pages in host memory. An entry that is dropped while it is read is freed by its last reader. */
#include "service/prefix_memory.h"

#include <pthread.h>
#include <string.h>

#include "core/base/alloc.h"

struct lmi_svc_prefix_memory {
	pthread_mutex_t lock; /* of everything below */
	struct lmi_svc_prefix_index index;
	uint64_t n_put, n_get;
};

static void free_entry(struct lmi_svc_prefix_entry *e)
{
	lmi_free(e->rows);
	lmi_free(e);
}

/* Drops references of a list by `newer`. Takes the lock for each, so that nobody waits for a long list. */
static void unref_all(struct lmi_svc_prefix_memory *m, struct lmi_svc_prefix_entry *all)
{
	struct lmi_svc_prefix_entry *next;

	for (struct lmi_svc_prefix_entry *e = all; e; e = next) {
		bool last;

		(void)pthread_mutex_lock(&m->lock);
		next = e->newer;
		last = !--e->refs;
		(void)pthread_mutex_unlock(&m->lock);
		if (last)
			free_entry(e);
	}
}

enum lmd_status lmi_svc_prefix_memory_create(struct lmi_svc_prefix_memory **out, uint64_t max_bytes,
					     struct lmd_error *err)
{
	struct lmi_svc_prefix_memory *m = lmi_alloc(1, sizeof(*m));
	enum lmd_status st;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "no memory for the host-memory tier of prefixes");
	st = lmi_svc_prefix_index_init(&m->index, max_bytes, err);
	if (st != LMD_OK) {
		lmi_free(m);
		return st;
	}
	(void)pthread_mutex_init(&m->lock, NULL);
	*out = m;
	return LMD_OK;
}

void lmi_svc_prefix_memory_destroy(struct lmi_svc_prefix_memory *m)
{
	struct lmi_svc_prefix_entry *e;

	if (!m)
		return;
	while ((e = lmi_svc_prefix_index_take_any(&m->index)))
		free_entry(e);
	(void)pthread_mutex_destroy(&m->lock);
	lmi_svc_prefix_index_fini(&m->index);
	lmi_free(m);
}

bool lmi_svc_prefix_memory_limit(struct lmi_svc_prefix_memory *m, uint64_t max_bytes)
{
	bool full;

	(void)pthread_mutex_lock(&m->lock);
	m->index.max_bytes = max_bytes;
	full = lmi_svc_prefix_index_is_full(&m->index);
	(void)pthread_mutex_unlock(&m->lock);
	return full;
}

void lmi_svc_prefix_memory_trim(struct lmi_svc_prefix_memory *m)
{
	struct lmi_svc_prefix_entry *excess;

	do {
		(void)pthread_mutex_lock(&m->lock);
		excess = lmi_svc_prefix_index_take_excess(&m->index);
		(void)pthread_mutex_unlock(&m->lock);
		unref_all(m, excess);
	} while (excess);
}

bool lmi_svc_prefix_memory_has(struct lmi_svc_prefix_memory *m, const struct lmi_svc_prefix_key *key)
{
	bool has;

	(void)pthread_mutex_lock(&m->lock);
	has = lmi_svc_prefix_index_find(&m->index, key) != NULL;
	(void)pthread_mutex_unlock(&m->lock);
	return has;
}

/* Finds an entry and counts it as used. With the lock. */
static struct lmi_svc_prefix_entry *use(struct lmi_svc_prefix_memory *m,
					const struct lmi_svc_prefix_key *key)
{
	struct lmi_svc_prefix_entry *e = lmi_svc_prefix_index_find(&m->index, key);

	if (e)
		lmi_svc_prefix_index_touch(&m->index, e);
	return e;
}

void lmi_svc_prefix_memory_touch(struct lmi_svc_prefix_memory *m, const struct lmi_svc_prefix_key *key)
{
	(void)pthread_mutex_lock(&m->lock);
	(void)use(m, key);
	(void)pthread_mutex_unlock(&m->lock);
}

enum lmd_status lmi_svc_prefix_memory_put(struct lmi_svc_prefix_memory *m,
					  const struct lmi_svc_prefix_key *key, const void *bytes,
					  size_t n, struct lmd_error *err)
{
	struct lmi_svc_prefix_entry *e, *excess = NULL;
	uint64_t most;
	bool known, added;

	(void)pthread_mutex_lock(&m->lock);
	known = use(m, key);
	most = m->index.max_bytes;
	(void)pthread_mutex_unlock(&m->lock);
	if (known)
		return LMD_OK;
	if (n > most)
		return lmd_fail(err, LMD_BUSY,
				"a page of %zu bytes exceeds the limit prefix_memory_bytes of %llu", n,
				(unsigned long long)most);
	e = lmi_alloc(1, sizeof(*e));
	if (!e || !(e->rows = lmi_alloc(1, n + 1))) {
		lmi_free(e);
		return lmd_fail(err, LMD_NOMEM, "no memory for a page of %zu bytes", n);
	}
	e->key = *key;
	e->bytes = n;
	e->refs = 1;
	memcpy(e->rows, bytes, n);
	(void)pthread_mutex_lock(&m->lock);
	added = lmi_svc_prefix_index_add(&m->index, e);
	if (added) {
		m->n_put++;
		excess = lmi_svc_prefix_index_take_excess(&m->index);
	}
	(void)pthread_mutex_unlock(&m->lock);
	if (!added) /* another thread was faster, or there is no memory for its tenant */
		free_entry(e);
	unref_all(m, excess);
	return LMD_OK;
}

bool lmi_svc_prefix_memory_get(struct lmi_svc_prefix_memory *m, const struct lmi_svc_prefix_key *key,
			       void *bytes, size_t n)
{
	struct lmi_svc_prefix_entry *e;
	bool last;

	(void)pthread_mutex_lock(&m->lock);
	e = use(m, key);
	if (e && e->bytes != n)
		e = NULL;
	if (e) {
		e->refs++;
		m->n_get++;
	}
	(void)pthread_mutex_unlock(&m->lock);
	if (!e)
		return false;
	memcpy(bytes, e->rows, n);
	(void)pthread_mutex_lock(&m->lock);
	last = !--e->refs;
	(void)pthread_mutex_unlock(&m->lock);
	if (last)
		free_entry(e);
	return true;
}

void lmi_svc_prefix_memory_forget(struct lmi_svc_prefix_memory *m, uint64_t tenant)
{
	struct lmi_svc_prefix_entry *all = NULL, *e;

	(void)pthread_mutex_lock(&m->lock);
	while ((e = lmi_svc_prefix_index_take_of(&m->index, tenant))) {
		e->newer = all;
		all = e;
	}
	(void)pthread_mutex_unlock(&m->lock);
	unref_all(m, all);
}

void lmi_svc_prefix_memory_stats(struct lmi_svc_prefix_memory *m,
				 struct lmi_svc_prefix_memory_stats *out)
{
	(void)pthread_mutex_lock(&m->lock);
	*out = (struct lmi_svc_prefix_memory_stats){.n_entry = m->index.n_entry,
						    .n_bytes = m->index.n_bytes,
						    .n_put = m->n_put,
						    .n_get = m->n_get,
						    .n_evicted = m->index.n_evicted};
	(void)pthread_mutex_unlock(&m->lock);
}
