#version 450
// SPDX-License-Identifier: MIT
//
// ALLREDUCE and ALLGATHER.  Phase 0 writes the rows of this rank to its part of the group's memory, phase
// 1 reads the parts of all ranks (group.h).  An invocation computes one element.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_SUMS 0u // ALLREDUCE
#define A_N 1u // ranks
#define A_RANK 2u
#define A_EXCHANGE 3u // number of this collective in the plan
#define A_COLUMNS 4u // of a rank
#define A_X 5u
#define A_Y (A_X + VIEW_WORDS)
#define MOST_RANKS 8u // VKB_MAX_PEER

// Row of the part of a rank.
uvec2 part_row(uint rank, uint row)
{
	uint half_of = (env(ENV_AREA + 3u) + arg(A_EXCHANGE)) & 1u;
	uvec2 part = times(uvec2(env(ENV_AREA), env(ENV_AREA + 1u)), half_of * arg(A_N) + rank,
			   env(ENV_AREA + 2u));

	return times(part, row, 4u * arg(A_COLUMNS));
}

// Neighbours are added, then neighbours of the sums (llamad/op.h).
float sum_in_pairs(float v[MOST_RANKS], uint n)
{
	for (; n > 1u; n = (n + 1u) / 2u) {
		for (uint i = 0u; i < n / 2u; i++) {
			precise float sum = v[2u * i] + v[2u * i + 1u];

			v[i] = sum;
		}
		if ((n & 1u) != 0u)
			v[n / 2u] = v[n - 1u];
	}
	return v[0];
}

uint sum_at(uint row, uint c, uint n)
{
	float v[MOST_RANKS];

	for (uint r = 0u; r < n; r++)
		v[r] = uintBitsToFloat(load(plus(part_row(r, row), 4u * c)));
	return floatBitsToUint(sum_in_pairs(v, n));
}

void main()
{
	View x = view(A_X), y = view(A_Y);
	uint columns = arg(A_COLUMNS), n = arg(A_N);
	bool sums = arg(A_SUMS) != 0u, shares = push.phase == 0u;
	uint most = shares || sums ? columns : columns * n;

	for (uint row = gl_WorkGroupID.y; row < x.n_row; row += gl_NumWorkGroups.y) {
		uvec2 own = part_row(arg(A_RANK), row);

		for (uint c = gl_GlobalInvocationID.x; c < most; c += gl_NumWorkGroups.x * LANES) {
			if (shares)
				store(plus(own, 4u * c), load(cell(x, row, c)));
			else if (sums)
				store(cell(y, row, c), sum_at(row, c, n));
			else
				store(cell(y, row, c),
				      load(plus(part_row(c / columns, row), 4u * (c % columns))));
		}
	}
}
