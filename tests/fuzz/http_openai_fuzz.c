/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: OpenAI's API and what vLLM adds to it over HTTP (http_endpoint.c). */
#include <stddef.h>

#include "daemon/http/openai/openai.h"
#include "tests/fuzz/http_endpoint.h"

const struct lmi_http_routes *const fuzz_routes = &lmi_openai_routes;

const struct fuzz_body fuzz_bodies[] = {
	{"/v1/embeddings", "{\"model\":\"m\",\"input\":[\"a\",\"b\"],\"dimensions\":2,\"encoding_format\":\"base64\"}"},
	{"/v1/embeddings", "{\"model\":\"m\",\"input\":[1,2,3]}"},
	{"/v2/rerank", "{\"model\":\"m\",\"query\":\"q\",\"documents\":[\"a\",{\"text\":\"b\"}],\"top_n\":1}"},
	{"/score", "{\"model\":\"m\",\"text_1\":\"q\",\"text_2\":[\"a\",\"b\"]}"},
	{"/v1/score", "{\"model\":\"m\",\"queries\":\"q\",\"documents\":[\"a\"]}"},
	{"/classify", "{\"model\":\"m\",\"input\":[\"a\",\"b\"]}"},
	{"/pooling", "{\"model\":\"m\",\"input\":\"a\",\"encoding_format\":\"float\"}"},
	{"/v1/completions", "{\"model\":\"m\",\"prompt\":[\"a\",\"b\"],\"echo\":true,\"logprobs\":2,\"structured_outputs\":{\"regex\":\"a|b\"}}"},
	{"/v1/chat/completions",
	 "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"response_format\":{\"type\":\"structural_tag\","
	 "\"structures\":[{\"begin\":\"<\",\"schema\":{},\"end\":\">\"}],\"triggers\":[\"<\"]}}"},
	{"/v1/batches",
	 "{\"input_file_id\":\"file-a\",\"endpoint\":\"/v1/embeddings\",\"completion_window\":\"24h\",\"metadata\":{\"a\":\"b\"}}"},
	{NULL, NULL},
};
