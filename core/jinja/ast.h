/* SPDX-License-Identifier: MIT
 *
 * ast.h - a parsed template: immutable nodes in the arena of the template. */
#ifndef LLAMAD_CORE_JINJA_AST_H
#define LLAMAD_CORE_JINJA_AST_H

#include "core/jinja/value.h"

enum lmi_jinja_op {
	/* expressions */
	LMI_JINJA_N_CONST, /* value */
	LMI_JINJA_N_NAME,  /* name */
	LMI_JINJA_N_TUPLE, /* kids */
	LMI_JINJA_N_LIST,  /* kids */
	LMI_JINJA_N_DICT,  /* kids: key, value, ... */
	LMI_JINJA_N_IF,    /* a if b else c; if c is NULL, the value is undefined */
	LMI_JINJA_N_OR,    /* a, b */
	LMI_JINJA_N_AND,
	LMI_JINJA_N_NOT,     /* a */
	LMI_JINJA_N_COMPARE, /* a, then kids: LMI_JINJA_N_OPERAND */
	LMI_JINJA_N_OPERAND, /* sub: enum lmi_jinja_rel; a */
	LMI_JINJA_N_CONCAT,  /* kids */
	LMI_JINJA_N_BINARY,  /* sub: enum lmi_jinja_binop; a, b */
	LMI_JINJA_N_NEG,     /* a */
	LMI_JINJA_N_POS,
	LMI_JINJA_N_ATTR,   /* a.name */
	LMI_JINJA_N_ITEM,   /* a[b] */
	LMI_JINJA_N_SLICE,  /* the b of an ITEM: a:b:c, each may be NULL */
	LMI_JINJA_N_CALL,   /* a(args) */
	LMI_JINJA_N_FILTER, /* a | name(args); a is NULL in blocks; f is NULL if unknown */
	LMI_JINJA_N_TEST,   /* a is name(args); sub is 1 for "is not" */
	/* statements */
	LMI_JINJA_N_DATA,         /* value */
	LMI_JINJA_N_OUTPUT,       /* kids */
	LMI_JINJA_N_COND,         /* if a: body else: other */
	LMI_JINJA_N_FOR,          /* for a in b if c: body else: other; sub is 1 if recursive */
	LMI_JINJA_N_SET,          /* a = b */
	LMI_JINJA_N_SET_BLOCK,    /* a = body, through the filters of b (or NULL) */
	LMI_JINJA_N_WITH,         /* kids: target, value, ...; body */
	LMI_JINJA_N_MACRO,        /* name, macro, body */
	LMI_JINJA_N_CALL_BLOCK,   /* calls a, with macro and body as its `caller` */
	LMI_JINJA_N_FILTER_BLOCK, /* body through the filters of b */
	LMI_JINJA_N_BLOCK,        /* body, which sees only the top-level variables */
	LMI_JINJA_N_SCOPE,        /* body */
	LMI_JINJA_N_AUTOESCAPE,   /* a, body */
	LMI_JINJA_N_BREAK,
	LMI_JINJA_N_CONTINUE,
	LMI_JINJA_N_UNSUPPORTED, /* name: a statement that needs other templates */
	/* assignment targets, in addition to NAME and TUPLE */
	LMI_JINJA_N_MEMBER /* name.value, where name is a namespace */
};

enum lmi_jinja_rel {
	LMI_JINJA_REL_LT, /* the first four equal enum lmi_jinja_cmp */
	LMI_JINJA_REL_LE,
	LMI_JINJA_REL_GT,
	LMI_JINJA_REL_GE,
	LMI_JINJA_REL_EQ,
	LMI_JINJA_REL_NE,
	LMI_JINJA_REL_IN,
	LMI_JINJA_REL_NOT_IN
};

struct lmi_jinja_nodes {
	struct lmi_jinja_node **v;
	uint32_t n;
};

struct lmi_jinja_named {
	struct lmd_str name;
	struct lmi_jinja_node *value;
};

/* Arguments of a call. */
struct lmi_jinja_arg_nodes {
	struct lmi_jinja_nodes pos;
	struct lmi_jinja_named *kw;
	uint32_t n_kw;
	struct lmi_jinja_node *star, *star_star; /* *a and **b; NULL if absent */
};

/* Parameters of a macro or a call block. */
struct lmi_jinja_params {
	struct lmi_jinja_named *v; /* value: the default; NULL if none */
	uint32_t n;
	bool uses_varargs, uses_kwargs, uses_caller;
};

struct lmi_jinja_node {
	uint8_t op; /* enum lmi_jinja_op */
	uint8_t sub;
	uint32_t line;
	struct lmi_jinja_node *a, *b, *c;
	struct lmi_jinja_nodes kids;
	struct lmi_jinja_nodes body, else_body;
	struct lmd_str name;
	struct lmi_jinja_val value;
	const struct lmi_jinja_arg_nodes *args;
	const struct lmi_jinja_builtin *f;
	struct lmi_jinja_params *params;
};

struct lmi_jinja {
	struct lmd_arena *arena;
	struct lmi_jinja_nodes body;
};

/* Parses the text into t->arena. */
enum lmd_status lmi_jinja_nodes(struct lmi_jinja *t, const char *text, size_t bytes,
				struct lmd_error *err);

/* Checks a whole template: filters and tests must exist, except where an `if` decides at run time
 * whether they are used; and the nesting must be shallow enough for recursion. */
enum lmd_status lmi_jinja_check(const struct lmi_jinja_nodes *body, struct lmd_error *err);

#endif /* LLAMAD_CORE_JINJA_AST_H */
