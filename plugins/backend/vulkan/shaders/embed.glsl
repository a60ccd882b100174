// SPDX-License-Identifier: MIT
//
// EMBED, in up to three phases that add to each other: the table's rows, the position's, the type's.
// A workgroup computes one (row, id).
#include "lib.glsl"
#include "decode.glsl"
#include "adapter.glsl"

#define PHASE_TABLE 0u
#define PHASE_POSITION 1u
#define PHASE_TYPE 2u

#define A_W 0u
#define A_W_ROW 2u
#define A_N 3u // rows of all slices
#define A_K 4u
#define A_N_ID 5u
#define A_BY_TOKEN 6u
#define A_SCALE 7u
#define A_NEG 8u
#define A_NEG_ROW 9u
#define A_EXT_SCALE 10u
#define A_POS_OFF 11u
#define A_TYPE_ROW 12u
#define A_CHAINED 13u // address of the last tokens
#define A_Y 15u
#define A_IDX (A_Y + VIEW_WORDS)
#define A_POS (A_IDX + VIEW_WORDS)
#define A_EXT (A_POS + VIEW_WORDS)
#define A_ADAPTERS (A_EXT + VIEW_WORDS) // table of the site, or null

View y;

int id_of(View idx, uint row, uint j)
{
	int id;

	if (arg(A_BY_TOKEN) == 0u)
		return cell_int(idx, row, j);
	id = step_int(LAY_TOKEN, row);
	if (id < -(1 << 30))
		id = int(load(plus(arg_address(A_CHAINED), 4u * (uint(id) - 0x80000000u))));
	return id;
}

// What an adapter adds to column c of table row id.
float added(Adapter ad, uint id, uint c)
{
	float sum = 0.0;

	if (is_null(ad.b) || c >= ad.n || (ad.rank > 0u && id >= ad.k))
		return 0.0;
	if (ad.rank == 0u)
		return ad.scale * uintBitsToFloat(load(plus(ad.b, 4u * c)));
	for (uint j = 0u; j < ad.rank; j++)
		sum += uintBitsToFloat(load(plus(times(ad.b, c, 4u * ad.rank), 4u * j))) *
		       uintBitsToFloat(load(plus(times(ad.a, j, 4u * ad.k), 4u * id)));
	return ad.scale * sum;
}

float gain_of(Adapter ad, uint c)
{
	return is_null(ad.gain) || c >= ad.n ? 1.0 : uintBitsToFloat(load(plus(ad.gain, 4u * c)));
}

void put_row(uint row, uint j, int id, float scale, bool adds, Adapter ad)
{
	uint k = arg(A_K);
	bool zero = id < 0 || uint(id) >= arg(A_N);
	Words from = Words(times(arg_address(A_W), zero ? 0u : uint(id), arg(A_W_ROW)));

	for (uint part = gl_LocalInvocationID.x; part * 32u < k; part += LANES) {
		float w[32];

		if (!zero && !y.i32)
			decode32(from, part, k, w);
		for (uint c = 0u; c < 32u && part * 32u + c < k; c++) {
			uvec2 to = cell(y, row, j * k + part * 32u + c);

			if (y.i32)
				store(to, zero ? 0u : from.w[part * 32u + c]);
			else
				store(to, floatBitsToUint(
						  ((zero ? 0.0 : scale * w[c]) +
						   scale * added(ad, uint(id), part * 32u + c)) *
							  gain_of(ad, part * 32u + c) +
						  (adds ? uintBitsToFloat(load(to)) : 0.0)));
		}
	}
}

void put_external(View ext, uint row, uint j, uint from)
{
	uint k = arg(A_K);
	bool ok = ext.present && from < ext.n_row && ext.col0 + k <= ext.value_width;

	for (uint c = gl_LocalInvocationID.x; c < k; c += LANES) {
		float v = ok ? argf(A_EXT_SCALE) * get(ext, from, 0u, c) : 0.0;

		store(cell(y, row, j * k + c), floatBitsToUint(v));
	}
}

void main()
{
	View idx = view(A_IDX), pos = view(A_POS), ext = view(A_EXT);
	uint n_id = push.phase == PHASE_TABLE ? arg(A_N_ID) : 1u;

	y = view(A_Y);
	for (uint i = gl_WorkGroupID.x; i < y.n_row * n_id; i += gl_NumWorkGroups.x) {
		uint row = i / n_id, j = i % n_id;
		bool adds = push.phase != PHASE_TABLE;
		float scale = adds ? 1.0 : argf(A_SCALE);
		Adapter ad;
		int id;

		if (push.phase == PHASE_POSITION)
			id = (pos.present ? cell_int(pos, row, 0u) : position(y.space, row, 0u)) +
			     int(arg(A_POS_OFF));
		else if (push.phase == PHASE_TYPE)
			id = int(arg(A_TYPE_ROW));
		else
			id = id_of(idx, row, j);
		ad = adapter_of(adds || id < 0 ? uvec2(0u) : arg_address(A_ADAPTERS), y.space, row);
		if (id < 0 && !adds && arg(A_BY_TOKEN) != 0u) {
			if (arg(A_NEG) == 0u && !y.i32) {
				put_external(ext, row, j, uint(-1 - id));
				continue;
			}
			if (arg(A_NEG) == 1u)
				id = int(arg(A_NEG_ROW));
		}
		put_row(row, j, id, scale, adds, ad);
	}
}
