/* SPDX-License-Identifier: MIT
 *
 * Character sets: parsing of bracket expressions, and evaluation of sets. Sets are completed here;
 * other files refer to them only by number. */
#include "common/regex_parser.h"

#include <stdlib.h>
#include <string.h>

uint32_t tok_rx_new_set(struct tok_rx_parser *ps)
{
	struct tok_rx_tree *t = ps->t;

	if (t->st != LMD_OK)
		return TOK_RX_INF;
	if (t->n_set == TOK_RX_MAX_NODES)
		return tok_rx_fail(ps, LMD_UNSUPPORTED, "more than 4096 sets");
	if (!tok_buf_reserve(&t->sets, t->host, (t->n_set + 1) * sizeof(struct tok_rx_set)))
		return tok_rx_fail(ps, LMD_NOMEM, "no memory");
	*tok_rx_set(t, t->n_set) = (struct tok_rx_set){
		.child = TOK_RX_INF, .next = TOK_RX_INF, .intersect = TOK_RX_INF};
	return t->n_set++;
}

/* The ranges of a set are contiguous in the array: a set adds all its ranges before another set is
 * started, or has further sets as children. */
bool tok_rx_add_range(struct tok_rx_parser *ps, uint32_t set, uint32_t first, uint32_t last)
{
	struct tok_rx_tree *t = ps->t;
	struct tok_rx_set *s = tok_rx_set(t, set);
	uint32_t inner = set;

	if (t->st != LMD_OK)
		return false;
	if (s->n_range && s->range0 + s->n_range != t->n_range) {
		inner = tok_rx_new_set(ps); /* another set was started in between */
		if (inner == TOK_RX_INF)
			return false;
		s = tok_rx_set(t, set);
		tok_rx_set(t, inner)->next = s->child;
		s->child = inner;
	}
	if (t->n_range == 65536)
		return tok_rx_fail(ps, LMD_UNSUPPORTED, "more than 65536 ranges"), false;
	if (!tok_buf_reserve(&t->ranges, t->host, (t->n_range + 1) * sizeof(struct tok_rx_range)))
		return tok_rx_fail(ps, LMD_NOMEM, "no memory"), false;
	s = tok_rx_set(t, inner);
	if (!s->n_range)
		s->range0 = t->n_range;
	s->n_range++;
	((struct tok_rx_range *)t->ranges.p)[t->n_range++] = (struct tok_rx_range){first, last};
	return true;
}

/* Adds one character; without case, adds both cases and the two special cases of Unicode's simple
 * folding. */
void tok_rx_add_char(struct tok_rx_parser *ps, uint32_t set, uint32_t cp)
{
	uint32_t low = tok_ucd_lower(cp);

	tok_rx_add_range(ps, set, cp, cp);
	if (!ps->icase)
		return;
	if (low != cp)
		tok_rx_add_range(ps, set, low, low);
	if (low >= 'a' && low <= 'z')
		tok_rx_add_range(ps, set, low - 32, low - 32);
	else if (low >= 0x80)
		for (uint32_t i = 0; i < tok_ucd_n_lower; i++)
			if (tok_ucd_lower_table[i].to == low)
				tok_rx_add_range(ps, set, tok_ucd_lower_table[i].from,
						 tok_ucd_lower_table[i].from);
	if (low == 's')
		tok_rx_add_range(ps, set, 0x17f, 0x17f);
}

void tok_rx_add_alphabetic(struct tok_rx_parser *ps, uint32_t set)
{
	for (uint32_t i = 0; i < tok_rx_n_alpha; i++)
		tok_rx_add_range(ps, set, tok_rx_alpha[i].first, tok_rx_alpha[i].last);
}

/* Reads the next character of the pattern, decoding escapes; only for single characters. */
static uint32_t one_char(struct tok_rx_parser *ps)
{
	if (*ps->p == '\\') {
		if (++ps->p == ps->end)
			return tok_rx_fail(ps, LMD_INVALID, "\\ at the end");
		return tok_rx_char_escape(ps, *ps->p++);
	}
	return tok_utf8_get(&ps->p, ps->end);
}

static bool parse_posix(struct tok_rx_parser *ps, uint32_t set)
{
	static const struct {
		const char *name;
		uint32_t cats;
	} table[] = {
		{"[:space:]", TOK_UCD_SPACE},
		{"[:alpha:]", TOK_RX_ALPHABETIC},
		{"[:digit:]", 1u << TOK_ND},
		{"[:upper:]", 1u << TOK_LU},
		{"[:lower:]", 1u << TOK_LL},
		{"[:punct:]", TOK_UCD_P | TOK_UCD_S},
		{"[:alnum:]", TOK_RX_ALPHABETIC | 1u << TOK_ND},
	};

	for (size_t i = 0; i < LMD_LEN(table); i++) {
		size_t n = strlen(table[i].name);

		if ((size_t)(ps->end - ps->p) >= n && !memcmp(ps->p, table[i].name, n)) {
			tok_rx_set(ps->t, set)->cats |= table[i].cats;
			ps->p += n;
			if (table[i].name[2] == 'a')
				tok_rx_add_alphabetic(ps, set);
			return true;
		}
	}
	return false;
}

static void add_child(struct tok_rx_parser *ps, uint32_t set, uint32_t child)
{
	if (ps->t->st != LMD_OK)
		return;
	tok_rx_set(ps->t, child)->next = tok_rx_set(ps->t, set)->child;
	tok_rx_set(ps->t, set)->child = child;
}

/* Parses one member of a set: a nested set, a class, a character or a range. */
static void parse_member(struct tok_rx_parser *ps, uint32_t set)
{
	uint32_t first, last, child;

	if (*ps->p == '[') {
		if (parse_posix(ps, set))
			return;
		ps->p++;
		add_child(ps, set, tok_rx_parse_set(ps));
		return;
	}
	if (*ps->p == '\\' && ps->p + 1 < ps->end) {
		const char *at = ps->p;

		ps->p += 2;
		child = tok_rx_class_escape(ps, at[1]);
		if (child != TOK_RX_INF) {
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
			tok_rx_fail(ps, LMD_INVALID, "range in the wrong order");
			return;
		}
		tok_rx_add_range(ps, set, first, last);
		if (ps->icase && first >= 'a' && last <= 'z')
			tok_rx_add_range(ps, set, first - 32, last - 32);
		else if (ps->icase && first >= 'A' && last <= 'Z')
			tok_rx_add_range(ps, set, first + 32, last + 32);
		return;
	}
	tok_rx_add_char(ps, set, first);
}

uint32_t tok_rx_parse_set(struct tok_rx_parser *ps)
{
	uint32_t first, set, whole;
	bool neg = false, any = false;

	if (++ps->depth > TOK_RX_MAX_DEPTH)
		return tok_rx_fail(ps, LMD_UNSUPPORTED, "nested more than 32 deep");
	ps->in_set++;
	if (ps->p < ps->end && *ps->p == '^') {
		neg = true;
		ps->p++;
	}
	first = set = tok_rx_new_set(ps);
	while (ps->t->st == LMD_OK) {
		if (ps->p == ps->end)
			return tok_rx_fail(ps, LMD_INVALID, "[ without ]");
		if (*ps->p == ']' && any) {
			ps->p++;
			break;
		}
		any = true;
		if (ps->end - ps->p >= 2 && ps->p[0] == '&' && ps->p[1] == '&') {
			uint32_t right = tok_rx_new_set(ps);

			ps->p += 2;
			if (right == TOK_RX_INF)
				break;
			tok_rx_set(ps->t, set)->intersect = right;
			set = right;
			continue;
		}
		parse_member(ps, set);
	}
	ps->depth--;
	ps->in_set--;
	if (ps->t->st == LMD_OK && neg) {
		whole = tok_rx_new_set(ps); /* the complement of everything inside */
		add_child(ps, whole, first);
		first = whole;
		if (ps->t->st == LMD_OK)
			tok_rx_set(ps->t, first)->neg = true;
	}
	return ps->t->st == LMD_OK ? first : TOK_RX_INF;
}

static int by_first(const void *a, const void *b)
{
	const struct tok_rx_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts and merges the ranges for in_ranges; returns the new number of ranges. */
static uint32_t sort_ranges(struct tok_rx_range *r, uint32_t n)
{
	uint32_t k = 0;

	if (n < 2)
		return n;
	qsort(r, n, sizeof(*r), by_first);
	for (uint32_t i = 1; i < n; i++) {
		if (r[i].first > r[k].last)
			r[++k] = r[i];
		else if (r[i].last > r[k].last)
			r[k].last = r[i].last;
	}
	return k + 1;
}

static bool in_ranges(const struct tok_rx_range *r, uint32_t n, uint32_t cp)
{
	while (n > 1) { /* the last range that starts at cp or before is r[0] or later */
		uint32_t half = n / 2;

		r += r[half].first <= cp ? half : 0;
		n -= half;
	}
	return cp >= r->first && cp <= r->last;
}

bool tok_rx_set_eval(const struct tok_rx_set *sets, const struct tok_rx_range *ranges, uint32_t i,
		     uint32_t cp)
{
	const struct tok_rx_set *s = &sets[i];
	bool hit = tok_ucd_is(cp, s->cats) ||
		   (s->n_range && in_ranges(ranges + s->range0, s->n_range, cp));

	for (uint32_t c = s->child; !hit && c != TOK_RX_INF; c = sets[c].next)
		hit = tok_rx_set_eval(sets, ranges, c, cp);
	hit ^= s->neg;
	return hit &&
	       (s->intersect == TOK_RX_INF || tok_rx_set_eval(sets, ranges, s->intersect, cp));
}

/* Returns true if membership above U+007F depends only on the category; *mask is then the set of
 * categories. */
static bool fold(const struct tok_rx_tree *t, uint32_t i, uint32_t *mask)
{
	const struct tok_rx_set *s = tok_rx_set(t, i);
	uint32_t m = s->cats, other;

	for (uint32_t r = 0; r < s->n_range; r++)
		if (((struct tok_rx_range *)t->ranges.p)[s->range0 + r].last >= 128)
			return false;
	for (uint32_t c = s->child; c != TOK_RX_INF; c = tok_rx_set(t, c)->next) {
		if (!fold(t, c, &other))
			return false;
		m |= other;
	}
	if (s->neg)
		m = ~m;
	if (s->intersect != TOK_RX_INF) {
		if (!fold(t, s->intersect, &other))
			return false;
		m &= other;
	}
	*mask = m & ((1u << TOK_N_UCD_CAT) - 1);
	return true;
}

void tok_rx_fold_sets(struct tok_rx_tree *t)
{
	for (uint32_t i = 0; i < t->n_set; i++) {
		struct tok_rx_set *s = tok_rx_set(t, i);

		if (s->n_range)
			s->n_range = sort_ranges((struct tok_rx_range *)t->ranges.p + s->range0,
						 s->n_range);
	}
	for (uint32_t i = 0; i < t->n_set; i++) {
		struct tok_rx_set *s = tok_rx_set(t, i);

		for (uint32_t c = 0; c < 128; c++)
			if (tok_rx_set_eval(t->sets.p, t->ranges.p, i, c))
				s->ascii[c >> 6] |= 1ull << (c & 63);
		s->simple = fold(t, i, &s->mask);
	}
}
