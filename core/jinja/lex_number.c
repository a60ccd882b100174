/* SPDX-License-Identifier: MIT
 *
 * Lexes integers and floats. */
#include <ctype.h>
#include <stdlib.h>

#include "core/jinja/lexer.h"

/* Skips digits with single _ between them; returns their end. */
static size_t digits(const struct lmi_jinja_lexer *x, size_t at)
{
	while (at < x->n &&
	       (isdigit((unsigned char)x->s[at]) ||
		(x->s[at] == '_' && at + 1 < x->n && isdigit((unsigned char)x->s[at + 1]))))
		at++;
	return at;
}

/* End of the float at `at`, or `at` itself if there is none. */
static size_t float_end(const struct lmi_jinja_lexer *x, size_t at)
{
	size_t whole = digits(x, at), end = whole, e;

	if (at && x->s[at - 1] == '.')
		return at;
	if (end + 1 < x->n && x->s[end] == '.' && isdigit((unsigned char)x->s[end + 1]))
		end = digits(x, end + 1);
	if (end < x->n && (x->s[end] == 'e' || x->s[end] == 'E')) {
		e = end + 1;
		e += e < x->n && (x->s[e] == '+' || x->s[e] == '-');
		if (e < x->n && isdigit((unsigned char)x->s[e]))
			end = digits(x, e);
	}
	return end == whole ? at : end;
}

static int base_of(const struct lmi_jinja_lexer *x, size_t at)
{
	char c = at + 1 < x->n && x->s[at] == '0' ? (char)tolower((unsigned char)x->s[at + 1]) : 0;

	return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
}

static bool digit_of(int base, char c)
{
	if (base == 16)
		return isxdigit((unsigned char)c);
	return c >= '0' && c < '0' + base;
}

/* End of the integer at `at`.  A leading 0 may be followed only by zeros. */
static size_t int_end(const struct lmi_jinja_lexer *x, size_t at, int base)
{
	bool zeros = base == 10 && x->s[at] == '0';
	size_t end = at + (base == 10 ? 1 : 2);

	for (; end < x->n; end++) {
		size_t d = end + (x->s[end] == '_');

		if (d >= x->n || !digit_of(base, x->s[d]) || (zeros && x->s[d] != '0'))
			break;
		end = d;
	}
	return end;
}

void lmi_jinja_lex_number(struct lmi_jinja_lexer *x)
{
	char text[400];
	size_t end = float_end(x, x->at), n = 0;
	bool is_float = end > x->at, over = false;
	int base = base_of(x, x->at);
	struct lmi_jinja_token *t;
	int64_t v = 0;

	if (!is_float) {
		end = int_end(x, x->at, base);
		if (base != 10 && end == x->at + 2) {
			base = 10;
			end = x->at + 1;
		}
	}
	for (size_t i = x->at; i < end && n + 1 < sizeof(text); i++) {
		if (x->s[i] != '_')
			text[n++] = x->s[i];
	}
	text[n] = '\0';
	t = lmi_jinja_lex_add(x, is_float ? LMI_JINJA_TOK_FLOAT : LMI_JINJA_TOK_INT);
	if (t && is_float) {
		t->u.f = strtod(text, NULL);
	} else if (t) {
		for (size_t i = base == 10 ? 0 : 2; i < n; i++) {
			bool ok = true;

			over |= __builtin_mul_overflow(v, base, &v) ||
				__builtin_add_overflow(
					v, (int64_t)lmi_jinja_lex_hex(text + i, 1, &ok), &v);
		}
		t->u.i = v;
		if (over)
			lmi_jinja_lex_fail(x, "integer literal does not fit in 64 bits");
	}
	if (n + 1 == sizeof(text))
		lmi_jinja_lex_fail(x, "number literal is too long");
	lmi_jinja_lex_advance(x, end);
}
