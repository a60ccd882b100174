/* SPDX-License-Identifier: MIT
 *
 * Parses expressions by recursive descent.  From the loosest to the tightest binding: if, or, and,
 * not, comparison, + -, ~, * / // %, **, sign, then the postfixes: attribute, item, call, filter,
 * test. */
#include <string.h>

#include "core/jinja/ops.h"
#include "core/jinja/parse.h"

static struct lmi_jinja_node *parse_unary(struct lmi_jinja_parser *p, bool with_filter)
{
	struct lmi_jinja_node *n;

	if (!lmi_jinja_parse_enter(p))
		return lmi_jinja_node_new(p, LMI_JINJA_N_TUPLE);
	if (lmi_jinja_parse_skip(p, '-'))
		n = lmi_jinja_node_unary(p, LMI_JINJA_N_NEG, parse_unary(p, false));
	else if (lmi_jinja_parse_skip(p, '+'))
		n = lmi_jinja_node_unary(p, LMI_JINJA_N_POS, parse_unary(p, false));
	else
		n = lmi_jinja_parse_primary(p);
	n = lmi_jinja_parse_postfix(p, n);
	if (with_filter)
		n = lmi_jinja_parse_filter_expr(p, n);
	p->depth--;
	return n;
}

static struct lmi_jinja_node *binary(struct lmi_jinja_parser *p, int op, struct lmi_jinja_node *a,
				     struct lmi_jinja_node *b)
{
	struct lmi_jinja_node *n = lmi_jinja_node_unary(p, LMI_JINJA_N_BINARY, a);

	n->sub = (uint8_t)op;
	n->b = b;
	return n;
}

static struct lmi_jinja_node *parse_pow(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = parse_unary(p, true);

	while (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_POW))
		n = binary(p, LMI_JINJA_OP_POW, n, parse_unary(p, true));
	return n;
}

static struct lmi_jinja_node *parse_product(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = parse_pow(p);

	for (;;) {
		int op = lmi_jinja_parse_skip(p, '*')                      ? LMI_JINJA_OP_MUL
			 : lmi_jinja_parse_skip(p, '/')                    ? LMI_JINJA_OP_DIV
			 : lmi_jinja_parse_skip(p, LMI_JINJA_TOK_FLOORDIV) ? LMI_JINJA_OP_FLOORDIV
			 : lmi_jinja_parse_skip(p, '%')                    ? LMI_JINJA_OP_MOD
									   : -1;

		if (op < 0)
			return n;
		n = binary(p, op, n, parse_pow(p));
	}
}

static struct lmi_jinja_node *parse_concat(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *first = parse_product(p), *n;

	if (!lmi_jinja_parse_at(p, '~'))
		return first;
	n = lmi_jinja_node_new(p, LMI_JINJA_N_CONCAT);
	lmi_jinja_nodes_add(p, &n->kids, first);
	while (lmi_jinja_parse_skip(p, '~'))
		lmi_jinja_nodes_add(p, &n->kids, parse_product(p));
	return n;
}

static struct lmi_jinja_node *parse_sum(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = parse_concat(p);

	for (;;) {
		int op = lmi_jinja_parse_skip(p, '+')   ? LMI_JINJA_OP_ADD
			 : lmi_jinja_parse_skip(p, '-') ? LMI_JINJA_OP_SUB
							: -1;

		if (op < 0)
			return n;
		n = binary(p, op, n, parse_concat(p));
	}
}

static int relation(struct lmi_jinja_parser *p)
{
	if (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_EQ))
		return LMI_JINJA_REL_EQ;
	if (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_NE))
		return LMI_JINJA_REL_NE;
	if (lmi_jinja_parse_skip(p, '<'))
		return LMI_JINJA_REL_LT;
	if (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_LE))
		return LMI_JINJA_REL_LE;
	if (lmi_jinja_parse_skip(p, '>'))
		return LMI_JINJA_REL_GT;
	if (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_GE))
		return LMI_JINJA_REL_GE;
	if (lmi_jinja_parse_skip_name(p, "in"))
		return LMI_JINJA_REL_IN;
	if (lmi_jinja_parse_at_name(p, "not") && p->tok[1].type == LMI_JINJA_TOK_NAME &&
	    p->tok[1].n == 2 && !memcmp(p->tok[1].u.s, "in", 2)) {
		lmi_jinja_parse_next(p);
		lmi_jinja_parse_next(p);
		return LMI_JINJA_REL_NOT_IN;
	}
	return -1;
}

static struct lmi_jinja_node *parse_compare(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = parse_sum(p), *all = NULL;
	int rel;

	while ((rel = relation(p)) >= 0) {
		struct lmi_jinja_node *operand = lmi_jinja_node_new(p, LMI_JINJA_N_OPERAND);

		if (!all)
			all = lmi_jinja_node_unary(p, LMI_JINJA_N_COMPARE, n);
		operand->sub = (uint8_t)rel;
		operand->a = parse_sum(p);
		lmi_jinja_nodes_add(p, &all->kids, operand);
	}
	return all ? all : n;
}

static struct lmi_jinja_node *parse_not(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n;

	if (!lmi_jinja_parse_skip_name(p, "not"))
		return parse_compare(p);
	if (!lmi_jinja_parse_enter(p))
		return lmi_jinja_node_new(p, LMI_JINJA_N_TUPLE);
	n = lmi_jinja_node_unary(p, LMI_JINJA_N_NOT, parse_not(p));
	p->depth--;
	return n;
}

static struct lmi_jinja_node *parse_and(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = parse_not(p);

	while (lmi_jinja_parse_skip_name(p, "and")) {
		n = lmi_jinja_node_unary(p, LMI_JINJA_N_AND, n);
		n->b = parse_not(p);
	}
	return n;
}

struct lmi_jinja_node *lmi_jinja_parse_unconditional(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = parse_and(p);

	while (lmi_jinja_parse_skip_name(p, "or")) {
		n = lmi_jinja_node_unary(p, LMI_JINJA_N_OR, n);
		n->b = parse_and(p);
	}
	return n;
}

static struct lmi_jinja_node *parse_if(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *a = lmi_jinja_parse_unconditional(p);

	while (lmi_jinja_parse_skip_name(p, "if")) {
		struct lmi_jinja_node *n = lmi_jinja_node_unary(p, LMI_JINJA_N_IF, a);

		n->b = lmi_jinja_parse_unconditional(p);
		if (lmi_jinja_parse_skip_name(p, "else"))
			n->c = lmi_jinja_parse_expression(p);
		a = n;
	}
	return a;
}

struct lmi_jinja_node *lmi_jinja_parse_expression(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n;

	if (!lmi_jinja_parse_enter(p))
		return lmi_jinja_node_new(p, LMI_JINJA_N_TUPLE);
	n = parse_if(p);
	p->depth--;
	return n;
}

struct lmi_jinja_node *lmi_jinja_parse_tuple(struct lmi_jinja_parser *p, bool plain)
{
	return lmi_jinja_parse_tuple_of(
		p, plain ? lmi_jinja_parse_unconditional : lmi_jinja_parse_expression, false);
}
