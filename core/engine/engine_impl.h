/* SPDX-License-Identifier: MIT
 *
 * engine_impl.h - the inside of an engine, shared by its files: engine.c (life, queues), turn.c
 * (one turn), orders.c (sessions come and go), results.c (what a step gave), emit.c (events). */
#ifndef LLAMAD_CORE_ENGINE_ENGINE_IMPL_H
#define LLAMAD_CORE_ENGINE_ENGINE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/engine/constrain.h"
#include "core/engine/driver.h"
#include "core/engine/engine.h"
#include "core/engine/generate.h"
#include "core/engine/ring.h"
#include "core/engine/step.h"

/* Counters that other threads may read. */
struct lmi_counters {
	_Atomic uint64_t n_step, n_row, n_preempted, n_shared_rows, n_generated, n_forced,
		step_allocs;
	_Atomic uint32_t n_waiting, n_active;
	_Atomic uint32_t n_page[LMD_MAX_GROUP], n_free[LMD_MAX_GROUP];
};

struct lmi_engine {
	struct lmi_inst *inst;
	const struct lmi_driver *driver;
	struct lmi_sched *sched;
	struct lmi_tokenizer *tok; /* NULL: evaluation only */
	struct lmi_chat *chat;	   /* likewise */
	struct lmi_gen_vocab vocab;
	struct lmi_vocab_index vocab_index; /* of grammars */
	struct lmi_compiled_cache compiled;
	uint32_t events_per_seq; /* that one sequence can cause in one step, at most */
	uint32_t n_request;
	struct lmi_order_ring orders;
	struct lmi_event_ring events;

	/* any thread */
	_Atomic uint64_t doze_ns; /* until then the reader is not woken for tokens and text */
	_Atomic uint32_t n_live; /* sequences that were accepted and have not ended */
	_Atomic bool closed, stopping, quiet;
	_Atomic uint64_t only_id;    /* all rows of the running step are of this command; 0 */
	_Atomic int32_t cancel_word; /* polled by the backend */
	_Atomic uint32_t progress;   /* counted by the backend and after each step */
	_Atomic bool is_broken;	     /* `broken` is set and does not change any more */
	struct lmi_counters count;

	/* the engine's thread */
	struct lmi_session *sessions;	 /* list */
	struct lmi_session *kept;	 /* has ended, its rows are still there; or NULL */
	uint32_t heir;			 /* scheduler's number of who begins with them */
	struct lmi_seq **seq_of;	 /* [n_request] by the scheduler's number */
	struct lmi_rows *parts;		 /* [inst->n_seq] of the step */
	struct lmi_seq **part_seq;	 /* [inst->n_seq] of its parts; NULL: gone meanwhile */
	struct lmi_session **session_of; /* [inst->n_seq] of its parts */
	bool pushed;			 /* events were queued in this turn */
	bool urgent;			 /* some of them are no tokens or text */
	bool evaluated;			 /* ... rows among them, which are allocated */
	struct lmd_error broken;	 /* status LMD_OK, or why nothing runs any more */

	pthread_t thread;
	bool has_thread;
};

enum lmi_turn lmi_turn(struct lmi_engine *e);
/* No sequence and no command is left. */
bool lmi_engine_is_quiet(struct lmi_engine *e);

/* What follows: the engine's thread. */

/* ---- emit.c ---- */

/* Queues an event of a session; there is room.  The caller fills it before the next call. */
struct lmi_event *lmi_emit(struct lmi_engine *e, const struct lmi_session *s,
			   enum lmi_event_kind kind);
/* Events that must have room before a step: what it may write, beside a final event for each
 * sequence that lives. */
uint32_t lmi_emit_room(const struct lmi_engine *e);
/* Makes the last event readable and tells the reader, unless it wants to be left alone. */
void lmi_emit_flush(struct lmi_engine *e);

/* ---- orders.c ---- */

/* Starts and cancels what was asked for; ends everything when the engine is being stopped. */
void lmi_orders_take(struct lmi_engine *e);
/* After its final event: frees a session, or keeps its sequence for the next one. */
void lmi_engine_end(struct lmi_engine *e, struct lmi_session *s);
/* Its final event is this error. */
void lmi_engine_fail(struct lmi_engine *e, struct lmi_session *s, const struct lmd_error *err);
/* A sequence is not computed any more; its pages are free. */
void lmi_engine_leave(struct lmi_engine *e, struct lmi_seq *q);
/* Frees the sequence that was kept, if there is one. */
void lmi_kept_drop(struct lmi_engine *e);

/* ---- results.c ---- */

/* Hands out the rows of a part of the step that ran; false when its session is gone. */
bool lmi_results_hand(struct lmi_engine *e, const struct lmi_exec *x, uint32_t part,
		      const float *rows);

#endif /* LLAMAD_CORE_ENGINE_ENGINE_IMPL_H */
