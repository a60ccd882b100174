/* SPDX-License-Identifier: MIT
 *
 * A list of peers.  Its length is bounded by the number of connections plus
 * LMI_CONN_LIMITER_IDLE_MAX. Authentication attempts are limited by a leaky bucket for each peer:
 * its level falls by one every LMI_CONN_LIMITER_ATTEMPT_MS.  The entry stores the time at which the
 * bucket will be empty. */
#include "daemon/front/conn_limiter.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

#define TRY_NS (LMI_CONN_LIMITER_ATTEMPT_MS * LMI_NS_PER_MS)

struct lmi_conn_limiter_entry {
	struct lmi_conn_limiter_entry *next;
	struct lmi_conn_peer peer;
	uint32_t n;         /* connections */
	uint64_t attempts_end; /* time at which the bucket of its attempts will be empty */
};

static bool is_mapped(const uint8_t addr[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(addr, mapped, sizeof(mapped));
}

const char *lmi_conn_peer_text(const struct lmi_conn_peer *v, char buf[LMI_CONN_PEER_TEXT])
{
	uint8_t net[16] = {0};

	if (!v->remote) {
		(void)snprintf(buf, LMI_CONN_PEER_TEXT, "uid %u", v->uid);
	} else if (is_mapped(v->addr)) {
		(void)inet_ntop(AF_INET, v->addr + 12, buf, LMI_CONN_PEER_TEXT);
	} else {
		memcpy(net, v->addr, 8);
		(void)inet_ntop(AF_INET6, net, buf, LMI_CONN_PEER_TEXT - 4);
		strcat(buf, "/64");
	}
	return buf;
}

static bool same(const struct lmi_conn_peer *a, const struct lmi_conn_peer *b)
{
	if (a->remote != b->remote)
		return false;
	if (!a->remote)
		return a->uid == b->uid;
	return !memcmp(a->addr, b->addr, is_mapped(a->addr) ? 16 : 8);
}

void lmi_conn_limiter_init(struct lmi_conn_limiter *d, const struct lmi_conn_limiter_limits *limits,
			   uint32_t own_uid)
{
	*d = (struct lmi_conn_limiter){.limits = *limits, .own_uid = own_uid};
}

void lmi_conn_limiter_fini(struct lmi_conn_limiter *d)
{
	for (struct lmi_conn_limiter_entry *e = d->first, *next; e; e = next) {
		next = e->next;
		lmi_free(e);
	}
	d->first = NULL;
}

bool lmi_conn_limiter_is_admin(const struct lmi_conn_limiter *d, const struct lmi_conn_peer *v)
{
	return !v->remote && (v->uid == 0 || v->uid == d->own_uid);
}

static struct lmi_conn_limiter_entry *find(const struct lmi_conn_limiter *d,
					   const struct lmi_conn_peer *v)
{
	struct lmi_conn_limiter_entry *e = d->first;

	while (e && !same(&e->peer, v))
		e = e->next;
	return e;
}

enum lmd_status lmi_conn_limiter_admit(struct lmi_conn_limiter *d, const struct lmi_conn_peer *v,
				       struct lmd_error *err)
{
	uint32_t max = d->limits.connections;
	struct lmi_conn_limiter_entry *e = find(d, v);
	char text[LMI_CONN_PEER_TEXT];
	enum lmd_status st = LMD_OK;

	if (lmi_conn_limiter_is_admin(d, v))
		max += d->limits.connections_kept;
	if (d->n >= max)
		st = lmd_fail(err, LMD_BUSY, "too many connections: %u are open, the maximum is %u",
			      d->n, max);
	else if (e && e->n >= d->limits.connections_per_user && !lmi_conn_limiter_is_admin(d, v))
		st = lmd_fail(err, LMD_BUSY,
			      "too many connections of %s: %u are open, the maximum is %u",
			      lmi_conn_peer_text(v, text), e->n, d->limits.connections_per_user);
	if (st == LMD_OK && !e) {
		e = lmi_alloc(1, sizeof(*e));
		if (!e)
			st = lmd_fail(err, LMD_NOMEM, "no memory for a connection");
	}
	if (st != LMD_OK) {
		d->n_refused++;
		return st;
	}
	if (!e->n && e->attempts_end) {
		d->n_idle--;
	} else if (!e->n) {
		e->peer = *v;
		e->next = d->first;
		d->first = e;
	}
	e->n++;
	d->n++;
	return LMD_OK;
}

/* Drops the oldest peer without a connection. */
static void remove_oldest(struct lmi_conn_limiter *d)
{
	struct lmi_conn_limiter_entry **oldest = NULL, *e;

	for (struct lmi_conn_limiter_entry **p = &d->first; *p; p = &(*p)->next)
		if (!(*p)->n)
			oldest = p;
	if (!oldest)
		return;
	e = *oldest;
	*oldest = e->next;
	d->n_idle--;
	lmi_free(e);
}

void lmi_conn_limiter_leave(struct lmi_conn_limiter *d, const struct lmi_conn_peer *v)
{
	struct lmi_conn_limiter_entry *e = NULL, **p = &d->first;

	while (*p && !same(&(*p)->peer, v))
		p = &(*p)->next;
	e = *p;
	if (!e || !e->n)
		return;
	d->n--;
	if (--e->n)
		return;
	/* keep the entry, so that reconnecting does not reset the attempts */
	if (e->attempts_end) {
		d->n_idle++;
		if (d->n_idle > LMI_CONN_LIMITER_IDLE_MAX)
			remove_oldest(d);
		return;
	}
	*p = e->next;
	lmi_free(e);
}

enum lmd_status lmi_conn_limiter_auth_attempt(struct lmi_conn_limiter *d,
					      const struct lmi_conn_peer *v, uint64_t now,
					      uint32_t *retry_ms, struct lmd_error *err)
{
	struct lmi_conn_limiter_entry *e = find(d, v);
	char text[LMI_CONN_PEER_TEXT];
	uint64_t from;

	if (!e)
		return lmd_fail(err, LMD_INTERNAL, "the peer is unknown");
	from = e->attempts_end > now ? e->attempts_end : now;
	if (from - now > (LMI_CONN_LIMITER_ATTEMPTS_MAX - 1) * TRY_NS) {
		*retry_ms = (uint32_t)((from - now - (LMI_CONN_LIMITER_ATTEMPTS_MAX - 1) * TRY_NS) /
					       1000000 +
				       1);
		return lmd_fail(err, LMD_BUSY,
				"too many wrong keys from %s: at most %u attempts at once, then "
				"one every %u s",
				lmi_conn_peer_text(v, text), LMI_CONN_LIMITER_ATTEMPTS_MAX,
				LMI_CONN_LIMITER_ATTEMPT_MS / 1000);
	}
	e->attempts_end = from + TRY_NS;
	return LMD_OK;
}

void lmi_conn_limiter_auth_ok(struct lmi_conn_limiter *d, const struct lmi_conn_peer *v)
{
	struct lmi_conn_limiter_entry *e = find(d, v);

	if (e)
		e->attempts_end -= e->attempts_end > TRY_NS ? TRY_NS : e->attempts_end;
}
