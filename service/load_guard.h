/* SPDX-License-Identifier: MIT
 *
 * load_guard.h - remembers, in files of the state folder, which models were being loaded when the
 * process died.  A model that has killed the process twice is not loaded again by itself before a
 * pause has passed, which doubles with each further time.
 *
 *     state/loading/SHA256-OF-NAME    exists while the model is being loaded, and afterwards if the
 *                                     process died during a load and none has succeeded since
 *
 * Files, not the registry: a load runs on another thread than the registry, and a write that no
 * crash of the process can lose needs no sync. */
#ifndef LLAMAD_SERVICE_LOAD_GUARD_H
#define LLAMAD_SERVICE_LOAD_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

/* The pause after the second time; and the longest one. */
#define LMI_SVC_LOAD_GUARD_PAUSE_S     60u
#define LMI_SVC_LOAD_GUARD_PAUSE_MAX_S 86400u

/* Notes that a load begins, at the wall-clock time now_ns.  LMD_UNSUPPORTED: the model is in
 * quarantine; with `forced` it never is.  A state folder that cannot be written is no error.  One
 * load of a name at a time; any thread. */
enum lmd_status lmi_svc_load_guard_begin(const char *state_dir, const char *name, int64_t now_ns,
					 bool forced, struct lmd_error *err);
/* Returns whether begin would now return LMD_UNSUPPORTED, with the same message; changes nothing.
 * While the name is being loaded the answer has no meaning.  Any thread. */
bool lmi_svc_load_guard_refuses(const char *state_dir, const char *name, int64_t now_ns,
				struct lmd_error *err);
/* Notes that the load has ended.  good: the model can be used, so that its past is forgotten. */
void lmi_svc_load_guard_end(const char *state_dir, const char *name, bool good);

#endif /* LLAMAD_SERVICE_LOAD_GUARD_H */
