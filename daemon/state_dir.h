/* SPDX-License-Identifier: MIT
 *
 * state_dir.h - the folders of the daemon, and the lock that keeps other daemons out. */
#ifndef LLAMAD_DAEMON_STATE_DIR_H
#define LLAMAD_DAEMON_STATE_DIR_H

#include "llamad/status.h"

/* Creates the folder and its missing parents with `mode`, unless it exists.  Returns LMD_IO, naming
 * the part that could not be created, or LMD_INVALID if the path is not a folder. */
enum lmd_status lmi_daemon_make_folder(const char *path, unsigned mode, struct lmd_error *err);

/* Creates the state folder (mode 0700) and locks DIR/llamad.lock.  Close *fd to unlock; the kernel
 * also releases the lock when the process ends.
 * Returns LMD_BUSY, naming the pid, if another daemon holds the lock, and LMD_IO if the folder is
 * not writable. */
enum lmd_status lmi_daemon_state_lock(int *fd, const char *dir, struct lmd_error *err);

/* Creates a folder with mode 0700 in a place where every user may create one, such as /tmp. 
 * Returns LMD_INVALID if the path exists and is not a folder of this user with that mode. */
enum lmd_status lmi_daemon_make_private_folder(const char *path, struct lmd_error *err);

/* Creates the socket's folder (mode 0750) and removes a stale socket.  Returns LMD_BUSY if another
 * process listens on the socket, and LMD_INVALID if the path is not a socket. */
enum lmd_status lmi_daemon_socket_claim(const char *path, struct lmd_error *err);

#endif /* LLAMAD_DAEMON_STATE_DIR_H */
