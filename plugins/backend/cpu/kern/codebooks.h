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
/* What the second codebook of a type adds. */
#define KERN_SECOND_2 5
#define KERN_SECOND_3 4
#define KERN_SECOND_4 4
#define KERN_SECOND_5 2

/* IQ3_XXS: magnitudes, by an eighth of them */
static const int8_t kern_codebook_iq3_xxs[16] = {4, 12, 20, 28, 36, 44, 52, 62};

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_CODEBOOKS_H */
