/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/base/alloc.h"
#include "core/plan/plan_test.h"

/* Each byte of an op's struct belongs to one field. */
START_TEST(fields_cover_ops)
{
	for (uint32_t code = 0; code < LMD_N_OP; code++) {
		const struct lmi_op_info *info = lmi_op_info(code);
		unsigned char seen[sizeof(struct lmd_op)] = {0};

		ck_assert_msg(!!info == (code > 0), "code %u", code);
		if (!info)
			continue;
		for (uint32_t i = 0; i < info->n_fields; i++) {
			const struct lmi_field *f = &info->fields[i];

			for (uint32_t j = 0; j < (uint32_t)f->count * f->stride; j++)
				ck_assert_msg(!seen[f->offset + j]++, "%s.%s overlaps", info->name,
					      f->name);
		}
		for (size_t i = 0; i < info->bytes; i++)
			ck_assert_msg(seen[offsetof(struct lmd_op, u) + i], "%s: byte %zu",
				      info->name, i);
	}
	ck_assert_ptr_null(lmi_op_info(LMD_N_OP));
	ck_assert_ptr_null(lmi_op_info(UINT32_MAX));
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
	for (int32_t il = 0; il < 3; il++) {
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
		op.u.linear.y[0] = (struct lmd_opnd){0};
		op.u.linear.r_in[0] = fx_cols(x, 0, 16);
		op.u.linear.r_out[0] = fx_cols(r, 0, 16);
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

START_TEST(builds_lays_out_and_dumps)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	const struct lmd_plan *v;
	struct fx fx;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fx_init(&fx, mlp);
	ck_assert_msg(lmi_plan_build(&p, &fx.params, &err) == LMD_OK, "%s", err.text);
	v = lmi_plan_view(p);
	ck_assert_uint_eq(v->n_op, 8);
	ck_assert_uint_eq(v->n_wref, 3); /* equal ones are one */
	ck_assert_int_eq(lmi_plan_layout(p, &err), LMD_OK);
	ck_assert_uint_gt(v->scratch_bytes, 0);
	ck_assert_int_eq(lmi_plan_dump(p, f), LMD_OK);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(text, "\nlayer 1\nlinear y=L1.up x=L0.out w=w:up\n"));
	free(text);
	lmi_plan_destroy(p);
}
END_TEST

START_TEST(all_ops_build)
{
	bool seen[LMD_N_OP] = {0};
	const struct lmd_plan *v;
	struct lmi_plan *p;
	struct fx fx;

	p = plan_of_all_ops(&fx);
	v = lmi_plan_view(p);
	for (uint32_t i = 0; i < v->n_op; i++)
		seen[v->ops[i].code] = true;
	for (uint32_t code = 1; code < LMD_N_OP; code++)
		ck_assert_msg(seen[code] == (code != LMD_OP_SAMPLE), "op %u", code);
	lmi_plan_destroy(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plan");
	TCase *t = tcase_create("plan");

	tcase_add_test(t, fields_cover_ops);
	tcase_add_test(t, builds_lays_out_and_dumps);
	tcase_add_test(t, all_ops_build);
	suite_add_tcase(s, t);
	suite_add_tcase(s, plan_shape_cases());
	return lmd_check_run(srunner_create(s));
}
