/* SPDX-License-Identifier: MIT
 *
 * Keys that are none of a set of names. Each prefix of a name has a rule: it continues with the
 * next character of a name to the rule of the longer prefix, or leaves all names for good with any
 * other character, however that character is written. */
#include <stdlib.h>
#include <string.h>

#include "core/grammar/schema.h"

#include "core/base/utf8.h"

/* A name as an array of code points. */
struct name {
	uint32_t *c;
	uint32_t n;
};

/* Names from..to of the sorted list share their first `at` characters. */
struct part {
	uint32_t from, to, at, rule;
};

struct keys {
	struct lmi_gr_schema_compiler *s;
	struct name *name;
	struct part *part; /* stack of parts still to do */
	uint32_t n, cap;
	uint32_t rest; /* rule: any characters and the closing quote */
};

static int by_text(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	for (uint32_t i = 0; i < x->n && i < y->n; i++)
		if (x->c[i] != y->c[i])
			return x->c[i] < y->c[i] ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static void no_memory(struct lmi_gr_schema_compiler *s)
{
	lmi_grammar_builder_no_memory(&s->b);
}

static uint32_t push(struct keys *k, uint32_t from, uint32_t to, uint32_t at)
{
	uint32_t rule = lmi_grammar_builder_add_rule(&k->s->b, "key");

	if (k->n == k->cap) {
		uint32_t cap = k->cap ? 2 * k->cap : 64;
		struct part *p = lmi_arena_array(k->s->b.arena, cap, sizeof(*p));

		if (!p) {
			no_memory(k->s);
			return rule;
		}
		if (k->n)
			memcpy(p, k->part, k->n * sizeof(*p));
		k->part = p;
		k->cap = cap;
	}
	k->part[k->n++] = (struct part){from, to, at, rule};
	return rule;
}

/* The hexadecimal digits, lower case, of the \uXXXX escape of a character. For a character beyond
 * 16 bits it is the first half of its surrogate pair, which is enough to tell it from others. */
static uint32_t unit_of(uint32_t c)
{
	return c < 0x10000 ? c : 0xd800 + ((c - 0x10000) >> 10);
}

static bool among(const uint32_t *list, uint32_t n, uint32_t v)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return false;
}

/* Matches four hexadecimal digits, from digit `at` on, that are none of the units, all of which
 * share the digits before `at`. */
static struct lmi_grammar_expr *other_hex(struct lmi_gr_schema_compiler *s, const uint32_t *unit,
					  uint32_t n, int at)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);
	struct lmi_grammar_expr *free_digit = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS), *any,
				*rest;
	uint32_t *same = lmi_arena_array(s->b.arena, n, sizeof(*same));

	if (!same) {
		no_memory(s);
		return NULL;
	}
	any = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);
	for (uint32_t d = 0; d < 16 && !lmi_gr_schema_failed(s); d++) {
		uint32_t lower = "0123456789abcdef"[d] & 0xffu,
			 upper = "0123456789ABCDEF"[d] & 0xffu;
		struct lmi_grammar_expr *digit;
		uint32_t n_same = 0;

		lmi_grammar_expr_add_range(&s->b, any, lower, lower);
		lmi_grammar_expr_add_range(&s->b, any, upper, upper);
		for (uint32_t i = 0; i < n; i++)
			if ((unit[i] >> (12 - 4 * at) & 15) == d)
				same[n_same++] = unit[i];
		if (!n_same) {
			lmi_grammar_expr_add_range(&s->b, free_digit, lower, lower);
			lmi_grammar_expr_add_range(&s->b, free_digit, upper, upper);
			continue;
		}
		if (at == 3)
			continue;
		digit = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);
		lmi_grammar_expr_add_range(&s->b, digit, lower, lower);
		lmi_grammar_expr_add_range(&s->b, digit, upper, upper);
		if (!lmi_gr_schema_failed(s))
			lmi_grammar_expr_class_finish(&s->b, digit, false);
		lmi_grammar_expr_append(
			&s->b, alt,
			lmi_gr_schema_seq(s, digit, other_hex(s, same, n_same, at + 1), NULL));
	}
	if (lmi_gr_schema_failed(s))
		return NULL;
	lmi_grammar_expr_class_finish(&s->b, free_digit, false);
	lmi_grammar_expr_class_finish(&s->b, any, false);
	rest = lmi_grammar_expr_repeat(&s->b, any, (uint32_t)(3 - at), (uint32_t)(3 - at));
	lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_seq(s, free_digit, rest, NULL));
	return alt;
}

/* Matches one character, in any notation, that is none of c[n]. */
static struct lmi_grammar_expr *other_char(struct lmi_gr_schema_compiler *s, const uint32_t *c,
					   uint32_t n)
{
	static const char short_escape[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT), *letter, *raw,
				*unicode;
	uint32_t *unit = lmi_arena_array(s->b.arena, n + 1, sizeof(*unit));

	if (!unit) {
		no_memory(s);
		return NULL;
	}
	raw = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);
	letter = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);
	lmi_grammar_expr_add_range(&s->b, raw, 1, 0x1f);
	lmi_grammar_expr_add_range(&s->b, raw, '"', '"');
	lmi_grammar_expr_add_range(&s->b, raw, '\\', '\\');
	lmi_grammar_expr_add_range(&s->b, raw, 0x110000, LMI_GRAMMAR_CHAR_END - 1);
	for (uint32_t i = 0; i < n; i++) {
		lmi_grammar_expr_add_range(&s->b, raw, c[i], c[i]);
		unit[i] = unit_of(c[i]);
	}
	for (const char *p = short_escape; *p; p += 2)
		if (!among(c, n, (unsigned char)p[1]))
			lmi_grammar_expr_add_range(&s->b, letter, (unsigned char)p[0],
						   (unsigned char)p[0]);
	if (lmi_gr_schema_failed(s))
		return NULL;
	lmi_grammar_expr_class_finish(&s->b, raw, true);
	lmi_grammar_expr_class_finish(&s->b, letter, false);
	unicode =
		lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\\u"), other_hex(s, unit, n, 0), NULL);
	lmi_grammar_expr_append(&s->b, alt, raw);
	lmi_grammar_expr_append(&s->b, alt,
				lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\\"), letter, NULL));
	lmi_grammar_expr_append(&s->b, alt, unicode);
	return alt;
}

static size_t to_utf8(uint32_t c, char out[4])
{
	size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3, n = 0;

	out[n++] = (char)(more ? (0xf00u >> (more + 1)) | c >> (6 * more) : c);
	while (more--)
		out[n++] = (char)(0x80 | (c >> (6 * more) & 0x3f));
	return n;
}

/* \uXXXX with digits in either case. */
static void add_unit(struct lmi_gr_schema_compiler *s, struct lmi_grammar_expr *seq, uint32_t unit)
{
	lmi_grammar_expr_append(&s->b, seq, lmi_gr_schema_ascii(s, "\\u"));
	for (int shift = 12; shift >= 0; shift -= 4) {
		struct lmi_grammar_expr *digit = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);
		uint32_t d = unit >> shift & 15;

		lmi_grammar_expr_add_range(&s->b, digit, "0123456789abcdef"[d] & 0xffu,
					   "0123456789abcdef"[d] & 0xffu);
		lmi_grammar_expr_add_range(&s->b, digit, "0123456789ABCDEF"[d] & 0xffu,
					   "0123456789ABCDEF"[d] & 0xffu);
		if (!lmi_gr_schema_failed(s))
			lmi_grammar_expr_class_finish(&s->b, digit, false);
		lmi_grammar_expr_append(&s->b, seq, digit);
	}
}

/* Matches this character in any notation. */
static struct lmi_grammar_expr *this_char(struct lmi_gr_schema_compiler *s, uint32_t c)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT),
				*units = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_SEQ);
	char text[4];

	lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_chars(s, text, to_utf8(c, text)));
	if (c == '/')
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "\\/"));
	add_unit(s, units, unit_of(c));
	if (c >= 0x10000)
		add_unit(s, units, 0xdc00 + ((c - 0x10000) & 0x3ff));
	lmi_grammar_expr_append(&s->b, alt, units);
	return alt;
}

static void one_part(struct keys *k, struct part p)
{
	struct lmi_gr_schema_compiler *s = k->s;
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT), *other;
	uint32_t *next = lmi_arena_array(s->b.arena, p.to - p.from, sizeof(*next)), n = 0;
	uint32_t i = p.from;
	bool ends = k->name[i].n == p.at; /* the shortest name is the first */

	if (!next) {
		no_memory(s);
		return;
	}
	while (i < p.to && k->name[i].n == p.at)
		i++;
	while (i < p.to && !lmi_gr_schema_failed(s)) {
		uint32_t c = k->name[i].c[p.at], from = i;

		while (i < p.to && k->name[i].c[p.at] == c)
			i++;
		next[n++] = c;
		lmi_grammar_expr_append(
			&s->b, alt,
			lmi_gr_schema_seq(s, this_char(s, c),
					  lmi_grammar_expr_rule(&s->b, push(k, from, i, p.at + 1)),
					  NULL));
	}
	other = n ? other_char(s, next, n) : lmi_gr_schema_common(s, LMI_GR_COMMON_CHAR);
	lmi_grammar_expr_append(
		&s->b, alt,
		lmi_gr_schema_seq(s, other, lmi_grammar_expr_rule(&s->b, k->rest), NULL));
	if (!ends)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "\""));
	if (!lmi_gr_schema_failed(s))
		s->b.rule[p.rule] = alt;
}

static bool read_name(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *v,
		      struct name *out)
{
	out->c = lmi_arena_array(s->b.arena, (size_t)v->n + 1, sizeof(*out->c));
	if (!out->c) {
		no_memory(s);
		return false;
	}
	for (size_t at = 0; at < v->n;)
		out->c[out->n++] = lmi_utf8_next(v->u.s, v->n, &at);
	return true;
}

struct lmi_grammar_expr *lmi_gr_schema_key_except(struct lmi_gr_schema_compiler *s,
						  const struct lmi_json_node *const *names,
						  uint32_t n)
{
	struct keys k = {.s = s, .name = lmi_arena_array(s->b.arena, n, sizeof(*k.name))};
	uint32_t first;

	if (!k.name) {
		no_memory(s);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!read_name(s, names[i], &k.name[i]))
			return NULL;
	qsort(k.name, n, sizeof(*k.name), by_text);
	k.rest = lmi_grammar_builder_add_rule(&s->b, "key");
	first = push(&k, 0, n, 0);
	if (lmi_gr_schema_failed(s))
		return NULL;
	s->b.rule[k.rest] = lmi_gr_schema_seq(
		s,
		lmi_grammar_expr_repeat(&s->b, lmi_gr_schema_common(s, LMI_GR_COMMON_CHAR), 0,
					UINT32_MAX),
		lmi_gr_schema_ascii(s, "\""), NULL);
	while (k.n && !lmi_gr_schema_failed(s))
		one_part(&k, k.part[--k.n]);
	return lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\""),
				 lmi_grammar_expr_rule(&s->b, first), NULL);
}
