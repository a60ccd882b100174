/* SPDX-License-Identifier: MIT
 *
 * object_writer.h - writes stored objects in a thread of its own, so that the loop does not wait for
 * the disk.
 *
 * A file is written under another name, synchronised with the disk and renamed, in the order of the
 * calls.  Until then its bytes are in memory, where they can be read and forgotten.  Bytes that are
 * appended to a file are written in place and synchronised.  If that fails, the file keeps what it had,
 * and further bytes for it are dropped until it is forgotten or written as a whole.  A folder is
 * named by its descriptor, which must stay open while files wait for it.  All functions belong to one
 * thread. */
#ifndef LLAMAD_DAEMON_HTTP_OBJECT_WRITER_H
#define LLAMAD_DAEMON_HTTP_OBJECT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/host.h"
#include "llamad/status.h"

/* Name of a file that is being written. */
#define LMI_HTTP_OBJECT_TEMPORARY ".new"
/* Maximum size of the files that wait. */
#define LMI_HTTP_OBJECT_WAITING (64u << 20)

struct lmi_http_object_writer;

/* Returns LMD_NOMEM, or LMD_BUSY if the system has no thread. */
enum lmd_status lmi_http_object_writer_create(struct lmi_http_object_writer **out,
					      const struct lmd_host *host, struct lmd_error *err);
/* Waits until everything is written.  NULL allowed. */
void lmi_http_object_writer_destroy(struct lmi_http_object_writer *w);

/* Copies the bytes and writes them later; a failure is logged.  Returns LMD_NOMEM, or LMD_BUSY if too
 * much waits already. */
enum lmd_status lmi_http_object_writer_put(struct lmi_http_object_writer *w, int folder,
					   const char *name, const void *bytes, size_t n,
					   int64_t changed_ns, struct lmd_error *err);
/* Copies the bytes and appends them later to a file, which is created if it does not exist.  Bytes that
 * wait for the same file are written together.  Same errors. */
enum lmd_status lmi_http_object_writer_append(struct lmi_http_object_writer *w, int folder,
					      const char *name, const void *bytes, size_t n,
					      int64_t changed_ns, struct lmd_error *err);
/* Returns how many bytes of a file wait.  *error is the error number of the system for the latest
 * failure to write the file, or 0; it is known until the file is forgotten or written as a whole. */
size_t lmi_http_object_writer_waiting(struct lmi_http_object_writer *w, int folder, const char *name,
				      int *error);
/* Returns an eventfd that becomes readable when a file was written, or could not be. */
int lmi_http_object_writer_fd(const struct lmi_http_object_writer *w);
/* Returns a copy of the latest bytes of a file that waits, with a zero byte at the end, to be freed
 * with lmi_free; NULL if none waits as a whole, or without memory. */
char *lmi_http_object_writer_get(struct lmi_http_object_writer *w, int folder, const char *name,
				 size_t *n);
/* Does not write a file that waits.  If it is being written, waits for that. */
void lmi_http_object_writer_forget(struct lmi_http_object_writer *w, int folder, const char *name);
/* Waits until everything is written. */
void lmi_http_object_writer_flush(struct lmi_http_object_writer *w);

#endif /* LLAMAD_DAEMON_HTTP_OBJECT_WRITER_H */
