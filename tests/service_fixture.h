/* SPDX-License-Identifier: MIT
 *
 * service_fixture.h - a service without sockets and threads: the test runs jobs and steps, and sets
 * the time. */
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

/* The reply to a request. */
struct fx_answer {
	enum lmi_wire_op op;
	uint32_t n; /* number of replies, at most one */
	bool failed;
	struct lmd_error err;
	uint32_t retry_ms;
	struct lmi_wire_reply r; /* a copy */
	struct lmi_wire_buf bytes;
	struct lmd_arena *arena;
};

struct fx {
	struct lmt_env env;
	char dir[256], model[300], other[300];
	struct lmi_store *store;
	struct lmi_mailbox mailbox;
	struct lmi_jobs *registry, *io, *work;
	struct lmi_jobs *journals; /* for fx->o.journals, which is not set */
	struct lmi_service_opts o;
	struct lmi_service *svc;
	uint64_t now;
	/* jobs and engines have threads, and now is read from the clock */
	bool threads;
	int fds[64]; /* watched */
	uint32_t n_fd;
	struct fx_answer a; /* reply to the last fx_call */
	uint32_t n_rid;
};

/* Prepares a service with the models "tiny" and "other" on the null backend, or on that of the environment
 * variable LMD_TEST_BACKEND.  Change fx->o between
 * fx_init and fx_start. */
void fx_init(struct fx *fx);
/* Like fx_init, with threads; use fx_loop in place of fx_turn and fx_job. */
void fx_init_threads(struct fx *fx);
/* Waits for an event and handles it. */
void fx_loop(struct fx *fx);
/* Adds a model file to the store.  Call before fx_start. */
void fx_add_model(struct fx *fx, const char *name, const char *path);
void fx_start(struct fx *fx);
void fx_fini(struct fx *fx);

extern const struct lmi_svc_principal fx_user, fx_other, fx_admin;

/* Sends a request, which may be answered later. */
void fx_ask(struct fx *fx, const struct lmi_svc_principal *who, const struct lmi_wire_request *q,
	    struct fx_answer *a);
void fx_answer_fini(struct fx_answer *a);

/* Runs one pending job and its completion. */
bool fx_job(struct fx *fx);
/* Runs one tick of the service, with a step of every engine. */
void fx_turn(struct fx *fx);
/* Runs ticks and jobs until the reply arrives; fails the test if it does not. */
void fx_wait(struct fx *fx, struct fx_answer *a);
/* Runs ticks and jobs until nothing is running or pending. */
void fx_settle(struct fx *fx);
/* fx_ask and fx_wait, with fx->a; returns false if the request failed. */
bool fx_call(struct fx *fx, const struct lmi_svc_principal *who, const struct lmi_wire_request *q);

/* Sends a request and checks that it is refused with the status and a message that contains the words. */
void fx_check_refused(struct fx *fx, const struct lmi_svc_principal *who,
		      const struct lmi_wire_request *q, enum lmd_status status, const char *words);
/* Sends a request of a client that leaves after n turns, or when it has its reply. Checks that the request
 * ends and that nothing stays behind. Each connection has a number of its own, 1000 + n. */
void fx_check_leaving(struct fx *fx, const struct lmi_wire_request *q, int n);

/* Requests. */
struct lmi_wire_request fx_generate(struct fx *fx, const char *model, const char *prompt,
				    int64_t n);
struct lmi_wire_request fx_next(const struct lmi_wire_id *id, uint64_t after);
struct lmi_wire_request fx_on(struct fx *fx, enum lmi_wire_op op, const char *model);
#define FX_LONG_TEXT 8192 /* bytes: too long for the main thread */
/* Tokenizes a text of that length with the model tiny. */
struct lmi_wire_request fx_tokenize_long(struct fx *fx);

/* Starts a generation with the model tiny and returns its id. */
struct lmi_wire_id fx_begin(struct fx *fx, const struct lmi_svc_principal *who, const char *prompt,
			    int64_t n);
/* Runs n ticks of one millisecond each, with one token per tick. */
void fx_step(struct fx *fx, int n);
/* Checks that there is no generation, no running stream and no used page. */
void fx_check_empty(struct fx *fx);
/* Loads the model tiny. */
void fx_load(struct fx *fx);
/* Returns a metric of the model tiny, which has at most one of the name; 0: none. */
double fx_metric(struct fx *fx, const char *name);

/* Reads a stream to its end; writes its text to out (terminated) and returns the final item. */
struct lmi_wire_item fx_read(struct fx *fx, const struct lmi_svc_principal *who,
			     const struct lmi_wire_id *id, char *out, size_t n);
/* Loads, or unloads, and waits for the end of the job. */
struct lmi_wire_item fx_job_op(struct fx *fx, enum lmi_wire_op op, const char *model);

/* Are the models on the null backend?  If not, tests of its settings and of the tokens that it chooses
 * make no sense. */
bool fx_on_null(void);
/* Writes the text of the `n` tokens that the model tiny generates after a prompt: the null backend counts;
 * otherwise a service on ref is asked.  Not longer than n. */
void fx_expect(const char *prompt, uint32_t n, char *out);

struct lmi_service_stats fx_stats(const struct fx *fx);

#endif /* LLAMAD_TESTS_SERVICE_FIXTURE_H */
