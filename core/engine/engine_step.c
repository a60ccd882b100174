/* SPDX-License-Identifier: MIT
 *
 * One turn of the engine: take commands, let the scheduler choose steps, submit them, wait for the
 * oldest one and report its results. All state here belongs to the engine's thread.
 *
 * On a device with queues, the next step is submitted while one is running, so that the device need
 * not wait for the host. It has rows that depend on nothing that the host has yet to learn: the next
 * chunk of a prompt, other sequences, or tokens that the device itself chooses (tail.h). Whether
 * such a token ends its generation is seen a step later, and the row that was computed after it does
 * not count. But a step that generating sequences would otherwise be part
 * of delays them, and two small steps take longer than a large one. So, while generations wait for
 * results, another step is submitted only if the sequences take turns in halves (overlap.h): because the host's
 * work is hidden, or because each of several devices then computes one half. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/best.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/draft_tree.h"
#include "core/engine/engine_impl.h"
#include "core/engine/tail.h"

static uint64_t now(const struct lmi_engine *e)
{
	return e->inst->host->now_ns(e->inst->host->ctx);
}

/* ---- submitting ---- */

static void fill_part(struct lmi_engine *e, struct lmi_engine_pending *p, uint32_t i,
		      uint64_t now_ns)
{
	const struct lmi_sched_part *planned = &p->planned[i];
	struct lmi_engine_seq *q = e->seq_of[planned->seq];

	if (q->session->gen)
		lmi_engine_gen_begin(q->session->gen, now_ns);
	p->seq[i] = q;
	p->session[i] = q->session;
	p->choice[i].on_device = p->choice[i].chained = p->choice[i].is_short = false;
	p->choice[i].n_beside = 0;
	p->rows[i] = (struct lmi_engine_rows){
		.kv_seq = planned->kv_seq,
		.first = planned->first,
		.n = planned->n,
		.n_out = planned->n_out,
		.n_mark = planned->n_mark,
		.mark = planned->mark,
		.encode = planned->encode,
		.tokens = planned->encode ? q->enc : q->tokens,
		.ext = planned->encode ? NULL : q->ext,
		.pictures = q->pictures,
		.n_picture = q->n_picture,
		.lora_slot = q->adapter,
		.lora_from = planned->encode && q->adapter_from ? UINT32_MAX : q->adapter_from,
	};
	for (int k = 0; k < 4 && !planned->encode; k++)
		p->rows[i].pos[k] = lmi_engine_seq_pos(q, k);
	if (q->session->gen && planned->n_out > 1)
		p->rows[i].tree = lmi_engine_gen_tree(q->session->gen);
	if (!q->session->gen || planned->n_out != 1)
		return;
	if (e->inst->execs[p->plan]->samples)
		p->rows[i].stages =
			lmi_engine_gen_stages(q->session->gen, q->n_unread, &p->rows[i].draw);
	p->choice[i].on_device = p->rows[i].stages;
	p->rows[i].best = !p->rows[i].stages && e->inst->execs[p->plan]->bests &&
			  p->n_out <= lmi_engine_best_rows(e->inst->best) &&
			  lmi_engine_gen_is_short(q->session->gen, lmi_engine_best_n(e->inst->best));
	p->choice[i].is_short = p->rows[i].best;
}

/* Guesses have branches only if the rows of all parts can be masked, which those of a long piece of a prompt cannot.
 * Otherwise the guesses beside a chain are computed as if they came after it, and do not count. */
static void check_trees(const struct lmi_engine *e, struct lmi_engine_pending *p)
{
	bool can = lmi_engine_tree_serves(e->inst, p->plan);

	for (uint32_t i = 0; i < p->n_part; i++)
		can &= p->planned[i].n <= LMI_ENGINE_TREE_ROWS && !p->planned[i].encode;
	for (uint32_t i = 0; i < p->n_part && !can; i++) {
		const struct lmi_engine_tree *t = p->rows[i].tree;

		if (t && t->n_chain + 1 < p->planned[i].n_out)
			p->choice[i].n_beside = p->planned[i].n_out - 1 - t->n_chain;
		p->rows[i].tree = NULL;
	}
}

/* Lets a sequence go on with the token that the device chooses for it in the step, before the host
 * knows it. Returns false if its next step must wait. */
static bool chain(struct lmi_engine *e, struct lmi_engine_pending *p, uint32_t i)
{
	struct lmi_engine_seq *q = p->seq[i];
	uint32_t at = q->n_tokens + q->n_unread;

	if (!p->choice[i].on_device || !lmi_engine_gen_goes_on(q->session->gen, q->n_unread + 1))
		return false;
	if (at >= q->cap || !lmi_sched_grow(e->sched, q->handle))
		return false;
	q->tokens[at] = LMD_TOKEN_CHAINED + (int32_t)p->planned[i].kv_seq;
	q->n_unread++;
	p->choice[i].chained = true;
	return true;
}

/* Chains the sequences of a submitted step, and finds out whether others await its results. */
static void chain_all(struct lmi_engine *e, struct lmi_engine_pending *p, bool halves)
{
	bool may = !halves && e->inst->n_slot > 1 && e->inst->execs[p->plan]->chains;

	p->awaited = p->sampled = false;
	for (uint32_t i = 0; i < p->n_part; i++) {
		if (!p->session[i]->gen || !p->planned[i].n_out)
			continue;
		p->sampled = true;
		p->awaited |= !(may && chain(e, p, i));
	}
	if (p->sampled)
		e->chains = !p->awaited;
}

/* A step has the class of its most urgent sequence. */
static enum lmi_engine_class class_of(const struct lmi_engine_pending *p)
{
	enum lmi_engine_class best = LMI_ENGINE_CLASS_BATCH;

	for (uint32_t i = 0; i < p->n_part; i++)
		if (p->session[i]->class < best)
			best = p->session[i]->class;
	return best;
}

static uint64_t only_session(const struct lmi_engine_pending *p)
{
	for (uint32_t i = 1; i < p->n_part; i++)
		if (p->session[i] != p->session[0])
			return 0;
	return p->session[0]->id;
}

/* Sets which command may cut the submitted steps short, with a new one in the given slot. */
static void set_only(struct lmi_engine *e, uint32_t slot)
{
	uint64_t id = only_session(&e->pending[slot]);

	e->pending[slot].only_id = id;
	if (!e->n_pending) {
		atomic_store(&e->cancel_word, atomic_load(&e->stopping));
		atomic_store(&e->only_id, id);
	} else if (atomic_load(&e->only_id) != id) {
		atomic_store(&e->only_id, 0);
	}
}

/* Number of sequences that could be computed at the same time. */
uint32_t lmi_engine_n_computable(const struct lmi_engine *e)
{
	struct lmi_sched_stats s;

	lmi_sched_stats(e->sched, &s);
	return s.n_active + s.n_waiting < e->inst->n_seq ? s.n_active + s.n_waiting
							 : e->inst->n_seq;
}

static bool in_halves(struct lmi_engine *e)
{
	uint32_t n = lmi_engine_n_computable(e);

	if (e->inst->n_slot == 1 || n < 2 || e->halves == LMI_ENGINE_HALVES_NEVER)
		return false;
	if (e->halves == LMI_ENGINE_HALVES_ALWAYS)
		return true;
	if (e->inst->n_device > 1 && e->inst->n_rank <= 1)
		return lmi_engine_overlap_in_turns(&e->overlap, n);
	return !e->chains && lmi_engine_overlap_pays(&e->overlap, n);
}

/* Submits a step; returns false if there is nothing to compute now. */
static bool submit(struct lmi_engine *e, bool halves)
{
	const struct lmi_engine_step_watch w = {.cancel = (const volatile int32_t *)&e->cancel_word,
						.progress = (volatile uint32_t *)&e->progress};
	const struct lmi_sched_limit limit = {.n_part = (lmi_engine_n_computable(e) + 1) / 2,
					      .n_row = (e->inst->n_batch + 1) / 2};
	uint32_t slot = (e->first + e->n_pending) % e->inst->n_slot;
	struct lmi_engine_pending *p = &e->pending[slot];
	uint64_t begin_ns = now(e);
	struct lmi_sched_step step;

	if (!lmi_sched_next(e->sched, halves ? &limit : NULL, &step))
		return false;
	p->plan = step.plan;
	p->planned = step.parts;
	p->n_part = step.n_part;
	p->n_row = step.n_row;
	p->n_out = step.n_out;
	p->bound_ns = step.bound_ns;
	p->halves = halves;
	for (uint32_t i = 0; i < step.n_part; i++)
		fill_part(e, p, i, begin_ns);
	check_trees(e, p);
	e->inst->step_class = class_of(p);
	set_only(e, slot);
	lmi_inst_hold(e->inst);
	p->run_ns = now(e);
	lmi_engine_step_submit(e->inst, slot, step.plan, p->rows, step.n_part, &w);
	lmi_inst_let_go(e->inst);
	chain_all(e, p, halves);
	p->submit_ns = now(e);
	p->host_ns = p->submit_ns - begin_ns;
	e->count.n_overlapped += e->n_pending++ != 0;
	return true;
}

/* May another step be submitted while some are running? */
static bool may_run_ahead(const struct lmi_engine *e, bool halves)
{
	if (e->n_pending == e->inst->n_slot || lmi_inst_is_wanted(e->inst))
		return false;
	if (atomic_load(&e->cancel_word)) /* is reset when no step is submitted */
		return false;
	for (uint32_t i = 0; i < e->n_pending && !halves; i++)
		if (e->pending[(e->first + i) % e->inst->n_slot].awaited)
			return false;
	return true;
}

/* Submits as many steps as is useful. */
static enum lmi_engine_step_result submit_steps(struct lmi_engine *e)
{
	bool halves = in_halves(e);

	while (!e->n_pending || may_run_ahead(e, halves)) {
		if (lmi_engine_event_ring_room(&e->events) < lmi_engine_event_emit_room(e))
			return LMI_ENGINE_STEP_EVENTS_FULL;
		if (!submit(e, halves))
			return LMI_ENGINE_STEP_IDLE;
	}
	return LMI_ENGINE_STEP_RAN;
}

/* ---- finishing ---- */

/* Finds the candidates of rows of which no more were copied. If they are of no use, copies the row. */
static enum lmd_status find_best(struct lmi_engine *e, struct lmi_engine_pending *p, uint32_t slot,
				 struct lmd_error *err)
{
	uint32_t row = 0;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < p->n_part && st == LMD_OK; i++) {
		struct lmi_engine_choice *c = &p->choice[i];

		if (c->is_short && !lmi_engine_best_get(e->inst->best, slot, row, &c->best,
							&c->best_logits)) {
			c->is_short = false;
			st = lmi_engine_best_fetch(e->inst, e->inst->best, slot, row, 1, err);
		}
		row += p->planned[i].n_out;
	}
	return st;
}

/* Weight of the time of one more moved row. */
#define MOVE_NEW 0.25

/* Moves the row of a guess beside the chain that was right to its place: its keys and values, and its hidden row
 * hidden[width]; NULL: it has none. */
static enum lmd_status move_row(struct lmi_engine *e, struct lmi_engine_pending *p, uint32_t part,
				float *hidden, struct lmd_error *err)
{
	const struct lmi_engine_choice *c = &p->choice[part];
	const struct lmi_engine_rows *r = &p->rows[part];
	uint32_t known = r->n - r->n_out, width = lmi_inst_hidden_width(e->inst);
	uint64_t begin_ns = now(e);
	enum lmd_status st;
	double ns;

	if (!p->session[part] || !c->moved)
		return LMD_OK;
	if (hidden)
		memcpy(hidden + (size_t)(known + c->moved_to) * width,
		       hidden + (size_t)(known + c->moved) * width, width * sizeof(*hidden));
	e->count.n_moved++;
	st = lmi_engine_tree_move(e->inst, r->kv_seq, r->first + known + c->moved,
				  r->first + known + c->moved_to, err);
	ns = (double)(now(e) - begin_ns);
	e->move_ns += (ns - e->move_ns) * (e->move_ns > 0 ? MOVE_NEW : 1);
	return st;
}

static enum lmd_status move_rows(struct lmi_engine *e, struct lmi_engine_pending *p, uint32_t slot,
				 struct lmd_error *err)
{
	float *hidden = e->inst->slot[slot].hidden;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < p->n_part && st == LMD_OK; i++) {
		st = move_row(e, p, i, hidden, err);
		if (hidden)
			hidden += (size_t)p->planned[i].n * lmi_inst_hidden_width(e->inst);
	}
	return st;
}

static enum lmd_status hand_out(struct lmi_engine *e, struct lmi_engine_pending *p, uint32_t slot,
				struct lmd_error *err)
{
	enum lmd_status st;
	const struct lmi_engine_exec *x = e->inst->execs[p->plan];
	const float *all = e->inst->slot[slot].out, *rows = all;

	if (p->sampled) {
		e->n_keen_before = e->n_keen;
		e->n_keen = 0;
	}
	lmi_engine_results_choose(
		e, p, x, all,
		e->inst->slot[slot].samples ? lmi_engine_tail_tokens(e->inst->tail, slot) : NULL);
	st = move_rows(e, p, slot, err);
	if (st != LMD_OK)
		return st;
	lmi_sched_commit(e->sched, true, p->kept);
	for (uint32_t i = 0; i < p->n_part; i++) {
		lmi_engine_results_report(e, p, x, i, rows, all);
		rows += (size_t)p->planned[i].n_out * x->out_width;
	}
	if (e->inst->slot[slot].hidden)
		lmi_engine_results_feed(e, p, e->inst->slot[slot].hidden);
	return LMD_OK;
}

void lmi_engine_break(struct lmi_engine *e, const struct lmd_error *why)
{
	if (!atomic_load(&e->is_broken))
		e->broken = *why;
	atomic_store(&e->is_broken, true); /* e->broken is not written after this */
	while (e->sessions)
		lmi_engine_fail(e, e->sessions, why);
	lmi_engine_transfer_fail(e, why);
	lmi_engine_adapter_fail(e, why);
}

/* After a failed step, fails its sessions; if the device or the file was lost, fails all
 * sessions. */
static void give_up(struct lmi_engine *e, struct lmi_engine_pending *p, const struct lmd_error *err)
{
	if (err->status == LMD_IO || err->status == LMD_DEVICE) {
		lmi_engine_break(e, err);
		return;
	}
	for (uint32_t i = 0; i < p->n_part; i++)
		if (p->session[i])
			lmi_engine_fail(e, p->session[i], err);
}

/* Records the times of a step that the device has completed at done_ns. */
static void measure(struct lmi_engine *e, const struct lmi_engine_pending *p, uint32_t slot,
		    bool ran, uint64_t done_ns)
{
	uint64_t begin_ns = e->inst->n_slot == 1 ? p->run_ns : p->submit_ns;

	if (ran && e->finish_ns && p->sampled && p->n_row == p->n_out)
		lmi_engine_overlap_add_turn(&e->overlap, p->halves, p->n_row,
					    done_ns - e->finish_ns);
	if (begin_ns < e->finish_ns)
		begin_ns = e->finish_ns;
	e->finish_ns = done_ns;
	e->step_ns = done_ns - begin_ns;
	/* otherwise it was done earlier, at an unknown time */
	if (ran && (e->inst->n_slot == 1 || e->inst->slot[slot].waited))
		lmi_sched_measure(e->sched, p->n_row, p->bound_ns, e->step_ns);
	if (e->inst->n_slot == 1)
		return;
	if (e->inst->slot[slot].waited)
		lmi_engine_overlap_add_device(&e->overlap, p->n_row, done_ns - begin_ns);
	lmi_engine_overlap_add_host(&e->overlap, p->n_out, p->host_ns + now(e) - done_ns);
}

/* Forgets the tokens that the device would have chosen in a step that did not count. A step is cut short
 * although it has nothing of a cancelled command if that ended in the moment before. */
static void forget_chained(struct lmi_engine *e, struct lmi_engine_pending *p)
{
	for (uint32_t i = 0; i < p->n_part; i++) {
		if (!p->seq[i] || !p->choice[i].chained || p->planned[i].n_kept)
			continue;
		p->seq[i]->n_unread--;
		lmi_sched_take_back(e->sched, p->seq[i]->handle);
	}
}

/* Waits for the oldest step and reports its results. */
static void finish(struct lmi_engine *e)
{
	uint32_t slot = e->first;
	struct lmi_engine_pending *p = &e->pending[slot];
	struct lmd_error err = {0};
	enum lmd_status st = lmi_engine_step_finish(e->inst, slot, &err);
	uint64_t done_ns = now(e);

	e->n_pending--;
	e->first = (e->first + 1) % e->inst->n_slot;
	atomic_store(&e->only_id, e->n_pending ? e->pending[e->first].only_id : 0);
	if (st == LMD_OK && e->inst->slot[slot].bests)
		st = find_best(e, p, slot, &err);
	if (st == LMD_OK)
		atomic_fetch_add(&e->progress, 1);
	if (st == LMD_OK)
		st = hand_out(e, p, slot, &err);
	if (st != LMD_OK)
		lmi_sched_commit(e->sched, false, NULL);
	if (st != LMD_OK && st != LMD_CANCELLED) /* cut short: the cancelling command is in the
						  * queue */
		give_up(e, p, &err);
	forget_chained(e, p);
	measure(e, p, slot, st == LMD_OK, done_ns);
	p->n_part = 0;
}

void lmi_engine_finish_steps(struct lmi_engine *e)
{
	while (e->n_pending)
		finish(e);
}

/* ---- one turn ---- */

static void publish(struct lmi_engine *e)
{
	struct lmi_sched_stats s;
	struct lmi_kv_stats k;

	lmi_sched_stats(e->sched, &s);
	lmi_kv_stats(e->inst->kv, &k);
	if (e->inst->draft || e->inst->nextn) {
		struct lmi_engine_draft_count d;

		if (e->inst->nextn)
			lmi_engine_nextn_count(e->inst->nextn, &d);
		else
			lmi_engine_draft_model_count(e->inst->draft, &d);
		e->count.n_draft_step = d.n_step;
		e->count.n_draft_row = d.n_row;
	}
	e->count.n_step = s.n_step;
	e->count.n_row = s.n_row;
	e->count.n_preempted = s.n_preempted;
	e->count.n_shared_rows = s.n_shared_rows;
	e->count.n_started = s.n_started;
	e->count.n_hit = s.n_hit;
	e->count.n_page_evicted = k.n_evicted;
	e->count.n_pinned = k.n_pinned;
	e->count.n_bounded = s.n_bounded;
	e->count.n_over_bound = s.n_over_bound;
	e->count.n_waiting = s.n_waiting;
	e->count.n_active = s.n_active;
	e->count.n_plan = e->inst->n_compiled;
	for (uint32_t g = 0; g < e->inst->desc.n_group; g++) {
		e->count.n_page[g] = k.n_page[g];
		e->count.n_free[g] = k.n_free[g];
		e->count.n_cached[g] = k.n_cached[g];
		if (k.n_page[g] - k.n_free[g] > e->count.n_peak[g])
			e->count.n_peak[g] = k.n_page[g] - k.n_free[g];
	}
}

enum lmi_engine_step_result lmi_engine_run_once(struct lmi_engine *e)
{
	enum lmi_engine_step_result t;
	uint64_t allocs;
	bool moved;

	lmi_engine_commands_take(e);
	moved = lmi_engine_transfer_step(e);
	moved |= lmi_engine_adapter_step(e);
	moved |= lmi_engine_drop_step(e);
	moved |= lmi_engine_look(e);
	moved |= lmi_engine_passages_step(e);
	lmi_engine_results_collect(e);
	e->evaluated = false;
	allocs = lmi_alloc_thread_count();
	lmi_engine_results_draft(e);
	t = submit_steps(e);
	if (e->n_pending) {
		finish(e);
		t = LMI_ENGINE_STEP_RAN;
	} else {
		e->finish_ns = 0; /* the time until the next step is nobody's */
	}
	if (t == LMI_ENGINE_STEP_IDLE && (moved || lmi_engine_passages_wait(e)))
		t = LMI_ENGINE_STEP_RAN; /* there may be more to copy */
	if (t == LMI_ENGINE_STEP_IDLE && e->in_line && e->mask_workers.n_pending)
		t = LMI_ENGINE_STEP_RAN; /* the caller goes on until all is done */
	publish(e);
	lmi_engine_event_emit_flush(e);
	if (!e->evaluated)
		e->count.step_allocs += lmi_alloc_thread_count() - allocs;
	return t;
}
