/* SPDX-License-Identifier: MIT
 *
 * iq_tables.h - the IQ types, whose values are points of a grid: their tables, and how to read a
 * block.
 *
 * In a block of 256, a value is D * sc * P: D = d times kern_point_unit; sc = 2 * scale + 1 of its
 * 16 or 32 values; and P comes from the point: for IQ2 and IQ3 with a sign, for IQ1 (8 * v) + 1 or
 * - 1.  The tables hold the values of a point as bytes, the first one lowest: the magnitudes for
 * IQ2 (8 values) and IQ3 (4), and 8 * v + 16 for IQ1 (8).  IQ3 also has tables with a nibble for
 * each value: an eighth of it, rounded down, for IQ3_XXS, and the value for IQ3_S.
 *
 * The types have no files of their own as others do (types/): each kernel (grid_*.h) reads the points
 * of several types in the same registers, so a file for each type would move its table and leave the
 * work of a new type where it is. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_IQ_TABLES_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_IQ_TABLES_H

#include <string.h>

#include "kern.h"

/* The words of grid_vbmi.h: the low bytes of all points, then the high bytes. */
struct kern_iq_levels {
	uint8_t iq2_xxs[512], iq2_xs[1024], iq3_xxs[512], iq3_s[1024];
};

struct kern_iq_tables {
	uint64_t iq2_xxs[256], iq2_xs[512], iq2_s[1024], iq1[2048];
	uint32_t iq3_xxs[256], iq3_s[512];
	uint16_t iq3_xxs_nibbles[256], iq3_s_nibbles[512];
	uint8_t levels[sizeof(struct kern_iq_levels) + KERN_ALIGN]; /* kern_iq_levels */
};

/* The table itself need not be aligned. */
static inline const struct kern_iq_levels *kern_iq_levels(const struct kern_iq_tables *t)
{
	const uint8_t *p = t->levels + (KERN_ALIGN - (uintptr_t)t->levels % KERN_ALIGN);

	return (const struct kern_iq_levels *)(const void *)p;
}

static inline bool kern_has_iq_tables(uint32_t dtype)
{
	return dtype == LMD_DTYPE_IQ2_XXS || dtype == LMD_DTYPE_IQ2_XS ||
	       dtype == LMD_DTYPE_IQ2_S || dtype == LMD_DTYPE_IQ3_XXS ||
	       dtype == LMD_DTYPE_IQ3_S || dtype == LMD_DTYPE_IQ1_S || dtype == LMD_DTYPE_IQ1_M;
}

static inline bool kern_is_iq1(uint32_t dtype)
{
	return dtype == LMD_DTYPE_IQ1_S || dtype == LMD_DTYPE_IQ1_M;
}

static inline float kern_point_unit(uint32_t dtype)
{
	return dtype == LMD_DTYPE_IQ3_S ? 1.0f : dtype == LMD_DTYPE_IQ3_XXS ? 0.25f : 0.125f;
}

static inline uint32_t kern_word(const uint8_t *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8;
}

static inline uint32_t kern_dword(const uint8_t *b)
{
	return kern_word(b) | kern_word(b + 2) << 16;
}

/* d of a block, as f16. */
static inline uint32_t kern_point_d(uint32_t dtype, const uint8_t *b)
{
	if (dtype != LMD_DTYPE_IQ1_M)
		return kern_word(b);
	return (uint32_t)(b[49] >> 4 | (b[51] & 0xf0)) |
	       (uint32_t)(b[53] >> 4 | (b[55] & 0xf0)) << 8;
}

/* sc of both halves of block j < 8 of 32. */
static inline void kern_point_scales(uint32_t dtype, const uint8_t *b, int j, int32_t sc[2])
{
	uint32_t s;

	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
		sc[0] = sc[1] = 2 * (b[2 + 8 * j + 7] >> 4) + 1;
		return;
	case LMD_DTYPE_IQ3_XXS:
		sc[0] = sc[1] = 2 * (b[66 + 4 * j + 3] >> 4) + 1;
		return;
	case LMD_DTYPE_IQ3_S:
		sc[0] = sc[1] = 2 * (b[106 + j / 2] >> 4 * (j % 2) & 15) + 1;
		return;
	case LMD_DTYPE_IQ1_S:
		sc[0] = sc[1] = 2 * (b[34 + 2 * j + 1] >> 4 & 7) + 1;
		return;
	case LMD_DTYPE_IQ1_M:
		s = kern_word(b + 48 + 2 * (j / 2)) >> 6 * (j % 2);
		sc[0] = (int32_t)(2 * (s & 7) + 1);
		sc[1] = (int32_t)(2 * (s >> 3 & 7) + 1);
		return;
	default: /* IQ2_XS, IQ2_S */
		s = b[(dtype == LMD_DTYPE_IQ2_XS ? 66 : 74) + j];
		sc[0] = (int32_t)(2 * (s & 15) + 1);
		sc[1] = (int32_t)(2 * (s >> 4) + 1);
	}
}

/* Eight signs for each of four 7-bit indices: the number of minus signs is even. */
static inline uint32_t kern_even_signs(uint32_t v)
{
	uint32_t x = (v & 0x7f) | (v << 1 & 0x7f00) | (v << 2 & 0x7f0000) | (v << 3 & 0x7f000000);
	uint32_t odd = x ^ x >> 4;

	odd ^= odd >> 2;
	odd ^= odd >> 1;
	return x | (odd & 0x01010101) << 7;
}

/* Four groups of points, each from two of the eight indices in qs. */
static inline void kern_quads(const uint32_t *t, const uint8_t *qs, uint32_t ninth, uint64_t out[4])
{
	for (uint32_t l = 0; l < 4; l++)
		out[l] = t[qs[2 * l] | (ninth >> 2 * l & 1) << 8] |
			 (uint64_t)t[qs[2 * l + 1] | (ninth >> (2 * l + 1) & 1) << 8] << 32;
}

/* Reads the 32 values of block j < 8 from the tables.  Returns a bit for each value that is
 * negative (IQ2, IQ3) or that has the - 1 (IQ1). */
static inline uint32_t kern_points_32(uint32_t dtype, const struct kern_iq_tables *t,
				      const uint8_t *b, int j, uint64_t out[4])
{
	uint32_t v, signs = 0;

	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
		b += 2 + 8 * j;
		for (int l = 0; l < 4; l++)
			out[l] = t->iq2_xxs[b[l]];
		return kern_even_signs(kern_dword(b + 4) & 0x0fffffff);
	case LMD_DTYPE_IQ2_XS:
		b += 2 + 8 * j;
		for (int l = 0; l < 4; l++) {
			v = kern_word(b + 2 * l);
			out[l] = t->iq2_xs[v & 511];
			signs |= v >> 9 << 7 * l;
		}
		return kern_even_signs(signs);
	case LMD_DTYPE_IQ2_S:
		for (int l = 0; l < 4; l++)
			out[l] = t->iq2_s[b[2 + 4 * j + l] | (b[66 + j] >> 2 * l & 3) << 8];
		return kern_dword(b + 34 + 4 * j);
	case LMD_DTYPE_IQ3_XXS:
		kern_quads(t->iq3_xxs, b + 2 + 8 * j, 0, out);
		return kern_even_signs(kern_dword(b + 66 + 4 * j) & 0x0fffffff);
	case LMD_DTYPE_IQ3_S:
		kern_quads(t->iq3_s, b + 2 + 8 * j, b[66 + j], out);
		return kern_dword(b + 74 + 4 * j);
	case LMD_DTYPE_IQ1_S:
		v = kern_word(b + 34 + 2 * j);
		for (int l = 0; l < 4; l++)
			out[l] = t->iq1[b[2 + 4 * j + l] | (v >> 3 * l & 7) << 8];
		return v & 0x8000 ? UINT32_MAX : 0;
	default: /* IQ1_M */
		v = kern_word(b + 32 + 2 * j);
		for (int l = 0; l < 4; l++)
			out[l] = t->iq1[b[4 * j + l] | (v >> 4 * l & 7) << 8];
		return (v >> 3 & 1) * 0xff | (v >> 7 & 1) * 0xff00 |
		       (v >> 11 & 1) * 0xff0000 | (v >> 15 & 1) * 0xff000000;
	}
}

/* TQ1_0: the trits, 0 to 2, of block j < 8.  A byte holds up to five of them as a base-3 fraction;
 * multiplying by 3 shifts one out of the byte. */
static inline void kern_trits_32(const uint8_t *b, int j, uint8_t out[32])
{
	static const uint8_t power[5] = {1, 3, 9, 27, 81};

	for (int i = 0; i < 32; i++) {
		int at = i, k = j;
		uint8_t v;

		if (j >= 5) { /* bytes 32-47 have values 160-239, bytes 48-51 the rest */
			at = 32 + i % 16;
			k = 2 * (j - 5) + i / 16;
		}
		if (j == 7 && i >= 16) {
			at = 48 + i % 4;
			k = (i - 16) / 4;
		}
		v = (uint8_t)(b[at] * power[k]);
		out[i] = (uint8_t)(v * 3 >> 8);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_IQ_TABLES_H */
