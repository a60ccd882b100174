/* SPDX-License-Identifier: MIT
 *
 * wgmma.h - matrix instructions of warp groups (compute capability 9.0 alone: sm_90a).  Four warps multiply 64 rows
 * of a with 64 rows of b, 16 columns of each, both in shared memory, and add to 32 sums of each thread:
 *
 *   sum 4 j + i of lane l of warp w:  row 16 w + l / 4 + 8 (i / 2),  column 8 j + 2 (l % 4) + i % 2
 *
 * The instructions run on while the threads do, and see shared memory through the asynchronous proxy:
 * writes to it need gpu_proxy_fence and then a barrier, sums and memory may be used after gpu_wgmma_wait.
 * PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"; tests/gpu/emu.c has the same
 * for the host. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_WGMMA_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_WGMMA_H

#include "backend/gpu/kern/dev.h"

#define GPU_WGMMA_SUMS 32

/* Rows of 32 bytes at `rows`, a multiple of 256 bytes from the beginning of shared memory, of which every other four
 * have their two vectors exchanged (swizzle of 32 bytes): address, stride of 8 rows and swizzle. */
GPU_FN uint64_t gpu_wgmma_rows(const void *rows)
{
	uint64_t at = gpu_shared_address(rows) >> 4 & 0x3fff;

	return at | 1ull << 16 | 256ull >> 4 << 32 | 3ull << 62;
}

#if defined(__CUDACC__)

/* What this thread has written to shared memory is seen by the instructions after a barrier. */
GPU_FN void gpu_proxy_fence(void)
{
	asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

/* In front of the first instruction, and of those that use sums which the threads have changed. */
GPU_FN void gpu_wgmma_fence(void)
{
	asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

#define GPU_WGMMA_FOUR(c, i) "+f"(c[i]), "+f"(c[(i) + 1]), "+f"(c[(i) + 2]), "+f"(c[(i) + 3])
#define GPU_WGMMA_ALL(c)                                                                           \
	GPU_WGMMA_FOUR(c, 0), GPU_WGMMA_FOUR(c, 4), GPU_WGMMA_FOUR(c, 8), GPU_WGMMA_FOUR(c, 12),   \
		GPU_WGMMA_FOUR(c, 16), GPU_WGMMA_FOUR(c, 20), GPU_WGMMA_FOUR(c, 24),               \
		GPU_WGMMA_FOUR(c, 28)
#define GPU_WGMMA_OF(type)                                                                         \
	"wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                \
	" {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "  \
	"%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"

/* c[GPU_WGMMA_SUMS] += a b^T, for rows that gpu_wgmma_rows names. */
GPU_FN void gpu_wgmma(int bf16, float *c, uint64_t a, uint64_t b)
{
	if (bf16)
		asm volatile(GPU_WGMMA_OF("bf16") : GPU_WGMMA_ALL(c) : "l"(a), "l"(b) : "memory");
	else
		asm volatile(GPU_WGMMA_OF("f16") : GPU_WGMMA_ALL(c) : "l"(a), "l"(b) : "memory");
}

/* Waits for all instructions; c are their sums, which the compiler must not use before. */
GPU_FN void gpu_wgmma_wait(float *c)
{
	asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
	asm volatile("wgmma.wait_group.sync.aligned 0;" : GPU_WGMMA_ALL(c) : : "memory");
}

#endif
#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_WGMMA_H */
