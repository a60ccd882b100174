/* SPDX-License-Identifier: MIT
 *
 * The default address of the server.  The daemon (default_socket in daemon/config.c) and the Python
 * and Go clients use the same rule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llamad/client.h"

#define SYSTEM_SOCKET "/run/llamad/llamad.sock"

/* Checks the folder of the user's daemon in /tmp, where any user could have created it first:
 * another user's daemon must not receive this user's prompts.  Returns LMD_OK if it does not
 * exist. */
static enum lmd_status check_folder(const char *path, unsigned uid, struct lmd_error *err)
{
	struct stat sb;

	if (lstat(path, &sb))
		return LMD_OK;
	if (S_ISDIR(sb.st_mode) && sb.st_uid == uid && !(sb.st_mode & 077))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "%s: must be a folder of user %u with mode 0700", path,
			uid);
}

LMD_EXPORT enum lmd_status lmd_client_default_url(char *out, size_t size, struct lmd_error *err)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	unsigned uid = geteuid();
	char tmp[32];
	int n;

	snprintf(tmp, sizeof(tmp), "/tmp/llamad-%u", uid);
	if (access(SYSTEM_SOCKET, F_OK) == 0 || (!uid && (!dir || dir[0] != '/'))) {
		n = snprintf(out, size, "ipc://" SYSTEM_SOCKET);
	} else if (dir && dir[0] == '/') {
		n = snprintf(out, size, "ipc://%s/llamad/llamad.sock", dir);
	} else {
		enum lmd_status st = check_folder(tmp, uid, err);

		if (st != LMD_OK)
			return st;
		n = snprintf(out, size, "ipc://%s/llamad.sock", tmp);
	}
	if (n < 0 || (size_t)n >= size)
		return lmd_fail(err, LMD_INVALID,
				"the URL of the socket has %d bytes, the buffer has only %zu", n,
				size ? size - 1 : 0);
	return LMD_OK;
}
