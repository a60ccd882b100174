/* SPDX-License-Identifier: MIT
 *
 * engine.h - one model at work: commands in, events out.
 *
 * An engine owns an instance of a model, its scheduler and its sequences.  Commands go in from
 * any thread through a bounded queue (full: LMD_BUSY); events come out through another, which
 * one thread reads.  When nobody reads, the engine stops before a step whose events might not
 * fit; nothing is dropped.
 *
 * With a thread of its own the engine runs by itself.  Without one (opts.in_line) the caller
 * makes it run, step by step, with lmi_engine_turn.
 *
 * There is no global state; any number of engines may live in a process.  Between receiving a
 * step and queueing its events the engine's thread allocates nothing. */
#ifndef LLAMAD_CORE_ENGINE_ENGINE_H
#define LLAMAD_CORE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/command.h"
#include "core/engine/compiled.h"
#include "core/engine/instance.h"

struct lmi_engine;
struct lmi_tokenizer;
struct lmi_chat;

struct lmi_engine_opts {
	struct lmi_inst_opts inst;
	uint32_t n_request; /* sequences at a time, waiting ones included; 0 = 256 */
	uint32_t n_event;   /* events that may wait to be read; 0 = 1024 */
	bool in_line;	    /* no thread: see lmi_engine_turn */
	bool no_tokenizer;  /* evaluation only: the vocabulary is not opened */
};

/* Opens the model and starts the thread.  Slow: reads the file's tables and weights. */
enum lmd_status lmi_engine_open(struct lmi_engine **out, const struct lmi_engine_opts *opts,
				struct lmd_error *err);
/* What was opened; read-only, lives as long as the engine. */
const struct lmi_inst *lmi_engine_inst(const struct lmi_engine *e);
/* NULL when it was opened without. */
const struct lmi_tokenizer *lmi_engine_tokenizer(const struct lmi_engine *e);
/* Its conversations; likewise. */
const struct lmi_chat *lmi_engine_chat(const struct lmi_engine *e);

/* Would the model be opened with other code now?  True when the plugin of its architecture,
 * backend or tokenizer was replaced; what was removed does not count.  Looks at files; any
 * thread. */
bool lmi_engine_is_stale(const struct lmi_engine *e);

/* Any thread.  What cannot be run is refused here, with the numbers: LMD_INVALID,
 * LMD_UNSUPPORTED, LMD_NOTFOUND; LMD_BUSY: too many at a time.  What is found out later comes
 * as an event. */
enum lmd_status lmi_engine_eval(struct lmi_engine *e, const struct lmi_eval *cmd,
				struct lmd_error *err);
enum lmd_status lmi_engine_generate(struct lmi_engine *e, const struct lmi_generate *cmd,
				    struct lmd_error *err);
/* Ends a command after the step that runs now, which is cut short if all its rows are of
 * that command.  Unknown ids are ignored: the command may have ended meanwhile.  LMD_BUSY: the
 * queue is full, nothing was cancelled.  Any thread. */
enum lmd_status lmi_engine_cancel(struct lmi_engine *e, uint64_t id);

/* A number that changes while the engine computes: after each step and, if the backend tells,
 * several times within one.  Any thread. */
uint32_t lmi_engine_progress(const struct lmi_engine *e);
/* True when the device or the model's file was lost in a step: all commands have failed, new ones
 * will, and *why says the reason.  Only a new engine can go on.  Any thread. */
bool lmi_engine_is_broken(const struct lmi_engine *e, struct lmd_error *why);

/* The next event; false when there is none.  One thread. */
bool lmi_engine_poll(struct lmi_engine *e, struct lmi_event *out);
/* Waits for it; false after timeout_ms (-1 = for ever), when the engine has stopped and all was
 * read, and whenever the wait ended for another reason, such as a signal or a write to
 * lmi_engine_fd (an eventfd).  Not for engines in line. */
bool lmi_engine_wait(struct lmi_engine *e, struct lmi_event *out, int timeout_ms);
/* Readable while events may be there; for loops that watch many things. */
int lmi_engine_fd(const struct lmi_engine *e);
/* Empties it; whoever watches it does so before each round of lmi_engine_poll. */
void lmi_engine_clear_fd(struct lmi_engine *e);
/* Tokens and text that come before until_ns of the host's clock need not make it readable: the
 * reader polls by then on its own.  Other events still do, and so does a queue that fills.  0:
 * everything does, as in the beginning.  The reader's thread: 0 before a round of
 * lmi_engine_poll, a time only after one that ended with false, so that nothing lies there that it
 * does not know of. */
void lmi_engine_doze(struct lmi_engine *e, uint64_t until_ns);
/* Frees what an event carries. */
void lmi_event_release(struct lmi_event *ev);

enum lmi_turn {
	LMI_TURN_IDLE = 0, /* nothing to do */
	LMI_TURN_RAN = 1,  /* a step ran */
	LMI_TURN_FULL = 2  /* events must be read first */
};
/* In line: takes commands and runs at most one step. */
enum lmi_turn lmi_engine_turn(struct lmi_engine *e);

/* No more commands; idempotent; any thread. */
void lmi_engine_close(struct lmi_engine *e);
/* Cancels what is left, waits until the engine is quiet; final events can still be read. */
void lmi_engine_stop(struct lmi_engine *e);
/* Stops if needed and frees everything; events not read are lost.  NULL allowed. */
void lmi_engine_fini(struct lmi_engine *e);

struct lmi_engine_stats {
	uint64_t n_step, n_row, n_preempted, n_shared_rows, n_generated;
	uint64_t n_forced; /* of n_generated: without a step of their own, see constrain.h */
	uint32_t n_waiting, n_active;
	uint32_t n_page[LMD_MAX_GROUP], n_free[LMD_MAX_GROUP];
	uint64_t step_allocs; /* allocations of the engine's thread from choosing a step to queueing
			       * its events; steps with evaluations, whose rows are
			       * allocated, are left out */
	struct lmi_compiled_stats grammars;
};
/* As of the last turn; any thread. */
void lmi_engine_stats(struct lmi_engine *e, struct lmi_engine_stats *out);

#endif /* LLAMAD_CORE_ENGINE_ENGINE_H */
