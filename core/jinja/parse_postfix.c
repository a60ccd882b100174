/* SPDX-License-Identifier: MIT
 *
 * Parses what follows a primary expression: attributes, items, calls, filters, tests. */
#include <string.h>

#include "core/jinja/call.h"
#include "core/jinja/parse.h"

static struct lmi_jinja_node *parse_subscribed(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *s, *first = NULL;

	if (!lmi_jinja_parse_at(p, ':')) {
		first = lmi_jinja_parse_expression(p);
		if (!lmi_jinja_parse_at(p, ':'))
			return first;
	}
	s = lmi_jinja_node_unary(p, LMI_JINJA_N_SLICE, first);
	lmi_jinja_parse_next(p);
	if (!lmi_jinja_parse_at(p, ':') && !lmi_jinja_parse_at(p, ']') &&
	    !lmi_jinja_parse_at(p, ','))
		s->b = lmi_jinja_parse_expression(p);
	if (lmi_jinja_parse_skip(p, ':') && !lmi_jinja_parse_at(p, ']') &&
	    !lmi_jinja_parse_at(p, ','))
		s->c = lmi_jinja_parse_expression(p);
	return s;
}

static struct lmi_jinja_node *parse_item(struct lmi_jinja_parser *p, struct lmi_jinja_node *a)
{
	struct lmi_jinja_node *n = lmi_jinja_node_unary(p, LMI_JINJA_N_ITEM, a),
			      *keys = lmi_jinja_node_new(p, LMI_JINJA_N_TUPLE);

	lmi_jinja_parse_next(p);
	while (!lmi_jinja_parse_at(p, ']') && p->st == LMD_OK) {
		if (keys->kids.n)
			lmi_jinja_parse_expect(p, ',');
		lmi_jinja_nodes_add(p, &keys->kids, parse_subscribed(p));
	}
	lmi_jinja_parse_expect(p, ']');
	n->b = keys->kids.n == 1 ? keys->kids.v[0] : keys;
	return n;
}

static struct lmi_jinja_node *parse_attribute(struct lmi_jinja_parser *p, struct lmi_jinja_node *a)
{
	struct lmi_jinja_node *n = lmi_jinja_node_unary(p, LMI_JINJA_N_ATTR, a);

	lmi_jinja_parse_next(p);
	if (lmi_jinja_parse_at(p, LMI_JINJA_TOK_INT)) {
		n->op = LMI_JINJA_N_ITEM;
		n->b = lmi_jinja_node_const(p, lmi_jinja_int(p->tok->u.i));
		lmi_jinja_parse_next(p);
	} else {
		n->name = lmi_jinja_parse_expect_name(p);
	}
	return n;
}

static void add_kwarg(struct lmi_jinja_parser *p, struct lmi_jinja_arg_nodes *args)
{
	struct lmi_jinja_named *kw;

	if (args->n_kw == LMI_JINJA_PARSE_NAMES) {
		lmi_jinja_parse_fail(p, "more than %d named arguments", LMI_JINJA_PARSE_NAMES);
		return;
	}
	/* capacity is doubled at powers of two */
	if (!(args->n_kw & (args->n_kw - 1))) {
		uint32_t cap = args->n_kw ? 2 * args->n_kw : 1;

		kw = lmi_arena_array(p->arena, cap, sizeof(*kw));
		if (!kw) {
			lmi_jinja_parse_no_memory(p);
			return;
		}
		if (args->n_kw)
			memcpy(kw, args->kw, args->n_kw * sizeof(*kw));
		args->kw = kw;
	}
	kw = &args->kw[args->n_kw];
	kw->name = lmi_jinja_parse_expect_name(p);
	for (uint32_t i = 0; i < args->n_kw; i++) {
		if (kw->name.len == args->kw[i].name.len &&
		    !memcmp(kw->name.ptr, args->kw[i].name.ptr, kw->name.len))
			lmi_jinja_parse_fail(p, "argument '%.*s' is given twice", (int)kw->name.len,
					     kw->name.ptr);
	}
	lmi_jinja_parse_expect(p, '=');
	kw->value = lmi_jinja_parse_expression(p);
	args->n_kw++;
}

static void parse_arg(struct lmi_jinja_parser *p, struct lmi_jinja_arg_nodes *args)
{
	const char *order = "an argument follows one that must be the last";

	if (lmi_jinja_parse_skip(p, '*')) {
		if (args->star || args->star_star)
			lmi_jinja_parse_fail(p, "%s", order);
		args->star = lmi_jinja_parse_expression(p);
	} else if (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_POW)) {
		if (args->star_star)
			lmi_jinja_parse_fail(p, "%s", order);
		args->star_star = lmi_jinja_parse_expression(p);
	} else if (lmi_jinja_parse_at(p, LMI_JINJA_TOK_NAME) && p->tok[1].type == '=') {
		if (args->star_star)
			lmi_jinja_parse_fail(p, "%s", order);
		add_kwarg(p, args);
	} else {
		if (args->star || args->star_star || args->n_kw)
			lmi_jinja_parse_fail(p, "%s", order);
		lmi_jinja_nodes_add(p, &args->pos, lmi_jinja_parse_expression(p));
	}
}

static const struct lmi_jinja_arg_nodes *parse_args(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_arg_nodes *args = lmi_arena_alloc(p->arena, sizeof(*args), 16);

	if (!args) {
		lmi_jinja_parse_no_memory(p);
		return NULL;
	}
	lmi_jinja_parse_expect(p, '(');
	while (!lmi_jinja_parse_at(p, ')') && p->st == LMD_OK) {
		parse_arg(p, args);
		if (!lmi_jinja_parse_skip(p, ','))
			break;
	}
	lmi_jinja_parse_expect(p, ')');
	return args;
}

static struct lmi_jinja_node *parse_call(struct lmi_jinja_parser *p, struct lmi_jinja_node *a)
{
	struct lmi_jinja_node *n = lmi_jinja_node_unary(p, LMI_JINJA_N_CALL, a);

	n->args = parse_args(p);
	return n;
}

/* Parses "a.b.c": names of filters and tests may contain dots. */
static struct lmd_str parse_dotted(struct lmi_jinja_parser *p)
{
	struct lmd_str name = lmi_jinja_parse_expect_name(p);

	while (lmi_jinja_parse_at(p, '.') && p->st == LMD_OK) {
		struct lmd_str more;
		char *s;

		lmi_jinja_parse_next(p);
		more = lmi_jinja_parse_expect_name(p);
		s = lmi_arena_alloc(p->arena, name.len + more.len + 1, 1);
		if (!s) {
			lmi_jinja_parse_no_memory(p);
			break;
		}
		memcpy(s, name.ptr, name.len);
		s[name.len] = '.';
		memcpy(s + name.len + 1, more.ptr, more.len);
		name = (struct lmd_str){s, name.len + 1 + more.len};
	}
	return name;
}

struct lmi_jinja_node *lmi_jinja_parse_filters(struct lmi_jinja_parser *p, struct lmi_jinja_node *a,
					       bool inline_start)
{
	while ((inline_start || lmi_jinja_parse_skip(p, '|')) && p->st == LMD_OK) {
		struct lmi_jinja_node *n = lmi_jinja_node_unary(p, LMI_JINJA_N_FILTER, a);

		n->name = parse_dotted(p);
		n->f = lmi_jinja_filter_find(n->name.ptr, n->name.len);
		if (lmi_jinja_parse_at(p, '('))
			n->args = parse_args(p);
		a = n;
		inline_start = false;
	}
	return a;
}

static bool begins_argument(const struct lmi_jinja_parser *p)
{
	switch (p->tok->type) {
	case LMI_JINJA_TOK_NAME:
		return !lmi_jinja_parse_at_name(p, "else") && !lmi_jinja_parse_at_name(p, "or") &&
		       !lmi_jinja_parse_at_name(p, "and");
	case LMI_JINJA_TOK_STRING:
	case LMI_JINJA_TOK_INT:
	case LMI_JINJA_TOK_FLOAT:
	case '[':
	case '{':
		return true;
	default: /* any other token: all 256 values are possible */
		return false;
	}
}

static struct lmi_jinja_node *parse_test(struct lmi_jinja_parser *p, struct lmi_jinja_node *a)
{
	struct lmi_jinja_node *n = lmi_jinja_node_unary(p, LMI_JINJA_N_TEST, a);
	struct lmi_jinja_arg_nodes *args;

	lmi_jinja_parse_next(p);
	n->sub = lmi_jinja_parse_skip_name(p, "not");
	n->name = parse_dotted(p);
	n->f = lmi_jinja_test_find(n->name.ptr, n->name.len);
	if (lmi_jinja_parse_at(p, '(')) {
		n->args = parse_args(p);
	} else if (begins_argument(p)) {
		if (lmi_jinja_parse_at_name(p, "is"))
			lmi_jinja_parse_fail(p, "tests cannot be chained with is");
		args = lmi_arena_alloc(p->arena, sizeof(*args), 16);
		if (!args) {
			lmi_jinja_parse_no_memory(p);
			return n;
		}
		lmi_jinja_nodes_add(p, &args->pos,
				    lmi_jinja_parse_postfix(p, lmi_jinja_parse_primary(p)));
		n->args = args;
	}
	return n;
}

struct lmi_jinja_node *lmi_jinja_parse_postfix(struct lmi_jinja_parser *p, struct lmi_jinja_node *n)
{
	while (p->st == LMD_OK) {
		if (lmi_jinja_parse_at(p, '.'))
			n = parse_attribute(p, n);
		else if (lmi_jinja_parse_at(p, '['))
			n = parse_item(p, n);
		else if (lmi_jinja_parse_at(p, '('))
			n = parse_call(p, n);
		else
			break;
	}
	return n;
}

struct lmi_jinja_node *lmi_jinja_parse_filter_expr(struct lmi_jinja_parser *p,
						   struct lmi_jinja_node *n)
{
	while (p->st == LMD_OK) {
		if (lmi_jinja_parse_at(p, '|'))
			n = lmi_jinja_parse_filters(p, n, false);
		else if (lmi_jinja_parse_at_name(p, "is"))
			n = parse_test(p, n);
		else if (lmi_jinja_parse_at(p, '('))
			n = parse_call(p, n);
		else
			break;
	}
	return n;
}
