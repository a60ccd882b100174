/* SPDX-License-Identifier: MIT
 *
 * Groups of devices: creating them, and the runs of their ranks, which the group's thread (group_thread.c) brings
 * together. */
#include <string.h>

#include "group_impl.h"

/* ---- creating ---- */

static enum lmd_status make_semaphore(struct vkb_dev *dev, VkSemaphore *out, struct lmd_error *err)
{
	const VkSemaphoreTypeCreateInfo timeline = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
	};
	const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
					    .pNext = &timeline};
	VkResult r = dev->fn.CreateSemaphore(dev->handle, &info, NULL, out);

	return r == VK_SUCCESS ? LMD_OK : vkb_fail(err, r, "making a group of devices");
}

static enum lmd_status check(void *const *states, uint32_t n, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (n < 2 || n > VKB_MAX_PEER)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"vulkan: a group of %u devices; 2 to %u are possible", n,
				VKB_MAX_PEER);
	for (uint32_t r = 0; r < n && st == LMD_OK; r++) {
		st = vkb_alive(states[r], err);
		for (uint32_t k = 0; k < r && st == LMD_OK; k++)
			if (states[k] == states[r])
				st = lmd_fail(err, LMD_INVALID,
					      "vulkan: ranks %u and %u of a group are one device",
					      k, r);
	}
	return st;
}

enum lmd_status vkb_group_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				 struct lmd_error *err)
{
	enum lmd_status st = check(states, n, err);
	const struct lmd_host *h;
	struct lmd_devgroup *g;
	pthread_condattr_t attr;

	if (st != LMD_OK)
		return st;
	h = ((const struct vkb_dev *)states[0])->host;
	g = h->alloc(h->ctx, sizeof(*g));
	if (!g)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a group of %u devices", n);
	g->host = h;
	g->n = n;
	(void)pthread_mutex_init(&g->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&g->moved, &attr);
	(void)pthread_condattr_destroy(&attr);
	for (uint32_t r = 0; r < n && st == LMD_OK; r++) {
		g->ranks[r].dev = states[r];
		st = make_semaphore(states[r], &g->ranks[r].here, err);
		if (st == LMD_OK)
			st = make_semaphore(states[r], &g->ranks[r].go, err);
	}
	if (st == LMD_OK && !vkb_group_start(g))
		st = lmd_fail(err, LMD_NOMEM, "vulkan: no thread for a group of devices");
	if (st != LMD_OK) {
		vkb_group_destroy(g);
		return st;
	}
	*out = g;
	return LMD_OK;
}

void vkb_group_destroy(struct lmd_devgroup *g)
{
	if (!g)
		return;
	vkb_group_lock(g);
	g->stop = true;
	(void)pthread_cond_broadcast(&g->moved);
	vkb_group_unlock(g);
	if (g->has_thread)
		(void)pthread_join(g->thread, NULL);
	for (uint32_t r = 0; r < g->n && g->ranks[r].dev; r++) {
		struct vkb_dev *dev = g->ranks[r].dev;

		vkb_queues_forget(dev, g);
		dev->fn.DestroySemaphore(dev->handle, g->ranks[r].here, NULL);
		dev->fn.DestroySemaphore(dev->handle, g->ranks[r].go, NULL);
	}
	while (g->old) {
		struct vkb_area *a = g->old;

		g->old = a->next;
		vkb_area_free(a);
	}
	vkb_area_free(g->area);
	(void)pthread_mutex_destroy(&g->lock);
	(void)pthread_cond_destroy(&g->moved);
	g->host->free(g->host->ctx, g);
}

enum lmd_status vkb_group_check(const struct lmd_devgroup *g, const struct vkb_dev *dev,
				uint32_t rank, uint32_t n, struct lmd_error *err)
{
	if (!g)
		return lmd_fail(err, LMD_INVALID, "vulkan: a collective needs a group of devices");
	if (n != g->n || rank >= n || g->ranks[rank].dev != dev)
		return lmd_fail(
			err, LMD_INVALID,
			"vulkan: the plan is for rank %u of %u, the device is not that rank of a "
			"group of %u",
			rank, n, g->n);
	return LMD_OK;
}

enum lmd_status vkb_group_reserve(struct lmd_devgroup *g, uint64_t bytes, struct lmd_error *err)
{
	struct vkb_dev *devs[VKB_MAX_PEER];
	struct vkb_area *a = NULL;
	enum lmd_status st = LMD_OK;

	for (uint32_t r = 0; r < g->n; r++)
		devs[r] = g->ranks[r].dev;
	vkb_group_lock(g);
	if (!g->area || g->area->part_bytes < bytes) {
		st = vkb_area_make(devs, g->n, bytes, &a, err);
		if (st == LMD_OK && g->area) {
			g->area->next = g->old;
			g->old = g->area;
		}
		g->area = st == LMD_OK ? a : g->area;
	}
	vkb_group_unlock(g);
	return st;
}

/* ---- runs ---- */

static struct vkb_turn *turn_of(struct lmd_devgroup *g, uint64_t number)
{
	return &g->turns[number % VKB_TURNS];
}

static enum lmd_status stopped(const struct lmd_devgroup *g, uint32_t rank, struct lmd_error *err)
{
	return lmd_fail(err, LMD_CANCELLED, "vulkan: another rank of %u failed, so rank %u stops",
			g->n, rank);
}

/* Called with the lock: the first rank of a turn begins. */
static void open_turn(struct lmd_devgroup *g, uint64_t number, uint32_t n_exchange)
{
	while (number > g->n_ended + VKB_TURNS)
		(void)pthread_cond_wait(&g->moved, &g->lock);
	*turn_of(g, number) = (struct vkb_turn){
		.number = number, .n_exchange = n_exchange, .half = g->half, .area = g->area};
	g->half = (g->half + n_exchange) % 2;
	g->n_begun = number;
	(void)pthread_cond_broadcast(&g->moved);
}

enum lmd_status vkb_group_begin(struct lmd_devgroup *g, uint32_t rank, uint32_t n_exchange,
				struct vkb_meeting *out, struct lmd_error *err)
{
	struct vkb_rank *x = &g->ranks[rank];
	enum lmd_status st = LMD_OK;
	struct vkb_turn *t;
	uint64_t number;

	vkb_group_lock(g);
	number = ++x->n_turn;
	if (number > g->n_begun)
		open_turn(g, number, n_exchange);
	t = turn_of(g, number);
	if (t->number != number || t->status != LMD_OK || t->n_exchange != n_exchange) {
		st = stopped(g, rank, err);
		if (t->number == number && t->of[rank].call == VKB_NOT_CALLED)
			t->of[rank].call = VKB_REFUSED;
	} else {
		*out = (struct vkb_meeting){
			.turn = number,
			.here = x->here,
			.go = x->go,
			.here0 = x->here_value,
			.go0 = x->go_value,
			.n_exchange = n_exchange,
			.note = {.group = g, .rank = rank, .first = number, .last = number},
			.area = t->area->of[rank].address,
			.part_bytes = (uint32_t)t->area->part_bytes,
			.half = t->half};
		t->of[rank].call = VKB_BEGUN;
		t->called = vkb_group_now(g);
		t->of[rank].here0 = x->here_value;
		t->of[rank].go0 = x->go_value;
		x->here_value += n_exchange;
		x->go_value += n_exchange;
	}
	(void)pthread_cond_broadcast(&g->moved);
	vkb_group_unlock(g);
	return st;
}

void vkb_group_submitted(struct lmd_devgroup *g, uint32_t rank, uint64_t turn,
			 const struct vkb_exchange *list, const uint32_t *rows,
			 const volatile int32_t *cancel)
{
	struct vkb_turn *t = turn_of(g, turn);

	vkb_group_lock(g);
	t->list = list;
	memcpy(t->rows, rows, sizeof(t->rows));
	t->of[rank].cancel = cancel;
	t->of[rank].call = VKB_SUBMITTED;
	t->called = vkb_group_now(g);
	if (t->status != LMD_OK) /* meanwhile */
		vkb_group_let_go(g, t, rank, t->n_exchange - 1);
	(void)pthread_cond_broadcast(&g->moved);
	vkb_group_unlock(g);
}

void vkb_group_refuse(struct lmd_devgroup *g, uint32_t rank, uint64_t turn)
{
	vkb_group_lock(g);
	turn_of(g, turn)->of[rank].call = VKB_REFUSED;
	(void)pthread_cond_broadcast(&g->moved);
	vkb_group_unlock(g);
}

enum lmd_status vkb_group_result(const struct vkb_note *note, struct lmd_error *err)
{
	struct lmd_devgroup *g = note->group;
	enum lmd_status st = LMD_OK;

	if (!g)
		return LMD_OK;
	vkb_group_lock(g);
	for (uint32_t i = 0; i < VKB_FAILED && st == LMD_OK; i++) {
		if (g->failed[i].turn < note->first || g->failed[i].turn > note->last)
			continue;
		st = g->failed[i].status == LMD_TIMEOUT
			     ? lmd_fail(err, LMD_TIMEOUT,
					"vulkan: rank %u waited too long for rank %u of %u",
					note->rank, g->failed[i].rank, g->n)
			     : lmd_fail(err, LMD_CANCELLED,
					"vulkan: rank %u of %u failed or was cancelled, so rank %u "
					"stops",
					g->failed[i].rank, g->n, note->rank);
	}
	vkb_group_unlock(g);
	return st;
}
