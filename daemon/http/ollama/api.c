/* SPDX-License-Identifier: MIT
 *
 * The routes of the API and its errors. */
#include <stdio.h>

#include "daemon/http/ollama/ollama_impl.h"

void lmi_ollama_error(struct lmi_json_text *out, const struct lmi_http_error *e)
{
	char text[LMD_ERROR_TEXT + 256];

	(void)snprintf(text, sizeof(text), "%s%s%s", e->param ? e->param : "", e->param ? ": " : "",
		       e->text);
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "error", text);
	lmi_json_text_end(out);
}

static const char chat_body[] =
	"{\"type\":\"object\",\"required\":[\"model\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"messages\":{\"type\":\"array\"},"
	"\"tools\":{\"type\":\"array\"},\"format\":{\"type\":[\"string\",\"object\"]},"
	"\"options\":{\"type\":\"object\"},\"think\":{\"type\":[\"boolean\",\"string\"]},"
	"\"stream\":{\"type\":\"boolean\",\"default\":true},"
	"\"keep_alive\":{\"type\":[\"string\",\"number\"]}}}";

static const char generate_body[] =
	"{\"type\":\"object\",\"required\":[\"model\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"prompt\":{\"type\":\"string\"},"
	"\"system\":{\"type\":\"string\"},\"template\":{\"type\":\"string\"},"
	"\"raw\":{\"type\":\"boolean\"},\"format\":{\"type\":[\"string\",\"object\"]},"
	"\"options\":{\"type\":\"object\"},\"think\":{\"type\":[\"boolean\",\"string\"]},"
	"\"stream\":{\"type\":\"boolean\",\"default\":true},"
	"\"keep_alive\":{\"type\":[\"string\",\"number\"]}}}";

static const char model_body[] = "{\"type\":\"object\",\"required\":[\"model\"],\"properties\":{"
				 "\"model\":{\"type\":\"string\"}}}";

static const char pull_body[] =
	"{\"type\":\"object\",\"required\":[\"model\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},"
	"\"stream\":{\"type\":\"boolean\",\"default\":true}}}";

static const char copy_body[] =
	"{\"type\":\"object\",\"required\":[\"source\",\"destination\"],\"properties\":{"
	"\"source\":{\"type\":\"string\"},\"destination\":{\"type\":\"string\"}}}";

static const char create_body[] =
	"{\"type\":\"object\",\"required\":[\"model\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"from\":{\"type\":\"string\"},"
	"\"system\":{\"type\":\"string\"},\"template\":{\"type\":\"string\"},"
	"\"license\":{\"type\":[\"string\",\"array\"]},"
	"\"parameters\":{\"type\":\"object\"},\"messages\":{\"type\":\"array\"},"
	"\"stream\":{\"type\":\"boolean\",\"default\":true}}}";

static const char embed_body[] =
	"{\"type\":\"object\",\"required\":[\"model\",\"input\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"input\":{\"type\":[\"string\",\"array\"]},"
	"\"truncate\":{\"type\":\"boolean\",\"default\":true},"
	"\"dimensions\":{\"type\":\"integer\"}}}";

static const char embeddings_body[] =
	"{\"type\":\"object\",\"required\":[\"model\",\"prompt\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"prompt\":{\"type\":\"string\"}}}";

static const struct lmi_http_route routes[] = {
	{LMI_HTTP_POST, "/api/generate", LMI_HTTP_USER, lmi_ollama_generate, "Answers a prompt.",
	 generate_body, NULL},
	{LMI_HTTP_POST, "/api/chat", LMI_HTTP_USER, lmi_ollama_chat, "Continues a conversation.",
	 chat_body, NULL},
	{LMI_HTTP_GET, "/api/tags", LMI_HTTP_USER, lmi_ollama_tags, "Lists the models.", NULL,
	 NULL},
	{LMI_HTTP_GET, "/api/ps", LMI_HTTP_USER, lmi_ollama_ps, "Lists the models in memory.", NULL,
	 NULL},
	{LMI_HTTP_POST, "/api/show", LMI_HTTP_USER, lmi_ollama_show, "Describes a model.",
	 model_body, NULL},
	{LMI_HTTP_GET, "/api/version", LMI_HTTP_PUBLIC, lmi_ollama_version,
	 "Reports the version of Ollama's API.", NULL, NULL},
	{LMI_HTTP_DELETE, "/api/delete", LMI_HTTP_ADMIN, lmi_ollama_delete,
	 "Removes a model or an alias.", model_body, NULL},
	{LMI_HTTP_POST, "/api/copy", LMI_HTTP_ADMIN, lmi_ollama_copy, "Gives a model another name.",
	 copy_body, NULL},
	{LMI_HTTP_POST, "/api/embed", LMI_HTTP_USER, lmi_ollama_embed,
	 "Computes embeddings of texts.", embed_body, NULL},
	{LMI_HTTP_POST, "/api/embeddings", LMI_HTTP_USER, lmi_ollama_embeddings,
	 "Computes the embedding of a prompt.", embeddings_body, NULL},
	{LMI_HTTP_POST, "/api/create", LMI_HTTP_ADMIN, lmi_ollama_create,
	 "Makes a model with a prompt and parameters of its own.", create_body, NULL},
	{LMI_HTTP_POST, "/api/pull", LMI_HTTP_ADMIN, lmi_ollama_pull, "Downloads a model.", pull_body,
	 NULL},
	{LMI_HTTP_HEAD, "/api/blobs/{digest}", LMI_HTTP_ADMIN, NULL,
	 "Files are not uploaded: add models on the server.", NULL, NULL},
	{LMI_HTTP_POST, "/api/blobs/{digest}", LMI_HTTP_ADMIN, NULL,
	 "Files are not uploaded: add models on the server.", NULL, NULL},
	{LMI_HTTP_GET, "/api/status", LMI_HTTP_USER, NULL,
	 "There is no cloud to report on.", NULL, NULL},
	{LMI_HTTP_POST, "/api/me", LMI_HTTP_USER, NULL,
	 "There are no accounts.", NULL, NULL},
	{LMI_HTTP_POST, "/api/signout", LMI_HTTP_USER, NULL,
	 "There are no accounts.", NULL, NULL},
	{LMI_HTTP_POST, "/api/push", LMI_HTTP_ADMIN, NULL,
	 "Models are uploaded by llamactl push, which has your credentials.", NULL, NULL},
};

static const struct lmi_http_api api = {
	.name = "ollama", .title = "Ollama", .error = lmi_ollama_error};

const struct lmi_http_routes lmi_ollama_routes = {.api = &api, .v = routes, .n = LMD_LEN(routes)};
