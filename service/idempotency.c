/* SPDX-License-Identifier: MIT
 *
 * A hash table in order of age.  A principal that fills it evicts its own oldest entries first, so
 * that no client can evict all entries of another one. */
#include "service/idempotency.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/printable.h"

uint64_t lmi_svc_idempotency_key_digest(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t h = 0xcbf29ce484222325ull;

	for (; n >= 8; n -= 8, p += 8) { /* requests have up to 16 MiB */
		h = (h ^ lmi_get_le64(p)) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 32;
	}
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

enum lmd_status lmi_svc_idempotency_keys_init(struct lmi_svc_idempotency_keys *t, uint32_t n_max,
					      uint64_t age_ns, struct lmd_error *err)
{
	*t = (struct lmi_svc_idempotency_keys){.n_bucket = 256, .n_max = n_max, .age_ns = age_ns};
	while (t->n_bucket < n_max)
		t->n_bucket *= 2;
	t->buckets = lmi_alloc(t->n_bucket, sizeof(struct lmi_svc_idempotency_key *));
	return t->buckets ? LMD_OK
			  : lmd_fail(err, LMD_NOMEM, "no memory for %u request ids", n_max);
}

void lmi_svc_idempotency_keys_fini(struct lmi_svc_idempotency_keys *t)
{
	while (t->first)
		lmi_svc_idempotency_key_forget(t, t->first);
	lmi_free(t->buckets);
	*t = (struct lmi_svc_idempotency_keys){0};
}

static struct lmi_svc_idempotency_key **bucket(const struct lmi_svc_idempotency_keys *t,
					       const struct lmi_svc_owner *owner, const char *text,
					       size_t n)
{
	uint64_t h = lmi_svc_idempotency_key_digest(text, n) + owner->uid * 0x9E3779B97F4A7C15ull;

	return &t->buckets[(h ^ h >> 32) & (t->n_bucket - 1)];
}

void lmi_svc_idempotency_key_forget(struct lmi_svc_idempotency_keys *t,
				    struct lmi_svc_idempotency_key *r)
{
	struct lmi_svc_idempotency_key **b = bucket(t, &r->owner, r->text, r->n_text);

	assert(!r->waiters);
	while (*b != r)
		b = &(*b)->in_bucket;
	*b = r->in_bucket;
	*(r->prev ? &r->prev->next : &t->first) = r->next;
	*(r->next ? &r->next->prev : &t->last) = r->prev;
	t->n--;
	lmi_free(r);
}

void lmi_svc_idempotency_keys_expire(struct lmi_svc_idempotency_keys *t, uint64_t now)
{
	struct lmi_svc_idempotency_key *next;

	for (struct lmi_svc_idempotency_key *r = t->first; r && now - r->created_ns >= t->age_ns;
	     r = next) {
		next = r->next;
		if (r->answered)
			lmi_svc_idempotency_key_forget(t, r);
	}
}

/* Evicts an answered entry if the table is full: the owner's oldest one if the owner has more than
 * a quarter of all entries, otherwise the oldest of all.  Returns false if there is none. */
static bool make_room(struct lmi_svc_idempotency_keys *t, const struct lmi_svc_owner *owner)
{
	struct lmi_svc_idempotency_key *own = NULL, *any = NULL;
	uint32_t n_own = 0;

	if (t->n < t->n_max)
		return true;
	for (struct lmi_svc_idempotency_key *r = t->first; r; r = r->next) {
		bool mine = lmi_svc_owner_same(&r->owner, owner);

		n_own += mine;
		if (!r->answered)
			continue;
		if (!any)
			any = r;
		if (mine && !own)
			own = r;
	}
	if (n_own > t->n_max / 4)
		any = own;
	if (any)
		lmi_svc_idempotency_key_forget(t, any);
	return any != NULL;
}

struct lmi_svc_idempotency_key *
lmi_svc_idempotency_key_find(const struct lmi_svc_idempotency_keys *t,
			     const struct lmi_svc_owner *owner, const struct lmd_str *text)
{
	for (struct lmi_svc_idempotency_key *r = *bucket(t, owner, text->ptr, text->len); r;
	     r = r->in_bucket)
		if (r->n_text == text->len && !memcmp(r->text, text->ptr, text->len) &&
		    lmi_svc_owner_same(&r->owner, owner))
			return r;
	return NULL;
}

enum lmd_status lmi_svc_idempotency_key_take(struct lmi_svc_idempotency_keys *t,
					     struct lmi_svc_idempotency_key **out, bool *is_new,
					     const struct lmi_svc_owner *owner, uint32_t op,
					     const struct lmd_str *text, uint64_t digest,
					     uint64_t now, struct lmd_error *err)
{
	struct lmi_svc_idempotency_key *r, **b;
	char shown[80];

	if (text->len > sizeof(r->text))
		return lmd_fail(err, LMD_INVALID, "rid: %zu bytes, the maximum is %zu", text->len,
				sizeof(r->text));
	lmi_svc_idempotency_keys_expire(t, now);
	r = lmi_svc_idempotency_key_find(t, owner, text);
	if (r) {
		if (r->op != op || r->digest != digest)
			return lmd_fail(err, LMD_INVALID,
					"rid: '%s' was already used for a different request",
					lmi_printable(shown, sizeof(shown), text->ptr, text->len));
		*out = r;
		*is_new = false;
		return LMD_OK;
	}
	if (!make_room(t, owner))
		return lmd_fail(err, LMD_BUSY, "too many unanswered requests with a request id: %u", t->n);
	r = lmi_alloc(1, sizeof(*r));
	if (!r)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request id");
	r->owner = *owner;
	r->op = op;
	r->n_text = (uint32_t)text->len;
	memcpy(r->text, text->ptr, text->len);
	r->digest = digest;
	r->created_ns = now;
	b = bucket(t, owner, r->text, r->n_text);
	r->in_bucket = *b;
	*b = r;
	r->prev = t->last;
	*(t->last ? &t->last->next : &t->first) = r;
	t->last = r;
	t->n++;
	*out = r;
	*is_new = true;
	return LMD_OK;
}
