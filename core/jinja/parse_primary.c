/* SPDX-License-Identifier: MIT
 *
 * Parses primary expressions (names, constants, lists, tuples, dictionaries) and assignment
 * targets. */
#include <string.h>

#include "core/jinja/parse.h"

static bool str_is(struct lmd_str s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.ptr, word, s.len);
}

static struct lmi_jinja_node *parse_name(struct lmi_jinja_parser *p)
{
	struct lmd_str s = {p->tok->u.s, p->tok->n};
	struct lmi_jinja_node *n;

	if (str_is(s, "true") || str_is(s, "True") || str_is(s, "false") || str_is(s, "False")) {
		n = lmi_jinja_node_const(p, lmi_jinja_bool(s.ptr[0] == 't' || s.ptr[0] == 'T'));
	} else if (str_is(s, "none") || str_is(s, "None")) {
		n = lmi_jinja_node_const(p, lmi_jinja_none());
	} else {
		n = lmi_jinja_node_new(p, LMI_JINJA_N_NAME);
		n->name = s;
		if (p->macro) {
			p->macro->uses_varargs |= str_is(s, "varargs");
			p->macro->uses_kwargs |= str_is(s, "kwargs");
			p->macro->uses_caller |= str_is(s, "caller");
		}
	}
	lmi_jinja_parse_next(p);
	return n;
}

/* Adjacent string literals are concatenated. */
static struct lmi_jinja_node *parse_string(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_const(p, lmi_jinja_strn(p->tok->u.s, p->tok->n));

	lmi_jinja_parse_next(p);
	while (lmi_jinja_parse_at(p, LMI_JINJA_TOK_STRING)) {
		size_t a = n->value.n, b = p->tok->n;
		char *s = lmi_arena_alloc(p->arena, a + b + 1, 1);

		if (!s) {
			lmi_jinja_parse_no_memory(p);
			break;
		}
		memcpy(s, n->value.u.s, a);
		memcpy(s + a, p->tok->u.s, b);
		n->value = lmi_jinja_strn(s, a + b);
		lmi_jinja_parse_next(p);
	}
	return n;
}

static struct lmi_jinja_node *parse_list(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_LIST);

	lmi_jinja_parse_expect(p, '[');
	while (!lmi_jinja_parse_at(p, ']') && p->st == LMD_OK) {
		lmi_jinja_nodes_add(p, &n->kids, lmi_jinja_parse_expression(p));
		if (!lmi_jinja_parse_skip(p, ','))
			break;
	}
	lmi_jinja_parse_expect(p, ']');
	return n;
}

static struct lmi_jinja_node *parse_dict(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_DICT);

	lmi_jinja_parse_expect(p, '{');
	while (!lmi_jinja_parse_at(p, '}') && p->st == LMD_OK) {
		lmi_jinja_nodes_add(p, &n->kids, lmi_jinja_parse_expression(p));
		lmi_jinja_parse_expect(p, ':');
		lmi_jinja_nodes_add(p, &n->kids, lmi_jinja_parse_expression(p));
		if (!lmi_jinja_parse_skip(p, ','))
			break;
	}
	lmi_jinja_parse_expect(p, '}');
	return n;
}

static bool tuple_ends(const struct lmi_jinja_parser *p)
{
	return lmi_jinja_parse_at(p, LMI_JINJA_TOK_VAR_END) ||
	       lmi_jinja_parse_at(p, LMI_JINJA_TOK_BLOCK_END) || lmi_jinja_parse_at(p, ')');
}

struct lmi_jinja_node *
lmi_jinja_parse_tuple_of(struct lmi_jinja_parser *p,
			 struct lmi_jinja_node *(*item)(struct lmi_jinja_parser *),
			 bool in_brackets)
{
	struct lmi_jinja_node *t = lmi_jinja_node_new(p, LMI_JINJA_N_TUPLE), *one = NULL;
	bool comma = false;

	while (!tuple_ends(p) && p->st == LMD_OK) {
		one = item(p);
		lmi_jinja_nodes_add(p, &t->kids, one);
		if (!lmi_jinja_parse_skip(p, ','))
			break;
		comma = true;
	}
	if (one && !comma)
		return one;
	if (!one && !in_brackets)
		lmi_jinja_parse_fail(p, "expected an expression");
	return t;
}

static struct lmi_jinja_node *parse_parens(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n;

	lmi_jinja_parse_expect(p, '(');
	n = lmi_jinja_parse_tuple_of(p, lmi_jinja_parse_expression, true);
	lmi_jinja_parse_expect(p, ')');
	return n;
}

struct lmi_jinja_node *lmi_jinja_parse_primary(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n;

	switch (p->tok->type) {
	case LMI_JINJA_TOK_NAME:
		return parse_name(p);
	case LMI_JINJA_TOK_STRING:
		return parse_string(p);
	case LMI_JINJA_TOK_INT:
		n = lmi_jinja_node_const(p, lmi_jinja_int(p->tok->u.i));
		lmi_jinja_parse_next(p);
		return n;
	case LMI_JINJA_TOK_FLOAT:
		n = lmi_jinja_node_const(p, lmi_jinja_float(p->tok->u.f));
		lmi_jinja_parse_next(p);
		return n;
	case '(':
		return parse_parens(p);
	case '[':
		return parse_list(p);
	case '{':
		return parse_dict(p);
	default: /* any other token: all 256 values are possible */
		lmi_jinja_parse_fail(p, "expected an expression");
		return lmi_jinja_node_new(p, LMI_JINJA_N_TUPLE);
	}
}

/* Targets */

static void check_target(struct lmi_jinja_parser *p, const struct lmi_jinja_node *n)
{
	if (n->op == LMI_JINJA_N_TUPLE) {
		for (uint32_t i = 0; i < n->kids.n; i++)
			check_target(p, n->kids.v[i]);
	} else if (n->op != LMI_JINJA_N_NAME) {
		lmi_jinja_parse_fail(p, "cannot assign to this expression");
	}
}

struct lmi_jinja_node *lmi_jinja_parse_target(struct lmi_jinja_parser *p, bool members)
{
	struct lmi_jinja_node *n;

	if (members && lmi_jinja_parse_at(p, LMI_JINJA_TOK_NAME) && p->tok[1].type == '.') {
		n = lmi_jinja_node_new(p, LMI_JINJA_N_MEMBER);
		n->name = lmi_jinja_parse_expect_name(p);
		lmi_jinja_parse_next(p);
		n->value = lmi_jinja_strn(p->tok->u.s, p->tok->n);
		(void)lmi_jinja_parse_expect_name(p); /* already stored in value */
		return n;
	}
	n = lmi_jinja_parse_tuple_of(p, lmi_jinja_parse_primary, false);
	check_target(p, n);
	return n;
}
