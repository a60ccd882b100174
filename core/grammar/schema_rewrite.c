/* SPDX-License-Identifier: MIT
 *
 * Replaces keywords that the compiler does not know by equal ones that it enforces:
 *
 *     not S                 allOf [complement of S]
 *     if P then Q else R    anyOf [allOf [P, Q], allOf [complement of P, R]]
 *     dependent... {a: S}   anyOf [not an object, an object without a, S] */
#include <string.h>

#include "core/grammar/schema_read.h"

/* Most schemas whose complements are built for one schema, and most levels that are visited. */
#define NEGATIONS_MAX 100000u
#define LEVELS_MAX    (2 * LMI_GR_SCHEMA_DEPTH)

struct rewriter {
	uint32_t n_left;
};

static bool only_strings(const json_t *list)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
		if (!json_is_string(v))
			return false;
	return json_array_size(list) > 0;
}

static bool is_type_name(const json_t *schema, const char *name)
{
	const char *type = json_string_value(json_object_get(schema, "type"));

	return type && !strcmp(type, name);
}

/* Integers cannot be excluded from the numbers. */
static bool types_are_enforced(const json_t *type)
{
	bool integer = false, number = false;
	size_t n = json_is_array(type) ? json_array_size(type) : 1;

	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_is_array(type) ? json_array_get(type, i) : type;
		const char *name = json_string_value(v);

		integer |= name && !strcmp(name, "integer");
		number |= name && !strcmp(name, "number");
	}
	return number || !integer;
}

bool lmi_gr_schema_not_is_enforced(const json_t *schema, const json_t *excluded)
{
	const json_t *names = json_object_get(excluded, "required");
	const json_t *value = json_object_get(excluded, "const");

	if (json_is_false(excluded))
		return true;
	if (!json_is_object(excluded) || json_object_size(excluded) != 1)
		return false;
	if (json_object_get(excluded, "type"))
		return types_are_enforced(json_object_get(excluded, "type"));
	if (is_type_name(schema, "string"))
		return json_is_string(value) || only_strings(json_object_get(excluded, "enum"));
	return is_type_name(schema, "object") && json_array_size(names) == 1 && only_strings(names);
}

/* Adds a schema to `allOf`; takes ownership of v. Returns false if memory runs out, or if allOf is
 * not an array. */
static bool add_to_all(json_t *schema, json_t *v)
{
	json_t *old = json_object_get(schema, "allOf"), *all;
	bool ok;

	if (old && !json_is_array(old)) {
		json_decref(v);
		return false;
	}
	all = old ? json_copy(old) : json_array();
	ok = v && all && !json_array_append(all, v) && !json_object_set(schema, "allOf", all);
	json_decref(all);
	json_decref(v);
	return ok;
}

static void rewrite_not(struct rewriter *w, json_t *schema)
{
	const json_t *excluded = json_object_get(schema, "not");

	if (!excluded || lmi_gr_schema_not_is_enforced(schema, excluded))
		return;
	if (add_to_all(schema, lmi_gr_schema_negation(excluded, &w->n_left)))
		(void)json_object_del(schema, "not");
}

static json_t *condition(json_t *schema)
{
	json_t *out = json_copy(schema);

	if (json_is_object(out) && json_object_set_new(out, LMI_GR_SCHEMA_CONDITION, json_true())) {
		json_decref(out);
		return NULL;
	}
	return out;
}

static void rewrite_if(struct rewriter *w, json_t *schema)
{
	json_t *p = json_object_get(schema, "if"), *q = json_object_get(schema, "then"),
	       *r = json_object_get(schema, "else"), *other;

	if (!p || (!q && !r))
		return;
	other = lmi_gr_schema_negation(p, &w->n_left);
	if (!other)
		return;
	if (!add_to_all(schema, json_pack("{s:[{s:[o,O]},{s:[o,O]}]}", "anyOf", "allOf",
					  condition(p), q ? q : json_true(), "allOf", other,
					  r ? r : json_true())))
		return;
	(void)json_object_del(schema, "if");
	(void)json_object_del(schema, "then");
	(void)json_object_del(schema, "else");
}

/* v: what an object with the member `key` has to satisfy: a schema or a list of names. */
static json_t *dependency(const char *key, json_t *v)
{
	json_t *then = json_is_array(v) ? json_pack("{s:s,s:O}", "type", "object", "required", v)
					: json_incref(v);

	return json_pack("{s:[{s:{s:s}},{s:s,s:{s:[s]}},o]}", "anyOf", "not", "type", "object",
			 "type", "object", "not", "required", key, then);
}

static void rewrite_dependencies(json_t *schema, const char *keyword)
{
	json_t *all = json_object_get(schema, keyword), *v, *out;
	const char *key;
	bool ok = true;

	if (!json_is_object(all) || !json_object_size(all))
		return;
	out = json_array();
	json_object_foreach(all, key, v)
		ok &= !json_array_append_new(out, dependency(key, v));
	if (!ok)
		json_decref(out);
	else if (add_to_all(schema, json_pack("{s:o}", "allOf", out)))
		(void)json_object_del(schema, keyword);
}

static void rewrite(struct rewriter *w, json_t *schema, uint32_t depth);

static void rewrite_all(struct rewriter *w, json_t *v, uint32_t depth)
{
	json_t *kid;
	const char *key;
	size_t i;

	json_array_foreach(v, i, kid)
		rewrite(w, kid, depth);
	json_object_foreach(v, key, kid)
		rewrite(w, kid, depth);
}

static void rewrite(struct rewriter *w, json_t *schema, uint32_t depth)
{
	static const char *const one[] = {"additionalProperties", "unevaluatedProperties",
					  "additionalItems", "items"};
	static const char *const many[] = {"properties", "patternProperties", "$defs",
					   "definitions", "allOf", "anyOf", "oneOf",
					   "prefixItems"};

	if (!json_is_object(schema) || depth == LEVELS_MAX)
		return;
	rewrite_not(w, schema);
	rewrite_if(w, schema);
	rewrite_dependencies(schema, "dependentRequired");
	rewrite_dependencies(schema, "dependentSchemas");
	rewrite_dependencies(schema, "dependencies");
	for (size_t i = 0; i < LMD_LEN(one); i++) {
		json_t *v = json_object_get(schema, one[i]);

		if (json_is_array(v))
			rewrite_all(w, v, depth + 1);
		else
			rewrite(w, v, depth + 1);
	}
	for (size_t i = 0; i < LMD_LEN(many); i++)
		rewrite_all(w, json_object_get(schema, many[i]), depth + 1);
}

void lmi_gr_schema_rewrite(json_t *schema)
{
	struct rewriter w = {.n_left = NEGATIONS_MAX};

	rewrite(&w, schema, 0);
}
