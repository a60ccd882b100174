/* SPDX-License-Identifier: MIT
 *
 * The life cycle of an engine: open, thread, queues, close, stop, fini.
 *
 * Sessions are created here, on the submitting thread, and belong to the engine's thread from the
 * moment they are queued. Slots are counted before (n_live), so that the engine's thread never
 * finds the scheduler full. The event queue has room for the final event of every sequence besides
 * what a step may write, so that an end can always be reported. */
#include "core/engine/engine.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/thread.h"
#include "core/engine/answer_history.h"
#include "core/engine/draft_model.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/draft_tree.h"
#include "core/engine/engine_impl.h"
#include "core/engine/lookup_file.h"
#include "core/engine/saved.h"
#include "core/engine/tower.h"
#include "core/text/chat/chat.h"

#define N_REQUEST     256u
#define N_REQUEST_MAX 65536u
#define N_EVENT	      1024u
#define N_EVENT_MAX   (1u << 20)
/* Reading fewer takes less time than waking a thread. */
#define SHARED_LOGITS (256u << 10)

static void *main_loop(void *arg)
{
	struct lmi_engine *e = arg;

	lmi_thread_begin("engine", LMI_THREAD_PROMPT);
	for (;;) {
		enum lmi_engine_step_result t = lmi_engine_run_once(e);

		/* shut the queue last: a command that arrived meanwhile still gets its final
		 * event */
		if (atomic_load(&e->stopping) && lmi_engine_is_quiet(e) &&
		    lmi_engine_command_queue_shut(&e->commands))
			break;
		if (t == LMI_ENGINE_STEP_RAN)
			continue;
		if (t == LMI_ENGINE_STEP_EVENTS_FULL) {
			/* the reader wakes us when it sees this flag; it may have read meanwhile */
			atomic_store(&e->events.blocked, true);
			if (lmi_engine_event_ring_room(&e->events) == e->events.size)
				continue;
		}
		lmi_engine_wait_idle(e);
	}
	atomic_store(&e->quiet, true);
	lmi_engine_event_ring_wake(&e->events);
	return NULL;
}

static enum lmd_status start_thread(struct lmi_engine *e, struct lmd_error *err)
{
	int rc = pthread_create(&e->thread, NULL, main_loop, e);

	if (rc)
		return lmd_fail(err, LMD_NOMEM, "engine thread: %s", strerror(rc));
	e->has_thread = true;
	return LMD_OK;
}

static enum lmd_status check_opts(const struct lmi_engine_opts *o, struct lmd_error *err)
{
	if (o->n_request > N_REQUEST_MAX)
		return lmd_fail(err, LMD_INVALID, "%u requests exceed the limit of %u",
				o->n_request, N_REQUEST_MAX);
	if (o->n_event > N_EVENT_MAX)
		return lmd_fail(err, LMD_INVALID, "%u events exceed the limit of %u", o->n_event,
				N_EVENT_MAX);
	return LMD_OK;
}

static enum lmd_status open_tokenizer(struct lmi_engine *e, struct lmd_error *err)
{
	const struct lmi_inst *inst = e->inst;
	int64_t before = lmi_alloc_thread_bytes(), bytes;
	enum lmd_status st =
		lmi_tokenizer_open(&e->tok, inst->registry, inst->host, inst->model->tok, err);

	if (st == LMD_OK)
		st = lmi_sampler_vocab_init(&e->vocab, e->tok, err);
	bytes = lmi_alloc_thread_bytes() - before;
	e->vocab_bytes = bytes > 0 ? (uint64_t)bytes : 0;
	if (st == LMD_OK)
		st = lmi_chat_create(&e->chat, inst->model, e->tok, err);
	if (st == LMD_OK)
		e->events_per_seq +=
			(uint32_t)(lmi_engine_gen_text_max(e->tok) / LMI_ENGINE_EVENT_TEXT);
	return st;
}

static enum lmd_status open_queues(struct lmi_engine *e, const struct lmi_engine_opts *o,
				   struct lmd_error *err)
{
	enum lmd_status st =
		lmi_engine_command_queue_init(&e->commands, 4 * e->n_request + 64, err);
	/* waiting events, what the steps may write, and the end of every sequence */
	uint64_t step = (uint64_t)e->events_per_seq * e->inst->n_seq * e->inst->n_slot;
	uint64_t wait = o->n_event ? o->n_event : N_EVENT;
	uint64_t n = (wait > step ? wait : step) + e->n_request + 1u;

	if (n > N_EVENT_MAX)
		return lmd_fail(err, LMD_INVALID,
				"%u sequences at a time may cause %llu events, which exceeds the "
				"limit of %u",
				e->inst->n_seq, (unsigned long long)n, N_EVENT_MAX);
	return st == LMD_OK ? lmi_engine_event_ring_init(&e->events, (uint32_t)n, err) : st;
}

static enum lmd_status open_pending(struct lmi_engine_pending *p, uint32_t n_seq,
				    struct lmd_error *err)
{
	p->rows = lmi_alloc(n_seq, sizeof(*p->rows));
	p->seq = lmi_alloc(n_seq, sizeof(*p->seq));
	p->session = lmi_alloc(n_seq, sizeof(*p->session));
	p->choice = lmi_alloc(n_seq, sizeof(*p->choice));
	p->kept = lmi_alloc(n_seq, sizeof(*p->kept));
	return p->rows && p->seq && p->session && p->choice && p->kept
		       ? LMD_OK
		       : lmd_fail(err, LMD_NOMEM, "no memory for steps of %u sequences", n_seq);
}

static void close_pending(struct lmi_engine_pending *p)
{
	lmi_free(p->rows);
	lmi_free(p->seq);
	lmi_free(p->session);
	lmi_free(p->choice);
	lmi_free(p->kept);
}

static void wake_engine(void *arg)
{
	struct lmi_engine *e = arg;

	lmi_engine_command_queue_wake(&e->commands);
}

bool lmi_engine_draft_is_own(const struct lmi_engine_model_opts *o)
{
	return o->draft_path && !strcmp(o->draft_path, LMI_ENGINE_DRAFT_OWN);
}

/* Opens the draft model or the draft layers. Draft layers that were not asked for by name may fail. */
static enum lmd_status open_draft(struct lmi_engine *e, const struct lmi_engine_model_opts *o,
				  struct lmd_error *err)
{
	const uint32_t n_vocab = lmi_tokenizer_info(e->tok)->n_tokens;
	const struct lmd_host *host = e->inst->host;
	struct lmd_error why = {0};

	lmi_inst_drop_claims(e->inst, LMI_INST_DRAFT);
	if (lmi_engine_draft_is_own(o))
		return lmi_engine_nextn_open(&e->inst->nextn, e->inst, n_vocab, err);
	if (o->draft_path && e->inst->reads_hidden)
		return lmi_engine_nextn_open_file(&e->inst->nextn, e->inst, o, n_vocab, err);
	if (o->draft_path)
		return lmi_engine_draft_model_open(&e->inst->draft, e->inst, o, e->tok, err);
	if (!e->inst->desc.n_draft ||
	    lmi_engine_nextn_open(&e->inst->nextn, e->inst, n_vocab, &why) == LMD_OK)
		return LMD_OK;
	host->log(host->ctx, "engine", LMD_LOG_INFO, "%s does not use its draft layers: %s",
		  e->inst->model->name, why.text);
	return lmi_engine_hidden_drop(e->inst, err);
}

static enum lmd_status open_lookahead(struct lmi_engine *e, struct lmd_error *err)
{
	struct lmd_plan_key key = lmi_inst_main_key(e->inst);
	uint32_t main;
	enum lmd_status st = lmi_inst_exec(e->inst, &key, &main, err);

	if (st == LMD_OK && !lmi_engine_tree_serves(e->inst, main)) {
		st = lmi_engine_tree_check(e->inst, e->inst->execs[main]->view, err);
		if (st == LMD_OK)
			st = lmd_fail(err, LMD_UNSUPPORTED,
				      "the plan that masks rows cannot be used, see the log");
	}
	if (st != LMD_OK)
		lmd_error_prefix(err, "lookahead decoding");
	e->inst->lookahead = st == LMD_OK;
	return st;
}

static enum lmd_status open_tower(struct lmi_engine *e, const struct lmi_engine_model_opts *o,
				  struct lmd_error *err)
{
	const struct lmd_host *host = e->inst->host;
	struct lmd_error why = {0};
	enum lmd_status st;

	lmi_inst_drop_claims(e->inst, LMI_INST_TOWER);
	st = lmi_engine_tower_open(&e->inst->tower, e->inst, o, &why);

	if (st == LMD_OK)
		return lmi_inst_reserve_external_rows(e->inst, err);
	if (!o->mmproj_optional || st == LMD_CANCELLED || st == LMD_DEVICE)
		return lmd_fail(err, st, "%s", why.text);
	host->log(host->ctx, "engine", LMD_LOG_INFO, "%s reads no pictures: %s", e->inst->model->name,
		  why.text);
	return LMD_OK;
}

static enum lmd_status open_all(struct lmi_engine *e, const struct lmi_engine_opts *o,
				struct lmd_error *err)
{
	struct lmi_sched_opts so;
	enum lmd_status st = lmi_inst_open(&e->inst, &o->inst, err);

	if (st != LMD_OK)
		return st;
	e->driver = lmi_driver_of(e->inst->desc.driver);
	if (!e->driver)
		return lmd_fail(err, LMD_INTERNAL, "architecture %s: driver %u is unknown",
				e->inst->model->arch, e->inst->desc.driver);
	e->n_request = o->n_request ? o->n_request : N_REQUEST;
	if (e->n_request < e->inst->n_seq)
		e->n_request = e->inst->n_seq;
	e->n_scheduled = e->n_request + (e->inst->n_slot > 1 ? e->inst->n_seq : 0);
	e->halves = o->halves;
	e->in_line = o->in_line;
	lmi_engine_mask_workers_init(&e->mask_workers,
				     o->n_mask_thread ? o->n_mask_thread
				     : o->in_line     ? 0
						      : LMI_ENGINE_N_MASK_THREAD,
				     wake_engine, e);
	e->shared_logits = SHARED_LOGITS;
	so = (struct lmi_sched_opts){.kv = e->inst->kv,
				     .n_max = e->n_scheduled,
				     .n_batch = e->inst->n_batch,
				     .n_out = e->inst->n_out,
				     .n_step = e->inst->n_slot,
				     .target_ns = {
					     [LMI_SCHED_INTERACTIVE] =
						     o->target_ns[LMI_ENGINE_CLASS_INTERACTIVE],
					     [LMI_SCHED_NORMAL] =
						     o->target_ns[LMI_ENGINE_CLASS_NORMAL],
					     [LMI_SCHED_BATCH] =
						     o->target_ns[LMI_ENGINE_CLASS_BATCH],
				     },
				     .client_slowdown_percent = o->client_slowdown_percent};
	st = lmi_sched_create(&e->sched, &so, err);
	if (st != LMD_OK)
		return st;
	e->seq_of = lmi_alloc(e->n_scheduled, sizeof(*e->seq_of));
	e->want = lmi_alloc(e->n_scheduled, sizeof(*e->want));
	e->want_of = lmi_alloc(e->n_scheduled, sizeof(*e->want_of));
	if (!e->seq_of || !e->want || !e->want_of)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u requests", e->n_request);
	for (uint32_t i = 0; i < e->inst->n_slot && st == LMD_OK; i++)
		st = open_pending(&e->pending[i], e->inst->n_seq, err);
	if (st != LMD_OK)
		return st;
	e->events_per_seq = 5;
	st = lmi_engine_read_suppressed(e, err);
	if (st == LMD_OK && !o->no_tokenizer)
		st = open_tokenizer(e, err);
	if (st == LMD_OK && e->tok)
		st = open_draft(e, &o->inst, err);
	if (st == LMD_OK && o->inst.mmproj_path)
		st = open_tower(e, &o->inst, err);
	if (st == LMD_OK && o->vocab_digest && e->tok)
		st = lmi_engine_vocab_digest(e->tok, e->vocab_digest, err);
	if (st == LMD_OK && e->tok && !e->inst->draft && !e->inst->nextn &&
	    o->inst.n_draft_candidates)
		lmi_engine_pair_draft(e, &o->inst);
	if (st == LMD_OK && (e->inst->draft || e->inst->nextn || o->inst.lookahead))
		lmi_engine_tree_open(e->inst);
	if (st == LMD_OK && o->inst.lookahead)
		st = open_lookahead(e, err);
	if (st == LMD_OK && e->tok && e->inst->desc.driver == LMD_DRIVER_AUTOREGRESSIVE)
		st = lmi_engine_history_create(&e->inst->history, err);
	if (st == LMD_OK && o->inst.lookup_path && e->tok)
		st = lmi_engine_lookup_file_open(&e->inst->lookup_file, o->inst.lookup_path, e->tok,
						 err);
	return st == LMD_OK ? open_queues(e, o, err) : st;
}

enum lmd_status lmi_engine_open(struct lmi_engine **out, const struct lmi_engine_opts *o,
				struct lmd_error *err)
{
	struct lmi_engine *e;
	enum lmd_status st = check_opts(o, err);

	if (st != LMD_OK)
		return st;
	e = lmi_alloc(1, sizeof(*e));
	if (!e)
		return lmd_fail(err, LMD_NOMEM, "engine: no memory");
	e->events.fd = e->commands.fd = -1;
	e->passage_turn_bytes = 4u << 20;
	lmi_engine_vocab_index_init(&e->vocab_index);
	lmi_engine_grammar_cache_init(&e->compiled, LMI_ENGINE_GRAMMAR_CACHE_MAX,
				      LMI_ENGINE_GRAMMAR_CACHE_BYTES);
	st = open_all(e, o, err);
	if (st == LMD_OK && !o->in_line)
		st = start_thread(e, err);
	if (st != LMD_OK) {
		lmi_engine_fini(e);
		return st;
	}
	*out = e;
	return LMD_OK;
}

/* ---- commands ---- */

/* Destroys a session that was not accepted; the constraint still belongs to the caller. */
static void discard(struct lmi_engine_job *own_s)
{
	if (own_s->gen)
		lmi_engine_gen_constrain(own_s->gen, NULL);
	lmi_engine_job_destroy(own_s);
}

/* Reserves slots for the sequences of a session and queues it. Takes ownership. */
static enum lmd_status submit(struct lmi_engine *e, struct lmi_engine_job *own_s,
			      struct lmd_error *err)
{
	const struct lmi_engine_command o = {.start = own_s};
	uint32_t n = own_s->n_seq, before = atomic_fetch_add(&e->n_live, n);
	enum lmd_status st = LMD_OK;

	if (atomic_load(&e->closed))
		st = lmd_fail(err, LMD_CANCELLED, "the engine is closed");
	else if (n > e->n_request || before > e->n_request - n)
		st = lmd_fail(err, LMD_BUSY,
			      "%u sequences are waiting or running; %u more would exceed the limit "
			      "of %u",
			      before, n, e->n_request);
	else if (!lmi_engine_command_queue_push(&e->commands, &o))
		st = lmd_fail(err, LMD_BUSY,
			      "the queue of %u commands is full, or the engine is stopping",
			      e->commands.size);
	if (st != LMD_OK) {
		atomic_fetch_sub(&e->n_live, n);
		discard(own_s);
	}
	return st;
}

/* Asks the driver whether it can serve the session, then submits it. Takes ownership. */
static enum lmd_status check_and_submit(struct lmi_engine *e, struct lmi_engine_job *own_s,
					struct lmd_error *err)
{
	enum lmd_status st = e->driver->check(e->inst, own_s, err);

	if (st == LMD_OK)
		return submit(e, own_s, err);
	discard(own_s);
	return st;
}

enum lmd_status lmi_engine_eval(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
				struct lmd_error *err)
{
	struct lmi_engine_job *s;
	enum lmd_status st;

	if (!cmd->id)
		return lmd_fail(err, LMD_INVALID, "command id 0 is invalid, ids start at 1");
	st = lmi_engine_job_eval(&s, e->inst, cmd, err);
	return st == LMD_OK ? check_and_submit(e, s, err) : st;
}

enum lmd_status lmi_engine_generate(struct lmi_engine *e, const struct lmi_engine_generate *cmd,
				    struct lmd_error *err)
{
	struct lmi_engine_job *s;
	enum lmd_status st;

	if (!cmd->id)
		return lmd_fail(err, LMD_INVALID, "command id 0 is invalid, ids start at 1");
	if (!e->tok)
		return lmd_fail(err, LMD_UNSUPPORTED, "the engine was opened without a tokenizer");
	st = lmi_engine_job_generate(&s, e->inst, &e->vocab, cmd, err);
	if (st != LMD_OK)
		return st;
	lmi_engine_gen_constrain(s->gen, cmd->constraint);
	st = lmi_engine_gen_resume(s->gen, &s->seqs[0], cmd->resumed, cmd->n_resumed, err);
	if (st != LMD_OK) {
		discard(s);
		return st;
	}
	return check_and_submit(e, s, err);
}

enum lmd_status lmi_engine_cancel(struct lmi_engine *e, uint64_t id)
{
	const struct lmi_engine_command o = {.cancel = id};

	if (!lmi_engine_command_queue_push(&e->commands, &o))
		return LMD_BUSY;
	/* The command is queued, so a step that is cut short belongs to a command that is ending.
	 * If the next step has started meanwhile, it is started again. */
	if (atomic_load(&e->only_id) == id)
		atomic_store(&e->cancel_word, 1);
	return LMD_OK;
}

enum lmd_status lmi_engine_pause(struct lmi_engine *e, uint64_t id, bool paused)
{
	const struct lmi_engine_command o = {.pause = paused ? id : 0, .resume = paused ? 0 : id};

	return lmi_engine_command_queue_push(&e->commands, &o) ? LMD_OK : LMD_BUSY;
}

uint32_t lmi_engine_progress(const struct lmi_engine *e)
{
	return atomic_load(&e->progress);
}

bool lmi_engine_is_broken(const struct lmi_engine *e, struct lmd_error *why)
{
	if (!atomic_load(&e->is_broken))
		return false;
	*why = e->broken;
	return true;
}

/* ---- events ---- */

bool lmi_engine_poll(struct lmi_engine *e, struct lmi_engine_event *out)
{
	if (!lmi_engine_event_ring_pop(&e->events, out))
		return false;
	if (atomic_load(&e->events.blocked) && atomic_exchange(&e->events.blocked, false))
		lmi_engine_command_queue_wake(&e->commands);
	return true;
}

bool lmi_engine_wait(struct lmi_engine *e, struct lmi_engine_event *out, int timeout_ms)
{
	if (lmi_engine_poll(e, out))
		return true;
	if (atomic_load(&e->quiet))
		return lmi_engine_poll(e, out);
	(void)lmi_engine_eventfd_wait(e->events.fd, timeout_ms);
	return lmi_engine_poll(e, out);
}

int lmi_engine_fd(const struct lmi_engine *e)
{
	return e->events.fd;
}

void lmi_engine_clear_fd(struct lmi_engine *e)
{
	(void)lmi_engine_eventfd_wait(e->events.fd, 0);
}

void lmi_engine_defer_wakeups(struct lmi_engine *e, uint64_t until_ns)
{
	atomic_store(&e->defer_wakeups_until_ns, until_ns);
}

void lmi_engine_event_release(struct lmi_engine_event *ev)
{
	if (ev->kind == LMI_ENGINE_EV_ROWS)
		lmi_free(ev->u.rows.v);
	if (ev->kind == LMI_ENGINE_EV_MOVED)
		lmi_engine_saved_destroy(ev->u.moved.saved);
	ev->kind = 0;
}

/* ---- shutdown ---- */

enum lmi_engine_step_result lmi_engine_step(struct lmi_engine *e)
{
	return lmi_engine_run_once(e);
}

void lmi_engine_close(struct lmi_engine *e)
{
	atomic_store(&e->closed, true);
}

void lmi_engine_stop(struct lmi_engine *e)
{
	lmi_engine_close(e);
	atomic_store(&e->stopping, true);
	atomic_store(&e->cancel_word, 1);
	if (e->has_thread) {
		lmi_engine_command_queue_wake(&e->commands);
		(void)pthread_join(e->thread, NULL);
		e->has_thread = false;
	} else if (e->events.v) {
		do /* cancels everything */
			(void)lmi_engine_run_once(e);
		while (e->n_pending || !lmi_engine_command_queue_shut(&e->commands));
	}
	atomic_store(&e->quiet, true);
}

/* All sessions have ended, so all jobs are abandoned. */
static void stop_mask_workers(struct lmi_engine *e)
{
	if (!e->mask_workers.wake)
		return; /* not initialised */
	lmi_engine_mask_workers_stop(&e->mask_workers);
	while (e->mask_workers.n_pending)
		lmi_engine_results_collect(e);
	lmi_engine_mask_workers_fini(&e->mask_workers);
}

void lmi_engine_fini(struct lmi_engine *e)
{
	if (!e)
		return;
	lmi_engine_stop(e);
	stop_mask_workers(e);
	lmi_engine_command_queue_fini(&e->commands);
	lmi_engine_event_ring_fini(&e->events);
	lmi_sched_destroy(e->sched);
	lmi_free(e->suppressed);
	lmi_free(e->seq_of);
	lmi_free(e->want);
	lmi_free(e->want_of);
	for (uint32_t i = 0; i < LMI_ENGINE_MAX_STEP; i++)
		close_pending(&e->pending[i]);
	lmi_engine_grammar_cache_fini(&e->compiled);
	lmi_engine_vocab_index_fini(&e->vocab_index);
	lmi_chat_destroy(e->chat);
	lmi_tokenizer_close(e->tok);
	lmi_inst_close(e->inst);
	lmi_free(e);
}
