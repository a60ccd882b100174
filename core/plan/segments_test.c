/* SPDX-License-Identifier: MIT
 *
 * Segments: the outputs of the segments together equal the outputs of the whole plan.  A column is
 * represented by a hash of the op that wrote it and of everything that op read. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/plan_test.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29);
}

/* Columns of every value and input of a plan under evaluation. */
struct cols {
	uint64_t *value[256], *input[64];
};

static const uint64_t *source(const struct cols *c, const struct lmd_operand *o)
{
	return o->src == LMD_SRC_VALUE	 ? c->value[o->id]
	       : o->src == LMD_SRC_INPUT ? c->input[o->id]
					 : NULL;
}

static uint64_t hash_in(uint64_t h, const struct lmd_plan *p, const struct cols *c,
			const struct lmd_operand *o)
{
	const uint64_t *col = source(c, o);
	uint32_t width = o->src == LMD_SRC_VALUE ? p->values[o->id].width : UINT32_MAX;

	h = mix(h, o->src == LMD_SRC_INPUT ? LMD_SRC_VALUE : o->src);
	for (uint32_t i = 0; col && i < o->n_head * o->width; i++)
		h = mix(h, col[(o->col0 + i / o->width * o->head_stride + i % o->width) % width]);
	return h;
}

static void run_op(const struct lmd_plan *p, const struct lmd_op *op, struct cols *c)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);
	uint64_t h = op->code;

	if (op->code == LMD_OP_CAST_COPY && op->u.cast_copy.x.src == LMD_SRC_INPUT) {
		for (uint32_t i = 0; i < op->u.cast_copy.x.width; i++)
			c->value[op->u.cast_copy.y.id][op->u.cast_copy.y.col0 + i] =
				c->input[op->u.cast_copy.x.id][op->u.cast_copy.x.col0 + i];
		return;
	}
	for (uint32_t f = 0; f < info->n_fields; f++)
		for (uint32_t j = 0; j < info->fields[f].count; j++) {
			const void *at = lmi_plan_field_get(&info->fields[f], op, j);

			if (info->fields[f].kind == LMI_PLAN_FIELD_IN)
				h = hash_in(h, p, c, at);
			else if (info->fields[f].kind == LMI_PLAN_FIELD_WEIGHT_REF &&
				 *(const uint32_t *)at != LMD_NONE)
				for (const char *s = p->weight_refs[*(const uint32_t *)at].name; *s;
				     s++)
					h = mix(h, (uint64_t)*s);
		}
	for (uint32_t f = 0; f < info->n_fields; f++)
		for (uint32_t j = 0; j < info->fields[f].count; j++) {
			const struct lmd_operand *o = lmi_plan_field_get(&info->fields[f], op, j);

			if (info->fields[f].kind != LMI_PLAN_FIELD_OUT || !o->src)
				continue;
			for (uint32_t i = 0; i < o->n_head * o->width; i++)
				c->value[o->id]
					[o->col0 + i / o->width * o->head_stride + i % o->width] =
					mix(h, (uint64_t)f << 32 | j << 24 | i);
		}
}

static void evaluate(const struct lmd_plan *p, struct cols *c)
{
	ck_assert_uint_le(p->n_value, LMD_LEN(c->value));
	ck_assert_uint_le(p->n_input, LMD_LEN(c->input));
	for (uint32_t i = 0; i < p->n_value; i++)
		c->value[i] = calloc(p->values[i].width, sizeof(uint64_t));
	for (uint32_t i = 0; i < p->n_input; i++)
		if (!c->input[i])
			c->input[i] = calloc(p->inputs[i].width, sizeof(uint64_t));
	for (uint32_t i = 0; i < p->n_op; i++)
		run_op(p, &p->ops[i], c);
}

static const uint64_t *output(const struct lmd_plan *p, const struct cols *c, uint32_t id,
			      uint32_t *width)
{
	for (uint32_t i = 0; i < p->n_output; i++)
		if (p->outputs[i].id == id) {
			*width = p->values[p->outputs[i].value].width;
			return c->value[p->outputs[i].value];
		}
	return NULL;
}

static void drop(struct cols *c)
{
	for (uint32_t i = 0; i < LMD_LEN(c->value); i++)
		free(c->value[i]);
	for (uint32_t i = 0; i < LMD_LEN(c->input); i++)
		free(c->input[i]);
}

/* Runs the segments one after another, passing taps to inputs. */
static void evaluate_cut(const struct lmi_plan_segments *cut, struct cols *seg)
{
	for (uint32_t i = 0; i < lmi_plan_segments_count(cut); i++) {
		const struct lmi_plan_segment_link *links;
		uint32_t device, n = lmi_plan_segments_links(cut, i, &links), width;
		const struct lmd_plan *p = lmi_plan_view(lmi_plan_segments_plan(cut, i, &device));

		for (uint32_t k = 0; k < n; k++) {
			uint32_t dev;
			const struct lmd_plan *from = lmi_plan_view(
				lmi_plan_segments_plan(cut, links[k].from_segment, &dev));
			const uint64_t *col =
				output(from, &seg[links[k].from_segment], links[k].out_id, &width);

			ck_assert_uint_lt(links[k].from_segment, i);
			ck_assert_ptr_nonnull(col);
			ck_assert_uint_eq(width, p->inputs[links[k].input].width);
			seg[i].input[links[k].input] = calloc(width, sizeof(*col));
			memcpy(seg[i].input[links[k].input], col, width * sizeof(*col));
		}
		evaluate(p, &seg[i]);
	}
}

static void same_outputs(const struct lmd_plan *whole, const struct cols *want,
			 const struct lmi_plan_segments *cut, const struct cols *seg)
{
	for (uint32_t o = 0; o < whole->n_output; o++) {
		const struct lmd_value *v = &whole->values[whole->outputs[o].value];
		uint32_t found = 0, device, width;

		for (uint32_t i = 0; i < lmi_plan_segments_count(cut); i++) {
			const struct lmd_plan *p =
				lmi_plan_view(lmi_plan_segments_plan(cut, i, &device));
			const uint64_t *col = output(p, &seg[i], whole->outputs[o].id, &width);

			if (!col || width != v->width ||
			    memcmp(col, want->value[whole->outputs[o].value], width * sizeof(*col)))
				continue;
			found++;
		}
		ck_assert_msg(found == 1, "output %u: %u segments give it", whole->outputs[o].id,
			      found);
	}
}

START_TEST(values_cross_borders)
{
	uint64_t seed = lmd_seed("plan cut", 77) + (uint64_t)_i;
	struct lmd_error err = {0};
	struct fx fx;
	struct lmi_plan *p = plan_of_all_ops(&fx);
	const struct lmd_plan *v = lmi_plan_view(p);
	struct lmi_plan_segments *cut = NULL;
	struct cols want = {0}, *seg;
	uint8_t device_of[256], expect = 0;
	uint32_t n = 0;

	ck_assert_uint_le(v->n_op, sizeof(device_of));
	for (uint32_t i = 0; i < v->n_op; i++) {
		if (lmd_rand(&seed) % (1 + (uint64_t)_i % 9) == 0)
			expect = (uint8_t)(lmd_rand(&seed) % 3);
		device_of[i] = expect;
		n += !i || device_of[i] != device_of[i - 1];
	}
	ck_assert_msg(lmi_plan_split_by_device(&cut, p, device_of, NULL, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(lmi_plan_segments_count(cut), n);
	seg = calloc(n, sizeof(*seg));
	evaluate(v, &want);
	evaluate_cut(cut, seg);
	same_outputs(v, &want, cut, seg);
	for (uint32_t i = 0; i < n; i++)
		drop(&seg[i]);
	free(seg);
	drop(&want);
	lmi_plan_segments_destroy(cut);
	lmi_plan_destroy(p);
}
END_TEST

/* Two halves of a value written on two devices and read on a third. */
static void build_halves(struct fx *fx, const struct lmd_builder *b)
{
	uint32_t x = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, 8, "x");
	uint32_t both = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_ACT, 16, "both");
	uint32_t y = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, 4, "y");
	struct lmd_op op = fx_op(LMD_OP_EMBED);

	op.u.embed.y = fx_cols(x, 0, 8);
	op.u.embed.table = fx_weight(fx, b, "embd", 3, 8);
	b->op(b->ctx, &op);
	op = fx_op(LMD_OP_LINEAR);
	op.u.linear.n_w = 1;
	op.u.linear.x = fx_cols(x, 0, 8);
	op.u.linear.w[0] = fx_weight(fx, b, "a", 8, 8);
	op.u.linear.y[0] = fx_cols(both, 0, 8);
	b->op(b->ctx, &op);
	op.u.linear.w[0] = fx_weight(fx, b, "b", 8, 8);
	op.u.linear.y[0] = fx_cols(both, 8, 8);
	b->op(b->ctx, &op);
	op.u.linear.x = fx_cols(both, 0, 16);
	op.u.linear.w[0] = fx_weight(fx, b, "c", 4, 16);
	op.u.linear.y[0] = fx_cols(y, 0, 4);
	b->op(b->ctx, &op);
	b->output(b->ctx, LMD_OUT_TAP + 3, y);
}

START_TEST(halves_meet)
{
	const uint8_t device_of[] = {0, 0, 1, 2};
	struct cols want = {0}, seg[3] = {0};
	const struct lmi_plan_segment_link *links;
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct lmi_plan_segments *cut = NULL;
	const struct lmd_plan *s;
	uint32_t device;
	struct fx fx;

	fx_init(&fx, build_halves);
	ck_assert_int_eq(lmi_plan_build(&p, &fx.params, &err), LMD_OK);
	ck_assert_int_eq(lmi_plan_split_by_device(&cut, p, device_of, NULL, &err), LMD_OK);
	ck_assert_uint_eq(lmi_plan_segments_count(cut), 3);
	ck_assert_uint_eq(lmi_plan_segments_links(cut, 0, &links), 0);
	ck_assert_uint_eq(lmi_plan_segments_links(cut, 1, &links), 2); /* x, the first half */
	ck_assert_uint_eq(lmi_plan_segments_links(cut, 2, &links),
			  1); /* both halves from segment 1 */
	ck_assert_uint_eq(links[0].from_segment, 1);
	s = lmi_plan_view(lmi_plan_segments_plan(cut, 2, &device));
	ck_assert_uint_eq(device, 2);
	ck_assert_uint_eq(s->n_weight_ref, 1);
	ck_assert_uint_eq(s->inputs[links[0].input].vtype, LMD_VTYPE_F32);
	ck_assert_uint_gt(s->scratch_bytes, 0);
	evaluate(lmi_plan_view(p), &want);
	evaluate_cut(cut, seg);
	same_outputs(lmi_plan_view(p), &want, cut, seg);
	drop(&want);
	for (int i = 0; i < 3; i++)
		drop(&seg[i]);
	lmi_plan_segments_destroy(cut);
	lmi_plan_segments_destroy(NULL);
	lmi_plan_destroy(p);
}
END_TEST

TCase *plan_cut_cases(void)
{
	TCase *t = tcase_create("cut");

	tcase_add_loop_test(t, values_cross_borders, 0, 24);
	tcase_add_test(t, halves_meet);
	return t;
}
