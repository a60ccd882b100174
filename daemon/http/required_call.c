/* SPDX-License-Identifier: MIT
 *
 * The constraint of an answer that must consist of tool calls: a JSON schema made of the tools' own
 * schemas.  The answer is a list of call objects, or one object if only one call is allowed.
 *
 * References within a tool's schema ("#/$defs/place") are relative to that schema; inside of ours
 * they get the place of the tool's schema as a prefix. */
#include "daemon/http/chat_body.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json_text.h"
#include "core/base/printable.h"
#include "llamad/attr.h"

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
	json_t *own = (json_t *)lmi_http_get(function, "parameters"), *copy;

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

/* ---- the schema of the answer ---- */

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

static const json_t *function_at(const struct lmi_http_translation *t, size_t i)
{
	return json_object_get(json_array_get(t->tools, i), "function");
}

static bool may_call(const struct lmi_http_translation *t, const json_t *function)
{
	const char *name = json_string_value(json_object_get(function, "name"));

	return !t->tool_name.len || (name && !strcmp(name, t->tool_name.ptr));
}

/* Returns the schema of one call of any of the n tools that may be called; NULL if out of memory. */
static json_t *any_call(const struct lmi_http_translation *t, size_t n, const char *place)
{
	json_t *any = json_array(), *one;
	char at[40];

	for (size_t i = 0, k = 0; i < json_array_size(t->tools); i++) {
		if (!may_call(t, function_at(t, i)))
			continue;
		(void)snprintf(at, sizeof(at), "%s/anyOf/%zu", place, k++);
		one = call_schema(function_at(t, i), n == 1 ? place : at);
		if (n == 1) {
			json_decref(any);
			return one;
		}
		if (!one || json_array_append_new(any, one)) {
			json_decref(any);
			return NULL;
		}
	}
	return json_pack("{s:o}", "anyOf", any);
}

static void check(struct lmi_http_translation *t, const struct lmi_http_at *at, size_t n)
{
	char shown[64];

	if (!n && t->tool_name.len)
		lmi_http_fail(
			&t->r, at, "the tool \"%s\" is not in tools",
			lmi_printable(shown, sizeof(shown), t->tool_name.ptr, t->tool_name.len));
	else if (!n)
		lmi_http_fail(&t->r, at, "requires a call, but there are no tools");
	if (t->q->has_grammar || t->q->has_regex || t->q->has_structural_tag)
		lmi_http_fail(&t->r, at, "requires a call, which a grammar does not allow");
}

void lmi_http_require_call(struct lmi_http_translation *t)
{
	static const struct lmi_http_at at = {.name = "tool_choice"};
	json_t *schema;
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(t->tools); i++)
		n += may_call(t, function_at(t, i));
	check(t, &at, n);
	if (t->r.status != LMD_OK)
		return;
	schema = any_call(t, n, t->one_call ? "#" : "#/items");
	if (!t->one_call)
		schema = json_pack("{s:s,s:o,s:i}", "type", "array", "items", schema, "minItems",
				   1);
	if (!schema) {
		lmi_http_fail_nomem(&t->r);
		return;
	}
	t->q->json_schema = lmi_http_read_json(&t->r, &at, schema, LMI_WIRE_LIMIT_GRAMMAR_BYTES);
	t->q->has_json_schema = true;
	t->q->parse_format = lmi_http_str("json");
	t->q->has_parse_format = t->q->parse = true;
	json_decref(schema);
}

void lmi_http_read_parallel_calls(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  const json_t *v)
{
	t->one_call = !lmi_http_read_bool(&t->r, at, v);
}
