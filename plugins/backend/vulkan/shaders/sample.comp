#version 450
// SPDX-License-Identifier: MIT
//
// SAMPLE.  A workgroup computes one row.  The candidates lie in its part of the temporary memory:
// ids, then logits, then both again for the list of the best.
#extension GL_GOOGLE_include_directive : require
#include "lib.glsl"

#define PENALTIES 1u
#define TEMPERATURE 2u
#define TOP_K 3u
#define TOP_P 4u
#define MIN_P 5u
#define GREEDY 6u
#define DIST 7u

#define A_N_STAGE 0u
#define A_STAGE 1u
#define A_COLUMN 9u
#define A_CHAINED 17u
#define A_TEMP 19u
#define A_TEMP_BYTES 21u
#define A_ROOM 22u // candidates: a power of two that is at least the vocabulary
#define A_LOGITS 23u
#define A_PARAMS (A_LOGITS + VIEW_WORDS)
#define A_RNG (A_PARAMS + VIEW_WORDS)
#define A_MASK (A_RNG + VIEW_WORDS)
#define A_HISTORY (A_MASK + VIEW_WORDS)
#define A_TOKEN (A_HISTORY + VIEW_WORDS)
#define A_TOP_ID (A_TOKEN + VIEW_WORDS)
#define A_TOP_LP (A_TOP_ID + VIEW_WORDS)

layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Shared { uint w[]; };

Shared mem;
View params, history;
uint row, room, vocab, base; // base: 0 or 2*room, the candidates that are worked on
shared uint n, sorted, token;

uint lane()
{
	return gl_LocalInvocationID.x;
}

void meet()
{
	memoryBarrierBuffer();
	barrier();
}

uint id_of(uint i)
{
	return mem.w[base + i];
}

float logit_of(uint i)
{
	return uintBitsToFloat(mem.w[base + room + i]);
}

void set(uint i, uint id, float logit)
{
	mem.w[base + i] = id;
	mem.w[base + room + i] = floatBitsToUint(logit);
}

bool before(float a, uint id_a, float b, uint id_b)
{
	return a > b || (a == b && id_a < id_b);
}

float param(uint stage, uint i)
{
	return cell_get(params, row, arg(A_COLUMN + stage) + i);
}

void load_all()
{
	View logits = view(A_LOGITS), mask = view(A_MASK);

	for (uint id = lane(); id < vocab; id += LANES) {
		float x = cell_get(logits, row, id);
		bool banned = mask.present &&
			      (uint(cell_int(mask, row, id / 32u)) >> (id % 32u) & 1u) == 0u;

		set(id, id, banned || isnan(x) ? -INF : x);
	}
	if (lane() == 0u) {
		n = vocab;
		sorted = 0u;
		token = 0u;
	}
	meet();
}

void penalties(uint stage)
{
	float repeat = param(stage, 0u), freq = param(stage, 1u), present = param(stage, 2u);
	uint len = history.present ? history.n_head * history.width : 0u;

	for (uint i = 0u; i < len; i++) {
		int id = cell_int(history, row, i);
		uint count = 0u;
		bool seen = id < 0;

		for (uint j = 0u; j < len; j++) {
			bool same = cell_int(history, row, j) == id;

			count += same ? 1u : 0u;
			seen = seen || (same && j < i);
		}
		for (uint c = lane(); !seen && c < n; c += LANES) {
			float x = logit_of(c);

			if (id_of(c) != uint(id))
				continue;
			x = x <= 0.0 ? x * repeat : x / repeat;
			set(c, uint(id), x - (float(count) * freq + present));
		}
	}
	meet();
	if (lane() == 0u)
		sorted = 0u;
	barrier();
}

float greatest()
{
	float most = -INF;

	for (uint i = lane(); i < n; i += LANES)
		most = max(most, logit_of(i));
	return max_of_all(most);
}

float weight(uint i, float most)
{
	return isinf(most) ? (logit_of(i) == most ? 1.0 : 0.0) : exp(logit_of(i) - most);
}

shared uint best_at[LANES];

// Place of the first candidate in the order of sorting.
uint best()
{
	uint at = NONE;

	for (uint i = lane(); i < n; i += LANES)
		if (at == NONE || before(logit_of(i), id_of(i), logit_of(at), id_of(at)))
			at = i;
	barrier();
	best_at[lane()] = at;
	barrier();
	at = best_at[0];
	for (uint i = 1u; i < LANES; i++) {
		uint b = best_at[i];

		if (b != NONE && before(logit_of(b), id_of(b), logit_of(at), id_of(at)))
			at = b;
	}
	return at;
}

void temperature(float t)
{
	uint at = t > 0.0 ? NONE : best();

	barrier();
	for (uint i = lane(); i < n; i += LANES)
		set(i, id_of(i), t > 0.0 ? logit_of(i) / t : i == at ? logit_of(i) : -INF);
	meet();
	if (lane() == 0u)
		sorted = 0u;
	barrier();
}

// Sorts `count` candidates in a network for the next power of two; what is missing comes last.
void sort(uint count)
{
	uint size = 1u;

	while (size < count)
		size *= 2u;
	for (uint i = count + lane(); i < size; i += LANES)
		set(i, NONE, -INF);
	meet();
	for (uint k = 2u; k <= size; k *= 2u) {
		for (uint j = k / 2u; j > 0u; j /= 2u) {
			for (uint i = lane(); i < size; i += LANES) {
				uint o = i ^ j, id_i = id_of(i), id_o;
				float a = logit_of(i), b;

				if (o <= i)
					continue;
				id_o = id_of(o);
				b = logit_of(o);
				if (before(b, id_o, a, id_i) == ((i & k) == 0u)) {
					set(i, id_o, b);
					set(o, id_i, a);
				}
			}
			meet();
		}
	}
}

void order()
{
	uint is_sorted = sorted;

	barrier();
	if (is_sorted == 0u)
		sort(n);
	if (lane() == 0u)
		sorted = 1u;
	barrier();
}

void top_k(float k)
{
	if (!(k > 0.0) || k >= float(n))
		return;
	order();
	if (lane() == 0u)
		n = max(uint(k), 1u);
	barrier();
}

// The sums are made in the order of the candidates.
void top_p(float p)
{
	float most, total = 0.0, sum = 0.0;
	uint keep = 0u;

	if (p >= 1.0)
		return;
	most = greatest();
	for (uint i = 0u; lane() == 0u && i < n; i++)
		total += weight(i, most);
	barrier();
	order();
	if (lane() == 0u) {
		for (; keep < n && !(sum >= p); keep++)
			sum += weight(keep, most) / total;
		n = max(keep, 1u);
	}
	barrier();
}

void min_p(float p)
{
	float bound;
	uint left = 0u;

	if (p <= 0.0)
		return;
	bound = greatest() + log(p);
	barrier();
	if (lane() == 0u) {
		for (uint i = 0u; i < n; i++) {
			if (!(logit_of(i) >= bound))
				continue;
			set(left, id_of(i), logit_of(i));
			left++;
		}
		best_at[0] = left;
	}
	meet();
	left = best_at[0];
	barrier();
	if (left == 0u)
		order();
	if (lane() == 0u)
		n = max(left, 1u);
	barrier();
}

// Random number of (seed, step, 0): Philox of ten rounds (llamad/sampler.h).
float random_of(View rng)
{
	uint c0 = uint(cell_int(rng, row, 2u)), c1 = uint(cell_int(rng, row, 3u)), c2 = 0u, c3 = 0u;
	uint k0 = uint(cell_int(rng, row, 0u)), k1 = uint(cell_int(rng, row, 1u));

	for (int r = 0; r < 10; r++) {
		uint a_hi, a_lo, b_hi, b_lo;

		umulExtended(0xD2511F53u, c0, a_hi, a_lo);
		umulExtended(0xCD9E8D57u, c2, b_hi, b_lo);
		c0 = b_hi ^ c1 ^ k0;
		c2 = a_hi ^ c3 ^ k1;
		c1 = b_lo;
		c3 = a_lo;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return float(c0 >> 8) * (1.0 / 16777216.0);
}

void draw()
{
	float most = greatest(), total = 0.0, sum = 0.0, at = 0.0, bound;
	uint last = 0u;

	if (lane() != 0u)
		return;
	for (uint i = 0u; i < n; i++)
		total += weight(i, most);
	for (uint i = 0u; i < n; i++)
		sum += weight(i, most) / total;
	bound = random_of(view(A_RNG)) * sum;
	for (uint i = 0u; i < n && at <= bound; i++) {
		float p = weight(i, most) / total;

		at += p;
		last = p > 0.0 ? i : last;
	}
	token = id_of(last);
}

// The best candidates and their log probabilities.
void best_list()
{
	View top_id = view(A_TOP_ID), top_lp = view(A_TOP_LP);
	uint count = top_id.present ? top_id.n_head * top_id.width : 0u;
	float most, sum = 0.0;

	if (count == 0u)
		return;
	most = greatest();
	for (uint i = lane(); i < n; i += LANES)
		sum += weight(i, most);
	sum = sum_of_all(sum);
	for (uint i = lane(); i < n; i += LANES) {
		mem.w[2u * room + i] = mem.w[i];
		mem.w[3u * room + i] = mem.w[room + i];
	}
	meet();
	base = 2u * room;
	sort(n);
	for (uint i = lane(); i < count; i += LANES) {
		store(cell(top_id, row, i), id_of(i));
		if (top_lp.present)
			store(cell(top_lp, row, i), floatBitsToUint(logit_of(i) - most - log(sum)));
	}
	base = 0u;
	meet();
}

void run_stage(uint i)
{
	switch (arg(A_STAGE + i)) {
	case PENALTIES: penalties(i); break;
	case TEMPERATURE: temperature(param(i, 0u)); break;
	case TOP_K: top_k(param(i, 0u)); break;
	case TOP_P: top_p(param(i, 0u)); break;
	case MIN_P: min_p(param(i, 0u)); break;
	case GREEDY: {
		uint at = best();

		if (lane() == 0u)
			token = id_of(at);
		break;
	}
	case DIST: draw(); break;
	}
	barrier();
}

// The token becomes the last one of the row's sequence.
void remember()
{
	int t = layout_of(LAY_OUT_ROW) != 0u ? step_int(LAY_OUT_ROW, row) : -1, seq;

	if (t < 0 || uint(t) >= rows_of(SPACE_TOKENS))
		return;
	seq = step_int(LAY_SEQ_OF, uint(t));
	if (seq < 0 || uint(seq) >= rows_of(SPACE_SEQS))
		return;
	store(plus(arg_address(A_CHAINED), 4u * uint(step_int(LAY_SEQ_SLOT, uint(seq)))), token);
}

void main()
{
	View to = view(A_TOKEN), logits = view(A_LOGITS);
	uint n_stage = arg(A_N_STAGE);

	params = view(A_PARAMS);
	history = view(A_HISTORY);
	room = arg(A_ROOM);
	vocab = logits.n_head * logits.width;
	mem = Shared(times(arg_address(A_TEMP), gl_WorkGroupID.x, arg(A_TEMP_BYTES)));
	for (uint r = gl_WorkGroupID.x; r < to.n_row; r += gl_NumWorkGroups.x) {
		uint i = 0u;

		row = r;
		base = 0u;
		load_all();
		for (; i < n_stage && arg(A_STAGE + i) == PENALTIES; i++)
			penalties(i);
		best_list();
		for (; i < n_stage; i++)
			run_stage(i);
		if (lane() == 0u) {
			store(cell(to, row, 0u), token);
			remember();
		}
		meet();
	}
}
