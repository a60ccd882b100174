/* SPDX-License-Identifier: MIT
 *
 * Converts parameters that are written one by one between markers to the members of a JSON object.
 * A value that is JSON other than a string is copied as JSON; any other value becomes a string, and so does
 * every value of a parameter that its tool says is a string.  In formats that mark JSON, a JSON string is copied
 * as well. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/answer/parser_impl.h"

#define KEY_MAX  256
#define TYPE_MAX 16

enum lmi_text_match lmi_parse_find(struct lmi_answer_parser *p, size_t i, const char *s, size_t *at)
{
	size_t n = p->n - p->at, m = strlen(s), from = i;
	const char *hit;

	/* skip what was already searched, except for a possible partial match at its end */
	if (p->n_searched > i + m)
		from = p->n_searched - m;
	hit = n > from ? memmem(p->buf + p->at + from, n - from, s, m) : NULL;
	if (hit) {
		*at = (size_t)(hit - (p->buf + p->at));
		return LMI_TEXT_MATCH_YES;
	}
	p->n_searched = n;
	return p->input_ended ? LMI_TEXT_MATCH_NO : LMI_TEXT_MATCH_NEED_MORE;
}

/* How to interpret a value. */
enum kind {
	ANY, /* as JSON, unless it is invalid or a JSON string: then as text */
	TEXT
};

/* is_text: the tool says that the value is a string. */
static json_t *value_of(const struct lmi_answer_parser *p, enum kind kind, bool is_text, const char *s,
			size_t n)
{
	json_t *v;

	if (!p->f->value) { /* the value is on lines of its own */
		if (n && s[0] == '\n') {
			s++;
			n--;
		}
		if (n && s[n - 1] == '\n')
			n--;
	}
	v = kind == TEXT ? NULL : json_loadb(s, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (v && (json_is_string(v) ? p->f->json_value != NULL : !is_text))
		return v;
	json_decref(v);
	return json_stringn(s, n);
}

/* Returns whether the tool says that its parameter is a string. */
static bool is_string(const struct lmi_answer_parser *p, struct lmd_str key)
{
	char name[KEY_MAX + 1];
	const char *type;

	if (!p->params || key.len > KEY_MAX)
		return false;
	memcpy(name, key.ptr, key.len);
	name[key.len] = 0;
	type = json_string_value(json_object_get(json_object_get(p->params, name), "type"));
	return type && !strcmp(type, "string");
}

/* Reports `{"key": value`, or `, "key": value`; returns false if it cannot be written as JSON. */
static bool give_member(struct lmi_answer_parser *p, struct lmd_str key, enum kind kind,
			struct lmd_str value, size_t n_raw)
{
	json_t *k = json_stringn(key.ptr, key.len);
	json_t *v = value_of(p, kind, is_string(p, key), value.ptr, value.len);
	char *kt = k ? json_dumps(k, JSON_ENCODE_ANY) : NULL;
	char *vt = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
	struct lmi_text_byte_buf t = {0};
	bool ok = kt && vt &&
		  lmi_text_byte_buf_append(&t, p->n_param ? ", " : "{", p->n_param ? 2 : 1, NULL) ==
			  LMD_OK &&
		  lmi_text_byte_buf_append(&t, kt, strlen(kt), NULL) == LMD_OK &&
		  lmi_text_byte_buf_append(&t, ": ", 2, NULL) == LMD_OK &&
		  lmi_text_byte_buf_append(&t, vt, strlen(vt), NULL) == LMD_OK;

	if (ok) {
		lmi_parse_report_args(p, (struct lmd_str){.ptr = t.p, .len = t.n}, n_raw);
		p->n_param++;
	}
	lmi_text_byte_buf_fini(&t);
	free(kt);
	free(vt);
	json_decref(k);
	json_decref(v);
	return ok;
}

/* Parses what comes between a key and its value; sets *kind. */
static enum lmi_text_match begin_value(const struct lmi_answer_parser *p, size_t *i,
				       enum kind *kind)
{
	const struct lmi_answer_format *f = p->f;
	size_t at;
	enum lmi_text_match g;

	if (!f->value)
		return LMI_TEXT_MATCH_YES;
	lmi_parse_skip_space(p, i);
	g = lmi_parse_literal(p, i, f->value);
	if (g != LMI_TEXT_MATCH_NO || !f->json_value) {
		*kind = f->json_value ? TEXT : ANY;
		return g;
	}
	for (at = *i; p->at + at < p->n && at - *i < TYPE_MAX;)
		if (lmi_parse_is_name_start(p->buf[p->at + at]))
			at++;
		else
			break;
	if (p->at + at == p->n)
		return LMI_TEXT_MATCH_NEED_MORE;
	*i = at;
	return lmi_parse_literal(p, i, f->json_value);
}

/* Finds the end of the value that starts at offset *from, and the length of its end marker. */
static enum lmi_text_match end_value(struct lmi_answer_parser *p, size_t *from, size_t *end,
				     size_t *n_end)
{
	static const char open[] = "<![CDATA[", close[] = "]]>";
	const char *last = p->f->value_end;
	enum lmi_text_match g = LMI_TEXT_MATCH_NO;
	size_t i = *from;

	if (p->f->cdata)
		g = lmi_parse_literal(p, &i, open);
	if (g == LMI_TEXT_MATCH_NEED_MORE)
		return g;
	*n_end = strlen(last);
	if (g == LMI_TEXT_MATCH_NO)
		return lmi_parse_find(p, i, last, end);
	*from = i;
	for (size_t at = i;;) {
		g = lmi_parse_find(p, at, close, end);
		if (g != LMI_TEXT_MATCH_YES)
			return g;
		at = *end + sizeof(close) - 1;
		g = lmi_parse_literal(p, &at, last);
		if (g == LMI_TEXT_MATCH_YES)
			*n_end += sizeof(close) - 1;
		if (g != LMI_TEXT_MATCH_NO)
			return g;
	}
}

static enum lmi_text_match parse_param(struct lmi_answer_parser *p, size_t i)
{
	const struct lmi_answer_format *f = p->f;
	const char *text = p->buf + p->at;
	struct lmd_str key = {.ptr = text + i};
	size_t at = i, end = 0, n_end = 0;
	enum kind kind = ANY;
	enum lmi_text_match g;

	while (p->at + at < p->n && at - i < KEY_MAX) {
		size_t k = at;

		g = lmi_parse_literal(p, &k, f->key_end);
		if (g == LMI_TEXT_MATCH_NEED_MORE)
			return g;
		if (g == LMI_TEXT_MATCH_YES)
			break;
		at++;
	}
	if (p->at + at == p->n)
		return LMI_TEXT_MATCH_NEED_MORE;
	key.len = at - i;
	if (!key.len || lmi_parse_literal(p, &at, f->key_end) != LMI_TEXT_MATCH_YES)
		return LMI_TEXT_MATCH_NO;
	g = begin_value(p, &at, &kind);
	if (g == LMI_TEXT_MATCH_YES)
		g = end_value(p, &at, &end, &n_end);
	if (g != LMI_TEXT_MATCH_YES)
		return g;
	return give_member(p, key, kind, (struct lmd_str){.ptr = text + at, .len = end - at},
			   end + n_end)
		       ? LMI_TEXT_MATCH_YES
		       : LMI_TEXT_MATCH_NO;
}

enum lmi_text_match lmi_parse_params(struct lmi_answer_parser *p)
{
	size_t i = 0, at;
	enum lmi_text_match end, param;

	lmi_parse_skip_space(p, &i);
	at = i;
	end = lmi_parse_literal(p, &at, p->f->call_end);
	if (end == LMI_TEXT_MATCH_YES) {
		lmi_parse_report_args(p,
				      p->n_param ? (struct lmd_str){.ptr = "}", .len = 1}
						 : (struct lmd_str){.ptr = "{}", .len = 2},
				      0);
		p->closed = true;
		lmi_parse_report_call_end(p, false, at);
		return end;
	}
	param = lmi_parse_literal(p, &i, p->f->param);
	if (param == LMI_TEXT_MATCH_YES)
		return parse_param(p, i);
	return end == LMI_TEXT_MATCH_NEED_MORE ? end : param;
}
