/* SPDX-License-Identifier: MIT
 *
 * Where the server listens when nobody says. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llamad/client.h"

#define SYSTEM_SOCKET "/run/llamad/llamad.sock"

LMD_EXPORT enum lmd_status lmd_client_default_url(char *out, size_t size, struct lmd_error *err)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int n;

	if (access(SYSTEM_SOCKET, F_OK) == 0 || !dir || dir[0] != '/')
		n = snprintf(out, size, "ipc://" SYSTEM_SOCKET);
	else
		n = snprintf(out, size, "ipc://%s/llamad/llamad.sock", dir);
	if (n < 0 || (size_t)n >= size)
		return lmd_fail(err, LMD_INVALID,
				"the URL of the socket has %d bytes, the buffer has only %zu", n,
				size ? size - 1 : 0);
	return LMD_OK;
}
