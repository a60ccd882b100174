/* SPDX-License-Identifier: MIT
 *
 * Filters for web pages: entities, safe strings, URLs, attributes. */
#include <ctype.h>
#include <string.h>

#include "core/jinja/builtin.h"

static LMI_JINJA_BUILTIN(f_escape)
{
	(void)a;
	return lmi_jinja_val_escape(run, self);
}

static LMI_JINJA_BUILTIN(f_forceescape)
{
	(void)a;
	self = lmi_jinja_val_text(run, self);
	self.flags = 0;
	return lmi_jinja_val_escape(run, self);
}

static LMI_JINJA_BUILTIN(f_safe)
{
	(void)a;
	self = lmi_jinja_val_text(run, self);
	self.flags |= LMI_JINJA_VF_SAFE;
	return self;
}

/* The named entities that model texts are likely to contain; numeric ones are handled as well. */
static const struct {
	const char *name;
	uint32_t c;
} entities[] = {
	{ "amp", '&' },     { "lt", '<' },      { "gt", '>' },	    { "quot", '"' },
	{ "apos", '\'' },   { "nbsp", 0xa0 },   { "copy", 0xa9 },   { "reg", 0xae },
	{ "hellip", 0x2026 }, { "mdash", 0x2014 }, { "ndash", 0x2013 }, { "euro", 0x20ac },
};

/* Decodes the entity at s, which is the position after &. Returns 0 if there is none.  *n: its
 * length in bytes. */
static uint32_t entity(const char *s, size_t max, size_t *n)
{
	size_t i = 0;
	uint32_t c = 0;

	if (max > 2 && s[0] == '#') {
		int base = s[1] == 'x' || s[1] == 'X' ? 16 : 10;

		for (i = base == 16 ? 2 : 1; i < max && i < 10; i++) {
			if (base == 16 ? !isxdigit((unsigned char)s[i])
				       : !isdigit((unsigned char)s[i]))
				break;
			c = c * (uint32_t)base +
			    (uint32_t)(isdigit((unsigned char)s[i])
					       ? s[i] - '0'
					       : tolower((unsigned char)s[i]) - 'a' + 10);
		}
		*n = i + (i < max && s[i] == ';');
		return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
	}
	for (size_t k = 0; k < LMD_LEN(entities); k++) {
		i = strlen(entities[k].name);
		if (i < max && !memcmp(s, entities[k].name, i) && s[i] == ';') {
			*n = i + 1;
			return entities[k].c;
		}
	}
	return 0;
}

/* Removes tags and comments, collapses whitespace and resolves entities. */
static LMI_JINJA_BUILTIN(f_striptags)
{
	struct lmi_jinja_val v = lmi_jinja_val_text(run, self);
	struct lmi_jinja_str_buf plain = {.run = run}, b = {.run = run};
	bool blank = false, any_end[2] = {true, true}; /* false: no end of a tag, comment follows */

	(void)a;
	for (size_t at = 0; at < v.n && lmi_jinja_run_step(run, 1);) {
		bool comment = v.n - at >= 4 && !memcmp(v.u.s + at, "<!--", 4);
		const char *end = NULL;

		if (v.u.s[at] == '<' && any_end[comment]) {
			end = comment ? memmem(v.u.s + at, v.n - at, "-->", 3)
				      : memchr(v.u.s + at, '>', v.n - at);
			any_end[comment] = end != NULL;
		}
		if (end) {
			if (!lmi_jinja_run_step(run, (uint64_t)(end - v.u.s - (ptrdiff_t)at) / 16))
				break;
			at = (size_t)(end - v.u.s) + (comment ? 3 : 1);
			continue;
		}
		lmi_jinja_buf_add(&plain, v.u.s + at, 1);
		at++;
	}
	v = lmi_jinja_buf_done(&plain);
	v = lmi_jinja_str_strip(run, v, lmi_jinja_none(), LMI_JINJA_BOTH);
	for (size_t at = 0, n; at < v.n && lmi_jinja_run_step(run, 1);) {
		size_t next = at;
		uint32_t c = lmi_unicode_next(v.u.s, v.n, &next);

		if (lmi_unicode_space(c)) {
			if (!blank)
				lmi_jinja_buf_char(&b, ' ');
		} else if (c == '&' && (c = entity(v.u.s + next, v.n - next, &n))) {
			lmi_jinja_buf_char(&b, c);
			next += n;
		} else {
			lmi_jinja_buf_add(&b, v.u.s + at, next - at);
		}
		blank = lmi_unicode_space(c);
		at = next;
	}
	return lmi_jinja_buf_done(&b);
}

static void url_quote(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v, bool query)
{
	v = lmi_jinja_val_text(b->run, v);
	for (uint32_t i = 0; i < v.n && lmi_jinja_run_step(b->run, 1); i++) {
		unsigned char c = (unsigned char)v.u.s[i];

		if (isalnum(c) || (c && strchr("_.-~", c)) || (c == '/' && !query))
			lmi_jinja_buf_add(b, v.u.s + i, 1);
		else if (c == ' ' && query)
			lmi_jinja_buf_char(b, '+');
		else
			lmi_jinja_buf_printf(b, "%%%02X", c);
	}
}

static LMI_JINJA_BUILTIN(f_urlencode)
{
	struct lmi_jinja_str_buf b = {.run = run};
	const struct lmi_jinja_list *items;

	(void)a;
	if (self.kind == LMI_JINJA_V_STR || !lmi_jinja_val_iterable(self)) {
		url_quote(&b, self, false);
		return lmi_jinja_buf_done(&b);
	}
	if (self.kind == LMI_JINJA_V_DICT)
		self = lmi_jinja_builtin_call(run, lmi_jinja_filter_find("items", 5), self,
					      &(struct lmi_jinja_call_args){0});
	items = lmi_jinja_val_items(run, self);
	for (uint32_t i = 0; items && i < items->n && lmi_jinja_run_step(run, 1); i++) {
		const struct lmi_jinja_list *pair = lmi_jinja_val_items(run, items->v[i]);

		if (!pair || pair->n != 2) {
			lmi_jinja_run_fail(run, "urlencode needs a list of pairs");
			break;
		}
		if (i)
			lmi_jinja_buf_char(&b, '&');
		url_quote(&b, pair->v[0], true);
		lmi_jinja_buf_char(&b, '=');
		url_quote(&b, pair->v[1], true);
	}
	return lmi_jinja_buf_done(&b);
}

static LMI_JINJA_BUILTIN(f_xmlattr)
{
	struct lmi_jinja_str_buf b = {.run = run};
	bool space = lmi_jinja_param_truth(a[0], true);
	struct lmi_jinja_val out;

	if (self.kind != LMI_JINJA_V_DICT) {
		lmi_jinja_run_fail(run, "xmlattr needs a dictionary, not %s",
				   lmi_jinja_val_type(self));
		return self;
	}
	for (uint32_t i = 0; i < self.u.dict->n && lmi_jinja_run_step(run, 1); i++) {
		const struct lmi_jinja_entry *e = &self.u.dict->e[i];

		if (e->value.kind == LMI_JINJA_V_NONE || e->value.kind == LMI_JINJA_V_UNDEF)
			continue;
		if (b.n || space)
			lmi_jinja_buf_char(&b, ' ');
		lmi_jinja_buf_val(&b, lmi_jinja_val_escape(run, e->key));
		lmi_jinja_buf_str(&b, "=\"");
		lmi_jinja_buf_val(&b, lmi_jinja_val_escape(run, e->value));
		lmi_jinja_buf_char(&b, '"');
	}
	out = lmi_jinja_buf_done(&b);
	out.flags = run->autoescape ? LMI_JINJA_VF_SAFE : 0;
	return out;
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "escape", .fn = f_escape, .params = ""},
	{.name = "e", .fn = f_escape, .params = ""},
	{.name = "forceescape", .fn = f_forceescape, .params = ""},
	{.name = "safe", .fn = f_safe, .params = ""},
	{.name = "striptags", .fn = f_striptags, .params = ""},
	{.name = "urlencode", .fn = f_urlencode, .params = ""},
	{.name = "xmlattr", .fn = f_xmlattr, .params = "autospace"},
};

const struct lmi_jinja_table lmi_jinja_web_filters = LMI_JINJA_TABLE(rows);
