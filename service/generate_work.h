/* SPDX-License-Identifier: MIT
 *
 * generate_work.h - one generation, shared by the files that handle its begin, run, end and
 * deadlines.
 *
 * The service owns a generation until it has ended and none of its jobs is running.  Its stream may
 * be destroyed earlier (given up) or live longer (unread).  An error before the request was
 * answered is the reply; a later error is the final item.
 *
 * Everything except jobs runs on the service's thread. */
#ifndef LLAMAD_SERVICE_GENERATE_WORK_H
#define LLAMAD_SERVICE_GENERATE_WORK_H

#include "core/base/jobs.h"
#include "core/engine/engine.h"
#include "core/text/chat/chat.h"
#include "core/text/tokenizer.h"
#include "service/answer.h"
#include "service/durable.h"
#include "service/generate.h"
#include "service/model.h"
#include "service/names.h"
#include "service/output.h"
#include "service/pictures.h"
#include "service/prefix_tier.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/settings.h"
#include "service/stream_writer.h"
#include "service/user.h"

enum lmi_svc_gen_state {
	LMI_SVC_GEN_LOOK_UP, /* the name is looked up in the registry */
	LMI_SVC_GEN_LOAD,    /* the model is being loaded */
	LMI_SVC_GEN_ENCODE,  /* the prompt is being tokenised */
	LMI_SVC_GEN_PROMPT,  /* the log probabilities of the prompt are being computed */
	LMI_SVC_GEN_QUEUE,   /* queued */
	LMI_SVC_GEN_RUN
};

struct lmi_svc_generation {
	struct lmi_svc_stream_writer writer;
	struct lmi_svc_request request; /* kept; released when the generation has ended */
	struct lmi_svc_generation *prev, *next; /* list of all generations */
	struct lmi_svc_generation *queue_next;  /* next one in the queue */
	uint64_t serial, deadline_ns, begun_ns;
	uint64_t ready_ns; /* when its model was loaded; UINT64_MAX: not yet */
	uint64_t seed;
	uint8_t stream_id[LMI_SVC_ID_BYTES]; /* also when the stream is gone */
	int32_t adapter; /* slot of the engine, which it holds; 0: none */
	struct lmi_svc_adapter_waiter adapter_waiter; /* its choice stays */
	struct lmi_svc_kept_request *kept; /* kept when it has ended: replay.h; NULL: nothing is */
	struct lmi_svc_replay_settings *replays; /* of op replay; otherwise NULL */
	enum lmi_svc_gen_state state;
	struct lmi_svc_lookup lookup;
	struct lmi_svc_model *model; /* in LMI_SVC_GEN_LOAD */
	struct lmi_svc_load_waiter load_waiter;
	uint32_t n_load; /* how often the model was loaded again for it */
	uint64_t again_ns; /* when what was busy is tried again; 0: nothing was */
	struct lmi_svc_loaded_model *loaded;
	struct lmi_svc_loaded_model *encoder; /* used by the job */
	struct lmi_job job;
	struct lmd_error job_err;
	struct lmi_text_token_buf tokens; /* the prompt */
	struct lmi_svc_pictures pictures; /* in it */
	size_t n_encoded; /* tokens of the prompt before token healing */
	struct lmi_text_token_buf prediction; /* of the answer */
	struct lmi_svc_durable *durable; /* of its stream; or NULL */
	bool resumes; /* it goes on where an earlier run stopped, after the tokens `taken` */
	struct lmi_text_token_buf taken;
	uint32_t n_resumed; /* tokens that were in `taken` */
	struct lmi_chat_answer_format answer_format;
	struct lmi_svc_answer_stream *answer;     /* the answer parser; NULL: do not parse */
	struct lmi_engine_constraint *constraint; /* until it is passed to the engine; or NULL */
	uint32_t slot;
	uint64_t cmd; /* id of the engine's command */
	struct lmi_svc_settings used; /* while it runs */
	uint32_t n_out;
	struct {
		uint32_t n_out;
		uint64_t n_prompt, until_ns;
	} counted; /* for usage, while it runs */
	uint32_t n_logprobs; /* entries of `logprobs`, which are those of the next token */
	struct lmi_wire_buf logprobs;
	struct lmi_svc_gen_session *session; /* NULL: the request names none */
	struct lmi_svc_prefix_work *prefix_work; /* it waits for rows from the disk; or NULL */
	struct lmi_text_token_buf rows; /* prompt and answer, if they may be saved to the disk tier */
	bool saving; /* the engine is done; the session is being saved */
	struct lmi_svc_prompt_logprobs *prompt_logprobs; /* while they are computed; or NULL */
	uint64_t paused_until_ns; /* when it is cancelled; 0: it is not paused */
	/* how it will end once the engine has stopped it */
	bool stopping, cancel_waits;
	/* it has ended with stop_end, but the first record of its durable stream is not written yet,
	 * which the answer to the request waits for */
	bool head_waits;
	uint32_t retry_ms;
	struct lmi_svc_end stop_end;
	/* lifetime */
	bool ended, job_runs;
	uint32_t n_hold;
};

static inline const struct lmi_wire_req_generate *
lmi_svc_gen_request(const struct lmi_svc_generation *g)
{
	return &g->request.message.u.generate;
}

/* ---- generate_begin.c ---- */

/* Begins a generation of an earlier run of the daemon, with a stream that has this id and is not
 * durable yet.  `a` is what the request was.  Call lmi_svc_gen_look_up next. */
enum lmd_status lmi_svc_gen_create_again(struct lmi_svc_generation **out, struct lmi_svc_request *a,
					 const struct lmi_svc_journal_head *head,
					 struct lmd_error *err);
void lmi_svc_gen_look_up(struct lmi_svc_generation *g, uint64_t now);
/* Tries again what was busy when it was tried first. */
void lmi_svc_gen_try_again(struct lmi_svc_generation *g, uint64_t now);
/* The lease of the stream of a request. */
uint64_t lmi_svc_gen_lease_ms(const struct lmi_service *svc, const struct lmi_wire_req_generate *q);

/* ---- generate_run.c ---- */

/* Returns whose rows of the prefix cache it shares. */
uint64_t lmi_svc_gen_tenant(const struct lmi_svc_generation *g);
/* Queues a generation whose prompt has been tokenised, or starts it at once. */
void lmi_svc_gen_enqueue(struct lmi_svc_generation *g, uint64_t now);

/* ---- generate_prompt.c ---- */

/* Adds the tokens of the prompt as items if they are requested, after computing their log
 * probabilities if those are, and queues the generation. */
void lmi_svc_gen_prompt_items(struct lmi_svc_generation *g, uint64_t now);
/* Cancels the computation, if there is one, because the generation has ended. */
void lmi_svc_gen_prompt_items_cancel(struct lmi_svc_generation *g);

/* ---- generate_session.c ---- */

/* Brings back what the request's session has of the prompt, if it names one, then goes on with
 * lmi_svc_gen_prefix_restore. */
void lmi_svc_gen_session_restore(struct lmi_svc_generation *g, uint64_t now);
/* Adds a token of the answer. */
void lmi_svc_gen_session_token(struct lmi_svc_generation *g, lmd_token token);
/* Saves the session; the generation ends with `end` after that.  Returns false if there is nothing to
 * save: the caller ends it. */
bool lmi_svc_gen_session_save(struct lmi_svc_generation *g, const struct lmi_svc_end *end);
/* The generation has ended: work that has not begun is not done. */
void lmi_svc_gen_session_drop(struct lmi_svc_generation *g);
void lmi_svc_gen_session_free(struct lmi_svc_generation *g);

/* ---- generate_prefix.c ---- */

/* Brings back what the disk tier has of the prompt, then goes on with lmi_svc_gen_prompt_items. */
void lmi_svc_gen_prefix_restore(struct lmi_svc_generation *g, uint64_t now);
/* Adds a token of the answer; the first one means that the prompt can be saved. */
void lmi_svc_gen_prefix_token(struct lmi_svc_generation *g, lmd_token token);
/* The engine is done: prompt and answer can be saved. */
void lmi_svc_gen_prefix_end(struct lmi_svc_generation *g, const struct lmi_svc_end *end);
/* Saves nothing more of a tenant, whose files are removed next. */
void lmi_svc_gen_prefix_forget(struct lmi_service *svc, uint64_t now, uint64_t tenant);
/* The generation has ended: it waits for nothing. */
void lmi_svc_gen_prefix_leave(struct lmi_svc_generation *g);

/* ---- generate_end.c ---- */

/* Ends the generation now, with `end` as its final item.  Frees g unless it is held. */
void lmi_svc_gen_finish(struct lmi_svc_generation *g, uint64_t now, const struct lmi_svc_end *end);
/* Ends the generation with an error.  retry_ms: time until a retry makes sense; 0: unknown. */
void lmi_svc_gen_fail(struct lmi_svc_generation *g, uint64_t now, const struct lmd_error *err,
		      uint32_t retry_ms);
/* Ends the generation with `end`, at once or when the engine has stopped it. */
void lmi_svc_gen_stop(struct lmi_svc_generation *g, uint64_t now, const struct lmi_svc_end *end);
/* Functions of struct lmi_svc_stream_writer. */
void lmi_svc_gen_cancel(struct lmi_svc_stream_writer *w, uint64_t now, uint32_t reason);
bool lmi_svc_gen_runs(const struct lmi_svc_stream_writer *w);
enum lmd_status lmi_svc_gen_pause(struct lmi_svc_stream_writer *w, uint64_t now, bool paused,
				  bool *was_paused, uint64_t *left_ms, struct lmd_error *err);
bool lmi_svc_gen_is_paused(const struct lmi_svc_stream_writer *w);

/* Removes the generation from the queue, if it is queued. */
void lmi_svc_gen_leave_queue(struct lmi_service *svc, struct lmi_svc_generation *g);
/* Frees the constraint.  The engine it was made for must still be held. */
void lmi_svc_gen_drop_constraint(struct lmi_svc_generation *g);
/* Frees the generation if it has ended and is not held. */
void lmi_svc_gen_release(struct lmi_svc_generation *g);

#endif /* LLAMAD_SERVICE_GENERATE_WORK_H */
