/* SPDX-License-Identifier: MIT
 *
 * An answer that must consist of tool calls: what the request says about it. */
#include "daemon/http/chat_body.h"

#include <string.h>

#include "core/base/printable.h"

static const json_t *function_at(const struct lmi_http_translation *t, size_t i)
{
	return json_object_get(json_array_get(t->tools, i), "function");
}

static bool may_call(const struct lmi_http_translation *t, const json_t *function)
{
	const char *name = json_string_value(json_object_get(function, "name"));

	return !t->tool_name.len || (name && !strcmp(name, t->tool_name.ptr));
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
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(t->tools); i++)
		n += may_call(t, function_at(t, i));
	check(t, &at, n);
	if (t->r.status != LMD_OK)
		return;
	t->q->required_call = t->tool_name.len ? t->tool_name : lmi_http_str("*");
	t->q->has_required_call = t->q->parse = true;
	t->q->parallel_calls = !t->one_call;
	t->q->has_json_schema = false; /* of the answer that a call takes the place of */
}

void lmi_http_read_parallel_calls(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  const json_t *v)
{
	t->one_call = !lmi_http_read_bool(&t->r, at, v);
}
