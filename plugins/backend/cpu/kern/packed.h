/* SPDX-License-Identifier: MIT
 *
 * packed.h - the layout of repacked weights: groups of sixteen rows, interleaved.
 *
 * The values of a group are divided into blocks of 32, as in kern.h.  First come the codes of all
 * blocks, then the scales of all blocks.  Codes are numbers of 2 to 6 or 8 bits, as in
 * codes_avx512.h; codes of a codebook stay indices, and points of a grid become indices of their single
 * values.  A vector has 64 bytes; bytes 4r to 4r+3 belong to row r.  Value 4j+i (i < 4) of a block is in byte i of row r of
 *   8 bits           vector j
 *   4, 5 and 6 bits  vector j%4, low nibble for j < 4, high nibble for the others; then
 *     5 bits         one more vector: bit j of the byte is the fifth bit
 *     6 bits         two more vectors, for j < 4 and for the others: bits 2(j%4) and 2(j%4)+1
 *   2 and 3 bits     vector j/4: bits 2(j%4) and 2(j%4)+1; then
 *     3 bits         one more vector: bit j of the byte is the third bit
 * so that a vector of codes times four neighbouring values of x adds to sixteen sums.
 *
 * Scales are arrays of sixteen, one number for each row:
 *   KERN_SCALES_F16    each block: d, f16
 *   KERN_SCALES_DM     each block: d, then m, f16
 *   KERN_SCALES_E8     each block: the exponent, a byte
 *   KERN_SCALES_TWO_E8 each block: the exponents and mantissas of its halves, bytes
 *   KERN_SCALES_K      each 256 values: d, f16; then for each block a signed byte
 *   KERN_SCALES_K_DM   each 256 values: d, then -dmin, f16; then for each block the factor of each,
 *                      bytes
 *   KERN_SCALES_HALVES each 256 values: d, f16; then for each block the factors of its halves,
 *                      signed bytes
 *   KERN_SCALES_HALVES_DM each 256 values: d, then -dmin, f16; then for each block those of its halves, bytes:
 *                      the factor in the low nibble, the minimum in the high one
 * A group takes as many bytes as its rows do in the file, or up to 6 % more (Q4_K: 3 %); where the codes of
 * neighbouring values share bits in the file, up to 75 % more (IQ2_XXS: 73 %, IQ3_S: 33 %, TQ1_0: 37 %). */
#ifndef LLAMAD_CPU_KERN_PACKED_H
#define LLAMAD_CPU_KERN_PACKED_H

#include "codebooks.h"
#include "slice.h"

/* The types that are repacked for all instruction sets. */
#define KERN_PACKED_TYPES(X)                                                                       \
	X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q4_K) X(Q5_K) X(Q6_K) X(IQ4_NL) X(IQ4_XS) X(MXFP4)
/* Those that have kernels in C and for AVX2 alone. */
#define KERN_PACKED_TYPES_AVX2(X)                                                                  \
	X(Q2_K) X(Q3_K) X(NVFP4) X(IQ2_XXS) X(IQ2_XS) X(IQ2_S) X(IQ3_XXS) X(IQ3_S) X(TQ1_0)

enum kern_scales {
	KERN_SCALES_F16,
	KERN_SCALES_DM,
	KERN_SCALES_E8,
	KERN_SCALES_TWO_E8,
	KERN_SCALES_K,
	KERN_SCALES_K_DM,
	KERN_SCALES_HALVES,
	KERN_SCALES_HALVES_DM,
};

/* 0: the type is not repacked. */
static inline uint32_t kern_packed_bits(uint32_t dtype)
{
	switch (dtype) {
	case LMD_DTYPE_Q2_K:
	case LMD_DTYPE_TQ1_0:
		return 2;
	case LMD_DTYPE_Q3_K:
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ2_XS:
	case LMD_DTYPE_IQ2_S:
		return 3;
	case LMD_DTYPE_Q4_0:
	case LMD_DTYPE_Q4_1:
	case LMD_DTYPE_Q4_K:
	case LMD_DTYPE_IQ4_NL:
	case LMD_DTYPE_IQ4_XS:
	case LMD_DTYPE_MXFP4:
	case LMD_DTYPE_NVFP4:
	case LMD_DTYPE_IQ3_XXS:
	case LMD_DTYPE_IQ3_S:
		return 4;
	case LMD_DTYPE_Q5_0:
	case LMD_DTYPE_Q5_1:
	case LMD_DTYPE_Q5_K:
		return 5;
	case LMD_DTYPE_Q6_K:
		return 6;
	case LMD_DTYPE_Q8_0:
		return 8;
	default:
		return 0;
	}
}

/* The numbers of which codes are indices, or NULL. */
static inline const int8_t *kern_packed_book(uint32_t dtype)
{
	switch (dtype) {
	case LMD_DTYPE_IQ4_NL:
	case LMD_DTYPE_IQ4_XS:
		return kern_codebook_iq4;
	case LMD_DTYPE_MXFP4:
	case LMD_DTYPE_NVFP4:
		return kern_codebook_fp4;
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ2_XS:
	case LMD_DTYPE_IQ2_S:
		return kern_codebook_iq2;
	case LMD_DTYPE_IQ3_XXS:
		return kern_codebook_iq3_xxs;
	case LMD_DTYPE_IQ3_S:
		return kern_codebook_iq3_s;
	default:
		return NULL;
	}
}

static inline enum kern_scales kern_packed_scales(uint32_t dtype)
{
	switch (dtype) {
	case LMD_DTYPE_Q4_1:
	case LMD_DTYPE_Q5_1:
		return KERN_SCALES_DM;
	case LMD_DTYPE_MXFP4:
		return KERN_SCALES_E8;
	case LMD_DTYPE_IQ4_XS:
	case LMD_DTYPE_TQ1_0: /* a factor of 1 */
		return KERN_SCALES_K;
	case LMD_DTYPE_Q4_K:
	case LMD_DTYPE_Q5_K:
		return KERN_SCALES_K_DM;
	case LMD_DTYPE_NVFP4:
		return KERN_SCALES_TWO_E8;
	case LMD_DTYPE_Q2_K:
		return KERN_SCALES_HALVES_DM;
	case LMD_DTYPE_Q3_K:
	case LMD_DTYPE_Q6_K:
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ2_XS:
	case LMD_DTYPE_IQ2_S:
	case LMD_DTYPE_IQ3_XXS:
	case LMD_DTYPE_IQ3_S:
		return KERN_SCALES_HALVES;
	default:
		return KERN_SCALES_F16;
	}
}

/* Bytes of the codes of a block of sixteen rows. */
static inline size_t kern_packed_codes(uint32_t dtype)
{
	return 64 * (size_t)kern_packed_bits(dtype);
}

/* Offset of the scales of block b from the scales of the group; for types with 256 values that
 * share a scale, those of the block's 256 values. */
static inline size_t kern_packed_scale(uint32_t dtype, size_t b)
{
	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_F16:
	case KERN_SCALES_TWO_E8:
		return 32 * b;
	case KERN_SCALES_DM:
		return 64 * b;
	case KERN_SCALES_E8:
		return 16 * b;
	case KERN_SCALES_K:
		return (32 + 8 * 16) * (b / 8);
	case KERN_SCALES_K_DM:
	case KERN_SCALES_HALVES_DM:
		return (64 + 8 * 32) * (b / 8);
	case KERN_SCALES_HALVES:
		return (32 + 8 * 32) * (b / 8);
	}
	return 0;
}

static inline size_t kern_packed_bytes(uint32_t dtype, uint32_t k)
{
	size_t n = k / 32 * kern_packed_codes(dtype) + kern_packed_scale(dtype, k / 32);

	return (n + KERN_ALIGN - 1) / KERN_ALIGN * KERN_ALIGN;
}

/* Prefetches what is read while block b of n rows of a later group is multiplied; later: its begin, NULL:
 * nothing.  dtype and n are constants. */
static inline __attribute__((always_inline)) void
kern_packed_prefetch(uint32_t dtype, const char *later, size_t b, size_t n)
{
	const size_t block = kern_packed_codes(dtype) + kern_packed_scale(dtype, 8) / 8;
	const size_t step = block * n / KERN_GROUP;

	if (!later)
		return;
	later += b * step;
#pragma GCC unroll 32
	for (size_t i = 0; i < step; i += 64)
		kern_prefetch(later + i);
}

/* Where to prefetch while n groups from that of row r on are multiplied together. */
static inline const char *kern_packed_later(const struct kern_product *p, uint32_t r, size_t n)
{
	const size_t n_group = (p->n_row + KERN_GROUP - 1) / KERN_GROUP;

	return (const char *)kern_later(p, r / KERN_GROUP * p->w_stride, n_group * p->w_stride,
					n * p->w_stride);
}

#endif /* LLAMAD_CPU_KERN_PACKED_H */
