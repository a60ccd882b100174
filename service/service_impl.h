/* SPDX-License-Identifier: MIT
 *
 * service_impl.h - the inside of a service, shared by its files. */
#ifndef LLAMAD_SERVICE_SERVICE_IMPL_H
#define LLAMAD_SERVICE_SERVICE_IMPL_H

#include "core/base/arena.h"
#include "proto/proto.h"
#include "service/model.h"
#include "service/names.h"
#include "service/rid.h"
#include "service/service.h"
#include "service/stream.h"

#define LMI_MS 1000000ull

struct lmi_gen_work;
struct lmi_name;
struct lmi_call;

struct lmi_service {
	struct lmi_service_opts o;
	struct lmi_service_limits limits;
	struct lmi_service_hooks hooks;
	struct lmi_wire_id boot;
	uint64_t start_ns, now; /* now: of the latest call */
	bool closed, stopping;

	struct lmi_streams streams;
	struct lmi_rids rids;

	/* models */
	struct lmi_model *models;
	struct lmi_resident *residents;
	uint32_t n_resident;
	uint64_t n_engine; /* ever */
	struct lmi_name *names;
	uint32_t n_name;
	uint64_t names_epoch; /* counts changes of the registry */

	/* generations */
	struct lmi_gen_work *works;                 /* all */
	struct lmi_gen_work *queue;                 /* ready to run, in order of arrival */
	struct lmi_gen_work *run[LMI_SESSIONS_MAX]; /* by slot */
	uint32_t n_running, n_waiting;              /* waiting: accepted and not running */
	uint64_t serial;
	uint64_t mean_ns; /* that a generation ran, lately */
	uint64_t watched_ns; /* when the engines' progress was last looked at */

	struct lmi_call *calls; /* that wait for an answer */
	uint32_t n_call;
	uint32_t n_job; /* jobs of the service that are not done */

	struct lmi_service_stats count;
};

/* ---- requests ---- */

/* A request with memory of its own. */
struct lmi_copy {
	struct lmi_request req;
	struct lmi_wire_buf bytes;
	struct lmd_arena *arena;
};
enum lmd_status lmi_copy_init(struct lmi_copy *c, const struct lmi_request *req,
			      struct lmd_error *err);
/* Zeroed allowed. */
void lmi_copy_fini(struct lmi_copy *c);

/* What an op is given. */
struct lmi_ask {
	struct lmi_service *svc;
	uint64_t now;
	const struct lmi_principal *who;
	const struct lmi_request *req;
	lmi_reply_fn reply;
	void *arg;
	/* of ops that must not run twice; others: zeroed, NULL */
	struct lmi_copy *copy; /* who needs it takes it and zeroes this */
	struct lmi_rid *rid;
};

/* Answers, now or later, or returns why not. */
typedef enum lmd_status (*lmi_do_fn)(const struct lmi_ask *a, uint32_t *retry_ms,
				     struct lmd_error *err);

enum lmd_status lmi_do_add(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_alias(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_cancel(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_config_reload(const struct lmi_ask *a, uint32_t *retry_ms,
				     struct lmd_error *err);
enum lmd_status lmi_do_detokenize(const struct lmi_ask *a, uint32_t *retry_ms,
				  struct lmd_error *err);
enum lmd_status lmi_do_drain(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_generate(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_hello(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_info(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_key_add(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_key_rm(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_keys(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_limits(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_load(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_models(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_next(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_ping(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_plugins(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_plugins_reload(const struct lmi_ask *a, uint32_t *retry_ms,
				      struct lmd_error *err);
enum lmd_status lmi_do_ps(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_reload(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_rm(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_shutdown(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_stats(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_status(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_streams(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_tokenize(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);
enum lmd_status lmi_do_unload(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err);

/* ---- ops that are answered later ---- */

/* A request that waits for its answer, and for a job; call.c. */
struct lmi_call {
	struct lmi_service *svc;
	struct lmi_call *prev, *next;
	lmi_reply_fn reply; /* NULL: answered, or nobody wants it any more */
	void *arg;
	struct lmi_principal who;
	struct lmi_copy copy;
	struct lmi_rid *rid; /* it repeats this one, and waits for its answer; or NULL */
	struct lmi_call *next_wait;
	struct lmd_arena *arena; /* for what the job finds */
	struct lmi_job job;
	struct lmd_error err; /* of the job; status LMD_OK: it went well */
	struct lmi_lookup lookup;
	struct lmi_waiter want;
	struct lmi_resident *res;         /* in use */
	void *data;                       /* of the op, in the arena */
	void (*done)(struct lmi_call *c); /* after the job: answers, then destroys it */
};

/* LMD_NOMEM; LMD_BUSY: too many wait. */
enum lmd_status lmi_call_create(struct lmi_call **out, const struct lmi_ask *a,
				struct lmd_error *err);
/* No job of it waits or runs. */
void lmi_call_destroy(struct lmi_call *c);
/* Runs `run` on a queue, then c->done here; on failure neither. */
enum lmd_status lmi_call_submit(struct lmi_call *c, struct lmi_jobs *jobs, void (*run)(void *arg),
				struct lmd_error *err);
/* Answer, when somebody still waits for it. */
void lmi_call_reply(struct lmi_call *c, const struct lmi_reply *reply);
void lmi_call_fail(struct lmi_call *c, const struct lmd_error *err, uint32_t retry_ms);
/* Nobody waits for the answer any more: says so, for connections that are gone. */
void lmi_call_drop(struct lmi_call *c);

/* ---- streams and what writes to them ---- */

/* Beside the reasons of enum lmi_wire_cancel_reason: the daemon ends, which is a finish. */
#define LMI_CANCEL_SHUTDOWN 100u
struct lmi_end lmi_end_of(uint32_t reason);

/* A generation or a job at work; a member of a larger object. */
struct lmi_work {
	struct lmi_stream *stream; /* NULL: ended */
	/* Ends it, now or later, for a reason as above. */
	void (*cancel)(struct lmi_work *w, uint64_t now, uint32_t reason);
	/* It has begun; for reports. */
	bool (*runs)(const struct lmi_work *w);
};

/* The answer to a request that must not run twice. */
struct lmi_once {
	lmi_reply_fn reply; /* NULL: answered */
	void *arg;
	struct lmi_request head; /* v, op, rid */
	char rid_text[LMI_RID_BYTES];
	struct lmi_rid *rid; /* NULL: none, or answered */
};
/* The answer that was given to a request of that id. */
void lmi_rid_answer(const struct lmi_rid *rid, const struct lmi_request *to, lmi_reply_fn fn,
		    void *arg);
/* The stream of a request id is read by who sent the request again. */
void lmi_rid_read_by(struct lmi_service *svc, const struct lmi_rid *rid,
		     const struct lmi_principal *who, uint64_t now);
/* The connection of a stream is gone.  True: the request was sent again on another one, which
 * reads it from now on.  False: its request id is forgotten, since what it began is given up. */
bool lmi_rid_moves(struct lmi_service *svc, struct lmi_stream *s);
void lmi_once_init(struct lmi_once *o, const struct lmi_ask *a);
/* Answers the request and its repetitions. */
void lmi_once_say(struct lmi_once *o, const struct lmi_once_said *said);
/* The id of a stream. */
void lmi_once_answer(struct lmi_once *o, const struct lmi_stream *s, int64_t seed);
void lmi_once_fail(struct lmi_service *svc, struct lmi_once *o, const struct lmd_error *err,
		   uint32_t retry_ms);

/* A stream for the ask, and the work that writes to it; room for it was found.  model: its name,
 * for reports. */
enum lmd_status lmi_work_begin(const struct lmi_ask *a, struct lmi_work *w, uint32_t kind,
			       const struct lmd_str *model, uint64_t lease_ms,
			       struct lmd_error *err);
/* Room for one more stream of that principal: one that was read to its end makes way.
 * LMD_BUSY. */
enum lmd_status lmi_stream_admit(struct lmi_service *svc, const struct lmi_principal *who,
				 struct lmd_error *err);
/* The work is over: final item, readers, and the stream itself when it was given up. */
void lmi_work_end(struct lmi_service *svc, struct lmi_work *w, uint64_t now,
		  const struct lmi_end *end);
/* Nobody can find the stream any more; its work is cancelled, its readers are dropped. */
void lmi_stream_give_up(struct lmi_service *svc, struct lmi_stream *s, uint64_t now,
			uint32_t reason);
/* Answers the readers that are due. */
void lmi_stream_pump(struct lmi_service *svc, struct lmi_stream *s, uint64_t now);

/* ---- replies ---- */

static inline struct lmd_str lmi_str(const char *s)
{
	return (struct lmd_str){.ptr = s ? s : "", .len = s ? strlen(s) : 0};
}

/* Sends a reply that is ready to the asker. */
static inline enum lmd_status lmi_answer(const struct lmi_ask *a, const struct lmi_reply *r)
{
	a->reply(a->arg, r, NULL, 0);
	return LMD_OK;
}

enum lmi_wire_server_state lmi_service_state(const struct lmi_service *svc);
uint32_t lmi_retry_ms(const struct lmi_service *svc);
/* status.c: a row of `ps`. */
void lmi_fill_resident(const struct lmi_service *svc, const struct lmi_resident *r,
		       struct lmi_wire_resident *out);
/* In memory or not, for `models`. */
enum lmi_wire_model_state lmi_model_state(const struct lmi_service *svc, const struct lmi_model *m);

#endif /* LLAMAD_SERVICE_SERVICE_IMPL_H */
