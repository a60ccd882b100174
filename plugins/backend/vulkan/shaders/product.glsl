// SPDX-License-Identifier: MIT
//
// What the shaders of products share: their arguments, and what happens to a sum (put_args in product.c).
#include "math.glsl"

// Items that are computed at once, what product8.glsl adds, and bit 31: there is an activation function.
layout(constant_id = 1) const uint SHAPE = 1u;
const bool HAS_ACTIVATION = SHAPE >> 31 != 0u;

#define SLICE_NONE 0u // outputs of all slices follow each other
#define SLICE_IDS 1u  // the slice of item (row, j) is ids[row][j]
#define SLICE_HEAD 2u // the slice is the head

#define A_X 0u // address of the first row
#define A_X_ROW 2u
#define A_X_HEAD 3u
#define A_X_HEADS 4u // 1: all heads of an item's row share one row of x
#define A_HEADS 5u
#define A_SPACE 6u // items: rows of this space times heads
#define A_MODE 7u
#define A_W 8u
#define A_W_ROW 10u
#define A_N 11u
#define A_K 12u
#define A_STACK 13u
#define A_SCALES 14u
#define A_N_SCALE 16u
#define A_BIAS 17u
#define A_N_BIAS 19u
#define A_BIAS2 20u
#define A_FACTOR 22u
#define A_RESIDUAL 23u
#define A_SOFTCAP 24u
#define A_LO 25u
#define A_HI 26u
#define A_ACT 27u
#define A_P 28u
#define A_IDS 32u
#define A_Y (A_IDS + VIEW_WORDS)
#define A_R_IN (A_Y + VIEW_WORDS)
#define A_R_OUT (A_R_IN + VIEW_WORDS)
#define A_DELTA (A_R_OUT + VIEW_WORDS) // what adapters add, and factors: f32 [items][2][outputs]

View y, r_in, r_out;
uvec2 w_base, scales, biases, bias2, delta;
uint w_row, n, k, heads, mode, n_scale, n_bias, act, n_stack, outputs, items;
float factor, residual, softcap, lo, hi;
vec4 p;

float word_at(uvec2 base, uint i)
{
	return uintBitsToFloat(load(plus(base, 4u * i)));
}

void emit(uint item, uint slice, uint out_n, float v)
{
	uint row = item / heads, head = item % heads;
	uint in_slice = mode == SLICE_NONE ? out_n / n : slice, c = out_n % n;

	if (n_scale > 0u)
		v *= word_at(scales, n_scale == 1u ? 0u : n_stack > 1u && n_scale == n_stack ? in_slice
									: c);
	if (!is_null(delta)) {
		uvec2 at = times(delta, item, 8u * outputs);

		v = (v + word_at(at, out_n)) * word_at(at, outputs + out_n);
	}
	v *= factor;
	if (n_bias > 0u)
		v += word_at(biases, n_bias == n ? c : in_slice * n + c);
	v = softcap_of(HAS_ACTIVATION ? activation(act, p, v, 0.0, false) : v, softcap);
	if (lo != 0.0 || hi != 0.0)
		v = min(max(v, lo), hi);
	if (!is_null(bias2))
		v += word_at(bias2, out_n);
	if (y.present)
		put(y, row, head, out_n, v);
	if (r_out.present)
		put(r_out, row, head, out_n, get(r_in, row, head, out_n) + residual * v);
}

void skip(uint item, uint out_n)
{
	uint row = item / heads, head = item % heads;

	if (y.present)
		put(y, row, head, out_n, 0.0);
	if (r_out.present)
		put(r_out, row, head, out_n, get(r_in, row, head, out_n));
}

void open_product()
{
	y = view(A_Y);
	r_in = view(A_R_IN);
	r_out = view(A_R_OUT);
	w_base = arg_address(A_W);
	w_row = arg(A_W_ROW);
	n = arg(A_N);
	k = arg(A_K);
	n_stack = arg(A_STACK);
	heads = arg(A_HEADS);
	mode = arg(A_MODE);
	scales = arg_address(A_SCALES);
	n_scale = arg(A_N_SCALE);
	biases = arg_address(A_BIAS);
	n_bias = arg(A_N_BIAS);
	bias2 = arg_address(A_BIAS2);
	delta = env(ENV_ADAPTERS) != 0u ? arg_address(A_DELTA) : uvec2(0u);
	factor = argf(A_FACTOR);
	residual = argf(A_RESIDUAL);
	softcap = argf(A_SOFTCAP);
	lo = argf(A_LO);
	hi = argf(A_HI);
	act = arg(A_ACT);
	p = vec4(argf(A_P), argf(A_P + 1u), argf(A_P + 2u), argf(A_P + 3u));
	items = rows_of(arg(A_SPACE)) * heads;
	outputs = mode == SLICE_NONE ? n * n_stack : n;
}

// The slice of the weight for the items from item0 on; negative: there is none.
int slice_of(View ids, uint item0)
{
	if (mode == SLICE_IDS) {
		int slice = cell_int(ids, item0 / heads, item0 % heads);

		return uint(slice) < n_stack ? slice : -1;
	}
	return mode == SLICE_HEAD ? int(item0 % heads) : 0;
}
