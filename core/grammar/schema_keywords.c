/* SPDX-License-Identifier: MIT
 *
 * Table of the schema keywords: which are enforced, which are annotations, and which are rejected
 * because an answer could violate them. Keywords that no draft defines are annotations, as the
 * drafts demand. */
#include <string.h>

#include "core/base/printable.h"
#include "core/grammar/schema.h"

enum kind {
	ENFORCED,   /* the grammar enforces it */
	ANNOTATION, /* allows every value */
	REFUSED     /* rejected unless it allows every value here, see `allows_all` */
};

static bool is_true(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	(void)schema;
	return (lmi_json_node_is(v, LMI_JSON_BOOL) && v->u.b) ||
	       (lmi_json_node_is(v, LMI_JSON_OBJECT) && !v->n);
}

static bool is_false(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	(void)schema;
	return lmi_json_node_is(v, LMI_JSON_BOOL) && !v->u.b;
}

static bool is_empty(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	(void)schema;
	return lmi_json_node_is(v, LMI_JSON_OBJECT) && !v->n;
}

/* Every integer is a multiple of 1. */
static bool is_one_of_integer(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	double d;

	return lmi_json_node_real(v, &d) && d == 1 &&
	       lmi_json_node_eq(lmi_json_node_get(schema, "type"), "integer");
}

/* `if` without `then` and `else`, or "if P then P". */
static bool is_if_without_effect(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	const struct lmi_json_node *then = lmi_json_node_get(schema, "then");
	const struct lmi_json_node *other = lmi_json_node_get(schema, "else");

	return (!then || is_true(schema, then) || lmi_gr_schema_equal(then, v)) &&
	       (!other || is_true(schema, other));
}

/* Types, such as {"type": "string"}. Integers cannot be excluded from the numbers. */
static bool are_types(const struct lmi_json_node *type)
{
	const struct lmi_json_node *t = type;
	bool list = lmi_json_node_is(type, LMI_JSON_ARRAY), integer = false, number = false;

	if (list)
		t = lmi_json_node_first(type);
	for (uint32_t i = 0; i < (list ? type->n : 1); i++, t = lmi_json_node_next(t)) {
		integer |= lmi_json_node_eq(t, "integer");
		number |= lmi_json_node_eq(t, "number");
	}
	return number || !integer;
}

static bool are_strings(const struct lmi_json_node *list)
{
	const struct lmi_json_node *v = lmi_json_node_first(list);

	for (uint32_t i = 0; v && i < list->n; i++, v = lmi_json_node_next(v))
		if (v->type != LMI_JSON_STRING)
			return false;
	return v && list->type == LMI_JSON_ARRAY;
}

/* The forms that schema_rewrite.c leaves: types, strings, or one required name. */
static bool is_enforced_not(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	const struct lmi_json_node *type = lmi_json_node_get(schema, "type");
	const struct lmi_json_node *names = lmi_json_node_get(v, "required");

	if (is_false(schema, v))
		return true;
	if (!lmi_json_node_is(v, LMI_JSON_OBJECT) || v->n != 1)
		return false;
	if (lmi_json_node_get(v, "type"))
		return are_types(lmi_json_node_get(v, "type"));
	if (lmi_json_node_eq(type, "string"))
		return lmi_json_node_is(lmi_json_node_get(v, "const"), LMI_JSON_STRING) ||
		       are_strings(lmi_json_node_get(v, "enum"));
	return lmi_json_node_eq(type, "object") && are_strings(names) && names->n == 1;
}

const struct lmi_json_node *lmi_gr_schema_excluded_name(const struct lmi_json_node *schema)
{
	return lmi_json_node_first(
		lmi_json_node_get(lmi_json_node_get(schema, "not"), "required"));
}

bool lmi_gr_schema_excludes_string(const struct lmi_json_node *schema,
				   const struct lmi_json_node *v)
{
	const struct lmi_json_node *excluded = lmi_json_node_get(schema, "not");
	const struct lmi_json_node *one = lmi_json_node_get(excluded, "const");
	const struct lmi_json_node *list = lmi_json_node_get(excluded, "enum");
	const struct lmi_json_node *e = lmi_json_node_first(list);

	if (one && lmi_gr_schema_equal(one, v))
		return true;
	for (uint32_t i = 0; e && i < list->n; i++, e = lmi_json_node_next(e))
		if (lmi_gr_schema_equal(e, v))
			return true;
	return false;
}

/* Means the same as additionalProperties when no other keyword applies schemas to the same
 * object. */
static bool means_additional(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	static const char *const beside[] = {"allOf", "anyOf", "oneOf", "$ref", "if"};

	if (is_true(schema, v))
		return true;
	for (size_t i = 0; i < LMD_LEN(beside); i++)
		if (lmi_json_node_get(schema, beside[i]))
			return false;
	return true;
}

static const struct {
	const char *name;
	enum kind kind;
	bool (*allows_all)(const struct lmi_json_node *schema, const struct lmi_json_node *v);
} keywords[] = {
	/* clang-format off */
	{"type", ENFORCED, NULL},
	{"enum", ENFORCED, NULL},
	{"const", ENFORCED, NULL},
	{"$ref", ENFORCED, NULL},
	{"allOf", ENFORCED, NULL},
	{"anyOf", ENFORCED, NULL},
	{"oneOf", ENFORCED, NULL}, /* as anyOf */
	{"properties", ENFORCED, NULL},
	{"required", ENFORCED, NULL},
	{"additionalProperties", ENFORCED, NULL},
	{"patternProperties", ENFORCED, NULL}, /* or rejected in schema_key_pattern.c */
	{"minProperties", ENFORCED, NULL}, /* or rejected in schema_object.c */
	{"maxProperties", ENFORCED, NULL},
	{"items", ENFORCED, NULL},
	{"prefixItems", ENFORCED, NULL},
	{"additionalItems", ENFORCED, NULL},
	{"minItems", ENFORCED, NULL},
	{"maxItems", ENFORCED, NULL},
	{"minLength", ENFORCED, NULL}, /* or rejected in schema_string.c */
	{"maxLength", ENFORCED, NULL},
	{"pattern", ENFORCED, NULL},
	{"format", ENFORCED, NULL}, /* known formats; unknown ones are annotations */
	{"minimum", ENFORCED, NULL},
	{"maximum", ENFORCED, NULL},
	{"exclusiveMinimum", ENFORCED, NULL},
	{"exclusiveMaximum", ENFORCED, NULL},
	{"$schema", ANNOTATION, NULL},
	{"$id", ANNOTATION, NULL},
	{"id", ANNOTATION, NULL},
	{"$anchor", ANNOTATION, NULL},
	{"$defs", ANNOTATION, NULL},
	{"definitions", ANNOTATION, NULL},
	{"$comment", ANNOTATION, NULL},
	{"$vocabulary", ANNOTATION, NULL},
	{"title", ANNOTATION, NULL},
	{"description", ANNOTATION, NULL},
	{"default", ANNOTATION, NULL},
	{"examples", ANNOTATION, NULL},
	{"deprecated", ANNOTATION, NULL},
	{"readOnly", ANNOTATION, NULL},
	{"writeOnly", ANNOTATION, NULL},
	{"contentEncoding", ANNOTATION, NULL},
	{"contentMediaType", ANNOTATION, NULL},
	{"contentSchema", ANNOTATION, NULL},
	{"then", ANNOTATION, NULL}, /* has an effect only beside `if` */
	{"else", ANNOTATION, NULL},
	{"minContains", ANNOTATION, NULL}, /* has an effect only beside `contains` */
	{"maxContains", ANNOTATION, NULL},
	{"if", REFUSED, is_if_without_effect},
	{"not", REFUSED, is_enforced_not},
	{"multipleOf", REFUSED, is_one_of_integer},
	{"uniqueItems", REFUSED, is_false},
	{"contains", REFUSED, NULL},
	{"propertyNames", REFUSED, is_true},
	{"dependencies", REFUSED, is_empty},
	{"dependentRequired", REFUSED, is_empty},
	{"dependentSchemas", REFUSED, is_empty},
	{"unevaluatedProperties", REFUSED, means_additional},
	{"unevaluatedItems", REFUSED, is_true},
	{"$dynamicRef", REFUSED, NULL},
	{"$recursiveRef", REFUSED, NULL},
	/* clang-format on */
};

void lmi_gr_schema_check(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *schema)
{
	for (size_t i = 0; i < LMD_LEN(keywords) && !lmi_gr_schema_failed(s); i++) {
		const struct lmi_json_node *v =
			keywords[i].kind == REFUSED ? lmi_json_node_get(schema, keywords[i].name)
						    : NULL;

		/* the other kinds are looked for elsewhere */
		lmi_grammar_builder_step(&s->b, keywords[i].kind == REFUSED ? schema->n : 0);
		if (v && !(keywords[i].allows_all && keywords[i].allows_all(schema, v))) {
			lmi_gr_schema_fail(s, LMD_UNSUPPORTED, v,
					   "'%s' is not supported here: an answer could violate it",
					   keywords[i].name);
			return;
		}
	}
}

const char *lmi_gr_schema_keyword(size_t i)
{
	return i < LMD_LEN(keywords) ? keywords[i].name : NULL;
}

bool lmi_gr_schema_is_annotation(const char *keyword)
{
	for (size_t i = 0; i < LMD_LEN(keywords); i++)
		if (!strcmp(keywords[i].name, keyword))
			return keywords[i].kind == ANNOTATION;
	return true;
}

const struct lmi_json_node *lmi_gr_schema_other_members(const struct lmi_json_node *schema)
{
	const struct lmi_json_node *v = lmi_json_node_get(schema, "additionalProperties");

	return v ? v : lmi_json_node_get(schema, "unevaluatedProperties");
}
