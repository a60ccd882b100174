/* SPDX-License-Identifier: MIT
 *
 * Products in float over vectors of W floats, for linear_f32_avx2.c, linear_f32_avx512.c and
 * linear_f32_neon.c, which define
 *     vec, W                      a vector and its length
 *     ZERO, FMA(a, b, c)          a*b + c, rounded once
 *     LOAD, LOAD_F16, LOAD_BF16   (p): W values at any address as floats
 *     LOAD_SOME(p, n)             the first n < W floats, then zeros; reads nothing after them
 *     STORE(p, v)                 W floats at any address
 *     SUM(v)                      sum of the lanes in a fixed order
 *     TILE, ALONE                 as in tiles.h
 *     ISA, FLAGS, TABLE           of the kernels
 *     DECODE_IQ6_K(w, k, out)     decodes k values as the host does; not defined: the host does it
 *
 * Value i of a row goes to lane i mod W, whatever is computed beside it.  Few rows of x multiply
 * the weights in place.  For more rows, and for types that only the host decodes, a strip of
 * weight rows is decoded to floats first.  It is multiplied SPAN values at a time, so that those of
 * the rows of x stay in the first-level cache. */
#include <string.h>

#include "slice.h"
#include "variants.h"

#define IN_PLACE (TILE > 4 ? TILE : 4) /* rows of x up to which weights are not decoded first */
#define SPAN     512 /* a multiple of W */

#define X_FIRST (TILE < ROWS)

#include "tile_sums.h"

INLINE vec load(uint32_t dtype, const uint8_t *w, size_t i)
{
	return dtype == LMD_DTYPE_F16    ? LOAD_F16(w + 2 * i)
	       : dtype == LMD_DTYPE_BF16 ? LOAD_BF16(w + 2 * i)
					 : LOAD(w + 4 * i);
}

/* The n < W values from i on, then zeros. */
INLINE vec load_some(uint32_t dtype, const uint8_t *w, size_t i, uint32_t n)
{
	uint16_t halves[W] = {0};

	if (dtype == LMD_DTYPE_F32)
		return LOAD_SOME(w + 4 * i, n);
	memcpy(halves, w + 2 * i, n * sizeof(*halves));
	return dtype == LMD_DTYPE_F16 ? LOAD_F16(halves) : LOAD_BF16(halves);
}

/* Adds values [from, to) of n_row weight rows of dtype times those of n_col rows of x; from is a
 * multiple of W, sums begin at 0.  dtype is F32, F16 or BF16, n_row is 1..ROWS, n_col is 1..TILE;
 * all three are constants.  later: where to prefetch as many bytes as are read; NULL: nowhere. */
INLINE void add_tile(uint32_t dtype, uint32_t n_row, const uint8_t *const *w,
		     const uint8_t *later, const void *const *x, uint32_t from, uint32_t to,
		     uint32_t n_col, struct sums *s)
{
	const size_t bytes = dtype == LMD_DTYPE_F32 ? 4 : 2;
	vec sum[TILE][ROWS], wv[ROWS], xv[TILE];
	uint32_t i = from;

#pragma GCC unroll 8
	for (uint32_t c = 0; c < n_col; c++)
#pragma GCC unroll 8
		for (uint32_t r = 0; r < n_row; r++)
			sum[c][r] = from ? s->v[c][r] : ZERO;
	for (; i + W <= to; i += W) {
		if (later)
			for (size_t b = 0; b < n_row * W * bytes; b += 64)
				kern_prefetch(later + n_row * bytes * i + b);
		/* the fewer vectors stay in registers */
#pragma GCC unroll 8
		for (uint32_t c = 0; X_FIRST && c < n_col; c++)
			xv[c] = LOAD((const float *)x[c] + i);
#pragma GCC unroll 8
		for (uint32_t r = 0; X_FIRST && r < n_row; r++) {
			wv[r] = load(dtype, w[r], i);
#pragma GCC unroll 8
			for (uint32_t c = 0; c < n_col; c++)
				sum[c][r] = FMA(wv[r], xv[c], sum[c][r]);
		}
#pragma GCC unroll 8
		for (uint32_t r = 0; !X_FIRST && r < n_row; r++)
			wv[r] = load(dtype, w[r], i);
#pragma GCC unroll 8
		for (uint32_t c = 0; !X_FIRST && c < n_col; c++) {
			xv[c] = LOAD((const float *)x[c] + i);
#pragma GCC unroll 8
			for (uint32_t r = 0; r < n_row; r++)
				sum[c][r] = FMA(wv[r], xv[c], sum[c][r]);
		}
	}
	if (i < to) {
#pragma GCC unroll 8
		for (uint32_t r = 0; r < n_row; r++)
			wv[r] = load_some(dtype, w[r], i, to - i);
#pragma GCC unroll 8
		for (uint32_t c = 0; c < n_col; c++) {
			xv[c] = LOAD_SOME((const float *)x[c] + i, to - i);
#pragma GCC unroll 8
			for (uint32_t r = 0; r < n_row; r++)
				sum[c][r] = FMA(wv[r], xv[c], sum[c][r]);
		}
	}
#pragma GCC unroll 8
	for (uint32_t c = 0; c < n_col; c++)
#pragma GCC unroll 8
		for (uint32_t r = 0; r < n_row; r++)
			s->v[c][r] = sum[c][r];
}

#include "tiles.h"

static size_t scratch_strip(uint32_t k)
{
	return ((size_t)strip_rows(k, sizeof(float)) * k * sizeof(float) + KERN_ALIGN - 1) / KERN_ALIGN *
	       KERN_ALIGN;
}

static size_t scratch_none(uint32_t k)
{
	(void)k;
	return 0;
}

INLINE void decode_row(uint32_t dtype, const struct kern_product *p, const char *w, float *out)
{
	uint32_t i = 0;

#ifdef DECODE_IQ6_K
	if (dtype == LMD_DTYPE_IQ6_K) {
		DECODE_IQ6_K((const uint8_t *)w, p->k, out);
		return;
	}
#endif
	if (dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16)
		for (; i + W <= p->k; i += W)
			STORE(out + i, load(dtype, (const uint8_t *)w, i));
	if (i < p->k)
		/* The rest of a row, or a type that the caller knows the host can decode. */
		(void)p->host->dequant_rows(p->host->ctx, dtype, w + 2 * i, out + i, p->k - i);
}

/* Decodes to floats in scratch memory. */
INLINE void decoded(uint32_t dtype, const struct kern_product *p)
{
	const uint32_t rows = strip_rows(p->k, sizeof(float));
	float *w = p->scratch;

	for (uint32_t r = 0; r < p->n_row; r += rows) {
		uint32_t n = p->n_row - r < rows ? p->n_row - r : rows;

		for (uint32_t i = 0; i < n; i++)
			decode_row(dtype, p, (const char *)p->w + (r + i) * p->w_stride,
				   w + (size_t)i * p->k);
		strip(LMD_DTYPE_F32, (const uint8_t *)w, p->k * sizeof(float), p, r, n);
	}
}

static void run_any(const struct kern_linear *self, const struct kern_product *p)
{
	decoded(self->dtype, p);
}

static void run_f32(const struct kern_linear *self, const struct kern_product *p)
{
	const uint32_t rows = strip_rows(p->k, sizeof(float));

	(void)self;
	if (p->n_col <= IN_PLACE) {
		in_place(LMD_DTYPE_F32, p);
		return;
	}
	for (uint32_t r = 0; r < p->n_row; r += rows)
		strip(LMD_DTYPE_F32, (const uint8_t *)p->w + r * p->w_stride, p->w_stride, p, r,
		      p->n_row - r < rows ? p->n_row - r : rows);
}

INLINE void run_half(uint32_t dtype, const struct kern_product *p)
{
	if (p->n_col > IN_PLACE)
		decoded(dtype, p);
	else
		in_place(dtype, p);
}

static void run_f16(const struct kern_linear *self, const struct kern_product *p)
{
	(void)self;
	run_half(LMD_DTYPE_F16, p);
}

static void run_bf16(const struct kern_linear *self, const struct kern_product *p)
{
	(void)self;
	run_half(LMD_DTYPE_BF16, p);
}

#define KERNEL(type, scratch, how)                                                                 \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_F32, .isa = ISA, .flags = FLAGS,        \
		.scratch_bytes = scratch, .run = how                                               \
	}
/* Every other type is decoded by the host. */
#define ANY(ID, name, number) KERNEL(ID, scratch_strip, run_any),

const struct kern_linear TABLE[] = {
	KERNEL(F32, scratch_none, run_f32),
	KERNEL(F16, scratch_strip, run_f16),
	KERNEL(BF16, scratch_strip, run_bf16),
	KERNEL(F64, scratch_strip, run_any),
	LMD_DTYPES_WEIGHT(ANY)
	{.run = NULL},
};
