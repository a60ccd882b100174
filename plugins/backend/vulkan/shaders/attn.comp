#version 450
// SPDX-License-Identifier: MIT
//
// ATTN.  A workgroup computes one (row, head), 64 keys at a time: an invocation each for the scores,
// then for the columns of the values.  The sum is rescaled when a greater score comes.  Where keys or values
// lie in a cache of q4_0_rot, the query or the sum is rotated as they are (kv.glsl).
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"
#include "kv.glsl"

#define SRC_NONE 0u
#define SRC_CACHE 1u
#define SRC_ROWS 2u

#define A_N_KV 0u
#define A_CYCLE 1u
#define A_SCALE 2u
#define A_SOFTCAP 3u
#define A_SINKS 4u
#define A_BIAS_W 6u
#define A_N_BUCKET 8u
#define A_BOTH 9u
#define A_MAX_DISTANCE 10u
#define A_Q 11u
#define A_Y (A_Q + VIEW_WORDS)
#define A_REL (A_Y + VIEW_WORDS) // two of: R, rows, columns, offset, plane, q2
#define REL_WORDS (6u + VIEW_WORDS)
#define A_SRC (A_REL + 2u * REL_WORDS)
// words of a source
#define S_GROUP 0u
#define S_UNIT 1u
#define S_TABLE 2u
#define S_N_INDEX 4u
#define S_PAGE 5u
#define S_RATIO 6u
#define S_K_MEM 7u
#define S_K_ROW 9u
#define S_K_HEAD 10u
#define S_V_MEM 11u
#define S_V_ROW 13u
#define S_V_HEAD 14u
#define S_K 15u
#define S_V (S_K + VIEW_WORDS)
#define S_LIST (S_V + VIEW_WORDS)
#define SRC_WORDS (S_LIST + VIEW_WORDS)

// The types of keys and values of the first source and of the second one.  A source without a cache has those
// of the other one, so that most pipelines have no branches for types.
layout(constant_id = 0) const uint TYPES = 0u;
const uint K_0 = TYPES & 255u, V_0 = TYPES >> 8 & 255u, K_1 = TYPES >> 16 & 255u, V_1 = TYPES >> 24;
layout(constant_id = 1) const uint SHAPE = 64u;
const uint KIND_0 = SHAPE & 3u, KIND_1 = SHAPE >> 2 & 3u, N_SRC = KIND_1 == SRC_NONE ? 1u : 2u;
const uint BIAS = SHAPE >> 4 & 3u;
const uint MINE = SHAPE >> 6 & 31u; // columns of a lane
const bool HAS_TREE = (SHAPE & 2048u) != 0u, HAS_LIST = (SHAPE & 4096u) != 0u;

#define MOST 1024u

shared float query[MOST];
shared float weight_of[LANES];
shared int key_of[LANES];

View q, y;
uint row, head, kv_head, seq;

uint place_of(uint s, uint key)
{
	uint page = arg(s + S_PAGE);
	uint entry = uint(step_int(LAY_SEQ_SLOT, seq)) * arg(s + S_N_INDEX) + key / page;

	return load(plus(arg_address(s + S_TABLE), 4u * entry)) * page + key % page;
}

bool in_tree(int t, uint i)
{
	uint word = step_array(layout_of(LAY_TREE)).w[2u * uint(t) + (i >> 5 & 1u)];

	return i < 64u && (word >> (i & 31u) & 1u) != 0u;
}

// Does the draft tree hide this key from the row?
bool is_hidden(uint s, uint kind, uint key)
{
	int t = token_row(q.space, row);
	uvec2 rows;
	uint place;

	if (!HAS_TREE || t < 0)
		return false;
	if (kind == SRC_ROWS)
		return !in_tree(t, key);
	place = place_of(s, key);
	rows = seq_rows(SPACE_TOKENS, seq);
	for (uint i = 0u; i < rows.y; i++)
		if (uint(group_int(arg(s + S_GROUP), GROUP_SLOT, rows.x + i)) == place)
			return !in_tree(t, i);
	return false;
}

// Candidate j of a source; -1 = the row does not see it.
int key_at(uint s, uint kind, View list, uint j)
{
	uint group = arg(s + S_GROUP), unit = arg(s + S_UNIT);
	int lo = group_int(group, GROUP_KV_LO, row), hi = group_int(group, GROUP_KV_HI, row);
	int key = lo + int(j);

	if (HAS_LIST && list.present) {
		int e = int(get_word(list, row, list.n_head > 1u ? kv_head : 0u, j / unit));

		if (e < 0)
			return -1;
		key = e * int(unit) + int(j % unit);
	}
	return key < lo || key >= hi || is_hidden(s, kind, uint(key)) ? -1 : key;
}

int key_position(uint s, uint kind, View k, uint key, uint plane)
{
	if (kind == SRC_CACHE)
		return int(key * arg(s + S_RATIO));
	return position(k.space, seq_rows(k.space, seq).x + key, plane);
}

uint bucket_of(int d)
{
	uint n = arg(A_N_BUCKET), base = 0u, exact, dist, far;

	if (arg(A_BOTH) != 0u) {
		n /= 2u;
		base = d > 0 ? n : 0u;
		dist = uint(abs(d));
	} else {
		dist = d < 0 ? uint(-d) : 0u;
	}
	exact = n / 2u;
	if (dist < exact || exact == 0u)
		return base + min(dist, exact);
	far = uint(float(exact) + log(float(dist) / float(exact)) * float(n - exact) /
					  log(argf(A_MAX_DISTANCE) / float(exact)));
	return base + min(far, n - 1u);
}

float bias_of(uint s, uint kind, View k, uint key)
{
	float sum = 0.0;

	if (BIAS == 0u)
		return 0.0;
	if (BIAS < 3u) {
		int d = key_position(s, kind, k, key, 0u) - position(q.space, row, 0u);
		uint at = BIAS == 1u ? head : bucket_of(d) * q.n_head + head;
		float w = uintBitsToFloat(load(plus(arg_address(A_BIAS_W), 4u * at)));

		return BIAS == 1u ? -w * abs(float(d)) : w;
	}
	[[dont_unroll]] for (uint j = 0u; j < 2u; j++) {
		uint rel = A_REL + j * REL_WORDS;
		View q2 = view(rel + 6u);
		int at;

		if (!q2.present)
			continue;
		at = position(q.space, row, arg(rel + 5u)) - key_position(s, kind, k, key, arg(rel + 5u)) +
		     int(arg(rel + 4u));
		at = clamp(at, 0, int(arg(rel + 2u)) - 1);
		for (uint c = 0u; c < q2.width; c++)
			sum += get(q2, row, head, c) *
			       uintBitsToFloat(load(plus(arg_address(rel),
							 4u * (uint(at) * arg(rel + 3u) + c))));
	}
	return sum;
}

float score_of(uint s, uint kind, uint type, View k, uint key)
{
	float dot = 0.0;

	if (kind == SRC_CACHE) {
		Words at = Words(plus(times(arg_address(s + S_K_MEM), place_of(s, key), arg(s + S_K_ROW)),
				      kv_head * arg(s + S_K_HEAD)));

		for (uint c = 0u; c < q.width; c++)
			dot += query[c] * kv_get(at, type, c);
	} else {
		uint r = seq_rows(k.space, seq).x + key;

		for (uint c = 0u; c < q.width; c++)
			dot += query[c] * get(k, r, kv_head, c);
	}
	return softcap_of(argf(A_SCALE) * dot + bias_of(s, kind, k, key), argf(A_SOFTCAP));
}

float most, total, acc[MINE];

void scale(float factor)
{
	total *= factor;
	[[unroll]] for (uint c = 0u; c < MINE; c++)
		acc[c] *= factor;
}

// Adds the values of n keys, which key_of and weight_of name.
void add_values(uint s, uint kind, uint type, View v, uint n)
{
	uint lane = gl_LocalInvocationID.x;

	for (uint j = 0u; j < n; j++) {
		uint key = uint(key_of[j]), r;
		float wj = weight_of[j];
		Words at;

		if (key_of[j] < 0)
			continue;
		if (kind == SRC_CACHE)
			at = Words(plus(times(arg_address(s + S_V_MEM), place_of(s, key), arg(s + S_V_ROW)),
					kv_head * arg(s + S_V_HEAD)));
		else
			r = seq_rows(v.space, seq).x + key;
		[[unroll]] for (uint c = 0u; c < MINE; c++) {
			uint col = c * LANES + lane;

			// those of q4_0_rot are whole 64
			if (col < y.width || (kind == SRC_CACHE && type == KV_Q4_0_ROT))
				acc[c] += wj * (kind == SRC_CACHE ? kv_get(at, type, col)
								  : get(v, r, kv_head, col));
		}
	}
}

void keys(uint s, uint kind, uvec2 types)
{
	View k = view(s + S_K), v = view(s + S_V), list = view(s + S_LIST);
	uint lane = gl_LocalInvocationID.x;
	int lo = group_int(arg(s + S_GROUP), GROUP_KV_LO, row);
	int hi = group_int(arg(s + S_GROUP), GROUP_KV_HI, row);
	uint count = HAS_LIST && list.present ? list.width * arg(s + S_UNIT) : uint(max(hi - lo, 0));

	for (uint from = 0u; from < count; from += LANES) {
		int key = from + lane < count ? key_at(s, kind, list, from + lane) : -1;
		float score = key >= 0 ? score_of(s, kind, types.x, k, uint(key)) : -INF;
		float next = max(most, max_of_all(score)), w;

		if (next == -INF)
			continue;
		w = score == -INF ? 0.0 : exp(score - next);
		scale(most == -INF ? 0.0 : exp(most - next));
		total += sum_of_all(w);
		most = next;
		weight_of[lane] = w;
		key_of[lane] = key;
		barrier();
		add_values(s, kind, types.y, v, min(LANES, count - from));
		barrier();
	}
}

void hadamard_query()
{
	uint lane = gl_LocalInvocationID.x;

	for (uint c = lane; c < q.width; c += LANES)
		query[c] = hadamard(query[c]);
	barrier();
}

void hadamard_sum()
{
	[[dont_unroll]] for (uint c = 0u; c < MINE; c++)
		acc[c] = hadamard(acc[c]);
}

void main()
{
	uint n_kv = arg(A_N_KV), lane = gl_LocalInvocationID.x, n;

	q = view(A_Q);
	y = view(A_Y);
	n = y.n_row * q.n_head;
	for (uint i = GROUP_X; i < n; i += GROUPS_X) {
		uvec2 sinks = arg_address(A_SINKS);
		bvec2 rotated = bvec2(false); // the query, and the sum

		row = i / q.n_head;
		head = i % q.n_head;
		kv_head = arg(A_CYCLE) != 0u ? head % n_kv : head / (q.n_head / n_kv);
		seq = seq_of(q.space, row);
		most = -INF;
		total = 0.0;
		[[unroll]] for (uint c = 0u; c < MINE; c++)
			acc[c] = 0.0;
		barrier();
		for (uint c = lane; c < q.width; c += LANES)
			query[c] = get(q, row, head, c);
		barrier();
		[[dont_unroll]] for (uint which = 0u; which < N_SRC; which++) {
			uint kind = which == 0u ? KIND_0 : KIND_1;
			uvec2 types = which == 0u ? uvec2(K_0, V_0) : uvec2(K_1, V_1);
			bvec2 stored = bvec2(kind == SRC_CACHE && types.x == KV_Q4_0_ROT,
					     kind == SRC_CACHE && types.y == KV_Q4_0_ROT);

			if (kind == SRC_NONE)
				continue;
			if (stored.x != rotated.x)
				hadamard_query();
			if (stored.y != rotated.y)
				hadamard_sum();
			rotated = stored;
			keys(A_SRC + which * SRC_WORDS, kind, types);
		}
		if (rotated.y)
			hadamard_sum();
		if (!is_null(sinks)) {
			float sink = uintBitsToFloat(load(plus(sinks, 4u * head)));
			float next = max(most, sink);

			scale(most == -INF ? 0.0 : exp(most - next));
			total += exp(sink - next);
		}
		[[unroll]] for (uint c = 0u; c < MINE; c++)
			if (c * LANES + lane < y.width)
				put(y, row, head, c * LANES + lane, total > 0.0 ? acc[c] / total : 0.0);
	}
}
