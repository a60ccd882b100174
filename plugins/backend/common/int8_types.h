/* SPDX-License-Identifier: MIT
 *
 * int8_types.h - the types whose products with activations rounded to 8 bits are exact integer sums
 * (plugins/backend/ref/op_linear_int8.c has the definition).  All other types are decoded and
 * multiplied in float.
 *
 * A type is added with one row here and one file, plugins/backend/cpu/kern/types/NAME.h
 * (docs/tensor-types-howto.md).  Types whose values are points of a grid have no such file: they
 * share one that reads the grids. */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_INT8_TYPES_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_INT8_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/types.h"

/* What a block of 32 values has besides its integers and one factor D. */
#define HOST_MEM_INT8_MIN       1u  /* an offset M */
#define HOST_MEM_INT8_HALVES    2u  /* an integer factor for each 16 values */
#define HOST_MEM_INT8_MINIMA    4u  /* an integer minimum for each 16 values, multiplied by M */
#define HOST_MEM_INT8_TWO_D     8u  /* a second D, for the last 16 values, in the place of M */
#define HOST_MEM_INT8_IQ4_BOOK  16u /* codes are indices into the codebook of IQ4 */
#define HOST_MEM_INT8_POINTS    32u /* values are points of a grid */
#define HOST_MEM_INT8_MULTIPLES 64u /* every value is an integer multiple of d / parts */
#define HOST_MEM_INT8_ROW_D     128u /* d is a number of the row, which begins with it */
#define HOST_MEM_INT8_SCALES    256u /* D is d times an integer */

/* clang-format off */

/* X(ID, name, values, bytes, shift, greatest, d, parts, has)
 *
 * values, bytes: of a block.  Kernels unpack unsigned codes, which exceed the integers by 2^shift
 * (0: by nothing) and are at most `greatest`; those of 8 bits may be signed instead, without a
 * shift.
 * d: offset of the f16 number d in a block; -1: in the top nibbles of its last four words.  With
 * HOST_MEM_INT8_ROW_D: bytes of a row before its first block, of which the first are d, in f16 if
 * there are two, otherwise in f32. */

/* Blocks of 32 values. */
#define HOST_MEM_INT8_TYPES_32(X) \
	X(Q4_0, q4_0, 32, 18, 3, 15, 0, 1, 0) \
	X(Q4_1, q4_1, 32, 20, 0, 15, 0, 1, HOST_MEM_INT8_MIN) \
	X(Q5_0, q5_0, 32, 22, 4, 31, 0, 1, 0) \
	X(Q5_1, q5_1, 32, 24, 0, 31, 0, 1, HOST_MEM_INT8_MIN) \
	X(Q8_0, q8_0, 32, 34, 7, 255, 0, 1, 0) \
	X(Q6_0, q6_0, 32, 26, 5, 63, 0, 1, HOST_MEM_INT8_MULTIPLES) \
	X(Q8_KV, q8_kv, 32, 32, 7, 255, 8, 1, HOST_MEM_INT8_ROW_D | HOST_MEM_INT8_MULTIPLES) \
	X(IQ4_NL, iq4_nl, 32, 18, 7, 255, 0, 1, HOST_MEM_INT8_IQ4_BOOK) \
	X(MXFP4, mxfp4, 32, 17, 4, 28, 0, 1, 0)

/* Larger blocks. */
#define HOST_MEM_INT8_TYPES_LARGE(X) \
	X(Q3_K, q3_k, 256, 110, 2, 7, 108, 1, HOST_MEM_INT8_HALVES) \
	X(Q4_K, q4_k, 256, 144, 0, 15, 0, 1, HOST_MEM_INT8_MIN) \
	X(Q5_K, q5_k, 256, 176, 0, 31, 0, 1, HOST_MEM_INT8_MIN) \
	X(Q6_K, q6_k, 256, 210, 5, 63, 208, 1, HOST_MEM_INT8_HALVES) \
	X(IQ4_XS, iq4_xs, 256, 136, 7, 255, 0, 1, HOST_MEM_INT8_IQ4_BOOK) \
	X(NVFP4, nvfp4, 64, 36, 4, 28, 0, 1, HOST_MEM_INT8_TWO_D)

/* Larger blocks with less than 3 bits for each value. */
#define HOST_MEM_INT8_TYPES_LOW(X) \
	X(Q2_K, q2_k, 256, 84, 0, 3, 80, 1, HOST_MEM_INT8_HALVES | HOST_MEM_INT8_MINIMA) \
	X(Q1_0, q1_0, 128, 18, 1, 4, 0, 1, HOST_MEM_INT8_MULTIPLES) \
	X(Q2_0, q2_0, 64, 18, 1, 4, 0, 1, HOST_MEM_INT8_MULTIPLES) \
	X(PQ2_0, pq2_0, 128, 34, 1, 4, 0, 1, HOST_MEM_INT8_MULTIPLES) \
	X(TQ1_0, tq1_0, 256, 54, 1, 4, 52, 1, HOST_MEM_INT8_MULTIPLES) \
	X(TQ2_0, tq2_0, 256, 66, 1, 4, 64, 1, HOST_MEM_INT8_MULTIPLES)

/* Types of ik_llama.cpp with larger blocks: those with d in each block, with d in each row, and those of
 * a trellis or of ternary numbers. */
#define HOST_MEM_INT8_GROUPS (HOST_MEM_INT8_HALVES | HOST_MEM_INT8_MULTIPLES)
#define HOST_MEM_INT8_SCALED \
	(HOST_MEM_INT8_ROW_D | HOST_MEM_INT8_SCALES | HOST_MEM_INT8_MULTIPLES)
#define HOST_MEM_INT8_TYPES_IK_K(X) \
	X(IQ2_K, iq2_k, 256, 76, 5, 54, 0, 1, HOST_MEM_INT8_GROUPS) \
	X(IQ3_K, iq3_k, 256, 110, 6, 115, 0, 1, HOST_MEM_INT8_GROUPS) \
	X(IQ4_K, iq4_k, 256, 144, 7, 255, 0, 1, HOST_MEM_INT8_GROUPS | HOST_MEM_INT8_IQ4_BOOK) \
	X(IQ5_K, iq5_k, 256, 176, 7, 255, 0, 1, HOST_MEM_INT8_GROUPS)
#define HOST_MEM_INT8_TYPES_IK_KS(X) \
	X(IQ2_KS, iq2_ks, 256, 70, 5, 54, 2, 1, HOST_MEM_INT8_SCALED) \
	X(IQ3_KS, iq3_ks, 256, 102, 6, 115, 2, 1, HOST_MEM_INT8_SCALED) \
	X(IQ4_KS, iq4_ks, 256, 136, 7, 255, 4, 1, HOST_MEM_INT8_SCALED | HOST_MEM_INT8_IQ4_BOOK) \
	X(IQ5_KS, iq5_ks, 256, 168, 7, 255, 4, 1, HOST_MEM_INT8_SCALED) \
	X(IQ4_KSS, iq4_kss, 256, 128, 7, 255, 4, 1, HOST_MEM_INT8_SCALED | HOST_MEM_INT8_IQ4_BOOK) \
	X(IQ2_KL, iq2_kl, 256, 86, 6, 111, 2, 1, HOST_MEM_INT8_SCALED)
#define HOST_MEM_INT8_TYPES_IK_KT(X) \
	X(IQ1_KT, iq1_kt, 256, 56, 7, 255, 4, 1, HOST_MEM_INT8_SCALED) \
	X(IQ2_KT, iq2_kt, 256, 68, 7, 255, 4, 1, HOST_MEM_INT8_SCALED) \
	X(IQ3_KT, iq3_kt, 256, 100, 7, 255, 4, 1, HOST_MEM_INT8_SCALED) \
	X(IQ4_KT, iq4_kt, 256, 128, 7, 255, 4, 1, HOST_MEM_INT8_SCALED) \
	X(IQ1_BN, iq1_bn, 64, 13, 1, 4, 2, 1, HOST_MEM_INT8_ROW_D | HOST_MEM_INT8_MULTIPLES) \
	X(IQ2_BN, iq2_bn, 64, 16, 1, 4, 4, 1, HOST_MEM_INT8_ROW_D | HOST_MEM_INT8_MULTIPLES)
#define HOST_MEM_INT8_TYPES_IK(X) \
	HOST_MEM_INT8_TYPES_IK_K(X) HOST_MEM_INT8_TYPES_IK_KS(X) HOST_MEM_INT8_TYPES_IK_KT(X)

/* Points of a grid. */
#define HOST_MEM_INT8_GRID \
	(HOST_MEM_INT8_POINTS | HOST_MEM_INT8_HALVES | HOST_MEM_INT8_MULTIPLES)
#define HOST_MEM_INT8_TYPES_POINTS(X) \
	X(IQ1_S, iq1_s, 256, 50, 4, 31, 0, 8, HOST_MEM_INT8_GRID) \
	X(IQ1_M, iq1_m, 256, 56, 4, 31, -1, 8, HOST_MEM_INT8_GRID) \
	X(IQ2_XXS, iq2_xxs, 256, 66, 6, 126, 0, 8, HOST_MEM_INT8_GRID) \
	X(IQ2_XS, iq2_xs, 256, 74, 6, 126, 0, 8, HOST_MEM_INT8_GRID) \
	X(IQ2_S, iq2_s, 256, 82, 6, 126, 0, 8, HOST_MEM_INT8_GRID) \
	X(IQ3_XXS, iq3_xxs, 256, 98, 6, 126, 0, 4, HOST_MEM_INT8_GRID) \
	X(IQ3_S, iq3_s, 256, 110, 4, 31, 0, 1, HOST_MEM_INT8_GRID)

#define HOST_MEM_INT8_TYPES(X) \
	HOST_MEM_INT8_TYPES_32(X) HOST_MEM_INT8_TYPES_LARGE(X) HOST_MEM_INT8_TYPES_LOW(X) \
	HOST_MEM_INT8_TYPES_IK(X) HOST_MEM_INT8_TYPES_POINTS(X)

/* clang-format on */

struct host_mem_int8_type {
	uint32_t dtype, has; /* HOST_MEM_INT8_MIN etc. */
	uint16_t values, bytes;
	int16_t d;
	uint8_t parts;
};

/* Returns the row of a type, or NULL if its products are computed in float. */
static inline const struct host_mem_int8_type *host_mem_int8_type(uint32_t dtype)
{
#define HOST_MEM_INT8_ROW(ID, name, values, bytes, shift, greatest, d, parts, has)                 \
	{LMD_DTYPE_##ID, has, values, bytes, d, parts},
	static const struct host_mem_int8_type rows[] = {HOST_MEM_INT8_TYPES(HOST_MEM_INT8_ROW)};
#undef HOST_MEM_INT8_ROW

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].dtype == dtype)
			return &rows[i];
	return NULL;
}

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_INT8_TYPES_H */
