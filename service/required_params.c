/* SPDX-License-Identifier: MIT
 *
 * Arguments that are written one by one between markers, without JSON around them.
 *
 * The parameters come in the order of the schema, and those that are not required may be left out.  The value
 * of a string is its text up to the end marker, which has no quotes and no escapes; any other value is JSON.
 * Schemas that cannot be held to in this way, such as strings with a pattern or alternatives of which one is a
 * string, are written as JSON calls instead. */
#include <string.h>

#include "llamad/attr.h"
#include "service/required_call_impl.h"

#define PARAMS_MAX 200

/* ---- which schemas ---- */

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

/* Returns whether the object has no other keys than these, and annotations. */
static bool has_only(const json_t *v, const char *const *keys)
{
	static const char *const annotations[] = {"description", "title",    "default", "examples",
						  "deprecated",	 "readOnly", "$schema", "$comment",
						  "strict",	 NULL};
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)v, key, member)
		if (!is_one_of(key, keys) && !is_one_of(key, annotations))
			return false;
	return true;
}

/* Returns whether all references point to definitions, which are copied to where the value's schema is. */
static bool refers_to_definitions(const json_t *v)
{
	const char *key;
	json_t *member;
	size_t i;

	json_array_foreach((json_t *)v, i, member)
		if (!refers_to_definitions(member))
			return false;
	json_object_foreach((json_t *)v, key, member) {
		const char *ref = !strcmp(key, "$ref") ? json_string_value(member) : NULL;

		if (ref && strncmp(ref, "#/$defs/", 8) != 0 && strncmp(ref, "#/definitions/", 14) != 0)
			return false;
		if (!refers_to_definitions(member))
			return false;
	}
	return true;
}

static bool is_string_schema(const json_t *v)
{
	const char *type = json_string_value(json_object_get(v, "type"));

	return type && !strcmp(type, "string");
}

/* Returns whether the text can be the value of a string. */
static bool is_value(const struct lmi_answer_format *f, const json_t *text)
{
	return json_is_string(text) && !strstr(json_string_value(text), f->value_end) &&
	       strlen(json_string_value(text)) == json_string_length(text);
}

static bool string_can_be_written(const struct lmi_answer_format *f, const json_t *v)
{
	static const char *const keys[] = {"type", "enum", "const", NULL};
	const json_t *list = json_object_get(v, "enum"), *one = json_object_get(v, "const"), *text;
	size_t i;

	if (!has_only(v, keys) || (one && (list || !is_value(f, one))) || (list && !json_array_size(list)) ||
	    json_array_size(list) > PARAMS_MAX)
		return false;
	json_array_foreach((json_t *)list, i, text)
		if (!is_value(f, text))
			return false;
	return true;
}

static bool value_can_be_written(const struct lmi_answer_format *f, const json_t *v)
{
	static const char *const types[] = {"integer", "number", "boolean", "array", "object", "null", NULL};
	const char *type = json_string_value(json_object_get(v, "type"));

	if (!type)
		return false;
	return is_string_schema(v) ? string_can_be_written(f, v)
				   : is_one_of(type, types) && refers_to_definitions(v);
}

static bool is_required(const json_t *schema, const char *key)
{
	const json_t *name;
	size_t i;

	json_array_foreach(json_object_get(schema, "required"), i, name)
		if (json_is_string(name) && !strcmp(json_string_value(name), key))
			return true;
	return false;
}

bool lmi_svc_call_params_can_be_written(const struct lmi_answer_format *f, const json_t *function)
{
	static const char *const keys[] = {"type",  "properties",  "required", "additionalProperties",
					   "$defs", "definitions", NULL};
	const json_t *schema = json_object_get(function, "parameters"),
		     *properties = json_object_get(schema, "properties"), *name;
	const char *key, *type = json_string_value(json_object_get(schema, "type"));
	json_t *v;
	size_t i;

	if (!schema)
		return true;
	if (!json_is_object(schema) || !has_only(schema, keys) || (type && strcmp(type, "object") != 0) ||
	    json_object_size(properties) > PARAMS_MAX)
		return false;
	json_object_foreach((json_t *)properties, key, v)
		if (!*key || !lmi_svc_call_name_is_plain(key) || !value_can_be_written(f, v))
			return false;
	json_array_foreach(json_object_get(schema, "required"), i, name)
		if (!json_is_string(name) || !json_object_get(properties, json_string_value(name)))
			return false;
	return true;
}

/* ---- how they are written ---- */

static json_t *dropped(json_t *v)
{
	json_decref(v);
	return NULL;
}

static json_t *const_string(const json_t *text)
{
	return json_pack("{s:s,s:O}", "type", "const_string", "value", text);
}

/* Returns the text of a string and its end marker. */
static json_t *string_value(const struct lmi_svc_call_writer *w, const json_t *v)
{
	const json_t *list = json_object_get(v, "enum"), *one = json_object_get(v, "const"), *text;
	json_t *out, *any;
	size_t i;

	if (!list && !one)
		return json_pack("{s:s,s:s,s:{s:s},s:s}", "type", "tag", "begin", "", "content", "type",
				 "any_text", "end", w->f->value_end);
	any = json_array();
	if (one && json_array_append_new(any, const_string(one)))
		return dropped(any);
	json_array_foreach((json_t *)list, i, text)
		if (json_array_append_new(any, const_string(text)))
			return dropped(any);
	out = json_pack("[{s:s,s:o}]", "type", "or", "elements", any);
	/* a format without a marker before the value writes it on lines of its own */
	if (lmi_svc_call_append_marker(out, w, w->f->value ? NULL : "\n") ||
	    lmi_svc_call_append_marker(out, w, w->f->value_end))
		return dropped(out);
	return json_pack("{s:s,s:o}", "type", "sequence", "elements", out);
}

/* Returns the JSON of a value and its end marker. */
static json_t *json_value(const struct lmi_svc_call_writer *w, const json_t *schema, const json_t *v)
{
	static const char *const definitions[] = {"$defs", "definitions"};
	json_t *own = json_copy((json_t *)v), *out;

	for (size_t i = 0; own && i < LMD_LEN(definitions); i++) {
		json_t *d = json_object_get(schema, definitions[i]);

		if (d && json_object_set(own, definitions[i], d))
			return dropped(own);
	}
	out = json_pack("[{s:s,s:o}]", "type", "json_schema", "json_schema", own);
	if (lmi_svc_call_append_marker(out, w, w->f->value ? NULL : "\n") ||
	    lmi_svc_call_append_marker(out, w, w->f->value_end))
		return dropped(out);
	return json_pack("{s:s,s:o}", "type", "sequence", "elements", out);
}

static json_t *param(const struct lmi_svc_call_writer *w, const json_t *schema, const char *key, const json_t *v)
{
	json_t *one = json_pack("{s:s,s:o,s:o,s:o}", "type", "tag", "begin",
				lmi_svc_call_marker_of(w, w->f->write_param, key), "content",
				is_string_schema(v) ? string_value(w, v) : json_value(w, schema, v), "end",
				lmi_svc_call_marker(w, w->f->write_param_end));

	return is_required(schema, key) ? one : json_pack("{s:s,s:o}", "type", "optional", "content", one);
}

json_t *lmi_svc_call_params(const struct lmi_svc_call_writer *w, const json_t *schema)
{
	json_t *list = json_pack("[{s:s,s:s}]", "type", "const_string", "value", ""), *v;
	const char *key;

	json_object_foreach(json_object_get(schema, "properties"), key, v)
		if (json_array_append_new(list, param(w, schema, key, v)))
			return dropped(list);
	return json_pack("{s:s,s:o}", "type", "sequence", "elements", list);
}
