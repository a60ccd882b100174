/* SPDX-License-Identifier: MIT
 *
 * device_decode.h - decoders of the types of device_types.h, in the common subset of C, C++ and GLSL:
 * kernels of backend gpu and shaders of backend vulkan include it.  docs/formats.md describes the
 * types.  A decoder writes the 32 values of group g of the block at byte `at` of the row, in the
 * order of operations of the host's decoder.
 *
 * Before this header, its user defines:
 *
 *     DEVICE_FN, DEVICE_UNROLL       before a function, before a loop with a constant number of turns
 *     DEVICE_ROW, DEVICE_OUT         the parameters `row`, its bytes, and `w`, 32 floats
 *     DEVICE_U8, _U16, _U32          (row, at): a little-endian number at a byte of the row
 *     DEVICE_F16(bits), _F32(bits)   the float with these bits
 *     DEVICE_FLOAT(x), DEVICE_INT(x) conversions
 *     DEVICE_POINT(i)                number i of device_points.h
 *     DEVICE_IQ4(n), DEVICE_FP4(n)   value n of the codebooks of iq4_nl and of mxfp4 */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_DECODE_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_DECODE_H

/* The order of device_points.h. */
#define DEVICE_AT_IQ2_XXS 0u
#define DEVICE_AT_IQ2_XS  256u
#define DEVICE_AT_IQ2_S   768u
#define DEVICE_AT_IQ3_XXS 1792u
#define DEVICE_AT_IQ3_S   2048u
#define DEVICE_AT_IQ1     2560u
#define DEVICE_AT_IQ2K    4608u
#define DEVICE_AT_IQ3K    4612u
#define DEVICE_AT_IQ5K    4620u
#define DEVICE_AT_IQ2KL   4652u
#define DEVICE_N_POINT    4684u

/* Nibble i of two in byte `at`. */
#define DEVICE_NIBBLE(at, i) (DEVICE_U8(row, at) >> 4u * (i) & 15u)
/* Bit i of byte `at`. */
#define DEVICE_BIT(at, i) (DEVICE_U8(row, at) >> (i) & 1u)

DEVICE_FN int32_t device_s8(uint32_t byte)
{
	return DEVICE_INT(byte ^ 128u) - 128;
}

/* ---- grids: IQ1, IQ2, IQ3 ---- */

/* Eight signs (1 = minus), an even number of them, of which the index has seven. */
DEVICE_FN uint32_t device_signs(uint32_t i)
{
	uint32_t p = i ^ i >> 4;

	p ^= p >> 2;
	return i | ((p ^ p >> 1) & 1u) << 7;
}

/* Values e .. e + 7 from a point of IQ2, with signs. */
#define DEVICE_IQ2(e, code, signs, dg)                                                             \
	DEVICE_UNROLL                                                                              \
	for (uint32_t j = 0u; j < 8u; j++) {                                                       \
		float x = dg * DEVICE_FLOAT(0x002b1908u >> 8u * (code >> 2u * j & 3u) & 255u);     \
                                                                                                   \
		w[(e) + j] = (signs >> j & 1u) != 0u ? -x : x;                                     \
	}

DEVICE_FN void device_iq2_xxs(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t p = at + 2u + 8u * g, v = DEVICE_U32(row, p + 4u);
	float dg = DEVICE_F16(DEVICE_U16(row, at)) * (0.5f + DEVICE_FLOAT(v >> 28)) * 0.25f;

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t code = DEVICE_POINT(DEVICE_AT_IQ2_XXS + DEVICE_U8(row, p + l));
		uint32_t signs = device_signs(v >> 7u * l & 127u);

		DEVICE_IQ2(8u * l, code, signs, dg)
	}
}

DEVICE_FN void device_iq2_xs(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t q = DEVICE_U16(row, at + 2u + 2u * (4u * g + l));
		uint32_t code = DEVICE_POINT(DEVICE_AT_IQ2_XS + (q & 511u));
		uint32_t signs = device_signs(q >> 9);
		float s = DEVICE_FLOAT(DEVICE_NIBBLE(at + 66u + g, l / 2u));
		float dg = d * (0.5f + s) * 0.25f;

		DEVICE_IQ2(8u * l, code, signs, dg)
	}
}

DEVICE_FN void device_iq2_s(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t high = DEVICE_U8(row, at + 66u + g) >> 2u * l & 3u;
		uint32_t point = DEVICE_U8(row, at + 2u + 4u * g + l) | high << 8;
		uint32_t code = DEVICE_POINT(DEVICE_AT_IQ2_S + point);
		uint32_t signs = DEVICE_U8(row, at + 34u + 4u * g + l);
		float s = DEVICE_FLOAT(DEVICE_NIBBLE(at + 74u + g, l / 2u));
		float dg = d * (0.5f + s) * 0.25f;

		DEVICE_IQ2(8u * l, code, signs, dg)
	}
}

DEVICE_FN void device_iq3_xxs(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t v = DEVICE_U32(row, at + 66u + 4u * g);
	float dg = DEVICE_F16(DEVICE_U16(row, at)) * (0.5f + DEVICE_FLOAT(v >> 28)) * 0.5f;

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 8u; l++) {
		uint32_t point = DEVICE_U8(row, at + 2u + 8u * g + l);
		uint32_t code = DEVICE_POINT(DEVICE_AT_IQ3_XXS + point);
		uint32_t signs = device_signs(v >> 7u * (l / 2u) & 127u) >> 4u * (l % 2u);

		DEVICE_UNROLL
		for (uint32_t j = 0u; j < 4u; j++) {
			uint32_t level = code >> 3u * j & 7u;
			float x = dg * DEVICE_FLOAT(8u * level + (level == 7u ? 6u : 4u));

			w[4u * l + j] = (signs >> j & 1u) != 0u ? -x : x;
		}
	}
}

DEVICE_FN void device_iq3_s(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_NIBBLE(at + 106u + g / 2u, g % 2u);
	float dg = DEVICE_F16(DEVICE_U16(row, at)) * DEVICE_FLOAT(2u * s + 1u);

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 8u; l++) {
		uint32_t point = DEVICE_U8(row, at + 2u + 8u * g + l) |
				 DEVICE_BIT(at + 66u + g, l) << 8;
		uint32_t code = DEVICE_POINT(DEVICE_AT_IQ3_S + point);
		uint32_t signs = DEVICE_NIBBLE(at + 74u + 4u * g + l / 2u, l % 2u);

		DEVICE_UNROLL
		for (uint32_t j = 0u; j < 4u; j++) {
			float x = dg * DEVICE_FLOAT(2u * (code >> 3u * j & 7u) + 1u);

			w[4u * l + j] = (signs >> j & 1u) != 0u ? -x : x;
		}
	}
}

/* Values e .. e + 7 from a point of IQ1. */
#define DEVICE_IQ1(e, point, dg, shift)                                                            \
	{                                                                                          \
		uint32_t code = DEVICE_POINT(DEVICE_AT_IQ1 + (point));                             \
                                                                                                   \
		DEVICE_UNROLL                                                                      \
		for (uint32_t j = 0u; j < 8u; j++)                                                 \
			w[(e) + j] = dg * (DEVICE_FLOAT(DEVICE_INT(code >> 2u * j & 3u) - 1) +     \
					   shift);                                                 \
	}

DEVICE_FN void device_iq1_s(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t qh = DEVICE_U16(row, at + 34u + 2u * g);
	float dg = DEVICE_F16(DEVICE_U16(row, at)) * DEVICE_FLOAT(2u * (qh >> 12 & 7u) + 1u);
	float shift = (qh & 0x8000u) != 0u ? -0.125f : 0.125f;

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t low = DEVICE_U8(row, at + 2u + 4u * g + l);

		DEVICE_IQ1(8u * l, low | (qh >> 3u * l & 7u) << 8, dg, shift)
	}
}

DEVICE_FN void device_iq1_m(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t bits = DEVICE_U16(row, at + 48u) >> 12 | DEVICE_U16(row, at + 50u) >> 12 << 4 |
			DEVICE_U16(row, at + 52u) >> 12 << 8 |
			DEVICE_U16(row, at + 54u) >> 12 << 12;
	float d = DEVICE_F16(bits);

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t side = 2u * g + l / 2u;
		uint32_t high = DEVICE_NIBBLE(at + 32u + side, l % 2u);
		uint32_t s = DEVICE_U16(row, at + 48u + 2u * (side / 4u)) >> 3u * (side % 4u) & 7u;
		uint32_t low = DEVICE_U8(row, at + 4u * g + l);
		float dg = d * DEVICE_FLOAT(2u * s + 1u);
		float shift = (high & 8u) != 0u ? -0.125f : 0.125f;

		DEVICE_IQ1(8u * l, low | (high & 7u) << 8, dg, shift)
	}
}

/* ---- two values, three values, four values ---- */

/* Ternary digit 0 to 4 of a byte that is a fraction in base 3; power: 3 to the digit's number. */
DEVICE_FN int32_t device_trit(uint32_t byte, uint32_t power)
{
	return DEVICE_INT((byte * power & 255u) * 3u >> 8);
}

DEVICE_FN uint32_t device_power3(uint32_t n)
{
	return n == 0u ? 1u : n == 1u ? 3u : n == 2u ? 9u : n == 3u ? 27u : 81u;
}

DEVICE_FN void device_tq1_0(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at + 52u));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t e = 32u * g + j, byte = e, digit;

		if (e < 160u) {
			byte = j;
			digit = g;
		} else if (e < 240u) {
			byte = 32u + e % 16u;
			digit = (e - 160u) / 16u;
		} else {
			byte = 48u + e % 4u;
			digit = (e - 240u) / 4u;
		}
		w[j] = DEVICE_FLOAT(device_trit(DEVICE_U8(row, at + byte), device_power3(digit)) -
				    1) *
		       d;
	}
}

DEVICE_FN void device_tq2_0(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at + 64u));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t q = DEVICE_U8(row, at + 32u * (g / 4u) + j) >> 2u * (g % 4u) & 3u;

		w[j] = DEVICE_FLOAT(DEVICE_INT(q) - 1) * d;
	}
}

DEVICE_FN void device_q1_0(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));
	uint32_t bits = DEVICE_U32(row, at + 2u + 4u * g);

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++)
		w[j] = (bits >> j & 1u) != 0u ? d : -d;
}

DEVICE_FN void device_q2_0(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t q = DEVICE_U8(row, at + 2u + 8u * g + j / 4u) >> 2u * (j % 4u) & 3u;

		w[j] = DEVICE_FLOAT(DEVICE_INT(q) - 1) * d;
	}
}

DEVICE_FN void device_pq2_0(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	device_q2_0(row, at, g, w);
}

DEVICE_FN void device_iq1_bn(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, 0u));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t run = 2u * g + j / 16u, m = j % 16u;
		uint32_t byte = DEVICE_U8(row, at + (m < 15u ? 3u * run + m / 5u : 12u));
		uint32_t digit = m < 15u ? m % 5u : run;

		w[j] = d * DEVICE_FLOAT(device_trit(byte, device_power3(4u - digit)) - 1);
	}
}

DEVICE_FN void device_iq2_bn(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F32(DEVICE_U32(row, 0u));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t q = DEVICE_U8(row, at + j % 16u) >> 2u * (2u * g + j / 16u) & 3u;

		w[j] = d * DEVICE_FLOAT(DEVICE_INT(q) - 1);
	}
}

/* ---- four, six and eight bits ---- */

DEVICE_FN float device_e4m3(uint32_t code)
{
	uint32_t exponent = code >> 3 & 15u, man = code & 7u;

	if (code == 0x7fu)
		return 0.0f;
	if (exponent == 0u)
		return DEVICE_FLOAT(man) * 0.0009765625f;
	return DEVICE_F32((exponent + 119u) << 23 | man << 20);
}

DEVICE_FN void device_nvfp4(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	DEVICE_UNROLL
	for (uint32_t s = 0u; s < 2u; s++) {
		float d = device_e4m3(DEVICE_U8(row, at + 2u * g + s));

		DEVICE_UNROLL
		for (uint32_t j = 0u; j < 8u; j++) {
			uint32_t q = DEVICE_U8(row, at + 4u + 8u * (2u * g + s) + j);

			w[16u * s + j] = DEVICE_FLOAT(DEVICE_FP4(q & 15u)) * d;
			w[16u * s + 8u + j] = DEVICE_FLOAT(DEVICE_FP4(q >> 4)) * d;
		}
	}
}

DEVICE_FN void device_q6_0(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t p = at + 26u * g; /* g is 0 in blocks of one group */
	float d = DEVICE_F16(DEVICE_U16(row, p));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t low = DEVICE_NIBBLE(p + 10u + j % 16u, j / 16u);
		uint32_t shift = 4u * (j / 8u % 2u) + 2u * (j / 16u);
		uint32_t high = DEVICE_U8(row, p + 2u + j % 8u) >> shift & 3u;

		w[j] = DEVICE_FLOAT(DEVICE_INT(low | high << 4) - 32) * d;
	}
}

DEVICE_FN void device_q8_a(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t p = at + 40u * g;
	float d = DEVICE_F32(DEVICE_U32(row, p)), m = DEVICE_F32(DEVICE_U32(row, p + 4u));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++)
		w[j] = DEVICE_FLOAT(DEVICE_U8(row, p + 8u + j)) * d + m;
}

DEVICE_FN void device_q8_kv(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F32(DEVICE_U32(row, 0u));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++)
		w[j] = d * DEVICE_FLOAT(device_s8(DEVICE_U8(row, at + 32u * g + j)));
}

/* ---- IQ*_K, IQ*_KS: codebooks ---- */

/* Codes j of group g in the block's arrays at p: two bits, four bits in two layouts, one bit. */
#define DEVICE_TWO_BITS(p)  (DEVICE_U8(row, (p) + 32u * (g / 4u) + j) >> 2u * (g % 4u) & 3u)
#define DEVICE_FOUR_BITS(p) (DEVICE_NIBBLE((p) + 32u * (g / 2u) + j, g % 2u))
#define DEVICE_NIBBLES(p)   (DEVICE_NIBBLE((p) + 16u * g + j % 16u, j / 16u))
#define DEVICE_ONE_BIT(p)   (DEVICE_BIT((p) + j, g))

/* Value i of a codebook in the table. */
DEVICE_FN int32_t device_book(uint32_t i)
{
	return device_s8(DEVICE_POINT(i) & 255u);
}

DEVICE_FN void device_iq2_k(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		int32_t s = DEVICE_INT(DEVICE_NIBBLE(at + 4u + g, j / 16u)) - 8;
		uint32_t second = DEVICE_U16(row, at + 2u) >> (2u * g + j / 16u) & 1u;
		int32_t v = device_book(DEVICE_AT_IQ2K + DEVICE_TWO_BITS(at + 12u));

		w[j] = d * DEVICE_FLOAT(s) * DEVICE_FLOAT(v + DEVICE_INT(5u * second));
	}
}

DEVICE_FN void device_iq3_k(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t run = 2u * g + j / 16u;
		int32_t s = DEVICE_INT(2u * DEVICE_NIBBLE(at + 6u + g, j / 16u) + 1u);
		uint32_t second = DEVICE_U16(row, at + 2u) >> run & 1u;
		uint32_t q = DEVICE_TWO_BITS(at + 14u) | DEVICE_ONE_BIT(at + 78u) << 2;
		int32_t v = device_book(DEVICE_AT_IQ3K + q);

		if ((DEVICE_U16(row, at + 4u) >> run & 1u) != 0u)
			s = -s;
		w[j] = d * DEVICE_FLOAT(s) * DEVICE_FLOAT(v + DEVICE_INT(4u * second));
	}
}

/* Scale of a half of group g of IQ4_K and IQ5_K: nibbles at 8, two high bits each at 4. */
#define DEVICE_SCALE_K(side)                                                                       \
	(DEVICE_INT(DEVICE_NIBBLE(at + 8u + g, side) |                                             \
		    (DEVICE_U8(row, at + 4u + g / 2u) >> 2u * (2u * (g % 2u) + side) & 3u) << 4) - \
	 32)

DEVICE_FN void device_iq4_k(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t side = j / 16u;
		uint32_t second = DEVICE_U16(row, at + 2u) >> (2u * g + side) & 1u;
		int32_t v = DEVICE_IQ4(DEVICE_NIBBLES(at + 16u));

		w[j] = d * DEVICE_FLOAT(DEVICE_SCALE_K(side)) *
		       DEVICE_FLOAT(v + DEVICE_INT(4u * second));
	}
}

DEVICE_FN void device_iq5_k(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t side = j / 16u;
		uint32_t second = DEVICE_U16(row, at + 2u) >> (2u * g + side) & 1u;
		uint32_t q = DEVICE_FOUR_BITS(at + 16u) | DEVICE_ONE_BIT(at + 144u) << 4;
		int32_t v = device_book(DEVICE_AT_IQ5K + q);

		w[j] = d * DEVICE_FLOAT(DEVICE_SCALE_K(side)) *
		       DEVICE_FLOAT(v + DEVICE_INT(2u * second));
	}
}

DEVICE_FN void device_iq6_k(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	float d = DEVICE_F16(DEVICE_U16(row, at));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t run = 2u * g + j / 16u;
		uint32_t second = DEVICE_U16(row, at + 2u) >> run & 1u;
		float s = DEVICE_FLOAT(device_s8(DEVICE_U8(row, at + 4u + run)));
		float q = DEVICE_FLOAT(DEVICE_FOUR_BITS(at + 20u) | DEVICE_TWO_BITS(at + 148u) << 4);
		float v = -127.0f + q * (6.2568f + q * (-0.11218f + q * 0.0011972f));

		w[j] = d * s * (v + DEVICE_FLOAT(second));
	}
}

DEVICE_FN void device_iq4_ks(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_U8(row, at + g);
	float dg = DEVICE_F32(DEVICE_U32(row, 0u)) * DEVICE_FLOAT(DEVICE_INT(s & 254u) - 127);

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++)
		w[j] = dg * DEVICE_FLOAT(DEVICE_IQ4(DEVICE_NIBBLES(at + 8u)) +
					 DEVICE_INT(4u * (s & 1u)));
}

DEVICE_FN void device_iq5_ks(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_U8(row, at + g);
	float dg = DEVICE_F32(DEVICE_U32(row, 0u)) * DEVICE_FLOAT(DEVICE_INT(s & 254u) - 127);

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t q = DEVICE_FOUR_BITS(at + 8u) | DEVICE_ONE_BIT(at + 136u) << 4;

		w[j] = dg * DEVICE_FLOAT(device_book(DEVICE_AT_IQ5K + q) +
					 DEVICE_INT(2u * (s & 1u)));
	}
}

/* A group of 8 words of 16 bits: the lowest bit of each belongs to the scale; the others, xor those
 * one higher, are codes. */
DEVICE_FN void device_iq4_kss(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = 0u, p = at + 16u * g;
	float dg;

	DEVICE_UNROLL
	for (uint32_t k = 0u; k < 8u; k++)
		s |= (DEVICE_U8(row, p + 2u * k) & 1u) << k;
	dg = DEVICE_F32(DEVICE_U32(row, 0u)) * DEVICE_FLOAT(DEVICE_INT(s & 254u) - 127);
	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 16u; j++) {
		uint32_t word = DEVICE_U16(row, p + j / 2u * 2u) & 0xfffeu;
		uint32_t q = (word ^ word >> 1) >> 8u * (j % 2u) & 255u;
		int32_t shift = DEVICE_INT(4u * (s & 1u));

		w[j] = dg * DEVICE_FLOAT(DEVICE_IQ4(q & 15u) + shift);
		w[j + 16u] = dg * DEVICE_FLOAT(DEVICE_IQ4(q >> 4) + shift);
	}
}

DEVICE_FN void device_iq2_ks(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_NIBBLE(at + 2u + g / 2u, g % 2u) | DEVICE_BIT(at + 1u, g) << 4;
	float dg = DEVICE_F16(DEVICE_U16(row, 0u)) * DEVICE_FLOAT(DEVICE_INT(s) - 16);
	int32_t shift = DEVICE_INT(5u * DEVICE_BIT(at, g));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++)
		w[j] = dg * DEVICE_FLOAT(device_book(DEVICE_AT_IQ2K + DEVICE_TWO_BITS(at + 6u)) +
					 shift);
}

DEVICE_FN void device_iq3_ks(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_NIBBLE(at + 2u + g % 4u, g / 4u) | DEVICE_BIT(at, g) << 4;
	float dg = DEVICE_F16(DEVICE_U16(row, 0u)) * DEVICE_FLOAT(DEVICE_INT(s) - 16);
	int32_t shift = DEVICE_INT(4u * DEVICE_BIT(at + 1u, g));

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 32u; j++) {
		uint32_t q = DEVICE_TWO_BITS(at + 6u) | DEVICE_ONE_BIT(at + 70u) << 2;

		w[j] = dg * DEVICE_FLOAT(device_book(DEVICE_AT_IQ3K + q) + shift);
	}
}

DEVICE_FN void device_iq2_kl(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t high = DEVICE_U16(row, at) >> 2u * g & 3u;
	uint32_t s = DEVICE_NIBBLE(at + 2u + g % 4u, g / 4u) | high << 4;
	float dg = DEVICE_F16(DEVICE_U16(row, 0u)) * DEVICE_FLOAT(DEVICE_INT(s) - 32);

	DEVICE_UNROLL
	for (uint32_t j = 0u; j < 16u; j++) {
		uint32_t q = DEVICE_NIBBLE(at + 6u + 16u * (g / 2u) + j, g % 2u) |
			     DEVICE_ONE_BIT(at + 70u) << 4;
		uint32_t pair = DEVICE_POINT(DEVICE_AT_IQ2KL + q);

		w[2u * j] = dg * DEVICE_FLOAT(device_s8(pair & 255u));
		w[2u * j + 1u] = dg * DEVICE_FLOAT(device_s8(pair >> 8));
	}
}

/* ---- IQ*_KT: trellis ---- */

#define DEVICE_TRELLIS 4096u /* where the first codebook starts */

DEVICE_FN uint32_t device_trellis_next(uint32_t x)
{
	return x * 0xcbac1fedu;
}

/* The value that a state of the generator stands for. */
DEVICE_FN int32_t device_trellis_value(uint32_t x)
{
	return DEVICE_INT((x & 63u) + (x >> 8 & 63u) + (x >> 16 & 63u) + (x >> 24 & 63u)) - 126;
}

DEVICE_FN void device_iq1_kt(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_U8(row, at + g);
	float dg = DEVICE_F32(DEVICE_U32(row, 0u)) * DEVICE_FLOAT(DEVICE_IQ4(s & 15u));

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t p = 4u * g + l;
		uint32_t x = DEVICE_TRELLIS + DEVICE_U8(row, at + 8u + p) +
			     (DEVICE_NIBBLE(at + 40u + p % 16u, p / 16u) << 8) +
			     ((s >> (4u + l) & 1u) << 12);

		DEVICE_UNROLL
		for (uint32_t j = 0u; j < 8u; j++) {
			x = device_trellis_next(x);
			w[8u * l + j] = dg * DEVICE_FLOAT(device_trellis_value(x));
		}
	}
}

DEVICE_FN void device_iq2_kt(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_NIBBLE(at + g % 4u, g / 4u);
	float dg = DEVICE_F32(DEVICE_U32(row, 0u)) * DEVICE_FLOAT(DEVICE_IQ4(s));

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t x = DEVICE_TRELLIS + DEVICE_U16(row, at + 4u + 2u * (4u * g + l));

		DEVICE_UNROLL
		for (uint32_t j = 0u; j < 8u; j++) {
			x = device_trellis_next(x);
			w[8u * l + j] = dg * DEVICE_FLOAT(device_trellis_value(x));
		}
	}
}

DEVICE_FN void device_iq3_kt(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t s = DEVICE_NIBBLE(at + g % 4u, g / 4u);
	float dg = DEVICE_F32(DEVICE_U32(row, 0u)) * DEVICE_FLOAT(s);

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 4u; l++) {
		uint32_t x = DEVICE_TRELLIS + DEVICE_U16(row, at + 4u + 2u * (4u * g + l));

		DEVICE_UNROLL
		for (uint32_t j = 0u; j < 8u; j++) {
			int32_t v;
			float y;

			x = device_trellis_next(x);
			v = device_trellis_value(x);
			y = dg * DEVICE_FLOAT(v < 0 ? -v : v);
			w[8u * l + j] = DEVICE_BIT(at + 68u + 8u * l + j, g) != 0u ? -y : y;
		}
	}
}

DEVICE_FN void device_iq4_kt(DEVICE_ROW, uint32_t at, uint32_t g, DEVICE_OUT)
{
	uint32_t v = DEVICE_U32(row, at + 4u * g);
	float dg = DEVICE_F32(DEVICE_U32(row, 0u)) * DEVICE_FLOAT(DEVICE_INT(v >> 1 & 127u) - 64);

	DEVICE_UNROLL
	for (uint32_t l = 0u; l < 8u; l++) {
		uint32_t p = 8u * g + l;
		uint32_t x = ((v & 1u) != 0u ? 36864u : DEVICE_TRELLIS) +
			     DEVICE_U8(row, at + 32u + p) +
			     (DEVICE_NIBBLE(at + 96u + p % 32u, p / 32u) << 8) +
			     ((v >> (8u + 3u * l) & 7u) << 12);

		DEVICE_UNROLL
		for (uint32_t j = 0u; j < 4u; j++) {
			x = device_trellis_next(x);
			w[4u * l + j] = dg * DEVICE_FLOAT(device_trellis_value(x));
		}
	}
}

/* ---- all of them ---- */

/* A branch for each type, to decode group `part` of the row: DEVICE_TYPES(DEVICE_BRANCH, type).  The
 * branches follow an `if`; with a constant type one of them remains. */
#define DEVICE_BRANCH(type, constant, name, number, head, bytes, groups)                           \
	else if ((type) == number)                                                                 \
	{                                                                                          \
		device_##name(row, head + bytes * (part / groups), part % groups, w);              \
	}

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_DECODE_H */
