/* SPDX-License-Identifier: MIT
 *
 * Schedules steps on a device by class and virtual time. */
#include "core/engine/device_arbiter.h"

#include <assert.h>
#include <pthread.h>

#include "core/base/alloc.h"

static const uint32_t weight[LMI_ENGINE_N_CLASS] = {8, 4, 1};

/* ---- the state machine ---- */

void lmi_device_arbiter_state_init(struct lmi_device_arbiter_state *s)
{
	*s = (struct lmi_device_arbiter_state){.holder = LMI_DEVICE_ARBITER_MAX};
}

uint32_t lmi_device_arbiter_state_join(struct lmi_device_arbiter_state *s)
{
	for (uint32_t i = 0; i < LMI_DEVICE_ARBITER_MAX; i++) {
		if (s->m[i].used)
			continue;
		s->m[i] = (struct lmi_device_arbiter_member){.used = true, .vtime = s->floor};
		return i;
	}
	return LMI_DEVICE_ARBITER_MAX;
}

void lmi_device_arbiter_state_leave(struct lmi_device_arbiter_state *s, uint32_t id)
{
	assert(s->m[id].used && !s->m[id].waits && s->holder != id);
	s->m[id].used = false;
}

void lmi_device_arbiter_state_request(struct lmi_device_arbiter_state *s, uint32_t id,
				      enum lmi_engine_class class)
{
	struct lmi_device_arbiter_member *m = &s->m[id];

	assert(m->used && !m->waits && s->holder != id);
	/* a member that was idle earns no credit: start at the virtual time of the others */
	if (m->vtime < s->floor)
		m->vtime = s->floor;
	m->waits = true;
	m->class = class;
	m->since = s->n_asked++;
}

static bool goes_before(const struct lmi_device_arbiter_member *a,
			const struct lmi_device_arbiter_member *b)
{
	return a->vtime != b->vtime ? a->vtime < b->vtime : a->since < b->since;
}

uint32_t lmi_device_arbiter_state_admit(struct lmi_device_arbiter_state *s)
{
	uint32_t best = LMI_DEVICE_ARBITER_MAX;

	if (s->holder != LMI_DEVICE_ARBITER_MAX)
		return LMI_DEVICE_ARBITER_MAX;
	for (uint32_t i = 0; i < LMI_DEVICE_ARBITER_MAX; i++) {
		if (!s->m[i].used || !s->m[i].waits)
			continue;
		if (best == LMI_DEVICE_ARBITER_MAX || goes_before(&s->m[i], &s->m[best]))
			best = i;
	}
	if (best == LMI_DEVICE_ARBITER_MAX)
		return best;
	s->m[best].waits = false;
	s->holder = best;
	if (s->m[best].vtime > s->floor)
		s->floor = s->m[best].vtime;
	return best;
}

void lmi_device_arbiter_state_release(struct lmi_device_arbiter_state *s, uint64_t cost_ns)
{
	struct lmi_device_arbiter_member *m;

	assert(s->holder != LMI_DEVICE_ARBITER_MAX);
	m = &s->m[s->holder];
	m->vtime += cost_ns / weight[m->class] + 1;
	s->holder = LMI_DEVICE_ARBITER_MAX;
}

/* ---- with threads ---- */

struct lmi_device_arbiter {
	const struct lmd_host *host;
	pthread_mutex_t lock;
	pthread_cond_t turn[LMI_DEVICE_ARBITER_MAX];
	struct lmi_device_arbiter_state s;
	uint64_t began_ns;
};

enum lmd_status lmi_device_arbiter_create(struct lmi_device_arbiter **out,
					  const struct lmd_host *host, struct lmd_error *err)
{
	struct lmi_device_arbiter *l = lmi_alloc(1, sizeof(*l));

	if (!l)
		return lmd_fail(err, LMD_NOMEM, "lane: no memory");
	l->host = host;
	(void)pthread_mutex_init(&l->lock, NULL); /* default attributes: cannot fail */
	for (int i = 0; i < LMI_DEVICE_ARBITER_MAX; i++)
		(void)pthread_cond_init(&l->turn[i], NULL);
	lmi_device_arbiter_state_init(&l->s);
	*out = l;
	return LMD_OK;
}

void lmi_device_arbiter_destroy(struct lmi_device_arbiter *l)
{
	if (!l)
		return;
	for (int i = 0; i < LMI_DEVICE_ARBITER_MAX; i++)
		(void)pthread_cond_destroy(&l->turn[i]);
	(void)pthread_mutex_destroy(&l->lock);
	lmi_free(l);
}

enum lmd_status lmi_device_arbiter_join(struct lmi_device_arbiter *l, uint32_t *id,
					struct lmd_error *err)
{
	*id = 0;
	if (!l)
		return LMD_OK;
	(void)pthread_mutex_lock(&l->lock);
	*id = lmi_device_arbiter_state_join(&l->s);
	(void)pthread_mutex_unlock(&l->lock);
	return *id < LMI_DEVICE_ARBITER_MAX
		       ? LMD_OK
		       : lmd_fail(err, LMD_BUSY, "%d engines already share the device",
				  LMI_DEVICE_ARBITER_MAX);
}

void lmi_device_arbiter_leave(struct lmi_device_arbiter *l, uint32_t id)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&l->lock);
	lmi_device_arbiter_state_leave(&l->s, id);
	(void)pthread_mutex_unlock(&l->lock);
}

/* Called with the lock held. */
static void let_in(struct lmi_device_arbiter *l)
{
	uint32_t next = lmi_device_arbiter_state_admit(&l->s);

	if (next != LMI_DEVICE_ARBITER_MAX)
		(void)pthread_cond_signal(&l->turn[next]);
}

void lmi_device_arbiter_acquire(struct lmi_device_arbiter *l, uint32_t id,
				enum lmi_engine_class class)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&l->lock);
	lmi_device_arbiter_state_request(&l->s, id, class);
	let_in(l);
	while (l->s.holder != id)
		(void)pthread_cond_wait(&l->turn[id], &l->lock);
	l->began_ns = l->host->now_ns(l->host->ctx);
	(void)pthread_mutex_unlock(&l->lock);
}

bool lmi_device_arbiter_try_acquire(struct lmi_device_arbiter *l, uint32_t id,
				    enum lmi_engine_class class)
{
	bool free;

	if (!l)
		return true;
	(void)pthread_mutex_lock(&l->lock);
	free = l->s.holder == LMI_DEVICE_ARBITER_MAX; /* otherwise somebody may wait */
	if (free) {
		lmi_device_arbiter_state_request(&l->s, id, class);
		(void)lmi_device_arbiter_state_admit(&l->s);
		l->began_ns = l->host->now_ns(l->host->ctx);
	}
	(void)pthread_mutex_unlock(&l->lock);
	return free;
}

void lmi_device_arbiter_release(struct lmi_device_arbiter *l)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&l->lock);
	lmi_device_arbiter_state_release(&l->s, l->host->now_ns(l->host->ctx) - l->began_ns);
	let_in(l);
	(void)pthread_mutex_unlock(&l->lock);
}

bool lmi_device_arbiter_is_wanted(struct lmi_device_arbiter *l)
{
	bool wanted = false;

	if (!l)
		return false;
	(void)pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < LMI_DEVICE_ARBITER_MAX; i++)
		wanted |= l->s.m[i].used && l->s.m[i].waits;
	(void)pthread_mutex_unlock(&l->lock);
	return wanted;
}
