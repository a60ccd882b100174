/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512 and VNNI.
 *
 * Few rows of x (rows8): eight weight rows at a time, read where they lie.  A block of a row times
 * a block of x leaves its sum in several lanes; the sums of eight rows are added up together, into
 * one lane for each row, and then go block by block into the running sums, as kern.h wants it.
 *
 * More rows of x (panels): sixteen weight rows are rearranged so that a vector holds the same four
 * values of all of them.  Then a lane belongs to a row from the start and nothing is added across
 * lanes; the rearrangement pays when it is used for some five rows of x.  Panels are made for as
 * many rows as stay in the second-level cache, then all rows of x pass by in tiles of sixteen. */
#include "codes_avx512.h"
#include "variants.h"

#define FEW         4       /* rows of x that rows8 multiplies */
#define TILE        16      /* rows of x beside each other in a panel's pass */
#define STRIP_BYTES 0x40000 /* of panels, at least one */

/* ---- rows of x ---- */

INLINE __m512i load_q(const char *x, size_t b)
{
	return _mm512_loadu_si512(x + 32 * b);
}

/* Elements b and b+1 of an array of a row, in lanes 0-7 and 8-15. */
INLINE __m512i pair_of(const char *array, size_t b)
{
	const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);

	return _mm512_permutexvar_epi32(
		lanes, _mm512_castsi128_si512(_mm_loadl_epi64((const void *)(array + 4 * b))));
}

INLINE __m512 pair_of_floats(const char *array, size_t b)
{
	return _mm512_castsi512_ps(pair_of(array, b));
}

/* ---- eight rows, few columns ---- */

INLINE int greatest_code(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q3_K                                                         ? 7
	       : dtype == LMD_DTYPE_Q4_0 || dtype == LMD_DTYPE_Q4_1 || dtype == LMD_DTYPE_Q4_K ? 15
	       : dtype == LMD_DTYPE_MXFP4                                                      ? 28
	       : dtype == LMD_DTYPE_Q5_0 || dtype == LMD_DTYPE_Q5_1 || dtype == LMD_DTYPE_Q5_K ? 31
	       : dtype == LMD_DTYPE_Q6_K                                                       ? 63
					 : 255;
}

/* Of each four lanes: sums of neighbours in a, then in b.  A lane is a sum of `values` products: if
 * that fits in 16 bits, it is done with one shuffle less. */
INLINE __m512i add_pairs(uint32_t dtype, int values, __m512i a, __m512i b)
{
	__m512 even, odd;

	if (greatest_code(dtype) * 127 * values <= INT16_MAX)
		return _mm512_madd_epi16(_mm512_packs_epi32(a, b), _mm512_set1_epi16(1));
	even = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88);
	odd = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd);
	return _mm512_add_epi32(_mm512_castps_si512(even), _mm512_castps_si512(odd));
}

/* Of each four lanes: sums of all in v[0], v[1], v[2], v[3]. */
INLINE __m512i add_fours(uint32_t dtype, int values, const __m512i *v)
{
	return add_pairs(dtype, 2 * values, add_pairs(dtype, values, v[0], v[1]),
			 add_pairs(dtype, values, v[2], v[3]));
}

/* Sums of code*q over blocks b and b+1, of rows; minus 2^shift times the sums of q. */
INLINE __m512i block_sums(uint32_t dtype, const struct codes *c, const char *x, uint32_t k,
			  size_t b)
{
	const __m512i q = load_q(x, b), zero = _mm512_setzero_si512();
	__m512i s[8], u[2], even, odd, sum;

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		s[r] = _mm512_dpbusd_epi32(zero, c->q[r], q);
#pragma GCC unroll 8
	for (int i = 0; i < 2; i++)
		u[i] = add_fours(dtype, 4, s + 4 * i);
	if (kern_has_halves(dtype)) {
		const __m512i lanes =
			_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
		__m512i h = _mm512_castsi128_si512(
			_mm_loadu_si128((const void *)(x + KERN_Q8_H(k) + 8 * b)));

		h = _mm512_slli_epi32(_mm512_permutexvar_epi32(lanes, h), kern_shift(dtype));
#pragma GCC unroll 8
		for (int i = 0; i < 2; i++)
			u[i] = _mm512_mullo_epi32(_mm512_add_epi32(u[i], h), c->sc[i]);
	}
	/* lanes 0 and 1 of four belong to block b, lanes 2 and 3 to b+1 */
	even = _mm512_shuffle_i32x4(u[0], u[1], 0x88);
	odd = _mm512_shuffle_i32x4(u[0], u[1], 0xdd);
	sum = _mm512_add_epi32(even, odd);
	sum = _mm512_shuffle_i32x4(sum, sum, 0xd8);
	if (kern_shift(dtype) && !kern_has_halves(dtype))
		sum = _mm512_add_epi32(
			sum, _mm512_slli_epi32(pair_of(x + KERN_Q8_N(k), b), kern_shift(dtype)));
	return sum;
}

INLINE void add_blocks(uint32_t dtype, const struct codes *c, const char *x, uint32_t k, size_t b,
		       bool both, __m256 *sum)
{
	__m512 i = _mm512_cvtepi32_ps(block_sums(dtype, c, x, k, b));
	__m512 t = _mm512_mul_ps(_mm512_mul_ps(c->d, pair_of_floats(x + KERN_Q8_D(k), b)), i);

	if (kern_has_min(dtype))
		t = _mm512_add_ps(t, _mm512_mul_ps(c->m, pair_of_floats(x + KERN_Q8_E(k), b)));
	*sum = _mm256_add_ps(*sum, _mm512_castps512_ps256(t));
	if (both)
		*sum = _mm256_add_ps(*sum, _mm512_extractf32x8_ps(t, 1));
}

/* Elements b..b+3 of an array of a row, in four lanes each. */
INLINE __m512i four_of(const char *array, size_t b)
{
	const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	__m128i v = _mm_loadu_si128((const void *)(array + 4 * b));

	return _mm512_permutexvar_epi32(lanes, _mm512_castsi128_si512(v));
}

INLINE __m512 four_of_floats(const char *array, size_t b)
{
	return _mm512_castsi512_ps(four_of(array, b));
}

/* The same as add_blocks for b..b+3. */
INLINE void add_quad(uint32_t dtype, const struct quad *c, const char *x, uint32_t k, size_t b,
		     __m256 *sum)
{
	const __m512i low = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
	const __m512i high = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
	const __m512i ab = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
	const __m512i cd = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
	const __m512i q0 = load_q(x, b), q1 = load_q(x, b + 2);
	const __m512i ql = _mm512_permutex2var_epi64(q0, low, q1);
	const __m512i qh = _mm512_permutex2var_epi64(q0, high, q1);
	__m512i s[8], u;
	__m512d t[2];

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		s[r] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), c->low[r], ql);
		s[r] = _mm512_dpbusd_epi32(s[r], c->high[r], qh);
	}
#pragma GCC unroll 8
	for (int i = 0; i < 2; i++) {
		__m512 v;

		u = add_fours(dtype, 8, s + 4 * i);
		if (kern_shift(dtype))
			u = _mm512_add_epi32(u, _mm512_slli_epi32(four_of(x + KERN_Q8_N(k), b),
								  kern_shift(dtype)));
		v = _mm512_mul_ps(c->d[i], four_of_floats(x + KERN_Q8_D(k), b));
		v = _mm512_mul_ps(v, _mm512_cvtepi32_ps(u));
		if (kern_has_min(dtype))
			v = _mm512_add_ps(
				v, _mm512_mul_ps(c->m[i], four_of_floats(x + KERN_Q8_E(k), b)));
		t[i] = _mm512_castps_pd(v);
	}
	for (int i = 0; i < 2; i++) {
		__m512 v = _mm512_castpd_ps(_mm512_permutex2var_pd(t[0], i ? cd : ab, t[1]));

		*sum = _mm256_add_ps(*sum, _mm512_castps512_ps256(v));
		*sum = _mm256_add_ps(*sum, _mm512_extractf32x8_ps(v, 1));
	}
}

/* n_col: 1..FEW, constant. */
INLINE void rows8(uint32_t dtype, const uint8_t *const w[8], const void *const *x, uint32_t k,
		  const uint8_t *later, uint32_t n_col, __m256 sum[FEW])
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype);
	struct codes c;
	size_t b = 0, at = 0;

	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (; kern_is_k(dtype) && b < nb; b += 8, at += bytes) {
		struct head h;

		head_256(dtype, w, at, &h);
#pragma GCC unroll 4
		for (int p = 0; p < 4; p++) {
			look_ahead(later, at + bytes / 4 * (size_t)p, bytes / 4);
			codes_256(dtype, &h, w, at, p, &c);
#pragma GCC unroll 4
			for (uint32_t i = 0; i < n_col; i++)
				add_blocks(dtype, &c, x[i], k, b + 2 * (size_t)p, true, &sum[i]);
		}
	}
	for (; kern_has_quads(dtype) && b + 4 <= nb; b += 4, at += 4 * bytes) {
		struct quad four;

		look_ahead(later, at, 4 * bytes);
		quad_codes(dtype, w, at, &four);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			add_quad(dtype, &four, x[i], k, b, &sum[i]);
	}
	for (; !kern_is_k(dtype) && b + 2 <= nb; b += 2, at += 2 * bytes) {
		look_ahead(later, at, 2 * bytes);
		codes_32(dtype, w, at, true, &c);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			add_blocks(dtype, &c, x[i], k, b, true, &sum[i]);
	}
	if (!kern_is_k(dtype) && b < nb) {
		codes_32(dtype, w, at, false, &c);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			add_blocks(dtype, &c, x[i], k, b, false, &sum[i]);
	}
}

INLINE void few(uint32_t dtype, const struct kern_product *p)
{
	/* three rows of x are multiplied as four */
	const void *x[FEW];

	for (uint32_t i = 0; i < FEW; i++)
		x[i] = p->x[i < p->n_col ? i : p->n_col - 1];
	for (uint32_t r = 0; r < p->n_row; r += 8) {
		const __mmask8 have =
			(__mmask8)(p->n_row - r < 8 ? (1u << (p->n_row - r)) - 1 : 255);
		const uint8_t *w[8], *later = rows_later(p, r);
		__m256 sum[FEW];

		addresses(p, r, w);
		if (p->n_col == 1)
			rows8(dtype, w, p->x, p->k, later, 1, sum);
		else if (p->n_col == 2)
			rows8(dtype, w, p->x, p->k, later, 2, sum);
		else
			rows8(dtype, w, x, p->k, later, FEW, sum);
		for (uint32_t i = 0; i < p->n_col; i++)
			_mm256_mask_storeu_ps(p->y[i] + r, have, sum[i]);
	}
}

/* ---- panels ---- */

/* A block of 32 of sixteen rows: eight vectors of codes, D, and then M or the factors of halves. */
INLINE size_t panel_block(uint32_t dtype)
{
	return 512 + 64 + (kern_has_min(dtype) ? 64 : 0) + (kern_has_halves(dtype) ? 128 : 0);
}

/* Both halves of v to the same place of two blocks. */
INLINE void store_halves(char *to, size_t block, __m512i v)
{
	_mm256_store_si256((void *)to, _mm512_castsi512_si256(v));
	_mm256_store_si256((void *)(to + block), _mm512_extracti64x4_epi64(v, 1));
}

/* Codes of eight rows to lanes of a panel; `to`: the block, plus 32 bytes for rows 8-15. */
INLINE void store_codes(uint32_t dtype, const struct codes *c, char *to)
{
	const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
	const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
	const size_t block = panel_block(dtype);
	__m512i t[2][4];

#pragma GCC unroll 8
	for (int i = 0; i < 2; i++) {
		const __m512i *q = c->q + 4 * i;
		__m512i a = _mm512_unpacklo_epi32(q[0], q[1]),
			b = _mm512_unpackhi_epi32(q[0], q[1]);
		__m512i e = _mm512_unpacklo_epi32(q[2], q[3]),
			f = _mm512_unpackhi_epi32(q[2], q[3]);

		t[i][0] = _mm512_unpacklo_epi64(a, e);
		t[i][1] = _mm512_unpackhi_epi64(a, e);
		t[i][2] = _mm512_unpacklo_epi64(b, f);
		t[i][3] = _mm512_unpackhi_epi64(b, f);
	}
#pragma GCC unroll 8
	for (int j = 0; j < 4; j++) {
		store_halves(to + 64 * j, block, _mm512_permutex2var_epi64(t[0][j], low, t[1][j]));
		store_halves(to + 64 * (j + 4), block,
			     _mm512_permutex2var_epi64(t[0][j], high, t[1][j]));
	}
	store_halves(to + 512, block, _mm512_castps_si512(c->d));
	if (kern_has_min(dtype))
		store_halves(to + 576, block, _mm512_castps_si512(c->m));
	if (kern_has_halves(dtype)) {
		store_halves(to + 576, block, _mm512_permutex2var_epi64(c->sc[0], low, c->sc[1]));
		store_halves(to + 640, block, _mm512_permutex2var_epi64(c->sc[0], high, c->sc[1]));
	}
}

INLINE void pack8(uint32_t dtype, const uint8_t *const w[8], uint32_t k, char *to)
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype), block = panel_block(dtype);
	struct codes c;
	size_t b = 0, at = 0;

	for (; kern_is_k(dtype) && b < nb; b += 8, at += bytes) {
		struct head h;

		head_256(dtype, w, at, &h);
#pragma GCC unroll 4
		for (int p = 0; p < 4; p++, to += 2 * block) {
			codes_256(dtype, &h, w, at, p, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (; !kern_is_k(dtype) && b + 2 <= nb; b += 2, at += 2 * bytes, to += 2 * block) {
		codes_32(dtype, w, at, true, &c);
		store_codes(dtype, &c, to);
	}
	if (!kern_is_k(dtype) && b < nb) {
		codes_32(dtype, w, at, false, &c);
		store_codes(dtype, &c, to); /* the panel has room for one block more */
	}
}

INLINE __m512i all(const char *array, size_t i)
{
	int32_t v;

	memcpy(&v, array + 4 * i, sizeof(v));
	return _mm512_set1_epi32(v);
}

INLINE __m512 all_floats(const char *array, size_t i)
{
	return _mm512_castsi512_ps(all(array, i));
}

/* Sum of code*q over block b of sixteen rows, less the shifts. */
INLINE __m512i panel_sums(uint32_t dtype, const __m512i w[8], const __m512i sc[2], const char *x,
			  uint32_t k, size_t b)
{
	const char *q = x + 32 * b;
	__m512i s, s1;

	if (!kern_has_halves(dtype)) {
		s = kern_shift(dtype)
			    ? _mm512_slli_epi32(all(x + KERN_Q8_N(k), b), kern_shift(dtype))
			    : _mm512_setzero_si512();
#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			s = _mm512_dpbusd_epi32(s, w[j], all(q, j));
		return s;
	}
	s = _mm512_slli_epi32(all(x + KERN_Q8_H(k), 2 * b), kern_shift(dtype));
	s1 = _mm512_slli_epi32(all(x + KERN_Q8_H(k), 2 * b + 1), kern_shift(dtype));
#pragma GCC unroll 8
	for (size_t j = 0; j < 4; j++) {
		s = _mm512_dpbusd_epi32(s, w[j], all(q, j));
		s1 = _mm512_dpbusd_epi32(s1, w[j + 4], all(q, j + 4));
	}
	return _mm512_add_epi32(_mm512_mullo_epi32(s, sc[0]), _mm512_mullo_epi32(s1, sc[1]));
}

/* y[i][0..n_row) of a panel and n_col rows of x; n_col: 1..TILE, constant. */
INLINE void pass(uint32_t dtype, const char *panel, uint32_t k, const void *const *x,
		 uint32_t n_col, float *const *y, uint32_t at, __mmask16 have)
{
	__m512 sum[TILE];

#pragma GCC unroll 16
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm512_setzero_ps();
	for (size_t b = 0; b < k / 32; b++, panel += panel_block(dtype)) {
		__m512i w[8], sc[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
		__m512 d = _mm512_load_ps(panel + 512), m = _mm512_setzero_ps();

#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			w[j] = _mm512_load_si512(panel + 64 * j);
		if (kern_has_min(dtype))
			m = _mm512_load_ps(panel + 576);
		if (kern_has_halves(dtype)) {
			sc[0] = _mm512_load_si512(panel + 576);
			sc[1] = _mm512_load_si512(panel + 640);
		}
#pragma GCC unroll 16
		for (uint32_t i = 0; i < n_col; i++) {
			const char *xi = x[i];
			__m512 s = _mm512_cvtepi32_ps(panel_sums(dtype, w, sc, xi, k, b));
			__m512 t = _mm512_mul_ps(_mm512_mul_ps(d, all_floats(xi + KERN_Q8_D(k), b)),
						 s);

			if (kern_has_min(dtype))
				t = _mm512_add_ps(
					t, _mm512_mul_ps(m, all_floats(xi + KERN_Q8_E(k), b)));
			sum[i] = _mm512_add_ps(sum[i], t);
		}
	}
#pragma GCC unroll 16
	for (uint32_t i = 0; i < n_col; i++)
		_mm512_mask_storeu_ps(y[i] + at, have, sum[i]);
}

INLINE size_t panel_bytes(uint32_t dtype, uint32_t k)
{
	return (k / 32 + 1) * panel_block(dtype);
}

INLINE uint32_t n_panels(uint32_t dtype, uint32_t k)
{
	size_t n = STRIP_BYTES / panel_bytes(dtype, k);

	return n < 1 ? 1 : n > 16 ? 16 : (uint32_t)n;
}

/* All panels of a strip times rows c..c+n_col of x. */
INLINE void tile(uint32_t dtype, const struct kern_product *p, uint32_t r, uint32_t n_row,
		 uint32_t c, uint32_t n_col)
{
	const char *panel = p->scratch;

	for (uint32_t i = 0; i < n_row; i += 16, panel += panel_bytes(dtype, p->k))
		pass(dtype, panel, p->k, p->x + c, n_col, p->y + c, r + i,
		     (__mmask16)(n_row - i < 16 ? (1u << (n_row - i)) - 1 : 0xffff));
}

INLINE void many(uint32_t dtype, const struct kern_product *p)
{
	const uint32_t strip = 16 * n_panels(dtype, p->k);

	for (uint32_t r = 0; r < p->n_row; r += strip) {
		uint32_t n_row = p->n_row - r < strip ? p->n_row - r : strip, c = 0;
		char *panel = p->scratch;

		for (uint32_t i = 0; i < n_row; i += 16, panel += panel_bytes(dtype, p->k)) {
			const uint8_t *w[8];

			addresses(p, r + i, w);
			pack8(dtype, w, p->k, panel);
			addresses(p, r + i + 8, w);
			pack8(dtype, w, p->k, panel + 32);
		}
		for (; c + TILE <= p->n_col; c += TILE)
			tile(dtype, p, r, n_row, c, TILE);
		for (; c + 4 <= p->n_col; c += 4)
			tile(dtype, p, r, n_row, c, 4);
		for (; c < p->n_col; c++)
			tile(dtype, p, r, n_row, c, 1);
	}
}

INLINE void product(uint32_t dtype, const struct kern_product *p)
{
	if (p->n_col <= FEW)
		few(dtype, p);
	else
		many(dtype, p);
}

#define KERNEL(type)                                                                               \
	static size_t scratch_##type(uint32_t k)                                                   \
	{                                                                                          \
		return n_panels(LMD_DTYPE_##type, k) * panel_bytes(LMD_DTYPE_##type, k);           \
	}                                                                                          \
	static void run_##type(const struct kern_linear *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col)                                                                      \
			product(LMD_DTYPE_##type, p);                                              \
	}
KERNEL(Q4_0)
KERNEL(Q4_1)
KERNEL(Q5_0)
KERNEL(Q5_1)
KERNEL(Q8_0)
KERNEL(Q4_K)
KERNEL(Q5_K)
KERNEL(Q6_K)
KERNEL(Q3_K)
KERNEL(IQ4_NL)
KERNEL(IQ4_XS)
KERNEL(MXFP4)
#undef KERNEL

#define KERNEL(type)                                                                               \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_Q8, .isa = "vnni", .exact = true,       \
		.flags = LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI,                      \
		.scratch_bytes = scratch_##type, .run = run_##type                                 \
	}

const struct kern_linear kern_exact_vnni[] = {
	KERNEL(Q4_0),   KERNEL(Q4_1),  KERNEL(Q5_0),  KERNEL(Q5_1), KERNEL(Q8_0),
	KERNEL(Q4_K),   KERNEL(Q5_K),  KERNEL(Q6_K),  KERNEL(Q3_K), KERNEL(IQ4_NL),
	KERNEL(IQ4_XS), KERNEL(MXFP4), {.run = NULL},
};
