/* SPDX-License-Identifier: MIT
 *
 * Repacks weight rows to groups of sixteen (packed.h), portably. */
#include <string.h>

#include "iq_tables.h"
#include "packed.h"
#include "properties.h"

/* Offsets in a block of the file: first f16 number, second one, codes, high bits. */
struct place {
	uint32_t d, m, codes, high;
};

INLINE struct place place_of(uint32_t dtype)
{
	switch (dtype) {
	case LMD_DTYPE_Q4_1:
		return (struct place){0, 2, 4, 0};
	case LMD_DTYPE_Q5_0:
		return (struct place){0, 0, 6, 2};
	case LMD_DTYPE_Q5_1:
		return (struct place){0, 2, 8, 4};
	case LMD_DTYPE_Q8_0:
		return (struct place){0, 0, 2, 0};
	case LMD_DTYPE_MXFP4:
		return (struct place){0, 0, 1, 0};
	case LMD_DTYPE_NVFP4:
		return (struct place){0, 0, 4, 0};
	case LMD_DTYPE_Q2_K:
		return (struct place){80, 82, 16, 0};
	case LMD_DTYPE_Q3_K:
		return (struct place){108, 0, 32, 0};
	case LMD_DTYPE_Q4_K:
		return (struct place){0, 2, 16, 0};
	case LMD_DTYPE_Q5_K:
		return (struct place){0, 2, 48, 16};
	case LMD_DTYPE_Q6_K:
		return (struct place){208, 0, 0, 128};
	case LMD_DTYPE_IQ4_XS:
		return (struct place){0, 0, 8, 0};
	case LMD_DTYPE_TQ1_0:
		return (struct place){52, 0, 0, 0};
	default: /* Q4_0, IQ4_NL; points are read by the functions of iq_tables.h */
		return (struct place){0, 0, 2, 0};
	}
}

/* Codes of block i of a block whose values are points: indices of kern_packed_book(). */
INLINE void codes_of_points(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *w,
			    uint32_t i, uint8_t q[32], uint8_t high[32])
{
	const bool of_two = kern_packed_bits(dtype) == 3;
	const int by = of_two ? 4 : dtype == LMD_DTYPE_IQ3_XXS ? 3 : 1;
	uint64_t values[4];
	const uint32_t minus = kern_points_32(dtype, points, w, (int)i, values);

	for (uint32_t e = 0; e < 32; e++) {
		const uint8_t magnitude = (uint8_t)(values[e / 8] >> e % 8 * 8);

		high[e] = minus >> e & 1; /* the third or the fourth bit */
		q[e] = (uint8_t)(magnitude >> by | (of_two ? 0 : high[e] << 3));
	}
}

/* Codes of block i of a block of the file: q[32], and bits above the fourth, or above the second of 3 bits, in
 * high[32]. */
INLINE void codes_of(uint32_t dtype, const struct place *at, const uint8_t *w, uint32_t i,
		     uint8_t q[32], uint8_t high[32])
{
	const uint8_t *c = w + at->codes, *h = w + at->high;
	const uint32_t by = i % 2 * 4;

	switch (dtype) {
	case LMD_DTYPE_Q8_0:
		for (uint32_t e = 0; e < 32; e++)
			q[e] = c[e] ^ 0x80;
		return;
	case LMD_DTYPE_NVFP4: /* groups of 16: the low nibbles of eight bytes, then their high nibbles */
		for (uint32_t e = 0; e < 32; e++)
			q[e] = c[16 * i + 8 * (e / 16) + e % 8] >> (e / 8 % 2 * 4) & 15;
		return;
	case LMD_DTYPE_Q2_K:
	case LMD_DTYPE_Q3_K:
		for (uint32_t e = 0; e < 32; e++)
			q[e] = c[32 * (i / 4) + e] >> (2 * (i % 4)) & 3;
		for (uint32_t e = 0; dtype == LMD_DTYPE_Q3_K && e < 32; e++)
			high[e] = h[e] >> i & 1;
		return;
	case LMD_DTYPE_TQ1_0:
		kern_trits_32(w, (int)i, q);
		for (uint32_t e = 0; e < 32; e++)
			q[e]++;
		return;
	case LMD_DTYPE_Q4_K:
	case LMD_DTYPE_Q5_K:
		for (uint32_t e = 0; e < 32; e++)
			q[e] = c[32 * (i / 2) + e] >> by & 15;
		for (uint32_t e = 0; dtype == LMD_DTYPE_Q5_K && e < 32; e++)
			high[e] = h[e] >> i & 1;
		return;
	case LMD_DTYPE_Q6_K:
		c += 64 * (i / 4) + 32 * by / 4;
		for (uint32_t e = 0; e < 32; e++) {
			q[e] = (i % 4 < 2 ? c[e] : c[e] >> 4) & 15;
			high[e] = h[32 * (i / 4) + e] >> (2 * (i % 4)) & 3;
		}
		return;
	default:
		c += 16 * i;
		for (uint32_t e = 0; e < 16; e++) {
			q[e] = c[e] & 15;
			q[e + 16] = c[e] >> 4;
		}
		for (uint32_t e = 0; at->high && e < 32; e++)
			high[e] = h[e / 8] >> e % 8 & 1;
		return;
	}
}

/* Writes numbers of 1 or 2 bits of one row of a block, those of 8 / bits vectors of codes in a vector. */
INLINE void put_bits(uint32_t bits, const uint8_t v[32], char *to)
{
	const uint32_t n = 8 / bits;

	for (uint32_t i = 0; i < 8 / n; i++) {
		uint32_t all = 0, four;

		for (uint32_t j = 0; j < n; j++) {
			memcpy(&four, v + 4 * (n * i + j), 4);
			all |= four << bits * j;
		}
		memcpy(to + 64 * i, &all, 4);
	}
}

/* Writes the codes of one row of a block; to: the row's first byte. */
INLINE void put_codes(uint32_t bits, const uint8_t q[32], const uint8_t high[32], char *to)
{
	uint8_t v[32];
	uint32_t n = bits == 8 ? 8 : 4;

	if (bits < 4) {
		put_bits(2, q, to);
		if (bits == 3)
			put_bits(1, high, to + 128);
		return;
	}
	for (uint32_t e = 0; e < 4 * n; e++)
		v[e] = (uint8_t)(bits == 8 ? q[e] : q[e] | q[e + 16] << 4);
	for (uint32_t j = 0; j < n; j++)
		memcpy(to + 64 * j, v + 4 * j, 4);
	if (bits == 5 || bits == 6)
		put_bits(bits - 4, high, to + 256);
}

/* The 6-bit scale and minimum of block j of Q4_K and Q5_K. */
static void k_scales(const uint8_t *s, uint32_t j, char *scale, char *minimum)
{
	if (j < 4) {
		*scale = (char)(s[j] & 63);
		*minimum = (char)(s[j + 4] & 63);
	} else {
		*scale = (char)((s[j + 4] & 15) | s[j - 4] >> 6 << 4);
		*minimum = (char)(s[j + 4] >> 4 | s[j] >> 6 << 4);
	}
}

/* Scale i < 16 of Q3_K, less 32: four low bits, then two high bits. */
static char k_scale_3(const uint8_t *s, uint32_t i)
{
	return (char)(((s[i % 8] >> (i / 8 * 4) & 15) | (s[8 + i % 4] >> (i / 4 * 2) & 3) << 4) -
		      32);
}

/* Writes the scales that row r has in block i of a block of the file. */
INLINE void put_scales(uint32_t dtype, const struct place *at, const uint8_t *w, uint32_t i,
		       uint32_t r, char *to)
{
	char minus[2];
	int32_t odd[2];

	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_E8:
		to[r] = (char)w[at->d];
		return;
	case KERN_SCALES_TWO_E8:
		to[r] = (char)w[2 * i];
		to[16 + r] = (char)w[2 * i + 1];
		return;
	case KERN_SCALES_DM:
		memcpy(to + 32 + 2 * r, w + at->m, 2);
		break;
	case KERN_SCALES_K:
		to[32 + 16 * i + r] = 1;
		if (dtype == LMD_DTYPE_TQ1_0)
			break;
		to[32 + 16 * i + r] =
			(char)(((w[4 + i / 2] >> (i % 2 * 4) & 15) |
				((w[2] | w[3] << 8) >> (2 * i) & 3) << 4) -
			       32);
		break;
	case KERN_SCALES_K_DM:
		memcpy(minus, w + at->m, 2);
		minus[1] = (char)(minus[1] ^ 0x80);
		memcpy(to + 32 + 2 * r, minus, 2);
		k_scales(w + 4, i, to + 64 + 32 * i + r, to + 80 + 32 * i + r);
		break;
	case KERN_SCALES_HALVES:
		if (kern_has_iq_tables(dtype)) {
			kern_point_scales(dtype, w, (int)i, odd);
			to[32 + 32 * i + r] = (char)odd[0];
			to[48 + 32 * i + r] = (char)odd[1];
			break;
		}
		for (uint32_t h = 0; h < 2; h++)
			to[32 + 32 * i + 16 * h + r] = dtype == LMD_DTYPE_Q3_K
							       ? k_scale_3(w + 96, 2 * i + h)
							       : (char)w[192 + 2 * i + h];
		break;
	case KERN_SCALES_HALVES_DM:
		memcpy(minus, w + at->m, 2);
		minus[1] = (char)(minus[1] ^ 0x80);
		memcpy(to + 32 + 2 * r, minus, 2);
		to[64 + 32 * i + r] = (char)w[2 * i];
		to[80 + 32 * i + r] = (char)w[2 * i + 1];
		break;
	case KERN_SCALES_F16:
		break;
	}
	memcpy(to + 2 * r, w + at->d, 2);
}

/* dtype is constant, so that only the code of one type remains. */
INLINE void pack(uint32_t dtype, const struct kern_iq_tables *points, const void *const *rows,
		 uint32_t n_row, uint32_t k, char *group)
{
	const struct place at = place_of(dtype);
	const size_t codes = kern_packed_codes(dtype);
	const uint32_t parts = kern_n_sub_blocks(dtype);
	char *scales = group + k / 32 * codes;
	uint8_t q[32], high[32] = {0};

	for (size_t b = 0; b < k / 32; b++) {
		uint32_t i = (uint32_t)b % parts;
		size_t from = b / parts * kern_block_bytes(dtype);
		char *to = scales + kern_packed_scale(dtype, b);

		for (uint32_t r = 0; r < n_row; r++) {
			const uint8_t *block = (const uint8_t *)rows[r] + from;

			if (kern_has_iq_tables(dtype))
				codes_of_points(dtype, points, block, i, q, high);
			else
				codes_of(dtype, &at, block, i, q, high);
			put_codes(kern_packed_bits(dtype), q, high, group + b * codes + 4 * r);
			put_scales(dtype, &at, block, i, r, to);
		}
	}
}

void kern_pack(uint32_t dtype, const struct kern_iq_tables *points, const void *const *rows,
	       uint32_t n_row, uint32_t k, void *group)
{
	if (n_row < KERN_GROUP)
		memset(group, 0, kern_packed_bytes(dtype, k));
	switch (dtype) {
#define CASE(type)                                                                                 \
	case LMD_DTYPE_##type:                                                                     \
		pack(LMD_DTYPE_##type, points, rows, n_row, k, group);                             \
		break;
		KERN_PACKED_TYPES(CASE)
		KERN_PACKED_TYPES_AVX2(CASE)
#undef CASE
	}
}

size_t kern_group_bytes(uint32_t dtype, uint32_t k)
{
	return kern_packed_bytes(dtype, k);
}
