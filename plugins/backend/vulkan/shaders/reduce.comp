#version 450
// SPDX-License-Identifier: MIT
//
// REDUCE.  Over rows an invocation computes one column; along a row a workgroup does.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define KIND_MEAN 1u
#define KIND_SUM 2u
#define KIND_MAX 3u
#define KIND_FIRST 4u
#define KIND_LAST 5u
#define KIND_ARGMAX 6u
#define KIND_TOP_K 7u
#define AXIS_SEQ 1u
#define AXIS_ROW 3u

#define A_KIND 0u
#define A_AXIS 1u
#define A_N 2u
#define A_X 3u
#define A_Y (A_X + VIEW_WORDS)
#define A_Y2 (A_Y + VIEW_WORDS)

View x, y, y2;
shared float best_value[LANES];
shared uint best_at[LANES];

float over_rows(uint kind, uint first, uint n, uint head, uint c)
{
	float v = 0.0;

	if (n == 0u)
		return 0.0;
	if (kind == KIND_FIRST || kind == KIND_LAST)
		return get(x, kind == KIND_FIRST ? first : first + n - 1u, head, c);
	for (uint i = 0u; i < n; i++) {
		float e = get(x, first + i, head, c);

		v = i == 0u ? e : kind == KIND_MAX ? max(v, e) : v + e;
	}
	return kind == KIND_MEAN ? v / float(n) : v;
}

// Does (a, at a) come before (b, at b)?
bool before(float a, uint at_a, float b, uint at_b)
{
	return a > b || (a == b && at_a < at_b);
}

// The n greatest, one after the other: each is the first after the last.
void greatest(uint row, uint head, uint n)
{
	float last = INF;
	uint last_at = 0u, lane = gl_LocalInvocationID.x;
	bool any = false;

	for (uint j = 0u; j < min(n, x.width); j++) {
		float most = 0.0;
		uint at = NONE;

		for (uint c = lane; c < x.width; c += LANES) {
			float v = get(x, row, head, c);

			if (any && !before(last, last_at, v, c))
				continue;
			if (at == NONE || before(v, c, most, at)) {
				most = v;
				at = c;
			}
		}
		barrier();
		best_value[lane] = most;
		best_at[lane] = at;
		barrier();
		at = NONE;
		for (uint i = 0u; i < LANES; i++) {
			if (best_at[i] == NONE)
				continue;
			if (at == NONE || before(best_value[i], best_at[i], most, at)) {
				most = best_value[i];
				at = best_at[i];
			}
		}
		if (at == NONE)
			return;
		last = most;
		last_at = at;
		any = true;
		if (lane != 0u)
			continue;
		store(el(y, row, head, j), at);
		if (y2.present)
			put(y2, row, head, j, most);
	}
}

void along_row(uint kind, uint row, uint head)
{
	float v = kind == KIND_MAX ? -INF : 0.0;

	if (kind >= KIND_ARGMAX) {
		greatest(row, head, kind == KIND_TOP_K ? arg(A_N) : 1u);
		return;
	}
	if (kind == KIND_FIRST || kind == KIND_LAST) {
		v = get(x, row, head, kind == KIND_FIRST ? 0u : x.width - 1u);
	} else {
		for (uint c = gl_LocalInvocationID.x; c < x.width; c += LANES) {
			float e = get(x, row, head, c);

			v = kind == KIND_MAX ? max(v, e) : v + e;
		}
		v = kind == KIND_MAX ? max_of_all(v) : sum_of_all(v);
		if (kind == KIND_MEAN)
			v /= float(x.width);
	}
	if (gl_LocalInvocationID.x == 0u)
		put(y, row, head, 0u, v);
}

void main()
{
	uint kind = arg(A_KIND), axis = arg(A_AXIS), n;

	x = view(A_X);
	y = view(A_Y);
	y2 = view(A_Y2);
	n = y.n_row * y.n_head;
	for (uint i = gl_WorkGroupID.x; i < n; i += gl_NumWorkGroups.x) {
		uint row = i / y.n_head, head = i % y.n_head;
		uvec2 rows = uvec2(row * arg(A_N), arg(A_N));

		if (axis == AXIS_ROW) {
			along_row(kind, row, head);
			continue;
		}
		if (axis == AXIS_SEQ)
			rows = seq_rows(x.space, row);
		for (uint c = gl_LocalInvocationID.x; c < y.width; c += LANES)
			put(y, row, head, c, over_rows(kind, rows.x, rows.y, head, c));
	}
}
