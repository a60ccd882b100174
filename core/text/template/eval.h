/* SPDX-License-Identifier: MIT
 *
 * eval.h - executes a parsed template: scopes, expressions, statements, macros, loops. */
#ifndef LLAMAD_TEMPLATE_EVAL_H
#define LLAMAD_TEMPLATE_EVAL_H

#include "core/text/template/ast.h"
#include "core/text/template/builtin.h"

/* Variables.  Each iteration, call and block has a scope.  Assignments go to the innermost scope;
 * look-ups proceed outwards. */

struct lmi_var {
	struct lmd_str name;
	struct lmi_val v;
};

struct lmi_scope {
	struct lmi_scope *parent;
	struct lmi_var *var;
	uint32_t n, cap;
};

/* Returns NULL on failure. */
struct lmi_scope *lmi_scope_new(struct lmi_run *run, struct lmi_scope *parent);
void lmi_scope_set(struct lmi_run *run, struct lmi_scope *s, struct lmd_str name, struct lmi_val v);
/* Looks a name up in the scopes, then among the variables of the rendering, then among the
 * functions; returns undefined if it is nowhere. */
struct lmi_val lmi_scope_get(struct lmi_run *run, const struct lmi_scope *s, struct lmd_str name);

struct lmi_val lmi_run_eval(struct lmi_run *run, const struct lmi_node *n, struct lmi_scope *s);
/* Evaluates the arguments of a node; returns false on failure. */
bool lmi_run_eval_args(struct lmi_run *run, const struct lmi_arg_nodes *in, struct lmi_scope *s,
		       struct lmi_call_args *out);
/* Applies a chain of filters to v. */
struct lmi_val lmi_run_eval_filters(struct lmi_run *run, const struct lmi_node *chain,
				    struct lmi_scope *s, struct lmi_val v);

enum lmi_flow {
	LMI_FLOW_NEXT,
	LMI_FLOW_BREAK,
	LMI_FLOW_CONTINUE
};
enum lmi_flow lmi_run_exec(struct lmi_run *run, const struct lmi_nodes *body, struct lmi_scope *s);
void lmi_run_assign(struct lmi_run *run, const struct lmi_node *target, struct lmi_scope *s,
		    struct lmi_val v);

/* Appends to the output, run->out. */
void lmi_run_out(struct lmi_run *run, const char *s, size_t n);
/* Removes the output since `from` and returns it as a string, marked safe under autoescape. */
struct lmi_val lmi_run_take_out(struct lmi_run *run, size_t from);

/* Macros: a macro of the template or the body of a call block. */
struct lmi_val lmi_macro_new(struct lmi_run *run, const struct lmi_node *n, struct lmi_scope *s);
struct lmi_val lmi_macro_call(struct lmi_run *run, const struct lmi_macro *m,
			      const struct lmi_call_args *args);
struct lmi_val lmi_macro_name(const struct lmi_macro *m);

/* Loops (loop.c) */
enum lmi_flow lmi_loop_exec(struct lmi_run *run, const struct lmi_node *n, struct lmi_scope *s,
			   struct lmi_val items, uint32_t depth);
/* Handles loop(items) in a recursive loop. */
struct lmi_val lmi_loop_call(struct lmi_run *run, struct lmi_loop *loop,
			     const struct lmi_call_args *args);
void lmi_loop_repr(struct lmi_buf *b, struct lmi_loop *loop);

#endif /* LLAMAD_TEMPLATE_EVAL_H */
