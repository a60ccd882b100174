/* SPDX-License-Identifier: MIT
 *
 * Error messages about addresses: the valid forms, which addresses were tried, and which group may
 * use a socket. */
#include "client/lib/address.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/lib/client.h"
#include "core/base/default_socket.h"

#define IPC "ipc://"

static const char *after(const char *url, const char *scheme)
{
	size_t n = strlen(scheme);

	return strncmp(url, scheme, n) ? NULL : url + n;
}

/* Returns whether s is HOST:PORT; the host may be an IPv6 address in brackets. */
static bool is_host_port(const char *s)
{
	const char *colon = strrchr(s, ':');
	size_t n = colon ? strspn(colon + 1, "0123456789") : 0;
	long port = n && n < 6 && !colon[1 + n] ? strtol(colon + 1, NULL, 10) : 0;

	return colon && colon > s && port > 0 && port < 65536;
}

enum lmd_status lmi_client_url_check(const char *url, struct lmd_error *err)
{
	const char *path = after(url, IPC), *host = after(url, "tcp://");

	if (!host)
		host = after(url, "tls+tcp://");
	if (path ? *path != 0 : host && is_host_port(host))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"\"%.300s\" is not an address: use ipc://PATH, tcp://HOST:PORT or "
			"tls+tcp://HOST:PORT",
			url);
}

enum lmd_status lmi_client_fail_unreachable(const char *url, bool is_default, struct lmd_error *err)
{
	char first[64];

	(void)lmi_default_socket_path(first, sizeof(first), LMI_DEFAULT_SOCKET_SYSTEM, 0, NULL);
	if (is_default && strcmp(url + strlen(IPC), first))
		return lmd_fail(err, LMD_IO,
				"no daemon is running: no server is listening at " IPC "%s or %.300s; start one "
				"with `sudo systemctl start llamad`, or your own with `llamad`",
				first, url);
	return lmd_fail(err, LMD_IO, "%.400s: no server is listening; is llamad running?", url);
}

/* Finds the group that may use the socket at `path` or, if this user cannot see it, enter the last
 * folder on its path that this user can see.  Returns false if there is none. */
static bool group_of(const char *path, char *name, size_t size)
{
	char at[LMI_CLIENT_URL], buf[1024];
	mode_t needed = S_IWGRP;
	struct group g, *found = NULL;
	struct stat s;

	(void)snprintf(at, sizeof(at), "%s", path);
	while (stat(at, &s)) {
		char *slash = strrchr(at, '/');

		if (!slash || slash == at)
			return false;
		*slash = 0;
		needed = S_IXGRP;
	}
	/* do not suggest to join root's group */
	if (!s.st_gid || !(s.st_mode & needed) ||
	    getgrgid_r(s.st_gid, &g, buf, sizeof(buf), &found) || !found)
		return false;
	(void)snprintf(name, size, "%s", found->gr_name);
	return true;
}

enum lmd_status lmi_client_fail_permission(const char *url, struct lmd_error *err)
{
	const char *path = after(url, IPC);
	char group[64];

	if (!path || !group_of(path, group, sizeof(group)))
		return lmd_fail(err, LMD_IO, "%.400s: permission denied", url);
	return lmd_fail(err, LMD_IO,
			"%.200s: permission denied: only members of the group %s may use it; add "
			"yourself to the group: sudo usermod -aG %s $USER, then log in again",
			url, group, group);
}
