/* SPDX-License-Identifier: MIT
 *
 * The routes of the API and its errors. */
#include <stdio.h>

#include "daemon/http/llamacpp/llamacpp_impl.h"

static const char *error_type(const struct lmi_http_error *e)
{
	if (e->n_prompt && e->n_ctx)
		return "exceed_context_size_error";
	switch (e->code) {
	case 401:
		return "authentication_error";
	case 403:
		return "permission_error";
	case 404:
		return "not_found_error";
	case 429:
		return "rate_limit_error";
	case 501:
		return "not_supported_error";
	case 503:
		return "unavailable_error";
	default:
		return e->code < 500 ? "invalid_request_error" : "server_error";
	}
}

void lmi_llamacpp_error(struct lmi_json_text *out, const struct lmi_http_error *e)
{
	char text[LMD_ERROR_TEXT + 256];

	(void)snprintf(text, sizeof(text), "%s%s%s", e->param ? e->param : "", e->param ? ": " : "",
		       e->text);
	lmi_json_text_object(out);
	lmi_json_text_key(out, "error");
	lmi_json_text_object(out);
	lmi_http_json_put_int(out, "code", e->code);
	lmi_http_json_put_text(out, "message", text);
	lmi_http_json_put_text(out, "type", error_type(e));
	if (e->n_prompt && e->n_ctx) {
		lmi_http_json_put_int(out, "n_prompt_tokens", (int64_t)e->n_prompt);
		lmi_http_json_put_int(out, "n_ctx", (int64_t)e->n_ctx);
	}
	lmi_json_text_end(out);
	lmi_json_text_end(out);
}

static const char completion_body[] =
	"{\"type\":\"object\",\"required\":[\"prompt\"],\"properties\":{"
	"\"prompt\":{\"type\":[\"string\",\"array\"]},\"n_predict\":{\"type\":\"integer\"},"
	"\"stream\":{\"type\":\"boolean\"},\"temperature\":{\"type\":\"number\"},"
	"\"top_k\":{\"type\":\"integer\"},\"top_p\":{\"type\":\"number\"},"
	"\"min_p\":{\"type\":\"number\"},\"seed\":{\"type\":\"integer\"},"
	"\"stop\":{\"type\":\"array\"},\"grammar\":{\"type\":\"string\"},"
	"\"json_schema\":{\"type\":\"object\"}}}";

static const char infill_body[] =
	"{\"type\":\"object\",\"required\":[\"input_prefix\",\"input_suffix\"],\"properties\":{"
	"\"input_prefix\":{\"type\":\"string\"},\"input_suffix\":{\"type\":\"string\"},"
	"\"input_extra\":{\"type\":\"array\"},\"n_predict\":{\"type\":\"integer\"},"
	"\"stream\":{\"type\":\"boolean\"}}}";

static const char tokenize_body[] =
	"{\"type\":\"object\",\"anyOf\":[{\"required\":[\"content\"]},{\"required\":[\"prompt\"]}],"
	"\"properties\":{\"content\":{\"type\":\"string\"},\"prompt\":{\"type\":\"string\"},"
	"\"add_special\":{\"type\":\"boolean\"},\"add_special_tokens\":{\"type\":\"boolean\"},"
	"\"parse_special\":{\"type\":\"boolean\"},\"with_pieces\":{\"type\":\"boolean\"}}}";

static const char detokenize_body[] = "{\"type\":\"object\",\"required\":[\"tokens\"],"
				      "\"properties\":{\"tokens\":{\"type\":\"array\"}}}";

static const char embedding_body[] =
	"{\"type\":\"object\",\"required\":[\"content\"],\"properties\":{"
	"\"content\":{\"type\":[\"string\",\"array\"]},\"embd_normalize\":{\"enum\":[-1,2]}}}";

static const char template_body[] =
	"{\"type\":\"object\",\"required\":[\"messages\"],\"properties\":{"
	"\"messages\":{\"type\":\"array\",\"minItems\":1},\"tools\":{\"type\":\"array\"},"
	"\"chat_template_kwargs\":{\"type\":\"object\"}}}";

static const char rerank_body[] =
	"{\"type\":\"object\",\"required\":[\"query\"],\"properties\":{"
	"\"query\":{\"type\":\"string\"},\"documents\":{\"type\":\"array\",\"minItems\":1},"
	"\"top_n\":{\"type\":\"integer\"}}}";

static const char streams_body[] =
	"{\"type\":\"object\",\"required\":[\"conversation_ids\"],\"properties\":{"
	"\"conversation_ids\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}";

static const char models_body[] =
	"{\"type\":\"object\",\"required\":[\"model\"],\"properties\":{\"model\":{\"type\":\"string\"}}}";

static const char slot_body[] =
	"{\"type\":\"object\",\"properties\":{\"filename\":{\"type\":\"string\"}}}";

static const struct lmi_http_route routes[] = {
	{LMI_HTTP_POST, "/completion", LMI_HTTP_USER, lmi_llamacpp_completion, "Continues a text.",
	 completion_body, NULL},
	{LMI_HTTP_POST, "/completions", LMI_HTTP_USER, lmi_llamacpp_completion, "Continues a text.",
	 completion_body, NULL},
	{LMI_HTTP_POST, "/tokenize", LMI_HTTP_USER, lmi_llamacpp_tokenize,
	 "Converts text to tokens.", tokenize_body, NULL},
	{LMI_HTTP_POST, "/detokenize", LMI_HTTP_USER, lmi_llamacpp_detokenize,
	 "Converts tokens to text.", detokenize_body, NULL},
	{LMI_HTTP_GET, "/props", LMI_HTTP_USER, lmi_llamacpp_props, "Describes the loaded model.",
	 NULL, NULL},
	{LMI_HTTP_GET, "/slots", LMI_HTTP_USER, lmi_llamacpp_slots,
	 "Lists the places for sequences of the loaded models.", NULL, NULL},
	{LMI_HTTP_GET, "/models", LMI_HTTP_USER, lmi_llamacpp_models, "Lists the models.", NULL,
	 NULL},
	{LMI_HTTP_POST, "/models/load", LMI_HTTP_ADMIN, lmi_llamacpp_model_load,
	 "Loads a model.", models_body, NULL},
	{LMI_HTTP_POST, "/models/unload", LMI_HTTP_ADMIN, lmi_llamacpp_model_unload,
	 "Unloads a model.", models_body, NULL},
	{LMI_HTTP_POST, "/models", LMI_HTTP_ADMIN, NULL,
	 "Models are downloaded with /api/pull or llamactl pull.", NULL, NULL},
	{LMI_HTTP_DELETE, "/models", LMI_HTTP_ADMIN, NULL,
	 "Models are removed with /api/delete or llamactl rm.", NULL, NULL},
	{LMI_HTTP_GET, "/models/sse", LMI_HTTP_USER, NULL,
	 "Changes of models are not reported: ask /models.", NULL, NULL},
	{LMI_HTTP_POST, "/props", LMI_HTTP_ADMIN, NULL, "Properties cannot be changed.", NULL, NULL},
	{LMI_HTTP_POST, "/apply-template", LMI_HTTP_USER, lmi_llamacpp_apply_template,
	 "Returns the prompt of a conversation.", template_body, NULL},
	{LMI_HTTP_POST, "/infill", LMI_HTTP_USER, lmi_llamacpp_infill,
	 "Fills the gap between two texts.", infill_body, NULL},
	{LMI_HTTP_POST, "/embedding", LMI_HTTP_USER, lmi_llamacpp_embedding,
	 "Computes embeddings of texts.", embedding_body, NULL},
	{LMI_HTTP_POST, "/embeddings", LMI_HTTP_USER, lmi_llamacpp_embedding,
	 "Computes embeddings of texts.", embedding_body, NULL},
	{LMI_HTTP_POST, "/rerank", LMI_HTTP_USER, lmi_llamacpp_rerank,
	 "Scores documents by a query.", rerank_body, NULL},
	{LMI_HTTP_POST, "/reranking", LMI_HTTP_USER, lmi_llamacpp_rerank,
	 "Scores documents by a query.", rerank_body, NULL},
	{LMI_HTTP_POST, "/v1/rerank", LMI_HTTP_USER, lmi_llamacpp_rerank,
	 "Scores documents by a query.", rerank_body, NULL},
	{LMI_HTTP_POST, "/v1/reranking", LMI_HTTP_USER, lmi_llamacpp_rerank,
	 "Scores documents by a query.", rerank_body, NULL},
	{LMI_HTTP_POST, "/slots/{id}", LMI_HTTP_USER, lmi_llamacpp_slot_action,
	 "Saves, restores or erases the session of a slot: action.", slot_body, NULL},
	{LMI_HTTP_GET, "/v1/stream", LMI_HTTP_USER, lmi_llamacpp_stream,
	 "Resumes a stream at a position: conv_id, from.", NULL, NULL},
	{LMI_HTTP_GET, "/v1/stream/{conv_id}", LMI_HTTP_USER, lmi_llamacpp_stream,
	 "Resumes a stream at a position: from.", NULL, NULL},
	{LMI_HTTP_DELETE, "/v1/stream", LMI_HTTP_USER, lmi_llamacpp_stream_stop,
	 "Cancels a stream that can be resumed: conv_id.", NULL, NULL},
	{LMI_HTTP_DELETE, "/v1/stream/{conv_id}", LMI_HTTP_USER, lmi_llamacpp_stream_stop,
	 "Cancels a stream that can be resumed.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/streams/lookup", LMI_HTTP_USER, lmi_llamacpp_streams,
	 "Describes the streams of conversations.", streams_body, NULL},
	{LMI_HTTP_GET, "/lora-adapters", LMI_HTTP_USER, lmi_llamacpp_adapters,
	 "Lists the adapters of a model with the scales that requests without `lora` get.", NULL, NULL},
	{LMI_HTTP_POST, "/lora-adapters", LMI_HTTP_ADMIN, lmi_llamacpp_adapters_set,
	 "Sets the adapters of requests that name none: a list of id and scale.", NULL, NULL},
};

static const struct lmi_http_api api = {
	.name = "llamacpp", .title = "llama.cpp", .error = lmi_llamacpp_error};

const struct lmi_http_routes lmi_llamacpp_routes = {.api = &api, .v = routes, .n = LMD_LEN(routes)};
