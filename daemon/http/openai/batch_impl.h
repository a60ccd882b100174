/* SPDX-License-Identifier: MIT
 *
 * batch_impl.h - internals of batches, shared by the files batch_*.c. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_BATCH_IMPL_H
#define LLAMAD_DAEMON_HTTP_OPENAI_BATCH_IMPL_H

#include <event2/event.h>

#include "daemon/http/embedding.h"
#include "daemon/http/openai/batch_progress.h"
#include "daemon/http/openai/batch_run.h"
#include "daemon/http/openai/batch_wait.h"
#include "daemon/http/openai/files.h"

/* Of the ids of the objects that say how a batch runs. */
#define LMI_OPENAI_BATCH_RUN_PREFIX "batchrun_"

/* A request that runs. */
struct lmi_openai_batch_line {
	struct lmi_openai_batch_line *next;
	struct lmi_openai_batch *b;
	uint32_t number, n_refused;
	size_t at; /* in the input */
	json_t *v; /* NULL: it is not a JSON object */
	char id[LMI_OPENAI_BATCH_LINE_ID];
	struct lmi_http_embedding embedding;
	struct lmd_arena *arena; /* of the embedding */
};

/* One of the two files of results. */
struct lmi_openai_batch_file {
	char id[LMI_OPENAI_ID_BYTES];
	uint64_t bytes; /* appended so far */
};

/* Counts of lines, and the bytes of results that belong to them. */
struct lmi_openai_batch_counts {
	uint32_t n_completed, n_failed;
	uint64_t output_bytes, error_bytes;
};

enum lmi_openai_batch_phase {
	LMI_OPENAI_BATCH_STARTING, /* waits until its start is on the disk */
	LMI_OPENAI_BATCH_RUNNING,
	LMI_OPENAI_BATCH_ENDING, /* waits until its end is on the disk */
};

struct lmi_openai_batch {
	struct lmi_http_lasting lasting;
	struct lmi_openai_batch_opts o;
	struct lmi_svc_principal principal;
	struct event *again;
	enum lmi_openai_batch_phase phase;
	size_t at; /* of the next line */
	struct lmi_openai_batch_line *lines;
	uint32_t n_line, number; /* n_line: those that run; number: of the next line */
	struct lmi_openai_batch_wait wait;
	struct lmi_openai_batch_progress progress;
	struct lmi_openai_batch_file output, errors;
	/* shown: on the disk, and what clients see; seen: shown next, when it is on the disk */
	struct lmi_openai_batch_counts shown, seen;
	uint32_t n_start;    /* starts without an end of the daemon in order, and without a result since */
	uint32_t n_at_start; /* lines that were done at the last start */
	uint64_t store_again_ms; /* when the end is stored again; 0: it is not */
	bool stopped, revoked;
	bool expired; /* the completion window has ended: lines that have not begun have no answer */
	bool failed;	      /* `cause` says why */
	struct lmd_error cause;
};

/* Returns the id of the batch without its prefix. */
const char *lmi_openai_batch_chars(const struct lmi_openai_batch *b);
/* Sets a member of the batch; takes the value. */
void lmi_openai_batch_set(struct lmi_openai_batch *b, const char *key, json_t *own_value);
/* The batch cannot go on: it ends as failed when the requests that run have ended. */
void lmi_openai_batch_fail(struct lmi_openai_batch *b, const struct lmd_error *cause);

/* ---- batch_line.c ---- */

/* Checks a line of the input and runs its request; it ends with one of the functions below, now or
 * later. */
void lmi_openai_batch_line_run(struct lmi_openai_batch_line *l);

/* ---- batch_run.c ---- */

/* A result was added, or the batch has failed: frees the line and goes on. */
void lmi_openai_batch_line_done(struct lmi_openai_batch_line *l);
/* A request was refused because the server is busy, and may be repeated after retry_ms (0: unknown).
 * Returns false if it is not repeated; otherwise the line is freed. */
bool lmi_openai_batch_line_refused(struct lmi_openai_batch_line *l, uint32_t retry_ms);

/* ---- batch_store.c ---- */

/* Sets the names of the files of results of a new batch, or reads how a batch ran before and what is done.
 * Returns LMD_CORRUPT if that cannot be read.  If the daemon ended each time it ran, the batch fails. */
enum lmd_status lmi_openai_batch_begin(struct lmi_openai_batch *b, struct lmd_error *err);
/* Stores how the batch runs; ended: the daemon ends in order. */
enum lmd_status lmi_openai_batch_store_run(struct lmi_openai_batch *b, bool ended,
					   struct lmd_error *err);
/* Stores the batch. */
enum lmd_status lmi_openai_batch_store(struct lmi_openai_batch *b, struct lmd_error *err);
/* Adds a result; on failure the batch fails. */
void lmi_openai_batch_add(struct lmi_openai_batch_line *l, int code, const char *body, size_t n);
/* Adds the result of a line that did not run within the completion window; on failure the batch fails. */
void lmi_openai_batch_add_expired(struct lmi_openai_batch *b, uint32_t number, struct lmd_str line);
/* Returns whether results wait for the disk. */
bool lmi_openai_batch_results_wait(struct lmi_openai_batch *b);
/* Brings the counts that clients see up to date. */
void lmi_openai_batch_refresh(struct lmi_openai_batch *b);
/* Stores the files of results, and the batch with its last status.  What was written can be asked for with
 * the function that follows. */
enum lmd_status lmi_openai_batch_store_end(struct lmi_openai_batch *b, struct lmd_error *err);
/* Returns LMD_BUSY while something of the batch waits for the disk, and LMD_IO if something could not be
 * written. */
enum lmd_status lmi_openai_batch_check(struct lmi_openai_batch *b, struct lmd_error *err);
/* Removes what is only needed while the batch runs. */
void lmi_openai_batch_remove_run(struct lmi_openai_batch *b);
/* Says whether the objects of the batch are in use. */
void lmi_openai_batch_use(struct lmi_openai_batch *b, bool used);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_BATCH_IMPL_H */
