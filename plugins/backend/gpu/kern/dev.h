/* SPDX-License-Identifier: MIT
 *
 * dev.h - the device environment that kernels are written for.  Kernels are in the common subset
 * of C and C++, so one source serves nvcc, hipcc and, on the host, a plain C compiler with the
 * emulation of tests/gpu/emu.h.
 *
 * A block is one-dimensional; its threads are GPU_TID of GPU_THREADS.  A warp has GPU_WARP
 * threads; shuffles need all threads of the warp.  Shared memory is what the launch asked for, at
 * GPU_SHARED(type).  GPU_FN functions become part of their callers, GPU_SLOW ones do not.  Each
 * kernel strides over its work by the size of the grid, so any grid is right. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_DEV_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_DEV_H

#include "backend/gpu/kern/args.h"

#if defined(__CUDACC__) && !defined(__HIP__)

#define GPU_KERNEL  extern "C" __global__ void
#define GPU_FN      static __device__ __forceinline__
#define GPU_SLOW    static __device__ __noinline__
#define GPU_CONST   static __device__ const
#define GPU_TID     threadIdx.x
#define GPU_THREADS blockDim.x
#define GPU_BLOCK_X blockIdx.x
#define GPU_BLOCK_Y blockIdx.y
#define GPU_GRID_X  gridDim.x
#define GPU_GRID_Y  gridDim.y
#define GPU_WARP    32u
#define GPU_UNROLL  _Pragma("unroll")
extern __shared__ unsigned long long gpu_shared_memory[];
#define GPU_SHARED(type) ((type *)(void *)gpu_shared_memory)

GPU_FN void gpu_sync(void)
{
	__syncthreads();
}

GPU_FN float gpu_shfl_xor(float v, unsigned mask)
{
	return __shfl_xor_sync(0xffffffffu, v, (int)mask);
}

GPU_FN float gpu_half_to_float(uint16_t h)
{
	float f;

	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
	return f;
}

GPU_FN uint16_t gpu_float_to_half(float f)
{
	uint16_t h;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
	return h;
}

GPU_FN uint32_t gpu_float_bits(float f)
{
	return __float_as_uint(f);
}

GPU_FN float gpu_bits_float(uint32_t u)
{
	return __uint_as_float(u);
}

#elif defined(__HIP__)

#include <hip/hip_runtime.h>

#define GPU_KERNEL       extern "C" __global__ void
#define GPU_FN           static __device__ __forceinline__
#define GPU_SLOW         static __device__ __noinline__
#define GPU_CONST        static __device__ const
#define GPU_TID          threadIdx.x
#define GPU_THREADS      blockDim.x
#define GPU_BLOCK_X      blockIdx.x
#define GPU_BLOCK_Y      blockIdx.y
#define GPU_GRID_X       gridDim.x
#define GPU_GRID_Y       gridDim.y
#define GPU_WARP         ((unsigned)__AMDGCN_WAVEFRONT_SIZE)
#define GPU_UNROLL       _Pragma("unroll")
extern __shared__ unsigned long long gpu_shared_memory[];
#define GPU_SHARED(type) ((type *)(void *)gpu_shared_memory)
#ifndef __AMDGCN_WAVEFRONT_SIZE
#define __AMDGCN_WAVEFRONT_SIZE 64 /* the compiler's pass for the host */
#endif

GPU_FN void gpu_sync(void)
{
	__syncthreads();
}

GPU_FN float gpu_shfl_xor(float v, unsigned mask)
{
	return __shfl_xor(v, (int)mask, (int)GPU_WARP);
}

GPU_FN float gpu_half_to_float(uint16_t h)
{
	return (float)__builtin_bit_cast(_Float16, h);
}

GPU_FN uint16_t gpu_float_to_half(float f)
{
	return __builtin_bit_cast(uint16_t, (_Float16)f);
}

GPU_FN uint32_t gpu_float_bits(float f)
{
	return __builtin_bit_cast(uint32_t, f);
}

GPU_FN float gpu_bits_float(uint32_t u)
{
	return __builtin_bit_cast(float, u);
}

#elif !defined(GPU_EMULATION) /* its header is included before this one */
#error "kernels are compiled by nvcc, by hipcc or with an emulation"
#endif

/* ---- sums over a warp and over a block ---- */

GPU_FN float gpu_warp_sum(float v)
{
	for (unsigned m = GPU_WARP / 2; m; m /= 2)
		v += gpu_shfl_xor(v, m);
	return v;
}

GPU_FN float gpu_warp_max(float v)
{
	for (unsigned m = GPU_WARP / 2; m; m /= 2)
		v = fmaxf(v, gpu_shfl_xor(v, m));
	return v;
}

/* red: shared, one number for each warp of the block.  All threads get the sum, in an order that
 * depends on nothing but the number of threads. */
GPU_FN float gpu_block_sum(float v, float *red)
{
	unsigned n = (GPU_THREADS + GPU_WARP - 1) / GPU_WARP;
	float sum = 0;

	v = gpu_warp_sum(v);
	gpu_sync(); /* the last reading of `red` is over */
	if (GPU_TID % GPU_WARP == 0)
		red[GPU_TID / GPU_WARP] = v;
	gpu_sync();
	for (unsigned i = 0; i < n; i++)
		sum += red[i];
	return sum;
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_DEV_H */
