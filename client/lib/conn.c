/* SPDX-License-Identifier: MIT
 *
 * One connection, on which many threads can have pending requests.  It is dialled again when a
 * request needs it and it is broken.
 *
 * Each wait is on a condition variable and has a deadline, so a call ends whatever the server, the
 * network or nng do.  nng only moves bytes (link.h): its REQ sockets of release 1.5 can wait for
 * ever in a send that has a timeout. */
#include "client/lib/conn.h"

#include <errno.h>
#include <nng/nng.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/lib/address.h"
#include "client/lib/client.h"
#include "client/lib/link.h"
#include "core/base/alloc.h"

#define RECONNECT_MIN_MS 20
#define RECONNECT_MAX_MS 500
#define NUMBER_MAX	 0x7fffffffu

enum state {
	DOWN,
	DIALING,
	GREETING, /* connected; the server's handshake has not arrived */
	UP,
};

/* A request that waits for its reply, on the stack of its thread. */
struct pending {
	struct pending *next;
	uint32_t number;
	bool done, reset;
	struct lmi_client_frame_message reply;
};

struct conn {
	struct lmi_client_transport transport; /* must be first */
	uint32_t connect_ms, call_ms;
	char url[LMI_CLIENT_URL];
	bool is_default; /* the caller gave no URL */
	bool ipc;
	struct lmi_client_tls_config *tls; /* NULL: no TLS */
	nng_stream_dialer *dialer;
	/* for the IPv4 address of a name, since libnng tries the first address alone; NULL: no name */
	nng_stream_dialer *dialer4;
	nng_aio *dial;

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	enum state state;
	bool by_ip4; /* the next attempt is that of dialer4 */
	int dial_rv; /* why the last attempt failed */
	char tls_cause[LMI_CLIENT_TLS_CAUSE]; /* for NNG_ECRYPTO */
	uint64_t retry_at, retry_ms;
	struct lmi_client_link *link;	/* in GREETING and UP */
	struct lmi_client_link *broken; /* to be destroyed */
	struct pending *pending;
	uint32_t last_number;
};

static enum lmd_status failed(const struct conn *c, int rv, struct lmd_error *err)
{
	if (rv == NNG_ENOMEM)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory", c->url);
	if (rv == NNG_ENOENT || rv == NNG_ECONNREFUSED)
		return lmi_client_fail_unreachable(c->url, c->is_default, err);
	if (rv == NNG_EPERM)
		return lmi_client_fail_permission(c->url, err);
	if (rv == NNG_ECRYPTO)
		return lmd_fail(err, LMD_IO, "%s: %s", c->url, c->tls_cause);
	if (rv == NNG_EPROTO)
		return lmd_fail(err, LMD_IO, "%s: the peer does not speak the protocol of llamad",
				c->url);
	if (rv == NNG_EAGAIN)
		return lmd_fail(err, LMD_TIMEOUT,
				"%s: timed out: the server did not accept the connection within %u "
				"ms",
				c->url, c->connect_ms);
	return lmd_fail(err, rv == NNG_ETIMEDOUT ? LMD_TIMEOUT : LMD_IO, "%s: %s", c->url,
			nng_strerror(rv));
}

/* Waits until something changes, but not longer than `end`. */
static void wait_until(struct conn *c, uint64_t end)
{
	const struct timespec t = {.tv_sec = (time_t)(end / 1000),
				   .tv_nsec = (long)(end % 1000) * 1000000};

	(void)pthread_cond_timedwait(&c->changed, &c->lock, &t);
}

/* ---- events ---- */

static void attempt_failed(struct conn *c, int rv)
{
	c->state = DOWN;
	c->dial_rv = rv;
	c->retry_ms = c->retry_ms ? c->retry_ms * 2 : RECONNECT_MIN_MS;
	if (c->retry_ms > RECONNECT_MAX_MS)
		c->retry_ms = RECONNECT_MAX_MS;
	c->retry_at = lmi_client_now_ms() + c->retry_ms;
	pthread_cond_broadcast(&c->changed);
}

static void on_up(void *arg)
{
	struct conn *c = arg;

	c->state = UP;
	c->dial_rv = 0;
	c->retry_ms = 0;
	pthread_cond_broadcast(&c->changed);
}

static void on_message(void *arg, const struct lmi_client_frame_message *m)
{
	struct conn *c = arg;

	for (struct pending *r = c->pending; r; r = r->next) {
		if (r->number != m->number || r->done || r->reset)
			continue;
		r->reply = *m;
		r->done = true;
		pthread_cond_broadcast(&c->changed);
		return;
	}
	lmi_free(m->own_body); /* nobody waits for it any more */
}

static void on_broken(void *arg, int rv)
{
	struct conn *c = arg;
	struct lmi_client_link *l = c->link;
	bool was_up = c->state == UP;
	const char *cause = lmi_client_link_tls_cause(l);

	/* a server without TLS may end the connection at the first bytes of the handshake */
	if (!cause && c->tls && !was_up && (rv == NNG_ECONNSHUT || rv == NNG_ECONNRESET || rv == NNG_ECLOSED))
		cause = "the server closed the connection during the TLS handshake; it may not use TLS";
	if (cause) {
		(void)snprintf(c->tls_cause, sizeof(c->tls_cause), "%s", cause);
		rv = NNG_ECRYPTO;
	}
	c->link = NULL;
	l->next = c->broken;
	c->broken = l;
	for (struct pending *r = c->pending; r; r = r->next)
		r->reset = !r->done;
	if (!was_up) {
		attempt_failed(c, rv);
		return;
	}
	c->state = DOWN;
	c->retry_at = 0;
	pthread_cond_broadcast(&c->changed);
}

static const struct lmi_client_link_ops link_ops = {
	.up = on_up, .message = on_message, .broken = on_broken};

static void on_dial(void *arg)
{
	struct conn *c = arg;
	int rv = nng_aio_result(c->dial);
	struct lmi_client_link *l = NULL;

	if (!rv) {
		l = lmi_client_link_create(nng_aio_get_output(c->dial, 0), c->ipc, c->tls, &c->lock,
					   &link_ops, c);
		rv = l ? 0 : NNG_ENOMEM;
	}
	pthread_mutex_lock(&c->lock);
	if (rv == NNG_ECONNREFUSED && c->dialer4 && !c->by_ip4) {
		c->by_ip4 = true;
		c->state = DOWN;
		c->retry_at = 0;
		c->dial_rv = 0;
		pthread_cond_broadcast(&c->changed);
	} else if (rv) {
		c->by_ip4 = false;
		attempt_failed(c, rv);
	} else {
		c->state = GREETING;
		c->link = l;
		lmi_client_link_start(l);
	}
	pthread_mutex_unlock(&c->lock);
}

/* ---- connecting ---- */

/* Frees broken links that no thread uses. */
static void reap(struct conn *c)
{
	struct lmi_client_link **at = &c->broken, *l;

	while ((l = *at) != NULL) {
		if (!lmi_client_link_is_unused(l)) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		pthread_mutex_unlock(&c->lock);
		lmi_client_link_destroy(l);
		pthread_mutex_lock(&c->lock);
		at = &c->broken; /* the list may have changed meanwhile */
	}
}

/* Gives up the attempt that is in progress. */
static void give_up(struct conn *c)
{
	if (c->state == GREETING)
		lmi_client_link_break(c->link, NNG_ETIMEDOUT);
	if (c->state != DIALING)
		return;
	pthread_mutex_unlock(&c->lock);
	nng_aio_cancel(c->dial);
	pthread_mutex_lock(&c->lock);
}

/* Waits until the connection is up; returns 0, or why it is not.  With `once`, an attempt that fails
 * is not repeated. */
static int connect_until(struct conn *c, uint64_t end, bool once)
{
	for (;;) {
		uint64_t now = lmi_client_now_ms();

		reap(c);
		if (c->state == UP)
			return 0;
		if (once && c->state == DOWN && c->dial_rv && c->dial_rv != NNG_EAGAIN)
			return c->dial_rv;
		if (now >= end) {
			int rv = c->state == DOWN && c->dial_rv ? c->dial_rv : NNG_ETIMEDOUT;

			give_up(c);
			return rv;
		}
		if (c->state == DOWN && now >= c->retry_at) {
			nng_stream_dialer *dialer = c->by_ip4 ? c->dialer4 : c->dialer;

			c->state = DIALING;
			pthread_mutex_unlock(&c->lock);
			nng_stream_dialer_dial(dialer, c->dial);
			pthread_mutex_lock(&c->lock);
		} else {
			wait_until(c, c->state == DOWN && c->retry_at < end ? c->retry_at : end);
		}
	}
}

static enum lmd_status connect_failed(const struct conn *c, int rv, struct lmd_error *err)
{
	if (rv != NNG_ETIMEDOUT && rv != NNG_ECANCELED)
		return failed(c, rv, err);
	return lmd_fail(err, LMD_TIMEOUT, "%s: timed out: no connection within %u ms", c->url,
			c->connect_ms);
}

/* ---- requests ---- */

static void forget(struct conn *c, struct pending *r)
{
	struct pending **at = &c->pending;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
}

/* Sends a request once and waits for its reply. */
static int exchange(struct conn *c, struct pending *r, const void *p, size_t n, uint64_t end)
{
	struct lmi_client_link *l = c->link;
	uint64_t n_received = l->n_received;
	int rv;

	c->last_number = c->last_number % NUMBER_MAX + 1;
	*r = (struct pending){.next = c->pending, .number = c->last_number};
	c->pending = r;
	rv = lmi_client_link_post(l, r->number, p, n);
	while (!rv && !r->done && !r->reset) {
		if (lmi_client_now_ms() >= end)
			rv = NNG_ETIMEDOUT;
		else
			wait_until(c, end);
	}
	forget(c, r);
	if (rv && c->link == l && !r->done && !r->reset) {
		lmi_client_link_drop(l, r->number);
		/* a connection on which nothing arrives may be half open: the next call dials */
		if (rv == NNG_ETIMEDOUT && l->n_received == n_received)
			lmi_client_link_break(l, rv);
	}
	if (r->done)
		return 0;
	return rv ? rv : NNG_ECONNRESET;
}

static enum lmd_status conn_exchange(struct lmi_client_transport *t, const void *p, size_t n,
				     uint32_t extra_ms, struct lmi_client_message *reply,
				     struct lmd_error *err)
{
	struct conn *c = (struct conn *)t;
	uint64_t begin = lmi_client_now_ms(), end = begin + c->call_ms + extra_ms, now = begin;
	enum lmd_status st = LMD_OK;
	struct pending r;
	int rv;

	pthread_mutex_lock(&c->lock);
	do {
		rv = connect_until(c, now + c->connect_ms < end ? now + c->connect_ms : end, false);
		if (rv) {
			st = connect_failed(c, rv, err);
			break;
		}
		rv = exchange(c, &r, p, n, end);
		now = lmi_client_now_ms();
	} while (rv == NNG_ECONNRESET && now < end);
	pthread_mutex_unlock(&c->lock);
	if (st != LMD_OK)
		return st;
	if (rv == NNG_ETIMEDOUT)
		return lmd_fail(err, LMD_TIMEOUT, "%s: timed out: no reply within %u ms", c->url,
				(unsigned)(now - begin));
	if (rv)
		return failed(c, rv, err);
	*reply = (struct lmi_client_message){
		.p = r.reply.own_body, .n = r.reply.n, .own = r.reply.own_body, .free = lmi_free};
	return LMD_OK;
}

/* ---- life ---- */

static void conn_close(struct lmi_client_transport *t)
{
	struct conn *c = (struct conn *)t;

	if (c->dialer)
		nng_stream_dialer_close(c->dialer);
	if (c->dialer4)
		nng_stream_dialer_close(c->dialer4);
	if (c->dial)
		nng_aio_stop(c->dial);
	pthread_mutex_lock(&c->lock);
	if (c->link)
		lmi_client_link_break(c->link, NNG_ECLOSED);
	while (c->broken) {
		struct lmi_client_link *l = c->broken;

		c->broken = l->next;
		pthread_mutex_unlock(&c->lock);
		lmi_client_link_destroy(l);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	if (c->dial)
		nng_aio_free(c->dial);
	if (c->dialer)
		nng_stream_dialer_free(c->dialer);
	if (c->dialer4)
		nng_stream_dialer_free(c->dialer4);
	lmi_client_tls_config_destroy(c->tls);
	(void)pthread_cond_destroy(&c->changed);
	(void)pthread_mutex_destroy(&c->lock);
	lmi_free(c);
}

static const struct lmi_client_transport_ops conn_ops = {.exchange = conn_exchange,
							 .close = conn_close};

static int make_dialer(const struct conn *c, nng_stream_dialer **out, const char *url)
{
	int rv = nng_stream_dialer_alloc(out, url);

	if (!rv && !c->ipc)
		rv = nng_stream_dialer_set_bool(*out, NNG_OPT_TCP_NODELAY, true);
	if (!rv && !c->ipc)
		rv = nng_stream_dialer_set_bool(*out, NNG_OPT_TCP_KEEPALIVE, true);
	return rv;
}

static int init_dialer(struct conn *c)
{
	const char *url = c->url + (c->tls ? strlen("tls+") : 0), *host = strstr(url, "://");
	char url4[LMI_CLIENT_URL + 1];
	int rv = make_dialer(c, &c->dialer, url);

	if (!rv && !c->ipc && host && host[3] != '[' && !(host[3] >= '0' && host[3] <= '9')) {
		(void)snprintf(url4, sizeof(url4), "tcp4%s", host);
		rv = make_dialer(c, &c->dialer4, url4);
	}
	return rv ? rv : nng_aio_alloc(&c->dial, on_dial, c);
}

static bool init_lock(struct conn *c)
{
	pthread_condattr_t attr;
	bool ok;

	if (pthread_condattr_init(&attr))
		return false;
	ok = !pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) &&
	     !pthread_cond_init(&c->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	if (ok && pthread_mutex_init(&c->lock, NULL)) {
		(void)pthread_cond_destroy(&c->changed);
		ok = false;
	}
	return ok;
}

enum lmd_status lmi_client_connect(struct lmi_client_transport **out, const char *url,
				   const struct lmd_client_opts *o, struct lmd_error *err)
{
	struct conn *c = lmi_alloc(1, sizeof(*c));
	enum lmd_status st = LMD_OK;
	int rv;

	if (!c || !init_lock(c)) {
		lmi_free(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a connection");
	}
	c->transport.ops = &conn_ops;
	c->connect_ms = o->connect_ms;
	c->call_ms = o->call_ms;
	c->is_default = !o->url;
	c->ipc = !strncmp(url, "ipc://", 6);
	(void)snprintf(c->url, sizeof(c->url), "%s", url);
	if (!strncmp(c->url, "tls+", 4))
		st = lmi_client_tls_config_create(&c->tls, c->url, o->ca_file, err);
	rv = st == LMD_OK ? init_dialer(c) : 0;
	if (rv) {
		st = failed(c, rv, err);
	} else if (st == LMD_OK) {
		pthread_mutex_lock(&c->lock);
		rv = connect_until(c, lmi_client_now_ms() + c->connect_ms, true);
		pthread_mutex_unlock(&c->lock);
		if (rv)
			st = connect_failed(c, rv, err);
	}
	if (st == LMD_OK)
		*out = &c->transport;
	else
		conn_close(&c->transport);
	return st;
}
