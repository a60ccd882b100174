/* SPDX-License-Identifier: MIT
 *
 * peer.h - ALLREDUCE and ALLGATHER of llamad/op.h: the devices of a group read each other's memory.
 *
 * Each rank copies its rows to where the others may read them, and tells them so (gpu_mail); a launch
 * that needs the rows of the others waits until all have come to the same meeting.  Exchanges take
 * turns in two copies: who is told of exchange k + 1 knows that its sender has read everything of
 * exchange k, so the copy of k is free for k + 2.  A run ends when the runs of all ranks have come to
 * their end, so runs do not disturb each other, and what a plan has shown can be freed after its run.
 *
 * Sums are in pairs by rank on every device, so all ranks get the same bits.  Sums of many
 * rows are divided: each rank adds its part and shows the sums, which halves what is read with 4 ranks.
 *
 * A rank gives up when another one has given up or has been refused by the host, and after GPU_GIVE_UP
 * ticks.  From then on its results are zeros. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_PEER_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_PEER_H

#include "backend/gpu/kern/view.h"

GPU_FN const struct gpu_peers *gpu_peers_of(uint64_t address)
{
	return GPU_PTR(const struct gpu_peers, address);
}

/* Has the host said that a rank does not take part in a run? */
GPU_FN int gpu_peer_refused(const struct gpu_peers *p, uint32_t rank, uint64_t turn)
{
	return gpu_system_load(GPU_PTR(const uint64_t, p->refused) + rank * GPU_N_TURN +
			       turn % GPU_N_TURN) == turn;
}

GPU_FN int gpu_peer_any_refused(const struct gpu_peers *p, uint64_t turn)
{
	uint32_t i = 0;

	while (i < p->n && !gpu_peer_refused(p, i, turn))
		i++;
	return i < p->n;
}

/* Has a rank given up this turn?  Before the last meeting it cannot have gone on to a later one, unless it
 * has waited too long. */
GPU_FN int gpu_peer_failed(const struct gpu_mail *m, uint64_t turn, uint32_t meeting)
{
	uint64_t failed = gpu_system_load(&m->failed);

	return failed == turn || (failed > turn && meeting < GPU_LAST_MEETING);
}

GPU_FN uint32_t gpu_peer_give_up(struct gpu_run *r, const struct gpu_peers *p, uint32_t end)
{
	r->gave_up = end;
	for (uint32_t i = 0; i < p->n; i++) {
		if (i != p->rank)
			gpu_system_store(&GPU_PTR(struct gpu_mail, p->out[i])->failed, r->turn);
	}
	return end;
}

/* One thread waits until all ranks have come to a meeting; returns enum gpu_peer_end. */
GPU_SLOW uint32_t gpu_peer_meet(struct gpu_run *r, const struct gpu_peers *p, uint32_t meeting)
{
	uint64_t start = gpu_ticks();
	uint32_t n = 0;

	if (r->gave_up)
		return r->gave_up;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct gpu_mail *m = GPU_PTR(const struct gpu_mail, p->mail) + i;
		uint64_t time;

		if (i == p->rank)
			continue;
		while ((time = gpu_system_load(&m->time)) < GPU_TIME(r->turn, meeting)) {
			if (gpu_peer_failed(m, r->turn, meeting) ||
			    (++n % GPU_POLL == 0 && gpu_peer_any_refused(p, r->turn)))
				return gpu_peer_give_up(r, p, GPU_PEER_CANCELLED);
			if (gpu_ticks() - start > GPU_GIVE_UP)
				return gpu_peer_give_up(r, p, GPU_PEER_TIMEOUT);
			gpu_pause();
		}
		/* a rank that is in a later turn without this one's end was refused in this turn */
		if ((time > GPU_TIME(r->turn, GPU_LAST_MEETING) && meeting < GPU_LAST_MEETING) ||
		    gpu_peer_failed(m, r->turn, meeting))
			return gpu_peer_give_up(r, p, GPU_PEER_CANCELLED);
	}
	return GPU_PEER_OK;
}

/* Tells the others that this rank has come to a meeting.  By all threads of a block. */
GPU_FN void gpu_peer_come(const struct gpu_run *r, const struct gpu_peers *p, uint32_t meeting,
			  uint32_t slot, uint64_t rows)
{
	if (GPU_TID < p->n && GPU_TID != p->rank) {
		struct gpu_mail *m = GPU_PTR(struct gpu_mail, p->out[GPU_TID]);

		if (rows)
			gpu_system_store(&m->rows[slot], rows);
		gpu_system_store(&m->time, GPU_TIME(r->turn, meeting));
	}
}

/* What a block knows of an exchange, in shared memory. */
struct gpu_peer_block {
	uint64_t rows[GPU_MAX_PEER];
	uint32_t end, last;
};

/* Waits for a meeting and finds the rows of all ranks.  By all threads; returns enum gpu_peer_end. */
GPU_FN uint32_t gpu_peer_enter(const struct gpu_peer_args *a, uint32_t meeting, uint32_t slot,
			       uint64_t own, struct gpu_peer_block *b)
{
	const struct gpu_peers *p = gpu_peers_of(a->peers);

	if (GPU_TID == 0) {
		b->end = gpu_peer_meet(GPU_PTR(struct gpu_run, a->run), p, meeting);
		for (uint32_t i = 0; i < p->n; i++)
			b->rows[i] = i == p->rank ? own
				     : b->end	  ? 0
						  : gpu_system_load(GPU_PTR(const struct gpu_mail, p->mail)[i].rows + slot);
	}
	gpu_sync();
	return b->end;
}

GPU_FN uint32_t gpu_peer_rank(const struct gpu_peers *p, uint64_t n, uint64_t i)
{
	uint32_t k = 0;

	while (k + 1 < p->n && i >= n * (k + 1) / p->n)
		k++;
	return k;
}

GPU_FN float gpu_peer_look(uint64_t rows, uint64_t i)
{
	return gpu_bits_float(gpu_look(GPU_PTR(const uint32_t, rows) + i));
}

/* Neighbours, then neighbours of these sums. */
GPU_FN float gpu_peer_pairs(const struct gpu_peer_block *b, uint32_t n, uint64_t i)
{
	float v[GPU_MAX_PEER];

	GPU_UNROLL
	for (uint32_t j = 0; j < GPU_MAX_PEER; j++)
		v[j] = j < n ? gpu_peer_look(b->rows[j], i) : 0;
	GPU_UNROLL
	for (uint32_t s = 1; s < GPU_MAX_PEER; s *= 2) {
		GPU_UNROLL
		for (uint32_t j = 0; j + s < GPU_MAX_PEER; j += 2 * s) {
			if (j + s < n)
				v[j] += v[j + s];
		}
	}
	return v[0];
}

GPU_FN uint32_t gpu_view_cols(const struct gpu_view *v)
{
	return v->n_head * v->width;
}

/* Copies the rows of x to where the others read them. */
GPU_KERNEL gpu_peer_share(struct gpu_peer_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	struct gpu_peer_block *b = GPU_SHARED(struct gpu_peer_block);
	uint32_t cols = gpu_view_cols(&a.x);
	uint64_t n, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	gpu_open(r, &a.x);
	n = (uint64_t)gpu_n_row(r, &a.x) * cols;
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n && !r->gave_up; i += step)
		gpu_show(GPU_PTR(uint32_t, a.rows) + i,
			 *GPU_PTR(const uint32_t, gpu_cell(&a.x, (uint32_t)(i / cols), (uint32_t)(i % cols))));
	if (gpu_last(GPU_PTR(uint32_t, a.counter), GPU_GRID_X, &b->last) && !r->gave_up)
		gpu_peer_come(r, gpu_peers_of(a.peers), 2 * a.exchange + 1, a.exchange % 2, a.rows);
}

GPU_FN int gpu_peer_divided(const struct gpu_peers *p, uint32_t rows)
{
	return rows > GPU_DIRECT_ROWS && p->n > 2;
}

/* ALLREDUCE: y, or, of many rows, this rank's part of the sums. */
GPU_KERNEL gpu_peer_sum(struct gpu_peer_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	const struct gpu_peers *p = gpu_peers_of(a.peers);
	struct gpu_peer_block *b = GPU_SHARED(struct gpu_peer_block);
	uint32_t cols = gpu_view_cols(&a.y), rows = gpu_n_row(r, &a.y);
	uint32_t end = gpu_peer_enter(&a, 2 * a.exchange + 1, a.exchange % 2, a.rows, b);
	uint64_t n = (uint64_t)rows * cols, lo = 0, step = (uint64_t)GPU_GRID_X * GPU_THREADS;
	int divided = gpu_peer_divided(p, rows);

	if (divided) {
		lo = n * p->rank / p->n;
		n = n * (p->rank + 1) / p->n;
	}
	for (uint64_t i = lo + (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		float v = end ? 0 : gpu_peer_pairs(b, p->n, i);

		if (!divided)
			*GPU_PTR(float, gpu_cell(&a.y, (uint32_t)(i / cols), (uint32_t)(i % cols))) = v;
		else if (!end)
			gpu_show(GPU_PTR(uint32_t, a.sums) + (i - lo), gpu_float_bits(v));
	}
	if (divided && gpu_last(GPU_PTR(uint32_t, a.counter), GPU_GRID_X, &b->last) && !r->gave_up)
		gpu_peer_come(r, p, 2 * a.exchange + 2, 2 + a.exchange % 2, a.sums);
}

/* Copies the parts of the sums to y.  The host rounds rows up, so it may launch this for sums that are not
 * divided. */
GPU_KERNEL gpu_peer_spread(struct gpu_peer_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	const struct gpu_peers *p = gpu_peers_of(a.peers);
	struct gpu_peer_block *b = GPU_SHARED(struct gpu_peer_block);
	uint32_t cols = gpu_view_cols(&a.y), rows = gpu_n_row(r, &a.y), end;
	uint64_t n = (uint64_t)rows * cols, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	if (!gpu_peer_divided(p, rows))
		return;
	end = gpu_peer_enter(&a, 2 * a.exchange + 2, 2 + a.exchange % 2, a.sums, b);
	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint32_t k = gpu_peer_rank(p, n, i);

		*GPU_PTR(float, gpu_cell(&a.y, (uint32_t)(i / cols), (uint32_t)(i % cols))) =
			end ? 0 : gpu_peer_look(b->rows[k], i - n * k / p->n);
	}
}

/* ALLGATHER: the columns of all ranks side by side. */
GPU_KERNEL gpu_peer_gather(struct gpu_peer_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	struct gpu_peer_block *b = GPU_SHARED(struct gpu_peer_block);
	uint32_t cols = gpu_view_cols(&a.y), part = gpu_view_cols(&a.x);
	uint32_t end = gpu_peer_enter(&a, 2 * a.exchange + 1, a.exchange % 2, a.rows, b);
	uint64_t n = (uint64_t)gpu_n_row(r, &a.y) * cols, step = (uint64_t)GPU_GRID_X * GPU_THREADS;

	for (uint64_t i = (uint64_t)GPU_BLOCK_X * GPU_THREADS + GPU_TID; i < n; i += step) {
		uint32_t row = (uint32_t)(i / cols), c = (uint32_t)(i % cols);

		*GPU_PTR(uint32_t, gpu_cell(&a.y, row, c)) =
			end ? 0
			    : gpu_look(GPU_PTR(const uint32_t, b->rows[c / part]) + (uint64_t)row * part +
				       c % part);
	}
}

/* After a failure one thread waits until no rank reads this one's rows any more. */
GPU_FN void gpu_peer_drain(const struct gpu_run *r, const struct gpu_peers *p)
{
	uint64_t start = gpu_ticks();

	for (uint32_t i = 0; i < p->n; i++) {
		const struct gpu_mail *m = GPU_PTR(const struct gpu_mail, p->mail) + i;

		while (i != p->rank &&
		       gpu_system_load(&m->time) < GPU_TIME(r->turn, GPU_LAST_MEETING) &&
		       !gpu_peer_refused(p, i, r->turn) && gpu_ticks() - start < GPU_GIVE_UP)
			gpu_pause();
	}
}

/* One block, the last of a run. */
GPU_KERNEL gpu_peer_end(struct gpu_peer_args a)
{
	struct gpu_run *r = GPU_PTR(struct gpu_run, a.run);
	const struct gpu_peers *p = gpu_peers_of(a.peers);

	gpu_peer_come(r, p, GPU_LAST_MEETING, 0, 0);
	if (GPU_TID == 0) {
		uint32_t end = gpu_peer_meet(r, p, GPU_LAST_MEETING);

		if (!end && gpu_peer_any_refused(p, r->turn))
			end = GPU_PEER_CANCELLED;
		if (end)
			gpu_peer_drain(r, p);
		gpu_system_store(GPU_PTR(uint64_t, p->ends) + r->turn % GPU_N_TURN,
				 r->turn << 8 | end);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_PEER_H */
