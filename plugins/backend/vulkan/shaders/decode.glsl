// SPDX-License-Identifier: MIT
//
// Decoders of weights.  TYPE is known when the pipeline is made, so that only one decoder remains.
// A row begins at a multiple of 4 bytes.  Numbers of types are those of llamad/dtypes.h.  The types of
// device_types.h have decoders that are shared with backend gpu; they are left out unless ALL_TYPES is
// defined, since a driver reads the whole module for each pipeline (vkb_module_for in weight.c).
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

#include "planes.glsl"

#ifdef ALL_TYPES
#define DEVICE_UNROLL
#define DEVICE_OUT out float w[32]
#define DEVICE_POINT(i) u16_at(Words(push.points), 2u * (i))
#include "backend/common/device_decode.h"
#endif

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
	} else if (IS_GROUPED) {
		decode_group(row, part, k / 32u, w);
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
	} else if (TYPE == 10u) {
		decode_q2_k(row, part / 8u, part & 7u, w);
	} else if (TYPE == 11u) {
		decode_q3_k(row, part / 8u, part & 7u, w);
	}
#ifdef ALL_TYPES
	DEVICE_TYPES(DEVICE_BRANCH, TYPE)
#endif
}
