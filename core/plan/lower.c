/* SPDX-License-Identifier: MIT
 *
 * Replaces ops that a device does not support.  The op list is rewritten from front to back.  An
 * unsupported op is passed to its rule, and each op that the rule emits is checked in the same way,
 * so a fused op is decomposed only as far as necessary.  Every rule emits ops with fewer features,
 * so this terminates; the depth is limited nevertheless. */
#include "core/plan/lower.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"

#define MAX_DEPTH 12

static const lower_rule rules[LMD_N_OP] = {
	[LMD_OP_NORM] = lmi_plan_lower_norm,       [LMD_OP_LINEAR] = lmi_plan_lower_linear,
	[LMD_OP_ROPE_KV] = lmi_plan_lower_rope_kv, [LMD_OP_GLU] = lmi_plan_lower_glu,
	[LMD_OP_FFN] = lmi_plan_lower_ffn,         [LMD_OP_HEAD] = lmi_plan_lower_head,
	[LMD_OP_MOE_FFN] = lmi_plan_lower_moe_ffn,
};

uint32_t lmi_plan_lower_value(struct lmi_plan_lower *l, const struct lmd_operand *like,
			      uint32_t vtype, uint64_t width, const char *suffix)
{
	struct lmd_value v = {
		.space = l->from->space,
		.vtype = vtype,
		.width = (uint32_t)width,
		.flags = l->p->view.key.flags & LMD_PLAN_KEEP ? LMD_VALUE_KEEP : 0,
	};
	const char *base = like->src == LMD_SRC_VALUE ? l->p->values[like->id].name : "value";
	uint32_t id = 0;

	if (l->st != LMD_OK)
		return 0;
	if (width > LMI_PLAN_MAX_WIDTH) {
		l->st = lmd_fail(l->err, LMD_UNSUPPORTED,
				 "op %s (layer %d): its decomposition needs %llu columns, at "
				 "most %u",
				 lmi_plan_op_info(l->from->code)->name, l->from->layer,
				 (unsigned long long)width, LMI_PLAN_MAX_WIDTH);
		return 0;
	}
	v.name = lmi_arena_printf(l->p->arena, "%s.%s", base, suffix);
	if (!v.name)
		l->st = lmd_fail(l->err, LMD_NOMEM, "out of memory while lowering a plan");
	else
		l->st = lmi_plan_add_value(l->p, &v, -1, &id, l->err);
	return id;
}

struct lmd_operand lmi_plan_lower_temp(struct lmi_plan_lower *l, const struct lmd_operand *like,
				       uint32_t vtype, uint64_t n_head, uint64_t width,
				       const char *suffix)
{
	return (struct lmd_operand){
		.src = LMD_SRC_VALUE,
		.id = lmi_plan_lower_value(l, like, vtype, n_head * width, suffix),
		.n_head = (uint32_t)n_head,
		.head_stride = (uint32_t)width,
		.width = (uint32_t)width,
		.fold = 1,
	};
}

uint32_t lmi_plan_lower_literal(struct lmi_plan_lower *l, const float *v, uint32_t n,
				const char *name)
{
	const struct lmd_weight_part part = {
		.kind = LMD_WEIGHT_PART_LITERAL, .n_row = 1, .literal = v};
	const struct lmd_weight_ref w = {.n_part = 1,
					 .parts = &part,
					 .n_stack = 1,
					 .n = 1,
					 .k = n,
					 .scale = LMD_NONE,
					 .bias = LMD_NONE,
					 .name = name};
	uint32_t id = 0;

	if (l->st == LMD_OK)
		l->st = lmi_plan_add_weight_ref(l->p, &w, LMD_DTYPE_F32, &id, l->err);
	return id;
}

static void push(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 64;
		struct lmd_op *out = lmi_realloc(l->out, cap, sizeof(*out));

		if (!out) {
			l->st = lmd_fail(l->err, LMD_NOMEM, "out of memory while lowering a plan");
			return;
		}
		l->out = out;
		l->cap = cap;
	}
	l->out[l->n++] = *op;
}

static bool decompose(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	const struct lmd_op *from = l->from;
	bool done;

	l->from = op;
	l->depth++;
	done = rules[op->code] && rules[op->code](l, op);
	l->depth--;
	l->from = from;
	return done;
}

static bool has_weight(const struct lmd_op *op)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		for (uint32_t j = 0; j < f->count && f->kind == LMI_PLAN_FIELD_WEIGHT_REF; j++)
			if (*(const uint32_t *)lmi_plan_field_get(f, op, j) != LMD_NONE)
				return true;
	}
	return false;
}

/* Appends the decomposition of an op that could also stay as it is; changes nothing and returns false
 * if the device would not gain anything. */
static bool decompose_if_useful(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	uint32_t n = l->n, n_value = l->p->view.n_value, n_weight = l->p->view.n_weight_ref;
	bool useful = false;

	if (l->depth < MAX_DEPTH && decompose(l, op))
		for (uint32_t i = n; i < l->n && l->st == LMD_OK && !useful; i++)
			useful = has_weight(&l->out[i]) &&
				 l->support(l->arg, &l->p->view, &l->out[i], NULL, 0);
	if (useful || l->st == LMD_NOMEM)
		return true;
	l->st = LMD_OK;
	l->n = n;
	l->p->view.n_value = n_value;
	l->p->view.n_weight_ref = n_weight;
	return false;
}

static void lower_op(struct lmi_plan_lower *l, const struct lmd_op *op)
{
	char reason[128] = "";

	if (l->st != LMD_OK)
		return;
	if (l->support && l->support(l->arg, &l->p->view, op, reason, sizeof(reason))) {
		push(l, op);
		return;
	}
	if (l->keep && l->keep(l->arg, &l->p->view, op)) {
		if (!decompose_if_useful(l, op))
			push(l, op);
		return;
	}
	if (l->depth == MAX_DEPTH) {
		l->st = lmd_fail(l->err, LMD_INTERNAL,
				 "op %s (layer %d): still unsupported after %d decompositions",
				 lmi_plan_op_info(op->code)->name, op->layer, MAX_DEPTH);
		return;
	}
	if (decompose(l, op))
		return;
	if (!l->support)
		push(l, op);
	else
		l->st = lmd_fail(l->err, LMD_UNSUPPORTED,
				 "op %s (layer %d): the device cannot run "
				 "it%s%s",
				 lmi_plan_op_info(op->code)->name, op->layer, reason[0] ? ": " : "",
				 reason);
}

void lmi_plan_lower_emit(struct lmi_plan_lower *l, struct lmd_op *op)
{
	op->struct_size = sizeof(*op);
	op->layer = l->from->layer;
	op->rank = l->from->rank;
	lmi_plan_op_normalise(op);
	op->space = lmi_plan_op_space(&l->p->view, op);
	lower_op(l, op);
}

static enum lmd_status lower_all(struct lmi_plan *p, lmi_plan_support_fn support,
				 lmi_plan_keep_fn keep, void *arg, struct lmd_error *err)
{
	struct lmi_plan_lower l = {
		.p = p, .support = support, .keep = keep, .arg = arg, .err = err};

	for (uint32_t i = 0; i < p->view.n_op; i++) {
		struct lmd_op op =
			p->ops[i]; /* a copy: rules may grow the other arrays of the plan, but not
				    * this one */

		lower_op(&l, &op);
	}
	if (l.st != LMD_OK) {
		lmi_free(l.out);
		return l.st;
	}
	lmi_free(p->ops);
	p->ops = l.out;
	p->cap_op = l.cap;
	p->view.ops = p->ops;
	p->view.n_op = l.n;
	return lmi_plan_check(p, err);
}

enum lmd_status lmi_plan_lower(struct lmi_plan *p, lmi_plan_support_fn support, void *arg,
			       struct lmd_error *err)
{
	return lower_all(p, support, NULL, arg, err);
}

enum lmd_status lmi_plan_lower_or_keep(struct lmi_plan *p, lmi_plan_support_fn support,
				       lmi_plan_keep_fn keep, void *arg, struct lmd_error *err)
{
	return lower_all(p, support, keep, arg, err);
}

enum lmd_status lmi_plan_lower_all(struct lmi_plan *p, struct lmd_error *err)
{
	return lower_all(p, NULL, NULL, NULL, err);
}
