/* SPDX-License-Identifier: MIT
 *
 * Ranks of a tensor-parallel plan in one list of ops: who looks up tokens, and what a device of a group
 * exchanges with the others. */
#include "core/plan/plan_test.h"

#define WIDTH  8u
#define N_RANK 4u

struct ranks {
	uint32_t n_built;
	float scale[N_RANK]; /* of the lookup in each rank */
};

static struct lmd_operand value(const struct lmd_builder *b, uint32_t vtype, const char *name)
{
	return fx_cols(b->value(b->ctx, LMD_SPACE_TOKENS, vtype, WIDTH, name), 0, WIDTH);
}

/* One rank: looks up its tokens, and exchanges the plan's input, which is f32. */
static void build(struct fx *fx, const struct lmd_builder *b)
{
	static const struct lmd_input in = {.space = LMD_SPACE_TOKENS,
					    .vtype = LMD_VTYPE_F32,
					    .width = WIDTH,
					    .name = "in"};
	struct ranks *r = fx->arg;
	struct lmd_op op = fx_op(LMD_OP_EMBED);
	struct lmd_operand x = value(b, LMD_VTYPE_ACT, "x"), sum = value(b, LMD_VTYPE_ACT, "sum");

	op.u.embed.y = x;
	op.u.embed.table = fx_weight(fx, b, "embd", 16, WIDTH);
	op.u.embed.neg = LMD_NEG_ZERO;
	op.u.embed.scale = r->scale[r->n_built++];
	b->op(b->ctx, &op);
	op = fx_op(LMD_OP_ALLREDUCE);
	op.u.collective.x = fx_src(LMD_SRC_INPUT, b->input(b->ctx, &in), WIDTH);
	op.u.collective.y = sum;
	b->op(b->ctx, &op);
	op = fx_op(LMD_OP_ALLREDUCE);
	op.u.collective.x = x;
	op.u.collective.y = value(b, LMD_VTYPE_ACT, "again");
	b->op(b->ctx, &op);
	b->output(b->ctx, LMD_OUT_TAP, sum.id);
}

static struct lmi_plan *plan_of_ranks(struct ranks *r, uint32_t n_device)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct fx fx;

	fx_init(&fx, build);
	fx.arg = r;
	fx.params.act_dtype = LMD_DTYPE_F16;
	fx.params.n_rank = N_RANK;
	fx.params.n_device = n_device;
	r->n_built = 0;
	ck_assert_msg(lmi_plan_build(&p, &fx.params, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(r->n_built, N_RANK);
	return p;
}

static uint32_t count(const struct lmd_plan *p, uint32_t code)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_op; i++)
		n += p->ops[i].code == code;
	return n;
}

/* Rank 0 looks up the tokens of all ranks, with and without a group, and no op of another rank but the
 * copies comes before it. */
START_TEST(tokens_are_looked_up_once)
{
	static const uint32_t n_device[] = {1, 2, 4};

	for (size_t i = 0; i < LMD_LEN(n_device); i++) {
		struct ranks r = {.scale = {2, 2, 2, 2}};
		struct lmi_plan *p = plan_of_ranks(&r, n_device[i]);
		const struct lmd_plan *v = lmi_plan_view(p);

		ck_assert_uint_eq(v->ops[0].code, LMD_OP_EMBED);
		ck_assert_uint_eq(v->ops[0].rank, 0);
		ck_assert_uint_eq(count(v, LMD_OP_EMBED), 1);
		for (uint32_t k = 1; k < N_RANK && n_device[i] == 1; k++) {
			ck_assert_uint_eq(v->ops[k].code, LMD_OP_CAST_COPY);
			ck_assert_uint_eq(v->ops[k].rank, k);
			ck_assert_uint_eq(v->ops[k].u.cast_copy.x.id, v->ops[0].u.embed.y.id);
		}
		ck_assert_uint_eq(count(v, LMD_OP_ALLGATHER), n_device[i] > 1 ? n_device[i] : 0);
		lmi_plan_destroy(p);
	}
}
END_TEST

START_TEST(other_lookups_stay_where_they_are)
{
	for (uint32_t n_device = 1; n_device <= 2; n_device++) {
		struct ranks r = {.scale = {2, 2, 2, 3}};
		struct lmi_plan *p = plan_of_ranks(&r, n_device);

		ck_assert_uint_eq(count(lmi_plan_view(p), LMD_OP_EMBED), N_RANK);
		ck_assert_uint_eq(count(lmi_plan_view(p), LMD_OP_ALLGATHER), 0);
		lmi_plan_destroy(p);
	}
}
END_TEST

/* The sum of a device's ranks has the type of what they exchange, also if that is no value. */
START_TEST(sums_have_the_type_of_their_terms)
{
	struct ranks r = {.scale = {2, 2, 2, 2}};
	struct lmi_plan *p = plan_of_ranks(&r, 2);
	const struct lmd_plan *v = lmi_plan_view(p);
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_op; i++) {
		const struct lmd_operand *x = &v->ops[i].u.collective.x;

		if (v->ops[i].code != LMD_OP_ALLREDUCE)
			continue;
		ck_assert_uint_eq(x->src, LMD_SRC_VALUE);
		ck_assert_uint_eq(v->values[x->id].vtype, n++ % 2 ? LMD_VTYPE_ACT : LMD_VTYPE_F32);
		ck_assert_uint_eq(v->values[x->id].width, WIDTH);
	}
	ck_assert_uint_eq(n, 4); /* of each device, two */
	lmi_plan_destroy(p);
}
END_TEST

TCase *plan_ranks_cases(void)
{
	TCase *t = tcase_create("ranks");

	tcase_add_test(t, tokens_are_looked_up_once);
	tcase_add_test(t, other_lookups_stay_where_they_are);
	tcase_add_test(t, sums_have_the_type_of_their_terms);
	return t;
}
