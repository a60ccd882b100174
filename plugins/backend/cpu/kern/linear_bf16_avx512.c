/* SPDX-License-Identifier: MIT
 *
 * Weights in bf16 times activations in bf16 (KERN_ACT_BF16) by VDPBF16PS.  Values 2i and 2i + 1 of
 * a row go to lane i mod 16, whatever is computed beside it.  The weights are read in place: those
 * of a strip of rows stay in the second-level cache while all rows of x are multiplied with them,
 * SPAN values at a time, so that those of a few rows of x stay in the first. */
#include <immintrin.h>
#include <time.h>

#include "slice.h"
#include "variants.h"

#define INLINE      static inline __attribute__((always_inline))
#define W           32 /* values of a vector */
#define ROWS        4
#define TILE        6
#define STRIP_BYTES 0x40000 /* weights of a strip, at least ROWS rows */
#define STRIP_ROWS  64      /* at most */
#define SPAN        1024    /* a multiple of W */
#define AHEAD       0x8000  /* distance of prefetches in bytes */

/* The sums of ROWS weight rows times up to TILE rows of x, lane by lane. */
struct sums {
	__m512 v[TILE][ROWS];
};

INLINE __m512 dot(__m512 sum, __m512i a, __m512i b)
{
	return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/* Adds values [from, to) of ROWS weight rows times those of n_col rows of x; from is a multiple of
 * W, sums begin at 0.  n_col is 1..TILE and constant.  later: where to prefetch as many bytes as
 * are read; NULL: nowhere. */
INLINE void add_tile(const uint8_t *const w[ROWS], const uint8_t *later, const void *const *x,
		     uint32_t from, uint32_t to, uint32_t n_col, struct sums *s)
{
	__m512 sum[TILE][ROWS];
	__m512i wv[ROWS];

#pragma GCC unroll 8
	for (uint32_t c = 0; c < n_col; c++)
#pragma GCC unroll 8
		for (uint32_t r = 0; r < ROWS; r++)
			sum[c][r] = from ? s->v[c][r] : _mm512_setzero_ps();
	for (uint32_t i = from; i < to; i += W) {
		__mmask32 some = to - i < W ? (1u << (to - i)) - 1 : UINT32_MAX;

		if (later)
#pragma GCC unroll 8
			for (size_t b = 0; b < (size_t)ROWS * W * 2; b += 64)
				__builtin_prefetch(later + (size_t)ROWS * 2 * i + b, 0, 2);
#pragma GCC unroll 8
		for (uint32_t r = 0; r < ROWS; r++)
			wv[r] = some == UINT32_MAX
					? _mm512_loadu_si512(w[r] + 2 * (size_t)i)
					: _mm512_maskz_loadu_epi16(some, w[r] + 2 * (size_t)i);
#pragma GCC unroll 8
		for (uint32_t c = 0; c < n_col; c++) {
			/* prepared rows end with zeros */
			__m512i xv = _mm512_load_si512((const uint16_t *)x[c] + i);

#pragma GCC unroll 8
			for (uint32_t r = 0; r < ROWS; r++)
				sum[c][r] = dot(sum[c][r], wv[r], xv);
		}
	}
#pragma GCC unroll 8
	for (uint32_t c = 0; c < n_col; c++)
#pragma GCC unroll 8
		for (uint32_t r = 0; r < ROWS; r++)
			s->v[c][r] = sum[c][r];
}

/* add_tile for an n_col that is not constant. */
INLINE void add(const uint8_t *const w[ROWS], const uint8_t *later, const void *const *x,
		uint32_t from, uint32_t to, uint32_t n_col, struct sums *s)
{
	switch (n_col) {
	case 1:
		add_tile(w, later, x, from, to, 1, s);
		break;
	case 2:
		add_tile(w, later, x, from, to, 2, s);
		break;
	case 3:
		add_tile(w, later, x, from, to, 3, s);
		break;
	case 4:
		add_tile(w, later, x, from, to, 4, s);
		break;
	case 5:
		add_tile(w, later, x, from, to, 5, s);
		break;
	default:
		add_tile(w, later, x, from, to, 6, s);
		break;
	}
}

/* Writes n <= ROWS outputs from r on of rows [c, c + n_col) of x. */
INLINE void finish(const struct sums *s, const struct kern_product *p, uint32_t r, uint32_t n,
		   uint32_t c, uint32_t n_col)
{
	for (uint32_t i = 0; i < n_col; i++)
		for (uint32_t j = 0; j < n; j++)
			p->y[c + i][r + j] = _mm512_reduce_add_ps(s->v[i][j]);
}

/* How many of the n rows of x that are left are multiplied next: tiles are about equal. */
INLINE uint32_t tile_of(uint32_t n)
{
	uint32_t n_tile = (n + TILE - 1) / TILE;

	return (n + n_tile - 1) / n_tile;
}

/* Up to TILE rows of x: the weights stream by once. */
static void few(const struct kern_product *p)
{
	for (uint32_t r = 0; r < p->n_row; r += ROWS) {
		const uint8_t *w[ROWS];
		struct sums s;

		kern_row_addresses(p, r, ROWS, w);
		add(w, kern_later_rows(p, r, AHEAD), p->x, 0, p->k, p->n_col, &s);
		finish(&s, p, r, p->n_row - r < ROWS ? p->n_row - r : ROWS, 0, p->n_col);
	}
}

/* Rows [r, r + n_row) of the slice, n_row <= STRIP_ROWS, times all rows of x. */
static void strip(const struct kern_product *p, uint32_t r, uint32_t n_row)
{
	struct sums s[STRIP_ROWS / ROWS];

	for (uint32_t c = 0, n_col; c < p->n_col; c += n_col) {
		n_col = tile_of(p->n_col - c);
		for (uint32_t from = 0; from < p->k; from += SPAN) {
			uint32_t to = p->k - from < SPAN ? p->k : from + SPAN;

			for (uint32_t i = 0; i < n_row; i += ROWS) {
				const uint8_t *w[ROWS];

				kern_row_addresses(p, r + i, ROWS, w);
				add(w, NULL, p->x + c, from, to, n_col, &s[i / ROWS]);
			}
		}
		for (uint32_t i = 0; i < n_row; i += ROWS)
			finish(&s[i / ROWS], p, r + i, n_row - i < ROWS ? n_row - i : ROWS, c,
			       n_col);
	}
}

static void run(const struct kern_linear *self, const struct kern_product *p)
{
	size_t rows = STRIP_BYTES / sizeof(uint16_t) / (p->k + 1) / ROWS * ROWS;
	uint32_t n;

	(void)self;
	if (!p->n_col)
		return;
	if (p->n_col <= TILE) {
		few(p);
		return;
	}
	rows = rows < ROWS ? ROWS : rows > STRIP_ROWS ? STRIP_ROWS : rows;
	for (uint32_t r = 0; r < p->n_row; r += n) {
		n = p->n_row - r < rows ? p->n_row - r : (uint32_t)rows;
		strip(p, r, n);
	}
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
