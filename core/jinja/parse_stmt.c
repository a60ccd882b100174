/* SPDX-License-Identifier: MIT
 *
 * Parses statements and whole templates. */
#include <string.h>

#include "core/jinja/parse.h"

static void parse_body(struct lmi_jinja_parser *p, struct lmi_jinja_nodes *out,
		       const char *const *ends);

static struct lmi_jinja_node *finish(struct lmi_jinja_parser *p, struct lmi_jinja_node *n,
				     const char *end)
{
	const char *const ends[] = {end, NULL};

	parse_body(p, &n->body, ends);
	lmi_jinja_parse_next(p);
	return n;
}

static struct lmi_jinja_node *parse_cond(struct lmi_jinja_parser *p)
{
	static const char *const ends[] = {"elif", "else", "endif", NULL};
	static const char *const last[] = {"endif", NULL};
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_COND);

	n->a = lmi_jinja_parse_tuple(p, true);
	parse_body(p, &n->body, ends);
	if (lmi_jinja_parse_skip_name(p, "elif")) {
		if (lmi_jinja_parse_enter(p)) {
			lmi_jinja_nodes_add(p, &n->else_body, parse_cond(p));
			p->depth--;
		}
	} else if (lmi_jinja_parse_skip_name(p, "else")) {
		parse_body(p, &n->else_body, last);
		lmi_jinja_parse_next(p);
	} else {
		lmi_jinja_parse_next(p);
	}
	return n;
}

static struct lmi_jinja_node *parse_for(struct lmi_jinja_parser *p)
{
	static const char *const ends[] = {"endfor", "else", NULL};
	static const char *const last[] = {"endfor", NULL};
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_FOR);

	n->a = lmi_jinja_parse_target(p, false);
	if (n->a->op == LMI_JINJA_N_NAME && n->a->name.len == 4 &&
	    !memcmp(n->a->name.ptr, "loop", 4))
		lmi_jinja_parse_fail(p, "cannot assign to the variable loop");
	if (!lmi_jinja_parse_skip_name(p, "in"))
		lmi_jinja_parse_fail(p, "expected 'in'");
	n->b = lmi_jinja_parse_tuple(p, true);
	if (lmi_jinja_parse_skip_name(p, "if"))
		n->c = lmi_jinja_parse_expression(p);
	n->sub = lmi_jinja_parse_skip_name(p, "recursive");
	p->loops++;
	parse_body(p, &n->body, ends);
	p->loops--;
	if (lmi_jinja_parse_skip_name(p, "else"))
		parse_body(p, &n->else_body, last);
	lmi_jinja_parse_next(p);
	return n;
}

static struct lmi_jinja_node *parse_set(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_SET);

	n->a = lmi_jinja_parse_target(p, true);
	if (lmi_jinja_parse_skip(p, '=')) {
		n->b = lmi_jinja_parse_tuple(p, false);
		return n;
	}
	n->op = LMI_JINJA_N_SET_BLOCK;
	n->b = lmi_jinja_parse_filters(p, NULL, false);
	finish(p, n, "endset");
	return n;
}

static struct lmi_jinja_node *parse_with(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_WITH);

	while (!lmi_jinja_parse_at(p, LMI_JINJA_TOK_BLOCK_END) && p->st == LMD_OK) {
		if (n->kids.n)
			lmi_jinja_parse_expect(p, ',');
		lmi_jinja_nodes_add(p, &n->kids, lmi_jinja_parse_target(p, false));
		lmi_jinja_parse_expect(p, '=');
		lmi_jinja_nodes_add(p, &n->kids, lmi_jinja_parse_expression(p));
	}
	finish(p, n, "endwith");
	return n;
}

/* Parses "(a, b=1)". */
static void parse_params(struct lmi_jinja_parser *p, struct lmi_jinja_params *out)
{
	struct lmi_jinja_named *v = NULL;
	uint32_t cap = 0;

	lmi_jinja_parse_expect(p, '(');
	while (!lmi_jinja_parse_at(p, ')') && p->st == LMD_OK) {
		if (out->n)
			lmi_jinja_parse_expect(p, ',');
		if (out->n == LMI_JINJA_PARSE_NAMES)
			lmi_jinja_parse_fail(p, "more than %d parameters", LMI_JINJA_PARSE_NAMES);
		if (out->n == cap) {
			cap = cap ? 2 * cap : 4;
			v = lmi_arena_array(p->arena, cap, sizeof(*v));
			if (!v) {
				lmi_jinja_parse_no_memory(p);
				return;
			}
			if (out->n)
				memcpy(v, out->v, out->n * sizeof(*v));
			out->v = v;
		}
		v[out->n].name = lmi_jinja_parse_expect_name(p);
		if (lmi_jinja_parse_skip(p, '='))
			v[out->n].value = lmi_jinja_parse_expression(p);
		else if (out->n && v[out->n - 1].value)
			lmi_jinja_parse_fail(
				p, "a parameter without a default follows one with a default");
		out->n++;
	}
	lmi_jinja_parse_expect(p, ')');
}

static struct lmi_jinja_params *new_params(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_params *m = lmi_arena_alloc(p->arena, sizeof(*m), 16);

	if (!m)
		lmi_jinja_parse_no_memory(p);
	return m;
}

/* Parses the parameters, the call of a call block, and the body.  The body is a function of its
 * own, so that enclosing loops are not its loops.  Special names that the body uses (such as
 * caller) are recorded; what an inner function uses counts as used by the outer one. */
static void parse_function(struct lmi_jinja_parser *p, struct lmi_jinja_node *n, const char *end)
{
	struct lmi_jinja_params *outer = p->macro;
	uint32_t loops = p->loops;

	p->macro = n->params;
	p->loops = 0;
	if (n->op == LMI_JINJA_N_MACRO || lmi_jinja_parse_at(p, '('))
		parse_params(p, n->params);
	if (n->op == LMI_JINJA_N_CALL_BLOCK) {
		p->macro = outer;
		n->a = lmi_jinja_parse_expression(p);
		if (n->a->op != LMI_JINJA_N_CALL)
			lmi_jinja_parse_fail(p, "expected a call");
		p->macro = n->params;
	}
	finish(p, n, end);
	p->macro = outer;
	p->loops = loops;
	if (outer) {
		outer->uses_varargs |= n->params->uses_varargs;
		outer->uses_kwargs |= n->params->uses_kwargs;
		outer->uses_caller |= n->params->uses_caller;
	}
}

static struct lmi_jinja_node *parse_macro(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_MACRO);

	n->name = lmi_jinja_parse_expect_name(p);
	n->params = new_params(p);
	if (n->params)
		parse_function(p, n, "endmacro");
	return n;
}

static struct lmi_jinja_node *parse_call_block(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_CALL_BLOCK);

	n->params = new_params(p);
	if (n->params)
		parse_function(p, n, "endcall");
	return n;
}

static struct lmi_jinja_node *parse_filter_block(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_FILTER_BLOCK);

	n->b = lmi_jinja_parse_filters(p, NULL, true);
	finish(p, n, "endfilter");
	return n;
}

/* Records a block's name; names must be unique. */
static void note_block(struct lmi_jinja_parser *p, struct lmd_str name)
{
	if (!p->block)
		p->block = lmi_arena_array(p->arena, LMI_JINJA_PARSE_NAMES, sizeof(*p->block));
	for (uint32_t i = 0; p->block && i < p->n_blocks; i++) {
		if (p->block[i].len == name.len && !memcmp(p->block[i].ptr, name.ptr, name.len))
			lmi_jinja_parse_fail(p, "block '%.*s' is defined twice", (int)name.len,
					     name.ptr);
	}
	if (!p->block)
		lmi_jinja_parse_no_memory(p);
	else if (p->n_blocks == LMI_JINJA_PARSE_NAMES)
		lmi_jinja_parse_fail(p, "more than %d blocks", LMI_JINJA_PARSE_NAMES);
	else
		p->block[p->n_blocks++] = name;
}

static struct lmi_jinja_node *parse_block(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_BLOCK);
	uint32_t loops = p->loops;

	n->name = lmi_jinja_parse_expect_name(p);
	note_block(p, n->name);
	n->sub = lmi_jinja_parse_skip_name(p, "scoped");
	(void)lmi_jinja_parse_skip_name(p, "required"); /* for templates that extend others */
	p->loops = 0;
	finish(p, n, "endblock");
	p->loops = loops;
	if (lmi_jinja_parse_at(p, LMI_JINJA_TOK_NAME))
		lmi_jinja_parse_next(p);
	return n;
}

/* Parses autoescape, which has an argument, or generation, which has none. */
static struct lmi_jinja_node *parse_scope(struct lmi_jinja_parser *p, bool autoescape)
{
	struct lmi_jinja_node *n =
		lmi_jinja_node_new(p, autoescape ? LMI_JINJA_N_AUTOESCAPE : LMI_JINJA_N_SCOPE);
	uint32_t loops = p->loops;

	if (autoescape)
		n->a = lmi_jinja_parse_expression(p);
	else
		p->loops = 0;
	finish(p, n, autoescape ? "endautoescape" : "endgeneration");
	p->loops = loops;
	return n;
}

static struct lmi_jinja_node *parse_loop_control(struct lmi_jinja_parser *p, enum lmi_jinja_op op)
{
	if (!p->loops)
		lmi_jinja_parse_fail(p, "break and continue are only allowed inside a loop");
	return lmi_jinja_node_new(p, op);
}

static struct lmi_jinja_node *parse_print(struct lmi_jinja_parser *p)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_OUTPUT);

	while (!lmi_jinja_parse_at(p, LMI_JINJA_TOK_BLOCK_END) && p->st == LMD_OK) {
		if (n->kids.n)
			lmi_jinja_parse_expect(p, ',');
		lmi_jinja_nodes_add(p, &n->kids, lmi_jinja_parse_expression(p));
	}
	return n;
}

/* Parses extends, include, import and from, which are errors only when they are executed. */
static struct lmi_jinja_node *parse_refused(struct lmi_jinja_parser *p, struct lmd_str name)
{
	struct lmi_jinja_node *n = lmi_jinja_node_new(p, LMI_JINJA_N_UNSUPPORTED);

	n->name = name;
	while (!lmi_jinja_parse_at(p, LMI_JINJA_TOK_BLOCK_END) &&
	       !lmi_jinja_parse_at(p, LMI_JINJA_TOK_END))
		lmi_jinja_parse_next(p);
	return n;
}

static struct lmi_jinja_node *parse_statement(struct lmi_jinja_parser *p)
{
	struct lmd_str name;

	if (lmi_jinja_parse_skip_name(p, "if"))
		return parse_cond(p);
	if (lmi_jinja_parse_skip_name(p, "for"))
		return parse_for(p);
	if (lmi_jinja_parse_skip_name(p, "set"))
		return parse_set(p);
	if (lmi_jinja_parse_skip_name(p, "macro"))
		return parse_macro(p);
	if (lmi_jinja_parse_skip_name(p, "call"))
		return parse_call_block(p);
	if (lmi_jinja_parse_skip_name(p, "filter"))
		return parse_filter_block(p);
	if (lmi_jinja_parse_skip_name(p, "with"))
		return parse_with(p);
	if (lmi_jinja_parse_skip_name(p, "print"))
		return parse_print(p);
	if (lmi_jinja_parse_skip_name(p, "break"))
		return parse_loop_control(p, LMI_JINJA_N_BREAK);
	if (lmi_jinja_parse_skip_name(p, "continue"))
		return parse_loop_control(p, LMI_JINJA_N_CONTINUE);
	if (lmi_jinja_parse_skip_name(p, "block"))
		return parse_block(p);
	if (lmi_jinja_parse_skip_name(p, "generation"))
		return parse_scope(p, false);
	if (lmi_jinja_parse_skip_name(p, "autoescape"))
		return parse_scope(p, true);
	name = lmi_jinja_parse_expect_name(p);
	if (name.len == strlen("extends") && !memcmp(name.ptr, "extends", name.len))
		return parse_refused(p, name);
	if (name.len == strlen("include") && !memcmp(name.ptr, "include", name.len))
		return parse_refused(p, name);
	if (name.len == strlen("import") && !memcmp(name.ptr, "import", name.len))
		return parse_refused(p, name);
	if (name.len == strlen("from") && !memcmp(name.ptr, "from", name.len))
		return parse_refused(p, name);
	lmi_jinja_parse_fail(p, "unknown or misplaced statement '%.*s'", (int)name.len, name.ptr);
	return lmi_jinja_node_new(p, LMI_JINJA_N_SCOPE);
}

static bool at_end(const struct lmi_jinja_parser *p, const char *const *ends)
{
	for (; *ends; ends++) {
		if (lmi_jinja_parse_at_name(p, *ends))
			return true;
	}
	return false;
}

static void expect_block_end(struct lmi_jinja_parser *p)
{
	lmi_jinja_parse_expect(p, LMI_JINJA_TOK_BLOCK_END);
}

/* Parses nodes up to "{% END", where END is not consumed; if ends is NULL, up to the end of the
 * template.  The "%}" of the enclosing statement has not been consumed yet. */
static void parse_body(struct lmi_jinja_parser *p, struct lmi_jinja_nodes *out,
		       const char *const *ends)
{
	struct lmi_jinja_node *n;

	if (ends) {
		(void)lmi_jinja_parse_skip(p, ':'); /* as in Python's "if x:" */
		expect_block_end(p);
	}
	if (!lmi_jinja_parse_enter(p))
		return;
	while (p->st == LMD_OK) {
		if (lmi_jinja_parse_at(p, LMI_JINJA_TOK_DATA)) {
			n = lmi_jinja_node_new(p, LMI_JINJA_N_DATA);
			n->value = lmi_jinja_strn(p->tok->u.s, p->tok->n);
			lmi_jinja_parse_next(p);
		} else if (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_VAR_BEGIN)) {
			n = lmi_jinja_node_new(p, LMI_JINJA_N_OUTPUT);
			lmi_jinja_nodes_add(p, &n->kids, lmi_jinja_parse_tuple(p, false));
			lmi_jinja_parse_expect(p, LMI_JINJA_TOK_VAR_END);
		} else if (lmi_jinja_parse_skip(p, LMI_JINJA_TOK_BLOCK_BEGIN)) {
			if (ends && at_end(p, ends))
				break;
			n = parse_statement(p);
			expect_block_end(p);
		} else {
			if (ends)
				lmi_jinja_parse_fail(p, "the template ends where '%s' was expected",
						     ends[0]);
			break;
		}
		lmi_jinja_nodes_add(p, out, n);
	}
	p->depth--;
}

enum lmd_status lmi_jinja_nodes(struct lmi_jinja *t, const char *text, size_t bytes,
				struct lmd_error *err)
{
	struct lmi_jinja_parser p = {.arena = t->arena, .err = err};
	struct lmi_jinja_token *tok;
	enum lmd_status st = lmi_jinja_lex(t->arena, text, bytes, &tok, err);

	if (st != LMD_OK)
		return st;
	p.tok = tok;
	parse_body(&p, &t->body, NULL);
	return p.st == LMD_OK ? lmi_jinja_check(&t->body, err) : p.st;
}
