// SPDX-License-Identifier: MIT
//
// Decoders of weights.  TYPE is known when the pipeline is made, so that only one decoder remains.
// A row begins at a multiple of 4 bytes.  Numbers of types are those of llamad/dtypes.h.  The types of
// device_types.h have decoders that are shared with backend gpu.
#include "backend/common/device_types.h"
#include "bytes.glsl"

layout(constant_id = 0) const uint TYPE = 0u;

int s8(uint word, uint i)
{
	return bitfieldExtract(int(word), int(8u * i), 8);
}

uint nibble(uint word, uint i, uint high)
{
	return word >> (8u * i + 4u * high) & 15u;
}

// 6-bit scale and minimum j of q4_k and q5_k, whose 12 bytes begin at `at`
uvec2 k_scale(Words row, uint at, uint j)
{
	if (j < 4u)
		return uvec2(u8_at(row, at + j) & 63u, u8_at(row, at + j + 4u) & 63u);
	return uvec2((u8_at(row, at + j + 4u) & 15u) | (u8_at(row, at + j - 4u) >> 6) << 4,
		     u8_at(row, at + j + 4u) >> 4 | (u8_at(row, at + j) >> 6) << 4);
}

// Nibble types of blocks of 32 whose 16 bytes begin at `at`: the low nibbles come first.
#define NIBBLES(value)                                                                             \
	[[unroll]] for (uint i = 0u; i < 4u; i++) {                                                           \
		uint q = u32_at(row, at + 4u * i);                                                 \
		[[unroll]] for (uint j = 0u; j < 4u; j++) {                                                   \
			uint n = nibble(q, j, 0u), e = 4u * i + j;                                 \
			w[e] = value;                                                              \
			n = nibble(q, j, 1u);                                                      \
			e += 16u;                                                                  \
			w[e] = value;                                                              \
		}                                                                                  \
	}

void decode_q2_k(Words row, uint block, uint part, out float w[32])
{
	uint at = 84u * block, h = part / 4u, shift = 2u * (part & 3u);
	float d = f16_at(row, at + 80u), least = f16_at(row, at + 82u);

	[[unroll]] for (uint i = 0u; i < 32u; i += 4u) {
		uint q = u32_at(row, at + 16u + 32u * h + i) >> shift;
		uint s = u8_at(row, at + 2u * part + i / 16u);

		[[unroll]] for (uint j = 0u; j < 4u; j++)
			w[i + j] = d * float(s & 15u) * float(q >> (8u * j) & 3u) - least * float(s >> 4);
	}
}

void decode_q3_k(Words row, uint block, uint part, out float w[32])
{
	uint at = 110u * block, h = part / 4u, shift = 2u * (part & 3u);
	float d = f16_at(row, at + 108u);

	[[unroll]] for (uint i = 0u; i < 32u; i += 4u) {
		uint q = u32_at(row, at + 32u + 32u * h + i) >> shift;
		uint high = u32_at(row, at + i) >> part;
		uint k = 2u * part + i / 16u;
		uint low = u8_at(row, at + 96u + (k & 7u)) >> (k < 8u ? 0u : 4u) & 15u;
		uint top = u8_at(row, at + 104u + (k & 3u)) >> (2u * (k / 4u)) & 3u;
		float s = d * float(int(low | top << 4) - 32);

		[[unroll]] for (uint j = 0u; j < 4u; j++)
			w[i + j] = s * float(int(q >> (8u * j) & 3u) -
					     ((high >> (8u * j) & 1u) != 0u ? 0 : 4));
	}
}

void decode_q45_k(Words row, uint block, uint part, bool five, out float w[32])
{
	uint at = (five ? 176u : 144u) * block, qs = at + (five ? 48u : 16u) + 32u * (part / 2u);
	uvec2 s = k_scale(row, at + 4u, part);
	float d = f16_at(row, at) * float(s.x), least = f16_at(row, at + 2u) * float(s.y);

	[[unroll]] for (uint i = 0u; i < 8u; i++) {
		uint q = u32_at(row, qs + 4u * i), high = five ? u32_at(row, at + 16u + 4u * i) : 0u;

		[[unroll]] for (uint j = 0u; j < 4u; j++) {
			uint n = nibble(q, j, part & 1u) | (high >> (8u * j + part) & 1u) << 4;

			w[4u * i + j] = d * float(n) - least;
		}
	}
}

void decode_q6_k(Words row, uint block, uint part, out float w[32])
{
	uint at = 210u * block, h = part / 4u, t = part & 3u;
	float d = f16_at(row, at + 208u);

	[[unroll]] for (uint i = 0u; i < 8u; i++) {
		uint low = u32_at(row, at + 64u * h + 32u * (t & 1u) + 4u * i);
		uint high = u32_at(row, at + 128u + 32u * h + 4u * i) >> (2u * t);
		float s = d * float(s8(u8_at(row, at + 192u + 8u * h + 2u * t + i / 4u), 0u));

		[[unroll]] for (uint j = 0u; j < 4u; j++)
			w[4u * i + j] = s * float(int(nibble(low, j, t >> 1) |
						      (high >> (8u * j) & 3u) << 4) - 32);
	}
}

void decode_iq4_xs(Words row, uint block, uint part, out float w[32])
{
	uint base = 136u * block, at = base + 8u + 16u * part;
	uint low = u8_at(row, base + 4u + part / 2u) >> (4u * (part & 1u)) & 15u;
	uint s = low | (u16_at(row, base + 2u) >> (2u * part) & 3u) << 4;
	float d = f16_at(row, base) * float(int(s) - 32);

	NIBBLES(d * float(table_nl[n]))
}

#define DEVICE_UNROLL
#define DEVICE_OUT out float w[32]
#define DEVICE_POINT(i) u16_at(Words(push.points), 2u * (i))
#include "backend/common/device_decode.h"

void decode_numbers(Words row, uint part, uint k, out float w[32])
{
	[[unroll]] for (uint i = 0u; i < 32u; i++) {
		uint e = 32u * part + i;

		w[i] = 0.0;
		if (e >= k)
			continue;
		if (TYPE == 0u)
			w[i] = uintBitsToFloat(row.w[e]);
		else
			w[i] = TYPE == 1u ? f16_at(row, 2u * e) : bf16(u16_at(row, 2u * e));
	}
}

// Decodes columns 32*part .. 32*part+31 of a row of k columns.  Columns past the last one are 0.
void decode32(Words row, uint part, uint k, out float w[32])
{
	uint at;
	float d, least;

	if (TYPE == 0u || TYPE == 1u || TYPE == 30u) {
		decode_numbers(row, part, k, w);
	} else if (TYPE == 2u) {
		d = f16_at(row, 18u * part);
		at = 18u * part + 2u;
		NIBBLES(d * float(int(n) - 8))
	} else if (TYPE == 3u) {
		d = f16_at(row, 20u * part);
		least = f16_at(row, 20u * part + 2u);
		at = 20u * part + 4u;
		NIBBLES(d * float(n) + least)
	} else if (TYPE == 6u) {
		uint high = u32_at(row, 22u * part + 2u);

		d = f16_at(row, 22u * part);
		at = 22u * part + 6u;
		NIBBLES(d * float(int(n | (high >> e & 1u) << 4) - 16))
	} else if (TYPE == 7u) {
		uint high = u32_at(row, 24u * part + 4u);

		d = f16_at(row, 24u * part);
		least = f16_at(row, 24u * part + 2u);
		at = 24u * part + 8u;
		NIBBLES(d * float(n | (high >> e & 1u) << 4) + least)
	} else if (TYPE == 8u) {
		d = f16_at(row, 34u * part);
		[[unroll]] for (uint i = 0u; i < 8u; i++) {
			uint q = u32_at(row, 34u * part + 2u + 4u * i);

			[[unroll]] for (uint j = 0u; j < 4u; j++)
				w[4u * i + j] = d * float(s8(q, j));
		}
	} else if (TYPE == 10u) {
		decode_q2_k(row, part / 8u, part & 7u, w);
	} else if (TYPE == 11u) {
		decode_q3_k(row, part / 8u, part & 7u, w);
	} else if (TYPE == 12u) {
		decode_q45_k(row, part / 8u, part & 7u, false, w);
	} else if (TYPE == 13u) {
		decode_q45_k(row, part / 8u, part & 7u, true, w);
	} else if (TYPE == 14u) {
		decode_q6_k(row, part / 8u, part & 7u, w);
	} else if (TYPE == 20u) {
		d = f16_at(row, 18u * part);
		at = 18u * part + 2u;
		NIBBLES(d * float(table_nl[n]))
	} else if (TYPE == 23u) {
		decode_iq4_xs(row, part / 8u, part & 7u, w);
	} else if (TYPE == 39u) {
		uint e8 = u8_at(row, 17u * part);

		// 2^(e8 - 128)
		d = uintBitsToFloat(e8 < 2u ? 0x00200000u << e8 : (e8 - 1u) << 23);
		at = 17u * part + 1u;
		NIBBLES(d * float(table_fp4[n]))
	}
	DEVICE_TYPES(DEVICE_BRANCH, TYPE)
}
