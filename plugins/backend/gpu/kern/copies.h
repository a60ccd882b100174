/* SPDX-License-Identifier: MIT
 *
 * copies.h - copies to shared memory that go on while the thread computes, on devices that have them; on
 * others a copy is done at once.  A barrier shows them to other threads. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_COPIES_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_COPIES_H

#include "backend/gpu/kern/dev.h"

#if defined(__CUDACC__) && !defined(__HIP__)

/* Begins to copy 16 bytes to shared memory. */
GPU_FN void gpu_async16(void *shared, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
		     :
		     : "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(from)
		     : "memory");
}

/* The same, or zeros; the address is valid in both cases. */
GPU_FN void gpu_async16_or_zero(void *shared, const void *from, int copy)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
		     :
		     : "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(from), "r"(copy ? 16 : 0)
		     : "memory");
}

/* Ends a group of copies of this thread. */
GPU_FN void gpu_async_commit(void)
{
	asm volatile("cp.async.commit_group;" : : : "memory");
}

/* Waits for the copies of this thread, but for those of the last `n` groups (0 or 1). */
GPU_FN void gpu_async_wait(uint32_t n)
{
	if (n)
		asm volatile("cp.async.wait_group 1;" : : : "memory");
	else
		asm volatile("cp.async.wait_group 0;" : : : "memory");
}

#elif defined(__HIP__)

GPU_FN void gpu_async16(void *shared, const void *from)
{
	*(gpu_vector *)shared = *(const gpu_vector *)from;
}

GPU_FN void gpu_async16_or_zero(void *shared, const void *from, int copy)
{
	gpu_vector zero = {0, 0, 0, 0};

	*(gpu_vector *)shared = copy ? *(const gpu_vector *)from : zero;
}

GPU_FN void gpu_async_commit(void)
{
}

GPU_FN void gpu_async_wait(uint32_t n)
{
	(void)n;
}

#endif
#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_COPIES_H */
