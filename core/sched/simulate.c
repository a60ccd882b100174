/* SPDX-License-Identifier: MIT
 *
 * The scheduler in simulated time; see simulate.h. */
#include "core/sched/simulate.h"

#include <stdio.h>

#include "core/base/alloc.h"

struct sim {
	const struct lmi_sched_sim_opts *o;
	struct lmi_kv *kv;
	struct lmi_sched *s;
	uint32_t *request_of; /* [n_request] by the scheduler's sequence */
	uint32_t *n_token;    /* [n_request] */
	uint64_t *last_ns;    /* [n_request] time of the last token, or of the arrival */
	uint64_t now_ns;
	uint32_t n_arrived, n_ended, n_refused; /* refused: among those that have ended */
	lmi_sched_sim_token_fn token;
	void *arg;
};

static enum lmd_status open_sim(struct sim *m, struct lmd_error *err)
{
	static const struct lmd_group group = {
		.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1};
	const struct lmi_sched_sim_opts *o = m->o;
	struct lmi_kv_opts k = {.groups = &group,
				.n_group = 1,
				.page_tokens = o->page_tokens,
				.n_seq = o->n_seq,
				.n_ctx = o->n_ctx,
				.n_page = {o->n_page}};
	struct lmi_sched_opts so = {
		.n_max = o->n_max && o->n_max < o->n_request ? o->n_max : o->n_request,
		.n_batch = o->n_batch,
		.n_out = o->n_batch,
		.target_ns = {o->target_ns[0], o->target_ns[1], o->target_ns[2]},
		.client_slowdown_percent = o->client_slowdown_percent};
	enum lmd_status st;

	if (!o->n_request || o->n_request > LMI_SCHED_SIM_REQUESTS_MAX)
		return lmd_fail(err, LMD_INVALID, "%u requests: must be 1 to %u", o->n_request,
				LMI_SCHED_SIM_REQUESTS_MAX);
	m->request_of = lmi_alloc(o->n_request, sizeof(*m->request_of));
	m->n_token = lmi_alloc(o->n_request, sizeof(*m->n_token));
	m->last_ns = lmi_alloc(o->n_request, sizeof(*m->last_ns));
	if (!m->request_of || !m->n_token || !m->last_ns)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u requests", o->n_request);
	st = lmi_kv_create(&m->kv, &k, err);
	so.kv = m->kv;
	return st == LMD_OK ? lmi_sched_create(&m->s, &so, err) : st;
}

static void close_sim(struct sim *m)
{
	lmi_sched_destroy(m->s);
	lmi_kv_destroy(m->kv);
	lmi_free(m->request_of);
	lmi_free(m->n_token);
	lmi_free(m->last_ns);
}

/* Submits the requests that have arrived. */
static enum lmd_status arrive(struct sim *m, struct lmd_error *err)
{
	while (m->n_arrived < m->o->n_request &&
	       m->o->request[m->n_arrived].at_ns <= m->now_ns) {
		const struct lmi_sched_sim_request *r = &m->o->request[m->n_arrived];
		struct lmi_sched_seq o = {.n_known = r->n_prompt,
					  .n_limit = r->n_prompt + r->n_out - 1,
					  .client = m->o->in_order ? 0 : r->client,
					  .class = m->o->in_order ? LMI_SCHED_NORMAL : r->class,
					  .share = LMI_SCHED_NO_SEQ};
		uint32_t seq;
		enum lmd_status st = lmi_sched_submit(m->s, &o, &seq, err);

		if (st == LMD_BUSY) {
			m->n_arrived++;
			m->n_ended++;
			m->n_refused++;
			continue;
		}
		if (st != LMD_OK) {
			char which[32];

			(void)snprintf(which, sizeof(which), "request %u", m->n_arrived + 1);
			lmd_error_prefix(err, which);
			return st;
		}
		m->request_of[seq] = m->n_arrived;
		m->last_ns[m->n_arrived++] = r->at_ns;
	}
	return LMD_OK;
}

static uint64_t time_of(const struct lmi_sched_sim_opts *o, const struct lmi_sched_step *step)
{
	double ns = o->fixed_ns + o->row_ns * step->n_row;

	for (uint32_t k = 0; k < step->n_part; k++) {
		const struct lmi_sched_part *p = &step->parts[k];

		ns += o->pair_ns * p->n * (p->first + p->n / 2.0);
	}
	return (uint64_t)ns;
}

/* A sequence has a new token: it goes on, or ends. */
static void take_token(struct sim *m, uint32_t seq)
{
	uint32_t i = m->request_of[seq];

	m->token(m->arg, i, ++m->n_token[i], m->now_ns - m->last_ns[i]);
	m->last_ns[i] = m->now_ns;
	if (m->n_token[i] < m->o->request[i].n_out) {
		(void)lmi_sched_grow(m->s, seq);
		return;
	}
	lmi_sched_remove(m->s, seq);
	m->n_ended++;
}

/* Runs a step; returns false if there is nothing to compute. */
static bool run_step(struct sim *m, struct lmi_sched_sim_totals *out)
{
	struct lmi_sched_step step;
	uint64_t ns;

	if (!lmi_sched_next(m->s, NULL, &step))
		return false;
	ns = time_of(m->o, &step);
	m->now_ns += ns;
	out->busy_ns += ns;
	lmi_sched_commit(m->s, true, NULL);
	lmi_sched_measure(m->s, step.n_row, step.bound_ns, ns);
	for (uint32_t k = 0; k < step.n_part; k++)
		if (step.parts[k].n_out)
			take_token(m, step.parts[k].seq);
	out->end_ns = m->now_ns;
	m->now_ns += (uint64_t)m->o->host_ns;
	return true;
}

static enum lmd_status run(struct sim *m, struct lmi_sched_sim_totals *out, struct lmd_error *err)
{
	while (m->n_ended < m->o->n_request) {
		enum lmd_status st = arrive(m, err);
		uint64_t next_ns;

		if (st != LMD_OK)
			return st;
		if (run_step(m, out))
			continue;
		if (m->n_arrived == m->o->n_request)
			return lmd_fail(err, LMD_INTERNAL, "%u requests never ended",
					m->o->n_request - m->n_ended);
		next_ns = m->o->request[m->n_arrived].at_ns;
		out->empty_ns += next_ns - m->now_ns;
		m->now_ns = next_ns;
	}
	lmi_sched_stats(m->s, &out->stats);
	out->n_refused = m->n_refused;
	return LMD_OK;
}

enum lmd_status lmi_sched_simulate(const struct lmi_sched_sim_opts *o, lmi_sched_sim_token_fn token,
				   void *arg, struct lmi_sched_sim_totals *out,
				   struct lmd_error *err)
{
	struct sim m = {.o = o, .token = token, .arg = arg};
	enum lmd_status st;

	*out = (struct lmi_sched_sim_totals){0};
	st = open_sim(&m, err);
	if (st == LMD_OK)
		st = run(&m, out, err);
	close_sim(&m);
	return st;
}
