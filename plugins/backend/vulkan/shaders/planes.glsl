// SPDX-License-Identifier: MIT
//
// Groups of 32 values of block types as integers.  Rows begin at a multiple of 16 bytes and are in the
// order of backend/common/planes.h, those of Q4_1 in that of the file.

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Quads { uvec4 q[]; };

// Value i is byte i % 4 of lo[i / 4], or of hi[i / 4 - 4], and stands for
// d * factor * (byte - EXCESS) + m; the factor is s0 for the first 16 values, s1 for the others.
struct Group {
	uvec4 lo, hi;
	float d, m;
	int s0, s1;
};

const uint Q4_0 = 2u, Q4_1 = 3u, Q8_0 = 8u, Q4_K = 12u, Q5_K = 13u, Q6_K = 14u, IQ4_NL = 20u,
	   IQ4_XS = 23u, MXFP4 = 39u;
const bool IS_BOOK = TYPE == IQ4_NL || TYPE == IQ4_XS || TYPE == MXFP4;
const bool IS_GROUPED = TYPE == Q4_0 || TYPE == Q4_1 || TYPE == Q8_0 || TYPE == Q4_K ||
			TYPE == Q5_K || TYPE == Q6_K || IS_BOOK;
const int EXCESS = TYPE == Q4_0 ? 8 : TYPE == Q6_K ? 32 : 0;
const bool HAS_MINIMUM = TYPE == Q4_1 || TYPE == Q4_K || TYPE == Q5_K;

uint half_at(Words row, uint i)
{
	return row.w[i >> 1] >> (16u * (i & 1u)) & 0xffffu;
}

// The codebook's numbers for four nibbles.
uint book(uint nibbles)
{
	uint v = 0u;

	[[unroll]] for (uint i = 0u; i < 4u; i++) {
		uint n = nibbles >> (4u * i) & 15u;

		v |= uint((TYPE == MXFP4 ? table_fp4[n] : table_nl[n]) & 255) << (8u * i);
	}
	return v;
}

uvec2 scale_of(uvec4 head, uint j)
{
	uint shift = 8u * (j & 3u), x = head.y >> shift & 255u, y = head.z >> shift & 255u,
	     z = head.w >> shift & 255u;

	return j < 4u ? uvec2(x & 63u, y & 63u)
		      : uvec2((z & 15u) | x >> 6 << 4, z >> 4 | y >> 6 << 4);
}

// Group g of a row of n groups.
Group group_at(Words row, uint g, uint n)
{
	Quads quads = Quads(uvec2(row));
	Group x;
	uint at = 4u * n; // first word after the codes
	uvec4 codes = uvec4(0u);

	x.m = 0.0;
	x.s0 = x.s1 = 1;
	if (TYPE == Q4_1) {
		uint dm = row.w[5u * g];

		codes = uvec4(row.w[5u * g + 1u], row.w[5u * g + 2u], row.w[5u * g + 3u],
			      row.w[5u * g + 4u]);
		x.d = f16(dm & 0xffffu);
		x.m = f16(dm >> 16);
	} else {
		codes = quads.q[g];
	}
	x.lo = codes & 0x0f0f0f0fu;
	x.hi = codes >> 4 & 0x0f0f0f0fu;
	if (TYPE == Q4_0 || TYPE == IQ4_NL) {
		x.d = f16(half_at(row, 2u * at + g));
	} else if (TYPE == Q8_0) {
		x.lo = codes;
		x.hi = quads.q[n + g];
		x.d = f16(half_at(row, 4u * at + g));
	} else if (TYPE == Q4_K || TYPE == Q5_K) {
		uint head_at = at + (TYPE == Q5_K ? n : 0u) + 4u * (g >> 3);
		uvec4 head = uvec4(row.w[head_at], row.w[head_at + 1u], row.w[head_at + 2u],
				   row.w[head_at + 3u]);
		uvec2 s = scale_of(head, g & 7u);
		uint upper = TYPE == Q5_K ? row.w[at + g] : 0u;

		x.d = f16(head.x & 0xffffu) * float(s.x);
		x.m = -(f16(head.x >> 16) * float(s.y));
		if (TYPE == Q5_K) {
			const uvec4 i = uvec4(0u, 1u, 2u, 3u);

			x.lo |= (uvec4(upper) >> i & 0x01010101u) << 4;
			x.hi |= (uvec4(upper) >> (i + 4u) & 0x01010101u) << 4;
		}
	} else if (TYPE == Q6_K) {
		const uvec4 i = uvec4(0u, 2u, 4u, 6u);
		uint s = half_at(row, 2u * (at + 2u * n) + g);

		x.lo |= (uvec4(row.w[at + 2u * g]) >> i & 0x03030303u) << 4;
		x.hi |= (uvec4(row.w[at + 2u * g + 1u]) >> i & 0x03030303u) << 4;
		x.s0 = bitfieldExtract(int(s), 0, 8);
		x.s1 = bitfieldExtract(int(s), 8, 8);
		x.d = f16(half_at(row, 2u * (at + 2u * n) + n + (g >> 3)));
	} else if (TYPE == IQ4_XS) {
		uint head_at = at + 2u * (g >> 3), first = row.w[head_at], second = row.w[head_at + 1u];
		uint sc = (second >> (4u * (g & 7u)) & 15u) |
			  (first >> (16u + 2u * (g & 7u)) & 3u) << 4;

		x.d = f16(first & 0xffffu) * float(int(sc) - 32);
	} else if (TYPE == MXFP4) {
		uint e8 = row.w[at + (g >> 2)] >> (8u * (g & 3u)) & 255u;

		// 2^(e8 - 128)
		x.d = uintBitsToFloat(e8 < 2u ? 0x00200000u << e8 : (e8 - 1u) << 23);
	}
	if (IS_BOOK) {
		[[unroll]] for (uint i = 0u; i < 4u; i++) {
			x.lo[i] = book(codes[i] & 0xffffu);
			x.hi[i] = book(codes[i] >> 16);
		}
	}
	return x;
}

void decode_group(Words row, uint g, uint n, out float w[32])
{
	Group x = group_at(row, g, n);

	[[unroll]] for (uint i = 0u; i < 32u; i++) {
		uint word = i < 16u ? x.lo[i / 4u] : x.hi[i / 4u - 4u];
		int v = bitfieldExtract(int(word), int(8u * (i & 3u)), 8) - EXCESS;

		w[i] = x.d * float(v * (i < 16u ? x.s0 : x.s1)) + x.m;
	}
}
