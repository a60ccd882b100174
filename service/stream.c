/* SPDX-License-Identifier: MIT
 *
 * A hash table.  Ids are random, so their first bytes serve as the hash. */
#include "service/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/alloc.h"
#include "core/base/siphash.h"
#include "service/push.h"

#define N_BUCKET    1024u
#define NEARLY_FULL 16u /* free items in a reader's reply */

/* ---- owners ---- */

struct lmi_svc_owner lmi_svc_owner_of(const struct lmi_svc_principal *principal)
{
	struct lmi_svc_owner o = {.uid = principal->uid};

	memcpy(o.key_label, principal->key_label, sizeof(o.key_label));
	o.key_label[sizeof(o.key_label) - 1] = 0;
	return o;
}

/* A key is one owner for all users of the machine. */
uint64_t lmi_svc_owner_tenant(const struct lmi_svc_owner *o)
{
	const uint64_t key[2] = {*o->key_label ? 0 : o->uid, *o->key_label != 0};
	uint64_t v = lmi_siphash(key, o->key_label, strlen(o->key_label));

	return v ? v : 1;
}

bool lmi_svc_owner_same(const struct lmi_svc_owner *a, const struct lmi_svc_owner *b)
{
	return a->uid == b->uid && !strcmp(a->key_label, b->key_label);
}

/* ---- the table ---- */

enum lmd_status lmi_svc_streams_init(struct lmi_svc_streams *t, struct lmd_error *err)
{
	*t = (struct lmi_svc_streams){.n_bucket = N_BUCKET};
	t->buckets = lmi_alloc(N_BUCKET, sizeof(struct lmi_svc_stream *));
	return t->buckets ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for a table of streams");
}

void lmi_svc_streams_fini(struct lmi_svc_streams *t)
{
	while (t->first)
		lmi_svc_stream_destroy(t, t->first);
	lmi_free(t->buckets);
	*t = (struct lmi_svc_streams){0};
}

static struct lmi_svc_stream **bucket(const struct lmi_svc_streams *t, const uint8_t *id)
{
	uint32_t h;

	memcpy(&h, id, sizeof(h));
	return &t->buckets[h & (t->n_bucket - 1)];
}

enum lmd_status lmi_svc_random(void *out, size_t n, struct lmd_error *err)
{
	ssize_t got;

	do
		got = getrandom(out, n, 0);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)n ? LMD_OK
				 : lmd_fail(err, LMD_IO, "random numbers: %s", strerror(errno));
}

enum lmd_status lmi_svc_stream_create(struct lmi_svc_stream **out, struct lmi_svc_streams *t,
				      const struct lmi_svc_principal *principal, uint32_t kind,
				      uint64_t now, uint64_t lease_ns, uint64_t max_bytes,
				      struct lmd_error *err)
{
	struct lmi_svc_stream *s = lmi_alloc(1, sizeof(*s)), **b;
	enum lmd_status st;

	if (!s)
		return lmd_fail(err, LMD_NOMEM, "no memory for a stream");
	st = lmi_svc_random(s->id, sizeof(s->id), err);
	if (st != LMD_OK) {
		lmi_free(s);
		return st;
	}
	s->owner = lmi_svc_owner_of(principal);
	s->kind = kind;
	s->conn = principal->conn;
	s->created_ns = s->touched_ns = now;
	s->lease_ns = lease_ns;
	lmi_svc_output_init(&s->out, max_bytes);
	b = bucket(t, s->id);
	s->in_bucket = *b;
	*b = s;
	s->prev = t->last;
	*(t->last ? &t->last->next : &t->first) = s;
	t->last = s;
	t->n++;
	*out = s;
	return LMD_OK;
}

static void unlink_id(struct lmi_svc_streams *t, const struct lmi_svc_stream *s)
{
	struct lmi_svc_stream **b = bucket(t, s->id);

	while (*b != s)
		b = &(*b)->in_bucket;
	*b = s->in_bucket;
}

void lmi_svc_stream_set_id(struct lmi_svc_streams *t, struct lmi_svc_stream *s,
			   const uint8_t id[LMI_SVC_ID_BYTES])
{
	struct lmi_svc_stream **b = bucket(t, id);

	unlink_id(t, s);
	memcpy(s->id, id, sizeof(s->id));
	s->in_bucket = *b;
	*b = s;
}

void lmi_svc_stream_destroy(struct lmi_svc_streams *t, struct lmi_svc_stream *s)
{
	struct lmi_svc_waiting_reader *p;

	assert(!s->push && !s->durable);
	while ((p = lmi_svc_stream_remove_reader(t, s, 0)))
		lmi_free(p);
	unlink_id(t, s);
	*(s->prev ? &s->prev->next : &t->first) = s->next;
	*(s->next ? &s->next->prev : &t->last) = s->prev;
	t->n--;
	lmi_svc_output_fini(&s->out);
	lmi_free(s);
}

enum lmd_status lmi_svc_stream_find(struct lmi_svc_stream **out, struct lmi_svc_streams *t,
				    const struct lmi_svc_principal *principal,
				    const uint8_t id[LMI_SVC_ID_BYTES], bool any_owner,
				    struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(principal);
	char hex[2 * LMI_SVC_ID_BYTES + 1];

	for (struct lmi_svc_stream *s = *bucket(t, id); s; s = s->in_bucket) {
		if (memcmp(s->id, id, LMI_SVC_ID_BYTES) || s->given_up ||
		    !(any_owner || lmi_svc_owner_same(&s->owner, &owner)))
			continue;
		*out = s;
		return LMD_OK;
	}
	for (size_t i = 0; i < LMI_SVC_ID_BYTES; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return lmd_fail(err, LMD_NOTFOUND, "id: no stream has the id %s", hex);
}

/* ---- readers ---- */

void lmi_svc_stream_add_reader(struct lmi_svc_streams *t, struct lmi_svc_stream *s,
			       struct lmi_svc_waiting_reader *own_p)
{
	own_p->next = s->readers;
	s->readers = own_p;
	t->n_reader++;
}

static uint64_t wait_due(const struct lmi_svc_stream *s, const struct lmi_svc_waiting_reader *p)
{
	uint64_t due = lmi_svc_output_due(&s->out, p->after, p->hold_ns, p->max);

	return due < p->until_ns ? due : p->until_ns;
}

uint64_t lmi_svc_stream_push_due(const struct lmi_svc_stream *s)
{
	const struct lmi_svc_push *p = s->push;

	if (!p || !p->begun || p->paused)
		return UINT64_MAX;
	return lmi_svc_output_due(&s->out, p->after, p->hold_ns, p->max);
}

uint64_t lmi_svc_stream_wakeup_due(const struct lmi_svc_stream *s)
{
	uint64_t when = lmi_svc_stream_push_due(s);

	if (s->push && !s->push->paused && s->push->after == s->out.last)
		return 0;

	for (const struct lmi_svc_waiting_reader *p = s->readers; p; p = p->next) {
		uint64_t n = lmi_svc_output_last(&s->out) - p->after, due = wait_due(s, p);

		if (!n || n + NEARLY_FULL >= p->max)
			return 0;
		when = due < when ? due : when;
	}
	return when;
}

static struct lmi_svc_waiting_reader *take(struct lmi_svc_streams *t,
					   struct lmi_svc_waiting_reader **at)
{
	struct lmi_svc_waiting_reader *p = *at;

	*at = p->next;
	p->next = NULL;
	t->n_reader--;
	return p;
}

struct lmi_svc_waiting_reader *
lmi_svc_stream_take_due_reader(struct lmi_svc_streams *t, struct lmi_svc_stream *s, uint64_t now)
{
	for (struct lmi_svc_waiting_reader **p = &s->readers; *p; p = &(*p)->next)
		if (wait_due(s, *p) <= now)
			return take(t, p);
	return NULL;
}

struct lmi_svc_waiting_reader *lmi_svc_stream_remove_reader(struct lmi_svc_streams *t,
							    struct lmi_svc_stream *s, uint64_t conn)
{
	for (struct lmi_svc_waiting_reader **p = &s->readers; *p; p = &(*p)->next)
		if (!conn || (*p)->conn == conn)
			return take(t, p);
	return NULL;
}

void lmi_svc_waiting_reader_drop(struct lmi_svc_waiting_reader *own_p)
{
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_CANCELLED, "the connection was closed");
	own_p->reply(own_p->arg, NULL, &err, 0);
	lmi_free(own_p);
}

static uint64_t lease_end(const struct lmi_svc_stream *s)
{
	if (s->readers || s->push || s->given_up)
		return UINT64_MAX;
	return s->touched_ns < UINT64_MAX - s->lease_ns ? s->touched_ns + s->lease_ns : UINT64_MAX;
}

uint64_t lmi_svc_stream_deadline(const struct lmi_svc_stream *s)
{
	uint64_t when = lease_end(s), push = lmi_svc_stream_push_due(s);

	when = push < when ? push : when;
	for (const struct lmi_svc_waiting_reader *p = s->readers; p; p = p->next) {
		uint64_t due = wait_due(s, p);

		when = due < when ? due : when;
	}
	return when;
}

bool lmi_svc_stream_lease_expired(const struct lmi_svc_stream *s, uint64_t now)
{
	return lease_end(s) <= now;
}
