/* SPDX-License-Identifier: MIT
 *
 * inherited.h - listening sockets that the service manager opened (socket activation, see
 * sd_listen_fds(3)). */
#ifndef LLAMAD_DAEMON_HTTP_INHERITED_H
#define LLAMAD_DAEMON_HTTP_INHERITED_H

#include <stdint.h>

#include "daemon/http/address.h"

#define LMI_HTTP_INHERITED_MAX 16

struct lmi_http_inherited {
	uint32_t n;
	struct lmi_http_inherited_socket {
		int fd;
		struct lmi_http_address addr; /* path: not NULL for a unix socket, but empty */
	} v[LMI_HTTP_INHERITED_MAX];
	uint64_t n_ignored; /* sockets with other names, or without a name */
	char ignored[80];   /* the name of the first of them, printable */
};

/* Finds the sockets for HTTP among the inherited descriptors: those with the names http and https,
 * the latter with TLS.  The parameters are the values of the environment variables LISTEN_PID,
 * LISTEN_FDS and LISTEN_FDNAMES; NULL: not set.  Descriptors of another process are ignored.  Those
 * with other names are ignored and counted.  LMD_INVALID: a descriptor is not a listening stream
 * socket, or there are too many. */
enum lmd_status lmi_http_inherited_find(struct lmi_http_inherited *out, const char *listen_pid,
					const char *listen_fds, const char *listen_fdnames,
					struct lmd_error *err);

#endif /* LLAMAD_DAEMON_HTTP_INHERITED_H */
