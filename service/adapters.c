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

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for adapters");
}

/* Allocates the arrays of an empty list. */
static enum lmd_status reserve(struct lmi_svc_adapters *a, struct lmd_error *err)
{
	if (!a->names)
		a->names = lmi_alloc(LMI_SVC_ADAPTERS_MAX, sizeof(*a->names));
	if (!a->refs)
		a->refs = lmi_alloc(LMI_SVC_ADAPTERS_MAX, sizeof(*a->refs));
	return a->names && a->refs ? LMD_OK : no_memory(err);
}

static enum lmd_status add(struct lmi_svc_adapters *a, char *own_name,
			   const struct lmi_engine_adapter_ref *own_ref,
			   struct lmd_error *err)
{
	if (!own_name || !own_ref->path) {
		lmi_free(own_name);
		lmi_free((char *)own_ref->path);
		return no_memory(err);
	}
	a->names[a->n] = (struct lmd_str){own_name, strlen(own_name)};
	a->refs[a->n++] = *own_ref;
	return LMD_OK;
}

bool lmi_svc_adapters_is_name(const struct lmd_str *name)
{
	for (size_t i = 0; i < name->len; i++)
		if (!name->ptr[i] || !strchr(NAME_CHARS, name->ptr[i]))
			return false;
	return name->len && name->len <= LMI_SVC_ADAPTER_NAME;
}

/* Adds the entry text[0..n). */
static enum lmd_status parse_entry(struct lmi_svc_adapters *a, const char *text, size_t n,
				   struct lmd_error *err)
{
	const char *equals = memchr(text, '=', n);
	size_t n_name = equals ? (size_t)(equals - text) : 0;
	struct lmi_engine_adapter_ref ref;
	char shown[124];
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
	return st == LMD_OK ? add(a, lmi_strndup(text, n_name), &ref, err) : st;
}

enum lmd_status lmi_svc_adapters_parse(struct lmi_svc_adapters *out, const char *text,
				       struct lmd_error *err)
{
	const char *rest = lmi_comma_list_begin(text);
	enum lmd_status st;
	struct lmd_str word;

	*out = (struct lmi_svc_adapters){.n = 0};
	if (!text)
		return LMD_OK;
	st = reserve(out, err);
	while (st == LMD_OK && lmi_comma_list_next(&rest, &word)) {
		if (out->n == LMI_SVC_ADAPTERS_MAX)
			st = lmd_fail(err, LMD_INVALID, "more than %d adapters",
				      LMI_SVC_ADAPTERS_MAX);
		else
			st = parse_entry(out, word.ptr, word.len, err);
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

bool lmi_svc_adapters_find(const struct lmi_svc_adapters *a, const struct lmd_str *name, uint32_t *i)
{
	for (*i = 0; *i < a->n; (*i)++)
		if (a->names[*i].len == name->len &&
		    !memcmp(a->names[*i].ptr, name->ptr, name->len))
			return true;
	return false;
}

bool lmi_svc_adapters_find_number(const struct lmi_svc_adapters *a, const struct lmd_str *name,
				  uint32_t *i)
{
	*i = number(name);
	return *i < a->n;
}
