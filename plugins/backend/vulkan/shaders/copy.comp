#version 450
// SPDX-License-Identifier: MIT
//
// CAST_COPY, and the rows of an output.  An invocation copies one element.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_X 0u
#define A_Y VIEW_WORDS

void main()
{
	View x = view(A_X), y = view(A_Y);
	uint n = x.n_row * y.n_head;

	if (!x.present || !y.present)
		return;
	if (y.space != SPACE_OWN)
		n = y.n_row * y.n_head;
	for (uint i = gl_WorkGroupID.y; i < n; i += gl_NumWorkGroups.y) {
		uint row = i / y.n_head, head = i % y.n_head;

		for (uint c = gl_GlobalInvocationID.x; c < y.width; c += gl_NumWorkGroups.x * LANES) {
			uint w = get_word(x, row, head, c);

			if (x.i32 && !y.i32)
				w = floatBitsToUint(float(int(w)));
			else if (!x.i32 && y.i32)
				w = uint(float_to_int(uintBitsToFloat(w)));
			store(el(y, row, head, c), w);
		}
	}
}
