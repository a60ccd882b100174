/* SPDX-License-Identifier: MIT
 *
 * Character sets: parsing of bracket expressions, and evaluation of sets. Sets are completed here;
 * other files refer to them only by number. */
#include "common/rx_parser.h"

#include <stdlib.h>

uint32_t lmi_rx_new_set(struct lmi_rx_parser *ps)
{
	struct lmi_rx_tree *t = ps->t;

	if (t->st != LMD_OK)
		return LMI_RX_INF;
	if (t->n_set == LMI_RX_MAX_NODES)
		return lmi_rx_fail(ps, LMD_UNSUPPORTED, "more than 4096 sets");
	if (!lmi_buf_need(&t->sets, t->host, (t->n_set + 1) * sizeof(struct lmi_rx_set)))
		return lmi_rx_fail(ps, LMD_NOMEM, "no memory");
	*lmi_rx_set(t, t->n_set) = (struct lmi_rx_set){
		.child = LMI_RX_INF, .next = LMI_RX_INF, .cut = LMI_RX_INF};
	return t->n_set++;
}

/* The ranges of a set are contiguous in the array: a set adds all its ranges before another set is
 * started, or has further sets as children. */
bool lmi_rx_add_range(struct lmi_rx_parser *ps, uint32_t set, uint32_t first, uint32_t last)
{
	struct lmi_rx_tree *t = ps->t;
	struct lmi_rx_set *s = lmi_rx_set(t, set);
	uint32_t inner = set;

	if (t->st != LMD_OK)
		return false;
	if (s->n_range && s->range0 + s->n_range != t->n_range) {
		inner = lmi_rx_new_set(ps); /* another set was started in between */
		if (inner == LMI_RX_INF)
			return false;
		s = lmi_rx_set(t, set);
		lmi_rx_set(t, inner)->next = s->child;
		s->child = inner;
	}
	if (t->n_range == 65536)
		return lmi_rx_fail(ps, LMD_UNSUPPORTED, "more than 65536 ranges"), false;
	if (!lmi_buf_need(&t->ranges, t->host, (t->n_range + 1) * sizeof(struct lmi_rx_range)))
		return lmi_rx_fail(ps, LMD_NOMEM, "no memory"), false;
	s = lmi_rx_set(t, inner);
	if (!s->n_range)
		s->range0 = t->n_range;
	s->n_range++;
	((struct lmi_rx_range *)t->ranges.p)[t->n_range++] = (struct lmi_rx_range){first, last};
	return true;
}

/* Adds one character; without case, adds both cases and the two special cases of Unicode's simple
 * folding. */
void lmi_rx_add_char(struct lmi_rx_parser *ps, uint32_t set, uint32_t cp)
{
	uint32_t low = lmi_ucd_lower(cp);

	lmi_rx_add_range(ps, set, cp, cp);
	if (!ps->icase)
		return;
	if (low != cp)
		lmi_rx_add_range(ps, set, low, low);
	if (low >= 'a' && low <= 'z')
		lmi_rx_add_range(ps, set, low - 32, low - 32);
	else if (low >= 0x80)
		for (uint32_t i = 0; i < lmi_ucd_n_lower; i++)
			if (lmi_ucd_lower_table[i].to == low)
				lmi_rx_add_range(ps, set, lmi_ucd_lower_table[i].from,
					  lmi_ucd_lower_table[i].from);
	if (low == 's')
		lmi_rx_add_range(ps, set, 0x17f, 0x17f);
}

void lmi_rx_add_alphabetic(struct lmi_rx_parser *ps, uint32_t set)
{
	for (uint32_t i = 0; i < lmi_rx_n_alpha; i++)
		lmi_rx_add_range(ps, set, lmi_rx_alpha[i].first, lmi_rx_alpha[i].last);
}

/* Reads the next character of the pattern, decoding escapes; only for single characters. */
static uint32_t one_char(struct lmi_rx_parser *ps)
{
	if (*ps->p == '\\') {
		if (++ps->p == ps->end)
			return lmi_rx_fail(ps, LMD_INVALID, "\\ at the end");
		return lmi_rx_char_escape(ps, *ps->p++);
	}
	return lmi_utf8_get(&ps->p, ps->end);
}

static bool parse_posix(struct lmi_rx_parser *ps, uint32_t set)
{
	static const struct {
		const char *name;
		uint32_t cats;
	} table[] = {
		{"[:space:]", LMI_UCD_SPACE}, {"[:alpha:]", LMI_RX_ALPHABETIC}, {"[:digit:]", 1u << LMI_ND},
		{"[:upper:]", 1u << LMI_LU}, {"[:lower:]", 1u << LMI_LL},
		{"[:punct:]", LMI_UCD_P | LMI_UCD_S}, {"[:alnum:]", LMI_RX_ALPHABETIC | 1u << LMI_ND},
	};

	for (size_t i = 0; i < LMD_LEN(table); i++) {
		size_t n = strlen(table[i].name);

		if ((size_t)(ps->end - ps->p) >= n && !memcmp(ps->p, table[i].name, n)) {
			lmi_rx_set(ps->t, set)->cats |= table[i].cats;
			ps->p += n;
			if (table[i].name[2] == 'a')
				lmi_rx_add_alphabetic(ps, set);
			return true;
		}
	}
	return false;
}

static void add_child(struct lmi_rx_parser *ps, uint32_t set, uint32_t child)
{
	if (ps->t->st != LMD_OK)
		return;
	lmi_rx_set(ps->t, child)->next = lmi_rx_set(ps->t, set)->child;
	lmi_rx_set(ps->t, set)->child = child;
}

/* Parses one member of a set: a nested set, a class, a character or a range. */
static void parse_member(struct lmi_rx_parser *ps, uint32_t set)
{
	uint32_t first, last, child;

	if (*ps->p == '[') {
		if (parse_posix(ps, set))
			return;
		ps->p++;
		add_child(ps, set, lmi_rx_parse_set(ps));
		return;
	}
	if (*ps->p == '\\' && ps->p + 1 < ps->end) {
		const char *at = ps->p;

		ps->p += 2;
		child = lmi_rx_class_escape(ps, at[1]);
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
			lmi_rx_fail(ps, LMD_INVALID, "range in the wrong order");
			return;
		}
		lmi_rx_add_range(ps, set, first, last);
		if (ps->icase && first >= 'a' && last <= 'z')
			lmi_rx_add_range(ps, set, first - 32, last - 32);
		else if (ps->icase && first >= 'A' && last <= 'Z')
			lmi_rx_add_range(ps, set, first + 32, last + 32);
		return;
	}
	lmi_rx_add_char(ps, set, first);
}

uint32_t lmi_rx_parse_set(struct lmi_rx_parser *ps)
{
	uint32_t first, set, whole;
	bool neg = false, any = false;

	if (++ps->depth > LMI_RX_MAX_DEPTH)
		return lmi_rx_fail(ps, LMD_UNSUPPORTED, "nested more than 32 deep");
	ps->in_set++;
	if (ps->p < ps->end && *ps->p == '^') {
		neg = true;
		ps->p++;
	}
	first = set = lmi_rx_new_set(ps);
	while (ps->t->st == LMD_OK) {
		if (ps->p == ps->end)
			return lmi_rx_fail(ps, LMD_INVALID, "[ without ]");
		if (*ps->p == ']' && any) {
			ps->p++;
			break;
		}
		any = true;
		if (ps->end - ps->p >= 2 && ps->p[0] == '&' && ps->p[1] == '&') {
			uint32_t right = lmi_rx_new_set(ps);

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
		whole = lmi_rx_new_set(ps); /* the complement of everything inside */
		add_child(ps, whole, first);
		first = whole;
		if (ps->t->st == LMD_OK)
			lmi_rx_set(ps->t, first)->neg = true;
	}
	return ps->t->st == LMD_OK ? first : LMI_RX_INF;
}

static int by_first(const void *a, const void *b)
{
	const struct lmi_rx_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts and merges the ranges for in_ranges; returns the new number of ranges. */
static uint32_t sort_ranges(struct lmi_rx_range *r, uint32_t n)
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

static bool in_ranges(const struct lmi_rx_range *r, uint32_t n, uint32_t cp)
{
	while (n > 1) { /* the last range that starts at cp or before is r[0] or later */
		uint32_t half = n / 2;

		r += r[half].first <= cp ? half : 0;
		n -= half;
	}
	return cp >= r->first && cp <= r->last;
}

bool lmi_rx_set_eval(const struct lmi_rx_set *sets, const struct lmi_rx_range *ranges, uint32_t i,
		     uint32_t cp)
{
	const struct lmi_rx_set *s = &sets[i];
	bool hit = lmi_ucd_is(cp, s->cats) ||
		   (s->n_range && in_ranges(ranges + s->range0, s->n_range, cp));

	for (uint32_t c = s->child; !hit && c != LMI_RX_INF; c = sets[c].next)
		hit = lmi_rx_set_eval(sets, ranges, c, cp);
	hit ^= s->neg;
	return hit && (s->cut == LMI_RX_INF || lmi_rx_set_eval(sets, ranges, s->cut, cp));
}

/* Returns true if membership above U+007F depends only on the category; *mask is then the set of
 * categories. */
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

		if (s->n_range)
			s->n_range = sort_ranges((struct lmi_rx_range *)t->ranges.p + s->range0,
						 s->n_range);
	}
	for (uint32_t i = 0; i < t->n_set; i++) {
		struct lmi_rx_set *s = lmi_rx_set(t, i);

		for (uint32_t c = 0; c < 128; c++)
			if (lmi_rx_set_eval(t->sets.p, t->ranges.p, i, c))
				s->ascii[c >> 6] |= 1ull << (c & 63);
		s->simple = fold(t, i, &s->mask);
	}
}
