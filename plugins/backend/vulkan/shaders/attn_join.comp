#version 450
// SPDX-License-Identifier: MIT
//
// Adds up the shares of attn_fast.  A workgroup computes a (row, head), an invocation columns of it.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_SINKS 0u
#define A_PARTS 2u // as in attn_fast.comp
#define A_N 4u     // shares
#define A_Y 5u

void main()
{
	View y = view(A_Y);
	uint shares = arg(A_N), n = y.n_row * y.n_head;
	uvec2 sinks = arg_address(A_SINKS);

	for (uint i = gl_WorkGroupID.x; i < n; i += gl_NumWorkGroups.x) {
		uint row = i / y.n_head, head = i % y.n_head, bytes = 4u * (y.width + 2u);
		uvec2 parts = times(arg_address(A_PARTS), i * shares, bytes);
		float most = -INF, total = 0.0, sink = -INF;

		if (!is_null(sinks))
			sink = uintBitsToFloat(load(plus(sinks, 4u * head)));
		most = sink;
		for (uint s = 0u; s < shares; s++)
			most = max(most, uintBitsToFloat(load(times(parts, s, bytes))));
		if (sink > -INF)
			total = exp(sink - most);
		for (uint s = 0u; s < shares; s++) {
			uvec2 part = times(parts, s, bytes);
			float m = uintBitsToFloat(load(part));

			if (m > -INF)
				total += uintBitsToFloat(load(plus(part, 4u))) * exp(m - most);
		}
		for (uint c = gl_LocalInvocationID.x; c < y.width; c += LANES) {
			float v = 0.0;

			for (uint s = 0u; s < shares; s++) {
				uvec2 part = times(parts, s, bytes);
				float m = uintBitsToFloat(load(part));

				if (m > -INF)
					v += uintBitsToFloat(load(plus(part, 8u + 4u * c))) * exp(m - most);
			}
			put(y, row, head, c, total > 0.0 ? v / total : 0.0);
		}
	}
}
