/* SPDX-License-Identifier: MIT
 *
 * Tools and tool calls in the bodies of requests, and an answer that is one of several texts. */
#include "daemon/http/chat_body.h"

#include <string.h>

#include "core/base/json_text.h"
#include "core/base/printable.h"

/* Returns the object that holds the name: `function`, or the tool or call itself. */
static const json_t *function_of(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v)
{
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_function = {.up = at, .name = "function"};
	const json_t *type, *f;
	char shown[48];

	if (!lmi_http_is_object(&t->r, at, v))
		return NULL;
	type = lmi_http_get(v, "type");
	if (type && (!json_is_string(type) || strcmp(json_string_value(type), "function") != 0)) {
		lmi_http_fail(&t->r, &at_type, "\"%s\" is not supported: a tool must be a function",
			      json_is_string(type)
				      ? lmi_printable(shown, sizeof(shown), json_string_value(type),
						      json_string_length(type))
				      : "");
		return NULL;
	}
	f = lmi_http_get(v, "function");
	return lmi_http_is_object(&t->r, &at_function, f) ? f : NULL;
}

static void check_name(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *function)
{
	const struct lmi_http_at at_function = {.up = at, .name = "function"},
				 at_name = {.up = &at_function, .name = "name"};

	(void)lmi_http_read_line(&t->r, &at_name, lmi_http_get(function, "name"), 1,
				 LMI_WIRE_LIMIT_NAME_BYTES);
}

void lmi_http_check_call(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	const struct lmi_http_at at_function = {.up = at, .name = "function"},
				 at_args = {.up = &at_function, .name = "arguments"};
	const json_t *f = function_of(t, at, v), *args = lmi_http_get(f, "arguments");

	if (!f)
		return;
	check_name(t, at, f);
	if (args && !json_is_string(args) && !json_is_object(args))
		lmi_http_fail(&t->r, &at_args, "must be an object, or a string that contains one");
}

void lmi_http_read_tools(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	if (!lmi_http_is_list(&t->r, at, v, 0, LMI_HTTP_TOOLS_MAX))
		return;
	for (size_t i = 0; t->r.status == LMD_OK && i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i},
					 at_function = {.up = &here, .name = "function"},
					 at_schema = {.up = &at_function, .name = "parameters"};
		const json_t *f = function_of(t, &here, json_array_get(v, i)),
			     *schema = lmi_http_get(f, "parameters");

		if (!f)
			return;
		check_name(t, &here, f);
		if (schema)
			(void)lmi_http_is_object(&t->r, &at_schema, schema);
	}
	json_decref(t->tools);
	t->tools = json_array_size(v) ? json_incref((json_t *)v) : NULL;
}

void lmi_http_finish_chat(struct lmi_http_translation *t)
{
	static const struct lmi_http_at at = {.name = "tools"};
	struct lmi_wire_req_generate *q = t->q;

	if (t->r.status != LMD_OK)
		return;
	/* a constrained answer begins at once, and is all of the answer; a structural tag has free
	 * text around it */
	q->parse = !q->has_grammar && !q->has_json_schema && !q->has_regex;
	if (t->tool_choice == LMI_HTTP_TOOLS_NONE)
		return;
	if (t->tools) {
		q->tools = lmi_http_read_json(&t->r, &at, t->tools, LMI_WIRE_LIMIT_TEMPLATE_BYTES);
		q->has_tools = true;
	}
	if (t->tool_choice == LMI_HTTP_TOOLS_REQUIRED)
		lmi_http_require_call(t);
}

/* ---- one of several texts ---- */

static void put_literal(char **out, struct lmd_str s)
{
	*(*out)++ = '"';
	for (size_t i = 0; i < s.len; i++) {
		static const char plain[] = "\"\\\n\r\t", letter[] = "\"\\nrt";
		const char *k = s.ptr[i] ? strchr(plain, s.ptr[i]) : NULL;

		if (k)
			*(*out)++ = '\\';
		*(*out)++ = k ? letter[k - plain] : s.ptr[i];
	}
	*(*out)++ = '"';
}

struct lmd_str lmi_http_choice_grammar(struct lmi_http_translation *t, const struct lmi_http_at *at,
				       const json_t *v)
{
	static const char head[] = "root ::= ";
	uint32_t n;
	const struct lmd_str *texts =
		lmi_http_read_strs(&t->r, at, v, 1024, LMI_WIRE_LIMIT_GRAMMAR_BYTES, &n);
	size_t bytes = sizeof(head);
	struct lmd_str out = {.ptr = ""};
	char *p;

	if (texts && !n)
		lmi_http_fail(&t->r, at, "contains no text to choose");
	for (uint32_t i = 0; i < n; i++) {
		bytes += 2 * texts[i].len + 5;
		if (memchr(texts[i].ptr, 0, texts[i].len))
			lmi_http_fail(&t->r, at, "text %u contains a zero byte", i);
	}
	if (bytes > LMI_WIRE_LIMIT_GRAMMAR_BYTES)
		lmi_http_fail(&t->r, at, "its grammar has %zu bytes, the maximum is %d", bytes,
			      LMI_WIRE_LIMIT_GRAMMAR_BYTES);
	p = lmi_http_alloc(&t->r, bytes, 1);
	if (!p)
		return out;
	out.ptr = p;
	memcpy(p, head, sizeof(head) - 1);
	p += sizeof(head) - 1;
	for (uint32_t i = 0; i < n; i++) {
		if (i) {
			memcpy(p, " | ", 3);
			p += 3;
		}
		put_literal(&p, texts[i]);
	}
	out.len = (size_t)(p - out.ptr);
	return out;
}
