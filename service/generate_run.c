/* SPDX-License-Identifier: MIT
 *
 * Running generations: converts a queued generation to a command of an engine, and the engine's
 * events to items. */
#include "service/generate_work.h"

#include <string.h>

#include "core/base/siphash.h"
#include "service/evaluate.h"
#include "service/event_ring.h"
#include "service/fair_queue.h"
#include "service/limits.h"
#include "service/logprobs.h"
#include "service/prefix_tier.h"
#include "service/preset.h"
#include "service/prompt.h"
#include "service/replay.h"
#include "service/session_work.h"

static uint64_t client_of(const struct lmi_svc_generation *g)
{
	const struct lmi_svc_owner *o = &g->request.user->owner;
	const uint64_t key[2] = {o->uid};

	return lmi_siphash(key, o->key_label, strlen(o->key_label));
}

/* Generations share what is in the prefix cache with others of the same user, unless all users
 * share: how fast an answer begins tells what others have asked. Sessions come from files that their
 * users may have written, so they are never shared. */
uint64_t lmi_svc_gen_tenant(const struct lmi_svc_generation *g)
{
	bool shares = g->request.svc->o.share_prefixes && !g->session;

	return shares ? 0 : lmi_svc_owner_tenant(&g->request.user->owner);
}

static enum lmd_status start(struct lmi_svc_generation *g, uint64_t now, struct lmd_error *err)
{
	struct lmi_service *svc = g->request.svc;
	const struct lmi_wire_req_generate *q = lmi_svc_gen_request(g);
	struct lmi_sampler_params defaults;
	struct lmi_svc_prompt p = {.seed = g->seed,
				   .tokens = g->tokens.id,
				   .n_tokens = g->tokens.n,
				   .pictures = &g->pictures,
				   .prediction = &g->prediction,
				   .draft_max = svc->o.draft_max,
				   .adapter = g->adapter,
				   .tenant = lmi_svc_gen_tenant(g),
				   .client = client_of(g),
				   .constraint = g->constraint,
				   .shown = &g->answer_format.shown,
				   .resumable = g->durable != NULL,
				   .resumed = &g->taken,
				   .defaults = &defaults,
				   .used = &g->used,
				   .n_max = svc->limits.output_max,
				   .n_default = svc->limits.output_default};
	enum lmd_status st;

	lmi_svc_preset_sampling(g->loaded, &q->model, &defaults);
	if (g->durable)
		lmi_sampler_params_set(&defaults, &g->durable->sampling);
	if (g->replays)
		lmi_sampler_params_set(&defaults, &g->replays->sampling);
	while (svc->run[g->slot])
		g->slot = (g->slot + 1) % LMI_SVC_RUNNING_MAX;
	g->cmd = (++svc->serial << 16) | g->slot;
	st = lmi_svc_prompt_run(g->loaded->engine, g->cmd, q, &p, err);
	if (st != LMD_OK)
		return st;
	lmi_svc_replay_begin(g, &defaults);
	if (q->report_settings && g->writer.stream)
		lmi_svc_settings_keep(&g->writer.stream->out, q, &g->used);
	if (g->paused_until_ns) /* if the queue is full, it runs until it is paused again */
		g->paused_until_ns *= lmi_engine_pause(g->loaded->engine, g->cmd, true) == LMD_OK;
	g->state = LMI_SVC_GEN_RUN;
	g->begun_ns = now;
	svc->run[g->slot] = g;
	lmi_svc_user_release(svc, g->request.user, &g->request.held);
	g->request.held.n_waiting = 0;
	g->request.held.n_running = 1;
	lmi_svc_user_hold(svc, g->request.user, &g->request.held);
	g->loaded->n_running++;
	lmi_svc_fair_queue_charge(g, g->tokens.n, 0);
	lmi_svc_usage_started(g, now);
	lmi_svc_event_ring_generation(g, LMI_WIRE_EVENT_KIND_START, NULL);
	/* the engine has copied the tokens and taken the constraint */
	lmi_text_token_buf_fini(&g->tokens);
	lmi_text_token_buf_fini(&g->prediction);
	lmi_text_token_buf_fini(&g->taken);
	lmi_svc_pictures_fini(&g->pictures);
	g->constraint = NULL;
	return LMD_OK;
}

void lmi_svc_generate_pump(struct lmi_service *svc, uint64_t now)
{
	struct lmd_error err;

	svc->round++;
	while (svc->held.n_running < svc->limits.max_running) {
		struct lmi_svc_generation *g = lmi_svc_fair_queue_next(svc, svc->round);
		enum lmd_status st;

		if (!g)
			return;
		st = start(g, now, &err);
		if (st == LMD_BUSY) { /* retried after the next event; other models go on */
			g->loaded->passed_over = svc->round;
			continue;
		}
		lmi_svc_gen_leave_queue(svc, g);
		if (st != LMD_OK)
			lmi_svc_gen_fail(g, now, &err, 0);
	}
}

void lmi_svc_gen_enqueue(struct lmi_svc_generation *g, uint64_t now)
{
	struct lmi_service *svc = g->request.svc;
	struct lmi_svc_generation **p = &svc->queue;

	lmi_svc_fair_queue_enter(svc, g);
	g->state = LMI_SVC_GEN_QUEUE;
	while (*p && (*p)->serial < g->serial)
		p = &(*p)->queue_next;
	g->queue_next = *p;
	*p = g;
	lmi_svc_generate_pump(svc, now);
	/* it may have ended */
	for (const struct lmi_svc_generation *o = svc->queue; o; o = o->queue_next)
		if (o == g)
			lmi_svc_event_ring_generation(g, LMI_WIRE_EVENT_KIND_QUEUE, NULL);
}

static enum lmd_status add_text(const struct lmi_svc_generation *g, struct lmi_svc_output *o,
				uint64_t now, const struct lmi_engine_event *ev)
{
	const struct lmi_svc_item item = {.kind = LMI_SVC_ITEM_TOKEN,
					  .token = ev->u.text.token,
					  .n_text = ev->u.text.n,
					  .n_logprobs = g->n_logprobs,
					  .logprobs_bytes = (uint32_t)g->logprobs.n,
					  .at_ns = now};
	const char *text = ev->u.text.bytes;

	if (ev->kind == LMI_ENGINE_EV_TEXT)
		return g->answer ? lmi_svc_answer_text(g->answer, o, now, text, ev->u.text.n)
				 : lmi_svc_output_text(o, now, text, ev->u.text.n);
	return g->answer ? lmi_svc_answer_token(g->answer, o, &item, text, g->logprobs.p)
			 : lmi_svc_output_add(o, &item, text, g->logprobs.p);
}

static void fail_later(struct lmi_svc_generation *g, uint64_t now, const struct lmd_error *err)
{
	const struct lmi_svc_end end = {.kind = LMI_SVC_END_ERROR, .error = *err};

	lmi_svc_gen_stop(g, now, &end);
}

/* Keeps them for the token that follows. */
static void take_logprobs(struct lmi_svc_generation *g, uint64_t now,
			  const struct lmi_engine_event *ev)
{
	const struct lmi_engine_logprobs *l = &ev->u.logprobs;
	struct lmd_error err;

	g->n_logprobs = l->n;
	if (lmi_svc_logprobs_pack(&g->logprobs, lmi_engine_tokenizer(g->loaded->engine), l->v, l->n))
		return;
	g->n_logprobs = 0;
	g->logprobs.n = 0;
	(void)lmd_fail(&err, LMD_NOMEM, "no memory for log probabilities");
	fail_later(g, now, &err);
}

static void take_text(struct lmi_svc_generation *g, uint64_t now, const struct lmi_engine_event *ev)
{
	struct lmi_svc_stream *s = g->writer.stream;
	struct lmd_error err;
	enum lmd_status st;

	g->n_out += ev->kind == LMI_ENGINE_EV_TOKEN;
	if (ev->kind == LMI_ENGINE_EV_TOKEN)
		lmi_svc_gen_session_token(g, ev->u.text.token);
	if (ev->kind == LMI_ENGINE_EV_TOKEN)
		lmi_svc_gen_prefix_token(g, ev->u.text.token);
	if (ev->kind == LMI_ENGINE_EV_TOKEN)
		lmi_svc_replay_token(g, ev->u.text.token);
	lmi_svc_fair_queue_charge(g, 0, ev->kind == LMI_ENGINE_EV_TOKEN);
	if (!s || s->given_up || g->stopping)
		return;
	if (g->durable) {
		lmi_svc_durable_event(g, now, ev);
		return;
	}
	st = add_text(g, &s->out, now, ev);
	if (st == LMD_BUSY) {
		lmi_svc_gen_cancel(&g->writer, now, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	} else if (st != LMD_OK) {
		(void)lmd_fail(&err, st, "no memory for the answer");
		fail_later(g, now, &err);
	}
}

static uint32_t finish_word(enum lmi_engine_finish f)
{
	switch (f) {
	case LMI_ENGINE_FINISH_NONE:
		break;
	case LMI_ENGINE_FINISH_EOG:
		return LMI_WIRE_FINISH_EOG;
	case LMI_ENGINE_FINISH_STOP:
		return LMI_WIRE_FINISH_STOP;
	case LMI_ENGINE_FINISH_LENGTH:
		return LMI_WIRE_FINISH_LENGTH;
	case LMI_ENGINE_FINISH_CONTEXT:
		return LMI_WIRE_FINISH_CONTEXT;
	}
	return LMI_WIRE_FINISH_DONE;
}

static void take_end(struct lmi_svc_generation *g, uint64_t now, const struct lmi_engine_event *ev)
{
	/* a cancellation that was not requested here means that the engine is being stopped */
	struct lmi_svc_end end =
		g->stopping ? g->stop_end : lmi_svc_end_of(LMI_SVC_CANCEL_SHUTDOWN);

	if (ev->kind == LMI_ENGINE_EV_FAILED) {
		end = (struct lmi_svc_end){.kind = LMI_SVC_END_ERROR, .error = ev->u.error};
	} else {
		if (ev->kind == LMI_ENGINE_EV_DONE) {
			end.kind = LMI_SVC_END_DONE;
			end.why = finish_word(ev->u.done.finish);
		}
		end.n_prompt = ev->u.done.n_prompt;
		end.n_out = ev->u.done.n_out;
		end.n_forced = ev->u.done.n_forced;
		end.n_cached = ev->u.done.n_cached;
		end.n_drafted = ev->u.done.n_drafted;
		end.n_accepted = ev->u.done.n_accepted;
		end.n_shift = ev->u.done.n_shift;
		end.broke_at = ev->u.done.broke_at;
		end.n_pinned = ev->u.done.n_pinned;
		end.n_reasoning = g->answer ? lmi_svc_answer_n_reasoning(g->answer) : 0;
		end.prompt_ns = ev->u.done.prompt_ns;
		end.out_ns = ev->u.done.out_ns;
	}
	lmi_svc_gen_prefix_end(g, &end);
	/* may fail if an unread stream is full, which ends anyway */
	if (g->answer && g->writer.stream && !g->writer.stream->given_up)
		(void)lmi_svc_answer_end(g->answer, &g->writer.stream->out, now);
	if (!lmi_svc_gen_session_save(g, &end))
		lmi_svc_gen_finish(g, now, &end);
}

void lmi_svc_generate_events(struct lmi_service *svc, uint64_t now, struct lmi_svc_loaded_model *r)
{
	struct lmi_engine_event ev;

	lmi_engine_defer_wakeups(r->engine, 0);
	lmi_engine_clear_fd(r->engine);
	while (lmi_engine_poll(r->engine, &ev)) {
		struct lmi_svc_generation *g = svc->run[(ev.id & 0xffff) % LMI_SVC_RUNNING_MAX];

		if (g && g->cmd == ev.id) {
			if (ev.kind == LMI_ENGINE_EV_TOKEN || ev.kind == LMI_ENGINE_EV_TEXT)
				take_text(g, now, &ev);
			else if (ev.kind == LMI_ENGINE_EV_LOGPROBS)
				take_logprobs(g, now, &ev);
			else
				take_end(g, now, &ev);
		} else if (!lmi_svc_adapter_slots_event(r, now, &ev) &&
			   !lmi_svc_session_event(svc, now, &ev) &&
			   !lmi_svc_prefix_tier_event(svc, now, &ev)) {
			lmi_svc_evaluation_event(svc, now, &ev);
		}
		lmi_engine_event_release(&ev);
	}
}
