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

/* What is known about the loads of a model.  n_death: how often the process died; begin_s: when the
 * last load began, in seconds since 1970. */
struct lmi_svc_load_guard {
	uint32_t n_death;
	int64_t begin_s;
};

/* Notes that a load begins, at the wall-clock time now_ns.  LMD_UNSUPPORTED: the model is in
 * quarantine; with `forced` it never is.  A state folder that cannot be written is no error.  One
 * load of a name at a time; any thread. */
enum lmd_status lmi_svc_load_guard_begin(const char *state_dir, const char *name, int64_t now_ns,
					 bool forced, struct lmd_error *err);
/* Reads what the folder says about a name; nothing is as good as that it was never loaded.  While the
 * name is being loaded the result has no meaning.  Any thread. */
void lmi_svc_load_guard_read(struct lmi_svc_load_guard *out, const char *state_dir, const char *name);
/* Returns whether begin would now return LMD_UNSUPPORTED, with the same message.  Any thread. */
bool lmi_svc_load_guard_refuses(const struct lmi_svc_load_guard *g, int64_t now_ns,
				struct lmd_error *err);
/* Notes that the load has ended.  good: the model can be used, so that its past is forgotten. */
void lmi_svc_load_guard_end(const char *state_dir, const char *name, bool good);

#endif /* LLAMAD_SERVICE_LOAD_GUARD_H */
