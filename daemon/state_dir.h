/* SPDX-License-Identifier: MIT
 *
 * state_dir.h - folders of the daemon, and the lock that says whose they are. */
#ifndef LLAMAD_DAEMON_STATE_DIR_H
#define LLAMAD_DAEMON_STATE_DIR_H

#include "llamad/status.h"

/* Makes the folder and the missing ones above it, with `mode`.  LMD_OK when it is there.
 * LMD_IO names the part that could not be made; LMD_INVALID: it is no folder. */
enum lmd_status lmi_make_folder(const char *path, unsigned mode, struct lmd_error *err);

/* Makes the state folder (0700) and locks DIR/llamad.lock for this process; the lock ends with
 * the process, however that ends.  *fd is to be closed to unlock.
 * LMD_BUSY: another daemon has it, named by its pid.  LMD_IO: the folder cannot be written. */
enum lmd_status lmi_state_lock(int *fd, const char *dir, struct lmd_error *err);

/* Makes a folder for this user alone (0700) where everybody may make one, as in /tmp.
 * LMD_INVALID: it is there and is not a folder of this user with that mode. */
enum lmd_status lmi_make_private_folder(const char *path, struct lmd_error *err);

/* Makes the socket's folder (0750) and makes way for the socket: one that nobody listens on
 * is removed.  LMD_BUSY: somebody does.  LMD_INVALID: the path is something else. */
enum lmd_status lmi_socket_claim(const char *path, struct lmd_error *err);

#endif /* LLAMAD_DAEMON_STATE_DIR_H */
