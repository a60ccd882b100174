/* SPDX-License-Identifier: MIT
 *
 * The queue of frames to send, and reading, with TLS between them and the stream if the link has it.
 * Operations of nng are started without the lock, since they may call back at once; n_user keeps the
 * stream alive meanwhile.  A broken link is destroyed by a caller's thread, because nng cannot free an
 * operation within its own callback. */
#include "client/lib/link.h"

#include <string.h>

#include "core/base/alloc.h"

struct lmi_client_link_frame {
	struct lmi_client_link_frame *next;
	uint32_t number; /* 0: the handshake */
	size_t n, sent;
	uint8_t bytes[];
};

static void free_first(struct lmi_client_link *l)
{
	struct lmi_client_link_frame *f = l->first;

	l->first = f->next;
	if (!l->first)
		l->end = &l->first;
	lmi_free(f);
}

/* ---- sending ---- */

/* Encrypts as many frames as there is room for, and finds the bytes to be sent next. */
static nng_iov next_sealed(struct lmi_client_link *l)
{
	struct lmi_client_link_frame *f;
	size_t n;

	while (l->sealed_sent == l->n_sealed) {
		l->sealed_sent = 0;
		l->n_sealed = lmi_client_tls_output(l->tls, l->sealed, LMI_CLIENT_LINK_READ_BYTES);
		f = l->first;
		if (l->n_sealed || !f)
			break;
		n = lmi_client_tls_write(l->tls, f->bytes + f->sent, f->n - f->sent);
		f->sent += n;
		if (f->sent == f->n)
			free_first(l);
		if (!n) { /* the handshake goes on, or has failed */
			l->n_sealed = lmi_client_tls_output(l->tls, l->sealed, LMI_CLIENT_LINK_READ_BYTES);
			break;
		}
	}
	return (nng_iov){.iov_buf = l->sealed + l->sealed_sent, .iov_len = l->n_sealed - l->sealed_sent};
}

/* Returns the bytes to be sent next. */
static nng_iov next_bytes(struct lmi_client_link *l)
{
	if (l->tls)
		return next_sealed(l);
	return l->first ? (nng_iov){.iov_buf = l->first->bytes + l->first->sent,
				    .iov_len = l->first->n - l->first->sent}
			: (nng_iov){.iov_len = 0};
}

/* Notes that n bytes were sent. */
static void count_sent(struct lmi_client_link *l, size_t n)
{
	if (l->tls) {
		l->sealed_sent += n;
		return;
	}
	l->first->sent += n;
	if (l->first->sent >= l->first->n)
		free_first(l);
}

static void send_more(struct lmi_client_link *l)
{
	nng_iov iov;

	if (l->sending || l->broken)
		return;
	iov = next_bytes(l);
	if (!iov.iov_len) {
		if (lmi_client_link_tls_cause(l))
			lmi_client_link_break(l, NNG_ECRYPTO);
		return;
	}
	(void)nng_aio_set_iov(l->send, 1, &iov); /* fails with more than 8 parts only */
	l->sending = true;
	l->n_user++;
	pthread_mutex_unlock(l->lock);
	nng_stream_send(l->stream, l->send);
	pthread_mutex_lock(l->lock);
	l->n_user--;
}

static void on_send(void *arg)
{
	struct lmi_client_link *l = arg;
	int rv;

	pthread_mutex_lock(l->lock);
	l->sending = false;
	rv = nng_aio_result(l->send);
	if (rv) {
		lmi_client_link_break(l, rv);
	} else {
		count_sent(l, nng_aio_count(l->send));
		send_more(l);
	}
	pthread_mutex_unlock(l->lock);
}

static int queue(struct lmi_client_link *l, uint32_t number, const void *head, size_t n_head,
		 const void *p, size_t n)
{
	struct lmi_client_link_frame *f = lmi_alloc(sizeof(*f) + n_head + n, 1);

	if (!f)
		return NNG_ENOMEM;
	f->number = number;
	f->n = n_head + n;
	memcpy(f->bytes, head, n_head);
	if (n)
		memcpy(f->bytes + n_head, p, n);
	*l->end = f;
	l->end = &f->next;
	send_more(l);
	return 0;
}

int lmi_client_link_post(struct lmi_client_link *l, uint32_t number, const void *p, size_t n)
{
	uint8_t head[LMI_CLIENT_FRAME_HEAD_BYTES];
	uint32_t n_head = lmi_client_frame_head(l->in.ipc, number, n, head);

	return queue(l, number, head, n_head, p, n);
}

void lmi_client_link_drop(struct lmi_client_link *l, uint32_t number)
{
	struct lmi_client_link_frame **at = &l->first, *f;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	f = *at;
	if (!f || f->sent || (f == l->first && l->sending))
		return;
	*at = f->next;
	if (!f->next)
		l->end = at;
	lmi_free(f);
}

/* ---- receiving ---- */

static void receive(struct lmi_client_link *l)
{
	nng_iov iov = {.iov_buf = l->buf, .iov_len = sizeof(l->buf)};

	if (l->broken)
		return;
	(void)nng_aio_set_iov(l->recv, 1, &iov);
	l->n_user++;
	pthread_mutex_unlock(l->lock);
	nng_stream_recv(l->stream, l->recv);
	pthread_mutex_lock(l->lock);
	l->n_user--;
}

/* Returns 0, or why the link is broken. */
static int parse(struct lmi_client_link *l, const uint8_t *p, size_t n)
{
	struct lmi_client_frame_message m;

	l->n_received += n;
	while (!l->broken) {
		switch (lmi_client_frames_feed(&l->in, &p, &n, &m)) {
		case LMI_CLIENT_FRAME_MORE:
			return 0;
		case LMI_CLIENT_FRAME_HANDSHAKE:
			l->ops->up(l->arg);
			break;
		case LMI_CLIENT_FRAME_MESSAGE:
			l->ops->message(l->arg, &m);
			break;
		case LMI_CLIENT_FRAME_BAD:
			return NNG_EPROTO;
		case LMI_CLIENT_FRAME_NOMEM:
			return NNG_ENOMEM;
		}
	}
	return 0;
}

/* Decrypts n bytes that arrived.  Returns 0, or why the link is broken. */
static int parse_sealed(struct lmi_client_link *l, size_t n)
{
	int rv = lmi_client_tls_input(l->tls, l->buf, n) ? 0 : NNG_ENOMEM;

	while (!rv && !l->broken) {
		n = lmi_client_tls_read(l->tls, l->buf, sizeof(l->buf));
		if (!n)
			break;
		rv = parse(l, l->buf, n);
	}
	send_more(l); /* the handshake, or an alert */
	return !rv && lmi_client_tls_cause(l->tls) ? NNG_ECRYPTO : rv;
}

static void on_recv(void *arg)
{
	struct lmi_client_link *l = arg;
	int rv;

	pthread_mutex_lock(l->lock);
	rv = nng_aio_result(l->recv);
	if (!rv)
		rv = l->tls ? parse_sealed(l, nng_aio_count(l->recv))
			    : parse(l, l->buf, nng_aio_count(l->recv));
	if (rv)
		lmi_client_link_break(l, rv);
	receive(l);
	pthread_mutex_unlock(l->lock);
}

/* ---- life ---- */

struct lmi_client_link *lmi_client_link_create(nng_stream *own_stream, bool ipc,
					       const struct lmi_client_tls_config *tls, pthread_mutex_t *lock,
					       const struct lmi_client_link_ops *ops, void *arg)
{
	struct lmi_client_link *l = lmi_alloc(1, sizeof(*l));

	if (!l) {
		nng_stream_free(own_stream);
		return NULL;
	}
	*l = (struct lmi_client_link){
		.lock = lock, .ops = ops, .arg = arg, .stream = own_stream, .in = {.ipc = ipc}};
	l->end = &l->first;
	if (tls) {
		l->tls = lmi_client_tls_create(tls);
		l->sealed = lmi_alloc(LMI_CLIENT_LINK_READ_BYTES, 1);
	}
	if ((!tls || (l->tls && l->sealed)) && !nng_aio_alloc(&l->send, on_send, l) &&
	    !nng_aio_alloc(&l->recv, on_recv, l))
		return l;
	lmi_client_link_destroy(l);
	return NULL;
}

void lmi_client_link_start(struct lmi_client_link *l)
{
	if (queue(l, 0, lmi_client_handshake, sizeof(lmi_client_handshake), NULL, 0))
		lmi_client_link_break(l, NNG_ENOMEM);
	receive(l);
}

void lmi_client_link_break(struct lmi_client_link *l, int rv)
{
	if (l->broken)
		return;
	l->broken = true;
	l->ops->broken(l->arg, rv);
}

const char *lmi_client_link_tls_cause(const struct lmi_client_link *l)
{
	return l->tls ? lmi_client_tls_cause(l->tls) : NULL;
}

bool lmi_client_link_is_unused(const struct lmi_client_link *l)
{
	return !l->n_user;
}

void lmi_client_link_destroy(struct lmi_client_link *l)
{
	nng_stream_close(l->stream);
	/* wait until no callback runs; there is nothing left that they could start */
	if (l->send)
		nng_aio_stop(l->send);
	if (l->recv)
		nng_aio_stop(l->recv);
	nng_stream_free(l->stream);
	if (l->send)
		nng_aio_free(l->send);
	if (l->recv)
		nng_aio_free(l->recv);
	while (l->first)
		free_first(l);
	lmi_client_frames_fini(&l->in);
	lmi_client_tls_destroy(l->tls);
	lmi_free(l->sealed);
	lmi_free(l);
}
