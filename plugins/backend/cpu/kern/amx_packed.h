/* SPDX-License-Identifier: MIT
 *
 * amx_packed.h - groups of repacked weights (packed.h) as panels (amx_panel.h). */
#ifndef LLAMAD_CPU_KERN_AMX_PACKED_H
#define LLAMAD_CPU_KERN_AMX_PACKED_H

#include <string.h>

#include "amx_int8.h"
#include "codebooks.h"
#include "packed.h"
#include "scales.h"

INLINE amx_bytes amx_load(const char *p)
{
	return *(const amx_bytes *)(const void *)p;
}

/* Bytes of v times 2^by, or divided by it if by < 0; bits that leave a byte enter the next one. */
INLINE amx_bytes amx_shift(amx_bytes v, int by)
{
	return by < 0 ? (amx_bytes)((amx_words)v >> -by) : (amx_bytes)((amx_words)v << by);
}

INLINE amx_bytes amx_look_up(const int8_t book[16], amx_bytes index)
{
	for (int i = 0; i < 64; i++)
		index[i] = (uint8_t)book[index[i]];
	return index;
}

/* Values 4j to 4j+3 of a block of sixteen rows, without the factors of halves; p: the block. */
INLINE amx_bytes amx_values(uint32_t dtype, const char *p, int j)
{
	const uint32_t bits = kern_packed_bits(dtype);
	amx_bytes v;

	if (bits == 8)
		return amx_load(p + 64 * j) ^ 0x80;
	v = amx_shift(amx_load(p + 64 * (j % 4)), j < 4 ? 0 : -4) & 15;
	if (kern_has_iq4_codebook(dtype))
		return amx_look_up(kern_codebook_iq4, v);
	if (dtype == LMD_DTYPE_MXFP4)
		return amx_look_up(kern_codebook_fp4, v);
	if (bits == 5)
		v |= amx_shift(amx_load(p + 256), 4 - j) & 0x10;
	if (bits == 6)
		v |= amx_shift(amx_load(p + 256 + 64 * (j / 4)), 4 - 2 * (j % 4)) & 0x30;
	return v - (uint8_t)(kern_code_shift(dtype) ? 1 << kern_code_shift(dtype) : 0);
}

typedef uint16_t amx_halves __attribute__((vector_size(32), may_alias));

/* Sixteen f16 numbers: the bits of exponent and mantissa are those of a float that is 2^112 times smaller. */
INLINE amx_floats amx_sixteen_f16(const char *p)
{
	amx_floats v;
	amx_halves f16;
	amx_ints h;

	memcpy(&f16, p, sizeof(f16));
	h = __builtin_convertvector(f16, amx_ints);
	v = (amx_floats)((h & 0x7fff) << 13) * 0x1p112f;
	/* infinity and NaN */
	h = (h & 0x8000) << 16 | (((h & 0x7c00) == 0x7c00) & 0x7f800000);
	return (amx_floats)((amx_ints)v | h);
}

INLINE amx_floats amx_sixteen_bytes(const char *p, bool with_sign)
{
	amx_floats v = {0};

	for (int i = 0; i < 16; i++)
		v[i] = with_sign ? (float)(signed char)p[i] : (float)(uint8_t)p[i];
	return v;
}

/* D and M of block b; s: kern_packed_scale() of it. */
INLINE void amx_scales(uint32_t dtype, const char *s, size_t b, amx_floats *d, amx_floats *m)
{
	const size_t i = b % 8;

	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_E8:
		for (int r = 0; r < 16; r++)
			(*d)[r] = kern_power((uint8_t)s[r]);
		return;
	case KERN_SCALES_DM:
		*m = amx_sixteen_f16(s + 32);
		break;
	case KERN_SCALES_K:
		*d = amx_sixteen_f16(s) * amx_sixteen_bytes(s + 32 + 16 * i, true);
		return;
	case KERN_SCALES_K_DM:
		*d = amx_sixteen_f16(s) * amx_sixteen_bytes(s + 64 + 32 * i, false);
		*m = amx_sixteen_f16(s + 32) * amx_sixteen_bytes(s + 80 + 32 * i, false);
		return;
	case KERN_SCALES_TWO_E8:
	case KERN_SCALES_HALVES_DM: /* no such types here */
		return;
	case KERN_SCALES_F16:
	case KERN_SCALES_HALVES:
		break;
	}
	*d = amx_sixteen_f16(s);
}

/* The factors of both halves of sixteen rows, each twice; p: 2 * 16 bytes. */
INLINE void amx_half_factors(const char *p, amx_shorts f[2])
{
	for (int i = 0; i < 64; i++)
		f[i / 32][i % 32] = (signed char)p[16 * (i / 32) + i % 32 / 2];
}

INLINE void amx_unpack_group(uint32_t dtype, const struct kern_product *p, uint32_t r, size_t b,
			     size_t n, char *panel)
{
	const enum amx_kind kind = amx_kind_of(dtype);
	const size_t codes = kern_packed_codes(dtype);
	const char *group = (const char *)p->w + r / KERN_GROUP * p->w_stride;
	const char *scales = group + p->k / 32 * codes;

	for (size_t i = b; i < b + n; i++, panel += amx_block(kind)) {
		const char *s = scales + kern_packed_scale(dtype, i);
		amx_floats d = {0}, m = {0};
		amx_shorts f[2] = {{0}};

		if (kind == AMX_WIDE)
			amx_half_factors(s + 32 + 32 * (i % 8), f);
#pragma GCC unroll 8
		for (int j = 0; j < 8; j++) {
			const amx_bytes v = amx_values(dtype, group + i * codes, j);

			if (kind == AMX_WIDE)
				amx_put_wide(v, f[j / 4], (size_t)j, panel);
			else
				*(amx_bytes *)(void *)(panel + 64 * j) = v;
		}
		amx_scales(dtype, s, i, &d, &m);
		*(amx_floats *)(void *)(panel + amx_d(kind)) = d;
		if (kind == AMX_MIN)
			*(amx_floats *)(void *)(panel + amx_m(kind)) = m;
	}
}

/* Defines amx_group_TYPE, an amx_unpack_fn. */
#define AMX_PACKED_TYPE(type)                                                                      \
	static void amx_group_##type(const struct kern_product *p, uint32_t r, size_t b, size_t n, \
				     char *panel)                                                  \
	{                                                                                          \
		amx_unpack_group(LMD_DTYPE_##type, p, r, b, n, panel);                             \
	}

#endif /* LLAMAD_CPU_KERN_AMX_PACKED_H */
