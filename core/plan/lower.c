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
	[LMD_OP_NORM] = lower_norm,	  [LMD_OP_LINEAR] = lower_linear,
	[LMD_OP_ROPE_KV] = lower_rope_kv, [LMD_OP_GLU] = lower_glu,
	[LMD_OP_FFN] = lower_ffn,	  [LMD_OP_HEAD] = lower_head,
	[LMD_OP_MOE_FFN] = lower_moe_ffn,
};

uint32_t lower_value(struct lower *l, const struct lmd_opnd *like, uint32_t vtype, uint64_t width,
		     const char *suffix)
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
	if (width > LMI_MAX_WIDTH) {
		l->st = lmd_fail(l->err, LMD_UNSUPPORTED,
				 "op %s (layer %d): its decomposition needs %llu columns, at "
				 "most %u",
				 lmi_op_info(l->from->code)->name, l->from->layer,
				 (unsigned long long)width, LMI_MAX_WIDTH);
		return 0;
	}
	v.name = lmi_arena_printf(l->p->arena, "%s.%s", base, suffix);
	if (!v.name)
		l->st = lmd_fail(l->err, LMD_NOMEM, "out of memory while lowering a plan");
	else
		l->st = lmi_plan_add_value(l->p, &v, -1, &id, l->err);
	return id;
}

struct lmd_opnd lower_temp(struct lower *l, const struct lmd_opnd *like, uint32_t vtype,
			   uint64_t n_head, uint64_t width, const char *suffix)
{
	return (struct lmd_opnd){
		.src = LMD_SRC_VALUE,
		.id = lower_value(l, like, vtype, n_head * width, suffix),
		.n_head = (uint32_t)n_head,
		.head_stride = (uint32_t)width,
		.width = (uint32_t)width,
		.fold = 1,
	};
}

uint32_t lower_literal(struct lower *l, const float *v, uint32_t n, const char *name)
{
	const struct lmd_wpart part = {.kind = LMD_WPART_LITERAL, .n_row = 1, .literal = v};
	const struct lmd_wref w = {.n_part = 1,
				   .parts = &part,
				   .n_stack = 1,
				   .n = 1,
				   .k = n,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE,
				   .name = name};
	uint32_t id = 0;

	if (l->st == LMD_OK)
		l->st = lmi_plan_add_wref(l->p, &w, LMD_DTYPE_F32, &id, l->err);
	return id;
}

static void push(struct lower *l, const struct lmd_op *op)
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

static void lower_op(struct lower *l, const struct lmd_op *op)
{
	const struct lmd_op *from = l->from;
	char reason[128] = "";
	bool done;

	if (l->st != LMD_OK)
		return;
	if (l->support && l->support(l->arg, &l->p->view, op, reason, sizeof(reason))) {
		push(l, op);
		return;
	}
	if (l->depth == MAX_DEPTH) {
		l->st = lmd_fail(l->err, LMD_INTERNAL,
				 "op %s (layer %d): still unsupported after %d decompositions",
				 lmi_op_info(op->code)->name, op->layer, MAX_DEPTH);
		return;
	}
	l->from = op;
	l->depth++;
	done = rules[op->code] && rules[op->code](l, op);
	l->depth--;
	l->from = from;
	if (done)
		return;
	if (!l->support)
		push(l, op);
	else
		l->st = lmd_fail(l->err, LMD_UNSUPPORTED,
				 "op %s (layer %d): the device cannot run "
				 "it%s%s",
				 lmi_op_info(op->code)->name, op->layer, reason[0] ? ": " : "",
				 reason);
}

void lower_emit(struct lower *l, struct lmd_op *op)
{
	op->struct_size = sizeof(*op);
	op->layer = l->from->layer;
	lmi_op_normalise(op);
	op->space = lmi_op_space(&l->p->view, op);
	lower_op(l, op);
}

static enum lmd_status lower_all(struct lmi_plan *p, lmi_support_fn support, void *arg,
				 struct lmd_error *err)
{
	struct lower l = {.p = p, .support = support, .arg = arg, .err = err};

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

enum lmd_status lmi_plan_lower(struct lmi_plan *p, lmi_support_fn support, void *arg,
			       struct lmd_error *err)
{
	return lower_all(p, support, arg, err);
}

enum lmd_status lmi_plan_lower_all(struct lmi_plan *p, struct lmd_error *err)
{
	return lower_all(p, NULL, NULL, err);
}
