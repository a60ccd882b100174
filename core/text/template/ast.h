/* SPDX-License-Identifier: MIT
 *
 * ast.h - a parsed template: immutable nodes in the arena of the template. */
#ifndef LLAMAD_TEMPLATE_AST_H
#define LLAMAD_TEMPLATE_AST_H

#include "core/text/template/value.h"

enum lmi_op {
	/* expressions */
	LMI_N_CONST,          /* value */
	LMI_N_NAME,           /* name */
	LMI_N_TUPLE,          /* kids */
	LMI_N_LIST,           /* kids */
	LMI_N_DICT,           /* kids: key, value, ... */
	LMI_N_IF,             /* a if b else c; if c is NULL, the value is undefined */
	LMI_N_OR,             /* a, b */
	LMI_N_AND,
	LMI_N_NOT,            /* a */
	LMI_N_COMPARE,        /* a, then kids: LMI_N_OPERAND */
	LMI_N_OPERAND,        /* sub: enum lmi_rel; a */
	LMI_N_CONCAT,         /* kids */
	LMI_N_BINARY,         /* sub: enum lmi_binop; a, b */
	LMI_N_NEG,            /* a */
	LMI_N_POS,
	LMI_N_ATTR,           /* a.name */
	LMI_N_ITEM,           /* a[b] */
	LMI_N_SLICE,          /* the b of an ITEM: a:b:c, each may be NULL */
	LMI_N_CALL,           /* a(args) */
	LMI_N_FILTER,         /* a | name(args); a is NULL in blocks; f is NULL if unknown */
	LMI_N_TEST,           /* a is name(args); sub is 1 for "is not" */
	/* statements */
	LMI_N_DATA,           /* value */
	LMI_N_OUTPUT,         /* kids */
	LMI_N_COND,           /* if a: body else: other */
	LMI_N_FOR,            /* for a in b if c: body else: other; sub is 1 if recursive */
	LMI_N_SET,            /* a = b */
	LMI_N_SET_BLOCK,      /* a = body, through the filters of b (or NULL) */
	LMI_N_WITH,           /* kids: target, value, ...; body */
	LMI_N_MACRO,          /* name, macro, body */
	LMI_N_CALL_BLOCK,     /* calls a, with macro and body as its `caller` */
	LMI_N_FILTER_BLOCK,   /* body through the filters of b */
	LMI_N_BLOCK,          /* body, which sees only the top-level variables */
	LMI_N_SCOPE,          /* body */
	LMI_N_AUTOESCAPE,     /* a, body */
	LMI_N_BREAK,
	LMI_N_CONTINUE,
	LMI_N_REFUSE,         /* name: a statement that needs other templates */
	/* assignment targets, in addition to NAME and TUPLE */
	LMI_N_MEMBER          /* name.value, where name is a namespace */
};

enum lmi_rel {
	LMI_REL_LT,           /* the first four equal enum lmi_cmp */
	LMI_REL_LE,
	LMI_REL_GT,
	LMI_REL_GE,
	LMI_REL_EQ,
	LMI_REL_NE,
	LMI_REL_IN,
	LMI_REL_NOT_IN
};

struct lmi_nodes {
	struct lmi_node **v;
	uint32_t n;
};

struct lmi_named {
	struct lmd_str name;
	struct lmi_node *value;
};

/* Arguments of a call. */
struct lmi_arg_nodes {
	struct lmi_nodes pos;
	struct lmi_named *kw;
	uint32_t n_kw;
	struct lmi_node *star, *star_star; /* *a and **b; NULL if absent */
};

/* Parameters of a macro or a call block. */
struct lmi_params {
	struct lmi_named *v;  /* value: the default; NULL if none */
	uint32_t n;
	bool uses_varargs, uses_kwargs, uses_caller;
};

struct lmi_node {
	uint8_t op;           /* enum lmi_op */
	uint8_t sub;
	uint32_t line;
	struct lmi_node *a, *b, *c;
	struct lmi_nodes kids;
	struct lmi_nodes body, other;
	struct lmd_str name;
	struct lmi_val value;
	const struct lmi_arg_nodes *args;
	const struct lmi_builtin *f;
	struct lmi_params *params;
};

struct lmi_template {
	struct lmd_arena *arena;
	struct lmi_nodes body;
};

/* Parses the text into t->arena. */
enum lmd_status lmi_template_nodes(struct lmi_template *t, const char *text, size_t bytes,
			  struct lmd_error *err);

/* Checks a whole template: filters and tests must exist, except where an `if` decides at run time
 * whether they are used; and the nesting must be shallow enough for recursion. */
enum lmd_status lmi_template_check(const struct lmi_nodes *body, struct lmd_error *err);

#endif /* LLAMAD_TEMPLATE_AST_H */
