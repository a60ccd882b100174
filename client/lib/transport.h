/* SPDX-License-Identifier: MIT
 *
 * transport.h - how a client sends encoded requests and gets encoded replies: over a socket
 * (conn.h), or from a service in the same process. */
#ifndef LLAMAD_CLIENT_LIB_TRANSPORT_H
#define LLAMAD_CLIENT_LIB_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_client_transport;

/* An encoded reply. */
struct lmi_client_message {
	const void *p; /* [n] */
	size_t n;
	void *own; /* what holds the bytes, and the function that frees it; NULL: empty */
	void (*free)(void *own);
};

struct lmi_client_transport_ops {
	/* Sends a request and waits for its reply; extra_ms is how much longer than usual the reply
	 * may take.  Any thread.  On failure *reply is not written. */
	enum lmd_status (*exchange)(struct lmi_client_transport *t, const void *p, size_t n,
				    uint32_t extra_ms, struct lmi_client_message *reply,
				    struct lmd_error *err);
	/* Frees the transport, which no thread uses any more. */
	void (*close)(struct lmi_client_transport *t);
};

/* The first member of every transport. */
struct lmi_client_transport {
	const struct lmi_client_transport_ops *ops;
};

#endif /* LLAMAD_CLIENT_LIB_TRANSPORT_H */
