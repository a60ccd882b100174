#version 450
// SPDX-License-Identifier: MIT
//
// NORM, and the norm that a product begins with.  A workgroup computes one (row, head), or with
// OVER_ROWS one group of columns of a sequence.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "round.glsl"

#define A_FLAGS 0u // 1: over rows, 2: row i of y is made of row out_row[i] of x, 4: plus one
#define A_SCALE 1u // of r
#define A_KIND 2u
#define A_EPS 3u
#define A_GROUP 4u // columns of a group
#define A_X 5u
#define A_R (A_X + VIEW_WORDS)
#define A_H (A_R + VIEW_WORDS)
#define A_Y (A_H + VIEW_WORDS)
#define A_STAT (A_Y + VIEW_WORDS)
#define A_G (A_STAT + VIEW_WORDS)
#define A_B (A_G + VIEW_WORDS)
#define A_INTS (A_B + VIEW_WORDS) // rounded rows
#define A_INT_ROW (A_INTS + 2u)

layout(constant_id = 0) const uint PARTS = 0u;
const bool IS_ROUNDED = (PARTS & 1u) != 0u, HAS_BIAS = (PARTS & 2u) != 0u;

View x, r, h, y, stat, g, b;
uint flags, kind;
float eps, scale_r;

float sum_at(uint row, uint head, uint c)
{
	float v = get(x, row, head, c);

	return !IS_ROUNDED && r.present ? v + scale_r * get(r, row, head, c) : v;
}

vec2 statistics(float sum, float squares, float count)
{
	if (kind == 0u)
		return vec2(0.0, 1.0);
	if (kind == 3u)
		return vec2(0.0, 1.0 / max(sqrt(squares), eps));
	return vec2(kind == 2u ? sum / count : 0.0, 1.0 / sqrt(squares / count + eps));
}

float finish(uint from, uint row, uint head, uint col, vec2 s)
{
	float v = sum_at(from, head, col);
	float n = (v - s.x) * s.y;

	if (g.present)
		n *= get(g, g.n_row > 1u ? row : 0u, g.n_head > 1u ? head : 0u, col) +
		     ((flags & 4u) != 0u ? 1.0 : 0.0);
	if (HAS_BIAS && b.present)
		n += get(b, b.n_row > 1u ? row : 0u, b.n_head > 1u ? head : 0u, col);
	if (h.present)
		put(h, row, head, col, v);
	return n;
}

// A row that is rounded instead of stored: the norm of a product, which has no r and no h, and whose
// columns are floats that follow each other (is_plain in rows.c).
void finish_rounded(uint from, uint row, uint head, uint n, vec2 s)
{
	uvec2 to = times(arg_address(A_INTS), row * x.n_head + head, arg(A_INT_ROW));
	float one = (flags & 4u) != 0u ? 1.0 : 0.0;

	for (uint i = gl_LocalInvocationID.x; i < n / 32u; i += LANES) {
		Words xs = Words(el(x, from, head, 32u * i));
		float v[32], d;
		int q[32];

		[[unroll]] for (uint c = 0u; c < 32u; c++)
			v[c] = (uintBitsToFloat(xs.w[c]) - s.x) * s.y;
		if (g.present) {
			Words w = Words(el(g, g.n_row > 1u ? row : 0u, g.n_head > 1u ? head : 0u, 32u * i));

			[[unroll]] for (uint c = 0u; c < 32u; c++)
				v[c] *= uintBitsToFloat(w.w[c]) + one;
		}
		if (HAS_BIAS && b.present) {
			Words w = Words(el(b, b.n_row > 1u ? row : 0u, b.n_head > 1u ? head : 0u, 32u * i));

			[[unroll]] for (uint c = 0u; c < 32u; c++)
				v[c] += uintBitsToFloat(w.w[c]);
		}
		d = round_group(v, q);
		put_group(to, i, n / 32u, q, d);
	}
}

void put_stat(uint row, uint i, vec2 s)
{
	if (!stat.present || gl_LocalInvocationID.x != 0u)
		return;
	store(cell(stat, row, 2u * i), floatBitsToUint(s.x));
	store(cell(stat, row, 2u * i + 1u), floatBitsToUint(s.y));
}

// `rows` rows from `first` on share their statistics.
void group_of(uint from, uint first, uint rows, uint head, uint at, uint n, uint index)
{
	uint total = rows * n;
	float sum = 0.0, squares = 0.0, mean = 0.0;
	vec2 s;

	if (kind == 2u) {
		for (uint i = gl_LocalInvocationID.x; i < total; i += LANES)
			sum += sum_at(from + i / n, head, at + i % n);
		sum = sum_of_all(sum);
		mean = sum / float(total);
	}
	if (kind != 0u) {
		for (uint i = gl_LocalInvocationID.x; i < total; i += LANES) {
			float v = sum_at(from + i / n, head, at + i % n) - mean;

			squares += v * v;
		}
		squares = sum_of_all(squares);
	}
	s = statistics(sum, squares, float(total));
	// h may be x: nobody overwrites what another one still sums
	barrier();
	if (IS_ROUNDED)
		finish_rounded(from, first, head, n, s);
	else
		for (uint i = gl_LocalInvocationID.x; i < total; i += LANES)
			put(y, first + i / n, head, at + i % n,
			    finish(from + i / n, first + i / n, head, at + i % n, s));
	for (uint i = 0u; i < rows; i++)
		put_stat(first + i, index, s);
}

void main()
{
	uint size, groups, n;

	flags = arg(A_FLAGS);
	kind = arg(A_KIND);
	eps = argf(A_EPS);
	scale_r = argf(A_SCALE);
	x = view(A_X);
	r = view(A_R);
	h = view(A_H);
	y = view(A_Y);
	stat = view(A_STAT);
	g = view(A_G);
	b = view(A_B);
	size = arg(A_GROUP);
	groups = (x.width + size - 1u) / size;
	n = (flags & 1u) != 0u ? rows_of(SPACE_SEQS) * groups : y.n_row * x.n_head * groups;
	for (uint i = gl_WorkGroupID.x; i < n; i += gl_NumWorkGroups.x) {
		uint group = i % groups, at = group * size, count = min(size, x.width - at);

		if ((flags & 1u) != 0u) {
			uvec2 rows = seq_rows(y.space, i / groups);

			if (rows.y > 0u)
				group_of(rows.x, rows.x, rows.y, 0u, at, count, group);
		} else {
			uint head = i / groups % x.n_head, row = i / groups / x.n_head;
			uint from = (flags & 2u) != 0u ? uint(step_int(LAY_OUT_ROW, row)) : row;

			group_of(from, row, 1u, head, at, count, head * groups + group);
		}
	}
}
