/* SPDX-License-Identifier: MIT
 *
 * The default address of the server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/default_socket.h"
#include "llamad/client.h"

/* Checks the folder of a socket in /tmp, where any user could have created it first: another
 * user's daemon must not receive this user's prompts.  Returns LMD_OK if it does not exist. */
static enum lmd_status check_folder(const char *path, uint32_t uid, struct lmd_error *err)
{
	char folder[64];
	struct stat sb;

	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (lstat(folder, &sb))
		return LMD_OK;
	if (S_ISDIR(sb.st_mode) && sb.st_uid == uid && !(sb.st_mode & 077))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "%s: must be a folder of user %u with mode 0700", folder,
			uid);
}

LMD_EXPORT enum lmd_status lmd_client_default_url(char *out, size_t size, struct lmd_error *err)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	uint32_t uid = geteuid();
	enum lmi_default_socket socket = lmi_default_socket_find(uid, dir);
	size_t n = strlen("ipc://");

	if (size > n) {
		memcpy(out, "ipc://", n);
		n += (size_t)lmi_default_socket_path(out + n, size - n, socket, uid, dir);
	}
	if (n >= size)
		return lmd_fail(err, LMD_INVALID,
				"the URL of the socket has %zu bytes, the buffer has only %zu", n,
				size ? size - 1 : 0);
	return socket == LMI_DEFAULT_SOCKET_TMP ? check_folder(out + strlen("ipc://"), uid, err)
						: LMD_OK;
}
