/* SPDX-License-Identifier: MIT
 *
 * default_socket.h - the socket on which a daemon listens, and which clients use, if no address is
 * given. */
#ifndef LLAMAD_CORE_BASE_DEFAULT_SOCKET_H
#define LLAMAD_CORE_BASE_DEFAULT_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#define LMI_DEFAULT_SOCKET_NAME "llamad.sock"

enum lmi_default_socket {
	LMI_DEFAULT_SOCKET_SYSTEM,  /* /run/llamad/llamad.sock, of the system's daemon */
	LMI_DEFAULT_SOCKET_SESSION, /* $XDG_RUNTIME_DIR/llamad/llamad.sock */
	LMI_DEFAULT_SOCKET_TMP,     /* /tmp/llamad-UID/llamad.sock; anybody can create that folder
				     * first, so its owner and mode must be checked */
};

/* Returns where the daemon of user `uid` listens: in the session's folder if `runtime_dir`
 * ($XDG_RUNTIME_DIR, may be NULL) is an absolute path, otherwise as the system's daemon if uid is 0,
 * otherwise in /tmp. */
enum lmi_default_socket lmi_default_socket_own(uint32_t uid, const char *runtime_dir);

/* Returns the socket that a client of user `uid` uses: the system's if it exists, otherwise the
 * user's own. */
enum lmi_default_socket lmi_default_socket_find(uint32_t uid, const char *runtime_dir);

/* Writes the path of the socket, at most `size` bytes with the terminating 0.  Returns the length
 * of the whole path, as snprintf does. */
int lmi_default_socket_path(char *out, size_t size, enum lmi_default_socket socket, uint32_t uid,
			    const char *runtime_dir);

/* Writes the path of the socket for HTTP that a daemon with the socket `path` has by default:
 * /run/llamad/llamad-http.sock beside /run/llamad/llamad.sock.  At most `size` bytes with the terminating
 * 0; returns the length of the whole path, as snprintf does. */
int lmi_default_socket_http(char *out, size_t size, const char *path);

#endif /* LLAMAD_CORE_BASE_DEFAULT_SOCKET_H */
