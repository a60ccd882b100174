/* SPDX-License-Identifier: MIT
 *
 * Text of an expression to a tree.  Recursive descent with a bounded depth; sets are
 * finished here, so that the rest knows only set numbers. */
#include "common/rx_prog.h"

struct parser {
	struct lmi_rx_tree *t;
	const char *begin, *p, *end;
	bool icase, ruby;
	int in_set; /* brackets around */
	int depth;
};

static uint32_t parse_alt(struct parser *ps);

static uint32_t fail(struct parser *ps, enum lmd_status st, const char *what)
{
	if (ps->t->st == LMD_OK)
		ps->t->st = lmd_fail(ps->t->err, st, "regular expression, byte %zu: %s",
				     (size_t)(ps->p - ps->begin), what);
	return LMI_RX_INF;
}

static uint32_t new_node(struct parser *ps, enum lmi_rx_node_type type, uint32_t a)
{
	struct lmi_rx_tree *t = ps->t;

	if (t->st != LMD_OK)
		return LMI_RX_INF;
	if (t->n_node == LMI_RX_MAX_NODES)
		return fail(ps, LMD_UNSUPPORTED, "more than 4096 parts");
	if (!lmi_buf_need(&t->nodes, t->host, (t->n_node + 1) * sizeof(struct lmi_rx_node)))
		return fail(ps, LMD_NOMEM, "no memory");
	*lmi_rx_node(t, t->n_node) =
		(struct lmi_rx_node){.type = (uint8_t)type, .a = a, .next = LMI_RX_INF};
	return t->n_node++;
}

static uint32_t new_set(struct parser *ps)
{
	struct lmi_rx_tree *t = ps->t;

	if (t->st != LMD_OK)
		return LMI_RX_INF;
	if (t->n_set == LMI_RX_MAX_NODES)
		return fail(ps, LMD_UNSUPPORTED, "more than 4096 sets");
	if (!lmi_buf_need(&t->sets, t->host, (t->n_set + 1) * sizeof(struct lmi_rx_set)))
		return fail(ps, LMD_NOMEM, "no memory");
	*lmi_rx_set(t, t->n_set) = (struct lmi_rx_set){
		.child = LMI_RX_INF, .next = LMI_RX_INF, .cut = LMI_RX_INF};
	return t->n_set++;
}

/* Ranges of a set come in a row: a set adds all of its own before another begins, or holds
 * the others as children. */
static bool add_range(struct parser *ps, uint32_t set, uint32_t first, uint32_t last)
{
	struct lmi_rx_tree *t = ps->t;
	struct lmi_rx_set *s = lmi_rx_set(t, set);
	uint32_t inner = set;

	if (t->st != LMD_OK)
		return false;
	if (s->n_range && s->range0 + s->n_range != t->n_range) {
		inner = new_set(ps); /* another set came between */
		if (inner == LMI_RX_INF)
			return false;
		s = lmi_rx_set(t, set);
		lmi_rx_set(t, inner)->next = s->child;
		s->child = inner;
	}
	if (t->n_range == 65536)
		return fail(ps, LMD_UNSUPPORTED, "more than 65536 ranges"), false;
	if (!lmi_buf_need(&t->ranges, t->host, (t->n_range + 1) * sizeof(struct lmi_rx_range)))
		return fail(ps, LMD_NOMEM, "no memory"), false;
	s = lmi_rx_set(t, inner);
	if (!s->n_range)
		s->range0 = t->n_range;
	s->n_range++;
	((struct lmi_rx_range *)t->ranges.p)[t->n_range++] = (struct lmi_rx_range){first, last};
	return true;
}

/* One character, with both cases and the two oddities of Unicode's simple folding. */
static void add_char(struct parser *ps, uint32_t set, uint32_t cp)
{
	uint32_t low = lmi_ucd_lower(cp);

	add_range(ps, set, cp, cp);
	if (!ps->icase)
		return;
	if (low != cp)
		add_range(ps, set, low, low);
	if (low >= 'a' && low <= 'z')
		add_range(ps, set, low - 32, low - 32);
	else if (low >= 0x80)
		for (uint32_t i = 0; i < lmi_ucd_n_lower; i++)
			if (lmi_ucd_lower_table[i].to == low)
				add_range(ps, set, lmi_ucd_lower_table[i].from,
					  lmi_ucd_lower_table[i].from);
	if (low == 's')
		add_range(ps, set, 0x17f, 0x17f);
}

bool lmi_rx_set_eval(const struct lmi_rx_set *sets, const struct lmi_rx_range *ranges, uint32_t i,
		     uint32_t cp)
{
	const struct lmi_rx_set *s = &sets[i];
	bool hit = lmi_ucd_is(cp, s->cats);

	for (uint32_t r = 0; !hit && r < s->n_range; r++)
		hit = cp >= ranges[s->range0 + r].first && cp <= ranges[s->range0 + r].last;
	for (uint32_t c = s->child; !hit && c != LMI_RX_INF; c = sets[c].next)
		hit = lmi_rx_set_eval(sets, ranges, c, cp);
	hit ^= s->neg;
	return hit && (s->cut == LMI_RX_INF || lmi_rx_set_eval(sets, ranges, s->cut, cp));
}

/* Category by its one or two letters (or a long name in use); 0 = unknown. */
#define ALPHABETIC (LMI_UCD_L | 1u << LMI_NL) /* and lmi_rx_alpha */

static uint32_t category(const char *s, size_t n)
{
	static const struct {
		const char *name;
		uint32_t cats;
	} table[] = {
		{"L", LMI_UCD_L}, {"Letter", LMI_UCD_L}, {"Alphabetic", ALPHABETIC},
		{"Alpha", ALPHABETIC},
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

/* Ranges of the scripts that pre-tokenizers name. */
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

static void add_alphabetic(struct parser *ps, uint32_t set)
{
	for (uint32_t i = 0; i < lmi_rx_n_alpha; i++)
		add_range(ps, set, lmi_rx_alpha[i].first, lmi_rx_alpha[i].last);
}

/* \p{NAME} or \P{NAME}, p behind the letter; fills the set. */
static void parse_property(struct parser *ps, uint32_t set, bool neg)
{
	const char *name, *close;
	size_t n;
	uint32_t cats;

	if (ps->p < ps->end && *ps->p == '{') {
		close = memchr(ps->p, '}', (size_t)(ps->end - ps->p));
		if (!close) {
			fail(ps, LMD_INVALID, "\\p{ without }");
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
		if (cats == ALPHABETIC)
			add_alphabetic(ps, set);
		return;
	}
	for (size_t i = 0; i < LMD_LEN(scripts); i++) {
		if (strlen(scripts[i].name) != n || memcmp(scripts[i].name, name, n) != 0)
			continue;
		for (unsigned r = 0; r < scripts[i].n; r++)
			add_range(ps, set, scripts[i].range[r].first, scripts[i].range[r].last);
		if (ps->t->st == LMD_OK)
			lmi_rx_set(ps->t, set)->neg = neg;
		return;
	}
	fail(ps, LMD_UNSUPPORTED, "unknown property in \\p{}");
}

/* A class escape: \s \d \w \h \p and opposites.  LMI_RX_INF if the letter is none. */
static uint32_t class_escape(struct parser *ps, char c)
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
		set = new_set(ps);
		if (set != LMI_RX_INF)
			parse_property(ps, set, c == 'P');
		return set;
	default:
		return LMI_RX_INF;
	}
	set = new_set(ps);
	if (set == LMI_RX_INF)
		return set;
	lmi_rx_set(ps->t, set)->cats = cats;
	if (cats == LMI_RX_WORD_CATS && ps->ruby) {
		if (!ps->in_set) { /* outside of brackets alone */
			add_range(ps, set, 0xb2, 0xb3);
			add_range(ps, set, 0xb9, 0xb9);
			add_range(ps, set, 0xbc, 0xbe);
		}
		/* letters among the symbols */
		add_range(ps, set, 0x24b6, 0x24e9);
		add_range(ps, set, 0x1f130, 0x1f149);
		add_range(ps, set, 0x1f150, 0x1f169);
		add_range(ps, set, 0x1f170, 0x1f189);
	}
	if (!cats) {
		add_range(ps, set, '0', '9');
		add_range(ps, set, 'a', 'f');
		add_range(ps, set, 'A', 'F');
	}
	if (ps->t->st == LMD_OK)
		lmi_rx_set(ps->t, set)->neg = c >= 'A' && c <= 'Z';
	return set;
}

static bool hex_digits(struct parser *ps, int min, int max, uint32_t *out)
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
		return fail(ps, LMD_INVALID, "wrong hexadecimal number"), false;
	return true;
}

/* The code point of an escape that stands for one character; p is behind the letter. */
static uint32_t char_escape(struct parser *ps, char c)
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
					fail(ps, LMD_INVALID, "\\x{ without }");
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
				fail(ps, LMD_INVALID, "\\u{ without }");
			return v;
		}
		hex_digits(ps, 4, 4, &v);
		return v;
	default:
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9'))
			fail(ps, LMD_UNSUPPORTED, "unknown escape");
		return (unsigned char)c;
	}
}

/* The next character of the pattern, escapes read; only for single characters. */
static uint32_t one_char(struct parser *ps)
{
	if (*ps->p == '\\') {
		if (++ps->p == ps->end)
			return fail(ps, LMD_INVALID, "\\ at the end");
		return char_escape(ps, *ps->p++);
	}
	return lmi_utf8_get(&ps->p, ps->end);
}

static bool parse_posix(struct parser *ps, uint32_t set)
{
	static const struct {
		const char *name;
		uint32_t cats;
	} table[] = {
		{"[:space:]", LMI_UCD_SPACE}, {"[:alpha:]", ALPHABETIC}, {"[:digit:]", 1u << LMI_ND},
		{"[:upper:]", 1u << LMI_LU}, {"[:lower:]", 1u << LMI_LL},
		{"[:punct:]", LMI_UCD_P | LMI_UCD_S}, {"[:alnum:]", ALPHABETIC | 1u << LMI_ND},
	};

	for (size_t i = 0; i < LMD_LEN(table); i++) {
		size_t n = strlen(table[i].name);

		if ((size_t)(ps->end - ps->p) >= n && !memcmp(ps->p, table[i].name, n)) {
			lmi_rx_set(ps->t, set)->cats |= table[i].cats;
			ps->p += n;
			if (table[i].name[2] == 'a')
				add_alphabetic(ps, set);
			return true;
		}
	}
	return false;
}

static void add_child(struct parser *ps, uint32_t set, uint32_t child)
{
	if (ps->t->st != LMD_OK)
		return;
	lmi_rx_set(ps->t, child)->next = lmi_rx_set(ps->t, set)->child;
	lmi_rx_set(ps->t, set)->child = child;
}

static uint32_t parse_set(struct parser *ps);

/* One member of a set: a nested set, a class, a character or a range. */
static void parse_member(struct parser *ps, uint32_t set)
{
	uint32_t first, last, child;

	if (*ps->p == '[') {
		if (parse_posix(ps, set))
			return;
		ps->p++;
		add_child(ps, set, parse_set(ps));
		return;
	}
	if (*ps->p == '\\' && ps->p + 1 < ps->end) {
		const char *at = ps->p;

		ps->p += 2;
		child = class_escape(ps, at[1]);
		if (child != LMI_RX_INF) {
			add_child(ps, set, child);
			return;
		}
		if (ps->t->st != LMD_OK)
			return;
		ps->p = at;
	}
	first = one_char(ps);
	if (ps->t->st != LMD_OK)
		return;
	if (ps->end - ps->p >= 2 && ps->p[0] == '-' && ps->p[1] != ']') {
		ps->p++;
		last = one_char(ps);
		if (ps->t->st != LMD_OK)
			return;
		if (last < first) {
			fail(ps, LMD_INVALID, "range in the wrong order");
			return;
		}
		add_range(ps, set, first, last);
		if (ps->icase && first >= 'a' && last <= 'z')
			add_range(ps, set, first - 32, last - 32);
		else if (ps->icase && first >= 'A' && last <= 'Z')
			add_range(ps, set, first + 32, last + 32);
		return;
	}
	add_char(ps, set, first);
}

/* Behind [ ; reads through ]. */
static uint32_t parse_set(struct parser *ps)
{
	uint32_t first, set, whole;
	bool neg = false, any = false;

	if (++ps->depth > LMI_RX_MAX_DEPTH)
		return fail(ps, LMD_UNSUPPORTED, "nested more than 32 deep");
	ps->in_set++;
	if (ps->p < ps->end && *ps->p == '^') {
		neg = true;
		ps->p++;
	}
	first = set = new_set(ps);
	while (ps->t->st == LMD_OK) {
		if (ps->p == ps->end)
			return fail(ps, LMD_INVALID, "[ without ]");
		if (*ps->p == ']' && any) {
			ps->p++;
			break;
		}
		any = true;
		if (ps->end - ps->p >= 2 && ps->p[0] == '&' && ps->p[1] == '&') {
			uint32_t right = new_set(ps);

			ps->p += 2;
			if (right == LMI_RX_INF)
				break;
			lmi_rx_set(ps->t, set)->cut = right;
			set = right;
			continue;
		}
		parse_member(ps, set);
	}
	ps->depth--;
	ps->in_set--;
	if (ps->t->st == LMD_OK && neg) {
		whole = new_set(ps); /* the opposite of all that is inside */
		add_child(ps, whole, first);
		first = whole;
		if (ps->t->st == LMD_OK)
			lmi_rx_set(ps->t, first)->neg = true;
	}
	return ps->t->st == LMD_OK ? first : LMI_RX_INF;
}

/* Is every answer above U+007F decided by the category?  Then *mask has it. */
static bool fold(const struct lmi_rx_tree *t, uint32_t i, uint32_t *mask)
{
	const struct lmi_rx_set *s = lmi_rx_set(t, i);
	uint32_t m = s->cats, other;

	for (uint32_t r = 0; r < s->n_range; r++)
		if (((struct lmi_rx_range *)t->ranges.p)[s->range0 + r].last >= 128)
			return false;
	for (uint32_t c = s->child; c != LMI_RX_INF; c = lmi_rx_set(t, c)->next) {
		if (!fold(t, c, &other))
			return false;
		m |= other;
	}
	if (s->neg)
		m = ~m;
	if (s->cut != LMI_RX_INF) {
		if (!fold(t, s->cut, &other))
			return false;
		m &= other;
	}
	*mask = m & ((1u << LMI_N_UCD_CAT) - 1);
	return true;
}

void lmi_rx_fold_sets(struct lmi_rx_tree *t)
{
	for (uint32_t i = 0; i < t->n_set; i++) {
		struct lmi_rx_set *s = lmi_rx_set(t, i);

		for (uint32_t c = 0; c < 128; c++)
			if (lmi_rx_set_eval(t->sets.p, t->ranges.p, i, c))
				s->ascii[c >> 6] |= 1ull << (c & 63);
		s->simple = fold(t, i, &s->mask);
	}
}

static uint32_t char_node(struct parser *ps, uint32_t cp)
{
	uint32_t set = new_set(ps);

	if (set != LMI_RX_INF)
		add_char(ps, set, cp);
	return new_node(ps, LMI_RX_SET, set);
}

/* (?...) behind the question mark; reads through ). */
static uint32_t parse_special_group(struct parser *ps)
{
	enum lmi_rx_node_type type = LMI_RX_CAT;
	unsigned mode = 0;
	bool icase = ps->icase;
	uint32_t body, node;
	size_t left = (size_t)(ps->end - ps->p);

	if (left >= 1 && *ps->p == ':') {
		ps->p++;
	} else if (left >= 2 && ps->p[0] == 'i' && (ps->p[1] == ':' || ps->p[1] == ')')) {
		ps->icase = true;
		if (ps->p[1] == ')') { /* for the rest of the group around it */
			ps->p += 2;
			return new_node(ps, LMI_RX_EMPTY, 0);
		}
		ps->p += 2;
	} else if (left >= 3 && ps->p[0] == '-' && ps->p[1] == 'i' && ps->p[2] == ':') {
		ps->icase = false;
		ps->p += 3;
	} else if (left >= 1 && (*ps->p == '=' || *ps->p == '!')) {
		type = LMI_RX_LOOK;
		mode = *ps->p++ == '!';
	} else if (left >= 1 && *ps->p == '>') {
		type = LMI_RX_ATOMIC;
		ps->p++;
	} else if (left >= 2 && *ps->p == '<' && (ps->p[1] == '=' || ps->p[1] == '!')) {
		type = LMI_RX_LOOK;
		mode = 2u | (ps->p[1] == '!');
		ps->p += 2;
	} else if (left >= 3 && *ps->p == '<' && memchr(ps->p, '>', left)) { /* its name */
		ps->p = (const char *)memchr(ps->p, '>', left) + 1;
	} else {
		return fail(ps, LMD_UNSUPPORTED, "unknown kind of group");
	}
	body = parse_alt(ps);
	ps->icase = icase;
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	if (ps->p == ps->end || *ps->p != ')')
		return fail(ps, LMD_INVALID, "( without )");
	ps->p++;
	if (type == LMI_RX_CAT)
		return body;
	if ((mode & 2) && lmi_rx_node(ps->t, body)->type != LMI_RX_SET)
		return fail(ps, LMD_UNSUPPORTED, "look-behind for more than one character");
	node = new_node(ps, type, body);
	if (node != LMI_RX_INF)
		lmi_rx_node(ps->t, node)->mode = (uint8_t)mode;
	return node;
}

static uint32_t parse_escape(struct parser *ps)
{
	static const struct {
		char c;
		enum lmi_rx_assert a;
	} asserts[] = {{'b', LMI_RX_WORD}, {'B', LMI_RX_NOT_WORD}, {'A', LMI_RX_BEGIN},
		       {'z', LMI_RX_END}};
	uint32_t set;
	char c;

	if (ps->p == ps->end)
		return fail(ps, LMD_INVALID, "\\ at the end");
	c = *ps->p++;
	for (size_t i = 0; i < LMD_LEN(asserts); i++)
		if (c == asserts[i].c)
			return new_node(ps, LMI_RX_ASSERT, asserts[i].a);
	set = class_escape(ps, c);
	if (set != LMI_RX_INF)
		return new_node(ps, LMI_RX_SET, set);
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	return char_node(ps, char_escape(ps, c));
}

static uint32_t parse_atom(struct parser *ps)
{
	uint32_t node, set;
	char c = *ps->p;

	switch (c) {
	case '(':
		ps->p++;
		if (ps->p < ps->end && *ps->p == '?') {
			ps->p++;
			return parse_special_group(ps);
		}
		node = parse_alt(ps);
		if (ps->t->st != LMD_OK)
			return LMI_RX_INF;
		if (ps->p == ps->end)
			return fail(ps, LMD_INVALID, "( without )");
		ps->p++;
		return node;
	case '[':
		ps->p++;
		set = parse_set(ps);
		return new_node(ps, LMI_RX_SET, set);
	case '\\':
		ps->p++;
		return parse_escape(ps);
	case '^':
	case '$':
		ps->p++;
		if (ps->ruby)
			return new_node(ps, LMI_RX_ASSERT,
					c == '^' ? LMI_RX_LINE_BEGIN : LMI_RX_LINE_END);
		return new_node(ps, LMI_RX_ASSERT, c == '^' ? LMI_RX_BEGIN : LMI_RX_END);
	case '.':
		ps->p++;
		set = new_set(ps);
		if (set != LMI_RX_INF) {
			add_range(ps, set, '\n', '\n');
			lmi_rx_set(ps->t, set)->neg = true;
		}
		return new_node(ps, LMI_RX_SET, set);
	case '*':
	case '+':
	case '?':
		return fail(ps, LMD_INVALID, "nothing to repeat");
	default:
		return char_node(ps, lmi_utf8_get(&ps->p, ps->end));
	}
}

static bool parse_number(struct parser *ps, uint32_t *out)
{
	uint32_t v = 0;
	const char *at = ps->p;

	while (ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9') {
		v = v * 10 + (uint32_t)(*ps->p++ - '0');
		if (v > 65535)
			return fail(ps, LMD_UNSUPPORTED, "repeated more than 65535 times"), false;
	}
	*out = v;
	return ps->p > at;
}

/* {n} {n,} {n,m} at p; false and nothing read if it is no quantifier. */
static bool parse_braces(struct parser *ps, uint32_t *min, uint32_t *max)
{
	const char *at = ps->p;

	ps->p++;
	if (parse_number(ps, min)) {
		*max = *min;
		if (ps->p < ps->end && *ps->p == ',') {
			ps->p++;
			if (!parse_number(ps, max))
				*max = LMI_RX_INF;
		}
		if (ps->p < ps->end && *ps->p == '}') {
			ps->p++;
			return true;
		}
	}
	ps->p = at;
	return false;
}

static uint32_t parse_repeat(struct parser *ps)
{
	uint32_t atom = parse_atom(ps);

	while (ps->t->st == LMD_OK && ps->p < ps->end) {
		uint32_t min = 0, max = LMI_RX_INF, rep;
		uint8_t mode = LMI_RX_GREEDY;
		bool braces = *ps->p == '{';

		if (braces) {
			if (!parse_braces(ps, &min, &max))
				break;
			if (ps->t->st == LMD_OK && max < min)
				return fail(ps, LMD_INVALID, "{n,m} with m < n");
		} else if (*ps->p == '*' || *ps->p == '+' || *ps->p == '?') {
			min = *ps->p == '+';
			max = *ps->p == '?' ? 1 : LMI_RX_INF;
			ps->p++;
		} else {
			break;
		}
		if (ps->p < ps->end && (*ps->p == '?' || (*ps->p == '+' && !(braces && ps->ruby))))
			mode = *ps->p++ == '+' ? LMI_RX_POSSESSIVE : LMI_RX_LAZY;
		rep = new_node(ps, LMI_RX_REP, atom);
		if (rep == LMI_RX_INF)
			break;
		lmi_rx_node(ps->t, rep)->min = min;
		lmi_rx_node(ps->t, rep)->max = max;
		lmi_rx_node(ps->t, rep)->mode = mode;
		atom = rep;
	}
	return ps->t->st == LMD_OK ? atom : LMI_RX_INF;
}

/* Links a child that has no sibling yet behind *last. */
static void append(struct parser *ps, uint32_t parent, uint32_t *last, uint32_t child)
{
	if (ps->t->st != LMD_OK)
		return;
	if (*last == LMI_RX_INF)
		lmi_rx_node(ps->t, parent)->a = child;
	else
		lmi_rx_node(ps->t, *last)->next = child;
	*last = child;
}

static uint32_t parse_cat(struct parser *ps)
{
	uint32_t cat = LMI_RX_INF, last = LMI_RX_INF, item;

	while (ps->t->st == LMD_OK && ps->p < ps->end && *ps->p != '|' && *ps->p != ')') {
		item = parse_repeat(ps);
		if (cat == LMI_RX_INF)
			cat = new_node(ps, LMI_RX_CAT, LMI_RX_INF);
		append(ps, cat, &last, item);
	}
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	if (cat == LMI_RX_INF)
		return new_node(ps, LMI_RX_EMPTY, 0);
	item = lmi_rx_node(ps->t, cat)->a;
	return lmi_rx_node(ps->t, item)->next == LMI_RX_INF ? item : cat;
}

static uint32_t parse_alt(struct parser *ps)
{
	bool icase = ps->icase;
	uint32_t alt = LMI_RX_INF, last = LMI_RX_INF, item;

	if (++ps->depth > LMI_RX_MAX_DEPTH)
		return fail(ps, LMD_UNSUPPORTED, "nested more than 32 deep");
	item = parse_cat(ps);
	while (ps->t->st == LMD_OK && ps->p < ps->end && *ps->p == '|') {
		ps->p++;
		if (alt == LMI_RX_INF) {
			alt = new_node(ps, LMI_RX_ALT, LMI_RX_INF);
			append(ps, alt, &last, item);
		}
		item = parse_cat(ps);
		append(ps, alt, &last, item);
	}
	ps->depth--;
	ps->icase = icase;
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	return alt == LMI_RX_INF ? item : alt;
}

uint32_t lmi_rx_parse(struct lmi_rx_tree *t, const char *pattern, size_t bytes, uint32_t flags)
{
	struct parser ps = {.t = t, .begin = pattern, .p = pattern, .end = pattern + bytes,
			    .icase = flags & LMI_RX_NOCASE, .ruby = flags & LMI_RX_RUBY};
	uint32_t root;

	t->word = LMI_RX_INF;
	if (ps.ruby) {
		t->word = class_escape(&ps, 'w');
		if (t->st != LMD_OK)
			return LMI_RX_INF;
	}
	root = parse_alt(&ps);

	if (t->st == LMD_OK && ps.p < ps.end)
		return fail(&ps, LMD_INVALID, ") without (");
	return t->st == LMD_OK ? root : LMI_RX_INF;
}
