/* SPDX-License-Identifier: MIT
 *
 * A connection: an nng stream with one read operation and one write operation.
 *
 * nng's threads complete operations and post them to the loop's mailbox; only the loop's thread
 * starts operations and closes streams.  So no operation can be started on a closed stream, whose
 * end nng 1.5 would never report.  nng's own sockets have that race inside, so they are not used.
 *
 * A connection is closed
 *     - if its first bytes take longer than message_ms, or a message arrives at less than 10 KiB
 *       per message_ms;
 *     - if it has had no work for idle_ms: no pending request and no running stream;
 *     - if the client has read no byte of the waiting replies for idle_ms, or too many bytes are
 *       waiting.
 * `since_ns` is the time of its last work. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "daemon/front/front_impl.h"
#include "daemon/loop/loop.h"

/* Minimum number of bytes of a message per message_ms. */
#define PART_BYTES 10240u
/* Time that a rejected connection is given to send a request and read the error. */
#define REJECT_MS      2000u
#define IOV_MAX_SEND   8u
/* Number of messages that a connection has handled in succession before the others have their turn.  A read has
 * room for some 400 of the shortest. */
#define TURN_MESSAGES 16u

static void on_rx(struct lmi_mailbox_message *m);
static void on_turn(struct lmi_mailbox_message *m);
static void on_tx(struct lmi_mailbox_message *m);

/* ---- life ---- */

static enum lmd_status identify(struct lmi_conn *c)
{
	uint64_t uid, gid, pid;
	nng_sockaddr sa;

	if (c->ipc) {
		if (nng_stream_get_uint64(c->stream, NNG_OPT_IPC_PEER_UID, &uid) ||
		    nng_stream_get_uint64(c->stream, NNG_OPT_IPC_PEER_GID, &gid) ||
		    nng_stream_get_uint64(c->stream, NNG_OPT_IPC_PEER_PID, &pid))
			return LMD_IO;
		c->peer = (struct lmi_conn_peer){.uid = (uint32_t)uid};
		c->principal = (struct lmi_svc_principal){
			.uid = (uint32_t)uid, .gid = (uint32_t)gid, .pid = (int32_t)pid};
		return LMD_OK;
	}
	if (nng_stream_get_addr(c->stream, NNG_OPT_REMADDR, &sa))
		return LMD_IO;
	c->peer.remote = true;
	if (sa.s_family == NNG_AF_INET) {
		c->peer.addr[10] = c->peer.addr[11] = 0xff;
		memcpy(c->peer.addr + 12, &sa.s_in.sa_addr, 4);
	} else if (sa.s_family == NNG_AF_INET6) {
		memcpy(c->peer.addr, sa.s_in6.sa_addr, 16);
	} else {
		return LMD_IO;
	}
	c->principal =
		(struct lmi_svc_principal){.uid = UINT32_MAX, .gid = UINT32_MAX, .remote = true};
	return LMD_OK;
}

static uint64_t unauthenticated_bytes(const struct lmi_front_listener *f)
{
	return LMI_FRONT_UNAUTHENTICATED_BYTES < f->o.message_bytes
		       ? LMI_FRONT_UNAUTHENTICATED_BYTES
		       : f->o.message_bytes;
}

/* Admits the connection.  If there are too many, it is marked as rejected, so that its first
 * request is answered with the reason. */
static enum lmd_status admit(struct lmi_conn *c)
{
	struct lmi_front_listener *f = c->f;
	struct lmd_error err = {0};
	enum lmd_status st = identify(c);

	if (st != LMD_OK)
		return st;
	st = lmi_conn_limiter_admit(f->limiter, &c->peer, &err);
	f->n_conn += st == LMD_OK;
	f->n_refused += st != LMD_OK;
	if (st == LMD_BUSY && f->n_rejected < LMI_FRONT_REJECTED_MAX) {
		f->n_rejected++;
		c->rejected = true;
		c->frames.max = unauthenticated_bytes(f);
		(void)snprintf(c->reject_reason, sizeof(c->reject_reason), "%.159s", err.text);
		return LMD_OK;
	}
	if (st != LMD_OK)
		return st;
	c->principal.conn = ++f->n_conn_ever;
	if (!c->peer.remote)
		c->principal.role = lmi_conn_limiter_is_admin(f->limiter, &c->peer)
					    ? LMI_SVC_ROLE_ADMIN
					    : LMI_SVC_ROLE_USER;
	c->frames.max = c->peer.remote ? unauthenticated_bytes(f) : f->o.message_bytes;
	return LMD_OK;
}

static void put(struct lmi_conn *c, struct lmi_front_out *own_out);

static bool send_hello(struct lmi_conn *c)
{
	struct lmi_front_out *o = lmi_alloc(1, sizeof(*o) + sizeof(lmi_front_frame_hello));

	if (!o)
		return false;
	o->n = sizeof(lmi_front_frame_hello);
	memcpy(o->bytes, lmi_front_frame_hello, o->n);
	put(c, o);
	return true;
}

void lmi_conn_begin(struct lmi_front_listener *f, const struct lmi_front_listen_socket *l,
		    nng_stream *own_stream)
{
	struct lmi_conn *c = lmi_alloc(1, sizeof(*c));
	bool in = false;

	if (!c) {
		nng_stream_free(own_stream);
		return;
	}
	c->f = f;
	c->ipc = c->frames.ipc = l->ipc;
	c->stream = own_stream;
	c->out_end = &c->out;
	c->begun_ns = c->since_ns = c->wrote_ns = c->part_ns = f->now;
	if (lmi_front_aio_init(&c->rx, f, c, on_rx) == LMD_OK &&
	    lmi_front_aio_init(&c->tx, f, c, on_tx) == LMD_OK)
		in = admit(c) == LMD_OK;
	c->next = f->conns;
	if (c->next)
		c->next->prev = c;
	f->conns = c;
	f->n_live++;
	if (!in || !send_hello(c))
		lmi_conn_close(c);
	else
		lmi_front_check_by(f, lmi_conn_tick(c, f->now));
}

void lmi_conn_free_if_done(struct lmi_conn *c)
{
	struct lmi_front_listener *f = c->f;

	if (!c->closed || c->rx.runs || c->tx.runs || c->n_call || f->iterating)
		return;
	*(c->prev ? &c->prev->next : &f->conns) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	f->n_live--;
	lmi_front_aio_fini(&c->rx);
	lmi_front_aio_fini(&c->tx);
	nng_stream_free(c->stream);
	for (struct lmi_front_out *o = c->out, *next; o; o = next) {
		next = o->next;
		lmi_free(o);
	}
	lmi_front_frames_fini(&c->frames);
	lmi_free(c);
}

void lmi_conn_close(struct lmi_conn *c)
{
	struct lmi_front_listener *f = c->f;

	if (c->closed)
		return;
	c->closed = true;
	nng_stream_close(c->stream);
	if (c->out)
		f->n_sending--;
	c->n_call++; /* keeps c alive while its requests are answered */
	if (c->rejected) {
		f->n_rejected--;
	} else if (c->principal.conn) {
		f->n_conn--;
		lmi_conn_limiter_leave(f->limiter, &c->peer);
		if (f->open)
			f->o.ops.closed(f->o.arg, c->principal.conn);
	}
	c->n_call--;
	lmi_conn_free_if_done(c);
}

void lmi_conn_deauthenticate(struct lmi_conn *c)
{
	struct lmi_front_listener *f = c->f;
	uint64_t conn = c->principal.conn;

	c->revoked = false;
	c->principal.role = LMI_SVC_ROLE_NONE;
	*c->principal.key_label = 0;
	c->principal.conn = ++f->n_conn_ever;
	c->expires_ns = 0;
	c->frames.max = unauthenticated_bytes(f);
	f->o.ops.closed(f->o.arg, conn);
}

void lmi_conn_revoke(struct lmi_conn *c)
{
	c->revoked = true;
	c->principal.role = LMI_SVC_ROLE_NONE;
	lmi_front_check_by(c->f, 0);
}

void lmi_conn_close_later(struct lmi_conn *c)
{
	c->close_pending = true;
	lmi_front_check_by(c->f, 0);
}

void lmi_conn_answered(struct lmi_conn *c)
{
	c->n_call--;
	c->since_ns = c->f->now;
	lmi_conn_free_if_done(c);
}

/* ---- writing ---- */

static void send_on(struct lmi_conn *c)
{
	nng_iov iov[IOV_MAX_SEND];
	unsigned n = 0;

	for (struct lmi_front_out *o = c->out; o && n < IOV_MAX_SEND; o = o->next, n++)
		iov[n] = (nng_iov){.iov_buf = o->bytes + o->sent, .iov_len = o->n - o->sent};
	c->tx.runs = true;
	(void)nng_aio_set_iov(c->tx.aio, n, iov);
	nng_stream_send(c->stream, c->tx.aio);
}

static void put(struct lmi_conn *c, struct lmi_front_out *own_out)
{
	if (!c->out) {
		c->f->n_sending++;
		c->wrote_ns = c->f->now;
	}
	*c->out_end = own_out;
	c->out_end = &own_out->next;
	c->out_bytes += own_out->n;
	if (!c->tx.runs)
		send_on(c);
}

/* Returns whether the connection is within a long message and must wait for its turn. */
static bool must_wait(const struct lmi_conn *c)
{
	return lmi_front_frames_expects(&c->frames) > LMI_FRONT_LONG_BYTES &&
	       !lmi_front_pacer_ready(&c->f->pacer, c->f->now);
}

/* Reads on, or waits within a long message until its turn; lmi_conn_tick then calls resume(). */
static void receive(struct lmi_conn *c)
{
	nng_iov iov = {.iov_buf = c->in, .iov_len = sizeof(c->in)};

	if (c->rx.runs) /* it has another turn */
		return;
	c->paused = c->in_at < c->in_n || must_wait(c);
	if (c->paused) {
		c->paused_ns = c->f->now;
		return;
	}
	c->reading = c->rx.runs = true;
	(void)nng_aio_set_iov(c->rx.aio, 1, &iov);
	nng_stream_recv(c->stream, c->rx.aio);
}

/* Removes n sent bytes from the list. */
static void sent(struct lmi_conn *c, size_t n)
{
	while (c->out && n >= c->out->n - c->out->sent) {
		struct lmi_front_out *o = c->out;

		n -= o->n - o->sent;
		c->out_bytes -= o->n;
		c->out = o->next;
		lmi_free(o);
	}
	if (c->out)
		c->out->sent += n;
	else
		c->out_end = &c->out;
}

/* Called when an operation reports the end of the stream. */
static void end(struct lmi_conn *c)
{
	if (c->closed)
		lmi_conn_free_if_done(c);
	else
		lmi_conn_close(c);
}

static void on_tx(struct lmi_mailbox_message *m)
{
	struct lmi_front_aio *op = (struct lmi_front_aio *)m;
	struct lmi_conn *c = op->owner;

	op->runs = false;
	if (c->closed || nng_aio_result(op->aio)) {
		end(c);
		return;
	}
	sent(c, nng_aio_count(op->aio));
	c->since_ns = c->wrote_ns = c->f->now;
	if (c->out) {
		send_on(c);
		return;
	}
	c->f->n_sending--;
	if (c->close_after_send)
		lmi_conn_close(c);
	else if (!c->reading) /* sending the first bytes has completed the TLS handshake */
		receive(c);
}

void lmi_conn_send(struct lmi_conn *c, const uint8_t *route, uint32_t n_route, const void *bytes,
		   size_t n)
{
	struct lmi_front_out *o;

	if (c->closed || c->close_pending)
		return;
	if (c->out_bytes > LMI_CONN_OUT_BYTES) {
		c->f->n_unread++;
		lmi_conn_close_later(c);
		return;
	}
	o = lmi_alloc(1, sizeof(*o) + LMI_FRONT_FRAME_HEAD_BYTES + n_route + n);
	if (!o) {
		lmi_conn_close_later(c);
		return;
	}
	o->n = lmi_front_frame_head(c->ipc, n_route + n, o->bytes);
	memcpy(o->bytes + o->n, route, n_route);
	memcpy(o->bytes + o->n + n_route, bytes, n);
	o->n += n_route + n;
	put(c, o);
	if (c->rejected)
		c->close_after_send = true;
}

/* ---- reading ---- */

/* Handles a message; a long one is charged. */
static void message(struct lmi_conn *c, const struct lmi_front_frame *frame)
{
	struct lmi_front_listener *f = c->f;
	uint64_t begin;

	if (frame->n_body <= LMI_FRONT_LONG_BYTES) {
		lmi_front_message(c, frame, false);
		return;
	}
	begin = lmi_clock_thread_ns();
	lmi_front_message(c, frame, false);
	lmi_front_pacer_charge(&f->pacer, lmi_loop_now(), lmi_clock_thread_ns() - begin);
}

/* Lets the other connections have their turn before the bytes that are left. */
static void wait_for_turn(struct lmi_conn *c)
{
	c->paused = false;
	c->rx.runs = true;
	c->rx.message.deliver = on_turn;
	lmi_mailbox_post(&c->f->mailbox, &c->rx.message);
}

/* Parses the received bytes and handles the messages that they complete.  The bytes that would complete
 * a long message stay in c->in until its turn: otherwise clients that keep their last bytes back could
 * have many long messages decoded in succession. */
static void take(struct lmi_conn *c)
{
	const uint8_t *p = c->in + c->in_at;
	size_t n = c->in_n - c->in_at;
	uint32_t n_message = 0;

	c->in_at = c->in_n;
	while (n && !c->closed && !c->close_pending && !c->close_after_send) {
		bool inside = lmi_front_frames_incomplete(&c->frames);
		struct lmi_front_frame frame;

		if (n >= c->frames.len - c->frames.got && must_wait(c)) {
			c->in_at = c->in_n - (uint32_t)n;
			return;
		}
		if (n_message == TURN_MESSAGES) {
			c->in_at = c->in_n - (uint32_t)n;
			wait_for_turn(c);
			return;
		}
		switch (lmi_front_frames_feed(&c->frames, &p, &n, &frame)) {
		case LMI_FRONT_FRAME_MORE:
			if (inside)
				break;
			c->part_ns = c->f->now;
			c->part_got = 0;
			break;
		case LMI_FRONT_FRAME_HANDSHAKE:
			c->since_ns = c->f->now;
			break;
		case LMI_FRONT_FRAME_MESSAGE:
			c->since_ns = c->f->now;
			n_message++;
			message(c, &frame);
			break;
		case LMI_FRONT_FRAME_LONG:
			c->since_ns = c->f->now;
			lmi_front_message(c, &frame, true);
			break;
		case LMI_FRONT_FRAME_BAD:
			c->f->n_bad++;
			lmi_conn_close_later(c);
			break;
		case LMI_FRONT_FRAME_NOMEM:
			lmi_conn_close_later(c);
			break;
		}
	}
}

static void take_and_receive(struct lmi_conn *c)
{
	struct lmi_front_listener *f = c->f;

	if (f->open)
		take(c);
	if (!c->close_pending)
		receive(c);
	lmi_front_check_by(f, lmi_conn_tick(c, f->now));
}

static void on_rx(struct lmi_mailbox_message *m)
{
	struct lmi_front_aio *op = (struct lmi_front_aio *)m;
	struct lmi_conn *c = op->owner;

	op->runs = false;
	if (c->closed || nng_aio_result(op->aio)) {
		end(c);
		return;
	}
	c->in_at = 0;
	c->in_n = c->f->open ? (uint32_t)nng_aio_count(op->aio) : 0;
	take_and_receive(c);
}

/* Continues with the bytes of the last read. */
static void on_turn(struct lmi_mailbox_message *m)
{
	struct lmi_front_aio *op = (struct lmi_front_aio *)m;
	struct lmi_conn *c = op->owner;

	op->runs = false;
	op->message.deliver = on_rx;
	if (c->closed)
		end(c);
	else
		take_and_receive(c);
}

/* Continues a long message whose turn has come. */
static void resume(struct lmi_conn *c, uint64_t now)
{
	c->since_ns = c->part_ns = now;
	c->part_got = c->frames.got;
	if (c->f->open)
		take(c);
	if (!c->close_pending)
		receive(c);
}

/* ---- time ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Closes the connection and increments the counter of the reason. */
static uint64_t over(struct lmi_conn *c, uint64_t *count)
{
	++*count;
	lmi_conn_close(c);
	return UINT64_MAX;
}

uint64_t lmi_conn_tick(struct lmi_conn *c, uint64_t now)
{
	struct lmi_front_listener *f = c->f;
	uint64_t part = f->o.limits.message_ms * LMI_NS_PER_MS,
		 idle = f->o.limits.idle_ms * LMI_NS_PER_MS;
	uint64_t next = UINT64_MAX;

	if (c->closed)
		return UINT64_MAX;
	if (c->close_pending) {
		lmi_conn_close(c);
		return UINT64_MAX;
	}
	if (c->revoked)
		lmi_conn_deauthenticate(c);
	if (c->rejected) {
		if (now >= c->begun_ns + REJECT_MS * LMI_NS_PER_MS)
			return over(c, &f->n_slow);
		next = c->begun_ns + REJECT_MS * LMI_NS_PER_MS;
	} else if (c->paused) {
		if (!lmi_front_pacer_ready(&f->pacer, now))
			return f->pacer.next_ns;
		resume(c, now);
		next = c->paused ? f->pacer.next_ns : now + part;
	} else if (lmi_front_frames_incomplete(&c->frames)) {
		if (now >= c->part_ns + part && c->frames.got - c->part_got < PART_BYTES)
			return over(c, &f->n_slow);
		if (now >= c->part_ns + part) {
			c->part_ns = now;
			c->part_got = c->frames.got;
		}
		next = c->part_ns + part;
	}
	if (!idle)
		return next;
	if (c->out) {
		if (now >= c->wrote_ns + idle)
			return over(c, &f->n_unread);
		return least(next, c->wrote_ns + idle);
	}
	if (now >= c->since_ns + idle && !c->n_call && next == UINT64_MAX) {
		if (!f->o.ops.busy(f->o.arg, c->principal.conn))
			return over(c, &f->n_idle);
		c->since_ns = now;
	}
	/* with pending requests, lmi_conn_answered() restarts the idle time */
	return least(next, c->n_call ? now + idle : c->since_ns + idle);
}
