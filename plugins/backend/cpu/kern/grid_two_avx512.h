/* SPDX-License-Identifier: MIT
 *
 * grid_two_avx512.h - types whose values are points of a grid: reads a block of 256 of two rows, in
 * the way of the instruction set that the file is compiled for. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_TWO_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_TWO_AVX512_H

#ifdef __AVX512VBMI__
#include "grid_vbmi.h"
#else
#include "grid_points_avx512.h"
#endif

/* Has codes in struct grid anyhow, not magnitudes and signs. */
INLINE bool kern_has_codes(uint32_t dtype)
{
#ifdef __AVX512VBMI__
	(void)dtype;
	return true;
#else
	return kern_is_iq1(dtype);
#endif
}

/* Prepares the parts of a block of eight rows. */
INLINE void grid_prepare(uint32_t dtype, const uint8_t *const w[8], size_t at,
			 struct grid_parts parts[8])
{
#ifdef __AVX512VBMI__
	(void)dtype, (void)w, (void)at, (void)parts;
#else
#pragma GCC unroll 1
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;
		__m512i high = _mm512_setzero_si512();

		if (kern_is_iq1(dtype))
			high = iq1_high(dtype, b);
		else
			grid_signs(dtype, b, parts[r].minus);
		if (kern_has_parted_indices(dtype))
			_mm512_storeu_si512(parts[r].index, grid_indices(dtype, b, high));
	}
#endif
}

/* Reads a block of two rows; with `codes` x has codes in any case. */
INLINE void grid_two(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *const b[2],
		     bool codes, const struct grid_parts parts[2], struct grid g[2])
{
#ifdef __AVX512VBMI__
	(void)codes, (void)parts;
	grid_read_two(dtype, t, b, g);
#else
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++) {
		grid_read(dtype, t, b[i], &parts[i], &g[i]);
		if (codes)
			grid_codes(dtype, &parts[i], &g[i]);
	}
#endif
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_TWO_AVX512_H */
