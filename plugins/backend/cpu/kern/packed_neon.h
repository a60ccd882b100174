/* SPDX-License-Identifier: MIT
 *
 * packed_neon.h - exact products with repacked weights (packed.h) with NEON.  A group is read as
 * four quarters of four rows. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_PACKED_NEON_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_PACKED_NEON_H

#include "packed.h"
#include "rows_neon.h"

#define STRIP_ROWS 64u /* rows of the weight and of x that stay in the second-level cache */
#define STRIP_COLS 32u

INLINE uint8x16_t vector(const char *p)
{
	return vld1q_u8((const uint8_t *)p);
}

/* Values of a code vector, without its scale. */
INLINE int8x16_t packed_values(uint32_t dtype, uint8x16_t q)
{
	const uint32_t shift = kern_code_shift(dtype);

	if (kern_packed_bits(dtype) == 8)
		return vreinterpretq_s8_u8(veorq_u8(q, vdupq_n_u8(0x80)));
	if (kern_has_iq4_codebook(dtype))
		return vqtbl1q_s8(vld1q_s8(kern_codebook_iq4), q);
	if (dtype == LMD_DTYPE_MXFP4)
		return vqtbl1q_s8(vld1q_s8(kern_codebook_fp4), q);
	return shift ? minus(q, 1 << shift) : vreinterpretq_s8_u8(q);
}

/* Values of four rows of a block.  p: the block, plus 16 bytes for each quarter. */
INLINE void packed_codes(uint32_t dtype, const char *p, int8x16_t out[8])
{
	const uint32_t bits = kern_packed_bits(dtype);
	uint8x16_t q[8];

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		uint8x16_t v = vector(p + 64 * j);

		q[j] = bits == 8 ? v : vandq_u8(v, vdupq_n_u8(15));
		q[j + 4] = bits == 8 ? vector(p + 256 + 64 * j) : vshrq_n_u8(v, 4);
	}
#pragma GCC unroll 8
	for (int j = 0; j < 8; j++) {
		if (bits == 5)
			q[j] = vorrq_u8(q[j], vshlq_n_u8(bits_of(vector(p + 256), j, 1), 4));
		if (bits == 6)
			q[j] = vorrq_u8(q[j], vshlq_n_u8(bits_of(vector(p + 256 + 64 * (j / 4)),
								 j % 4 * 2, 2),
							 4));
		out[j] = packed_values(dtype, q[j]);
	}
}

INLINE float32x4_t four_halves(const char *p)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)(const void *)p)));
}

INLINE int32x4_t four_signed(const char *p)
{
	int8x8_t v = vreinterpret_s8_u32(vdup_n_u32(load32((const uint8_t *)p)));

	return vmovl_s16(vget_low_s16(vmovl_s8(v)));
}

INLINE float32x4_t four_bytes(const char *p)
{
	uint8x8_t v = vreinterpret_u8_u32(vdup_n_u32(load32((const uint8_t *)p)));

	return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(v))));
}

/* Factors of block b of four rows, the first of which is row r of the group.  p:
 * kern_packed_scale() of the block. */
INLINE void packed_factors(uint32_t dtype, const char *p, size_t b, size_t r, struct block4 *c)
{
	const char *one = p + 32 + 16 * (b % 8) + r, *two = p + 32 + 32 * (b % 8) + r;

	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_F16:
		c->d = four_halves(p + 2 * r);
		return;
	case KERN_SCALES_DM:
		c->d = four_halves(p + 2 * r);
		c->m = four_halves(p + 32 + 2 * r);
		return;
	case KERN_SCALES_E8:
		c->d = (float32x4_t){kern_power((uint8_t)p[r]), kern_power((uint8_t)p[r + 1]),
				     kern_power((uint8_t)p[r + 2]), kern_power((uint8_t)p[r + 3])};
		return;
	case KERN_SCALES_K:
		c->d = vmulq_f32(four_halves(p + 2 * r), vcvtq_f32_s32(four_signed(one)));
		return;
	case KERN_SCALES_K_DM:
		c->d = vmulq_f32(four_halves(p + 2 * r), four_bytes(two + 32));
		c->m = vmulq_f32(four_halves(p + 32 + 2 * r), four_bytes(two + 48));
		return;
	case KERN_SCALES_HALVES:
		c->d = four_halves(p + 2 * r);
		c->sc[0] = four_signed(two);
		c->sc[1] = four_signed(two + 16);
		return;
	case KERN_SCALES_TWO_E8:
	case KERN_SCALES_HALVES_DM: /* no such types here */
		return;
	}
}

/* Rows [at, at + 4) times n_col rows of x from c on.  n_col is 1..PASS and constant. */
INLINE void packed_pass(uint32_t dtype, const struct kern_product *p, uint32_t at, uint32_t c,
			uint32_t n_col, const char *later)
{
	const size_t nb = p->k / 32, step = kern_packed_bytes(dtype, p->k) / nb / FOUR, r = at % 16;
	const char *group = (const char *)p->w + at / 16 * p->w_stride;
	const char *scales = group + nb * kern_packed_codes(dtype);
	float32x4_t sum[PASS];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = vdupq_n_f32(0);
	for (size_t b = 0; b < nb; b++, group += kern_packed_codes(dtype), later += step) {
		struct block4 block;

#pragma GCC unroll 16
		for (size_t i = 0; i < step; i += 64)
			__builtin_prefetch(later + i);
		packed_codes(dtype, group + 4 * r, block.q);
		packed_factors(dtype, scales + kern_packed_scale(dtype, b), b, r, &block);
		add_block(dtype, &block, p->x + c, p->k, b, n_col, sum);
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		store(p->y[c + i] + at, sum[i], p->n_row - at);
}

/* Rows [at, at + 4) times the n_col rows of x from c on. */
INLINE void packed_quarter(uint32_t dtype, const struct kern_product *p, uint32_t at, uint32_t c,
			   uint32_t n_col, const char *later)
{
	const uint32_t n_pass = (n_col + PASS - 1) / PASS;

	for (uint32_t i = 0; i < n_pass; i++) {
		uint32_t cols = n_col / n_pass + (i < n_col % n_pass);

		if (cols == 1)
			packed_pass(dtype, p, at, c, 1, later);
		else if (cols == 2)
			packed_pass(dtype, p, at, c, 2, later);
		else if (cols == 3)
			packed_pass(dtype, p, at, c, 3, later);
		else
			packed_pass(dtype, p, at, c, PASS, later);
		c += cols;
		later = p->w; /* is in the cache already */
	}
}

INLINE void packed_product(uint32_t dtype, const struct kern_product *p)
{
	for (uint32_t r0 = 0; r0 < p->n_row; r0 += STRIP_ROWS) {
		uint32_t end = p->n_row - r0 < STRIP_ROWS ? p->n_row : r0 + STRIP_ROWS;

		for (uint32_t c = 0; c < p->n_col; c += STRIP_COLS) {
			uint32_t n_col = p->n_col - c < STRIP_COLS ? p->n_col - c : STRIP_COLS;

			for (uint32_t r = r0; r < end; r += FOUR)
				packed_quarter(dtype, p, r, c, n_col,
					       c ? (const char *)p->w
						 : kern_packed_later(p, r, 1) +
							   r % 16 * p->w_stride / 16);
		}
	}
}

/* Defines the kernel of a type and its entry in a list. */
#define PACKED(ID)                                                                                 \
	static void packed_##ID(const struct kern_packed *self, const struct kern_product *p)      \
	{                                                                                          \
		(void)self;                                                                        \
		packed_product(LMD_DTYPE_##ID, p);                                                 \
	}
#define PACKED_ENTRY(ID)                                                                           \
	{.dtype = LMD_DTYPE_##ID, .isa = ISA, .most = UINT32_MAX, .flags = FLAGS, .run = packed_##ID},

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_PACKED_NEON_H */
