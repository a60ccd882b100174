// SPDX-License-Identifier: MIT
//
// Rounds groups of 32 values of a row to 8 bits, as plugins/backend/ref/op_linear_int8.c defines it.  A
// rounded row of g groups has 32 bytes for each group, value 4i+j in byte j of word i, and then for each
// group its factor (f32) and the sums of the first and of the last 16 values (16 bits each).

// The integers that stand for v; returns their factor.
float round_group(float v[32], out int q[32])
{
	float most = 0.0, inverse;

	[[unroll]] for (uint c = 0u; c < 32u; c++)
		most = max(most, abs(v[c]));
	inverse = most > 0.0 ? 127.0 / most : 0.0;
	[[unroll]] for (uint c = 0u; c < 32u; c++)
		q[c] = int(clamp(roundEven(v[c] * inverse), -127.0, 127.0));
	return most / 127.0;
}

void put_group(uvec2 row, uint g, uint groups, int q[32], float d)
{
	Words w = Words(row);
	int s0 = 0, s1 = 0;

	[[unroll]] for (uint i = 0u; i < 32u; i += 4u) {
		w.w[8u * g + i / 4u] = uint(q[i] & 255) | uint(q[i + 1u] & 255) << 8 |
				       uint(q[i + 2u] & 255) << 16 | uint(q[i + 3u] & 255) << 24;
		[[unroll]] for (uint j = 0u; j < 4u; j++) {
			s0 += i < 16u ? q[i + j] : 0;
			s1 += i < 16u ? 0 : q[i + j];
		}
	}
	w.w[8u * groups + 2u * g] = floatBitsToUint(d);
	w.w[8u * groups + 2u * g + 1u] = uint(s0 & 0xffff) | uint(s1) << 16;
}
