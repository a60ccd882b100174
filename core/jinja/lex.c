/* SPDX-License-Identifier: MIT
 *
 * The lexer works on two levels: between tags it searches for the next "{{", "{%" or "{#"; inside a
 * tag it splits names, numbers, strings and operators until the tag ends.  An end marker inside
 * open brackets does not count, so that {{ {'a': {}} }} works. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cancel.h"
#include "core/base/utf8.h"
#include "core/jinja/lexer.h"
#include "core/unicode/unicode.h"

void lmi_jinja_lex_fail(struct lmi_jinja_lexer *x, const char *what)
{
	if (x->st == LMD_OK)
		x->st = lmd_fail(x->err, LMD_INVALID, "template line %u: %s", x->line, what);
}

void lmi_jinja_lex_no_memory(struct lmi_jinja_lexer *x)
{
	if (x->st == LMD_OK)
		x->st = lmd_fail(x->err, LMD_NOMEM,
				 "template line %u: the template takes too much memory", x->line);
}

struct lmi_jinja_token *lmi_jinja_lex_add(struct lmi_jinja_lexer *x, int type)
{
	if (x->n_tok == x->cap_tok) {
		size_t cap = x->cap_tok ? 2 * x->cap_tok : 64;
		struct lmi_jinja_token *p = lmi_arena_array(x->arena, cap, sizeof(*p));

		if (!p) {
			lmi_jinja_lex_no_memory(x);
			return NULL;
		}
		if (x->n_tok)
			memcpy(p, x->tok, x->n_tok * sizeof(*p));
		x->tok = p;
		x->cap_tok = cap;
	}
	x->tok[x->n_tok] = (struct lmi_jinja_token){.type = (uint8_t)type, .line = x->line};
	return &x->tok[x->n_tok++];
}

void lmi_jinja_lex_add_text(struct lmi_jinja_lexer *x, int type, const char *s, size_t n)
{
	struct lmi_jinja_token *t = lmi_jinja_lex_add(x, type);

	if (t) {
		t->u.s = s;
		t->n = (uint32_t)n;
	}
}

void lmi_jinja_lex_advance(struct lmi_jinja_lexer *x, size_t to)
{
	if (to > x->at && x->st == LMD_OK && !lmi_cancel_step(to - x->at))
		x->st = lmd_fail(x->err, LMD_CANCELLED, "template line %u: cancelled", x->line);
	for (; x->at < to; x->at++)
		x->line += x->s[x->at] == '\n';
}

bool lmi_jinja_lex_at(const struct lmi_jinja_lexer *x, size_t at, const char *word)
{
	size_t n = strlen(word);

	return x->n - at >= n && !memcmp(x->s + at, word, n);
}

uint32_t lmi_jinja_lex_hex(const char *s, size_t n, bool *ok)
{
	uint32_t v = 0;

	for (size_t i = 0; i < n; i++) {
		*ok = *ok && isxdigit((unsigned char)s[i]);
		v = v * 16 + (uint32_t)(isdigit((unsigned char)s[i])
						? s[i] - '0'
						: tolower((unsigned char)s[i]) - 'a' + 10);
	}
	return v;
}

static size_t skip_space(const struct lmi_jinja_lexer *x, size_t at)
{
	for (size_t next = at; next < x->n; at = next) {
		if (!lmi_unicode_space(lmi_unicode_next(x->s, x->n, &next)))
			break;
	}
	return at;
}

/* Adds the data from..to before a tag.  '-' strips all whitespace at its end; otherwise, before a
 * block or comment that is not marked '+', the spaces between the start of the line and the tag are
 * stripped. */
static void add_data(struct lmi_jinja_lexer *x, size_t from, size_t to, char sign, bool strips_line)
{
	size_t end = to, at = to, line = from;

	if (sign == '-' || (sign != '+' && strips_line)) {
		while (at > from) {
			size_t prev = at;

			if (!lmi_unicode_space(lmi_unicode_prev(x->s, &prev)))
				break;
			at = prev;
		}
		if (sign == '-') {
			end = at;
		} else {
			const char *nl = memrchr(x->s + from, '\n', to - from);

			line = nl ? (size_t)(nl - x->s) + 1 : from;
			if (at <= line && (nl || x->line_starts))
				end = line;
		}
	}
	if (end > from)
		lmi_jinja_lex_add_text(x, LMI_JINJA_TOK_DATA, x->s + from, end - from);
}

/* Skips whitespace after a tag: '-' skips all of it, no sign skips one line end (if trim), '+'
 * skips nothing. */
static size_t skip_after_tag(struct lmi_jinja_lexer *x, size_t at, char sign, bool trim)
{
	size_t end = at;

	if (sign == '-')
		end = skip_space(x, at);
	else if (sign != '+' && trim && at < x->n && x->s[at] == '\n')
		end++;
	x->line_starts = end > 0 && x->s[end - 1] == '\n';
	return end;
}

/* Offset of the next tag at or after `at`; x->n if there is none. */
static size_t next_tag(const struct lmi_jinja_lexer *x, size_t at)
{
	while (at + 1 < x->n) {
		const char *p = memchr(x->s + at, '{', x->n - at - 1);

		if (!p)
			break;
		if (p[1] == '{' || p[1] == '%' || p[1] == '#')
			return (size_t)(p - x->s);
		at = (size_t)(p - x->s) + 1;
	}
	return x->n;
}

static char sign_at(const struct lmi_jinja_lexer *x, size_t at)
{
	return at < x->n && (x->s[at] == '-' || x->s[at] == '+') ? x->s[at] : '\0';
}

/* Matches "{% word %}" at `at` and applies the whitespace rule of its right side.  Returns the
 * offset after it, or 0 if something else is there.  *sign: the sign on the left side. */
static size_t match_tag(struct lmi_jinja_lexer *x, size_t at, const char *word, bool trim,
			char *sign)
{
	char right = '\0';

	if (!lmi_jinja_lex_at(x, at, "{%"))
		return 0;
	*sign = sign_at(x, at + 2);
	at = skip_space(x, at + 2 + (*sign != '\0'));
	if (!lmi_jinja_lex_at(x, at, word))
		return 0;
	at = skip_space(x, at + strlen(word));
	if (at < x->n && (x->s[at] == '-' || (trim && x->s[at] == '+')))
		right = x->s[at++];
	if (!lmi_jinja_lex_at(x, at, "%}"))
		return 0;
	return skip_after_tag(x, at + 2, right, trim);
}

/* Skips a comment whose text starts at `at`. */
static void lex_comment(struct lmi_jinja_lexer *x, size_t at)
{
	const char *end = memmem(x->s + at, x->n - at, "#}", 2);
	char sign = '\0';
	size_t stop;

	if (!end) {
		if (at < x->n) /* an unclosed comment is allowed at the very end of a template */
			lmi_jinja_lex_fail(x, "unclosed comment");
		lmi_jinja_lex_advance(x, x->n);
		return;
	}
	stop = (size_t)(end - x->s);
	if (stop > at && (x->s[stop - 1] == '-' || x->s[stop - 1] == '+'))
		sign = x->s[stop - 1];
	lmi_jinja_lex_advance(x, skip_after_tag(x, stop + 2, sign, true));
}

static void lex_raw(struct lmi_jinja_lexer *x, size_t from)
{
	for (size_t at = from; (at = next_tag(x, at)) < x->n; at++) {
		char sign;
		size_t end;
		bool starts = x->line_starts;

		end = match_tag(x, at, "endraw", true, &sign);
		if (!end)
			continue;
		x->line_starts = starts;
		add_data(x, from, at, sign, true);
		x->line_starts = x->s[end - 1] == '\n';
		lmi_jinja_lex_advance(x, end);
		return;
	}
	if (from < x->n) /* an unclosed raw block is allowed at the very end of a template */
		lmi_jinja_lex_fail(x, "unclosed raw block");
}

/* Inside tags */

static void lex_name(struct lmi_jinja_lexer *x)
{
	size_t end = x->at;

	for (size_t next = end; next < x->n; end = next) {
		if (!lmi_unicode_ident(lmi_unicode_next(x->s, x->n, &next), false))
			break;
	}
	lmi_jinja_lex_add_text(x, LMI_JINJA_TOK_NAME, x->s + x->at, end - x->at);
	lmi_jinja_lex_advance(x, end);
}

static void push(struct lmi_jinja_lexer *x, char close)
{
	if (x->n_bracket == LMI_JINJA_LEX_BRACKETS)
		lmi_jinja_lex_fail(x, "brackets are nested too deeply");
	else
		x->bracket[x->n_bracket++] = close;
}

static void lex_operator(struct lmi_jinja_lexer *x)
{
	static const struct {
		char text[3];
		uint8_t type;
	} two[] = {
		{"//", LMI_JINJA_TOK_FLOORDIV}, {"**", LMI_JINJA_TOK_POW}, {"==", LMI_JINJA_TOK_EQ},
		{"!=", LMI_JINJA_TOK_NE},       {">=", LMI_JINJA_TOK_GE},  {"<=", LMI_JINJA_TOK_LE},
	};
	char c = x->s[x->at], text[48];

	for (size_t i = 0; i < LMD_LEN(two); i++) {
		if (lmi_jinja_lex_at(x, x->at, two[i].text)) {
			(void)lmi_jinja_lex_add(x, two[i].type); /* the lexer keeps a failure */
			x->at += 2;
			return;
		}
	}
	if (!c || !strchr("+-*/%~[](){}<>=.:|,;", c)) {
		(void)snprintf(text, sizeof(text), "unexpected character 0x%02x", (unsigned char)c);
		lmi_jinja_lex_fail(x, text);
		return;
	}
	if (strchr("([{", c))
		push(x, c == '(' ? ')' : (char)(c + 2));
	if (strchr(")]}", c)) {
		if (!x->n_bracket || x->bracket[x->n_bracket - 1] != c) {
			(void)snprintf(text, sizeof(text), "unexpected '%c'", c);
			lmi_jinja_lex_fail(x, text);
			return;
		}
		x->n_bracket--;
	}
	(void)lmi_jinja_lex_add(x, (unsigned char)c); /* the lexer keeps a failure */
	x->at++;
}

/* Returns the offset after the tag's end at x->at and sets *sign; 0 if the tag does not end
 * here. */
static size_t tag_end(const struct lmi_jinja_lexer *x, const char *close, char *sign)
{
	*sign = '\0';
	if (x->n_bracket)
		return 0;
	if (lmi_jinja_lex_at(x, x->at, close))
		return x->at + 2;
	*sign = sign_at(x, x->at);
	/* {{ }} does not have the sign + */
	if (*sign && !(*sign == '+' && close[0] == '}') && lmi_jinja_lex_at(x, x->at + 1, close))
		return x->at + 3;
	return 0;
}

/* Lexes the inside of {{ }} or {% %}, from after its start to after its end. */
static void lex_tag(struct lmi_jinja_lexer *x, bool block)
{
	const char *close = block ? "%}" : "}}";

	x->n_bracket = 0;
	while (x->st == LMD_OK) {
		char sign, c;
		size_t end;

		lmi_jinja_lex_advance(x, skip_space(x, x->at));
		if (x->at == x->n) {
			lmi_jinja_lex_fail(x, "the template ends inside a tag");
			return;
		}
		end = tag_end(x, close, &sign);
		if (end) {
			/* the lexer keeps a failure */
			(void)lmi_jinja_lex_add(x, block ? LMI_JINJA_TOK_BLOCK_END
							 : LMI_JINJA_TOK_VAR_END);
			lmi_jinja_lex_advance(x, skip_after_tag(x, end, sign, block));
			return;
		}
		c = x->s[x->at];
		if (c == '\'' || c == '"')
			lmi_jinja_lex_string(x);
		else if (isdigit((unsigned char)c))
			lmi_jinja_lex_number(x);
		else if (c == '_' || isalpha((unsigned char)c) || (unsigned char)c >= 0x80)
			lex_name(x);
		else
			lex_operator(x);
		if (x->st == LMD_OK && (unsigned char)c >= 0x80 && !x->tok[x->n_tok - 1].n)
			lmi_jinja_lex_fail(x, "unexpected character");
	}
}

static void lex_all(struct lmi_jinja_lexer *x)
{
	x->line_starts = true;
	while (x->st == LMD_OK && x->at < x->n) {
		size_t tag = next_tag(x, x->at), end;
		char kind, sign;
		bool starts = x->line_starts;

		if (tag == x->n) {
			add_data(x, x->at, tag, '+', false);
			lmi_jinja_lex_advance(x, tag);
			break;
		}
		kind = x->s[tag + 1];
		sign = sign_at(x, tag + 2);
		end = kind == '%' ? match_tag(x, tag, "raw", false, &sign) : 0;
		x->line_starts = starts;
		add_data(x, x->at, tag, sign, kind != '{');
		lmi_jinja_lex_advance(x, tag);
		if (end) {
			x->line_starts = x->s[end - 1] == '\n';
			lmi_jinja_lex_advance(x, end);
			lex_raw(x, end);
		} else if (kind == '#') {
			lex_comment(x, tag + 2 + (sign != '\0'));
		} else {
			(void)lmi_jinja_lex_add(x, kind == '%' ? LMI_JINJA_TOK_BLOCK_BEGIN
							       : LMI_JINJA_TOK_VAR_BEGIN);
			lmi_jinja_lex_advance(x, tag + 2 + (sign != '\0'));
			lex_tag(x, kind == '%');
		}
	}
	(void)lmi_jinja_lex_add(x, LMI_JINJA_TOK_END); /* the lexer keeps a failure */
}

/* Copies the text with \n for every line end, without one at the very end; a byte that is not UTF-8
 * becomes U+FFFD. */
static char *normalise(struct lmd_arena *arena, const char *text, size_t *n)
{
	size_t bad = 0, k = 0;
	char *s;

	for (size_t at = 0, from = 0; at < *n; from = at)
		bad += lmi_unicode_next(text, *n, &at) == 0xfffd && at - from == 1;
	s = lmi_arena_alloc(arena, *n + 2 * bad + 1, 1);
	for (size_t at = 0; s && at < *n;) {
		uint32_t c = lmi_unicode_next(text, *n, &at);

		if (c == '\r') {
			at += at < *n && text[at] == '\n';
			c = '\n';
		}
		k += lmi_utf8_put(s + k, c);
	}
	*n = k - (s && k && s[k - 1] == '\n');
	return s;
}

enum lmd_status lmi_jinja_lex(struct lmd_arena *arena, const char *text, size_t bytes,
			      struct lmi_jinja_token **out, struct lmd_error *err)
{
	struct lmi_jinja_lexer x = {.arena = arena, .n = bytes, .line = 1, .err = err};

	if (!lmi_cancel_step(bytes / 4))
		return lmd_fail(err, LMD_CANCELLED, "template: cancelled");
	x.s = normalise(arena, text, &x.n);
	if (!x.s)
		return lmd_fail(err, LMD_NOMEM, "template: no memory for %zu bytes", bytes);
	lex_all(&x);
	if (x.st == LMD_OK)
		*out = x.tok;
	return x.st;
}
