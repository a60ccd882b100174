/* SPDX-License-Identifier: MIT
 *
 * Two forms: a structural tag with the texts that the model's own format has around the arguments of a
 * call, or a JSON schema made of the tools' own schemas, for a list of call objects, or one object if
 * only one call is allowed.
 *
 * References within a tool's schema ("#/$defs/place") are relative to that schema; inside of a schema of
 * all calls they get the place of the tool's schema as a prefix. */
#include "service/required_call.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/text/answer/formats.h"
#include "core/text/answer/parser.h"
#include "llamad/attr.h"
#include "service/request.h"
#include "service/required_call_impl.h"

/* The tools that may be called. */
struct tools {
	json_t *list;           /* as the request has them */
	const json_t **function; /* [n] */
	size_t n;
};

/* ---- references ---- */

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

/* Keywords whose members are named by the author of the schema. */
static bool contains_names(const char *keyword)
{
	static const char *const words[] = {"properties", "patternProperties", "$defs",
					    "definitions", "dependentSchemas"};

	return is_one_of(keyword, words, LMD_LEN(words));
}

/* Keywords whose values are data and not schemas. */
static bool contains_data(const char *keyword)
{
	static const char *const words[] = {"const", "enum", "default", "examples"};

	return is_one_of(keyword, words, LMD_LEN(words));
}

static bool is_pointer(const json_t *ref)
{
	const char *s = json_string_value(ref);

	return s && s[0] == '#' && (!s[1] || s[1] == '/');
}

/* Puts the prefix before every reference in the schema, or only counts the references if it is NULL.
 * names: the keys of v are names.  Returns their number, or -1 if out of memory.  The depth is that
 * of a request's body, which is bounded. */
static int rebase(json_t *v, bool names, const char *prefix)
{
	int n = 0, more;
	json_t *member, *moved;
	const char *key;
	size_t i;

	json_array_foreach(v, i, member) {
		more = rebase(member, false, prefix);
		if (more < 0)
			return -1;
		n += more;
	}
	json_object_foreach(v, key, member) {
		if (!names && !strcmp(key, "$ref") && is_pointer(member)) {
			n++;
			if (!prefix)
				continue;
			moved = json_sprintf("%s%s", prefix, json_string_value(member) + 1);
			/* replaces the value of a key that exists: the iteration goes on */
			if (!moved || json_object_set_new(v, key, moved))
				return -1;
			continue;
		}
		if (!names && contains_data(key))
			continue;
		more = rebase(member, !names && contains_names(key), prefix);
		if (more < 0)
			return -1;
		n += more;
	}
	return n;
}

/* Returns the tool's schema of its arguments as it stands at the place; NULL if out of memory. */
static json_t *arguments(const json_t *function, const char *place)
{
	json_t *own = json_object_get(function, "parameters"), *copy;

	if (!own || !json_object_size(own))
		return json_pack("{s:s}", "type", "object");
	if (!rebase(own, false, NULL))
		return json_incref(own);
	copy = json_deep_copy(own);
	/* a copy for which memory ran out may lack members */
	if (!copy || !json_equal(copy, own) || rebase(copy, false, place) < 0) {
		json_decref(copy);
		return NULL;
	}
	return copy;
}

/* ---- as JSON ---- */

/* {"type": "object", "properties": {"name": {"const": NAME}, "arguments": SCHEMA}, ...} */
static json_t *call_schema(const json_t *function, const char *place)
{
	char at[64];

	(void)snprintf(at, sizeof(at), "%s/properties/arguments", place);
	return json_pack("{s:s,s:{s:{s:O},s:o},s:[s,s],s:b}", "type", "object", "properties",
			 "name", "const", json_object_get(function, "name"), "arguments",
			 arguments(function, at), "required", "name", "arguments",
			 "additionalProperties", 0);
}

/* Returns the schema of one call of any tool; NULL if out of memory. */
static json_t *any_call(const struct tools *t, const char *place)
{
	json_t *any;
	char at[40];

	if (t->n == 1)
		return call_schema(t->function[0], place);
	any = json_array();
	for (size_t i = 0; i < t->n; i++) {
		(void)snprintf(at, sizeof(at), "%s/anyOf/%zu", place, i);
		if (json_array_append_new(any, call_schema(t->function[i], at))) {
			json_decref(any);
			return NULL;
		}
	}
	return json_pack("{s:o}", "anyOf", any);
}

static json_t *as_schema(const struct tools *t, bool one)
{
	json_t *schema = any_call(t, one ? "#" : "#/items");

	return one ? schema
		   : json_pack("{s:s,s:o,s:i}", "type", "array", "items", schema, "minItems", 1);
}

/* ---- in the model's format ---- */

static bool has_own_format(const struct tools *t, const struct lmi_chat_answer_format *answer)
{
	if (!answer->format || !answer->format->write_begin)
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (!lmi_svc_call_name_is_plain(json_string_value(json_object_get(t->function[i], "name"))) ||
		    (answer->format->write_param &&
		     !lmi_svc_call_params_can_be_written(answer->format, t->function[i])))
			return false;
	return true;
}

/* {"type": "tag", "begin": ..., "content": {"type": "json_schema", ...}, "end": ...} */
static json_t *call_tag(const struct lmi_svc_call_writer *w, const json_t *function)
{
	json_t *own = json_object_get(function, "parameters"), *content;

	own = json_object_size(own) ? json_incref(own) : json_pack("{s:s}", "type", "object");
	content = w->f->write_param
			  ? lmi_svc_call_params(w, own)
			  : json_pack("{s:s,s:O}", "type", "json_schema", "json_schema", own);
	json_decref(own);
	return json_pack("{s:s,s:o,s:o,s:o}", "type", "tag", "begin",
			 lmi_svc_call_marker_of(w, w->f->write_begin,
						json_string_value(json_object_get(function, "name"))),
			 "content", content, "end", lmi_svc_call_marker(w, w->f->write_end));
}

/* The rest of the reasoning that the prompt began, and blanks after it; or reasoning that the model may
 * begin.  The end is a text, which its token is as well, so that the first one ends the free text. */
static int append_reasoning(json_t *list, const struct lmi_svc_call_writer *w)
{
	const struct lmi_answer_format *f = w->f;

	if (w->thinks)
		return json_array_append_new(list, json_pack("{s:s,s:s,s:{s:s},s:s}", "type", "tag",
							     "begin", "", "content", "type", "any_text",
							     "end", f->reasoning_end)) ||
		       json_array_append_new(list, json_pack("{s:s,s:s}", "type", "regex", "pattern",
							     "[ \\n]{0,4}"));
	if (!f->write_think_begin)
		return 0;
	return json_array_append_new(
		list, json_pack("{s:s,s:{s:s,s:o,s:{s:s},s:s}}", "type", "optional", "content", "type",
				"tag", "begin", lmi_svc_call_marker(w, f->write_think_begin), "content", "type",
				"any_text", "end", f->write_think_end));
}

static json_t *as_tag(const struct tools *t, bool one, const struct lmi_svc_call_writer *w)
{
	json_t *tags = json_array(), *list = json_array(), *calls;
	const char *separator = w->f->write_separator;
	int failed = 0;

	for (size_t i = 0; i < t->n; i++)
		failed |= json_array_append_new(tags, call_tag(w, t->function[i]));
	calls = json_pack("{s:s,s:o,s:o,s:b,s:b}", "type", "tags_with_separator", "tags", tags, "separator",
			  lmi_svc_call_marker(w, separator), "at_least_one", 1, "stop_after_first",
			  one || !separator);
	failed |= append_reasoning(list, w) || lmi_svc_call_append_marker(list, w, w->f->write_open) ||
		  json_array_append_new(list, calls) || lmi_svc_call_append_marker(list, w, w->f->write_close);
	if (failed) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:s,s:{s:s,s:o}}", "type", "structural_tag", "format", "type", "sequence",
			 "elements", list);
}

/* ---- the request ---- */

static bool may_call(const struct lmi_wire_req_generate *q, const char *name)
{
	const struct lmd_str *want = &q->required_call;

	return (want->len == 1 && *want->ptr == '*') ||
	       (want->len == strlen(name) && !memcmp(want->ptr, name, want->len));
}

/* Collects the tools that may be called. */
static enum lmd_status collect(struct tools *t, const struct lmi_wire_req_generate *q,
			       struct lmd_error *err)
{
	char shown[80];

	t->list = json_loadb(q->tools.ptr, q->tools.len, JSON_ALLOW_NUL, NULL);
	if (!json_is_array(t->list))
		return lmd_fail(err, LMD_INVALID, "tools: is not a JSON array, which required_call needs");
	t->function = calloc(json_array_size(t->list) + 1, sizeof(*t->function));
	if (!t->function)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu tools", json_array_size(t->list));
	for (size_t i = 0; i < json_array_size(t->list); i++) {
		const json_t *tool = json_array_get(t->list, i), *f = json_object_get(tool, "function");
		const char *name;

		f = f ? f : tool;
		name = json_string_value(json_object_get(f, "name"));
		if (!name)
			return lmd_fail(err, LMD_INVALID, "tools: element %zu is not a function with a name",
					i);
		if (may_call(q, name))
			t->function[t->n++] = f;
	}
	if (t->n)
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "required_call: no tool has the name '%s'",
			lmi_printable(shown, sizeof(shown), q->required_call.ptr, q->required_call.len));
}

enum lmd_status lmi_svc_required_call_make(struct lmi_svc_required_call *out,
					   const struct lmi_wire_req_generate *q,
					   struct lmi_chat_answer_format *answer,
					   const struct lmi_svc_marker_token *tokens, size_t n_token,
					   struct lmd_error *err)
{
	const struct lmi_svc_call_writer w = {
		.f = answer->format, .tokens = tokens, .n_token = n_token, .thinks = answer->thinks};
	struct tools t = {0};
	json_t *doc;
	enum lmd_status st = collect(&t, q, err);

	*out = (struct lmi_svc_required_call){0};
	if (st == LMD_OK) {
		out->structural_tag = has_own_format(&t, answer);
		doc = out->structural_tag ? as_tag(&t, !q->parallel_calls, &w)
					  : as_schema(&t, !q->parallel_calls);
		out->text = json_dumps(doc, JSON_COMPACT);
		json_decref(doc);
		if (!out->text)
			st = lmd_fail(err, LMD_NOMEM, "no memory for the grammar of tool calls");
	}
	if (st == LMD_OK && strlen(out->text) > LMI_WIRE_LIMIT_GRAMMAR_BYTES) {
		st = lmd_fail(err, LMD_INVALID,
			      "required_call: the schemas of the tools have %zu bytes, the maximum is %d",
			      strlen(out->text), LMI_WIRE_LIMIT_GRAMMAR_BYTES);
		free(out->text);
		out->text = NULL;
	}
	if (st == LMD_OK && !out->structural_tag) {
		answer->format = lmi_answer_format_find(lmi_svc_str("json"));
		answer->thinks = false;
	}
	json_decref(t.list);
	free(t.function);
	return st;
}
