#version 450
// SPDX-License-Identifier: MIT
//
// INDEX.  A workgroup computes one list of a row: the scores side by side, in its part of the
// temporary memory, and then one invocation the selection, whose result op.h defines by a heap.  If keys are
// q4_0_rot, phase 1 rotates the queries before that (kv.glsl).
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"
#include "kv.glsl"

#define WEIGHTED 1u
#define PER_HEAD 3u

#define A_KIND 0u
#define A_N 1u
#define A_UNIT 2u
#define A_LOCAL 3u
#define A_SCALE 4u
#define A_EACH 5u
#define A_OF 6u
#define A_GROUP 7u
#define A_TABLE 8u
#define A_N_INDEX 10u
#define A_PAGE 11u
#define A_K_MEM 12u
#define A_K_ROW 14u
#define A_K_HEAD 15u
#define A_K_HEADS 16u
#define A_TEMP 17u
#define A_TEMP_BYTES 19u // of a workgroup: the scores, then the heap
#define A_UNITS 20u
#define A_Q 21u
#define A_W (A_Q + VIEW_WORDS)
#define A_Y (A_W + VIEW_WORDS)
#define A_Q_OF (A_Y + VIEW_WORDS) // what phase 1 reads

layout(constant_id = 0) const uint TYPE = 0u; // of the keys

layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Shared { uint w[]; };

View q, w, y;
Shared mem;
uint row, list, heap;

float score(uint i)
{
	return uintBitsToFloat(mem.w[i]);
}

float dot_of(uint key, uint head)
{
	uint page = arg(A_PAGE), seq = uint(step_int(LAY_SEQ_OF, row));
	uint entry = uint(step_int(LAY_SEQ_SLOT, seq)) * arg(A_N_INDEX) + key / page;
	uint place = load(plus(arg_address(A_TABLE), 4u * entry)) * page + key % page;
	Words k = Words(plus(times(arg_address(A_K_MEM), place, arg(A_K_ROW)),
			     (arg(A_K_HEADS) > 1u ? head : 0u) * arg(A_K_HEAD)));
	float sum = 0.0;

	for (uint c = 0u; c < q.width; c++)
		sum += get(q, row, head, c) * kv_get(k, TYPE, c);
	return argf(A_SCALE) * sum;
}

float key_score(uint key)
{
	float sum = 0.0;

	if (arg(A_KIND) == PER_HEAD)
		return dot_of(key, list);
	for (uint h = 0u; h < q.n_head; h++) {
		float s = max(dot_of(key, h), 0.0);

		sum += arg(A_KIND) == WEIGHTED ? cell_get(w, row, h) * s : s;
	}
	return sum;
}

// Scores of the units that the row sees; returns the first and the end.
uvec2 fill()
{
	uint group = arg(A_GROUP), unit = arg(A_UNIT), each = arg(A_EACH);
	int lo = group_int(group, GROUP_KV_LO, row), hi = group_int(group, GROUP_KV_HI, row);
	uvec2 span = uvec2(0u);

	if (each > 1u) {
		int from = group_int(arg(A_OF), GROUP_KV_LO, row);
		int to = group_int(arg(A_OF), GROUP_KV_HI, row);

		if (from >= to)
			return span;
		span = uvec2(max(from, lo * int(each)), to);
		span.x = min(span.x, span.y);
		for (uint key = span.x + gl_LocalInvocationID.x; key < span.y; key += LANES)
			mem.w[key] = floatBitsToUint(int(key / each) < hi ? key_score(key / each) : INF);
		return span;
	}
	if (lo >= hi)
		return span;
	span = uvec2(uint(lo) / unit, uint(hi - 1) / unit + 1u);
	for (uint u = span.x + gl_LocalInvocationID.x; u < span.y; u += LANES) {
		float most = -INF;

		for (uint key = max(u * unit, uint(lo)); key < min((u + 1u) * unit, uint(hi)); key++)
			most = max(most, key_score(key));
		mem.w[u] = floatBitsToUint(most);
	}
	return span;
}

float heap_score(uint i)
{
	return score(mem.w[heap + i]);
}

void sift(uint n, uint i, uint u)
{
	uint top = i;

	for (uint c = 2u * i + 1u; c < n; c = 2u * i + 1u) {
		if (c + 1u < n && !(heap_score(c + 1u) > heap_score(c)))
			c++;
		mem.w[heap + i] = mem.w[heap + c];
		i = c;
	}
	while (i > top && heap_score((i - 1u) / 2u) > score(u)) {
		mem.w[heap + i] = mem.w[heap + (i - 1u) / 2u];
		i = (i - 1u) / 2u;
	}
	mem.w[heap + i] = u;
}

void choose(uvec2 span)
{
	uint n = min(span.y - span.x, arg(A_N));

	for (uint i = 0u; i < min(arg(A_LOCAL), span.y - span.x); i++)
		mem.w[span.y - 1u - i] = floatBitsToUint(INF);
	for (uint i = 0u; i < n; i++)
		mem.w[heap + i] = span.x + i;
	for (uint i = n / 2u; i > 0u; i--)
		sift(n, i - 1u, mem.w[heap + i - 1u]);
	for (uint u = span.x + n; n > 0u && u < span.y; u++)
		if (score(u) > heap_score(0u))
			sift(n, 0u, u);
	for (uint i = 0u; i < arg(A_N); i++)
		store(el(y, row, list, i), i < n ? mem.w[heap + i] : NONE);
}

void hadamard_queries()
{
	View of = view(A_Q_OF);

	for (uint i = gl_WorkGroupID.x; i < of.n_row * of.n_head; i += gl_NumWorkGroups.x)
		for (uint c = gl_LocalInvocationID.x; c < of.width; c += LANES)
			put(q, i / of.n_head, i % of.n_head, c,
			    hadamard(get(of, i / of.n_head, i % of.n_head, c)));
}

void main()
{
	q = view(A_Q);
	if (TYPE == KV_Q4_0_ROT && push.phase == 1u) {
		hadamard_queries();
		return;
	}
	w = view(A_W);
	y = view(A_Y);
	mem = Shared(times(arg_address(A_TEMP), gl_WorkGroupID.x, arg(A_TEMP_BYTES)));
	heap = arg(A_UNITS);
	for (uint i = gl_WorkGroupID.x; i < y.n_row * y.n_head; i += gl_NumWorkGroups.x) {
		uvec2 span;

		row = i / y.n_head;
		list = i % y.n_head;
		span = fill();
		memoryBarrierBuffer();
		barrier();
		if (gl_LocalInvocationID.x == 0u)
			choose(span);
		memoryBarrierBuffer();
		barrier();
	}
}
