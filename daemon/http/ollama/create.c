/* SPDX-License-Identifier: MIT
 *
 * POST /api/create: writes a Modelfile from the members of the body, for op create. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/ollama/ollama_impl.h"
#include "proto/buf.h"

#define MODELFILE_BYTES (1u << 20)
#define LICENSES	64u

struct creation {
	struct lmi_http_exchange *x;
	struct lmi_http_reader r;
	struct lmd_error err;
	struct lmi_wire_buf written;
	struct lmd_str text; /* the Modelfile */
	bool stream;
};

static void put_text(struct creation *c, const char *text, size_t n)
{
	if (c->r.status != LMD_OK)
		return;
	if (c->written.n + n > MODELFILE_BYTES)
		lmi_http_fail(&c->r, NULL, "the Modelfile has more than %u bytes", MODELFILE_BYTES);
	else if (n && !lmi_wire_buf_add(&c->written, text, n))
		lmi_http_fail_nomem(&c->r);
}

static void put_word(struct creation *c, const char *text)
{
	put_text(c, text, strlen(text));
}

static void put_quoted(struct creation *c, const struct lmi_http_at *at, struct lmd_str value)
{
	if (c->r.status != LMD_OK)
		return;
	if (memmem(value.ptr, value.len, "\"\"\"", 3)) {
		lmi_http_fail(&c->r, at, "three double quotes cannot stand in a Modelfile");
		return;
	}
	put_text(c, value.ptr, value.len);
}

/* Appends "COMMAND value"; values may have several lines. */
static void put(struct creation *c, const struct lmi_http_at *at, const char *command,
		struct lmd_str value)
{
	put_word(c, command);
	put_word(c, " \"\"\"");
	put_quoted(c, at, value);
	put_word(c, "\"\"\"\n");
}

static void put_member(struct creation *c, const json_t *body, const char *name,
		       const char *command)
{
	const struct lmi_http_at at = {.name = name};
	const json_t *v = lmi_http_get(body, name);
	struct lmd_str text;

	if (!v)
		return;
	text = lmi_http_read_str(&c->r, &at, v, 0, LMI_WIRE_LIMIT_TEMPLATE_BYTES);
	if (text.len)
		put(c, &at, command, text);
}

/* Writes one license or several, of which empty ones are left out, as one text. */
static void put_licenses(struct creation *c, const json_t *v)
{
	const struct lmi_http_at at = {.name = "license"};
	const struct lmd_str *licenses;
	uint32_t n;

	if (!v)
		return;
	licenses = lmi_http_read_strs(&c->r, &at, v, LICENSES, MODELFILE_BYTES, &n);
	if (!licenses || !n)
		return;
	put_word(c, "LICENSE \"\"\"");
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			put_word(c, "\n\n");
		put_quoted(c, &at, licenses[i]);
	}
	put_word(c, "\"\"\"\n");
}

static void put_parameter(struct creation *c, const char *name, const json_t *v)
{
	const struct lmi_http_at up = {.name = "parameters"}, at = {.up = &up, .name = name};
	char command[80];
	struct lmd_str text;

	if (strlen(name) > 40 || strpbrk(name, " \t\r\n") || !*name) {
		lmi_http_fail(&c->r, &up, "the name of a parameter is empty, too long or has blanks");
		return;
	}
	(void)snprintf(command, sizeof(command), "PARAMETER %s", name);
	text = json_is_string(v) ? lmi_http_str(json_string_value(v))
				 : lmi_http_read_json(&c->r, &at, v, 256);
	if (c->r.status == LMD_OK)
		put(c, &at, command, text);
}

static void put_parameters(struct creation *c, const json_t *v)
{
	const struct lmi_http_at at = {.name = "parameters"};
	const char *name;
	json_t *value, *item;
	size_t i;

	if (!v || !lmi_http_is_object(&c->r, &at, v))
		return;
	json_object_foreach((json_t *)v, name, value)
	{
		if (!json_is_array(value))
			put_parameter(c, name, value);
		json_array_foreach(value, i, item) put_parameter(c, name, item);
	}
}

static void put_messages(struct creation *c, const json_t *v)
{
	static const char *const roles[] = {"system", "user", "assistant", NULL};
	const struct lmi_http_at at = {.name = "messages"};
	json_t *m;
	size_t i;

	if (!v || !lmi_http_is_list(&c->r, &at, v, 0, 1024))
		return;
	json_array_foreach(v, i, m)
	{
		const struct lmi_http_at here = {.up = &at, .index = i};
		const struct lmi_http_at role = {.up = &here, .name = "role"};
		const struct lmi_http_at content = {.up = &here, .name = "content"};
		char command[32];
		struct lmd_str text;

		if (c->r.status != LMD_OK || !lmi_http_is_object(&c->r, &here, m))
			return;
		(void)snprintf(command, sizeof(command), "MESSAGE %s",
			       roles[lmi_http_read_word(&c->r, &role, lmi_http_get(m, "role"), roles)]);
		text = lmi_http_read_str(&c->r, &content, lmi_http_get(m, "content"), 0,
					 LMI_WIRE_LIMIT_TEMPLATE_BYTES);
		if (c->r.status == LMD_OK)
			put(c, &content, command, text);
	}
}

/* Members that name files of the client, or that change the weights. */
static void refuse_members(struct creation *c, const json_t *body)
{
	static const char *const names[] = {"files", "adapters", "quantize"};

	for (size_t i = 0; i < LMD_LEN(names); i++) {
		const struct lmi_http_at at = {.name = names[i]};
		const json_t *v = lmi_http_get(body, names[i]);

		if (v && (!json_is_object(v) || json_object_size(v)))
			lmi_http_fail(&c->r, &at,
				      "not supported here: use `llamactl add`, `llamactl export-lora` "
				      "or `llamactl quantize`, and name the result in from");
	}
}

static void reply(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		  uint32_t retry_ms)
{
	static const char line[] = "{\"status\":\"success\"}\n";
	struct creation *c = arg;
	struct lmi_json_text j = {0};

	if (!reply) {
		lmi_http_reply_status(c->x, err, retry_ms);
	} else if (c->stream) {
		lmi_http_stream_begin(c->x, "application/x-ndjson");
		(void)lmi_http_stream_write(c->x, line, sizeof(line) - 1);
		lmi_http_stream_end(c->x);
	} else {
		lmi_json_text_object(&j);
		lmi_http_json_put_text(&j, "status", "success");
		lmi_json_text_end(&j);
		lmi_http_reply(c->x, 200, &j);
	}
}

/* Writes the Modelfile: that of the body, as older clients send it, or one from its members. */
static void write_modelfile(struct creation *c, const json_t *body)
{
	const struct lmi_http_at at_text = {.name = "modelfile"}, at_from = {.name = "from"};
	const json_t *text = lmi_http_get(body, "modelfile");

	if (text) {
		c->text = lmi_http_read_str(&c->r, &at_text, text, 1, MODELFILE_BYTES);
		return;
	}
	put(c, &at_from, "FROM",
	    lmi_http_read_line(&c->r, &at_from, lmi_http_get(body, "from"), 1,
			       LMI_WIRE_LIMIT_NAME_BYTES));
	put_member(c, body, "system", "SYSTEM");
	put_member(c, body, "template", "TEMPLATE");
	put_licenses(c, lmi_http_get(body, "license"));
	put_parameters(c, lmi_http_get(body, "parameters"));
	put_messages(c, lmi_http_get(body, "messages"));
	c->text.len = c->written.n;
	c->text.ptr = lmi_arena_strndup(c->r.arena, c->written.n ? (const char *)c->written.p : "",
					c->written.n);
	lmi_wire_buf_fini(&c->written);
	if (!c->text.ptr)
		lmi_http_fail_nomem(&c->r);
}

void lmi_ollama_create(struct lmi_http_exchange *x)
{
	static const struct lmi_http_at at_model = {.name = "model"}, at_stream = {.name = "stream"};
	const json_t *body = lmi_http_body_object(x), *v;
	struct lmi_wire_request req;
	struct creation *c;

	if (!body)
		return;
	c = lmi_arena_alloc(lmi_http_arena(x), sizeof(*c), _Alignof(struct creation));
	if (!c) {
		const struct lmd_error nomem = {.status = LMD_NOMEM, .text = "no memory for a request"};

		lmi_http_reply_status(x, &nomem, 0);
		return;
	}
	*c = (struct creation){.x = x, .stream = true};
	c->r = (struct lmi_http_reader){.arena = lmi_http_arena(x), .err = &c->err};
	lmi_wire_request_init(&req, LMI_WIRE_OP_CREATE);
	v = lmi_http_get(body, "model") ? lmi_http_get(body, "model") : lmi_http_get(body, "name");
	req.u.create.name = lmi_http_read_line(&c->r, &at_model, v, 1, LMI_WIRE_LIMIT_NAME_BYTES);
	v = lmi_http_get(body, "stream");
	if (v)
		c->stream = lmi_http_read_bool(&c->r, &at_stream, v);
	refuse_members(c, body);
	write_modelfile(c, body);
	if (c->r.status == LMD_NOMEM) {
		lmi_http_reply_status(x, &c->err, 0);
		return;
	}
	if (c->r.status != LMD_OK) {
		lmi_http_reply_invalid(x, c->r.param, "%s", c->err.text);
		return;
	}
	req.u.create.modelfile = c->text;
	lmi_http_call(x, &req, reply, c);
}
