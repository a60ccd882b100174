// SPDX-License-Identifier: MIT
//
// Many rows of floats times a weight, as product_rows.glsl: a workgroup computes a tile of outputs and items.
// It brings 32 columns of each to shared memory, from which a lane takes every eighth output and item.
// Columns are added in their order.
#include "lib.glsl"
#include "decode.glsl"
#include "product.glsl"

#define TILE_OUTPUTS 64u // TILE_OUTPUTS and TILE_ITEMS of product.c
#define TILE_ITEMS 32u
#define SIDE 8u // lanes along each side of the tile
#define OUTPUTS (TILE_OUTPUTS / SIDE)
#define ITEMS (TILE_ITEMS / SIDE)
#define PITCH 33u // words between rows, so that lanes use different banks

shared float w_tile[TILE_OUTPUTS * PITCH], x_tile[TILE_ITEMS * PITCH];

// Lanes 0..31 and 32..63 bring a half of the columns each.
void bring_x(uvec2 x_row, uint b)
{
	uint i = gl_LocalInvocationID.x % TILE_ITEMS, half_of = gl_LocalInvocationID.x / TILE_ITEMS * 16u;
	Words x = Words(plus(x_row, 128u * b));

	for (uint c = half_of; c < half_of + 16u; c++)
		x_tile[i * PITCH + c] = 32u * b + c < k ? uintBitsToFloat(x.w[c]) : 0.0;
}

void bring_w(uvec2 row, uint b)
{
	float w[32];

	decode32(Words(row), b, k, w);
	for (uint c = 0u; c < 32u; c++)
		w_tile[gl_LocalInvocationID.x * PITCH + c] = 32u * b + c < k ? w[c] : 0.0;
}

void tile(uint n0, uint item0, uvec2 row, uvec2 x_row)
{
	uint across = gl_LocalInvocationID.x % SIDE, down = gl_LocalInvocationID.x / SIDE;
	float sum[OUTPUTS * ITEMS];

	[[unroll]] for (uint i = 0u; i < OUTPUTS * ITEMS; i++)
		sum[i] = 0.0;
	for (uint b = 0u; 32u * b < k; b++) {
		barrier();
		bring_w(row, b);
		bring_x(x_row, b);
		barrier();
		for (uint j = 0u; j < 32u; j++) {
			float x[ITEMS];

			[[unroll]] for (uint c = 0u; c < ITEMS; c++)
				x[c] = x_tile[(c * SIDE + down) * PITCH + j];
			[[unroll]] for (uint o = 0u; o < OUTPUTS; o++) {
				float w = w_tile[(o * SIDE + across) * PITCH + j];

				[[unroll]] for (uint c = 0u; c < ITEMS; c++)
					sum[o * ITEMS + c] += w * x[c];
			}
		}
	}
	[[unroll]] for (uint i = 0u; i < OUTPUTS * ITEMS; i++) {
		uint out_n = n0 + i / ITEMS * SIDE + across, item = item0 + i % ITEMS * SIDE + down;

		if (out_n < outputs && item < items)
			emit(item, 0u, out_n, sum[i]);
	}
}

void main()
{
	uint lane = gl_LocalInvocationID.x;
	uint x_heads = arg(A_X_HEADS), x_row = arg(A_X_ROW), x_head = arg(A_X_HEAD);
	uvec2 x_base = arg_address(A_X);

	open_product();
	for (uint item0 = gl_WorkGroupID.y * TILE_ITEMS; item0 < items;
	     item0 += gl_NumWorkGroups.y * TILE_ITEMS) {
		uint item = min(item0 + lane % TILE_ITEMS, items - 1u);
		uvec2 x = times(x_base, item / heads, x_row);

		if (x_heads > 1u)
			x = plus(x, item % heads * x_head);
		for (uint n0 = GROUP_X * TILE_OUTPUTS; n0 < outputs; n0 += GROUPS_X * TILE_OUTPUTS)
			tile(n0, item0, times(w_base, min(n0 + lane, outputs - 1u), w_row), x);
	}
}
