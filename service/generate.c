/* SPDX-License-Identifier: MIT
 *
 * Generations all together: their deadlines, and what is done to all of them. */
#include "service/generate_work.h"

static uint64_t deadline_of(const struct lmi_gen_work *g)
{
	uint64_t when = g->deadline_ns;

	if (g->stopping)
		return UINT64_MAX;
	if (!g->n_out && g->first_ns < when)
		when = g->first_ns;
	return when;
}

static void expire(struct lmi_gen_work *g, uint64_t now)
{
	struct lmi_end end = {.kind = LMI_END_DONE, .why = LMI_WIRE_FINISH_DEADLINE};

	if (g->deadline_ns > now) {
		end.kind = LMI_END_ERROR;
		(void)lmd_fail(&end.error, LMD_TIMEOUT, "no token came within %llu ms",
			       (unsigned long long)g->svc->limits.first_token_ms);
	}
	lmi_gen_stop(g, now, &end);
}

void lmi_generate_turn(struct lmi_service *svc, uint64_t now)
{
	struct lmi_gen_work *next;

	for (struct lmi_gen_work *g = svc->works; g; g = next) {
		next = g->next;
		if (g->cancel_waits)
			g->cancel_waits = lmi_engine_cancel(g->res->engine, g->cmd) != LMD_OK;
		else if (deadline_of(g) <= now)
			expire(g, now);
	}
}

uint64_t lmi_generate_deadline(const struct lmi_service *svc)
{
	uint64_t when = UINT64_MAX;

	for (const struct lmi_gen_work *g = svc->works; g; g = g->next) {
		uint64_t end = g->cancel_waits ? svc->now + LMI_MS : deadline_of(g);

		when = end < when ? end : when;
	}
	for (const struct lmi_resident *r = svc->residents; r; r = r->next)
		when = r->doze_ns && r->doze_ns < when ? r->doze_ns : when;
	return when;
}

/* Until when its next token changes nothing. */
static uint64_t settled_until(const struct lmi_gen_work *g)
{
	const struct lmi_stream *s = g->work.stream;

	if (!s || s->given_up || g->stopping)
		return UINT64_MAX;
	return g->n_out ? lmi_stream_settled_until(s) : 0; /* the first ends a deadline */
}

void lmi_generate_doze(struct lmi_service *svc, uint64_t now)
{
	uint64_t longest = now + svc->limits.hold_default * LMI_MS;

	for (struct lmi_resident *r = svc->residents; r; r = r->next)
		r->doze_ns = r->n_running ? UINT64_MAX : 0;
	for (const struct lmi_gen_work *g = svc->works; g; g = g->next) {
		uint64_t until;

		if (g->state != LMI_GEN_RUN)
			continue;
		until = settled_until(g);
		/* without a reader nothing is due: what comes is fetched now and then */
		until = until == UINT64_MAX ? longest : until;
		g->res->doze_ns = until < g->res->doze_ns ? until : g->res->doze_ns;
	}
	for (struct lmi_resident *r = svc->residents; r; r = r->next) {
		if (r->doze_ns <= now)
			r->doze_ns = 0;
		if (r->state == LMI_RES_READY || r->state == LMI_RES_DRAINING)
			lmi_engine_doze(r->engine, r->doze_ns);
	}
}

void lmi_generate_cancel_all(struct lmi_service *svc, uint64_t now, const struct lmi_resident *r,
			     enum lmi_wire_cancel_reason reason)
{
	struct lmi_gen_work *next;

	for (struct lmi_gen_work *g = svc->works; g; g = next) {
		next = g->next;
		if (!r || g->res == r)
			lmi_gen_cancel(&g->work, now, reason);
	}
}

void lmi_generate_refuse_waiting(struct lmi_service *svc, uint64_t now)
{
	struct lmi_gen_work *next;
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_CANCELLED, "shutting down");
	for (struct lmi_gen_work *g = svc->works; g; g = next) {
		next = g->next;
		if (g->state != LMI_GEN_RUN)
			lmi_gen_fail(g, now, &err, 0);
	}
}

uint32_t lmi_generate_n_waiting(const struct lmi_service *svc, const struct lmi_resident *r)
{
	uint32_t n = 0;

	for (const struct lmi_gen_work *g = svc->works; g; g = g->next)
		n += g->res == r && g->state != LMI_GEN_RUN;
	return n;
}
