// SPDX-License-Identifier: MIT
//
// Rows of floats times a weight.
//
// A workgroup has 4 rows of 16 lanes.  A row of lanes computes one output of up to COLS items: the
// lanes take turns at the blocks of 32 columns of a weight row, which are decoded once for all items.
// An item is a (row, head).  The sums of an item are the same whatever is computed beside it.
#include "lib.glsl"
#include "decode.glsl"
#include "product.glsl"

const uint COLS = SHAPE & 255u;

shared float part[4][COLS][16];

void main()
{
	uint lane = gl_LocalInvocationID.x & 15u, line = gl_LocalInvocationID.x >> 4;
	uint x_heads = arg(A_X_HEADS), x_row = arg(A_X_ROW), x_head = arg(A_X_HEAD);
	uvec2 x_base = arg_address(A_X);
	View ids = view(A_IDS);

	open_product();
	for (uint item0 = gl_WorkGroupID.y * COLS; item0 < items; item0 += gl_NumWorkGroups.y * COLS) {
		int slice = slice_of(ids, item0);

		for (uint n0 = GROUP_X * 4u; n0 < outputs; n0 += GROUPS_X * 4u) {
			uint out_n = n0 + line;
			float sum[COLS];

			for (uint c = 0u; c < COLS; c++)
				sum[c] = 0.0;
			if (out_n < outputs && slice >= 0) {
				Words row = Words(times(w_base, uint(slice) * n + out_n, w_row));

				for (uint b = lane; b * 32u < k; b += 16u) {
					float w[32];

					decode32(row, b, k, w);
					[[unroll]] for (uint c = 0u; c < COLS; c++) {
						uint item = min(item0 + c, items - 1u);
						uvec2 at = times(x_base, item / heads, x_row);
						Words xs;

						if (x_heads > 1u)
							at = plus(at, item % heads * x_head);
						xs = Words(plus(at, 128u * b));
						if (b * 32u + 32u <= k) {
							[[unroll]] for (uint i = 0u; i < 32u; i++)
								sum[c] += w[i] *
									  uintBitsToFloat(xs.w[i]);
						} else {
							for (uint i = 0u; b * 32u + i < k; i++)
								sum[c] += w[i] *
									  uintBitsToFloat(xs.w[i]);
						}
					}
				}
			}
			[[unroll]] for (uint c = 0u; c < COLS; c++)
				part[line][c][lane] = sum[c];
			barrier();
			for (uint i = lane; i < COLS; i += 16u) {
				float v = 0.0;

				for (uint j = 0u; j < 16u; j++)
					v += part[line][i][j];
				if (out_n < outputs && item0 + i < items) {
					if (slice >= 0)
						emit(item0 + i, uint(slice), out_n, v);
					else
						skip(item0 + i, out_n);
				}
			}
			barrier();
		}
	}
}
