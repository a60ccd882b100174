/* SPDX-License-Identifier: MIT
 *
 * user_state.h - files that llamactl keeps for its user, in $XDG_STATE_HOME/llamactl or
 * ~/.local/state/llamactl. */
#ifndef LLAMAD_LLAMACTL_USER_STATE_H
#define LLAMAD_LLAMACTL_USER_STATE_H

#include <limits.h>

/* Writes the path of a file, whose name may have folders. "": there is no home, or the path is too long. */
void lmi_ctl_user_state_path(char out[PATH_MAX], const char *name);

/* Does the same for the messages of a conversation with `chat --session NAME`; "" also if the name cannot be one
 * of a session. */
void lmi_ctl_user_state_session(char out[PATH_MAX], const char *session);

/* Makes the folders of a path, which is absolute, with mode 0700. One that cannot be made is left to the caller,
 * which opens the file. */
void lmi_ctl_user_state_make_folders(const char *path);

#endif /* LLAMAD_LLAMACTL_USER_STATE_H */
