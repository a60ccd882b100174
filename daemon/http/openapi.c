/* SPDX-License-Identifier: MIT
 *
 * Describes all endpoints in OpenAPI 3.1, from the tables of routes. */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "daemon/http/http_impl.h"

/* Sets a member; takes ownership of v, which may be NULL.  Returns false on failure. */
static bool put(json_t *o, const char *key, json_t *own_v)
{
	return json_object_set_new(o, key, own_v) == 0;
}

static json_t *parse_schema(const char *text)
{
	return text ? json_loads(text, JSON_DECODE_ANY, NULL) : json_object();
}

static json_t *content(const char *schema)
{
	return json_pack("{s:{s:o}}", "application/json", "schema", parse_schema(schema));
}

static json_t *parameters(const char *path)
{
	json_t *list = json_array();

	for (const char *p = strchr(path, '{'); p; p = strchr(p + 1, '{')) {
		const char *end = strchr(p, '}');
		json_t *o = json_pack("{s:s#,s:s,s:b,s:{s:s}}", "name", p + 1, (int)(end - p - 1),
				      "in", "path", "required", 1, "schema", "type", "string");

		if (json_array_append_new(list, o)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Returns a name that no other operation has: "get_v1_models_model". */
static json_t *operation_id(const struct lmi_http_route *r)
{
	char text[200];
	size_t n = 0;

	for (const char *p = lmi_http_method_names[r->method]; *p; p++)
		text[n++] = (char)tolower((unsigned char)*p);
	for (const char *p = r->path; *p && n < sizeof(text) - 1; p++) {
		bool word = isalnum((unsigned char)*p);

		if (word || (*p != '}' && text[n - 1] != '_'))
			text[n++] = word ? *p : '_';
	}
	text[n] = 0;
	return json_string(text);
}

static json_t *responses(const struct lmi_http_route *r)
{
	json_t *o = json_object(), *ok = json_pack("{s:s}", "description", "success");
	bool good = r->answer ? put(ok, "content", content(r->answer)) : true;

	good = put(o, "200", ok) && good;
	good = put(o, "default", json_pack("{s:s}", "description", "error")) && good;
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *operation(const struct lmi_http_api *api, const struct lmi_http_route *r)
{
	json_t *o = json_object(), *list = json_array();
	bool good = put(o, "operationId", operation_id(r)) &&
		    put(o, "summary", json_string(r->summary ? r->summary : "")) &&
		    put(o, "tags", json_pack("[s]", api->title)) &&
		    put(o, "parameters", parameters(r->path)) && put(o, "responses", responses(r));

	if (good && r->body)
		good = put(o, "requestBody", json_pack("{s:o}", "content", content(r->body)));
	if (good && r->access != LMI_HTTP_PUBLIC)
		good = !json_array_append_new(list, json_pack("{s:[]}", "bearer")) &&
		       !json_array_append_new(list, json_pack("{s:[]}", "header"));
	good = put(o, "security", list) && good;
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static bool add_route(json_t *paths, const struct lmi_http_api *api, const struct lmi_http_route *r)
{
	json_t *path = json_object_get(paths, r->path);
	char method[16];
	size_t n = 0;

	for (const char *p = lmi_http_method_names[r->method]; *p; p++)
		method[n++] = (char)tolower((unsigned char)*p);
	method[n] = 0;
	if (!path) {
		path = json_object();
		if (!put(paths, r->path, path))
			return false;
	}
	return put(path, method, operation(api, r));
}

char *lmi_http_openapi(const struct lmi_http_routes *const *list, const char *version)
{
	json_t *paths = json_object(), *tags = json_array(), *all;
	char *text = NULL;
	bool good = true;

	for (; *list && good; list++) {
		const struct lmi_http_api *api = (*list)->api;

		good = !json_array_append_new(tags, json_pack("{s:s}", "name", api->title));
		for (uint32_t i = 0; i < (*list)->n && good; i++)
			good = add_route(paths, api, &(*list)->v[i]);
	}
	all = json_pack("{s:s,s:{s:s,s:s,s:s},s:[{s:s}],s:o,s:o,s:{s:{s:{s:s,s:s},s:{s:s,s:s,s:s}}}}",
			"openapi", "3.1.0", "info", "title", "llamad", "version", version, "summary",
			"The HTTP APIs of llamad", "servers", "url", "/", "tags", tags, "paths", paths,
			"components", "securitySchemes", "bearer", "type", "http", "scheme", "bearer",
			"header", "type", "apiKey", "in", "header", "name", "x-api-key");
	if (good && all)
		text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}
