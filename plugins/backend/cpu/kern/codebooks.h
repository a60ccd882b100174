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
/* IQ3_XXS: magnitudes, by an eighth of them */
static const int8_t kern_codebook_iq3_xxs[16] = {4, 12, 20, 28, 36, 44, 52, 62};

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_CODEBOOKS_H */
