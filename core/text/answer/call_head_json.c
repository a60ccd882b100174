/* SPDX-License-Identifier: MIT
 *
 * Parses the head of calls that are JSON objects, alone or in a list, or Python calls if the format
 * allows them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/answer/parser_impl.h"
#include "llamad/attr.h"

/* ---- {"name": "f", "arguments": {...}} ---- */

static const char *const name_keys[] = {"name", "tool_name", "function"};
static const char *const args_keys[] = {"arguments", "parameters", "args", "input"};

/* Matches one of the words in quotes, followed by a colon. */
static enum lmi_text_match key(const struct lmi_answer_parser *p, size_t *i,
			       const char *const *words, size_t n)
{
	enum lmi_text_match partial = LMI_TEXT_MATCH_NO;

	for (size_t k = 0; k < n; k++) {
		char quoted[32];
		size_t at = *i;
		enum lmi_text_match g;

		(void)snprintf(quoted, sizeof(quoted), "\"%s\"", words[k]);
		g = lmi_parse_literal(p, &at, quoted);
		if (g == LMI_TEXT_MATCH_YES) {
			lmi_parse_skip_space(p, &at);
			g = lmi_parse_literal(p, &at, ":");
			*i = at;
			return g;
		}
		partial = g == LMI_TEXT_MATCH_NEED_MORE ? g : partial;
	}
	return partial;
}

/* "NAME" */
static enum lmi_text_match quoted_name(const struct lmi_answer_parser *p, size_t *i,
				       struct lmd_str *out)
{
	enum lmi_text_match g = lmi_parse_literal(p, i, "\"");

	if (g == LMI_TEXT_MATCH_YES)
		g = lmi_parse_name_at(p, i, out);
	return g == LMI_TEXT_MATCH_YES ? lmi_parse_literal(p, i, "\"") : g;
}

/* Checks that the object with the arguments starts at offset i.  g is the result of matching what
 * comes before. */
static enum lmi_text_match args_at(const struct lmi_answer_parser *p, size_t i,
				   enum lmi_text_match g)
{
	if (g == LMI_TEXT_MATCH_YES && lmi_parse_at_end(p, i))
		return LMI_TEXT_MATCH_NEED_MORE;
	return g == LMI_TEXT_MATCH_YES && p->buf[p->at + i] != '{' ? LMI_TEXT_MATCH_NO : g;
}

/* Matches the usual order of keys, in which the arguments come last and can be reported while they
 * arrive. */
static enum lmi_text_match match_usual_order(const struct lmi_answer_parser *p, size_t *i,
					     struct lmd_str *out)
{
	enum lmi_text_match g = lmi_parse_literal(p, i, "{");

	lmi_parse_skip_space(p, i);
	if (p->f->name_is_key) { /* {"f": {...}} */
		if (g == LMI_TEXT_MATCH_YES)
			g = quoted_name(p, i, out);
		lmi_parse_skip_space(p, i);
		if (g == LMI_TEXT_MATCH_YES)
			g = lmi_parse_literal(p, i, ":");
		lmi_parse_skip_space(p, i);
		return args_at(p, *i, g);
	}
	if (g == LMI_TEXT_MATCH_YES)
		g = key(p, i, name_keys, LMD_LEN(name_keys));
	lmi_parse_skip_space(p, i);
	if (g == LMI_TEXT_MATCH_YES)
		g = quoted_name(p, i, out);
	lmi_parse_skip_space(p, i);
	if (g == LMI_TEXT_MATCH_YES)
		g = lmi_parse_literal(p, i, ",");
	lmi_parse_skip_space(p, i);
	if (g == LMI_TEXT_MATCH_YES)
		g = key(p, i, args_keys, LMD_LEN(args_keys));
	lmi_parse_skip_space(p, i);
	return args_at(p, *i, g);
}

static json_t *one_of(const json_t *o, const char *const *words, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		json_t *v = json_object_get(o, words[k]);

		if (v)
			return v;
	}
	return NULL;
}

/* Reports the call of a complete object; returns false if it is not a call. */
static bool give_object(struct lmi_answer_parser *p, const char *s, size_t n, size_t n_raw)
{
	json_t *o = json_loadb(s, n, 0, NULL), *call = o, *inner, *args, *parsed = NULL;
	const char *f, *id;
	char *text;
	bool ok;

	inner = json_object_get(o, "function");
	if (!json_is_object(inner))
		inner = json_object_get(o, "tool_call");
	if (json_is_object(inner))
		call = inner;
	f = json_string_value(one_of(call, name_keys, LMD_LEN(name_keys)));
	args = one_of(call, args_keys, LMD_LEN(args_keys));
	if (json_is_string(args))
		args = parsed =
			json_loadb(json_string_value(args), json_string_length(args), 0, NULL);
	ok = f && strlen(f) && strlen(f) <= LMI_PARSE_NAME_MAX && json_is_object(args);
	text = ok ? json_dumps(args, JSON_REAL_PRECISION(17)) : NULL;
	ok = ok && text;
	if (ok) {
		id = json_string_value(json_object_get(o, "id"));
		if (!id)
			id = json_string_value(json_object_get(o, "tool_call_id"));
		lmi_parse_report_call(p, (struct lmd_str){.ptr = f, .len = strlen(f)},
				      (struct lmd_str){.ptr = id, .len = id ? strlen(id) : 0},
				      n_raw);
		lmi_parse_report_args(p, (struct lmd_str){.ptr = text, .len = strlen(text)}, 0);
		lmi_parse_report_call_end(p, false, 0);
	}
	free(text);
	json_decref(parsed);
	json_decref(o);
	return ok;
}

/* Handles keys in any order and additional members: buffers the object up to its end. */
static enum lmi_text_match whole_object(struct lmi_answer_parser *p, size_t i)
{
	const char *text = p->buf + p->at;
	size_t n = p->n - p->at;
	enum lmi_parse_scan_end e = LMI_PARSE_SCAN_MORE;

	if (!p->whole_object) {
		p->whole_object = true;
		p->scan = (struct lmi_parse_scan){0};
		p->n_searched = i;
	}
	while (p->n_searched < n && e == LMI_PARSE_SCAN_MORE)
		e = lmi_parse_scan_byte(&p->scan, text[p->n_searched++]);
	if (e == LMI_PARSE_SCAN_MORE)
		return LMI_TEXT_MATCH_NEED_MORE;
	return e == LMI_PARSE_SCAN_LAST &&
			       give_object(p, text + i, p->n_searched - i, p->n_searched)
		       ? LMI_TEXT_MATCH_YES
		       : LMI_TEXT_MATCH_NO;
}

/* ---- f(a=1) ---- */

/* Strips ".call" from the name: Llama 3 calls its built-in tools as
 * brave_search.call(query="x"). */
static struct lmd_str without_call(struct lmd_str f)
{
	static const char call[] = ".call";
	size_t n = sizeof(call) - 1;

	if (f.len > n && !memcmp(f.ptr + f.len - n, call, n))
		f.len -= n;
	return f;
}

/* Checks that `)` or a name and `=` follow the opening parenthesis. */
static enum lmi_text_match starts_arguments(const struct lmi_answer_parser *p, size_t i)
{
	struct lmd_str key = {0};
	enum lmi_text_match g;

	lmi_parse_skip_space(p, &i);
	if (lmi_parse_at_end(p, i))
		return LMI_TEXT_MATCH_NEED_MORE;
	if (p->buf[p->at + i] == ')')
		return LMI_TEXT_MATCH_YES;
	g = lmi_parse_name_at(p, &i, &key);
	if (g != LMI_TEXT_MATCH_YES)
		return g;
	lmi_parse_skip_space(p, &i);
	return lmi_parse_literal(p, &i, "=");
}

static enum lmi_text_match python_body(struct lmi_answer_parser *p, size_t i)
{
	struct lmd_str f = {0};
	enum lmi_text_match g = lmi_parse_name_at(p, &i, &f);

	if (g == LMI_TEXT_MATCH_YES)
		g = lmi_parse_literal(p, &i, "(");
	if (g == LMI_TEXT_MATCH_YES)
		g = starts_arguments(p, i);
	if (g == LMI_TEXT_MATCH_YES) {
		lmi_parse_report_call(p, without_call(f), (struct lmd_str){0}, i);
		lmi_parse_notation_begin(p, ')');
	}
	return g;
}

/* ---- JSON or Python ---- */

enum lmi_text_match lmi_parse_json_body(struct lmi_answer_parser *p, size_t i)
{
	struct lmd_str f = {0};
	bool list = p->in_list;
	size_t at;
	enum lmi_text_match g;

	lmi_parse_skip_space(p, &i);
	if (!p->in_list && p->head != LMI_PARSE_HEAD_NEXT &&
	    lmi_parse_literal(p, &i, "[") == LMI_TEXT_MATCH_YES) {
		list = true;
		lmi_parse_skip_space(p, &i);
	}
	if (lmi_parse_at_end(p, i))
		return LMI_TEXT_MATCH_NEED_MORE;
	at = i;
	if (p->f->python_calls && lmi_parse_is_name_start(p->buf[p->at + i])) {
		if (p->head == LMI_PARSE_HEAD_BARE && !list)
			return LMI_TEXT_MATCH_NO;
		g = python_body(p, i);
	} else if (p->buf[p->at + i] != '{') {
		g = LMI_TEXT_MATCH_NO;
	} else {
		g = p->whole_object ? LMI_TEXT_MATCH_NO : match_usual_order(p, &at, &f);
		if (g == LMI_TEXT_MATCH_YES) {
			lmi_parse_report_call(p, f, (struct lmd_str){0}, at);
			p->mode = LMI_PARSE_IN_ARGS;
		} else if (g == LMI_TEXT_MATCH_NO) {
			g = whole_object(p, i);
		}
	}
	if (g == LMI_TEXT_MATCH_YES)
		p->in_list = list;
	return g;
}
