/* SPDX-License-Identifier: MIT
 *
 * Weights in bf16 times activations in bf16 (KERN_ACT_BF16) by VDPBF16PS.  Values 2i and 2i + 1 of
 * a row go to lane i mod 16, whatever is computed beside it.  The weights are read in place, also for
 * many rows of x (tiles.h). */
#include <immintrin.h>
#include <time.h>

#include "slice.h"
#include "variants.h"

typedef __m512 vec;

#define W     32 /* values of a vector */
#define TILE  6
#define ALONE 2
#define SPAN  1024 /* a multiple of W */
#define SUM   _mm512_reduce_add_ps

#include "tile_sums.h"

INLINE __m512 dot(__m512 sum, __m512i a, __m512i b)
{
	return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/* See tile_sums.h; all are in bf16. */
INLINE void add_tile(uint32_t dtype, uint32_t n_row, const uint8_t *const *w,
		     const uint8_t *later, const void *const *x, uint32_t from, uint32_t to,
		     uint32_t n_col, struct sums *s)
{
	__m512 sum[TILE][ROWS];
	__m512i wv[ROWS];

	(void)dtype;
#pragma GCC unroll 8
	for (uint32_t c = 0; c < n_col; c++)
#pragma GCC unroll 8
		for (uint32_t r = 0; r < n_row; r++)
			sum[c][r] = from ? s->v[c][r] : _mm512_setzero_ps();
	for (uint32_t i = from; i < to; i += W) {
		__mmask32 some = to - i < W ? (1u << (to - i)) - 1 : UINT32_MAX;

		if (later)
#pragma GCC unroll 8
			for (size_t b = 0; b < (size_t)n_row * W * 2; b += 64)
				kern_prefetch(later + (size_t)n_row * 2 * i + b);
#pragma GCC unroll 8
		for (uint32_t r = 0; r < n_row; r++)
			wv[r] = some == UINT32_MAX
					? _mm512_loadu_si512(w[r] + 2 * (size_t)i)
					: _mm512_maskz_loadu_epi16(some, w[r] + 2 * (size_t)i);
#pragma GCC unroll 8
		for (uint32_t c = 0; c < n_col; c++) {
			/* prepared rows end with zeros */
			__m512i xv = _mm512_load_si512((const uint16_t *)x[c] + i);

#pragma GCC unroll 8
			for (uint32_t r = 0; r < n_row; r++)
				sum[c][r] = dot(sum[c][r], wv[r], xv);
		}
	}
#pragma GCC unroll 8
	for (uint32_t c = 0; c < n_col; c++)
#pragma GCC unroll 8
		for (uint32_t r = 0; r < n_row; r++)
			s->v[c][r] = sum[c][r];
}

#include "tiles.h"

static void run(const struct kern_linear *self, const struct kern_product *p)
{
	const uint32_t rows = strip_rows(p->k, sizeof(uint16_t));

	if (p->n_col <= TILE) {
		in_place(self->dtype, p);
		return;
	}
	for (uint32_t r = 0; r < p->n_row; r += rows)
		strip(self->dtype, (const uint8_t *)p->w + r * p->w_stride, p->w_stride, p, r,
		      p->n_row - r < rows ? p->n_row - r : rows);
}

static size_t scratch_none(uint32_t k)
{
	(void)k;
	return 0;
}

/* Rounds to nearest even; denormal floats become 0. */
static void prepare(const float *x, uint32_t k, void *out)
{
	for (uint32_t i = 0; i < k; i += W) {
		uint32_t some = k - i < W ? (1u << (k - i)) - 1 : UINT32_MAX;
		__m512 lo = _mm512_maskz_loadu_ps((__mmask16)some, x + i);
		__m512 hi = some >> 16 ? _mm512_maskz_loadu_ps((__mmask16)(some >> 16), x + i + 16)
				       : _mm512_setzero_ps();

		_mm512_store_si512((uint16_t *)out + i, (__m512i)_mm512_cvtne2ps_pbh(hi, lo));
	}
}

/* ---- how fast ---- */

#define CHAINS 12
#define ROUNDS 256

static int64_t now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The time of ROUNDS times CHAINS instructions. */
INLINE int64_t time_of(bool in_bf16)
{
	__m512 s[CHAINS], v = _mm512_setzero_ps();
	int64_t t;

	for (int i = 0; i < CHAINS; i++)
		s[i] = _mm512_setzero_ps();
	__asm__ volatile("" : "+v"(v));
	t = now();
	for (int n = 0; n < ROUNDS; n++) {
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++) {
			s[i] = in_bf16 ? dot(s[i], (__m512i)v, (__m512i)v)
				       : _mm512_fmadd_ps(v, v, s[i]);
			__asm__ volatile("" : "+v"(s[i]));
		}
	}
	return now() - t;
}

float kern_bf16_gain_avx512(void)
{
	int64_t best[2] = {INT64_MAX, INT64_MAX};

	/* others may disturb some of the rounds */
	for (int i = 0; i < 20; i++) {
		int64_t f32 = time_of(false), bf16 = time_of(true);

		best[0] = f32 < best[0] ? f32 : best[0];
		best[1] = bf16 < best[1] ? bf16 : best[1];
	}
	/* an instruction multiplies twice as many values in bf16 */
	return best[1] > 0 ? 2.0f * (float)best[0] / (float)best[1] : 0.0f;
}

const struct kern_linear kern_bf16_avx512[] = {
	{.dtype = LMD_DTYPE_BF16, .act = KERN_ACT_BF16, .isa = "bf16",
	 .flags = LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI | LMD_CPU_AVX512_BF16,
	 .scratch_bytes = scratch_none, .prepare = prepare, .run = run},
	{.run = NULL},
};
