/* SPDX-License-Identifier: MIT
 *
 * link.h - one connected stream: frames out, frames in, until it breaks.
 *
 * nng reads and writes the bytes in threads of its own.  A thread that waits for a frame uses a
 * condition variable with its own deadline, so that no wait depends on nng. */
#ifndef LLAMAD_CLIENT_LIB_LINK_H
#define LLAMAD_CLIENT_LIB_LINK_H

#include <nng/nng.h>
#include <pthread.h>
#include <stdbool.h>

#include "client/lib/frames.h"
#include "client/lib/tls.h"

#define LMI_CLIENT_LINK_READ_BYTES (64u << 10)

struct lmi_client_link_frame;

struct lmi_client_link_ops {
	/* All are called with the lock held, by a thread of nng or of a caller. */
	void (*up)(void *arg); /* the server's handshake has arrived */
	void (*message)(void *arg, const struct lmi_client_frame_message *m); /* takes m->own_body */
	void (*broken)(void *arg, int rv);				      /* once, as the last */
};

struct lmi_client_link {
	pthread_mutex_t *lock; /* protects all members */
	const struct lmi_client_link_ops *ops;
	void *arg;
	bool broken;
	uint64_t n_received;	      /* bytes */
	struct lmi_client_link *next; /* for a list of the owner */
	/* private */
	nng_stream *stream;
	nng_aio *send, *recv;
	struct lmi_client_tls *tls; /* NULL: the stream has the frames as they are */
	uint8_t *sealed;	    /* with tls, LMI_CLIENT_LINK_READ_BYTES: what is being sent */
	size_t n_sealed, sealed_sent;
	struct lmi_client_link_frame *first, **end; /* frames to send; the first is being sent */
	bool sending;
	uint32_t n_user; /* threads that use `stream` without the lock */
	struct lmi_client_frames in;
	uint8_t buf[LMI_CLIENT_LINK_READ_BYTES];
};

/* Creates a link; takes ownership of the stream.  tls: NULL = the stream is not encrypted; must outlive the
 * link.  Returns NULL if memory runs out. */
struct lmi_client_link *lmi_client_link_create(nng_stream *own_stream, bool ipc,
					       const struct lmi_client_tls_config *tls, pthread_mutex_t *lock,
					       const struct lmi_client_link_ops *ops, void *arg);
/* The following need the lock, which they may release for a moment. */

/* Sends the handshake and begins to read. */
void lmi_client_link_start(struct lmi_client_link *l);
/* Sends a request; copies the bytes.  Returns 0 or NNG_ENOMEM. */
int lmi_client_link_post(struct lmi_client_link *l, uint32_t number, const void *p, size_t n);
/* Removes a request that has not been sent at all. */
void lmi_client_link_drop(struct lmi_client_link *l, uint32_t number);
/* Declares the link broken, because of rv; once only. */
void lmi_client_link_break(struct lmi_client_link *l, int rv);
/* Returns why TLS has failed on the link; NULL: it has not. */
const char *lmi_client_link_tls_cause(const struct lmi_client_link *l);
/* Returns whether a broken link can be destroyed now. */
bool lmi_client_link_is_unused(const struct lmi_client_link *l);

/* Closes the stream and frees a broken link, without the lock; not for threads of nng. */
void lmi_client_link_destroy(struct lmi_client_link *l);

#endif /* LLAMAD_CLIENT_LIB_LINK_H */
