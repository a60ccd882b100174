/* SPDX-License-Identifier: MIT
 *
 * address.h - the addresses on which the listener for HTTP can listen. */
#ifndef LLAMAD_DAEMON_HTTP_ADDRESS_H
#define LLAMAD_DAEMON_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "llamad/status.h"

struct lmi_http_address {
	const char *path; /* of a unix socket, part of the parsed text; NULL: TCP */
	bool loopback;    /* TCP: reachable from this machine only */
	bool tls;
	struct sockaddr_storage sa;
	socklen_t n_sa;
};

/* Parses 192.0.2.7:8080, [2001:db8::7]:8080, the same after tls:, or unix:/path.  Port 0 is any
 * free port.  Returns
 * LMD_INVALID if it is something else. */
enum lmd_status lmi_http_address_parse(struct lmi_http_address *out, const char *text,
				       struct lmd_error *err);

/* Describes where a socket is bound; the path of a unix socket is "".  LMD_INVALID: it is neither a unix
 * socket nor TCP. */
enum lmd_status lmi_http_address_of(struct lmi_http_address *out, int fd, struct lmd_error *err);

#endif /* LLAMAD_DAEMON_HTTP_ADDRESS_H */
