#version 450
// SPDX-License-Identifier: MIT
//
// What adapters add to a product: scale * B (A x) for each item, which is a (row, head), and the factors of the
// product with that.  A workgroup computes an item, 64 ranks at a time: A x into shared memory, then B times that.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "adapter.glsl"

#define A_X 0u // as in product.comp
#define A_X_ROW 2u
#define A_X_HEAD 3u
#define A_X_HEADS 4u
#define A_HEADS 5u
#define A_SPACE 6u
#define A_BY_ID 7u // the slice of item (row, j) is ids[row][j]
#define A_TABLE 8u
#define A_N 10u
#define A_STACK 11u
#define A_OUT 12u // f32 [items][2][n]: what is added, and the factors of the sums
#define A_IDS 14u

shared float part[LANES][16];
shared float ax[LANES];

void ranks(Adapter ad, uvec2 x, uint slice, uint from, uint some)
{
	uint lane = gl_LocalInvocationID.x & 15u;

	for (uint j = gl_LocalInvocationID.x >> 4; j < some; j += 4u) {
		Words row = Words(times(ad.a, slice * ad.rank + from + j, 4u * ad.k));
		float sum = 0.0;

		for (uint c = lane; c < ad.k; c += 16u)
			sum += uintBitsToFloat(row.w[c]) * uintBitsToFloat(Words(x).w[c]);
		part[j][lane] = sum;
	}
	barrier();
	if (gl_LocalInvocationID.x < some) {
		float sum = 0.0;

		for (uint i = 0u; i < 16u; i++)
			sum += part[gl_LocalInvocationID.x][i];
		ax[gl_LocalInvocationID.x] = sum;
	}
	barrier();
}

void main()
{
	uint heads = arg(A_HEADS), n = arg(A_N), items = rows_of(arg(A_SPACE)) * heads;
	View ids = view(A_IDS);

	for (uint i = gl_WorkGroupID.x; i < items; i += gl_NumWorkGroups.x) {
		Adapter ad = adapter_of(arg_address(A_TABLE), arg(A_SPACE), i / heads);
		uvec2 x = times(arg_address(A_X), i / heads, arg(A_X_ROW));
		uvec2 out_row = times(arg_address(A_OUT), i, 8u * n);
		int slice = arg(A_BY_ID) != 0u ? cell_int(ids, i / heads, i % heads) : 0;
		bool used = !is_null(ad.b) && slice >= 0 && uint(slice) < arg(A_STACK);
		uint s = used && ad.n_stack > 1u ? uint(slice) : 0u, rank = used ? ad.rank : 0u;

		if (arg(A_X_HEADS) > 1u)
			x = plus(x, i % heads * arg(A_X_HEAD));
		for (uint c = gl_LocalInvocationID.x; c < n; c += LANES) {
			store(plus(out_row, 4u * c),
			      used && rank == 0u ? floatBitsToUint(ad.scale * uintBitsToFloat(load(
							   plus(times(ad.b, s, 4u * n), 4u * c))))
						 : 0u);
			store(plus(out_row, 4u * (n + c)),
			      used && !is_null(ad.gain) ? load(plus(times(ad.gain, s, 4u * n), 4u * c))
							: floatBitsToUint(1.0));
		}
		for (uint from = 0u; from < rank; from += LANES) {
			uint some = min(LANES, rank - from);

			ranks(ad, x, s, from, some);
			for (uint c = gl_LocalInvocationID.x; c < n; c += LANES) {
				Words b = Words(times(ad.b, s * n + c, 4u * rank));
				float sum = 0.0;

				for (uint j = 0u; j < some; j++)
					sum += uintBitsToFloat(b.w[from + j]) * ax[j];
				store(plus(out_row, 4u * c),
				      floatBitsToUint(uintBitsToFloat(load(plus(out_row, 4u * c))) +
						      ad.scale * sum));
			}
			barrier();
		}
	}
}
