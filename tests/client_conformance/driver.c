/* SPDX-License-Identifier: MIT
 *
 * The driver of the client conformance suite for the C client: reads a call as JSON from standard
 * input and prints the result as JSON (docs/clients.md).  tests/http/embedded_driver is the same
 * program with the engine in it; `plugin_dir` is for the url "embedded:". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <llamad/client.h>

/* the codes of the protocol in the order of enum lmd_status */
static const char *const codes[] = {"ok",      "nomem",	 "invalid", "notfound", "unsupported",
				    "corrupt", "busy",	 "cancelled", "timeout", "io",
				    "device",  "internal", "denied"};

/* Appends to a member.  Only for texts that are not cut within a character. */
static void add_text(json_t *o, const char *key, const char *text, size_t n)
{
	const char *before = json_string_value(json_object_get(o, key));
	size_t n_before = before ? json_string_length(json_object_get(o, key)) : 0;
	char *all = malloc(n_before + n + 1);

	if (!all)
		exit(1);
	if (n_before)
		memcpy(all, before, n_before);
	if (n)
		memcpy(all + n_before, text, n);
	json_object_set_new(o, key, json_stringn(all, n_before + n));
	free(all);
}

/* The text of the answer.  An item can end within a character, and is not JSON then. */
struct text {
	char *p;
	size_t n;
};

static void collect(struct text *t, const char *p, size_t n)
{
	t->p = realloc(t->p, t->n + n + 1);
	if (!t->p)
		exit(1);
	if (n)
		memcpy(t->p + t->n, p, n);
	t->n += n;
}

static void take(json_t *out, struct text *text, const struct lmd_item *it)
{
	json_t *tokens = json_object_get(out, "tokens");
	json_t *calls = json_object_get(out, "tool_calls");
	json_t *call = json_array_get(calls, it->call);

	switch (it->kind) {
	case LMD_ITEM_TOKEN:
		json_array_append_new(tokens, json_integer(it->token));
		collect(text, it->text, it->n_text);
		break;
	case LMD_ITEM_TEXT:
		collect(text, it->text, it->n_text);
		break;
	case LMD_ITEM_REASONING:
		add_text(out, "reasoning", it->text, it->n_text);
		break;
	case LMD_ITEM_CALL:
		json_array_append_new(calls, json_pack("{ss ss ss sb}", "id", it->id, "name",
						       it->name, "arguments", "", "complete", 0));
		break;
	case LMD_ITEM_ARGUMENTS:
		add_text(call, "arguments", it->text, it->n_text);
		break;
	case LMD_ITEM_CALL_END:
		json_object_set_new(call, "complete", json_boolean(it->complete));
		break;
	case LMD_ITEM_DONE:
		json_object_set_new(out, "finish", json_string(it->finish));
		break;
	default:
		break;
	}
}

static enum lmd_status read_stream(struct lmd_stream *s, const json_t *in, json_t *out,
				   struct lmd_error *err)
{
	size_t stop_after = (size_t)json_integer_value(json_object_get(in, "stop_after"));
	struct text text = {0};
	struct lmd_item it = {0};
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && it.kind != LMD_ITEM_DONE) {
		st = lmd_stream_next(s, &it, -1, err);
		if (st == LMD_OK)
			take(out, &text, &it);
		if (stop_after && json_array_size(json_object_get(out, "tokens")) == stop_after)
			break;
	}
	json_object_set_new(out, "text", json_stringn(text.p ? text.p : "", text.n));
	free(text.p);
	return st;
}

static enum lmd_status generate(struct lmd_client *c, json_t *request, struct lmd_stream **s,
				struct lmd_error *err)
{
	struct lmd_generate g = {.struct_size = sizeof(g)};
	json_t *more = json_deep_copy(request);
	enum lmd_status st;
	char *text;

	g.model = json_string_value(json_object_get(request, "model"));
	g.prompt = json_string_value(json_object_get(request, "prompt"));
	g.flags = json_is_true(json_object_get(request, "parse")) ? LMD_GEN_PARSE : 0;
	json_object_del(more, "model");
	json_object_del(more, "prompt");
	json_object_del(more, "parse");
	g.more = text = json_dumps(more, 0);
	st = lmd_client_generate(c, &g, s, err);
	free(text);
	json_decref(more);
	return st;
}

static enum lmd_status ping(struct lmd_client *c, json_t *out, struct lmd_error *err)
{
	char *reply = NULL;
	enum lmd_status st = lmd_client_call(c, "ping", NULL, &reply, err);

	if (st == LMD_OK) {
		json_t *r = json_loads(reply, 0, NULL);

		json_object_set(out, "state", json_object_get(r, "state"));
		json_decref(r);
	}
	lmd_client_free(reply);
	return st;
}

static enum lmd_status run(struct lmd_client *c, json_t *in, json_t *out, struct lmd_error *err)
{
	const char *what = json_string_value(json_object_get(in, "do"));
	struct lmd_stream *s = NULL;
	enum lmd_status st;

	if (!strcmp(what, "ping"))
		return ping(c, out, err);
	if (!strcmp(what, "resume"))
		st = lmd_client_resume(c, json_string_value(json_object_get(in, "id")),
				       (uint64_t)json_integer_value(json_object_get(in, "after")),
				       &s, err);
	else
		st = generate(c, json_object_get(in, "request"), &s, err);
	if (st == LMD_OK)
		st = read_stream(s, in, out, err);
	if (json_is_true(json_object_get(in, "detach")))
		lmd_stream_leave(s);
	else
		lmd_stream_close(s);
	return st;
}

int main(void)
{
	struct lmd_client_opts opts = {.struct_size = sizeof(opts), .name = "conformance"};
	json_t *in = json_loadf(stdin, 0, NULL);
	json_t *out = json_pack("{ss s[] s[]}", "reasoning", "", "tokens", "tool_calls");
	const char *plugins;
	struct lmd_engine_opts engine = {
		.struct_size = sizeof(engine), .plugin_dirs = &plugins, .n_plugin_dirs = 1};
	struct lmd_client *c = NULL;
	struct lmd_error err = {0};
	enum lmd_status st;

	if (!in || !out)
		return 1;
	plugins = json_string_value(json_object_get(in, "plugin_dir"));
	if (plugins)
		opts.engine = &engine;
	opts.url = json_string_value(json_object_get(in, "url"));
	opts.key = json_string_value(json_object_get(in, "key"));
	opts.call_ms = (uint32_t)json_integer_value(json_object_get(in, "timeout_ms"));
	st = lmd_client_open(&c, &opts, &err);
	if (st == LMD_OK)
		st = run(c, in, out, &err);
	lmd_client_close(c);
	if (st != LMD_OK) {
		const char *code = (size_t)st < sizeof(codes) / sizeof(codes[0]) ? codes[st] : "";

		json_object_set_new(out, "error",
				    json_pack("{ss ss}", "code", code, "text", err.text));
	}
	json_dumpf(out, stdout, 0);
	json_decref(out);
	json_decref(in);
	return 0;
}
