// SPDX-License-Identifier: MIT
//
// Elements of caches: f32, f16, bf16, q8_0, and the types that device_types.h lists for caches.  A head
// begins at a multiple of 4 bytes.  Who writes caches defines KV_WRITES and the array head_of.
#include "backend/common/device_types.h"
#include "bytes.glsl"

#define KV_F32 0u
#define KV_F16 1u
#define KV_Q8_0 8u
#define KV_BF16 30u

uint f16_bits(float x)
{
	return packHalf2x16(vec2(x, 0.0)) & 0xffffu;
}

// the values of a block begin at head_of[values]
#ifdef KV_WRITES
#define DEVICE_VALUE(j) head_of[values + (j)]
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
	return device_cache_value(head, type, c);
}
