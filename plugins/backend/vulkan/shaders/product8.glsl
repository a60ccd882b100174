// SPDX-License-Identifier: MIT
//
// Rows that were rounded to 8 bits (round.glsl) times a weight of a type of planes.glsl: integer sums of
// 32 products, and the formula of plugins/backend/ref/op_linear_int8.c with float sums in another order.
//
// A lane computes OUTPUTS outputs of COLS items, together with the SPLIT - 1 lanes beside it, which take
// turns at the groups of 32 columns.  The sums of an item are the same whatever is computed beside it.
// BROADCAST: SPLIT is 1, and all lanes read the same rows (product8_group.glsl).
#include "lib.glsl"
#include "decode.glsl"
#include "product.glsl"

const uint COLS = SHAPE & 255u, SPLIT = SHAPE >> 8 & 255u, OUTPUTS = SHAPE >> 16 & 255u;
const uint OF_GROUP = LANES / SPLIT * OUTPUTS; // outputs of a workgroup

#include "product8_group.glsl"

float sum[OUTPUTS * COLS]; // of this lane: [output][item]
shared float part[SPLIT > 1u ? LANES * OUTPUTS * COLS : 1u];

// Adds up what the lanes beside each other have summed, and gives it out.
void finish(uint item0, int slice, uint first)
{
	const uint each = OUTPUTS * COLS;
	uint lane = gl_LocalInvocationID.x % SPLIT, line = gl_LocalInvocationID.x / SPLIT;

	if (SPLIT > 1u) {
		[[unroll]] for (uint i = 0u; i < each; i++)
			part[gl_LocalInvocationID.x * each + i] = sum[i];
		barrier();
	}
	for (uint i = lane; i < each; i += SPLIT) {
		uint out_n = first + i / COLS, item = item0 + i % COLS;
		float v = 0.0;

		if (out_n >= outputs || item >= items)
			continue;
		if (slice < 0) {
			skip(item, out_n);
			continue;
		}
		if (SPLIT > 1u) {
			for (uint j = 0u; j < SPLIT; j++)
				v += part[(line * SPLIT + j) * each + i];
		} else {
			v = sum[i];
		}
		emit(item, uint(slice), out_n, v);
	}
	if (SPLIT > 1u)
		barrier();
}

void main()
{
	uint lane = gl_LocalInvocationID.x % SPLIT, line = gl_LocalInvocationID.x / SPLIT, groups;
	uint x_heads = arg(A_X_HEADS), x_row = arg(A_X_ROW);
	uvec2 x_base = arg_address(A_X);
	View ids = view(A_IDS);

	open_product();
	groups = k / 32u;
	for (uint item0 = gl_WorkGroupID.y * COLS; item0 < items; item0 += gl_NumWorkGroups.y * COLS) {
		int slice = slice_of(ids, item0);
		uvec2 x_at[COLS];

		[[unroll]] for (uint c = 0u; c < COLS; c++) {
			uint item = min(item0 + c, items - 1u);

			x_at[c] = times(x_base, x_heads > 1u ? item : item / heads, x_row);
		}
		for (uint n0 = GROUP_X * OF_GROUP; n0 < outputs;
		     n0 += GROUPS_X * OF_GROUP) {
			uint first = n0 + line * OUTPUTS;
			uvec2 rows[OUTPUTS];

			[[unroll]] for (uint i = 0u; i < OUTPUTS * COLS; i++)
				sum[i] = 0.0;
			[[unroll]] for (uint o = 0u; o < OUTPUTS; o++)
				rows[o] = times(w_base,
						uint(max(slice, 0)) * n + min(first + o, outputs - 1u),
						w_row);
			for (uint g = lane; slice >= 0 && g < groups; g += SPLIT) {
				Group w[OUTPUTS];

				[[unroll]] for (uint o = 0u; o < OUTPUTS; o++)
					w[o] = group_at(Words(rows[o]), g, groups);
				[[unroll]] for (uint c = 0u; c < COLS; c++) {
					Rounded x = rounded_at(x_at[c], g, groups);

					[[unroll]] for (uint o = 0u; o < OUTPUTS; o++)
						sum[o * COLS + c] += times_group(w[o], x);
				}
			}
			finish(item0, slice, first);
		}
	}
}
