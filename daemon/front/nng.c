/* SPDX-License-Identifier: MIT
 *
 * The socket.  Its contexts are the slots of this file; each goes around
 *
 *     idle -> receiving -> calling -> sending -> idle
 *
 * with nng's callback at the end of receiving and of sending, which posts the slot to the
 * mailbox and does nothing else.  Some slots always receive: nng reads a connection only
 * while somebody would take its message, and a connection that is not read is not seen to
 * end.  So a slot whose request waits for its answer is replaced by another one; when too many
 * wait, requests are answered "busy" at once instead.
 *
 * A connection is let in or refused before nng reads from it (ADD_PRE), so that a request's
 * connection is always known, unless it is gone already: then the request is dropped.
 *
 * A connection that was let in is never closed from here: nng 1.5 may wait for ever for a pipe
 * that is closed while it sends (its transport drops an operation that was begun meanwhile).
 * What a client asks for and does not read is dropped instead, beyond a bound; all of it is
 * free when it goes. */
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/front/conns.h"
#include "daemon/loop.h"
#include "proto/proto.h"

/* Slots that receive at a time. */
#define N_RECEIVING 4u
/* What the lists of a decoded request may take, beyond a multiple of its bytes. */
#define ARENA_BYTES (1ull << 20)
#define BUSY_MS     1000u

enum state { IDLE, RECEIVING, CALLING, SENDING };

struct slot {
	struct lmi_message message;
	struct lmi_front *f;
	struct slot *all, *idle; /* lists */
	enum state state;
	nng_ctx ctx;
	nng_aio *aio;
	nng_pipe pipe;       /* of the request */
	uint64_t sent_bytes; /* of the reply under way */
	/* head of the request, for its answer */
	uint32_t v;
	enum lmi_wire_op op;
	uint32_t rid_bytes;
	char rid[LMI_LIMIT_RID_BYTES];
};

struct lmi_front {
	struct lmi_front_opts o;
	struct lmi_mailbox mailbox;
	struct lmi_conns conns;
	nng_socket sock;
	bool open;
	char *path;
	struct slot *all, *idle;
	uint32_t n_receiving, n_calling, n_sending;
	uint64_t n_message, n_bad, n_dropped;
	uint64_t n_refused_said, n_dropped_said;
	struct lmi_wire_buf buf; /* of the reply that is encoded */
};

static enum lmd_status failed(struct lmd_error *err, int rv, const char *what)
{
	return lmd_fail(err,
			rv == NNG_ENOMEM       ? LMD_NOMEM
			: rv == NNG_EADDRINUSE ? LMD_BUSY
					       : LMD_IO,
			"%s: %s", what, nng_strerror(rv));
}

/* ---- nng's threads ---- */

static void on_aio(void *arg)
{
	struct slot *s = arg;

	lmi_mailbox_post(&s->f->mailbox, &s->message);
}

static void deliver_gone(struct lmi_message *m)
{
	struct lmi_conn *c = (struct lmi_conn *)m;
	struct lmi_front *f = c->front;

	if (f->open)
		f->o.ops.gone(f->o.arg, c->who.conn);
	lmi_free(c);
}

static void on_pipe(nng_pipe pipe, nng_pipe_ev ev, void *arg)
{
	struct lmi_front *f = arg;
	uint32_t id = (uint32_t)nng_pipe_id(pipe);

	if (ev == NNG_PIPE_EV_ADD_PRE) {
		uint64_t uid = 0, gid = 0, pid = 0;
		struct lmi_conn *c = NULL;

		if (!nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_UID, &uid) &&
		    !nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_GID, &gid) &&
		    !nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_PID, &pid))
			c = lmi_conns_add(&f->conns, id, (uint32_t)uid, (uint32_t)gid,
					  (int32_t)pid);
		if (c)
			c->front = f;
		else
			nng_pipe_close(pipe);
	} else if (ev == NNG_PIPE_EV_REM_POST) {
		struct lmi_conn *c = lmi_conns_remove(&f->conns, id);

		if (c) {
			c->message.deliver = deliver_gone;
			lmi_mailbox_post(&f->mailbox, &c->message);
		}
	}
}

/* ---- the loop's thread ---- */

static void to_idle(struct slot *s)
{
	if (s->state == CALLING || s->state == SENDING)
		lmi_conns_end(&s->f->conns, (uint32_t)nng_pipe_id(s->pipe), s->sent_bytes);
	s->sent_bytes = 0;
	s->state = IDLE;
	s->idle = s->f->idle;
	s->f->idle = s;
}

static void send_bytes(struct slot *s, const void *bytes, size_t n)
{
	struct lmi_front *f = s->f;
	enum lmd_status st = LMD_NOMEM;
	nng_msg *msg = NULL;

	f->n_calling--;
	if (!nng_msg_alloc(&msg, 0) && !nng_msg_append(msg, bytes, n))
		st = lmi_conns_send(&f->conns, (uint32_t)nng_pipe_id(s->pipe), n);
	if (st != LMD_OK) {
		if (msg)
			nng_msg_free(msg);
		/* gone; or without memory, or too much unread: its own time limit must do */
		f->n_dropped += st != LMD_NOTFOUND;
		to_idle(s);
		return;
	}
	s->state = SENDING;
	s->sent_bytes = n;
	f->n_sending++;
	nng_aio_set_msg(s->aio, msg);
	nng_ctx_send(s->ctx, s->aio);
}

static void answer(struct slot *s, struct lmi_reply *r)
{
	struct lmi_front *f = s->f;
	struct lmd_error err = {0}, keep = {0};

	r->v = s->v;
	r->op = s->op;
	r->rid = (struct lmd_str){.ptr = s->rid, .len = s->rid_bytes};
	f->buf.n = 0;
	if (lmi_reply_encode(&f->buf, r, &err) != LMD_OK) {
		f->o.host->log(f->o.host->ctx, "front", LMD_LOG_ERROR, "a reply cannot be sent: %s",
			       err.text);
		lmi_reply_fail(r, LMD_INTERNAL, "the reply cannot be sent", -1, &keep);
		f->buf.n = 0;
		(void)lmi_reply_encode(&f->buf, r, &err);
	}
	send_bytes(s, f->buf.p, f->buf.n);
}

static void answer_error(struct slot *s, enum lmd_status code, const char *text, int64_t retry_ms)
{
	struct lmi_reply r = {0};
	struct lmd_error keep = {0};

	lmi_reply_fail(&r, code, text, retry_ms, &keep);
	answer(s, &r);
}

static void on_reply(void *arg, const struct lmi_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct slot *s = arg;
	struct lmi_reply r;

	if (!reply) {
		answer_error(s, err->status, *err->text ? err->text : lmd_status_text(err->status),
			     retry_ms ? (int64_t)retry_ms : -1);
		return;
	}
	r = *reply;
	answer(s, &r);
}

/* Remembers what an answer begins with. */
static void keep_head(struct slot *s, const struct lmi_request *req)
{
	s->v = req->v;
	s->op = req->op;
	s->rid_bytes = req->rid.len <= sizeof(s->rid) ? (uint32_t)req->rid.len : 0;
	if (s->rid_bytes)
		memcpy(s->rid, req->rid.ptr, s->rid_bytes);
}

static void handle(struct slot *s, nng_msg *msg)
{
	uint64_t n = nng_msg_len(msg);
	struct lmi_front *f = s->f;
	struct lmi_principal who;
	struct lmi_request req;
	struct lmd_error err = {0};
	struct lmd_arena *arena;
	enum lmd_status st;

	s->pipe = nng_msg_get_pipe(msg);
	st = lmi_conns_begin(&f->conns, (uint32_t)nng_pipe_id(s->pipe), &who);
	if (st != LMD_OK) {
		f->n_dropped += st == LMD_BUSY;
		nng_msg_free(msg);
		to_idle(s); /* receiving again drops the request */
		return;
	}
	f->n_message++;
	f->n_calling++;
	s->state = CALLING;
	arena = lmi_arena_create(ARENA_BYTES + 64 * n);
	lmi_request_init(&req, LMI_WIRE_OP_NONE);
	st = arena ? lmi_request_decode(&req, nng_msg_body(msg), n, arena, &err)
		   : lmd_fail(&err, LMD_NOMEM, "no memory for the request");
	keep_head(s, &req);
	if (st != LMD_OK) {
		f->n_bad++;
		answer_error(s, st, err.text, -1);
	} else if (f->n_calling > f->o.n_call) {
		answer_error(s, LMD_BUSY, "too many requests wait for their answers", BUSY_MS);
	} else {
		f->o.ops.call(f->o.arg, &who, &req, on_reply, s);
	}
	lmi_arena_destroy(arena);
	nng_msg_free(msg);
}

static struct slot *slot_create(struct lmi_front *f)
{
	struct slot *s = lmi_alloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (nng_ctx_open(&s->ctx, f->sock)) {
		lmi_free(s);
		return NULL;
	}
	if (nng_aio_alloc(&s->aio, on_aio, s)) {
		nng_ctx_close(s->ctx);
		lmi_free(s);
		return NULL;
	}
	s->f = f;
	s->all = f->all;
	f->all = s;
	return s;
}

static void deliver_slot(struct lmi_message *m);

/* Makes some slots receive. */
static void arm(struct lmi_front *f)
{
	while (f->open && f->n_receiving < N_RECEIVING) {
		struct slot *s = f->idle;

		if (s)
			f->idle = s->idle;
		else
			s = slot_create(f);
		if (!s)
			break; /* tried again after the next message */
		s->state = RECEIVING;
		s->message.deliver = deliver_slot;
		f->n_receiving++;
		nng_ctx_recv(s->ctx, s->aio);
	}
}

static void deliver_slot(struct lmi_message *m)
{
	struct slot *s = (struct slot *)m;
	struct lmi_front *f = s->f;
	int rv = nng_aio_result(s->aio);

	if (s->state == SENDING) {
		f->n_sending--;
		if (rv) /* the message is ours again */
			nng_msg_free(nng_aio_get_msg(s->aio));
		to_idle(s);
		arm(f);
		return;
	}
	f->n_receiving--;
	if (!rv && !f->open)
		nng_msg_free(nng_aio_get_msg(s->aio));
	if (rv || !f->open) {
		to_idle(s);
		arm(f);
		return;
	}
	arm(f);
	handle(s, nng_aio_get_msg(s->aio));
}

static enum lmd_status listen_on(struct lmi_front *f, struct lmd_error *err)
{
	char url[256];
	nng_listener listener;
	mode_t mask;
	int rv;

	snprintf(url, sizeof(url), "ipc://%s", f->o.path);
	rv = nng_listener_create(&listener, f->sock, url);
	if (!rv)
		rv = nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS, 0660);
	if (rv)
		return failed(err, rv, url);
	/* nobody connects between the making of the file and the setting of its mode */
	mask = umask(0177);
	rv = nng_listener_start(listener, 0);
	umask(mask);
	if (rv == NNG_EADDRINUSE)
		return lmd_fail(err, LMD_BUSY, "another llamad listens on %s", url);
	return rv ? failed(err, rv, url) : LMD_OK;
}

enum lmd_status lmi_front_open(struct lmi_front **out, const struct lmi_front_opts *opts,
			       struct lmd_error *err)
{
	struct lmi_front *f = lmi_alloc(1, sizeof(*f));
	enum lmd_status st;
	int rv;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for the socket");
	f->o = *opts;
	f->path = lmi_strndup(opts->path, strlen(opts->path));
	st = f->path ? lmi_mailbox_init(&f->mailbox, err)
		     : lmd_fail(err, LMD_NOMEM, "no memory for the socket");
	if (st != LMD_OK)
		goto undo_path;
	f->o.path = f->path;
	lmi_conns_init(&f->conns, &opts->limits, (uint32_t)geteuid());
	rv = nng_rep0_open(&f->sock);
	if (rv) {
		st = failed(err, rv, "socket");
		goto undo_conns;
	}
	f->open = true;
	rv = nng_socket_set_size(f->sock, NNG_OPT_RECVMAXSZ, (size_t)opts->message_bytes);
	if (!rv)
		rv = nng_pipe_notify(f->sock, NNG_PIPE_EV_ADD_PRE, on_pipe, f);
	if (!rv)
		rv = nng_pipe_notify(f->sock, NNG_PIPE_EV_REM_POST, on_pipe, f);
	if (rv) {
		st = failed(err, rv, "socket");
		goto undo_socket;
	}
	arm(f);
	st = f->n_receiving ? listen_on(f, err)
			    : lmd_fail(err, LMD_NOMEM, "no memory for the socket");
	if (st != LMD_OK)
		goto undo_socket;
	*out = f;
	return LMD_OK;

undo_socket:
	lmi_front_close(f);
	return st;
undo_conns:
	lmi_conns_fini(&f->conns);
	lmi_mailbox_fini(&f->mailbox);
undo_path:
	lmi_free(f->path);
	lmi_free(f);
	return st;
}

void lmi_front_flush(struct lmi_front *f, uint32_t flush_ms)
{
	uint64_t until = lmi_loop_now() + flush_ms * 1000000ull;

	if (!f)
		return;
	f->open = false; /* nothing is received any more */
	while (f->n_sending) {
		struct pollfd p = {.fd = lmi_mailbox_fd(&f->mailbox), .events = POLLIN};
		uint64_t now = lmi_loop_now();

		if (now >= until || poll(&p, 1, (int)((until - now) / 1000000) + 1) < 0)
			break;
		(void)lmi_mailbox_drain(&f->mailbox);
	}
}

void lmi_front_close(struct lmi_front *f)
{
	if (!f)
		return;
	f->open = false;
	(void)nng_close(f->sock);
	/* what nng's threads still say was said when the operations have ended */
	for (struct slot *s = f->all; s; s = s->all)
		nng_aio_stop(s->aio);
	(void)lmi_mailbox_drain(&f->mailbox);
	for (struct slot *s = f->all, *next; s; s = next) {
		next = s->all;
		nng_aio_free(s->aio);
		lmi_free(s);
	}
	lmi_conns_fini(&f->conns);
	lmi_mailbox_fini(&f->mailbox);
	lmi_wire_buf_fini(&f->buf);
	lmi_free(f->path);
	lmi_free(f);
}

void lmi_front_library_fini(void)
{
	nng_fini();
}

int lmi_front_fd(const struct lmi_front *f)
{
	return lmi_mailbox_fd(&f->mailbox);
}

void lmi_front_turn(struct lmi_front *f)
{
	uint64_t n_refused;
	uint32_t n;

	(void)lmi_mailbox_drain(&f->mailbox);
	arm(f); /* where there was no memory before */
	lmi_conns_count(&f->conns, &n, &n_refused);
	/* said once for each time that their number doubles: refused clients try again */
	if (n_refused >= 2 * f->n_refused_said + 1) {
		f->o.host->log(f->o.host->ctx, "front", LMD_LOG_WARN,
			       "connections refused: %llu so far; open connections=%u",
			       (unsigned long long)n_refused, n);
		f->n_refused_said = n_refused;
	}
	if (f->n_dropped >= 2 * f->n_dropped_said + 1) {
		f->o.host->log(f->o.host->ctx, "front", LMD_LOG_WARN,
			       "requests dropped, of clients that do not read their replies: "
			       "%llu so far",
			       (unsigned long long)f->n_dropped);
		f->n_dropped_said = f->n_dropped;
	}
}

void lmi_front_set_limits(struct lmi_front *f, const struct lmi_front_limits *limits)
{
	lmi_conns_set_limits(&f->conns, limits);
}

void lmi_front_stats(struct lmi_front *f, struct lmi_front_stats *out)
{
	*out = (struct lmi_front_stats){.n_dropped = f->n_dropped,
					.n_calling = f->n_calling,
					.n_sending = f->n_sending,
					.n_message = f->n_message,
					.n_bad = f->n_bad};
	lmi_conns_count(&f->conns, &out->n_conn, &out->n_refused);
}
