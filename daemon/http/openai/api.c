/* SPDX-License-Identifier: MIT
 *
 * The routes of the API, its errors, and what its two forms of answers share. */
#include <stdio.h>
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/json_out.h"
#include "daemon/http/openai/batch_run.h"
#include "daemon/http/openai/files.h"
#include "daemon/http/openai/openai_impl.h"
#include "daemon/http/openai/responses.h"
#include "daemon/http/timings.h"

/* ---- errors ---- */

static const char *error_type(int code)
{
	switch (code) {
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
		return code < 500 ? "invalid_request_error" : "server_error";
	}
}

static const char *error_code(const struct lmi_http_error *e)
{
	if (e->n_prompt && e->n_ctx)
		return "context_length_exceeded";
	if (e->code == 401)
		return "invalid_api_key";
	if (e->code == 404)
		return e->param && !strcmp(e->param, "model") ? "model_not_found" : "not_found";
	if (e->code == 429)
		return "rate_limit_exceeded";
	return NULL;
}

void lmi_openai_error(struct lmi_json_text *out, const struct lmi_http_error *e)
{
	lmi_json_text_object(out);
	lmi_json_text_key(out, "error");
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "message", e->text);
	lmi_http_json_put_text(out, "type", error_type(e->code));
	lmi_http_json_put_text(out, "param", e->param);
	lmi_http_json_put_text(out, "code", error_code(e));
	lmi_json_text_end(out);
	lmi_json_text_end(out);
}

void lmi_openai_form_error(void *state, const struct lmi_http_error *e, struct lmi_http_out *o)
{
	(void)state;
	lmi_openai_error(&o->json, e);
	lmi_http_out_event(o, NULL);
}

/* ---- forms ---- */

void lmi_openai_put_head(struct lmi_json_text *j, const struct lmi_http_answer_head *head,
			 const char *prefix, const char *object)
{
	char id[128];

	(void)snprintf(id, sizeof(id), "%s%s", prefix, head->id);
	lmi_http_json_put_text(j, "id", id);
	lmi_http_json_put_text(j, "object", object);
	lmi_http_json_put_int(j, "created", head->created);
	lmi_http_json_put_text(j, "model", head->model);
}

void lmi_openai_put_token_ids(struct lmi_json_text *j, const struct lmi_openai_state *s,
			      const struct lmi_http_answer_token *v, uint32_t n)
{
	if (!s->token_ids)
		return;
	lmi_json_text_key(j, "token_ids");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < n; i++)
		lmi_json_text_int(j, v[i].token);
	lmi_json_text_end(j);
}

/* Writes an object {"id": {"logprob": ..., "rank": ..., "decoded_token": ...}}.  The rank of a token
 * that is not among the most likely ones is not known. */
static void put_ranked(struct lmi_json_text *j, const struct lmi_http_answer_token *t)
{
	uint32_t own = 0;

	for (uint32_t i = 1; i < t->n_logprobs; i++)
		own = t->logprobs[i].token == t->token ? i : own;
	lmi_json_text_object(j);
	for (uint32_t i = own > 0; i < t->n_logprobs; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "%d", t->logprobs[i].token);
		lmi_json_text_key(j, key);
		lmi_json_text_object(j);
		lmi_http_json_put_real(j, "logprob", t->logprobs[i].logprob);
		if (i)
			lmi_http_json_put_int(j, "rank", i);
		else
			lmi_http_json_put_null(j, "rank");
		lmi_http_json_put_str(j, "decoded_token", t->logprobs[i].text);
		lmi_json_text_end(j);
	}
	lmi_json_text_end(j);
}

void lmi_openai_put_prompt(struct lmi_json_text *j, const struct lmi_openai_state *s,
			   const struct lmi_http_answer *a)
{
	if (s->prompt_logprobs) {
		lmi_json_text_key(j, "prompt_logprobs");
		lmi_json_text_array(j);
		for (uint32_t i = 0; i < a->n_prompt; i++) {
			if (i)
				put_ranked(j, &a->prompt[i]);
			else
				lmi_json_text_null(j);
		}
		lmi_json_text_end(j);
	}
	if (!s->token_ids)
		return;
	lmi_json_text_key(j, "prompt_token_ids");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < a->n_prompt; i++)
		lmi_json_text_int(j, a->prompt[i].token);
	lmi_json_text_end(j);
}

void lmi_openai_put_usage(struct lmi_json_text *j, const struct lmi_http_answer_end *end)
{
	lmi_json_text_key(j, "usage");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "prompt_tokens", end->n_prompt);
	lmi_http_json_put_int(j, "completion_tokens", end->n_out);
	lmi_http_json_put_int(j, "total_tokens", (int64_t)end->n_prompt + end->n_out);
	lmi_json_text_key(j, "prompt_tokens_details");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "cached_tokens", end->n_cached);
	lmi_json_text_end(j);
	lmi_json_text_key(j, "completion_tokens_details");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "reasoning_tokens", end->n_reasoning);
	if (end->n_drafted) {
		lmi_http_json_put_int(j, "accepted_prediction_tokens", end->n_accepted);
		lmi_http_json_put_int(j, "rejected_prediction_tokens",
				      (int64_t)end->n_drafted - end->n_accepted);
	}
	lmi_json_text_end(j);
	lmi_json_text_end(j);
	lmi_http_put_timings(j, end);
}

void lmi_openai_end_stream(const struct lmi_openai_state *s, const char *prefix, const char *object,
			   const struct lmi_http_answer_end *sum, struct lmi_http_out *o)
{
	struct lmi_json_text *j = &o->json;

	if (s->include_usage) {
		lmi_json_text_object(j);
		lmi_openai_put_head(j, &s->head, prefix, object);
		lmi_json_text_key(j, "choices");
		lmi_json_text_array(j);
		lmi_json_text_end(j);
		lmi_openai_put_usage(j, sum);
		lmi_json_text_end(j);
		lmi_http_out_event(o, NULL);
	}
	lmi_http_out_raw(o, "data: [DONE]\n\n");
}

const char *lmi_openai_finish_reason(const struct lmi_http_answer_end *end)
{
	switch (end->finish) {
	case LMI_WIRE_FINISH_LENGTH:
	case LMI_WIRE_FINISH_CONTEXT:
	case LMI_WIRE_FINISH_DEADLINE:
	case LMI_WIRE_FINISH_SHUTDOWN:
		return "length";
	case LMI_WIRE_FINISH_EOG:
	case LMI_WIRE_FINISH_STOP:
	case LMI_WIRE_FINISH_DONE:
	case LMI_WIRE_FINISH_UNKNOWN:
		break;
	}
	return end->called ? "tool_calls" : "stop";
}

/* ---- members that both endpoints have ---- */

static void read_n(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	t->out->n_choice = (uint32_t)lmi_http_read_int(&t->r, at, v, 1, LMI_HTTP_N_MAX);
}

static void read_token_ids(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	struct lmi_openai_state *s = t->state;

	s->token_ids = t->q->prompt_tokens = lmi_http_read_bool(&t->r, at, v);
}

static void read_prompt_logprobs(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v)
{
	struct lmi_openai_state *s = t->state;

	lmi_http_wire_read(t, at, v, "prompt_logprobs", false);
	s->prompt_logprobs = true;
}

static void read_include_usage(struct lmi_http_translation *t, const struct lmi_http_at *at,
			       const json_t *v)
{
	struct lmi_openai_state *s = t->state;

	s->include_usage = lmi_http_read_bool(&t->r, at, v);
}

static void read_stream_options(struct lmi_http_translation *t, const struct lmi_http_at *at,
				const json_t *v)
{
	static const struct lmi_http_member rows[] = {
		{.name = "include_usage", .read = read_include_usage},
		{.name = "include_obfuscation"},
		{.name = "continuous_usage_stats", .refused = "is not supported"},
	};
	static const struct lmi_http_members table = {.v = rows, .n = LMD_LEN(rows)};

	lmi_http_members_read(t, at, v, &table);
}

static const struct lmi_http_member rows[] = {
	{.name = "model", .read = lmi_http_read_model},
	{.name = "stream", .read = lmi_http_read_stream},
	{.name = "stream_options", .read = read_stream_options},
	{.name = "n", .read = read_n},
	{.name = "max_tokens", .read = lmi_http_read_n_max},
	{.name = "n_predict", .read = lmi_http_read_n_max}, /* of llama.cpp */
	{.name = "temperature", .wire = "temp"},
	{.name = "top_p", .wire = "top_p"},
	{.name = "presence_penalty", .wire = "presence_penalty"},
	{.name = "frequency_penalty", .wire = "frequency_penalty"},
	{.name = "logit_bias", .wire = "logit_bias"},
	{.name = "stop", .wire = "stop"},
	{.name = "seed", .read = lmi_http_read_seed},
	/* of vLLM */
	{.name = "add_special_tokens", .wire = "add_special"},
	{.name = "return_token_ids", .read = read_token_ids},
	{.name = "prompt_logprobs", .read = read_prompt_logprobs},
	/* without effect, as far as a server of one's own is concerned */
	{.name = "user"},
	{.name = "metadata"},
	{.name = "store"},
	{.name = "service_tier", .read = lmi_http_read_service_tier},
	{.name = "safety_identifier"},
	{.name = "prompt_cache_key"},
	{.name = "prompt_cache_options"},
	{.name = "prompt_cache_retention"},
};

const struct lmi_http_members lmi_openai_members = {
	.v = rows, .n = LMD_LEN(rows), .more = &lmi_http_sampling_members};

/* ---- routes ---- */

static const char chat_body[] =
	"{\"type\":\"object\",\"required\":[\"messages\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"messages\":{\"type\":\"array\",\"minItems\":1,"
	"\"items\":{\"type\":\"object\",\"required\":[\"role\"]}},"
	"\"stream\":{\"type\":\"boolean\"},\"stream_options\":{\"type\":\"object\"},"
	"\"max_completion_tokens\":{\"type\":\"integer\"},\"max_tokens\":{\"type\":\"integer\"},"
	"\"n\":{\"type\":\"integer\"},\"temperature\":{\"type\":\"number\"},"
	"\"top_p\":{\"type\":\"number\"},\"seed\":{\"type\":\"integer\"},"
	"\"stop\":{\"type\":[\"string\",\"array\"]},\"response_format\":{\"type\":\"object\"},"
	"\"tools\":{\"type\":\"array\"},\"tool_choice\":{\"type\":[\"string\",\"object\"]},"
	"\"reasoning_effort\":{\"type\":\"string\"},"
	"\"chat_template_kwargs\":{\"type\":\"object\"}}}";

static const char completion_body[] =
	"{\"type\":\"object\",\"required\":[\"prompt\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"prompt\":{\"type\":[\"string\",\"array\"]},"
	"\"stream\":{\"type\":\"boolean\"},\"max_tokens\":{\"type\":\"integer\",\"default\":16},"
	"\"n\":{\"type\":\"integer\"},\"temperature\":{\"type\":\"number\"},"
	"\"top_p\":{\"type\":\"number\"},\"seed\":{\"type\":\"integer\"},"
	"\"stop\":{\"type\":[\"string\",\"array\"]},\"echo\":{\"type\":\"boolean\"}}}";

static const char embeddings_body[] =
	"{\"type\":\"object\",\"required\":[\"input\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"input\":{\"type\":[\"string\",\"array\"]},"
	"\"dimensions\":{\"type\":\"integer\"},"
	"\"encoding_format\":{\"enum\":[\"float\",\"base64\"]}}}";

static const char rerank_body[] =
	"{\"type\":\"object\",\"required\":[\"query\",\"documents\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"query\":{\"type\":\"string\"},"
	"\"documents\":{\"type\":\"array\",\"minItems\":1},\"top_n\":{\"type\":\"integer\"}}}";

static const char score_body[] =
	"{\"type\":\"object\",\"required\":[\"text_1\",\"text_2\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"text_1\":{\"type\":[\"string\",\"array\"]},"
	"\"text_2\":{\"type\":[\"string\",\"array\"]}}}";

static const char classify_body[] =
	"{\"type\":\"object\",\"required\":[\"input\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"input\":{\"type\":[\"string\",\"array\"]}}}";

static const char response_body[] =
	"{\"type\":\"object\",\"required\":[\"input\"],\"properties\":{"
	"\"model\":{\"type\":\"string\"},\"input\":{\"type\":[\"string\",\"array\"]},"
	"\"instructions\":{\"type\":\"string\"},\"stream\":{\"type\":\"boolean\"},"
	"\"max_output_tokens\":{\"type\":\"integer\"},\"temperature\":{\"type\":\"number\"},"
	"\"top_p\":{\"type\":\"number\"},\"text\":{\"type\":\"object\"},"
	"\"tools\":{\"type\":\"array\"},\"tool_choice\":{\"type\":[\"string\",\"object\"]},"
	"\"reasoning\":{\"type\":\"object\"},\"store\":{\"type\":\"boolean\"},"
	"\"background\":{\"type\":\"boolean\"},"
	"\"previous_response_id\":{\"type\":\"string\"}}}";

static const char batch_body[] =
	"{\"type\":\"object\",\"required\":[\"input_file_id\",\"endpoint\"],\"properties\":{"
	"\"input_file_id\":{\"type\":\"string\"},\"endpoint\":{\"type\":\"string\"},"
	"\"completion_window\":{\"type\":\"string\",\"pattern\":\"^[0-9]{1,3}[hd]$\"},\"metadata\":{\"type\":\"object\"}}}";

#define ANSWER(object) "{\"type\":\"object\",\"properties\":{\"object\":{\"const\":\"" object "\"}}}"

static const struct lmi_http_route routes[] = {
	{LMI_HTTP_POST, "/v1/chat/completions", LMI_HTTP_USER, lmi_openai_chat_completions,
	 "Continues a conversation.", chat_body, ANSWER("chat.completion")},
	{LMI_HTTP_POST, "/chat/completions", LMI_HTTP_USER, lmi_openai_chat_completions,
	 "Continues a conversation.", chat_body, ANSWER("chat.completion")},
	{LMI_HTTP_POST, "/v1/chat/completions/input_tokens", LMI_HTTP_USER, lmi_openai_chat_tokens,
	 "Counts the tokens of a conversation.", chat_body, ANSWER("response.input_tokens")},
	{LMI_HTTP_POST, "/chat/completions/input_tokens", LMI_HTTP_USER, lmi_openai_chat_tokens,
	 "Counts the tokens of a conversation.", chat_body, ANSWER("response.input_tokens")},
	{LMI_HTTP_POST, "/responses", LMI_HTTP_USER, lmi_openai_responses,
	 "Answers a conversation that is given as items.", response_body, ANSWER("response")},
	{LMI_HTTP_POST, "/responses/input_tokens", LMI_HTTP_USER, lmi_openai_response_tokens,
	 "Counts the tokens of a conversation that is given as items.", response_body,
	 ANSWER("response.input_tokens")},
	{LMI_HTTP_POST, "/v1/completions", LMI_HTTP_USER, lmi_openai_completions,
	 "Continues a text.", completion_body, ANSWER("text_completion")},
	{LMI_HTTP_GET, "/v1/models", LMI_HTTP_USER, lmi_openai_models, "Lists the models.", NULL,
	 ANSWER("list")},
	{LMI_HTTP_GET, "/v1/models/{model}", LMI_HTTP_USER, lmi_openai_model,
	 "Describes a model.", NULL, ANSWER("model")},
	{LMI_HTTP_POST, "/v1/embeddings", LMI_HTTP_USER, lmi_openai_embeddings,
	 "Computes embeddings of texts.", embeddings_body, ANSWER("list")},
	{LMI_HTTP_POST, "/v2/rerank", LMI_HTTP_USER, lmi_openai_rerank,
	 "Scores documents by a query, as probabilities.", rerank_body, NULL},
	{LMI_HTTP_POST, "/score", LMI_HTTP_USER, lmi_openai_score, "Scores pairs of texts.",
	 score_body, ANSWER("list")},
	{LMI_HTTP_POST, "/v1/score", LMI_HTTP_USER, lmi_openai_score, "Scores pairs of texts.",
	 score_body, ANSWER("list")},
	{LMI_HTTP_POST, "/classify", LMI_HTTP_USER, lmi_openai_classify,
	 "Computes probabilities of classes.", classify_body, ANSWER("list")},
	{LMI_HTTP_POST, "/pooling", LMI_HTTP_USER, lmi_openai_pooling,
	 "Computes what the model's pooling gives.", classify_body, ANSWER("list")},
	{LMI_HTTP_POST, "/v1/responses", LMI_HTTP_USER, lmi_openai_responses,
	 "Answers a conversation that is given as items.", response_body, ANSWER("response")},
	{LMI_HTTP_POST, "/v1/responses/input_tokens", LMI_HTTP_USER, lmi_openai_response_tokens,
	 "Counts the tokens of a conversation that is given as items.", response_body,
	 ANSWER("response.input_tokens")},
	{LMI_HTTP_GET, "/v1/responses/{response_id}", LMI_HTTP_USER, lmi_openai_response_get,
	 "Returns a stored response.", NULL, ANSWER("response")},
	{LMI_HTTP_DELETE, "/v1/responses/{response_id}", LMI_HTTP_USER, lmi_openai_response_delete,
	 "Deletes a stored response.", NULL, ANSWER("response")},
	{LMI_HTTP_POST, "/v1/responses/{response_id}/cancel", LMI_HTTP_USER,
	 lmi_openai_response_cancel, "Cancels a response in the background.", NULL,
	 ANSWER("response")},
	{LMI_HTTP_GET, "/v1/responses/{response_id}/input_items", LMI_HTTP_USER,
	 lmi_openai_response_items, "Lists the input of a stored response.", NULL, ANSWER("list")},
	{LMI_HTTP_POST, "/v1/files", LMI_HTTP_USER, lmi_openai_file_upload,
	 "Uploads a file, as multipart/form-data.", NULL, ANSWER("file")},
	{LMI_HTTP_GET, "/v1/files", LMI_HTTP_USER, lmi_openai_file_list, "Lists files.", NULL,
	 ANSWER("list")},
	{LMI_HTTP_GET, "/v1/files/{file_id}", LMI_HTTP_USER, lmi_openai_file_info,
	 "Describes a file.", NULL, ANSWER("file")},
	{LMI_HTTP_GET, "/v1/files/{file_id}/content", LMI_HTTP_USER, lmi_openai_file_content,
	 "Returns the content of a file.", NULL, NULL},
	{LMI_HTTP_DELETE, "/v1/files/{file_id}", LMI_HTTP_USER, lmi_openai_file_delete,
	 "Deletes a file.", NULL, ANSWER("file")},
	{LMI_HTTP_POST, "/v1/batches", LMI_HTTP_USER, lmi_openai_batch_create,
	 "Runs the requests of a file, one in each line, in the background.", batch_body,
	 ANSWER("batch")},
	{LMI_HTTP_GET, "/v1/batches", LMI_HTTP_USER, lmi_openai_batch_list, "Lists batches.", NULL,
	 ANSWER("list")},
	{LMI_HTTP_GET, "/v1/batches/{batch_id}", LMI_HTTP_USER, lmi_openai_batch_info,
	 "Describes a batch.", NULL, ANSWER("batch")},
	{LMI_HTTP_POST, "/v1/batches/{batch_id}/cancel", LMI_HTTP_USER, lmi_openai_batch_cancel,
	 "Cancels a batch.", NULL, ANSWER("batch")},
	/* what OpenAI or llama.cpp has beside these */
	{LMI_HTTP_GET, "/v1/realtime", LMI_HTTP_USER, NULL, "There are no realtime sessions.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/realtime", LMI_HTTP_USER, NULL, "There are no realtime sessions.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/audio/transcriptions", LMI_HTTP_USER, NULL, "Audio is not supported.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/audio/translations", LMI_HTTP_USER, NULL, "Audio is not supported.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/audio/speech", LMI_HTTP_USER, NULL, "Audio is not supported.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/images/generations", LMI_HTTP_USER, NULL, "Images are not supported.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/moderations", LMI_HTTP_USER, NULL, "Moderation is not supported.", NULL, NULL},
	{LMI_HTTP_POST, "/v1/chat/completions/control", LMI_HTTP_USER, NULL, "An answer is not controlled while it is written.", NULL, NULL},
};

static const struct lmi_http_api api = {
	.name = "openai", .title = "OpenAI", .error = lmi_openai_error};

const struct lmi_http_routes lmi_openai_routes = {
	.api = &api, .v = routes, .n = LMD_LEN(routes), .opened = lmi_openai_batches_resume};
