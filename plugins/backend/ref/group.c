/* SPDX-License-Identifier: MIT
 *
 * Groups of devices and their collectives.  Each rank's plan runs in a thread of its own; at a collective
 * the threads meet twice: when all operands are there, and when all results have been computed. A
 * rank waits no longer than the others can still come: it stops when its step is cancelled, when
 * another rank has failed, and after GIVE_UP_NS. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "group.h"

#define GIVE_UP_NS 30000000000ull /* the others were never called, or hang */
#define POLL_NS	   5000000	  /* between two looks at the step's cancellation */

struct rank {
	const struct host_mem_view *x; /* operand of the collective that it has come to */
	uint64_t run;                  /* number of its current run, counted from 1 */
	uint64_t failed;               /* number of its last run that failed */
};

struct lmd_devgroup {
	const struct lmd_host *host;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint32_t n, n_here;
	uint64_t n_meeting;
	struct rank ranks[REF_MAX_RANK];
};

enum lmd_status ref_group_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				 struct lmd_error *err)
{
	const struct ref_dev *dev = n ? states[0] : NULL;
	struct lmd_devgroup *g;
	pthread_condattr_t attr;

	if (n < 2 || n > REF_MAX_RANK)
		return lmd_fail(err, LMD_INVALID, "ref: a group of %u devices; 2 to %d are allowed", n,
				REF_MAX_RANK);
	g = dev->host->alloc(dev->host->ctx, sizeof(*g));
	if (!g)
		return lmd_fail(err, LMD_NOMEM, "ref: no memory for a group of %u devices", n);
	g->host = dev->host;
	g->n = n;
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&g->moved, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)pthread_mutex_init(&g->lock, NULL);
	*out = g;
	return LMD_OK;
}

void ref_group_destroy(struct lmd_devgroup *g)
{
	if (!g)
		return;
	(void)pthread_mutex_destroy(&g->lock);
	(void)pthread_cond_destroy(&g->moved);
	g->host->free(g->host->ctx, g);
}

uint32_t ref_group_size(const struct lmd_devgroup *g)
{
	return g->n;
}

void ref_group_begin(struct lmd_devgroup *g, uint32_t rank)
{
	(void)pthread_mutex_lock(&g->lock);
	g->ranks[rank].run++;
	(void)pthread_mutex_unlock(&g->lock);
}

void ref_group_end(struct lmd_devgroup *g, uint32_t rank, enum lmd_status st)
{
	(void)pthread_mutex_lock(&g->lock);
	if (st != LMD_OK)
		g->ranks[rank].failed = g->ranks[rank].run;
	(void)pthread_cond_broadcast(&g->moved);
	(void)pthread_mutex_unlock(&g->lock);
}

/* Returns a rank that will not come to this run's collectives any more; g->n: there is none. */
static uint32_t find_failed(const struct lmd_devgroup *g, uint64_t run)
{
	uint32_t r = 0;

	while (r < g->n && g->ranks[r].failed < run)
		r++;
	return r;
}

static struct timespec after(struct timespec t, long ns)
{
	t.tv_nsec += ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* Called with the lock held: waits until all ranks are here. */
static enum lmd_status meet(struct lmd_devgroup *g, uint32_t rank, const struct lmd_step *step,
			    struct lmd_error *err)
{
	const struct lmd_host *h = g->host;
	const uint64_t meeting = g->n_meeting, start = h->now_ns(h->ctx);
	struct timespec now;
	uint32_t failed = g->n; /* none */

	if (++g->n_here == g->n) {
		g->n_here = 0;
		g->n_meeting++;
		(void)pthread_cond_broadcast(&g->moved);
	}
	while (g->n_meeting == meeting) {
		failed = find_failed(g, g->ranks[rank].run);
		if (failed < g->n || ref_is_cancelled(step) ||
		    h->now_ns(h->ctx) - start > GIVE_UP_NS) {
			g->n_here--;
			break;
		}
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		now = after(now, POLL_NS);
		(void)pthread_cond_timedwait(&g->moved, &g->lock, &now);
	}
	if (g->n_meeting != meeting)
		return LMD_OK;
	if (failed < g->n)
		return lmd_fail(err, LMD_CANCELLED, "ref: rank %u of %u failed, so rank %u stops",
				failed, g->n, rank);
	if (ref_is_cancelled(step))
		return lmd_fail(err, LMD_CANCELLED, "ref: cancelled while rank %u waited", rank);
	return lmd_fail(err, LMD_TIMEOUT, "ref: rank %u waited %llu s for the other ranks", rank,
			GIVE_UP_NS / 1000000000);
}

/* ---- the operations ---- */

/* Adds neighbours, then neighbours of the sums, until one number is left (llamad/op.h). */
static float sum_in_pairs(float *v, uint32_t n)
{
	for (; n > 1; n = (n + 1) / 2) {
		for (uint32_t i = 0; i < n / 2; i++)
			v[i] = v[2 * i] + v[2 * i + 1];
		if (n % 2)
			v[n / 2] = v[n - 1];
	}
	return v[0];
}

static void reduce_row(const struct lmd_devgroup *g, const struct host_mem_view *y, uint32_t row)
{
	float v[REF_MAX_RANK];

	for (uint32_t j = 0; j < host_mem_cols(y); j++) {
		for (uint32_t r = 0; r < g->n; r++)
			v[r] = host_mem_cell_get(g->ranks[r].x, row, j);
		*(float *)host_mem_cell(y, row, j) = sum_in_pairs(v, g->n);
	}
}

static void gather_row(const struct lmd_devgroup *g, const struct host_mem_view *y, uint32_t row)
{
	uint32_t at = 0;

	for (uint32_t r = 0; r < g->n; r++) {
		uint32_t n = host_mem_cols(g->ranks[r].x);

		for (uint32_t j = 0; j < n; j++)
			memcpy(host_mem_cell(y, row, at + j), host_mem_cell(g->ranks[r].x, row, j), 4);
		at += n;
	}
}

static enum lmd_status check(const struct lmd_devgroup *g, const struct host_mem_view *y, bool reduce,
			     struct lmd_error *err)
{
	for (uint32_t r = 0; r < g->n; r++) {
		const struct host_mem_view *x = g->ranks[r].x;
		uint32_t want = reduce ? host_mem_cols(y) : host_mem_cols(y) / g->n;

		if (x->n_row != y->n_row || host_mem_cols(x) != want)
			return lmd_fail(err, LMD_INVALID,
					"ref: rank %u has %u rows of %u columns, expected %u of %u", r,
					x->n_row, host_mem_cols(x), y->n_row, want);
	}
	return LMD_OK;
}

enum lmd_status ref_group_exchange(struct lmd_devgroup *g, const struct ref_run *r,
				   const struct lmd_op *op, struct lmd_error *err)
{
	const struct host_mem_view x = host_mem_view(&r->host_mem, &op->u.collective.x);
	const struct host_mem_view y = host_mem_view(&r->host_mem, &op->u.collective.y);
	const uint32_t rank = r->compiled_plan->host_mem.plan->key.rank;
	const bool reduce = op->code == LMD_OP_ALLREDUCE;
	enum lmd_status st, left;

	(void)pthread_mutex_lock(&g->lock);
	g->ranks[rank].x = &x;
	st = meet(g, rank, r->host_mem.step, err);
	(void)pthread_mutex_unlock(&g->lock);
	if (st != LMD_OK)
		return st;
	st = check(g, &y, reduce, err);
	for (uint32_t row = 0; row < y.n_row && st == LMD_OK; row++)
		if (reduce)
			reduce_row(g, &y, row);
		else
			gather_row(g, &y, row);
	/* nobody goes on while another one reads its operand; all are on their way here, so that
	 * the step's cancellation does not count */
	(void)pthread_mutex_lock(&g->lock);
	left = meet(g, rank, NULL, err);
	(void)pthread_mutex_unlock(&g->lock);
	return st == LMD_OK ? left : st;
}

/* ---- compiling ---- */

static enum lmd_status plan_collective(struct ref_build *b, const struct lmd_op *op,
				       struct lmd_error *err)
{
	const struct lmd_devgroup *g = b->compiled_plan->group;
	const struct lmd_plan_key *key = &b->compiled_plan->host_mem.plan->key;

	(void)op;
	if (!g)
		return lmd_fail(err, LMD_INVALID, "ref: a collective needs a group of devices");
	if (key->rank >= g->n)
		return lmd_fail(err, LMD_INVALID, "ref: rank %u of a group of %u devices", key->rank,
				g->n);
	return LMD_OK;
}

const struct ref_op ref_op_collective = {.plan = plan_collective};
