/* SPDX-License-Identifier: MIT
 *
 * The filter wordwrap: breaks text into lines of a maximum width, at whitespace and after hyphens
 * inside words. */
#include <string.h>

#include "core/jinja/builtin.h"

struct wrap {
	struct lmi_jinja_run *run;
	int64_t width;
	bool break_long, break_hyphens;
	struct lmi_jinja_list *chunks; /* whitespace and pieces of words, alternating */
	uint32_t at;                   /* index of the next chunk */
	struct lmi_jinja_list *lines;
};

static bool ascii_space(uint32_t c)
{
	return c == ' ' || (c >= 9 && c <= 13);
}

static bool letter(struct lmi_jinja_val v, size_t at)
{
	return at < v.n && lmi_unicode_word(lmi_unicode_next(v.u.s, v.n, &at)) &&
	       !(v.u.s[at - 1] >= '0' && v.u.s[at - 1] <= '9') && v.u.s[at - 1] != '_';
}

/* Whether the hyphen at `at` follows two letters (or letter, hyphen, letter) and precedes
 * letters. */
static bool is_hyphen(struct lmi_jinja_val v, size_t from, size_t at)
{
	size_t a = at, b;
	uint32_t c;

	if (v.u.s[at] != '-' || at == from)
		return false;
	c = lmi_unicode_prev(v.u.s, &a);
	if (!lmi_unicode_word(c) || !letter(v, a) || a == from)
		return false;
	b = a;
	c = lmi_unicode_prev(v.u.s, &b);
	if (!letter(v, b) && !(c == '-' && b > from && letter(v, b - 1)))
		return false;
	if (!letter(v, at + 1))
		return false;
	b = at + 1;
	(void)lmi_unicode_next(v.u.s, v.n, &b); /* only advances the position */
	return letter(v, b) || (b < v.n && v.u.s[b] == '-' && letter(v, b + 1));
}

/* Splits a string into chunks. */
static void split_chunks(struct wrap *w, struct lmi_jinja_val v)
{
	for (size_t from = 0, at = 0; from < v.n && lmi_jinja_run_step(w->run, 1); from = at) {
		bool blank = ascii_space((unsigned char)v.u.s[from]);

		while (at < v.n && lmi_jinja_run_step(w->run, 1) &&
		       ascii_space((unsigned char)v.u.s[at]) == blank) {
			at++;
			if (!blank && w->break_hyphens && is_hyphen(v, from, at - 1))
				break;
		}
		lmi_jinja_list_add(w->run, w->chunks, lmi_jinja_strn(v.u.s + from, at - from));
	}
}

static bool is_blank(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	return !lmi_jinja_str_strip(run, v, lmi_jinja_none(), LMI_JINJA_BOTH).n;
}

/* Handles a word longer than a line: adds as much of it as fits, or all of it on a line of its
 * own. */
static void put_long(struct wrap *w, struct lmi_jinja_list *line, int64_t length)
{
	struct lmi_jinja_val *word = &w->chunks->v[w->at], part;
	int64_t room = w->width - length;
	const char *hyphen;

	if (!w->break_long) {
		if (!line->n)
			lmi_jinja_list_add(w->run, line, w->chunks->v[w->at++]);
		return;
	}
	part = lmi_jinja_strn(word->u.s, lmi_unicode_offset(word->u.s, word->n, (size_t)room));
	hyphen = w->break_hyphens ? memrchr(part.u.s, '-', part.n) : NULL;
	if (hyphen &&
	    lmi_jinja_str_strip(w->run, lmi_jinja_strn(part.u.s, (size_t)(hyphen - part.u.s)),
				lmi_jinja_strn("-", 1), LMI_JINJA_BOTH)
		    .n)
		part.n = (uint32_t)(hyphen - part.u.s) + 1;
	lmi_jinja_list_add(w->run, line, part);
	*word = lmi_jinja_strn(word->u.s + part.n, word->n - part.n);
}

/* Whether v has more than n characters; takes time in proportion to n, however long v is. */
static bool is_longer(struct lmi_jinja_val v, int64_t n)
{
	return (int64_t)v.n > n && lmi_unicode_offset(v.u.s, v.n, (size_t)n) < v.n;
}

static void put_line(struct wrap *w)
{
	struct lmi_jinja_list *line = lmi_jinja_list_new(w->run).u.list;
	const struct lmi_jinja_list *c = w->chunks;
	int64_t length = 0;

	if (w->lines->n && is_blank(w->run, c->v[w->at]))
		w->at++;
	while (w->at < c->n && !is_longer(c->v[w->at], w->width - length) &&
	       lmi_jinja_run_step(w->run, 1)) {
		length += lmi_jinja_val_length(c->v[w->at]);
		lmi_jinja_list_add(w->run, line, c->v[w->at++]);
	}
	if (w->at < c->n && is_longer(c->v[w->at], w->width))
		put_long(w, line, length);
	if (line->n && is_blank(w->run, line->v[line->n - 1]))
		line->n--;
	if (line->n)
		lmi_jinja_list_add(w->run, w->lines,
				   lmi_jinja_str_join(w->run, lmi_jinja_strn("", 0), line, false));
}

struct lmi_jinja_val lmi_jinja_wordwrap(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					const struct lmi_jinja_val *a)
{
	struct wrap w = {.run = run,
			 .width = lmi_jinja_param_int(run, a[0], 79, "the width"),
			 .break_long = lmi_jinja_param_truth(a[1], true),
			 .break_hyphens = lmi_jinja_param_truth(a[3], true)};
	struct lmi_jinja_val sep = a[2], out = lmi_jinja_list_new(run);
	const struct lmi_jinja_list *lines;

	sep = lmi_jinja_val_is_given(sep) && sep.kind != LMI_JINJA_V_NONE
		      ? lmi_jinja_param_str(run, sep, "", "wrapstring")
		      : lmi_jinja_strn("\n", 1);
	if (self.kind != LMI_JINJA_V_STR) {
		lmi_jinja_run_fail(run, "wordwrap needs a string, not %s",
				   lmi_jinja_val_type(self));
		return self;
	}
	lines = lmi_jinja_str_lines(run, self, false).u.list;
	if (w.width < 1 && lines->n) {
		lmi_jinja_run_fail(run, "invalid width %lld (must be > 0)", (long long)w.width);
		return self;
	}
	for (uint32_t i = 0; i < lines->n && lmi_jinja_run_step(run, 1); i++) {
		w.lines = lmi_jinja_list_new(run).u.list;
		w.chunks = lmi_jinja_list_new(run).u.list;
		w.at = 0;
		split_chunks(&w, lines->v[i]);
		while (w.at < w.chunks->n && lmi_jinja_run_step(run, 1))
			put_line(&w);
		lmi_jinja_list_add(run, out.u.list, lmi_jinja_str_join(run, sep, w.lines, false));
	}
	return lmi_jinja_str_join(run, sep, out.u.list, false);
}
