/* SPDX-License-Identifier: MIT
 *
 * The complement of a JSON schema. A schema is the conjunction of its keywords, so that its
 * complement is the alternative of the complements of its keywords. A keyword about one type
 * accepts all other types; the complement is therefore of that type. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/schema.h"
#include "core/grammar/schema_read.h"

struct negation {
	uint32_t *n_left;
	json_t *alternatives; /* array */
	bool impossible;
};

/* Takes ownership of v; NULL: there is no complement, or no memory. */
static void add(struct negation *n, json_t *v)
{
	if (!v || json_array_append_new(n->alternatives, v))
		n->impossible = true;
}

static void type(struct negation *n, const json_t *s, json_t *v)
{
	json_t *alone = json_pack("{s:O}", "type", v);

	if (alone && lmi_gr_schema_not_is_enforced(s, alone))
		add(n, json_pack("{s:O}", "not", alone));
	else
		n->impossible = true;
	json_decref(alone);
}

static int by_value(const void *a, const void *b)
{
	double x = json_number_value(*(json_t *const *)a), y = json_number_value(*(json_t *const *)b);

	return (x > y) - (x < y);
}

/* The range between two numbers; NULL: no end. */
static json_t *between(json_t *above, json_t *below)
{
	json_t *out = json_pack("{s:s}", "type", "number");

	if ((above && json_object_set(out, "exclusiveMinimum", above)) ||
	    (below && json_object_set(out, "exclusiveMaximum", below))) {
		json_decref(out);
		return NULL;
	}
	return out;
}

/* Numbers other than v[n]: there is no keyword for them, but ranges. Returns NULL if memory runs
 * out. */
static json_t *other_numbers(json_t **v, size_t n)
{
	json_t *ranges = json_pack("[{s:{s:s}}]", "not", "type", "number");
	bool ok = true;

	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i <= n && ok; i++) {
		json_t *above = i ? v[i - 1] : NULL, *below = i < n ? v[i] : NULL;

		if (!above || !below || json_number_value(above) < json_number_value(below))
			ok = !json_array_append_new(ranges, between(above, below));
	}
	if (ok)
		return json_pack("{s:o}", "anyOf", ranges);
	json_decref(ranges);
	return NULL;
}

static void other_literal(json_t *all, const char *of_type, json_t *remaining)
{
	json_t *v = remaining ? json_pack("[{s:{s:s}},{s:o}]", "not", "type", of_type, "const",
					  remaining)
			      : NULL;

	(void)json_array_append_new(all, v ? json_pack("{s:o}", "anyOf", v)
					   : json_pack("{s:{s:s}}", "not", "type", of_type));
}

/* None of the listed values: all of several conditions, one for each value and one for all
 * strings. */
static void listed(struct negation *n, const json_t *s, json_t *list)
{
	json_t *all = json_array(), *strings = json_array(), *v;
	json_t **numbers = lmi_alloc(json_array_size(list) + 1, sizeof(*numbers));
	size_t i, want = 0, n_numbers = 0;

	(void)s;
	n->impossible |= !numbers;
	json_array_foreach(list, i, v) {
		if (json_is_string(v))
			(void)json_array_append(strings, v);
		else if (json_is_number(v) && numbers)
			numbers[n_numbers++] = v;
		else if (json_is_boolean(v))
			other_literal(all, "boolean", json_boolean(!json_is_true(v)));
		else if (json_is_null(v))
			other_literal(all, "null", NULL);
		else
			n->impossible = true;
		want += !json_is_string(v) && !json_is_number(v);
	}
	if (n_numbers) {
		want++;
		(void)json_array_append_new(all, other_numbers(numbers, n_numbers));
	}
	lmi_free(numbers);
	if (json_array_size(strings)) {
		want++;
		(void)json_array_append_new(
			all, json_pack("{s:[{s:{s:s}},{s:s,s:{s:O}}]}", "anyOf", "not", "type",
				       "string", "type", "string", "not", "enum", strings));
	}
	json_decref(strings);
	if (!json_is_array(list) || json_array_size(all) != want)
		n->impossible = true;
	add(n, json_pack("{s:o}", "allOf", all));
}

static void constant(struct negation *n, const json_t *s, json_t *v)
{
	json_t *list = json_pack("[O]", v);

	listed(n, s, list);
	json_decref(list);
}

static void required(struct negation *n, const json_t *s, json_t *v)
{
	json_t *name;
	size_t i;

	(void)s;
	n->impossible |= !json_is_array(v);
	json_array_foreach(v, i, name)
		add(n, json_pack("{s:s,s:{s:[O]}}", "type", "object", "not", "required", name));
}

/* A member is there and its value is not what its schema describes. */
static void properties(struct negation *n, const json_t *s, json_t *v)
{
	const char *key;
	json_t *kid;

	(void)s;
	n->impossible |= !json_is_object(v);
	json_object_foreach(v, key, kid) {
		json_t *other = lmi_gr_schema_negation(kid, n->n_left);

		if (json_is_false(other)) /* every value satisfies the schema */
			json_decref(other);
		else
			add(n, other ? json_pack("{s:s,s:[s],s:{s:o},s:b}", "type", "object",
						 "required", key, "properties", key, other,
						 LMI_GR_SCHEMA_CONDITION, 1)
				     : NULL);
	}
}

static void each(struct negation *n, json_t *list, const char *keyword)
{
	json_t *out = json_array(), *kid;
	size_t i;

	n->impossible |= !json_is_array(list);
	json_array_foreach(list, i, kid) {
		json_t *other = lmi_gr_schema_negation(kid, n->n_left);

		if (!other || json_array_append_new(out, other))
			n->impossible = true;
	}
	add(n, json_pack("{s:o}", keyword, out));
}

static void any_of(struct negation *n, const json_t *s, json_t *v)
{
	(void)s;
	each(n, v, "allOf");
}

static void all_of(struct negation *n, const json_t *s, json_t *v)
{
	(void)s;
	if (json_array_size(v))
		each(n, v, "anyOf");
}

static void excluded(struct negation *n, const json_t *s, json_t *v)
{
	(void)s;
	add(n, json_incref(v));
}

/* The keyword that takes over, for a number or for a count that is off by one. */
static const struct {
	const char *keyword, *of_type, *complement;
	int step;
} bounds[] = {
	{"minimum", "number", "exclusiveMaximum", 0},
	{"maximum", "number", "exclusiveMinimum", 0},
	{"exclusiveMinimum", "number", "maximum", 0},
	{"exclusiveMaximum", "number", "minimum", 0},
	{"minLength", "string", "maxLength", -1},
	{"maxLength", "string", "minLength", 1},
	{"minItems", "array", "maxItems", -1},
	{"maxItems", "array", "minItems", 1},
	{"minProperties", "object", "maxProperties", -1},
	{"maxProperties", "object", "minProperties", 1},
};

static bool bound(struct negation *n, const char *keyword, json_t *v)
{
	for (size_t i = 0; i < LMD_LEN(bounds); i++) {
		if (strcmp(keyword, bounds[i].keyword))
			continue;
		if (bounds[i].step ? !json_is_integer(v) : !json_is_number(v))
			n->impossible = true; /* as the booleans of draft 4 are */
		else if (!bounds[i].step)
			add(n, json_pack("{s:s,s:O}", "type", bounds[i].of_type,
					 bounds[i].complement, v));
		else if (json_integer_value(v) + bounds[i].step >= 0)
			add(n, json_pack("{s:s,s:I}", "type", bounds[i].of_type,
					 bounds[i].complement,
					 json_integer_value(v) + bounds[i].step));
		return true;
	}
	return false;
}

static const struct {
	const char *keyword;
	void (*add)(struct negation *n, const json_t *schema, json_t *v);
} rules[] = {
	{"type", type},		{"enum", listed},  {"const", constant}, {"required", required},
	{"properties", properties}, {"anyOf", any_of}, {"allOf", all_of},   {"not", excluded},
};

static void negate_keyword(struct negation *n, const json_t *schema, const char *keyword, json_t *v)
{
	if (lmi_gr_schema_is_annotation(keyword) || bound(n, keyword, v))
		return;
	for (size_t i = 0; i < LMD_LEN(rules); i++) {
		if (!strcmp(keyword, rules[i].keyword)) {
			rules[i].add(n, schema, v);
			return;
		}
	}
	n->impossible = true;
}

json_t *lmi_gr_schema_negation(const json_t *schema, uint32_t *n_left)
{
	struct negation n = {.n_left = n_left};
	json_t *out = NULL, *v;
	const char *keyword;

	if (!*n_left)
		return NULL;
	--*n_left;
	if (json_is_boolean(schema))
		return json_boolean(!json_is_true(schema));
	if (!json_is_object(schema))
		return NULL;
	n.alternatives = json_array();
	json_object_foreach((json_t *)schema, keyword, v)
		negate_keyword(&n, schema, keyword, v);
	if (n.alternatives && !n.impossible) {
		if (!json_array_size(n.alternatives)) /* the schema accepts everything */
			out = json_false();
		else if (json_array_size(n.alternatives) == 1)
			out = json_incref(json_array_get(n.alternatives, 0));
		else
			out = json_pack("{s:O}", "anyOf", n.alternatives);
	}
	json_decref(n.alternatives);
	return out;
}
