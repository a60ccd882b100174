/* SPDX-License-Identifier: MIT
 *
 * batch_run.h - a batch while it runs: the requests of a file, a few at a time, in the background. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_BATCH_RUN_H
#define LLAMAD_DAEMON_HTTP_OPENAI_BATCH_RUN_H

#include <jansson.h>

#include "daemon/http/background.h"
#include "daemon/http/objects.h"

/* Requests of one batch that run at a time. */
#define LMI_OPENAI_BATCH_AT_A_TIME 4u
/* Maximum number of requests of a batch. */
#define LMI_OPENAI_BATCH_LINES 50000u

/* Maximum number of batches that run, of all owners. */
#define LMI_OPENAI_BATCHES 64u

struct lmi_openai_batch;

enum lmi_openai_batch_endpoint {
	LMI_OPENAI_BATCH_CHAT,
	LMI_OPENAI_BATCH_COMPLETIONS,
	LMI_OPENAI_BATCH_EMBEDDINGS,
	LMI_OPENAI_BATCH_N_ENDPOINT
};
/* Their paths. */
extern const char *const lmi_openai_batch_endpoints[LMI_OPENAI_BATCH_N_ENDPOINT];

struct lmi_openai_batch_opts {
	struct lmi_http_server *h;
	struct lmi_http_objects *objects;
	const struct lmi_svc_principal *principal; /* copied */
	enum lmi_openai_batch_endpoint endpoint;
	json_t *object;  /* the batch; a reference is taken */
	char *own_input; /* [n_input], freed with lmi_free at the end, and on failure */
	size_t n_input;
	bool go_on; /* the batch ran when the server was stopped: lines that are done are left out */
};

/* Starts a batch; its requests run when its start is on the disk.  Returns LMD_NOMEM, LMD_BUSY if too many
 * run, LMD_CORRUPT if a batch that goes on cannot be read, or the errors of lmi_http_objects_put(). */
enum lmd_status lmi_openai_batch_start(const struct lmi_openai_batch_opts *opts,
				       struct lmd_error *err);
/* Returns a running batch of that principal, or NULL. */
struct lmi_openai_batch *lmi_openai_batch_find(const struct lmi_http_server *h,
					       const struct lmi_svc_principal *principal,
					       const char *id);
/* Returns the batch as it is now; borrowed. */
json_t *lmi_openai_batch_object(struct lmi_openai_batch *b);
/* Starts no more requests; the batch ends when those that run have ended. */
void lmi_openai_batch_stop(struct lmi_openai_batch *b);

/* Returns the member `errors` of a batch that has failed, in the form of OpenAI. */
json_t *lmi_openai_batch_errors(const char *text);

/* Goes on with a stored batch that ran when the daemon ended, and does not run yet, with the rights of the
 * principal.  Returns LMD_BUSY if that may succeed later; after another error the batch has failed, and is
 * stored so. */
enum lmd_status lmi_openai_batch_go_on(struct lmi_http_server *h, struct lmi_http_objects *objects,
				       const struct lmi_svc_principal *principal, json_t *batch,
				       struct lmd_error *err);
/* Goes on with the batches that ran when the daemon ended, with the rights that their owners have
 * now: batches of a key that has expired, and those of clients without a key once there are keys, wait until
 * their owner asks for them.  Call this once, when the server has been opened. */
void lmi_openai_batches_resume(struct lmi_http_server *h);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_BATCH_RUN_H */
