/* SPDX-License-Identifier: MIT
 *
 * amx_bf16.h - weights in bf16 times activations in bf16 (KERN_ACT_BF16) by tiles.
 *
 * The first factor is sixteen weight rows, read in place, the second sixteen rows of x, whose pairs of values are
 * gathered in scratch once for all weight rows; 32 x 32 outputs stay in four tiles over the whole row.  A
 * product of tiles is 32 values deep.  An output is the sum of its products in ascending order, each summed as
 * the instruction does (amx_twin.h); rows and values that are missing count as 0, so that it does not depend on
 * what is computed beside it. */
#ifndef LLAMAD_CPU_KERN_AMX_BF16_H
#define LLAMAD_CPU_KERN_AMX_BF16_H

#include <string.h>

#include "amx_tile.h"
#include "slice.h"

#define AMX_DEPTH 32 /* values of a product of tiles */
#define AMX_TILE  1024

/* Two second factors over the whole row. */
static size_t amx_bf16_scratch(uint32_t k)
{
	return (size_t)(k + AMX_DEPTH - 1) / AMX_DEPTH * 2 * AMX_TILE;
}

/* Rounds to nearest even; denormal floats become 0. */
static void amx_bf16_prepare(const float *x, uint32_t k, void *out)
{
	uint16_t *to = out;

	memset(out, 0, KERN_BF16_BYTES(k));
	for (uint32_t i = 0; i < k; i++) {
		uint32_t bits, exp;

		memcpy(&bits, x + i, sizeof(bits));
		exp = bits & 0x7f800000;
		if (exp == 0x7f800000 && (bits & 0x7fffff))
			bits = (bits & 0xffff0000) | 0x400000; /* NaN */
		else if (!exp)
			bits &= 0x80000000;
		else
			bits += 0x7fff + (bits >> 16 & 1);
		to[i] = (uint16_t)(bits >> 16);
	}
}

/* Row i of product d of tile t = the pairs of values 2i and 2i + 1 of sixteen rows of x. */
static void amx_bf16_columns(const struct kern_product *p, uint32_t c, char *to)
{
	const size_t nd = (p->k + AMX_DEPTH - 1) / AMX_DEPTH;

	for (uint32_t i = 0; i < 32; i++) {
		char *tile = to + i / 16 * nd * AMX_TILE + 4 * (i % 16);

		for (size_t j = 0; j < 16 * nd; j++)
			if (c + i < p->n_col)
				memcpy(tile + 64 * j, (const char *)p->x[c + i] + 4 * j, 4);
			else
				memset(tile + 64 * j, 0, 4);
	}
}

/* Product d of weight rows [r, r + 16), of which some are missing, or with values that are: a copy. */
static const char *amx_bf16_copy(const struct kern_product *p, uint32_t r, size_t d, char *to)
{
	const size_t left = (p->k - d * AMX_DEPTH) * 2, bytes = left < 64 ? left : 64;

	memset(to, 0, AMX_TILE);
	for (uint32_t i = 0; i < 16 && r + i < p->n_row; i++)
		memcpy(to + 64 * i, (const char *)p->w + (r + i) * p->w_stride + d * 64, bytes);
	return to;
}

/* y[i][r ...] of up to 32 rows of x; sums: [2][2] tiles, weight rows first. */
static void amx_bf16_finish(const struct kern_product *p, uint32_t r, uint32_t c, const float *sums)
{
	const uint32_t n_row = p->n_row - r < 32 ? p->n_row - r : 32;
	const uint32_t n_col = p->n_col - c < 32 ? p->n_col - c : 32;

	for (uint32_t i = 0; i < n_col; i++)
		for (uint32_t j = 0; j < n_row; j++)
			p->y[c + i][r + j] =
				sums[(j / 16 * 2 + i / 16) * 256 + j % 16 * 16 + i % 16];
}

/* Weight rows [r, r + 32) times the rows of x from c on, which are in scratch. */
static void amx_bf16_rows(const struct kern_product *p, uint32_t r, uint32_t c)
{
	const size_t nd = (p->k + AMX_DEPTH - 1) / AMX_DEPTH;
	_Alignas(KERN_ALIGN) char copy[2][AMX_TILE];
	_Alignas(KERN_ALIGN) float sums[4][256];
	const char *x = p->scratch;

	AMX_ZERO(0);
	AMX_ZERO(1);
	AMX_ZERO(2);
	AMX_ZERO(3);
	for (size_t d = 0; d < nd; d++, x += AMX_TILE) {
		const char *w[2];
		ptrdiff_t stride[2];

		for (uint32_t i = 0; i < 2; i++) {
			const bool whole =
				p->n_row >= r + 16 * (i + 1) && (d + 1) * AMX_DEPTH <= p->k;

			w[i] = whole ? (const char *)p->w + (r + 16 * i) * p->w_stride + d * 64
				     : amx_bf16_copy(p, r + 16 * i, d, copy[i]);
			stride[i] = whole ? (ptrdiff_t)p->w_stride : 64;
		}
		AMX_LOAD(4, w[0], stride[0]);
		AMX_LOAD(5, w[1], stride[1]);
		AMX_LOAD(6, x, 64);
		AMX_LOAD(7, x + nd * AMX_TILE, 64);
		AMX_DPBF16PS(0, 4, 6);
		AMX_DPBF16PS(1, 4, 7);
		AMX_DPBF16PS(2, 5, 6);
		AMX_DPBF16PS(3, 5, 7);
	}
	AMX_STORE(0, sums[0], 64);
	AMX_STORE(1, sums[1], 64);
	AMX_STORE(2, sums[2], 64);
	AMX_STORE(3, sums[3], 64);
	amx_bf16_finish(p, r, c, sums[0]);
}

static void amx_bf16_run(const struct kern_linear *self, const struct kern_product *p)
{
	struct kern_amx_config all = {.palette = 1};

	(void)self;
	if (!p->n_col || !p->n_row)
		return;
	for (int t = 0; t < 8; t++) {
		all.bytes[t] = 64;
		all.rows[t] = 16;
	}
	AMX_CONFIGURE(&all);
	for (uint32_t c = 0; c < p->n_col; c += 32) {
		amx_bf16_columns(p, c, p->scratch);
		for (uint32_t r = 0; r < p->n_row; r += 32)
			amx_bf16_rows(p, r, c);
	}
	AMX_RELEASE();
}

#endif /* LLAMAD_CPU_KERN_AMX_BF16_H */
