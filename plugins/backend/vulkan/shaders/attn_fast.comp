#version 450
// SPDX-License-Identifier: MIT
//
// ATTN of one cache of floats without lists, biases and trees.  A workgroup computes the GROUP heads of a
// row that share keys, 64 keys at a time: an invocation each for the scores, then for words of the values.
// With several workgroups in y, each takes its share of the keys, and attn_join adds up what they leave.
//
// All loops over keys and columns are unrolled, so that all lanes read a word of shared memory at once.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"

layout(constant_id = 0) const uint TYPE = 1u; // as in llamad/dtypes.h: f32, f16, bf16
layout(constant_id = 1) const uint SHAPE = 0u;
const uint DK = SHAPE & 1023u, DV = SHAPE >> 10 & 1023u, GROUP = SHAPE >> 20;
const uint EACH = TYPE == 0u ? 1u : 2u; // values of a word
const uint K_QUADS = DK / EACH / 4u, V_WORDS = DV / EACH;
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

void scores(uvec2 at, out float s[GROUP])
{
	[[unroll]] for (uint g = 0u; g < GROUP; g++)
		s[g] = 0.0;
	[[unroll]] for (uint i = 0u; i < K_QUADS; i++) {
		uvec4 words = Quads(at).q[i];

		[[unroll]] for (uint j = 0u; j < 4u; j++)
			[[unroll]] for (uint e = 0u; e < EACH; e++) {
				float key = value_of(words[j], e);

				[[unroll]] for (uint g = 0u; g < GROUP; g++)
					s[g] += key * query[g * DK + (4u * i + j) * EACH + e];
			}
	}
	[[unroll]] for (uint g = 0u; g < GROUP; g++)
		s[g] = softcap_of(argf(A_SCALE) * s[g], argf(A_SOFTCAP));
}

float most[GROUP], total[GROUP], acc[GROUP * MINE * EACH];

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

		[[unroll]] for (uint j = 0u; j < LANES; j++)
			next = max(next, weights[g * LANES + j]);
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
	[[unroll]] for (uint j = 0u; j < LANES; j++) {
		uvec2 at = plus(times(arg_address(A_V_MEM), places[j], arg(A_V_ROW)),
				kv * arg(A_V_HEAD));

		[[unroll]] for (uint g = 0u; g < GROUP; g++)
			total[g] += weights[g * LANES + j];
		[[unroll]] for (uint i = 0u; i < MINE; i++) {
			uint word = 0u;

			if (lane + i * LANES < V_WORDS)
				word = Words(at).w[lane + i * LANES];
			[[unroll]] for (uint e = 0u; e < EACH; e++)
				[[unroll]] for (uint g = 0u; g < GROUP; g++)
					acc[(g * MINE + i) * EACH + e] +=
						weights[g * LANES + j] * value_of(word, e);
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
