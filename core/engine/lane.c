/* SPDX-License-Identifier: MIT
 *
 * Schedules steps on a device by class and virtual time. */
#include "core/engine/lane.h"

#include <assert.h>
#include <pthread.h>

#include "core/base/alloc.h"

static const uint32_t weight[LMI_N_CLASS] = {8, 4, 1};

/* ---- the state machine ---- */

void lmi_lane_state_init(struct lmi_lane_state *s)
{
	*s = (struct lmi_lane_state){.holder = LMI_LANE_MAX};
}

uint32_t lmi_lane_state_join(struct lmi_lane_state *s)
{
	for (uint32_t i = 0; i < LMI_LANE_MAX; i++) {
		if (s->m[i].used)
			continue;
		s->m[i] = (struct lmi_lane_member){.used = true, .vtime = s->floor};
		return i;
	}
	return LMI_LANE_MAX;
}

void lmi_lane_state_part(struct lmi_lane_state *s, uint32_t id)
{
	assert(s->m[id].used && !s->m[id].waits && s->holder != id);
	s->m[id].used = false;
}

void lmi_lane_state_want(struct lmi_lane_state *s, uint32_t id, enum lmi_class class)
{
	struct lmi_lane_member *m = &s->m[id];

	assert(m->used && !m->waits && s->holder != id);
	/* a member that was idle earns no credit: start at the virtual time of the others */
	if (m->vtime < s->floor)
		m->vtime = s->floor;
	m->waits = true;
	m->class = class;
	m->since = s->n_asked++;
}

static bool goes_before(const struct lmi_lane_member *a, const struct lmi_lane_member *b)
{
	return a->vtime != b->vtime ? a->vtime < b->vtime : a->since < b->since;
}

uint32_t lmi_lane_state_admit(struct lmi_lane_state *s)
{
	uint32_t best = LMI_LANE_MAX;

	if (s->holder != LMI_LANE_MAX)
		return LMI_LANE_MAX;
	for (uint32_t i = 0; i < LMI_LANE_MAX; i++) {
		if (!s->m[i].used || !s->m[i].waits)
			continue;
		if (best == LMI_LANE_MAX || goes_before(&s->m[i], &s->m[best]))
			best = i;
	}
	if (best == LMI_LANE_MAX)
		return best;
	s->m[best].waits = false;
	s->holder = best;
	if (s->m[best].vtime > s->floor)
		s->floor = s->m[best].vtime;
	return best;
}

void lmi_lane_state_leave(struct lmi_lane_state *s, uint64_t cost_ns)
{
	struct lmi_lane_member *m;

	assert(s->holder != LMI_LANE_MAX);
	m = &s->m[s->holder];
	m->vtime += cost_ns / weight[m->class] + 1;
	s->holder = LMI_LANE_MAX;
}

/* ---- with threads ---- */

struct lmi_lane {
	const struct lmd_host *host;
	pthread_mutex_t lock;
	pthread_cond_t turn[LMI_LANE_MAX];
	struct lmi_lane_state s;
	uint64_t began_ns;
};

enum lmd_status lmi_lane_create(struct lmi_lane **out, const struct lmd_host *host,
				struct lmd_error *err)
{
	struct lmi_lane *l = lmi_alloc(1, sizeof(*l));

	if (!l)
		return lmd_fail(err, LMD_NOMEM, "lane: no memory");
	l->host = host;
	(void)pthread_mutex_init(&l->lock, NULL); /* default attributes: cannot fail */
	for (int i = 0; i < LMI_LANE_MAX; i++)
		(void)pthread_cond_init(&l->turn[i], NULL);
	lmi_lane_state_init(&l->s);
	*out = l;
	return LMD_OK;
}

void lmi_lane_destroy(struct lmi_lane *l)
{
	if (!l)
		return;
	for (int i = 0; i < LMI_LANE_MAX; i++)
		(void)pthread_cond_destroy(&l->turn[i]);
	(void)pthread_mutex_destroy(&l->lock);
	lmi_free(l);
}

enum lmd_status lmi_lane_join(struct lmi_lane *l, uint32_t *id, struct lmd_error *err)
{
	*id = 0;
	if (!l)
		return LMD_OK;
	(void)pthread_mutex_lock(&l->lock);
	*id = lmi_lane_state_join(&l->s);
	(void)pthread_mutex_unlock(&l->lock);
	return *id < LMI_LANE_MAX ? LMD_OK
				  : lmd_fail(err, LMD_BUSY, "%d engines already share the device",
					     LMI_LANE_MAX);
}

void lmi_lane_part(struct lmi_lane *l, uint32_t id)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&l->lock);
	lmi_lane_state_part(&l->s, id);
	(void)pthread_mutex_unlock(&l->lock);
}

/* Called with the lock held. */
static void let_in(struct lmi_lane *l)
{
	uint32_t next = lmi_lane_state_admit(&l->s);

	if (next != LMI_LANE_MAX)
		(void)pthread_cond_signal(&l->turn[next]);
}

void lmi_lane_enter(struct lmi_lane *l, uint32_t id, enum lmi_class class)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&l->lock);
	lmi_lane_state_want(&l->s, id, class);
	let_in(l);
	while (l->s.holder != id)
		(void)pthread_cond_wait(&l->turn[id], &l->lock);
	l->began_ns = l->host->now_ns(l->host->ctx);
	(void)pthread_mutex_unlock(&l->lock);
}

void lmi_lane_leave(struct lmi_lane *l)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&l->lock);
	lmi_lane_state_leave(&l->s, l->host->now_ns(l->host->ctx) - l->began_ns);
	let_in(l);
	(void)pthread_mutex_unlock(&l->lock);
}
