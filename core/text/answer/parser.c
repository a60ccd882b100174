/* SPDX-License-Identifier: MIT
 *
 * Input is buffered until its meaning is clear.  Each step reports events for the front of the
 * buffer or waits for more input. */
#include <jansson.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_tree.h"
#include "core/text/detok.h"
#include "core/text/answer/parser_impl.h"
#include "llamad/attr.h"

#define BLANKS_MAX 256 /* maximum in the head of a call */

/* ---- reading ---- */

enum lmi_text_match lmi_parse_literal(const struct lmi_answer_parser *p, size_t *i, const char *s)
{
	size_t n = strlen(s), left = p->n - p->at - *i;

	if (left < n)
		return !p->input_ended && !memcmp(p->buf + p->at + *i, s, left)
			       ? LMI_TEXT_MATCH_NEED_MORE
			       : LMI_TEXT_MATCH_NO;
	if (memcmp(p->buf + p->at + *i, s, n) != 0)
		return LMI_TEXT_MATCH_NO;
	*i += n;
	return LMI_TEXT_MATCH_YES;
}

void lmi_parse_skip_space(const struct lmi_answer_parser *p, size_t *i)
{
	size_t most = *i + BLANKS_MAX;

	while (*i < most && p->at + *i < p->n && lmi_parse_is_space(p->buf[p->at + *i]))
		++*i;
}

/* ---- reporting events ---- */

static void give(struct lmi_answer_parser *p, const struct lmi_answer_event *o, size_t n_raw)
{
	struct lmi_answer_event out = *o;

	out.raw = (struct lmd_str){.ptr = p->buf + p->at, .len = n_raw};
	p->fn(p->arg, &out);
	p->at += n_raw;
	p->n_searched = 0;
	p->reported_any = true;
}

void lmi_parse_report(struct lmi_answer_parser *p, enum lmi_answer_event_kind kind,
		      struct lmd_str text, size_t n_raw)
{
	const struct lmi_answer_event o = {.kind = kind, .text = text};

	give(p, &o, n_raw);
}

void lmi_parse_report_markup(struct lmi_answer_parser *p, size_t n_raw)
{
	if (n_raw)
		lmi_parse_report(p, LMI_ANSWER_MARKUP, (struct lmd_str){.ptr = ""}, n_raw);
	p->after_markup = true;
}

void lmi_parse_report_args(struct lmi_answer_parser *p, struct lmd_str text, size_t n_raw)
{
	if (lmi_text_byte_buf_append(&p->args, text.ptr, text.len, NULL) != LMD_OK)
		p->failed = true;
	if (text.len || n_raw)
		lmi_parse_report(p, LMI_ANSWER_ARGS, text, n_raw);
}

/* Finds the schemas of the tool's parameters. */
static void find_params(struct lmi_answer_parser *p, struct lmd_str name)
{
	p->params = NULL;
	for (size_t i = 0; i < json_array_size(p->tools); i++) {
		const json_t *tool = json_array_get(p->tools, i), *f = json_object_get(tool, "function");
		const json_t *own = json_object_get(f ? f : tool, "name");

		if (json_string_length(own) != name.len || !json_is_string(own) ||
		    memcmp(json_string_value(own), name.ptr, name.len) != 0)
			continue;
		p->params = json_object_get(json_object_get(f ? f : tool, "parameters"), "properties");
		return;
	}
}

void lmi_parse_report_call(struct lmi_answer_parser *p, struct lmd_str name, struct lmd_str id,
			   size_t n_raw)
{
	const struct lmi_answer_event o = {.kind = LMI_ANSWER_CALL, .text = name, .id = id};

	find_params(p, name);
	give(p, &o, n_raw);
	p->n_call++;
	p->args.n = 0;
	p->n_param = 0;
	p->closed = false;
	p->whole_object = false;
	p->scan = (struct lmi_parse_scan){0};
}

void lmi_parse_report_call_end(struct lmi_answer_parser *p, bool broken, size_t n_raw)
{
	struct lmi_answer_event o = {.kind = LMI_ANSWER_CALL_END, .text = {.ptr = ""}};
	struct lmi_json_tree t = {0};

	o.complete = !broken && !p->failed &&
		     lmi_json_tree_parse(&t, p->args.p, p->args.n, NULL, NULL) == LMD_OK;
	lmi_json_tree_fini(&t);
	give(p, &o, n_raw);
	p->mode = broken ? LMI_PARSE_IN_TEXT : LMI_TEXT_AFTER_CALL;
	p->after_markup = true;
	if (broken)
		p->in_list = p->in_section = false;
}

/* ---- arguments ---- */

static bool in_args(struct lmi_answer_parser *p)
{
	const char *text = p->buf + p->at;
	size_t n = p->n - p->at, i = 0;
	enum lmi_parse_scan_end e = LMI_PARSE_SCAN_MORE;

	while (i < n && e == LMI_PARSE_SCAN_MORE)
		e = lmi_parse_scan_byte(&p->scan, text[i++]);
	if (e == LMI_PARSE_SCAN_BAD) {
		lmi_parse_report_args(p, (struct lmd_str){.ptr = text, .len = i - 1}, i - 1);
		lmi_parse_report_call_end(p, true, 0);
		return true;
	}
	if (e == LMI_PARSE_SCAN_MORE && !p->input_ended)
		i -= lmi_text_utf8_incomplete_tail(
			text, i); /* in a string, where rescanning is harmless */
	lmi_parse_report_args(p, (struct lmd_str){.ptr = text, .len = i}, i);
	if (e == LMI_PARSE_SCAN_MORE) {
		if (p->input_ended)
			lmi_parse_report_call_end(p, true, 0);
		return false;
	}
	if (p->f->body == LMI_PARSE_BODY_JSON || p->in_list) {
		p->mode = LMI_PARSE_IN_CALL_OBJECT;
		p->scan = (struct lmi_parse_scan){.depth = 1};
		return true;
	}
	lmi_parse_report_call_end(p, false, 0);
	return true;
}

/* Skips the rest of the object that contains the arguments; reports nothing of it. */
static bool in_rest(struct lmi_answer_parser *p)
{
	size_t n = p->n - p->at;
	bool full = n >= LMI_ANSWER_HEAD_BYTES_MAX;
	enum lmi_parse_scan_end e = LMI_PARSE_SCAN_MORE;

	n = full ? LMI_ANSWER_HEAD_BYTES_MAX : n;
	while (p->n_searched < n && e == LMI_PARSE_SCAN_MORE)
		e = lmi_parse_scan_byte(&p->scan, p->buf[p->at + p->n_searched++]);
	if (e == LMI_PARSE_SCAN_LAST)
		lmi_parse_report_call_end(p, false, p->n_searched);
	else if (e == LMI_PARSE_SCAN_BAD || p->input_ended || full)
		lmi_parse_report_call_end(p, true, 0);
	else
		return false;
	return true;
}

/* ---- after a call ---- */

/* Whether another call may start at offset i: the markers of one call may contain several, one per
 * line. */
static bool may_follow(const struct lmi_answer_parser *p, size_t i)
{
	char c = p->buf[p->at + i];

	return p->f->body == LMI_PARSE_BODY_JSON && p->f->call_end && !p->closed && !p->in_list &&
	       p->n_call < LMI_ANSWER_CALLS_MAX &&
	       (c == '{' || (p->f->python_calls && lmi_parse_is_name_start(c)));
}

/* Parses one marker after a call.  NO: nothing here continues the calls. */
static enum lmi_text_match parse_after_call(struct lmi_answer_parser *p)
{
	const struct lmi_answer_format *f = p->f;
	enum lmi_text_match g = LMI_TEXT_MATCH_NO, partial = LMI_TEXT_MATCH_NO;
	size_t i = 0, from;

	lmi_parse_skip_space(p, &i);
	if (p->at + i == p->n)
		return p->input_ended ? LMI_TEXT_MATCH_NO : LMI_TEXT_MATCH_NEED_MORE;
	from = i;
	if (p->in_list && lmi_parse_literal(p, &i, ",") == LMI_TEXT_MATCH_YES) {
		lmi_parse_report_markup(p, i);
		p->mode = LMI_PARSE_IN_HEAD;
		p->head = LMI_PARSE_HEAD_NEXT;
		return LMI_TEXT_MATCH_YES;
	}
	if (p->in_list && lmi_parse_literal(p, &i, "]") == LMI_TEXT_MATCH_YES) {
		lmi_parse_report_markup(p, i);
		p->in_list = false;
		return LMI_TEXT_MATCH_YES;
	}
	if (f->unmarked_calls && !p->in_list &&
	    lmi_parse_literal(p, &i, ";") == LMI_TEXT_MATCH_YES) {
		lmi_parse_report_markup(p, i);
		p->mode = LMI_PARSE_IN_HEAD;
		p->head = LMI_PARSE_HEAD_NEXT;
		return LMI_TEXT_MATCH_YES;
	}
	if (may_follow(p, i)) { /* another call, separated only by whitespace */
		lmi_parse_report_markup(p, i);
		p->mode = LMI_PARSE_IN_HEAD;
		p->head = LMI_PARSE_HEAD_NEXT;
		return LMI_TEXT_MATCH_YES;
	}
	if (f->call_end && !p->closed) {
		g = lmi_parse_literal(p, &i, f->call_end);
		if (g == LMI_TEXT_MATCH_YES) {
			lmi_parse_report_markup(p, i);
			p->closed = true;
			return g;
		}
		partial = g;
	}
	if (p->in_section && f->section_end) {
		i = from;
		g = lmi_parse_literal(p, &i, f->section_end);
		if (g == LMI_TEXT_MATCH_YES) {
			lmi_parse_report_markup(p, i);
			p->in_section = false;
			p->mode = LMI_PARSE_IN_TEXT;
			return g;
		}
		partial = g == LMI_TEXT_MATCH_NEED_MORE ? g : partial;
	}
	if (p->in_section && f->call && p->n_call < LMI_ANSWER_CALLS_MAX) {
		i = from;
		g = lmi_parse_literal(p, &i, f->call);
		if (g == LMI_TEXT_MATCH_YES) {
			lmi_parse_report_markup(p, from);
			p->mode = LMI_PARSE_IN_HEAD;
			p->head = LMI_PARSE_HEAD_CALL;
			return g;
		}
		partial = g == LMI_TEXT_MATCH_NEED_MORE ? g : partial;
	}
	return partial;
}

static bool after_call(struct lmi_answer_parser *p)
{
	enum lmi_text_match g = parse_after_call(p);

	if (g == LMI_TEXT_MATCH_NO) {
		p->mode = LMI_PARSE_IN_TEXT;
		p->in_section = p->in_list = false;
	}
	return g != LMI_TEXT_MATCH_NEED_MORE;
}

/* ---- the parser ---- */

/* Runs a parser of a part that is reported as a whole.  The part must lie within the bytes that may
 * be held back, however many bytes were fed at once. */
static enum lmi_text_match bounded(struct lmi_answer_parser *p,
				   enum lmi_text_match (*part)(struct lmi_answer_parser *))
{
	size_t n = p->n;
	bool full = n - p->at >= LMI_ANSWER_HEAD_BYTES_MAX;
	enum lmi_text_match g;

	if (full)
		p->n = p->at + LMI_ANSWER_HEAD_BYTES_MAX;
	g = part(p);
	p->n = n;
	return g == LMI_TEXT_MATCH_NEED_MORE && (full || p->input_ended) ? LMI_TEXT_MATCH_NO : g;
}

static bool in_head(struct lmi_answer_parser *p)
{
	enum lmi_text_match g = bounded(p, lmi_parse_head);

	if (g == LMI_TEXT_MATCH_NO)
		lmi_parse_call_to_text(p);
	return g != LMI_TEXT_MATCH_NEED_MORE;
}

/* Parses parameters, one by one or all at once. */
static bool in_params(struct lmi_answer_parser *p,
		      enum lmi_text_match (*part)(struct lmi_answer_parser *))
{
	enum lmi_text_match g = bounded(p, part);

	if (g == LMI_TEXT_MATCH_NO)
		lmi_parse_report_call_end(p, true, 0);
	return g != LMI_TEXT_MATCH_NEED_MORE;
}

static bool step(struct lmi_answer_parser *p)
{
	switch (p->mode) {
	case LMI_PARSE_IN_TEXT:
		return lmi_parse_in_text(p);
	case LMI_PARSE_IN_HEAD:
		return in_head(p);
	case LMI_PARSE_IN_ARGS:
		return in_args(p);
	case LMI_PARSE_IN_CALL_OBJECT:
		return in_rest(p);
	case LMI_PARSE_IN_NOTATION:
		return lmi_parse_notation(p);
	case LMI_PARSE_IN_PARAMS:
		return in_params(p, lmi_parse_params);
	case LMI_PARSE_IN_ELEMENTS:
		return in_params(p, lmi_parse_tree);
	case LMI_TEXT_AFTER_CALL:
		return after_call(p);
	}
	return false;
}

enum lmd_status lmi_answer_parser_create(struct lmi_answer_parser **out,
					 const struct lmi_answer_format *f, lmi_answer_event_fn fn,
					 void *arg, struct lmd_error *err)
{
	struct lmi_answer_parser *p = lmi_alloc(1, sizeof(*p));

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "out of memory while parsing an answer");
	p->f = f;
	p->fn = fn;
	p->arg = arg;
	*out = p;
	return LMD_OK;
}

void lmi_answer_parser_destroy(struct lmi_answer_parser *p)
{
	if (!p)
		return;
	lmi_free(p->buf);
	lmi_text_byte_buf_fini(&p->args);
	lmi_text_byte_buf_fini(&p->notation.out);
	json_decref(p->tools);
	lmi_free(p);
}

void lmi_answer_parser_start_in_reasoning(struct lmi_answer_parser *p)
{
	p->in_reasoning = p->after_markup = true;
}

void lmi_answer_parser_set_tools(struct lmi_answer_parser *p, json_t *tools)
{
	json_decref(p->tools);
	p->tools = json_incref(tools);
}

void lmi_answer_parser_require_markers(struct lmi_answer_parser *p)
{
	p->markers_required = true;
}

enum lmd_status lmi_answer_parser_feed(struct lmi_answer_parser *p, const char *bytes, size_t n,
				       struct lmd_error *err)
{
	if (p->at) {
		memmove(p->buf, p->buf + p->at, p->n - p->at);
		p->n -= p->at;
		p->at = 0;
	}
	if (n >= p->cap - p->n) {
		size_t cap = 2 * (p->n + n) + 256;
		char *q = lmi_realloc(p->buf, cap, 1);

		if (!q)
			return lmd_fail(err, LMD_NOMEM, "out of memory while parsing an answer");
		p->buf = q;
		p->cap = cap;
	}
	if (n)
		memcpy(p->buf + p->n, bytes, n);
	p->n += n;
	while (p->at < p->n && step(p))
		;
	return LMD_OK;
}

void lmi_answer_parser_finish(struct lmi_answer_parser *p)
{
	p->input_ended = true;
	if (!p->buf)
		return;
	while (p->at < p->n && step(p))
		;
	if (p->mode == LMI_PARSE_IN_ARGS || p->mode == LMI_PARSE_IN_CALL_OBJECT ||
	    p->mode == LMI_PARSE_IN_NOTATION || p->mode == LMI_PARSE_IN_PARAMS ||
	    p->mode == LMI_PARSE_IN_ELEMENTS)
		lmi_parse_report_call_end(p, true, 0);
}
