/* SPDX-License-Identifier: MIT
 *
 * engine.h - runs one model: commands in, events out.
 *
 * An engine owns an instance of a model, its scheduler and its sequences. Any thread may submit
 * commands to a bounded queue (LMD_BUSY if it is full); events come out of another queue, which a
 * single thread reads. If events are not read, the engine stops before a step whose events might
 * not fit; nothing is dropped.
 *
 * An engine normally has its own thread. Without one (opts.in_line) the caller runs it step by step
 * with lmi_engine_turn.
 *
 * There is no global state; a process may have any number of engines. Between receiving a step and
 * queueing its events the engine's thread allocates nothing. */
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
	uint32_t n_request; /* maximum sequences, including waiting ones; 0 = 256 */
	uint32_t n_event;   /* maximum unread events; 0 = 1024 */
	bool in_line;	    /* no thread: the caller calls lmi_engine_turn */
	bool no_tokenizer;  /* evaluation only: do not open the vocabulary */
};

/* Opens the model and starts the thread. Slow: reads the file's tables and weights. */
enum lmd_status lmi_engine_open(struct lmi_engine **out, const struct lmi_engine_opts *opts,
				struct lmd_error *err);
/* Returns the instance, read-only; valid as long as the engine. */
const struct lmi_inst *lmi_engine_inst(const struct lmi_engine *e);
/* NULL if opened without a tokenizer. */
const struct lmi_tokenizer *lmi_engine_tokenizer(const struct lmi_engine *e);
/* Chat templates of the model; NULL if opened without a tokenizer. */
const struct lmi_chat *lmi_engine_chat(const struct lmi_engine *e);

/* Returns true if opening the model now would use other code, because the plugin of its
 * architecture, backend or tokenizer was replaced. Removed plugins do not count. Accesses files;
 * any thread. */
bool lmi_engine_is_stale(const struct lmi_engine *e);

/* Submit a command. Any thread. A command that cannot run fails here, with the numbers in the
 * message: LMD_INVALID, LMD_UNSUPPORTED, LMD_NOTFOUND; LMD_BUSY: too many at a time. Later errors
 * are reported as events. */
enum lmd_status lmi_engine_eval(struct lmi_engine *e, const struct lmi_eval *cmd,
				struct lmd_error *err);
enum lmd_status lmi_engine_generate(struct lmi_engine *e, const struct lmi_generate *cmd,
				    struct lmd_error *err);
/* Ends a command after the running step, which is cut short if all its rows belong to that command.
 * Unknown ids are ignored, since the command may have ended meanwhile. LMD_BUSY: the queue is full
 * and nothing was cancelled. Any thread. */
enum lmd_status lmi_engine_cancel(struct lmi_engine *e, uint64_t id);

/* Returns a number that changes while the engine computes: after each step and, if the backend
 * supports it, several times within one. Any thread. */
uint32_t lmi_engine_progress(const struct lmi_engine *e);
/* Returns true if the device or the model's file was lost in a step. All commands have failed then,
 * and so will new ones; *why has the reason. A new engine must be opened. Any thread. */
bool lmi_engine_is_broken(const struct lmi_engine *e, struct lmd_error *why);

/* Returns the next event, or false if there is none. One thread. */
bool lmi_engine_poll(struct lmi_engine *e, struct lmi_event *out);
/* Waits for an event. Returns false after timeout_ms (-1 = no limit), if the engine has stopped and
 * everything was read, and whenever the wait was interrupted, for example by a signal or a write to
 * lmi_engine_fd (an eventfd). Not for in-line engines. */
bool lmi_engine_wait(struct lmi_engine *e, struct lmi_event *out, int timeout_ms);
/* Readable while events may be waiting; for loops that watch many descriptors. */
int lmi_engine_fd(const struct lmi_engine *e);
/* Clears the descriptor; call it before each round of lmi_engine_poll. */
void lmi_engine_clear_fd(struct lmi_engine *e);
/* Defers wakeups: tokens and text that arrive before until_ns of the host's clock need not make the
 * descriptor readable, because the reader will poll by then. Other events still do, and so does a
 * queue that fills up. 0 (the default): every event wakes the reader. Reader's thread only. Set 0
 * before a round of lmi_engine_poll, and a time only after a round that ended with false, so that
 * no event is waiting unnoticed. */
void lmi_engine_doze(struct lmi_engine *e, uint64_t until_ns);
/* Frees the data that an event owns. */
void lmi_event_release(struct lmi_event *ev);

enum lmi_turn {
	LMI_TURN_IDLE = 0, /* nothing to do */
	LMI_TURN_RAN = 1,  /* a step ran */
	LMI_TURN_FULL = 2  /* events must be read first */
};
/* In-line engines: takes commands and runs at most one step. */
enum lmi_turn lmi_engine_turn(struct lmi_engine *e);

/* Stops accepting commands. Idempotent; any thread. */
void lmi_engine_close(struct lmi_engine *e);
/* Cancels the remaining commands and waits until the engine is idle; final events can still be
 * read. */
void lmi_engine_stop(struct lmi_engine *e);
/* Stops if needed and frees everything; unread events are lost. e may be NULL. */
void lmi_engine_fini(struct lmi_engine *e);

struct lmi_engine_stats {
	uint64_t n_step, n_row, n_preempted, n_shared_rows, n_generated;
	uint64_t n_forced; /* how many of n_generated had no step of their own; see constrain.h */
	uint32_t n_waiting, n_active;
	uint32_t n_page[LMD_MAX_GROUP], n_free[LMD_MAX_GROUP];
	uint64_t step_allocs; /* allocations of the engine's thread from choosing a step to queueing
			       * its events, without steps that contain evaluations, whose rows are
			       * allocated */
	struct lmi_compiled_stats grammars;
};
/* As of the last completed turn; any thread. */
void lmi_engine_stats(struct lmi_engine *e, struct lmi_engine_stats *out);

#endif /* LLAMAD_CORE_ENGINE_ENGINE_H */
