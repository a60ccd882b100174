/* SPDX-License-Identifier: MIT
 *
 * Members that several APIs share: simple ones, variables of the chat template, and messages.
 * Tools are in tools_body.c. */
#include "daemon/http/chat_body.h"

#include <string.h>

#include "core/base/printable.h"
#include "daemon/http/content.h"

/* ---- simple members ---- */

void lmi_http_read_model(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	t->q->model = lmi_http_read_line(&t->r, at, v, 0, LMI_WIRE_LIMIT_PATH_BYTES);
}

void lmi_http_read_stream(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	t->out->stream = lmi_http_read_bool(&t->r, at, v);
}

void lmi_http_read_n_max(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	t->q->n = lmi_http_read_int(&t->r, at, v, -1, LMI_WIRE_LIMIT_OUTPUT_MAX);
	t->q->has_n = true;
}

void lmi_http_read_seed(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	int64_t seed = lmi_http_read_int(&t->r, at, v, INT64_MIN, INT64_MAX);

	t->q->has_seed = seed != -1;
	t->q->seed = seed == -1 ? 0 : seed & INT64_MAX;
}

void lmi_http_read_service_tier(struct lmi_http_translation *t, const struct lmi_http_at *at,
				const json_t *v)
{
	static const char *const tiers[] = {"auto", "default", "flex", "priority", "scale", NULL};
	const char *tier = tiers[lmi_http_read_word(&t->r, at, v, tiers)];

	if (!strcmp(tier, "priority"))
		t->q->class = LMI_WIRE_CLASS_INTERACTIVE;
	else if (!strcmp(tier, "flex"))
		t->q->class = LMI_WIRE_CLASS_BATCH;
}

void lmi_http_read_schema(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	if (!lmi_http_is_object(&t->r, at, v))
		return;
	t->q->json_schema = lmi_http_read_json(&t->r, at, v, LMI_WIRE_LIMIT_GRAMMAR_BYTES);
	t->q->has_json_schema = true;
}

/* ---- variables of the chat template ---- */

void lmi_http_set_template_arg(struct lmi_http_translation *t, const char *name, json_t *own_value)
{
	if (!t->template_args)
		t->template_args = json_object();
	if (json_object_set_new(t->template_args, name, own_value))
		lmi_http_fail_nomem(&t->r);
}

void lmi_http_read_template_args(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v)
{
	const char *key;
	json_t *m;

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	json_object_foreach((json_t *)v, key, m) lmi_http_set_template_arg(t, key, json_incref(m));
}

void lmi_http_read_thinking(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	lmi_http_set_template_arg(t, "enable_thinking",
				  json_boolean(lmi_http_read_bool(&t->r, at, v)));
}

void lmi_http_set_effort(struct lmi_http_translation *t, const char *effort)
{
	bool none = !strcmp(effort, "none");

	lmi_http_set_template_arg(t, "enable_thinking", json_boolean(!none));
	if (!none)
		lmi_http_set_template_arg(t, "reasoning_effort", json_string(effort));
}

/* ---- content ---- */

struct lmd_str lmi_http_join(struct lmi_http_translation *t, const struct lmd_str *texts,
			     uint32_t n)
{
	struct lmd_str out = {.ptr = ""};
	size_t bytes = 0;
	char *p;

	if (n == 1)
		return texts[0];
	for (uint32_t i = 0; i < n; i++)
		bytes += texts[i].len + 1;
	p = lmi_http_alloc(&t->r, bytes, 1);
	if (!p || !n)
		return out;
	out.ptr = p;
	out.len = bytes - 1;
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			*p++ = '\n';
		memcpy(p, texts[i].ptr, texts[i].len);
		p += texts[i].len;
	}
	return out;
}

struct lmd_str lmi_http_read_part(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  const json_t *v)
{
	const struct lmi_http_at at_type = {.up = at, .name = "type"},
				 at_text = {.up = at, .name = "text"},
				 at_refusal = {.up = at, .name = "refusal"};
	struct lmd_str none = {.ptr = ""}, type;
	char shown[48];

	if (!lmi_http_is_object(&t->r, at, v))
		return none;
	type = lmi_http_read_str(&t->r, &at_type, lmi_http_get(v, "type"), 0, SIZE_MAX);
	if (t->r.status != LMD_OK)
		return none;
	if (!strcmp(type.ptr, "text"))
		return lmi_http_read_str(&t->r, &at_text, lmi_http_get(v, "text"), 0,
					 LMI_WIRE_LIMIT_TEXT_BYTES);
	if (!strcmp(type.ptr, "refusal"))
		return lmi_http_read_str(&t->r, &at_refusal, lmi_http_get(v, "refusal"), 0,
					 LMI_WIRE_LIMIT_TEXT_BYTES);
	lmi_http_fail(&t->r, &at_type, "\"%s\" is not supported: models read text only",
		      lmi_printable(shown, sizeof(shown), type.ptr, type.len));
	return none;
}

struct lmd_str lmi_http_read_content(struct lmi_http_translation *t, const struct lmi_http_at *at,
				     const json_t *v)
{
	struct lmd_str *texts;
	size_t n = json_array_size(v);

	if (!json_is_array(v))
		return lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
	texts = lmi_http_alloc(&t->r, n, sizeof(*texts));
	for (size_t i = 0; texts && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		texts[i] = lmi_http_read_part(t, &here, json_array_get(v, i));
	}
	return t->r.status == LMD_OK ? lmi_http_join(t, texts, (uint32_t)n)
				     : (struct lmd_str){.ptr = ""};
}

/* ---- messages ---- */

static const char *const roles[] = {"system", "developer", "user", "assistant",
				    "tool",   "function",  NULL};
static const char *const reasonings[] = {"reasoning_content", "reasoning", "thinking"};

static void read_calls(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v, struct lmi_wire_chat_message *out)
{
	if (!lmi_http_is_list(&t->r, at, v, 0, LMI_HTTP_TOOLS_MAX) || !json_array_size(v))
		return;
	for (size_t i = 0; i < json_array_size(v); i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		lmi_http_check_call(t, &here, json_array_get(v, i));
	}
	out->tool_calls = lmi_http_read_json(&t->r, at, v, LMI_WIRE_LIMIT_TEMPLATE_BYTES);
	out->has_tool_calls = true;
}

static void read_name(struct lmi_http_translation *t, const struct lmi_http_at *up, const json_t *v,
		      const char *member, bool *has, struct lmd_str *out)
{
	const struct lmi_http_at at = {.up = up, .name = member};
	const json_t *name = lmi_http_get(v, member);

	if (!name)
		return;
	*out = lmi_http_read_line(&t->r, &at, name, 0, LMI_WIRE_LIMIT_NAME_BYTES);
	*has = true;
}

void lmi_http_read_message(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v, struct lmi_wire_chat_message *out)
{
	const struct lmi_http_at at_role = {.up = at, .name = "role"},
				 at_content = {.up = at, .name = "content"},
				 at_calls = {.up = at, .name = "tool_calls"};
	const json_t *content, *calls, *reasoning;
	bool assistant;

	if (!lmi_http_is_object(&t->r, at, v))
		return;
	out->role = lmi_http_str(
		roles[lmi_http_read_word(&t->r, &at_role, lmi_http_get(v, "role"), roles)]);
	if (!strcmp(out->role.ptr, "developer")) /* few chat templates know this role */
		out->role = lmi_http_str("system");
	out->content.ptr = "";
	assistant = !strcmp(out->role.ptr, "assistant");
	content = lmi_http_get(v, "content");
	calls = lmi_http_get(v, "tool_calls");
	if (content)
		lmi_http_read_message_content(t, &at_content, content, out);
	else if (!assistant)
		lmi_http_fail(&t->r, &at_content, "is missing");
	for (size_t i = 0; assistant && i < LMD_LEN(reasonings) && !out->has_reasoning; i++) {
		const struct lmi_http_at here = {.up = at, .name = reasonings[i]};

		reasoning = lmi_http_get(v, reasonings[i]);
		if (!reasoning)
			continue;
		out->reasoning =
			lmi_http_read_str(&t->r, &here, reasoning, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
		out->has_reasoning = out->reasoning.len > 0;
	}
	if (calls && assistant)
		read_calls(t, &at_calls, calls, out);
	read_name(t, at, v, "name", &out->has_name, &out->name);
	read_name(t, at, v, "tool_call_id", &out->has_tool_call_id, &out->tool_call_id);
}

void lmi_http_read_messages(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	struct lmi_wire_chat_message *m;
	size_t n = json_array_size(v);

	if (!lmi_http_is_list(&t->r, at, v, 1, LMI_WIRE_LIMIT_MESSAGES))
		return;
	m = lmi_http_alloc(&t->r, n, sizeof(*m));
	for (size_t i = 0; m && t->r.status == LMD_OK && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		lmi_http_read_message(t, &here, json_array_get(v, i), &m[i]);
	}
	t->q->messages = m;
	t->q->n_messages = m ? (uint32_t)n : 0;
	t->q->has_messages = true;
}

struct lmi_wire_chat_message *lmi_http_add_message(struct lmi_http_translation *t, const char *role)
{
	struct lmi_wire_req_generate *q = t->q;
	uint32_t n = q->n_messages;
	struct lmi_wire_chat_message *m = (struct lmi_wire_chat_message *)q->messages;

	if (n >= LMI_WIRE_LIMIT_MESSAGES)
		lmi_http_fail(&t->r, NULL, "the conversation has more than %d messages",
			      LMI_WIRE_LIMIT_MESSAGES);
	if (!(n & (n - 1))) { /* 0 or a power of two: the array is full */
		m = lmi_http_alloc(&t->r, n ? 2 * (size_t)n : 1, sizeof(*m));
		if (!m)
			return NULL;
		if (n)
			memcpy(m, q->messages, n * sizeof(*m));
		q->messages = m;
	}
	if (t->r.status != LMD_OK)
		return NULL;
	q->n_messages++;
	q->has_messages = true;
	m[n].role = lmi_http_str(role);
	m[n].content.ptr = "";
	return &m[n];
}
