/* SPDX-License-Identifier: MIT
 *
 * POST /api/generate: a prompt that is one message of the user's, or plain text if raw is set. */
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/ollama/ollama_impl.h"

static void read_template(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	struct lmd_str s = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEMPLATE_BYTES);

	if (!s.len)
		return;
	if (strstr(s.ptr, "{{ .") || strstr(s.ptr, "{{.") || strstr(s.ptr, "{{- ."))
		lmi_http_fail(&t->r, at, "is a template of Go's; models use Jinja templates");
	t->q->template = s;
	t->q->has_template = true;
}

static void read_suffix(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	t->q->suffix = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
	t->q->has_suffix = t->q->suffix.len > 0;
}

static const struct lmi_http_member rows[] = {
	{.name = "prompt", .wire = "prompt"},
	{.name = "raw", .wire = "raw"},
	{.name = "template", .read = read_template},
	{.name = "system"}, /* read after the others, as are images */
	{.name = "images"},
	{.name = "suffix", .read = read_suffix},
	{.name = "context", .refused = "is not supported: use /api/chat"},
};

static const struct lmi_http_members members = {.v = rows,
						.n = LMD_LEN(rows),
						.more = &lmi_ollama_members,
						.clamp = true,
						.ignore_unknown = true};

/* A system message and pictures make a conversation of the prompt. */
static void make_conversation(struct lmi_http_translation *t, const json_t *system, const json_t *images)
{
	static const struct lmi_http_at at_system = {.name = "system"}, at_images = {.name = "images"};
	struct lmi_wire_chat_message *m = lmi_http_alloc(&t->r, 2, sizeof(*m));
	struct lmd_str s = {0};

	if (system)
		s = lmi_http_read_str(&t->r, &at_system, system, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
	if ((!s.len && !images) || !m)
		return;
	if (t->q->raw || (images && t->q->has_suffix))
		lmi_http_fail(&t->r, images ? &at_images : &at_system, "cannot be given together with %s",
			      t->q->raw ? "raw" : "suffix");
	t->q->messages = m;
	t->q->has_messages = true;
	if (s.len)
		m[t->q->n_messages++] =
			(struct lmi_wire_chat_message){.role = lmi_http_str("system"), .content = s};
	m += t->q->n_messages++;
	*m = (struct lmi_wire_chat_message){.role = lmi_http_str("user"), .content = t->q->prompt};
	if (images)
		lmi_ollama_read_images(t, &at_images, images, m);
	t->q->has_prompt = false;
	t->q->prompt = (struct lmd_str){0};
}

enum lmd_status lmi_ollama_translate_generate(struct lmi_http_generation *out, const json_t *body,
					      struct lmd_arena *arena, const char **param,
					      struct lmd_error *err)
{
	static const struct lmi_http_at at_prompt = {.name = "prompt"};
	struct lmi_http_translation t;
	const json_t *system = lmi_http_get(body, "system"), *images = lmi_http_get(body, "images");

	lmi_ollama_begin(&t, out, arena, err, false);
	lmi_http_members_read(&t, NULL, body, &members);
	if (!t.q->has_prompt)
		lmi_http_fail(&t.r, &at_prompt, "is missing");
	make_conversation(&t, system, json_is_array(images) && !json_array_size(images) ? NULL : images);
	/* in a raw prompt the client wrote the template */
	t.q->parse_special = t.q->raw;
	lmi_ollama_end(&t, body);
	lmi_http_finish_chat(&t);
	if (t.q->raw || t.q->has_suffix)
		t.q->parse = false;
	return lmi_http_translation_end(&t, param);
}

void lmi_ollama_generate(struct lmi_http_exchange *x)
{
	const json_t *body = lmi_http_body_object(x);

	if (!body)
		return;
	if (!json_string_length(lmi_http_get(body, "prompt")))
		lmi_ollama_load(x, body, false);
	else
		lmi_http_generate(x, lmi_ollama_translate_generate);
}
