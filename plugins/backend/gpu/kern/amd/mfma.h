/* SPDX-License-Identifier: MIT
 *
 * mfma.h - matrix instructions of AMD's CDNA 2 and 3 devices (gfx90a, gfx942), whose warps have 64 threads.  Fragments are
 * as AMD's documentation of v_mfma_i32_16x16x16i8, v_mfma_f32_16x16x16f16 and
 * v_mfma_f32_16x16x16bf16_1k describes them; with q = lane % 16, i = lane / 16:
 *
 *   a      row q, columns 4i..4i+3, of 8 or of 16 bits
 *   b      column q, rows 4i..4i+3
 *   c[r]   row 4i + r, column q
 *
 * tests/gpu/emu.c has the same for the host. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_MFMA_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_MFMA_H

#include "backend/gpu/kern/dev.h"

#if defined(__HIP__) && (defined(__gfx90a__) || defined(__gfx942__))

typedef int gpu_ints4 __attribute__((ext_vector_type(4)));
typedef float gpu_floats4 __attribute__((ext_vector_type(4)));
typedef short gpu_shorts4 __attribute__((ext_vector_type(4)));
typedef _Float16 gpu_halves4 __attribute__((ext_vector_type(4)));
typedef unsigned gpu_words2 __attribute__((ext_vector_type(2)));

/* Products of signed bytes. */
GPU_FN void gpu_mfma_i8(int32_t *c, uint32_t a, uint32_t b)
{
	gpu_ints4 v = {c[0], c[1], c[2], c[3]};

#if defined(__gfx942__) /* has v_mfma_i32_16x16x32_i8 instead: columns 8i..8i+7, half of them zeros */
	v = __builtin_amdgcn_mfma_i32_16x16x32_i8((long)a, (long)b, v, 0, 0, 0);
#else
	v = __builtin_amdgcn_mfma_i32_16x16x16i8((int)a, (int)b, v, 0, 0, 0);
#endif
	c[0] = v.x;
	c[1] = v.y;
	c[2] = v.z;
	c[3] = v.w;
}

/* Products of 16-bit floats, sums in f32. */
GPU_FN void gpu_mfma_16(int bf16, float *c, const uint32_t *a, const uint32_t *b)
{
	gpu_words2 x = {a[0], a[1]}, y = {b[0], b[1]};
	gpu_floats4 v = {c[0], c[1], c[2], c[3]};

	if (bf16)
		v = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(
			__builtin_bit_cast(gpu_shorts4, x), __builtin_bit_cast(gpu_shorts4, y), v,
			0, 0, 0);
	else
		v = __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(gpu_halves4, x),
							  __builtin_bit_cast(gpu_halves4, y), v,
							  0, 0, 0);
	c[0] = v.x;
	c[1] = v.y;
	c[2] = v.z;
	c[3] = v.w;
}

#endif
#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_AMD_MFMA_H */
