/* SPDX-License-Identifier: MIT
 *
 * Codebooks. */
#include "core/quant/book.h"

#include <math.h>

const int8_t lmi_book_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
				 1,    13,   25,  38,  53,  69,  89,  113};

int lmi_book_iq4_code(int value)
{
	int code = 0;

	while (code < 15 && lmi_book_iq4[code] < value)
		code++;
	return code;
}

const int8_t lmi_book_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

uint8_t lmi_fp4_code(float v)
{
	static const float half_way[7] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10};
	float mag = fabsf(v);
	uint8_t code = 0;

	while (code < 7 && mag > half_way[code])
		code++;
	return code && v < 0 ? code | 8 : code;
}

/* Codebooks of the ik_llama.cpp types; the second codebook of a type is offset by a constant. */
const int8_t lmi_book_iq2k[4] = {-31, -13, 1, 17};

const int8_t lmi_book_iq3k[8] = {-63, -40, -23, -10, 1, 13, 28, 47};

const int8_t lmi_book_iq5k[32] = {-126, -114, -103, -92, -83, -74, -65, -57, -50, -43, -36,
				  -30,  -24,  -18,  -12, -6,  -1,  5,   11,  17,  23,  29,
				  36,   43,   51,   59,  68,  77,  87,  97,  109, 121};
