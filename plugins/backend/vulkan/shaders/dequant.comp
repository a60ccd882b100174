#version 450
// SPDX-License-Identifier: MIT
//
// All elements of a weight as f32, for weights that ops read element by element.
#extension GL_GOOGLE_include_directive : require
#define ARGUMENTS_BY_ADDRESS
#define ALL_TYPES
#include "lib.glsl"
#include "decode.glsl"

#define A_W 0u
#define A_W_ROW 2u
#define A_N 3u // rows of all slices
#define A_K 4u
#define A_OUT 5u

void main()
{
	uint k = arg(A_K), parts = (k + 31u) / 32u, n = arg(A_N) * parts;

	for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * LANES) {
		uint row = i / parts, part = i % parts;
		uvec2 to = plus(times(arg_address(A_OUT), row, 4u * k), 128u * part);
		float w[32];

		decode32(Words(times(arg_address(A_W), row, arg(A_W_ROW))), part, k, w);
		for (uint c = 0u; c < 32u && part * 32u + c < k; c++)
			store(plus(to, 4u * c), floatBitsToUint(w[c]));
	}
}
