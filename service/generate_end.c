/* SPDX-License-Identifier: MIT
 *
 * The end of a generation. */
#include <assert.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/engine/constrain.h"
#include "service/event_ring.h"
#include "service/generate_work.h"
#include "service/replay.h"
#include "service/service.h"

void lmi_svc_gen_release(struct lmi_svc_generation *g)
{
	if (!g->ended || g->job_runs || g->n_hold)
		return;
	lmi_text_token_buf_fini(&g->tokens);
	lmi_text_token_buf_fini(&g->prediction);
	lmi_svc_pictures_fini(&g->pictures);
	lmi_text_token_buf_fini(&g->taken);
	lmi_text_token_buf_fini(&g->rows);
	lmi_wire_buf_fini(&g->logprobs);
	lmi_chat_answer_format_fini(&g->answer_format);
	lmi_svc_answer_destroy(g->answer);
	lmi_svc_gen_session_free(g);
	lmi_svc_adapter_choice_fini(&g->adapter_waiter.choice);
	lmi_svc_request_fini(&g->request);
	lmi_free(g->replays);
	lmi_free(g);
}

void lmi_svc_gen_leave_queue(struct lmi_service *svc, struct lmi_svc_generation *g)
{
	for (struct lmi_svc_generation **p = &svc->queue; *p; p = &(*p)->queue_next) {
		if (*p != g)
			continue;
		*p = g->queue_next;
		g->queue_next = NULL;
		return;
	}
}

void lmi_svc_gen_drop_constraint(struct lmi_svc_generation *g)
{
	lmi_engine_constraint_destroy(g->constraint);
	g->constraint = NULL;
}

/* Only faults of the daemon count as failed.  Invalid requests and those to retry later are counted
 * separately, so that an alarm on failures is not raised by a user's mistake. */
static void count_error(struct lmi_service_stats *c, enum lmd_status st)
{
	switch (st) {
	case LMD_INVALID:
	case LMD_NOTFOUND:
	case LMD_UNSUPPORTED:
	case LMD_DENIED:
		c->n_invalid++;
		return;
	case LMD_BUSY:
		c->n_busy++;
		return;
	case LMD_CANCELLED:
		c->n_cancelled++;
		return;
	case LMD_OK:
	case LMD_NOMEM:
	case LMD_CORRUPT:
	case LMD_TIMEOUT:
	case LMD_IO:
	case LMD_DEVICE:
	case LMD_INTERNAL:
		break;
	}
	c->n_failed++;
}

static void count_end(struct lmi_service *svc, const struct lmi_svc_end *end)
{
	svc->count.n_done += end->kind == LMI_SVC_END_DONE;
	svc->count.n_cancelled += end->kind == LMI_SVC_END_CANCELLED;
	if (end->kind == LMI_SVC_END_ERROR)
		count_error(&svc->count, end->error.status);
	svc->count.n_prompt_tokens += end->n_prompt;
	svc->count.n_cached_tokens += end->n_cached;
	svc->count.n_out_tokens += end->n_out;
}

/* Returns true if the engine was faster than the file of the durable stream. Then the generation ends
 * when its request is answered, or with the error that the file gets. */
static bool waits_for_head(const struct lmi_svc_generation *g, const struct lmi_svc_end *end)
{
	return end->kind == LMI_SVC_END_DONE && g->state == LMI_SVC_GEN_RUN && !g->stopping &&
	       !g->head_waits && !g->request.svc->stopping && g->request.reply && g->durable &&
	       !g->durable->failed;
}

void lmi_svc_gen_finish(struct lmi_svc_generation *g, uint64_t now, const struct lmi_svc_end *end)
{
	struct lmi_service *svc = g->request.svc;
	struct lmd_error err;

	assert(!g->ended);
	if (waits_for_head(g, end)) {
		g->stop_end = *end;
		g->head_waits = true;
		return;
	}
	g->ended = true;
	if (g->state == LMI_SVC_GEN_LOAD && g->load_waiter.in_list)
		lmi_svc_model_remove_waiter(g->model, &g->load_waiter);
	lmi_svc_gen_leave_queue(svc, g);
	if (g->state == LMI_SVC_GEN_RUN) {
		svc->run[g->slot] = NULL;
		g->loaded->n_running--;
		svc->mean_ns += (now - g->begun_ns) / 8 - svc->mean_ns / 8;
		lmi_svc_usage_ended(g, now, end);
	}
	lmi_svc_request_release(&g->request);
	*(g->prev ? &g->prev->next : &svc->generations) = g->next;
	if (g->next)
		g->next->prev = g->prev;
	lmi_svc_gen_prompt_items_cancel(g);
	lmi_svc_gen_session_drop(g);
	lmi_svc_gen_prefix_leave(g);
	if (!g->job_runs)
		lmi_svc_gen_drop_constraint(g);
	else if (g->encoder)
		lmi_jobs_cancel(&g->job);
	if (g->loaded) {
		lmi_svc_adapter_slots_leave(g->loaded, &g->adapter_waiter);
		lmi_svc_adapter_slots_give(g->loaded, g->adapter);
		lmi_svc_loaded_model_unref(g->loaded, now);
	}
	g->adapter = 0;
	g->loaded = NULL;
	count_end(svc, end);
	lmi_svc_replay_end(g, end);
	lmi_svc_event_ring_generation(g, LMI_WIRE_EVENT_KIND_END, end);
	if (g->request.reply) {
		if (end->kind == LMI_SVC_END_ERROR)
			err = end->error;
		else if (end->kind == LMI_SVC_END_DONE && end->why == LMI_WIRE_FINISH_DEADLINE)
			(void)lmd_fail(&err, LMD_TIMEOUT, "timed out: the deadline timeout_ms has passed");
		else
			(void)lmd_fail(&err, LMD_CANCELLED, "cancelled");
		if (g->writer.stream)
			g->writer.stream->given_up = true;
		lmi_svc_request_fail(&g->request, &err, g->retry_ms);
	}
	lmi_svc_stream_end(svc, &g->writer, now, end);
	lmi_svc_durable_leave(g);
	lmi_svc_gen_release(g);
}

void lmi_svc_gen_fail(struct lmi_svc_generation *g, uint64_t now, const struct lmd_error *err,
		      uint32_t retry_ms)
{
	const struct lmi_svc_end end = {.kind = LMI_SVC_END_ERROR, .error = *err};

	g->retry_ms = retry_ms;
	lmi_svc_gen_finish(g, now, &end);
}

void lmi_svc_gen_stop(struct lmi_svc_generation *g, uint64_t now, const struct lmi_svc_end *end)
{
	if (g->stopping || g->ended)
		return;
	if (g->state != LMI_SVC_GEN_RUN || g->head_waits) {
		lmi_svc_gen_finish(g, now, end);
		return;
	}
	g->stopping = true;
	g->stop_end = *end;
	g->cancel_waits = lmi_engine_cancel(g->loaded->engine, g->cmd) != LMD_OK;
}

void lmi_svc_gen_cancel(struct lmi_svc_stream_writer *w, uint64_t now, uint32_t reason)
{
	const struct lmi_svc_end end = lmi_svc_end_of(reason);

	lmi_svc_gen_stop((struct lmi_svc_generation *)w, now, &end);
}

bool lmi_svc_gen_runs(const struct lmi_svc_stream_writer *w)
{
	return ((const struct lmi_svc_generation *)w)->state == LMI_SVC_GEN_RUN;
}

/* One that does not run yet is paused when it has begun. */
enum lmd_status lmi_svc_gen_pause(struct lmi_svc_stream_writer *w, uint64_t now, bool paused,
				  bool *was_paused, uint64_t *left_ms, struct lmd_error *err)
{
	struct lmi_svc_generation *g = (struct lmi_svc_generation *)w;
	bool runs = g->state == LMI_SVC_GEN_RUN && !g->stopping;

	*was_paused = g->paused_until_ns != 0;
	if (paused != *was_paused && runs && lmi_engine_pause(g->loaded->engine, g->cmd, paused) != LMD_OK)
		return lmd_fail(err, LMD_BUSY, "the model's queue of commands is full; try again");
	if (paused != *was_paused && g->state == LMI_SVC_GEN_RUN)
		lmi_svc_usage_count(g, now);
	if (paused && !*was_paused)
		g->paused_until_ns =
			now + g->request.svc->limits.pause_max * LMI_NS_PER_MS;
	if (!paused && *was_paused) {
		g->paused_until_ns = 0;
		if (g->ready_ns != UINT64_MAX)
			g->ready_ns = now; /* the limit first_token begins anew */
	}
	*left_ms = paused && g->paused_until_ns > now ? (g->paused_until_ns - now) / LMI_NS_PER_MS : 0;
	return LMD_OK;
}

bool lmi_svc_gen_is_paused(const struct lmi_svc_stream_writer *w)
{
	return ((const struct lmi_svc_generation *)w)->paused_until_ns != 0;
}
