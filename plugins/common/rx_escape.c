/* SPDX-License-Identifier: MIT
 *
 * Escapes in expressions: classes, properties by name, and characters by number or letter. */
#include "common/rx_parser.h"

/* Returns the category with this short name (one or two letters) or common long name; 0 if
 * unknown. */
static uint32_t category(const char *s, size_t n)
{
	static const struct {
		const char *name;
		uint32_t cats;
	} table[] = {
		{"L", LMI_UCD_L}, {"Letter", LMI_UCD_L}, {"Alphabetic", LMI_RX_ALPHABETIC},
		{"Alpha", LMI_RX_ALPHABETIC},
		{"Lu", 1u << LMI_LU}, {"Ll", 1u << LMI_LL}, {"Lt", 1u << LMI_LT},
		{"Lm", 1u << LMI_LM}, {"Lo", 1u << LMI_LO},
		{"LC", LMI_BITS(LMI_LU, LMI_LT)}, {"L&", LMI_BITS(LMI_LU, LMI_LT)},
		{"M", LMI_UCD_M}, {"Mark", LMI_UCD_M}, {"Mn", 1u << LMI_MN},
		{"Mc", 1u << LMI_MC}, {"Me", 1u << LMI_ME},
		{"N", LMI_UCD_N}, {"Number", LMI_UCD_N}, {"Nd", 1u << LMI_ND},
		{"Digit", 1u << LMI_ND}, {"Nl", 1u << LMI_NL}, {"No", 1u << LMI_NO},
		{"P", LMI_UCD_P}, {"Punct", LMI_UCD_P}, {"Punctuation", LMI_UCD_P},
		{"Pc", 1u << LMI_PC}, {"Pd", 1u << LMI_PD}, {"Ps", 1u << LMI_PS},
		{"Pe", 1u << LMI_PE}, {"Pi", 1u << LMI_PI}, {"Pf", 1u << LMI_PF},
		{"Po", 1u << LMI_PO},
		{"S", LMI_UCD_S}, {"Symbol", LMI_UCD_S}, {"Sm", 1u << LMI_SM},
		{"Sc", 1u << LMI_SC}, {"Sk", 1u << LMI_SK}, {"So", 1u << LMI_SO},
		{"Z", LMI_UCD_Z}, {"Separator", LMI_UCD_Z}, {"Zs", 1u << LMI_ZS},
		{"Zl", 1u << LMI_ZL}, {"Zp", 1u << LMI_ZP},
		{"C", LMI_UCD_C | 1u << LMI_CN}, {"Other", LMI_UCD_C | 1u << LMI_CN},
		{"Cc", 1u << LMI_CC | 1u << LMI_WS_CONTROL}, {"Cf", 1u << LMI_CF},
		{"Cs", 1u << LMI_CS}, {"Co", 1u << LMI_CO}, {"Cn", 1u << LMI_CN},
		{"White_Space", LMI_UCD_SPACE}, {"Space", LMI_UCD_SPACE},
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
	struct lmi_rx_range range[24];
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
static void parse_property(struct lmi_rx_parser *ps, uint32_t set, bool neg)
{
	const char *name, *close;
	size_t n;
	uint32_t cats;

	if (ps->p < ps->end && *ps->p == '{') {
		close = memchr(ps->p, '}', (size_t)(ps->end - ps->p));
		if (!close) {
			lmi_rx_fail(ps, LMD_INVALID, "\\p{ without }");
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
		lmi_rx_set(ps->t, set)->cats = cats;
		lmi_rx_set(ps->t, set)->neg = neg;
		if (cats == LMI_RX_ALPHABETIC)
			lmi_rx_add_alphabetic(ps, set);
		return;
	}
	for (size_t i = 0; i < LMD_LEN(scripts); i++) {
		if (strlen(scripts[i].name) != n || memcmp(scripts[i].name, name, n) != 0)
			continue;
		for (unsigned r = 0; r < scripts[i].n; r++)
			lmi_rx_add_range(ps, set, scripts[i].range[r].first,
					 scripts[i].range[r].last);
		if (ps->t->st == LMD_OK)
			lmi_rx_set(ps->t, set)->neg = neg;
		return;
	}
	lmi_rx_fail(ps, LMD_UNSUPPORTED, "unknown property in \\p{}");
}

uint32_t lmi_rx_class_escape(struct lmi_rx_parser *ps, char c)
{
	uint32_t set, cats;

	switch (c) {
	case 's':
	case 'S':
		cats = LMI_UCD_SPACE;
		break;
	case 'd':
	case 'D':
		cats = 1u << LMI_ND;
		break;
	case 'w':
	case 'W':
		cats = LMI_RX_WORD_CATS;
		break;
	case 'h':
	case 'H':
		cats = 0;
		break;
	case 'p':
	case 'P':
		set = lmi_rx_new_set(ps);
		if (set != LMI_RX_INF)
			parse_property(ps, set, c == 'P');
		return set;
	default:
		return LMI_RX_INF;
	}
	set = lmi_rx_new_set(ps);
	if (set == LMI_RX_INF)
		return set;
	lmi_rx_set(ps->t, set)->cats = cats;
	if (cats == LMI_RX_WORD_CATS && ps->ruby) {
		if (!ps->in_set) { /* only outside brackets */
			lmi_rx_add_range(ps, set, 0xb2, 0xb3);
			lmi_rx_add_range(ps, set, 0xb9, 0xb9);
			lmi_rx_add_range(ps, set, 0xbc, 0xbe);
		}
		/* letters among the symbols */
		lmi_rx_add_range(ps, set, 0x24b6, 0x24e9);
		lmi_rx_add_range(ps, set, 0x1f130, 0x1f149);
		lmi_rx_add_range(ps, set, 0x1f150, 0x1f169);
		lmi_rx_add_range(ps, set, 0x1f170, 0x1f189);
	}
	if (!cats) {
		lmi_rx_add_range(ps, set, '0', '9');
		lmi_rx_add_range(ps, set, 'a', 'f');
		lmi_rx_add_range(ps, set, 'A', 'F');
	}
	if (ps->t->st == LMD_OK)
		lmi_rx_set(ps->t, set)->neg = c >= 'A' && c <= 'Z';
	return set;
}

static bool hex_digits(struct lmi_rx_parser *ps, int min, int max, uint32_t *out)
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
		return lmi_rx_fail(ps, LMD_INVALID, "invalid hexadecimal number"), false;
	return true;
}

uint32_t lmi_rx_char_escape(struct lmi_rx_parser *ps, char c)
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
					lmi_rx_fail(ps, LMD_INVALID, "\\x{ without }");
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
				lmi_rx_fail(ps, LMD_INVALID, "\\u{ without }");
			return v;
		}
		hex_digits(ps, 4, 4, &v);
		return v;
	default:
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9'))
			lmi_rx_fail(ps, LMD_UNSUPPORTED, "unknown escape");
		return (unsigned char)c;
	}
}
