/* SPDX-License-Identifier: MIT
 *
 * book.h - the 16-entry code books of 4-bit types that are not linear. */
#ifndef LLAMAD_CORE_QUANT_BOOK_H
#define LLAMAD_CORE_QUANT_BOOK_H

#include <stdint.h>

/* IQ4_NL and IQ4_XS, ascending. */
extern const int8_t lmi_book_iq4[16];

/* Twice the values of the 4-bit float E2M1 (MXFP4, NVFP4): 0 .. 6 and, from code 8, the
 * negatives. */
extern const int8_t lmi_book_fp4[16];

/* The code of the E2M1 value nearest to v / 2; zero is code 0. */
uint8_t lmi_fp4_code(float v);

#endif /* LLAMAD_CORE_QUANT_BOOK_H */
