/* SPDX-License-Identifier: MIT
 *
 * The list is short (LMI_ENGINE_GRAMMAR_CACHE_MAX), so it is searched linearly. An entry is listed
 * as soon as somebody starts to compile it; a thread that finds it without a grammar waits. n_ref
 * counts the threads that use or compile it; an entry that was removed from the list is freed with
 * its last reference. Nothing slow happens under the lock: entries to be freed are collected and
 * freed after unlocking. */
#include "core/engine/grammar_cache.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/sha256.h"
#include "core/grammar/grammar.h"

/* Limit for what one matcher remembers. */
#define MATCHER_BYTES (32u << 20)
/* Maximum number of idle matchers of an entry. */
#define IDLE_MAX 4u

struct lmi_engine_grammar_cache_entry {
	struct lmi_engine_grammar_cache_entry *prev, *next;
	uint8_t digest[LMI_SHA256_BYTES];
	struct lmi_grammar *grammar; /* NULL: being compiled */
	struct lmi_grammar_matcher *idle[IDLE_MAX];
	uint32_t n_idle, n_ref;
	uint64_t bytes; /* as counted in the cache's statistics */
	bool listed;
};

void lmi_engine_grammar_cache_init(struct lmi_engine_grammar_cache *x, uint32_t max,
				   uint64_t max_bytes)
{
	*x = (struct lmi_engine_grammar_cache){.max = max, .max_bytes = max_bytes};
	(void)pthread_mutex_init(&x->lock, NULL); /* can fail only because of attributes */
	(void)pthread_cond_init(&x->made, NULL);
}

static void destroy(struct lmi_engine_grammar_cache_entry *c)
{
	for (uint32_t i = 0; i < c->n_idle; i++)
		lmi_gr_matcher_destroy(c->idle[i]);
	lmi_grammar_destroy(c->grammar);
	lmi_free(c);
}

void lmi_engine_grammar_cache_fini(struct lmi_engine_grammar_cache *x)
{
	for (struct lmi_engine_grammar_cache_entry *c = x->first, *next; c; c = next) {
		next = c->next;
		assert(!c->n_ref);
		destroy(c);
	}
	(void)pthread_cond_destroy(&x->made);
	(void)pthread_mutex_destroy(&x->lock);
}

/* ---- the list; the lock is held ---- */

static void push_first(struct lmi_engine_grammar_cache *x, struct lmi_engine_grammar_cache_entry *c)
{
	c->listed = true;
	c->prev = NULL;
	c->next = x->first;
	*(x->first ? &x->first->prev : &x->last) = c;
	x->first = c;
	x->stats.n++;
	x->stats.bytes += c->bytes;
}

static void take_out(struct lmi_engine_grammar_cache *x, struct lmi_engine_grammar_cache_entry *c)
{
	*(c->prev ? &c->prev->next : &x->first) = c->next;
	*(c->next ? &c->next->prev : &x->last) = c->prev;
	c->prev = c->next = NULL;
	c->listed = false;
	x->stats.n--;
	x->stats.bytes -= c->bytes;
}

static void count_bytes(struct lmi_engine_grammar_cache *x,
			struct lmi_engine_grammar_cache_entry *c)
{
	uint64_t bytes = sizeof(*c) + lmi_grammar_bytes(c->grammar);

	for (uint32_t i = 0; i < c->n_idle; i++)
		bytes += lmi_gr_matcher_bytes(c->idle[i]);
	if (c->listed)
		x->stats.bytes += bytes - c->bytes;
	c->bytes = bytes;
}

/* Removes the least recently used entries until the cache is within its limits, except those being
 * compiled. Returns a list of the removed entries that nobody uses, for the caller to destroy. */
static struct lmi_engine_grammar_cache_entry *evict(struct lmi_engine_grammar_cache *x)
{
	struct lmi_engine_grammar_cache_entry *dead = NULL;

	for (struct lmi_engine_grammar_cache_entry *c = x->last, *prev; c; c = prev) {
		prev = c->prev;
		if (x->stats.n <= x->max && x->stats.bytes <= x->max_bytes)
			break;
		if (!c->grammar)
			continue;
		take_out(x, c);
		x->stats.n_evicted++;
		if (c->n_ref)
			continue;
		c->next = dead;
		dead = c;
	}
	return dead;
}

static void destroy_all(struct lmi_engine_grammar_cache_entry *dead)
{
	for (struct lmi_engine_grammar_cache_entry *next; dead; dead = next) {
		next = dead->next;
		destroy(dead);
	}
}

static struct lmi_engine_grammar_cache_entry *find(struct lmi_engine_grammar_cache *x,
						   const uint8_t *digest)
{
	for (struct lmi_engine_grammar_cache_entry *c = x->first; c; c = c->next)
		if (!memcmp(c->digest, digest, LMI_SHA256_BYTES))
			return c;
	return NULL;
}

/* ---- compiling ---- */

static void hash_text(struct lmi_sha256 *h, char kind, struct lmd_str s)
{
	uint64_t n = s.len;

	lmi_sha256_update(h, &kind, 1);
	lmi_sha256_update(h, &n, sizeof(n));
	lmi_sha256_update(h, s.ptr, s.len);
}

static bool digest_of(const struct lmi_engine_grammar_source *from, uint8_t out[LMI_SHA256_BYTES])
{
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return false;
	if (from->gbnf.ptr)
		hash_text(&h, 'g', from->gbnf);
	else if (from->schema.ptr)
		hash_text(&h, 's', from->schema);
	else if (from->regex.ptr)
		hash_text(&h, 'r', from->regex);
	else
		hash_text(&h, 'x', from->structural_tag);
	for (uint32_t i = 0; i < from->n_triggers; i++)
		hash_text(&h, 't', from->triggers[i]);
	return lmi_sha256_final(&h, out);
}

static enum lmd_status compile(const struct lmi_grammar_vocab *v,
			       const struct lmi_engine_grammar_source *from,
			       struct lmi_grammar **out, struct lmd_error *err)
{
	enum lmd_status st;

	if (from->gbnf.ptr)
		st = lmi_grammar_from_gbnf(out, from->gbnf.ptr, from->gbnf.len, v, err);
	else if (from->schema.ptr)
		st = lmi_grammar_from_schema(out, from->schema.ptr, from->schema.len, err);
	else if (from->regex.ptr)
		st = lmi_grammar_from_regex(out, from->regex.ptr, from->regex.len, err);
	else
		st = lmi_grammar_from_structural_tag(out, from->structural_tag.ptr,
						     from->structural_tag.len, err);
	/* text that is not JSON is the caller's error, like an invalid schema */
	return st == LMD_CORRUPT ? LMD_INVALID : st;
}

/* Returns the entry for a digest, with a reference. A new entry has no grammar: the caller must
 * compile it. Returns NULL if memory runs out. */
static struct lmi_engine_grammar_cache_entry *enter(struct lmi_engine_grammar_cache *x,
						    const uint8_t *digest,
						    struct lmi_grammar_matcher **idle, bool *is_new)
{
	struct lmi_engine_grammar_cache_entry *c;

	(void)pthread_mutex_lock(&x->lock);
	while ((c = find(x, digest)) && !c->grammar)
		(void)pthread_cond_wait(&x->made, &x->lock);
	*is_new = !c;
	if (c) {
		x->stats.n_hit++;
		take_out(x, c);
		if (c->n_idle) {
			*idle = c->idle[--c->n_idle];
			count_bytes(x, c);
		}
	} else if ((c = lmi_alloc(1, sizeof(*c)))) {
		x->stats.n_miss++;
		memcpy(c->digest, digest, LMI_SHA256_BYTES);
	}
	if (c) {
		c->n_ref++;
		push_first(x, c);
	}
	(void)pthread_mutex_unlock(&x->lock);
	return c;
}

/* Stores the grammar in a new entry, or removes the entry if own_g is NULL (compiling failed). */
static void set_grammar(struct lmi_engine_grammar_cache *x,
			struct lmi_engine_grammar_cache_entry *c, struct lmi_grammar *own_g)
{
	struct lmi_engine_grammar_cache_entry *dead = NULL;

	(void)pthread_mutex_lock(&x->lock);
	if (own_g) {
		c->grammar = own_g;
		count_bytes(x, c);
		dead = evict(x);
	} else {
		take_out(x, c);
	}
	(void)pthread_cond_broadcast(&x->made);
	(void)pthread_mutex_unlock(&x->lock);
	if (!own_g)
		destroy(c); /* no other thread has seen it */
	destroy_all(dead);
}

enum lmd_status lmi_engine_grammar_cache_take(struct lmi_engine_grammar_cache *x,
					      const struct lmi_grammar_vocab *v,
					      const struct lmi_engine_grammar_source *from,
					      struct lmi_engine_grammar_lease *out,
					      struct lmd_error *err)
{
	struct lmi_gr_matcher_opts mo = {.vocab = v,
					 .patterns = from->triggers,
					 .n_patterns = from->n_triggers,
					 .cache_bytes = MATCHER_BYTES};
	struct lmi_engine_grammar_lease lease = {0};
	struct lmi_grammar *g = NULL;
	uint8_t digest[LMI_SHA256_BYTES];
	enum lmd_status st;
	bool is_new;

	if (!digest_of(from, digest))
		return lmi_cancel_step(0) ? lmd_fail(err, LMD_NOMEM, "no memory for a digest")
					  : lmd_fail(err, LMD_CANCELLED, "cancelled");
	lease.entry = enter(x, digest, &lease.matcher, &is_new);
	if (!lease.entry)
		return lmd_fail(err, LMD_NOMEM, "out of memory");
	if (is_new) {
		st = compile(v, from, &g, err);
		set_grammar(x, lease.entry, st == LMD_OK ? g : NULL);
		if (st != LMD_OK)
			return st;
	}
	mo.grammar = lease.entry->grammar;
	st = lease.matcher ? LMD_OK : lmi_gr_matcher_create(&lease.matcher, &mo, err);
	if (st != LMD_OK)
		lmi_engine_grammar_cache_give(x, &lease);
	else
		*out = lease;
	return st;
}

void lmi_engine_grammar_cache_give(struct lmi_engine_grammar_cache *x,
				   struct lmi_engine_grammar_lease *own)
{
	struct lmi_engine_grammar_cache_entry *c = own->entry, *dead = NULL;
	struct lmi_grammar_matcher *m = own->matcher;

	*own = (struct lmi_engine_grammar_lease){0};
	if (!c)
		return;
	(void)pthread_mutex_lock(&x->lock);
	c->n_ref--;
	/* a large matcher would evict all other entries */
	if (c->listed && m && c->n_idle < IDLE_MAX && lmi_gr_matcher_bytes(m) <= x->max_bytes / 4) {
		c->idle[c->n_idle++] = m;
		m = NULL;
		count_bytes(x, c);
		dead = evict(x);
	} else if (!c->listed && !c->n_ref) {
		c->next = NULL;
		dead = c;
	}
	(void)pthread_mutex_unlock(&x->lock);
	lmi_gr_matcher_destroy(m);
	destroy_all(dead);
}

void lmi_engine_grammar_cache_stats_get(struct lmi_engine_grammar_cache *x,
					struct lmi_engine_grammar_cache_stats *out)
{
	(void)pthread_mutex_lock(&x->lock);
	*out = x->stats;
	(void)pthread_mutex_unlock(&x->lock);
}
