/* SPDX-License-Identifier: MIT
 *
 * codebook.h - the codebooks of types with non-linear values. */
#ifndef LLAMAD_CORE_QUANT_CODEBOOK_H
#define LLAMAD_CORE_QUANT_CODEBOOK_H

#include <stdint.h>

/* Codebook of IQ4_NL, IQ4_XS, IQ4_K and IQ4_KS, ascending. */
extern const int8_t lmi_quant_book_iq4[16];

/* The code whose value in lmi_quant_book_iq4 is `value`. */
int lmi_quant_codebook_iq4_code(int value);

/* Codebooks of IQ2_K and IQ2_KS, IQ3_K and IQ3_KS, IQ5_K and IQ5_KS, ascending. */
extern const int8_t lmi_quant_book_iq2k[4];
extern const int8_t lmi_quant_book_iq3k[8];
extern const int8_t lmi_quant_book_iq5k[32];

/* Twice the values of the 4-bit float E2M1 (MXFP4, NVFP4): 0 .. 6 and, from code 8 on, the negative
 * values. */
extern const int8_t lmi_quant_book_fp4[16];

/* Returns the code of the E2M1 value nearest to v / 2; zero is code 0. */
uint8_t lmi_quant_fp4_code(float v);

#endif /* LLAMAD_CORE_QUANT_CODEBOOK_H */
