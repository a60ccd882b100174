/* SPDX-License-Identifier: MIT
 *
 * generation_impl.h - the generations of an exchange, shared by the files that run them.
 *
 * generation.c starts them and takes what the service delivers, generation_answer.c writes the answer, and
 * generation_counts.c counts for metrics and traces.  All of it belongs to the loop's thread; the memory is
 * in the arena of the exchange. */
#ifndef LLAMAD_DAEMON_HTTP_GENERATION_IMPL_H
#define LLAMAD_DAEMON_HTTP_GENERATION_IMPL_H

#include "daemon/http/collect.h"
#include "daemon/http/generation.h"
#include "daemon/http/http_impl.h"
#include "service/push.h"

struct lmi_http_run;

struct lmi_http_choice {
	struct lmi_http_run *run;
	uint32_t index;
	struct lmi_svc_push push;
	struct lmi_http_collected collected;
	bool ended;
	uint64_t token_ns; /* when the latest token arrived; 0: none did */
	struct lmi_http_answer_end end;
};

struct lmi_http_run {
	struct lmi_http_exchange *x;
	struct lmi_http_generation gen;
	struct lmi_http_answer_head head;
	char id[LMI_HTTP_ID_CHARS + 1];
	int64_t *seeds;                  /* [n_choice] */
	struct lmi_http_choice *choices; /* [n_choice] */
	struct lmi_http_out out;
	uint32_t n_started, n_ended;
	bool began;              /* the stream */
	bool accepted;           /* by the service */
	bool finished;           /* the response is complete */
	bool fallback;           /* the default model was looked for */
	bool looks;              /* for the default model; nothing is started meanwhile */
	const char *traceparent; /* of the request; NULL: none, or nobody wants traces */
	uint64_t first_ns;
	uint32_t n_token;             /* that have arrived */
	struct event *ping;           /* NULL: no comments */
	struct lmi_http_times *times; /* of the model; NULL: before the first item */
};

/* ---- generation_answer.c ---- */

/* Ends the answer with an error of the service: as a response of its own, or as the last event of a stream
 * that has begun.  Does nothing if the answer is finished. */
void lmi_http_run_fail(struct lmi_http_run *r, enum lmd_status st, const char *text,
		       uint32_t retry_ms);
/* Begins the stream, unless it has begun. */
void lmi_http_run_begin_stream(struct lmi_http_run *r);
/* Sends what the form has written.  Returns false if more should wait. */
bool lmi_http_run_flush(struct lmi_http_run *r);
/* Starts the comments that keep a stream of events alive, if the request has any. */
void lmi_http_run_start_pings(struct lmi_http_run *r);
/* Returns the number of answers to each prompt. */
uint32_t lmi_http_run_per_prompt(const struct lmi_http_run *r);
/* Ends the answer, all of whose choices have ended. */
void lmi_http_run_finish(struct lmi_http_run *r);

/* ---- generation_counts.c ---- */

/* Counts n tokens that have arrived together. */
void lmi_http_run_count_tokens(struct lmi_http_choice *c, uint32_t n);
/* Counts the end of a choice, and passes it on for traces; all_ns: since the request arrived. */
void lmi_http_run_count_end(const struct lmi_http_choice *c, uint64_t all_ns);

#endif /* LLAMAD_DAEMON_HTTP_GENERATION_IMPL_H */
