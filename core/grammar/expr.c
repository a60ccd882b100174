/* SPDX-License-Identifier: MIT
 *
 * Construction of expressions. */
#include "core/grammar/expr.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cancel.h"
#include "core/base/utf8.h"

/* Steps for an expression, and for a range that is sorted later. */
#define NEW_STEPS  8
#define SORT_STEPS 8

enum lmd_status lmi_grammar_builder_init(struct lmi_grammar_builder *b, struct lmd_error *err)
{
	*b = (struct lmi_grammar_builder){.err = err};
	b->arena = lmi_arena_create(LMI_GRAMMAR_BUILD_BYTES_MAX);
	return b->arena ? LMD_OK : lmd_fail(err, LMD_NOMEM, "grammar: out of memory");
}

void lmi_grammar_builder_fini(struct lmi_grammar_builder *b)
{
	lmi_arena_destroy(b->arena);
}

void lmi_grammar_builder_fail(struct lmi_grammar_builder *b, enum lmd_status st, const char *fmt,
			      ...)
{
	char text[LMD_ERROR_TEXT];
	va_list ap;

	if (b->st != LMD_OK)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	b->st = lmd_fail(b->err, st, "%s", text);
}

void lmi_grammar_builder_step(struct lmi_grammar_builder *b, uint64_t n)
{
	if (!lmi_cancel_step(n))
		lmi_grammar_builder_fail(b, LMD_CANCELLED, "grammar: cancelled");
}

void lmi_grammar_builder_no_memory(struct lmi_grammar_builder *b)
{
	lmi_grammar_builder_fail(b, LMD_NOMEM,
				 "grammar: out of memory, or its expressions need more than %u MiB; "
				 "shorten it",
				 LMI_GRAMMAR_BUILD_BYTES_MAX >> 20);
}

/* Makes room for one more element in an array of n elements with capacity *cap; returns the array,
 * or NULL. */
static void *grow(struct lmi_grammar_builder *b, void *old, uint32_t n, uint32_t *cap, size_t item)
{
	uint32_t want = *cap ? 2 * *cap : 4;
	void *p;

	if (n < *cap)
		return old;
	p = want > *cap ? lmi_arena_array(b->arena, want, item) : NULL;
	if (!p) {
		lmi_grammar_builder_no_memory(b);
		return NULL;
	}
	if (n)
		memcpy(p, old, n * item);
	*cap = want;
	return p;
}

uint32_t lmi_grammar_builder_add_rule(struct lmi_grammar_builder *b, const char *name)
{
	uint32_t cap = b->cap_rules;
	struct lmi_grammar_expr **rule;
	const char **names;

	lmi_grammar_builder_step(b, NEW_STEPS);
	if (b->n_rules == LMI_GRAMMAR_RULES_MAX)
		lmi_grammar_builder_fail(b, LMD_INVALID,
					 "grammar: too many rules: at most %d are allowed",
					 LMI_GRAMMAR_RULES_MAX);
	if (b->st != LMD_OK)
		return 0;
	rule = grow(b, b->rule, b->n_rules, &cap, sizeof(*rule));
	names = grow(b, b->name, b->n_rules, &b->cap_rules, sizeof(*names));
	if (!rule || !names)
		return 0;
	b->rule = rule;
	b->name = names;
	b->rule[b->n_rules] = NULL;
	b->name[b->n_rules] = name;
	return b->n_rules++;
}

struct lmi_grammar_expr *lmi_grammar_expr_new(struct lmi_grammar_builder *b,
					      enum lmi_grammar_expr_kind kind)
{
	struct lmi_grammar_expr *e = lmi_arena_alloc(b->arena, sizeof(*e), 16);

	lmi_grammar_builder_step(b, NEW_STEPS);
	if (!e) {
		lmi_grammar_builder_no_memory(b);
		return NULL;
	}
	e->kind = kind;
	return e;
}

void lmi_grammar_expr_append(struct lmi_grammar_builder *b, struct lmi_grammar_expr *list,
			     struct lmi_grammar_expr *kid)
{
	struct lmi_grammar_expr **kids;

	if (b->st != LMD_OK)
		return;
	kids = grow(b, list->u.kids, list->n, &list->cap, sizeof(struct lmi_grammar_expr *));
	if (!kids)
		return;
	list->u.kids = kids;
	list->u.kids[list->n++] = kid;
	if (kid->depth >= list->depth)
		list->depth = kid->depth + 1;
	if (list->depth > LMI_GRAMMAR_DEPTH_MAX)
		lmi_grammar_builder_fail(
			b, LMD_INVALID, "grammar: nested too deeply: at most %d levels are allowed",
			LMI_GRAMMAR_DEPTH_MAX);
}

void lmi_grammar_expr_add_char(struct lmi_grammar_builder *b, struct lmi_grammar_expr *text,
			       uint32_t c)
{
	uint32_t *chars;

	lmi_grammar_builder_step(b, 1);
	if (b->st != LMD_OK)
		return;
	chars = grow(b, text->u.chars, text->n, &text->cap, sizeof(*chars));
	if (!chars)
		return;
	text->u.chars = chars;
	text->u.chars[text->n++] = c;
}

void lmi_grammar_expr_add_range(struct lmi_grammar_builder *b, struct lmi_grammar_expr *cls,
				uint32_t lo, uint32_t hi)
{
	struct lmi_gr_char_range *r;

	lmi_grammar_builder_step(b, SORT_STEPS);
	if (b->st != LMD_OK)
		return;
	r = grow(b, cls->u.ranges, cls->n, &cls->cap, sizeof(*r));
	if (!r)
		return;
	cls->u.ranges = r;
	cls->u.ranges[cls->n++] = (struct lmi_gr_char_range){lo, hi};
}

static int by_lo(const void *a, const void *b)
{
	const struct lmi_gr_char_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Merges adjacent sorted ranges and removes NUL. */
static uint32_t merge_ranges(struct lmi_gr_char_range *r, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t lo = r[i].lo ? r[i].lo : 1;

		if (lo > r[i].hi)
			continue;
		if (k && lo <= r[k - 1].hi + 1) {
			if (r[i].hi > r[k - 1].hi)
				r[k - 1].hi = r[i].hi;
		} else {
			r[k++] = (struct lmi_gr_char_range){lo, r[i].hi};
		}
	}
	return k;
}

void lmi_grammar_expr_class_finish(struct lmi_grammar_builder *b, struct lmi_grammar_expr *cls,
				   bool negate)
{
	struct lmi_grammar_expr *c;
	uint32_t next = 1;

	if (b->st != LMD_OK)
		return;
	if (cls->n)
		qsort(cls->u.ranges, cls->n, sizeof(*cls->u.ranges), by_lo);
	cls->n = merge_ranges(cls->u.ranges, cls->n);
	if (!negate)
		return;
	c = lmi_grammar_expr_new(b, LMI_GR_EXPR_CLASS);
	for (uint32_t i = 0; i < cls->n && b->st == LMD_OK; i++) {
		if (cls->u.ranges[i].lo > next)
			lmi_grammar_expr_add_range(b, c, next, cls->u.ranges[i].lo - 1);
		next = cls->u.ranges[i].hi + 1;
	}
	if (b->st == LMD_OK && next < LMI_GRAMMAR_CHAR_END)
		lmi_grammar_expr_add_range(b, c, next, LMI_GRAMMAR_CHAR_END - 1);
	if (b->st == LMD_OK)
		*cls = *c;
}

struct lmi_grammar_expr *lmi_grammar_expr_rule(struct lmi_grammar_builder *b, uint32_t rule)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(b, LMI_GR_EXPR_RULE);

	if (e)
		e->number = rule;
	return e;
}

struct lmi_grammar_expr *lmi_grammar_expr_text(struct lmi_grammar_builder *b, const char *utf8,
					       size_t bytes)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(b, LMI_GR_EXPR_TEXT);

	for (size_t at = 0; at < bytes && b->st == LMD_OK;) {
		uint32_t c = lmi_utf8_next(utf8, bytes, &at);

		if (c >= LMI_GRAMMAR_CHAR_END)
			lmi_grammar_builder_fail(b, LMD_INVALID,
						 "grammar: a text is not valid UTF-8");
		lmi_grammar_expr_add_char(b, e, c);
	}
	return e;
}

struct lmi_grammar_expr *lmi_grammar_expr_range(struct lmi_grammar_builder *b, uint32_t lo,
						uint32_t hi)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(b, LMI_GR_EXPR_CLASS);

	lmi_grammar_expr_add_range(b, e, lo, hi);
	lmi_grammar_expr_class_finish(b, e, false);
	return e;
}

struct lmi_grammar_expr *lmi_grammar_expr_repeat(struct lmi_grammar_builder *b,
						 struct lmi_grammar_expr *kid, uint32_t min,
						 uint32_t max)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(b, LMI_GR_EXPR_REPEAT);

	lmi_grammar_expr_append(b, e, kid);
	if (b->st == LMD_OK) {
		e->min = min;
		e->max = max;
	}
	return e;
}

struct lmi_grammar_expr *lmi_grammar_expr_optional(struct lmi_grammar_builder *b,
						   struct lmi_grammar_expr *kid)
{
	return lmi_grammar_expr_repeat(b, kid, 0, 1);
}

struct lmi_grammar_expr *lmi_grammar_expr_concat(struct lmi_grammar_builder *b,
						 struct lmi_grammar_expr *x,
						 struct lmi_grammar_expr *y)
{
	struct lmi_grammar_expr *s;

	if (!x || !y)
		return x ? x : y;
	s = lmi_grammar_expr_new(b, LMI_GR_EXPR_SEQ);
	lmi_grammar_expr_append(b, s, x);
	lmi_grammar_expr_append(b, s, y);
	return s;
}

struct lmi_grammar_expr *lmi_grammar_expr_unwrap(struct lmi_grammar_expr *list)
{
	return list && (list->kind == LMI_GR_EXPR_SEQ || list->kind == LMI_GR_EXPR_ALT) &&
			       list->n == 1
		       ? list->u.kids[0]
		       : list;
}

