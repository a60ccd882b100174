#version 450
// SPDX-License-Identifier: MIT
//
// What MOE_FFN does beside products: phase 0 multiplies x by the routing weights, phase 1 sums the
// outputs of the chosen experts.  An invocation computes one element.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_K 0u
#define A_N_EXPERT 1u
#define A_BEFORE 2u
#define A_A 3u
#define A_X 4u
#define A_IDS (A_X + VIEW_WORDS)
#define A_WEIGHTS (A_IDS + VIEW_WORDS)
#define A_XW (A_WEIGHTS + VIEW_WORDS)
#define A_D (A_XW + VIEW_WORDS)
#define A_Y (A_D + VIEW_WORDS)
#define A_R_IN (A_Y + VIEW_WORDS)
#define A_R_OUT (A_R_IN + VIEW_WORDS)

void main()
{
	View x = view(A_X), ids = view(A_IDS), weights = view(A_WEIGHTS), xw = view(A_XW);
	View d = view(A_D), y = view(A_Y), r_in = view(A_R_IN), r_out = view(A_R_OUT);
	uint k = arg(A_K), n = push.phase == 0u ? ids.n_row * k : ids.n_row;
	uint width = push.phase == 0u ? x.width : d.width;

	for (uint i = gl_WorkGroupID.y; i < n; i += gl_NumWorkGroups.y) {
		for (uint c = gl_GlobalInvocationID.x; c < width; c += gl_NumWorkGroups.x * LANES) {
			float v = 0.0;

			if (push.phase == 0u) {
				put(xw, i / k, i % k, c,
				    cell_get(weights, i / k, i % k) * get(x, i / k, 0u, c));
				continue;
			}
			for (uint j = 0u; j < k; j++)
				if (uint(cell_int(ids, i, j)) < arg(A_N_EXPERT))
					v += (arg(A_BEFORE) != 0u ? 1.0 : cell_get(weights, i, j)) *
					     get(d, i, j, c);
			if (y.present)
				put(y, i, 0u, c, v);
			if (r_out.present)
				put(r_out, i, 0u, c, get(r_in, i, 0u, c) + argf(A_A) * v);
		}
	}
}
