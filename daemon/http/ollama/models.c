/* SPDX-License-Identifier: MIT
 *
 * Models: /api/tags, /api/ps, /api/show, /api/delete, /api/copy and /api/version. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/ollama/ollama_impl.h"

/* ---- details ---- */

void lmi_ollama_put_details(struct lmi_json_text *j, struct lmd_str arch, struct lmd_str format,
			    const char *quantisation, int64_t n_elements)
{
	char size[32] = "";

	if (n_elements >= 1000000000)
		(void)snprintf(size, sizeof(size), "%.1fB", (double)n_elements / 1e9);
	else if (n_elements)
		(void)snprintf(size, sizeof(size), "%.2fM", (double)n_elements / 1e6);
	lmi_json_text_key(j, "details");
	lmi_json_text_object(j);
	lmi_http_json_put_text(j, "parent_model", "");
	lmi_http_json_put_str(j, "format", format);
	lmi_http_json_put_str(j, "family", arch);
	lmi_json_text_key(j, "families");
	lmi_json_text_array(j);
	if (arch.len)
		lmi_http_json_str(j, arch);
	lmi_json_text_end(j);
	lmi_http_json_put_text(j, "parameter_size", size);
	lmi_http_json_put_text(j, "quantization_level", quantisation);
	lmi_json_text_end(j);
}

/* Writes name and model, which are the same here. */
static void put_name(struct lmi_json_text *j, struct lmd_str name)
{
	lmi_http_json_put_str(j, "name", name);
	lmi_http_json_put_str(j, "model", name);
}

/* Writes when the model was added. */
static void put_modified(struct lmi_json_text *j, const struct lmi_wire_model *m)
{
	char at[LMI_OLLAMA_TIME_BYTES];

	lmi_ollama_time(at, m->added);
	lmi_http_json_put_text(j, "modified_at", at);
}

/* Writes the digest without the name of its algorithm; zeros while it is not known, because the program ollama
 * takes its first 12 digits without looking. */
static void put_digest(struct lmi_json_text *j, struct lmd_str digest)
{
	static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
	static const char algorithm[] = "sha256:";
	size_t n = sizeof(algorithm) - 1;

	if (digest.len > n && !memcmp(digest.ptr, algorithm, n))
		digest = (struct lmd_str){.ptr = digest.ptr + n, .len = digest.len - n};
	if (digest.len < sizeof(zeros) - 1)
		digest = (struct lmd_str){.ptr = zeros, .len = sizeof(zeros) - 1};
	lmi_http_json_put_str(j, "digest", digest);
}

/* ---- GET /api/tags ---- */

static void put_model(struct lmi_json_text *j, const struct lmi_wire_model *m)
{
	lmi_json_text_object(j);
	put_name(j, m->name);
	put_modified(j, m);
	lmi_http_json_put_int(j, "size", m->size);
	put_digest(j, m->digest);
	lmi_ollama_put_details(j, m->arch, m->format, "", 0);
	lmi_json_text_end(j);
}

static void reply_tags(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		       uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	struct lmi_json_text j = {0};

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	lmi_json_text_object(&j);
	lmi_json_text_key(&j, "models");
	lmi_json_text_array(&j);
	for (uint32_t i = 0; i < reply->u.models.n_models; i++)
		put_model(&j, &reply->u.models.models[i]);
	lmi_json_text_end(&j);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

void lmi_ollama_tags(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_MODELS);
	lmi_http_call(x, &req, reply_tags, x);
}

/* ---- GET /api/ps ---- */

static void put_resident(struct lmi_json_text *j, const struct lmi_wire_resident *m, int64_t now)
{
	char expires[LMI_OLLAMA_TIME_BYTES];
	int64_t bytes = m->weight_bytes + m->kv_bytes + m->scratch_bytes;
	bool cpu = m->backend.len >= 3 && !memcmp(m->backend.ptr, "cpu", 3);
	int64_t left = m->keep_alive_ms < 0 ? INT64_C(100) * 365 * 86400 : m->keep_alive_ms / 1000;

	lmi_ollama_time(expires, now + left - m->idle_ms / 1000);
	lmi_json_text_object(j);
	put_name(j, m->model);
	lmi_http_json_put_int(j, "size", bytes);
	put_digest(j, (struct lmd_str){.ptr = ""});
	lmi_ollama_put_details(j, (struct lmd_str){.ptr = ""}, (struct lmd_str){.ptr = ""}, "", 0);
	lmi_http_json_put_text(j, "expires_at", expires);
	lmi_http_json_put_int(j, "size_vram", cpu ? 0 : bytes);
	lmi_http_json_put_int(j, "context_length", m->n_ctx);
	lmi_json_text_end(j);
}

static void reply_ps(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	struct lmi_json_text j = {0};

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	lmi_json_text_object(&j);
	lmi_json_text_key(&j, "models");
	lmi_json_text_array(&j);
	for (uint32_t i = 0; i < reply->u.ps.n_models; i++)
		put_resident(&j, &reply->u.ps.models[i], lmi_http_created(x));
	lmi_json_text_end(&j);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

void lmi_ollama_ps(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_PS);
	lmi_http_call(x, &req, reply_ps, x);
}

/* ---- requests that name a model ---- */

/* Returns a name from the body; if it is missing, responds and returns ptr NULL. */
static struct lmd_str name_of(struct lmi_http_exchange *x, const char *member, const char *older)
{
	const json_t *body = lmi_http_body_object(x);
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	const struct lmi_http_at at = {.name = member};
	const json_t *v = lmi_http_get(body, member);
	struct lmd_str s = {0};

	if (!body)
		return s;
	/* the program ollama sends both, of which one is empty */
	if (older && (!v || (json_is_string(v) && !json_string_length(v))))
		v = lmi_http_get(body, older) ? lmi_http_get(body, older) : v;
	s = lmi_http_read_line(&r, &at, v, 1, LMI_WIRE_LIMIT_NAME_BYTES);
	if (r.status == LMD_OK)
		return s;
	lmi_http_reply_invalid(x, r.param, "%s", err.text);
	return (struct lmd_str){0};
}

static void reply_empty(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
			uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;

	if (reply)
		lmi_http_reply_text(x, 200, "text/plain", "", 0);
	else
		lmi_http_reply_status(x, err, retry_ms);
}

void lmi_ollama_delete(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_RM);
	req.u.rm.name = name_of(x, "model", "name");
	if (req.u.rm.name.ptr)
		lmi_http_call(x, &req, reply_empty, x);
}

void lmi_ollama_copy(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_ALIAS);
	req.u.alias.model = name_of(x, "source", NULL);
	if (!req.u.alias.model.ptr)
		return;
	req.u.alias.alias = name_of(x, "destination", NULL);
	if (req.u.alias.alias.ptr)
		lmi_http_call(x, &req, reply_empty, x);
}

void lmi_ollama_version(struct lmi_http_exchange *x)
{
	struct lmi_json_text j = {0};

	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "version", LMI_OLLAMA_API_VERSION);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

/* ---- POST /api/show ---- */

static bool has_text(struct lmd_str s, const char *text)
{
	return s.len && memmem(s.ptr, s.len, text, strlen(text)) != NULL;
}

static void put_capabilities(struct lmi_json_text *j, const struct lmi_wire_rep_info *info)
{
	const struct lmd_str template = info->chat_template;

	lmi_json_text_key(j, "capabilities");
	lmi_json_text_array(j);
	lmi_json_text_str(j, "completion");
	if (info->vision)
		lmi_json_text_str(j, "vision");
	if (has_text(template, "tools"))
		lmi_json_text_str(j, "tools");
	if (has_text(template, "think"))
		lmi_json_text_str(j, "thinking");
	lmi_json_text_end(j);
}

static bool type_is(const struct lmi_wire_meta *m, const char *prefix)
{
	return m->type.len >= strlen(prefix) && !memcmp(m->type.ptr, prefix, strlen(prefix));
}

/* Values are numbers, truth values, or the text that the server has for them. */
static void put_meta(struct lmi_json_text *j, const struct lmi_wire_meta *m, const char *key)
{
	char value[64], *end;

	(void)snprintf(value, sizeof(value), "%.*s", (int)(m->value.len < 63 ? m->value.len : 63),
		       m->value.ptr);
	if (type_is(m, "u") || type_is(m, "i")) {
		long long v = strtoll(value, &end, 10);

		if (*value && !*end) {
			lmi_http_json_put_int(j, key, v);
			return;
		}
	} else if (type_is(m, "f")) {
		double v = strtod(value, &end);

		if (*value && !*end) {
			lmi_http_json_put_real(j, key, v);
			return;
		}
	} else if (type_is(m, "bool")) {
		lmi_http_json_put_bool(j, key, !strcmp(value, "true"));
		return;
	}
	lmi_http_json_put_str(j, key, m->value);
}

static bool has_key(const struct lmi_wire_rep_info *info, const char *key)
{
	for (uint32_t i = 0; i < info->n_meta; i++)
		if (info->meta[i].key.len == strlen(key) &&
		    !memcmp(info->meta[i].key.ptr, key, strlen(key)))
			return true;
	return false;
}

/* Writes a number that every model has there, if the file has no such key. */
static void put_missing(struct lmi_json_text *j, const struct lmi_wire_rep_info *info, const char *key,
			int64_t value)
{
	if (key && !has_key(info, key))
		lmi_http_json_put_int(j, key, value);
}

static void put_model_info(struct lmi_json_text *j, const struct lmi_wire_rep_info *info,
			   struct lmd_arena *arena)
{
	const struct lmd_str *arch = &info->model.arch;

	lmi_json_text_key(j, "model_info");
	lmi_json_text_object(j);
	for (uint32_t i = 0; i < info->n_meta; i++) {
		const struct lmi_wire_meta *m = &info->meta[i];
		const char *key = lmi_arena_strndup(arena, m->key.ptr, m->key.len);

		if (key)
			put_meta(j, m, key);
	}
	if (!has_key(info, "general.architecture"))
		lmi_http_json_put_str(j, "general.architecture", *arch);
	put_missing(j, info, "general.parameter_count", info->elements);
	put_missing(j, info, lmi_arena_printf(arena, "%.*s.context_length", (int)arch->len, arch->ptr),
		    info->n_ctx_train);
	put_missing(j, info, lmi_arena_printf(arena, "%.*s.embedding_length", (int)arch->len, arch->ptr),
		    info->n_embd);
	lmi_json_text_end(j);
}

/* Returns the defaults of the model as lines of a name and a value, without those that the server
 * has for every model. */
static const char *parameters(const struct lmi_wire_rep_info *info, struct lmd_arena *arena)
{
	const char *text = "";

	for (uint32_t i = 0; i < info->n_defaults && text; i++) {
		const struct lmi_wire_default_value *v = &info->defaults[i];
		bool temp = v->name.len == 4 && !memcmp(v->name.ptr, "temp", 4);
		char name[64];

		if (v->from == LMI_WIRE_DEFAULT_SOURCE_BUILTIN)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", (int)v->name.len, v->name.ptr);
		text = lmi_arena_printf(arena, "%s%s%-30s %.9g", text, *text ? "\n" : "",
					temp ? "temperature" : name, v->value);
	}
	return text ? text : "";
}

/* The type of most elements. */
static void main_type(const struct lmi_wire_rep_info *info, char *out, size_t cap)
{
	int64_t most = -1;

	*out = '\0';
	for (uint32_t i = 0; i < info->n_types; i++) {
		const struct lmi_wire_tensor_type *t = &info->types[i];

		if (t->elements <= most)
			continue;
		most = t->elements;
		(void)snprintf(out, cap, "%.*s", (int)t->type.len, t->type.ptr);
	}
	for (; *out; out++)
		if (*out >= 'a' && *out <= 'z')
			*out = (char)(*out - 'a' + 'A');
}

static void reply_show(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		       uint32_t retry_ms)
{
	struct lmi_http_exchange *x = arg;
	const struct lmi_wire_rep_info *info;
	struct lmi_json_text j = {0};
	char type[32];

	if (!reply) {
		lmi_http_reply_status(x, err, retry_ms);
		return;
	}
	info = &reply->u.info;
	main_type(info, type, sizeof(type));
	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "license", "");
	if (info->has_modelfile)
		lmi_http_json_put_str(&j, "modelfile", info->modelfile);
	else
		lmi_http_json_put_text(&j, "modelfile", "");
	lmi_http_json_put_text(&j, "parameters", parameters(info, lmi_http_arena(x)));
	if (info->has_system)
		lmi_http_json_put_str(&j, "system", info->system);
	lmi_http_json_put_str(&j, "template", info->chat_template);
	lmi_ollama_put_details(&j, info->model.arch, info->model.format, type, info->elements);
	put_model_info(&j, info, lmi_http_arena(x));
	put_capabilities(&j, info);
	put_modified(&j, &info->model);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

void lmi_ollama_show(struct lmi_http_exchange *x)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_INFO);
	req.u.info.model = name_of(x, "model", "name");
	req.u.info.keys = true;
	if (req.u.info.model.ptr)
		lmi_http_call(x, &req, reply_show, x);
}
