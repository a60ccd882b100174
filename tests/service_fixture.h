/* SPDX-License-Identifier: MIT
 *
 * service_fixture.h - a service without sockets and threads: jobs and steps run when the test
 * says so, and time is a number. */
#ifndef LLAMAD_TESTS_SERVICE_FIXTURE_H
#define LLAMAD_TESTS_SERVICE_FIXTURE_H

#include "core/base/arena.h"
#include "proto/proto.h"
#include "service/service.h"
#include "store/store.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define FX_MS 1000000ull

/* What came back for a request. */
struct fx_answer {
	enum lmi_wire_op op;
	uint32_t n; /* how often; never more than once */
	bool failed;
	struct lmd_error err;
	uint32_t retry_ms;
	struct lmi_reply r; /* a copy */
	struct lmi_wire_buf bytes;
	struct lmd_arena *arena;
};

struct fx {
	struct lmt_env env;
	char dir[256], model[300], other[300];
	struct lmi_store *store;
	struct lmi_mailbox mailbox;
	struct lmi_jobs *registry, *io, *work;
	struct lmi_service_opts o;
	struct lmi_service *svc;
	uint64_t now;
	/* threads: jobs and engines have their own, and now is the clock's */
	bool threads;
	int fds[64]; /* watched */
	uint32_t n_fd;
	struct fx_answer a; /* of the latest fx_call */
	uint32_t n_rid;
};

/* A service with the models "tiny" and "other" on the null backend.  n_ctx 0: the model's.
 * Changes to fx->o.limits and others are made between the two. */
void fx_init(struct fx *fx);
/* The same with threads, and with fx_loop in place of fx_turn and fx_job. */
void fx_init_threads(struct fx *fx);
/* Waits until something is to be done, and does it. */
void fx_loop(struct fx *fx);
void fx_start(struct fx *fx);
void fx_fini(struct fx *fx);

extern const struct lmi_principal fx_user, fx_other, fx_admin;

/* One request; it may be answered later. */
void fx_ask(struct fx *fx, const struct lmi_principal *who, const struct lmi_request *q,
	    struct fx_answer *a);
void fx_answer_fini(struct fx_answer *a);

/* Runs one waiting job, and its end. */
bool fx_job(struct fx *fx);
/* One turn: a step of every engine. */
void fx_turn(struct fx *fx);
/* Turns and jobs until the answer is there; fails the test when it does not come. */
void fx_wait(struct fx *fx, struct fx_answer *a);
/* Turns and jobs until nothing runs and waits. */
void fx_settle(struct fx *fx);
/* fx_ask and fx_wait, into fx->a; false when it was refused. */
bool fx_call(struct fx *fx, const struct lmi_principal *who, const struct lmi_request *q);

/* Requests. */
struct lmi_request fx_generate(struct fx *fx, const char *model, const char *prompt, int64_t n);
struct lmi_request fx_next(const struct lmi_wire_id *id, uint64_t after);
struct lmi_request fx_on(struct fx *fx, enum lmi_wire_op op, const char *model);

/* Starts a generation of the model tiny and gives its id. */
struct lmi_wire_id fx_begin(struct fx *fx, const struct lmi_principal *who, const char *prompt,
			    int64_t n);
/* That many turns, a millisecond each: one token a turn; the first one is there after it. */
void fx_step(struct fx *fx, int n);
/* Nothing is left: no session, no stream's work, no page. */
void fx_check_empty(struct fx *fx);
/* The model tiny is in memory. */
void fx_load(struct fx *fx);

/* Reads a stream to its end, text into out (terminated); its final item. */
struct lmi_wire_item fx_read(struct fx *fx, const struct lmi_principal *who,
			     const struct lmi_wire_id *id, char *out, size_t n);
/* Loads, or unloads, and waits for the end of the job. */
struct lmi_wire_item fx_job_op(struct fx *fx, enum lmi_wire_op op, const char *model);

/* The null backend counts: what `n` tokens after the prompt are, as text. */
void fx_expect(const char *prompt, uint32_t n, char *out);

struct lmi_service_stats fx_stats(const struct fx *fx);

#endif /* LLAMAD_TESTS_SERVICE_FIXTURE_H */
