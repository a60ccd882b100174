/* SPDX-License-Identifier: MIT
 *
 * amx_int8.h - exact products by tiles (amx_tile.h): rows of x times panels of weights (amx_panel.h).
 *
 * kern.h has a step in float for every 32 values, so a product of tiles is 32 values deep, half of what a
 * tile holds: up to sixteen rows of x as the first factor, as they are in memory, times a plane of sixteen
 * weight rows.  Weights are the second factor, since then a row of the sums has one lane for each weight
 * row, as D, M, the outputs and repacked weights do.
 *
 * The sums go to memory, from where each row is read, scaled and added, one vector of sixteen lanes at a time;
 * the tiles of a block are multiplied before the sums of the block before it are added.  Blocks of sixteen weight
 * rows that stay in the first-level cache are multiplied with all rows of x; in between, the running sums are
 * in the outputs.
 *
 * What this reaches, counted in instructions (none was timed): a block of 16 x 16 outputs is 8192 products.
 * At the full rate, with 64 values in a product of tiles, they take 8 cycles; with 32 values, 16.  Adding
 * the sums takes 4 vector instructions for each row of x (AMX_ONE), 6 (AMX_MIN, AMX_WIDE) or 8 (AMX_TWO), two in a
 * cycle: 32, 48 or 64 cycles, beside which the tiles are multiplied.  So no more than 1/4, 1/6 or 1/8 of the
 * rate of tiles is left.  With VNNI the same block takes 128 instructions more for the products: 96 cycles for a type
 * of kind AMX_ONE. */
#ifndef LLAMAD_CPU_KERN_AMX_INT8_H
#define LLAMAD_CPU_KERN_AMX_INT8_H

#include <string.h>

#include "amx_panel.h"
#include "amx_tile.h"

#define AMX_ROWS 16
/* With fewer rows of x the kernels without tiles are used: a product of tiles takes as long with half of the
 * sixteen, and unpacking is not repaid. */
#define AMX_LEAST 16
#define AMX_COLS 512u /* rows of x whose blocks fit the second-level cache */

/* Tiles 0 and 1 are the sums of sixteen rows of x, which are in 4; tiles 2, 3 and 5 the same for the last
 * n_last rows; tiles 6 and 7 are the planes. */
INLINE void amx_configure(uint32_t n_last)
{
	struct kern_amx_config c = {.palette = 1};

	for (int t = 0; t < 8; t++) {
		c.bytes[t] = t == 4 || t == 5 ? 32 : 64;
		c.rows[t] = t == 6 || t == 7 ? 8 : 16;
	}
	for (int t = 2; t < 6; t += t == 2 ? 1 : 2) {
		c.rows[t] = (uint8_t)n_last;
		c.bytes[t] = n_last ? c.bytes[t] : 0;
	}
	AMX_CONFIGURE(&c);
}

/* Rows of x from one block on, `stride` bytes apart. */
struct amx_x {
	const char *q;
	ptrdiff_t stride;
};

/* Blocks [b, b + n) of m rows of x; copies them unless all are equally far apart. */
INLINE struct amx_x amx_rows_of_x(const struct kern_product *p, uint32_t c, uint32_t m, size_t b,
				  size_t n, char *copy)
{
	const char *const *x = (const char *const *)p->x + c;
	const intptr_t stride = m > 1 ? (intptr_t)x[1] - (intptr_t)x[0] : 0;
	bool even = true;

	for (uint32_t i = 1; i < m; i++)
		even = even && (intptr_t)x[i] - (intptr_t)x[i - 1] == stride;
	if (even)
		return (struct amx_x){x[0] + 32 * b, stride};
	for (uint32_t i = 0; i < m; i++)
		memcpy(copy + i * 32 * AMX_BLOCKS, x[i] + 32 * b, 32 * n);
	return (struct amx_x){copy, 32 * AMX_BLOCKS};
}

/* sums: of each plane [sixteen rows of x][sixteen weight rows] */
INLINE void amx_multiply(enum amx_kind kind, bool full, const char *block, const char *q,
			 ptrdiff_t stride, char *sums)
{
	AMX_LOAD(6, block, 64);
	if (full) {
		AMX_ZERO(0);
		AMX_LOAD(4, q, stride);
		AMX_DPBSSD(0, 4, 6);
		AMX_STORE(0, sums, 64);
	} else {
		AMX_ZERO(2);
		AMX_LOAD(5, q, stride);
		AMX_DPBSSD(2, 5, 6);
		AMX_STORE(2, sums, 64);
	}
	if (amx_n_plane(kind) == 1)
		return;
	AMX_LOAD(7, block + 512, 64);
	if (full) {
		AMX_ZERO(1);
		AMX_DPBSSD(1, 4, 7);
		AMX_STORE(1, sums + 1024, 64);
	} else {
		AMX_ZERO(3);
		AMX_DPBSSD(3, 5, 7);
		AMX_STORE(3, sums + 1024, 64);
	}
}

INLINE float amx_factor(const char *x, size_t array, size_t b)
{
	float v;

	memcpy(&v, x + array + 4 * b, sizeof(v));
	return v;
}

/* What block b adds to the outputs of sixteen weight rows and row i of x. */
INLINE amx_floats amx_term(enum amx_kind kind, const char *block, const char *sums, uint32_t i,
			   const char *x, uint32_t k, size_t b)
{
	const amx_floats d = *(const amx_floats *)(const void *)(block + amx_d(kind));
	const float dx = amx_factor(x, KERN_Q8_D(k), b);
	amx_ints s = *(const amx_ints *)(const void *)(sums + 64 * i), s1;
	amx_floats m, t;

	if (kind == AMX_WIDE)
		s += *(const amx_ints *)(const void *)(sums + 1024 + 64 * i) * 128;
	t = (d * dx) * __builtin_convertvector(s, amx_floats);
	if (kind != AMX_MIN && kind != AMX_TWO)
		return t;
	m = *(const amx_floats *)(const void *)(block + amx_m(kind));
	if (kind == AMX_MIN)
		return t + m * amx_factor(x, KERN_Q8_E(k), b);
	s1 = *(const amx_ints *)(const void *)(sums + 1024 + 64 * i);
	return t + (m * dx) * __builtin_convertvector(s1, amx_floats);
}

/* Adds blocks [b0, b0 + n) of a panel times m rows of x to rows [r, r + 16) of y; full: m is 16, a
 * constant. */
INLINE void amx_pass(enum amx_kind kind, bool full, const char *panel, const struct kern_product *p,
		     uint32_t r, uint32_t c, uint32_t m, size_t b0, size_t n)
{
	const size_t n_out = (p->n_row - r < AMX_ROWS ? p->n_row - r : AMX_ROWS) * sizeof(float);
	const char *const *x = (const char *const *)p->x + c;
	_Alignas(KERN_ALIGN) char sums[2][2 * 1024], copy[AMX_ROWS * 32 * AMX_BLOCKS];
	const struct amx_x at = amx_rows_of_x(p, c, m, b0, n, copy);
	amx_floats out[AMX_ROWS] = {{0}};

#pragma GCC unroll 16
	for (uint32_t i = 0; i < m; i++) {
		amx_floats v = {0};

		if (b0)
			memcpy(&v, p->y[c + i] + r, n_out);
		out[i] = v;
	}
	amx_multiply(kind, full, panel, at.q, at.stride, sums[0]);
	for (size_t b = 0; b < n; b++, panel += amx_block(kind)) {
		if (b + 1 < n)
			amx_multiply(kind, full, panel + amx_block(kind), at.q + 32 * (b + 1),
				     at.stride, sums[(b + 1) % 2]);
#pragma GCC unroll 16
		for (uint32_t i = 0; i < m; i++)
			out[i] += amx_term(kind, panel, sums[b % 2], i, x[i], p->k, b0 + b);
	}
#pragma GCC unroll 16
	for (uint32_t i = 0; i < m; i++) {
		const amx_floats v = out[i];

		memcpy(p->y[c + i] + r, &v, n_out);
	}
}

/* Adds blocks [b, b + n) of a panel times rows [c, end) of x. */
typedef void amx_columns_fn(const char *panel, const struct kern_product *p, uint32_t r, uint32_t c,
			    uint32_t end, size_t b, size_t n);

#define AMX_COLUMNS(name, kind)                                                                    \
	static void name(const char *panel, const struct kern_product *p, uint32_t r, uint32_t c,  \
			 uint32_t end, size_t b, size_t n)                                         \
	{                                                                                          \
		for (; end - c >= AMX_ROWS; c += AMX_ROWS)                                         \
			amx_pass(kind, true, panel, p, r, c, AMX_ROWS, b, n);                      \
		if (c < end)                                                                       \
			amx_pass(kind, false, panel, p, r, c, end - c, b, n);                      \
	}

AMX_COLUMNS(amx_columns_one, AMX_ONE)
AMX_COLUMNS(amx_columns_min, AMX_MIN)
AMX_COLUMNS(amx_columns_wide, AMX_WIDE)
AMX_COLUMNS(amx_columns_two, AMX_TWO)

INLINE amx_columns_fn *amx_columns_of(enum amx_kind kind)
{
	return kind == AMX_ONE    ? amx_columns_one
	       : kind == AMX_MIN  ? amx_columns_min
	       : kind == AMX_WIDE ? amx_columns_wide
				  : amx_columns_two;
}

/* Unpacks blocks [b, b + n) of rows [r, r + 16), of which those that are missing may be anything that is
 * finite. */
typedef void amx_unpack_fn(const struct kern_product *p, uint32_t r, size_t b, size_t n,
			   char *panel);

static void amx_product(enum amx_kind kind, const struct kern_product *p, amx_unpack_fn *unpack)
{
	_Alignas(KERN_ALIGN) char panel[AMX_PANEL_BYTES];
	const size_t nb = p->k / 32;

	if (!p->n_col || !p->n_row)
		return;
	amx_configure(p->n_col % AMX_ROWS);
	for (uint32_t c = 0; c < p->n_col; c += AMX_COLS) {
		const uint32_t end = p->n_col - c < AMX_COLS ? p->n_col : c + AMX_COLS;

		for (uint32_t r = 0; r < p->n_row; r += AMX_ROWS)
			for (size_t b = 0; b < nb; b += AMX_BLOCKS) {
				const size_t n = nb - b < AMX_BLOCKS ? nb - b : AMX_BLOCKS;

				unpack(p, r, b, n, panel);
				amx_columns_of(kind)(panel, p, r, c, end, b, n);
			}
	}
	AMX_RELEASE();
}

#endif /* LLAMAD_CPU_KERN_AMX_INT8_H */
