/* SPDX-License-Identifier: MIT
 *
 * Parses content and reasoning up to a marker.  A possible marker at the end is held back, and so
 * is the whitespace before it. */
#include <string.h>

#include "core/text/detok.h"
#include "core/text/answer/parser_impl.h"
#include "llamad/attr.h"

#define BLANKS_HELD 64 /* at most this much at the end of text */

/* Marker i of those that are recognised in the current state; "" if the format does not have it,
 * NULL after the last one. */
static const char *marker(const struct lmi_answer_parser *p, uint32_t i)
{
	const struct lmi_answer_format *f = p->f;
	bool calls = (!p->in_reasoning || f->body == LMI_PARSE_BODY_CHANNEL) &&
		     p->n_call < LMI_ANSWER_CALLS_MAX;
	const char *const all[] = {
		p->in_reasoning ? NULL : f->reasoning_begin,
		f->reasoning_end,
		calls ? f->section : NULL,
		calls ? f->call : NULL,
		calls && f->body == LMI_PARSE_BODY_CHANNEL ? "<|start|>" : NULL,
		f->ignored_markers[0],
		f->ignored_markers[1],
		f->ignored_markers[2],
		f->ignored_markers[3],
	};

	return i < LMD_LEN(all) ? all[i] ? all[i] : "" : NULL;
}

/* Finds the longest marker at offset i.  Sets *part if a marker may start there but is
 * incomplete. */
static const char *marker_at(const struct lmi_answer_parser *p, size_t i, bool *part)
{
	const char *best = NULL, *m;

	for (uint32_t k = 0; (m = marker(p, k)); k++) {
		size_t at = i;
		enum lmi_text_match g = *m ? lmi_parse_literal(p, &at, m) : LMI_TEXT_MATCH_NO;

		if (g == LMI_TEXT_MATCH_YES && (!best || strlen(m) > strlen(best)))
			best = m;
		*part |= g == LMI_TEXT_MATCH_NEED_MORE;
	}
	return best;
}

static bool is(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool begins_call(const struct lmi_answer_parser *p, const char *m)
{
	const struct lmi_answer_format *f = p->f;

	return is(m, f->section) || is(m, f->call) ||
	       (f->body == LMI_PARSE_BODY_CHANNEL && is(m, "<|start|>"));
}

/* Handles a marker after n_blank bytes of whitespace.  The whitespace before a call belongs to the
 * call, so that it becomes text if the call turns out not to be one. */
static void take_marker(struct lmi_answer_parser *p, const char *m, size_t n_blank)
{
	const struct lmi_answer_format *f = p->f;

	if (begins_call(p, m)) {
		p->mode = LMI_PARSE_IN_HEAD;
		p->head = is(m, f->section) ? LMI_PARSE_HEAD_SECTION : LMI_PARSE_HEAD_CALL;
		p->whole_object = false;
		return;
	}
	lmi_parse_report_markup(p, n_blank);
	if (is(m, f->reasoning_begin))
		p->in_reasoning = true;
	else if (is(m, f->reasoning_end) || f->body == LMI_PARSE_BODY_CHANNEL)
		p->in_reasoning = false;
	lmi_parse_report_markup(p, strlen(m));
}

static void give_text(struct lmi_answer_parser *p, size_t n)
{
	if (!n)
		return;
	lmi_parse_report(p, p->in_reasoning ? LMI_ANSWER_REASONING : LMI_ANSWER_CONTENT,
			 (struct lmd_str){.ptr = p->buf + p->at, .len = n}, n);
	p->after_markup = false;
}

/* Counts the whitespace at the end of text[n], at most `most` bytes. */
static size_t trailing_blanks(const char *text, size_t n, size_t most)
{
	size_t k = 0;

	while (k < n && k < most && lmi_parse_is_space(text[n - 1 - k]))
		k++;
	return k;
}

bool lmi_parse_in_text(struct lmi_answer_parser *p)
{
	size_t n = p->n - p->at, end = 0, k;
	const char *m = NULL, *text = p->buf + p->at;
	bool part = false;

	if (!p->reported_any && p->f->unmarked_calls && !p->markers_required && !p->in_reasoning) {
		size_t i = 0;

		lmi_parse_skip_space(p, &i);
		if (i == n && !p->input_ended)
			return false;
		p->reported_any = true; /* check this only once */
		if (i < n &&
		    (text[i] == '{' || (text[i] == '[' && p->f->body == LMI_PARSE_BODY_JSON))) {
			p->mode = LMI_PARSE_IN_HEAD;
			p->head = LMI_PARSE_HEAD_BARE;
			return true;
		}
	}
	if (!p->reported_any && p->f->starts_with_name) {
		p->reported_any = true;
		p->mode = LMI_PARSE_IN_HEAD;
		p->head = LMI_PARSE_HEAD_BARE;
		return true;
	}
	for (; end < n && !m && !part; end++)
		m = marker_at(p, end, &part);
	end -= m || part;
	k = trailing_blanks(text, end, BLANKS_HELD);
	if (p->after_markup && k == end) { /* nothing but whitespace next to a marker */
		if (m || end)
			lmi_parse_report_markup(p, end);
		k = 0;
	} else if (p->after_markup) {
		size_t i = 0;

		lmi_parse_skip_space(p, &i);
		lmi_parse_report_markup(p, i);
		p->after_markup = false;
		return true;
	} else if (m) {
		give_text(p, end - k);
	} else {
		if (p->input_ended)
			k = 0;
		else if (!part)
			end -= lmi_text_utf8_incomplete_tail(text, end);
		give_text(p, end > k ? end - k : 0);
	}
	if (m)
		take_marker(p, m, k);
	return m != NULL;
}

void lmi_parse_call_to_text(struct lmi_answer_parser *p)
{
	const struct lmi_answer_format *f = p->f;
	const char *m = p->head == LMI_PARSE_HEAD_SECTION ? f->section : f->call;
	size_t n = 0, at;

	p->mode = LMI_PARSE_IN_TEXT;
	p->whole_object = false;
	p->n_searched = 0;
	if (p->head == LMI_PARSE_HEAD_NEXT)
		p->in_list = p->in_section = false;
	if (p->head == LMI_PARSE_HEAD_BARE || p->head == LMI_PARSE_HEAD_NEXT)
		return;
	lmi_parse_skip_space(p, &n);
	at = n;
	if (f->body != LMI_PARSE_BODY_CHANNEL ||
	    lmi_parse_literal(p, &at, "<|start|>") != LMI_TEXT_MATCH_YES)
		(void)lmi_parse_literal(p, &n, m); /* in_text matched it, so it is there */
	give_text(p, at > n ? at : n);
}
