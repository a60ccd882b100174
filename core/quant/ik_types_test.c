/* SPDX-License-Identifier: MIT
 *
 * The types of ik_llama.cpp: rows with a header, and the error of the encoders.  The error bounds
 * were computed with ik_llama.cpp's own encoders (2026-08) on the same pseudo-random values. */
#include "tests/lmd_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/float16.h"
#include "core/quant/quant.h"

enum { WIDTH = 1024 };

/* Makes row r of 8 with weights like those of real models: sums of uniform numbers, with a spread
 * that changes along the row, or with a few outliers. */
static void weights(int r, uint64_t *seed, float *x, float *w)
{
	for (int i = 0; i < WIDTH; i++) {
		uint64_t v = lmd_rand(seed), u = lmd_rand(seed);
		float sum = 0;

		for (int k = 0; k < 4; k++)
			sum += (float)(v >> 16 * k & 0xFFFF) - 32767.5f;
		sum *= 0.02f / 37837;
		if (r % 4 == 1)
			sum *= 1 + 0.75f * (float)(i / 32 % 5 - 2) / 2;
		if (r % 4 == 2)
			sum *= fabsf(sum) * 50;
		if (r % 4 == 3 && u % 64 == 0)
			sum *= 6;
		x[i] = sum;
		w[i] = (float)(1 + (u >> 8 & 255) * (i % 7 ? 1 : 8));
	}
}

/* Returns the relative error of 8 rows, by the measure that was requested. */
static double error_of(const struct lmi_dtype *t, bool imatrix)
{
	static float x[WIDTH], w[WIDTH], y[WIDTH];
	uint8_t row[WIDTH * 2];
	uint64_t seed = 11;
	double mean = 0;

	for (int r = 0; r < 8; r++) {
		double e2 = 0, x2 = 0;

		weights(r, &seed, x, w);
		t->quant(x, row, WIDTH, imatrix ? w : NULL);
		t->dequant(row, y, WIDTH);
		for (int i = 0; i < WIDTH; i++) {
			double e = (double)y[i] - x[i], k = imatrix ? w[i] : 1;

			e2 += k * e * e;
			x2 += k * x[i] * x[i];
		}
		mean += sqrt(e2 / x2) / 8;
	}
	return mean;
}

START_TEST(encoders)
{
	static const struct {
		enum lmd_dtype type;
		double plain, imatrix; /* errors of ik_llama.cpp's encoders */
	} bars[] = {
		{LMD_DTYPE_Q6_0, 0.024386, 0.022723},
		{LMD_DTYPE_IQ1_BN, 0.870369, 0.889892},
		{LMD_DTYPE_IQ2_BN, 0.870347, 0.889884},
		{LMD_DTYPE_IQ2_K, 0.325587, 0.265758},
		{LMD_DTYPE_IQ3_K, 0.146909, 0.129045},
		{LMD_DTYPE_IQ4_K, 0.071213, 0.061398},
		{LMD_DTYPE_IQ5_K, 0.035474, 0.032280},
		{LMD_DTYPE_IQ6_K, 0.017242, 0.015134},
		{LMD_DTYPE_IQ2_KS, 0.379464, 0.303892},
		{LMD_DTYPE_IQ3_KS, 0.174828, 0.155913},
		{LMD_DTYPE_IQ4_KS, 0.084522, 0.074736},
		{LMD_DTYPE_IQ5_KS, 0.041281, 0.036667},
		{LMD_DTYPE_IQ4_KSS, 0.126654, 0.089015},
		{LMD_DTYPE_IQ2_KL, 0.245412, 0.205786},
		{LMD_DTYPE_IQ1_KT, 0.496049, 0.325975},
		{LMD_DTYPE_IQ2_KT, 0.377260, 0.250980},
		{LMD_DTYPE_IQ3_KT, 0.197529, 0.134801},
		{LMD_DTYPE_IQ4_KT, 0.106212, 0.071056},
		{LMD_DTYPE_Q8_KV, 0.013243, 0.013803},
	};

	for (size_t i = 0; i < LMD_LEN(bars); i++) {
		const struct lmi_dtype *t = lmi_dtype(bars[i].type);
		double plain = error_of(t, false), imatrix = error_of(t, true);

		printf("%s: error relative to ik_llama.cpp: %.3f, with importances %.3f\n", t->name,
		       plain / bars[i].plain, imatrix / bars[i].imatrix);
		ck_assert_double_le(plain, 1.02 * bars[i].plain);
		ck_assert_double_le(imatrix, 1.02 * bars[i].imatrix);
	}
}
END_TEST

/* These types exist because they give better values with the same number of bits. */
START_TEST(better_than)
{
	static const enum lmd_dtype pairs[][2] = {
		{LMD_DTYPE_IQ4_K, LMD_DTYPE_Q4_K},   {LMD_DTYPE_IQ5_K, LMD_DTYPE_Q5_K},
		{LMD_DTYPE_IQ3_K, LMD_DTYPE_Q3_K},   {LMD_DTYPE_IQ4_KS, LMD_DTYPE_IQ4_XS},
		{LMD_DTYPE_IQ2_K, LMD_DTYPE_IQ2_KS}, {LMD_DTYPE_IQ6_K, LMD_DTYPE_Q6_K},
		{LMD_DTYPE_Q6_0, LMD_DTYPE_Q5_0},    {LMD_DTYPE_IQ4_KS, LMD_DTYPE_IQ4_KSS},
	};

	for (size_t i = 0; i < LMD_LEN(pairs); i++) {
		const struct lmi_dtype *a = lmi_dtype(pairs[i][0]), *b = lmi_dtype(pairs[i][1]);
		double ea = error_of(a, false), eb = error_of(b, false);

		ck_assert_msg(ea < eb, "%s: %g, %s: %g", a->name, ea, b->name, eb);
	}
}
END_TEST

/* The row header determines the magnitude: each row is decoded with its own header, even in the
 * middle of a tensor, and a power of two in the values goes into the header. */
START_TEST(row_headers)
{
	enum { ROWS = 3, COLS = 512 };
	static float x[ROWS * COLS], y[ROWS * COLS], z[COLS];
	uint64_t seed = lmd_seed("row_headers", 5);

	for (int i = 0; i < COLS; i++)
		for (int r = 0; r < ROWS; r++)
			x[r * COLS + i] = ldexpf((float)(int16_t)lmd_rand(&seed) * 0x1p-15f,
						 3 * r - 4);
	for (uint32_t id = 0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *t = lmi_dtype(id);
		static uint8_t rows[ROWS * COLS * 2];
		uint64_t bytes = 0;

		if (!t || !t->row_bytes_extra)
			continue;
		ck_assert(lmi_quant_row_bytes(t, COLS, &bytes));
		ck_assert_uint_eq(bytes, COLS / t->block_elems * t->block_bytes +
						 t->row_bytes_extra);
		for (int r = 0; r < ROWS; r++)
			t->quant(x + r * COLS, rows + r * bytes, COLS, NULL);
		lmi_quant_dequant_rows(t, rows, y, COLS, ROWS);
		for (int r = 0; r < ROWS; r++) {
			double e2 = 0, x2 = 0;

			t->dequant(rows + r * bytes, z, COLS);
			ck_assert_mem_eq(z, y + r * COLS, sizeof(z));
			for (int i = 0; i < COLS; i++) {
				e2 += pow((double)z[i] - x[r * COLS + i], 2);
				x2 += pow(x[r * COLS + i], 2);
			}
			ck_assert_msg(e2 < 0.4 * x2, "%s row %d: %g of %g", t->name, r, e2, x2);
		}
		/* same codes, eight times the scale */
		for (int i = 0; i < COLS; i++)
			x[i] *= 8;
		t->quant(x, rows + bytes, COLS, NULL);
		ck_assert_msg(!memcmp(rows + t->row_bytes_extra,
				      rows + bytes + t->row_bytes_extra,
				      bytes - t->row_bytes_extra),
			      "%s: codes depend on the scale", t->name);
		for (int i = 0; i < COLS; i++)
			x[i] /= 8;
	}
}
END_TEST

/* Ternary rows, zeros and equal values are reproduced exactly or nearly so. */
START_TEST(special_rows)
{
	enum { COLS = 256 };
	float x[COLS], y[COLS];
	uint8_t row[1024];
	uint64_t seed = lmd_seed("special_rows", 6);

	for (uint32_t id = LMD_DTYPE_Q6_0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *t = lmi_dtype(id);

		if (!t)
			continue;
		memset(x, 0, sizeof(x));
		t->quant(x, row, COLS, NULL);
		t->dequant(row, y, COLS);
		for (int i = 0; i < COLS; i++)
			ck_assert_msg(y[i] == 0, "%s: %a for 0", t->name, y[i]);
	}
	for (int i = 0; i < COLS; i++)
		x[i] = 0.375f * (float)((int)(lmd_rand(&seed) % 3) - 1);
	for (int k = 0; k < 2; k++) {
		const struct lmi_dtype *t = lmi_dtype(k ? LMD_DTYPE_IQ2_BN : LMD_DTYPE_IQ1_BN);

		t->quant(x, row, COLS, NULL);
		t->dequant(row, y, COLS);
		ck_assert_mem_eq(x, y, sizeof(x));
	}
}
END_TEST

/* Blocks whose fields were computed by hand. */
START_TEST(decode_by_hand)
{
	uint8_t row[512];
	float y[256];

	/* d = 2, a sum that is not used, codes 1 and -3 */
	memset(row, 0, sizeof(row));
	lmi_put_le32(row, lmi_f32_bits(2));
	lmi_put_le32(row + 4, 77);
	row[8] = 1;
	row[8 + 31] = 0xFD;
	lmi_dtype(LMD_DTYPE_Q8_KV)->dequant(row, y, 32);
	ck_assert_float_eq(y[0], 2);
	ck_assert_float_eq(y[31], -6);
	/* d = 1; code 63 for value 24 (high bits 6, 7 of byte 0, high nibble of byte 8), code 32
	 * for value 0 */
	memset(row, 0, sizeof(row));
	lmi_put_f16(row, 1);
	row[2] = 0xC2;
	row[10 + 8] = 0xF0;
	lmi_dtype(LMD_DTYPE_Q6_0)->dequant(row, y, 32);
	ck_assert_float_eq(y[24], 31);
	ck_assert_float_eq(y[0], 0);
	ck_assert_float_eq(y[16], -32);
	/* d = 1/2; group 2: scale 33 - 32, second codebook; its value 5 (code 15): 113 + 4 */
	memset(row, 0, sizeof(row));
	lmi_put_f16(row, 0.5f);
	row[2] = 4;
	row[4] = 2 << 4;
	row[8 + 1] = 1;
	row[16 + 16 + 5] = 15;
	lmi_dtype(LMD_DTYPE_IQ4_K)->dequant(row, y, 256);
	ck_assert_float_eq(y[37], 58.5f);
	ck_assert_float_eq(y[38], -61.5f);
	/* d = 1; group 1 of IQ4_KSS: the lowest bits of words 0 and 7 make the scale byte 129, that
	 * is, scale 128 - 127 and the second codebook; word 3 = 0x8000 makes bytes 6, 7 of the
	 * codes 0x00, 0xC0 */
	memset(row, 0, sizeof(row));
	lmi_put_le32(row, lmi_f32_bits(1));
	row[4 + 16] = 1;
	row[4 + 16 + 14] = 1;
	row[4 + 16 + 7] = 0x80;
	lmi_dtype(LMD_DTYPE_IQ4_KSS)->dequant(row, y, 256);
	ck_assert_float_eq(y[32 + 16 + 7], 57);
	ck_assert_float_eq(y[32 + 7], -123);
	ck_assert_float_eq(y[0], -127 * -127);
	/* d = 1; ternary digits of the last byte: 2, 0, 1, 0 from the lowest: 256 / 243 * (2 + 9),
	 * rounded up */
	memset(row, 0, sizeof(row));
	lmi_put_f16(row, 1);
	row[2 + 12] = 12;
	lmi_dtype(LMD_DTYPE_IQ1_BN)->dequant(row, y, 64);
	ck_assert_float_eq(y[15], 1);
	ck_assert_float_eq(y[31], -1);
	ck_assert_float_eq(y[47], 0);
	ck_assert_float_eq(y[63], -1);
}
END_TEST

START_TEST(unknown_types)
{
	char buf[160];

	ck_assert_ptr_nonnull(strstr(lmi_dtype_explain_unknown(339, buf, sizeof(buf)), "iq4_k_r4"));
	ck_assert_ptr_nonnull(strstr(buf, "interleaved"));
	ck_assert_ptr_nonnull(strstr(lmi_dtype_explain_unknown(132, buf, sizeof(buf)), "unknown"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ik_llama.cpp types");
	TCase *tc = tcase_create("types");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, decode_by_hand);
	tcase_add_test(tc, encoders);
	tcase_add_test(tc, better_than);
	tcase_add_test(tc, row_headers);
	tcase_add_test(tc, special_rows);
	tcase_add_test(tc, unknown_types);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
