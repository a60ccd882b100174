/* SPDX-License-Identifier: MIT
 *
 * eval.h - executes a parsed template: scopes, expressions, statements, macros, loops. */
#ifndef LLAMAD_CORE_JINJA_EVAL_H
#define LLAMAD_CORE_JINJA_EVAL_H

#include "core/jinja/ast.h"
#include "core/jinja/builtin.h"

/* Variables.  Each iteration, call and block has a scope.  Assignments go to the innermost scope;
 * look-ups proceed outwards. */

struct lmi_jinja_var {
	struct lmd_str name;
	struct lmi_jinja_val v;
};

struct lmi_jinja_scope {
	struct lmi_jinja_scope *parent;
	struct lmi_jinja_var *var;
	uint32_t n, cap;
};

/* Returns NULL on failure. */
struct lmi_jinja_scope *lmi_jinja_scope_new(struct lmi_jinja_run *run,
					    struct lmi_jinja_scope *parent);
void lmi_jinja_scope_set(struct lmi_jinja_run *run, struct lmi_jinja_scope *s, struct lmd_str name,
			 struct lmi_jinja_val v);
/* Looks a name up in the scopes, then among the variables of the rendering, then among the
 * functions; returns undefined if it is nowhere. */
struct lmi_jinja_val lmi_jinja_scope_get(struct lmi_jinja_run *run, const struct lmi_jinja_scope *s,
					 struct lmd_str name);

struct lmi_jinja_val lmi_jinja_run_eval(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					struct lmi_jinja_scope *s);
/* Evaluates the arguments of a node; returns false on failure. */
bool lmi_jinja_run_eval_args(struct lmi_jinja_run *run, const struct lmi_jinja_arg_nodes *in,
			     struct lmi_jinja_scope *s, struct lmi_jinja_call_args *out);
/* Applies a chain of filters to v. */
struct lmi_jinja_val lmi_jinja_run_eval_filters(struct lmi_jinja_run *run,
						const struct lmi_jinja_node *chain,
						struct lmi_jinja_scope *s, struct lmi_jinja_val v);

enum lmi_jinja_flow { LMI_JINJA_FLOW_NEXT, LMI_JINJA_FLOW_BREAK, LMI_JINJA_FLOW_CONTINUE };
enum lmi_jinja_flow lmi_jinja_run_exec(struct lmi_jinja_run *run,
				       const struct lmi_jinja_nodes *body,
				       struct lmi_jinja_scope *s);
void lmi_jinja_run_assign(struct lmi_jinja_run *run, const struct lmi_jinja_node *target,
			  struct lmi_jinja_scope *s, struct lmi_jinja_val v);

/* Appends to the output, run->out. */
void lmi_jinja_run_write(struct lmi_jinja_run *run, const char *s, size_t n);
/* Removes the output since `from` and returns it as a string, marked safe under autoescape. */
struct lmi_jinja_val lmi_jinja_run_cut_output(struct lmi_jinja_run *run, size_t from);

/* Macros: a macro of the template or the body of a call block. */
struct lmi_jinja_val lmi_jinja_macro_new(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					 struct lmi_jinja_scope *s);
struct lmi_jinja_val lmi_jinja_macro_call(struct lmi_jinja_run *run,
					  const struct lmi_jinja_macro *m,
					  const struct lmi_jinja_call_args *args);
struct lmi_jinja_val lmi_jinja_macro_name(const struct lmi_jinja_macro *m);

/* Loops (loop.c) */
enum lmi_jinja_flow lmi_jinja_loop_exec(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					struct lmi_jinja_scope *s, struct lmi_jinja_val items,
					uint32_t depth);
/* Handles loop(items) in a recursive loop. */
struct lmi_jinja_val lmi_jinja_loop_call(struct lmi_jinja_run *run, struct lmi_jinja_loop *loop,
					 const struct lmi_jinja_call_args *args);
void lmi_jinja_loop_repr(struct lmi_jinja_str_buf *b, struct lmi_jinja_loop *loop);

#endif /* LLAMAD_CORE_JINJA_EVAL_H */
