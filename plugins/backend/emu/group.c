/* SPDX-License-Identifier: MIT
 *
 * Groups of devices. The plans of all ranks that belong together are computed in one go when the
 * first of their queues gets to its own: the work before the others is done, then ref computes each
 * plan in a thread. The other queues find their results when they get there. */
#include <pthread.h>
#include <string.h>

#include "emu.h"

struct rank {
	struct emu_dev *dev;
	uint64_t n_call;          /* calls of plan_run so far */
	uint64_t run;             /* the last one that was computed, and */
	struct lmd_error result;  /* how it ended */
	/* while it is computed */
	struct emu_work *work;
	struct lmd_step step;
	struct emu_group *group;
	pthread_t thread;
	bool has_thread;
};

enum gate { CLOSED, OPEN, GIVEN_UP };

struct emu_group {
	const struct lmd_host *host;
	struct lmd_devgroup *ref;
	uint32_t n;
	bool is_running;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum gate gate; /* threads wait until all of them exist */
	struct rank ranks[EMU_MAX_DEVICE];
};

void emu_group_enter(struct emu_group *g)
{
	for (uint32_t r = 0; g && r < g->n; r++)
		emu_enter(&g->ranks[r].dev->mem);
}

void emu_group_leave(struct emu_group *g)
{
	for (uint32_t r = 0; g && r < g->n; r++)
		emu_leave(&g->ranks[r].dev->mem);
}

/* ---- creating ---- */

static enum lmd_status check(void *const *states, uint32_t n, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (n < 2 || n > EMU_MAX_DEVICE)
		return lmd_fail(err, LMD_INVALID, "emu: a group of %u devices; 2 to %d are allowed", n,
				EMU_MAX_DEVICE);
	for (uint32_t r = 0; r < n && st == LMD_OK; r++) {
		const struct emu_dev *dev = states[r];

		st = emu_alive(states[r], err);
		if (st == LMD_OK && !dev->set.group)
			st = lmd_fail(err, LMD_UNSUPPORTED,
				      "emu: there are no groups, as set by LLAMAD_EMU");
		for (uint32_t k = 0; k < r && st == LMD_OK; k++)
			if (states[k] == states[r])
				st = lmd_fail(err, LMD_INVALID, "emu: device %u is in the group twice",
					      dev->index);
	}
	return st;
}

enum lmd_status emu_group_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				 struct lmd_error *err)
{
	enum lmd_status st = check(states, n, err);
	const struct lmd_host *h;
	void *refs[EMU_MAX_DEVICE];
	struct emu_group *g;

	if (st != LMD_OK)
		return st;
	h = ((const struct emu_dev *)states[0])->host;
	g = h->alloc(h->ctx, sizeof(*g));
	if (!g)
		return lmd_fail(err, LMD_NOMEM, "emu: no memory for a group");
	g->host = h;
	g->n = n;
	for (uint32_t r = 0; r < n; r++) {
		g->ranks[r].dev = states[r];
		g->ranks[r].group = g;
		refs[r] = g->ranks[r].dev->ref;
	}
	(void)pthread_mutex_init(&g->lock, NULL);
	(void)pthread_cond_init(&g->moved, NULL);
	emu_group_enter(g);
	st = ref_backend_ops.group_create(refs, n, &g->ref, err);
	emu_group_leave(g);
	if (st == LMD_OK)
		*out = (struct lmd_devgroup *)(void *)g;
	else
		emu_group_destroy((struct lmd_devgroup *)(void *)g);
	return st;
}

void emu_group_destroy(struct lmd_devgroup *group)
{
	struct emu_group *g = (struct emu_group *)(void *)group;

	if (!g)
		return;
	emu_group_enter(g);
	ref_backend_ops.group_destroy(g->ref);
	emu_group_leave(g);
	(void)pthread_mutex_destroy(&g->lock);
	(void)pthread_cond_destroy(&g->moved);
	g->host->free(g->host->ctx, g);
}

struct lmd_devgroup *emu_group_ref(const struct emu_group *g)
{
	return g ? g->ref : NULL;
}

bool emu_group_has(const struct emu_group *g, const struct emu_dev *dev, uint32_t rank)
{
	return rank < g->n && g->ranks[rank].dev == dev;
}

/* ---- running ---- */

uint64_t emu_group_call(struct emu_group *g, uint32_t rank)
{
	return ++g->ranks[rank].n_call;
}

bool emu_group_is_ready(const struct emu_group *g, uint64_t run)
{
	for (uint32_t r = 0; r < g->n; r++)
		if (g->ranks[r].n_call < run)
			return false;
	return true;
}

static bool pass_gate(struct emu_group *g)
{
	bool open;

	(void)pthread_mutex_lock(&g->lock);
	while (g->gate == CLOSED)
		(void)pthread_cond_wait(&g->moved, &g->lock);
	open = g->gate == OPEN;
	(void)pthread_mutex_unlock(&g->lock);
	return open;
}

static void set_gate(struct emu_group *g, enum gate gate)
{
	(void)pthread_mutex_lock(&g->lock);
	g->gate = gate;
	(void)pthread_cond_broadcast(&g->moved);
	(void)pthread_mutex_unlock(&g->lock);
}

static void *compute(void *arg)
{
	struct rank *k = arg;

	if (pass_gate(k->group))
		k->result.status = emu_plan_compute(k->dev, k->work, &k->step, &k->result);
	else
		k->result.status = lmd_fail(&k->result, LMD_NOMEM, "emu: no thread for a rank");
	return NULL;
}

static void compute_all(struct emu_group *g)
{
	bool all = true;

	set_gate(g, CLOSED);
	for (uint32_t r = 1; r < g->n; r++) {
		struct rank *k = &g->ranks[r];

		k->has_thread = all && !pthread_create(&k->thread, NULL, compute, k);
		all = k->has_thread;
	}
	set_gate(g, all ? OPEN : GIVEN_UP);
	for (uint32_t r = 0; r < g->n; r++)
		if (!g->ranks[r].has_thread)
			(void)compute(&g->ranks[r]);
	for (uint32_t r = 1; r < g->n; r++)
		if (g->ranks[r].has_thread)
			(void)pthread_join(g->ranks[r].thread, NULL);
}

/* Makes the mistakes that are set. */
static void spoil(struct emu_group *g, uint32_t fault)
{
	struct emu_work *a = g->ranks[0].work, *b = g->ranks[1].work;

	if (fault == EMU_FAULT_PART && b->plan->layout.token)
		memset(b->plan->block + b->plan->layout.token, 0, 4ul * b->plan->layout.max_tok);
	if (fault == EMU_FAULT_PART && b->plan->layout.pos[0])
		memset(b->plan->block + b->plan->layout.pos[0], 0, 4ul * b->plan->layout.max_tok);
	for (uint32_t i = 0; i < b->n_in && i < a->n_in; i++) {
		if (fault == EMU_FAULT_PART && b->in[i].ptr)
			memset(b->in[i].ptr, 0, b->in[i].n_row * b->in[i].row_bytes);
		if (fault == EMU_FAULT_RANKS) {
			void *p = a->in[i].ptr;

			a->in[i].ptr = b->in[i].ptr;
			b->in[i].ptr = p;
		}
	}
}

/* Ends the run of the ranks that have not failed themselves. */
static void stop_others(struct emu_group *g, uint32_t failed)
{
	for (uint32_t r = 0; r < g->n; r++) {
		struct lmd_error *e = &g->ranks[r].result;

		if (e->status == LMD_OK)
			(void)lmd_fail(e, LMD_CANCELLED, "emu: rank %u failed, so rank %u stops",
				       failed, r);
	}
}

/* Brings every queue to its plan; a rank whose call was refused has none. */
static void collect(struct emu_group *g, uint32_t rank, uint64_t run, struct emu_work *own)
{
	for (uint32_t r = 0; r < g->n; r++) {
		struct rank *k = &g->ranks[r];

		k->work = r == rank ? own : emu_find_run(k->dev, g, run);
		if (k->work && r != rank)
			emu_run_until(k->dev, k->work);
		k->run = run;
		k->result = (struct lmd_error){0};
		if (!k->work)
			(void)lmd_fail(&k->result, LMD_CANCELLED, "emu: rank %u was refused", r);
	}
}

static void run_all(struct emu_group *g, uint32_t fault)
{
	uint32_t failed = g->n;

	for (uint32_t r = 0; r < g->n; r++) {
		struct rank *k = &g->ranks[r];

		if (k->work)
			k->result.status = emu_plan_begin(k->dev, k->work, &k->step, &k->result);
		if (k->result.status != LMD_OK && failed == g->n)
			failed = r;
	}
	if (failed == g->n) {
		spoil(g, fault);
		compute_all(g);
	} else {
		stop_others(g, failed);
	}
	if (fault == EMU_FAULT_FAILED)
		g->ranks[0].result = (struct lmd_error){0};
}

enum lmd_status emu_group_run(struct emu_group *g, struct emu_work *w, struct lmd_error *err)
{
	const uint32_t rank = w->plan->plan->key.rank;
	struct rank *k = &g->ranks[rank];

	if (k->run != w->run && (g->is_running || !emu_group_is_ready(g, w->run)))
		return lmd_fail(err, LMD_INVALID,
				"emu: rank %u is waited for before the plans of all ranks were run",
				rank);
	if (k->run != w->run) {
		g->is_running = true;
		emu_group_enter(g);
		collect(g, rank, w->run, w);
		run_all(g, k->dev->set.fault);
		emu_group_leave(g);
		g->is_running = false;
	}
	return k->result.status == LMD_OK ? LMD_OK
					  : lmd_fail(err, k->result.status, "%s", k->result.text);
}
