/* SPDX-License-Identifier: MIT
 *
 * ALLREDUCE and ALLGATHER: launches of kern/peer.h. */
#include "plan.h"

/* Shared memory of a block: struct gpu_peer_block. */
#define BLOCK_BYTES 128u
#define THREADS	    256u
#define PER_BLOCK   1024u /* numbers */

static uint64_t columns(const struct gpu_view *v)
{
	return (uint64_t)v->n_head * v->width;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Memory for the rows of x, twice, and for parts of their sums. */
static void make_room(struct gpu_build *b, const struct gpu_view *x, bool sums)
{
	uint64_t bytes = gpu_build_max_rows(b, x) * columns(x) * sizeof(float);
	uint32_t n = b->plan->key.n_rank;

	b->p->show_bytes = most(b->p->show_bytes, (bytes + 255) / 256 * 256);
	if (sums && n > 2)
		b->p->sum_bytes = most(b->p->sum_bytes, (bytes / n + 511) / 256 * 256);
}

static void launch(struct gpu_build *b, uint32_t kernel, const struct gpu_peer_args *a,
		   const struct gpu_view *like)
{
	const struct gpu_blocks each = {.space = like->space,
					.div = like->div,
					.times = columns(like),
					.per = PER_BLOCK},
				rows = {.space = like->space, .div = like->div, .times = 1, .per = 1},
				one = {.space = GPU_N_SPACE, .div = 1, .times = 1, .per = 1};

	gpu_build_launch(b, kernel, a, sizeof(*a), THREADS, BLOCK_BYTES, each,
			 kernel == GPU_K_peer_spread ? rows : one);
}

void gpu_lower_collective(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_collective *c = &op->u.collective;
	const uint32_t n = b->plan->key.n_rank, k = b->n_exchange % 2;
	struct gpu_peer_args a = {
		.run = b->p->run,
		.peers = b->p->peers,
		.x = gpu_build_view(b, &c->x),
		.y = gpu_build_view(b, &c->y),
		.counter = b->p->counters,
		.exchange = b->n_exchange,
	};
	const bool sums = op->code == LMD_OP_ALLREDUCE;

	if (a.x.space != a.y.space || a.x.div != a.y.div ||
	    columns(&a.y) != columns(&a.x) * (sums ? 1 : n))
		gpu_build_fail(b, "a collective of %llu columns gives %llu",
			       (unsigned long long)columns(&a.x), (unsigned long long)columns(&a.y));
	if (2 * b->n_exchange++ + 2 >= GPU_LAST_MEETING)
		gpu_build_fail(b, "too many collectives, at most %u", GPU_LAST_MEETING / 2 - 1);
	make_room(b, &a.x, sums);
	gpu_build_counters(b, 1);
	a.rows = b->p->shown + k * b->p->show_bytes;
	a.sums = b->p->shown + 2 * b->p->show_bytes + k * b->p->sum_bytes;
	launch(b, GPU_K_peer_share, &a, &a.x);
	if (!sums) {
		launch(b, GPU_K_peer_gather, &a, &a.y);
		return;
	}
	launch(b, GPU_K_peer_sum, &a, &a.y);
	if (n > 2) {
		struct gpu_launch *last;

		launch(b, GPU_K_peer_spread, &a, &a.y);
		last = gpu_build_last(b);
		if (last)
			last->pick = GPU_PICK_MANY;
	}
}

void gpu_build_peer_end(struct gpu_build *b)
{
	const struct gpu_peer_args a = {.run = b->p->run, .peers = b->p->peers};
	const struct gpu_blocks one = {.space = GPU_N_SPACE, .div = 1, .times = 1, .per = 1};

	b->op = b->plan->n_op - 1;
	gpu_build_launch(b, GPU_K_peer_end, &a, sizeof(a), 64, 0, one, one); /* a warp of any device */
}
