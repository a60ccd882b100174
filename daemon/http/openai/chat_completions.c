/* SPDX-License-Identifier: MIT
 *
 * POST /v1/chat/completions: the body as a request.  Its form is in chat_form.c. */
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/openai/openai_impl.h"

/* ---- the body ---- */

static void read_response_schema(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v)
{
	static const struct lmi_http_member rows[] = {
		{.name = "schema", .read = lmi_http_read_schema},
		{.name = "name"},
		{.name = "description"},
		{.name = "strict"}, /* every schema is enforced */
	};
	static const struct lmi_http_members table = {.v = rows, .n = LMD_LEN(rows)};

	lmi_http_members_read(t, at, v, &table);
	if (t->r.status == LMD_OK && !t->q->has_json_schema) {
		const struct lmi_http_at at_schema = {.up = at, .name = "schema"};

		lmi_http_fail(&t->r, &at_schema, "is missing");
	}
}

void lmi_openai_read_response_format(struct lmi_http_translation *t, const struct lmi_http_at *at,
				     const json_t *v)
{
	static const char *const types[] = {"text", "json_object", "json_schema",
					    "structural_tag", NULL};
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_schema = {.up = at, .name = "json_schema"},
				 at_inner = {.up = at, .name = "schema"};
	const json_t *schema = lmi_http_get(v, "schema");
	size_t type;

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	type = lmi_http_read_word(&t->r, &at_type, lmi_http_get(v, "type"), types);
	if (t->r.status != LMD_OK || type == 0)
		return;
	if (type == 3) {
		t->q->structural_tag =
			lmi_http_read_json(&t->r, at, v, LMI_WIRE_LIMIT_GRAMMAR_BYTES);
		t->q->has_structural_tag = true;
		return;
	}
	if (schema) /* of llama.cpp */
		lmi_http_read_schema(t, &at_inner, schema);
	else if (type == 2)
		read_response_schema(t, &at_schema, lmi_http_get(v, "json_schema"));
	else
		t->q->json_schema = lmi_http_str("{\"type\":\"object\"}");
	t->q->has_json_schema = true;
}

/* Keeps the tools that a list of {"type": "function", "function": {"name": NAME}} names. */
static void keep_allowed(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *allowed)
{
	json_t *kept = json_array();

	for (size_t i = 0; i < json_array_size(t->tools); i++) {
		json_t *tool = json_array_get(t->tools, i);
		const char *name = json_string_value(
			json_object_get(json_object_get(tool, "function"), "name"));
		bool found = false;

		for (size_t k = 0; k < json_array_size(allowed) && !found; k++) {
			const char *other = json_string_value(json_object_get(
				json_object_get(json_array_get(allowed, k), "function"), "name"));

			found = other && name && !strcmp(other, name);
		}
		if (found)
			(void)json_array_append(kept, tool);
	}
	if (!json_array_size(kept))
		lmi_http_fail(&t->r, at, "names none of the tools");
	json_decref(t->tools);
	t->tools = kept;
}

static void choose_allowed(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	static const char *const modes[] = {"auto", "required", NULL};
	const struct lmi_http_at at_allowed = {.up = at, .name = "allowed_tools"},
				 at_mode = {.up = &at_allowed, .name = "mode"},
				 at_tools = {.up = &at_allowed, .name = "tools"};
	const json_t *allowed = lmi_http_get(v, "allowed_tools");

	if (!lmi_http_is_object(&t->r, &at_allowed, allowed))
		return;
	if (lmi_http_read_word(&t->r, &at_mode, lmi_http_get(allowed, "mode"), modes) == 1)
		t->tool_choice = LMI_HTTP_TOOLS_REQUIRED;
	if (lmi_http_is_list(&t->r, &at_tools, lmi_http_get(allowed, "tools"), 1,
			     LMI_HTTP_TOOLS_MAX))
		keep_allowed(t, &at_tools, lmi_http_get(allowed, "tools"));
}

/* Runs after the other members, since it depends on the tools. */
static void choose_tool(struct lmi_http_translation *t, const json_t *v)
{
	static const char *const words[] = {"auto", "none", "required", NULL};
	static const char *const types[] = {"function", "allowed_tools", NULL};
	static const struct lmi_http_at at = {.name = "tool_choice"};
	const struct lmi_http_at at_type = {.up = &at, .name = "type"},
				 at_function = {.up = &at, .name = "function"},
				 at_name = {.up = &at_function, .name = "name"};

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
		choose_allowed(t, &at, v);
		return;
	}
	t->tool_choice = LMI_HTTP_TOOLS_REQUIRED;
	t->tool_name = lmi_http_read_line(&t->r, &at_name,
					  lmi_http_get(lmi_http_get(v, "function"), "name"), 1,
					  LMI_WIRE_LIMIT_NAME_BYTES);
}

static void read_logprobs(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	t->q->has_logprobs = lmi_http_read_bool(&t->r, at, v);
}

/* Runs after the other members, since it needs logprobs. */
static void read_top_logprobs(struct lmi_http_translation *t, const json_t *v)
{
	static const struct lmi_http_at at = {.name = "top_logprobs"};

	if (!v || t->r.status != LMD_OK)
		return;
	if (!t->q->has_logprobs && lmi_http_read_int(&t->r, &at, v, 0, LMI_WIRE_LIMIT_LOGPROBS))
		lmi_http_fail(&t->r, &at, "requires logprobs to be true");
	if (t->q->has_logprobs)
		lmi_http_wire_read(t, &at, v, "logprobs", false);
}

static void read_effort(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	static const char *const words[] = {"none", "minimal", "low", "medium",
					    "high", "xhigh",   "max", NULL};

	lmi_http_set_effort(t, words[lmi_http_read_word(&t->r, at, v, words)]);
}

static void read_modalities(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	static const char *const words[] = {"text", NULL};

	if (lmi_http_is_list(&t->r, at, v, 0, 1) && json_array_size(v))
		(void)lmi_http_read_word(&t->r, at, json_array_get(v, 0), words);
}

static void read_documents(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	if (lmi_http_is_list(&t->r, at, v, 0, LMI_HTTP_TOOLS_MAX))
		lmi_http_set_template_arg(t, "documents", json_incref((json_t *)v));
}

/* {"type": "content", "content": TEXT}: what the answer is expected to repeat. */
static void read_prediction_type(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v)
{
	static const char *const words[] = {"content", NULL};

	(void)lmi_http_read_word(&t->r, at, v, words);
}

static void read_prediction_content(struct lmi_http_translation *t, const struct lmi_http_at *at,
				    const json_t *v)
{
	t->q->prediction = lmi_http_read_content(t, at, v);
	t->q->has_prediction = t->q->prediction.len != 0;
}

static void read_prediction(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	static const struct lmi_http_member rows[] = {
		{.name = "type", .read = read_prediction_type},
		{.name = "content", .read = read_prediction_content},
	};
	static const struct lmi_http_members table = {.v = rows, .n = LMD_LEN(rows)};

	lmi_http_members_read(t, at, v, &table);
}

static void read_reasoning_format(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  const json_t *v)
{
	static const char *const words[] = {"auto", "deepseek", NULL};

	(void)lmi_http_read_word(&t->r, at, v, words);
}

/* A conversation that ends with the assistant's message is always continued. */
static bool ends_with_assistant(const struct lmi_wire_req_generate *q)
{
	return q->n_messages && !strcmp(q->messages[q->n_messages - 1].role.ptr, "assistant");
}

static void check_continuation(struct lmi_http_translation *t, const json_t *body)
{
	static const struct lmi_http_at at_add = {.name = "add_generation_prompt"},
					at_continue = {.name = "continue_final_message"};
	const json_t *add = lmi_http_get(body, "add_generation_prompt"),
		     *go_on = lmi_http_get(body, "continue_final_message");
	bool ends;

	if (t->r.status != LMD_OK)
		return;
	ends = ends_with_assistant(t->q);
	if (add && lmi_http_read_bool(&t->r, &at_add, add) == ends)
		lmi_http_fail(&t->r, &at_add, "must be %s if the last message is %s",
			      ends ? "false" : "true",
			      ends ? "the assistant's, which is continued" : "not the assistant's");
	if (go_on && lmi_http_read_bool(&t->r, &at_continue, go_on) != ends)
		lmi_http_fail(&t->r, &at_continue, "must be %s if the last message is %s",
			      ends ? "true" : "false",
			      ends ? "the assistant's" : "not the assistant's");
}

static const struct lmi_http_member rows[] = {
	{.name = "messages", .read = lmi_http_read_messages},
	{.name = "max_completion_tokens", .read = lmi_http_read_n_max},
	{.name = "response_format", .read = lmi_openai_read_response_format},
	{.name = "parallel_tool_calls", .read = lmi_http_read_parallel_calls},
	{.name = "tools", .read = lmi_http_read_tools},
	{.name = "reasoning_effort", .read = read_effort},
	{.name = "modalities", .read = read_modalities},
	/* of llama.cpp and vLLM */
	{.name = "chat_template", .wire = "template"},
	{.name = "chat_template_kwargs", .read = lmi_http_read_template_args},
	{.name = "enable_thinking", .read = lmi_http_read_thinking},
	{.name = "documents", .read = read_documents},
	{.name = "prediction", .read = read_prediction},
	{.name = "reasoning_format", .read = read_reasoning_format},
	{.name = "logprobs", .read = read_logprobs},
	/* read after the others */
	{.name = "top_logprobs"},
	{.name = "tool_choice"},
	{.name = "add_generation_prompt"},
	{.name = "continue_final_message"},
	/* without effect */
	{.name = "verbosity"},
	{.name = "parse_tool_calls"},
	{.name = "mm_processor_kwargs"},
	/* refused */
	{.name = "functions", .refused = "is not supported: use tools"},
	{.name = "function_call", .refused = "is not supported: use tool_choice"},
	{.name = "audio", .refused = "audio is not supported"},
	{.name = "web_search_options", .refused = "web search is not supported"},
	{.name = "moderation", .refused = "moderation is not supported"},
	{.name = "echo", .refused = "is not supported"},
};

static const struct lmi_http_members members = {
	.v = rows, .n = LMD_LEN(rows), .more = &lmi_openai_members, .unknown = LMI_OPENAI_UNKNOWN};

/* ---- the endpoint ---- */

enum lmd_status lmi_openai_translate_chat(struct lmi_http_generation *out, const json_t *body,
					  struct lmd_arena *arena, const char **param,
					  struct lmd_error *err)
{
	static const struct lmi_http_at at_messages = {.name = "messages"};
	struct lmi_http_translation t;
	struct lmi_openai_chat_state *s;

	lmi_http_translation_init(&t, out, arena, err);
	s = lmi_http_alloc(&t.r, 1, sizeof(*s));
	if (s)
		s->common.arena = arena;
	t.state = out->state = s;
	out->form = &lmi_openai_chat_form;
	lmi_http_members_read(&t, NULL, body, &members);
	if (!t.q->has_messages)
		lmi_http_fail(&t.r, &at_messages, "is missing");
	read_top_logprobs(&t, lmi_http_get(body, "top_logprobs"));
	choose_tool(&t, lmi_http_get(body, "tool_choice"));
	check_continuation(&t, body);
	lmi_http_finish_chat(&t);
	return lmi_http_translation_end(&t, param);
}

void lmi_openai_chat_completions(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, lmi_openai_translate_chat);
}
