/* SPDX-License-Identifier: MIT
 *
 * One REQ socket, with a context for each request so that many threads can have pending
 * requests. */
#include "client/lib/conn.h"

#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/supplemental/tls/tls.h>
#include <stdio.h>
#include <string.h>

#include "client/lib/address.h"
#include "client/lib/client.h"
#include "core/base/alloc.h"

#define RECONNECT_MIN_MS 20
#define RECONNECT_MAX_MS 500
#define REPLY_MAX	 ((size_t)64 << 20)
#define SYSTEM_CA	 "/etc/ssl/certs/ca-certificates.crt"

struct conn {
	struct lmi_client_transport transport; /* must be first */
	nng_socket sock;
	uint32_t connect_ms, call_ms;
	char url[LMI_CLIENT_URL];
	bool is_default; /* the caller gave no URL */
};

static enum lmd_status failed(const struct conn *c, int rv, struct lmd_error *err)
{
	if (rv == NNG_ENOMEM)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory", c->url);
	if (rv == NNG_ENOENT || rv == NNG_ECONNREFUSED)
		return lmi_client_fail_unreachable(c->url, c->is_default, err);
	if (rv == NNG_EPERM)
		return lmi_client_fail_permission(c->url, err);
	if (rv == NNG_EPEERAUTH || rv == NNG_ECRYPTO)
		return lmd_fail(err, LMD_IO,
				"%s: the certificate is not trusted or is for another name, or the "
				"server does not use TLS: %s",
				c->url, nng_strerror(rv));
	return lmd_fail(err, rv == NNG_ETIMEDOUT ? LMD_TIMEOUT : LMD_IO, "%s: %s", c->url,
			nng_strerror(rv));
}

/* ---- opening ---- */

static int dial(struct conn *c, const struct lmd_client_opts *o)
{
	nng_dialer d;
	int rv = nng_dialer_create(&d, c->sock, c->url);

	if (!rv)
		rv = nng_dialer_set_ms(d, NNG_OPT_RECONNMINT, RECONNECT_MIN_MS);
	if (!rv)
		rv = nng_dialer_set_ms(d, NNG_OPT_RECONNMAXT, RECONNECT_MAX_MS);
	if (!rv && !strncmp(c->url, "tls+", 4))
		rv = nng_dialer_set_string(d, NNG_OPT_TLS_CA_FILE,
					   o->ca_file ? o->ca_file : SYSTEM_CA);
	return rv ? rv : nng_dialer_start(d, 0);
}

/* ---- requests ---- */

/* Sends a request once and waits for its reply. */
static int exchange(struct conn *c, nng_aio *aio, const void *p, size_t n, uint64_t send_ms,
		    uint64_t reply_ms, nng_msg **reply)
{
	nng_msg *m = NULL;
	nng_ctx ctx;
	int rv = nng_ctx_open(&ctx, c->sock);

	if (rv)
		return rv;
	rv = nng_msg_alloc(&m, 0);
	if (!rv)
		rv = nng_msg_append(m, p, n);
	if (!rv) {
		nng_aio_set_msg(aio, m);
		nng_aio_set_timeout(aio, (nng_duration)send_ms);
		nng_ctx_send(ctx, aio);
		nng_aio_wait(aio);
		rv = nng_aio_result(aio);
		if (!rv)
			m = NULL; /* owned by nng now */
	}
	if (!rv) {
		nng_aio_set_timeout(aio, (nng_duration)reply_ms);
		nng_ctx_recv(ctx, aio);
		nng_aio_wait(aio);
		rv = nng_aio_result(aio);
		if (!rv)
			*reply = nng_aio_get_msg(aio);
	}
	if (m)
		nng_msg_free(m);
	(void)nng_ctx_close(ctx);
	return rv;
}

/* Sends a request, again after each reconnect, until a reply arrives or the time is over. */
static enum lmd_status exchange_retry(struct conn *c, const void *p, size_t n, uint32_t extra_ms,
				      nng_msg **reply, struct lmd_error *err)
{
	uint64_t begin = lmi_client_now_ms(), end = begin + c->call_ms + extra_ms;
	nng_aio *aio;
	int rv = nng_aio_alloc(&aio, NULL, NULL);

	if (rv)
		return failed(c, rv, err);
	do {
		uint64_t now = lmi_client_now_ms();

		rv = exchange(c, aio, p, n, c->connect_ms, end > now ? end - now : 1, reply);
	} while (rv == NNG_ECONNRESET && lmi_client_now_ms() < end);
	nng_aio_free(aio);
	if (rv == NNG_ETIMEDOUT)
		return lmd_fail(err, LMD_TIMEOUT, "%s: timed out: no reply within %u ms", c->url,
				(unsigned)(lmi_client_now_ms() - begin));
	return rv ? failed(c, rv, err) : LMD_OK;
}

static void free_msg(void *msg)
{
	nng_msg_free(msg);
}

static enum lmd_status conn_exchange(struct lmi_client_transport *t, const void *p, size_t n,
				     uint32_t extra_ms, struct lmi_client_message *reply,
				     struct lmd_error *err)
{
	nng_msg *msg = NULL;
	enum lmd_status st = exchange_retry((struct conn *)t, p, n, extra_ms, &msg, err);

	if (st == LMD_OK)
		*reply = (struct lmi_client_message){.p = nng_msg_body(msg),
						     .n = nng_msg_len(msg),
						     .own = msg,
						     .free = free_msg};
	return st;
}

/* ---- life ---- */

static void conn_close(struct lmi_client_transport *t)
{
	struct conn *c = (struct conn *)t;

	(void)nng_close(c->sock);
	lmi_free(c);
}

static const struct lmi_client_transport_ops conn_ops = {.exchange = conn_exchange,
							 .close = conn_close};

enum lmd_status lmi_client_connect(struct lmi_client_transport **out, const char *url,
				   const struct lmd_client_opts *o, struct lmd_error *err)
{
	struct conn *c = lmi_alloc(1, sizeof(*c));
	enum lmd_status st;
	int rv;

	if (!c)
		return lmd_fail(err, LMD_NOMEM, "no memory for a connection");
	c->transport.ops = &conn_ops;
	c->connect_ms = o->connect_ms;
	c->call_ms = o->call_ms;
	c->is_default = !o->url;
	(void)snprintf(c->url, sizeof(c->url), "%s", url);
	rv = nng_req0_open(&c->sock);
	if (rv) {
		st = failed(c, rv, err);
		lmi_free(c);
		return st;
	}
	/* requests are repeated by this library, once it is certain that no reply can come */
	rv = nng_socket_set_ms(c->sock, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
	if (!rv)
		rv = nng_socket_set_size(c->sock, NNG_OPT_RECVMAXSZ, REPLY_MAX);
	if (!rv)
		rv = dial(c, o);
	if (rv) {
		st = failed(c, rv, err);
		conn_close(&c->transport);
		return st;
	}
	*out = &c->transport;
	return LMD_OK;
}
