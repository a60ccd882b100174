/* SPDX-License-Identifier: MIT
 *
 * Running generations: converts a queued generation to a command of an engine, and the engine's
 * events to items. */
#include "service/generate_work.h"

static enum lmd_status start(struct lmi_gen_work *g, uint64_t now, struct lmd_error *err)
{
	struct lmi_service *svc = g->svc;
	struct lmi_prompt p = {.seed = g->seed,
			       .tokens = g->tokens.id,
			       .n_tokens = g->tokens.n,
			       .constraint = g->constraint,
			       .shown = &g->how.shown,
			       .n_max = svc->limits.output_max,
			       .n_default = svc->limits.output_default};
	enum lmd_status st;

	while (svc->run[g->slot])
		g->slot = (g->slot + 1) % LMI_RUNNING_MAX;
	g->cmd = (++svc->serial << 16) | g->slot;
	st = lmi_prompt_run(g->res->engine, g->cmd, lmi_gen_request(g), &p, err);
	if (st != LMD_OK)
		return st;
	g->state = LMI_GEN_RUN;
	g->begun_ns = now;
	svc->run[g->slot] = g;
	svc->n_running++;
	svc->n_waiting--;
	g->res->n_running++;
	/* the engine has copied the tokens and taken the constraint */
	lmi_tokens_fini(&g->tokens);
	g->constraint = NULL;
	return LMD_OK;
}

void lmi_generate_pump(struct lmi_service *svc, uint64_t now)
{
	struct lmd_error err;

	while (svc->queue && svc->n_running < svc->limits.max_running) {
		struct lmi_gen_work *g = svc->queue;
		enum lmd_status st = start(g, now, &err);

		if (st == LMD_BUSY) /* retried after the next event */
			return;
		lmi_gen_leave_queue(svc, g);
		if (st != LMD_OK)
			lmi_gen_fail(g, now, &err, 0);
	}
}

void lmi_gen_enqueue(struct lmi_gen_work *g, uint64_t now)
{
	struct lmi_gen_work **p = &g->svc->queue;

	g->state = LMI_GEN_QUEUE;
	while (*p && (*p)->serial < g->serial)
		p = &(*p)->behind;
	g->behind = *p;
	*p = g;
	lmi_generate_pump(g->svc, now);
}

static enum lmd_status add_text(const struct lmi_gen_work *g, struct lmi_output *o, uint64_t now,
				const struct lmi_event *ev)
{
	bool token = ev->kind == LMI_EV_TOKEN;
	const char *text = ev->u.text.bytes;
	uint32_t n = ev->u.text.n;

	if (g->answer)
		return token ? lmi_answer_token(g->answer, o, now, ev->u.text.token, text, n)
			     : lmi_answer_text(g->answer, o, now, text, n);
	return token ? lmi_output_token(o, now, ev->u.text.token, text, n)
		     : lmi_output_text(o, now, text, n);
}

static void fail_later(struct lmi_gen_work *g, uint64_t now, const struct lmd_error *err)
{
	const struct lmi_end end = {.kind = LMI_END_ERROR, .error = *err};

	lmi_gen_stop(g, now, &end);
}

static void take_text(struct lmi_gen_work *g, uint64_t now, const struct lmi_event *ev)
{
	struct lmi_stream *s = g->work.stream;
	struct lmd_error err;
	enum lmd_status st;

	g->n_out += ev->kind == LMI_EV_TOKEN;
	if (!s || s->given_up || g->stopping)
		return;
	st = add_text(g, &s->out, now, ev);
	if (st == LMD_BUSY) {
		lmi_gen_cancel(&g->work, now, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	} else if (st != LMD_OK) {
		(void)lmd_fail(&err, st, "no memory for the answer");
		fail_later(g, now, &err);
	}
}

static uint32_t finish_word(enum lmi_finish f)
{
	switch (f) {
	case LMI_FINISH_NONE:
		break;
	case LMI_FINISH_EOG:
		return LMI_WIRE_FINISH_EOG;
	case LMI_FINISH_STOP:
		return LMI_WIRE_FINISH_STOP;
	case LMI_FINISH_LENGTH:
		return LMI_WIRE_FINISH_LENGTH;
	case LMI_FINISH_CONTEXT:
		return LMI_WIRE_FINISH_CONTEXT;
	}
	return LMI_WIRE_FINISH_DONE;
}

static void take_end(struct lmi_gen_work *g, uint64_t now, const struct lmi_event *ev)
{
	/* a cancellation that was not requested here means that the engine is being stopped */
	struct lmi_end end = g->stopping ? g->stop_end : lmi_end_of(LMI_CANCEL_SHUTDOWN);

	if (ev->kind == LMI_EV_FAILED) {
		end = (struct lmi_end){.kind = LMI_END_ERROR, .error = ev->u.error};
	} else {
		if (ev->kind == LMI_EV_DONE) {
			end.kind = LMI_END_DONE;
			end.why = finish_word(ev->u.done.finish);
		}
		end.n_prompt = ev->u.done.n_prompt;
		end.n_out = ev->u.done.n_out;
		end.n_forced = ev->u.done.n_forced;
		end.prompt_ns = ev->u.done.prompt_ns;
		end.out_ns = ev->u.done.out_ns;
	}
	/* may fail if an unread stream is full, which ends anyway */
	if (g->answer && g->work.stream && !g->work.stream->given_up)
		(void)lmi_answer_end(g->answer, &g->work.stream->out, now);
	lmi_gen_finish(g, now, &end);
}

void lmi_generate_events(struct lmi_service *svc, uint64_t now, struct lmi_resident *r)
{
	struct lmi_event ev;

	lmi_engine_doze(r->engine, 0);
	lmi_engine_clear_fd(r->engine);
	while (lmi_engine_poll(r->engine, &ev)) {
		struct lmi_gen_work *g = svc->run[(ev.id & 0xffff) % LMI_RUNNING_MAX];

		if (g && g->cmd == ev.id) {
			if (ev.kind == LMI_EV_TOKEN || ev.kind == LMI_EV_TEXT)
				take_text(g, now, &ev);
			else
				take_end(g, now, &ev);
		}
		lmi_event_release(&ev);
	}
}
