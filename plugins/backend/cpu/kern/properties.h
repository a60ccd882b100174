/* SPDX-License-Identifier: MIT
 *
 * properties.h - properties of the types that have exact kernels, as functions of a constant
 * `dtype`, so that only the code of one type remains in a kernel. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_PROPERTIES_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_PROPERTIES_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/common/int8_types.h"

#define INLINE static inline __attribute__((always_inline))

/* A function for each column of the table of types. */
#define KERN_BYTES(ID, name, values, bytes, shift, greatest, d, parts, has)                        \
	case LMD_DTYPE_##ID:                                                                       \
		return bytes;
#define KERN_SUB_BLOCKS(ID, name, values, bytes, shift, greatest, d, parts, has)                   \
	case LMD_DTYPE_##ID:                                                                       \
		return (values) / 32;
#define KERN_SHIFT(ID, name, values, bytes, shift, greatest, d, parts, has)                        \
	case LMD_DTYPE_##ID:                                                                       \
		return shift;
#define KERN_GREATEST(ID, name, values, bytes, shift, greatest, d, parts, has)                     \
	case LMD_DTYPE_##ID:                                                                       \
		return greatest;
#define KERN_HAS(ID, name, values, bytes, shift, greatest, d, parts, has)                          \
	case LMD_DTYPE_##ID:                                                                       \
		return has;
#define KERN_D(ID, name, values, bytes, shift, greatest, d, parts, has)                            \
	case LMD_DTYPE_##ID:                                                                       \
		return (has) & HOST_MEM_INT8_ROW_D ? d : 0;
#define KERN_COLUMN(column)                                                                        \
	switch (dtype) {                                                                           \
		HOST_MEM_INT8_TYPES(column)                                                        \
	default:                                                                                   \
		return 0;                                                                          \
	}

/* Bytes of a block. */
INLINE uint32_t kern_block_bytes(uint32_t dtype)
{
	KERN_COLUMN(KERN_BYTES)
}

/* Number of blocks of 32 in a block. */
INLINE uint32_t kern_n_sub_blocks(uint32_t dtype)
{
	KERN_COLUMN(KERN_SUB_BLOCKS)
}

/* Codes are unsigned: they exceed the values by 2^shift.  0 = by nothing. */
INLINE uint32_t kern_code_shift(uint32_t dtype)
{
	KERN_COLUMN(KERN_SHIFT)
}

INLINE int kern_greatest_code(uint32_t dtype)
{
	KERN_COLUMN(KERN_GREATEST)
}

/* Bytes of a row before its first block, which begin with a factor of all D; 0: it has none. */
INLINE uint32_t kern_row_head(uint32_t dtype)
{
	KERN_COLUMN(KERN_D)
}

INLINE uint32_t kern_has(uint32_t dtype)
{
	KERN_COLUMN(KERN_HAS)
}

/* Types with blocks of more than 32 values. */
INLINE bool kern_is_k(uint32_t dtype)
{
	return kern_n_sub_blocks(dtype) > 1;
}

/* Has two integer factors besides D in a block of 32, one for each 16 values. */
INLINE bool kern_has_halves(uint32_t dtype)
{
	return kern_has(dtype) & HOST_MEM_INT8_HALVES;
}

/* Has two minima, which are multiplied by M. */
INLINE bool kern_has_minima(uint32_t dtype)
{
	return kern_has(dtype) & HOST_MEM_INT8_MINIMA;
}

/* Has two D in a block of 32, one for each 16 values; the second takes the place of M. */
INLINE bool kern_has_two_d(uint32_t dtype)
{
	return kern_has(dtype) & HOST_MEM_INT8_TWO_D;
}

/* Codes are indices into the codebook of 8-bit numbers. */
INLINE bool kern_has_iq4_codebook(uint32_t dtype)
{
	return kern_has(dtype) & HOST_MEM_INT8_IQ4_BOOK;
}

INLINE bool kern_has_min(uint32_t dtype)
{
	return kern_has(dtype) & HOST_MEM_INT8_MIN;
}

/* Has a second factor, or an offset, for a block of 32. */
INLINE bool kern_has_m(uint32_t dtype)
{
	return kern_has_min(dtype) || kern_has_minima(dtype) || kern_has_two_d(dtype);
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_PROPERTIES_H */
