/* SPDX-License-Identifier: MIT
 *
 * Groups of devices.  The group's thread takes the runs in turn: it waits until all ranks have
 * submitted theirs, then, for each exchange, until all are there, and lets them go on.  If a run was
 * refused or cancelled, or if a rank does not come, it lets the others go on at once with whatever is in
 * memory; their events report the failure.  So no device waits for ever, and none waits in a shader. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "group.h"

#define N_TURN   16u           /* runs that can be under way */
#define N_FAILED 64u           /* failed runs that are remembered */
#define POLL_NS  5000000u      /* between two looks at the cancellation of steps */
#define COME_NS  30000000000u  /* from the end of a rank's call to the next rank's call */
#define WORK_NS  600000000000u /* until all are at the next exchange */

enum call { NOT_CALLED, BEGUN, SUBMITTED, REFUSED };

struct turn {
	uint64_t number;
	enum lmd_status status; /* not LMD_OK: it has failed */
	uint64_t called;        /* time of the last call's begin or end */
	uint32_t n_exchange, half;
	struct vkb_area *area;
	const struct vkb_exchange *list;
	uint32_t rows[LMD_N_SPACE];
	struct {
		enum call call;
		uint64_t here0, go0;
		const volatile int32_t *cancel;
	} of[VKB_MAX_PEER];
};

struct rank {
	struct vkb_dev *dev;
	VkSemaphore here, go;
	uint64_t here_value, go_value; /* that its runs so far reach */
	uint64_t n_turn;               /* its runs so far */
};

struct lmd_devgroup {
	const struct lmd_host *host;
	uint32_t n;
	pthread_t thread;
	bool has_thread, stop;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint64_t n_begun, n_ended;   /* turns */
	uint32_t half;               /* of the next turn */
	struct vkb_area *area, *old; /* old: what runs before may still use */
	struct turn turns[N_TURN];
	struct {
		uint64_t turn;
		enum lmd_status status;
		uint32_t rank; /* that has failed */
	} failed[N_FAILED];
	uint64_t n_failed;
	struct rank ranks[VKB_MAX_PEER];
};

static void lock(struct lmd_devgroup *g)
{
	(void)pthread_mutex_lock(&g->lock);
}

static void unlock(struct lmd_devgroup *g)
{
	(void)pthread_mutex_unlock(&g->lock);
}

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

static uint64_t now(const struct lmd_devgroup *g)
{
	return g->host->now_ns(g->host->ctx);
}

/* ---- the thread ---- */

/* Lets a rank go on after exchange k. */
static void let_go(const struct lmd_devgroup *g, const struct turn *t, uint32_t r, uint32_t k)
{
	vkb_signal(g->ranks[r].dev, g->ranks[r].go, t->of[r].go0 + k + 1);
}

/* Called with the lock: the turn has failed because of a rank. */
static void fail(struct lmd_devgroup *g, struct turn *t, enum lmd_status st, uint32_t rank)
{
	t->status = st;
	g->failed[g->n_failed % N_FAILED].turn = t->number;
	g->failed[g->n_failed % N_FAILED].status = st;
	g->failed[g->n_failed % N_FAILED].rank = rank;
	g->n_failed++;
	for (uint32_t r = 0; r < g->n; r++)
		if (t->of[r].call == SUBMITTED)
			let_go(g, t, r, t->n_exchange - 1);
}

/* The first rank whose call is, or is not, of a kind; n: there is none. */
static uint32_t find(const struct lmd_devgroup *g, const struct turn *t, enum call call, bool is)
{
	uint32_t r = 0;

	while (r < g->n && (t->of[r].call == call) != is)
		r++;
	return r;
}

/* A rank whose step was cancelled; n: none. */
static uint32_t find_cancelled(const struct lmd_devgroup *g, const struct turn *t)
{
	uint32_t r = 0;

	while (r < g->n && !(t->of[r].call == SUBMITTED && t->of[r].cancel &&
			     __atomic_load_n(t->of[r].cancel, __ATOMIC_RELAXED)))
		r++;
	return r;
}

/* Called with the lock: waits until all ranks have submitted.  A call may take long, when it makes pipelines. */
static void gather_calls(struct lmd_devgroup *g, struct turn *t)
{
	uint32_t missing;

	while ((missing = find(g, t, SUBMITTED, false)) < g->n && t->status == LMD_OK) {
		uint32_t refused = find(g, t, REFUSED, true), cancelled = find_cancelled(g, t);

		if (refused < g->n || cancelled < g->n)
			fail(g, t, LMD_CANCELLED, refused < g->n ? refused : cancelled);
		else if (find(g, t, BEGUN, true) == g->n && now(g) - t->called > COME_NS)
			fail(g, t, LMD_TIMEOUT, missing);
		else
			pause_for(g, POLL_NS);
	}
}

/* Waits until a rank is at exchange k. */
static enum lmd_status wait_for(struct lmd_devgroup *g, const struct turn *t, uint32_t r,
				uint32_t k, uint64_t start, uint32_t *failed)
{
	const struct rank *x = &g->ranks[r];
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
		if (now(g) - start > WORK_NS)
			return LMD_TIMEOUT;
	}
	*failed = r;
	return res == VK_SUCCESS ? LMD_OK : LMD_CANCELLED;
}

static enum lmd_status exchange(struct lmd_devgroup *g, const struct turn *t, uint32_t k,
				uint32_t *failed)
{
	const struct vkb_exchange *x = &t->list[k];
	const uint64_t start = now(g), rows = t->rows[x->space] / x->fold;
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
		let_go(g, t, r, k);
	return LMD_OK;
}

/* Called with the lock. */
static void take_turn(struct lmd_devgroup *g, struct turn *t)
{
	enum lmd_status st = LMD_OK;
	uint32_t failed = 0;

	gather_calls(g, t);
	if (t->status != LMD_OK)
		return;
	unlock(g);
	for (uint32_t k = 0; k < t->n_exchange && st == LMD_OK; k++)
		st = exchange(g, t, k, &failed);
	lock(g);
	if (st != LMD_OK)
		fail(g, t, st, failed);
}

static void *work(void *arg)
{
	struct lmd_devgroup *g = arg;

	lock(g);
	while (!g->stop) {
		if (g->n_begun == g->n_ended) {
			(void)pthread_cond_wait(&g->moved, &g->lock);
			continue;
		}
		take_turn(g, &g->turns[(g->n_ended + 1) % N_TURN]);
		g->n_ended++;
		(void)pthread_cond_broadcast(&g->moved);
	}
	unlock(g);
	return NULL;
}

/* Signals go to threads of the host. */
static bool start(struct lmd_devgroup *g)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	g->has_thread = !pthread_create(&g->thread, NULL, work, g);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return g->has_thread;
}

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
	if (st == LMD_OK && !start(g))
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
	lock(g);
	g->stop = true;
	(void)pthread_cond_broadcast(&g->moved);
	unlock(g);
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
	lock(g);
	if (!g->area || g->area->part_bytes < bytes) {
		st = vkb_area_make(devs, g->n, bytes, &a, err);
		if (st == LMD_OK && g->area) {
			g->area->next = g->old;
			g->old = g->area;
		}
		g->area = st == LMD_OK ? a : g->area;
	}
	unlock(g);
	return st;
}

/* ---- runs ---- */

static struct turn *turn_of(struct lmd_devgroup *g, uint64_t number)
{
	return &g->turns[number % N_TURN];
}

static enum lmd_status stopped(const struct lmd_devgroup *g, uint32_t rank, struct lmd_error *err)
{
	return lmd_fail(err, LMD_CANCELLED, "vulkan: another rank of %u failed, so rank %u stops",
			g->n, rank);
}

/* Called with the lock: the first rank of a turn begins. */
static void open_turn(struct lmd_devgroup *g, uint64_t number, uint32_t n_exchange)
{
	while (number > g->n_ended + N_TURN)
		(void)pthread_cond_wait(&g->moved, &g->lock);
	*turn_of(g, number) = (struct turn){
		.number = number, .n_exchange = n_exchange, .half = g->half, .area = g->area};
	g->half = (g->half + n_exchange) % 2;
	g->n_begun = number;
	(void)pthread_cond_broadcast(&g->moved);
}

enum lmd_status vkb_group_begin(struct lmd_devgroup *g, uint32_t rank, uint32_t n_exchange,
				struct vkb_meeting *out, struct lmd_error *err)
{
	struct rank *x = &g->ranks[rank];
	enum lmd_status st = LMD_OK;
	struct turn *t;
	uint64_t number;

	lock(g);
	number = ++x->n_turn;
	if (number > g->n_begun)
		open_turn(g, number, n_exchange);
	t = turn_of(g, number);
	if (t->number != number || t->status != LMD_OK || t->n_exchange != n_exchange) {
		st = stopped(g, rank, err);
		if (t->number == number && t->of[rank].call == NOT_CALLED)
			t->of[rank].call = REFUSED;
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
		t->of[rank].call = BEGUN;
		t->called = now(g);
		t->of[rank].here0 = x->here_value;
		t->of[rank].go0 = x->go_value;
		x->here_value += n_exchange;
		x->go_value += n_exchange;
	}
	(void)pthread_cond_broadcast(&g->moved);
	unlock(g);
	return st;
}

void vkb_group_submitted(struct lmd_devgroup *g, uint32_t rank, uint64_t turn,
			 const struct vkb_exchange *list, const uint32_t *rows,
			 const volatile int32_t *cancel)
{
	struct turn *t = turn_of(g, turn);

	lock(g);
	t->list = list;
	memcpy(t->rows, rows, sizeof(t->rows));
	t->of[rank].cancel = cancel;
	t->of[rank].call = SUBMITTED;
	t->called = now(g);
	if (t->status != LMD_OK) /* meanwhile */
		let_go(g, t, rank, t->n_exchange - 1);
	(void)pthread_cond_broadcast(&g->moved);
	unlock(g);
}

void vkb_group_refuse(struct lmd_devgroup *g, uint32_t rank, uint64_t turn)
{
	lock(g);
	turn_of(g, turn)->of[rank].call = REFUSED;
	(void)pthread_cond_broadcast(&g->moved);
	unlock(g);
}

enum lmd_status vkb_group_result(const struct vkb_note *note, struct lmd_error *err)
{
	struct lmd_devgroup *g = note->group;
	enum lmd_status st = LMD_OK;

	if (!g)
		return LMD_OK;
	lock(g);
	for (uint32_t i = 0; i < N_FAILED && st == LMD_OK; i++) {
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
	unlock(g);
	return st;
}
