#version 450
// SPDX-License-Identifier: MIT
//
// MIX.  An invocation computes one element.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_TRANSPOSED 0u
#define A_X 1u
#define A_C (A_X + VIEW_WORDS)
#define A_D (A_C + VIEW_WORDS)
#define A_Z (A_D + VIEW_WORDS)
#define A_Y (A_Z + VIEW_WORDS)

void main()
{
	View x = view(A_X), c = view(A_C), d = view(A_D), z = view(A_Z), y = view(A_Y);
	uint n = y.n_row * y.n_head;

	for (uint k = gl_WorkGroupID.y; k < n; k += gl_NumWorkGroups.y) {
		uint row = k / y.n_head, i = k % y.n_head;
		uint row_c = c.row_bytes == 0u ? 0u : row, row_d = d.row_bytes == 0u ? 0u : row;

		for (uint col = gl_GlobalInvocationID.x; col < y.width;
		     col += gl_NumWorkGroups.x * LANES) {
			float v = 0.0;

			for (uint j = 0u; j < x.n_head; j++) {
				float w = i == j ? 1.0 : 0.0;

				if (c.present)
					w = cell_get(c, row_c, arg(A_TRANSPOSED) != 0u ? j * y.n_head + i
										       : i * x.n_head + j);
				v += w * get(x, row, j, col);
			}
			if (z.present)
				v += (d.present ? cell_get(d, row_d, i) : 1.0) * get(z, row, 0u, col);
			put(y, row, i, col, v);
		}
	}
}
