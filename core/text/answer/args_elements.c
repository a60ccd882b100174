/* SPDX-License-Identifier: MIT
 *
 * Parses parameters that are nested elements, in which the text `param`, here P, comes before each
 * tag: P<key>valueP</key>.  An element that contains elements is an object; if these are all called
 * item, it is a list; an element without any is JSON other than a string, or else text.  The
 * elements are parsed when the end of the call has arrived. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/answer/parser_impl.h"

#define TREE_DEPTH 32
#define KEY_MAX    256

/* The text that is left to parse. */
struct cursor {
	const char *s, *end;
	const char *mark; /* comes before each tag */
};

static bool skip(struct cursor *r, const char *s)
{
	size_t n = strlen(s);

	if ((size_t)(r->end - r->s) < n || memcmp(r->s, s, n) != 0)
		return false;
	r->s += n;
	return true;
}

static void blanks(struct cursor *r)
{
	while (r->s < r->end && lmi_parse_is_space(*r->s))
		r->s++;
}

/* Parses an opening tag: mark, <key>. */
static bool open_tag(struct cursor *r, struct lmd_str *key)
{
	struct cursor at = *r;
	const char *end;

	if (!skip(&at, r->mark) || !skip(&at, "<") || at.s == at.end || *at.s == '/')
		return false;
	end = memchr(at.s, '>', (size_t)(at.end - at.s));
	if (!end || end == at.s || end - at.s > KEY_MAX)
		return false;
	*key = (struct lmd_str){.ptr = at.s, .len = (size_t)(end - at.s)};
	r->s = end + 1;
	return true;
}

static bool close_tag(struct cursor *r, struct lmd_str key)
{
	struct cursor at = *r;

	if (!skip(&at, r->mark) || !skip(&at, "</") || (size_t)(at.end - at.s) < key.len ||
	    memcmp(at.s, key.ptr, key.len) != 0)
		return false;
	at.s += key.len;
	if (!skip(&at, ">"))
		return false;
	r->s = at.s;
	return true;
}

static json_t *text(struct cursor *r, struct lmd_str key)
{
	const char *end = memmem(r->s, (size_t)(r->end - r->s), r->mark, strlen(r->mark));
	const char *s = r->s;
	json_t *v;

	if (!end)
		return NULL;
	r->s = end;
	if (!close_tag(r, key))
		return NULL;
	v = json_loadb(s, (size_t)(end - s), JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (v && !json_is_string(v))
		return v;
	json_decref(v);
	return json_stringn(s, (size_t)(end - s));
}

static json_t *elements(struct cursor *r, uint32_t depth);

/* Parses the content of the element `key` and its closing tag. */
static json_t *element_content(struct cursor *r, struct lmd_str key, uint32_t depth)
{
	struct cursor at = *r;
	struct lmd_str inner;
	json_t *v;

	blanks(&at);
	if (depth == TREE_DEPTH || !open_tag(&at, &inner))
		return text(r, key);
	v = elements(r, depth + 1);
	blanks(r);
	if (v && close_tag(r, key))
		return v;
	json_decref(v);
	return NULL;
}

static int set(json_t *object, struct lmd_str key, json_t *v)
{
	char name[KEY_MAX + 1];

	memcpy(name, key.ptr, key.len);
	name[key.len] = '\0';
	return json_object_set(object, name, v);
}

/* Parses a sequence of elements, as many as there are. */
static json_t *elements(struct cursor *r, uint32_t depth)
{
	static const char item[] = "item";
	json_t *object = json_object(), *list = json_array();
	struct lmd_str key;
	bool ok = object && list, is_list = depth > 0;

	for (blanks(r); ok && open_tag(r, &key); blanks(r)) {
		json_t *v = element_content(r, key, depth);

		is_list &= key.len == sizeof(item) - 1 && !memcmp(key.ptr, item, key.len);
		ok = v && !json_array_append(list, v) && !set(object, key, v);
		json_decref(v);
	}
	json_decref(ok && is_list ? object : list);
	if (ok)
		return is_list ? list : object;
	json_decref(object);
	return NULL;
}

enum lmi_text_match lmi_parse_tree(struct lmi_answer_parser *p)
{
	struct cursor r = {.mark = p->f->param};
	size_t end = 0;
	enum lmi_text_match g = lmi_parse_find(p, 0, p->f->call_end, &end);
	json_t *v;
	char *out = NULL;

	if (g != LMI_TEXT_MATCH_YES)
		return g;
	r.s = p->buf + p->at;
	r.end = r.s + end;
	v = elements(&r, 0);
	blanks(&r);
	if (v && r.s == r.end)
		out = json_dumps(v, JSON_REAL_PRECISION(17));
	json_decref(v);
	if (!out)
		return LMI_TEXT_MATCH_NO;
	lmi_parse_report_args(p, (struct lmd_str){.ptr = out, .len = strlen(out)}, end);
	free(out);
	p->closed = true;
	lmi_parse_report_call_end(p, false, strlen(p->f->call_end));
	return LMI_TEXT_MATCH_YES;
}
