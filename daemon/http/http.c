/* SPDX-License-Identifier: MIT
 *
 * Opens and closes the listener for HTTP, and accepts connections.  If descriptors run out,
 * accepting pauses for PAUSE_MS. */
#include "daemon/http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "daemon/http/background.h"
#include "daemon/http/http_impl.h"
#include "daemon/loop/loop.h"

#define PAUSE_MS 100
#define EXPIRE_S 60 /* how often old objects are looked for */
#define BACKLOG  128

/* ---- accepting ---- */

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *sa,
		      int n_sa, void *arg)
{
	(void)listener;
	(void)n_sa;
	lmi_http_conn_accept(arg, fd, sa);
}

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct lmi_http_listen_socket *l = arg;
	const struct timeval tv = {.tv_usec = PAUSE_MS * 1000};

	LMI_HTTP_LOG(l->h, LMD_LOG_WARN, "%s: cannot accept a connection: %s", l->text,
		     strerror(errno));
	(void)evconnlistener_disable(listener);
	event_add(l->resume, &tv);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct lmi_http_listen_socket *l = arg;

	(void)fd;
	(void)what;
	(void)evconnlistener_enable(l->listener);
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	lmi_http_later_run(arg);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	lmi_http_turn_next(arg);
}

static void on_expire(evutil_socket_t fd, short what, void *arg)
{
	struct lmi_http_server *h = arg;

	(void)fd;
	(void)what;
	lmi_http_objects_expire(h->objects);
}

static void on_stored(evutil_socket_t fd, short what, void *arg)
{
	struct lmi_http_server *h = arg;
	eventfd_t n;

	(void)what;
	(void)eventfd_read(fd, &n);
	for (struct lmi_http_lasting *l = h->lasting, *next; l; l = next) {
		next = l->next;
		if (l->stored)
			l->stored(l);
	}
}

/* ---- opening ---- */

/* Describes a TCP address with the port that the system chose. */
static void note_port(struct lmi_http_listen_socket *l)
{
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);
	char addr[INET6_ADDRSTRLEN];

	if (l->addr.path ||
	    getsockname(evconnlistener_get_fd(l->listener), (struct sockaddr *)&sa, &n))
		return;
	if (sa.ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)&sa;

		snprintf(l->text, sizeof(l->text), "%s:%u",
			 inet_ntop(AF_INET, &v4->sin_addr, addr, sizeof(addr)),
			 ntohs(v4->sin_port));
	} else {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&sa;

		snprintf(l->text, sizeof(l->text), "[%s]:%u",
			 inet_ntop(AF_INET6, &v6->sin6_addr, addr, sizeof(addr)),
			 ntohs(v6->sin6_port));
	}
}

static void socket_free(struct lmi_http_listen_socket *l)
{
	if (l->listener) {
		evconnlistener_free(l->listener);
		if (l->addr.path && !l->inherited)
			(void)unlink(l->addr.path);
	}
	if (l->resume)
		event_free(l->resume);
	lmi_free(l);
}

static enum lmd_status listen_at(struct lmi_http_listen_socket *l, struct lmd_error *err)
{
	struct event_base *base = l->h->o.base;
	mode_t mask = 0;
	int error;

	/* so that nobody can connect before the mode of the file is set */
	if (l->addr.path)
		mask = umask(0177);
	l->listener = evconnlistener_new_bind(
		base, on_accept, l, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
		BACKLOG, (const struct sockaddr *)&l->addr.sa, (int)l->addr.n_sa);
	error = errno;
	if (l->addr.path)
		(void)umask(mask);
	if (!l->listener)
		return lmd_fail(err, error == EADDRINUSE ? LMD_BUSY : LMD_IO, "http: %s: %s",
				l->text, strerror(error));
	if (l->addr.path && chmod(l->addr.path, 0660))
		return lmd_fail(err, LMD_IO, "http: %s: %s", l->text, strerror(errno));
	evconnlistener_set_error_cb(l->listener, on_accept_error);
	note_port(l);
	return LMD_OK;
}

static enum lmd_status listen_inherited(struct lmi_http_listen_socket *l, int fd,
					struct lmd_error *err)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&l->addr.sa;

	l->listener = evconnlistener_new(l->h->o.base, on_accept, l, LEV_OPT_CLOSE_ON_FREE, 0, fd);
	if (!l->listener)
		return lmd_fail(err, LMD_NOMEM, "no memory for a listener");
	evconnlistener_set_error_cb(l->listener, on_accept_error);
	if (l->addr.path)
		(void)snprintf(l->text, sizeof(l->text), "unix:%.*s",
			       (int)sizeof(un->sun_path), un->sun_path); /* may lack a NUL */
	note_port(l);
	return LMD_OK;
}

/* Listens at the address, or at the inherited socket if it is not NULL. */
static enum lmd_status open_socket(struct lmi_http_server *h, const char *text,
				   const struct lmi_http_inherited_socket *inherited,
				   struct lmd_error *err)
{
	struct lmi_http_listen_socket *l = lmi_alloc(1, sizeof(*l));
	enum lmd_status st = LMD_OK;

	if (!l)
		return lmd_fail(err, LMD_NOMEM, "no memory for a listener");
	l->h = h;
	l->inherited = inherited != NULL;
	if (inherited) {
		l->addr = inherited->addr;
	} else {
		(void)snprintf(l->text, sizeof(l->text), "%s", text);
		st = lmi_http_address_parse(&l->addr, text, err);
	}
	if (st == LMD_OK && l->addr.tls && !h->tls)
		st = lmi_http_tls_open(&h->tls, h->o.tls_cert, h->o.tls_key, err);
	if (st == LMD_OK)
		l->resume = evtimer_new(h->o.base, on_resume, l);
	if (st == LMD_OK && !l->resume)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a listener");
	if (st == LMD_OK)
		st = inherited ? listen_inherited(l, inherited->fd, err) : listen_at(l, err);
	if (st != LMD_OK) {
		socket_free(l);
		return st;
	}
	l->next = h->sockets;
	h->sockets = l;
	LMI_HTTP_LOG(h, LMD_LOG_INFO, "ready on %s%s",
		     l->addr.path  ? ""
		     : l->addr.tls ? "https://"
				   : "http://",
		     l->text);
	return LMD_OK;
}

static enum lmd_status open_objects(struct lmi_http_server *h, struct lmd_error *err)
{
	const struct lmi_http_objects_opts opts = {.host = h->o.host,
						   .folder = h->o.store_folder,
						   .max_bytes = h->o.store_bytes,
						   .max_number = h->o.store_number,
						   .max_age_s = h->o.store_age_s,
						   .wall_ns = h->o.ops.wall_ns,
						   .arg = h->o.arg};
	const struct timeval every = {.tv_sec = EXPIRE_S};
	enum lmd_status st;

	if (!h->o.store_bytes)
		return LMD_OK;
	st = lmi_http_objects_open(&h->objects, &opts, err);
	if (st != LMD_OK)
		return st;
	on_expire(-1, 0, h);
	h->expire = event_new(h->o.base, -1, EV_PERSIST, on_expire, h);
	h->stored = event_new(h->o.base, lmi_http_objects_fd(h->objects), EV_READ | EV_PERSIST, on_stored,
			      h);
	if (!h->expire || event_add(h->expire, &every) || !h->stored || event_add(h->stored, NULL))
		return lmd_fail(err, LMD_NOMEM, "no memory for a listener");
	return LMD_OK;
}

enum lmd_status lmi_http_open(struct lmi_http_server **out, const struct lmi_http_opts *opts,
			      struct lmd_error *err)
{
	struct lmi_http_server *h = lmi_alloc(1, sizeof(*h));
	enum lmd_status st = LMD_OK;

	if (!h)
		return lmd_fail(err, LMD_NOMEM, "no memory for a listener");
	h->o = *opts;
	h->svc = opts->service;
	h->later_end = &h->later;
	h->limiter = opts->limiter;
	h->later_event = evtimer_new(opts->base, on_later, h);
	h->turn_event = evtimer_new(opts->base, on_turn, h);
	if (!h->later_event || !h->turn_event)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a listener");
	if (st == LMD_OK)
		st = open_objects(h, err);
	for (uint32_t i = 0; i < opts->n_address && st == LMD_OK; i++)
		st = open_socket(h, opts->addresses[i], NULL, err);
	for (uint32_t i = 0; opts->inherited && i < opts->inherited->n && st == LMD_OK; i++)
		st = open_socket(h, NULL, &opts->inherited->v[i], err);
	if (st != LMD_OK) {
		lmi_http_close(h);
		return st;
	}
	for (uint32_t i = 0; opts->apis[i]; i++)
		if (opts->apis[i]->opened)
			opts->apis[i]->opened(h);
	lmi_http_durable_recover(h);
	*out = h;
	return LMD_OK;
}

/* ---- closing ---- */

void lmi_http_service_ended(struct lmi_http_server *h)
{
	if (h)
		h->svc = NULL;
}

static bool is_sending(const struct lmi_http_server *h)
{
	for (const struct lmi_http_conn *c = h->conns; c; c = c->next)
		if (c->x || lmi_http_conn_unsent(c))
			return true;
	return false;
}

void lmi_http_flush(struct lmi_http_server *h, uint32_t flush_ms)
{
	uint64_t until = lmi_loop_now() + flush_ms * LMI_NS_PER_MS;

	if (!h)
		return;
	for (struct lmi_http_listen_socket *l = h->sockets; l; l = l->next)
		(void)evconnlistener_disable(l->listener);
	while (is_sending(h) && lmi_loop_now() < until) {
		const struct timeval tv = {.tv_usec = 10000};

		(void)event_base_loopexit(h->o.base, &tv);
		if (event_base_loop(h->o.base, EVLOOP_ONCE) < 0)
			return;
	}
}

void lmi_http_close(struct lmi_http_server *h)
{
	if (!h)
		return;
	while (h->conns)
		lmi_http_conn_close(h->conns);
	lmi_http_replay_close(h);
	while (h->sockets) {
		struct lmi_http_listen_socket *l = h->sockets;

		h->sockets = l->next;
		socket_free(l);
	}
	lmi_http_later_run(h);
	lmi_http_auth_end(h);
	lmi_http_background_end_all(h);
	if (h->expire)
		event_free(h->expire);
	if (h->stored)
		event_free(h->stored);
	lmi_http_objects_close(h->objects);
	lmi_http_times_free(h->times);
	if (h->turn_event)
		event_free(h->turn_event);
	if (h->later_event)
		event_free(h->later_event);
	lmi_http_tls_close(h->tls);
	free(h->openapi);
	lmi_free(h);
}

/* ---- changes ---- */

void lmi_http_set_limits(struct lmi_http_server *h, const struct lmi_http_limits *limits)
{
	h->o.limits = *limits;
}

enum lmd_status lmi_http_renew_tls(struct lmi_http_server *h, struct lmd_error *err)
{
	struct ssl_ctx_st *tls;
	enum lmd_status st;

	if (!h->tls)
		return LMD_OK;
	st = lmi_http_tls_open(&tls, h->o.tls_cert, h->o.tls_key, err);
	if (st != LMD_OK)
		return st;
	lmi_http_tls_close(h->tls);
	h->tls = tls;
	return LMD_OK;
}

void lmi_http_revoke(struct lmi_http_server *h, const char *label)
{
	struct lmi_http_conn *next;

	for (struct lmi_http_conn *c = h->conns; c; c = next) {
		next = c->next;
		if (c->key_known && !strcmp(c->key.label, label))
			c->key_known = false;
	}
	lmi_http_background_revoke(h, label);
	lmi_http_replay_revoke(h, label);
	if (h->objects)
		lmi_http_objects_forget_key(h->objects, label);
}

void lmi_http_stats(const struct lmi_http_server *h, struct lmi_http_stats *out)
{
	*out = (struct lmi_http_stats){
		.n_conn = h->n_conn, .n_request = h->n_running, .n_conn_refused = h->n_conn_refused};
	memcpy(out->n_class, h->n_class, sizeof(out->n_class));
}

uint32_t lmi_http_addresses(const struct lmi_http_server *h,
			    char out[LMI_SERVICE_ADDRESSES][LMI_SERVICE_ADDRESS_BYTES])
{
	uint32_t n = 0, i = 0;

	for (const struct lmi_http_listen_socket *l = h->sockets; l; l = l->next)
		n++;
	for (const struct lmi_http_listen_socket *l = h->sockets; l; l = l->next) /* the last one first */
		if (n - ++i < LMI_SERVICE_ADDRESSES)
			(void)snprintf(out[n - i], LMI_SERVICE_ADDRESS_BYTES, "%s%s", l->addr.tls ? "tls:" : "",
				       l->addr.tls && !strncmp(l->text, "tls:", 4) ? l->text + 4 : l->text);
	return n < LMI_SERVICE_ADDRESSES ? n : LMI_SERVICE_ADDRESSES;
}
