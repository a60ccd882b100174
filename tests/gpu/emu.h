/* SPDX-License-Identifier: MIT
 *
 * emu.h - kernels on the host.  Each thread of a block is a fibre; a warp's threads run until all
 * of them wait for each other, a block's until all wait at a barrier.  Blocks run one after the
 * other, in one thread of the host.  Shared memory is poisoned before each block. */
#ifndef LLAMAD_TESTS_GPU_EMU_H
#define LLAMAD_TESTS_GPU_EMU_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backend/gpu/kern/args.h"

#define GPU_EMULATION 1

struct emu_grid {
	unsigned tid, threads, block_x, block_y, grid_x, grid_y, warp;
};
extern struct emu_grid emu_now; /* of the running thread */
extern char *emu_shared_memory;

enum emu_order { EMU_FORWARD = 0, EMU_REVERSE = 1, EMU_SHUFFLED = 2 };

struct emu_launch {
	void (*kernel)(void *args);
	void *args;
	unsigned grid_x, grid_y, threads, shared;
	unsigned warp;        /* 32 or 64 */
	enum emu_order order; /* in which threads run */
};

/* Begins a launch; its arguments live until its end.  Ends the program, with a message, if threads wait
 * for some that have ended. */
struct emu_context *emu_begin(const struct emu_launch *l, const char *name);
/* Runs it.  Returns 1 at its end, which frees it, and 0 when threads wait for another device: call it
 * again when that has done something. */
int emu_go_on(struct emu_context *c);
/* Frees a launch that has not ended. */
void emu_abandon(struct emu_context *c);

/* What kernels call. */
void emu_sync(void);
void emu_sync_warp(void);
void emu_pause(void); /* nothing will happen until another device has run */
float emu_shfl_xor(float v, unsigned mask);

#define GPU_KERNEL  static void
#define GPU_BLOCK_OF(threads, blocks) static void
#define GPU_PARAM   const
#define GPU_ARGS(a) (&(a))
#define GPU_FN      static inline
#define GPU_SLOW    static
#define GPU_CONST   static const
#define GPU_TID     emu_now.tid
#define GPU_THREADS emu_now.threads
#define GPU_BLOCK_X emu_now.block_x
#define GPU_BLOCK_Y emu_now.block_y
#define GPU_GRID_X  emu_now.grid_x
#define GPU_GRID_Y  emu_now.grid_y
#define GPU_WARP    emu_now.warp
#define GPU_UNROLL
#define GPU_LOOP
#define GPU_SHARED(type) ((type *)(void *)emu_shared_memory)
#define gpu_sync         emu_sync
#define gpu_sync_warp    emu_sync_warp
#define gpu_shfl_xor     emu_shfl_xor

static inline float gpu_half_to_float(uint16_t h)
{
	_Float16 f;

	memcpy(&f, &h, sizeof(f));
	return (float)f;
}

static inline uint16_t gpu_float_to_half(float f)
{
	_Float16 h = (_Float16)f;
	uint16_t u;

	memcpy(&u, &h, sizeof(u));
	return u;
}

static inline uint32_t gpu_float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float gpu_bits_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline int32_t gpu_dot4(uint32_t a, uint32_t b, int32_t c)
{
	for (int i = 0; i < 32; i += 8)
		c += (int8_t)(a >> i) * (int8_t)(b >> i);
	return c;
}

static inline uint32_t gpu_bytes(uint32_t lo, uint32_t hi, uint32_t pick)
{
	uint64_t all = (uint64_t)hi << 32 | lo;
	uint32_t r = 0;

	for (int i = 0; i < 4; i++)
		r |= (uint32_t)(all >> 8 * (pick >> 4 * i & 7) & 255) << 8 * i;
	return r;
}

uint32_t emu_count_up(uint32_t *n);
void emu_fence(void);
#define gpu_count_up emu_count_up
#define gpu_fence    emu_fence

static inline void gpu_fence_before_sync(void)
{
}

/* What backend/gpu/kern/peer.h calls, with the checks of emu_peers.c.  Time stands still until all
 * devices wait for each other. */
extern uint64_t emu_ticks;
uint64_t emu_system_load(const uint64_t *p);
void emu_system_store(uint64_t *p, uint64_t v);
void emu_show(uint32_t *p, uint32_t v);
uint32_t emu_look(const uint32_t *p);
#define gpu_system_load  emu_system_load
#define gpu_system_store emu_system_store
#define gpu_show	 emu_show
#define gpu_look	 emu_look
#define gpu_pause	 emu_pause
#define gpu_ticks()	 emu_ticks
#define GPU_GIVE_UP	 30000000000ull
#define GPU_POLL	 1u

/* Ends the program if the address is not a multiple of 16, as a device would. */
struct gpu_four emu_load16(const void *p);
#define gpu_load16   emu_load16
#define gpu_stream16 emu_load16

/* Instructions of backend/gpu/kern/nv/mma.h, amd/mfma.h, amd/wmma.h, nv/wgmma.h and copies.h.  A copy is
 * done when the thread waits for its group, no sooner; so is what a warp group multiplies. */
void emu_mma_k32(int32_t *c, const uint32_t *a, const uint32_t *b);
void emu_mma_k16(int32_t *c, const uint32_t *a, const uint32_t *b);
void emu_mma_f16(float *c, const uint32_t *a, const uint32_t *b);
void emu_mma_bf16(float *c, const uint32_t *a, const uint32_t *b);
void emu_mfma_i8(int32_t *c, uint32_t a, uint32_t b);
void emu_mfma_16(int bf16, float *c, const uint32_t *a, const uint32_t *b);
void emu_wmma_i8(int32_t *c, const uint32_t *a, const uint32_t *b);
void emu_wmma_16(int bf16, float *c, const uint32_t *a, const uint32_t *b);
uint32_t emu_shared_address(const void *p);
void emu_wgmma_fence(void);
void emu_wgmma(int bf16, float *c, uint64_t a, uint64_t b);
void emu_wgmma_wait(void);
void emu_proxy_fence(void);
void emu_ldmatrix(uint32_t *r, const void *row);
void emu_ldmatrix_t(uint32_t *r, const void *row);
void emu_async16(void *shared, const void *from);
void emu_async16_or_zero(void *shared, const void *from, int copy);
void emu_async_commit(void);
void emu_async_wait(uint32_t n);
#define gpu_mma_k32      emu_mma_k32
#define gpu_mma_k16      emu_mma_k16
#define gpu_mma_f16      emu_mma_f16
#define gpu_mma_bf16     emu_mma_bf16
#define gpu_mfma_i8      emu_mfma_i8
#define gpu_mfma_16      emu_mfma_16
#define gpu_wmma_i8      emu_wmma_i8
#define gpu_wmma_16      emu_wmma_16
#define gpu_shared_address emu_shared_address
#define gpu_wgmma_fence  emu_wgmma_fence
#define gpu_wgmma        emu_wgmma
#define gpu_wgmma_wait(c) emu_wgmma_wait()
#define gpu_proxy_fence  emu_proxy_fence
#define gpu_ldmatrix     emu_ldmatrix
#define gpu_ldmatrix_t   emu_ldmatrix_t
#define gpu_async16      emu_async16
#define gpu_async16_or_zero emu_async16_or_zero
#define gpu_async_commit emu_async_commit
#define gpu_async_wait   emu_async_wait

#endif /* LLAMAD_TESTS_GPU_EMU_H */
