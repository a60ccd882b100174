/* SPDX-License-Identifier: MIT
 *
 * All generations together: their deadlines, and operations on all of them.
 *
 * A generation that has no token yet is not timed out while it makes progress: the limit
 * first_token bounds the time without progress.  Progress is taken from the engines' counters,
 * which are read in every tick and at least LOOKS times within the limit while a generation waits
 * for its first token. */
#include "service/generate_work.h"

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "service/stream.h"

#define LOOKS 4u

static bool has_engine(const struct lmi_svc_loaded_model *r)
{
	return r->state == LMI_SVC_MODEL_READY || r->state == LMI_SVC_MODEL_DRAINING;
}

static void watch_progress(struct lmi_service *svc, uint64_t now)
{
	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next) {
		uint32_t n = has_engine(r) ? lmi_engine_progress(r->engine) : 0;

		if (n != r->n_progress)
			r->progress_ns = now;
		r->n_progress = n;
	}
	svc->watched_ns = now;
}

static uint64_t devices_of(const struct lmi_svc_loaded_model *r)
{
	struct lmi_engine_info e;

	lmi_engine_info(r->engine, &e);
	return e.devices;
}

/* Returns when the generation last made progress.  A running one depends on all engines of its
 * device, which share it; a queued one depends on any engine that runs a generation before it. */
static uint64_t last_progress(const struct lmi_svc_generation *g)
{
	uint64_t devices = g->state == LMI_SVC_GEN_RUN ? devices_of(g->loaded) : UINT64_MAX;
	uint64_t last = g->ready_ns;

	for (const struct lmi_svc_loaded_model *r = g->request.svc->loaded_models; r; r = r->next)
		if (has_engine(r) && devices_of(r) & devices &&
		    r->progress_ns > last)
			last = r->progress_ns;
	return last;
}

/* Returns whether its model is loaded and it has no token yet. */
static bool awaits_first_token(const struct lmi_svc_generation *g)
{
	return !g->stopping && g->n_out == g->n_resumed && g->ready_ns != UINT64_MAX;
}

static uint64_t deadline_of(const struct lmi_svc_generation *g)
{
	uint64_t when = g->deadline_ns, first;

	if (g->stopping)
		return UINT64_MAX;
	if (g->paused_until_ns)
		return g->paused_until_ns < when ? g->paused_until_ns : when;
	if (!awaits_first_token(g))
		return when;
	first = last_progress(g) + g->request.svc->limits.first_token_ms * LMI_NS_PER_MS;
	return first < when ? first : when;
}

static void say_stuck(struct lmd_error *err, uint64_t ms)
{
	(void)lmd_fail(err, LMD_TIMEOUT,
		       "timed out: no progress for %llu %s before the first token (limit "
		       "first_token). The device hangs or is very slow: check the log, use a "
		       "smaller model, or raise first_token in [limits]",
		       (unsigned long long)(ms % 1000 ? ms : ms / 1000), ms % 1000 ? "ms" : "s");
}

static void expire(struct lmi_svc_generation *g, uint64_t now)
{
	struct lmi_svc_end end = {.kind = LMI_SVC_END_DONE, .why = LMI_WIRE_FINISH_DEADLINE};
	bool stuck = g->deadline_ns > now, runs = g->state == LMI_SVC_GEN_RUN;

	if (stuck && g->paused_until_ns) {
		lmi_svc_gen_cancel(&g->writer, now, LMI_WIRE_CANCEL_REASON_PAUSED);
		return;
	}
	if (stuck) {
		end.kind = LMI_SVC_END_ERROR;
		say_stuck(&end.error, g->request.svc->limits.first_token_ms);
	}
	lmi_svc_gen_stop(g, now, &end);
	/* tell the client now, since a step that hangs may never end */
	if (stuck && runs)
		lmi_svc_stream_end(g->request.svc, &g->writer, now, &end);
}

void lmi_svc_generate_tick(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_generation *next;

	watch_progress(svc, now);
	for (struct lmi_svc_generation *g = svc->generations; g; g = next) {
		next = g->next;
		if (g->cancel_waits)
			g->cancel_waits = lmi_engine_cancel(g->loaded->engine, g->cmd) != LMD_OK;
		else if (deadline_of(g) <= now)
			expire(g, now);
		else if (g->again_ns && g->again_ns <= now)
			lmi_svc_gen_try_again(g, now);
	}
}

uint64_t lmi_svc_generate_deadline(const struct lmi_service *svc)
{
	uint64_t next_look = svc->watched_ns + svc->limits.first_token_ms * LMI_NS_PER_MS / LOOKS;
	uint64_t when = UINT64_MAX;

	for (const struct lmi_svc_generation *g = svc->generations; g; g = g->next) {
		uint64_t end = g->cancel_waits ? svc->now + LMI_NS_PER_MS : deadline_of(g);

		when = end < when ? end : when;
		when = g->again_ns && g->again_ns < when ? g->again_ns : when;
		if (awaits_first_token(g) && next_look < when)
			when = next_look;
	}
	for (const struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next)
		if (r->defer_wakeups_until_ns && r->defer_wakeups_until_ns < when)
			when = r->defer_wakeups_until_ns;
	return when;
}

/* Returns until when no reader needs its next token. */
static uint64_t settled_until(const struct lmi_svc_generation *g)
{
	const struct lmi_svc_stream *s = g->writer.stream;

	if (!s || s->given_up || g->stopping)
		return UINT64_MAX;
	return g->n_out ? lmi_svc_stream_wakeup_due(s)
			: 0; /* the first token ends the limit first_token */
}

void lmi_svc_generate_defer_wakeups(struct lmi_service *svc, uint64_t now)
{
	uint64_t longest = now + svc->limits.hold_default * LMI_NS_PER_MS;

	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next)
		r->defer_wakeups_until_ns = r->n_running ? UINT64_MAX : 0;
	for (const struct lmi_svc_generation *g = svc->generations; g; g = g->next) {
		uint64_t until;

		if (g->state != LMI_SVC_GEN_RUN)
			continue;
		until = settled_until(g);
		/* without a reader nothing is due; events are still fetched from time to time */
		until = until == UINT64_MAX ? longest : until;
		if (until < g->loaded->defer_wakeups_until_ns)
			g->loaded->defer_wakeups_until_ns = until;
	}
	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next) {
		if (r->defer_wakeups_until_ns <= now)
			r->defer_wakeups_until_ns = 0;
		if (r->state == LMI_SVC_MODEL_READY || r->state == LMI_SVC_MODEL_DRAINING)
			lmi_engine_defer_wakeups(r->engine, r->defer_wakeups_until_ns);
	}
}

void lmi_svc_generate_cancel_all(struct lmi_service *svc, uint64_t now,
				 const struct lmi_svc_loaded_model *r,
				 enum lmi_wire_cancel_reason reason)
{
	struct lmi_svc_generation *next;

	for (struct lmi_svc_generation *g = svc->generations; g; g = next) {
		next = g->next;
		if (!r || g->loaded == r)
			lmi_svc_gen_cancel(&g->writer, now, reason);
	}
}

void lmi_svc_generate_fail_queued(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_generation *next;
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_CANCELLED, "shutting down");
	for (struct lmi_svc_generation *g = svc->generations; g; g = next) {
		next = g->next;
		/* a durable one goes on after the next start */
		if (g->state != LMI_SVC_GEN_RUN && (!g->durable || g->request.reply))
			lmi_svc_gen_fail(g, now, &err, 0);
	}
}

uint32_t lmi_svc_generate_n_waiting(const struct lmi_service *svc,
				    const struct lmi_svc_loaded_model *r)
{
	uint32_t n = 0;

	for (const struct lmi_svc_generation *g = svc->generations; g; g = g->next)
		n += g->loaded == r && g->state != LMI_SVC_GEN_RUN;
	return n;
}

/* ---- those that run ---- */

static void describe(const struct lmi_service *svc, const struct lmi_svc_generation *g,
		     struct lmi_wire_running_generation *out, struct lmd_arena *arena)
{
	const struct lmi_wire_req_generate *q = lmi_svc_gen_request(g);
	struct lmi_wire_setting *v = lmi_arena_array(arena, LMI_SVC_SETTINGS_MAX, sizeof(*v));

	*out = (struct lmi_wire_running_generation){
		.model = lmi_svc_str(lmi_svc_model_name(g->loaded->model)),
		.number = (int64_t)g->serial,
		.n_prompt = (int64_t)g->n_encoded,
		.n_out = g->n_out,
		.seed = (int64_t)(g->seed & INT64_MAX),
		.speculative = (q->has_draft_max ? q->draft_max : svc->o.draft_max) > 0,
		.settings = v,
		.n_settings = v ? lmi_svc_settings_list(v, q, &g->used) : 0};
}

uint32_t lmi_svc_generate_running(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r,
				  const struct lmi_svc_principal *who,
				  struct lmi_wire_running_generation *out, uint32_t max,
				  struct lmd_arena *arena)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(who);
	const struct lmi_svc_generation *oldest = svc->generations;
	uint32_t n = 0;

	while (oldest && oldest->next)
		oldest = oldest->next;
	for (const struct lmi_svc_generation *g = oldest; g && n < max; g = g->prev)
		if (g->state == LMI_SVC_GEN_RUN && g->loaded == r && !g->ended &&
		    (who->role == LMI_SVC_ROLE_ADMIN ||
		     lmi_svc_owner_same(&g->request.user->owner, &owner)))
			describe(svc, g, &out[n++], arena);
	return n;
}
