/* SPDX-License-Identifier: MIT
 *
 * Parses expressions by recursive descent.  From the loosest to the tightest binding: if, or, and,
 * not, comparison, + -, ~, * / // %, **, sign, then the postfixes: attribute, item, call, filter,
 * test. */
#include "core/text/template/ops.h"
#include "core/text/template/parse.h"

static struct lmi_node *parse_unary(struct lmi_parser *p, bool with_filter)
{
	struct lmi_node *n;

	if (!lmi_parse_enter(p))
		return lmi_node_new(p, LMI_N_TUPLE);
	if (lmi_parse_skip(p, '-'))
		n = lmi_node_unary(p, LMI_N_NEG, parse_unary(p, false));
	else if (lmi_parse_skip(p, '+'))
		n = lmi_node_unary(p, LMI_N_POS, parse_unary(p, false));
	else
		n = lmi_parse_primary(p);
	n = lmi_parse_postfix(p, n);
	if (with_filter)
		n = lmi_parse_filter_expr(p, n);
	p->depth--;
	return n;
}

static struct lmi_node *binary(struct lmi_parser *p, int op, struct lmi_node *a, struct lmi_node *b)
{
	struct lmi_node *n = lmi_node_unary(p, LMI_N_BINARY, a);

	n->sub = (uint8_t)op;
	n->b = b;
	return n;
}

static struct lmi_node *parse_pow(struct lmi_parser *p)
{
	struct lmi_node *n = parse_unary(p, true);

	while (lmi_parse_skip(p, LMI_TOK_POW))
		n = binary(p, LMI_OP_POW, n, parse_unary(p, true));
	return n;
}

static struct lmi_node *parse_product(struct lmi_parser *p)
{
	struct lmi_node *n = parse_pow(p);

	for (;;) {
		int op = lmi_parse_skip(p, '*')		       ? LMI_OP_MUL
			 : lmi_parse_skip(p, '/')	       ? LMI_OP_DIV
			 : lmi_parse_skip(p, LMI_TOK_FLOORDIV) ? LMI_OP_FLOORDIV
			 : lmi_parse_skip(p, '%')	       ? LMI_OP_MOD
							       : -1;

		if (op < 0)
			return n;
		n = binary(p, op, n, parse_pow(p));
	}
}

static struct lmi_node *parse_concat(struct lmi_parser *p)
{
	struct lmi_node *first = parse_product(p), *n;

	if (!lmi_parse_at(p, '~'))
		return first;
	n = lmi_node_new(p, LMI_N_CONCAT);
	lmi_nodes_add(p, &n->kids, first);
	while (lmi_parse_skip(p, '~'))
		lmi_nodes_add(p, &n->kids, parse_product(p));
	return n;
}

static struct lmi_node *parse_sum(struct lmi_parser *p)
{
	struct lmi_node *n = parse_concat(p);

	for (;;) {
		int op = lmi_parse_skip(p, '+')	  ? LMI_OP_ADD
			 : lmi_parse_skip(p, '-') ? LMI_OP_SUB
						  : -1;

		if (op < 0)
			return n;
		n = binary(p, op, n, parse_concat(p));
	}
}

static int relation(struct lmi_parser *p)
{
	if (lmi_parse_skip(p, LMI_TOK_EQ))
		return LMI_REL_EQ;
	if (lmi_parse_skip(p, LMI_TOK_NE))
		return LMI_REL_NE;
	if (lmi_parse_skip(p, '<'))
		return LMI_REL_LT;
	if (lmi_parse_skip(p, LMI_TOK_LE))
		return LMI_REL_LE;
	if (lmi_parse_skip(p, '>'))
		return LMI_REL_GT;
	if (lmi_parse_skip(p, LMI_TOK_GE))
		return LMI_REL_GE;
	if (lmi_parse_skip_name(p, "in"))
		return LMI_REL_IN;
	if (lmi_parse_at_name(p, "not") && p->tok[1].type == LMI_TOK_NAME && p->tok[1].n == 2 &&
	    !memcmp(p->tok[1].u.s, "in", 2)) {
		lmi_parse_next(p);
		lmi_parse_next(p);
		return LMI_REL_NOT_IN;
	}
	return -1;
}

static struct lmi_node *parse_compare(struct lmi_parser *p)
{
	struct lmi_node *n = parse_sum(p), *all = NULL;
	int rel;

	while ((rel = relation(p)) >= 0) {
		struct lmi_node *operand = lmi_node_new(p, LMI_N_OPERAND);

		if (!all)
			all = lmi_node_unary(p, LMI_N_COMPARE, n);
		operand->sub = (uint8_t)rel;
		operand->a = parse_sum(p);
		lmi_nodes_add(p, &all->kids, operand);
	}
	return all ? all : n;
}

static struct lmi_node *parse_not(struct lmi_parser *p)
{
	struct lmi_node *n;

	if (!lmi_parse_skip_name(p, "not"))
		return parse_compare(p);
	if (!lmi_parse_enter(p))
		return lmi_node_new(p, LMI_N_TUPLE);
	n = lmi_node_unary(p, LMI_N_NOT, parse_not(p));
	p->depth--;
	return n;
}

static struct lmi_node *parse_and(struct lmi_parser *p)
{
	struct lmi_node *n = parse_not(p);

	while (lmi_parse_skip_name(p, "and")) {
		n = lmi_node_unary(p, LMI_N_AND, n);
		n->b = parse_not(p);
	}
	return n;
}

struct lmi_node *lmi_parse_plain(struct lmi_parser *p)
{
	struct lmi_node *n = parse_and(p);

	while (lmi_parse_skip_name(p, "or")) {
		n = lmi_node_unary(p, LMI_N_OR, n);
		n->b = parse_and(p);
	}
	return n;
}

static struct lmi_node *parse_if(struct lmi_parser *p)
{
	struct lmi_node *a = lmi_parse_plain(p);

	while (lmi_parse_skip_name(p, "if")) {
		struct lmi_node *n = lmi_node_unary(p, LMI_N_IF, a);

		n->b = lmi_parse_plain(p);
		if (lmi_parse_skip_name(p, "else"))
			n->c = lmi_parse_expression(p);
		a = n;
	}
	return a;
}

struct lmi_node *lmi_parse_expression(struct lmi_parser *p)
{
	struct lmi_node *n;

	if (!lmi_parse_enter(p))
		return lmi_node_new(p, LMI_N_TUPLE);
	n = parse_if(p);
	p->depth--;
	return n;
}

struct lmi_node *lmi_parse_tuple(struct lmi_parser *p, bool plain)
{
	return lmi_parse_tuple_of(p, plain ? lmi_parse_plain : lmi_parse_expression, false);
}
