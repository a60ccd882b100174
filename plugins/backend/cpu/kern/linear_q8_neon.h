/* SPDX-License-Identifier: MIT
 *
 * linear_q8_neon.h - exact products of any type with NEON.  Few rows of x are multiplied with four
 * weight rows at a time as they lie in the file; for more rows of x, a strip of weight rows is
 * unpacked to panels first, which are arrays of struct block4. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_LINEAR_Q8_NEON_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_LINEAR_Q8_NEON_H

#include "rows_neon.h"
#include "slice.h"

#define FEW         2       /* largest number of rows of x for rows4 */
#define STRIP_BYTES 0x30000 /* size of the panels, at least one */

/* Four rows from r on times n_col rows of x.  n_col is 1..FEW and constant. */
INLINE void rows4(uint32_t dtype, const struct kern_product *p, uint32_t r, uint32_t n_col)
{
	const size_t bytes = kern_block_bytes(dtype), parts = kern_n_sub_blocks(dtype);
	const uint8_t *w[FOUR], *later = kern_later_rows(p, r, FOUR);
	float32x4_t sum[PASS];

	kern_row_addresses(p, r, FOUR, w);
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = vdupq_n_f32(0);
	for (size_t b = 0, at = kern_row_head(dtype); b < p->k / 32; b += parts, at += bytes) {
#pragma GCC unroll 16
		for (size_t i = 0; i < FOUR * bytes; i += 64)
			__builtin_prefetch(later + FOUR * at + i);
#pragma GCC unroll 1 /* long enough without unrolling */
		for (int j = 0; j < (int)parts; j++) {
			struct block4 block;

			rows_block(dtype, p->points, w, at, j, &block);
			add_block(dtype, &block, p->x, p->k, b + (size_t)j, n_col, sum);
		}
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		store(p->y[i] + r, sum[i], p->n_row - r);
}

INLINE void few(uint32_t dtype, const struct kern_product *p)
{
	for (uint32_t r = 0; r < p->n_row; r += FOUR)
		if (p->n_col == 1)
			rows4(dtype, p, r, 1);
		else
			rows4(dtype, p, r, 2);
}

/* ---- panels ---- */

INLINE size_t panel_bytes(uint32_t k)
{
	return k / 32 * sizeof(struct block4);
}

INLINE uint32_t n_panels(uint32_t k)
{
	size_t n = STRIP_BYTES / (panel_bytes(k) + 1);

	return n < 1 ? 1 : n > 64 ? 64 : (uint32_t)n;
}

INLINE void panel_create(uint32_t dtype, const struct kern_product *p, uint32_t r,
			 struct block4 *panel)
{
	const size_t bytes = kern_block_bytes(dtype), parts = kern_n_sub_blocks(dtype);
	const uint8_t *w[FOUR];

	kern_row_addresses(p, r, FOUR, w);
	for (size_t b = 0, at = kern_row_head(dtype); b < p->k / 32; b += parts, at += bytes)
#pragma GCC unroll 1
		for (int j = 0; j < (int)parts; j++, panel++)
			rows_block(dtype, p->points, w, at, j, panel);
}

/* Four rows from r on, in a panel, times n_col rows of x from c on. */
INLINE void panel_pass(uint32_t dtype, const struct block4 *panel, const struct kern_product *p,
		       uint32_t r, uint32_t c, uint32_t n_col)
{
	float32x4_t sum[PASS];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = vdupq_n_f32(0);
	for (size_t b = 0; b < p->k / 32; b++)
		add_block(dtype, &panel[b], p->x + c, p->k, b, n_col, sum);
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		store(p->y[c + i] + r, sum[i], p->n_row - r);
}

INLINE void many(uint32_t dtype, const struct kern_product *p)
{
	const uint32_t strip = FOUR * n_panels(p->k);
	const size_t nb = p->k / 32;

	for (uint32_t r = 0; r < p->n_row; r += strip) {
		uint32_t n_row = p->n_row - r < strip ? p->n_row - r : strip, c = 0;
		struct block4 *panels = p->scratch;

		for (uint32_t i = 0; i < n_row; i += FOUR)
			panel_create(dtype, p, r + i, panels + i / FOUR * nb);
		for (; c + PASS <= p->n_col; c += PASS)
			for (uint32_t i = 0; i < n_row; i += FOUR)
				panel_pass(dtype, panels + i / FOUR * nb, p, r + i, c, PASS);
		for (; c < p->n_col; c++)
			for (uint32_t i = 0; i < n_row; i += FOUR)
				panel_pass(dtype, panels + i / FOUR * nb, p, r + i, c, 1);
	}
}

static size_t linear_scratch(uint32_t k)
{
	return (n_panels(k) * panel_bytes(k) + KERN_ALIGN - 1) / KERN_ALIGN * KERN_ALIGN;
}

/* Defines the kernel of a type and its entry in a list. */
#define LINEAR(ID, ...)                                                                            \
	static void linear_##ID(const struct kern_linear *self, const struct kern_product *p)      \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col > FEW)                                                                \
			many(LMD_DTYPE_##ID, p);                                                   \
		else if (p->n_col)                                                                 \
			few(LMD_DTYPE_##ID, p);                                                    \
	}
#define LINEAR_ENTRY(ID, ...)                                                                      \
	{.dtype = LMD_DTYPE_##ID,                                                                  \
	 .act = KERN_ACT_Q8,                                                                       \
	 .flags = FLAGS,                                                                           \
	 .isa = ISA,                                                                               \
	 .exact = true,                                                                            \
	 .scratch_bytes = linear_scratch,                                                          \
	 .run = linear_##ID},

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_LINEAR_Q8_NEON_H */
