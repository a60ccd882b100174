/* SPDX-License-Identifier: MIT
 *
 * Weight references against tensors: computed sizes and errors. */
#include <string.h>

#include "core/plan/plan_test.h"
#include "core/plan/weight_ref.h"

struct wcase {
	struct lmd_weight_ref w;
	struct lmd_weight_part parts[3];
	const char *text; /* expected error, or NULL and the sizes: */
	uint32_t n_stack, n, k;
};

/* 0: f32 [12, 8]; 1: q8_0 [6, 64]; 2: f32 [3, 4, 8] (3 slices); 3: f32 vector 8; 4: f32 vector 12;
 * 5: f32 [4, 8]; 6: type 99; 7: f32 {2, 2, 3, 5} as three dims {2, 6, 5} */
static void weight_model(struct fx *fx)
{
	fx_init(fx, NULL);
	fx_tensor(fx, "m", LMD_DTYPE_F32, 8, 12, 0);
	fx_tensor(fx, "q", LMD_DTYPE_Q8_0, 64, 6, 0);
	fx_tensor(fx, "stack", LMD_DTYPE_F32, 8, 4, 3);
	fx_tensor(fx, "v8", LMD_DTYPE_F32, 8, 0, 0);
	fx_tensor(fx, "v12", LMD_DTYPE_F32, 12, 0, 0);
	fx_tensor(fx, "m4", LMD_DTYPE_F32, 8, 4, 0);
	fx_tensor(fx, "odd", 99, 8, 4, 0);
	fx_tensor(fx, "conv", LMD_DTYPE_F32, 2, 6, 5);
}

/* clang-format off */
#define W(...) {.scale = LMD_NONE, .bias = LMD_NONE, __VA_ARGS__}
#define P(t, ...) {.tensor = t, __VA_ARGS__}
static const struct wcase weights[] = {
	{W(.n_part = 1), {P(0)}, NULL, 1, 12, 8},
	{W(.n_part = 1), {P(0, .row0 = 4, .n_row = 3)}, NULL, 1, 3, 8},
	{W(.n_part = 1), {P(0, .row0 = 4)}, NULL, 1, 8, 8},
	{W(.n_part = 2), {P(0), P(5)}, NULL, 1, 16, 8},
	{W(.n_part = 1), {P(2)}, NULL, 1, 12, 8},
	{W(.n_part = 1, .n_stack = 3), {P(2)}, NULL, 3, 4, 8},
	{W(.n_part = 1, .n = 4), {P(2)}, NULL, 3, 4, 8},
	{W(.n_part = 1, .n = 5, .k = 12), {P(7)}, NULL, 1, 5, 12},
	{W(.n_part = 1), {P(3)}, NULL, 1, 1, 8},
	{W(.n_part = 1, .k = 1), {P(3)}, NULL, 1, 8, 1},
	{W(.n_part = 3, .transform = LMD_TRANSFORM_STACK_EXPERTS), {P(5), P(5), P(0, .n_row = 4)},
	 NULL, 3, 4, 8},
	{W(.n_part = 1, .n_head = 3), {P(0)}, NULL, 3, 4, 8},
	{W(.n_part = 1, .n_head = 3, .head_rows = 4), {P(0, .row0 = 1, .n_row = 2)}, NULL, 3, 2, 8},
	{W(.n_part = 1, .n_head = 3, .head_rows = 4, .transform = LMD_TRANSFORM_HEAD_TRANSPOSE),
	 {P(0, .row0 = 1, .n_row = 3)}, NULL, 3, 8, 3},
	{W(.n_part = 2, .n_head = 2, .head_rows = 2), {P(5), P(0)}, NULL, 2, 4, 8},
	{W(.n_part = 1), {P(1)}, NULL, 1, 6, 64},
	{W(.n_part = 1, .k = 32), {P(1)}, NULL, 1, 12, 32},
	{{.n_part = 1, .scale = LMD_NONE, .bias = 4}, {P(0)}, NULL, 1, 12, 8},
	{{.n_part = 1, .n_stack = 3, .scale = LMD_NONE, .bias = 4}, {P(2)}, NULL, 3, 4, 8},
	{{.n_part = 1, .scale = LMD_NONE, .bias = 4, .extra0 = 4, .n_extra = 3},
	 {P(0, .row0 = 4, .n_row = 3)}, NULL, 1, 3, 8},
	{{.n_part = 1, .scale = LMD_NONE, .bias = 4, .extra0 = 10, .n_extra = 3},
	 {P(0, .n_row = 3)}, "elements 10..13 of bias v12, which has 12", 0, 0, 0},
	{W(.n_part = 1), {P(0, .k0 = 2, .n_k = 3)}, NULL, 1, 12, 3},
	{W(.n_part = 1), {P(1, .k0 = 32)}, NULL, 1, 6, 32},
	{W(.n_part = 1, .n_stack = 3), {P(2, .n_k = 4)}, NULL, 3, 4, 4},
	{W(.n_part = 1), {P(0, .k0 = 6, .n_k = 3)}, "columns 6..9 of tensor m, which has 8", 0, 0, 0},
	{W(.n_part = 1), {P(1, .k0 = 16, .n_k = 32)}, "not whole blocks of 32", 0, 0, 0},
	{W(.n_part = 0), {P(0)}, "0 parts, expected 1..4096", 0, 0, 0},
	{W(.n_part = 1), {P(77)}, "tensor 77, the model has 8", 0, 0, 0},
	{W(.n_part = 1), {P(0, .row0 = 10, .n_row = 3)},
	 "rows 10..13 of tensor m, which has 12", 0, 0, 0},
	{W(.n_part = 1), {P(0, .row0 = 12)}, "rows 12..12 of tensor m, which has 12", 0, 0, 0},
	{W(.n_part = 1), {P(0, .row0 = 4294967295u, .n_row = 2)},
	 "rows 4294967295..4294967297", 0, 0, 0},
	{W(.n_part = 1), {P(0, .kind = 3)}, "part kind 3", 0, 0, 0},
	{W(.n_part = 1), {P(0, .kind = LMD_WEIGHT_PART_OF_TARGET)}, "there is no target", 0, 0, 0},
	{W(.n_part = 2), {P(0), P(4)}, "K of tensor m is 8, of tensor v12 12", 0, 0, 0},
	{W(.n_part = 2), {P(0), P(1)}, "tensor m is f32, tensor q is q8_0", 0, 0, 0},
	{W(.n_part = 1), {P(6)}, "type 99 of tensor odd is unknown", 0, 0, 0},
	{W(.n_part = 1, .k = 7), {P(0)}, "96 elements, not a multiple of K 7", 0, 0, 0},
	{W(.n_part = 1, .k = 48), {P(1)},
	 "K 48 of tensor q is not a multiple of the q8_0 block 32", 0, 0, 0},
	{W(.n_part = 1, .n = 11, .n_stack = 1), {P(0)}, "n is 11, its parts give 12", 0, 0, 0},
	{W(.n_part = 1, .n_stack = 5), {P(0)}, "12 rows are not a multiple of n_stack 5", 0, 0, 0},
	{W(.n_part = 1, .n = 5), {P(0)}, "12 rows are not a multiple of n 5", 0, 0, 0},
	{W(.n_part = 2, .n_stack = 2), {P(0), P(5)},
	 "2 parts of a stack of 2 need n_head", 0, 0, 0},
	{W(.n_part = 2, .transform = LMD_TRANSFORM_STACK_EXPERTS), {P(5), P(0)},
	 "expert 0 has 4 rows, expert 1 has 12", 0, 0, 0},
	{W(.n_part = 1, .transform = LMD_TRANSFORM_HEAD_TRANSPOSE), {P(0)},
	 "not 1 parts and 0 heads", 0, 0, 0},
	{W(.n_part = 1, .n_head = 5), {P(0)},
	 "12 rows of tensor m do not divide over 5 heads", 0, 0, 0},
	{W(.n_part = 1, .n_head = 4, .head_rows = 4), {P(0)},
	 "4 heads of 4 rows, tensor m has 12", 0, 0, 0},
	{W(.n_part = 1, .n_head = 3, .head_rows = 4), {P(0, .row0 = 3, .n_row = 2)},
	 "rows 3..5 of tensor m, which has 4 in a head", 0, 0, 0},
	{W(.n_part = 1, .transform = 3), {P(0)}, "transform 3", 0, 0, 0},
	{W(.n_part = 1, .split = 5), {P(0)}, "split 5", 0, 0, 0},
	{{.n_part = 1, .scale = LMD_NONE, .bias = 3}, {P(0)},
	 "bias v8 has 8 elements, expected 12", 0, 0, 0},
	{{.n_part = 1, .scale = 3, .bias = LMD_NONE}, {P(0)},
	 "scale v8 has 8 elements, expected 12", 0, 0, 0},
	{{.n_part = 1, .scale = 50, .bias = LMD_NONE}, {P(0)},
	 "scale is tensor 50, the model has 8", 0, 0, 0},
};
#undef W
#undef P
/* clang-format on */

START_TEST(weights_resolve)
{
	const struct wcase *c = &weights[_i];
	struct lmd_weight_ref w = c->w;
	struct lmd_weight_part parts[3];
	struct lmd_error err = {0};
	uint32_t dtype = 0;
	enum lmd_status st;
	struct fx fx;

	weight_model(&fx);
	memcpy(parts, c->parts, sizeof(parts));
	w.name = "w";
	st = lmi_plan_weight_ref_resolve(&w, parts, &fx.model, NULL, &dtype, &err);
	if (c->text) {
		ck_assert_int_ne(st, LMD_OK);
		ck_assert_msg(strstr(err.text, c->text) != NULL, "\"%s\" does not contain \"%s\"",
			      err.text, c->text);
		return;
	}
	ck_assert_msg(st == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(w.n_stack, c->n_stack);
	ck_assert_uint_eq(w.n, c->n);
	ck_assert_uint_eq(w.k, c->k);
}
END_TEST

/* Reads the rows of a weight reference through its pieces and compares them with the tensor. */
START_TEST(pieces)
{
	static float data[12 * 8];
	struct lmd_weight_part part = {.tensor = 0, .row0 = 1, .n_row = 2};
	struct lmd_weight_ref w = {.n_part = 1,
				   .parts = &part,
				   .n_head = 3,
				   .head_rows = 4,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE,
				   .name = "w"};
	struct lmd_error err = {0};
	struct lmd_weight_piece pc;
	uint32_t dtype;
	struct fx fx;

	weight_model(&fx);
	ck_assert_int_eq(lmi_plan_weight_ref_resolve(&w, &part, &fx.model, NULL, &dtype, &err),
			 LMD_OK);
	ck_assert_int_eq(lmi_plan_weight_ref_pieces(&w, &fx.model, NULL, &pc, &dtype, &err),
			 LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "tensor m has no data"));
	for (int i = 0; i < 96; i++)
		data[i] = (float)i;
	fx.tensors[0].data = data;
	ck_assert_int_eq(lmi_plan_weight_ref_pieces(&w, &fx.model, NULL, &pc, &dtype, &err),
			 LMD_OK);
	ck_assert_uint_eq(dtype, LMD_DTYPE_F32);
	ck_assert_uint_eq(pc.n_slice, 3);
	ck_assert_uint_eq(pc.n_row, 2);
	for (uint32_t h = 0; h < 3; h++)
		for (uint32_t r = 0; r < 2; r++) {
			const float *row =
				(const float *)(const void *)((const char *)pc.data +
							      h * pc.head_bytes + r * pc.row_bytes);

			ck_assert_float_eq(row[7], (float)((h * 4 + 1 + r) * 8 + 7));
		}
}
END_TEST

START_TEST(columns_of_a_tensor)
{
	static float m[12 * 8];
	struct lmd_weight_part part = {.tensor = 0, .row0 = 4, .n_row = 2, .k0 = 2, .n_k = 3};
	struct lmd_weight_ref w = {.n_part = 1, .scale = LMD_NONE, .bias = LMD_NONE, .name = "w"};
	struct lmd_weight_piece piece;
	struct lmd_error err = {0};
	uint32_t dtype;
	struct fx fx;

	weight_model(&fx);
	fx.tensors[0].data = m;
	ck_assert_msg(lmi_plan_weight_ref_resolve(&w, &part, &fx.model, NULL, &dtype, &err) == LMD_OK,
		      "%s", err.text);
	ck_assert_int_eq(lmi_plan_weight_ref_pieces(&w, &fx.model, NULL, &piece, &dtype, &err),
			 LMD_OK);
	ck_assert_ptr_eq(piece.data, &m[4 * 8 + 2]);
	ck_assert_uint_eq(piece.row_bytes, 8 * sizeof(float));
	ck_assert_uint_eq(piece.n_row, 2);
	ck_assert_uint_eq(w.k, 3);
}
END_TEST

TCase *plan_weight_ref_cases(void)
{
	TCase *t = tcase_create("wref");

	tcase_add_test(t, columns_of_a_tensor);
	tcase_add_loop_test(t, weights_resolve, 0, LMD_LEN(weights));
	tcase_add_test(t, pieces);
	return t;
}
