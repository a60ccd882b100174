/* SPDX-License-Identifier: MIT
 *
 * Checks a parsed template recursively.  Chains such as a + b + c + ... are deep on their left side
 * although the parser did not recurse, so the depth is checked here once more. */
#include "core/jinja/ast.h"

#define DEPTH_MAX 800

struct check {
	struct lmd_error *err;
	enum lmd_status st;
	uint32_t depth;
};

static void check(struct check *c, const struct lmi_jinja_node *n, bool conditional);

static void check_all(struct check *c, const struct lmi_jinja_nodes *l, bool conditional)
{
	for (uint32_t i = 0; i < l->n; i++)
		check(c, l->v[i], conditional);
}

static void check_args(struct check *c, const struct lmi_jinja_node *n, bool conditional)
{
	if (n->args) {
		check_all(c, &n->args->pos, conditional);
		for (uint32_t i = 0; i < n->args->n_kw; i++)
			check(c, n->args->kw[i].value, conditional);
		check(c, n->args->star, conditional);
		check(c, n->args->star_star, conditional);
	}
	for (uint32_t i = 0; n->params && i < n->params->n; i++)
		check(c, n->params->v[i].value, false);
}

/* Whether the check of this statement's body starts anew: an `if` around the statement does not
 * make its body conditional. */
static bool ends_condition(enum lmi_jinja_op op)
{
	switch (op) {
	case LMI_JINJA_N_FOR:
	case LMI_JINJA_N_SET_BLOCK:
	case LMI_JINJA_N_WITH:
	case LMI_JINJA_N_MACRO:
	case LMI_JINJA_N_CALL_BLOCK:
	case LMI_JINJA_N_FILTER_BLOCK:
	case LMI_JINJA_N_BLOCK:
	case LMI_JINJA_N_SCOPE:
	case LMI_JINJA_N_AUTOESCAPE:
		return true;
	default: /* expressions, if, and statements without a body */
		return false;
	}
}

static void check(struct check *c, const struct lmi_jinja_node *n, bool conditional)
{
	bool inside = conditional;

	if (!n || c->st != LMD_OK)
		return;
	if (c->depth >= DEPTH_MAX) {
		c->st = lmd_fail(c->err, LMD_INVALID,
				 "template line %u: nested deeper than %d levels", n->line,
				 DEPTH_MAX);
		return;
	}
	if ((n->op == LMI_JINJA_N_FILTER || n->op == LMI_JINJA_N_TEST) && !n->f && !conditional) {
		c->st = lmd_fail(c->err, LMD_INVALID, "template line %u: unknown %s '%.*s'",
				 n->line, n->op == LMI_JINJA_N_FILTER ? "filter" : "test",
				 (int)n->name.len, n->name.ptr);
		return;
	}
	c->depth++;
	inside |= n->op == LMI_JINJA_N_IF || n->op == LMI_JINJA_N_COND;
	if (ends_condition((enum lmi_jinja_op)n->op))
		inside = false;
	check(c, n->a, inside);
	check(c, n->b, inside);
	check(c, n->c, inside);
	check_all(c, &n->kids, inside);
	check_args(c, n, inside);
	check_all(c, &n->body, inside);
	check_all(c, &n->else_body, inside);
	c->depth--;
}

enum lmd_status lmi_jinja_check(const struct lmi_jinja_nodes *body, struct lmd_error *err)
{
	struct check c = {.err = err};

	check_all(&c, body, false);
	return c.st;
}
