#version 450
// SPDX-License-Identifier: MIT
//
// The windows of PATCH as rows for a product.  An invocation copies one element.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_SPACE 0u // of x
#define A_Y_SPACE 1u
#define A_N_DIM 2u
#define A_KERNEL 3u
#define A_STRIDE 5u
#define A_PAD 7u
#define A_DILATION 9u
#define A_X 11u
#define A_OUT (A_X + VIEW_WORDS)

uint windows(uint size)
{
	int room = int(size) + 2 * int(arg(A_PAD)) - int(arg(A_DILATION) * (arg(A_KERNEL) - 1u)) - 1;

	return room < 0 ? 0u : uint(room) / arg(A_STRIDE) + 1u;
}

int place(uint axis, uint window, uint j)
{
	return int(window * arg(A_STRIDE + axis)) - int(arg(A_PAD + axis)) +
	       int(j * arg(A_DILATION + axis));
}

void main()
{
	View x = view(A_X), y = view(A_OUT);
	uint k0 = arg(A_KERNEL), k1 = arg(A_N_DIM) == 2u ? arg(A_KERNEL + 1u) : 1u;
	uint space = arg(A_SPACE), lay = space - SPACE_X0;
	bool is_map = arg(A_N_DIM) == 2u && space >= SPACE_X0 && space < SPACE_OWN;

	for (uint row = gl_WorkGroupID.y; row < y.n_row; row += gl_NumWorkGroups.y) {
		uint seq = seq_of(arg(A_Y_SPACE), row), n0;
		uvec2 to = seq_rows(arg(A_Y_SPACE), seq), from = seq_rows(space, seq);
		uvec2 size = uvec2(from.y, 1u);

		if (is_map && layout_of(LAY_X_W + lay) != 0u && layout_of(LAY_X_H + lay) != 0u)
			size = uvec2(step_int(LAY_X_W + lay, seq), step_int(LAY_X_H + lay, seq));
		n0 = windows(size.x);
		for (uint i = gl_GlobalInvocationID.x; i < y.width; i += gl_NumWorkGroups.x * LANES) {
			uint o = row - to.x, c = i / (k0 * k1);
			int i0 = n0 == 0u ? -1 : place(0u, o % n0, i % k0);
			int i1 = n0 == 0u ? -1 : int(o / n0);
			float v = 0.0;

			if (n0 != 0u && arg(A_N_DIM) == 2u)
				i1 = place(1u, o / n0, i / k0 % k1);
			if (i0 >= 0 && i1 >= 0 && i0 < int(size.x) && i1 < int(size.y)) {
				uint r = from.x + uint(i1) * size.x + uint(i0);

				v = r < x.n_row ? cell_get(x, r, c) : 0.0;
			}
			put(y, row, 0u, i, v);
		}
	}
}
