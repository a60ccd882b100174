/* SPDX-License-Identifier: MIT
 *
 * Converts arguments that are written as in a Python call, f(a=1, b=['x', None]), or as
 * {a:1,b:[<|"|>x<|"|>,null]}, to a JSON object while they arrive.  Keys, numbers and words are
 * converted when they are complete; strings are converted piece by piece.
 *
 * Each step parses one item at offset i of the buffer.  What was parsed is reported together with
 * its JSON. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_tree.h"
#include "core/text/answer/parser_impl.h"

#define WORD_MAX 256

void lmi_parse_notation_append(struct lmi_answer_parser *p, const char *s, size_t n)
{
	if (lmi_text_byte_buf_append(&p->notation.out, s, n, NULL) != LMD_OK)
		p->failed = true;
}

static void put_text(struct lmi_answer_parser *p, const char *s)
{
	lmi_parse_notation_append(p, s, strlen(s));
}

void lmi_parse_notation_begin(struct lmi_answer_parser *p, char close)
{
	struct lmi_text_byte_buf out = p->notation.out;

	p->notation = (struct lmi_parse_notation){.depth = 1, .close = {close}, .out = out};
	p->notation.out.n = 0;
	p->mode = LMI_PARSE_IN_NOTATION;
	put_text(p, "{");
}

/* ---- levels ---- */

static bool is_python_call(const struct lmi_answer_parser *p)
{
	return !p->f->quote;
}

/* Whether this level has keys: the call's own, or a { inside. */
static bool has_keys(const struct lmi_parse_notation *s)
{
	return s->depth == 1 || s->close[s->depth - 1] == '}';
}

static enum lmi_text_match open_level(struct lmi_answer_parser *p, char c)
{
	struct lmi_parse_notation *s = &p->notation;

	if (s->depth == LMI_PARSE_NOTATION_DEPTH)
		return LMI_TEXT_MATCH_NO;
	s->close[s->depth++] = c == '{' ? '}' : c == '[' ? ']' : ')';
	s->has_item = false;
	s->state = LMI_PARSE_NOTATION_ITEM;
	put_text(p, c == '{' ? "{" : "[");
	return LMI_TEXT_MATCH_YES;
}

static void close_level(struct lmi_answer_parser *p)
{
	struct lmi_parse_notation *s = &p->notation;

	put_text(p, has_keys(s) ? "}" : "]");
	s->depth--;
	s->has_item = true;
	s->state = LMI_PARSE_NOTATION_AFTER;
}

static void next_item(struct lmi_answer_parser *p)
{
	if (p->notation.has_item)
		put_text(p, ", ");
	p->notation.has_item = true;
}

/* ---- words ---- */

static bool word_char(char c)
{
	return lmi_parse_is_name_start(c) || (c >= '0' && c <= '9') || c == '.' || c == '+' ||
	       c == '-' || (unsigned char)c >= 0x80;
}

/* Matches an unquoted key, a number or a name at *i.  MORE unless the byte after it is buffered. */
static enum lmi_text_match word(const struct lmi_answer_parser *p, size_t *i, struct lmd_str *out)
{
	size_t at = *i;

	while (p->at + at < p->n && at - *i < WORD_MAX && word_char(p->buf[p->at + at]))
		at++;
	if (p->at + at == p->n)
		return LMI_TEXT_MATCH_NEED_MORE;
	*out = (struct lmd_str){.ptr = p->buf + p->at + *i, .len = at - *i};
	*i = at;
	return out->len && out->len < WORD_MAX ? LMI_TEXT_MATCH_YES : LMI_TEXT_MATCH_NO;
}

static bool is(struct lmd_str w, const char *s)
{
	return w.len == strlen(s) && !memcmp(w.ptr, s, w.len);
}

static bool is_json(struct lmd_str w)
{
	struct lmi_json_tree t = {0};
	bool ok = lmi_json_tree_parse(&t, w.ptr, w.len, NULL, NULL) == LMD_OK;

	lmi_json_tree_fini(&t);
	return ok;
}

/* Writes a number as JSON.  5., .5, +5 and 1_000 are numbers in Python but not in JSON. */
static bool put_number(struct lmi_answer_parser *p, struct lmd_str w)
{
	char digits[WORD_MAX + 1], out[32], *end;
	size_t n = 0;
	double v;

	for (size_t i = 0; i < w.len; i++) {
		if (!strchr("0123456789+-.eE_", w.ptr[i]))
			return false;
		if (w.ptr[i] != '_')
			digits[n++] = w.ptr[i];
	}
	digits[n] = '\0';
	if (is_json((struct lmd_str){.ptr = digits, .len = n})) {
		lmi_parse_notation_append(p, digits, n);
		return true;
	}
	v = strtod(digits, &end);
	if (!n || *end || !isfinite(v))
		return false;
	(void)snprintf(out, sizeof(out), "%.17g", v);
	put_text(p, out);
	return true;
}

/* Writes a word as a JSON value; returns false if it is not a value. */
static bool put_word(struct lmi_answer_parser *p, struct lmd_str w)
{
	static const struct {
		const char *word, *json;
	} names[] = {
		{"true", "true"}, {"false", "false"}, {"null", "null"},
		{"True", "true"}, {"False", "false"}, {"None", "null"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (is(w, names[i].word)) {
			put_text(p, names[i].json);
			return true;
		}
	}
	if (put_number(p, w))
		return true;
	if (is_python_call(p)) /* it is a variable */
		return false;
	put_text(p, "\"");
	lmi_parse_notation_append(p, w.ptr, w.len);
	put_text(p, "\"");
	return true;
}

/* ---- steps ---- */

/* Matches the opening quotes of a string at *i; NO if there are none. */
static enum lmi_text_match begin_string(struct lmi_answer_parser *p, size_t *i, bool is_key)
{
	struct lmi_parse_notation *s = &p->notation;
	enum lmi_text_match g =
		p->f->quote ? lmi_parse_literal(p, i, p->f->quote) : LMI_TEXT_MATCH_NO;
	char c = p->buf[p->at + *i];

	if (g == LMI_TEXT_MATCH_NEED_MORE)
		return g;
	s->quote = 0;
	s->triple = false;
	if (g == LMI_TEXT_MATCH_NO) {
		char three[4] = {c, c, c, 0};
		size_t at = *i;

		if (c != '"' && (c != '\'' || !is_python_call(p)))
			return LMI_TEXT_MATCH_NO;
		if (is_python_call(p)) { /* two quotes are an empty string unless a third follows */
			g = lmi_parse_literal(p, &at, three);
			if (g == LMI_TEXT_MATCH_NEED_MORE)
				return g;
			s->triple = g == LMI_TEXT_MATCH_YES;
		}
		s->quote = c;
		*i = s->triple ? at : *i + 1;
	}
	s->is_key = is_key;
	s->state = LMI_PARSE_NOTATION_STRING;
	put_text(p, "\"");
	return LMI_TEXT_MATCH_YES;
}

static enum lmi_text_match key(struct lmi_answer_parser *p, size_t *i)
{
	struct lmi_parse_notation *s = &p->notation;
	struct lmd_str w = {0};
	enum lmi_text_match g = LMI_TEXT_MATCH_NO;

	next_item(p);
	if (s->depth > 1 || !is_python_call(p))
		g = begin_string(p, i, true);
	if (g == LMI_TEXT_MATCH_NO && (s->depth == 1 || !is_python_call(p))) {
		g = word(p, i, &w);
		if (g == LMI_TEXT_MATCH_YES) {
			put_text(p, "\"");
			lmi_parse_notation_append(p, w.ptr, w.len);
			put_text(p, "\"");
			s->state = LMI_PARSE_NOTATION_COLON;
		}
	}
	return g;
}

static enum lmi_text_match value(struct lmi_answer_parser *p, size_t *i)
{
	struct lmi_parse_notation *s = &p->notation;
	struct lmd_str w = {0};
	char c = p->buf[p->at + *i];
	enum lmi_text_match g;

	if (c == '{' || c == '[' || (c == '(' && is_python_call(p))) {
		++*i;
		return open_level(p, c);
	}
	g = begin_string(p, i, false);
	if (g != LMI_TEXT_MATCH_NO)
		return g;
	g = word(p, i, &w);
	if (g == LMI_TEXT_MATCH_YES && !put_word(p, w))
		g = LMI_TEXT_MATCH_NO;
	if (g == LMI_TEXT_MATCH_YES)
		s->state = LMI_PARSE_NOTATION_AFTER;
	return g;
}

static enum lmi_text_match item(struct lmi_answer_parser *p, size_t *i)
{
	struct lmi_parse_notation *s = &p->notation;
	size_t n_out = s->out.n;
	bool had_item = s->has_item;
	enum lmi_text_match g;

	if (p->buf[p->at + *i] == s->close[s->depth - 1]) {
		++*i;
		close_level(p);
		return LMI_TEXT_MATCH_YES;
	}
	if (has_keys(s)) {
		g = key(p, i);
	} else {
		next_item(p);
		g = value(p, i);
	}
	if (g == LMI_TEXT_MATCH_NEED_MORE) { /* this item will be parsed again */
		s->out.n = n_out;
		s->has_item = had_item;
	}
	return g;
}

static enum lmi_text_match step(struct lmi_answer_parser *p, size_t *i)
{
	struct lmi_parse_notation *s = &p->notation;
	char c;
	enum lmi_text_match g;

	if (s->state == LMI_PARSE_NOTATION_STRING) {
		g = lmi_parse_notation_string(p, i);
		if (g == LMI_TEXT_MATCH_YES) {
			put_text(p, "\"");
			s->state = s->is_key ? LMI_PARSE_NOTATION_COLON : LMI_PARSE_NOTATION_AFTER;
		}
		return g;
	}
	while (p->at + *i < p->n && lmi_parse_is_space(p->buf[p->at + *i]))
		++*i;
	if (p->at + *i == p->n)
		return LMI_TEXT_MATCH_NEED_MORE;
	c = p->buf[p->at + *i];
	switch (s->state) {
	case LMI_PARSE_NOTATION_ITEM:
		return item(p, i);
	case LMI_PARSE_NOTATION_COLON:
		if (c != (s->depth == 1 && is_python_call(p) ? '=' : ':'))
			return LMI_TEXT_MATCH_NO;
		++*i;
		put_text(p, ": ");
		s->state = LMI_PARSE_NOTATION_VALUE;
		return LMI_TEXT_MATCH_YES;
	case LMI_PARSE_NOTATION_VALUE:
		return value(p, i);
	case LMI_PARSE_NOTATION_AFTER:
		++*i;
		if (c == ',')
			s->state = LMI_PARSE_NOTATION_ITEM;
		else if (c == s->close[s->depth - 1])
			close_level(p);
		else
			return LMI_TEXT_MATCH_NO;
		return LMI_TEXT_MATCH_YES;
	case LMI_PARSE_NOTATION_STRING:
		break;
	}
	return LMI_TEXT_MATCH_NO;
}

bool lmi_parse_notation(struct lmi_answer_parser *p)
{
	struct lmi_parse_notation *s = &p->notation;
	size_t i = 0, read = 0;
	enum lmi_text_match g = LMI_TEXT_MATCH_YES;
	struct lmd_str out;

	while (g == LMI_TEXT_MATCH_YES && s->depth) {
		size_t n_out = s->out.n;

		g = step(p, &i);
		if (g == LMI_TEXT_MATCH_NO)
			s->out.n = n_out;
		else
			read = i;
	}
	if (g == LMI_TEXT_MATCH_NEED_MORE && p->input_ended)
		read = p->n - p->at;
	out = (struct lmd_str){.ptr = s->out.p ? s->out.p : "", .len = s->out.n};
	lmi_parse_report_args(p, out, read);
	s->out.n = 0;
	if (!s->depth)
		lmi_parse_report_call_end(p, false, 0);
	else if (g == LMI_TEXT_MATCH_NO || p->input_ended)
		lmi_parse_report_call_end(p, true, 0);
	else
		return false;
	return true;
}
