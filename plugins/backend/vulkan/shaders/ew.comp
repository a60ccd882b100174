#version 450
// SPDX-License-Identifier: MIT
//
// EW: runs the program for every element.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"

#define A_N_IN 0u
#define A_N_OUT 1u
#define A_N_INS 2u
#define A_OUT_REG 3u
#define A_INS 5u // 24 instructions of 3 words: op and registers, c, the number
#define A_IN (A_INS + 72u)
#define A_OUT (A_IN + 8u * VIEW_WORDS)

float reg[32];

float step_of(uint op, float a, float b, float c, float imm)
{
	switch (op) {
	case 0u: return imm;
	case 1u: return a + b;
	case 2u: return a - b;
	case 3u: return a * b;
	case 4u: return a / b;
	case 5u: return a * b + c;
	case 6u: return min(a, b);
	case 7u: return max(a, b);
	case 8u: return abs(a);
	case 9u: return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0;
	case 10u: return a < b ? 1.0 : 0.0;
	case 11u: return a <= b ? 1.0 : 0.0;
	case 12u: return a == b ? 1.0 : 0.0;
	case 13u: return a != 0.0 ? b : c;
	case 14u: return roundEven(a);
	case 15u: return exp(a);
	case 16u: return sqrt(a);
	case 17u: return 1.0 / sqrt(a);
	case 18u: return sincos_of(a).x;
	case 19u: return sincos_of(a).y;
	case 20u: return tanh_of(a);
	case 21u: return sigmoid(a);
	case 22u: return a * sigmoid(a);
	case 23u: return softplus(a);
	case 24u: return erf_of(a);
	}
	return 0.0;
}

float input_at(uint i, uint space, uint row, uint head, uint c)
{
	View v = view(A_IN + i * VIEW_WORDS);

	if (v.row_bytes == 0u || v.n_row == 1u)
		row = 0u;
	else if (v.space == SPACE_SEQS && space != SPACE_SEQS)
		row = seq_of(space, row);
	return get(v, row, v.n_head > 1u ? head : 0u, v.width > 1u ? c : 0u);
}

void main()
{
	View y = view(A_OUT);
	uint n = y.n_row * y.n_head, n_in = arg(A_N_IN), n_ins = arg(A_N_INS);

	for (uint i = gl_WorkGroupID.y; i < n; i += gl_NumWorkGroups.y) {
		uint row = i / y.n_head, head = i % y.n_head;

		for (uint c = gl_GlobalInvocationID.x; c < y.width; c += gl_NumWorkGroups.x * LANES) {
			for (uint j = 0u; j < 32u; j++)
				reg[j] = 0.0;
			for (uint j = 0u; j < n_in; j++)
				reg[j] = input_at(j, y.space, row, head, c);
			for (uint j = 0u; j < n_ins; j++) {
				uint w = arg(A_INS + 3u * j);

				reg[w >> 8 & 31u] = step_of(w & 255u, reg[w >> 16 & 31u], reg[w >> 24 & 31u],
							    reg[arg(A_INS + 3u * j + 1u) & 31u],
							    argf(A_INS + 3u * j + 2u));
			}
			for (uint j = 0u; j < arg(A_N_OUT); j++) {
				View o = view(A_OUT + j * VIEW_WORDS);
				float v = reg[arg(A_OUT_REG + j) & 31u];

				store(el(o, row, head, c),
				      o.i32 ? uint(float_to_int(v)) : floatBitsToUint(v));
			}
		}
	}
}
