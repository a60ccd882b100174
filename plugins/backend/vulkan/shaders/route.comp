#version 450
// SPDX-License-Identifier: MIT
//
// ROUTE.  An invocation computes one row; the probabilities and choices of its experts lie in
// temporary memory.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "math.glsl"

#define FN_SOFTMAX 1u
#define FN_SIGMOID 2u
#define FN_SOFTMAX_CHOSEN 3u
#define FN_SQRT_SOFTPLUS 4u
#define MOST_USED 64u

#define A_FN 0u
#define A_K 1u
#define A_BIAS 2u
#define A_N_GROUP 4u
#define A_N_GROUP_USED 5u
#define A_RENORM 6u
#define A_ID_DIV 7u
#define A_SCALE 8u
#define A_TEMP 9u // per row: n probabilities, n choices
#define A_LOGITS 11u
#define A_IDS (A_LOGITS + VIEW_WORDS)
#define A_WEIGHTS (A_IDS + VIEW_WORDS)
#define A_GIVEN (A_WEIGHTS + VIEW_WORDS)

uint n;
Words mem;
uint best[MOST_USED];
float w[MOST_USED];

float p_of(uint i)
{
	return uintBitsToFloat(mem.w[i]);
}

float choice_of(uint i)
{
	return uintBitsToFloat(mem.w[n + i]);
}

void probabilities(View logits, uint row)
{
	uint fn = arg(A_FN);
	float most = -INF, sum = 0.0;

	for (uint i = 0u; i < n; i++)
		most = max(most, cell_get(logits, row, i));
	for (uint i = 0u; fn == FN_SOFTMAX && i < n; i++)
		sum += exp(cell_get(logits, row, i) - most);
	for (uint i = 0u; i < n; i++) {
		float x = cell_get(logits, row, i);

		if (fn == FN_SOFTMAX)
			x = exp(x - most) / sum;
		else if (fn == FN_SIGMOID)
			x = sigmoid(x);
		else if (fn == FN_SQRT_SOFTPLUS)
			x = sqrt(softplus(x));
		mem.w[i] = floatBitsToUint(x);
	}
}

float group_score(uint group, uint size)
{
	float a = -INF, b = -INF;

	for (uint i = group * size; i < (group + 1u) * size; i++) {
		float c = choice_of(i);

		if (c > a) {
			b = a;
			a = c;
		} else if (c > b) {
			b = c;
		}
	}
	return size > 1u ? a + b : a;
}

#define TAKEN 0xffc00001u // in the place of a choice

void choose_groups()
{
	uint groups = arg(A_N_GROUP), size = n / groups;
	uvec4 used = uvec4(0u); // bits of at most 128 groups

	for (uint j = 0u; j < arg(A_N_GROUP_USED); j++) {
		float score = 0.0;
		uint at = NONE;

		for (uint g = 0u; g < groups; g++) {
			float s;

			if ((used[g >> 5] >> (g & 31u) & 1u) != 0u)
				continue;
			s = group_score(g, size);
			if (at == NONE || s > score) {
				at = g;
				score = s;
			}
		}
		if (at != NONE)
			used[at >> 5] |= 1u << (at & 31u);
	}
	for (uint i = 0u; i < n; i++) {
		uint g = i / size;

		if (g >= groups || (used[g >> 5] >> (g & 31u) & 1u) == 0u)
			mem.w[n + i] = TAKEN;
	}
}

void choose()
{
	uvec2 bias = arg_address(A_BIAS);

	for (uint i = 0u; i < n; i++)
		mem.w[n + i] = floatBitsToUint(
			p_of(i) + (is_null(bias) ? 0.0 : uintBitsToFloat(load(plus(bias, 4u * i)))));
	if (arg(A_N_GROUP) > 1u)
		choose_groups();
	for (uint j = 0u; j < arg(A_K); j++) {
		uint at = NONE;

		for (uint i = 0u; i < n; i++)
			if (mem.w[n + i] != TAKEN && (at == NONE || choice_of(i) > choice_of(at)))
				at = i;
		best[j] = at;
		if (at != NONE)
			mem.w[n + at] = TAKEN;
	}
}

void main()
{
	View logits = view(A_LOGITS), ids = view(A_IDS), weights = view(A_WEIGHTS);
	View given = view(A_GIVEN);
	uint k = arg(A_K);

	n = logits.width * logits.n_head;
	for (uint row = gl_GlobalInvocationID.x; row < ids.n_row; row += gl_NumWorkGroups.x * LANES) {
		float sum = 0.0, most = -INF;

		mem = Words(times(arg_address(A_TEMP), row, 8u * n));
		probabilities(logits, row);
		if (!given.present)
			choose();
		for (uint j = 0u; j < k; j++) {
			if (given.present)
				best[j] = uint(cell_int(given, row, j));
			w[j] = best[j] < n ? p_of(best[j]) : 0.0;
			most = max(most, w[j]);
		}
		if (arg(A_FN) == FN_SOFTMAX_CHOSEN) {
			for (uint j = 0u; j < k; j++) {
				w[j] = exp(w[j] - most);
				sum += w[j];
			}
			for (uint j = 0u; j < k; j++)
				w[j] /= sum;
		}
		sum = 0.0;
		for (uint j = 0u; j < k; j++)
			sum += w[j];
		for (uint j = 0u; j < k; j++) {
			float x = arg(A_RENORM) != 0u ? w[j] / max(sum, 6.103515625e-5) : w[j];

			store(cell(ids, row, j), best[j] < n ? best[j] / arg(A_ID_DIV) : NONE);
			store(cell(weights, row, j), floatBitsToUint(x * argf(A_SCALE)));
		}
	}
}
