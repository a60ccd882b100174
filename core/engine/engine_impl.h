/* SPDX-License-Identifier: MIT
 *
 * engine_impl.h - internals of an engine, shared by its files: engine.c (life cycle, queues),
 * engine_step.c (one turn), commands.c (start and end of sessions), results.c (results of a step),
 * emit.c (events). */
#ifndef LLAMAD_CORE_ENGINE_ENGINE_IMPL_H
#define LLAMAD_CORE_ENGINE_ENGINE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/sha256.h"
#include "core/engine/adapter_bind.h"
#include "core/engine/constrain_impl.h"
#include "core/engine/draft_model.h"
#include "core/engine/driver.h"
#include "core/engine/engine.h"
#include "core/engine/generate.h"
#include "core/engine/overlap.h"
#include "core/engine/ring.h"
#include "core/engine/sample.h"
#include "core/engine/step.h"
#include "core/engine/transfer.h"

/* Counters that other threads may read. */
struct lmi_engine_counters {
	_Atomic uint64_t n_step, n_row, n_preempted, n_shared_rows, n_generated, n_forced,
		n_on_device, n_short, n_overlapped, step_allocs, n_started, n_hit, n_page_evicted,
		n_bounded, n_over_bound, n_drafted, n_accepted, n_draft_step, n_draft_row, n_moved;
	_Atomic uint32_t n_waiting, n_active, n_plan, n_pinned;
	_Atomic uint32_t n_page[LMD_MAX_GROUP], n_free[LMD_MAX_GROUP],
		n_cached[LMD_MAX_GROUP], n_peak[LMD_MAX_GROUP];
};

/* Sequences wait for their masks at most this part of the last step's time, and at most this time,
 * before a step is submitted without them. */
#define LMI_ENGINE_MASK_WAIT_PART 8
#define LMI_ENGINE_MASK_WAIT_NS	  2000000u
/* Threads that find masks, unless the options say otherwise. */
#define LMI_ENGINE_N_MASK_THREAD 2

/* A submitted step. It uses the slot of the instance with the same number. */
struct lmi_engine_pending {
	uint32_t plan, n_row, n_out, n_part;
	const struct lmi_sched_part *planned; /* [n_part] */
	struct lmi_engine_rows *rows;	    /* [n_part]; used until the step is submitted */
	struct lmi_engine_seq **seq;	    /* [n_part] sequences; NULL: ended meanwhile */
	struct lmi_engine_job **session;    /* [n_part] their sessions; NULL likewise */
	struct lmi_engine_choice *choice;   /* [n_part] tokens of generations */
	uint32_t *kept;			    /* [n_part] rows that count */
	uint64_t only_id;   /* command that all rows belong to, or 0 */
	bool awaited;	    /* a generation needs its results for its next row */
	bool sampled;	    /* a generation gets a token from it */
	bool halves;        /* it has half of the sequences */
	uint64_t bound_ns;  /* how long it may take; 0: any time */
	uint64_t run_ns;    /* when it was this engine's turn on the devices */
	uint64_t submit_ns; /* when it was submitted */
	uint64_t host_ns;   /* time spent on planning and submitting it */
};

struct lmi_engine {
	struct lmi_inst *inst;
	const struct lmi_driver *driver;
	struct lmi_sched *sched;
	struct lmi_tokenizer *tok; /* NULL: evaluation only */
	struct lmi_chat *chat;	   /* NULL: evaluation only */
	struct lmi_sampler_vocab vocab;
	struct lmi_engine_vocab_index vocab_index; /* for grammars */
	struct lmi_engine_grammar_cache compiled;
	struct lmi_engine_mask_workers mask_workers;
	lmd_token *suppressed; /* [n_suppressed] never sampled unless a request says otherwise */
	uint32_t n_suppressed;
	struct lmi_sampler_scalars sampling; /* those that the model's file recommends */
	uint8_t vocab_digest[LMI_SHA256_BYTES];
	uint64_t vocab_bytes;
	uint64_t draft_number; /* of the candidate that is the draft model; 0: none of them. The
				* submitting thread's */
	uint32_t events_per_seq; /* maximum number that one sequence can cause in one step */
	uint32_t n_request;
	struct lmi_engine_command_queue commands;
	struct lmi_engine_event_ring events;

	/* accessed by any thread */
	_Atomic uint64_t
		defer_wakeups_until_ns; /* until then tokens and text do not wake the reader */
	_Atomic uint32_t n_live; /* sequences and other commands that were accepted and have not ended */
	_Atomic bool closed, stopping, quiet;
	uint64_t look_turn; /* pictures that the tower has computed */
	_Atomic uint64_t only_id;    /* command that all rows of the submitted steps belong to, or
				      * 0 */
	_Atomic int32_t cancel_word; /* polled by the backend */
	_Atomic uint32_t progress;   /* incremented by the backend and after each step */
	_Atomic bool drops_draft;    /* the draft model is closed when nothing uses it */
	_Atomic bool is_broken;	     /* `broken` is set and no longer changes */
	struct lmi_engine_counters count;

	/* accessed only by the engine's thread */
	struct lmi_engine_job *sessions;  /* list */
	struct lmi_engine_adapter_binding *bindings; /* oldest first; one at a time is bound */
	uint64_t passage_turn_bytes; /* of rows that are moved to other positions in a turn */
	struct lmi_engine_transfer *transfers; /* oldest first; one at a time is copied */
	struct lmi_engine_seq **seq_of;   /* [n_scheduled] by the scheduler's number */
	uint32_t n_scheduled; /* sequences that the scheduler holds at most: ended ones stay until
			       * the steps that they are part of are finished */
	struct lmi_engine_pending pending[LMI_ENGINE_MAX_STEP]; /* the oldest is pending[first] */
	uint32_t first, n_pending;
	enum lmi_engine_halves halves;
	bool chains; /* no generation of the last step that chooses tokens awaits its results */
	/* generations that could go on by themselves, and would guess if the host's work were free:
	 * of the results that are being reported, and of those before */
	uint32_t n_keen, n_keen_before;
	struct lmi_engine_overlap overlap;
	uint32_t shared_logits; /* logits of a step from which on several threads choose tokens */
	uint64_t finish_ns; /* when the last step was finished; 0: there was nothing to do since */
	uint64_t step_ns;   /* how long the device took for it */
	double move_ns;     /* how long moving the row of a guess takes; 0: none was moved */
	uint32_t n_draft; /* guessed tokens of all sequences */
	/* [n_scheduled] what the draft model is to guess before the next step is planned, and for whom */
	struct lmi_engine_draft_want *want;
	struct lmi_engine_seq **want_of;
	uint32_t n_want;
	uint64_t mask_turn;
	uint32_t n_fresh_mask; /* jobs of mask_workers that were submitted in this turn */
	bool pushed;			 /* events were queued in this turn */
	bool urgent;			 /* some of them are neither tokens nor text */
	bool evaluated;			 /* some of them are evaluation rows, which are allocated */
	struct lmd_error broken;	 /* status LMD_OK, or the reason why nothing runs any
					  * more */

	pthread_t thread;
	bool has_thread;
	bool in_line; /* it never gets one */
};

/* Takes commands, submits steps, and finishes the oldest one. */
enum lmi_engine_step_result lmi_engine_run_once(struct lmi_engine *e);
/* Returns the number of sequences that could be computed at the same time. */
uint32_t lmi_engine_n_computable(const struct lmi_engine *e);
/* Finishes all submitted steps and reports their results. */
void lmi_engine_finish_steps(struct lmi_engine *e);
/* Fails all commands, also later ones, because the device or the file was lost. */
void lmi_engine_break(struct lmi_engine *e, const struct lmd_error *why);
/* Waits until there may be a command. A worker that ends meanwhile breaks the engine. */
void lmi_engine_wait_idle(struct lmi_engine *e);
/* Returns true if no sequence, no transfer and no command is left. */
bool lmi_engine_is_quiet(struct lmi_engine *e);

/* ---- draft_pair.c ---- */

/* Computes the digest of all pieces of a vocabulary; LMD_CANCELLED. */
enum lmd_status lmi_engine_vocab_digest(const struct lmi_tokenizer *tok, uint8_t out[LMI_SHA256_BYTES],
					struct lmd_error *err);
/* Opens the best of the candidates as draft model, if one fits; failing is no error. */
void lmi_engine_pair_draft(struct lmi_engine *e, const struct lmi_engine_model_opts *opts);

/* The following functions run on the engine's thread. */

/* Closes the draft model that is to be dropped, if nothing uses it. Returns true if it has. */
bool lmi_engine_drop_step(struct lmi_engine *e);

/* ---- suppressed.c ---- */

/* Reads the list when the model is opened. */
enum lmd_status lmi_engine_read_suppressed(struct lmi_engine *e, struct lmd_error *err);

/* ---- emit.c ---- */

/* Queues an event of a session; there must be room. The caller fills it in before the next call. */
struct lmi_engine_event *lmi_engine_event_emit(struct lmi_engine *e, const struct lmi_engine_job *s,
					       enum lmi_engine_event_kind kind);
/* The same for a command that has no session. */
struct lmi_engine_event *lmi_engine_event_emit_id(struct lmi_engine *e, uint64_t id,
						  enum lmi_engine_event_kind kind);
/* Returns how many free events are needed before one more step is submitted: what the steps may
 * write, plus a final event for each live sequence. */
uint32_t lmi_engine_event_emit_room(const struct lmi_engine *e);
/* Publishes the last event and wakes the reader, unless it has deferred wakeups. */
void lmi_engine_event_emit_flush(struct lmi_engine *e);

/* ---- commands.c ---- */

/* Starts and cancels sessions as commanded; ends everything if the engine is stopping. */
void lmi_engine_commands_take(struct lmi_engine *e);
/* Lets the tower compute the rows of the next picture that a command waits for. Returns false if there is
 * none. */
bool lmi_engine_look(struct lmi_engine *e);
/* Finds the first row with the adapter of a sequence: 0, or where the last invocation in its prompt
 * begins (aLoRA, arXiv 2504.12397). Without one the adapter is not used. */
enum lmd_status lmi_engine_activate(const struct lmi_engine *e, struct lmi_engine_seq *q,
				    struct lmd_error *err);
/* Returns among whose rows in the prefix cache those of a sequence are. */
struct lmi_kv_identity lmi_engine_identity(const struct lmi_engine *e, const struct lmi_engine_seq *q);
/* Call after the final event: frees a session. */
void lmi_engine_end(struct lmi_engine *e, struct lmi_engine_job *s);
/* Ends a session with this error as its final event. */
void lmi_engine_fail(struct lmi_engine *e, struct lmi_engine_job *s, const struct lmd_error *err);
/* Forgets how many tokens were guessed for a sequence. */
void lmi_engine_forget_drafts(struct lmi_engine *e, struct lmi_engine_seq *q);
/* Stops computing a sequence and frees its pages. */
void lmi_engine_remove_seq(struct lmi_engine *e, struct lmi_engine_seq *q);
/* Fills in the counts and times of a generation's final event. */
void lmi_engine_report(struct lmi_engine *e, const struct lmi_engine_job *s,
		       struct lmi_engine_event *ev);

/* ---- passage.c ---- */

/* Finds the first passage of a sequence's prompt whose rows can be moved, if its session asks for that: *stop is
 * where the scheduler stops it then, and its n_own. LMD_UNSUPPORTED: rows of this model cannot be moved. */
enum lmd_status lmi_engine_passages_find(const struct lmi_engine *e, const struct lmi_engine_seq *q,
					 struct lmi_sched_seq *o, uint32_t *stop,
					 struct lmd_error *err);
/* Moves a few MiB of rows for a sequence that has stopped; returns whether there was one. */
bool lmi_engine_passages_step(struct lmi_engine *e);
/* Is a sequence at its stop? */
bool lmi_engine_passages_wait(const struct lmi_engine *e);

/* ---- results.c ---- */

/* Chooses the tokens of all generations that are part of the oldest step, which is finished and not
 * committed, several at a time if that is worthwhile. rows: its results; tokens: those that the device
 * chose, one for each output row. Sets how many rows of each part count: guessed tokens that were wrong
 * do not. */
void lmi_engine_results_choose(struct lmi_engine *e, struct lmi_engine_pending *p,
			       const struct lmi_engine_exec *x, const float *rows,
			       const int32_t *tokens);
/* Gives the hidden rows of a finished step to the drafters that need them; its results are no longer
 * used. */
void lmi_engine_results_feed(struct lmi_engine *e, const struct lmi_engine_pending *p,
			     const float *hidden);
/* Lets the draft model or the draft layers guess the next tokens of the sequences that want that. */
void lmi_engine_results_draft(struct lmi_engine *e);
/* Takes what the mask workers have found. Waits a little for jobs that are new, so that their
 * sequences need not miss a step. */
void lmi_engine_results_collect(struct lmi_engine *e);
/* Reports the rows of one part of a finished step. rows: its first output row; all: the results of
 * the step. */
void lmi_engine_results_report(struct lmi_engine *e, const struct lmi_engine_pending *p,
			       const struct lmi_engine_exec *x, uint32_t part, const float *rows,
			       const float *all);

#endif /* LLAMAD_CORE_ENGINE_ENGINE_IMPL_H */
