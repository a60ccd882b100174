#version 450
// SPDX-License-Identifier: MIT
//
// ATTN.  A workgroup computes one (row, head), 64 keys at a time: an invocation each for the scores,
// then for the columns of the values.  The sum is rescaled when a greater score comes.
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
#define A_BIAS 6u
#define A_BIAS_W 7u
#define A_N_BUCKET 9u
#define A_BOTH 10u
#define A_MAX_DISTANCE 11u
#define A_TREE 12u
#define A_Q 13u
#define A_Y (A_Q + VIEW_WORDS)
#define A_REL (A_Y + VIEW_WORDS) // two of: R, rows, columns, offset, plane, q2
#define REL_WORDS (6u + VIEW_WORDS)
#define A_SRC (A_REL + 2u * REL_WORDS)
// words of a source
#define S_KIND 0u
#define S_GROUP 1u
#define S_UNIT 2u
#define S_TABLE 3u
#define S_N_INDEX 5u
#define S_PAGE 6u
#define S_RATIO 7u
#define S_K_TYPE 8u
#define S_V_TYPE 9u
#define S_K_MEM 10u
#define S_K_ROW 12u
#define S_K_HEAD 13u
#define S_V_MEM 14u
#define S_V_ROW 16u
#define S_V_HEAD 17u
#define S_K 18u
#define S_V (S_K + VIEW_WORDS)
#define S_LIST (S_V + VIEW_WORDS)
#define SRC_WORDS (S_LIST + VIEW_WORDS)

#define MOST 1024u
#define MOST_EACH (MOST / LANES)

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
bool is_hidden(uint s, uint key)
{
	int t = token_row(q.space, row);
	uvec2 rows;
	uint place;

	if (arg(A_TREE) == 0u || t < 0)
		return false;
	if (arg(s + S_KIND) == SRC_ROWS)
		return !in_tree(t, key);
	place = place_of(s, key);
	rows = seq_rows(SPACE_TOKENS, seq);
	for (uint i = 0u; i < rows.y; i++)
		if (uint(group_int(arg(s + S_GROUP), GROUP_SLOT, rows.x + i)) == place)
			return !in_tree(t, i);
	return false;
}

// Candidate j of a source; -1 = the row does not see it.
int key_at(uint s, View list, uint j)
{
	uint group = arg(s + S_GROUP), unit = arg(s + S_UNIT);
	int lo = group_int(group, GROUP_KV_LO, row), hi = group_int(group, GROUP_KV_HI, row);
	int key = lo + int(j);

	if (list.present) {
		int e = int(get_word(list, row, list.n_head > 1u ? kv_head : 0u, j / unit));

		if (e < 0)
			return -1;
		key = e * int(unit) + int(j % unit);
	}
	return key < lo || key >= hi || is_hidden(s, uint(key)) ? -1 : key;
}

int key_position(uint s, View k, uint key, uint plane)
{
	if (arg(s + S_KIND) == SRC_CACHE)
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

float bias_of(uint s, View k, uint key)
{
	uint kind = arg(A_BIAS);
	float sum = 0.0;

	if (kind == 0u)
		return 0.0;
	if (kind < 3u) {
		int d = key_position(s, k, key, 0u) - position(q.space, row, 0u);
		uint at = kind == 1u ? head : bucket_of(d) * q.n_head + head;
		float w = uintBitsToFloat(load(plus(arg_address(A_BIAS_W), 4u * at)));

		return kind == 1u ? -w * abs(float(d)) : w;
	}
	for (uint j = 0u; j < 2u; j++) {
		uint rel = A_REL + j * REL_WORDS;
		View q2 = view(rel + 6u);
		int at;

		if (!q2.present)
			continue;
		at = position(q.space, row, arg(rel + 5u)) - key_position(s, k, key, arg(rel + 5u)) +
		     int(arg(rel + 4u));
		at = clamp(at, 0, int(arg(rel + 2u)) - 1);
		for (uint c = 0u; c < q2.width; c++)
			sum += get(q2, row, head, c) *
			       uintBitsToFloat(load(plus(arg_address(rel),
							 4u * (uint(at) * arg(rel + 3u) + c))));
	}
	return sum;
}

float score_of(uint s, View k, uint key)
{
	float dot = 0.0;

	if (arg(s + S_KIND) == SRC_CACHE) {
		Words at = Words(plus(times(arg_address(s + S_K_MEM), place_of(s, key), arg(s + S_K_ROW)),
				      kv_head * arg(s + S_K_HEAD)));
		uint type = arg(s + S_K_TYPE);

		if (type == KV_F32) {
			for (uint c = 0u; c < q.width; c++)
				dot += query[c] * uintBitsToFloat(at.w[c]);
		} else {
			for (uint c = 0u; c < q.width; c++)
				dot += query[c] * kv_get(at, type, c);
		}
	} else {
		uint r = seq_rows(k.space, seq).x + key;

		for (uint c = 0u; c < q.width; c++)
			dot += query[c] * get(k, r, kv_head, c);
	}
	return softcap_of(argf(A_SCALE) * dot + bias_of(s, k, key), argf(A_SOFTCAP));
}

void main()
{
	uint n_kv = arg(A_N_KV), lane = gl_LocalInvocationID.x, n;

	q = view(A_Q);
	y = view(A_Y);
	n = y.n_row * q.n_head;
	for (uint i = GROUP_X; i < n; i += GROUPS_X) {
		float most = -INF, total = 0.0, acc[MOST_EACH];
		uvec2 sinks = arg_address(A_SINKS);

		row = i / q.n_head;
		head = i % q.n_head;
		kv_head = arg(A_CYCLE) != 0u ? head % n_kv : head / (q.n_head / n_kv);
		seq = seq_of(q.space, row);
		for (uint c = 0u; c < MOST_EACH; c++)
			acc[c] = 0.0;
		barrier();
		for (uint c = lane; c < q.width; c += LANES)
			query[c] = get(q, row, head, c);
		barrier();
		[[dont_unroll]] for (uint which = 0u; which < 2u; which++) {
			uint s = A_SRC + which * SRC_WORDS, kind = arg(s + S_KIND), count;
			View k = view(s + S_K), v = view(s + S_V), list = view(s + S_LIST);

			if (kind == SRC_NONE)
				continue;
			count = list.present
					? list.width * arg(s + S_UNIT)
					: uint(max(group_int(arg(s + S_GROUP), GROUP_KV_HI, row) -
						   group_int(arg(s + S_GROUP), GROUP_KV_LO, row), 0));
			for (uint from = 0u; from < count; from += LANES) {
				int key = from + lane < count ? key_at(s, list, from + lane) : -1;
				float score = key >= 0 ? score_of(s, k, uint(key)) : -INF;
				float next = max(most, max_of_all(score)), keep, w;

				if (next == -INF)
					continue;
				keep = most == -INF ? 0.0 : exp(most - next);
				w = score == -INF ? 0.0 : exp(score - next);
				total = total * keep + sum_of_all(w);
				most = next;
				weight_of[lane] = w;
				key_of[lane] = key;
				barrier();
				for (uint c = 0u; c < MOST_EACH && c * LANES < y.width; c++)
					acc[c] *= keep;
				for (uint j = 0u; j < min(LANES, count - from); j++) {
					float wj = weight_of[j];
					uint type = arg(s + S_V_TYPE), r;
					Words at;

					if (key_of[j] < 0)
						continue;
					if (kind == SRC_CACHE)
						at = Words(plus(times(arg_address(s + S_V_MEM),
								      place_of(s, uint(key_of[j])),
								      arg(s + S_V_ROW)),
								kv_head * arg(s + S_V_HEAD)));
					else
						r = seq_rows(v.space, seq).x + uint(key_of[j]);
					for (uint c = 0u; c < MOST_EACH; c++) {
						uint col = c * LANES + lane;

						if (col >= y.width)
							break;
						acc[c] += wj * (kind == SRC_CACHE ? kv_get(at, type, col)
										  : get(v, r, kv_head, col));
					}
				}
				barrier();
			}
		}
		if (!is_null(sinks)) {
			float sink = uintBitsToFloat(load(plus(sinks, 4u * head)));
			float next = max(most, sink), keep = most == -INF ? 0.0 : exp(most - next);

			total = total * keep + exp(sink - next);
			for (uint c = 0u; c < MOST_EACH; c++)
				acc[c] *= keep;
		}
		[[dont_unroll]] for (uint c = 0u; c < MOST_EACH; c++)
			if (c * LANES + lane < y.width)
				put(y, row, head, c * LANES + lane, total > 0.0 ? acc[c] / total : 0.0);
	}
}
