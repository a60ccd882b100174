/* SPDX-License-Identifier: MIT
 *
 * Expressions, by recursive descent.  From loose to tight: if, or, and, not, comparison,
 * + -, ~, * / // %, **, sign, then the postfixes: attribute, item, call, filter, test. */
#include "core/text/template/parse.h"

static bool str_is(struct lmd_str s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.ptr, word, s.len);
}

static struct lmi_node *unary(struct lmi_parser *p, enum lmi_op op, struct lmi_node *a)
{
	struct lmi_node *n = lmi_node_new(p, op);

	n->a = a;
	return n;
}

static struct lmi_node *constant(struct lmi_parser *p, struct lmi_val v)
{
	struct lmi_node *n = lmi_node_new(p, LMI_N_CONST);

	n->value = v;
	return n;
}

/* Primaries */

static struct lmi_node *parse_name(struct lmi_parser *p)
{
	struct lmd_str s = {p->tok->u.s, p->tok->n};
	struct lmi_node *n;

	if (str_is(s, "true") || str_is(s, "True") || str_is(s, "false") || str_is(s, "False")) {
		n = constant(p, lmi_bool(s.ptr[0] == 't' || s.ptr[0] == 'T'));
	} else if (str_is(s, "none") || str_is(s, "None")) {
		n = constant(p, lmi_none());
	} else {
		n = lmi_node_new(p, LMI_N_NAME);
		n->name = s;
		if (p->macro) {
			p->macro->uses_varargs |= str_is(s, "varargs");
			p->macro->uses_kwargs |= str_is(s, "kwargs");
			p->macro->uses_caller |= str_is(s, "caller");
		}
	}
	lmi_parse_next(p);
	return n;
}

/* Texts that stand side by side are one. */
static struct lmi_node *parse_string(struct lmi_parser *p)
{
	struct lmi_node *n = constant(p, lmi_strn(p->tok->u.s, p->tok->n));

	lmi_parse_next(p);
	while (lmi_parse_at(p, LMI_TOK_STRING)) {
		size_t a = n->value.n, b = p->tok->n;
		char *s = lmi_arena_alloc(p->arena, a + b + 1, 1);

		if (!s) {
			lmi_parse_no_memory(p);
			break;
		}
		memcpy(s, n->value.u.s, a);
		memcpy(s + a, p->tok->u.s, b);
		n->value = lmi_strn(s, a + b);
		lmi_parse_next(p);
	}
	return n;
}

static struct lmi_node *parse_list(struct lmi_parser *p)
{
	struct lmi_node *n = lmi_node_new(p, LMI_N_LIST);

	lmi_parse_expect(p, '[');
	while (!lmi_parse_at(p, ']') && p->st == LMD_OK) {
		lmi_nodes_add(p, &n->kids, lmi_parse_expression(p));
		if (!lmi_parse_skip(p, ','))
			break;
	}
	lmi_parse_expect(p, ']');
	return n;
}

static struct lmi_node *parse_dict(struct lmi_parser *p)
{
	struct lmi_node *n = lmi_node_new(p, LMI_N_DICT);

	lmi_parse_expect(p, '{');
	while (!lmi_parse_at(p, '}') && p->st == LMD_OK) {
		lmi_nodes_add(p, &n->kids, lmi_parse_expression(p));
		lmi_parse_expect(p, ':');
		lmi_nodes_add(p, &n->kids, lmi_parse_expression(p));
		if (!lmi_parse_skip(p, ','))
			break;
	}
	lmi_parse_expect(p, '}');
	return n;
}

static bool tuple_ends(const struct lmi_parser *p)
{
	return lmi_parse_at(p, LMI_TOK_VAR_END) || lmi_parse_at(p, LMI_TOK_BLOCK_END) ||
	       lmi_parse_at(p, ')');
}

static struct lmi_node *parse_primary(struct lmi_parser *p);

/* Items by `item` with commas between them; one without a comma is itself. */
static struct lmi_node *parse_tuple_of(struct lmi_parser *p,
				       struct lmi_node *(*item)(struct lmi_parser *),
				       bool in_brackets)
{
	struct lmi_node *t = lmi_node_new(p, LMI_N_TUPLE), *one = NULL;
	bool comma = false;

	while (!tuple_ends(p) && p->st == LMD_OK) {
		one = item(p);
		lmi_nodes_add(p, &t->kids, one);
		if (!lmi_parse_skip(p, ','))
			break;
		comma = true;
	}
	if (one && !comma)
		return one;
	if (!one && !in_brackets)
		lmi_parse_fail(p, "an expression is expected");
	return t;
}

static struct lmi_node *parse_parens(struct lmi_parser *p)
{
	struct lmi_node *n;

	lmi_parse_expect(p, '(');
	n = parse_tuple_of(p, lmi_parse_expression, true);
	lmi_parse_expect(p, ')');
	return n;
}

static struct lmi_node *parse_primary(struct lmi_parser *p)
{
	struct lmi_node *n;

	switch (p->tok->type) {
	case LMI_TOK_NAME:
		return parse_name(p);
	case LMI_TOK_STRING:
		return parse_string(p);
	case LMI_TOK_INT:
		n = constant(p, lmi_int(p->tok->u.i));
		lmi_parse_next(p);
		return n;
	case LMI_TOK_FLOAT:
		n = constant(p, lmi_float(p->tok->u.f));
		lmi_parse_next(p);
		return n;
	case '(':
		return parse_parens(p);
	case '[':
		return parse_list(p);
	case '{':
		return parse_dict(p);
	default: /* any other token: all 256 values are possible */
		lmi_parse_fail(p, "an expression is expected");
		return lmi_node_new(p, LMI_N_TUPLE);
	}
}

/* Postfixes */

static struct lmi_node *parse_subscribed(struct lmi_parser *p)
{
	struct lmi_node *s, *first = NULL;

	if (!lmi_parse_at(p, ':')) {
		first = lmi_parse_expression(p);
		if (!lmi_parse_at(p, ':'))
			return first;
	}
	s = unary(p, LMI_N_SLICE, first);
	lmi_parse_next(p);
	if (!lmi_parse_at(p, ':') && !lmi_parse_at(p, ']') && !lmi_parse_at(p, ','))
		s->b = lmi_parse_expression(p);
	if (lmi_parse_skip(p, ':') && !lmi_parse_at(p, ']') && !lmi_parse_at(p, ','))
		s->c = lmi_parse_expression(p);
	return s;
}

static struct lmi_node *parse_item(struct lmi_parser *p, struct lmi_node *a)
{
	struct lmi_node *n = unary(p, LMI_N_ITEM, a), *keys = lmi_node_new(p, LMI_N_TUPLE);

	lmi_parse_next(p);
	while (!lmi_parse_at(p, ']') && p->st == LMD_OK) {
		if (keys->kids.n)
			lmi_parse_expect(p, ',');
		lmi_nodes_add(p, &keys->kids, parse_subscribed(p));
	}
	lmi_parse_expect(p, ']');
	n->b = keys->kids.n == 1 ? keys->kids.v[0] : keys;
	return n;
}

static struct lmi_node *parse_attribute(struct lmi_parser *p, struct lmi_node *a)
{
	struct lmi_node *n = unary(p, LMI_N_ATTR, a);

	lmi_parse_next(p);
	if (lmi_parse_at(p, LMI_TOK_INT)) {
		n->op = LMI_N_ITEM;
		n->b = constant(p, lmi_int(p->tok->u.i));
		lmi_parse_next(p);
	} else {
		n->name = lmi_parse_expect_name(p);
	}
	return n;
}

static void add_kwarg(struct lmi_parser *p, struct lmi_arg_nodes *args)
{
	struct lmi_named *kw;

	if (args->n_kw == LMI_PARSE_NAMES) {
		lmi_parse_fail(p, "there are more than %d named arguments", LMI_PARSE_NAMES);
		return;
	}
	/* Room is doubled at powers of two. */
	if (!(args->n_kw & (args->n_kw - 1))) {
		uint32_t cap = args->n_kw ? 2 * args->n_kw : 1;

		kw = lmi_arena_array(p->arena, cap, sizeof(*kw));
		if (!kw) {
			lmi_parse_no_memory(p);
			return;
		}
		if (args->n_kw)
			memcpy(kw, args->kw, args->n_kw * sizeof(*kw));
		args->kw = kw;
	}
	kw = &args->kw[args->n_kw];
	kw->name = lmi_parse_expect_name(p);
	for (uint32_t i = 0; i < args->n_kw; i++) {
		if (kw->name.len == args->kw[i].name.len &&
		    !memcmp(kw->name.ptr, args->kw[i].name.ptr, kw->name.len))
			lmi_parse_fail(p, "argument '%.*s' is given twice", (int)kw->name.len,
				       kw->name.ptr);
	}
	lmi_parse_expect(p, '=');
	kw->value = lmi_parse_expression(p);
	args->n_kw++;
}

static void parse_arg(struct lmi_parser *p, struct lmi_arg_nodes *args)
{
	const char *order = "an argument stands behind one that must be the last";

	if (lmi_parse_skip(p, '*')) {
		if (args->star || args->star_star)
			lmi_parse_fail(p, "%s", order);
		args->star = lmi_parse_expression(p);
	} else if (lmi_parse_skip(p, LMI_TOK_POW)) {
		if (args->star_star)
			lmi_parse_fail(p, "%s", order);
		args->star_star = lmi_parse_expression(p);
	} else if (lmi_parse_at(p, LMI_TOK_NAME) && p->tok[1].type == '=') {
		if (args->star_star)
			lmi_parse_fail(p, "%s", order);
		add_kwarg(p, args);
	} else {
		if (args->star || args->star_star || args->n_kw)
			lmi_parse_fail(p, "%s", order);
		lmi_nodes_add(p, &args->pos, lmi_parse_expression(p));
	}
}

static const struct lmi_arg_nodes *parse_args(struct lmi_parser *p)
{
	struct lmi_arg_nodes *args = lmi_arena_alloc(p->arena, sizeof(*args), 16);

	if (!args) {
		lmi_parse_no_memory(p);
		return NULL;
	}
	lmi_parse_expect(p, '(');
	while (!lmi_parse_at(p, ')') && p->st == LMD_OK) {
		parse_arg(p, args);
		if (!lmi_parse_skip(p, ','))
			break;
	}
	lmi_parse_expect(p, ')');
	return args;
}

static struct lmi_node *parse_call(struct lmi_parser *p, struct lmi_node *a)
{
	struct lmi_node *n = unary(p, LMI_N_CALL, a);

	n->args = parse_args(p);
	return n;
}

/* "a.b.c": names of filters and tests may have dots. */
static struct lmd_str parse_dotted(struct lmi_parser *p)
{
	struct lmd_str name = lmi_parse_expect_name(p);

	while (lmi_parse_at(p, '.') && p->st == LMD_OK) {
		struct lmd_str more;
		char *s;

		lmi_parse_next(p);
		more = lmi_parse_expect_name(p);
		s = lmi_arena_alloc(p->arena, name.len + more.len + 1, 1);
		if (!s) {
			lmi_parse_no_memory(p);
			break;
		}
		memcpy(s, name.ptr, name.len);
		s[name.len] = '.';
		memcpy(s + name.len + 1, more.ptr, more.len);
		name = (struct lmd_str){s, name.len + 1 + more.len};
	}
	return name;
}

struct lmi_node *lmi_parse_filters(struct lmi_parser *p, struct lmi_node *a, bool inline_start)
{
	while ((inline_start || lmi_parse_skip(p, '|')) && p->st == LMD_OK) {
		struct lmi_node *n = unary(p, LMI_N_FILTER, a);

		n->name = parse_dotted(p);
		n->f = lmi_filter_find(n->name.ptr, n->name.len);
		if (lmi_parse_at(p, '('))
			n->args = parse_args(p);
		a = n;
		inline_start = false;
	}
	return a;
}

static bool begins_argument(const struct lmi_parser *p)
{
	switch (p->tok->type) {
	case LMI_TOK_NAME:
		return !lmi_parse_at_name(p, "else") && !lmi_parse_at_name(p, "or") &&
		       !lmi_parse_at_name(p, "and");
	case LMI_TOK_STRING:
	case LMI_TOK_INT:
	case LMI_TOK_FLOAT:
	case '[':
	case '{':
		return true;
	default: /* any other token: all 256 values are possible */
		return false;
	}
}

static struct lmi_node *parse_postfix(struct lmi_parser *p, struct lmi_node *n);

static struct lmi_node *parse_test(struct lmi_parser *p, struct lmi_node *a)
{
	struct lmi_node *n = unary(p, LMI_N_TEST, a);
	struct lmi_arg_nodes *args;

	lmi_parse_next(p);
	n->sub = lmi_parse_skip_name(p, "not");
	n->name = parse_dotted(p);
	n->f = lmi_test_find(n->name.ptr, n->name.len);
	if (lmi_parse_at(p, '(')) {
		n->args = parse_args(p);
	} else if (begins_argument(p)) {
		if (lmi_parse_at_name(p, "is"))
			lmi_parse_fail(p, "tests cannot be chained with is");
		args = lmi_arena_alloc(p->arena, sizeof(*args), 16);
		if (!args) {
			lmi_parse_no_memory(p);
			return n;
		}
		lmi_nodes_add(p, &args->pos, parse_postfix(p, parse_primary(p)));
		n->args = args;
	}
	return n;
}

static struct lmi_node *parse_postfix(struct lmi_parser *p, struct lmi_node *n)
{
	while (p->st == LMD_OK) {
		if (lmi_parse_at(p, '.'))
			n = parse_attribute(p, n);
		else if (lmi_parse_at(p, '['))
			n = parse_item(p, n);
		else if (lmi_parse_at(p, '('))
			n = parse_call(p, n);
		else
			break;
	}
	return n;
}

static struct lmi_node *parse_filter_expr(struct lmi_parser *p, struct lmi_node *n)
{
	while (p->st == LMD_OK) {
		if (lmi_parse_at(p, '|'))
			n = lmi_parse_filters(p, n, false);
		else if (lmi_parse_at_name(p, "is"))
			n = parse_test(p, n);
		else if (lmi_parse_at(p, '('))
			n = parse_call(p, n);
		else
			break;
	}
	return n;
}

/* Operators */

static struct lmi_node *parse_unary(struct lmi_parser *p, bool with_filter)
{
	struct lmi_node *n;

	if (!lmi_parse_enter(p))
		return lmi_node_new(p, LMI_N_TUPLE);
	if (lmi_parse_skip(p, '-'))
		n = unary(p, LMI_N_NEG, parse_unary(p, false));
	else if (lmi_parse_skip(p, '+'))
		n = unary(p, LMI_N_POS, parse_unary(p, false));
	else
		n = parse_primary(p);
	n = parse_postfix(p, n);
	if (with_filter)
		n = parse_filter_expr(p, n);
	p->depth--;
	return n;
}

static struct lmi_node *binary(struct lmi_parser *p, int op, struct lmi_node *a, struct lmi_node *b)
{
	struct lmi_node *n = unary(p, LMI_N_BINARY, a);

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
			all = unary(p, LMI_N_COMPARE, n);
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
	n = unary(p, LMI_N_NOT, parse_not(p));
	p->depth--;
	return n;
}

static struct lmi_node *parse_and(struct lmi_parser *p)
{
	struct lmi_node *n = parse_not(p);

	while (lmi_parse_skip_name(p, "and")) {
		n = unary(p, LMI_N_AND, n);
		n->b = parse_not(p);
	}
	return n;
}

struct lmi_node *lmi_parse_plain(struct lmi_parser *p)
{
	struct lmi_node *n = parse_and(p);

	while (lmi_parse_skip_name(p, "or")) {
		n = unary(p, LMI_N_OR, n);
		n->b = parse_and(p);
	}
	return n;
}

static struct lmi_node *parse_if(struct lmi_parser *p)
{
	struct lmi_node *a = lmi_parse_plain(p);

	while (lmi_parse_skip_name(p, "if")) {
		struct lmi_node *n = unary(p, LMI_N_IF, a);

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
	return parse_tuple_of(p, plain ? lmi_parse_plain : lmi_parse_expression, false);
}

/* Targets */

static void check_target(struct lmi_parser *p, const struct lmi_node *n)
{
	if (n->op == LMI_N_TUPLE) {
		for (uint32_t i = 0; i < n->kids.n; i++)
			check_target(p, n->kids.v[i]);
	} else if (n->op != LMI_N_NAME) {
		lmi_parse_fail(p, "this cannot be assigned to");
	}
}

struct lmi_node *lmi_parse_target(struct lmi_parser *p, bool members)
{
	struct lmi_node *n;

	if (members && lmi_parse_at(p, LMI_TOK_NAME) && p->tok[1].type == '.') {
		n = lmi_node_new(p, LMI_N_MEMBER);
		n->name = lmi_parse_expect_name(p);
		lmi_parse_next(p);
		n->value = lmi_strn(p->tok->u.s, p->tok->n);
		(void)lmi_parse_expect_name(p); /* it is in value */
		return n;
	}
	n = parse_tuple_of(p, parse_primary, false);
	check_target(p, n);
	return n;
}
