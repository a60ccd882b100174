/* SPDX-License-Identifier: MIT
 *
 * files.h - files that clients upload, and those that batches write.
 *
 * A file is two stored objects: file-ID describes it in JSON, and data-ID is its content. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_FILES_H
#define LLAMAD_DAEMON_HTTP_OPENAI_FILES_H

#include <jansson.h>

#include "daemon/http/exchange.h"
#include "daemon/http/generation.h"
#include "daemon/http/objects.h"

#define LMI_OPENAI_FILE_PREFIX  "file-"
#define LMI_OPENAI_BATCH_PREFIX "batch_"
/* Room for an id with any of the prefixes. */
#define LMI_OPENAI_ID_BYTES (LMI_HTTP_ID_CHARS + 8)

/* Stores a file and writes its id.  Returns the errors of lmi_http_objects_put(). */
enum lmd_status lmi_openai_file_put(struct lmi_http_objects *objects,
				    const struct lmi_svc_principal *owner, const char *filename,
				    size_t n_filename, const char *purpose, int64_t created,
				    const void *bytes, size_t n, char id[LMI_OPENAI_ID_BYTES],
				    struct lmd_error *err);
/* Describes a file whose content of n bytes has been stored as lmi_openai_data_id(), so that clients find
 * it.  Same errors. */
enum lmd_status lmi_openai_file_describe(struct lmi_http_objects *objects,
					 const struct lmi_svc_principal *owner, const char *id,
					 const struct lmd_str *filename, const char *purpose,
					 int64_t created, uint64_t n, struct lmd_error *err);
/* Writes the id of the object with the content of a file. */
void lmi_openai_data_id(char out[LMI_OPENAI_ID_BYTES], const char *file);
/* Reads the content of a file, which the caller frees with lmi_free(). */
enum lmd_status lmi_openai_file_get(struct lmi_http_objects *objects,
				    const struct lmi_svc_principal *owner, const char *id, char **text,
				    size_t *n, struct lmd_error *err);
/* Reads a stored object that is JSON; the caller owns it.  Returns NULL after an error. */
json_t *lmi_openai_object_load(struct lmi_http_objects *objects,
			       const struct lmi_svc_principal *owner, const char *id,
			       struct lmd_error *err);
/* Returns the objects of the server; NULL after a response that says that nothing is stored. */
struct lmi_http_objects *lmi_openai_objects(struct lmi_http_exchange *x, const char *what);
/* Responds with a list of the stored objects whose ids begin with a prefix, as the query asks. */
void lmi_openai_reply_list(struct lmi_http_exchange *x, const char *prefix,
			   void (*update)(struct lmi_http_exchange *x, json_t *object));
/* Responds with a value. */
void lmi_openai_reply_json(struct lmi_http_exchange *x, const json_t *v);

/* Handlers. */
void lmi_openai_file_upload(struct lmi_http_exchange *x);
void lmi_openai_file_list(struct lmi_http_exchange *x);
void lmi_openai_file_info(struct lmi_http_exchange *x);
void lmi_openai_file_content(struct lmi_http_exchange *x);
void lmi_openai_file_delete(struct lmi_http_exchange *x);
void lmi_openai_batch_create(struct lmi_http_exchange *x);
void lmi_openai_batch_list(struct lmi_http_exchange *x);
void lmi_openai_batch_info(struct lmi_http_exchange *x);
void lmi_openai_batch_cancel(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_FILES_H */
