/* SPDX-License-Identifier: MIT
 *
 * Executes statements and writes output. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/jinja/eval.h"
#include "core/jinja/origin_marks.h"

/* Output */

void lmi_jinja_run_write(struct lmi_jinja_run *run, const char *s, size_t n)
{
	if (!lmi_jinja_run_step(run, n / 16))
		return;
	if (n > run->limits.output_bytes || run->n_out > run->limits.output_bytes - n) {
		lmi_jinja_run_fail_status(run, LMD_NOMEM, "rendering writes more than %llu bytes",
					  (unsigned long long)run->limits.output_bytes);
		return;
	}
	if (run->n_out + n + 1 > run->cap_out) {
		size_t cap = 2 * (run->n_out + n + 1) + 4096;
		char *p = lmi_realloc(run->out, cap, 1);

		if (!p) {
			lmi_jinja_run_fail_status(run, LMD_NOMEM,
						  "no memory for %zu bytes of output", cap);
			return;
		}
		run->out = p;
		run->cap_out = cap;
		if (!lmi_jinja_marks_reserve_output(run->marks, cap)) {
			lmi_jinja_run_fail_status(run, LMD_NOMEM,
						  "no memory for %zu bytes of output", cap);
			return;
		}
	}
	if (n) {
		memcpy(run->out + run->n_out, s, n);
		lmi_jinja_marks_to_out(run->marks, run->n_out, s, n);
	}
	run->n_out += n;
}

struct lmi_jinja_val lmi_jinja_run_cut_output(struct lmi_jinja_run *run, size_t from)
{
	struct lmi_jinja_val v = lmi_jinja_strn("", 0);

	if (!run->failed && run->n_out > from) {
		v = lmi_jinja_str_copy(run, run->out + from, run->n_out - from);
		lmi_jinja_marks_from_out(run->marks, from, v.u.s, v.n);
	}
	run->n_out = from;
	v.flags = run->autoescape ? LMI_JINJA_VF_SAFE : 0;
	return v;
}

static void print(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	v = run->autoescape ? lmi_jinja_val_escape(run, v) : lmi_jinja_val_text(run, v);
	if (!run->failed)
		lmi_jinja_run_write(run, v.u.s, v.n);
}

/* Assignment */

static void assign_member(struct lmi_jinja_run *run, const struct lmi_jinja_node *target,
			  struct lmi_jinja_scope *s, struct lmi_jinja_val v)
{
	struct lmi_jinja_val ns = lmi_jinja_scope_get(run, s, target->name);

	if (ns.kind == LMI_JINJA_V_NAMESPACE)
		lmi_jinja_dict_set(run, ns.u.dict, target->value, v);
	else
		lmi_jinja_run_fail(run, "cannot assign attribute on non-namespace object '%.*s'",
				   (int)target->name.len, target->name.ptr);
}

void lmi_jinja_run_assign(struct lmi_jinja_run *run, const struct lmi_jinja_node *target,
			  struct lmi_jinja_scope *s, struct lmi_jinja_val v)
{
	const struct lmi_jinja_list *l;

	if (run->failed)
		return;
	if (target->op == LMI_JINJA_N_NAME) {
		lmi_jinja_scope_set(run, s, target->name, v);
		return;
	}
	if (target->op == LMI_JINJA_N_MEMBER) {
		assign_member(run, target, s, v);
		return;
	}
	l = lmi_jinja_val_items(run, v);
	if (l && l->n != target->kids.n)
		lmi_jinja_run_fail(run, "cannot unpack %u values into %u variables", l->n,
				   target->kids.n);
	for (uint32_t i = 0; l && i < target->kids.n && !run->failed; i++)
		lmi_jinja_run_assign(run, target->kids.v[i], s, l->v[i]);
}

/* Blocks */

/* Executes a body in a scope of its own and returns its output. */
static struct lmi_jinja_val capture(struct lmi_jinja_run *run, const struct lmi_jinja_nodes *body,
				    struct lmi_jinja_scope *s, enum lmi_jinja_flow *flow)
{
	size_t from = run->n_out;
	struct lmi_jinja_scope *inner = lmi_jinja_scope_new(run, s);

	*flow = inner ? lmi_jinja_run_exec(run, body, inner) : LMI_JINJA_FLOW_NEXT;
	return lmi_jinja_run_cut_output(run, from);
}

static enum lmi_jinja_flow exec_set_block(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					  struct lmi_jinja_scope *s)
{
	enum lmi_jinja_flow flow;
	struct lmi_jinja_val v = capture(run, &n->body, s, &flow);

	if (!run->failed)
		v = lmi_jinja_run_eval_filters(run, n->b, s, v);
	/* a break leaves the block before anything is assigned */
	if (flow == LMI_JINJA_FLOW_NEXT)
		lmi_jinja_run_assign(run, n->a, s, v);
	return flow;
}

static enum lmi_jinja_flow exec_filter_block(struct lmi_jinja_run *run,
					     const struct lmi_jinja_node *n,
					     struct lmi_jinja_scope *s)
{
	enum lmi_jinja_flow flow;
	struct lmi_jinja_val v = capture(run, &n->body, s, &flow);

	if (!run->failed && flow == LMI_JINJA_FLOW_NEXT)
		print(run, lmi_jinja_run_eval_filters(run, n->b, s, v));
	return flow;
}

static enum lmi_jinja_flow exec_with(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				     struct lmi_jinja_scope *s)
{
	struct lmi_jinja_scope *inner = lmi_jinja_scope_new(run, s);

	if (!inner)
		return LMI_JINJA_FLOW_NEXT;
	/* values see the variables outside, not each other */
	for (uint32_t i = 0; i + 1 < n->kids.n && !run->failed; i += 2)
		lmi_jinja_run_assign(run, n->kids.v[i], inner,
				     lmi_jinja_run_eval(run, n->kids.v[i + 1], s));
	return lmi_jinja_run_exec(run, &n->body, inner);
}

/* Calls the callee with the body as the argument `caller`. */
static void exec_call_block(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
			    struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val callee = lmi_jinja_run_eval(run, n->a->a, s);
	struct lmi_jinja_call_args args;
	struct lmi_jinja_kwarg *kw;

	if (!lmi_jinja_run_eval_args(run, n->a->args, s, &args))
		return;
	kw = lmi_jinja_run_alloc(run, (args.n_kw + 1) * sizeof(*kw));
	if (!kw)
		return;
	if (args.n_kw)
		memcpy(kw, args.kw, args.n_kw * sizeof(*kw));
	kw[args.n_kw].name = (struct lmd_str){"caller", 6};
	kw[args.n_kw++].v = lmi_jinja_macro_new(run, n, s);
	args.kw = kw;
	run->line = n->line;
	print(run, lmi_jinja_val_call(run, callee, &args));
}

static enum lmi_jinja_flow exec_autoescape(struct lmi_jinja_run *run,
					   const struct lmi_jinja_node *n,
					   struct lmi_jinja_scope *s)
{
	struct lmi_jinja_scope *inner = lmi_jinja_scope_new(run, s);
	bool outer = run->autoescape;
	enum lmi_jinja_flow flow = LMI_JINJA_FLOW_NEXT;

	run->autoescape = lmi_jinja_val_truth(lmi_jinja_run_eval(run, n->a, s));
	if (inner && !run->failed)
		flow = lmi_jinja_run_exec(run, &n->body, inner);
	run->autoescape = outer;
	return flow;
}

static enum lmi_jinja_flow exec_scope(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				      struct lmi_jinja_scope *parent)
{
	struct lmi_jinja_scope *inner = lmi_jinja_scope_new(run, parent);

	return inner ? lmi_jinja_run_exec(run, &n->body, inner) : LMI_JINJA_FLOW_NEXT;
}

static enum lmi_jinja_flow exec(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val v;

	run->line = n->line;
	switch ((enum lmi_jinja_op)n->op) {
	case LMI_JINJA_N_DATA:
		lmi_jinja_run_write(run, n->value.u.s, n->value.n);
		break;
	case LMI_JINJA_N_OUTPUT:
		for (uint32_t i = 0; i < n->kids.n && !run->failed; i++)
			print(run, lmi_jinja_run_eval(run, n->kids.v[i], s));
		break;
	case LMI_JINJA_N_COND:
		v = lmi_jinja_run_eval(run, n->a, s);
		if (!run->failed)
			return lmi_jinja_run_exec(
				run, lmi_jinja_val_truth(v) ? &n->body : &n->else_body, s);
		break;
	case LMI_JINJA_N_FOR:
		v = lmi_jinja_run_eval(run, n->b, s);
		if (!run->failed)
			return lmi_jinja_loop_exec(run, n, s, v, 0);
		break;
	case LMI_JINJA_N_SET:
		v = lmi_jinja_run_eval(run, n->b, s);
		lmi_jinja_run_assign(run, n->a, s, v);
		break;
	case LMI_JINJA_N_SET_BLOCK:
		return exec_set_block(run, n, s);
	case LMI_JINJA_N_WITH:
		return exec_with(run, n, s);
	case LMI_JINJA_N_MACRO:
		lmi_jinja_scope_set(run, s, n->name, lmi_jinja_macro_new(run, n, s));
		break;
	case LMI_JINJA_N_CALL_BLOCK:
		exec_call_block(run, n, s);
		break;
	case LMI_JINJA_N_FILTER_BLOCK:
		return exec_filter_block(run, n, s);
	case LMI_JINJA_N_BLOCK:
		return exec_scope(run, n, n->sub ? s : run->globals);
	case LMI_JINJA_N_SCOPE:
		return exec_scope(run, n, s);
	case LMI_JINJA_N_AUTOESCAPE:
		return exec_autoescape(run, n, s);
	case LMI_JINJA_N_BREAK:
		return LMI_JINJA_FLOW_BREAK;
	case LMI_JINJA_N_CONTINUE:
		return LMI_JINJA_FLOW_CONTINUE;
	case LMI_JINJA_N_UNSUPPORTED:
		lmi_jinja_run_fail_status(run, LMD_UNSUPPORTED,
					  "%.*s: other templates are not available",
					  (int)n->name.len, n->name.ptr);
		break;
	default: /* expressions: the parser does not put them here */
		lmi_jinja_run_fail(run, "expected a statement, got an expression");
		break;
	}
	return LMI_JINJA_FLOW_NEXT;
}

enum lmi_jinja_flow lmi_jinja_run_exec(struct lmi_jinja_run *run,
				       const struct lmi_jinja_nodes *body,
				       struct lmi_jinja_scope *s)
{
	enum lmi_jinja_flow flow = LMI_JINJA_FLOW_NEXT;

	if (!lmi_jinja_run_enter(run))
		return flow;
	for (uint32_t i = 0;
	     i < body->n && flow == LMI_JINJA_FLOW_NEXT && lmi_jinja_run_step(run, 1); i++)
		flow = exec(run, body->v[i], s);
	lmi_jinja_run_leave(run);
	return flow;
}
