/* SPDX-License-Identifier: MIT
 *
 * book.h - the code books of types that are not linear. */
#ifndef LLAMAD_CORE_QUANT_BOOK_H
#define LLAMAD_CORE_QUANT_BOOK_H

#include <stdint.h>

/* IQ4_NL and IQ4_XS, ascending. */
extern const int8_t lmi_book_iq4[16];

/* The code of a value of lmi_book_iq4. */
int lmi_book_iq4_code(int value);

/* IQ2_K and IQ2_KS, IQ3_K and IQ3_KS, IQ5_K and IQ5_KS, ascending; lmi_book_iq4 is that of IQ4_K
 * and IQ4_KS, too. */
extern const int8_t lmi_book_iq2k[4];
extern const int8_t lmi_book_iq3k[8];
extern const int8_t lmi_book_iq5k[32];

/* Twice the values of the 4-bit float E2M1 (MXFP4, NVFP4): 0 .. 6 and, from code 8, the
 * negatives. */
extern const int8_t lmi_book_fp4[16];

/* The code of the E2M1 value nearest to v / 2; zero is code 0. */
uint8_t lmi_fp4_code(float v);

#endif /* LLAMAD_CORE_QUANT_BOOK_H */
