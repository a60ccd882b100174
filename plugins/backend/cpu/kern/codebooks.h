/* SPDX-License-Identifier: MIT
 *
 * codebooks.h - codebooks of the 4-bit types that are not linear (docs/formats.md). */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_CODEBOOKS_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_CODEBOOKS_H

#include <stdint.h>

/* IQ4_NL, IQ4_XS */
static const int8_t kern_codebook_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
					     1,    13,   25,  38,  53,  69,  89,  113};
/* MXFP4, NVFP4: twice the values of E2M1 */
static const int8_t kern_codebook_fp4[16] = {0, 1,  2,  3,  4,  6,  8,  12,
					     0, -1, -2, -3, -4, -6, -8, -12};
/* IQ2_K, IQ2_KS; the rest of a vector of 16 is not used. */
static const int8_t kern_codebook_iq2k[16] = {-31, -13, 1, 17};
/* IQ3_K, IQ3_KS */
static const int8_t kern_codebook_iq3k[16] = {-63, -40, -23, -10, 1, 13, 28, 47};
/* IQ5_K, IQ5_KS */
static const int8_t kern_codebook_iq5k[32] = {
	-126, -114, -103, -92, -83, -74, -65, -57, -50, -43, -36, -30, -24, -18, -12, -6,
	-1,   5,    11,   17,  23,  29,  36,  43,  51,  59,  68,  77,  87,  97,  109, 121};
/* IQ2_KL: the first and the second number of each pair */
static const int8_t kern_codebook_iq2kl[2][32] = {
	{-63, -63, -40, -40, -40, -40, -23, -23, -23, -23, -23, -10, -10, -10, -10, 1,
	 1,   1,   1,   1,   13,  13,  13,  13,  13,  28,  28,  28,  28,  28,  47,  47},
	{-23, 13, -63, -10, 13,  47,  -40, -23, 1,  13,  28,  -63, 1, 13, 47,  -23,
	 -10, 1,  13,  28,  -40, -23, -10, 1,   13, -63, -23, 1,   28, 47, -23, 13}};
/* What the second codebook of a type adds. */
#define KERN_SECOND_2 5
#define KERN_SECOND_3 4
#define KERN_SECOND_4 4
#define KERN_SECOND_5 2

/* Values of the points of IQ2 (by a sixteenth of the magnitude), IQ3_XXS (by an eighth) and IQ3_S (by half of
 * it), from the 4th or 8th number on with a minus sign. */
static const int8_t kern_codebook_iq2[16] = {8, 25, 43, 0, -8, -25, -43};
static const int8_t kern_codebook_iq3_xxs[16] = {4,  12,  20,  28,  36,  44,  52,  62,
						 -4, -12, -20, -28, -36, -44, -52, -62};
static const int8_t kern_codebook_iq3_s[16] = {1,  3,  5,  7,  9,  11,  13,  15,
					       -1, -3, -5, -7, -9, -11, -13, -15};

/* Types with a trellis (IQ1_KT to IQ4_KT): the values of a point are generated from its index.  At
 * first x = FIRST + index; then for each value x = FACTOR * x modulo 2^32, and the value is the sum
 * of the low six bits of each byte of x, minus 126.  The table has powers of the factor. */
#define KERN_TRELLIS_FIRST  4096u
#define KERN_TRELLIS_FACTOR 0xcbac1fedu
static const uint32_t kern_trellis_powers[8] = {0xcbac1fed, 0xc8734169, 0xbd2b4535, 0xe50c7d11,
						0x1220d7bd, 0x94839cf9, 0x58267985, 0x60b19b21};

/* IQ1_BN: which byte has the trit of a value, and the power of 3 that shifts it to the top. */
static const uint8_t kern_trit_bytes[64] = {
	0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 12,
	3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 12,
	6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 12,
	9, 9, 9, 9, 9, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 12};
static const uint8_t kern_trit_powers[64] = {
	81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 81,
	81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 27,
	81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 9,
	81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 81, 27, 9, 3, 1, 3};

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_CODEBOOKS_H */
