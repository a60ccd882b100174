/* SPDX-License-Identifier: MIT
 *
 * GBNF parser: rules "name ::= ...", each up to the end of its line, or longer inside parentheses.
 * Open groups are kept on a heap-allocated stack, so that nesting does not use the C stack. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/grammar/expr.h"

/* Bytes of blanks and comments that take as long as a step. */
#define BYTES_PER_STEP 4

struct level {
	struct lmi_grammar_expr *alt, *seq;
};

struct parser {
	struct lmi_grammar_builder b;
	const char *s;
	size_t n, at;
	struct lmi_strmap names;
	const struct lmi_grammar_vocab *vocab;
	struct level *level; /* open groups; [0] is the rule */
	uint32_t depth, cap;
};

static uint32_t line_of(const struct parser *p)
{
	uint32_t line = 1;

	for (size_t i = 0; i < p->at && i < p->n; i++)
		line += p->s[i] == '\n';
	return line;
}

static void fail(struct parser *p, const char *what)
{
	lmi_grammar_builder_fail(&p->b, LMD_INVALID, "grammar line %u: %s", line_of(p), what);
}

static bool failed(const struct parser *p)
{
	return p->b.st != LMD_OK;
}

static char peek(const struct parser *p, size_t ahead)
{
	return p->at + ahead < p->n ? p->s[p->at + ahead] : '\0';
}

static bool skip(struct parser *p, char c)
{
	if (p->at >= p->n || p->s[p->at] != c)
		return false;
	p->at++;
	return true;
}

/* Skips blanks and comments, and also line ends where a rule may continue. */
static void skip_blanks(struct parser *p, bool lines)
{
	for (; p->at < p->n; p->at++) {
		char c = p->s[p->at];

		if (c == '#') {
			while (p->at < p->n && p->s[p->at] != '\n' && p->s[p->at] != '\r')
				p->at++;
			if (p->at == p->n)
				return;
			c = p->s[p->at];
		}
		if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r')))
			return;
	}
}

static void skip_space(struct parser *p, bool lines)
{
	size_t from = p->at;

	skip_blanks(p, lines);
	lmi_grammar_builder_step(&p->b, (p->at - from) / BYTES_PER_STEP);
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Returns the number of the rule named here, which may be new. */
static uint32_t parse_name(struct parser *p)
{
	size_t from = p->at;
	uint32_t rule;
	char *name;

	while (name_char(peek(p, 0)))
		p->at++;
	if (p->at == from) {
		fail(p, "expected a rule name");
		return 0;
	}
	name = lmi_arena_strndup(p->b.arena, p->s + from, p->at - from);
	if (!name) {
		lmi_grammar_builder_no_memory(&p->b);
		return 0;
	}
	if (lmi_strmap_find(&p->names, name, &rule))
		return rule;
	rule = lmi_grammar_builder_add_rule(&p->b, name);
	if (!failed(p))
		(void)lmi_strmap_add(&p->names, name, rule); /* cannot be a duplicate */
	return rule;
}

/* Characters */

static uint32_t parse_hex(struct parser *p, int digits)
{
	uint32_t c = 0;

	for (int i = 0; i < digits; i++, p->at++) {
		unsigned char d = (unsigned char)peek(p, 0);

		if (!isxdigit(d)) {
			fail(p, "expected a hexadecimal digit");
			return 0;
		}
		c = c * 16 + (uint32_t)(isdigit(d) ? d - '0' : tolower(d) - 'a' + 10);
	}
	if (c > 0x10ffff)
		fail(p, "the character is beyond U+10FFFF");
	return c;
}

static uint32_t parse_escape(struct parser *p)
{
	char c = peek(p, 1);

	p->at += 2;
	switch (c) {
	case 'x':
		return parse_hex(p, 2);
	case 'u':
		return parse_hex(p, 4);
	case 'U':
		return parse_hex(p, 8);
	case 't':
		return '\t';
	case 'r':
		return '\r';
	case 'n':
		return '\n';
	case '\\':
	case '"':
	case '[':
	case ']':
	case '-':
	case '^':
		return (unsigned char)c;
	default: /* any other byte */
		fail(p, "unknown escape sequence");
		return 0;
	}
}

/* Reads one character of a string or a class. */
static uint32_t parse_char(struct parser *p)
{
	uint32_t c;

	if (peek(p, 0) == '\\')
		return parse_escape(p);
	c = p->at < p->n ? lmi_utf8_next(p->s, p->n, &p->at) : 0;
	if (!c)
		fail(p, "unexpected end of the grammar inside a string or a class");
	else if (c >= LMI_GRAMMAR_CHAR_END)
		fail(p, "invalid UTF-8");
	return c;
}

static struct lmi_grammar_expr *parse_text(struct parser *p)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(&p->b, LMI_GR_EXPR_TEXT);

	p->at++;
	while (!failed(p) && !skip(p, '"'))
		lmi_grammar_expr_add_char(&p->b, e, parse_char(p));
	return e;
}

static struct lmi_grammar_expr *parse_class(struct parser *p)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(&p->b, LMI_GR_EXPR_CLASS);
	bool negate;

	p->at++;
	negate = skip(p, '^');
	while (!failed(p) && !skip(p, ']')) {
		uint32_t lo = parse_char(p), hi = lo;

		if (peek(p, 0) == '-' && peek(p, 1) != ']') {
			p->at++;
			hi = parse_char(p);
		}
		lmi_grammar_expr_add_range(&p->b, e, lo, hi);
	}
	if (!failed(p))
		lmi_grammar_expr_class_finish(&p->b, e, negate);
	return e;
}

/* Parses <text> or <[id]>; a leading ! means any other token. */
static struct lmi_grammar_expr *parse_token(struct parser *p)
{
	bool negate = skip(p, '!');
	struct lmi_grammar_expr *e =
		lmi_grammar_expr_new(&p->b, negate ? LMI_GR_EXPR_NOT_TOKEN : LMI_GR_EXPR_TOKEN);
	size_t from = p->at;
	int64_t id = 0;

	if (!skip(p, '<')) {
		fail(p, "expected a token such as <[5]> or <text>");
		return e;
	}
	if (skip(p, '[')) {
		if (!isdigit((unsigned char)peek(p, 0)))
			fail(p, "expected a token number");
		for (; isdigit((unsigned char)peek(p, 0)); p->at++)
			id = id > INT32_MAX ? id : id * 10 + peek(p, 0) - '0';
		if (!skip(p, ']') || !skip(p, '>'))
			fail(p, "expected ']>' after the token number");
	} else {
		while (peek(p, 0) && peek(p, 0) != '>' && peek(p, 0) != '\n')
			p->at++;
		if (!skip(p, '>'))
			fail(p, "expected '>' after the token text");
		else
			id = p->vocab ? lmi_gr_vocab_find(p->vocab, p->s + from, p->at - from) : -1;
		if (id < 0)
			fail(p, "the text between < and > is not one token of the vocabulary");
	}
	if (e)
		e->number = id;
	return e;
}

/* Repetition counts */

static uint32_t parse_count(struct parser *p)
{
	uint32_t n = 0;

	if (!isdigit((unsigned char)peek(p, 0)))
		fail(p, "expected a repetition count");
	for (; isdigit((unsigned char)peek(p, 0)); p->at++)
		n = n > LMI_GRAMMAR_COUNT_MAX ? n : n * 10 + (uint32_t)(peek(p, 0) - '0');
	return n;
}

/* "{m}", "{m,}", "{m,n}" */
static void parse_counts(struct parser *p, uint32_t *min, uint32_t *max)
{
	bool lines = p->depth > 1;

	p->at++;
	skip_space(p, lines);
	*min = *max = parse_count(p);
	skip_space(p, lines);
	if (skip(p, ',')) {
		skip_space(p, lines);
		*max = peek(p, 0) == '}' ? UINT32_MAX : parse_count(p);
		skip_space(p, lines);
	}
	if (!skip(p, '}'))
		fail(p, "expected '}' after the repetition count");
	else if (*min > LMI_GRAMMAR_COUNT_MAX)
		fail(p, "the minimum repetition count is above 2000");
	else if (*max < *min)
		fail(p, "the maximum repetition count is below the minimum");
	if (*max > LMI_GRAMMAR_COUNT_MAX)
		*max = UINT32_MAX;
}

static void parse_repeat(struct parser *p)
{
	struct lmi_grammar_expr *seq = p->level[p->depth - 1].seq;
	uint32_t min = 0, max = UINT32_MAX;

	if (!seq->n) {
		fail(p, "nothing to repeat");
		return;
	}
	switch (peek(p, 0)) {
	case '*':
		p->at++;
		break;
	case '+':
		p->at++;
		min = 1;
		break;
	case '?':
		p->at++;
		max = 1;
		break;
	default: /* '{': the caller has checked for * + ? { */
		parse_counts(p, &min, &max);
	}
	seq->u.kids[seq->n - 1] = lmi_grammar_expr_repeat(&p->b, seq->u.kids[seq->n - 1], min, max);
	if (!failed(p) && seq->u.kids[seq->n - 1]->depth >= seq->depth)
		seq->depth = seq->u.kids[seq->n - 1]->depth + 1;
}

/* Rules */

static void open_level(struct parser *p)
{
	if (p->depth == p->cap) {
		uint32_t cap = p->cap ? 2 * p->cap : 16;
		struct level *l = lmi_realloc(p->level, cap, sizeof(*l));

		if (!l) {
			lmi_grammar_builder_no_memory(&p->b);
			return;
		}
		p->level = l;
		p->cap = cap;
	}
	p->level[p->depth++] = (struct level){lmi_grammar_expr_new(&p->b, LMI_GR_EXPR_ALT),
					      lmi_grammar_expr_new(&p->b, LMI_GR_EXPR_SEQ)};
}

static void next_alternative(struct parser *p)
{
	struct level *l = &p->level[p->depth - 1];

	lmi_grammar_expr_append(&p->b, l->alt, lmi_grammar_expr_unwrap(l->seq));
	l->seq = lmi_grammar_expr_new(&p->b, LMI_GR_EXPR_SEQ);
}

/* Closes the innermost level and returns its expression. */
static struct lmi_grammar_expr *close_level(struct parser *p)
{
	next_alternative(p);
	return lmi_grammar_expr_unwrap(p->level[--p->depth].alt);
}

/* Parses one element of a sequence; returns false at the end of the rule. */
static bool parse_element(struct parser *p)
{
	struct lmi_grammar_expr *e = NULL;
	char c = peek(p, 0);

	switch (c) {
	case '"':
		e = parse_text(p);
		break;
	case '[':
		e = parse_class(p);
		break;
	case '<':
	case '!':
		e = parse_token(p);
		break;
	case '.':
		p->at++;
		e = lmi_grammar_expr_range(&p->b, 1, LMI_GRAMMAR_CHAR_END - 1);
		break;
	case '(':
		p->at++;
		open_level(p);
		skip_space(p, true);
		return true;
	case ')':
		if (p->depth == 1)
			return false;
		p->at++;
		e = close_level(p);
		break;
	case '|':
		p->at++;
		next_alternative(p);
		skip_space(p, true);
		return true;
	case '*':
	case '+':
	case '?':
	case '{':
		parse_repeat(p);
		skip_space(p, p->depth > 1);
		return true;
	default: /* any other byte */
		if (!name_char(c))
			return false;
		e = lmi_grammar_expr_rule(&p->b, parse_name(p));
	}
	lmi_grammar_expr_append(&p->b, p->level[p->depth - 1].seq, e);
	skip_space(p, p->depth > 1);
	return true;
}

static void parse_rule(struct parser *p)
{
	uint32_t rule = parse_name(p);

	skip_space(p, false);
	if (!failed(p) && (p->n - p->at < 3 || memcmp(p->s + p->at, "::=", 3)))
		fail(p, "expected '::=' after the rule name");
	if (failed(p))
		return;
	p->at += 3;
	skip_space(p, true);
	open_level(p);
	while (!failed(p) && parse_element(p))
		;
	if (failed(p))
		return;
	if (p->depth > 1) {
		fail(p, "expected ')'");
		return;
	}
	if (p->at < p->n && p->s[p->at] != '\n' && p->s[p->at] != '\r') {
		fail(p, "unexpected text at the end of the line of a rule");
		return;
	}
	p->b.rule[rule] = close_level(p); /* the last definition wins */
}

static void parse_all(struct parser *p)
{
	uint32_t n_names =
		p->n / 2 < LMI_GRAMMAR_RULES_MAX ? (uint32_t)(p->n / 2) + 1 : LMI_GRAMMAR_RULES_MAX;

	if (!lmi_strmap_init(&p->names, p->b.arena, n_names)) {
		lmi_grammar_builder_fail(&p->b, LMD_NOMEM, "grammar: out of memory");
		return;
	}
	skip_space(p, true);
	do {
		parse_rule(p);
		skip_space(p, true);
	} while (!failed(p) && p->at < p->n);
}

enum lmd_status lmi_grammar_from_gbnf(struct lmi_grammar **out, const char *text, size_t bytes,
				      const struct lmi_grammar_vocab *vocab, struct lmd_error *err)
{
	struct parser p = {.s = text, .n = bytes, .vocab = vocab};
	uint32_t root = UINT32_MAX;
	enum lmd_status st;

	if (bytes > LMI_GRAMMAR_BYTES_MAX)
		return lmd_fail(err, LMD_INVALID, "grammar: %zu bytes long, at most %u are allowed",
				bytes, LMI_GRAMMAR_BYTES_MAX);
	st = lmi_grammar_builder_init(&p.b, err);
	if (st != LMD_OK)
		return st;
	if (bytes) {
		parse_all(&p);
		if (!failed(&p) && (!lmi_strmap_find(&p.names, "root", &root) || !p.b.rule[root]))
			lmi_grammar_builder_fail(&p.b, LMD_INVALID,
						 "grammar: the rule 'root' is missing");
	}
	st = failed(&p) ? p.b.st : lmi_grammar_builder_compile(&p.b, root, out);
	lmi_free(p.level);
	lmi_grammar_builder_fini(&p.b);
	return st;
}
