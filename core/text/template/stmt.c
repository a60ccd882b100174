/* SPDX-License-Identifier: MIT
 *
 * Executes statements and writes output. */
#include "core/base/alloc.h"
#include "core/text/template/eval.h"
#include "core/text/template/marks.h"

/* Output */

void lmi_run_out(struct lmi_run *run, const char *s, size_t n)
{
	if (!lmi_run_step(run, n / 16))
		return;
	if (n > run->limits.output_bytes || run->n_out > run->limits.output_bytes - n) {
		lmi_run_fail_status(run, LMD_NOMEM, "rendering writes more than %llu bytes",
				    (unsigned long long)run->limits.output_bytes);
		return;
	}
	if (run->n_out + n + 1 > run->cap_out) {
		size_t cap = 2 * (run->n_out + n + 1) + 4096;
		char *p = lmi_realloc(run->out, cap, 1);

		if (!p) {
			lmi_run_fail_status(run, LMD_NOMEM, "no memory for %zu bytes of output",
					    cap);
			return;
		}
		run->out = p;
		run->cap_out = cap;
		if (!lmi_marks_out(run->marks, cap)) {
			lmi_run_fail_status(run, LMD_NOMEM, "no memory for %zu bytes of output",
					    cap);
			return;
		}
	}
	if (n) {
		memcpy(run->out + run->n_out, s, n);
		lmi_marks_to_out(run->marks, run->n_out, s, n);
	}
	run->n_out += n;
}

struct lmi_val lmi_run_take_out(struct lmi_run *run, size_t from)
{
	struct lmi_val v = lmi_strn("", 0);

	if (!run->failed && run->n_out > from) {
		v = lmi_str_copy(run, run->out + from, run->n_out - from);
		lmi_marks_from_out(run->marks, from, v.u.s, v.n);
	}
	run->n_out = from;
	v.flags = run->autoescape ? LMI_VF_SAFE : 0;
	return v;
}

static void print(struct lmi_run *run, struct lmi_val v)
{
	v = run->autoescape ? lmi_val_escape(run, v) : lmi_val_text(run, v);
	if (!run->failed)
		lmi_run_out(run, v.u.s, v.n);
}

/* Assignment */

static void assign_member(struct lmi_run *run, const struct lmi_node *target, struct lmi_scope *s,
			  struct lmi_val v)
{
	struct lmi_val ns = lmi_scope_get(run, s, target->name);

	if (ns.kind == LMI_V_NAMESPACE)
		lmi_dict_set(run, ns.u.dict, target->value, v);
	else
		lmi_run_fail(run, "cannot assign attribute on non-namespace object '%.*s'",
			     (int)target->name.len, target->name.ptr);
}

void lmi_run_assign(struct lmi_run *run, const struct lmi_node *target, struct lmi_scope *s,
		    struct lmi_val v)
{
	const struct lmi_list *l;

	if (run->failed)
		return;
	if (target->op == LMI_N_NAME) {
		lmi_scope_set(run, s, target->name, v);
		return;
	}
	if (target->op == LMI_N_MEMBER) {
		assign_member(run, target, s, v);
		return;
	}
	l = lmi_val_items(run, v);
	if (l && l->n != target->kids.n)
		lmi_run_fail(run, "cannot unpack %u values into %u variables", l->n,
			     target->kids.n);
	for (uint32_t i = 0; l && i < target->kids.n && !run->failed; i++)
		lmi_run_assign(run, target->kids.v[i], s, l->v[i]);
}

/* Blocks */

/* Executes a body in a scope of its own and returns its output. */
static struct lmi_val capture(struct lmi_run *run, const struct lmi_nodes *body,
			      struct lmi_scope *s, enum lmi_flow *flow)
{
	size_t from = run->n_out;
	struct lmi_scope *inner = lmi_scope_new(run, s);

	*flow = inner ? lmi_run_exec(run, body, inner) : LMI_FLOW_NEXT;
	return lmi_run_take_out(run, from);
}

static enum lmi_flow exec_set_block(struct lmi_run *run, const struct lmi_node *n,
				    struct lmi_scope *s)
{
	enum lmi_flow flow;
	struct lmi_val v = capture(run, &n->body, s, &flow);

	if (!run->failed)
		v = lmi_run_eval_filters(run, n->b, s, v);
	/* a break leaves the block before anything is assigned */
	if (flow == LMI_FLOW_NEXT)
		lmi_run_assign(run, n->a, s, v);
	return flow;
}

static enum lmi_flow exec_filter_block(struct lmi_run *run, const struct lmi_node *n,
				       struct lmi_scope *s)
{
	enum lmi_flow flow;
	struct lmi_val v = capture(run, &n->body, s, &flow);

	if (!run->failed && flow == LMI_FLOW_NEXT)
		print(run, lmi_run_eval_filters(run, n->b, s, v));
	return flow;
}

static enum lmi_flow exec_with(struct lmi_run *run, const struct lmi_node *n, struct lmi_scope *s)
{
	struct lmi_scope *inner = lmi_scope_new(run, s);

	if (!inner)
		return LMI_FLOW_NEXT;
	/* values see the variables outside, not each other */
	for (uint32_t i = 0; i + 1 < n->kids.n && !run->failed; i += 2)
		lmi_run_assign(run, n->kids.v[i], inner, lmi_run_eval(run, n->kids.v[i + 1], s));
	return lmi_run_exec(run, &n->body, inner);
}

/* Calls the callee with the body as the argument `caller`. */
static void exec_call_block(struct lmi_run *run, const struct lmi_node *n, struct lmi_scope *s)
{
	struct lmi_val callee = lmi_run_eval(run, n->a->a, s);
	struct lmi_call_args args;
	struct lmi_kwarg *kw;

	if (!lmi_run_eval_args(run, n->a->args, s, &args))
		return;
	kw = lmi_run_alloc(run, (args.n_kw + 1) * sizeof(*kw));
	if (!kw)
		return;
	if (args.n_kw)
		memcpy(kw, args.kw, args.n_kw * sizeof(*kw));
	kw[args.n_kw].name = (struct lmd_str){"caller", 6};
	kw[args.n_kw++].v = lmi_macro_new(run, n, s);
	args.kw = kw;
	run->line = n->line;
	print(run, lmi_val_call(run, callee, &args));
}

static enum lmi_flow exec_autoescape(struct lmi_run *run, const struct lmi_node *n,
				     struct lmi_scope *s)
{
	struct lmi_scope *inner = lmi_scope_new(run, s);
	bool outer = run->autoescape;
	enum lmi_flow flow = LMI_FLOW_NEXT;

	run->autoescape = lmi_val_truth(lmi_run_eval(run, n->a, s));
	if (inner && !run->failed)
		flow = lmi_run_exec(run, &n->body, inner);
	run->autoescape = outer;
	return flow;
}

static enum lmi_flow exec_scope(struct lmi_run *run, const struct lmi_node *n,
				struct lmi_scope *parent)
{
	struct lmi_scope *inner = lmi_scope_new(run, parent);

	return inner ? lmi_run_exec(run, &n->body, inner) : LMI_FLOW_NEXT;
}

static enum lmi_flow exec(struct lmi_run *run, const struct lmi_node *n, struct lmi_scope *s)
{
	struct lmi_val v;

	run->line = n->line;
	switch ((enum lmi_op)n->op) {
	case LMI_N_DATA:
		lmi_run_out(run, n->value.u.s, n->value.n);
		break;
	case LMI_N_OUTPUT:
		for (uint32_t i = 0; i < n->kids.n && !run->failed; i++)
			print(run, lmi_run_eval(run, n->kids.v[i], s));
		break;
	case LMI_N_COND:
		v = lmi_run_eval(run, n->a, s);
		if (!run->failed)
			return lmi_run_exec(run, lmi_val_truth(v) ? &n->body : &n->other, s);
		break;
	case LMI_N_FOR:
		v = lmi_run_eval(run, n->b, s);
		if (!run->failed)
			return lmi_loop_exec(run, n, s, v, 0);
		break;
	case LMI_N_SET:
		v = lmi_run_eval(run, n->b, s);
		lmi_run_assign(run, n->a, s, v);
		break;
	case LMI_N_SET_BLOCK:
		return exec_set_block(run, n, s);
	case LMI_N_WITH:
		return exec_with(run, n, s);
	case LMI_N_MACRO:
		lmi_scope_set(run, s, n->name, lmi_macro_new(run, n, s));
		break;
	case LMI_N_CALL_BLOCK:
		exec_call_block(run, n, s);
		break;
	case LMI_N_FILTER_BLOCK:
		return exec_filter_block(run, n, s);
	case LMI_N_BLOCK:
		return exec_scope(run, n, n->sub ? s : run->globals);
	case LMI_N_SCOPE:
		return exec_scope(run, n, s);
	case LMI_N_AUTOESCAPE:
		return exec_autoescape(run, n, s);
	case LMI_N_BREAK:
		return LMI_FLOW_BREAK;
	case LMI_N_CONTINUE:
		return LMI_FLOW_CONTINUE;
	case LMI_N_REFUSE:
		lmi_run_fail_status(run, LMD_UNSUPPORTED, "%.*s: other templates are not available",
				    (int)n->name.len, n->name.ptr);
		break;
	default: /* expressions: the parser does not put them here */
		lmi_run_fail(run, "expected a statement, got an expression");
		break;
	}
	return LMI_FLOW_NEXT;
}

enum lmi_flow lmi_run_exec(struct lmi_run *run, const struct lmi_nodes *body, struct lmi_scope *s)
{
	enum lmi_flow flow = LMI_FLOW_NEXT;

	if (!lmi_run_enter(run))
		return flow;
	for (uint32_t i = 0; i < body->n && flow == LMI_FLOW_NEXT && lmi_run_step(run, 1); i++)
		flow = exec(run, body->v[i], s);
	lmi_run_leave(run);
	return flow;
}
