/* SPDX-License-Identifier: MIT
 *
 * parse.h - what the parsers of expressions and of statements share.
 *
 * A failure is kept in the parser; every function then returns some node, and loops end
 * because the current token is the end of the template. */
#ifndef LLAMAD_TEMPLATE_PARSE_H
#define LLAMAD_TEMPLATE_PARSE_H

#include "core/text/template/ast.h"
#include "core/text/template/lex.h"

/* Nesting of expressions and of statements, together. */
#define LMI_PARSE_DEPTH 200
/* Named arguments of a call, parameters of a macro, blocks of a template: each of these is
 * looked through one by one. */
#define LMI_PARSE_NAMES 1000

struct lmi_parser {
	struct lmd_arena *arena;
	const struct lmi_token *tok; /* the current one */
	uint32_t depth;
	uint32_t loops;       /* loops around, since the last macro */
	struct lmd_str *block; /* [n_blocks] names */
	uint32_t n_blocks;
	struct lmi_params *macro; /* of the innermost macro or call block, or NULL */
	enum lmd_status st;
	struct lmd_error *err;
	struct lmi_node spare; /* what a failed parser hands out */
};

void lmi_parse_fail(struct lmi_parser *p, const char *fmt, ...) LMD_PRINTF(2, 3);
void lmi_parse_no_memory(struct lmi_parser *p);
bool lmi_parse_enter(struct lmi_parser *p);

struct lmi_node *lmi_node_new(struct lmi_parser *p, enum lmi_op op);
/* A node with this a; a constant. */
struct lmi_node *lmi_node_unary(struct lmi_parser *p, enum lmi_op op, struct lmi_node *a);
struct lmi_node *lmi_node_const(struct lmi_parser *p, struct lmi_val v);
void lmi_nodes_add(struct lmi_parser *p, struct lmi_nodes *l, struct lmi_node *n);

/* Tokens */
bool lmi_parse_at(const struct lmi_parser *p, int type);
bool lmi_parse_at_name(const struct lmi_parser *p, const char *name);
void lmi_parse_next(struct lmi_parser *p);
bool lmi_parse_skip(struct lmi_parser *p, int type);
bool lmi_parse_skip_name(struct lmi_parser *p, const char *name);
void lmi_parse_expect(struct lmi_parser *p, int type);
struct lmd_str lmi_parse_expect_name(struct lmi_parser *p);

/* Expressions */
struct lmi_node *lmi_parse_expression(struct lmi_parser *p);
/* Without "x if y" at its top. */
struct lmi_node *lmi_parse_plain(struct lmi_parser *p);
/* "a, b, c" makes a tuple. */
struct lmi_node *lmi_parse_tuple(struct lmi_parser *p, bool plain);
/* "name", "a, b", "(a, b)"; with `members` also "ns.x". */
struct lmi_node *lmi_parse_target(struct lmi_parser *p, bool members);
/* "f | g(x)" behind a node, or a chain that begins without one. */
struct lmi_node *lmi_parse_filters(struct lmi_parser *p, struct lmi_node *a, bool inline_start);

/* Parts of expressions */

/* A name, a constant, or what stands in brackets (parse_primary.c). */
struct lmi_node *lmi_parse_primary(struct lmi_parser *p);
/* Items by `item` with commas between them; one without a comma is itself.  Only in brackets there
 * may be none. */
struct lmi_node *lmi_parse_tuple_of(struct lmi_parser *p,
				    struct lmi_node *(*item)(struct lmi_parser *),
				    bool in_brackets);
/* Attributes, items and calls behind a node; filters, tests and calls behind that
 * (parse_postfix.c). */
struct lmi_node *lmi_parse_postfix(struct lmi_parser *p, struct lmi_node *n);
struct lmi_node *lmi_parse_filter_expr(struct lmi_parser *p, struct lmi_node *n);

#endif /* LLAMAD_TEMPLATE_PARSE_H */
