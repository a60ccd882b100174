/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the API of llama.cpp's server over HTTP (http_endpoint.c). */
#include <stddef.h>

#include "daemon/http/llamacpp/llamacpp.h"
#include "tests/fuzz/http_endpoint.h"

const struct lmi_http_routes *const fuzz_routes = &lmi_llamacpp_routes;

const struct fuzz_body fuzz_bodies[] = {
	{"/tokenize", "{\"content\":\"a\",\"add_special\":true,\"with_pieces\":true}"},
	{"/detokenize", "{\"tokens\":[1,2]}"},
	{"/apply-template", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"chat_template_kwargs\":{\"a\":1}}"},
	{"/embedding", "{\"content\":[\"a\",\"b\"],\"embd_normalize\":2}"},
	{"/rerank", "{\"query\":\"q\",\"documents\":[\"a\",\"b\"],\"top_n\":1}"},
	{"/v1/rerank", "{\"query\":\"q\",\"texts\":[\"a\",\"b\"],\"return_text\":true}"},
	{"/infill", "{\"input_prefix\":\"a\",\"input_suffix\":\"b\",\"prompt\":\"c\",\"input_extra\":[{\"text\":\"t\",\"filename\":\"f\"}]}"},
	{"/completion",
	 "{\"prompt\":[\"a\",[1,2]],\"n_predict\":3,\"grammar\":\"root ::= \\\"a\\\"\",\"logit_bias\":[[1,false]],\"stop\":[\"x\"],"
	 "\"return_tokens\":true,\"n_probs\":2,\"post_sampling_probs\":true}"},
	{"/v1/streams/lookup", "{\"conversation_ids\":[\"a\",\"b\"]}"},
	{NULL, NULL},
};
