/* SPDX-License-Identifier: MIT
 *
 * notify.h - status messages to the service manager, in the documented protocol of sd_notify(3):
 * datagrams of NAME=value lines to the socket in $NOTIFY_SOCKET. */
#ifndef LLAMAD_DAEMON_NOTIFY_H
#define LLAMAD_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "llamad/attr.h"

struct lmi_daemon_notify {
	int fd; /* -1: there is no service manager */
	struct sockaddr_un addr;
	socklen_t addr_bytes;
	uint64_t watchdog_ns; /* interval in which WATCHDOG=1 must be sent; 0: no watchdog */
};

/* Takes the values of $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID (NULL: not set) and the pid
 * of this process.  Invalid values count as not set. */
void lmi_daemon_notify_init(struct lmi_daemon_notify *n, const char *socket_path,
			    const char *watchdog_usec, const char *watchdog_pid, long pid);
void lmi_daemon_notify_fini(struct lmi_daemon_notify *n);

/* Sends one datagram of at most 500 bytes.  It is lost if the manager does not receive it.  Never
 * blocks. */
void lmi_daemon_notify_send(const struct lmi_daemon_notify *n, const char *fmt, ...)
	LMD_PRINTF(2, 3);

#endif /* LLAMAD_DAEMON_NOTIFY_H */
