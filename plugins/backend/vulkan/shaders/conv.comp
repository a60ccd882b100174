#version 450
// SPDX-License-Identifier: MIT
//
// CONV.  Phase 0 computes y, an invocation for each element; phase 1 stores the states, an invocation
// for each column of a sequence.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"

#define DEPTHWISE 1u
#define SHIFT 2u
#define POOL 3u

#define A_KIND 0u
#define A_W 1u
#define A_BIAS 3u
#define A_KERNEL 5u
#define A_DILATION 6u
#define A_LEFT 7u
#define A_N 8u
#define A_OVERLAP 9u
#define A_MAP 10u
#define A_GROUP 11u // POOL: of the blocks
#define A_ACT 12u
#define A_P 13u
#define A_HAS_CACHE 17u
#define A_CACHE_GROUP 18u
#define A_CACHE 19u
#define A_SLOT_BYTES 21u
#define A_DK 22u // rows of a state
#define A_K_COLS 23u
#define A_X 24u
#define A_SCORE (A_X + VIEW_WORDS)
#define A_Y (A_SCORE + VIEW_WORDS)

View x, score, y;
uint cols, dk, first, n;
int slot_in;

uvec2 state_at(int slot, uint j, uint col)
{
	return plus(times(arg_address(A_CACHE), uint(slot), arg(A_SLOT_BYTES)),
		    4u * (j * arg(A_K_COLS) + col));
}

// Row i of the sequence, which may lie before its first one; column of x, then of score.
float at(int i, uint col)
{
	if (i >= int(n))
		return 0.0;
	if (i >= 0)
		return col < cols ? cell_get(x, first + uint(i), col)
				  : cell_get(score, first + uint(i), col - cols);
	if (arg(A_HAS_CACHE) == 0u || -i > int(dk) || slot_in < 0)
		return 0.0;
	return uintBitsToFloat(load(state_at(slot_in, uint(int(dk) + i), col)));
}

float weight_at(uint i)
{
	return uintBitsToFloat(load(plus(arg_address(A_W), 4u * i)));
}

float bias_at(uint col)
{
	uvec2 a = arg_address(A_BIAS);

	return is_null(a) ? 0.0 : uintBitsToFloat(load(plus(a, 4u * col)));
}

float depthwise(uint i, uint col)
{
	uint kernel = arg(A_KERNEL);
	float sum = bias_at(col);

	for (uint j = 0u; j < kernel; j++)
		sum += weight_at(col * kernel + j) *
		       at(int(i) - int(arg(A_LEFT)) + int(j * arg(A_DILATION)), col);
	return sum;
}

float on_map(uint i, uint col, uint width, uint height)
{
	uint kernel = arg(A_KERNEL);
	int left = int(arg(A_LEFT));
	float sum = bias_at(col);

	for (uint a = 0u; a < kernel; a++) {
		int line = int(i / width) - left + int(a * arg(A_DILATION));

		for (uint b = 0u; b < kernel; b++) {
			int place = int(i % width) - left + int(b * arg(A_DILATION));

			if (line >= 0 && line < int(height) && place >= 0 && place < int(width))
				sum += weight_at((col * kernel + a) * kernel + b) *
				       at(line * int(width) + place, col);
		}
	}
	return sum;
}

float pooled(uint i, uint col)
{
	uint width = y.n_head * y.width;
	int r = int(arg(A_N)), pos = step_int(LAY_POS, first + i);
	int from = arg(A_OVERLAP) != 0u ? 2 * r : r;
	float sum = 0.0, total = 0.0, most = -INF;

	for (int pass = score.present ? 0 : 1; pass < 2; pass++) {
		for (int back = min(from - 1, pos); back >= 0; back--) {
			uint shift = arg(A_OVERLAP) != 0u && back < r ? width : 0u;
			float s = score.present ? at(int(i) - back, cols + shift + col) : 0.0, w;

			if (pass == 0) {
				most = max(most, s);
				continue;
			}
			w = score.present ? exp(s - most) : 1.0;
			total += w;
			sum += w * at(int(i) - back, shift + col);
		}
	}
	return total > 0.0 ? sum / total : 0.0;
}

void set_sequence(uint seq)
{
	uvec2 rows = seq_rows(y.space, seq);

	first = rows.x;
	n = rows.y;
	slot_in = arg(A_HAS_CACHE) != 0u ? group_int(arg(A_CACHE_GROUP), GROUP_STATE_IN, seq) : -1;
}

float element(uint seq, uint i, uint col)
{
	uint kind = arg(A_KIND);
	vec4 p = vec4(argf(A_P), argf(A_P + 1u), argf(A_P + 2u), argf(A_P + 3u));
	uint width = n, height = 1u;

	if (kind == SHIFT)
		return at(int(i) - int(arg(A_N)), col);
	if (kind == POOL)
		return group_int(arg(A_GROUP), GROUP_SLOT, first + i) >= 0 ? pooled(i, col) : 0.0;
	if (arg(A_MAP) == 0u)
		return activation(arg(A_ACT), p, depthwise(i, col), 0.0, false);
	if (y.space >= SPACE_X0 && y.space < SPACE_OWN &&
	    layout_of(LAY_X_W + y.space - SPACE_X0) != 0u) {
		width = uint(step_int(LAY_X_W + y.space - SPACE_X0, seq));
		height = uint(step_int(LAY_X_H + y.space - SPACE_X0, seq));
	}
	return activation(arg(A_ACT), p, on_map(i, col, max(width, 1u), height), 0.0, false);
}

void store_state(uint i, int slot, uint col)
{
	for (uint j = 0u; j < dk; j++)
		store(state_at(slot, j, col), floatBitsToUint(at(int(i + 1u + j) - int(dk), col)));
}

void main()
{
	x = view(A_X);
	score = view(A_SCORE);
	y = view(A_Y);
	cols = x.n_head * x.width;
	dk = arg(A_DK);
	if (push.phase == 0u) {
		for (uint row = gl_WorkGroupID.y; row < y.n_row; row += gl_NumWorkGroups.y) {
			uint seq = seq_of(y.space, row);

			set_sequence(seq);
			for (uint c = gl_GlobalInvocationID.x; c < y.n_head * y.width;
			     c += gl_NumWorkGroups.x * LANES)
				store(cell(y, row, c), floatBitsToUint(element(seq, row - first, c)));
		}
		return;
	}
	for (uint seq = gl_WorkGroupID.y; seq < rows_of(SPACE_SEQS); seq += gl_NumWorkGroups.y) {
		set_sequence(seq);
		for (uint c = gl_GlobalInvocationID.x; c < arg(A_K_COLS); c += gl_NumWorkGroups.x * LANES) {
			int last = -1;

			// the slot that the history is read from is written last
			for (uint i = 0u; i < n; i++) {
				int to = group_int(arg(A_CACHE_GROUP), GROUP_STATE_OUT, first + i);

				if (to >= 0 && to == slot_in)
					last = int(i);
				else if (to >= 0)
					store_state(i, to, c);
			}
			if (last >= 0)
				store_state(uint(last), slot_in, c);
		}
	}
}
