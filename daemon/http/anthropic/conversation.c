/* SPDX-License-Identifier: MIT
 *
 * The conversation of a request: messages that consist of blocks.
 *
 * A message can become several: each tool_result block of the user's becomes a message of role
 * tool, and the text between them messages of role user, in their order.  The blocks of an
 * assistant's message stay one message with text, reasoning and tool calls. */
#include <string.h>

#include "core/base/printable.h"
#include "daemon/http/anthropic/anthropic_impl.h"
#include "daemon/http/content.h"

static void add_text(struct lmi_http_translation *t, const char *role, const struct lmd_str *texts,
		     uint32_t n)
{
	struct lmi_wire_chat_message *m = n ? lmi_http_add_message(t, role) : NULL;

	if (m)
		m->content = lmi_http_join(t, texts, n);
}

/* Adds a message of the parts that were read, if there are any, and forgets them. */
static void add_parts(struct lmi_http_translation *t, const char *role, struct lmi_http_content *c)
{
	struct lmi_wire_chat_message *m =
		c->n_text || c->n_picture ? lmi_http_add_message(t, role) : NULL;

	if (m)
		lmi_http_content_end(t, c, m);
	c->texts += c->n_text; /* the rest of the memory is for the next message */
	c->pictures += c->n_picture;
	c->n_text = c->n_picture = 0;
}

static struct lmd_str read_type(struct lmi_http_translation *t, const struct lmi_http_at *up,
				const json_t *v)
{
	const struct lmi_http_at at = {.up = up, .name = "type"};

	if (!lmi_http_is_object(&t->r, up, v))
		return (struct lmd_str){.ptr = ""};
	return lmi_http_read_str(&t->r, &at, lmi_http_get(v, "type"), 1, SIZE_MAX);
}

static void refuse_type(struct lmi_http_translation *t, const struct lmi_http_at *up,
			struct lmd_str type)
{
	const struct lmi_http_at at = {.up = up, .name = "type"};
	char shown[48];

	lmi_http_fail(&t->r, &at, "\"%s\" is not supported: models read text only",
		      lmi_printable(shown, sizeof(shown), type.ptr, type.len));
}

static struct lmd_str read_text(struct lmi_http_translation *t, const struct lmi_http_at *up,
				const json_t *v, const char *member)
{
	const struct lmi_http_at at = {.up = up, .name = member};

	return lmi_http_read_str(&t->r, &at, lmi_http_get(v, member), 0, LMI_WIRE_LIMIT_TEXT_BYTES);
}

/* ---- user ---- */

static void read_tool_result(struct lmi_http_translation *t, const struct lmi_http_at *at,
			     const json_t *v)
{
	const struct lmi_http_at at_id = {.up = at, .name = "tool_use_id"},
				 at_content = {.up = at, .name = "content"};
	const json_t *content = lmi_http_get(v, "content");
	struct lmi_wire_chat_message *m = lmi_http_add_message(t, "tool");

	if (!m)
		return;
	m->tool_call_id = lmi_http_read_line(&t->r, &at_id, lmi_http_get(v, "tool_use_id"), 1,
					     LMI_WIRE_LIMIT_NAME_BYTES);
	m->has_tool_call_id = true;
	if (content)
		m->content = lmi_http_read_content(t, &at_content, content);
}

static void read_image(struct lmi_http_translation *t, const struct lmi_http_at *up, const json_t *v,
		       struct lmi_http_content *c)
{
	static const char *const types[] = {"base64", NULL};
	const struct lmi_http_at at = {.up = up, .name = "source"}, at_type = {.up = &at, .name = "type"},
				 at_data = {.up = &at, .name = "data"};
	const json_t *source = lmi_http_get(v, "source");

	if (!lmi_http_is_object(&t->r, &at, source))
		return;
	(void)lmi_http_read_word(&t->r, &at_type, lmi_http_get(source, "type"), types);
	lmi_http_content_add_picture(t, &at_data, c, lmi_http_get(source, "data"));
}

static void read_user(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v,
		      const char *role)
{
	size_t n = json_array_size(v);
	struct lmi_http_content c;

	if (!lmi_http_content_begin(t, &c, n))
		return;
	for (size_t i = 0; t->r.status == LMD_OK && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};
		const json_t *block = json_array_get(v, i);
		struct lmd_str type = read_type(t, &here, block);

		if (t->r.status != LMD_OK)
			return;
		if (!strcmp(type.ptr, "text")) {
			lmi_http_content_add_text(&c, read_text(t, &here, block, "text"));
		} else if (!strcmp(type.ptr, "image") && !strcmp(role, "user")) {
			read_image(t, &here, block, &c);
		} else if (!strcmp(type.ptr, "tool_result") && !strcmp(role, "user")) {
			add_parts(t, role, &c);
			read_tool_result(t, &here, block);
		} else {
			refuse_type(t, &here, type);
		}
	}
	if (t->r.status == LMD_OK)
		add_parts(t, role, &c);
}

/* ---- assistant ---- */

static void read_tool_use(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v, json_t *calls)
{
	const struct lmi_http_at at_id = {.up = at, .name = "id"},
				 at_name = {.up = at, .name = "name"},
				 at_input = {.up = at, .name = "input"};
	json_t *input = json_object_get(v, "input");

	(void)lmi_http_read_line(&t->r, &at_id, lmi_http_get(v, "id"), 1,
				 LMI_WIRE_LIMIT_NAME_BYTES);
	(void)lmi_http_read_line(&t->r, &at_name, lmi_http_get(v, "name"), 1,
				 LMI_WIRE_LIMIT_NAME_BYTES);
	if (!lmi_http_is_object(&t->r, &at_input, input))
		return;
	if (json_array_append_new(calls,
				  json_pack("{s:O,s:s,s:{s:O,s:O}}", "id", json_object_get(v, "id"),
					    "type", "function", "function", "name",
					    json_object_get(v, "name"), "arguments", input)))
		lmi_http_fail_nomem(&t->r);
}

static void read_blocks(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v, struct lmi_wire_chat_message *m, json_t *calls)
{
	size_t n = json_array_size(v);
	struct lmd_str *texts = lmi_http_alloc(&t->r, n, sizeof(*texts)),
		       *thoughts = lmi_http_alloc(&t->r, n, sizeof(*thoughts));
	uint32_t n_text = 0, n_thought = 0;

	for (size_t i = 0; thoughts && t->r.status == LMD_OK && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};
		const json_t *block = json_array_get(v, i);
		struct lmd_str type = read_type(t, &here, block);

		if (t->r.status != LMD_OK)
			return;
		if (!strcmp(type.ptr, "text"))
			texts[n_text++] = read_text(t, &here, block, "text");
		else if (!strcmp(type.ptr, "thinking"))
			thoughts[n_thought++] = read_text(t, &here, block, "thinking");
		else if (!strcmp(type.ptr, "tool_use"))
			read_tool_use(t, &here, block, calls);
		else if (strcmp(type.ptr, "redacted_thinking") != 0)
			refuse_type(t, &here, type);
	}
	if (t->r.status != LMD_OK)
		return;
	m->content = lmi_http_join(t, texts, n_text);
	m->reasoning = lmi_http_join(t, thoughts, n_thought);
	m->has_reasoning = n_thought > 0;
}

static void read_assistant(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	struct lmi_wire_chat_message *m = lmi_http_add_message(t, "assistant");
	json_t *calls = json_array();

	if (m)
		read_blocks(t, at, v, m, calls);
	if (m && json_array_size(calls)) {
		m->tool_calls = lmi_http_read_json(&t->r, at, calls, LMI_WIRE_LIMIT_TEMPLATE_BYTES);
		m->has_tool_calls = true;
	}
	json_decref(calls);
}

/* ---- messages ---- */

static void read_message(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	static const char *const roles[] = {"user", "assistant", "system", NULL};
	const struct lmi_http_at at_role = {.up = at, .name = "role"},
				 at_content = {.up = at, .name = "content"};
	const json_t *content;
	struct lmd_str text;
	size_t role;

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	role = lmi_http_read_word(&t->r, &at_role, lmi_http_get(v, "role"), roles);
	content = lmi_http_get(v, "content");
	if (t->r.status != LMD_OK)
		return;
	if (!json_is_array(content)) {
		text = lmi_http_read_str(&t->r, &at_content, content, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
		add_text(t, roles[role], &text, 1);
	} else if (role == 1) {
		read_assistant(t, &at_content, content);
	} else {
		read_user(t, &at_content, content, roles[role]);
	}
}

void lmi_anthropic_read_messages(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v)
{
	if (!lmi_http_is_list(&t->r, at, v, 1, LMI_WIRE_LIMIT_MESSAGES))
		return;
	for (size_t i = 0; t->r.status == LMD_OK && i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		read_message(t, &here, json_array_get(v, i));
	}
	if (!t->q->n_messages)
		lmi_http_fail(&t->r, at, "contains no text");
}

void lmi_anthropic_read_system(struct lmi_http_translation *t, const struct lmi_http_at *at,
			       const json_t *v)
{
	struct lmd_str text = lmi_http_read_content(t, at, v);

	if (text.len)
		add_text(t, "system", &text, 1);
}
