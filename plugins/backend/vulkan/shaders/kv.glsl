// SPDX-License-Identifier: MIT
//
// Elements of caches: f32, f16, bf16 and q8_0.  A head begins at a multiple of 4 bytes.

#define KV_F32 0u
#define KV_F16 1u
#define KV_Q8_0 8u
#define KV_BF16 30u

float kv_get(Words head, uint type, uint c)
{
	if (type == KV_F32)
		return uintBitsToFloat(head.w[c]);
	if (type == KV_F16)
		return f16(head.w[c >> 1] >> (16u * (c & 1u)));
	if (type == KV_BF16)
		return bf16(head.w[c >> 1] >> (16u * (c & 1u)) & 0xffffu);
	{
		uint at = 34u * (c / 32u), q = at + 2u + c % 32u;
		float d = f16(head.w[at >> 2] >> (8u * (at & 3u)));

		return d * float(bitfieldExtract(int(head.w[q >> 2]), int(8u * (q & 3u)), 8));
	}
}
