#version 450
// SPDX-License-Identifier: MIT
//
// SCAN.  An invocation computes one value column of a head of a sequence, over all rows: it owns dk
// numbers of the state, so no two exchange anything.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define MAMBA1 1u
#define MAMBA2 2u
#define RWKV6 3u
#define RWKV7 4u
#define GLA 5u
#define DELTA 6u
#define MOST 256u

#define A_KIND 0u
#define A_N_HEAD 1u
#define A_N_KEY 2u
#define A_DK 3u
#define A_DV 4u
#define A_CYCLE 5u
#define A_SCALE 6u
#define A_GROUP 7u
#define A_STATE 8u
#define A_SLOT_BYTES 10u
#define A_W0 11u
#define A_W1 13u
#define A_GATES 15u
#define A_IN 16u
#define A_Y (A_IN + 6u * VIEW_WORDS)

float s[MOST];
View in0, in1, in2, in3, in4, in5;
uint kind, dk, dv, head, key, col, row, gates;

float w_at(uint which, uint i)
{
	return uintBitsToFloat(load(plus(arg_address(which), 4u * i)));
}

float own(View v, uint i)
{
	return cell_get(v, row, head * dk + i);
}

float of_key(View v, uint i)
{
	return cell_get(v, row, key * dk + i);
}

float gate(uint i)
{
	return cell_get(in3, in3.row_bytes == 0u ? 0u : row, head * gates + (gates == 1u ? 0u : i));
}

float mamba()
{
	bool first = kind == MAMBA1;
	float x = cell_get(in0, row, head * dv + col), dt = cell_get(in1, row, head), y = 0.0;
	float d = is_null(arg_address(A_W1)) ? 0.0 : w_at(A_W1, head);

	for (uint i = 0u; i < dk; i++) {
		float a = w_at(A_W0, first ? head * dk + i : head);
		float b = first ? cell_get(in2, row, i) : of_key(in2, i);
		float c = first ? cell_get(in3, row, i) : of_key(in3, i);

		s[i] = exp(dt * a) * s[i] + dt * x * b;
		y += c * s[i];
	}
	return y + d * x;
}

float rwkv6()
{
	float v = cell_get(in2, row, head * dv + col), y = 0.0;

	for (uint i = 0u; i < dk; i++) {
		float kv = own(in1, i) * v;

		y += own(in0, i) * (s[i] + w_at(A_W0, head * dk + i) * kv);
		s[i] = own(in3, i) * s[i] + kv;
	}
	return y;
}

float rwkv7()
{
	float v = cell_get(in3, row, head * dv + col), sa = 0.0, y = 0.0;

	for (uint i = 0u; i < dk; i++)
		sa += s[i] * own(in4, i);
	for (uint i = 0u; i < dk; i++) {
		s[i] = own(in1, i) * s[i] + sa * own(in5, i) + v * own(in2, i);
		y += s[i] * own(in0, i);
	}
	return y;
}

float gla()
{
	float v = cell_get(in2, row, head * dv + col), y = 0.0;

	for (uint i = 0u; i < dk; i++) {
		s[i] = gate(i) * s[i] + of_key(in1, i) * v;
		y += of_key(in0, i) * s[i];
	}
	return y * argf(A_SCALE);
}

float delta()
{
	float v = cell_get(in2, row, head * dv + col), d = 0.0, y = 0.0;

	for (uint i = 0u; i < dk; i++) {
		s[i] *= exp(gate(i));
		d += of_key(in1, i) * s[i];
	}
	d = cell_get(in4, row, head) * (v - d);
	for (uint i = 0u; i < dk; i++) {
		s[i] += of_key(in1, i) * d;
		y += of_key(in0, i) * s[i];
	}
	return y * argf(A_SCALE);
}

float one_row()
{
	switch (kind) {
	case MAMBA1:
	case MAMBA2: return mamba();
	case RWKV6: return rwkv6();
	case RWKV7: return rwkv7();
	case GLA: return gla();
	}
	return delta();
}

Words state_of(int slot)
{
	return Words(plus(times(arg_address(A_STATE), uint(slot), arg(A_SLOT_BYTES)),
			  4u * head * dk * dv));
}

// Number of state element i of this column.
uint place(uint i)
{
	return kind == MAMBA1 || kind == MAMBA2 || kind == RWKV7 ? col * dk + i : i * dv + col;
}

void main()
{
	View y = view(A_Y);
	uint n_head = arg(A_N_HEAD), n;

	kind = arg(A_KIND);
	dk = arg(A_DK);
	dv = arg(A_DV);
	gates = arg(A_GATES);
	in0 = view(A_IN);
	in1 = view(A_IN + VIEW_WORDS);
	in2 = view(A_IN + 2u * VIEW_WORDS);
	in3 = view(A_IN + 3u * VIEW_WORDS);
	in4 = view(A_IN + 4u * VIEW_WORDS);
	in5 = view(A_IN + 5u * VIEW_WORDS);
	n = rows_of(SPACE_SEQS) * n_head * dv;
	for (uint unit = gl_GlobalInvocationID.x; unit < n; unit += gl_NumWorkGroups.x * LANES) {
		uint seq = unit / (n_head * dv);
		uvec2 rows = seq_rows(SPACE_TOKENS, seq);
		int slot = group_int(arg(A_GROUP), GROUP_STATE_IN, seq);

		head = unit / dv % n_head;
		col = unit % dv;
		key = arg(A_CYCLE) != 0u ? head % arg(A_N_KEY) : head / (n_head / arg(A_N_KEY));
		for (uint i = 0u; i < dk; i++)
			s[i] = slot < 0 ? 0.0 : uintBitsToFloat(state_of(slot).w[place(i)]);
		for (uint t = 0u; t < rows.y; t++) {
			int to;

			row = rows.x + t;
			store(cell(y, row, head * dv + col), floatBitsToUint(one_row()));
			to = group_int(arg(A_GROUP), GROUP_STATE_OUT, row);
			for (uint i = 0u; to >= 0 && i < dk; i++)
				state_of(to).w[place(i)] = floatBitsToUint(s[i]);
		}
	}
}
