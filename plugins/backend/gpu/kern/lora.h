/* SPDX-License-Identifier: MIT
 *
 * lora.h - the kernel of adapters: what they add to a product (llamad/op.h, "Adapters"). */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_LORA_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_LORA_H

#include "backend/gpu/kern/view.h"

/* The adapter of a row; its b is 0 if there is none. */
GPU_FN struct gpu_adapter gpu_lora_of(const struct gpu_run *r, uint64_t table, uint32_t n_slot,
				      uint32_t space, uint32_t row)
{
	int32_t t =
		r->lora_slot && table && (gpu_count(r, 3) & 1) ? gpu_token_row(r, space, row) : -1;
	int32_t slot = t < 0 ? 0 : gpu_int(r->lora_slot, (uint32_t)t);
	struct gpu_adapter none;

	none.a = none.b = none.gain = 0;
	none.rank = none.n = none.k = none.n_stack = none.reserved = 0;
	none.scale = 0;
	if (slot <= 0 || (uint32_t)slot >= n_slot)
		return none;
	return GPU_PTR(const struct gpu_adapter, table)[slot];
}

/* A block computes an item: A x in shared memory, then B times that; and says where its factors are.  Shared: the
 * greatest rank. */
GPU_KERNEL gpu_lora(struct gpu_lora_args a)
{
	const struct gpu_run *r = gpu_run_of(a.run);
	float *ax = GPU_SHARED(float);
	uint32_t items, warp = GPU_TID / GPU_WARP, warps = GPU_THREADS / GPU_WARP,
			lane = GPU_TID % GPU_WARP;

	gpu_open(r, &a.ids);
	items = gpu_space_rows(r, a.space) / a.fold * a.heads;
	for (uint32_t i = GPU_BLOCK_X; i < items; i += GPU_GRID_X) {
		const float *x = GPU_PTR(const float, a.x) + (uint64_t)(i / a.x_div) * a.x_stride;
		float *out = GPU_PTR(float, a.out) + (uint64_t)i * a.n;
		struct gpu_adapter ad = gpu_lora_of(r, a.table, a.n_slot, a.space, i / a.heads);
		uint32_t slice = a.mode == GPU_LINEAR_IDS
					 ? (uint32_t)gpu_cell_i32(&a.ids, i / a.heads, i % a.heads)
					 : 0;
		uint32_t s = ad.n_stack > 1 ? slice : 0;
		const float *b;

		if (slice >= a.n_stack || ad.rank > a.rank)
			ad.b = 0;
		if (!ad.b)
			s = 0;
		gpu_sync(); /* the last item is done */
		for (uint32_t j = warp; ad.b && j < ad.rank; j += warps) {
			const float *row =
				GPU_PTR(const float, ad.a) + ((uint64_t)s * ad.rank + j) * ad.k;
			float sum = 0;

			for (uint32_t c = lane; c < ad.k; c += GPU_WARP)
				sum += row[c] * x[c];
			sum = gpu_warp_sum(sum);
			if (lane == 0)
				ax[j] = sum;
		}
		gpu_sync();
		if (GPU_TID == 0)
			GPU_PTR(uint64_t, a.gains)
			[i] = ad.b && ad.gain ? ad.gain + (uint64_t)s * a.n * sizeof(float) : 0;
		b = GPU_PTR(const float, ad.b) + (uint64_t)s * a.n * (ad.rank ? ad.rank : 1);
		for (uint32_t c = GPU_TID; c < a.n; c += GPU_THREADS) {
			float sum = ad.b && !ad.rank ? b[c] : 0;

			for (uint32_t j = 0; ad.b && j < ad.rank; j++)
				sum += b[(uint64_t)c * ad.rank + j] * ax[j];
			out[c] = ad.scale * sum;
		}
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_LORA_H */
