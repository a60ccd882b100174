/* SPDX-License-Identifier: MIT
 *
 * objects.h - what clients leave at the server: stored responses, files and batches.
 *
 * An object is a file FOLDER/OWNER/ID, readable by the daemon's user only.  It belongs to the
 * principal that created it; for all others it does not exist.  Each owner has limits of bytes and
 * number; if a new object exceeds them, the owner's oldest objects that are not in use are removed.  Objects that have
 * not been changed for max_age_s are removed as well.
 *
 * A thread writes the files, one after the other, and waits for the disk each time; until then an
 * object is read from memory.  Reading and removing are done at once.  Not thread-safe. */
#ifndef LLAMAD_DAEMON_HTTP_OBJECTS_H
#define LLAMAD_DAEMON_HTTP_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/host.h"
#include "llamad/status.h"
#include "service/service.h"

/* Maximum length of an id, which consists of letters, digits, '_' and '-'. */
#define LMI_HTTP_OBJECT_ID_MAX 63

struct lmi_http_objects;

struct lmi_http_objects_opts {
	const struct lmd_host *host;
	const char *folder;  /* created if it does not exist */
	uint64_t max_bytes;  /* per owner */
	uint32_t max_number; /* per owner, at least 1 */
	uint64_t max_age_s;
	/* Returns the wall-clock time in ns since 1970. */
	int64_t (*wall_ns)(void *arg);
	void *arg;
};

/* Reads the folder.  Files that are not objects are left alone.  Returns LMD_IO or LMD_NOMEM. */
enum lmd_status lmi_http_objects_open(struct lmi_http_objects **out,
				      const struct lmi_http_objects_opts *opts,
				      struct lmd_error *err);
/* NULL allowed. */
void lmi_http_objects_close(struct lmi_http_objects *o);

/* Creates or replaces an object.  Returns LMD_INVALID if it is longer than all objects of an owner
 * may be, LMD_NOMEM, LMD_BUSY if too much waits for the disk, or LMD_IO, which is logged.  A later
 * failure to write it is logged. */
enum lmd_status lmi_http_objects_put(struct lmi_http_objects *o,
				     const struct lmi_svc_principal *owner, const char *id,
				     const void *bytes, size_t n, struct lmd_error *err);
/* Appends to an object, which is created if it does not exist, under the rules of
 * lmi_http_objects_put(); LMD_BUSY also if there is no room but for objects that are in use.  The bytes can
 * be read when they are on the disk. */
enum lmd_status lmi_http_objects_append(struct lmi_http_objects *o,
					const struct lmi_svc_principal *owner, const char *id,
					const void *bytes, size_t n, struct lmd_error *err);
/* Returns LMD_OK if all bytes of an object are on the disk, LMD_BUSY if some wait, and LMD_IO if some
 * could not be written since it was last put: the object then has those before.  An object that does not
 * exist is written.  *n_written is the length that is on the disk. */
enum lmd_status lmi_http_objects_check(struct lmi_http_objects *o,
				       const struct lmi_svc_principal *owner, const char *id,
				       uint64_t *n_written, struct lmd_error *err);
/* Says whether an object is in use: it is then neither removed to make room nor because of its age.  Until
 * it exists this does nothing. */
void lmi_http_objects_use(struct lmi_http_objects *o, const struct lmi_svc_principal *owner,
			  const char *id, bool used);
/* Returns an eventfd that becomes readable when something was written, or could not be. */
int lmi_http_objects_fd(const struct lmi_http_objects *o);
/* Reads the objects of all owners whose ids begin with a prefix, and calls fn with the text of each,
 * which must not change the objects. */
void lmi_http_objects_each(struct lmi_http_objects *o, const char *prefix,
			   void (*fn)(void *arg, const char *id, const char *text, size_t n),
			   void *arg);
/* Reads an object; the caller frees *text, which ends in a zero byte, with lmi_free().  Returns
 * LMD_NOTFOUND, LMD_NOMEM or LMD_IO. */
enum lmd_status lmi_http_objects_get(struct lmi_http_objects *o,
				     const struct lmi_svc_principal *owner, const char *id,
				     char **text, size_t *n, struct lmd_error *err);
/* Removes an object from the disk.  Returns LMD_NOTFOUND or LMD_IO. */
enum lmd_status lmi_http_objects_remove(struct lmi_http_objects *o,
					const struct lmi_svc_principal *owner, const char *id,
					struct lmd_error *err);
/* Calls fn with the ids of an owner's objects that begin with a prefix, the newest first, until it
 * returns false.  fn must not change the objects. */
void lmi_http_objects_list(struct lmi_http_objects *o, const struct lmi_svc_principal *owner,
			   const char *prefix, bool (*fn)(void *arg, const char *id), void *arg);

/* Waits until all objects are on the disk. */
void lmi_http_objects_flush(struct lmi_http_objects *o);
/* Removes what is too old. */
void lmi_http_objects_expire(struct lmi_http_objects *o);
/* Removes all objects of the owner of an API key. */
void lmi_http_objects_forget_key(struct lmi_http_objects *o, const char *label);

#endif /* LLAMAD_DAEMON_HTTP_OBJECTS_H */
