/* SPDX-License-Identifier: MIT
 *
 * generate_work.h - a generation of a service, shared by the files that carry it on: begin, run,
 * end, time.
 *
 * A work belongs to the service until it has ended and no job of it is under way; its stream may
 * be gone earlier (given up) or stay longer (unread).  What fails before the request was answered
 * is the answer; what fails later is the final item.
 *
 * All of it on the service's thread, but for jobs. */
#ifndef LLAMAD_SERVICE_GENERATE_WORK_H
#define LLAMAD_SERVICE_GENERATE_WORK_H

#include "core/engine/engine.h"
#include "service/answer.h"
#include "service/generate.h"
#include "service/prompt.h"

enum lmi_gen_state {
	LMI_GEN_LOOK_UP, /* the registry is asked for the name */
	LMI_GEN_LOAD,    /* the model comes */
	LMI_GEN_ENCODE,  /* the prompt is tokenised */
	LMI_GEN_QUEUE,   /* waits for its turn */
	LMI_GEN_RUN
};

struct lmi_gen_work {
	struct lmi_work work;
	struct lmi_service *svc;
	struct lmi_gen_work *prev, *next; /* of the service */
	struct lmi_gen_work *behind;      /* in the queue */
	struct lmi_once once;
	struct lmi_copy copy;
	uint64_t serial, deadline_ns, begun_ns;
	uint64_t ready_ns; /* its model was there; UINT64_MAX: not yet */
	uint64_t seed;
	enum lmi_gen_state state;
	struct lmi_lookup lookup;
	struct lmi_model *model; /* LMI_GEN_LOAD */
	struct lmi_waiter want;
	struct lmi_resident *res;
	struct lmi_resident *encoder; /* in use by the job */
	struct lmi_job job;
	struct lmd_error job_err;
	struct lmi_tokens tokens; /* of the prompt */
	struct lmi_chat_answer how;
	struct lmi_answer *answer; /* NULL: it is told as it is written */
	struct lmi_constraint *constraint; /* until the engine has it; or NULL */
	uint32_t slot;
	uint64_t cmd; /* id of the engine's command */
	uint32_t n_out;
	/* how it is to end although the engine goes on */
	bool stopping, cancel_waits;
	uint32_t retry_ms;
	struct lmi_end stop_end;
	/* lifetime */
	bool ended, job_runs;
	uint32_t n_hold;
};

static inline const struct lmi_req_generate *lmi_gen_request(const struct lmi_gen_work *g)
{
	return &g->copy.req.u.generate;
}

/* ---- generate_run.c ---- */

/* Its prompt is tokens: it waits for its turn, or runs at once. */
void lmi_gen_enqueue(struct lmi_gen_work *g, uint64_t now);

/* ---- generate_end.c ---- */

/* Ends it now, with `end` as its last word.  Frees g, unless somebody holds it. */
void lmi_gen_finish(struct lmi_gen_work *g, uint64_t now, const struct lmi_end *end);
/* The same with an error; retry_ms: when to ask again, 0: nothing is said of it. */
void lmi_gen_fail(struct lmi_gen_work *g, uint64_t now, const struct lmd_error *err,
		  uint32_t retry_ms);
/* Ends it with `end`: at once, or when the engine has let go of it. */
void lmi_gen_stop(struct lmi_gen_work *g, uint64_t now, const struct lmi_end *end);
/* Of struct lmi_work. */
void lmi_gen_cancel(struct lmi_work *w, uint64_t now, uint32_t reason);
bool lmi_gen_runs(const struct lmi_work *w);

/* Out of the queue, if it is there. */
void lmi_gen_leave_queue(struct lmi_service *svc, struct lmi_gen_work *g);
/* While the engine that the constraint is for is held. */
void lmi_gen_drop_constraint(struct lmi_gen_work *g);
/* Frees it when it has ended and nobody holds it. */
void lmi_gen_release(struct lmi_gen_work *g);

#endif /* LLAMAD_SERVICE_GENERATE_WORK_H */
