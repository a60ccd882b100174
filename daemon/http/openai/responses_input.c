/* SPDX-License-Identifier: MIT
 *
 * The input of a response: its items become messages.
 *
 * Reasoning, the assistant's text and its tool calls are items of their own in this API and one
 * message for a chat template, so items of the assistant that follow one another are joined.  Each
 * output of a tool is a message of role tool. */
#include <stdio.h>
#include <string.h>

#include "core/base/printable.h"
#include "daemon/http/content.h"
#include "daemon/http/openai/responses.h"

/* The assistant's message that items are added to. */
struct joined {
	struct lmi_wire_chat_message *message; /* NULL: none */
	json_t *calls;                         /* owned; NULL: none */
};

/* ---- messages ---- */

void lmi_openai_add_message(struct lmi_http_translation *t, const char *role,
			    struct lmd_str content)
{
	struct lmi_wire_chat_message *m = lmi_http_add_message(t, role);

	if (m)
		m->content = content;
}

/* Completes the assistant's message. */
static void end_assistant(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  struct joined *a)
{
	if (a->message && a->calls) {
		a->message->tool_calls =
			lmi_http_read_json(&t->r, at, a->calls, LMI_WIRE_LIMIT_TEMPLATE_BYTES);
		a->message->has_tool_calls = true;
	}
	json_decref(a->calls);
	*a = (struct joined){0};
}

static struct lmi_wire_chat_message *assistant(struct lmi_http_translation *t, struct joined *a)
{
	if (!a->message)
		a->message = lmi_http_add_message(t, "assistant");
	return a->message;
}

/* ---- content ---- */

static struct lmd_str read_part(struct lmi_http_translation *t, const struct lmi_http_at *at,
				const json_t *v)
{
	static const char *const types[] = {"input_text", "output_text",    "text",
					    "refusal",    "reasoning_text", "summary_text"};
	const struct lmi_http_at at_type = {.up = at, .name = "type"};
	struct lmd_str none = {.ptr = ""}, type;
	char shown[48];

	if (!lmi_http_is_object(&t->r, at, v))
		return none;
	type = lmi_http_read_str(&t->r, &at_type, lmi_http_get(v, "type"), 0, SIZE_MAX);
	for (size_t i = 0; t->r.status == LMD_OK && i < LMD_LEN(types); i++) {
		const char *name = i == 3 ? "refusal" : "text";
		const struct lmi_http_at at_text = {.up = at, .name = name};

		if (!strcmp(type.ptr, types[i]))
			return lmi_http_read_str(&t->r, &at_text, lmi_http_get(v, name), 0,
						 LMI_WIRE_LIMIT_TEXT_BYTES);
	}
	lmi_http_fail(&t->r, &at_type, "\"%s\" is not supported: models read text only",
		      lmi_printable(shown, sizeof(shown), type.ptr ? type.ptr : "", type.len));
	return none;
}

/* Reads a string, or a list of parts of text, which are joined by newlines. */
static struct lmd_str read_text(struct lmi_http_translation *t, const struct lmi_http_at *at,
				const json_t *v)
{
	struct lmd_str *texts;
	size_t n = json_array_size(v);

	if (!json_is_array(v))
		return lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
	texts = lmi_http_alloc(&t->r, n, sizeof(*texts));
	for (size_t i = 0; texts && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		texts[i] = read_part(t, &here, json_array_get(v, i));
	}
	return t->r.status == LMD_OK ? lmi_http_join(t, texts, (uint32_t)n)
				     : (struct lmd_str){.ptr = ""};
}

/* Reads the content of a user's message, whose parts may be pictures. */
static void read_user(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v,
		      struct lmi_wire_chat_message *out)
{
	size_t n = json_array_size(v);
	struct lmi_http_content c;

	if (!json_is_array(v)) {
		out->content = read_text(t, at, v);
		return;
	}
	if (!lmi_http_content_begin(t, &c, n))
		return;
	for (size_t i = 0; i < n && t->r.status == LMD_OK; i++) {
		const struct lmi_http_at here = {.up = at, .index = i},
					 at_url = {.up = &here, .name = "image_url"};
		const json_t *part = json_array_get(v, i), *type = lmi_http_get(part, "type");

		if (json_is_string(type) && !strcmp(json_string_value(type), "input_image"))
			lmi_http_content_add_picture(t, &at_url, &c, lmi_http_get(part, "image_url"));
		else
			lmi_http_content_add_text(&c, read_part(t, &here, part));
	}
	lmi_http_content_end(t, &c, out);
}

/* ---- items ---- */

static void read_message(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v, struct joined *a)
{
	static const char *const roles[] = {"user", "assistant", "system", "developer", NULL};
	const struct lmi_http_at at_role = {.up = at, .name = "role"},
				 at_content = {.up = at, .name = "content"};
	size_t role = lmi_http_read_word(&t->r, &at_role, lmi_http_get(v, "role"), roles);
	const json_t *content = lmi_http_get(v, "content");
	struct lmi_wire_chat_message *user;
	struct lmd_str text;

	if (!role) {
		end_assistant(t, at, a);
		user = lmi_http_add_message(t, "user");
		if (user)
			read_user(t, &at_content, content, user);
		return;
	}
	text = read_text(t, &at_content, content);
	if (role != 1) {
		end_assistant(t, at, a);
		/* few chat templates know the role developer */
		lmi_openai_add_message(t, "system", text);
		return;
	}
	/* a second text, or one after a call, is a message of its own */
	if (a->message && (a->message->content.len || a->calls))
		end_assistant(t, at, a);
	if (assistant(t, a))
		a->message->content = text;
}

static void read_reasoning(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v, struct joined *a)
{
	const json_t *content = lmi_http_get(v, "content");
	const char *name = json_array_size(content) ? "content" : "summary";
	const struct lmi_http_at at_text = {.up = at, .name = name};
	struct lmd_str text;

	if (!json_array_size(lmi_http_get(v, name)))
		return; /* encrypted for another server */
	text = read_text(t, &at_text, lmi_http_get(v, name));
	if (!text.len)
		return;
	end_assistant(t, at, a);
	if (!assistant(t, a))
		return;
	a->message->reasoning = text;
	a->message->has_reasoning = true;
}

static void read_call(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v,
		      struct joined *a)
{
	const struct lmi_http_at at_name = {.up = at, .name = "name"},
				 at_id = {.up = at, .name = "call_id"},
				 at_arguments = {.up = at, .name = "arguments"};
	struct lmd_str id = lmi_http_read_line(&t->r, &at_id, lmi_http_get(v, "call_id"), 1,
					       LMI_WIRE_LIMIT_NAME_BYTES);
	struct lmd_str name = lmi_http_read_line(&t->r, &at_name, lmi_http_get(v, "name"), 1,
						 LMI_WIRE_LIMIT_NAME_BYTES);
	struct lmd_str arguments =
		lmi_http_read_str(&t->r, &at_arguments, lmi_http_get(v, "arguments"), 0,
				  LMI_WIRE_LIMIT_TEMPLATE_BYTES);

	if (t->r.status != LMD_OK || !assistant(t, a))
		return;
	if (!a->calls)
		a->calls = json_array();
	if (json_array_append_new(a->calls,
				  json_pack("{s:s%,s:s,s:{s:s%,s:s%}}", "id", id.ptr, id.len, "type",
					    "function", "function", "name", name.ptr, name.len,
					    "arguments", arguments.ptr, arguments.len)))
		lmi_http_fail_nomem(&t->r);
}

static void read_output(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v, struct joined *a)
{
	const struct lmi_http_at at_id = {.up = at, .name = "call_id"},
				 at_output = {.up = at, .name = "output"};
	struct lmi_wire_chat_message *m;

	end_assistant(t, at, a);
	m = lmi_http_add_message(t, "tool");
	if (!m)
		return;
	m->content = read_text(t, &at_output, lmi_http_get(v, "output"));
	m->tool_call_id = lmi_http_read_line(&t->r, &at_id, lmi_http_get(v, "call_id"), 1,
					     LMI_WIRE_LIMIT_NAME_BYTES);
	m->has_tool_call_id = true;
}

static void read_item(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v,
		      struct joined *a)
{
	static const struct {
		const char *type;
		void (*read)(struct lmi_http_translation *t, const struct lmi_http_at *at,
			     const json_t *v, struct joined *a);
	} rows[] = {
		{"message", read_message},
		{"reasoning", read_reasoning},
		{"function_call", read_call},
		{"function_call_output", read_output},
	};
	const struct lmi_http_at at_type = {.up = at, .name = "type"};
	struct lmd_str type = {.ptr = "message"};
	char shown[48];

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	if (lmi_http_get(v, "type"))
		type = lmi_http_read_str(&t->r, &at_type, lmi_http_get(v, "type"), 1, SIZE_MAX);
	for (size_t i = 0; t->r.status == LMD_OK && i < LMD_LEN(rows); i++)
		if (!strcmp(type.ptr, rows[i].type)) {
			rows[i].read(t, at, v, a);
			return;
		}
	if (t->r.status == LMD_OK)
		lmi_http_fail(&t->r, &at_type,
			      "\"%s\" is not supported; allowed are message, reasoning, "
			      "function_call and function_call_output",
			      lmi_printable(shown, sizeof(shown), type.ptr, type.len));
}

void lmi_openai_read_input(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	struct joined a = {0};

	if (json_is_string(v)) {
		lmi_openai_add_message(t, "user",
				       lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES));
		return;
	}
	if (!lmi_http_is_list(&t->r, at, v, 0, LMI_WIRE_LIMIT_MESSAGES))
		return;
	for (size_t i = 0; t->r.status == LMD_OK && i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		read_item(t, &here, json_array_get(v, i), &a);
	}
	end_assistant(t, at, &a);
}

/* ---- the list of items ---- */

/* A string as content becomes a list of one part. */
static bool expand(json_t *item)
{
	const json_t *content = json_object_get(item, "content");
	const char *role = json_string_value(json_object_get(item, "role"));

	if (!json_object_get(item, "type") &&
	    json_object_set_new(item, "type", json_string("message")))
		return false;
	if (!json_is_string(content))
		return true;
	return !json_object_set_new(item, "content",
				    json_pack("[{s:s,s:O}]", "type",
					      role && !strcmp(role, "assistant") ? "output_text"
										 : "input_text",
					      "text", content));
}

json_t *lmi_openai_input_items(const json_t *input, const char *id)
{
	json_t *list = json_is_string(input) ? json_pack("[{s:s,s:O}]", "role", "user", "content", input)
					     : json_deep_copy(input);
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		char text[96];

		(void)snprintf(text, sizeof(text), "item_%s_%zu", id, i);
		if (!expand(item) || (!json_object_get(item, "id") &&
				      json_object_set_new(item, "id", json_string(text)))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}
