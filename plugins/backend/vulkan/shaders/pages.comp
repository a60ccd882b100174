#version 450
// SPDX-License-Identifier: MIT
//
// Applies the step's changes to the page table of a group.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_GROUP 0u
#define A_TABLE 1u
#define A_N_INDEX 3u

void main()
{
	uint group = arg(A_GROUP), n;

	// the changes are counted in the header of the step block
	n = step_array(0u).w[4u + group];
	// a later change of the same entry is the one that counts
	if (gl_GlobalInvocationID.x != 0u)
		return;
	for (uint i = 0u; i < n; i++) {
		Words change = step_array(layout_of(LAY_GROUP + 8u * group + GROUP_CHANGE) + 12u * i);

		store(plus(arg_address(A_TABLE), 4u * (change.w[0] * arg(A_N_INDEX) + change.w[1])),
		      change.w[2]);
	}
}
