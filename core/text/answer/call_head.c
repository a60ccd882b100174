/* SPDX-License-Identifier: MIT
 *
 * Parses the head of a call: markers and the name, up to the arguments.  Nothing is reported before
 * it is certain that this is a call. */
#include <string.h>

#include "core/text/answer/parser_impl.h"
#include "llamad/attr.h"

#define CHANNEL_MAX 512

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == ':' || c == '/';
}

enum lmi_text_match lmi_parse_name_at(const struct lmi_answer_parser *p, size_t *i,
				      struct lmd_str *out)
{
	size_t from = *i;

	while (!lmi_parse_at_end(p, *i) && *i - from < LMI_PARSE_NAME_MAX &&
	       name_char(p->buf[p->at + *i]))
		++*i;
	if (lmi_parse_at_end(p, *i))
		return LMI_TEXT_MATCH_NEED_MORE;
	*out = (struct lmd_str){.ptr = p->buf + p->at + from, .len = *i - from};
	return out->len ? LMI_TEXT_MATCH_YES : LMI_TEXT_MATCH_NO;
}

/* ---- a name and its arguments ---- */

/* Strips the number from "name:7", where 7 is the index of the call. */
static struct lmd_str without_number(struct lmd_str f)
{
	size_t n = f.len;

	while (n && f.ptr[n - 1] >= '0' && f.ptr[n - 1] <= '9')
		n--;
	if (n > 1 && n < f.len && f.ptr[n - 1] == ':')
		f.len = n - 1;
	return f;
}

static enum lmi_text_match optional(const struct lmi_answer_parser *p, size_t *i, const char *s)
{
	enum lmi_text_match g = s ? lmi_parse_literal(p, i, s) : LMI_TEXT_MATCH_NO;

	return g == LMI_TEXT_MATCH_NO ? LMI_TEXT_MATCH_YES : g;
}

/* Parses an id and the text that ends it. */
static enum lmi_text_match id_until(const struct lmi_answer_parser *p, size_t *i, const char *end,
				    struct lmd_str *out)
{
	enum lmi_text_match g;

	lmi_parse_skip_space(p, i);
	g = lmi_parse_name_at(p, i, out);
	return g == LMI_TEXT_MATCH_YES ? lmi_parse_literal(p, i, end) : g;
}

/* Parses the name and what comes before and after it; sets *out and *id. */
static enum lmi_text_match match_name(const struct lmi_answer_parser *p, size_t *i,
				      struct lmd_str *out, struct lmd_str *id)
{
	const struct lmi_answer_format *f = p->f;
	size_t from = *i, at;
	enum lmi_text_match g = optional(p, i, f->name_prefix);

	if (g == LMI_TEXT_MATCH_YES && f->id_end)
		g = id_until(p, i, f->id_end, id);
	if (g == LMI_TEXT_MATCH_YES)
		g = lmi_parse_name_at(p, i, out);
	if (g == LMI_TEXT_MATCH_YES && f->id_begin) {
		g = lmi_parse_literal(p, i, f->id_begin);
		return g == LMI_TEXT_MATCH_YES ? id_until(p, i, f->name_end, id) : g;
	}
	if (g != LMI_TEXT_MATCH_YES)
		return g;
	if (f->section && f->name_prefix && without_number(*out).len < out->len) {
		*id = (struct lmd_str){.ptr = p->buf + p->at + from, .len = *i - from};
		*out = without_number(*out);
	}
	if (!f->name_end || !lmi_parse_is_space(f->name_end[0]))
		lmi_parse_skip_space(p, i);
	at = *i;
	if (f->json_allowed && lmi_parse_literal(p, &at, "[CALL_ID]") == LMI_TEXT_MATCH_YES) {
		g = lmi_parse_name_at(p, &at, id);
		if (g != LMI_TEXT_MATCH_YES)
			return g;
		*i = at;
	} else if (f->json_allowed &&
		   lmi_parse_literal(p, &at, "[CALL_ID]") == LMI_TEXT_MATCH_NEED_MORE) {
		return LMI_TEXT_MATCH_NEED_MORE;
	}
	return f->name_end ? lmi_parse_literal(p, i, f->name_end) : LMI_TEXT_MATCH_YES;
}

static enum lmi_text_match name_body(struct lmi_answer_parser *p, size_t i)
{
	const struct lmi_answer_format *f = p->f;
	struct lmd_str fn = {0}, id = {0};
	enum lmi_text_match g;

	if (f->json_allowed || p->in_list) {
		size_t at = i;

		lmi_parse_skip_space(p, &at);
		if (lmi_parse_at_end(p, at))
			return LMI_TEXT_MATCH_NEED_MORE;
		if (p->in_list || p->buf[p->at + at] == '[' || p->buf[p->at + at] == '{')
			return lmi_parse_json_body(p, i);
		i = at;
	}
	g = match_name(p, &i, &fn, &id);
	if (g != LMI_TEXT_MATCH_YES)
		return g;
	if (f->content_name && fn.len == strlen(f->content_name) &&
	    !memcmp(fn.ptr, f->content_name, fn.len)) {
		lmi_parse_report_markup(p, i);
		p->mode = LMI_PARSE_IN_TEXT;
		p->after_markup = false;
		return LMI_TEXT_MATCH_YES;
	}
	lmi_parse_skip_space(p, &i);
	if (lmi_parse_at_end(p, i))
		return LMI_TEXT_MATCH_NEED_MORE;
	if (p->buf[p->at + i] != '{')
		return LMI_TEXT_MATCH_NO;
	if (f->body == LMI_PARSE_BODY_NOTATION) {
		lmi_parse_report_call(p, fn, id, i + 1);
		lmi_parse_notation_begin(p, '}');
	} else {
		lmi_parse_report_call(p, fn, id, i);
		p->mode = LMI_PARSE_IN_ARGS;
	}
	return LMI_TEXT_MATCH_YES;
}

/* ---- parameters ---- */

static enum lmi_text_match params_body(struct lmi_answer_parser *p, size_t i)
{
	struct lmd_str fn = {0}, id = {0};
	size_t at, end;
	enum lmi_text_match g, h;

	lmi_parse_skip_space(p, &i);
	g = match_name(p, &i, &fn, &id);
	if (g != LMI_TEXT_MATCH_YES)
		return g;
	lmi_parse_skip_space(p, &i);
	if (lmi_parse_at_end(p, i))
		return LMI_TEXT_MATCH_NEED_MORE;
	at = end = i;
	g = lmi_parse_literal(p, &at, p->f->param);
	h = lmi_parse_literal(p, &end, p->f->call_end);
	if (g == LMI_TEXT_MATCH_YES || h == LMI_TEXT_MATCH_YES) {
		lmi_parse_report_call(p, fn, id, i);
		p->mode = p->f->body == LMI_PARSE_BODY_ELEMENTS ? LMI_PARSE_IN_ELEMENTS
								: LMI_PARSE_IN_PARAMS;
		return LMI_TEXT_MATCH_YES;
	}
	return g == LMI_TEXT_MATCH_NEED_MORE || h == LMI_TEXT_MATCH_NEED_MORE
		       ? LMI_TEXT_MATCH_NEED_MORE
		       : LMI_TEXT_MATCH_NO;
}

/* ---- channels ---- */

/* Parses "<|channel|>commentary to=functions.f <|constrain|>json<|message|>". */
static enum lmi_text_match channel(struct lmi_answer_parser *p)
{
	static const char message[] = "<|message|>", to[] = "to=functions.";
	const char *text = p->buf + p->at, *end, *target;
	size_t n = p->n - p->at, i;
	struct lmd_str fn;

	end = memmem(text, n < CHANNEL_MAX ? n : CHANNEL_MAX, message, sizeof(message) - 1);
	if (!end)
		return n < CHANNEL_MAX ? LMI_TEXT_MATCH_NEED_MORE : LMI_TEXT_MATCH_NO;
	i = (size_t)(end - text);
	target = memmem(text, i, to, sizeof(to) - 1);
	if (!target) {
		p->in_reasoning = memmem(text, i, "analysis", 8) != NULL;
		lmi_parse_report_markup(p, i + sizeof(message) - 1);
		p->mode = LMI_PARSE_IN_TEXT;
		return LMI_TEXT_MATCH_YES;
	}
	n = (size_t)(target - text) + sizeof(to) - 1;
	if (lmi_parse_name_at(p, &n, &fn) != LMI_TEXT_MATCH_YES)
		return LMI_TEXT_MATCH_NO;
	i += sizeof(message) - 1;
	lmi_parse_skip_space(p, &i);
	if (lmi_parse_at_end(p, i))
		return LMI_TEXT_MATCH_NEED_MORE;
	if (text[i] != '{')
		return LMI_TEXT_MATCH_NO;
	p->in_reasoning = false;
	lmi_parse_report_call(p, fn, (struct lmd_str){0}, i);
	p->mode = LMI_PARSE_IN_ARGS;
	return LMI_TEXT_MATCH_YES;
}

/* ---- any format ---- */

static enum lmi_text_match body(struct lmi_answer_parser *p, size_t i)
{
	switch (p->f->body) {
	case LMI_PARSE_BODY_JSON:
		return lmi_parse_json_body(p, i);
	case LMI_PARSE_BODY_NAME:
	case LMI_PARSE_BODY_NOTATION:
		return name_body(p, i);
	case LMI_PARSE_BODY_PARAMS:
	case LMI_PARSE_BODY_ELEMENTS:
		return params_body(p, i);
	case LMI_PARSE_BODY_CHANNEL:
		return channel(p);
	case LMI_PARSE_BODY_NONE:
		break;
	}
	return LMI_TEXT_MATCH_NO;
}

enum lmi_text_match lmi_parse_head(struct lmi_answer_parser *p)
{
	const struct lmi_answer_format *f = p->f;
	bool section = p->head == LMI_PARSE_HEAD_SECTION;
	enum lmi_text_match g = LMI_TEXT_MATCH_YES;
	size_t i = 0;

	if (f->body == LMI_PARSE_BODY_CHANNEL)
		return channel(p);
	lmi_parse_skip_space(p, &i);
	if (section) {
		g = lmi_parse_literal(p, &i, f->section);
		lmi_parse_skip_space(p, &i);
	}
	if (g == LMI_TEXT_MATCH_YES && p->head <= LMI_PARSE_HEAD_CALL && f->call)
		g = lmi_parse_literal(p, &i, f->call);
	if (g == LMI_TEXT_MATCH_YES)
		g = body(p, i);
	if (g == LMI_TEXT_MATCH_YES && section)
		p->in_section = true;
	return g;
}
