/* SPDX-License-Identifier: MIT
 *
 * Tokens and nodes of the parsers. */
#include "core/jinja/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cancel.h"

static const struct lmi_jinja_token end_token = {.type = LMI_JINJA_TOK_END};

void lmi_jinja_parse_fail(struct lmi_jinja_parser *p, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	if (p->st != LMD_OK)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	p->st = lmd_fail(p->err, LMD_INVALID, "template line %u: %s", p->tok->line, what);
	p->tok = &end_token;
}

void lmi_jinja_parse_no_memory(struct lmi_jinja_parser *p)
{
	if (p->st == LMD_OK)
		p->st = lmd_fail(p->err, LMD_NOMEM,
				 "template line %u: the template takes too much memory",
				 p->tok->line);
	p->tok = &end_token;
}

bool lmi_jinja_parse_enter(struct lmi_jinja_parser *p)
{
	if (p->depth >= LMI_JINJA_PARSE_DEPTH)
		lmi_jinja_parse_fail(p, "nested deeper than %d levels", LMI_JINJA_PARSE_DEPTH);
	if (p->st != LMD_OK)
		return false;
	p->depth++;
	return true;
}

struct lmi_jinja_node *lmi_jinja_node_new(struct lmi_jinja_parser *p, enum lmi_jinja_op op)
{
	struct lmi_jinja_node *n = lmi_arena_alloc(p->arena, sizeof(*n), 16);

	if (p->st == LMD_OK && !lmi_cancel_step(8)) {
		p->st = lmd_fail(p->err, LMD_CANCELLED, "template line %u: cancelled", p->tok->line);
		p->tok = &end_token;
	}
	if (!n) {
		lmi_jinja_parse_no_memory(p);
		n = &p->spare;
	}
	n->op = (uint8_t)op;
	n->line = p->tok->line;
	return n;
}

void lmi_jinja_nodes_add(struct lmi_jinja_parser *p, struct lmi_jinja_nodes *l,
			 struct lmi_jinja_node *n)
{
	if (p->st != LMD_OK)
		return;
	if (!(l->n & (l->n - 1))) { /* capacity is doubled at powers of two */
		uint32_t cap = l->n ? 2 * l->n : 1;
		struct lmi_jinja_node **v = lmi_arena_array(p->arena, cap, sizeof(*v));

		if (!v) {
			lmi_jinja_parse_no_memory(p);
			return;
		}
		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
	}
	l->v[l->n++] = n;
}

struct lmi_jinja_node *lmi_jinja_node_unary(struct lmi_jinja_parser *p, enum lmi_jinja_op op,
					    struct lmi_jinja_node *a)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, op);

	n->a = a;
	return n;
}

struct lmi_jinja_node *lmi_jinja_node_const(struct lmi_jinja_parser *p, struct lmi_jinja_val v)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_CONST);

	n->value = v;
	return n;
}

/* Tokens */

bool lmi_jinja_parse_at(const struct lmi_jinja_parser *p, int type)
{
	return p->tok->type == type;
}

bool lmi_jinja_parse_at_name(const struct lmi_jinja_parser *p, const char *name)
{
	return lmi_jinja_parse_at(p, LMI_JINJA_TOK_NAME) && p->tok->n == strlen(name) &&
	       !memcmp(p->tok->u.s, name, p->tok->n);
}

void lmi_jinja_parse_next(struct lmi_jinja_parser *p)
{
	if (p->tok->type != LMI_JINJA_TOK_END)
		p->tok++;
}

bool lmi_jinja_parse_skip(struct lmi_jinja_parser *p, int type)
{
	bool there = lmi_jinja_parse_at(p, type);

	if (there)
		lmi_jinja_parse_next(p);
	return there;
}

bool lmi_jinja_parse_skip_name(struct lmi_jinja_parser *p, const char *name)
{
	bool there = lmi_jinja_parse_at_name(p, name);

	if (there)
		lmi_jinja_parse_next(p);
	return there;
}

/* Describes a token for an error message. */
static const char *describe(int type, char buf[8])
{
	switch (type) {
	case LMI_JINJA_TOK_END:
		return "the end of the template";
	case LMI_JINJA_TOK_DATA:
		return "text";
	case LMI_JINJA_TOK_VAR_BEGIN:
		return "'{{'";
	case LMI_JINJA_TOK_VAR_END:
		return "'}}'";
	case LMI_JINJA_TOK_BLOCK_BEGIN:
		return "'{%'";
	case LMI_JINJA_TOK_BLOCK_END:
		return "'%}'";
	case LMI_JINJA_TOK_NAME:
		return "a name";
	case LMI_JINJA_TOK_STRING:
		return "a string";
	case LMI_JINJA_TOK_INT:
	case LMI_JINJA_TOK_FLOAT:
		return "a number";
	default: /* operators */
		(void)snprintf(buf, 8, "'%c'", type < 128 ? type : '=');
		return buf;
	}
}

void lmi_jinja_parse_expect(struct lmi_jinja_parser *p, int type)
{
	char want[8], got[8];

	if (!lmi_jinja_parse_skip(p, type))
		lmi_jinja_parse_fail(p, "expected %s, got %s", describe(type, want),
				     describe(p->tok->type, got));
}

struct lmd_str lmi_jinja_parse_expect_name(struct lmi_jinja_parser *p)
{
	struct lmd_str s = {"", 0};

	if (lmi_jinja_parse_at(p, LMI_JINJA_TOK_NAME))
		s = (struct lmd_str){p->tok->u.s, p->tok->n};
	lmi_jinja_parse_expect(p, LMI_JINJA_TOK_NAME);
	return s;
}
