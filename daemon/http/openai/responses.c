/* SPDX-License-Identifier: MIT
 *
 * POST /v1/responses: the body as a request.  The items of the input are in responses_input.c, the
 * form of the answer in responses_form.c, and stored responses in responses_stored.c. */
#include <string.h>

#include "core/base/printable.h"
#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/objects.h"
#include "daemon/http/openai/responses.h"
#include "daemon/http/prompt.h"

/* ---- text.format ---- */

static void read_format(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	static const char *const types[] = {"text", "json_object", "json_schema", NULL};
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_schema = {.up = at, .name = "schema"};
	size_t type;

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	type = lmi_http_read_word(&t->r, &at_type, lmi_http_get(v, "type"), types);
	if (t->r.status != LMD_OK || type == 0)
		return;
	if (type == 2)
		lmi_http_read_schema(t, &at_schema, lmi_http_get(v, "schema"));
	else
		t->q->json_schema = lmi_http_str("{\"type\":\"object\"}");
	t->q->has_json_schema = true;
}

static void read_text(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	static const struct lmi_http_member rows[] = {
		{.name = "format", .read = read_format},
		{.name = "verbosity"},
	};
	static const struct lmi_http_members table = {.v = rows, .n = LMD_LEN(rows)};

	lmi_http_members_read(t, at, v, &table);
}

/* ---- tools ---- */

/* Returns a tool in the form of the chat completions API; NULL after an error. */
static json_t *chat_tool(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_name = {.up = at, .name = "name"},
				 at_schema = {.up = at, .name = "parameters"};
	const json_t *schema = lmi_http_get(v, "parameters"),
		     *description = lmi_http_get(v, "description");
	struct lmd_str type;
	json_t *tool;
	char shown[48];

	if (!lmi_http_is_object(&t->r, at, v))
		return NULL;
	type = lmi_http_read_str(&t->r, &at_type, lmi_http_get(v, "type"), 1, SIZE_MAX);
	if (t->r.status == LMD_OK && strcmp(type.ptr, "function") != 0)
		lmi_http_fail(&t->r, &at_type, "\"%s\" is not supported: a tool must be a function",
			      lmi_printable(shown, sizeof(shown), type.ptr, type.len));
	(void)lmi_http_read_line(&t->r, &at_name, lmi_http_get(v, "name"), 1,
				 LMI_WIRE_LIMIT_NAME_BYTES);
	if (schema)
		(void)lmi_http_is_object(&t->r, &at_schema, schema);
	if (t->r.status != LMD_OK)
		return NULL;
	tool = json_pack("{s:s,s:{s:O,s:O*,s:O*}}", "type", "function", "function", "name",
			 lmi_http_get(v, "name"), "description", description, "parameters", schema);
	if (!tool)
		lmi_http_fail_nomem(&t->r);
	return tool;
}

/* Returns whether a tool is one that OpenAI runs itself, or a group of tools that the client could
 * do without.  Programs such as Codex offer these whatever the server is. */
static bool is_optional(const json_t *tool)
{
	static const char *const types[] = {"web_search", "web_search_preview", "image_generation",
					    "tool_search", "namespace"};
	const json_t *type = lmi_http_get(tool, "type");

	for (size_t i = 0; json_is_string(type) && i < LMD_LEN(types); i++)
		if (!strcmp(json_string_value(type), types[i]))
			return true;
	return false;
}

/* Beside functions, optional tools are left out; where there are no functions, they are refused,
 * because the client then depends on them. */
static void read_tools(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v)
{
	size_t n_optional = 0;
	json_t *tools;

	if (!lmi_http_is_list(&t->r, at, v, 0, LMI_HTTP_TOOLS_MAX) || !json_array_size(v))
		return;
	tools = json_array();
	for (size_t i = 0; i < json_array_size(v); i++)
		n_optional += is_optional(json_array_get(v, i));
	for (size_t i = 0; t->r.status == LMD_OK && i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i};
		const json_t *given = json_array_get(v, i);
		json_t *tool;

		if (n_optional < json_array_size(v) && is_optional(given))
			continue;
		tool = chat_tool(t, &here, given);
		if (tool && json_array_append_new(tools, tool))
			lmi_http_fail_nomem(&t->r);
	}
	json_decref(t->tools);
	t->tools = tools;
}

/* Keeps the tools that a list of {"type": "function", "name": NAME} names. */
static void keep_allowed(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *allowed)
{
	json_t *kept = json_array(), *tool, *other;
	size_t i, k;

	json_array_foreach(t->tools, i, tool)
	{
		const json_t *name = json_object_get(json_object_get(tool, "function"), "name");
		bool found = false;

		json_array_foreach(allowed, k, other)
		{
			found |= json_equal(lmi_http_get(other, "name"), name);
		}
		if (found)
			(void)json_array_append(kept, tool);
	}
	if (!json_array_size(kept))
		lmi_http_fail(&t->r, at, "names none of the tools");
	json_decref(t->tools);
	t->tools = kept;
}

/* Runs after the other members, since it depends on the tools. */
static void choose_tool(struct lmi_http_translation *t, const json_t *v)
{
	static const char *const words[] = {"auto", "none", "required", NULL};
	static const char *const types[] = {"function", "allowed_tools", NULL};
	static const char *const modes[] = {"auto", "required", NULL};
	static const struct lmi_http_at at = {.name = "tool_choice"};
	const struct lmi_http_at at_type = {.up = &at, .name = "type"},
				 at_name = {.up = &at, .name = "name"},
				 at_mode = {.up = &at, .name = "mode"},
				 at_tools = {.up = &at, .name = "tools"};

	if (!v || t->r.status != LMD_OK)
		return;
	if (json_is_string(v)) {
		t->tool_choice =
			(enum lmi_http_tool_choice)lmi_http_read_word(&t->r, &at, v, words);
		return;
	}
	if (!lmi_http_is_object(&t->r, &at, v))
		return;
	if (lmi_http_read_word(&t->r, &at_type, lmi_http_get(v, "type"), types) == 1) {
		if (lmi_http_read_word(&t->r, &at_mode, lmi_http_get(v, "mode"), modes) == 1)
			t->tool_choice = LMI_HTTP_TOOLS_REQUIRED;
		if (lmi_http_is_list(&t->r, &at_tools, lmi_http_get(v, "tools"), 1,
				     LMI_HTTP_TOOLS_MAX))
			keep_allowed(t, &at_tools, lmi_http_get(v, "tools"));
		return;
	}
	t->tool_choice = LMI_HTTP_TOOLS_REQUIRED;
	t->tool_name = lmi_http_read_line(&t->r, &at_name, lmi_http_get(v, "name"), 1,
					  LMI_WIRE_LIMIT_NAME_BYTES);
}

/* ---- other members ---- */

static void read_effort(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	static const char *const words[] = {"none", "minimal", "low", "medium",
					    "high", "xhigh",   "max", NULL};

	lmi_http_set_effort(t, words[lmi_http_read_word(&t->r, at, v, words)]);
}

static void read_reasoning(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	static const struct lmi_http_member rows[] = {
		{.name = "effort", .read = read_effort},
		{.name = "summary"}, /* the reasoning itself is sent */
		{.name = "generate_summary"},
		{.name = "context"},
	};
	static const struct lmi_http_members table = {.v = rows, .n = LMD_LEN(rows)};

	lmi_http_members_read(t, at, v, &table);
}

static void read_include(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	uint32_t n;
	const struct lmd_str *names = lmi_http_read_strs(&t->r, at, v, 16, 64, &n);

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(names[i].ptr, "message.output_text.logprobs"))
			lmi_http_fail(&t->r, at, "probabilities of tokens are not supported");
}

static void read_truncation(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	static const char *const words[] = {"disabled", "auto", NULL};

	if (lmi_http_read_word(&t->r, at, v, words) == 1)
		lmi_http_fail(&t->r, at, "\"auto\" is not supported: conversations are not truncated");
}

static void read_background(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	struct lmi_openai_response_state *s = t->state;

	s->background = lmi_http_read_bool(&t->r, at, v);
}

static void read_previous(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	struct lmi_openai_response_state *s = t->state;

	s->previous = lmi_http_read_line(&t->r, at, v, 1, LMI_WIRE_LIMIT_NAME_BYTES).ptr;
}

static void read_store(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v)
{
	struct lmi_openai_response_state *s = t->state;

	s->stored &= lmi_http_read_bool(&t->r, at, v);
}

static const struct lmi_http_member rows[] = {
	{.name = "model", .read = lmi_http_read_model},
	{.name = "stream", .read = lmi_http_read_stream},
	{.name = "max_output_tokens", .read = lmi_http_read_n_max},
	{.name = "temperature", .wire = "temp"},
	{.name = "top_p", .wire = "top_p"},
	{.name = "parallel_tool_calls", .read = lmi_http_read_parallel_calls},
	{.name = "tools", .read = read_tools},
	{.name = "parallel_tool_calls", .read = lmi_http_read_parallel_calls},
	{.name = "text", .read = read_text},
	{.name = "reasoning", .read = read_reasoning},
	{.name = "include", .read = read_include},
	{.name = "truncation", .read = read_truncation},
	{.name = "background", .read = read_background},
	{.name = "previous_response_id", .read = read_previous},
	{.name = "store", .read = read_store},
	/* read after the others */
	{.name = "instructions"},
	{.name = "input"},
	{.name = "tool_choice"},
	/* of chat completions, llama.cpp and vLLM */
	{.name = "presence_penalty", .wire = "presence_penalty"},
	{.name = "frequency_penalty", .wire = "frequency_penalty"},
	{.name = "logit_bias", .wire = "logit_bias"},
	{.name = "stop", .wire = "stop"},
	{.name = "seed", .read = lmi_http_read_seed},
	{.name = "chat_template", .wire = "template"},
	{.name = "chat_template_kwargs", .read = lmi_http_read_template_args},
	{.name = "enable_thinking", .read = lmi_http_read_thinking},
	/* without effect */
	{.name = "metadata"},
	{.name = "user"},
	{.name = "max_tool_calls"},      /* of the tools that OpenAI runs itself */
	{.name = "service_tier", .read = lmi_http_read_service_tier},
	{.name = "safety_identifier"},
	{.name = "prompt_cache_key"},
	{.name = "prompt_cache_options"},
	{.name = "prompt_cache_retention"},
	{.name = "stream_options"},
	{.name = "client_metadata"},
	/* refused */
	{.name = "conversation", .refused = "is not supported: use previous_response_id"},
	{.name = "prompt", .refused = "is not supported: use instructions and input"},
	{.name = "context_management", .refused = "is not supported"},
	{.name = "moderation", .refused = "moderation is not supported"},
};

static const struct lmi_http_members members = {
	.v = rows, .n = LMD_LEN(rows), .more = &lmi_http_sampling_members};

/* ---- the translation ---- */

static void read_conversation(struct lmi_http_translation *t, const json_t *body,
			      const json_t *before)
{
	static const struct lmi_http_at at_instructions = {.name = "instructions"},
					at_input = {.name = "input"},
					at_previous = {.name = "previous_response_id"};
	const json_t *instructions = lmi_http_get(body, "instructions"),
		     *input = lmi_http_get(body, "input");

	if (instructions)
		lmi_openai_add_message(t, "system",
				       lmi_http_read_str(&t->r, &at_instructions, instructions, 0,
							 LMI_WIRE_LIMIT_TEXT_BYTES));
	if (before)
		lmi_openai_read_input(t, &at_previous, before);
	if (input)
		lmi_openai_read_input(t, &at_input, input);
	if (!input)
		lmi_http_fail(&t->r, &at_input, "is missing");
	else if (!t->q->n_messages)
		lmi_http_fail(&t->r, &at_input, "is empty");
}

enum lmd_status lmi_openai_translate_response_after(struct lmi_http_generation *out,
						    const json_t *body, const json_t *before,
						    struct lmd_arena *arena, const char **param,
						    struct lmd_error *err)
{
	static const struct lmi_http_at at_previous = {.name = "previous_response_id"},
					at_background = {.name = "background"},
					at_durable = {.name = "durable"};
	struct lmi_http_translation t;
	struct lmi_openai_response_state *s;

	lmi_http_translation_init(&t, out, arena, err);
	s = lmi_http_alloc(&t.r, 1, sizeof(*s));
	t.state = out->state = s;
	out->form = &lmi_openai_response_form;
	if (s) {
		s->arena = arena;
		s->body = body;
		s->stored = before != NULL;
	}
	lmi_http_members_read(&t, NULL, body, &members);
	read_conversation(&t, body, before);
	if (s && s->previous && !before)
		lmi_http_fail(&t.r, &at_previous,
			      "responses are not stored here: send the conversation as input");
	if (s && s->background && !before)
		lmi_http_fail(&t.r, &at_background, "responses are not stored here");
	if (s && s->background && before && !s->stored)
		lmi_http_fail(&t.r, &at_background, "requires store");
	if (s && t.q->durable && (s->previous || s->stored))
		lmi_http_fail(&t.r, &at_durable, "cannot be combined with %s",
			      s->previous ? "previous_response_id" : "stored responses: set store to false");
	if (s && s->background && out->stream)
		lmi_http_fail(&t.r, &at_background, "cannot be combined with stream");
	choose_tool(&t, lmi_http_get(body, "tool_choice"));
	lmi_http_finish_chat(&t);
	return lmi_http_translation_end(&t, param);
}

enum lmd_status lmi_openai_translate_response(struct lmi_http_generation *out, const json_t *body,
					      struct lmd_arena *arena, const char **param,
					      struct lmd_error *err)
{
	return lmi_openai_translate_response_after(out, body, NULL, arena, param, err);
}

/* ---- the endpoints ---- */

/* Returns the items of the previous responses, NULL if responses are not stored.  Returns false after
 * a response. */
static bool load_history(struct lmi_http_exchange *x, const json_t *body, json_t **out)
{
	const char *previous = json_string_value(lmi_http_get(body, "previous_response_id"));
	struct lmd_error err = {0};

	*out = NULL;
	if (!lmi_http_objects_of(x))
		return true;
	*out = previous ? lmi_openai_load_history(x, previous, &err) : json_array();
	if (!*out) {
		lmi_http_reply_translation(x, &err, "previous_response_id");
		return false;
	}
	return lmi_http_keep_json(x, *out);
}

void lmi_openai_responses(struct lmi_http_exchange *x)
{
	struct lmi_http_generation gen = {.n_choice = 1};
	const json_t *body = lmi_http_body_object(x);
	struct lmi_openai_response_state *s;
	const char *param = NULL;
	struct lmd_error err = {0};
	json_t *before;

	if (!body || !load_history(x, body, &before))
		return;
	if (lmi_openai_translate_response_after(&gen, body, before, lmi_http_arena(x), &param,
						&err) != LMD_OK) {
		lmi_http_reply_translation(x, &err, param);
		return;
	}
	s = gen.state;
	if (s->background) {
		lmi_openai_respond_later(x, before);
		return;
	}
	if (!s->stored || lmi_openai_store_response(x, s))
		lmi_http_generate_translated(x, &gen);
}

static void write_tokens(const struct lmi_wire_rep_apply_template *r, struct lmi_json_text *out)
{
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "object", "response.input_tokens");
	lmi_http_json_put_int(out, "input_tokens", r->n_prompt);
	lmi_json_text_end(out);
}

/* POST /v1/chat/completions/input_tokens, of llama.cpp's server, which reports the same object. */
void lmi_openai_chat_tokens(struct lmi_http_exchange *x)
{
	lmi_http_prompt(x, lmi_openai_translate_chat, write_tokens);
}

/* POST /v1/responses/input_tokens. */
void lmi_openai_response_tokens(struct lmi_http_exchange *x)
{
	const json_t *body = lmi_http_body_object(x);

	if (!body)
		return;
	if (lmi_http_get(body, "previous_response_id")) {
		lmi_http_reply_invalid(x, "previous_response_id",
				       "is not supported here: send the conversation as input");
		return;
	}
	lmi_http_prompt(x, lmi_openai_translate_response, write_tokens);
}
