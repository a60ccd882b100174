/* SPDX-License-Identifier: MIT
 *
 * decode_test.h - shared by the tests of decoders: a hash of all decoded values of a type. */
#ifndef LLAMAD_CORE_QUANT_DECODE_TEST_H
#define LLAMAD_CORE_QUANT_DECODE_TEST_H

#include "core/quant/half.h"
#include "core/quant/quant.h"
#include "tests/lmd_check.h"

/* Returns a hash of the values decoded from 8 pseudo-random rows of 1024 values; all NaNs are
 * equal. */
static inline uint64_t decode_hash(const struct lmi_dtype *t)
{
	enum { WIDTH = 1024, ROWS = 8 };
	uint64_t seed = 1, h = 0xCBF29CE484222325u, bytes = 0; /* FNV-1a */
	float *y = malloc(ROWS * WIDTH * sizeof(*y));
	uint8_t *rows;

	ck_assert(lmi_row_bytes(t, WIDTH, &bytes));
	rows = malloc(ROWS * bytes + 1);
	ck_assert(rows && y);
	for (size_t i = 0; i < ROWS * bytes; i++)
		rows[i + 1] = (uint8_t)lmd_rand(&seed); /* at an odd address */
	lmi_dequant_rows(t, rows + 1, y, WIDTH, ROWS);
	for (size_t i = 0; i < ROWS * WIDTH; i++)
		h = (h ^ (y[i] == y[i] ? lmi_f32_bits(y[i]) : 0x7FC00000u)) * 0x100000001B3u;
	free(rows);
	free(y);
	return h;
}

#endif /* LLAMAD_CORE_QUANT_DECODE_TEST_H */
