// SPDX-License-Identifier: MIT
//
// What all shaders share: access to memory by address, the arguments of an op, the step and windows.
//
// Memory is read and written as 32-bit words through addresses of two words, so that no optional
// feature beyond buffer addresses is needed.  An op's arguments are words in the plan's argument
// buffer; plan.h names the words that both sides know.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require

#define LANES 64u
layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint w[]; };
layout(push_constant) uniform Push {
	uvec2 args; // the plan's argument buffer, or the op's arguments with ARGUMENTS_BY_ADDRESS
	uvec2 env;  // what the host writes for each step
	uvec2 points; // the numbers of backend/common/device_points.h
	uint phase;
	uint part, parts; // the dispatch is one of several that divide the workgroups in x
} push;
// The workgroup in x, and their number, over all parts.
#define GROUP_X (gl_WorkGroupID.x * push.parts + push.part)
#define GROUPS_X (gl_NumWorkGroups.x * push.parts)
#ifndef ARGUMENTS_BY_ADDRESS
// The op's arguments and the environment as uniform buffers, whose words drivers load once for all lanes.
layout(set = 0, binding = 0, std140) uniform Arguments { uvec4 v[256]; } arguments;
layout(set = 0, binding = 1, std140) uniform Environment { uvec4 v[128]; } environment;
#endif

// ---- words of the environment ----
#define ENV_BLOCK 0u
#define ENV_ROWS 2u
#define ENV_ADAPTERS 11u // some row of the step has an adapter
#define ENV_AREA 12u // of a group: address, bytes of a part, half of the first exchange
#define ENV_INPUT 16u // 4 words each: address, bytes between rows, rows
// ---- words of the step's layout, at the start of the arguments: byte offsets ----
#define LAY_TOKEN 0u
#define LAY_POS 1u
#define LAY_SEQ_OF 5u
#define LAY_Q_START 6u
#define LAY_Q_LEN 7u
#define LAY_SEQ_SLOT 8u
#define LAY_OUT_ROW 9u
#define LAY_TREE 10u
#define LAY_LORA_SLOT 11u
#define LAY_X_OFF 12u
#define LAY_X_H 18u
#define LAY_X_W 24u
#define LAY_GROUP 32u // 8 words each: kv_lo, kv_hi, slot, change, state_in, state_out
#define SPACE_TOKENS 0u
#define SPACE_OUTPUTS 1u
#define SPACE_SEQS 2u
#define SPACE_X0 3u
#define SPACE_OWN 9u
#define NONE 0xffffffffu
#define INF uintBitsToFloat(0x7f800000u)

// ---- addresses ----

uvec2 plus(uvec2 a, uint bytes)
{
	uint carry, lo = uaddCarry(a.x, bytes, carry);

	return uvec2(lo, a.y + carry);
}

uvec2 times(uvec2 a, uint n, uint size)
{
	uint hi, lo, carry;

	umulExtended(n, size, hi, lo);
	lo = uaddCarry(a.x, lo, carry);
	return uvec2(lo, a.y + hi + carry);
}

uint load(uvec2 a)
{
	return Words(a).w[0];
}

void store(uvec2 a, uint v)
{
	Words(a).w[0] = v;
}

// ---- arguments ----

uint arg(uint i)
{
#ifdef ARGUMENTS_BY_ADDRESS
	return Words(push.args).w[i];
#else
	return arguments.v[i >> 2][i & 3u];
#endif
}

float argf(uint i)
{
	return uintBitsToFloat(arg(i));
}

uvec2 arg_address(uint i)
{
	return uvec2(arg(i), arg(i + 1u));
}

bool is_null(uvec2 a)
{
	return (a.x | a.y) == 0u;
}

// ---- the step ----

uint env(uint i)
{
#ifdef ARGUMENTS_BY_ADDRESS
	return Words(push.env).w[i];
#else
	return environment.v[i >> 2][i & 3u];
#endif
}

uint rows_of(uint space)
{
	return space < SPACE_OWN ? env(ENV_ROWS + space) : 1u;
}

uint layout_of(uint i)
{
	return Words(push.args).w[i];
}

Words step_array(uint byte_offset)
{
	return Words(plus(uvec2(env(ENV_BLOCK), env(ENV_BLOCK + 1u)), byte_offset));
}

int step_int(uint lay, uint i)
{
	return int(step_array(layout_of(lay)).w[i]);
}

int group_int(uint group, uint field, uint i)
{
	return step_int(LAY_GROUP + 8u * group + field, i);
}
#define GROUP_KV_LO 0u
#define GROUP_KV_HI 1u
#define GROUP_SLOT 2u
#define GROUP_CHANGE 3u
#define GROUP_STATE_IN 4u
#define GROUP_STATE_OUT 5u

uint seq_of(uint space, uint row)
{
	if (space == SPACE_TOKENS)
		return uint(step_int(LAY_SEQ_OF, row));
	if (space == SPACE_OUTPUTS)
		return uint(step_int(LAY_SEQ_OF, uint(step_int(LAY_OUT_ROW, row))));
	if (space >= SPACE_X0 && space < SPACE_OWN) {
		uint lo = 0u, hi = rows_of(SPACE_SEQS);

		while (hi - lo > 1u) {
			uint mid = (lo + hi) / 2u;

			if (uint(step_int(LAY_X_OFF + space - SPACE_X0, mid)) <= row)
				lo = mid;
			else
				hi = mid;
		}
		return lo;
	}
	return row;
}

// First row of a sequence and its number of rows.
uvec2 seq_rows(uint space, uint seq)
{
	if (space == SPACE_TOKENS)
		return uvec2(step_int(LAY_Q_START, seq), step_int(LAY_Q_LEN, seq));
	if (space >= SPACE_X0 && space < SPACE_OWN) {
		int first = step_int(LAY_X_OFF + space - SPACE_X0, seq);

		return uvec2(first, step_int(LAY_X_OFF + space - SPACE_X0, seq + 1u) - first);
	}
	return uvec2(seq, 1u);
}

int token_row(uint space, uint row)
{
	if (space == SPACE_TOKENS)
		return int(row);
	return space == SPACE_OUTPUTS ? step_int(LAY_OUT_ROW, row) : -1;
}

int position(uint space, uint row, uint plane)
{
	int t = token_row(space, row);

	if (t >= 0)
		return step_int(LAY_POS + plane, uint(t));
	return int(row - seq_rows(space, seq_of(space, row)).x);
}

// ---- windows ----

#define VIEW_WORDS 12u
#define VIEW_PRESENT 1u
#define VIEW_I32 2u
#define VIEW_INPUT 4u
#define VIEW_BLOCK 8u // the address is an offset in the step block
struct View {
	uvec2 base;
	uint row_bytes, n_row;
	uint col0, n_head, head_stride, width, fold, value_width, space;
	bool present, i32;
};

View view(uint at)
{
	View v;
	uint flags = arg(at + 10u);

	v.base = arg_address(at);
	v.row_bytes = arg(at + 2u);
	v.col0 = arg(at + 3u);
	v.n_head = arg(at + 4u);
	v.head_stride = arg(at + 5u);
	v.width = arg(at + 6u);
	v.fold = arg(at + 7u);
	v.value_width = arg(at + 8u);
	v.space = arg(at + 9u);
	v.present = (flags & VIEW_PRESENT) != 0u;
	v.i32 = (flags & VIEW_I32) != 0u;
	v.n_row = rows_of(v.space);
	if ((flags & VIEW_INPUT) != 0u) {
		uint in_at = ENV_INPUT + 4u * arg(at + 11u);

		v.base = uvec2(env(in_at), env(in_at + 1u));
		v.row_bytes = env(in_at + 2u);
		if (v.space == SPACE_OWN)
			v.n_row = env(in_at + 3u);
		v.present = !is_null(v.base);
	}
	if ((flags & VIEW_BLOCK) != 0u)
		v.base = plus(uvec2(env(ENV_BLOCK), env(ENV_BLOCK + 1u)), v.base.x);
	v.n_row /= v.fold;
	return v;
}

// Address of an element.
uvec2 el(View v, uint row, uint head, uint col)
{
	uint j = v.col0 + head * v.head_stride + col;
	uvec2 p = times(v.base, row * v.fold, v.row_bytes);

	if (v.fold > 1u) {
		p = times(p, j / v.value_width, v.row_bytes);
		j %= v.value_width;
	}
	return plus(p, 4u * j);
}

uint get_word(View v, uint row, uint head, uint col)
{
	return load(el(v, row, head, col));
}

float as_float(View v, uint w)
{
	return v.i32 ? float(int(w)) : uintBitsToFloat(w);
}

float get(View v, uint row, uint head, uint col)
{
	return as_float(v, get_word(v, row, head, col));
}

void put(View v, uint row, uint head, uint col, float x)
{
	store(el(v, row, head, col), floatBitsToUint(x));
}

// Column j of a row, counted across its heads.
uvec2 cell(View v, uint row, uint j)
{
	return v.n_head == 1u ? el(v, row, 0u, j) : el(v, row, j / v.width, j % v.width);
}

int cell_int(View v, uint row, uint j)
{
	return int(load(cell(v, row, j)));
}

float cell_get(View v, uint row, uint j)
{
	return as_float(v, load(cell(v, row, j)));
}

int float_to_int(float x)
{
	if (isnan(x))
		return 0;
	return x >= 2147483648.0 ? 0x7fffffff : x < -2147483648.0 ? int(0x80000000u) : int(x);
}

// ---- sums over the workgroup ----

shared float lib_sum[LANES];

float sum_of_all(float v)
{
	uint i = gl_LocalInvocationID.x;

	barrier();
	lib_sum[i] = v;
	barrier();
	[[dont_unroll]] for (uint n = LANES / 2u; n > 0u; n /= 2u) {
		if (i < n)
			lib_sum[i] += lib_sum[i + n];
		barrier();
	}
	return lib_sum[0];
}

float max_of_all(float v)
{
	uint i = gl_LocalInvocationID.x;

	barrier();
	lib_sum[i] = v;
	barrier();
	[[dont_unroll]] for (uint n = LANES / 2u; n > 0u; n /= 2u) {
		if (i < n)
			lib_sum[i] = max(lib_sum[i], lib_sum[i + n]);
		barrier();
	}
	return lib_sum[0];
}

// ---- numbers ----

float bf16(uint bits)
{
	return uintBitsToFloat(bits << 16);
}

float f16(uint bits)
{
	return unpackHalf2x16(bits).x;
}
