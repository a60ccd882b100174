/* SPDX-License-Identifier: MIT
 *
 * The thread of a group of devices.  It takes the runs in turn: it waits until all ranks have
 * submitted theirs, then, for each exchange, until all are there, and lets them go on.  If a run was
 * refused or cancelled, or if a rank does not come, it lets the others go on at once with whatever is in
 * memory; their events report the failure.  So no device waits for ever, and none waits in a shader. */
#include <signal.h>
#include <time.h>

#include "group_impl.h"

#define POLL_NS 5000000u      /* between two looks at the cancellation of steps */
#define COME_NS 30000000000u  /* from the end of a rank's call to the next rank's call */
#define WORK_NS 600000000000u /* until all are at the next exchange */

/* Waits for a while, or until something has changed. */
static void pause_for(struct lmd_devgroup *g, uint64_t ns)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	(void)pthread_cond_timedwait(&g->moved, &g->lock, &t);
}

void vkb_group_let_go(const struct lmd_devgroup *g, const struct vkb_turn *t, uint32_t r,
		      uint32_t k)
{
	vkb_signal(g->ranks[r].dev, g->ranks[r].go, t->of[r].go0 + k + 1);
}

/* Called with the lock: the turn has failed because of a rank. */
static void fail(struct lmd_devgroup *g, struct vkb_turn *t, enum lmd_status st, uint32_t rank)
{
	t->status = st;
	g->failed[g->n_failed % VKB_FAILED].turn = t->number;
	g->failed[g->n_failed % VKB_FAILED].status = st;
	g->failed[g->n_failed % VKB_FAILED].rank = rank;
	g->n_failed++;
	for (uint32_t r = 0; r < g->n; r++)
		if (t->of[r].call == VKB_SUBMITTED)
			vkb_group_let_go(g, t, r, t->n_exchange - 1);
}

/* The first rank whose call is, or is not, of a kind; n: there is none. */
static uint32_t find(const struct lmd_devgroup *g, const struct vkb_turn *t, enum vkb_call call,
		     bool is)
{
	uint32_t r = 0;

	while (r < g->n && (t->of[r].call == call) != is)
		r++;
	return r;
}

/* A rank whose step was cancelled; n: none. */
static uint32_t find_cancelled(const struct lmd_devgroup *g, const struct vkb_turn *t)
{
	uint32_t r = 0;

	while (r < g->n && !(t->of[r].call == VKB_SUBMITTED && t->of[r].cancel &&
			     __atomic_load_n(t->of[r].cancel, __ATOMIC_RELAXED)))
		r++;
	return r;
}

/* Called with the lock: waits until all ranks have submitted.  A call may take long, when it makes pipelines. */
static void gather_calls(struct lmd_devgroup *g, struct vkb_turn *t)
{
	uint32_t missing;

	while ((missing = find(g, t, VKB_SUBMITTED, false)) < g->n && t->status == LMD_OK) {
		uint32_t refused = find(g, t, VKB_REFUSED, true), cancelled = find_cancelled(g, t);

		if (refused < g->n || cancelled < g->n)
			fail(g, t, LMD_CANCELLED, refused < g->n ? refused : cancelled);
		else if (find(g, t, VKB_BEGUN, true) == g->n &&
			 vkb_group_now(g) - t->called > COME_NS)
			fail(g, t, LMD_TIMEOUT, missing);
		else
			pause_for(g, POLL_NS);
	}
}

/* Waits until a rank is at exchange k. */
static enum lmd_status wait_for(struct lmd_devgroup *g, const struct vkb_turn *t, uint32_t r,
				uint32_t k, uint64_t start, uint32_t *failed)
{
	const struct vkb_rank *x = &g->ranks[r];
	const uint64_t value = t->of[r].here0 + k + 1;
	const VkSemaphoreWaitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		.semaphoreCount = 1,
		.pSemaphores = &x->here,
		.pValues = &value,
	};
	VkResult res;

	while ((res = x->dev->fn.WaitSemaphores(x->dev->handle, &info, POLL_NS)) == VK_TIMEOUT) {
		*failed = find_cancelled(g, t);
		if (*failed < g->n)
			return LMD_CANCELLED;
		*failed = r;
		if (vkb_group_now(g) - start > WORK_NS)
			return LMD_TIMEOUT;
	}
	*failed = r;
	return res == VK_SUCCESS ? LMD_OK : LMD_CANCELLED;
}

static enum lmd_status exchange(struct lmd_devgroup *g, const struct vkb_turn *t, uint32_t k,
				uint32_t *failed)
{
	const struct vkb_exchange *x = &t->list[k];
	const uint64_t start = vkb_group_now(g), rows = t->rows[x->space] / x->fold;
	enum lmd_status st = LMD_OK;

	for (uint32_t r = 0; r < g->n && st == LMD_OK; r++)
		st = wait_for(g, t, r, k, start, failed);
	if (st != LMD_OK)
		return st;
	*failed = find_cancelled(g, t);
	if (*failed < g->n)
		return LMD_CANCELLED;
	vkb_area_spread(t->area, (t->half + k) % 2, 4 * rows * x->columns);
	for (uint32_t r = 0; r < g->n; r++)
		vkb_group_let_go(g, t, r, k);
	return LMD_OK;
}

/* Called with the lock. */
static void take_turn(struct lmd_devgroup *g, struct vkb_turn *t)
{
	enum lmd_status st = LMD_OK;
	uint32_t failed = 0;

	gather_calls(g, t);
	if (t->status != LMD_OK)
		return;
	vkb_group_unlock(g);
	for (uint32_t k = 0; k < t->n_exchange && st == LMD_OK; k++)
		st = exchange(g, t, k, &failed);
	vkb_group_lock(g);
	if (st != LMD_OK)
		fail(g, t, st, failed);
}

static void *work(void *arg)
{
	struct lmd_devgroup *g = arg;

	vkb_group_lock(g);
	while (!g->stop) {
		if (g->n_begun == g->n_ended) {
			(void)pthread_cond_wait(&g->moved, &g->lock);
			continue;
		}
		take_turn(g, &g->turns[(g->n_ended + 1) % VKB_TURNS]);
		g->n_ended++;
		(void)pthread_cond_broadcast(&g->moved);
	}
	vkb_group_unlock(g);
	return NULL;
}

/* Signals go to threads of the host. */
bool vkb_group_start(struct lmd_devgroup *g)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	g->has_thread = !pthread_create(&g->thread, NULL, work, g);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return g->has_thread;
}
