/* SPDX-License-Identifier: MIT
 *
 * A hash table by nng's pipe numbers.  The number of the principal (conn) is our own, since
 * nng may use a number again. */
#include "daemon/front/conns.h"

#include "core/base/alloc.h"

void lmi_conns_init(struct lmi_conns *c, const struct lmi_front_limits *limits, uint32_t own_uid)
{
	*c = (struct lmi_conns){.limits = *limits, .own_uid = own_uid};
	pthread_mutex_init(&c->lock, NULL);
}

void lmi_conns_fini(struct lmi_conns *c)
{
	for (uint32_t i = 0; i < LMI_CONN_BUCKETS; i++) {
		for (struct lmi_conn *p = c->bucket[i], *next; p; p = next) {
			next = p->next;
			lmi_free(p);
		}
	}
	pthread_mutex_destroy(&c->lock);
}

void lmi_conns_set_limits(struct lmi_conns *c, const struct lmi_front_limits *limits)
{
	pthread_mutex_lock(&c->lock);
	c->limits = *limits;
	pthread_mutex_unlock(&c->lock);
}

static bool has_room(const struct lmi_conns *c, uint32_t uid, bool admin)
{
	uint32_t n_uid = 0;

	if (c->n >= c->limits.connections + (admin ? c->limits.connections_kept : 0))
		return false;
	for (uint32_t i = 0; i < LMI_CONN_BUCKETS; i++)
		for (const struct lmi_conn *p = c->bucket[i]; p; p = p->next)
			n_uid += p->who.uid == uid;
	return n_uid < c->limits.connections_per_user;
}

struct lmi_conn *lmi_conns_add(struct lmi_conns *c, uint32_t pipe, uint32_t uid, uint32_t gid,
			       int32_t pid)
{
	bool admin = uid == 0 || uid == c->own_uid;
	struct lmi_conn *p = lmi_alloc(1, sizeof(*p));

	pthread_mutex_lock(&c->lock);
	if (p && has_room(c, uid, admin)) {
		struct lmi_conn **head = &c->bucket[pipe % LMI_CONN_BUCKETS];

		p->pipe = pipe;
		p->who = (struct lmi_principal){.uid = uid,
						.gid = gid,
						.pid = pid,
						.role = admin ? LMI_ROLE_ADMIN : LMI_ROLE_USER,
						.conn = ++c->n_ever};
		p->next = *head;
		*head = p;
		c->n++;
	} else {
		lmi_free(p);
		p = NULL;
		c->n_refused++;
	}
	pthread_mutex_unlock(&c->lock);
	return p;
}

struct lmi_conn *lmi_conns_remove(struct lmi_conns *c, uint32_t pipe)
{
	struct lmi_conn *found = NULL;

	pthread_mutex_lock(&c->lock);
	for (struct lmi_conn **p = &c->bucket[pipe % LMI_CONN_BUCKETS]; *p; p = &(*p)->next) {
		if ((*p)->pipe == pipe) {
			found = *p;
			*p = found->next;
			c->n--;
			break;
		}
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* With the lock held. */
static struct lmi_conn *at(struct lmi_conns *c, uint32_t pipe)
{
	struct lmi_conn *p = c->bucket[pipe % LMI_CONN_BUCKETS];

	while (p && p->pipe != pipe)
		p = p->next;
	return p;
}

enum lmd_status lmi_conns_begin(struct lmi_conns *c, uint32_t pipe, struct lmi_principal *who)
{
	enum lmd_status st = LMD_OK;
	struct lmi_conn *p;

	pthread_mutex_lock(&c->lock);
	p = at(c, pipe);
	if (!p) {
		st = LMD_NOTFOUND;
	} else if (p->n_call >= LMI_CONN_CALLS) {
		st = LMD_BUSY;
	} else {
		p->n_call++;
		*who = p->who;
	}
	pthread_mutex_unlock(&c->lock);
	return st;
}

enum lmd_status lmi_conns_send(struct lmi_conns *c, uint32_t pipe, uint64_t bytes)
{
	enum lmd_status st = LMD_OK;
	struct lmi_conn *p;

	pthread_mutex_lock(&c->lock);
	p = at(c, pipe);
	if (!p)
		st = LMD_NOTFOUND;
	else if (p->send_bytes > LMI_CONN_SEND_BYTES)
		st = LMD_BUSY;
	else
		p->send_bytes += bytes;
	pthread_mutex_unlock(&c->lock);
	return st;
}

void lmi_conns_end(struct lmi_conns *c, uint32_t pipe, uint64_t bytes)
{
	struct lmi_conn *p;

	pthread_mutex_lock(&c->lock);
	p = at(c, pipe);
	if (p) {
		p->n_call--;
		p->send_bytes -= bytes;
	}
	pthread_mutex_unlock(&c->lock);
}

void lmi_conns_count(struct lmi_conns *c, uint32_t *n, uint64_t *n_refused)
{
	pthread_mutex_lock(&c->lock);
	*n = c->n;
	*n_refused = c->n_refused;
	pthread_mutex_unlock(&c->lock);
}
