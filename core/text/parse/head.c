/* SPDX-License-Identifier: MIT
 *
 * The begin of a call: markers, the name, up to its arguments.  Nothing is told before it is clear
 * that it is one. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/parse/machine.h"
#include "llamad/attr.h"

#define NAME_MAX    128
#define CHANNEL_MAX 512

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == ':' || c == '/';
}

static bool at_end(const struct lmi_parse *p, size_t i)
{
	return p->at + i == p->n;
}

/* A name at offset *i, and what ended it is there. */
static enum lmi_got name(const struct lmi_parse *p, size_t *i, struct lmd_str *out)
{
	size_t from = *i;

	while (!at_end(p, *i) && *i - from < NAME_MAX && name_char(p->buf[p->at + *i]))
		++*i;
	if (at_end(p, *i))
		return LMI_GOT_MORE;
	*out = (struct lmd_str){.ptr = p->buf + p->at + from, .len = *i - from};
	return out->len ? LMI_GOT_YES : LMI_GOT_NO;
}

/* ---- {"name": "f", "arguments": {...}} ---- */

static const char *const name_keys[] = {"name", "tool_name", "function"};
static const char *const args_keys[] = {"arguments", "parameters", "args", "input"};

/* One of the words in quotes, and a colon. */
static enum lmi_got key(const struct lmi_parse *p, size_t *i, const char *const *words, size_t n)
{
	enum lmi_got some = LMI_GOT_NO;

	for (size_t k = 0; k < n; k++) {
		char quoted[32];
		size_t at = *i;
		enum lmi_got g;

		(void)snprintf(quoted, sizeof(quoted), "\"%s\"", words[k]);
		g = lmi_parse_lit(p, &at, quoted);
		if (g == LMI_GOT_YES) {
			lmi_parse_blanks(p, &at);
			g = lmi_parse_lit(p, &at, ":");
			*i = at;
			return g;
		}
		some = g == LMI_GOT_MORE ? g : some;
	}
	return some;
}

/* The usual order, with which arguments can be told while they come. */
static enum lmi_got usual(const struct lmi_parse *p, size_t *i, struct lmd_str *out)
{
	enum lmi_got g = lmi_parse_lit(p, i, "{");

	lmi_parse_blanks(p, i);
	if (g == LMI_GOT_YES)
		g = key(p, i, name_keys, LMD_LEN(name_keys));
	lmi_parse_blanks(p, i);
	if (g == LMI_GOT_YES)
		g = lmi_parse_lit(p, i, "\"");
	if (g == LMI_GOT_YES)
		g = name(p, i, out);
	if (g == LMI_GOT_YES)
		g = lmi_parse_lit(p, i, "\"");
	lmi_parse_blanks(p, i);
	if (g == LMI_GOT_YES)
		g = lmi_parse_lit(p, i, ",");
	lmi_parse_blanks(p, i);
	if (g == LMI_GOT_YES)
		g = key(p, i, args_keys, LMD_LEN(args_keys));
	lmi_parse_blanks(p, i);
	if (g == LMI_GOT_YES && at_end(p, *i))
		return LMI_GOT_MORE;
	return g == LMI_GOT_YES && p->buf[p->at + *i] != '{' ? LMI_GOT_NO : g;
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

/* A whole object; false: it is no call. */
static bool give_object(struct lmi_parse *p, const char *s, size_t n, size_t n_raw)
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
	ok = f && strlen(f) && strlen(f) <= NAME_MAX && json_is_object(args);
	text = ok ? json_dumps(args, JSON_REAL_PRECISION(17)) : NULL;
	ok = ok && text;
	if (ok) {
		id = json_string_value(json_object_get(o, "id"));
		if (!id)
			id = json_string_value(json_object_get(o, "tool_call_id"));
		lmi_parse_call(p, (struct lmd_str){.ptr = f, .len = strlen(f)},
			       (struct lmd_str){.ptr = id, .len = id ? strlen(id) : 0}, n_raw);
		lmi_parse_args(p, (struct lmd_str){.ptr = text, .len = strlen(text)}, 0);
		lmi_parse_call_end(p, false, 0);
	}
	free(text);
	json_decref(parsed);
	json_decref(o);
	return ok;
}

/* Any order, other members: read to its end. */
static enum lmi_got whole(struct lmi_parse *p, size_t i)
{
	const char *text = p->buf + p->at;
	size_t n = p->n - p->at;
	enum lmi_scan_end e = LMI_SCAN_MORE;

	if (!p->whole) {
		p->whole = true;
		p->scan = (struct lmi_scan){0};
		p->searched = i;
	}
	while (p->searched < n && e == LMI_SCAN_MORE)
		e = lmi_scan_byte(&p->scan, text[p->searched++]);
	if (e == LMI_SCAN_MORE)
		return LMI_GOT_MORE;
	return e == LMI_SCAN_LAST && give_object(p, text + i, p->searched - i, p->searched)
		       ? LMI_GOT_YES
		       : LMI_GOT_NO;
}

static enum lmi_got json_body(struct lmi_parse *p, size_t i)
{
	struct lmd_str f = {0};
	bool list = p->in_list;
	size_t at;
	enum lmi_got g;

	lmi_parse_blanks(p, &i);
	if (!p->in_list && p->head != LMI_HEAD_NEXT && lmi_parse_lit(p, &i, "[") == LMI_GOT_YES) {
		list = true;
		lmi_parse_blanks(p, &i);
	}
	if (at_end(p, i))
		return LMI_GOT_MORE;
	if (p->buf[p->at + i] != '{')
		return LMI_GOT_NO;
	at = i;
	g = p->whole ? LMI_GOT_NO : usual(p, &at, &f);
	if (g == LMI_GOT_MORE)
		return g;
	if (g == LMI_GOT_YES) {
		lmi_parse_call(p, f, (struct lmd_str){0}, at);
		p->mode = LMI_IN_ARGS;
	} else {
		g = whole(p, i);
	}
	if (g == LMI_GOT_YES)
		p->in_list = list;
	return g;
}

/* ---- a name and its arguments ---- */

/* name:7, where 7 counts the calls */
static struct lmd_str without_number(struct lmd_str f)
{
	size_t n = f.len;

	while (n && f.ptr[n - 1] >= '0' && f.ptr[n - 1] <= '9')
		n--;
	if (n > 1 && n < f.len && f.ptr[n - 1] == ':')
		f.len = n - 1;
	return f;
}

static enum lmi_got optional(const struct lmi_parse *p, size_t *i, const char *s)
{
	enum lmi_got g = s ? lmi_parse_lit(p, i, s) : LMI_GOT_NO;

	return g == LMI_GOT_NO ? LMI_GOT_YES : g;
}

/* Name, what stands behind it; *out and *id are set. */
static enum lmi_got named(const struct lmi_parse *p, size_t *i, struct lmd_str *out,
			  struct lmd_str *id)
{
	const struct lmi_parse_format *f = p->f;
	size_t from = *i, at;
	enum lmi_got g = optional(p, i, f->prefix);

	if (g == LMI_GOT_YES)
		g = name(p, i, out);
	if (g != LMI_GOT_YES)
		return g;
	if (f->section && f->prefix && without_number(*out).len < out->len) {
		*id = (struct lmd_str){.ptr = p->buf + p->at + from, .len = *i - from};
		*out = without_number(*out);
	}
	if (!f->name_end || !lmi_parse_is_blank(f->name_end[0]))
		lmi_parse_blanks(p, i);
	at = *i;
	if (f->list && lmi_parse_lit(p, &at, "[CALL_ID]") == LMI_GOT_YES) {
		g = name(p, &at, id);
		if (g != LMI_GOT_YES)
			return g;
		*i = at;
	} else if (f->list && lmi_parse_lit(p, &at, "[CALL_ID]") == LMI_GOT_MORE) {
		return LMI_GOT_MORE;
	}
	return f->name_end ? lmi_parse_lit(p, i, f->name_end) : LMI_GOT_YES;
}

static enum lmi_got name_body(struct lmi_parse *p, size_t i)
{
	const struct lmi_parse_format *f = p->f;
	struct lmd_str fn = {0}, id = {0};
	enum lmi_got g;

	if (f->list || p->in_list) {
		size_t at = i;

		lmi_parse_blanks(p, &at);
		if (at_end(p, at))
			return LMI_GOT_MORE;
		if (p->in_list || p->buf[p->at + at] == '[' || p->buf[p->at + at] == '{')
			return json_body(p, i);
		i = at;
	}
	g = named(p, &i, &fn, &id);
	if (g != LMI_GOT_YES)
		return g;
	if (f->plain && fn.len == strlen(f->plain) && !memcmp(fn.ptr, f->plain, fn.len)) {
		lmi_parse_markup(p, i);
		p->mode = LMI_IN_TEXT;
		p->fresh = false;
		return LMI_GOT_YES;
	}
	lmi_parse_blanks(p, &i);
	if (at_end(p, i))
		return LMI_GOT_MORE;
	if (p->buf[p->at + i] != '{')
		return LMI_GOT_NO;
	lmi_parse_call(p, fn, id, i);
	p->mode = LMI_IN_ARGS;
	return LMI_GOT_YES;
}

/* ---- parameters ---- */

static enum lmi_got params_body(struct lmi_parse *p, size_t i)
{
	struct lmd_str fn = {0}, id = {0};
	size_t at, end;
	enum lmi_got g, h;

	lmi_parse_blanks(p, &i);
	g = named(p, &i, &fn, &id);
	if (g != LMI_GOT_YES)
		return g;
	lmi_parse_blanks(p, &i);
	if (at_end(p, i))
		return LMI_GOT_MORE;
	at = end = i;
	g = lmi_parse_lit(p, &at, p->f->param);
	h = lmi_parse_lit(p, &end, p->f->call_end);
	if (g == LMI_GOT_YES || h == LMI_GOT_YES) {
		lmi_parse_call(p, fn, id, i);
		p->mode = LMI_IN_PARAMS;
		return LMI_GOT_YES;
	}
	return g == LMI_GOT_MORE || h == LMI_GOT_MORE ? LMI_GOT_MORE : LMI_GOT_NO;
}

/* ---- channels ---- */

/* "<|channel|>commentary to=functions.f <|constrain|>json<|message|>" */
static enum lmi_got channel(struct lmi_parse *p)
{
	static const char message[] = "<|message|>", to[] = "to=functions.";
	const char *text = p->buf + p->at, *end, *target;
	size_t n = p->n - p->at, i;
	struct lmd_str fn;

	end = memmem(text, n < CHANNEL_MAX ? n : CHANNEL_MAX, message, sizeof(message) - 1);
	if (!end)
		return n < CHANNEL_MAX ? LMI_GOT_MORE : LMI_GOT_NO;
	i = (size_t)(end - text);
	target = memmem(text, i, to, sizeof(to) - 1);
	if (!target) {
		p->thinking = memmem(text, i, "analysis", 8) != NULL;
		lmi_parse_markup(p, i + sizeof(message) - 1);
		p->mode = LMI_IN_TEXT;
		return LMI_GOT_YES;
	}
	n = (size_t)(target - text) + sizeof(to) - 1;
	if (name(p, &n, &fn) != LMI_GOT_YES)
		return LMI_GOT_NO;
	i += sizeof(message) - 1;
	lmi_parse_blanks(p, &i);
	if (at_end(p, i))
		return LMI_GOT_MORE;
	if (text[i] != '{')
		return LMI_GOT_NO;
	p->thinking = false;
	lmi_parse_call(p, fn, (struct lmd_str){0}, i);
	p->mode = LMI_IN_ARGS;
	return LMI_GOT_YES;
}

/* ---- all ---- */

static enum lmi_got body(struct lmi_parse *p, size_t i)
{
	switch (p->f->body) {
	case LMI_BODY_JSON:
		return json_body(p, i);
	case LMI_BODY_NAME:
		return name_body(p, i);
	case LMI_BODY_PARAMS:
		return params_body(p, i);
	case LMI_BODY_CHANNEL:
		return channel(p);
	case LMI_BODY_NONE:
		break;
	}
	return LMI_GOT_NO;
}

enum lmi_got lmi_parse_head(struct lmi_parse *p)
{
	const struct lmi_parse_format *f = p->f;
	bool section = p->head == LMI_HEAD_SECTION;
	enum lmi_got g = LMI_GOT_YES;
	size_t i = 0;

	if (f->body == LMI_BODY_CHANNEL)
		return channel(p);
	lmi_parse_blanks(p, &i);
	if (section) {
		g = lmi_parse_lit(p, &i, f->section);
		lmi_parse_blanks(p, &i);
	}
	if (g == LMI_GOT_YES && p->head <= LMI_HEAD_CALL && f->call)
		g = lmi_parse_lit(p, &i, f->call);
	if (g == LMI_GOT_YES)
		g = body(p, i);
	if (g == LMI_GOT_YES && section)
		p->in_section = true;
	return g;
}
