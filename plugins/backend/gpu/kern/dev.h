/* SPDX-License-Identifier: MIT
 *
 * dev.h - the device environment that kernels are written for.  Kernels are in the common subset
 * of C and C++, so one source serves nvcc, hipcc and, on the host, a plain C compiler with the
 * emulation of tests/gpu/emu.h.
 *
 * A block is one-dimensional; its threads are GPU_TID of GPU_THREADS.  A warp has GPU_WARP
 * threads; shuffles need all threads of the warp.  Shared memory is what the launch asked for, at
 * GPU_SHARED(type).  GPU_PARAM arguments stay where the launch put them; GPU_ARGS(a) is their
 * address.  GPU_FN functions become part of their callers, GPU_SLOW ones do not.  A
 * GPU_BLOCK_OF(n, m) kernel is launched with blocks of at most n threads, of which a processor
 * should hold m.  Each kernel strides over its work by the size of the grid: any grid is right. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_DEV_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_DEV_H

#include "backend/gpu/kern/args.h"

#if defined(__CUDACC__) && !defined(__HIP__)

#define GPU_KERNEL  extern "C" __global__ void
#define GPU_BLOCK_OF(threads, blocks)                                                              \
	extern "C" __global__ void __launch_bounds__(threads, blocks)
#define GPU_PARAM   const __grid_constant__
#define GPU_ARGS(a) (&(a))
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
#define GPU_LOOP    _Pragma("unroll 1") /* stays a loop, where registers are short */
/* copies and loads of fragments (nv/mma.h) need multiples of 16 bytes, those of nv/wgmma.h of 256 */
extern __shared__ __align__(256) unsigned long long gpu_shared_memory[];
#define GPU_SHARED(type) ((type *)(void *)gpu_shared_memory)

/* Address in shared memory, as instructions take it. */
GPU_FN uint32_t gpu_shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

GPU_FN void gpu_sync(void)
{
	__syncthreads();
}

/* A barrier of the warp.  Shuffles are none: they do not order memory. */
GPU_FN void gpu_sync_warp(void)
{
	__syncwarp();
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

/* c + the sum of the products of four signed bytes. */
GPU_FN int32_t gpu_dot4(uint32_t a, uint32_t b, int32_t c)
{
	return __dp4a((int)a, (int)b, c);
}

/* Byte i of the result is the byte of hi:lo that the low 3 bits of nibble i of `pick` name. */
GPU_FN uint32_t gpu_bytes(uint32_t lo, uint32_t hi, uint32_t pick)
{
	return __byte_perm(lo, hi, pick);
}

/* Adds 1 to a number; returns what it was. */
GPU_FN uint32_t gpu_count_up(uint32_t *n)
{
	return atomicAdd(n, 1u);
}

/* What this thread has written before it, or has seen before it of what others wrote, is seen by all threads
 * of the device that see what it writes after it; and what it reads after it is no older than what it has
 * read before. */
GPU_FN void gpu_fence(void)
{
	__threadfence();
}

/* In front of a barrier after which one thread tells other blocks what this block has written.  Here the
 * fence of that thread is enough: a barrier makes it see the others' writes, and fences are cumulative (PTX
 * ISA, "Memory Consistency Model", causality order). */
GPU_FN void gpu_fence_before_sync(void)
{
}

/* A word that other devices and the host write as well: what its writer has written before it is seen
 * by the thread that has read it. */
GPU_FN uint64_t gpu_system_load(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

GPU_FN void gpu_system_store(uint64_t *p, uint64_t v)
{
	asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}

/* Time that a thread may wait for other devices, in ticks of the clock: 30 s. */
#define GPU_GIVE_UP 30000000000ull
#define GPU_POLL    1024u /* looks at a word before one at the memory of the host */
GPU_FN uint64_t gpu_ticks(void)
{
	uint64_t t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	return t;
}

GPU_FN void gpu_pause(void)
{
}

/* Numbers that are read once: they leave the cache to the others. */
GPU_FN struct gpu_four gpu_stream16(const uint8_t *p)
{
	struct gpu_four r;

	asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
	    : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
	    : "l"(p));
	return r;
}

GPU_FN struct gpu_four gpu_load16(const void *p)
{
	uint4 v = *(const uint4 *)p;
	struct gpu_four r;

	r.v[0] = v.x;
	r.v[1] = v.y;
	r.v[2] = v.z;
	r.v[3] = v.w;
	return r;
}

#elif defined(__HIP__)

#include <hip/hip_runtime.h>

#define GPU_KERNEL       extern "C" __global__ void
#define GPU_BLOCK_OF(threads, blocks) extern "C" __global__ void __launch_bounds__(threads)
#define GPU_PARAM        const
/* of the only argument; &a would copy it to each thread's memory where it is indexed */
#define GPU_ARGS(a)      ((const decltype(a) *)__builtin_amdgcn_kernarg_segment_ptr())
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
#define GPU_LOOP         _Pragma("unroll 1")
extern __shared__ __attribute__((aligned(16))) unsigned long long gpu_shared_memory[];
#define GPU_SHARED(type) ((type *)(void *)gpu_shared_memory)
#ifndef __AMDGCN_WAVEFRONT_SIZE
#define __AMDGCN_WAVEFRONT_SIZE 64 /* the compiler's pass for the host */
#endif

GPU_FN void gpu_sync(void)
{
	__syncthreads();
}

/* Lanes run together; this keeps the compiler from moving accesses. */
GPU_FN void gpu_sync_warp(void)
{
	__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
	__builtin_amdgcn_wave_barrier();
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

GPU_FN int32_t gpu_dot4(uint32_t a, uint32_t b, int32_t c)
{
#if defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__GFX11__) ||  \
	defined(__GFX12__)
	return __builtin_amdgcn_sudot4(true, (int)a, true, (int)b, c, false);
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) ||  \
	defined(__gfx1030__)
	return __builtin_amdgcn_sdot4((int)a, (int)b, c, false);
#else
	for (int i = 0; i < 32; i += 8)
		c += (int8_t)(a >> i) * (int8_t)(b >> i);
	return c;
#endif
}

GPU_FN uint32_t gpu_bytes(uint32_t lo, uint32_t hi, uint32_t pick)
{
	pick = (pick & 0xff) | (pick & 0xff00) << 8;
	pick = (pick | pick << 4) & 0x07070707u;
	return __builtin_amdgcn_perm(hi, lo, pick);
}

/* Adds 1 to a number; returns what it was. */
GPU_FN uint32_t gpu_count_up(uint32_t *n)
{
	return atomicAdd(n, 1u);
}

GPU_FN void gpu_fence(void)
{
	__threadfence();
}

/* The fence of one wave waits for the stores of that wave alone, and the barrier may wait for none. */
GPU_FN void gpu_fence_before_sync(void)
{
	__threadfence();
}

GPU_FN uint64_t gpu_system_load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

GPU_FN void gpu_system_store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Ticks of the clock of 100 MHz.  __builtin_readcyclecounter has 20 bits on some devices. */
#define GPU_GIVE_UP 3000000000ull
#define GPU_POLL    1024u
GPU_FN uint64_t gpu_ticks(void)
{
#if (defined(__GFX11__) || defined(__GFX12__)) && __has_builtin(__builtin_amdgcn_s_sendmsg_rtnl)
	return __builtin_amdgcn_s_sendmsg_rtnl(0x83);
#elif defined(__GFX11__) || defined(__GFX12__) /* an old compiler: no limit of time */
	return __builtin_readcyclecounter();
#else
	return __builtin_amdgcn_s_memrealtime();
#endif
}

GPU_FN void gpu_pause(void)
{
	__builtin_amdgcn_s_sleep(1);
}

typedef unsigned gpu_vector __attribute__((ext_vector_type(4)));

GPU_FN struct gpu_four gpu_four_of(gpu_vector v)
{
	struct gpu_four r;

	r.v[0] = v.x;
	r.v[1] = v.y;
	r.v[2] = v.z;
	r.v[3] = v.w;
	return r;
}

GPU_FN struct gpu_four gpu_stream16(const uint8_t *p)
{
	return gpu_four_of(__builtin_nontemporal_load((const gpu_vector *)(const void *)p));
}

GPU_FN struct gpu_four gpu_load16(const void *p)
{
	return gpu_four_of(*(const gpu_vector *)p);
}

#elif !defined(GPU_EMULATION) /* its header is included before this one */
#error "kernels are compiled by nvcc, by hipcc or with an emulation"
#endif

/* ---- rows that devices show each other ---- */

#ifndef GPU_EMULATION
/* Writes into this device's memory, and reads from that of any device. */
GPU_FN void gpu_show(uint32_t *p, uint32_t v)
{
	*p = v;
}

GPU_FN uint32_t gpu_look(const uint32_t *p)
{
	return *p;
}
#endif

/* ---- exact arithmetic ---- */

/* Additions and products that are never contracted, for backend/common/exact_math.h. */
#ifndef GPU_EMULATION
#if defined(__HIP__)
#define GPU_EXACT_OP(name, type, op)                                                               \
	GPU_FN type name(type a, type b)                                                           \
	{                                                                                          \
		_Pragma("clang fp contract(off)") return a op b;                                   \
	}
GPU_EXACT_OP(gpu_add, float, +)
GPU_EXACT_OP(gpu_mul, float, *)
GPU_EXACT_OP(gpu_dadd, double, +)
GPU_EXACT_OP(gpu_dmul, double, *)
#define DEVICE_ADD(a, b)  gpu_add(a, b)
#define DEVICE_MUL(a, b)  gpu_mul(a, b)
#define DEVICE_DADD(a, b) gpu_dadd(a, b)
#define DEVICE_DMUL(a, b) gpu_dmul(a, b)
#else
#define DEVICE_ADD(a, b)  __fadd_rn(a, b)
#define DEVICE_MUL(a, b)  __fmul_rn(a, b)
#define DEVICE_DADD(a, b) __dadd_rn(a, b)
#define DEVICE_DMUL(a, b) __dmul_rn(a, b)
#endif
#define DEVICE_EXACT_FN       GPU_FN
#define DEVICE_BITS_OF(f)  gpu_float_bits(f)
#define DEVICE_FLOAT_OF(u) gpu_bits_float(u)
#endif

/* c + a * b in one operation: what is written with it has the same bits in every kernel, while compilers choose
 * which products of an expression they contract. */
GPU_FN float gpu_mac(float a, float b, float c)
{
#if defined(GPU_EMULATION)
	return c + a * b;
#elif defined(__HIP__)
	return __builtin_fmaf(a, b, c);
#else
	return __fmaf_rn(a, b, c);
#endif
}

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

/* The greatest, in the same way. */
GPU_FN float gpu_block_max(float v, float *red)
{
	unsigned n = (GPU_THREADS + GPU_WARP - 1) / GPU_WARP;

	v = gpu_warp_max(v);
	gpu_sync();
	if (GPU_TID % GPU_WARP == 0)
		red[GPU_TID / GPU_WARP] = v;
	gpu_sync();
	for (unsigned i = 0; i < n; i++)
		v = fmaxf(v, red[i]);
	return v;
}

/* ---- the last of several blocks ---- */

/* All threads of `expected` blocks come here, each block when it has done its part of something.
 * Returns 1 in the one that comes last, which then sees what all of them have written, and 0 in
 * the others.  counter: in device memory, 0 before and after; flag: shared. */
GPU_FN int gpu_last(uint32_t *counter, uint32_t expected, uint32_t *flag)
{
	int last;

	if (expected == 1) {
		gpu_sync();
		return 1;
	}
	gpu_fence_before_sync();
	gpu_sync();
	if (GPU_TID == 0) {
		/* The fences are in the thread of the atomic: this block's writes, the first fence, the
		 * counter, the second fence of the block that comes last, its reads. */
		gpu_fence();
		*flag = gpu_count_up(counter) + 1 == expected;
		gpu_fence();
		if (*flag)
			*counter = 0;
	}
	gpu_sync();
	last = *flag != 0;
	gpu_sync(); /* `flag` is free again */
	return last;
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_DEV_H */
