// SPDX-License-Identifier: MIT
//
// Elements of caches: f32, f16, bf16, q8_0, f8_e4m3, q4_0_rot, and the types that device_types.h lists for
// caches.  A head begins at a multiple of 4 bytes.  Who writes caches defines KV_WRITES and the functions
// head_get and head_put before this file.
//
// q4_0_rot stores H x for each 64 columns x, as q4_0.  H is the Hadamard matrix divided by 8, h(i, j) =
// (-1)^(bits that are 1 in both i and j) / 8: symmetric and its own inverse.  So a query times a key is H times the
// query, times what is stored, and a sum of values is H times the sum of what is stored.
#include "backend/common/device_types.h"
#include "bytes.glsl"

#define KV_F32 0u
#define KV_F16 1u
#define KV_Q8_0 8u
#define KV_BF16 30u
#define KV_F8_E4M3 60u
#define KV_Q4_0_ROT 64u

uint f16_bits(float x)
{
	return packHalf2x16(vec2(x, 0.0)) & 0xffffu;
}

// the values of a block begin at column `values` of the head
#ifdef KV_WRITES
#define DEVICE_VALUE(j) head_get(values + (j))
#else
#define DEVICE_VALUE(j) 0.0
#endif
#define DEVICE_VALUES uint values
#define DEVICE_GIVEN values
#define DEVICE_F16_BITS(x) f16_bits(clamp(x, -65504.0, 65504.0))
#define DEVICE_ABS(x) abs(x)
#define DEVICE_MIN(a, b) min(a, b)
#define DEVICE_MAX(a, b) max(a, b)
#define DEVICE_UINT(x) uint(x)
#include "backend/common/device_cache.h"

float e4m3(uint bits)
{
	uint magnitude = bits & 0x7fu;
	float v = magnitude < 8u ? float(magnitude) * 0.001953125 // 2^-9
				 : uintBitsToFloat((magnitude << 20) + 0x3c000000u);

	v = magnitude == 0x7fu ? uintBitsToFloat(0x7fc00000u) : v;
	return (bits & 0x80u) != 0u ? -v : v;
}

// Value c of a head; of q4_0_rot, as it is stored.
float kv_get(Words head, uint type, uint c)
{
	if (type == KV_F32)
		return uintBitsToFloat(head.w[c]);
	if (type == KV_F16)
		return f16(head.w[c >> 1] >> (16u * (c & 1u)));
	if (type == KV_BF16)
		return bf16(head.w[c >> 1] >> (16u * (c & 1u)) & 0xffffu);
	if (type == KV_Q8_0) {
		uint at = 34u * (c / 32u), q = at + 2u + c % 32u;

		return f16_at(head, at) * float(bitfieldExtract(int(head.w[q >> 2]), int(8u * (q & 3u)), 8));
	}
	if (type == KV_F8_E4M3)
		return e4m3(head.w[c >> 2] >> (8u * (c & 3u)) & 0xffu);
	return device_cache_value(head, type == KV_Q4_0_ROT ? DEVICE_CACHE_Q4_0 : type, c);
}

// Invocation i gets number i of H times the numbers of all.
float hadamard(float x)
{
	uint i = gl_LocalInvocationID.x;

	[[dont_unroll]] for (uint w = 1u; w < LANES; w *= 2u) {
		float other;

		barrier();
		lib_sum[i] = x;
		barrier();
		other = lib_sum[i ^ w];
		x = (i & w) != 0u ? other - x : x + other;
	}
	return 0.125 * x;
}
