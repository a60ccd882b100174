/* SPDX-License-Identifier: MIT
 *
 * mma.h - instructions of NVIDIA's devices from compute capability 8.0 on.  Fragments are as the
 * PTX ISA describes them for mma.m16n8k32 and mma.m16n8k16 with .s8; with q = lane / 4, i = lane % 4:
 *
 *   a[0], a[1]   rows q and q + 8, columns 4i..4i+3
 *   a[2], a[3]   the same rows, columns 4i+16..4i+19 (k32 alone)
 *   b[0], b[1]   column q, rows 4i..4i+3; rows 4i+16..4i+19 (k32 alone)
 *   c[0], c[1]   row q, columns 2i and 2i+1;  c[2], c[3]: row q + 8
 *
 * and for mma.m16n8k16 with .f16 or .bf16, where c is the same:
 *
 *   a[0], a[1]   rows q and q + 8, columns 2i and 2i+1;  a[2], a[3]: columns 2i+8 and 2i+9
 *   b[0], b[1]   column q, rows 2i and 2i+1;  rows 2i+8 and 2i+9
 *
 * tests/gpu/emu.c has the same for the host.  kernels.cu leaves them out for older devices. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_MMA_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_MMA_H

#include "backend/gpu/kern/dev.h"

#if defined(__CUDACC__)

GPU_FN void gpu_mma_k32(int32_t *c, const uint32_t *a, const uint32_t *b)
{
	asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
	    "{%8, %9}, {%0, %1, %2, %3};"
	    : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

GPU_FN void gpu_mma_k16(int32_t *c, const uint32_t *a, const uint32_t *b)
{
	asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
	    "{%0, %1, %2, %3};"
	    : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

/* Products of 16-bit floats, sums in f32. */
GPU_FN void gpu_mma_f16(float *c, const uint32_t *a, const uint32_t *b)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
	    "{%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

GPU_FN void gpu_mma_bf16(float *c, const uint32_t *a, const uint32_t *b)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
	    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Loads four matrices of 8 rows of 8 values of 16 bits from shared memory: lane l names row l %
 * 8 of matrix l / 8, which begins at a multiple of 16 bytes.  r[j] has columns 2i and 2i+1 of
 * row q of matrix j. */
GPU_FN void gpu_ldmatrix(uint32_t *r, const void *row)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"((uint32_t)__cvta_generic_to_shared(row))
		     : "memory");
}

/* The same matrices transposed: r[j] has row q of columns 2i and 2i+1 of what was loaded. */
GPU_FN void gpu_ldmatrix_t(uint32_t *r, const void *row)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"((uint32_t)__cvta_generic_to_shared(row))
		     : "memory");
}

#endif
#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_NV_MMA_H */
