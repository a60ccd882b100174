/* SPDX-License-Identifier: MIT
 *
 * service_impl.h - internals of the service, shared by its files. */
#ifndef LLAMAD_SERVICE_SERVICE_IMPL_H
#define LLAMAD_SERVICE_SERVICE_IMPL_H

#include <string.h>

#include "core/base/arena.h"
#include "proto/proto.h"
#include "service/model.h"
#include "service/names.h"
#include "service/idempotency.h"
#include "service/service.h"
#include "service/stream.h"

#define LMI_SVC_NS_PER_MS 1000000ull

struct lmi_svc_generation;
struct lmi_svc_name;
struct lmi_svc_call;

struct lmi_service {
	struct lmi_service_opts o;
	struct lmi_service_limits limits;
	struct lmi_service_hooks hooks;
	struct lmi_wire_id boot;
	uint64_t start_ns, now; /* now: time of the latest call */
	bool closed, stopping;

	struct lmi_svc_streams streams;
	struct lmi_svc_idempotency_keys rids;

	/* models */
	struct lmi_svc_model *models;
	struct lmi_svc_loaded_model *residents;
	uint32_t n_resident;
	uint64_t n_engine; /* engines opened so far */
	struct lmi_svc_name *names;
	uint32_t n_name;
	uint64_t names_epoch; /* counts changes of the registry */

	/* generations */
	struct lmi_svc_generation *works;                    /* all generations */
	struct lmi_svc_generation *queue;                    /* ready to run, in order of arrival */
	struct lmi_svc_generation *run[LMI_SVC_RUNNING_MAX]; /* running ones, by slot */
	uint32_t n_running, n_waiting;             /* waiting: accepted and not running */
	uint64_t serial;
	uint64_t mean_ns;    /* moving average of the run time of a generation */
	uint64_t watched_ns; /* when the engines' progress was last read */

	struct lmi_svc_call *calls; /* pending requests */
	uint32_t n_call;
	uint32_t n_job; /* jobs of the service that are not done */

	struct lmi_service_stats count;
};

/* ---- requests ---- */

/* A copy of a request that owns its memory. */
struct lmi_svc_copy {
	struct lmi_wire_request req;
	struct lmi_wire_buf bytes;
	struct lmd_arena *arena;
};
enum lmd_status lmi_svc_copy_init(struct lmi_svc_copy *c, const struct lmi_wire_request *req,
				  struct lmd_error *err);
/* A zeroed struct is allowed. */
void lmi_svc_copy_fini(struct lmi_svc_copy *c);

/* The context of a request. */
struct lmi_svc_request_ctx {
	struct lmi_service *svc;
	uint64_t now;
	const struct lmi_svc_principal *who;
	const struct lmi_wire_request *req;
	lmi_svc_reply_fn reply;
	void *arg;
	/* only for ops that are not idempotent, otherwise NULL */
	struct lmi_svc_copy *copy; /* an op that keeps the copy zeroes this one */
	struct lmi_svc_idempotency_key *rid;
};

/* Handles an op: replies during the call or later, or returns an error. */
typedef enum lmd_status (*lmi_svc_do_fn)(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
					 struct lmd_error *err);

enum lmd_status lmi_svc_do_add(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
			       struct lmd_error *err);
enum lmd_status lmi_svc_do_alias(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				 struct lmd_error *err);
enum lmd_status lmi_svc_do_cancel(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				  struct lmd_error *err);
enum lmd_status lmi_svc_do_config_reload(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
					 struct lmd_error *err);
enum lmd_status lmi_svc_do_detokenize(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				      struct lmd_error *err);
enum lmd_status lmi_svc_do_drain(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				 struct lmd_error *err);
enum lmd_status lmi_svc_do_generate(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				    struct lmd_error *err);
enum lmd_status lmi_svc_do_hello(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				 struct lmd_error *err);
enum lmd_status lmi_svc_do_info(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				struct lmd_error *err);
enum lmd_status lmi_svc_do_key_add(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				   struct lmd_error *err);
enum lmd_status lmi_svc_do_key_rm(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				  struct lmd_error *err);
enum lmd_status lmi_svc_do_keys(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				struct lmd_error *err);
enum lmd_status lmi_svc_do_limits(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				  struct lmd_error *err);
enum lmd_status lmi_svc_do_load(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				struct lmd_error *err);
enum lmd_status lmi_svc_do_models(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				  struct lmd_error *err);
enum lmd_status lmi_svc_do_next(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				struct lmd_error *err);
enum lmd_status lmi_svc_do_ping(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				struct lmd_error *err);
enum lmd_status lmi_svc_do_plugins(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				   struct lmd_error *err);
enum lmd_status lmi_svc_do_plugins_reload(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
					  struct lmd_error *err);
enum lmd_status lmi_svc_do_ps(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
			      struct lmd_error *err);
enum lmd_status lmi_svc_do_reload(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				  struct lmd_error *err);
enum lmd_status lmi_svc_do_rm(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
			      struct lmd_error *err);
enum lmd_status lmi_svc_do_shutdown(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				    struct lmd_error *err);
enum lmd_status lmi_svc_do_stats(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				 struct lmd_error *err);
enum lmd_status lmi_svc_do_status(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				  struct lmd_error *err);
enum lmd_status lmi_svc_do_streams(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				   struct lmd_error *err);
enum lmd_status lmi_svc_do_tokenize(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				    struct lmd_error *err);
enum lmd_status lmi_svc_do_unload(const struct lmi_svc_request_ctx *a, uint32_t *retry_ms,
				  struct lmd_error *err);

/* ---- ops that reply later ---- */

/* A pending request with a job; call.c. */
struct lmi_svc_call {
	struct lmi_service *svc;
	struct lmi_svc_call *prev, *next;
	lmi_svc_reply_fn reply; /* NULL: answered, or the connection has ended */
	void *arg;
	struct lmi_svc_principal who;
	struct lmi_svc_copy copy;
	struct lmi_svc_idempotency_key
		*rid; /* a repetition waits for the reply to this one; otherwise NULL */
	struct lmi_svc_call *next_wait;
	struct lmd_arena *arena; /* for the results of the job */
	struct lmi_job job;
	struct lmd_error err; /* error of the job; status LMD_OK: it succeeded */
	struct lmi_svc_lookup lookup;
	struct lmi_svc_load_waiter want;
	struct lmi_svc_loaded_model *res; /* the model it uses */
	void *data;                       /* data of the op, in the arena */
	void (*done)(struct lmi_svc_call *c); /* called after the job: replies, then destroys c */
};

/* Returns LMD_NOMEM, or LMD_BUSY if there are too many pending requests. */
enum lmd_status lmi_svc_call_create(struct lmi_svc_call **out, const struct lmi_svc_request_ctx *a,
				    struct lmd_error *err);
/* Destroys a call without a pending or running job. */
void lmi_svc_call_destroy(struct lmi_svc_call *c);
/* Runs `run` in a job queue, then c->done on the loop's thread; on failure neither. */
enum lmd_status lmi_svc_call_submit(struct lmi_svc_call *c, struct lmi_jobs *jobs,
				    void (*run)(void *arg), struct lmd_error *err);
/* Send a reply or an error, unless the connection has ended. */
void lmi_svc_call_reply(struct lmi_svc_call *c, const struct lmi_wire_reply *reply);
void lmi_svc_call_fail(struct lmi_svc_call *c, const struct lmd_error *err, uint32_t retry_ms);
/* Answers with an error because the connection has ended. */
void lmi_svc_call_drop(struct lmi_svc_call *c);

/* ---- streams and their writers ---- */

/* A reason in addition to enum lmi_wire_cancel_reason: the daemon stops, which is a finish. */
#define LMI_SVC_CANCEL_SHUTDOWN 100u
struct lmi_svc_end lmi_svc_end_of(uint32_t reason);

/* A generation or a job that writes to a stream; a member of a larger object. */
struct lmi_svc_stream_writer {
	struct lmi_svc_stream *stream; /* NULL: it has ended */
	/* Ends it, during the call or later, with a reason as above. */
	void (*cancel)(struct lmi_svc_stream_writer *w, uint64_t now, uint32_t reason);
	/* Returns whether it is running, for op streams. */
	bool (*runs)(const struct lmi_svc_stream_writer *w);
};

/* The reply to a request that is not idempotent. */
struct lmi_svc_idempotency_key_reply {
	lmi_svc_reply_fn reply; /* NULL: answered */
	void *arg;
	struct lmi_wire_request head; /* only v, op and rid */
	char rid_text[LMI_SVC_IDEMPOTENCY_KEY_BYTES];
	struct lmi_svc_idempotency_key *rid; /* NULL: none, or answered */
};
/* Answers a repetition with the cached reply. */
void lmi_svc_idempotency_key_repeat_reply(const struct lmi_svc_idempotency_key *rid,
					  const struct lmi_wire_request *to, lmi_svc_reply_fn fn,
					  void *arg);
/* Moves the stream of a request id to the connection that repeated the request. */
void lmi_svc_idempotency_key_set_reader(struct lmi_service *svc,
					const struct lmi_svc_idempotency_key *rid,
					const struct lmi_svc_principal *who, uint64_t now);
/* Call this if the connection of a stream has ended.  If the request was repeated on another one,
 * moves the stream to that and returns true.  Otherwise forgets the request id, since the stream
 * will be given up, and returns false. */
bool lmi_svc_idempotency_key_move_stream(struct lmi_service *svc, struct lmi_svc_stream *s);
void lmi_svc_idempotency_key_reply_init(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_request_ctx *a);
/* Answers the request and its repetitions. */
void lmi_svc_idempotency_key_reply_send(struct lmi_svc_idempotency_key_reply *o,
					const struct lmi_svc_cached_reply *said);
/* Answers them with the id of a stream and a seed. */
void lmi_svc_idempotency_key_reply_stream(struct lmi_svc_idempotency_key_reply *o,
					  const struct lmi_svc_stream *s, int64_t seed);
void lmi_svc_idempotency_key_reply_fail(struct lmi_service *svc,
					struct lmi_svc_idempotency_key_reply *o,
					const struct lmd_error *err, uint32_t retry_ms);

/* Creates a stream for the request, which w writes to.  lmi_svc_stream_admit() must have succeeded.
 * model: name of the model, for op streams. */
enum lmd_status lmi_svc_stream_begin(const struct lmi_svc_request_ctx *a,
				     struct lmi_svc_stream_writer *w, uint32_t kind,
				     const struct lmd_str *model, uint64_t lease_ms,
				     struct lmd_error *err);
/* Makes room for one more stream of that principal, if necessary by destroying one that was read to
 * its end.  Returns LMD_BUSY if there is none. */
enum lmd_status lmi_svc_stream_admit(struct lmi_service *svc, const struct lmi_svc_principal *who,
				     struct lmd_error *err);
/* Ends the work: adds the final item, answers readers, and destroys the stream if it was given
 * up. */
void lmi_svc_stream_end(struct lmi_service *svc, struct lmi_svc_stream_writer *w, uint64_t now,
			const struct lmi_svc_end *end);
/* Gives up a stream: it cannot be found any more, its work is cancelled, its readers get an
 * error. */
void lmi_svc_stream_give_up(struct lmi_service *svc, struct lmi_svc_stream *s, uint64_t now,
			    uint32_t reason);
/* Answers the readers that are due. */
void lmi_svc_stream_pump(struct lmi_service *svc, struct lmi_svc_stream *s, uint64_t now);

/* ---- replies ---- */

static inline struct lmd_str lmi_svc_str(const char *s)
{
	return (struct lmd_str){.ptr = s ? s : "", .len = s ? strlen(s) : 0};
}

/* Sends the reply to the client. */
static inline enum lmd_status lmi_svc_reply_send(const struct lmi_svc_request_ctx *a,
						 const struct lmi_wire_reply *r)
{
	a->reply(a->arg, r, NULL, 0);
	return LMD_OK;
}

enum lmi_wire_server_state lmi_service_state(const struct lmi_service *svc);
uint32_t lmi_svc_retry_ms(const struct lmi_service *svc);
/* Fills in a row of `ps`; status.c. */
void lmi_svc_fill_resident(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r,
			   struct lmi_wire_resident *out);
/* Returns the state of a model, for `models`. */
enum lmi_wire_model_state lmi_svc_model_state(const struct lmi_service *svc,
					      const struct lmi_svc_model *m);

#endif /* LLAMAD_SERVICE_SERVICE_IMPL_H */
