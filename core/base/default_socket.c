/* SPDX-License-Identifier: MIT
 *
 * The rule by which a daemon and its clients meet without an address.  The Python and Go clients
 * use the same rule. */
#include "core/base/default_socket.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum lmi_default_socket lmi_default_socket_own(uint32_t uid, const char *runtime_dir)
{
	if (runtime_dir && runtime_dir[0] == '/')
		return LMI_DEFAULT_SOCKET_SESSION;
	return uid ? LMI_DEFAULT_SOCKET_TMP : LMI_DEFAULT_SOCKET_SYSTEM;
}

enum lmi_default_socket lmi_default_socket_find(uint32_t uid, const char *runtime_dir)
{
	char path[64];

	(void)lmi_default_socket_path(path, sizeof(path), LMI_DEFAULT_SOCKET_SYSTEM, uid,
				      runtime_dir);
	return access(path, F_OK) == 0 ? LMI_DEFAULT_SOCKET_SYSTEM
				       : lmi_default_socket_own(uid, runtime_dir);
}

int lmi_default_socket_path(char *out, size_t size, enum lmi_default_socket socket, uint32_t uid,
			    const char *runtime_dir)
{
	switch (socket) {
	case LMI_DEFAULT_SOCKET_SYSTEM:
		break;
	case LMI_DEFAULT_SOCKET_SESSION:
		return snprintf(out, size, "%s/llamad/" LMI_DEFAULT_SOCKET_NAME, runtime_dir);
	case LMI_DEFAULT_SOCKET_TMP:
		return snprintf(out, size, "/tmp/llamad-%u/" LMI_DEFAULT_SOCKET_NAME, uid);
	}
	return snprintf(out, size, "/run/llamad/" LMI_DEFAULT_SOCKET_NAME);
}

int lmi_default_socket_http(char *out, size_t size, const char *path)
{
	static const char ending[] = ".sock";
	size_t n = strlen(path), n_ending = strlen(ending);

	if (n > n_ending && !strcmp(path + n - n_ending, ending))
		n -= n_ending;
	return snprintf(out, size, "%.*s-http%s", (int)n, path, ending);
}
