/* SPDX-License-Identifier: MIT
 *
 * Two levels: between tags the lexer looks for the next "{{", "{%" or "{#"; inside of a
 * tag it cuts names, numbers, texts and operators until the tag ends.  An end inside of
 * open brackets is none, so that {{ {'a': {}} }} works. */
#include "core/text/template/lex.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/base/utf8.h"
#include "core/text/template/uni.h"

/* Open brackets in one tag. */
#define BRACKETS_MAX 1000

struct lexer {
	struct lmd_arena *arena;
	const char *s;        /* line ends are \n alone */
	size_t n, at;
	uint32_t line;
	bool line_starts;     /* the last tag ended with its line */
	struct lmi_token *tok;
	size_t n_tok, cap_tok;
	char bracket[BRACKETS_MAX];
	uint32_t n_bracket;
	enum lmd_status st;
	struct lmd_error *err;
};

static void fail(struct lexer *x, const char *what)
{
	if (x->st == LMD_OK)
		x->st = lmd_fail(x->err, LMD_INVALID, "template line %u: %s", x->line, what);
}

static void no_memory(struct lexer *x)
{
	if (x->st == LMD_OK)
		x->st = lmd_fail(x->err, LMD_NOMEM, "template line %u: it takes too much memory",
				 x->line);
}

static struct lmi_token *add(struct lexer *x, int type)
{
	if (x->n_tok == x->cap_tok) {
		size_t cap = x->cap_tok ? 2 * x->cap_tok : 64;
		struct lmi_token *p = lmi_arena_array(x->arena, cap, sizeof(*p));

		if (!p) {
			no_memory(x);
			return NULL;
		}
		if (x->n_tok)
			memcpy(p, x->tok, x->n_tok * sizeof(*p));
		x->tok = p;
		x->cap_tok = cap;
	}
	x->tok[x->n_tok] = (struct lmi_token){.type = (uint8_t)type, .line = x->line};
	return &x->tok[x->n_tok++];
}

static void add_text(struct lexer *x, int type, const char *s, size_t n)
{
	struct lmi_token *t = add(x, type);

	if (t) {
		t->u.s = s;
		t->n = (uint32_t)n;
	}
}

static void advance(struct lexer *x, size_t to)
{
	for (; x->at < to; x->at++)
		x->line += x->s[x->at] == '\n';
}

static bool looking_at(const struct lexer *x, size_t at, const char *word)
{
	size_t n = strlen(word);

	return x->n - at >= n && !memcmp(x->s + at, word, n);
}

static size_t skip_space(const struct lexer *x, size_t at)
{
	for (size_t next = at; next < x->n; at = next) {
		if (!lmi_uni_space(lmi_uni_next(x->s, x->n, &next)))
			break;
	}
	return at;
}

/* Data from..to before a tag: with '-' all white space at its end goes; else, before a
 * block or a comment that is not marked '+', the blanks of the line the tag stands on. */
static void add_data(struct lexer *x, size_t from, size_t to, char sign, bool strips_line)
{
	size_t end = to, at = to, line = from;

	if (sign == '-' || (sign != '+' && strips_line)) {
		while (at > from) {
			size_t prev = at;

			if (!lmi_uni_space(lmi_uni_prev(x->s, &prev)))
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
		add_text(x, LMI_TOK_DATA, x->s + from, end - from);
}

/* Behind a tag: '-' takes all white space, nothing one line end (if trim), '+' none. */
static size_t behind(struct lexer *x, size_t at, char sign, bool trim)
{
	size_t end = at;

	if (sign == '-')
		end = skip_space(x, at);
	else if (sign != '+' && trim && at < x->n && x->s[at] == '\n')
		end++;
	x->line_starts = end > 0 && x->s[end - 1] == '\n';
	return end;
}

/* Begin of the next tag from at on; x->n if there is none. */
static size_t next_tag(const struct lexer *x, size_t at)
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

static char sign_at(const struct lexer *x, size_t at)
{
	return at < x->n && (x->s[at] == '-' || x->s[at] == '+') ? x->s[at] : '\0';
}

/* "{% word %}" at `at`: the end behind it, with the white space rule of its right side; 0
 * if it is something else.  *sign: of the left side. */
static size_t whole_tag(struct lexer *x, size_t at, const char *word, bool trim, char *sign)
{
	char right = '\0';

	if (!looking_at(x, at, "{%"))
		return 0;
	*sign = sign_at(x, at + 2);
	at = skip_space(x, at + 2 + (*sign != '\0'));
	if (!looking_at(x, at, word))
		return 0;
	at = skip_space(x, at + strlen(word));
	if (at < x->n && (x->s[at] == '-' || (trim && x->s[at] == '+')))
		right = x->s[at++];
	if (!looking_at(x, at, "%}"))
		return 0;
	return behind(x, at + 2, right, trim);
}

/* A comment whose text begins at `at`. */
static void lex_comment(struct lexer *x, size_t at)
{
	const char *end = memmem(x->s + at, x->n - at, "#}", 2);
	char sign = '\0';
	size_t stop;

	if (!end) {
		if (at < x->n) /* the last thing in a template need not be closed */
			fail(x, "a comment is not closed");
		advance(x, x->n);
		return;
	}
	stop = (size_t)(end - x->s);
	if (stop > at && (x->s[stop - 1] == '-' || x->s[stop - 1] == '+'))
		sign = x->s[stop - 1];
	advance(x, behind(x, stop + 2, sign, true));
}

static void lex_raw(struct lexer *x, size_t from)
{
	for (size_t at = from; (at = next_tag(x, at)) < x->n; at++) {
		char sign;
		size_t end;
		bool starts = x->line_starts;

		end = whole_tag(x, at, "endraw", true, &sign);
		if (!end)
			continue;
		x->line_starts = starts;
		add_data(x, from, at, sign, true);
		x->line_starts = x->s[end - 1] == '\n';
		advance(x, end);
		return;
	}
	if (from < x->n) /* the last thing in a template need not be closed */
		fail(x, "a raw block is not closed");
}

/* Inside of tags */

static uint32_t hex(const char *s, size_t n, bool *ok)
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

/* \xHH, \uXXXX, \UXXXXXXXX, with the letter at s[i]; returns the bytes taken, 0: bad. */
static size_t hex_escape(const char *s, size_t left, uint32_t *c)
{
	size_t n = s[0] == 'x' ? 2 : s[0] == 'u' ? 4 : 8;
	bool ok = left > n;

	if (ok)
		*c = hex(s + 1, n, &ok);
	if (!ok || *c > 0x10ffff)
		return 0;
	n++;
	/* a pair of surrogates is one character */
	if (*c >= 0xd800 && *c < 0xdc00 && left >= n + 6 && s[n] == '\\' && s[n + 1] == 'u') {
		uint32_t low = hex(s + n + 2, 4, &ok);

		if (ok && low >= 0xdc00 && low < 0xe000) {
			*c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
			return n + 6;
		}
	}
	return *c >= 0xd800 && *c < 0xe000 ? 0 : n;
}

/* Resolves the escapes of s[0..n) into out; the length, or SIZE_MAX. */
static size_t unescape(const char *s, size_t n, char *out)
{
	static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
	size_t k = 0;

	for (size_t i = 0; i < n;) {
		uint32_t c = 0;
		const char *p;

		if (s[i] != '\\') {
			out[k++] = s[i++];
			continue;
		}
		i++;
		p = strchr(from, s[i]);
		if (p && *p) {
			out[k++] = to[p - from];
			i++;
		} else if (s[i] == '\n') {
			i++;
		} else if (strchr("xuU", s[i]) && s[i]) {
			size_t taken = hex_escape(s + i, n - i, &c);

			if (!taken)
				return SIZE_MAX;
			i += taken;
			k += lmi_utf8_put(out + k, c);
		} else if (s[i] >= '0' && s[i] <= '7') {
			for (int d = 0; d < 3 && i < n && s[i] >= '0' && s[i] <= '7'; d++)
				c = c * 8 + (uint32_t)(s[i++] - '0');
			k += lmi_utf8_put(out + k, c);
		} else if (s[i] == 'N') {
			return SIZE_MAX;
		} else {
			out[k++] = '\\';
		}
	}
	return k;
}

static void lex_string(struct lexer *x)
{
	char quote = x->s[x->at], *text;
	size_t from = x->at + 1, to = from, n;

	while (to < x->n && x->s[to] != quote)
		to += x->s[to] == '\\' ? 2 : 1;
	if (to >= x->n) {
		fail(x, "a text is not closed");
		return;
	}
	text = lmi_arena_alloc(x->arena, to - from + 1, 1);
	if (!text) {
		no_memory(x);
		return;
	}
	n = unescape(x->s + from, to - from, text);
	if (n == SIZE_MAX)
		fail(x, "a text has an escape that is incomplete or no character");
	else
		add_text(x, LMI_TOK_STRING, text, n);
	advance(x, to + 1);
}

/* Digits with single _ between them; the end. */
static size_t digits(const struct lexer *x, size_t at)
{
	while (at < x->n &&
	       (isdigit((unsigned char)x->s[at]) ||
		(x->s[at] == '_' && at + 1 < x->n && isdigit((unsigned char)x->s[at + 1]))))
		at++;
	return at;
}

/* End of a float that begins at `at`, or `at` itself. */
static size_t float_end(const struct lexer *x, size_t at)
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

static int base_of(const struct lexer *x, size_t at)
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

/* End of an integer.  0 is followed by nothing but zeros. */
static size_t int_end(const struct lexer *x, size_t at, int base)
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

static void lex_number(struct lexer *x)
{
	char text[400];
	size_t end = float_end(x, x->at), n = 0;
	bool is_float = end > x->at, over = false;
	int base = base_of(x, x->at);
	struct lmi_token *t;
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
	t = add(x, is_float ? LMI_TOK_FLOAT : LMI_TOK_INT);
	if (t && is_float) {
		t->u.f = strtod(text, NULL);
	} else if (t) {
		for (size_t i = base == 10 ? 0 : 2; i < n; i++) {
			bool ok = true;

			over |= __builtin_mul_overflow(v, base, &v) ||
				__builtin_add_overflow(v, (int64_t)hex(text + i, 1, &ok), &v);
		}
		t->u.i = v;
		if (over)
			fail(x, "an integer does not fit in 64 bits");
	}
	if (n + 1 == sizeof(text))
		fail(x, "a number is too long");
	advance(x, end);
}

static void lex_name(struct lexer *x)
{
	size_t end = x->at;

	for (size_t next = end; next < x->n; end = next) {
		if (!lmi_uni_ident(lmi_uni_next(x->s, x->n, &next), false))
			break;
	}
	add_text(x, LMI_TOK_NAME, x->s + x->at, end - x->at);
	advance(x, end);
}

static void push(struct lexer *x, char close)
{
	if (x->n_bracket == BRACKETS_MAX)
		fail(x, "brackets are nested too deep");
	else
		x->bracket[x->n_bracket++] = close;
}

static void lex_operator(struct lexer *x)
{
	static const struct {
		char text[3];
		uint8_t type;
	} two[] = {
		{"//", LMI_TOK_FLOORDIV}, {"**", LMI_TOK_POW}, {"==", LMI_TOK_EQ},
		{"!=", LMI_TOK_NE},	  {">=", LMI_TOK_GE},  {"<=", LMI_TOK_LE},
	};
	char c = x->s[x->at], text[48];

	for (size_t i = 0; i < LMD_LEN(two); i++) {
		if (looking_at(x, x->at, two[i].text)) {
			(void)add(x, two[i].type); /* a failure is kept */
			x->at += 2;
			return;
		}
	}
	if (!c || !strchr("+-*/%~[](){}<>=.:|,;", c)) {
		(void)snprintf(text, sizeof(text), "character 0x%02x is unexpected",
			       (unsigned char)c);
		fail(x, text);
		return;
	}
	if (strchr("([{", c))
		push(x, c == '(' ? ')' : (char)(c + 2));
	if (strchr(")]}", c)) {
		if (!x->n_bracket || x->bracket[x->n_bracket - 1] != c) {
			(void)snprintf(text, sizeof(text), "'%c' is unexpected", c);
			fail(x, text);
			return;
		}
		x->n_bracket--;
	}
	(void)add(x, (unsigned char)c); /* a failure is kept */
	x->at++;
}

/* The end of the tag at x->at, with its sign; 0 if it does not end here. */
static size_t tag_end(const struct lexer *x, const char *close, char *sign)
{
	*sign = '\0';
	if (x->n_bracket)
		return 0;
	if (looking_at(x, x->at, close))
		return x->at + 2;
	*sign = sign_at(x, x->at);
	/* {{ }} knows no + */
	if (*sign && !(*sign == '+' && close[0] == '}') && looking_at(x, x->at + 1, close))
		return x->at + 3;
	return 0;
}

/* The inside of {{ }} or {% %}, from behind its begin to behind its end. */
static void lex_tag(struct lexer *x, bool block)
{
	const char *close = block ? "%}" : "}}";

	x->n_bracket = 0;
	while (x->st == LMD_OK) {
		char sign, c;
		size_t end;

		advance(x, skip_space(x, x->at));
		if (x->at == x->n) {
			fail(x, "the template ends inside of a tag");
			return;
		}
		end = tag_end(x, close, &sign);
		if (end) {
			(void)add(x, block ? LMI_TOK_BLOCK_END : LMI_TOK_VAR_END); /* kept */
			advance(x, behind(x, end, sign, block));
			return;
		}
		c = x->s[x->at];
		if (c == '\'' || c == '"')
			lex_string(x);
		else if (isdigit((unsigned char)c))
			lex_number(x);
		else if (c == '_' || isalpha((unsigned char)c) || (unsigned char)c >= 0x80)
			lex_name(x);
		else
			lex_operator(x);
		if (x->st == LMD_OK && (unsigned char)c >= 0x80 && !x->tok[x->n_tok - 1].n)
			fail(x, "a character is unexpected");
	}
}

static void lex_all(struct lexer *x)
{
	x->line_starts = true;
	while (x->st == LMD_OK && x->at < x->n) {
		size_t tag = next_tag(x, x->at), end;
		char kind, sign;
		bool starts = x->line_starts;

		if (tag == x->n) {
			add_data(x, x->at, tag, '+', false);
			advance(x, tag);
			break;
		}
		kind = x->s[tag + 1];
		sign = sign_at(x, tag + 2);
		end = kind == '%' ? whole_tag(x, tag, "raw", false, &sign) : 0;
		x->line_starts = starts;
		add_data(x, x->at, tag, sign, kind != '{');
		advance(x, tag);
		if (end) {
			x->line_starts = x->s[end - 1] == '\n';
			advance(x, end);
			lex_raw(x, end);
		} else if (kind == '#') {
			lex_comment(x, tag + 2 + (sign != '\0'));
		} else {
			(void)add(x, kind == '%' ? LMI_TOK_BLOCK_BEGIN : LMI_TOK_VAR_BEGIN);
			advance(x, tag + 2 + (sign != '\0'));
			lex_tag(x, kind == '%');
		}
	}
	(void)add(x, LMI_TOK_END); /* a failure is kept */
}

/* A copy with \n for every line end and without one at the very end; a byte that is no
 * UTF-8 becomes U+FFFD. */
static char *normalise(struct lmd_arena *arena, const char *text, size_t *n)
{
	size_t bad = 0, k = 0;
	char *s;

	for (size_t at = 0, from = 0; at < *n; from = at)
		bad += lmi_uni_next(text, *n, &at) == 0xfffd && at - from == 1;
	s = lmi_arena_alloc(arena, *n + 2 * bad + 1, 1);
	for (size_t at = 0; s && at < *n;) {
		uint32_t c = lmi_uni_next(text, *n, &at);

		if (c == '\r') {
			at += at < *n && text[at] == '\n';
			c = '\n';
		}
		k += lmi_utf8_put(s + k, c);
	}
	*n = k - (s && k && s[k - 1] == '\n');
	return s;
}

enum lmd_status lmi_lex(struct lmd_arena *arena, const char *text, size_t bytes,
			struct lmi_token **out, struct lmd_error *err)
{
	struct lexer x = {.arena = arena, .n = bytes, .line = 1, .err = err};

	x.s = normalise(arena, text, &x.n);
	if (!x.s)
		return lmd_fail(err, LMD_NOMEM, "template: no memory for %zu bytes", bytes);
	lex_all(&x);
	if (x.st == LMD_OK)
		*out = x.tok;
	return x.st;
}
