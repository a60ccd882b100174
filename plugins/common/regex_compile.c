/* SPDX-License-Identifier: MIT
 *
 * Compiles the tree of an expression to a program, and determines for each first byte which
 * alternatives can match. */
#include "common/regex_program.h"

struct compiler {
	struct tok_rx_tree tree;
	struct tok_buf code;
	uint32_t n_code;
};

static struct tok_rx_insn *insn(struct compiler *c, uint32_t i)
{
	return (struct tok_rx_insn *)c->code.p + i;
}

static uint32_t fail(struct compiler *c, enum lmd_status st, const char *what)
{
	if (c->tree.st == LMD_OK)
		c->tree.st = lmd_fail(c->tree.err, st, "regular expression: %s", what);
	return 0;
}

static uint32_t emit(struct compiler *c, enum tok_rx_op op, uint32_t a, uint32_t b)
{
	if (c->tree.st != LMD_OK)
		return 0;
	if (c->n_code == TOK_RX_MAX_CODE)
		return fail(c, LMD_UNSUPPORTED, "longer than 8192 instructions");
	if (!tok_buf_reserve(&c->code, c->tree.host, (c->n_code + 1) * sizeof(struct tok_rx_insn)))
		return fail(c, LMD_NOMEM, "no memory");
	*insn(c, c->n_code) = (struct tok_rx_insn){.op = (uint8_t)op, .a = a, .b = b};
	return c->n_code++;
}

/* What a match of a node may start with. */
struct first {
	uint64_t ascii[2];
	bool other;    /* a character above U+007F */
	bool nullable; /* it may match nothing */
};

static struct first first_of(const struct compiler *c, uint32_t i)
{
	const struct tok_rx_node *n = tok_rx_node(&c->tree, i);
	struct first f = {{0, 0}, false, false}, g;
	const struct tok_rx_set *s;

	switch ((enum tok_rx_node_type)n->type) {
	case TOK_RX_EMPTY:
	case TOK_RX_LOOK:
	case TOK_RX_ASSERT:
		f.nullable = true;
		return f;
	case TOK_RX_SET:
		s = tok_rx_set(&c->tree, n->a);
		f.ascii[0] = s->ascii[0];
		f.ascii[1] = s->ascii[1];
		f.other = !s->simple || s->mask;
		return f;
	case TOK_RX_CAT:
		f.nullable = true;
		for (uint32_t k = n->a; k != TOK_RX_INF && f.nullable;
		     k = tok_rx_node(&c->tree, k)->next) {
			g = first_of(c, k);
			f.ascii[0] |= g.ascii[0];
			f.ascii[1] |= g.ascii[1];
			f.other |= g.other;
			f.nullable = g.nullable;
		}
		return f;
	case TOK_RX_ALT:
		for (uint32_t k = n->a; k != TOK_RX_INF; k = tok_rx_node(&c->tree, k)->next) {
			g = first_of(c, k);
			f.ascii[0] |= g.ascii[0];
			f.ascii[1] |= g.ascii[1];
			f.other |= g.other;
			f.nullable |= g.nullable;
		}
		return f;
	case TOK_RX_REP:
		f = first_of(c, n->a);
		f.nullable |= !n->min;
		return f;
	case TOK_RX_ATOMIC:
		return first_of(c, n->a);
	}
	return f;
}

static void emit_node(struct compiler *c, uint32_t i);

static void emit_rep(struct compiler *c, const struct tok_rx_node *n)
{
	const struct tok_rx_node *child = tok_rx_node(&c->tree, n->a);
	uint32_t at, atomic = 0;

	if (child->type == TOK_RX_SET && n->mode != TOK_RX_LAZY) {
		at = emit(c, TOK_OP_REP, child->a, 0);
		if (c->tree.st == LMD_OK) {
			insn(c, at)->mode = n->mode;
			insn(c, at)->min = n->min;
			insn(c, at)->max = n->max;
		}
		return;
	}
	if (n->max == TOK_RX_INF && first_of(c, n->a).nullable) {
		fail(c, LMD_UNSUPPORTED, "unbounded repetition of an empty match");
		return;
	}
	if (n->mode == TOK_RX_POSSESSIVE)
		atomic = emit(c, TOK_OP_ATOMIC, 0, 0);
	for (uint32_t k = 0; k < n->min && c->tree.st == LMD_OK; k++)
		emit_node(c, n->a);
	if (n->max == TOK_RX_INF) {
		at = emit(c, TOK_OP_SPLIT, 0, 0);
		emit_node(c, n->a);
		emit(c, TOK_OP_JMP, at, 0);
		if (c->tree.st == LMD_OK) {
			insn(c, at)->a = n->mode == TOK_RX_LAZY ? c->n_code : at + 1;
			insn(c, at)->b = n->mode == TOK_RX_LAZY ? at + 1 : c->n_code;
		}
	} else {
		uint32_t chain = TOK_RX_INF; /* splits that exit to the end, linked through b */

		for (uint32_t k = n->min; k < n->max && c->tree.st == LMD_OK; k++) {
			at = emit(c, TOK_OP_SPLIT, 0, chain);
			chain = at;
			emit_node(c, n->a);
		}
		while (c->tree.st == LMD_OK && chain != TOK_RX_INF) {
			at = chain;
			chain = insn(c, at)->b;
			insn(c, at)->a = n->mode == TOK_RX_LAZY ? c->n_code : at + 1;
			insn(c, at)->b = n->mode == TOK_RX_LAZY ? at + 1 : c->n_code;
		}
	}
	if (n->mode == TOK_RX_POSSESSIVE) {
		emit(c, TOK_OP_MATCH, 0, 0);
		if (c->tree.st == LMD_OK)
			insn(c, atomic)->a = c->n_code;
	}
}

static void emit_sub(struct compiler *c, enum tok_rx_op op, const struct tok_rx_node *n)
{
	uint8_t mode = n->mode;
	uint32_t body = n->a, at = emit(c, op, 0, 0);

	emit_node(c, body);
	emit(c, TOK_OP_MATCH, 0, 0);
	if (c->tree.st == LMD_OK) {
		insn(c, at)->mode = mode;
		insn(c, at)->a = c->n_code;
	}
}

static void emit_alt(struct compiler *c, uint32_t first)
{
	uint32_t chain = TOK_RX_INF, next;

	for (uint32_t k = first; k != TOK_RX_INF && c->tree.st == LMD_OK; k = next) {
		uint32_t split = 0;

		next = tok_rx_node(&c->tree, k)->next;
		if (next != TOK_RX_INF)
			split = emit(c, TOK_OP_SPLIT, 0, 0);
		emit_node(c, k);
		if (next == TOK_RX_INF)
			break;
		chain = emit(c, TOK_OP_JMP, chain, 0);
		if (c->tree.st == LMD_OK) {
			insn(c, split)->a = split + 1;
			insn(c, split)->b = c->n_code;
		}
	}
	while (c->tree.st == LMD_OK && chain != TOK_RX_INF) {
		next = insn(c, chain)->a;
		insn(c, chain)->a = c->n_code;
		chain = next;
	}
}

static void emit_node(struct compiler *c, uint32_t i)
{
	const struct tok_rx_node *n = tok_rx_node(&c->tree, i);
	uint32_t at;

	if (c->tree.st != LMD_OK)
		return;
	switch ((enum tok_rx_node_type)n->type) {
	case TOK_RX_EMPTY:
		return;
	case TOK_RX_SET:
		emit(c, TOK_OP_SET, n->a, 0);
		return;
	case TOK_RX_CAT:
		for (uint32_t k = n->a; k != TOK_RX_INF; k = tok_rx_node(&c->tree, k)->next)
			emit_node(c, k);
		return;
	case TOK_RX_ALT:
		emit_alt(c, n->a);
		return;
	case TOK_RX_REP:
		emit_rep(c, n);
		return;
	case TOK_RX_LOOK:
		if (n->mode & 2) {
			at = emit(c, TOK_OP_LOOKBEHIND, tok_rx_node(&c->tree, n->a)->a, 0);
			if (c->tree.st == LMD_OK)
				insn(c, at)->mode = n->mode & 1;
			return;
		}
		emit_sub(c, TOK_OP_LOOKAHEAD, n);
		return;
	case TOK_RX_ATOMIC:
		emit_sub(c, TOK_OP_ATOMIC, n);
		return;
	case TOK_RX_ASSERT:
		emit(c, TOK_OP_ASSERT, n->a, 0);
		return;
	}
}

static bool is_space_set(const struct tok_rx_set *s)
{
	return s->simple && s->mask == TOK_UCD_SPACE && s->ascii[0] == (1ull << ' ' | 0x3e00ull) &&
	       !s->ascii[1];
}

static bool is_line_set(const struct tok_rx_set *s)
{
	return s->simple && !s->mask && s->ascii[0] == (1ull << '\r' | 1ull << '\n') &&
	       !s->ascii[1];
}

/* Returns true if the alternative is exactly \s*[\r\n] or \s*[\r\n]+. Both end after the last line
 * end of the white space; a dedicated operation can cache that there is none. */
static bool is_lines(const struct compiler *c, uint32_t i)
{
	const struct tok_rx_tree *t = &c->tree;
	const struct tok_rx_node *n = tok_rx_node(t, i), *space, *line;

	if (n->type != TOK_RX_CAT)
		return false;
	space = tok_rx_node(t, n->a);
	if (space->type != TOK_RX_REP || space->min || space->max != TOK_RX_INF ||
	    space->mode != TOK_RX_GREEDY || tok_rx_node(t, space->a)->type != TOK_RX_SET ||
	    !is_space_set(tok_rx_set(t, tok_rx_node(t, space->a)->a)) || space->next == TOK_RX_INF)
		return false;
	line = tok_rx_node(t, space->next);
	if (line->next != TOK_RX_INF)
		return false;
	if (line->type == TOK_RX_REP && line->min == 1 && line->max == TOK_RX_INF &&
	    line->mode == TOK_RX_GREEDY)
		line = tok_rx_node(t, line->a);
	return line->type == TOK_RX_SET && is_line_set(tok_rx_set(t, line->a));
}

/* Emits one top-level alternative of the expression. */
static void emit_top(struct compiler *c, struct tok_regex *rx, uint32_t i)
{
	struct first f;
	uint32_t bit = 1u << rx->n_alt;

	rx->alt[rx->n_alt++] = c->n_code;
	if (is_lines(c, i))
		emit(c, TOK_OP_LINES, 0, 0);
	else
		emit_node(c, i);
	emit(c, TOK_OP_MATCH, 0, 0);
	if (c->tree.st != LMD_OK)
		return;
	f = first_of(c, i);
	for (uint32_t b = 0; b < 128; b++)
		if (f.nullable || (f.ascii[b >> 6] >> (b & 63) & 1))
			rx->start[b] |= bit;
	if (f.nullable || f.other)
		rx->start[128] |= bit;
	if (f.nullable)
		rx->nullable |= bit;
}

/* A greedy loop directly before MATCH never has to backtrack. */
static void make_final_loops_possessive(struct compiler *c)
{
	for (uint32_t i = 0; i + 1 < c->n_code; i++)
		if (insn(c, i)->op == TOK_OP_REP && insn(c, i + 1)->op == TOK_OP_MATCH)
			insn(c, i)->mode = TOK_RX_POSSESSIVE;
}

static enum lmd_status finish(struct tok_regex *rx, struct compiler *c)
{
	rx->set = c->tree.sets.p;
	rx->range = c->tree.ranges.p;
	rx->code = c->code.p;
	rx->n_set = c->tree.n_set;
	rx->n_range = c->tree.n_range;
	rx->n_code = c->n_code;
	rx->word = c->tree.word;
	tok_buf_fini(&c->tree.nodes, rx->host);
	return LMD_OK;
}

enum lmd_status tok_regex_compile(struct tok_regex **out, const struct lmd_host *host,
				  const char *pattern, size_t bytes, uint32_t flags,
				  struct lmd_error *err)
{
	struct compiler c = {.tree = {.host = host, .err = err}};
	struct tok_regex *rx = tok_host_array(host, 1, sizeof(*rx));
	uint32_t root, n = 0;

	if (!rx)
		return lmd_fail(err, LMD_NOMEM, "regular expression: no memory");
	rx->host = host;
	root = tok_rx_parse(&c.tree, pattern, bytes, flags);
	if (c.tree.st == LMD_OK) {
		tok_rx_fold_sets(&c.tree);
		if (tok_rx_node(&c.tree, root)->type == TOK_RX_ALT)
			for (uint32_t k = tok_rx_node(&c.tree, root)->a; k != TOK_RX_INF;
			     k = tok_rx_node(&c.tree, k)->next)
				n++;
		if (!n || n > TOK_RX_MAX_ALT)
			emit_top(&c, rx, root);
		else
			for (uint32_t k = tok_rx_node(&c.tree, root)->a;
			     k != TOK_RX_INF && c.tree.st == LMD_OK;
			     k = tok_rx_node(&c.tree, k)->next)
				emit_top(&c, rx, k);
	}
	if (c.tree.st == LMD_OK) {
		make_final_loops_possessive(&c);
		*out = rx;
		return finish(rx, &c);
	}
	tok_buf_fini(&c.tree.nodes, host);
	tok_buf_fini(&c.tree.sets, host);
	tok_buf_fini(&c.tree.ranges, host);
	tok_buf_fini(&c.code, host);
	tok_host_free(host, rx);
	return c.tree.st;
}

void tok_regex_free(struct tok_regex *rx)
{
	const struct lmd_host *host;

	if (!rx)
		return;
	host = rx->host;
	tok_host_free(host, rx->set);
	tok_host_free(host, rx->range);
	tok_host_free(host, rx->code);
	tok_host_free(host, rx);
}
