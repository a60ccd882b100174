#version 450
// SPDX-License-Identifier: MIT
//
// GLU.  An invocation computes one element.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"

#define A_ACT 0u
#define A_P 1u
#define A_A 5u
#define A_B (A_A + VIEW_WORDS)
#define A_Y (A_B + VIEW_WORDS)

void main()
{
	View a = view(A_A), b = view(A_B), y = view(A_Y);
	vec4 p = vec4(argf(A_P), argf(A_P + 1u), argf(A_P + 2u), argf(A_P + 3u));
	uint n = y.n_row * y.n_head;

	for (uint i = gl_WorkGroupID.y; i < n; i += gl_NumWorkGroups.y) {
		uint row = i / y.n_head, head = i % y.n_head;

		for (uint c = gl_GlobalInvocationID.x; c < y.width; c += gl_NumWorkGroups.x * LANES)
			put(y, row, head, c,
			    activation(arg(A_ACT), p, get(a, row, head, c),
				       b.present ? get(b, row, head, c) : 0.0, b.present));
	}
}
