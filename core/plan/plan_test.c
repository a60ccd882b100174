/* SPDX-License-Identifier: MIT
 *
 * The builder: field table, dump, declarations, single assignment, allocation failures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/plan_test.h"

#undef fail /* a macro of Check; here a member of the builder */

/* Every byte of an op's struct belongs to exactly one field. */
START_TEST(fields_cover_ops)
{
	for (uint32_t code = 0; code < LMD_N_OP; code++) {
		const struct lmi_plan_op_info *info = lmi_plan_op_info(code);
		unsigned char seen[sizeof(struct lmd_op)] = {0};

		ck_assert_msg(!!info == (code > 0), "code %u", code);
		if (!info)
			continue;
		for (uint32_t i = 0; i < info->n_fields; i++) {
			const struct lmi_plan_field *f = &info->fields[i];

			for (uint32_t j = 0; j < (uint32_t)f->count * f->stride; j++)
				ck_assert_msg(!seen[f->offset + j]++, "%s.%s overlaps", info->name,
					      f->name);
		}
		for (size_t i = 0; i < info->bytes; i++)
			ck_assert_msg(seen[offsetof(struct lmd_op, u) + i], "%s: byte %zu",
				      info->name, i);
	}
	ck_assert_ptr_null(lmi_plan_op_info(LMD_N_OP));
	ck_assert_ptr_null(lmi_plan_op_info(UINT32_MAX));
}
END_TEST

static void mlp(struct fx *fx, const struct lmd_builder *b)
{
	uint32_t x = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, 16, "embd");
	uint32_t y = b->value(b->ctx, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, 32, "logits");
	struct lmd_op op = fx_op(LMD_OP_EMBED);

	op.u.embed.y = fx_cols(x, 0, 16);
	op.u.embed.table = fx_weight(fx, b, "token_embd", 32, 16);
	b->op(b->ctx, &op);
	for (int32_t il = 0; il < 2; il++) {
		uint32_t h, r;

		b->layer(b->ctx, il);
		h = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, 24, "up");
		r = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, 16, "out");
		op = fx_op(LMD_OP_LINEAR);
		op.u.linear.x = fx_cols(x, 0, 16);
		op.u.linear.n_w = 1;
		op.u.linear.w[0] = fx_weight(fx, b, "up", 24, 16);
		op.u.linear.y[0] = fx_cols(h, 0, 24);
		b->op(b->ctx, &op);
		op.u.linear.x = fx_cols(h, 0, 24);
		op.u.linear.w[0] = fx_weight(fx, b, "down", 16, 24);
		op.u.linear.y[0] = (struct lmd_operand){0};
		op.u.linear.r_in[0] = fx_cols(x, 0, 16);
		op.u.linear.r_out[0] = fx_cols(r, 0, 16);
		op.u.linear.a = 0.1f;
		b->op(b->ctx, &op);
		x = r;
	}
	b->layer(b->ctx, -1);
	op = fx_op(LMD_OP_HEAD);
	op.u.head.x = fx_cols(x, 0, 16);
	op.u.head.w = fx_weight(fx, b, "token_embd", 32, 16);
	op.u.head.y = fx_cols(y, 0, 32);
	b->op(b->ctx, &op);
	b->output(b->ctx, LMD_OUT_LOGITS, y);
}

static const char mlp_text[] = "plan forward\n"
			       "weight token_embd [32,16] f32\n"
			       "weight up [24,16] f32\n"
			       "weight down [16,24] f32\n"
			       "value embd tokens f32[16]\n"
			       "value logits outputs f32[32]\n"
			       "value L0.up tokens act[24]\n"
			       "value L0.out tokens f32[16]\n"
			       "value L1.up tokens act[24]\n"
			       "value L1.out tokens f32[16]\n"
			       "embed y=embd table=w:token_embd\n"
			       "layer 0\n"
			       "linear y=L0.up x=embd w=w:up\n"
			       "linear r_out=L0.out x=L0.up w=w:down r_in=embd a=0.100000001\n"
			       "layer 1\n"
			       "linear y=L1.up x=L0.out w=w:up\n"
			       "linear r_out=L1.out x=L1.up w=w:down r_in=L0.out a=0.100000001\n"
			       "end of layers\n"
			       "head y=logits x=L1.out w=w:token_embd\n"
			       "output logits logits\n";

static char *dump(const struct lmi_plan *p)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	ck_assert_int_eq(lmi_plan_dump(p, f), LMD_OK);
	fclose(f);
	return text;
}

START_TEST(builds_and_dumps)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct fx fx;
	char *text, *again;

	fx_init(&fx, mlp);
	ck_assert_msg(lmi_plan_build(&p, &fx.params, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(lmi_plan_view(p)->n_weight_ref, 3); /* equal weights are merged */
	text = dump(p);
	ck_assert_str_eq(text, mlp_text);
	ck_assert_int_eq(lmi_plan_layout(p, &err), LMD_OK);
	again = dump(p);
	ck_assert_str_eq(text, again); /* the memory layout is not part of the dump */
	free(text);
	free(again);
	lmi_plan_destroy(p);
	lmi_plan_destroy(NULL);
}
END_TEST

START_TEST(all_ops_build)
{
	bool seen[LMD_N_OP] = {0};
	const struct lmd_plan *v;
	struct lmi_plan *p;
	struct fx fx;
	char *text;

	p = plan_of_all_ops(&fx);
	v = lmi_plan_view(p);
	for (uint32_t i = 0; i < v->n_op; i++)
		seen[v->ops[i].code] = true;
	for (uint32_t code = 1; code < LMD_N_OP; code++)
		ck_assert_msg(seen[code] == (code != LMD_OP_SAMPLE), "op %u", code);
	text = dump(p);
	ck_assert_ptr_nonnull(strstr(text, " prog=r8=const(3);r9=fma(r0,r1,r8);r10=mul(r9,r2) -> "
					   "r10,r9\n"));
	free(text);
	lmi_plan_destroy(p);
}
END_TEST

/* ---- errors reported by the builder ---- */

static uint32_t a_value(const struct lmd_builder *b, uint32_t width)
{
	return b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, width, "v");
}

static void fill(struct fx *fx, const struct lmd_builder *b, uint32_t v, uint32_t col0, uint32_t n)
{
	struct lmd_op op = fx_op(LMD_OP_EMBED);
	char name[16];

	snprintf(name, sizeof(name), "t%u", n);
	op.u.embed.y = fx_cols(v, col0, n);
	op.u.embed.table = fx_weight(fx, b, name, 3, n);
	b->op(b->ctx, &op);
}

static void no_ops(struct fx *fx, const struct lmd_builder *b)
{
	(void)fx;
	(void)a_value(b, 3);
}

static void width_zero(struct fx *fx, const struct lmd_builder *b)
{
	fill(fx, b, a_value(b, 0), 0, 1);
}

static void space_unknown(struct fx *fx, const struct lmd_builder *b)
{
	(void)fx;
	(void)b->value(b->ctx, LMD_SPACE_X0, LMD_VTYPE_F32, 3, "map");
}

static void unwritten(struct fx *fx, const struct lmd_builder *b)
{
	fill(fx, b, a_value(b, 8), 0, 5);
}

static void unwritten_middle(struct fx *fx, const struct lmd_builder *b)
{
	uint32_t v = a_value(b, 8);

	fill(fx, b, v, 0, 3);
	fill(fx, b, v, 5, 3);
}

static void written_twice(struct fx *fx, const struct lmd_builder *b)
{
	uint32_t v = a_value(b, 8);

	fill(fx, b, v, 0, 5);
	fill(fx, b, v, 4, 4);
}

static void op_unknown(struct fx *fx, const struct lmd_builder *b)
{
	const struct lmd_op op = {.code = 99};

	(void)fx;
	b->op(b->ctx, &op);
}

static void output_unknown(struct fx *fx, const struct lmd_builder *b)
{
	fill(fx, b, a_value(b, 3), 0, 3);
	b->output(b->ctx, 7, 0);
}

static void output_twice(struct fx *fx, const struct lmd_builder *b)
{
	fill(fx, b, a_value(b, 3), 0, 3);
	b->output(b->ctx, LMD_OUT_EMBED, 0);
	b->output(b->ctx, LMD_OUT_EMBED, 0);
}

static void input_wide(struct fx *fx, const struct lmd_builder *b)
{
	const struct lmd_input in = {.vtype = LMD_VTYPE_F32, .width = 1u << 25, .name = "in"};

	(void)fx;
	(void)b->input(b->ctx, &in);
}

static void own_error(struct fx *fx, const struct lmd_builder *b)
{
	b->fail(b->ctx, LMD_UNSUPPORTED, "heads %d of %s", 3, fx->model.arch);
	b->fail(b->ctx, LMD_INVALID, "later ones do not count");
	fill(fx, b, a_value(b, 0), 0, 1);
}

static void literal_empty(struct fx *fx, const struct lmd_builder *b)
{
	(void)fx;
	(void)b->literal(b->ctx, NULL, 1, 4, LMD_SPLIT_REPLICATE, "nothing");
}

static void literal_large(struct fx *fx, const struct lmd_builder *b)
{
	static const float x;

	(void)fx;
	(void)b->literal(b->ctx, &x, 1u << 10, (1u << 8) + 1, LMD_SPLIT_REPLICATE, "huge");
}

static const struct {
	void (*build)(struct fx *fx, const struct lmd_builder *b);
	enum lmd_status st;
	const char *text;
} invalid[] = {
	{no_ops, LMD_INVALID, "0 ops"},
	{width_zero, LMD_INVALID, "value v (layer -1): space 0, type 0, width 0"},
	{space_unknown, LMD_INVALID, "value map (layer -1): space 3"},
	{unwritten, LMD_INVALID, "value v: column 5 of 8 is never written"},
	{unwritten_middle, LMD_INVALID, "value v: column 3 of 8 is never written"},
	{written_twice, LMD_INVALID, "columns 4..8 of v are written twice"},
	{op_unknown, LMD_INVALID, "op 0 (layer -1): code 99, expected 1..24"},
	{output_unknown, LMD_INVALID, "output 7: value 0 of 1"},
	{output_twice, LMD_INVALID, "output 3: cannot be value v, it is already v"},
	{input_wide, LMD_INVALID, "input 0: space 0, type 0, width 33554432"},
	{own_error, LMD_UNSUPPORTED, "heads 3 of fake"},
	{literal_empty, LMD_INVALID, "weight nothing: literal [1, 4] without numbers"},
	{literal_large, LMD_INVALID, "weight huge: literal [1024, 257] is greater than 1 MiB"},
};

START_TEST(builder_errors)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct fx fx;

	fx_init(&fx, invalid[_i].build);
	ck_assert_int_eq(lmi_plan_build(&p, &fx.params, &err), invalid[_i].st);
	ck_assert_msg(strstr(err.text, invalid[_i].text) != NULL, "\"%s\" does not contain \"%s\"",
		      err.text, invalid[_i].text);
	ck_assert_int_eq(lmi_plan_build(&p, &fx.params, NULL), invalid[_i].st);
}
END_TEST

/* ---- declarations ---- */

static struct lmd_group bad_group;
static struct lmd_cache bad_cache;
static struct lmd_row_in bad_row;

static void reset_description(struct fx *fx)
{
	fx_init_all_ops(fx);
	bad_group = (struct lmd_group){.name = "g", .ratio = 1};
	bad_cache = (struct lmd_cache){.kind = LMD_CACHE_KV, .n_head = 1, .dk = 8, .dv = 8};
	bad_row = (struct lmd_row_in){.vtype = LMD_VTYPE_F32, .width = 1, .name = "r"};
	fx->desc.n_group = fx->desc.n_cache = fx->desc.n_row_in = 1;
	fx->desc.groups = &bad_group;
	fx->desc.caches = &bad_cache;
	fx->desc.row_ins = &bad_row;
}

#define DESCRIPTION(what, sentence)                                                                \
	do {                                                                                       \
		struct lmd_error err = {0};                                                        \
		struct lmi_plan *p = NULL;                                                         \
		struct fx fx;                                                                      \
		reset_description(&fx);                                                            \
		what;                                                                              \
		ck_assert_int_ne(lmi_plan_build(&p, &fx.params, &err), LMD_OK);                    \
		ck_assert_msg(strstr(err.text, sentence) != NULL,                                  \
			      "\"%s\" does not contain \"%s\"", err.text, sentence);               \
	} while (0)

START_TEST(invalid_descriptions)
{
	DESCRIPTION(fx.desc.n_group = 9, "9 groups");
	DESCRIPTION(fx.desc.groups = NULL, "1 groups, 1 caches");
	DESCRIPTION(bad_group.kind = 4, "group 0 g: kind 4");
	DESCRIPTION(bad_group.ratio = 0, "group 0 g: ratio 0");
	DESCRIPTION(bad_group.window = bad_group.chunk = 5, "window 5 and chunk 5");
	DESCRIPTION((bad_group.kind = LMD_GROUP_BATCH, bad_group.q_space = 2), "q_space is 2");
	DESCRIPTION((bad_group.kind = LMD_GROUP_CROSS, bad_group.k_space = 5), "k_space is 5");
	DESCRIPTION(bad_cache.group = 1, "cache 0: group 1, but there are only 1");
	DESCRIPTION(bad_cache.kind = 6, "cache 0: kind 6");
	DESCRIPTION(bad_cache.dv = 0, "cache 0: 1 heads, dk 8, dv 0");
	DESCRIPTION((bad_cache.kind = LMD_CACHE_V_IN_K, bad_cache.dv = 9), "first 9 columns of 8");
	DESCRIPTION(bad_cache.kind = LMD_CACHE_STATE, "cache 0: kind 4 in group g of kind 0");
	DESCRIPTION(bad_group.kind = LMD_GROUP_BATCH, "cache 0: kind 0 in group g of kind 3");
	DESCRIPTION((bad_group.kind = LMD_GROUP_STATE, bad_cache.kind = LMD_CACHE_CONV,
		     bad_cache.dk = 257),
		    "257 rows of history, at most 256");
	DESCRIPTION(bad_row.width = 33, "row input 0: type 0, width 33");
	DESCRIPTION(bad_row.vtype = LMD_VTYPE_ACT, "row input 0: type 1");
	DESCRIPTION(fx.params.k_dtype = LMD_DTYPE_Q8_0, "multiples of 32, not 8");
	DESCRIPTION(fx.params.v_dtype = LMD_DTYPE_Q4_0, "q4_0 needs head widths that are multiples");
	DESCRIPTION(fx.params.k_dtype = 5, "type 5 is unknown");
	DESCRIPTION(fx.params.act_dtype = LMD_DTYPE_Q8_0, "activations of type 8");
	DESCRIPTION(fx.params.key.kind = 4, "kind 4");
}
END_TEST

/* ---- allocation failures ---- */

static bool support_few(void *arg, const struct lmd_plan *plan, const struct lmd_op *op,
			char *reason, size_t n)
{
	(void)arg;
	(void)plan;
	(void)reason;
	(void)n;
	return op->code != LMD_OP_FFN && op->code != LMD_OP_MOE_FFN;
}

static enum lmd_status everything(struct fx *fx)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct lmi_plan_step *s = NULL;
	struct lmi_plan_segments *cut = NULL;
	uint8_t device_of[256] = {0};
	enum lmd_status st = lmi_plan_build(&p, &fx->params, &err);

	if (st == LMD_OK)
		st = lmi_plan_lower(p, support_few, NULL, &err);
	if (st == LMD_OK)
		st = lmi_plan_layout(p, &err);
	for (uint32_t i = 0; st == LMD_OK && i < lmi_plan_view(p)->n_op; i++)
		device_of[i] = (uint8_t)(i / 7 % 3);
	if (st == LMD_OK)
		st = lmi_plan_split_by_device(&cut, p, device_of, NULL, &err);
	if (st == LMD_OK)
		st = lmi_plan_step_create(&s, lmi_plan_view(p), 4, &err);
	lmi_plan_step_destroy(s);
	lmi_plan_segments_destroy(cut);
	lmi_plan_destroy(p);
	ck_assert_msg(st == LMD_OK || st == LMD_NOMEM, "%s", err.text);
	return st;
}

START_TEST(no_leak_without_memory)
{
	struct lmi_alloc_stats before, after;
	struct fx fx;
	uint64_t n;

	fx_init_all_ops(&fx);
	lmi_alloc_stats(&before);
	for (n = 1;; n++) {
		enum lmd_status st;

		lmi_alloc_fail_nth(n, false);
		st = everything(&fx);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
		if (!lmi_alloc_did_fail()) {
			ck_assert_int_eq(st, LMD_OK);
			break;
		}
		ck_assert_int_eq(st, LMD_NOMEM);
	}
	lmi_alloc_fail_nth(0, false);
	ck_assert_uint_gt(n, 50);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plan");
	TCase *t = tcase_create("build");

	tcase_add_test(t, fields_cover_ops);
	tcase_add_test(t, builds_and_dumps);
	tcase_add_test(t, all_ops_build);
	tcase_add_loop_test(t, builder_errors, 0, LMD_LEN(invalid));
	tcase_add_test(t, invalid_descriptions);
	tcase_add_test(t, no_leak_without_memory);
	suite_add_tcase(s, t);
	suite_add_tcase(s, plan_weight_ref_cases());
	suite_add_tcase(s, plan_shape_cases());
	suite_add_tcase(s, plan_rope_cases());
	suite_add_tcase(s, plan_layout_cases());
	suite_add_tcase(s, plan_lower_cases());
	suite_add_tcase(s, plan_cut_cases());
	suite_add_tcase(s, plan_ranks_cases());
	suite_add_tcase(s, plan_model_cases());
	return lmd_check_run(srunner_create(s));
}
