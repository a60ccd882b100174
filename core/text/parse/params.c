/* SPDX-License-Identifier: MIT
 *
 * Converts parameters that are written one by one between markers to the members of a JSON object.
 * A value that is JSON other than a string is copied as JSON; any other value becomes a string. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/parse/machine.h"

#define KEY_MAX  256
#define TYPE_MAX 16

enum lmi_got lmi_parse_find(struct lmi_parse *p, size_t i, const char *s, size_t *at)
{
	size_t n = p->n - p->at, m = strlen(s), from = i;
	const char *hit;

	/* skip what was already searched, except for a possible partial match at its end */
	if (p->searched > i + m)
		from = p->searched - m;
	hit = n > from ? memmem(p->buf + p->at + from, n - from, s, m) : NULL;
	if (hit) {
		*at = (size_t)(hit - (p->buf + p->at));
		return LMI_GOT_YES;
	}
	p->searched = n;
	return p->last ? LMI_GOT_NO : LMI_GOT_MORE;
}

/* How to interpret a value. */
enum kind {
	ANY, /* as JSON, unless it is invalid or a JSON string: then as text */
	TEXT
};

static json_t *value_of(const struct lmi_parse *p, enum kind kind, const char *s, size_t n)
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
	if (v && (!json_is_string(v) || p->f->json_value))
		return v;
	json_decref(v);
	return json_stringn(s, n);
}

/* Reports `{"key": value`, or `, "key": value`; returns false if it cannot be written as JSON. */
static bool give_member(struct lmi_parse *p, struct lmd_str key, enum kind kind,
			struct lmd_str value, size_t n_raw)
{
	json_t *k = json_stringn(key.ptr, key.len), *v = value_of(p, kind, value.ptr, value.len);
	char *kt = k ? json_dumps(k, JSON_ENCODE_ANY) : NULL;
	char *vt = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
	struct lmi_text t = {0};
	bool ok = kt && vt &&
		  lmi_text_add(&t, p->n_param ? ", " : "{", p->n_param ? 2 : 1, NULL) == LMD_OK &&
		  lmi_text_add(&t, kt, strlen(kt), NULL) == LMD_OK &&
		  lmi_text_add(&t, ": ", 2, NULL) == LMD_OK &&
		  lmi_text_add(&t, vt, strlen(vt), NULL) == LMD_OK;

	if (ok) {
		lmi_parse_args(p, (struct lmd_str){.ptr = t.p, .len = t.n}, n_raw);
		p->n_param++;
	}
	lmi_text_fini(&t);
	free(kt);
	free(vt);
	json_decref(k);
	json_decref(v);
	return ok;
}

/* Parses what comes between a key and its value; sets *kind. */
static enum lmi_got begin_value(const struct lmi_parse *p, size_t *i, enum kind *kind)
{
	const struct lmi_parse_format *f = p->f;
	size_t at;
	enum lmi_got g;

	if (!f->value)
		return LMI_GOT_YES;
	lmi_parse_blanks(p, i);
	g = lmi_parse_lit(p, i, f->value);
	if (g != LMI_GOT_NO || !f->json_value) {
		*kind = f->json_value ? TEXT : ANY;
		return g;
	}
	for (at = *i; p->at + at < p->n && at - *i < TYPE_MAX;)
		if (lmi_parse_begins_name(p->buf[p->at + at]))
			at++;
		else
			break;
	if (p->at + at == p->n)
		return LMI_GOT_MORE;
	*i = at;
	return lmi_parse_lit(p, i, f->json_value);
}

/* Finds the end of the value that starts at offset *from, and the length of its end marker. */
static enum lmi_got end_value(struct lmi_parse *p, size_t *from, size_t *end, size_t *n_end)
{
	static const char open[] = "<![CDATA[", close[] = "]]>";
	const char *last = p->f->value_end;
	enum lmi_got g = LMI_GOT_NO;
	size_t i = *from;

	if (p->f->cdata)
		g = lmi_parse_lit(p, &i, open);
	if (g == LMI_GOT_MORE)
		return g;
	*n_end = strlen(last);
	if (g == LMI_GOT_NO)
		return lmi_parse_find(p, i, last, end);
	*from = i;
	for (size_t at = i;;) {
		g = lmi_parse_find(p, at, close, end);
		if (g != LMI_GOT_YES)
			return g;
		at = *end + sizeof(close) - 1;
		g = lmi_parse_lit(p, &at, last);
		if (g == LMI_GOT_YES)
			*n_end += sizeof(close) - 1;
		if (g != LMI_GOT_NO)
			return g;
	}
}

static enum lmi_got parse_param(struct lmi_parse *p, size_t i)
{
	const struct lmi_parse_format *f = p->f;
	const char *text = p->buf + p->at;
	struct lmd_str key = {.ptr = text + i};
	size_t at = i, end = 0, n_end = 0;
	enum kind kind = ANY;
	enum lmi_got g;

	while (p->at + at < p->n && at - i < KEY_MAX) {
		size_t k = at;

		g = lmi_parse_lit(p, &k, f->key_end);
		if (g == LMI_GOT_MORE)
			return g;
		if (g == LMI_GOT_YES)
			break;
		at++;
	}
	if (p->at + at == p->n)
		return LMI_GOT_MORE;
	key.len = at - i;
	if (!key.len || lmi_parse_lit(p, &at, f->key_end) != LMI_GOT_YES)
		return LMI_GOT_NO;
	g = begin_value(p, &at, &kind);
	if (g == LMI_GOT_YES)
		g = end_value(p, &at, &end, &n_end);
	if (g != LMI_GOT_YES)
		return g;
	return give_member(p, key, kind, (struct lmd_str){.ptr = text + at, .len = end - at},
			   end + n_end)
		       ? LMI_GOT_YES
		       : LMI_GOT_NO;
}

enum lmi_got lmi_parse_params(struct lmi_parse *p)
{
	size_t i = 0, at;
	enum lmi_got end, param;

	lmi_parse_blanks(p, &i);
	at = i;
	end = lmi_parse_lit(p, &at, p->f->call_end);
	if (end == LMI_GOT_YES) {
		lmi_parse_args(p,
			       p->n_param ? (struct lmd_str){.ptr = "}", .len = 1}
					  : (struct lmd_str){.ptr = "{}", .len = 2},
			       0);
		p->closed = true;
		lmi_parse_call_end(p, false, at);
		return end;
	}
	param = lmi_parse_lit(p, &i, p->f->param);
	if (param == LMI_GOT_YES)
		return parse_param(p, i);
	return end == LMI_GOT_MORE ? end : param;
}
