/* SPDX-License-Identifier: MIT
 *
 * background.h - a generation that no client waits for.
 *
 * It belongs to the server instead of an exchange, and is otherwise the same: it has one choice, its
 * form writes the whole answer, and a missing model is replaced by the default one. */
#ifndef LLAMAD_DAEMON_HTTP_BACKGROUND_H
#define LLAMAD_DAEMON_HTTP_BACKGROUND_H

#include <jansson.h>

#include "daemon/http/exchange.h"
#include "daemon/http/generation.h"
#include "service/service.h"

/* Maximum number at a time. */
#define LMI_HTTP_BACKGROUND_MAX 64u

struct event;
struct lmi_http_background;
struct lmi_http_server;

struct lmi_http_background_opts {
	const struct lmi_svc_principal *principal; /* copied */
	const struct lmi_http_generation *gen;     /* copied; n_choice 1 */
	struct lmd_arena *own_arena;               /* of gen; freed at the end, and on failure */
	json_t *own_json;                          /* likewise; NULL: none */
	const char *id;                            /* for the form, in the arena */
	int64_t created;
	bool complete; /* what the end of the server refused or cut off is an error, LMD_BUSY */
	/* Called once at the end, unless it was stopped: with the answer as the form writes it, or
	 * with an error.  Must not call the service. */
	void (*done)(void *arg, const struct lmi_http_answer_head *head, const char *json, size_t n,
		     const struct lmi_http_error *e);
	void *arg;
};

/* Returns LMD_BUSY if there are too many, or LMD_NOMEM.  The generation starts later. */
enum lmd_status lmi_http_background_start(struct lmi_http_server *h,
					  const struct lmi_http_background_opts *opts,
					  struct lmd_error *err);
/* Returns the server of an exchange. */
struct lmi_http_server *lmi_http_server_of(const struct lmi_http_exchange *x);
/* Returns the argument of a principal's generation with that id; NULL: there is none. */
void *lmi_http_background_find(const struct lmi_http_server *h,
			       const struct lmi_svc_principal *principal, const char *id);
/* Cancels a principal's generation, without calling done. */
void lmi_http_background_stop(struct lmi_http_server *h, const struct lmi_svc_principal *principal,
			      const char *id);
/* Cancels those of an API key. */
void lmi_http_background_revoke(struct lmi_http_server *h, const char *label);
/* Frees all of them; the service has ended. */
void lmi_http_background_end_all(struct lmi_http_server *h);

/* ---- work of an API that outlives its exchange ---- */

/* A member of a larger object. */
struct lmi_http_lasting {
	struct lmi_http_lasting *next;
	/* The server ends, and its generations in the background have ended without calling done:
	 * frees the object. */
	void (*end)(struct lmi_http_lasting *l);
	/* The API key with that label was removed. */
	void (*revoke)(struct lmi_http_lasting *l, const char *label);
	/* Stored objects were written, or could not be; NULL: it does not matter. */
	void (*stored)(struct lmi_http_lasting *l);
};

void lmi_http_lasting_add(struct lmi_http_server *h, struct lmi_http_lasting *l);
void lmi_http_lasting_remove(struct lmi_http_server *h, struct lmi_http_lasting *l);
/* Returns the first in the list of all. */
struct lmi_http_lasting *lmi_http_lasting_first(const struct lmi_http_server *h);
/* Prepares a principal for requests that no exchange sends. */
void lmi_http_lasting_principal(struct lmi_http_server *h, struct lmi_svc_principal *p);
/* Calls the service; LMD_CANCELLED if it has ended.  The memory of req must stay until the reply. */
enum lmd_status lmi_http_lasting_call(struct lmi_http_server *h, const struct lmi_svc_principal *p,
				      const struct lmi_wire_request *req, lmi_svc_reply_fn reply,
				      void *arg, struct lmd_error *err);
/* Returns whether the service has ended. */
bool lmi_http_server_ended(const struct lmi_http_server *h);
/* Returns the time in seconds since 1970. */
int64_t lmi_http_server_now(const struct lmi_http_server *h);
/* Returns a time in ms that only grows. */
uint64_t lmi_http_server_clock_ms(void);
/* Returns what clients store; NULL: nothing is stored. */
struct lmi_http_objects *lmi_http_server_objects(const struct lmi_http_server *h);
/* Returns the role of clients of this machine that are identified by their uid, or, if that is UINT32_MAX,
 * of those that connect over TCP without a key. */
enum lmi_svc_role lmi_http_server_role(const struct lmi_http_server *h, uint32_t uid);
/* Returns the configured default model; NULL: none. */
const char *lmi_http_server_model(const struct lmi_http_server *h);
/* Returns an event that calls fn when it is made active or after a time; NULL without memory. */
struct event *lmi_http_event(struct lmi_http_server *h, void (*fn)(int fd, short what, void *arg),
			     void *arg);

#endif /* LLAMAD_DAEMON_HTTP_BACKGROUND_H */
