/* SPDX-License-Identifier: MIT
 *
 * POST /api/chat.  Tool calls in messages have no id in this API, and a tool's message names the
 * tool: they become the form that chat templates know. */
#include <string.h>

#include "daemon/http/content.h"
#include "daemon/http/exchange.h"
#include "daemon/http/ollama/ollama_impl.h"

/* Base64 texts; they stand before the text of the message. */
static void read_images(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v,
			struct lmi_wire_chat_message *out)
{
	struct lmi_http_content c;
	size_t n = json_array_size(v);

	if (t->r.status != LMD_OK || !lmi_http_content_begin(t, &c, n + 1))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		lmi_http_content_add_picture(t, &here, &c, json_array_get(v, i));
	}
	lmi_http_content_add_text(&c, out->content);
	lmi_http_content_end(t, &c, out);
}

static void read_message(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v, struct lmi_wire_chat_message *out)
{
	const struct lmi_http_at at_images = {.up = at, .name = "images"},
				 at_tool = {.up = at, .name = "tool_name"};
	const json_t *images = lmi_http_get(v, "images"), *tool = lmi_http_get(v, "tool_name");

	lmi_http_read_message(t, at, v, out);
	if (json_array_size(images))
		read_images(t, &at_images, images, out);
	if (!tool)
		return;
	out->name = lmi_http_read_line(&t->r, &at_tool, tool, 0, LMI_WIRE_LIMIT_NAME_BYTES);
	out->has_name = true;
}

static void read_messages(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	size_t n = json_array_size(v);
	struct lmi_wire_chat_message *m;

	if (!lmi_http_is_list(&t->r, at, v, 1, LMI_WIRE_LIMIT_MESSAGES))
		return;
	m = lmi_http_alloc(&t->r, n, sizeof(*m));
	for (size_t i = 0; m && t->r.status == LMD_OK && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		read_message(t, &here, json_array_get(v, i), &m[i]);
	}
	t->q->messages = m;
	t->q->n_messages = m ? (uint32_t)n : 0;
	t->q->has_messages = true;
}

static const struct lmi_http_member rows[] = {
	{.name = "messages", .read = read_messages},
	{.name = "tools", .read = lmi_http_read_tools},
};

static const struct lmi_http_members members = {.v = rows,
						.n = LMD_LEN(rows),
						.more = &lmi_ollama_members,
						.clamp = true,
						.ignore_unknown = true};

enum lmd_status lmi_ollama_translate_chat(struct lmi_http_generation *out, const json_t *body,
					  struct lmd_arena *arena, const char **param,
					  struct lmd_error *err)
{
	static const struct lmi_http_at at_messages = {.name = "messages"};
	struct lmi_http_translation t;

	lmi_ollama_begin(&t, out, arena, err, true);
	lmi_http_members_read(&t, NULL, body, &members);
	if (!t.q->has_messages)
		lmi_http_fail(&t.r, &at_messages, "is missing");
	lmi_ollama_end(&t, body);
	lmi_http_finish_chat(&t);
	return lmi_http_translation_end(&t, param);
}

void lmi_ollama_chat(struct lmi_http_exchange *x)
{
	const json_t *body = lmi_http_body_object(x);

	if (!body)
		return;
	if (!json_array_size(lmi_http_get(body, "messages")))
		lmi_ollama_load(x, body, true);
	else
		lmi_http_generate(x, lmi_ollama_translate_chat);
}
