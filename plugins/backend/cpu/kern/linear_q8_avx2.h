/* SPDX-License-Identifier: MIT
 *
 * linear_q8_avx2.h - exact products with AVX2 for any type, computed in two ways as with AVX-512
 * (linear_q8_avx512.h): few rows of x times eight weight rows in place (rows_avx2.h), more rows of
 * x times panels of eight rearranged weight rows.
 *
 * A strip of panels has as many blocks of its rows as fit the cache.  They are multiplied with all rows of x, a
 * few at a time; then come the next blocks of the same rows.  In between, the running sums are in the outputs. */
#ifndef LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H
#define LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H

#include "tile_avx2.h"

#define STRIP_PANELS 16      /* at most */
#define STRIP_BYTES  0x40000 /* of the panels, which stay in the second-level cache */

/* ---- panels ---- */

INLINE size_t panel_block(uint32_t dtype)
{
	return 32 * panel_vectors(dtype);
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
	if (is_signed(dtype)) {
#pragma GCC unroll 4
		for (size_t j = 0; j < 4; j++)
			out[panel_choices(dtype) + j] = choices_of(out[2 * j], out[2 * j + 1]);
#pragma GCC unroll 8
		for (int j = 0; j < 8; j++)
			out[j] = _mm256_abs_epi8(out[j]);
	}
	out[8] = _mm256_castps_si256(c->d);
	if (kern_has_m(dtype))
		out[9] = _mm256_castps_si256(c->m);
	if (kern_has_halves(dtype))
		panel_factors(_mm256_permute2x128_si256(c->sc[0], c->sc[1], 0x20),
			      _mm256_permute2x128_si256(c->sc[0], c->sc[1], 0x31),
			      out + panel_sc(dtype));
	if (kern_has_minima(dtype))
		out[panel_mn(dtype)] = side_by_side(c->mn[0], c->mn[1]);
}

/* Blocks [b, end) of eight rows to a panel; b is the first block of a larger block. */
INLINE void pack8(uint32_t dtype, unpack_fn *far, const struct kern_iq_tables *points,
		  const uint8_t *const w[8], size_t b, size_t end, char *to)
{
	const size_t bytes = kern_block_bytes(dtype), block = panel_block(dtype);
	const size_t parts = kern_n_sub_blocks(dtype), first = kern_row_head(dtype);
	const __m256 row_d = row_factors(dtype, w);
	size_t at = first + b / parts * bytes;

	for (; far && b < end; b += parts, at += bytes) {
		struct codes c[8];

		far(points, w, at, row_d, c);
#pragma GCC unroll 1
		for (size_t j = 0; j < parts; j++, to += block)
			store_codes(dtype, &c[j], to);
	}
	for (; !far && kern_is_k(dtype) && b < end; b += parts, at += bytes) {
		struct head h;
		struct codes c;

		h.d = row_d;
		head_large(dtype, w, at, &h);
#pragma GCC unroll 8
		for (int j = 0; j < (int)parts; j++, to += block) {
			codes_large(dtype, &h, w, at, j, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (; !kern_is_k(dtype) && b < end; b++, at += bytes, to += block) {
		struct codes c;

		codes_32(dtype, w, at, &c);
		c.d = first ? row_d : c.d;
		store_codes(dtype, &c, to);
	}
}

/* Adds blocks [b, end) of the two panels at `panels`, whose first row is row `at`, times rows [c, c + n_col) of
 * x, n_col <= TILE.  Fewer rows of x are multiplied as if they were TILE.  prepared: these rows, if the type has
 * them prepared. */
INLINE void tile(uint32_t dtype, const char *const panels[PAIR], const struct kern_product *p,
		 uint32_t c, uint32_t n_col, uint32_t at, size_t b, size_t end,
		 const char *prepared)
{
	const __m256i *w[PAIR] = {(const void *)panels[0], (const void *)panels[1]};
	const size_t bytes = prepared_bytes(dtype, p->k);
	__m256 sum[TILE][PAIR];
	const char *x[TILE], *more[TILE];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < TILE; i++) {
		const uint32_t n = i < n_col ? i : n_col - 1;

		x[i] = p->x[c + n];
		more[i] = prepared + n * bytes;
		sum[i][0] = sum[i][1] = _mm256_setzero_ps();
	}
	for (uint32_t i = 0; b && i < n_col; i++)
		tile_load(p, c + i, at, sum[i]);
	for (; b < end; b++) {
		tile_add(dtype, w, x, has_prepared_x(dtype) ? more : NULL, TILE, p->k, b, sum);
		w[0] += panel_vectors(dtype);
		w[1] += panel_vectors(dtype);
	}
	for (uint32_t i = 0; i < n_col; i++)
		tile_store(p, c + i, at, sum[i]);
}

/* Prefetches what blocks [b, end) of TILE rows of x from c on are: the stretches are too short for hardware
 * prefetchers, and x does not fit the second-level cache beside the panels. */
INLINE void prefetch_x(const struct kern_product *p, uint32_t c, size_t b, size_t end)
{
	for (uint32_t i = c; i < c + TILE && i < p->n_col; i++) {
		const char *x = p->x[i];

		for (size_t at = 32 * b; at < 32 * end; at += 64)
			__builtin_prefetch(x + at);
		for (size_t at = 4 * b; at < 4 * end; at += 64)
			__builtin_prefetch(x + KERN_Q8_D(p->k) + at);
	}
}

/* The same for the n_row rows from r on of a strip, whose panels are `bytes` apart, times TILE rows of x from c
 * on, or those that are left. */
INLINE void tiles(uint32_t dtype, const char *panels, size_t bytes, const struct kern_product *p,
		  uint32_t c, uint32_t r, uint32_t n_row, size_t b, size_t end, char *prepared)
{
	const uint32_t n_col = p->n_col - c < TILE ? p->n_col - c : TILE;

	for (uint32_t i = 0; has_prepared_x(dtype) && i < n_col; i++)
		prepare_x(dtype, (const char *)p->x[c + i] + 32 * b, 32 * (end - b),
			  prepared + i * prepared_bytes(dtype, p->k) +
				  prepared_bytes(dtype, 32) * b);
	prefetch_x(p, c + TILE, b, end);
	for (uint32_t i = 0; i < n_row; i += 8 * PAIR) {
		const char *first = panels + i / 8 * bytes;
		const char *const two[PAIR] = {first, i + 8 < n_row ? first + bytes : first};

		tile(dtype, two, p, c, n_col, r + i, b, end, prepared);
	}
}

/* Blocks of a row of nb that are in panels at the same time: whole larger blocks, about equally many. */
INLINE size_t strip_blocks(uint32_t dtype, size_t nb)
{
	const size_t most = STRIP_BYTES / STRIP_PANELS / panel_block(dtype);
	const size_t n = (nb + most - 1) / most, each = (nb + n - 1) / n;

	return (each + 7) / 8 * 8;
}

INLINE void many(uint32_t dtype, unpack_fn *far, const struct kern_product *p)
{
	const size_t nb = p->k / 32, most = strip_blocks(dtype, nb);
	const size_t bytes = most * panel_block(dtype);
	char *panels = p->scratch, *prepared = panels + STRIP_PANELS * bytes;
	uint32_t n_row;

	for (uint32_t r = 0; r < p->n_row; r += n_row) {
		n_row = p->n_row - r < 8 * STRIP_PANELS ? p->n_row - r : 8 * STRIP_PANELS;
		for (size_t b = 0, end; b < nb; b = end) {
			end = nb - b < most ? nb : b + most;
			for (uint32_t i = 0; i < n_row; i += 8) {
				const uint8_t *w[8];

				kern_row_addresses(p, r + i, 8, w);
				pack8(dtype, far, p->points, w, b, end, panels + i / 8 * bytes);
			}
			for (uint32_t c = 0; c < p->n_col; c += TILE)
				tiles(dtype, panels, bytes, p, c, r, n_row, b, end, prepared);
		}
	}
}

/* Room for the panels of a strip, and for the rows of x in a tile as they are prepared. */
INLINE size_t scratch_bytes(uint32_t dtype, uint32_t k)
{
	const size_t n = STRIP_PANELS * strip_blocks(dtype, k / 32) * panel_block(dtype);

	return (n + TILE * prepared_bytes(dtype, k) + KERN_ALIGN - 1) / KERN_ALIGN * KERN_ALIGN;
}

/* Defines the kernel of a type and its entry in a list. */
#define KERN_AVX2(type) KERN_AVX2_RUN(type, NULL)

/* The same for a type with larger blocks that take long to unpack. */
#define KERN_AVX2_LONG(type)                                                                       \
	__attribute__((noinline)) static void unpack_##type(const struct kern_iq_tables *points,   \
							    const uint8_t *const w[8], size_t at,  \
							    __m256 row_d, struct codes *c)         \
	{                                                                                          \
		unpack(LMD_DTYPE_##type, points, w, at, row_d, c);                                 \
	}                                                                                          \
	KERN_AVX2_RUN(type, unpack_##type)

#define KERN_AVX2_RUN(type, far)                                                                   \
	static size_t scratch_##type(uint32_t k)                                                   \
	{                                                                                          \
		return scratch_bytes(LMD_DTYPE_##type, k);                                         \
	}                                                                                          \
	static void run_##type(const struct kern_linear *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col > FEW)                                                                \
			many(LMD_DTYPE_##type, far, p);                                            \
		else if (p->n_col)                                                                 \
			few(LMD_DTYPE_##type, far, p);                                             \
	}
#define KERN_AVX2_ENTRY(type)                                                                      \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_Q8, .isa = "avx2", .exact = true,       \
		.flags = LMD_CPU_AVX2, .scratch_bytes = scratch_##type, .run = run_##type          \
	}

#endif /* LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H */
