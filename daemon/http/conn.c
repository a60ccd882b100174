/* SPDX-License-Identifier: MIT
 *
 * A connection: reads one request, waits until it is answered, then reads the next one.
 *
 * The connection parses HTTP itself rather than with libevent's evhttp, because evhttp accepts
 * requests that RFC 9112 forbids, has no back-pressure, and would be a second parser after the
 * strict one in head.c that could read a request differently.
 *
 * Received bytes stay in the bufferevent until they are needed; beyond LMI_HTTP_IN_BYTES it stops
 * reading.  A connection is closed
 *     - if a header takes longer than head_ms, or a body arrives at less than 10 KiB per head_ms;
 *     - if no request begins for idle_ms;
 *     - if the client reads nothing of a waiting response for idle_ms.
 * After an error the server sends the response, closes its side, and reads what the client still
 * sends for a moment, because the system would otherwise discard the response.
 *
 * The end of a request is handled in the event `again`, so that neither a callback of the service
 * nor a handler sees its exchange freed. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "daemon/http/http_impl.h"

/* Minimum number of bytes of a body per head_ms. */
#define PART_BYTES 10240u
#define LINGER_MS  1000u
/* For responses that the client does not read, if idle_ms is 0. */
#define UNREAD_MS 60000u
/* Maximum number of bytes that are read and dropped after the last response. */
#define LINGER_BYTES (32u << 20)

static void advance(struct lmi_http_conn *c);
static void pause_reading(struct lmi_http_conn *c);
static void resume_reading(struct lmi_http_conn *c);

/* ---- time ---- */

static void start_timer(struct lmi_http_conn *c, uint64_t ms)
{
	const struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
				   .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

	if (ms)
		event_add(c->timer, &tv);
	else
		event_del(c->timer);
}

static uint64_t unread_ms(const struct lmi_http_conn *c)
{
	uint64_t idle = c->h->o.limits.idle_ms;

	return idle ? idle : UNREAD_MS;
}

/* Returns whether bytes have been waiting since the last call and the client has read none. */
static bool is_stuck(struct lmi_http_conn *c)
{
	size_t unsent = lmi_http_conn_unsent(c);
	uint64_t sent = c->n_written - unsent;
	bool stuck = unsent && c->was_unsent && sent == c->n_sent_seen;

	c->n_sent_seen = sent;
	c->was_unsent = unsent > 0;
	return stuck;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct lmi_http_conn *c = arg;

	(void)fd;
	(void)what;
	switch (c->state) {
	case LMI_HTTP_CONN_HEAD:
		if (!c->head.at)
			break;
		lmi_http_respond_bad(c, 408, "the header did not arrive in time");
		return;
	case LMI_HTTP_CONN_BODY:
		if (c->part_bytes >= PART_BYTES) {
			c->part_bytes = 0;
			start_timer(c, c->h->o.limits.head_ms);
			return;
		}
		lmi_http_respond_text(c->x, 408, "", "the body arrives too slowly");
		return;
	case LMI_HTTP_CONN_AUTH:
	case LMI_HTTP_CONN_ANSWER:
	case LMI_HTTP_CONN_FLUSH:
		if (is_stuck(c))
			break;
		start_timer(c, unread_ms(c));
		return;
	case LMI_HTTP_CONN_LINGER:
		break;
	}
	lmi_http_conn_close(c);
}

/* ---- life ---- */

void lmi_http_conn_close(struct lmi_http_conn *c)
{
	struct lmi_http_server *h = c->h;

	if (c->x && !lmi_http_replay_detach(c->x))
		lmi_http_exchange_destroy(c->x);
	h->n_conn--;
	lmi_conn_limiter_leave(h->limiter, &c->peer);
	*(c->prev ? &c->prev->next : &h->conns) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	bufferevent_free(c->bev);
	event_free(c->timer);
	event_free(c->again);
	lmi_free(c);
}

void lmi_http_conn_end(struct lmi_http_conn *c)
{
	c->state = LMI_HTTP_CONN_FLUSH;
	bufferevent_setwatermark(c->bev, EV_WRITE, 0, 0);
	start_timer(c, unread_ms(c));
	event_active(c->again, EV_TIMEOUT, 0);
}

/* Waits for the client to close, after everything was sent. */
static void linger(struct lmi_http_conn *c)
{
	if (c->eof) {
		lmi_http_conn_close(c);
		return;
	}
	c->state = LMI_HTTP_CONN_LINGER;
	c->part_bytes = 0;
	resume_reading(c);
	if (c->socket->addr.tls)
		lmi_http_tls_shutdown(c->bev);
	(void)shutdown(bufferevent_getfd(c->bev), SHUT_WR);
	start_timer(c, LINGER_MS);
	advance(c);
}

static void wait_for_request(struct lmi_http_conn *c)
{
	c->state = LMI_HTTP_CONN_HEAD;
	memset(&c->head, 0, sizeof(c->head));
	resume_reading(c);
	start_timer(c, c->h->o.limits.idle_ms);
	advance(c);
	if (c->eof && c->state == LMI_HTTP_CONN_HEAD)
		lmi_http_conn_end(c);
}

bool lmi_http_conn_stays(const struct lmi_http_conn *c)
{
	const struct lmi_http_head *head = &c->x->head;
	bool read = c->state == LMI_HTTP_CONN_ANSWER ||
		    (c->state == LMI_HTTP_CONN_AUTH && !head->chunked && !head->length);

	return c->keep_alive && read;
}

void lmi_http_conn_answered(struct lmi_http_conn *c)
{
	event_active(c->again, EV_TIMEOUT, 0);
}

/* Handles what follows a response. */
static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct lmi_http_conn *c = arg;

	(void)fd;
	(void)what;
	if (c->held.len)
		lmi_http_conn_write_parts(c, NULL, 0);
	if (c->x && c->x->phase == LMI_HTTP_PHASE_DONE) {
		bool stays = lmi_http_conn_stays(c);

		lmi_http_exchange_destroy(c->x);
		c->x = NULL;
		if (stays)
			wait_for_request(c);
		else
			lmi_http_conn_end(c);
		return;
	}
	if (c->state == LMI_HTTP_CONN_FLUSH && !lmi_http_conn_unsent(c))
		linger(c);
}

/* ---- reading ---- */

/* Returns whether the whole head has arrived. */
static bool take_head(struct lmi_http_conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	size_t n = evbuffer_get_length(in);
	bool first = !c->head.at;

	n = n < LMI_HTTP_HEAD_BYTES + 1 ? n : LMI_HTTP_HEAD_BYTES + 1;
	if (!n)
		return false;
	switch (lmi_http_head_parse(&c->head, (const char *)evbuffer_pullup(in, (ssize_t)n), n)) {
	case LMI_HTTP_HEAD_MORE:
		if (first)
			start_timer(c, c->h->o.limits.head_ms);
		return false;
	case LMI_HTTP_HEAD_BAD:
		lmi_http_respond_bad(c, c->head.code, c->head.why);
		return false;
	case LMI_HTTP_HEAD_DONE:
		break;
	}
	return true;
}

static void begin_exchange(struct lmi_http_conn *c)
{
	c->keep_alive = c->head.keep_alive;
	c->x = lmi_http_exchange_create(c);
	if (!c->x) {
		lmi_http_respond_bad(c, 503, "out of memory");
		return;
	}
	c->state = LMI_HTTP_CONN_AUTH;
	start_timer(c, unread_ms(c));
	lmi_http_exchange_admit(c->x);
}

static void body_done(struct lmi_http_conn *c)
{
	c->state = LMI_HTTP_CONN_ANSWER;
	start_timer(c, unread_ms(c));
	lmi_http_turn_wait(c->x);
}

void lmi_http_conn_continue(struct lmi_http_conn *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct lmi_http_head *head = &c->x->head;

	memset(&c->chunks, 0, sizeof(c->chunks));
	c->body_left = head->length;
	c->part_bytes = 0;
	if (!head->chunked && !head->length) {
		body_done(c);
		return;
	}
	c->state = LMI_HTTP_CONN_BODY;
	resume_reading(c);
	start_timer(c, c->h->o.limits.head_ms);
	if (head->expect_continue && !evbuffer_get_length(bufferevent_get_input(c->bev)))
		lmi_http_conn_write(c, go_on, strlen(go_on));
	/* the caller may be handling the head of the same request: what has arrived is read later */
	bufferevent_trigger(c->bev, EV_READ, BEV_OPT_DEFER_CALLBACKS);
}

/* Takes bytes of the body.  Returns how many of them belong to it; *end is set after the last. */
static size_t take_bytes(struct lmi_http_conn *c, const char *p, size_t n, bool *end)
{
	enum lmi_http_chunks_result r;
	size_t used = n < c->body_left ? n : (size_t)c->body_left, n_data;
	const char *data;

	if (!c->x->head.chunked) {
		(void)lmi_http_exchange_add(c->x, p, used);
		c->body_left -= used;
		*end = !c->body_left;
		return used;
	}
	r = lmi_http_chunks_read(&c->chunks, p, n, &used, &data, &n_data);
	if (r == LMI_HTTP_CHUNKS_BAD) {
		lmi_http_respond_text(c->x, 400, "", "the body is not in chunks as RFC 9112 defines");
		return 0;
	}
	if (n_data)
		(void)lmi_http_exchange_add(c->x, data, n_data);
	*end = r == LMI_HTTP_CHUNKS_DONE;
	return used;
}

static void take_body(struct lmi_http_conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	bool end = false;

	while (!end && c->x->phase == LMI_HTTP_PHASE_PENDING && evbuffer_get_length(in)) {
		struct evbuffer_iovec v;
		size_t used;

		if (evbuffer_peek(in, -1, NULL, &v, 1) < 1)
			return;
		used = take_bytes(c, v.iov_base, v.iov_len, &end);
		c->part_bytes += used;
		(void)evbuffer_drain(in, used);
	}
	if (end && c->x->phase == LMI_HTTP_PHASE_PENDING)
		body_done(c);
	else if (c->x->phase != LMI_HTTP_PHASE_PENDING)
		pause_reading(c);
}

static void drop_input(struct lmi_http_conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);

	c->part_bytes += evbuffer_get_length(in);
	(void)evbuffer_drain(in, evbuffer_get_length(in));
	if (c->part_bytes > LINGER_BYTES)
		lmi_http_conn_close(c);
}

/* Bytes that are not wanted yet stay in the buffer.  A full one must not be watched: libevent would
 * report it again and again, and the loop would do nothing else. */
static void pause_reading(struct lmi_http_conn *c)
{
	if (evbuffer_get_length(bufferevent_get_input(c->bev)) >= LMI_HTTP_IN_BYTES)
		(void)bufferevent_disable(c->bev, EV_READ);
}

static void resume_reading(struct lmi_http_conn *c)
{
	(void)bufferevent_enable(c->bev, EV_READ);
}

/* Handles received bytes. */
static void advance(struct lmi_http_conn *c)
{
	switch (c->state) {
	case LMI_HTTP_CONN_HEAD:
		if (take_head(c))
			begin_exchange(c);
		return;
	case LMI_HTTP_CONN_BODY:
		take_body(c);
		return;
	case LMI_HTTP_CONN_LINGER:
		drop_input(c);
		return;
	case LMI_HTTP_CONN_AUTH:
	case LMI_HTTP_CONN_ANSWER:
	case LMI_HTTP_CONN_FLUSH:
		pause_reading(c);
		return;
	}
}

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	advance(arg);
}

static void on_write(struct bufferevent *bev, void *arg)
{
	struct lmi_http_conn *c = arg;
	struct lmi_http_exchange *x = c->x;

	(void)bev;
	if (c->state == LMI_HTTP_CONN_FLUSH && !lmi_http_conn_unsent(c))
		linger(c);
	else if (x && x->phase == LMI_HTTP_PHASE_STREAM && x->drained)
		x->drained(x->hook_arg);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct lmi_http_conn *c = arg;

	(void)bev;
	if (what & BEV_EVENT_CONNECTED) /* TLS is ready */
		return;
	c->eof = true;
	if (!(what & BEV_EVENT_ERROR)) {
		/* the client has closed at least its own side: it may still read */
		if (c->state == LMI_HTTP_CONN_FLUSH)
			return;
		if (c->x && c->state != LMI_HTTP_CONN_BODY && !c->x->cancel_on_eof)
			return;
	}
	lmi_http_conn_close(c);
}

/* ---- writing ---- */

/* Returns how many bytes the system has taken.  Waiting for libevent to find the socket writable would
 * cost three more system calls. */
static size_t send_now(struct lmi_http_conn *c, const struct iovec *parts, int n)
{
	const struct msghdr m = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};
	ssize_t sent;

	if (c->socket->addr.tls || lmi_http_conn_unsent(c))
		return 0;
	do
		sent = sendmsg(bufferevent_getfd(c->bev), &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent > 0 ? (size_t)sent : 0; /* libevent meets an error again, and reports it */
}

void lmi_http_conn_write_parts(struct lmi_http_conn *c, const struct iovec *more, int n_more)
{
	struct iovec parts[1 + LMI_HTTP_PARTS];
	size_t sent;
	int n = 0;

	assert(n_more <= LMI_HTTP_PARTS);
	if (c->held.len)
		parts[n++] = (struct iovec){.iov_base = (void *)c->held.ptr, .iov_len = c->held.len};
	for (int i = 0; i < n_more; i++)
		parts[n++] = more[i];
	c->held.len = 0;
	sent = send_now(c, parts, n);
	for (int i = 0; i < n; i++) {
		size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;

		sent -= skip;
		/* if memory runs out, the client sees a response that is too short, and nothing after the
		 * gap, which would look like a part of it */
		if (skip < parts[i].iov_len &&
		    bufferevent_write(c->bev, (const char *)parts[i].iov_base + skip,
				      parts[i].iov_len - skip)) {
			c->keep_alive = false;
			(void)shutdown(bufferevent_getfd(c->bev), SHUT_WR);
			return;
		}
		c->n_written += parts[i].iov_len;
	}
}

void lmi_http_conn_write(struct lmi_http_conn *c, const void *bytes, size_t n)
{
	const struct iovec part = {.iov_base = (void *)bytes, .iov_len = n};

	lmi_http_conn_write_parts(c, &part, 1);
}

void lmi_http_conn_hold(struct lmi_http_conn *c, struct lmd_str bytes)
{
	c->held = bytes;
	event_active(c->again, EV_TIMEOUT, 0);
}

size_t lmi_http_conn_unsent(const struct lmi_http_conn *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->bev));
}

/* ---- accepting ---- */

static bool identify(struct lmi_http_conn *c, int fd, const struct sockaddr *sa)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);
	int on = 1;

	c->uid = c->gid = UINT32_MAX;
	if (c->socket->addr.path) {
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n))
			return false;
		c->uid = cred.uid;
		c->gid = cred.gid;
		c->pid = cred.pid;
		c->peer = (struct lmi_conn_peer){.uid = cred.uid};
		return true;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	c->peer.remote = true;
	if (sa->sa_family == AF_INET) {
		c->peer.addr[10] = c->peer.addr[11] = 0xff;
		memcpy(c->peer.addr + 12, &((const struct sockaddr_in *)sa)->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		memcpy(c->peer.addr, &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
	} else {
		return false;
	}
	return true;
}

/* Tells a client that there are too many connections, without keeping it. */
static void turn_away(int fd, const struct lmd_error *why)
{
	char text[600];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
			 "Content-Length: %zu\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s\n",
			 strlen(why->text) + 1, why->text);

	(void)send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Creates a connection.  On success fd belongs to it. */
static struct lmi_http_conn *create(struct lmi_http_listen_socket *l, int fd)
{
	struct lmi_http_conn *c = lmi_alloc(1, sizeof(*c));
	struct event_base *base = l->h->o.base;

	if (!c)
		return NULL;
	c->h = l->h;
	c->socket = l;
	c->timer = evtimer_new(base, on_timer, c);
	c->again = evtimer_new(base, on_again, c);
	if (c->timer && c->again)
		c->bev = l->addr.tls ? lmi_http_tls_accept(l->h->tls, base, fd)
				     : bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (c->bev)
		return c;
	if (c->timer)
		event_free(c->timer);
	if (c->again)
		event_free(c->again);
	lmi_free(c);
	return NULL;
}

void lmi_http_conn_accept(struct lmi_http_listen_socket *l, int fd, const struct sockaddr *sa)
{
	struct lmi_http_conn *c = create(l, fd);
	struct lmd_error err = {0};
	enum lmd_status st = LMD_IO;

	if (!c) {
		close(fd);
		return;
	}
	if (identify(c, fd, sa))
		st = lmi_conn_limiter_admit(l->h->limiter, &c->peer, &err);
	if (st != LMD_OK) {
		l->h->n_conn_refused++;
		if (st == LMD_BUSY && !l->addr.tls)
			turn_away(fd, &err);
		bufferevent_free(c->bev); /* closes fd */
		event_free(c->timer);
		event_free(c->again);
		lmi_free(c);
		return;
	}
	l->h->n_conn++;
	c->next = l->h->conns;
	if (c->next)
		c->next->prev = c;
	l->h->conns = c;
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, LMI_HTTP_IN_BYTES);
	bufferevent_setwatermark(c->bev, EV_WRITE, LMI_HTTP_OUT_LOW, 0);
	start_timer(c, l->h->o.limits.head_ms);
	(void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}
