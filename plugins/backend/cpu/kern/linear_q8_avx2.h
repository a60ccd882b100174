/* SPDX-License-Identifier: MIT
 *
 * linear_q8_avx2.h - exact products with AVX2, of any type.
 *
 * The same two ways as with AVX-512 (rows_avx512.h, linear_q8_avx512.h): few rows of x by eight weight
 * rows in place, more of them by panels of eight rearranged rows.  Products of bytes are added in 16 bits
 * as long as the greatest codes and -127 cannot leave them, then in 32. */
#ifndef LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H
#define LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H

#include "small_avx2.h"

#define FEW         4       /* rows of x that rows8 multiplies */
#define TILE        4       /* rows of x beside each other in a panel's pass */
#define STRIP_BYTES 0x30000 /* of panels, at least one */

INLINE __m256i all(const char *array, size_t i)
{
	int32_t v;

	memcpy(&v, array + 4 * i, sizeof(v));
	return _mm256_set1_epi32(v);
}

INLINE __m256 all_floats(const char *array, size_t i)
{
	return _mm256_castsi256_ps(all(array, i));
}

/* Products of bytes, neighbours added: |sum| <= 32512. */
INLINE __m256i multiply(uint32_t dtype, __m256i codes, __m256i q)
{
	if (is_signed(dtype))
		return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(q, codes));
	return _mm256_maddubs_epi16(codes, q);
}

INLINE __m256i widen(__m256i v)
{
	return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
}

/* D * d * sums, M * e or M * d * minima. */
INLINE __m256 terms(uint32_t dtype, __m256 d, __m256 m, const __m256i mn[2], __m256i sums,
		    const char *x, uint32_t k, size_t b)
{
	__m256 dx = all_floats(x + KERN_Q8_D(k), b);
	__m256 t = _mm256_mul_ps(_mm256_mul_ps(d, dx), _mm256_cvtepi32_ps(sums));

	if (kern_has_min(dtype))
		t = _mm256_add_ps(t, _mm256_mul_ps(m, all_floats(x + KERN_Q8_E(k), b)));
	if (kern_has_minima(dtype)) {
		__m256i s0 = _mm256_mullo_epi32(mn[0], all(x + KERN_Q8_H(k), 2 * b));
		__m256i s1 = _mm256_mullo_epi32(mn[1], all(x + KERN_Q8_H(k), 2 * b + 1));

		s0 = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_add_epi32(s0, s1));
		t = _mm256_add_ps(t, _mm256_mul_ps(_mm256_mul_ps(m, dx), _mm256_cvtepi32_ps(s0)));
	}
	return t;
}

/* ---- eight rows, few columns ---- */

/* Sums of (code - 2^shift)*q over block b, of the rows. */
INLINE __m256i block_sums(uint32_t dtype, const struct codes *c, const char *x, uint32_t k,
			  size_t b)
{
	const __m256i q = _mm256_loadu_si256((const void *)(x + 32 * b));
	__m256i s[8], u[2], sum;

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		s[r] = widen(multiply(dtype, c->q[r], q));
#pragma GCC unroll 8
	for (int i = 0; i < 2; i++)
		u[i] = _mm256_hadd_epi32(_mm256_hadd_epi32(s[4 * i], s[4 * i + 1]),
					 _mm256_hadd_epi32(s[4 * i + 2], s[4 * i + 3]));
	if (kern_has_halves(dtype)) {
		__m256i h =
			_mm256_setr_m128i(_mm256_castsi256_si128(all(x + KERN_Q8_H(k), 2 * b)),
					  _mm256_castsi256_si128(all(x + KERN_Q8_H(k), 2 * b + 1)));

		h = shift_of(dtype) ? _mm256_slli_epi32(h, (int)shift_of(dtype))
				    : _mm256_setzero_si256();
#pragma GCC unroll 8
		for (int i = 0; i < 2; i++)
			u[i] = _mm256_mullo_epi32(_mm256_add_epi32(u[i], h), c->sc[i]);
	}
	/* the halves of u[i] are sums over the halves of the block */
	sum = _mm256_add_epi32(_mm256_permute2x128_si256(u[0], u[1], 0x20),
			       _mm256_permute2x128_si256(u[0], u[1], 0x31));
	if (shift_of(dtype) && !kern_has_halves(dtype))
		sum = _mm256_add_epi32(
			sum, _mm256_slli_epi32(all(x + KERN_Q8_N(k), b), (int)shift_of(dtype)));
	return sum;
}

INLINE void add_block(uint32_t dtype, const struct codes *c, const void *const *x, uint32_t k,
		      size_t b, uint32_t n_col, __m256 sum[FEW])
{
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_add_ps(sum[i], terms(dtype, c->d, c->m, c->mn,
						     block_sums(dtype, c, x[i], k, b), x[i], k, b));
}

/* n_col: 1..FEW, constant. */
INLINE void rows8(uint32_t dtype, const struct kern_points *points, const uint8_t *const w[8],
		  const void *const *x, uint32_t k, const uint8_t *later, uint32_t n_col,
		  __m256 sum[FEW])
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype), parts = kern_parts(dtype);
	struct codes c;

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (size_t b = 0, at = 0; kern_has_points(dtype) && b < nb; b += 8, at += bytes) {
		struct head h;

		look_ahead(later, at, bytes);
		head_small(dtype, w, at, &h);
#pragma GCC unroll 1 /* long enough as it is */
		for (int j = 0; j < 8; j++) {
			codes_points(dtype, points, &h, w, at, j, &c);
			add_block(dtype, &c, x, k, b + (size_t)j, n_col, sum);
		}
	}
	for (size_t b = 0, at = 0; kern_is_k(dtype) && !kern_has_points(dtype) && b < nb;
	     b += parts, at += bytes) {
		struct head h;

		head_256(dtype, w, at, &h);
#pragma GCC unroll 8
		for (int j = 0; j < (int)parts; j++) {
			look_ahead(later, at + bytes / parts * (size_t)j, bytes / parts);
			codes_256(dtype, &h, w, at, j, &c);
			add_block(dtype, &c, x, k, b + (size_t)j, n_col, sum);
		}
	}
	for (size_t b = 0, at = 0; !kern_is_k(dtype) && b < nb; b++, at += bytes) {
		look_ahead(later, at, bytes);
		codes_32(dtype, w, at, &c);
		add_block(dtype, &c, x, k, b, n_col, sum);
	}
}

/* The first n of eight floats. */
INLINE void store(float *y, __m256 v, uint32_t n)
{
	float f[8];

	if (n >= 8) {
		_mm256_storeu_ps(y, v);
		return;
	}
	_mm256_storeu_ps(f, v);
	for (uint32_t i = 0; i < n; i++)
		y[i] = f[i];
}

INLINE void few(uint32_t dtype, const struct kern_product *p)
{
	/* three rows of x are multiplied as four */
	const void *x[FEW];

	for (uint32_t i = 0; i < FEW; i++)
		x[i] = p->x[i < p->n_col ? i : p->n_col - 1];
	for (uint32_t r = 0; r < p->n_row; r += 8) {
		const uint8_t *w[8], *later = rows_later(p, r);
		__m256 sum[FEW];

		addresses(p, r, w);
		if (p->n_col == 1)
			rows8(dtype, p->points, w, p->x, p->k, later, 1, sum);
		else if (p->n_col == 2)
			rows8(dtype, p->points, w, p->x, p->k, later, 2, sum);
		else
			rows8(dtype, p->points, w, x, p->k, later, FEW, sum);
		for (uint32_t i = 0; i < p->n_col; i++)
			store(p->y[i] + r, sum[i], p->n_row - r);
	}
}

/* ---- panels ---- */

/* A block of 32 of eight rows: eight vectors of codes, D, and then M, the factors of halves, minima. */
INLINE size_t panel_sc(uint32_t dtype)
{
	return kern_has_min(dtype) || kern_has_minima(dtype) ? 10 : 9;
}

INLINE size_t panel_mn(uint32_t dtype)
{
	return panel_sc(dtype) + (kern_has_halves(dtype) ? 2 : 0);
}

INLINE size_t panel_block(uint32_t dtype)
{
	return 32 * (panel_mn(dtype) + (kern_has_minima(dtype) ? 2 : 0));
}

INLINE void store_codes(uint32_t dtype, const struct codes *c, char *to)
{
	__m256i t[2][4];
	__m256i *out = (void *)to;

#pragma GCC unroll 8
	for (int i = 0; i < 2; i++) {
		const __m256i *q = c->q + 4 * i;
		__m256i a = _mm256_unpacklo_epi32(q[0], q[1]),
			b = _mm256_unpackhi_epi32(q[0], q[1]);
		__m256i e = _mm256_unpacklo_epi32(q[2], q[3]),
			f = _mm256_unpackhi_epi32(q[2], q[3]);

		t[i][0] = _mm256_unpacklo_epi64(a, e);
		t[i][1] = _mm256_unpackhi_epi64(a, e);
		t[i][2] = _mm256_unpacklo_epi64(b, f);
		t[i][3] = _mm256_unpackhi_epi64(b, f);
	}
#pragma GCC unroll 8
	for (int j = 0; j < 4; j++) {
		out[j] = _mm256_permute2x128_si256(t[0][j], t[1][j], 0x20);
		out[j + 4] = _mm256_permute2x128_si256(t[0][j], t[1][j], 0x31);
	}
	out[8] = _mm256_castps_si256(c->d);
	if (kern_has_min(dtype) || kern_has_minima(dtype))
		out[9] = _mm256_castps_si256(c->m);
	if (kern_has_halves(dtype)) {
		out[panel_sc(dtype)] = _mm256_permute2x128_si256(c->sc[0], c->sc[1], 0x20);
		out[panel_sc(dtype) + 1] = _mm256_permute2x128_si256(c->sc[0], c->sc[1], 0x31);
	}
	for (size_t i = 0; kern_has_minima(dtype) && i < 2; i++)
		out[panel_mn(dtype) + i] = c->mn[i];
}

INLINE void pack8(uint32_t dtype, const struct kern_points *points, const uint8_t *const w[8],
		  uint32_t k, char *to)
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype), block = panel_block(dtype);
	const size_t parts = kern_parts(dtype);
	struct codes c;

	for (size_t b = 0, at = 0; kern_has_points(dtype) && b < nb; b += 8, at += bytes) {
		struct head h;

		head_small(dtype, w, at, &h);
#pragma GCC unroll 1 /* long enough as it is */
		for (int j = 0; j < 8; j++, to += block) {
			codes_points(dtype, points, &h, w, at, j, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (size_t b = 0, at = 0; kern_is_k(dtype) && !kern_has_points(dtype) && b < nb;
	     b += parts, at += bytes) {
		struct head h;

		head_256(dtype, w, at, &h);
#pragma GCC unroll 8
		for (int j = 0; j < (int)parts; j++, to += block) {
			codes_256(dtype, &h, w, at, j, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (size_t b = 0, at = 0; !kern_is_k(dtype) && b < nb; b++, at += bytes, to += block) {
		codes_32(dtype, w, at, &c);
		store_codes(dtype, &c, to);
	}
}

/* How many products may be added in 16 bits: 2 * 127 * the greatest code each. */
INLINE int group(uint32_t dtype)
{
	return is_signed(dtype)           ? 1
	       : dtype == LMD_DTYPE_IQ3_S ? 4
	       : dtype == LMD_DTYPE_Q2_K  ? 4
	       : kern_is_iq1(dtype)       ? 4
	       : kern_has_points(dtype)   ? 1
	       : dtype == LMD_DTYPE_Q6_K  ? 2
	       : dtype == LMD_DTYPE_Q3_K  ? 4
	       : dtype == LMD_DTYPE_Q5_0  ? 4
	       : dtype == LMD_DTYPE_Q5_1  ? 4
	       : dtype == LMD_DTYPE_Q5_K  ? 4
	       : dtype == LMD_DTYPE_MXFP4 ? 4
					  : 8;
}

/* Sum over values 4j.. of vectors from..to of a block. */
INLINE __m256i panel_part(uint32_t dtype, const __m256i *w, const char *q, int from, int to)
{
	__m256i sum = _mm256_setzero_si256();

#pragma GCC unroll 8
	for (int j = from; j < to; j += group(dtype)) {
		__m256i s = multiply(dtype, w[j], all(q, (size_t)j));

#pragma GCC unroll 8
		for (int g = 1; g < group(dtype); g++)
			s = _mm256_add_epi16(s, multiply(dtype, w[j + g], all(q, (size_t)(j + g))));
		sum = j == from ? widen(s) : _mm256_add_epi32(sum, widen(s));
	}
	return sum;
}

INLINE __m256i panel_sums(uint32_t dtype, const __m256i *w, const char *x, uint32_t k, size_t b)
{
	const char *q = x + 32 * b, *h = x + KERN_Q8_H(k);
	__m256i s, s1;

	if (kern_has_halves(dtype)) {
		s = panel_part(dtype, w, q, 0, 4);
		s1 = panel_part(dtype, w, q, 4, 8);
		if (shift_of(dtype)) {
			s = _mm256_add_epi32(
				s, _mm256_slli_epi32(all(h, 2 * b), (int)shift_of(dtype)));
			s1 = _mm256_add_epi32(
				s1, _mm256_slli_epi32(all(h, 2 * b + 1), (int)shift_of(dtype)));
		}
		return _mm256_add_epi32(_mm256_mullo_epi32(s, w[panel_sc(dtype)]),
					_mm256_mullo_epi32(s1, w[panel_sc(dtype) + 1]));
	}
	s = panel_part(dtype, w, q, 0, 8);
	if (shift_of(dtype))
		s = _mm256_add_epi32(
			s, _mm256_slli_epi32(all(x + KERN_Q8_N(k), b), (int)shift_of(dtype)));
	return s;
}

/* y[i][at..at+n) of a panel and n_col rows of x; n_col: 1..TILE, constant. */
INLINE void pass(uint32_t dtype, const char *panel, const struct kern_product *p, uint32_t c,
		 uint32_t n_col, uint32_t at, uint32_t n)
{
	const void *const *x = p->x + c;
	__m256 sum[TILE];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (size_t b = 0; b < p->k / 32; b++, panel += panel_block(dtype)) {
		const __m256i *w = (const void *)panel;
		__m256 d = _mm256_castsi256_ps(w[8]), m = d;

		if (kern_has_min(dtype) || kern_has_minima(dtype))
			m = _mm256_castsi256_ps(w[9]);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			sum[i] = _mm256_add_ps(sum[i], terms(dtype, d, m, w + panel_mn(dtype),
							     panel_sums(dtype, w, x[i], p->k, b),
							     x[i], p->k, b));
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		store(p->y[c + i] + at, sum[i], n);
}

INLINE size_t panel_bytes(uint32_t dtype, uint32_t k)
{
	return k / 32 * panel_block(dtype);
}

INLINE uint32_t n_panels(uint32_t dtype, uint32_t k)
{
	size_t n = STRIP_BYTES / (panel_bytes(dtype, k) + 1);

	return n < 1 ? 1 : n > 32 ? 32 : (uint32_t)n;
}

INLINE void many(uint32_t dtype, const struct kern_product *p)
{
	const uint32_t strip = 8 * n_panels(dtype, p->k);

	for (uint32_t r = 0; r < p->n_row; r += strip) {
		uint32_t n_row = p->n_row - r < strip ? p->n_row - r : strip, c = 0;
		const size_t bytes = panel_bytes(dtype, p->k);
		char *panels = p->scratch;

		for (uint32_t i = 0; i < n_row; i += 8) {
			const uint8_t *w[8];

			addresses(p, r + i, w);
			pack8(dtype, p->points, w, p->k, panels + i / 8 * bytes);
		}
		for (; c + TILE <= p->n_col; c += TILE)
			for (uint32_t i = 0; i < n_row; i += 8)
				pass(dtype, panels + i / 8 * bytes, p, c, TILE, r + i, n_row - i);
		for (; c < p->n_col; c++)
			for (uint32_t i = 0; i < n_row; i += 8)
				pass(dtype, panels + i / 8 * bytes, p, c, 1, r + i, n_row - i);
	}
}

/* A kernel of a type, and its entry in a list. */
#define KERN_AVX2(type)                                                                            \
	static size_t scratch_##type(uint32_t k)                                                   \
	{                                                                                          \
		return (n_panels(LMD_DTYPE_##type, k) * panel_bytes(LMD_DTYPE_##type, k) +         \
			KERN_ALIGN - 1) /                                                          \
		       KERN_ALIGN * KERN_ALIGN;                                                    \
	}                                                                                          \
	static void run_##type(const struct kern_linear *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col > FEW)                                                                \
			many(LMD_DTYPE_##type, p);                                                 \
		else if (p->n_col)                                                                 \
			few(LMD_DTYPE_##type, p);                                                  \
	}
#define KERN_AVX2_ENTRY(type)                                                                      \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_Q8, .isa = "avx2", .exact = true,       \
		.flags = LMD_CPU_AVX2, .scratch_bytes = scratch_##type, .run = run_##type          \
	}

#endif /* LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H */
