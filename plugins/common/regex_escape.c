/* SPDX-License-Identifier: MIT
 *
 * Escapes in expressions: classes, properties by name, and characters by number or letter. */
#include <string.h>

#include "common/regex_parser.h"

/* Returns the category with this short name (one or two letters) or common long name; 0 if
 * unknown. */
static uint32_t category(const char *s, size_t n)
{
	static const struct {
		const char *name;
		uint32_t cats;
	} table[] = {
		{"L", TOK_UCD_L},
		{"Letter", TOK_UCD_L},
		{"Alphabetic", TOK_RX_ALPHABETIC},
		{"Alpha", TOK_RX_ALPHABETIC},
		{"Lu", 1u << TOK_LU},
		{"Ll", 1u << TOK_LL},
		{"Lt", 1u << TOK_LT},
		{"Lm", 1u << TOK_LM},
		{"Lo", 1u << TOK_LO},
		{"LC", TOK_BITS(TOK_LU, TOK_LT)},
		{"L&", TOK_BITS(TOK_LU, TOK_LT)},
		{"M", TOK_UCD_M},
		{"Mark", TOK_UCD_M},
		{"Mn", 1u << TOK_MN},
		{"Mc", 1u << TOK_MC},
		{"Me", 1u << TOK_ME},
		{"N", TOK_UCD_N},
		{"Number", TOK_UCD_N},
		{"Nd", 1u << TOK_ND},
		{"Digit", 1u << TOK_ND},
		{"Nl", 1u << TOK_NL},
		{"No", 1u << TOK_NO},
		{"P", TOK_UCD_P},
		{"Punct", TOK_UCD_P},
		{"Punctuation", TOK_UCD_P},
		{"Pc", 1u << TOK_PC},
		{"Pd", 1u << TOK_PD},
		{"Ps", 1u << TOK_PS},
		{"Pe", 1u << TOK_PE},
		{"Pi", 1u << TOK_PI},
		{"Pf", 1u << TOK_PF},
		{"Po", 1u << TOK_PO},
		{"S", TOK_UCD_S},
		{"Symbol", TOK_UCD_S},
		{"Sm", 1u << TOK_SM},
		{"Sc", 1u << TOK_SC},
		{"Sk", 1u << TOK_SK},
		{"So", 1u << TOK_SO},
		{"Z", TOK_UCD_Z},
		{"Separator", TOK_UCD_Z},
		{"Zs", 1u << TOK_ZS},
		{"Zl", 1u << TOK_ZL},
		{"Zp", 1u << TOK_ZP},
		{"C", TOK_UCD_C | 1u << TOK_CN},
		{"Other", TOK_UCD_C | 1u << TOK_CN},
		{"Cc", 1u << TOK_CC | 1u << TOK_WS_CONTROL},
		{"Cf", 1u << TOK_CF},
		{"Cs", 1u << TOK_CS},
		{"Co", 1u << TOK_CO},
		{"Cn", 1u << TOK_CN},
		{"White_Space", TOK_UCD_SPACE},
		{"Space", TOK_UCD_SPACE},
	};

	for (size_t i = 0; i < LMD_LEN(table); i++)
		if (strlen(table[i].name) == n && !memcmp(table[i].name, s, n))
			return table[i].cats;
	return 0;
}

/* Ranges of the scripts that pre-tokenizers use. */
static const struct {
	const char *name;
	uint8_t n;
	struct tok_rx_range range[24];
} scripts[] = {
	{"Han", 21, {{0x2e80, 0x2e99}, {0x2e9b, 0x2ef3}, {0x2f00, 0x2fd5}, {0x3005, 0x3005},
		     {0x3007, 0x3007}, {0x3021, 0x3029}, {0x3038, 0x303b}, {0x3400, 0x4dbf},
		     {0x4e00, 0x9fff}, {0xf900, 0xfa6d}, {0xfa70, 0xfad9}, {0x16fe2, 0x16fe3},
		     {0x16ff0, 0x16ff1}, {0x20000, 0x2a6df}, {0x2a700, 0x2b739},
		     {0x2b740, 0x2b81d}, {0x2b820, 0x2cea1}, {0x2ceb0, 0x2ebe0},
		     {0x2ebf0, 0x2ee5d}, {0x2f800, 0x2fa1d}, {0x30000, 0x323af}}},
	{"Hiragana", 6, {{0x3041, 0x3096}, {0x309d, 0x309f}, {0x1b001, 0x1b11f},
			 {0x1b132, 0x1b132}, {0x1b150, 0x1b152}, {0x1f200, 0x1f200}}},
	{"Katakana", 14, {{0x30a1, 0x30fa}, {0x30fd, 0x30ff}, {0x31f0, 0x31ff}, {0x32d0, 0x32fe},
			  {0x3300, 0x3357}, {0xff66, 0xff6f}, {0xff71, 0xff9d}, {0x1aff0, 0x1aff3},
			  {0x1aff5, 0x1affb}, {0x1affd, 0x1affe}, {0x1b000, 0x1b000},
			  {0x1b120, 0x1b122}, {0x1b155, 0x1b155}, {0x1b164, 0x1b167}}},
	{"Hangul", 14, {{0x1100, 0x11ff}, {0x302e, 0x302f}, {0x3131, 0x318e}, {0x3200, 0x321e},
			{0x3260, 0x327e}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xd7b0, 0xd7c6},
			{0xd7cb, 0xd7fb}, {0xffa0, 0xffbe}, {0xffc2, 0xffc7}, {0xffca, 0xffcf},
			{0xffd2, 0xffd7}, {0xffda, 0xffdc}}},
};

/* Parses \p{NAME} or \P{NAME}, with p after the letter, into the set. */
static void parse_property(struct tok_rx_parser *ps, uint32_t set, bool neg)
{
	const char *name, *close;
	size_t n;
	uint32_t cats;

	if (ps->p < ps->end && *ps->p == '{') {
		close = memchr(ps->p, '}', (size_t)(ps->end - ps->p));
		if (!close) {
			tok_rx_fail(ps, LMD_INVALID, "\\p{ without }");
			return;
		}
		name = ps->p + 1;
		n = (size_t)(close - name);
		ps->p = close + 1;
	} else {
		name = ps->p;
		n = ps->p < ps->end;
		ps->p += n;
	}
	if (n && *name == '^') {
		neg = !neg;
		name++;
		n--;
	}
	if (n > 7 && !memcmp(name, "Script=", 7)) {
		name += 7;
		n -= 7;
	}
	cats = category(name, n);
	if (cats) {
		tok_rx_set(ps->t, set)->cats = cats;
		tok_rx_set(ps->t, set)->neg = neg;
		if (cats == TOK_RX_ALPHABETIC)
			tok_rx_add_alphabetic(ps, set);
		return;
	}
	for (size_t i = 0; i < LMD_LEN(scripts); i++) {
		if (strlen(scripts[i].name) != n || memcmp(scripts[i].name, name, n) != 0)
			continue;
		for (unsigned r = 0; r < scripts[i].n; r++)
			tok_rx_add_range(ps, set, scripts[i].range[r].first,
					 scripts[i].range[r].last);
		if (ps->t->st == LMD_OK)
			tok_rx_set(ps->t, set)->neg = neg;
		return;
	}
	tok_rx_fail(ps, LMD_UNSUPPORTED, "unknown property in \\p{}");
}

uint32_t tok_rx_class_escape(struct tok_rx_parser *ps, char c)
{
	uint32_t set, cats;

	switch (c) {
	case 's':
	case 'S':
		cats = TOK_UCD_SPACE;
		break;
	case 'd':
	case 'D':
		cats = 1u << TOK_ND;
		break;
	case 'w':
	case 'W':
		cats = TOK_RX_WORD_CATS;
		break;
	case 'h':
	case 'H':
		cats = 0;
		break;
	case 'p':
	case 'P':
		set = tok_rx_new_set(ps);
		if (set != TOK_RX_INF)
			parse_property(ps, set, c == 'P');
		return set;
	default:
		return TOK_RX_INF;
	}
	set = tok_rx_new_set(ps);
	if (set == TOK_RX_INF)
		return set;
	tok_rx_set(ps->t, set)->cats = cats;
	if (cats == TOK_RX_WORD_CATS && ps->ruby) {
		if (!ps->in_set) { /* only outside brackets */
			tok_rx_add_range(ps, set, 0xb2, 0xb3);
			tok_rx_add_range(ps, set, 0xb9, 0xb9);
			tok_rx_add_range(ps, set, 0xbc, 0xbe);
		}
		/* letters among the symbols */
		tok_rx_add_range(ps, set, 0x24b6, 0x24e9);
		tok_rx_add_range(ps, set, 0x1f130, 0x1f149);
		tok_rx_add_range(ps, set, 0x1f150, 0x1f169);
		tok_rx_add_range(ps, set, 0x1f170, 0x1f189);
	}
	if (!cats) {
		tok_rx_add_range(ps, set, '0', '9');
		tok_rx_add_range(ps, set, 'a', 'f');
		tok_rx_add_range(ps, set, 'A', 'F');
	}
	if (ps->t->st == LMD_OK)
		tok_rx_set(ps->t, set)->neg = c >= 'A' && c <= 'Z';
	return set;
}

static bool hex_digits(struct tok_rx_parser *ps, int min, int max, uint32_t *out)
{
	uint32_t v = 0;
	int n = 0;

	for (; n < max && ps->p < ps->end; n++, ps->p++) {
		char c = *ps->p;

		if (c >= '0' && c <= '9')
			v = v * 16 + (uint32_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v * 16 + (uint32_t)((c | 32) - 'a' + 10);
		else
			break;
	}
	*out = v;
	if (n < min || v > 0x10ffff)
		return tok_rx_fail(ps, LMD_INVALID, "invalid hexadecimal number"), false;
	return true;
}

uint32_t tok_rx_char_escape(struct tok_rx_parser *ps, char c)
{
	uint32_t v = 0;

	switch (c) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'f':
		return '\f';
	case 'v':
		return '\v';
	case 'a':
		return 7;
	case 'e':
		return 27;
	case '0':
		return 0;
	case 'x':
		if (ps->p < ps->end && *ps->p == '{') {
			ps->p++;
			if (hex_digits(ps, 1, 6, &v)) {
				if (ps->p == ps->end || *ps->p != '}')
					tok_rx_fail(ps, LMD_INVALID, "\\x{ without }");
				else
					ps->p++;
			}
			return v;
		}
		hex_digits(ps, 2, 2, &v);
		return v;
	case 'u':
		if (ps->p < ps->end && *ps->p == '{') {
			ps->p++;
			if (hex_digits(ps, 1, 6, &v) && ps->p < ps->end && *ps->p == '}')
				ps->p++;
			else
				tok_rx_fail(ps, LMD_INVALID, "\\u{ without }");
			return v;
		}
		hex_digits(ps, 4, 4, &v);
		return v;
	default:
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9'))
			tok_rx_fail(ps, LMD_UNSUPPORTED, "unknown escape");
		return (unsigned char)c;
	}
}
