/* SPDX-License-Identifier: MIT
 *
 * Converts JSON to specs. Types are taken as written; the chain knows which are required. */
#include "core/engine/sample.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "sampler chain: the request is too large");
}

static enum lmd_status too_long(struct lmd_error *err, const char *name, size_t n)
{
	return lmd_fail(err, LMD_INVALID,
			"parameter \"%.60s\" has %zu entries, which exceeds the limit of %d", name,
			n, LMI_SAMPLER_SPEC_LIST_MAX);
}

static bool take_str(const json_t *j, struct lmd_arena *arena, struct lmd_str *s)
{
	s->len = json_string_length(j);
	s->ptr = lmi_arena_strndup(arena, json_string_value(j), s->len);
	return s->ptr != NULL;
}

/* Accepts a number, false for -inf, or the words for infinities. */
static bool take_bias_value(const json_t *j, float *out)
{
	if (json_is_number(j))
		*out = (float)json_number_value(j);
	else if (json_is_false(j) || (json_is_string(j) && !strcmp(json_string_value(j), "-inf")))
		*out = -INFINITY;
	else if (json_is_string(j) && !strcmp(json_string_value(j), "inf"))
		*out = INFINITY;
	else
		return false;
	return true;
}

static bool take_token(json_int_t value, lmd_token *out)
{
	if (value < 0 || value > INT32_MAX)
		return false;
	*out = (lmd_token)value;
	return true;
}

static enum lmd_status take_bias_list(const json_t *j, struct lmd_arena *arena,
				      struct lmi_sampler_arg *a, struct lmd_error *err)
{
	size_t n = json_array_size(j);
	struct lmd_bias *b = lmi_arena_array(arena, n, sizeof(*b));

	if (!b)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(j, i);
		const json_t *id = json_array_get(pair, 0);

		if (json_array_size(pair) != 2 || !json_is_integer(id) ||
		    !take_token(json_integer_value(id), &b[i].id) ||
		    !take_bias_value(json_array_get(pair, 1), &b[i].bias))
			return lmd_fail(err, LMD_INVALID,
					"parameter \"%.60s\": entry %zu must be a pair of a token "
					"and a number or false", a->name, i);
	}
	a->type = LMD_PARAM_BIAS;
	a->v.n = (uint32_t)n;
	a->v.bias = b;
	return LMD_OK;
}

static enum lmd_status take_bias_object(json_t *j, struct lmd_arena *arena,
					struct lmi_sampler_arg *a, struct lmd_error *err)
{
	size_t n = json_object_size(j), i = 0;
	struct lmd_bias *b = n ? lmi_arena_array(arena, n, sizeof(*b)) : NULL;
	const char *key;
	json_t *value;

	if (n > LMI_SAMPLER_SPEC_LIST_MAX)
		return too_long(err, a->name, n);
	if (n && !b)
		return no_memory(err);
	json_object_foreach(j, key, value) {
		char *end;
		long long id = strtoll(key, &end, 10);

		if (end == key || *end || !take_token(id, &b[i].id) ||
		    !take_bias_value(value, &b[i].bias))
			return lmd_fail(err, LMD_INVALID,
					"parameter \"%.60s\": \"%.60s\" must be a token with a "
					"number or false", a->name, key);
		i++;
	}
	a->type = LMD_PARAM_BIAS;
	a->v.n = (uint32_t)n;
	a->v.bias = b;
	return LMD_OK;
}

static enum lmd_status take_token_list(const json_t *j, struct lmd_arena *arena,
				       struct lmi_sampler_arg *a, struct lmd_error *err)
{
	size_t n = json_array_size(j);
	lmd_token *t = lmi_arena_array(arena, n, sizeof(*t));

	if (!t)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const json_t *id = json_array_get(j, i);

		if (!json_is_integer(id) || !take_token(json_integer_value(id), &t[i]))
			return lmd_fail(err, LMD_INVALID,
					"parameter \"%.60s\": entry %zu must be a token from 0 to %d",
					a->name, i, INT32_MAX);
	}
	a->type = LMD_PARAM_TOKENS;
	a->v.n = (uint32_t)n;
	a->v.tokens = t;
	return LMD_OK;
}

static enum lmd_status take_list(const json_t *j, struct lmd_arena *arena,
				 struct lmi_sampler_arg *a, struct lmd_error *err)
{
	size_t n = json_array_size(j);
	struct lmd_str *s;

	if (n > LMI_SAMPLER_SPEC_LIST_MAX)
		return too_long(err, a->name, n);
	if (n && json_is_array(json_array_get(j, 0)))
		return take_bias_list(j, arena, a, err);
	if (n && json_is_number(json_array_get(j, 0)))
		return take_token_list(j, arena, a, err);
	s = n ? lmi_arena_array(arena, n, sizeof(*s)) : NULL;
	if (n && !s)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(j, i);

		if (!json_is_string(item))
			return lmd_fail(err, LMD_INVALID,
					"parameter \"%.60s\": entry %zu must be a text",
					a->name, i);
		if (!take_str(item, arena, &s[i]))
			return no_memory(err);
	}
	a->type = LMD_PARAM_STRS;
	a->v.n = (uint32_t)n;
	a->v.s = s;
	return LMD_OK;
}

static enum lmd_status take_value(json_t *j, struct lmd_arena *arena, struct lmi_sampler_arg *a,
				  struct lmd_error *err)
{
	struct lmd_str *s;

	switch (json_typeof(j)) {
	case JSON_INTEGER:
		a->type = LMD_PARAM_INT;
		a->v.i = json_integer_value(j);
		return LMD_OK;
	case JSON_REAL:
		a->type = LMD_PARAM_FLOAT;
		a->v.f = json_real_value(j);
		return LMD_OK;
	case JSON_TRUE:
	case JSON_FALSE:
		a->type = LMD_PARAM_BOOL;
		a->v.i = json_is_true(j);
		return LMD_OK;
	case JSON_STRING:
		s = lmi_arena_array(arena, 1, sizeof(*s));
		if (!s || !take_str(j, arena, s))
			return no_memory(err);
		a->type = LMD_PARAM_STR;
		a->v.n = 1;
		a->v.s = s;
		return LMD_OK;
	case JSON_ARRAY:
		return take_list(j, arena, a, err);
	case JSON_OBJECT:
		return take_bias_object(j, arena, a, err);
	case JSON_NULL:
		break;
	}
	return lmd_fail(err, LMD_INVALID, "parameter \"%.60s\" must not be null", a->name);
}

static enum lmd_status take_object(json_t *j, struct lmd_arena *arena, struct lmi_sampler_spec *s,
				   struct lmd_error *err)
{
	const json_t *name = json_object_get(j, "sampler");
	struct lmi_sampler_arg *args = lmi_arena_array(arena, json_object_size(j), sizeof(*args));
	const char *key;
	json_t *value;

	if (!json_is_string(name))
		return lmd_fail(err, LMD_INVALID, "member \"sampler\" with a name is missing");
	s->name = lmi_arena_strndup(arena, json_string_value(name), json_string_length(name));
	if (!args || !s->name)
		return no_memory(err);
	s->args = args;
	json_object_foreach(j, key, value) {
		struct lmi_sampler_arg *a = &args[s->n_args];
		enum lmd_status st;

		if (!strcmp(key, "sampler"))
			continue;
		a->name = lmi_arena_strndup(arena, key, strlen(key));
		if (!a->name)
			return no_memory(err);
		st = take_value(value, arena, a, err);
		if (st != LMD_OK)
			return st;
		s->n_args++;
	}
	return LMD_OK;
}

enum lmd_status lmi_sampler_specs_from_json(const json_t *list, struct lmd_arena *arena,
					    struct lmi_sampler_spec **out, uint32_t *n,
					    struct lmd_error *err)
{
	size_t len = json_array_size(list);
	struct lmi_sampler_spec *specs;

	if (!json_is_array(list) || !len || len > LMI_SAMPLER_CHAIN_MAX)
		return lmd_fail(err, LMD_INVALID,
				"sampler chain: must be a list of 1 to %d samplers",
				LMI_SAMPLER_CHAIN_MAX);
	specs = lmi_arena_array(arena, len, sizeof(*specs));
	if (!specs)
		return no_memory(err);
	for (size_t i = 0; i < len; i++) {
		json_t *j = json_array_get(list, i);
		enum lmd_status st = LMD_OK;
		char where[32];

		if (json_is_object(j))
			st = take_object(j, arena, &specs[i], err);
		else if (json_is_string(j))
			specs[i].name = lmi_arena_strndup(arena, json_string_value(j),
							  json_string_length(j));
		else
			st = lmd_fail(err, LMD_INVALID, "must be an object or a name");
		if (st == LMD_OK && !specs[i].name)
			st = no_memory(err);
		if (st != LMD_OK) {
			(void)snprintf(where, sizeof(where), "sampler %zu", i + 1);
			lmd_error_prefix(err, where);
			return st;
		}
	}
	*out = specs;
	*n = (uint32_t)len;
	return LMD_OK;
}

enum lmd_status lmi_sampler_specs_parse(const char *text, size_t bytes, struct lmd_arena *arena,
					struct lmi_sampler_spec **out, uint32_t *n,
					struct lmd_error *err)
{
	json_error_t je;
	json_t *j = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &je);
	enum lmd_status st;

	if (!j)
		return lmd_fail(err, LMD_INVALID, "sampler chain: not JSON: %.120s at byte %d",
				je.text, je.position);
	st = lmi_sampler_specs_from_json(j, arena, out, n, err);
	json_decref(j);
	return st;
}
