/* SPDX-License-Identifier: MIT
 *
 * POST /v1/messages and POST /v1/messages/count_tokens: the body as a request. */
#include <string.h>

#include "core/base/printable.h"
#include "daemon/http/anthropic/anthropic_impl.h"
#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/prompt.h"

/* ---- tools ---- */

/* Returns {"name", "description", "input_schema"} as a tool of the chat completions API; NULL on
 * failure. */
static json_t *tool_of(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v)
{
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_name = {.up = at, .name = "name"},
				 at_schema = {.up = at, .name = "input_schema"};
	const json_t *type, *schema, *description;
	json_t *function;
	char shown[48];

	if (!lmi_http_is_object(&t->r, at, v))
		return NULL;
	type = lmi_http_get(v, "type");
	if (type && (!json_is_string(type) || strcmp(json_string_value(type), "custom") != 0)) {
		lmi_http_fail(&t->r, &at_type, "\"%s\" is not supported: tools run at the client",
			      json_is_string(type)
				      ? lmi_printable(shown, sizeof(shown), json_string_value(type),
						      json_string_length(type))
				      : "");
		return NULL;
	}
	(void)lmi_http_read_line(&t->r, &at_name, lmi_http_get(v, "name"), 1,
				 LMI_WIRE_LIMIT_NAME_BYTES);
	schema = lmi_http_get(v, "input_schema");
	if (!lmi_http_is_object(&t->r, &at_schema, schema))
		return NULL;
	function = json_object();
	description = lmi_http_get(v, "description");
	(void)json_object_set(function, "name", json_object_get(v, "name"));
	if (json_is_string(description))
		(void)json_object_set(function, "description", (json_t *)description);
	(void)json_object_set(function, "parameters", (json_t *)schema);
	return json_pack("{s:s,s:o}", "type", "function", "function", function);
}

static void read_tools(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v)
{
	json_t *tools;

	if (!lmi_http_is_list(&t->r, at, v, 0, LMI_HTTP_TOOLS_MAX) || !json_array_size(v))
		return;
	tools = json_array();
	for (size_t i = 0; t->r.status == LMD_OK && i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i};
		json_t *tool = tool_of(t, &here, json_array_get(v, i));

		if (json_array_append_new(tools, tool) && t->r.status == LMD_OK)
			lmi_http_fail_nomem(&t->r);
	}
	json_decref(t->tools);
	t->tools = tools;
}

static void read_tool_choice(struct lmi_http_translation *t, const struct lmi_http_at *at,
			     const json_t *v)
{
	static const char *const types[] = {"auto", "none", "any", "tool", NULL};
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_name = {.up = at, .name = "name"},
				 at_one = {.up = at, .name = "disable_parallel_tool_use"};
	const json_t *one;
	size_t type;

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	type = lmi_http_read_word(&t->r, &at_type, lmi_http_get(v, "type"), types);
	one = lmi_http_get(v, "disable_parallel_tool_use");
	t->one_call = one && lmi_http_read_bool(&t->r, &at_one, one);
	t->tool_choice = type == 0   ? LMI_HTTP_TOOLS_AUTO
			 : type == 1 ? LMI_HTTP_TOOLS_NONE
				     : LMI_HTTP_TOOLS_REQUIRED;
	if (type == 3)
		t->tool_name = lmi_http_read_line(&t->r, &at_name, lmi_http_get(v, "name"), 1,
						  LMI_WIRE_LIMIT_NAME_BYTES);
}

/* ---- other members ---- */

static void read_thinking(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	static const char *const types[] = {"disabled", "enabled", "adaptive", NULL};
	const struct lmi_http_at at_type = {.up = at, .name = "type"};
	size_t type;

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	type = lmi_http_read_word(&t->r, &at_type, lmi_http_get(v, "type"), types);
	lmi_http_set_template_arg(t, "enable_thinking", json_boolean(type != 0));
}

static void read_format(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	static const char *const types[] = {"json_schema", NULL};
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_schema = {.up = at, .name = "schema"};

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	(void)lmi_http_read_word(&t->r, &at_type, lmi_http_get(v, "type"), types);
	lmi_http_read_schema(t, &at_schema, lmi_http_get(v, "schema"));
}

static void read_effort(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	static const char *const words[] = {"low", "medium", "high", "xhigh", "max", NULL};
	size_t word = lmi_http_read_word(&t->r, at, v, words);

	/* thinking has a member of its own */
	lmi_http_set_template_arg(t, "reasoning_effort", json_string(words[word]));
}

static void read_output_config(struct lmi_http_translation *t, const struct lmi_http_at *at,
			       const json_t *v)
{
	static const struct lmi_http_member rows[] = {
		{.name = "format", .read = read_format},
		{.name = "effort", .read = read_effort},
	};
	static const struct lmi_http_members table = {.v = rows, .n = LMD_LEN(rows)};

	lmi_http_members_read(t, at, v, &table);
}

static void read_service_tier(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	static const char *const tiers[] = {"auto", "standard_only", NULL};

	(void)lmi_http_read_word(&t->r, at, v, tiers);
}

static void read_max_tokens(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	(void)lmi_http_read_int(&t->r, at, v, 0, LMI_WIRE_LIMIT_OUTPUT_MAX);
	lmi_http_read_n_max(t, at, v);
}

static const struct lmi_http_member rows[] = {
	{.name = "model", .read = lmi_http_read_model},
	{.name = "max_tokens", .read = read_max_tokens},
	{.name = "messages", .read = lmi_anthropic_read_messages},
	{.name = "stream", .read = lmi_http_read_stream},
	{.name = "stop_sequences", .wire = "stop"},
	{.name = "temperature", .wire = "temp"},
	{.name = "top_p", .wire = "top_p"},
	{.name = "top_k", .wire = "top_k"},
	{.name = "tools", .read = read_tools},
	{.name = "tool_choice", .read = read_tool_choice},
	{.name = "thinking", .read = read_thinking},
	{.name = "output_config", .read = read_output_config},
	{.name = "output_format", .read = read_format}, /* of earlier versions */
	/* read before the others */
	{.name = "system"},
	/* without effect */
	{.name = "metadata"},
	{.name = "service_tier", .read = read_service_tier},
	{.name = "cache_control"}, /* read after the others */
	{.name = "context_management"}, /* nothing is removed from a conversation */
	{.name = "inference_geo"},
	{.name = "speed"},
	{.name = "diagnostics"},
	{.name = "user_profile_id"},
	{.name = "workspace_id"},
	/* refused */
	{.name = "container", .refused = "containers are not supported"},
	{.name = "mcp_servers", .refused = "MCP servers are not supported"},
};

static const struct lmi_http_members members = {
	.v = rows, .n = LMD_LEN(rows), .unknown = "Extra inputs are not permitted"};

/* ---- cache_control ---- */

/* Pins the prompt for the longest time that a member cache_control of an object asks for. Other
 * prompts are found in the prefix cache as well, until their memory is needed. */
static void read_pin(struct lmi_http_translation *t, const json_t *object)
{
	static const char *const types[] = {"ephemeral", NULL};
	static const char *const times[] = {"5m", "1h", NULL};
	const struct lmi_http_at at = {.name = "cache_control"};
	const struct lmi_http_at at_type = {.up = &at, .name = "type"}, at_ttl = {.up = &at, .name = "ttl"};
	const json_t *v = json_is_object(object) ? lmi_http_get(object, "cache_control") : NULL, *ttl;
	int64_t ms = 300000;

	if (!v || !lmi_http_is_object(&t->r, &at, v))
		return;
	(void)lmi_http_read_word(&t->r, &at_type, lmi_http_get(v, "type"), types);
	ttl = lmi_http_get(v, "ttl");
	if (ttl && lmi_http_read_word(&t->r, &at_ttl, ttl, times) == 1)
		ms = 3600000;
	t->q->pin_ms = ms > t->q->pin_ms ? ms : t->q->pin_ms;
}

/* A breakpoint anywhere pins the whole prompt. */
static void read_pins(struct lmi_http_translation *t, const json_t *body)
{
	static const char *const lists[] = {"system", "tools", "messages"};
	const json_t *v, *block;
	size_t i, k;

	read_pin(t, body);
	for (size_t n = 0; n < LMD_LEN(lists); n++)
		json_array_foreach(lmi_http_get(body, lists[n]), i, v) {
			read_pin(t, v);
			json_array_foreach(json_object_get(v, "content"), k, block)
				read_pin(t, block);
		}
}

/* ---- the endpoint ---- */

/* counting: the body asks for the length of its prompt, and need not say how long the answer is. */
static enum lmd_status translate(struct lmi_http_generation *out, const json_t *body,
				 struct lmd_arena *arena, bool counting, const char **param,
				 struct lmd_error *err)
{
	static const struct lmi_http_at at_system = {.name = "system"},
					at_messages = {.name = "messages"},
					at_max = {.name = "max_tokens"};
	struct lmi_http_translation t;
	struct lmi_anthropic_state *s;
	const json_t *system = lmi_http_get(body, "system");

	lmi_http_translation_init(&t, out, arena, err);
	out->state = s = lmi_http_alloc(&t.r, 1, sizeof(*s));
	out->form = &lmi_anthropic_form;
	if (s)
		s->arena = arena;
	if (system) /* the first of the messages */
		lmi_anthropic_read_system(&t, &at_system, system);
	lmi_http_members_read(&t, NULL, body, &members);
	read_pins(&t, body);
	if (!lmi_http_get(body, "messages"))
		lmi_http_fail(&t.r, &at_messages, "is missing");
	if (!t.q->has_n && !counting)
		lmi_http_fail(&t.r, &at_max, "is missing");
	if (s && t.q->n_stop == 1)
		s->stop = t.q->stop[0];
	lmi_http_finish_chat(&t);
	return lmi_http_translation_end(&t, param);
}

enum lmd_status lmi_anthropic_translate(struct lmi_http_generation *out, const json_t *body,
					struct lmd_arena *arena, const char **param,
					struct lmd_error *err)
{
	return translate(out, body, arena, false, param, err);
}

/* ---- POST /v1/messages/count_tokens ---- */

static enum lmd_status translate_count(struct lmi_http_generation *out, const json_t *body,
				       struct lmd_arena *arena, const char **param,
				       struct lmd_error *err)
{
	return translate(out, body, arena, true, param, err);
}

static void write_count(const struct lmi_wire_rep_apply_template *r, struct lmi_json_text *out)
{
	lmi_json_text_object(out);
	lmi_http_json_put_int(out, "input_tokens", r->n_prompt);
	lmi_json_text_end(out);
}

void lmi_anthropic_count_tokens(struct lmi_http_exchange *x)
{
	lmi_http_prompt(x, translate_count, write_count);
}

void lmi_anthropic_messages(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, lmi_anthropic_translate);
}
