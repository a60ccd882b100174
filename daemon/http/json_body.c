/* SPDX-License-Identifier: MIT
 *
 * Reads values of a JSON tree and checks them.  Text that goes into an error message is made
 * printable and cut, since it comes from outside. */
#include "daemon/http/json_body.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_text.h"
#include "core/base/printable.h"
#include "proto/proto.h"

#define PARAM_BYTES 192

/* ---- errors ---- */

static void put_path(const struct lmi_http_at *at, char *out, size_t cap)
{
	size_t n;

	if (!at)
		return;
	put_path(at->up, out, cap);
	n = strlen(out);
	if (at->name)
		(void)snprintf(out + n, cap - n, "%s%s", n ? "." : "", at->name);
	else
		(void)snprintf(out + n, cap - n, "[%zu]", at->index);
}

void lmi_http_fail(struct lmi_http_reader *r, const struct lmi_http_at *at, const char *fmt, ...)
{
	char path[PARAM_BYTES] = "", shown[PARAM_BYTES];
	va_list ap;

	if (r->status != LMD_OK)
		return;
	r->status = LMD_INVALID;
	if (r->err) {
		va_start(ap, fmt);
		(void)vsnprintf(r->err->text, sizeof(r->err->text), fmt, ap);
		va_end(ap);
		r->err->status = LMD_INVALID;
	}
	put_path(at, path, sizeof(path));
	(void)lmi_printable(shown, sizeof(shown), path, strlen(path));
	if (at)
		r->param = lmi_arena_strndup(r->arena, shown, strlen(shown));
}

void lmi_http_fail_nomem(struct lmi_http_reader *r)
{
	if (r->status == LMD_OK)
		r->status = lmd_fail(r->err, LMD_NOMEM, "no memory for the request");
}

void *lmi_http_alloc(struct lmi_http_reader *r, size_t n, size_t item_bytes)
{
	void *p;

	if (r->status != LMD_OK)
		return NULL;
	p = lmi_arena_array(r->arena, n ? n : 1, item_bytes);
	if (!p)
		lmi_http_fail_nomem(r);
	return p;
}

static const char *type_of(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

static bool has_type(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
		     bool ok, const char *wanted)
{
	if (r->status != LMD_OK)
		return false;
	if (!v)
		lmi_http_fail(r, at, "is missing");
	else if (!ok)
		lmi_http_fail(r, at, "is %s, but must be %s", type_of(v), wanted);
	return r->status == LMD_OK;
}

/* ---- objects and lists ---- */

const json_t *lmi_http_get(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);

	return json_is_null(v) ? NULL : v;
}

bool lmi_http_is_object(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v)
{
	return has_type(r, at, v, json_is_object(v), "an object");
}

bool lmi_http_is_list(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
		      size_t min, size_t max)
{
	if (!has_type(r, at, v, json_is_array(v), "a list"))
		return false;
	if (json_array_size(v) < min || json_array_size(v) > max)
		lmi_http_fail(r, at, "has %zu elements, allowed are %zu to %zu", json_array_size(v),
			      min, max);
	return r->status == LMD_OK;
}

/* ---- scalars ---- */

bool lmi_http_read_bool(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v)
{
	return has_type(r, at, v, json_is_boolean(v), "true or false") && json_is_true(v);
}

int64_t lmi_http_read_int(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
			  int64_t min, int64_t max)
{
	double d = json_number_value(v);
	int64_t i;

	if (!has_type(r, at, v, json_is_number(v), "an integer"))
		return 0;
	if (json_is_real(v) && (d != floor(d) || fabs(d) > 9e15)) {
		lmi_http_fail(r, at, "%g is not an integer from %lld to %lld", d, (long long)min,
			      (long long)max);
		return 0;
	}
	i = json_is_real(v) ? (int64_t)d : json_integer_value(v);
	if (i >= min && i <= max)
		return i;
	if (i < min)
		lmi_http_fail(r, at, "%lld is below the minimum of %lld", (long long)i,
			      (long long)min);
	else
		lmi_http_fail(r, at, "%lld is above the maximum of %lld", (long long)i,
			      (long long)max);
	return 0;
}

double lmi_http_read_real(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
			  double min, double max)
{
	double d = json_number_value(v);

	if (!has_type(r, at, v, json_is_number(v), "a number"))
		return 0;
	if (d >= min && d <= max)
		return d;
	if (d < min)
		lmi_http_fail(r, at, "%g is below the minimum of %g", d, min);
	else
		lmi_http_fail(r, at, "%g is above the maximum of %g", d, max);
	return 0;
}

struct lmd_str lmi_http_read_str(struct lmi_http_reader *r, const struct lmi_http_at *at,
				 const json_t *v, size_t min, size_t max)
{
	struct lmd_str s = {.ptr = ""};

	if (!has_type(r, at, v, json_is_string(v), "a string"))
		return s;
	if (json_string_length(v) < min || json_string_length(v) > max) {
		lmi_http_fail(r, at, "has %zu bytes, allowed are %zu to %zu", json_string_length(v),
			      min, max);
		return s;
	}
	return (struct lmd_str){.ptr = json_string_value(v), .len = json_string_length(v)};
}

struct lmd_str lmi_http_read_line(struct lmi_http_reader *r, const struct lmi_http_at *at,
				  const json_t *v, size_t min, size_t max)
{
	struct lmd_str s = lmi_http_read_str(r, at, v, min, max);

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c >= 0x20 && c != 0x7f)
			continue;
		lmi_http_fail(r, at, "contains the control character 0x%02x", c);
		break;
	}
	return s;
}

size_t lmi_http_read_word(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
			  const char *const *words)
{
	struct lmd_str s = lmi_http_read_str(r, at, v, 0, SIZE_MAX);
	char list[200] = "", shown[48];
	size_t n = 0;

	if (r->status != LMD_OK)
		return 0;
	for (size_t i = 0; words[i]; i++) {
		if (strlen(words[i]) == s.len && !memcmp(words[i], s.ptr, s.len))
			return i;
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", words[i]);
		if (n >= sizeof(list))
			n = sizeof(list) - 1;
	}
	lmi_http_fail(r, at, "\"%s\" is not one of: %s",
		      lmi_printable(shown, sizeof(shown), s.ptr, s.len), list);
	return 0;
}

/* ---- lists of scalars ---- */

const struct lmd_str *lmi_http_read_strs(struct lmi_http_reader *r, const struct lmi_http_at *at,
					 const json_t *v, uint32_t max_items, size_t max_bytes,
					 uint32_t *n)
{
	size_t count = json_is_array(v) ? json_array_size(v) : 1;
	struct lmd_str *out;

	*n = 0;
	if (!has_type(r, at, v, json_is_array(v) || json_is_string(v),
		      "a string or a list of strings"))
		return NULL;
	if (json_is_array(v) && !lmi_http_is_list(r, at, v, 0, max_items))
		return NULL;
	out = lmi_http_alloc(r, count, sizeof(*out));
	for (size_t i = 0; out && i < count; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};
		bool list = json_is_array(v);

		out[*n] = lmi_http_read_str(r, list ? &here : at, list ? json_array_get(v, i) : v,
					    0, max_bytes);
		*n += out[*n].len > 0;
	}
	if (r->status == LMD_OK)
		return out;
	*n = 0; /* of the strings before the one that is wrong */
	return NULL;
}

const lmd_token *lmi_http_read_tokens(struct lmi_http_reader *r, const struct lmi_http_at *at,
				      const json_t *v, uint32_t *n)
{
	lmd_token *out;

	*n = 0;
	if (!lmi_http_is_list(r, at, v, 0, LMI_WIRE_LIMIT_TOKENS))
		return NULL;
	out = lmi_http_alloc(r, json_array_size(v), sizeof(*out));
	for (size_t i = 0; out && r->status == LMD_OK && i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		out[i] = (lmd_token)lmi_http_read_int(r, &here, json_array_get(v, i), 0, INT32_MAX);
	}
	if (r->status != LMD_OK)
		return NULL;
	*n = (uint32_t)json_array_size(v);
	return out;
}

static float bias_of(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v)
{
	if (json_is_false(v))
		return -INFINITY;
	return (float)lmi_http_read_real(r, at, v, -1e9, 1e9);
}

static lmd_token token_of(struct lmi_http_reader *r, const struct lmi_http_at *at, const char *key)
{
	char *end;
	long long id = strtoll(key, &end, 10);
	char shown[48];

	if (*key >= '0' && *key <= '9' && !*end && id <= INT32_MAX)
		return (lmd_token)id;
	lmi_http_fail(r, at, "\"%s\" is not the number of a token, 0 to %d",
		      lmi_printable(shown, sizeof(shown), key, strlen(key)), INT32_MAX);
	return 0;
}

static void bias_map(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
		     struct lmd_bias *out)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)v, key, value)
	{
		const struct lmi_http_at here = {.up = at, .name = key};

		*out++ = (struct lmd_bias){.id = token_of(r, at, key),
					   .bias = bias_of(r, &here, value)};
	}
}

static void bias_pairs(struct lmi_http_reader *r, const struct lmi_http_at *at, const json_t *v,
		       struct lmd_bias *out)
{
	for (size_t i = 0; r->status == LMD_OK && i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i};
		const json_t *pair = json_array_get(v, i), *token = json_array_get(pair, 0);

		if (!lmi_http_is_list(r, &here, pair, 2, 2))
			return;
		out[i].id = (lmd_token)lmi_http_read_int(r, &here, token, 0, INT32_MAX);
		out[i].bias = bias_of(r, &here, json_array_get(pair, 1));
	}
}

const struct lmd_bias *lmi_http_read_bias(struct lmi_http_reader *r, const struct lmi_http_at *at,
					  const json_t *v, uint32_t max, uint32_t *n)
{
	size_t count = json_is_object(v) ? json_object_size(v) : json_array_size(v);
	struct lmd_bias *out;

	*n = 0;
	if (!has_type(r, at, v, json_is_object(v) || json_is_array(v),
		      "an object or a list of [token, bias]"))
		return NULL;
	if (count > max) {
		lmi_http_fail(r, at, "has %zu entries, the maximum is %u", count, max);
		return NULL;
	}
	out = lmi_http_alloc(r, count, sizeof(*out));
	if (out && json_is_object(v))
		bias_map(r, at, v, out);
	else if (out)
		bias_pairs(r, at, v, out);
	*n = r->status == LMD_OK ? (uint32_t)count : 0;
	return out;
}

/* ---- JSON as text ---- */

/* The recursion ends at the depth that lmi_json_text allows. */
static void put_value(struct lmi_json_text *j, const json_t *v)
{
	const char *key;
	json_t *m;
	size_t i;

	if (j->status != LMD_OK)
		return;
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		lmi_json_text_object(j);
		json_object_foreach((json_t *)v, key, m)
		{
			lmi_json_text_key(j, key);
			put_value(j, m);
		}
		lmi_json_text_end(j);
		break;
	case JSON_ARRAY:
		lmi_json_text_array(j);
		json_array_foreach(v, i, m) put_value(j, m);
		lmi_json_text_end(j);
		break;
	case JSON_STRING:
		lmi_json_text_strn(j, json_string_value(v), json_string_length(v));
		break;
	case JSON_INTEGER:
		lmi_json_text_int(j, json_integer_value(v));
		break;
	case JSON_REAL:
		lmi_json_text_real(j, json_real_value(v));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		lmi_json_text_bool(j, json_is_true(v));
		break;
	case JSON_NULL:
		lmi_json_text_null(j);
	}
}

struct lmd_str lmi_http_read_json(struct lmi_http_reader *r, const struct lmi_http_at *at,
				  const json_t *v, size_t max)
{
	struct lmi_json_text j = {.max_bytes = max};
	struct lmd_str out = {.ptr = ""};
	enum lmd_status st;

	if (!has_type(r, at, v, true, ""))
		return out;
	put_value(&j, v);
	st = lmi_json_text_finish(&j, NULL);
	if (st == LMD_OK) {
		out.ptr = lmi_arena_strndup(r->arena, j.text, j.bytes);
		out.len = j.bytes;
	}
	if (st == LMD_NOMEM || !out.ptr)
		lmi_http_fail_nomem(r);
	else if (st != LMD_OK)
		lmi_http_fail(r, at, "has more than %zu bytes or %d levels", max,
			      LMI_HTTP_JSON_DEPTH);
	lmi_json_text_fini(&j);
	return r->status == LMD_OK ? out : (struct lmd_str){.ptr = ""};
}
