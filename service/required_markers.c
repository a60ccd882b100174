/* SPDX-License-Identifier: MIT
 *
 * The markers around calls as parts of a structural tag: texts, and control tokens of the vocabulary. */
#include "service/required_call_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lmi_svc_call_name_is_plain(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
	       strlen(name);
}

static json_t *const_string(const char *text, size_t n)
{
	return json_pack("{s:s,s:s%}", "type", "const_string", "value", text, n);
}

/* Returns the first token whose text occurs in the marker, the longest one at its place; *at is the place. */
static const struct lmi_svc_marker_token *first_token(const struct lmi_svc_call_writer *w, const char *marker,
						      const char **at)
{
	const struct lmi_svc_marker_token *found = NULL;

	for (size_t i = 0; i < w->n_token; i++) {
		const struct lmd_str *text = &w->tokens[i].text;
		const char *p = text->len ? memmem(marker, strlen(marker), text->ptr, text->len) : NULL;

		if (!p || (found && (p > *at || (p == *at && text->len <= found->text.len))))
			continue;
		found = &w->tokens[i];
		*at = p;
	}
	return found;
}

/* Appends a marker without tokens, in which "%d" stands for a number. */
static int append_text(json_t *list, const char *text, size_t n)
{
	const char *number = memmem(text, n, "%d", 2);
	size_t before = number ? (size_t)(number - text) : n;

	if (before && json_array_append_new(list, const_string(text, before)))
		return -1;
	if (!number)
		return 0;
	if (json_array_append_new(list, json_pack("{s:s,s:s}", "type", "regex", "pattern", "[0-9]{1,2}")))
		return -1;
	return append_text(list, number + 2, n - before - 2);
}

int lmi_svc_call_append_marker(json_t *list, const struct lmi_svc_call_writer *w, const char *marker)
{
	const struct lmi_svc_marker_token *token;
	const char *at = marker;

	while (marker && *marker) {
		token = first_token(w, marker, &at);
		if (append_text(list, marker, token ? (size_t)(at - marker) : strlen(marker)))
			return -1;
		if (!token)
			return 0;
		if (json_array_append_new(list, json_pack("{s:s,s:i}", "type", "token", "token",
							  (int)token->id)))
			return -1;
		marker = at + token->text.len;
	}
	return 0;
}

json_t *lmi_svc_call_marker(const struct lmi_svc_call_writer *w, const char *marker)
{
	json_t *list = json_array(), *one;
	int failed = lmi_svc_call_append_marker(list, w, marker);

	one = json_array_get(list, 0);
	if (!failed && json_array_size(list) < 2 && (!one || json_object_get(one, "value"))) {
		one = one ? json_incref(json_object_get(one, "value")) : json_string("");
		json_decref(list);
		return one;
	}
	if (failed) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:s,s:o}", "type", "sequence", "elements", list);
}

json_t *lmi_svc_call_marker_of(const struct lmi_svc_call_writer *w, const char *marker, const char *name)
{
	const char *at = strstr(marker, "%s");
	size_t n = strlen(marker) + strlen(name) + 1;
	char *text = malloc(n);
	json_t *v;

	if (!text)
		return NULL;
	(void)snprintf(text, n, "%.*s%s%s", (int)(at - marker), marker, name, at + 2);
	v = lmi_svc_call_marker(w, text);
	free(text);
	return v;
}
