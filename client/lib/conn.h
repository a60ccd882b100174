/* SPDX-License-Identifier: MIT
 *
 * conn.h - a connection to a server: the transport over a socket. */
#ifndef LLAMAD_CLIENT_LIB_CONN_H
#define LLAMAD_CLIENT_LIB_CONN_H

#include "client/lib/transport.h"
#include "llamad/client.h"

/* Connects to url, which must be an address that lmi_client_url_check accepts; the other options
 * are those of o, without defaults.  Does not authenticate.  Fails if there is no connection within
 * connect_ms.  If a connection breaks later, requests reconnect within connect_ms and are repeated
 * until call_ms + extra_ms have passed; no exchange takes longer. */
enum lmd_status lmi_client_connect(struct lmi_client_transport **out, const char *url,
				   const struct lmd_client_opts *o, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LIB_CONN_H */
