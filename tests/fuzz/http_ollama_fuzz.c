/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: Ollama's API over HTTP (http_endpoint.c). */
#include <stddef.h>

#include "daemon/http/ollama/ollama.h"
#include "tests/fuzz/http_endpoint.h"

const struct lmi_http_routes *const fuzz_routes = &lmi_ollama_routes;

const struct fuzz_body fuzz_bodies[] = {
	{"/api/embed", "{\"model\":\"m\",\"input\":[\"a\",\"b\"],\"truncate\":false,\"keep_alive\":\"5m\",\"dimensions\":3}"},
	{"/api/embeddings", "{\"model\":\"m\",\"prompt\":\"a\"}"},
	{"/api/generate", "{\"model\":\"m\",\"keep_alive\":0}"},
	{"/api/show", "{\"model\":\"m\",\"verbose\":true}"},
	{"/api/create",
	 "{\"model\":\"n\",\"from\":\"m\",\"system\":\"s\",\"license\":[\"a\",\"b\"],\"parameters\":{\"temperature\":0.5,"
	 "\"stop\":[\"x\"]},\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"stream\":false}"},
	{"/api/pull", "{\"model\":\"hf.co/a/b\",\"stream\":false}"},
	{NULL, NULL},
};
