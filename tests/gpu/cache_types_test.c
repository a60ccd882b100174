/* SPDX-License-Identifier: MIT
 *
 * Rows of KV caches as kernels store and read them: the bytes that the host makes of the same numbers, so that pages
 * can move between devices and the host. */
#include "tests/lmd_check.h"

#include <math.h>
#include <string.h>

#include "core/quant/quant.h"
#include "tests/gpu/emu.h"

#undef GPU_KERNEL
#define GPU_KERNEL static inline void /* not called here */
#include "backend/gpu/kern/decode.h"
#include "backend/gpu/kern/hadamard.h"

#define WIDTH 128u

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static float float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static bool same(float a, float b)
{
	return (isnan(a) && isnan(b)) || bits_of(a) == bits_of(b);
}

START_TEST(reads_f8_e4m3)
{
	const struct lmi_dtype *t = lmi_dtype(LMD_DTYPE_F8_E4M3);

	for (uint32_t b = 0; b < 256; b++) {
		uint8_t bytes[4] = {(uint8_t)b, (uint8_t)(b + 1), (uint8_t)(b ^ 0x80), (uint8_t)(255 - b)};
		float want[4], four[4];
		uint32_t word;

		t->dequant(bytes, want, 4);
		memcpy(&word, bytes, sizeof(word));
		gpu_e4m3_four(word, four);
		ck_assert_msg(same(gpu_e4m3(b), want[0]), "code %u", b);
		for (int i = 0; i < 4; i++)
			ck_assert_msg(same(four[i], want[i]), "code %u of four with %u", bytes[i], b);
	}
}
END_TEST

/* Every number of 16 bits, and what is just above it, just below its middle to the next one, and so on; so each tie, each
 * number beside a tie, denormal numbers, numbers that are too large, infinities and NaN are among them. */
START_TEST(stores_f8_e4m3)
{
	static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
	const struct lmi_dtype *t = lmi_dtype(LMD_DTYPE_F8_E4M3);

	for (uint32_t high = 0; high < 65536; high++) {
		for (size_t i = 0; i < LMD_LEN(low); i++) {
			float x = float_of(high << 16 | low[i]);
			uint8_t want, got = gpu_float_to_e4m3(x);

			t->quant(&x, &want, 1, NULL);
			ck_assert_msg(got == want, "%a: %02x instead of %02x", (double)x, got, want);
		}
	}
}
END_TEST

/* The nearest of all values, the even code of two that are equally near: by search. */
START_TEST(f8_e4m3_is_nearest)
{
	const struct lmi_dtype *t = lmi_dtype(LMD_DTYPE_F8_E4M3);
	float value[0x7f];

	for (uint32_t b = 0; b < 0x7f; b++)
		value[b] = gpu_e4m3(b);
	for (uint32_t u = 0; u < 0x7f800000u; u += 0x3fff) {
		double x = (double)float_of(u);
		uint32_t best = 0;
		uint8_t got;
		float f = float_of(u);

		for (uint32_t b = 1; b < 0x7f; b++) {
			double d = fabs(x - (double)value[b]), e = fabs(x - (double)value[best]);

			if (d < e || (!(d > e) && b % 2 == 0))
				best = b;
		}
		t->quant(&f, &got, 1, NULL);
		ck_assert_msg(got == best, "%a: %02x instead of %02x", x, got, best);
	}
}
END_TEST

/* ---- rows ---- */

struct row {
	uint32_t type;
	float x[WIDTH];
	uint8_t *out;
};

/* As gpu_rope_store does it. */
static void store(void *args)
{
	struct row *r = args;
	uint32_t type = r->type;

	if (type == GPU_Q4_0_ROT) {
		gpu_hadamard_64(r->x, WIDTH);
		type = GPU_Q4_0;
	}
	for (uint32_t c = GPU_TID; c < WIDTH; c += GPU_THREADS)
		gpu_encode(type, r->x, c, r->out);
}

static float draw(uint64_t *rng)
{
	*rng = *rng * 6364136223846793005ull + 1442695040888963407ull;
	return (float)(int32_t)(*rng >> 32) * 0x1p-31f;
}

START_TEST(stores_rows)
{
	static const uint32_t types[] = {
		LMD_DTYPE_F32,  LMD_DTYPE_F16,  LMD_DTYPE_BF16, LMD_DTYPE_Q8_0,   LMD_DTYPE_F8_E4M3,
		LMD_DTYPE_Q5_1, LMD_DTYPE_Q5_0, LMD_DTYPE_Q4_1, LMD_DTYPE_IQ4_NL, LMD_DTYPE_Q4_0,
		LMD_DTYPE_Q4_0_ROT};
	const struct lmi_dtype *t = lmi_dtype(types[_i]);
	uint64_t rng = 5;

	for (uint32_t n = 0; n < 200; n++) {
		uint8_t want[4 * WIDTH] = {0}, got[4 * WIDTH] = {0};
		struct row r = {.type = types[_i], .out = got};
		const struct emu_launch l = {.kernel = store,
					     .args = &r,
					     .grid_x = 1,
					     .grid_y = 1,
					     .threads = 64,
					     .warp = 32};
		float scale = ldexpf(1, (int)(n % 24) - 12);

		for (uint32_t c = 0; c < WIDTH; c++) /* some columns are much larger, one row is zero */
			r.x[c] = n == 7 ? 0 : scale * draw(&rng) * (c % 37 == n % 37 ? 30 : 1);
		(t->quant_nearest ? t->quant_nearest : t->quant)(r.x, want, WIDTH, NULL);
		ck_assert_int_eq(emu_go_on(emu_begin(&l, "store")), 1);
		for (uint32_t i = 0; i < sizeof(want); i++)
			ck_assert_msg(got[i] == want[i], "%s, row %u, byte %u: %02x instead of %02x", t->name,
				      n, i, got[i], want[i]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cache types of the GPU backends");
	TCase *tc = tcase_create("bytes");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, reads_f8_e4m3);
	tcase_add_test(tc, stores_f8_e4m3);
	tcase_add_test(tc, f8_e4m3_is_nearest);
	tcase_add_loop_test(tc, stores_rows, 0, 11);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
