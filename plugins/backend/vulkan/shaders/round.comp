#version 450
// SPDX-License-Identifier: MIT
//
// Rounds rows of activations to 8 bits: to integers (round.glsl), to floats with the values of such, or to
// both.  With UP or an activation function, the rows are act(x) times those of UP.  An invocation computes
// a group of 32 values.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"
#include "round.glsl"

#define A_X 0u // as in product.glsl
#define A_X_ROW 2u
#define A_X_HEAD 3u
#define A_HEADS 4u
#define A_SPACE 5u
#define A_K 6u
#define A_INTS 7u // null: none
#define A_INT_ROW 9u
#define A_FLOATS 10u // null: none
#define A_IS_GLU 12u
#define A_UP 13u // null: none
#define A_ACT 15u
#define A_P 16u

void main()
{
	uint groups = arg(A_K) / 32u, heads = arg(A_HEADS);
	uint n = rows_of(arg(A_SPACE)) * heads * groups;
	bool has_up = !is_null(arg_address(A_UP));
	vec4 p = vec4(argf(A_P), argf(A_P + 1u), argf(A_P + 2u), argf(A_P + 3u));

	for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * LANES) {
		uint item = i / groups, g = i % groups, inside = item % heads * arg(A_X_HEAD) + 128u * g;
		Words x = Words(plus(times(arg_address(A_X), item / heads, arg(A_X_ROW)), inside));
		Words up = Words(plus(times(arg_address(A_UP), item / heads, arg(A_X_ROW)), inside));
		float v[32], d;
		int q[32];

		[[unroll]] for (uint c = 0u; c < 32u; c++) {
			v[c] = uintBitsToFloat(x.w[c]);
			if (arg(A_IS_GLU) != 0u)
				v[c] = activation(arg(A_ACT), p, v[c],
						  has_up ? uintBitsToFloat(up.w[c]) : 0.0, has_up);
		}
		d = round_group(v, q);
		if (!is_null(arg_address(A_INTS)))
			put_group(times(arg_address(A_INTS), item, arg(A_INT_ROW)), g, groups, q, d);
		if (!is_null(arg_address(A_FLOATS))) {
			Words y = Words(plus(times(arg_address(A_FLOATS), item, 4u * arg(A_K)), 128u * g));

			[[unroll]] for (uint c = 0u; c < 32u; c++)
				y.w[c] = floatBitsToUint(d * float(q[c]));
		}
	}
}
