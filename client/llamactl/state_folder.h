/* SPDX-License-Identifier: MIT
 *
 * state_folder.h - the registry of a daemon that does not run, opened by this program. */
#ifndef LLAMAD_LLAMACTL_STATE_FOLDER_H
#define LLAMAD_LLAMACTL_STATE_FOLDER_H

#include <stdbool.h>

#include "llamad/status.h"

struct lmi_store;

/* Opens the store in the folder. Root becomes the folder's owner for the rest of the program, without
 * further groups, so that it leaves no files that the daemon cannot open. LMD_NOTFOUND: there is no
 * such folder, and the caller says what to do; LMD_BUSY: a daemon uses it.
 * read_only: see struct lmi_store_opts. */
enum lmd_status lmi_ctl_open_state_folder(struct lmi_store **out, const char *dir, bool read_only,
					  struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_STATE_FOLDER_H */
