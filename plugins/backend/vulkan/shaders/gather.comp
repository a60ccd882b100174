#version 450
// SPDX-License-Identifier: MIT
//
// GATHER.  An invocation computes one column of a row.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_KIND 0u // enum lmd_row_index
#define A_N_ID 1u
#define A_SUM 2u
#define A_X 3u
#define A_Y (A_X + VIEW_WORDS)
#define A_IDX (A_Y + VIEW_WORDS)

int row_of(View x, View idx, uint row, uint j)
{
	int id = -1;

	switch (arg(A_KIND)) {
	case 1u: id = idx.present ? cell_int(idx, row, j) : -1; break;
	case 2u: id = step_int(LAY_OUT_ROW, row); break;
	case 3u: id = step_int(LAY_SEQ_OF, row); break;
	case 4u:
		id = step_int(LAY_TOKEN, row);
		id = id < 0 && id >= -(1 << 30) ? -1 - id : -1;
		break;
	}
	return x.present && id >= 0 && uint(id) < x.n_row ? id : -1;
}

uint sum_at(View x, View idx, uint row, uint c)
{
	float sum = 0.0;
	int count = 0;

	for (uint j = 0u; j < arg(A_N_ID); j++) {
		int id = row_of(x, idx, row, j);

		if (id < 0)
			continue;
		if (x.i32)
			count += cell_int(x, uint(id), c);
		else
			sum += cell_get(x, uint(id), c);
	}
	return x.i32 ? uint(count) : floatBitsToUint(sum);
}

void main()
{
	View x = view(A_X), y = view(A_Y), idx = view(A_IDX);
	uint n = x.n_head * x.width, cols = arg(A_SUM) != 0u ? n : n * arg(A_N_ID);

	for (uint row = gl_WorkGroupID.y; row < y.n_row; row += gl_NumWorkGroups.y) {
		for (uint c = gl_GlobalInvocationID.x; c < cols; c += gl_NumWorkGroups.x * LANES) {
			uint w;
			int id;

			if (arg(A_SUM) != 0u) {
				w = sum_at(x, idx, row, c);
			} else {
				id = row_of(x, idx, row, c / n);
				w = id < 0 ? 0u : load(cell(x, uint(id), c % n));
			}
			store(cell(y, row, c), w);
		}
	}
}
