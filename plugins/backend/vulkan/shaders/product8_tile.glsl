// SPDX-License-Identifier: MIT
//
// Many rows that were rounded to 8 bits times a weight, as product8.glsl: a workgroup computes a tile of
// outputs and items.  It brings a group of 32 columns of each to shared memory, from which a lane takes
// every eighth output and item.  Groups are added in their order.
#include "lib.glsl"
#include "decode.glsl"
#include "product.glsl"
#include "product8_group.glsl"

#define TILE_OUTPUTS 64u // TILE_OUTPUTS and TILE_ITEMS of product.c
#define TILE_ITEMS 32u
#define SIDE 8u // lanes along each side of the tile
#define OUTPUTS (TILE_OUTPUTS / SIDE)
#define ITEMS (TILE_ITEMS / SIDE)

shared uvec4 w_lo[TILE_OUTPUTS], w_hi[TILE_OUTPUTS], x_lo[TILE_ITEMS], x_hi[TILE_ITEMS];
shared vec2 w_dm[TILE_OUTPUTS];
shared ivec2 w_s[TILE_OUTPUTS], x_s[TILE_ITEMS];
shared float x_d[TILE_ITEMS];

void bring_group(uvec2 row, uvec2 x_row, uint g, uint groups)
{
	uint i = gl_LocalInvocationID.x;
	Group w = group_at(Words(row), g, groups);

	w_lo[i] = w.lo;
	w_hi[i] = w.hi;
	w_dm[i] = vec2(w.d, w.m);
	w_s[i] = ivec2(w.s0, w.s1);
	if (i < TILE_ITEMS) {
		Rounded x = rounded_at(x_row, g, groups);

		x_lo[i] = x.lo;
		x_hi[i] = x.hi;
		x_d[i] = x.d;
		x_s[i] = ivec2(x.s0, x.s1);
	}
}

Group weight_of(uint i)
{
	Group w;

	w.lo = w_lo[i];
	w.hi = w_hi[i];
	w.d = w_dm[i].x;
	w.m = w_dm[i].y;
	w.s0 = w_s[i].x;
	w.s1 = w_s[i].y;
	return w;
}

Rounded item_of(uint i)
{
	Rounded x;

	x.lo = x_lo[i];
	x.hi = x_hi[i];
	x.d = x_d[i];
	x.s0 = x_s[i].x;
	x.s1 = x_s[i].y;
	return x;
}

void tile(uint n0, uint item0, uvec2 row, uvec2 x_row, uint groups)
{
	uint across = gl_LocalInvocationID.x % SIDE, down = gl_LocalInvocationID.x / SIDE;
	float sum[OUTPUTS * ITEMS];

	[[unroll]] for (uint i = 0u; i < OUTPUTS * ITEMS; i++)
		sum[i] = 0.0;
	for (uint g = 0u; g < groups; g++) {
		Rounded x[ITEMS];

		barrier();
		bring_group(row, x_row, g, groups);
		barrier();
		[[unroll]] for (uint c = 0u; c < ITEMS; c++)
			x[c] = item_of(c * SIDE + down);
		[[unroll]] for (uint o = 0u; o < OUTPUTS; o++) {
			Group w = weight_of(o * SIDE + across);

			[[unroll]] for (uint c = 0u; c < ITEMS; c++)
				sum[o * ITEMS + c] += times_group(w, x[c]);
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
	uint lane = gl_LocalInvocationID.x, x_heads = arg(A_X_HEADS), x_row = arg(A_X_ROW);
	uvec2 x_base = arg_address(A_X);

	open_product();
	for (uint item0 = gl_WorkGroupID.y * TILE_ITEMS; item0 < items;
	     item0 += gl_NumWorkGroups.y * TILE_ITEMS) {
		uint item = min(item0 + lane % TILE_ITEMS, items - 1u);
		uvec2 x = times(x_base, x_heads > 1u ? item : item / heads, x_row);

		for (uint n0 = GROUP_X * TILE_OUTPUTS; n0 < outputs; n0 += GROUPS_X * TILE_OUTPUTS)
			tile(n0, item0, times(w_base, min(n0 + lane, outputs - 1u), w_row), x, k / 32u);
	}
}
