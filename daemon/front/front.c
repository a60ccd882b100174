/* SPDX-License-Identifier: MIT
 *
 * Requests and their replies, and the listener as a whole. */
#include "daemon/front/front.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "daemon/front/front_impl.h"
#include "daemon/loop/loop.h"

/* Memory for the lists of a decoded request, in addition to a multiple of its size. */
#define ARENA_BYTES (1ull << 20)
#define BUSY_MS     1000u
/* Time that nng's threads are given to end closed operations. */
#define END_MS 2000u

/* A pending request. */
struct pending {
	struct lmi_conn *conn;
	uint32_t v;
	enum lmi_wire_op op;
	uint32_t n_route, n_rid;
	uint8_t route[LMI_FRONT_FRAME_ROUTE_BYTES];
	char rid[LMI_WIRE_LIMIT_RID_BYTES];
};

/* ---- answers ---- */

static void answer(struct pending *a, struct lmi_wire_reply *r)
{
	struct lmi_conn *c = a->conn;
	struct lmi_front_listener *f = c->f;
	struct lmd_error err = {0}, keep = {0};

	r->v = a->v;
	r->op = a->op;
	r->rid = (struct lmd_str){.ptr = a->rid, .len = a->n_rid};
	f->buf.n = 0;
	if (lmi_wire_reply_encode(&f->buf, r, &err) != LMD_OK) {
		LMI_FRONT_LOG(f, LMD_LOG_ERROR, "cannot encode a reply: %s", err.text);
		lmi_wire_reply_fail(r, LMD_INTERNAL, "the reply cannot be encoded", -1, &keep);
		f->buf.n = 0;
		(void)lmi_wire_reply_encode(&f->buf, r, &err);
	}
	f->n_calling--;
	lmi_conn_send(c, a->route, a->n_route, f->buf.p, f->buf.n);
	lmi_free(a);
	lmi_conn_answered(c);
}

static void refuse(struct pending *a, const struct lmd_error *err, int64_t retry_ms, bool say_hello)
{
	struct lmi_wire_reply r = {0};
	struct lmd_error keep = {0};

	lmi_wire_reply_fail(&r, err->status, *err->text ? err->text : lmd_status_text(err->status),
			    retry_ms, &keep);
	r.error.hello = say_hello;
	answer(a, &r);
}

static void on_reply(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct lmi_wire_reply r;

	if (!reply) {
		refuse(arg, err, retry_ms ? (int64_t)retry_ms : -1, false);
		return;
	}
	r = *reply;
	answer(arg, &r);
}

/* ---- keys ---- */

static void call_hello(struct pending *a)
{
	struct lmi_front_listener *f = a->conn->f;
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_HELLO);
	req.v = a->v;
	req.rid = (struct lmd_str){.ptr = a->rid, .len = a->n_rid};
	f->o.ops.call(f->o.arg, &a->conn->principal, &req, on_reply, a);
}

static void on_login(void *arg, const struct lmi_front_login *login, const struct lmd_error *err)
{
	struct pending *a = arg;
	struct lmi_conn *c = a->conn;
	char text[LMI_CONN_PEER_TEXT];

	if (!login) {
		if (err->status != LMD_DENIED) /* the key was not checked */
			lmi_conn_limiter_auth_ok(c->f->limiter, &c->peer);
		else
			LMI_FRONT_LOG(c->f, LMD_LOG_WARN, "login from %s failed: %s",
				      lmi_conn_peer_text(&c->peer, text), err->text);
		refuse(a, err, -1, false);
		return;
	}
	lmi_conn_limiter_auth_ok(c->f->limiter, &c->peer);
	if (c->closed) {
		call_hello(a);
		return;
	}
	/* with another key the connection belongs to another principal */
	if (c->revoked || (*c->principal.key_label && strcmp(c->principal.key_label, login->label)))
		lmi_conn_deauthenticate(c);
	c->principal.role = login->role;
	(void)snprintf(c->principal.key_label, sizeof(c->principal.key_label), "%s", login->label);
	c->expires_ns = login->expires_ns;
	c->frames.max = c->f->o.message_bytes;
	call_hello(a);
}

/* Handles hello on a connection without a uid. */
static void hello(struct pending *a, const struct lmd_str *key)
{
	struct lmi_conn *c = a->conn;
	struct lmi_front_listener *f = c->f;
	struct lmd_error err = {0};
	uint32_t retry_ms = 0;

	if (!key->len && c->principal.role != LMI_SVC_ROLE_NONE) {
		call_hello(a);
	} else if (!key->len) {
		(void)lmd_fail(&err, LMD_DENIED,
			       "hello: the key is missing: clients over TCP must send one");
		f->o.ops.refused(f->o.arg, &c->peer, "", "hello", err.text);
		refuse(a, &err, -1, false);
	} else if (lmi_conn_limiter_auth_attempt(f->limiter, &c->peer, f->now, &retry_ms, &err) !=
		   LMD_OK) {
		f->o.ops.refused(f->o.arg, &c->peer, "", "hello", err.text);
		refuse(a, &err, retry_ms ? (int64_t)retry_ms : -1, false);
	} else {
		f->o.ops.login(f->o.arg, &c->peer, key, on_login, a);
	}
}

/* Returns whether the connection is authenticated and its key has not expired. */
static bool is_known(struct lmi_conn *c)
{
	if (c->expires_ns && c->f->o.ops.wall_ns(c->f->o.arg) >= c->expires_ns) {
		c->principal.role = LMI_SVC_ROLE_NONE;
		c->expires_ns = 0;
	}
	return c->principal.role != LMI_SVC_ROLE_NONE;
}

/* ---- requests ---- */

/* Remembers the common fields of the reply. */
static void copy_head(struct pending *a, const struct lmi_wire_request *req)
{
	a->v = req->v ? req->v : LMI_WIRE_V;
	a->op = req->op;
	a->n_rid = req->rid.len <= sizeof(a->rid) ? (uint32_t)req->rid.len : 0;
	if (a->n_rid)
		memcpy(a->rid, req->rid.ptr, a->n_rid);
}

static void dispatch(struct pending *a, const struct lmi_wire_request *req)
{
	struct lmi_conn *c = a->conn;
	struct lmi_front_listener *f = c->f;
	struct lmd_error err = {0};

	if (c->rejected) {
		(void)lmd_fail(&err, LMD_BUSY, "%s", c->reject_reason);
		refuse(a, &err, BUSY_MS, false);
	} else if (f->n_calling > f->o.n_call) {
		(void)lmd_fail(&err, LMD_BUSY,
			       "too many requests: %u are pending, the maximum is %u",
			       f->n_calling - 1, f->o.n_call);
		refuse(a, &err, BUSY_MS, false);
	} else if (c->n_call > LMI_CONN_CALLS) {
		(void)lmd_fail(&err, LMD_BUSY,
			       "too many requests: %u are pending on this connection, the maximum "
			       "is %u",
			       c->n_call - 1, LMI_CONN_CALLS);
		refuse(a, &err, BUSY_MS, false);
	} else if (c->peer.remote && req->op == LMI_WIRE_OP_HELLO) {
		hello(a, &req->u.hello.key);
	} else if (c->peer.remote && !is_known(c) && req->op != LMI_WIRE_OP_PING) {
		(void)lmd_fail(&err, LMD_DENIED,
			       "op %s requires a key: send hello with a key on this connection "
			       "first",
			       lmi_wire_ops[req->op].name);
		refuse(a, &err, -1, true);
	} else {
		f->o.ops.call(f->o.arg, &c->principal, req, on_reply, a);
	}
}

static void decode(struct pending *a, const struct lmi_front_frame *frame)
{
	struct lmi_front_listener *f = a->conn->f;
	struct lmd_error err = {0};
	struct lmi_wire_request req;
	struct lmd_arena *arena = lmi_arena_create(ARENA_BYTES + 64 * frame->n_body);
	enum lmd_status st = lmd_fail(&err, LMD_NOMEM, "no memory for the request");

	lmi_wire_request_init(&req, LMI_WIRE_OP_NONE);
	if (arena)
		st = lmi_wire_request_decode(&req, frame->body, frame->n_body, arena, &err);
	copy_head(a, &req);
	if (st == LMD_OK) {
		dispatch(a, &req);
	} else {
		f->n_bad++;
		refuse(a, &err, -1, false);
	}
	lmi_arena_destroy(arena);
}

void lmi_front_message(struct lmi_conn *c, const struct lmi_front_frame *frame, bool too_long)
{
	struct lmi_front_listener *f = c->f;
	struct pending *a = lmi_alloc(1, sizeof(*a));
	struct lmd_error err = {0};

	if (!a) {
		lmi_conn_close_later(c);
		return;
	}
	a->conn = c;
	a->v = LMI_WIRE_V;
	a->n_route = frame->n_route;
	memcpy(a->route, frame->route, frame->n_route);
	c->n_call++;
	f->n_calling++;
	f->n_message++;
	if (!too_long) {
		decode(a, frame);
		return;
	}
	f->n_bad++;
	(void)lmd_fail(&err, LMD_INVALID, "the message has %llu bytes, the maximum is %llu%s",
		       (unsigned long long)frame->n_body, (unsigned long long)c->frames.max,
		       c->peer.remote && c->principal.role == LMI_SVC_ROLE_NONE ? " before hello"
										: "");
	refuse(a, &err, -1, false);
}

/* ---- life ---- */

static enum lmd_status open_listeners(struct lmi_front_listener *f, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	char url[160];

	(void)snprintf(url, sizeof(url), "ipc://%s", f->path);
	if (f->o.tls_cert)
		st = lmi_front_tls_read(&f->tls, &f->o, err);
	if (st == LMD_OK)
		st = lmi_front_listener_open(f, url, err);
	for (uint32_t i = 0; i < f->o.n_urls && st == LMD_OK; i++) {
		st = lmi_front_listener_open(f, f->o.urls[i], err);
		if (st == LMD_OK)
			LMI_FRONT_LOG(f, LMD_LOG_INFO, "listening on %s", f->listeners->url);
	}
	return st;
}

enum lmd_status lmi_front_open(struct lmi_front_listener **out, const struct lmi_front_opts *opts,
			       struct lmd_error *err)
{
	struct lmi_front_listener *f = lmi_alloc(1, sizeof(*f));
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for the socket");
	f->o = *opts;
	f->path = lmi_strndup(opts->path, strlen(opts->path));
	st = f->path ? lmi_mailbox_init(&f->mailbox, err)
		     : lmd_fail(err, LMD_NOMEM, "no memory for the socket");
	if (st != LMD_OK) {
		lmi_free(f->path);
		lmi_free(f);
		return st;
	}
	f->open = true;
	f->now = lmi_loop_now();
	f->check_ns = UINT64_MAX;
	f->limiter = opts->limiter;
	st = open_listeners(f, err);
	if (st == LMD_OK)
		*out = f;
	else
		lmi_front_close(f);
	return st;
}

/* Waits for messages of nng's threads.  Returns false once `until` has passed. */
static bool wait_more(struct lmi_front_listener *f, uint64_t until)
{
	struct pollfd p = {.fd = lmi_mailbox_fd(&f->mailbox), .events = POLLIN};
	uint64_t now = f->now = lmi_loop_now();

	if (now >= until || poll(&p, 1, (int)((until - now) / LMI_NS_PER_MS) + 1) < 0)
		return false;
	(void)lmi_mailbox_drain(&f->mailbox);
	return true;
}

void lmi_front_flush(struct lmi_front_listener *f, uint32_t flush_ms)
{
	uint64_t until = lmi_loop_now() + flush_ms * LMI_NS_PER_MS;

	if (!f)
		return;
	f->open = false; /* received bytes are ignored from now on */
	while (f->n_sending && wait_more(f, until))
		;
}

static bool accepts(const struct lmi_front_listener *f)
{
	for (const struct lmi_front_listen_socket *l = f->listeners; l; l = l->next)
		if (l->accept.runs)
			return true;
	return false;
}

/* Calls visit for all connections, then frees the closed ones. */
static void for_each_conn(struct lmi_front_listener *f, void (*visit)(struct lmi_conn *c))
{
	struct lmi_conn *next;

	f->iterating = true;
	for (struct lmi_conn *c = f->conns; c; c = c->next)
		visit(c);
	f->iterating = false;
	for (struct lmi_conn *c = f->conns; c; c = next) {
		next = c->next;
		lmi_conn_free_if_done(c);
	}
}

void lmi_front_close(struct lmi_front_listener *f)
{
	uint64_t until = lmi_loop_now() + END_MS * LMI_NS_PER_MS;
	struct lmi_front_listen_socket *next;

	if (!f)
		return;
	f->open = false;
	for (struct lmi_front_listen_socket *l = f->listeners; l; l = l->next)
		lmi_front_listener_stop(l);
	for_each_conn(f, lmi_conn_close);
	while ((f->conns || accepts(f)) && wait_more(f, until))
		;
	if (f->conns || accepts(f))
		return; /* not freed, since nng's threads may still post to it */
	for (struct lmi_front_listen_socket *l = f->listeners; l; l = next) {
		next = l->next;
		lmi_front_listener_free(l);
	}
	if (f->tls)
		nng_tls_config_free(f->tls);
	lmi_mailbox_fini(&f->mailbox);
	lmi_wire_buf_fini(&f->buf);
	lmi_free(f->path);
	lmi_free(f);
}

void lmi_front_library_fini(void)
{
	nng_fini();
}

int lmi_front_fd(const struct lmi_front_listener *f)
{
	return lmi_mailbox_fd(&f->mailbox);
}

/* ---- ticks ---- */

/* Logs each time that a counter has doubled, since rejected clients retry. */
static void report(struct lmi_front_listener *f)
{
	if (f->n_refused >= 2 * f->n_refused_logged + 1) {
		LMI_FRONT_LOG(f, LMD_LOG_WARN,
			      "connections rejected: %llu so far; open connections=%u",
			      (unsigned long long)f->n_refused, f->n_conn);
		f->n_refused_logged = f->n_refused;
	}
	if (f->n_unread >= 2 * f->n_unread_logged + 1) {
		LMI_FRONT_LOG(f, LMD_LOG_WARN,
			      "connections closed because the client did not read its replies: "
			      "%llu so far",
			      (unsigned long long)f->n_unread);
		f->n_unread_logged = f->n_unread;
	}
}

static void check(struct lmi_conn *c)
{
	lmi_front_check_by(c->f, lmi_conn_tick(c, c->f->now));
}

/* Checks the connection that has waited for its turn the longest, before others can take the turn. */
static void check_longest_paused(struct lmi_front_listener *f)
{
	struct lmi_conn *longest = NULL;

	for (struct lmi_conn *c = f->conns; c; c = c->next)
		if (c->paused && !c->closed && (!longest || c->paused_ns < longest->paused_ns))
			longest = c;
	f->iterating = true; /* for_each_conn frees it */
	if (longest)
		check(longest);
	f->iterating = false;
}

void lmi_front_listener_tick(struct lmi_front_listener *f, uint64_t now)
{
	f->now = now;
	(void)lmi_mailbox_drain(&f->mailbox);
	if (now >= f->check_ns) {
		f->check_ns = UINT64_MAX;
		for (struct lmi_front_listen_socket *l = f->listeners; l; l = l->next)
			lmi_front_listen_socket_tick(l, now);
		check_longest_paused(f);
		for_each_conn(f, check);
	}
	report(f);
}

uint64_t lmi_front_deadline(const struct lmi_front_listener *f)
{
	return f->check_ns;
}

void lmi_front_set_limits(struct lmi_front_listener *f, const struct lmi_front_limits *limits)
{
	f->o.limits = *limits;
	f->check_ns = 0;
}

enum lmd_status lmi_front_renew_tls(struct lmi_front_listener *f, struct lmd_error *err)
{
	nng_tls_config *tls;
	enum lmd_status st;

	if (!f->tls)
		return LMD_OK;
	st = lmi_front_tls_read(&tls, &f->o, err);
	if (st != LMD_OK)
		return st;
	for (struct lmi_front_listen_socket *l = f->listeners; l; l = l->next)
		lmi_front_listener_set_tls(l, tls);
	nng_tls_config_free(f->tls);
	f->tls = tls;
	return LMD_OK;
}

void lmi_front_revoke(struct lmi_front_listener *f, const char *label)
{
	for (struct lmi_conn *c = f->conns; c; c = c->next)
		if (!c->closed && c->peer.remote && !strcmp(c->principal.key_label, label))
			lmi_conn_revoke(c);
}

void lmi_front_stats(const struct lmi_front_listener *f, struct lmi_front_stats *out)
{
	*out = (struct lmi_front_stats){.n_conn = f->n_conn,
					.n_calling = f->n_calling,
					.n_sending = f->n_sending,
					.n_message = f->n_message,
					.n_bad = f->n_bad,
					.n_refused = f->n_refused,
					.n_idle = f->n_idle,
					.n_slow = f->n_slow,
					.n_unread = f->n_unread};
}
