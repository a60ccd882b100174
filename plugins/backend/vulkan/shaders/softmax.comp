#version 450
// SPDX-License-Identifier: MIT
//
// SOFTMAX.  A workgroup computes one (row, head); with sinkhorn one invocation computes a row, whose
// matrix is small.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define A_SCALE 0u
#define A_SINKHORN 1u
#define A_EPS 2u
#define A_X 3u
#define A_Y (A_X + VIEW_WORDS)

View x, y;
float scale, eps;

void one_head(uint row, uint head)
{
	float most = -INF, sum = 0.0;

	for (uint c = gl_LocalInvocationID.x; c < x.width; c += LANES)
		most = max(most, scale * get(x, row, head, c));
	most = max_of_all(most);
	for (uint c = gl_LocalInvocationID.x; c < x.width; c += LANES)
		sum += most == -INF ? 0.0 : exp(scale * get(x, row, head, c) - most);
	sum = sum_of_all(sum);
	for (uint c = gl_LocalInvocationID.x; c < x.width; c += LANES)
		put(y, row, head, c,
		    most == -INF ? 0.0 : exp(scale * get(x, row, head, c) - most) / sum);
}

// Divides the elements of a row or a column of the matrix by their sum.
void divide(uint row, uint at, bool column)
{
	uint n = column ? x.n_head : x.width;
	float sum = 0.0;

	for (uint i = 0u; i < n; i++)
		sum += column ? get(y, row, i, at) : get(y, row, at, i);
	for (uint i = 0u; i < n; i++) {
		uint h = column ? i : at, c = column ? at : i;

		put(y, row, h, c, get(y, row, h, c) / (sum + eps));
	}
}

void one_matrix(uint row, uint times_n)
{
	for (uint h = 0u; h < x.n_head; h++) {
		float most = -INF, sum = 0.0;

		for (uint c = 0u; c < x.width; c++)
			most = max(most, scale * get(x, row, h, c));
		for (uint c = 0u; c < x.width; c++)
			sum += exp(scale * get(x, row, h, c) - most);
		for (uint c = 0u; c < x.width; c++)
			put(y, row, h, c, exp(scale * get(x, row, h, c) - most) / sum + eps);
	}
	for (uint i = 0u; i < times_n; i++) {
		for (uint h = 0u; i > 0u && h < x.n_head; h++)
			divide(row, h, false);
		for (uint c = 0u; c < x.width; c++)
			divide(row, c, true);
	}
}

void main()
{
	uint sinkhorn = arg(A_SINKHORN), heads;

	x = view(A_X);
	y = view(A_Y);
	scale = argf(A_SCALE);
	eps = argf(A_EPS);
	heads = sinkhorn > 0u ? 1u : y.n_head;
	for (uint i = gl_WorkGroupID.x; i < y.n_row * heads; i += gl_NumWorkGroups.x) {
		if (sinkhorn == 0u)
			one_head(i / heads, i % heads);
		else if (gl_LocalInvocationID.x == 0u)
			one_matrix(i, sinkhorn);
	}
}
