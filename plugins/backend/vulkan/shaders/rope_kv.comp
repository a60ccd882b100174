#version 450
// SPDX-License-Identifier: MIT
//
// ROPE_KV.  A workgroup computes one head of q, k or v of a row, in shared memory or, if heads are wider than
// that, in memory of its own.  Angles are exact: a frequency is a number of turns of 2^-64, so a position times
// it is reduced by the overflow.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"

#define A_WHEN 0u // 1: norm before, 2: after the rotation
#define A_N_ROT 1u
#define A_HALVES 2u
#define A_ROT0 3u
#define A_SIGN 4u
#define A_MAGNITUDE 5u
#define A_FREQ 6u // address: per pair a 64-bit number of turns, and the plane
#define A_GROUP 8u
#define A_K_MEM 9u
#define A_K_ROW 11u
#define A_K_HEAD 12u
#define A_V_MEM 13u
#define A_V_ROW 15u
#define A_V_HEAD 16u
#define A_STORES 17u // 1: k, 2: v
#define A_WIDE 18u // address of the workgroups' memory, and bytes of each
#define A_Q 21u
#define A_K (A_Q + VIEW_WORDS)
#define A_V (A_K + VIEW_WORDS)
#define A_Q_OUT (A_V + VIEW_WORDS)
#define A_K_OUT (A_Q_OUT + VIEW_WORDS)
#define A_POS (A_K_OUT + VIEW_WORDS)
#define A_QN (A_POS + VIEW_WORDS) // kind, eps, group, plus one, g, b
#define A_KN (A_QN + 4u + 2u * VIEW_WORDS)

layout(constant_id = 0) const uint TYPES = 0u; // of k, and of v times 256
layout(constant_id = 1) const uint SHAPE = 0u;
const bool HAS_NORM = (SHAPE & 1u) != 0u, IS_WIDE = (SHAPE & 2u) != 0u;

#define MOST 1024u
shared float head_of[MOST];
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Wide { float v[]; };

Wide wide()
{
	return Wide(times(arg_address(A_WIDE), gl_WorkGroupID.x, arg(A_WIDE + 2u)));
}

float head_get(uint c)
{
	if (IS_WIDE)
		return wide().v[c];
	return head_of[c];
}

void head_put(uint c, float x)
{
	if (IS_WIDE)
		wide().v[c] = x;
	else
		head_of[c] = x;
}

// All invocations see what the others have put.
void head_done()
{
	if (IS_WIDE)
		memoryBarrierBuffer();
	barrier();
}

#define KV_WRITES
#include "kv.glsl"

void norm_head(uint at, uint row, uint head, uint width)
{
	uint kind = arg(at), size = arg(at + 2u);
	float eps = argf(at + 1u), one = arg(at + 3u) != 0u ? 1.0 : 0.0;
	View g = view(at + 4u), b = view(at + 4u + VIEW_WORDS);

	for (uint c0 = 0u; c0 < width; c0 += size) {
		uint n = min(size, width - c0);
		float sum = 0.0, squares = 0.0, mean = 0.0, inverse;

		if (kind == 2u) {
			for (uint c = gl_LocalInvocationID.x; c < n; c += LANES)
				sum += head_get(c0 + c);
			mean = sum_of_all(sum) / float(n);
		}
		for (uint c = gl_LocalInvocationID.x; c < n; c += LANES)
			squares += (head_get(c0 + c) - mean) * (head_get(c0 + c) - mean);
		squares = sum_of_all(squares);
		inverse = kind == 3u ? 1.0 / max(sqrt(squares), eps)
				     : 1.0 / sqrt(squares / float(n) + eps);
		for (uint c = gl_LocalInvocationID.x; c < n; c += LANES) {
			float v = (head_get(c0 + c) - mean) * inverse;

			if (g.present)
				v *= get(g, g.n_row > 1u ? row : 0u, g.n_head > 1u ? head : 0u, c0 + c) + one;
			if (b.present)
				v += get(b, b.n_row > 1u ? row : 0u, b.n_head > 1u ? head : 0u, c0 + c);
			head_put(c0 + c, v);
		}
	}
	head_done();
}

void rotate(View pos, uint space, uint row)
{
	uint half_n = arg(A_N_ROT) / 2u, rot0 = arg(A_ROT0);
	Words freq = Words(arg_address(A_FREQ));

	for (uint i = gl_LocalInvocationID.x; i < half_n; i += LANES) {
		int at = pos.present ? cell_int(pos, row, 0u) : position(space, row, freq.w[3u * i + 2u]);
		uint lo, hi, a = rot0 + (arg(A_HALVES) != 0u ? i : 2u * i);
		uint b = arg(A_HALVES) != 0u ? a + half_n : a + 1u;
		float x0 = head_get(a), x1 = head_get(b);
		vec2 sc;

		umulExtended(uint(abs(at)), freq.w[3u * i], hi, lo);
		hi += uint(abs(at)) * freq.w[3u * i + 1u];
		sc = sincos_turns(hi + (lo >> 31)) * argf(A_MAGNITUDE);
		if ((at < 0) != (argf(A_SIGN) < 0.0))
			sc.x = -sc.x;
		head_put(a, x0 * sc.y - x1 * sc.x);
		head_put(b, x0 * sc.x + x1 * sc.y);
	}
	head_done();
}

uint bf16_bits(float x)
{
	uint u = floatBitsToUint(x);

	if (isnan(x))
		return (u >> 16) | 0x40u;
	return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

// A block of q8_0; returns byte i of its 34 bytes.
uint q8_byte(uint block, uint i, float d)
{
	if (i < 2u)
		return f16_bits(d) >> (8u * i) & 0xffu;
	{
		float v = d != 0.0 ? head_get(32u * block + i - 2u) / d : 0.0;

		return uint(int(sign(v) * floor(abs(v) + 0.5))) & 0xffu;
	}
}

float q8_scale(uint block)
{
	float most = 0.0;

	for (uint i = 0u; i < 32u; i++)
		most = max(most, abs(head_get(32u * block + i)));
	return most / 127.0;
}

// Two blocks of a type of device_cache.h, or the last one: they end at a word, or where the room of a
// head does.
void encode_blocks(Words to, uint type, uint block, uint n_block)
{
	uint bytes = DEVICE_CACHE_BYTES(type), first = bytes * block / 4u;
	uint n = bytes * min(2u, n_block - block), word = 0u;

	for (uint b = 0u; b * bytes < n; b++) {
		uint x = 32u * (block + b);
		float scale = device_cache_scale(x, type), least = device_cache_least(x);
		float stored = device_cache_stored_scale(x, type, scale);

		for (uint i = 0u; i < bytes; i++) {
			uint at = b * bytes + i;

			word |= device_cache_byte(x, type, scale, stored, least, i) << (8u * (at & 3u));
			if ((at & 3u) == 3u || at + 1u == n) {
				to.w[first + at / 4u] = word;
				word = 0u;
			}
		}
	}
}

uint e4m3_bits(float x)
{
	uint u = floatBitsToUint(x), magnitude = u & 0x7fffffffu, v;

	if (magnitude > 0x7f800000u)
		v = 0x7fu;
	else if (magnitude >= 0x43e00000u) // 448
		v = 0x7eu;
	else if (magnitude < 0x3c800000u) // 2^-6: multiples of 2^-9, rounded by the addition
		v = floatBitsToUint(uintBitsToFloat(magnitude) + 16384.0) - 0x46800000u;
	else
		v = (magnitude - 0x3c000000u + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20;
	return (u >> 24 & 0x80u) | v;
}

// H times the head takes its place; its width is a multiple of 64.
void hadamard_head(uint width)
{
	for (uint c = gl_LocalInvocationID.x; c < width; c += LANES)
		head_put(c, hadamard(head_get(c)));
	head_done();
}

void encode(uvec2 to, uint type, uint width)
{
	Words out_words = Words(to);

	if (type == KV_Q4_0_ROT) {
		hadamard_head(width);
		type = DEVICE_CACHE_Q4_0;
	}
	if (type == KV_F8_E4M3) {
		for (uint i = gl_LocalInvocationID.x; 4u * i < width; i += LANES) {
			uint word = 0u;

			for (uint j = 0u; j < min(4u, width - 4u * i); j++)
				word |= e4m3_bits(head_get(4u * i + j)) << (8u * j);
			out_words.w[i] = word;
		}
		return;
	}
	if (type == KV_F32) {
		for (uint c = gl_LocalInvocationID.x; c < width; c += LANES)
			out_words.w[c] = floatBitsToUint(head_get(c));
		return;
	}
	if (type == KV_Q8_0) {
		for (uint i = gl_LocalInvocationID.x; 4u * i < width / 32u * 34u; i += LANES) {
			uint word = 0u;

			for (uint j = 4u * i; j < min(4u * i + 4u, width / 32u * 34u); j++)
				word |= q8_byte(j / 34u, j % 34u, q8_scale(j / 34u)) << (8u * (j & 3u));
			out_words.w[i] = word;
		}
		return;
	}
	if (DEVICE_CACHE_IS_BLOCKS(type)) {
		for (uint i = gl_LocalInvocationID.x; 64u * i < width; i += LANES)
			encode_blocks(out_words, type, 2u * i, width / 32u);
		return;
	}
	for (uint i = gl_LocalInvocationID.x; 2u * i < width; i += LANES) {
		float a = head_get(2u * i), b = 2u * i + 1u < width ? head_get(2u * i + 1u) : 0.0;

		out_words.w[i] = type == KV_F16 ? f16_bits(a) | f16_bits(b) << 16
						: bf16_bits(a) | bf16_bits(b) << 16;
	}
}

void main()
{
	View q = view(A_Q), k = view(A_K), v = view(A_V), pos = view(A_POS);
	uint nq = q.present ? q.n_head : 0u, nk = k.present ? k.n_head : 0u;
	uint nv = v.present && (arg(A_STORES) & 2u) != 0u ? v.n_head : 0u, n = nq + nk + nv;
	uint n_row = q.present ? q.n_row : k.present ? k.n_row : v.n_row;
	uint space = q.present ? q.space : k.present ? k.space : v.space;

	for (uint i = gl_WorkGroupID.x; i < n_row * n; i += gl_NumWorkGroups.x) {
		uint row = i / n, h = i % n, kind = h < nq ? 0u : h < nq + nk ? 1u : 2u;
		uint norm = kind == 0u ? A_QN : A_KN;
		int slot = arg(A_STORES) != 0u ? group_int(arg(A_GROUP), GROUP_SLOT, row) : -1;
		View from = v;
		View to = view(kind == 0u ? A_Q_OUT : A_K_OUT);

		if (kind == 0u)
			from = q;
		else if (kind == 1u)
			from = k;
		h -= kind == 0u ? 0u : kind == 1u ? nq : nq + nk;
		head_done();
		for (uint c = gl_LocalInvocationID.x; c < from.width; c += LANES)
			head_put(c, get(from, row, h, c));
		head_done();
		if (kind < 2u) {
			// a loop, so that the code of a norm is there once: drivers compile it faster
			for (uint when = 1u; when <= 2u; when++) {
				if (HAS_NORM && arg(norm) != 0u && arg(A_WHEN) == when)
					norm_head(norm, row, h, from.width);
				if (when == 1u && arg(A_N_ROT) > 0u)
					rotate(pos, space, row);
			}
			if (to.present)
				for (uint c = gl_LocalInvocationID.x; c < from.width; c += LANES)
					put(to, row, h, c, head_get(c));
		}
		if (slot >= 0 && kind > 0u && (arg(A_STORES) & kind) != 0u) {
			uint side = kind == 1u ? A_K_MEM : A_V_MEM;

			encode(plus(times(arg_address(side), uint(slot), arg(side + 2u)),
				    h * arg(side + 3u)),
			       kind == 1u ? TYPES & 255u : TYPES >> 8, from.width);
		}
	}
}
