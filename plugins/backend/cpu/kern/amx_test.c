/* SPDX-License-Identifier: MIT
 *
 * Tests the tile operations in plain C against sums that are written out here, what they reject, that kernels
 * release their tiles, and who may use tiles.  kern_test and kern_packed_test compare the kernels over these
 * operations with backend ref. */
#define KERN_AMX_TWIN
#include "amx_tile.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amx_permit.h"
#include "core/base/cpu.h"
#include "kern.h"
#include "tests/lmd_check.h"

#define AMX_FLAGS (LMD_CPU_AMX_INT8 | LMD_CPU_AMX_BF16)

/* ---- operations ---- */

static struct kern_amx_config config(uint8_t m, uint8_t k, uint16_t n)
{
	struct kern_amx_config c = {.palette = 1};

	c.rows[0] = m; /* sums */
	c.bytes[0] = (uint16_t)(4 * n);
	c.rows[1] = m;
	c.bytes[1] = (uint16_t)(4 * k);
	c.rows[2] = k;
	c.bytes[2] = (uint16_t)(4 * n);
	return c;
}

static void fill(void *p, size_t bytes, uint64_t *seed)
{
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)p)[i] = (uint8_t)lmd_rand(seed);
}

/* Products of all sizes: the sums are those of the formula, and what is outside stays as it was. */
START_TEST(integer_products)
{
	uint64_t seed = lmd_seed("tiles", 3);

	for (int i = 0; i < 500; i++) {
		const uint32_t m = 1 + (uint32_t)(lmd_rand(&seed) % 16), n = 1 + (uint32_t)(lmd_rand(&seed) % 16),
			       k = 1 + (uint32_t)(lmd_rand(&seed) % 16);
		const struct kern_amx_config c = config((uint8_t)m, (uint8_t)k, (uint16_t)n);
		int8_t a[16][80], b[16][64];
		uint32_t sum[16][16], out[16][16], was[16][16];

		fill(a, sizeof(a), &seed);
		fill(b, sizeof(b), &seed);
		fill(sum, sizeof(sum), &seed);
		fill(out, sizeof(out), &seed);
		memcpy(was, out, sizeof(out));
		AMX_CONFIGURE(&c);
		AMX_LOAD(0, sum, 64);
		AMX_LOAD(1, a, 80);
		AMX_LOAD(2, b, 64);
		AMX_DPBSSD(0, 1, 2);
		AMX_STORE(0, out, 64);
		AMX_RELEASE();
		for (uint32_t y = 0; y < 16; y++)
			for (uint32_t x = 0; x < 16; x++) {
				uint32_t want = sum[y][x];

				for (uint32_t j = 0; j < 4 * k; j++)
					want += (uint32_t)((int)a[y][j] * (int)b[j / 4][4 * x + j % 4]);
				want = y < m && x < n ? want : was[y][x];
				/* An assertion of Check costs a system call. */
				if (out[y][x] != want)
					ck_abort_msg("%ux%ux%u at %u, %u", m, k, n, y, x);
			}
	}
}
END_TEST

static uint16_t bf16(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return (uint16_t)(bits >> 16);
}

/* One output of a product of bf16; a and b: two pairs of numbers that bf16 has, added to c. */
static float bf16_product(float c, const float a[4], const float b[4])
{
	const struct kern_amx_config f = config(1, 2, 1);
	uint16_t x[4], w[2][2];

	for (int i = 0; i < 4; i++) {
		x[i] = bf16(a[i]);
		w[i / 2][i % 2] = bf16(b[i]);
	}
	AMX_CONFIGURE(&f);
	AMX_LOAD(0, &c, 4);
	AMX_LOAD(1, x, 8);
	AMX_LOAD(2, w, 4);
	AMX_DPBF16PS(0, 1, 2);
	AMX_STORE(0, &c, 4);
	AMX_RELEASE();
	return c;
}

/* First and second numbers of pairs are summed apart, then together, then with what was there; each step is
 * rounded once; denormal numbers are 0. */
START_TEST(bf16_products)
{
	static const float ones[4] = {1, 1, 1, 1};
	const float third = 1 + 0x1p-7f;

	ck_assert(bf16_product(3, (float[4]){1, 2, 4, 8}, (float[4]){1, 10, 100, 1000}) == 8424);
	/* 1 is lost beside 2^24, once in the first sum, but not if it is in the other one */
	ck_assert(bf16_product(0, (float[4]){0x1p24f, 0, 1, 0}, ones) == 0x1p24f);
	ck_assert(bf16_product(-0x1p24f, (float[4]){0x1p24f, 1, 0, 1}, ones) == 2);
	ck_assert(bf16_product(0, (float[4]){0x1p24f, 1, -0x1p24f, 1}, ones) == 2);
	/* a product is not rounded before it is added: 1 + 2^-6 + 2^-14, beside -1 */
	ck_assert(bf16_product(0, (float[4]){1, 0, third, 0}, (float[4]){-1, 0, third, 0}) ==
		  0x1p-6f + 0x1p-14f);
	ck_assert(bf16_product(0, (float[4]){0x1p-127f, 0, 0, 0}, (float[4]){0x1p100f, 0, 0, 0}) == 0);
	ck_assert(bf16_product(0, (float[4]){0x1p-70f, 0, 0, 0}, (float[4]){0x1p-70f, 0, 0, 0}) == 0);
	ck_assert(bf16_product(0x1p-127f, ones, (float[4]){0, 0, 0, 0}) == 0);
}
END_TEST

/* ---- what is rejected ---- */

static void wrong_palette(void)
{
	struct kern_amx_config c = config(1, 1, 1);

	c.palette = 2;
	AMX_CONFIGURE(&c);
}

static void wrong_reserved(void)
{
	struct kern_amx_config c = config(1, 1, 1);

	c.zero[13] = 1;
	AMX_CONFIGURE(&c);
}

static void wrong_ninth(void)
{
	struct kern_amx_config c = config(1, 1, 1);

	c.rows[8] = 1;
	c.bytes[8] = 4;
	AMX_CONFIGURE(&c);
}

static void wrong_rows(void)
{
	struct kern_amx_config c = config(17, 1, 1);

	AMX_CONFIGURE(&c);
}

static void wrong_bytes(void)
{
	struct kern_amx_config c = config(1, 1, 17);

	AMX_CONFIGURE(&c);
}

static void wrong_half(void)
{
	struct kern_amx_config c = config(1, 1, 1);

	c.bytes[5] = 4;
	AMX_CONFIGURE(&c);
}

static void wrong_none(void)
{
	AMX_ZERO(0);
}

static void wrong_tile(void)
{
	struct kern_amx_config c = config(1, 1, 1);

	AMX_CONFIGURE(&c);
	AMX_ZERO(3);
}

static void wrong_twice(void)
{
	struct kern_amx_config c = config(1, 1, 1);

	AMX_CONFIGURE(&c);
	AMX_DPBSSD(0, 1, 1);
}

static void wrong_depth(void)
{
	struct kern_amx_config c = config(2, 3, 4);

	c.rows[2] = 2;
	AMX_CONFIGURE(&c);
	AMX_DPBSSD(0, 1, 2);
}

static void wrong_width(void)
{
	struct kern_amx_config c = config(2, 3, 4);

	c.bytes[2] = 12;
	AMX_CONFIGURE(&c);
	AMX_DPBF16PS(0, 1, 2);
}

static void wrong_height(void)
{
	struct kern_amx_config c = config(2, 3, 4);

	c.rows[1] = 3;
	AMX_CONFIGURE(&c);
	AMX_DPBSSD(0, 1, 2);
}

static void wrong_dwords(void)
{
	struct kern_amx_config c = config(1, 1, 1);
	char row[8] = {0};

	c.bytes[1] = 6;
	AMX_CONFIGURE(&c);
	AMX_LOAD(1, row, 8);
}

static void (*const wrong[])(void) = {
	wrong_palette, wrong_reserved, wrong_ninth, wrong_rows,	 wrong_bytes,  wrong_half,   wrong_none,
	wrong_tile,    wrong_twice,    wrong_depth, wrong_width, wrong_height, wrong_dwords,
};

START_TEST(rejected)
{
	wrong[_i]();
}
END_TEST

/* ---- threads ---- */

static void *configured(void *arg)
{
	(void)arg;
	return kern_amx_twin_configured() ? &errno : NULL;
}

START_TEST(tiles_belong_to_a_thread)
{
	const struct kern_amx_config c = config(1, 1, 1);
	pthread_t thread;
	void *has;

	ck_assert(!kern_amx_twin_configured());
	AMX_CONFIGURE(&c);
	ck_assert(kern_amx_twin_configured());
	ck_assert_int_eq(pthread_create(&thread, NULL, configured, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &has), 0);
	ck_assert_ptr_null(has);
	AMX_RELEASE();
	ck_assert(!kern_amx_twin_configured());
}
END_TEST

/* A kernel leaves no tiles behind, and rows of x may be anywhere. */
START_TEST(kernels_release_tiles)
{
	enum { K = 544, ROWS = 19, COLS = 21 };
	static const uint32_t types[] = {LMD_DTYPE_Q8_0, LMD_DTYPE_BF16};
	uint64_t seed = lmd_seed("tiles of kernels", 5);

	for (size_t i = 0; i < LMD_LEN(types); i++) {
		const struct kern_linear *l = kern_linear_amx_twin;
		const size_t w_bytes = types[i] == LMD_DTYPE_BF16 ? K * 2 : K / 32 * 34;
		uint8_t *w = malloc(ROWS * w_bytes);
		float x[K], out[2][COLS][ROWS];
		char *rows[COLS];
		const void *px[COLS];
		float *py[COLS];

		while (l->dtype != types[i])
			l++;
		ck_assert_ptr_nonnull(w);
		fill(w, ROWS * w_bytes, &seed);
		for (size_t b = 0; b < ROWS * w_bytes; b += 34) /* scales that are finite */
			if (types[i] == LMD_DTYPE_Q8_0)
				w[b + 1] = 0x20;
		for (size_t b = 1; types[i] == LMD_DTYPE_BF16 && b < ROWS * w_bytes; b += 2)
			w[b] = 0x3f;
		for (size_t c = 0; c < COLS; c++) {
			rows[c] = aligned_alloc(KERN_ALIGN, 4096);
			ck_assert_ptr_nonnull(rows[c]);
			for (size_t j = 0; j < K; j++)
				x[j] = (float)(int)(lmd_rand(&seed) % 255) - 127;
			if (l->prepare)
				l->prepare(x, K, rows[c]);
			else
				kern_act_find(0)->row(x, K, 1, rows[c]);
		}
		for (size_t order = 0; order < 2; order++) {
			struct kern_product p = {.w = w, .w_stride = w_bytes, .x = px, .y = py, .k = K,
						 .n_row = ROWS, .n_col = COLS};

			for (size_t c = 0; c < COLS; c++) {
				const size_t from = order ? c * 8 % COLS : c;

				px[c] = rows[from];
				py[c] = out[order][from];
			}
			p.scratch = aligned_alloc(KERN_ALIGN, l->scratch_bytes(K));
			l->run(l, &p);
			free(p.scratch);
			ck_assert(!kern_amx_twin_configured());
		}
		ck_assert(!memcmp(out[0], out[1], sizeof(out[0])));
		for (size_t c = 0; c < COLS; c++)
			free(rows[c]);
		free(w);
	}
}
END_TEST

/* ---- who may use tiles ---- */

static int answer, n_asked;

static int ask(void)
{
	n_asked++;
	return answer;
}

static uint64_t flags_of(uint64_t flags, bool use, int error, char *why, size_t n)
{
	answer = error;
	n_asked = 0;
	return kern_amx_flags(flags, use, ask, why, n);
}

/* Tiles are left out unless they are asked for, the processor has them and the system permits them; the other
 * flags stay; and nothing is asked of the system before that. */
START_TEST(permission)
{
	const uint64_t others = LMD_CPU_AVX2 | LMD_CPU_AVX512, all = others | AMX_FLAGS;
	char why[128];

	ck_assert(flags_of(all, false, 0, why, sizeof(why)) == others);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(n_asked, 0);
	ck_assert(flags_of(others, true, 0, why, sizeof(why)) == others);
	ck_assert_int_eq(n_asked, 0);
#ifdef KERN_WITH_AMX
	ck_assert_msg(strstr(why, "the processor has no AMX") != NULL, "%s", why);
	ck_assert(flags_of(all, true, EPERM, why, sizeof(why)) == others);
	ck_assert_msg(strstr(why, "does not permit tiles: Operation not permitted") != NULL, "%s", why);
	ck_assert_int_eq(n_asked, 1);
	ck_assert(flags_of(all, true, 0, why, sizeof(why)) == all);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(n_asked, 1);
	ck_assert(flags_of(others | LMD_CPU_AMX_BF16, true, 0, why, sizeof(why)) == (others | LMD_CPU_AMX_BF16));
#else
	ck_assert_msg(strstr(why, "no kernels for AMX") != NULL, "%s", why);
	ck_assert(flags_of(all, true, 0, why, sizeof(why)) == others);
#endif
}
END_TEST

/* The kernels with tiles are in the table, and are found only with the flags of AMX. */
START_TEST(choice)
{
	const uint64_t without = ~AMX_FLAGS;
	unsigned n = 0;

	for (size_t i = 0; kern_linear_at(i); i++) {
		const struct kern_linear *l = kern_linear_at(i);

		ck_assert_int_eq(!strcmp(l->isa, "amx"), !!(l->flags & AMX_FLAGS));
		if (!(l->flags & AMX_FLAGS))
			continue;
		n++;
		ck_assert_ptr_eq(kern_linear_find(l->dtype, l->act, UINT64_MAX), l);
		ck_assert_str_ne(l->act == KERN_ACT_BF16 ? "" : kern_linear_find(l->dtype, l->act, without)->isa,
				 "amx");
	}
	for (size_t i = 0; kern_packed_at(i); i++)
		if (kern_packed_at(i)->flags & AMX_FLAGS) {
			n++;
			ck_assert_str_eq(kern_packed_find(kern_packed_at(i)->dtype, UINT64_MAX)->isa, "amx");
		}
	printf("%u kernels with tiles\n", n);
#ifdef KERN_WITH_AMX
	ck_assert_uint_gt(n, 40);
#else
	ck_assert_uint_eq(n, 0);
#endif
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tiles of backend cpu");
	TCase *t = tcase_create("tiles");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, integer_products);
	tcase_add_test(t, bf16_products);
	tcase_add_loop_test_raise_signal(t, rejected, SIGABRT, 0, (int)LMD_LEN(wrong));
	tcase_add_test(t, tiles_belong_to_a_thread);
	tcase_add_test(t, kernels_release_tiles);
	tcase_add_test(t, permission);
	tcase_add_test(t, choice);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
