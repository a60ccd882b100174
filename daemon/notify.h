/* SPDX-License-Identifier: MIT
 *
 * notify.h - telling the service manager how it goes: sd_notify(3) by its documented
 * protocol, datagrams of NAME=value lines to the socket in $NOTIFY_SOCKET. */
#ifndef LLAMAD_DAEMON_NOTIFY_H
#define LLAMAD_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "llamad/attr.h"

struct lmi_notify {
	int fd; /* -1: nobody wants to know */
	struct sockaddr_un addr;
	socklen_t addr_bytes;
	uint64_t watchdog_ns; /* send WATCHDOG=1 at least that often; 0: not asked for */
};

/* From $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID as given (NULL: not set); pid is this
 * process.  What cannot be used counts as not set. */
void lmi_notify_init(struct lmi_notify *n, const char *socket_path, const char *watchdog_usec,
		     const char *watchdog_pid, long pid);
void lmi_notify_fini(struct lmi_notify *n);

/* One datagram, at most 500 bytes; lost when the manager does not listen.  Never blocks. */
void lmi_notify_send(const struct lmi_notify *n, const char *fmt, ...) LMD_PRINTF(2, 3);

#endif /* LLAMAD_DAEMON_NOTIFY_H */
