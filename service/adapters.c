/* SPDX-License-Identifier: MIT */
#include "service/adapters.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/comma_list.h"
#include "core/base/printable.h"
#include "core/engine/adapter_ref.h"

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

void lmi_svc_adapters_fini(struct lmi_svc_adapters *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		lmi_free((char *)a->refs[i].path);
		lmi_free((char *)a->names[i].ptr);
	}
	lmi_free(a->names);
	lmi_free(a->refs);
	*a = (struct lmi_svc_adapters){.n = 0};
}

/* Adds the entry text[0..n). */
static enum lmd_status add(struct lmi_svc_adapters *a, const char *text, size_t n,
			   struct lmd_error *err)
{
	const char *equals = memchr(text, '=', n);
	size_t n_name = equals ? (size_t)(equals - text) : 0;
	struct lmi_engine_adapter_ref ref;
	char *name, shown[124];
	enum lmd_status st;

	lmi_printable(shown, sizeof(shown), text, n);
	if (!n_name || n_name > LMI_SVC_ADAPTER_NAME || strspn(text, NAME_CHARS) != n_name)
		return lmd_fail(err, LMD_INVALID,
				"'%s' is not NAME=FILE with a name of 1 to %d letters, digits, '-', '_' "
				"and '.'",
				shown, LMI_SVC_ADAPTER_NAME);
	if (n < n_name + 2 || equals[1] != '/')
		return lmd_fail(err, LMD_INVALID, "'%s': the path is not absolute", shown);
	for (uint32_t i = 0; i < a->n; i++)
		if (a->names[i].len == n_name && !memcmp(a->names[i].ptr, text, n_name))
			return lmd_fail(err, LMD_INVALID, "'%s': the name occurs twice", shown);
	st = lmi_engine_adapter_ref_parse(&ref, &(struct lmd_str){equals + 1, n - n_name - 1}, err);
	if (st != LMD_OK)
		return st;
	name = lmi_strndup(text, n_name);
	if (!name) {
		lmi_free((char *)ref.path);
		return lmd_fail(err, LMD_NOMEM, "no memory for adapters");
	}
	a->names[a->n] = (struct lmd_str){name, n_name};
	a->refs[a->n++] = ref;
	return LMD_OK;
}

enum lmd_status lmi_svc_adapters_parse(struct lmi_svc_adapters *out, const char *text,
				       struct lmd_error *err)
{
	const char *rest = lmi_comma_list_begin(text);
	enum lmd_status st = LMD_OK;
	struct lmd_str word;

	*out = (struct lmi_svc_adapters){.n = 0};
	if (!text)
		return LMD_OK;
	out->names = lmi_alloc(LMI_SVC_ADAPTERS_MAX, sizeof(*out->names));
	out->refs = lmi_alloc(LMI_SVC_ADAPTERS_MAX, sizeof(*out->refs));
	if (!out->names || !out->refs)
		st = lmd_fail(err, LMD_NOMEM, "no memory for adapters");
	while (st == LMD_OK && lmi_comma_list_next(&rest, &word)) {
		if (out->n == LMI_SVC_ADAPTERS_MAX)
			st = lmd_fail(err, LMD_INVALID, "more than %d adapters",
				      LMI_SVC_ADAPTERS_MAX);
		else
			st = add(out, word.ptr, word.len, err);
	}
	if (st != LMD_OK)
		lmi_svc_adapters_fini(out);
	return st;
}

/* The number that a name consists of; UINT32_MAX: it is no number. */
static uint32_t number(const struct lmd_str *name)
{
	uint32_t v = 0;

	for (size_t i = 0; i < name->len; i++) {
		if (name->ptr[i] < '0' || name->ptr[i] > '9' || v > 1000)
			return UINT32_MAX;
		v = 10 * v + (uint32_t)(name->ptr[i] - '0');
	}
	return name->len ? v : UINT32_MAX;
}

enum lmd_status lmi_svc_adapters_find(const struct lmi_svc_adapters *a, const char *model,
				      const struct lmd_str *name, int32_t *slot,
				      struct lmd_error *err)
{
	char shown[80], list[200] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		int k;

		if (a->names[i].len == name->len &&
		    !memcmp(a->names[i].ptr, name->ptr, name->len)) {
			*slot = LMI_ENGINE_FIRST_ADAPTER_SLOT + (int32_t)i;
			return LMD_OK;
		}
		k = snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", a->names[i].ptr);
		at = k > 0 && (size_t)k < sizeof(list) - at ? at + (size_t)k : at;
	}
	if (number(name) < a->n) {
		*slot = LMI_ENGINE_FIRST_ADAPTER_SLOT + (int32_t)number(name);
		return LMD_OK;
	}
	lmi_printable(shown, sizeof(shown), name->ptr, name->len);
	return a->n ? lmd_fail(err, LMD_INVALID, "model %.100s has no adapter '%s'; it has: %s",
			       model, shown, list)
		    : lmd_fail(err, LMD_INVALID,
			       "model %.100s has no adapter '%s': its section in llamad.conf has no "
			       "key 'adapters'",
			       model, shown);
}
