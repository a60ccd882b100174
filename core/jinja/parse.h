/* SPDX-License-Identifier: MIT
 *
 * parse.h - declarations shared by the parsers of expressions and of statements.
 *
 * The parser records its first failure and then behaves as if the template ended there, so that
 * loops end; every function still returns some node. */
#ifndef LLAMAD_CORE_JINJA_PARSE_H
#define LLAMAD_CORE_JINJA_PARSE_H

#include "core/jinja/ast.h"
#include "core/jinja/lex.h"

/* Maximum nesting of expressions and statements together. */
#define LMI_JINJA_PARSE_DEPTH 200
/* Maximum number of named arguments of a call, parameters of a macro, and blocks of a template;
 * each of these is searched linearly. */
#define LMI_JINJA_PARSE_NAMES 1000

struct lmi_jinja_parser {
	struct lmd_arena *arena;
	const struct lmi_jinja_token *tok; /* the current token */
	uint32_t depth;
	uint32_t loops;        /* enclosing loops inside the current macro */
	struct lmd_str *block; /* [n_blocks] names */
	uint32_t n_blocks;
	struct lmi_jinja_params *macro; /* of the innermost macro or call block, or NULL */
	enum lmd_status st;
	struct lmd_error *err;
	struct lmi_jinja_node spare; /* returned after a failure */
};

void lmi_jinja_parse_fail(struct lmi_jinja_parser *p, const char *fmt, ...) LMD_PRINTF(2, 3);
void lmi_jinja_parse_no_memory(struct lmi_jinja_parser *p);
bool lmi_jinja_parse_enter(struct lmi_jinja_parser *p);

struct lmi_jinja_node *lmi_jinja_node_new(struct lmi_jinja_parser *p, enum lmi_jinja_op op);
/* Create a node with the child a, and a constant. */
struct lmi_jinja_node *lmi_jinja_node_unary(struct lmi_jinja_parser *p, enum lmi_jinja_op op,
					    struct lmi_jinja_node *a);
struct lmi_jinja_node *lmi_jinja_node_const(struct lmi_jinja_parser *p, struct lmi_jinja_val v);
void lmi_jinja_nodes_add(struct lmi_jinja_parser *p, struct lmi_jinja_nodes *l,
			 struct lmi_jinja_node *n);

/* Tokens */
bool lmi_jinja_parse_at(const struct lmi_jinja_parser *p, int type);
bool lmi_jinja_parse_at_name(const struct lmi_jinja_parser *p, const char *name);
void lmi_jinja_parse_next(struct lmi_jinja_parser *p);
bool lmi_jinja_parse_skip(struct lmi_jinja_parser *p, int type);
bool lmi_jinja_parse_skip_name(struct lmi_jinja_parser *p, const char *name);
void lmi_jinja_parse_expect(struct lmi_jinja_parser *p, int type);
struct lmd_str lmi_jinja_parse_expect_name(struct lmi_jinja_parser *p);

/* Expressions */
struct lmi_jinja_node *lmi_jinja_parse_expression(struct lmi_jinja_parser *p);
/* Parses an expression without "x if y" at its top level. */
struct lmi_jinja_node *lmi_jinja_parse_unconditional(struct lmi_jinja_parser *p);
/* Parses an expression or a tuple "a, b, c". */
struct lmi_jinja_node *lmi_jinja_parse_tuple(struct lmi_jinja_parser *p, bool plain);
/* Parses an assignment target: "name", "a, b", "(a, b)"; with `members` also "ns.x". */
struct lmi_jinja_node *lmi_jinja_parse_target(struct lmi_jinja_parser *p, bool members);
/* Parses the filters "| f | g(x)" after a node, or a chain of filters without a node. */
struct lmi_jinja_node *lmi_jinja_parse_filters(struct lmi_jinja_parser *p, struct lmi_jinja_node *a,
					       bool inline_start);

/* Parts of expressions */

/* Parses a name, a constant or a bracketed expression (parse_primary.c). */
struct lmi_jinja_node *lmi_jinja_parse_primary(struct lmi_jinja_parser *p);
/* Parses items with the function `item`, separated by commas.  A single item without a comma is
 * returned as it is.  An empty tuple is allowed only in brackets. */
struct lmi_jinja_node *
lmi_jinja_parse_tuple_of(struct lmi_jinja_parser *p,
			 struct lmi_jinja_node *(*item)(struct lmi_jinja_parser *),
			 bool in_brackets);
/* Parse what follows a node: attributes, items and calls; then filters, tests and calls
 * (parse_postfix.c). */
struct lmi_jinja_node *lmi_jinja_parse_postfix(struct lmi_jinja_parser *p,
					       struct lmi_jinja_node *n);
struct lmi_jinja_node *lmi_jinja_parse_filter_expr(struct lmi_jinja_parser *p,
						   struct lmi_jinja_node *n);

#endif /* LLAMAD_CORE_JINJA_PARSE_H */
