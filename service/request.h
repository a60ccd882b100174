/* SPDX-License-Identifier: MIT
 *
 * request.h - one request: its message, its reply, its idempotency key and its account.
 *
 * The life of a request, all of it on the loop's thread:
 *
 *     admitted  lmi_svc_dispatch checks the role of the principal and that the service is open.  The
 *               request is on the stack of the dispatcher and borrows the message.  If its op is not
 *               idempotent, the message is copied and its idempotency key is taken; a repetition of
 *               a key that has no reply yet is kept as a call that only waits for that reply.
 *     queued    An op that replies later checks the caps of the user (user.h) and calls
 *               lmi_svc_request_keep, which moves the request into the op's own object: a call
 *               (call.h), a generation, an import or a load.  That object now owns the copy of the
 *               message and the places in the user's account.  It must not be moved in memory.
 *     working   The op waits for a lookup, a model, a job or an engine.  A job reads `message` and
 *               may allocate in `arena` while it runs; the loop's thread uses neither meanwhile.
 *     replying  lmi_svc_request_reply, _reply_once, _reply_stream or _fail calls the client's
 *               function, exactly once; later calls do nothing.  The key then has the reply, or is
 *               forgotten if the request failed, and its repetitions are answered as well.
 *     ended     lmi_svc_request_release gives the places back, at the latest in
 *               lmi_svc_request_fini, which also frees the message and the arena.  The op calls it
 *               when no job of the request is running any more.  A generation and a load are
 *               answered long before they end.
 *
 * An op that returns an error has freed what it kept and has not replied: the dispatcher answers.
 *
 * Ops that reply during the call do not keep the request.  A reader of a stream (op next) is not
 * kept either: stream.h copies the few fields that its reply needs. */
#ifndef LLAMAD_SERVICE_REQUEST_H
#define LLAMAD_SERVICE_REQUEST_H

#include <string.h>

#include "core/base/arena.h"
#include "proto/proto.h"
#include "service/idempotency.h"
#include "service/service.h"
#include "service/user.h"

struct lmi_svc_push;
struct lmi_svc_replay_settings; /* replay.h */

struct lmi_svc_request {
	struct lmi_service *svc;
	uint64_t now; /* when it arrived */
	struct lmi_svc_principal principal;
	const struct lmi_wire_request *req; /* the caller's message; once it is kept, &message */
	lmi_svc_reply_fn reply;             /* NULL: answered */
	void *arg;
	bool is_replay; /* `req` is the request that op replay repeats */
	const struct lmi_svc_replay_settings *replays; /* of that one, during the call; otherwise NULL */
	struct lmi_svc_push *push; /* the subscriber of the stream; NULL: none */
	/* the key that this request was the first to use, until it is answered; otherwise NULL */
	struct lmi_svc_idempotency_key *key;
	/* the copy of the message; valid if arena is not NULL */
	struct lmi_wire_request message;
	struct lmi_wire_buf bytes;
	struct lmd_arena *arena; /* also for results */
	/* the account; only if kept */
	struct lmi_svc_user *user;   /* NULL: it holds nothing any more */
	struct lmi_svc_account held; /* what it adds to the user's account */
	uint64_t work_ns;            /* processor time of its last job, written by that job */
};

/* Copies the message, unless that has been done. */
enum lmd_status lmi_svc_request_copy(struct lmi_svc_request *r, struct lmd_error *err);
/* Moves a request, with a copy of its message, to *out, and adds `places` and the size of the
 * message to the account of its user.  Returns LMD_NOMEM; *out then needs no lmi_svc_request_fini.
 * After success, `r` still has what is needed to answer if the op fails. */
enum lmd_status lmi_svc_request_keep(struct lmi_svc_request *out, struct lmi_svc_request *r,
				     const struct lmi_svc_account *places, struct lmd_error *err);
/* Gives back what the request holds in the account of its user. */
void lmi_svc_request_release(struct lmi_svc_request *r);
/* Frees the copy, and releases.  Does not reply. */
void lmi_svc_request_fini(struct lmi_svc_request *r);

/* Each of them does nothing if the request has been answered. */
void lmi_svc_request_reply(struct lmi_svc_request *r, const struct lmi_wire_reply *reply);
/* Answers an op that is not idempotent, and its repetitions. */
void lmi_svc_request_reply_once(struct lmi_svc_request *r,
				const struct lmi_svc_cached_reply *reply);
/* The same with the id of a stream and a seed. */
void lmi_svc_request_reply_stream(struct lmi_svc_request *r, const struct lmi_svc_stream *s,
				  int64_t seed);
/* Answers with an error, the repetitions as well, and forgets the key.  retry_ms: time until a
 * retry makes sense; 0: unknown. */
void lmi_svc_request_fail(struct lmi_svc_request *r, const struct lmd_error *err,
			  uint32_t retry_ms);
/* Answers a repetition of `key` with the cached reply. */
void lmi_svc_request_reply_cached(struct lmi_svc_request *r,
				  const struct lmi_svc_idempotency_key *key);

/* Handles an op: replies during the call or later, or returns an error. */
typedef enum lmd_status (*lmi_svc_do_fn)(struct lmi_svc_request *a, uint32_t *retry_ms,
					 struct lmd_error *err);

/* Checks that the request is allowed, and handles it. */
void lmi_svc_dispatch(struct lmi_svc_request *a);

static inline struct lmd_str lmi_svc_str(const char *s)
{
	return (struct lmd_str){.ptr = s ? s : "", .len = s ? strlen(s) : 0};
}

/* Sends the reply during the call. */
static inline enum lmd_status lmi_svc_reply_send(struct lmi_svc_request *a,
						 const struct lmi_wire_reply *r)
{
	lmi_svc_request_reply(a, r);
	return LMD_OK;
}

#endif /* LLAMAD_SERVICE_REQUEST_H */
