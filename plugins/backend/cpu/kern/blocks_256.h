/* SPDX-License-Identifier: MIT
 *
 * blocks_256.h - reads blocks of more than 32 values of any type.  The same source serves both
 * vector widths: include it after head_k and codes_k, head_small, and the functions of the small
 * types. */
#ifndef LLAMAD_CPU_KERN_BLOCKS_256_H
#define LLAMAD_CPU_KERN_BLOCKS_256_H

/* Reads what the blocks of 32 in a larger block share. */
INLINE void head_256(uint32_t dtype, const uint8_t *const w[8], size_t at, struct head *h)
{
	if (kern_is_low_bit(dtype))
		head_small(dtype, w, at, h);
	else
		head_k(dtype, w, at, h);
}

/* Reads part number `part` (as many blocks of 32 as struct codes holds) of the larger block at
 * `at`.  Not for types with points. */
INLINE void codes_256(uint32_t dtype, const struct head *h, const uint8_t *const w[8], size_t at,
		      int part, struct codes *c)
{
	if (dtype == LMD_DTYPE_Q2_K)
		codes_2(h, w, at, part, c);
	else if (kern_is_low_bit(dtype))
		codes_ternary(dtype, h, w, at, part, c);
	else
		codes_k(dtype, h, w, at, part, c);
}

#endif /* LLAMAD_CPU_KERN_BLOCKS_256_H */
