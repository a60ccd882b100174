// SPDX-License-Identifier: MIT
//
// ATTN of one cache of floats without lists, biases and trees.  A workgroup computes the GROUP heads of a
// row that share keys, 64 keys at a time: an invocation each for the scores, then for words of the values.
// With several workgroups in y, each takes its share of the keys, and attn_join adds up what they leave.
//
// Loops over keys and columns take EIGHT at a time: drivers that run on a CPU need minutes for loops that are
// unrolled as a whole.
//
// BROADCAST: eight lanes of a subgroup load eight words that all lanes read, each one of them; drivers that
// run on a CPU load word by word.
#include "lib.glsl"
#include "math.glsl"

layout(constant_id = 0) const uint TYPE = 1u; // as in llamad/dtypes.h: f32, f16, bf16
layout(constant_id = 1) const uint SHAPE = 0u;
const uint DK = SHAPE & 1023u, DV = SHAPE >> 10 & 1023u, GROUP = SHAPE >> 20;
const uint EACH = TYPE == 0u ? 1u : 2u; // values of a word
const uint V_WORDS = DV / EACH;
const uint MINE = (V_WORDS + LANES - 1u) / LANES; // words of a lane

#define A_N_KV 0u
#define A_CYCLE 1u
#define A_SCALE 2u
#define A_SOFTCAP 3u
#define A_SINKS 4u
#define A_GROUP 6u
#define A_TABLE 7u
#define A_N_INDEX 9u
#define A_PAGE 10u
#define A_K_MEM 11u
#define A_K_ROW 13u
#define A_K_HEAD 14u
#define A_V_MEM 15u
#define A_V_ROW 17u
#define A_V_HEAD 18u
#define A_PARTS 19u // f32 [row][head][workgroup in y][DV + 2]: greatest score, sum, columns
#define A_Q 21u
#define A_Y (A_Q + VIEW_WORDS)

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Quads { uvec4 q[]; };

shared float query[GROUP * DK];
shared float weights[GROUP * LANES];
shared uint places[LANES];

View q, y;

uint place_of(uint slot, uint key)
{
	uint page = arg(A_PAGE), entry = slot * arg(A_N_INDEX) + key / page;

	return load(plus(arg_address(A_TABLE), 4u * entry)) * page + key % page;
}

float value_of(uint word, uint i)
{
	if (TYPE == 0u)
		return uintBitsToFloat(word);
	if (TYPE == 1u)
		return unpackHalf2x16(word)[i];
	return uintBitsToFloat(i == 0u ? word << 16 : word & 0xffff0000u);
}

uint head_of(uint kv, uint g)
{
	return arg(A_CYCLE) != 0u ? kv + g * arg(A_N_KV) : kv * GROUP + g;
}

#define EIGHT 8u
#ifdef BROADCAST
#define LOAD_EIGHT(array, at) array[(at) + (gl_SubgroupInvocationID & 7u)]
#define OF_EIGHT(loaded, array, at, i) subgroupBroadcast(loaded, i)
#else
#define LOAD_EIGHT(array, at) array[at]
#define OF_EIGHT(loaded, array, at, i) array[(at) + (i)]
#endif

void scores(uvec2 at, out float s[GROUP])
{
	[[unroll]] for (uint g = 0u; g < GROUP; g++)
		s[g] = 0.0;
	[[dont_unroll]] for (uint c = 0u; c < DK; c += EIGHT) {
		uint quad = c / EACH / 4u;
		uvec4 words[2];
		float loaded[GROUP];

		words[0] = Quads(at).q[quad];
		words[1] = EACH == 1u ? Quads(at).q[quad + 1u] : uvec4(0u);
		[[unroll]] for (uint g = 0u; g < GROUP; g++)
			loaded[g] = LOAD_EIGHT(query, g * DK + c);
		[[unroll]] for (uint i = 0u; i < EIGHT; i++) {
			float key = value_of(words[i / EACH / 4u][i / EACH % 4u], i % EACH);

			[[unroll]] for (uint g = 0u; g < GROUP; g++)
				s[g] += key * OF_EIGHT(loaded[g], query, g * DK + c, i);
		}
	}
	[[unroll]] for (uint g = 0u; g < GROUP; g++)
		s[g] = softcap_of(argf(A_SCALE) * s[g], argf(A_SOFTCAP));
}

float most[GROUP], total[GROUP], acc[GROUP * MINE * EACH];

// Adds the word i of a lane in a row of values.
void add_value(uvec2 at, uint i, float weight[GROUP])
{
	uint n = gl_LocalInvocationID.x + i * LANES, word = 0u;

	if (n < V_WORDS)
		word = Words(at).w[n];
	[[unroll]] for (uint e = 0u; e < EACH; e++)
		[[unroll]] for (uint g = 0u; g < GROUP; g++)
			acc[(g * MINE + i) * EACH + e] += weight[g] * value_of(word, e);
}

// The keys from..from+63, as far as they are below hi.
void keys(uint slot, uint kv, uint from, uint hi)
{
	uint lane = gl_LocalInvocationID.x, key = from + lane, place = place_of(slot, min(key, hi - 1u));
	float s[GROUP], keep[GROUP];

	scores(plus(times(arg_address(A_K_MEM), place, arg(A_K_ROW)), kv * arg(A_K_HEAD)), s);
	places[lane] = place;
	[[unroll]] for (uint g = 0u; g < GROUP; g++) {
		s[g] = key < hi ? s[g] : -INF;
		weights[g * LANES + lane] = s[g];
	}
	barrier();
	[[unroll]] for (uint g = 0u; g < GROUP; g++) {
		float next = most[g];

		[[dont_unroll]] for (uint j = 0u; j < LANES; j += EIGHT) {
			float loaded = LOAD_EIGHT(weights, g * LANES + j);

			[[unroll]] for (uint i = 0u; i < EIGHT; i++)
				next = max(next, OF_EIGHT(loaded, weights, g * LANES + j, i));
		}
		keep[g] = most[g] == -INF ? 0.0 : exp(most[g] - next);
		s[g] = s[g] == -INF ? 0.0 : exp(s[g] - next);
		most[g] = next;
	}
	barrier();
	[[unroll]] for (uint g = 0u; g < GROUP; g++) {
		weights[g * LANES + lane] = s[g];
		total[g] *= keep[g];
		[[unroll]] for (uint i = 0u; i < MINE * EACH; i++)
			acc[g * MINE * EACH + i] *= keep[g];
	}
	barrier();
	[[dont_unroll]] for (uint j = 0u; j < LANES; j += EIGHT) {
		uint eight = LOAD_EIGHT(places, j);
		float loaded[GROUP];

		[[unroll]] for (uint g = 0u; g < GROUP; g++)
			loaded[g] = LOAD_EIGHT(weights, g * LANES + j);
		[[unroll]] for (uint k = 0u; k < EIGHT; k++) {
			uvec2 at = plus(times(arg_address(A_V_MEM), OF_EIGHT(eight, places, j, k),
					      arg(A_V_ROW)),
					kv * arg(A_V_HEAD));
			float weight[GROUP];

			[[unroll]] for (uint g = 0u; g < GROUP; g++) {
				weight[g] = OF_EIGHT(loaded[g], weights, g * LANES + j, k);
				total[g] += weight[g];
			}
			[[unroll]] for (uint i = 0u; i < MINE; i++)
				add_value(at, i, weight);
		}
	}
	barrier();
}

void give(uint row, uint head, uint g)
{
	uint lane = gl_LocalInvocationID.x;
	uvec2 sinks = arg_address(A_SINKS);
	uvec2 part = times(arg_address(A_PARTS),
			   (row * q.n_head + head) * gl_NumWorkGroups.y + gl_WorkGroupID.y,
			   4u * (DV + 2u));
	float factor = 1.0;

	if (gl_NumWorkGroups.y == 1u) {
		if (!is_null(sinks)) {
			float sink = uintBitsToFloat(load(plus(sinks, 4u * head)));
			float next = max(most[g], sink);

			factor = most[g] == -INF ? 0.0 : exp(most[g] - next);
			total[g] = total[g] * factor + exp(sink - next);
		}
		factor = total[g] > 0.0 ? factor / total[g] : 0.0;
	} else if (lane == 0u) {
		store(part, floatBitsToUint(most[g]));
		store(plus(part, 4u), floatBitsToUint(total[g]));
	}
	[[unroll]] for (uint i = 0u; i < MINE; i++)
		[[unroll]] for (uint e = 0u; e < EACH; e++) {
			uint c = (lane + i * LANES) * EACH + e;
			float v = acc[(g * MINE + i) * EACH + e] * factor;

			if (c >= DV)
				continue;
			if (gl_NumWorkGroups.y == 1u)
				put(y, row, head, c, v);
			else
				store(plus(part, 8u + 4u * c), floatBitsToUint(v));
		}
}

void main()
{
	uint n_kv = arg(A_N_KV), group = arg(A_GROUP), n;

	q = view(A_Q);
	y = view(A_Y);
	n = y.n_row * n_kv;
	for (uint i = GROUP_X; i < n; i += GROUPS_X) {
		uint row = i / n_kv, kv = i % n_kv, seq = seq_of(q.space, row);
		uint slot = uint(step_int(LAY_SEQ_SLOT, seq));
		uint lo = uint(group_int(group, GROUP_KV_LO, row));
		uint hi = uint(max(group_int(group, GROUP_KV_HI, row), int(lo)));

		for (uint c = gl_LocalInvocationID.x; c < GROUP * DK; c += LANES)
			query[c] = get(q, row, head_of(kv, c / DK), c % DK);
		[[unroll]] for (uint g = 0u; g < GROUP; g++) {
			most[g] = -INF;
			total[g] = 0.0;
		}
		[[unroll]] for (uint c = 0u; c < GROUP * MINE * EACH; c++)
			acc[c] = 0.0;
		barrier();
		for (uint from = lo + gl_WorkGroupID.y * LANES; from < hi;
		     from += gl_NumWorkGroups.y * LANES)
			keys(slot, kv, from, hi);
		[[unroll]] for (uint g = 0u; g < GROUP; g++)
			give(row, head_of(kv, g), g);
		barrier();
	}
}
