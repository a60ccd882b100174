// SPDX-License-Identifier: MIT
//
// Adapters of rows (llamad/op.h, "Adapters").  A site has a table with an entry for each slot.

#define ADAPTER_WORDS 12u
#define ADAPTER_SLOTS 256u

struct Adapter {
	uvec2 a, b; // null: there is none
	uvec2 gain; // factors of the outputs; null: 1
	uint rank, n, k, n_stack;
	float scale;
};

// The adapter of a row of a space.
Adapter adapter_of(uvec2 table, uint space, uint row)
{
	Adapter x;
	int t = env(ENV_ADAPTERS) != 0u && !is_null(table) ? token_row(space, row) : -1;
	int slot = t < 0 ? 0 : step_int(LAY_LORA_SLOT, uint(t));

	x.a = x.b = x.gain = uvec2(0u);
	x.rank = 0u;
	if (slot > 0 && uint(slot) < ADAPTER_SLOTS) {
		Words w = Words(plus(table, 4u * ADAPTER_WORDS * uint(slot)));

		x.a = uvec2(w.w[0], w.w[1]);
		x.b = uvec2(w.w[2], w.w[3]);
		x.rank = w.w[4];
		x.n = w.w[5];
		x.k = w.w[6];
		x.n_stack = w.w[7];
		x.scale = uintBitsToFloat(w.w[8]);
		x.gain = uvec2(w.w[9], w.w[10]);
	}
	return x;
}
