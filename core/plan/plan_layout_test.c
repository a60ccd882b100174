/* SPDX-License-Identifier: MIT
 *
 * Memory layout: simulates random plans, with an owner for each 64 bytes.  Whatever an op reads
 * must still belong to the value that it refers to. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/plan_test.h"

#define GRAIN 64u

struct random_plan {
	uint64_t seed;
	uint32_t n_op, n_tap;
};

/* Every op sums single columns of up to three earlier values into one or two new ones. */
static void build_random(struct fx *fx, const struct lmd_builder *b)
{
	struct random_plan *r = fx->arg;
	uint32_t values[512], n = 0;
	struct lmd_op op = fx_op(LMD_OP_EMBED);

	values[n++] = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, 5, "x");
	op.u.embed.y = fx_cols(values[0], 0, 5);
	op.u.embed.table = fx_weight(fx, b, "embd", 3, 5);
	b->op(b->ctx, &op);
	for (uint32_t i = 0; i < r->n_op; i++) {
		uint32_t width = (uint32_t)(1 + lmd_rand(&r->seed) % 200);
		uint32_t vtype = lmd_rand(&r->seed) % 3 ? LMD_VTYPE_F32 : LMD_VTYPE_ACT;

		op = fx_op(LMD_OP_EW);
		op.u.ew.n_in = (uint32_t)(1 + lmd_rand(&r->seed) % 3);
		op.u.ew.n_out = (uint32_t)(1 + lmd_rand(&r->seed) % 2);
		for (uint32_t j = 0; j < op.u.ew.n_in; j++) /* mostly recent values */
			op.u.ew.in[j] = fx_cols(
				values[n - 1 - lmd_rand(&r->seed) % (n < 12 ? n : 12)], 0, 1);
		for (uint32_t j = 0; j < op.u.ew.n_out; j++) {
			values[n] = b->value(b->ctx, LMD_SPACE_TOKENS, (enum lmd_vtype)vtype, width,
					     "v");
			op.u.ew.out[j] = fx_cols(values[n++], 0, width);
			op.u.ew.out_reg[j] = 0;
		}
		b->op(b->ctx, &op);
	}
	for (uint32_t k = 0; k < r->n_tap; k++)
		b->output(b->ctx, LMD_OUT_TAP + k, values[k * n / r->n_tap]);
}

static uint64_t value_bytes(const struct lmd_plan *p, uint32_t v)
{
	return (uint64_t)p->values[v].row_bytes * p->max_rows[p->values[v].space];
}

static void own(uint32_t *owner, const struct lmd_plan *p, uint32_t v)
{
	for (uint64_t at = 0; at < value_bytes(p, v); at += GRAIN)
		owner[(p->values[v].offset + at) / GRAIN] = v;
}

static void owned(const uint32_t *owner, const struct lmd_plan *p, uint32_t v, uint32_t op)
{
	for (uint64_t at = 0; at < value_bytes(p, v); at += GRAIN)
		ck_assert_msg(owner[(p->values[v].offset + at) / GRAIN] == v,
			      "op %u: value %u was overwritten by %u", op, v,
			      owner[(p->values[v].offset + at) / GRAIN]);
}

static void each(const struct lmd_plan *p, uint32_t i, uint32_t kind, uint32_t *owner)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(p->ops[i].code);

	for (uint32_t f = 0; f < info->n_fields; f++)
		for (uint32_t j = 0; j < info->fields[f].count; j++) {
			const struct lmd_operand *o =
				lmi_plan_field_get(&info->fields[f], &p->ops[i], j);

			if (info->fields[f].kind != kind || o->src != LMD_SRC_VALUE)
				continue;
			if (kind == LMI_PLAN_FIELD_OUT)
				own(owner, p, o->id);
			else
				owned(owner, p, o->id, i);
		}
}

static void simulate(const struct lmd_plan *p)
{
	uint32_t *owner = calloc(p->scratch_bytes / GRAIN + 1, sizeof(*owner));
	uint64_t all = 0;

	for (uint32_t v = 0; v < p->n_value; v++) {
		const uint32_t elem = p->values[v].vtype == LMD_VTYPE_ACT ? 2 : 4;

		ck_assert_uint_eq(p->values[v].offset % 64, 0);
		ck_assert_uint_eq(p->values[v].row_bytes % 64, 0);
		ck_assert_uint_ge(p->values[v].row_bytes, p->values[v].width * elem);
		ck_assert_uint_le(p->values[v].offset + value_bytes(p, v), p->scratch_bytes);
		all += value_bytes(p, v);
	}
	ck_assert_uint_le(p->scratch_bytes, all);
	for (uint32_t i = 0; i < p->n_op; i++) {
		each(p, i, LMI_PLAN_FIELD_IN, owner);
		each(p, i, LMI_PLAN_FIELD_OUT, owner);
		each(p, i, LMI_PLAN_FIELD_OUT, owner); /* two outputs of one op do not overlap */
		for (uint32_t f = 0; f < lmi_plan_op_info(p->ops[i].code)->n_fields; f++) {
			const struct lmi_plan_field *fd =
				&lmi_plan_op_info(p->ops[i].code)->fields[f];

			for (uint32_t j = 0; j < fd->count && fd->kind == LMI_PLAN_FIELD_OUT; j++) {
				const struct lmd_operand *o = lmi_plan_field_get(fd, &p->ops[i], j);

				if (o->src)
					owned(owner, p, o->id, i);
			}
		}
	}
	for (uint32_t i = 0; i < p->n_output; i++)
		owned(owner, p, p->outputs[i].value, p->n_op);
	if (p->key.flags & LMD_PLAN_KEEP)
		for (uint32_t v = 0; v < p->n_value; v++)
			owned(owner, p, v, p->n_op);
	free(owner);
}

START_TEST(lives_never_overlap)
{
	uint64_t seed = lmd_seed("plan layout", 20240717) + (uint64_t)_i;
	struct random_plan r = {.seed = seed,
				.n_op = (uint32_t)(1 + lmd_rand(&seed) % 120),
				.n_tap = (uint32_t)(lmd_rand(&seed) % 5)};
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct fx fx;

	fx_init(&fx, build_random);
	fx.arg = &r;
	fx.params.act_dtype = LMD_DTYPE_F16;
	fx.params.key.flags = _i % 8 == 0 ? LMD_PLAN_KEEP : 0;
	ck_assert_msg(lmi_plan_build(&p, &fx.params, &err) == LMD_OK, "%s", err.text);
	ck_assert_int_eq(lmi_plan_layout(p, &err), LMD_OK);
	simulate(lmi_plan_view(p));
	lmi_plan_destroy(p);
}
END_TEST

static void build_chain(struct fx *fx, const struct lmd_builder *b)
{
	uint32_t x = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, 16, "x");
	struct lmd_op op = fx_op(LMD_OP_EMBED);

	op.u.embed.y = fx_cols(x, 0, 16);
	op.u.embed.table = fx_weight(fx, b, "embd", 3, 16);
	b->op(b->ctx, &op);
	for (int i = 0; i < 50; i++) {
		uint32_t y = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, 16, "y");

		op = fx_op(LMD_OP_CAST_COPY);
		op.u.cast_copy.x = fx_cols(x, 0, 16);
		op.u.cast_copy.y = fx_cols(y, 0, 16);
		b->op(b->ctx, &op);
		x = y;
	}
}

START_TEST(a_chain_needs_two)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct fx fx;

	fx_init(&fx, build_chain);
	ck_assert_int_eq(lmi_plan_build(&p, &fx.params, &err), LMD_OK);
	ck_assert_int_eq(lmi_plan_layout(p, &err), LMD_OK);
	ck_assert_uint_eq(lmi_plan_view(p)->scratch_bytes, 2 * 64 * 8);
	lmi_plan_destroy(p);
}
END_TEST

START_TEST(too_large)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;
	struct fx fx;

	fx_init(&fx, build_chain);
	fx.params.max_rows[LMD_SPACE_TOKENS] = (1u << 30) + 1;
	ck_assert_int_eq(lmi_plan_build(&p, &fx.params, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "1073741825 rows in space 0"));
}
END_TEST

/* ---- step block ---- */

static void in_block(const struct lmi_plan_step *s, const void *at, size_t bytes,
		     unsigned char *used)
{
	size_t off = (size_t)((const char *)at - (const char *)s->block);

	ck_assert_ptr_nonnull(at);
	ck_assert_uint_eq(off % 64, 0);
	ck_assert_uint_le(off + bytes, s->view.bytes);
	for (size_t i = off; i < off + bytes; i++)
		ck_assert_msg(!used[i]++, "byte %zu is in two arrays", i);
}

START_TEST(step_arrays_lie_apart)
{
	struct lmd_error err = {0};
	struct fx fx;
	struct lmi_plan *p = plan_of_all_ops(&fx);
	const struct lmd_plan *v = lmi_plan_view(p);
	const size_t t = v->max_rows[0], o = v->max_rows[1], n_seq = v->max_rows[2];
	struct lmi_plan_step *s = NULL, *again = NULL;
	unsigned char *used;

	ck_assert_int_eq(lmi_plan_step_create(&s, v, 7, &err), LMD_OK);
	ck_assert_int_eq(lmi_plan_step_create(&again, v, 7, &err), LMD_OK);
	used = calloc(s->view.bytes, 1);
	ck_assert_ptr_eq(s->view.head, s->block);
	in_block(s, s->head, sizeof(*s->head), used);
	in_block(s, s->token, t * 4, used);
	for (int i = 0; i < 4; i++)
		in_block(s, s->pos[i], t * 4, used);
	in_block(s, s->seq_of, t * 4, used);
	in_block(s, s->q_start, n_seq * 4, used);
	in_block(s, s->q_len, n_seq * 4, used);
	in_block(s, s->seq_slot, n_seq * 4, used);
	in_block(s, s->out_row, o * 4, used);
	in_block(s, s->tree, t * 8, used);
	in_block(s, s->lora_slot, t * 4, used);
	in_block(s, s->row_in[0], t * 2 * 4, used);
	in_block(s, s->row_in[1], t * 4, used);
	for (uint32_t i = 0; i < v->n_group; i++) {
		const uint32_t kind = v->groups[i].kind;

		if (kind == LMD_GROUP_STATE) {
			in_block(s, s->group[i].state_in, n_seq * 4, used);
			in_block(s, s->group[i].state_out, t * 4, used);
			ck_assert_ptr_null(s->group[i].kv_lo);
			continue;
		}
		in_block(s, s->group[i].kv_lo, v->max_rows[v->groups[i].q_space] * 4, used);
		in_block(s, s->group[i].kv_hi, v->max_rows[v->groups[i].q_space] * 4, used);
		if (kind == LMD_GROUP_BATCH) {
			ck_assert_ptr_null(s->group[i].slot);
			continue;
		}
		in_block(s, s->group[i].slot,
			 (kind == LMD_GROUP_CROSS ? v->max_rows[LMD_SPACE_X0] : t) * 4, used);
		in_block(s, s->group[i].change, 7 * sizeof(struct lmd_page_set), used);
		ck_assert_uint_eq(s->group[i].max_change, 7);
	}
	for (uint32_t i = 0; i < v->n_x; i++) {
		in_block(s, s->x_off[i], (n_seq + 1) * 4, used);
		in_block(s, s->x_h[i], n_seq * 4, used);
		in_block(s, s->x_w[i], n_seq * 4, used);
	}
	ck_assert_ptr_eq(s->view.tree, s->tree);
	ck_assert_uint_eq(s->layout.tree, (size_t)((char *)s->tree - s->block));
	ck_assert_ptr_eq(s->view.lora_slot, s->lora_slot);
	ck_assert_ptr_eq(s->view.x_w[1], s->x_w[1]);
	ck_assert_int_eq((char *)s->x_w[1] - (char *)s->block,
			 (char *)again->x_w[1] - (char *)again->block);
	free(used);
	lmi_plan_step_destroy(s);
	lmi_plan_step_destroy(again);
	lmi_plan_step_destroy(NULL);
	lmi_plan_destroy(p);
}
END_TEST

START_TEST(padding_is_harmless)
{
	struct lmd_error err = {0};
	struct fx fx;
	struct lmi_plan *p = plan_of_all_ops(&fx);
	const struct lmd_plan *v = lmi_plan_view(p);
	const uint32_t t = v->max_rows[0], n_seq = v->max_rows[2];
	struct lmi_plan_step *s = NULL;

	ck_assert_int_eq(lmi_plan_step_create(&s, v, 7, &err), LMD_OK);
	memset(s->block, 0x55, (size_t)s->view.bytes);
	*s->head = (struct lmd_step_header){.n_tok = 1, .n_seq = 1, .n_out = 1};
	for (uint32_t i = 0; i < v->n_x; i++)
		s->x_off[i][0] = s->x_off[i][1] = 0;
	lmi_plan_step_pad(s);
	ck_assert_int_eq(s->token[0], 0x55555555);
	for (uint32_t r = 1; r < t; r++) {
		ck_assert_int_eq(s->token[r] | s->pos[0][r] | s->pos[3][r] | s->seq_of[r], 0);
		ck_assert_uint_eq(s->tree[r], 0);
		ck_assert_int_eq(s->lora_slot[r], 0);
		ck_assert_int_eq(((int32_t *)s->row_in[0])[2 * r], 0);
	}
	for (uint32_t i = 1; i < n_seq; i++) {
		ck_assert_int_eq(s->q_start[i], 1);
		ck_assert_int_eq(s->q_len[i] | s->seq_slot[i], 0);
	}
	for (uint32_t g = 0; g < v->n_group; g++) {
		for (uint32_t r = 1; s->group[g].slot && r < t; r++)
			ck_assert_int_eq(s->group[g].slot[r], -1);
		for (uint32_t r = 1; s->group[g].kv_lo && r < v->max_rows[v->groups[g].q_space]; r++)
			ck_assert_int_eq(s->group[g].kv_lo[r] | s->group[g].kv_hi[r], 0);
		for (uint32_t r = 1; s->group[g].state_out && r < t; r++)
			ck_assert_int_eq(s->group[g].state_out[r], -1);
		for (uint32_t i = 1; s->group[g].state_in && i < n_seq; i++)
			ck_assert_int_eq(s->group[g].state_in[i], -1);
	}
	lmi_plan_step_destroy(s);
	lmi_plan_destroy(p);
}
END_TEST

TCase *plan_layout_cases(void)
{
	TCase *t = tcase_create("layout");

	tcase_add_loop_test(t, lives_never_overlap, 0, 64);
	tcase_add_test(t, a_chain_needs_two);
	tcase_add_test(t, too_large);
	tcase_add_test(t, step_arrays_lie_apart);
	tcase_add_test(t, padding_is_harmless);
	return t;
}
