/* SPDX-License-Identifier: MIT
 *
 * session_files.h - saved sessions as files of the state folder, and their limits.
 *
 *     state/sessions/OWNER/NAME.session    core/engine/saved_file.h
 *     state/sessions/OWNER/NAME.part       what op session_write has received so far
 *
 * OWNER is "uid-NUMBER", or "key-" and the beginning of the SHA-256 of the key's label. The folder is
 * the list of sessions: nothing else has to agree with it after a crash. A session is replaced by a
 * rename, so that it is always whole.
 *
 * Functions block on the disk; one caller at a time (session_work.h). */
#ifndef LLAMAD_SERVICE_SESSION_FILES_H
#define LLAMAD_SERVICE_SESSION_FILES_H

#include <limits.h>
#include <stdint.h>

#include "core/engine/saved_file.h"
#include "llamad/types.h"
#include "service/stream.h"

#define LMI_SVC_SESSION_NAME  64 /* bytes of a name */
#define LMI_SVC_SESSION_OWNER 40 /* bytes of an owner's folder, with its zero */
/* Sessions that one owner can have at most, whatever the limit. */
#define LMI_SVC_SESSIONS_MAX 4096u

struct lmi_svc_sessions {
	const char *state_dir; /* lives as long as the service */
	char owner[LMI_SVC_SESSION_OWNER];
	/* limits: bytes of an owner and of all together (0: any), sessions of an owner, and age in s
	 * (0: any) */
	uint64_t max_bytes, max_bytes_all, max_number, max_age_s;
	int64_t wall_s; /* now, since 1970 */
};

struct lmi_svc_session_row {
	char name[LMI_SVC_SESSION_NAME + 1];
	char model[LMI_ENGINE_SAVED_MODEL];
	uint32_t n_token;
	uint64_t bytes;
	int64_t changed_s; /* since 1970 */
};

/* Letters, digits, '.', '_' and '-', beginning with a letter or digit. LMD_INVALID. */
enum lmd_status lmi_svc_session_check_name(const struct lmd_str *name, struct lmd_error *err);
/* Returns false if out of memory. */
bool lmi_svc_session_owner(char out[LMI_SVC_SESSION_OWNER], const struct lmi_svc_owner *o);

/* Fills in the path of a session; LMD_INVALID: it is too long. */
enum lmd_status lmi_svc_session_path(char out[PATH_MAX], const struct lmi_svc_sessions *s,
				     const char *name, struct lmd_error *err);
/* Lists the sessions of the owner by name, with their heads if `heads` is set (a damaged one has no
 * model and no tokens), and removes those that are too old. *bytes: of all of the owner's files. The
 * caller frees *own_rows with lmi_free. */
enum lmd_status lmi_svc_session_list(const struct lmi_svc_sessions *s, bool heads,
				     struct lmi_svc_session_row **own_rows, uint32_t *n,
				     uint64_t *bytes, struct lmd_error *err);
/* Is there room for a session of so many bytes under this name, which it may replace? Makes the
 * folders. LMD_BUSY names the limit. */
enum lmd_status lmi_svc_session_room(const struct lmi_svc_sessions *s, const char *name,
				     uint64_t bytes, struct lmd_error *err);
/* Copies a session. LMD_NOTFOUND, LMD_BUSY. *n_token, *bytes: of the copy. */
enum lmd_status lmi_svc_session_fork(const struct lmi_svc_sessions *s, const char *from,
				     const char *to, uint32_t *n_token, uint64_t *bytes,
				     struct lmd_error *err);
/* Also drops what op session_write has received of it.  *found: there was something. */
enum lmd_status lmi_svc_session_rm(const struct lmi_svc_sessions *s, const char *name, bool *found,
				   struct lmd_error *err);
/* Reads at most *n bytes at an offset; *n: how many it read, *bytes: length of the file. */
enum lmd_status lmi_svc_session_read(const struct lmi_svc_sessions *s, const char *name,
				     uint64_t offset, void *out, size_t *n, uint64_t *bytes,
				     struct lmd_error *err);
/* Writes a piece of a session from elsewhere; offset 0 begins it anew. last: the session is complete;
 * it is checked and then takes its name. LMD_CORRUPT, LMD_UNSUPPORTED: it is no session; what was
 * received is dropped. */
enum lmd_status lmi_svc_session_write(const struct lmi_svc_sessions *s, const char *name,
				      uint64_t offset, const void *bytes, size_t n, bool last,
				      uint32_t *n_token, struct lmd_error *err);
/* Removes all sessions of an owner. */
void lmi_svc_session_rm_all(const struct lmi_svc_sessions *s);
/* At the start: removes what interrupted writes have left, and sessions that are too old, of all
 * owners. */
void lmi_svc_session_clean(const struct lmi_svc_sessions *s);

#endif /* LLAMAD_SERVICE_SESSION_FILES_H */
