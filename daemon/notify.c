/* SPDX-License-Identifier: MIT
 *
 * Datagrams to the service manager.  A socket path that begins with '@' is a name in the abstract
 * namespace. */
#include "daemon/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parses a positive integer; returns 0 for anything else. */
static uint64_t number(const char *text)
{
	unsigned long long v;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	v = strtoull(text, &end, 10);
	return errno || *end ? 0 : v;
}

void lmi_daemon_notify_init(struct lmi_daemon_notify *n, const char *socket_path,
			    const char *watchdog_usec, const char *watchdog_pid, long pid)
{
	size_t len = socket_path ? strlen(socket_path) : 0;
	uint64_t usec = number(watchdog_usec);

	*n = (struct lmi_daemon_notify){.fd = -1, .addr.sun_family = AF_UNIX};
	if (!len || len >= sizeof(n->addr.sun_path) || (*socket_path != '/' && *socket_path != '@'))
		return;
	memcpy(n->addr.sun_path, socket_path, len);
	if (*socket_path == '@')
		n->addr.sun_path[0] = 0;
	n->addr_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd >= 0 && usec && usec <= UINT64_MAX / 1000 &&
	    (!watchdog_pid || number(watchdog_pid) == (uint64_t)pid))
		n->watchdog_ns = usec * 1000;
}

void lmi_daemon_notify_fini(struct lmi_daemon_notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

void lmi_daemon_notify_send(const struct lmi_daemon_notify *n, const char *fmt, ...)
{
	char text[501];
	va_list ap;
	int len;

	if (n->fd < 0)
		return;
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len <= 0)
		return;
	if (len >= (int)sizeof(text))
		len = (int)sizeof(text) - 1;
	/* do not wait or fail if the manager's queue is full */
	(void)sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL, (const struct sockaddr *)&n->addr,
		     n->addr_bytes);
}
