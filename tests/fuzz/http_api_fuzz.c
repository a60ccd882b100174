/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the first byte chooses an endpoint, and the rest is the body or, if it is not JSON,
 * says how to change a seed.  A body is refused with a message, or becomes a request that the
 * protocol accepts; its form then writes valid JSON for an answer with bytes of the input. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "proto/proto.h"
#include "tests/fuzz/json_change.h"
#include "tests/fuzz/target.h"
#include "tests/http/api_fixture.h"

static const char *const paths[] = {"/v1/chat/completions", "/v1/completions",
				    "/v1/messages",         "/api/chat",
				    "/api/generate",        "/completion",
				    "/v1/responses",        "/infill"};

static void check_request(struct lmi_wire_request *req)
{
	struct lmi_wire_buf bytes = {0};
	struct lmd_error err = {0};

	req->rid = (struct lmd_str){.ptr = "r", .len = 1};
	if (!req->u.generate.model.len)
		req->u.generate.model = (struct lmd_str){.ptr = "m", .len = 1};
	if (lmi_wire_request_encode(&bytes, req, &err) != LMD_OK)
		fprintf(stderr, "%s\n", err.text);
	REQUIRE(bytes.n);
	lmi_wire_buf_fini(&bytes);
}

/* Writes an answer: text, reasoning and a call, each made of the bytes. */
static void check_form(const struct lmi_http_generation *g, struct lmd_str s)
{
	static const int64_t seeds[LMI_HTTP_CHOICES_MAX];
	const struct lmi_http_answer_head head = {
		.id = "a", .model = "m", .n_choice = g->n_choice, .seeds = seeds};
	const struct lmi_http_answer_end end = {.finish = LMI_WIRE_FINISH_EOG, .called = true};
	const struct lmd_str name = {.ptr = "f", .len = 1};
	const struct lmi_wire_item items[] = {
		{.kind = LMI_WIRE_ITEM_REASONING, .u.reasoning.text = s},
		{.kind = LMI_WIRE_ITEM_TOKEN, .u.token = {.token = 1, .text = s}},
		{.kind = LMI_WIRE_ITEM_CALL, .u.call = {.name = name, .id = name}},
		{.kind = LMI_WIRE_ITEM_ARGUMENTS, .u.arguments.text = s},
		{.kind = LMI_WIRE_ITEM_CALL_END, .u.call_end.complete = true},
		{.kind = LMI_WIRE_ITEM_TEXT, .u.text.text = s},
	};
	struct lmi_http_out o = {0};

	if (g->form->begin)
		g->form->begin(g->state, &head, &o);
	for (uint32_t c = 0; c < g->n_choice; c++) {
		for (size_t i = 0; i < LMD_LEN(items); i++)
			g->form->item(g->state, c, &items[i], &o);
		g->form->choice_end(g->state, c, &end, &o);
	}
	if (g->form->end)
		g->form->end(g->state, &end, &o);
	REQUIRE(!o.failed && o.n);
	lmi_http_out_fini(&o);
}

/* One seed or more for each endpoint; the digit is its index in paths. */
static const char *const texts[] = {
	"6{\"model\":\"m\",\"instructions\":\"s\",\"input\":[{\"role\":\"user\",\"content\":[{"
	"\"type\":\"input_text\",\"text\":\"b\"}]},{\"type\":\"reasoning\",\"summary\":[{\"type\":"
	"\"summary_text\",\"text\":\"r\"}]},{\"type\":\"function_call\",\"call_id\":\"i\",\"name\":"
	"\"f\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"i\","
	"\"output\":\"c\"}],\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{}}],"
	"\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},\"max_output_tokens\":9,"
	"\"reasoning\":{\"effort\":\"low\"},\"metadata\":{\"a\":1.5},\"stream\":true}",
	"6{\"input\":\"a\",\"text\":{\"format\":{\"type\":\"json_schema\",\"schema\":{}}}}",
	"0{\"model\":\"m\",\"messages\":[{\"role\":\"developer\",\"content\":\"a\"},{\"role\":"
	"\"user\","
	"\"content\":[{\"type\":\"text\",\"text\":\"b\"}]},{\"role\":\"assistant\",\"tool_calls\":["
	"{"
	"\"id\":\"i\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{"
	"\"role\":\"tool\",\"tool_call_id\":\"i\",\"content\":\"c\"}],\"tools\":[{\"type\":"
	"\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}}],"
	"\"tool_choice\":\"required\",\"n\":2,\"stop\":[\"x\"],\"logit_bias\":{\"5\":-1.5},"
	"\"stream\":true,\"stream_options\":{\"include_usage\":true},\"seed\":1}",
	"0{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"response_format\":{\"type\":"
	"\"json_schema\",\"json_schema\":{\"name\":\"n\",\"schema\":{}}},\"reasoning_effort\":"
	"\"low\","
	"\"chat_template_kwargs\":{\"a\":1},\"samplers\":[\"top_k\"],\"min_p\":0.1}",
	"0{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"guided_choice\":[\"a\",\"b\\\"\"]"
	"}",
	/* found by the fuzzer: a wrong text after a right one */
	"0{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"guided_choice\":[\"a\",5]}",
	"0{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{\"type\":\"function\","
	"\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"$ref\":"
	"\"#/$defs/b\"}},\"$defs\":{\"b\":{\"const\":{\"$ref\":\"#\"}}}}}},{\"type\":\"function\","
	"\"function\":{\"name\":\"g\"}}],\"tool_choice\":\"required\","
	"\"parallel_tool_calls\":false}",
	"0{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"response_format\":{\"type\":"
	"\"structural_tag\",\"structures\":[{\"begin\":\"<\",\"schema\":{},\"end\":\">\"}],"
	"\"triggers\":[\"<\"]}}",
	"1{\"prompt\":\"a\",\"structured_outputs\":{\"regex\":\"a|b\"},\"response_format\":{"
	"\"type\":\"text\"}}",
	"1{\"prompt\":[\"a\"],\"echo\":true,\"max_tokens\":3,\"temperature\":0.5,\"n\":2}",
	"1{\"prompt\":[[1,2,3]],\"top_k\":3,\"dry_sequence_breakers\":[\"x\"]}",
	"2{\"max_tokens\":5,\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":[{"
	"\"role\":"
	"\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
	"\"thinking\":\"t\",\"signature\":\"\"},{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"f\","
	"\"input\":{\"x\":1}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
	"\"tool_use_id\":\"i\",\"content\":\"r\"}]}],\"tools\":[{\"name\":\"f\",\"input_schema\":{"
	"\"type\":\"object\"}}],\"tool_choice\":{\"type\":\"tool\",\"name\":\"f\"},\"thinking\":{"
	"\"type\":\"enabled\",\"budget_tokens\":1024},\"output_config\":{\"effort\":\"low\"}}",
	"3{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"tool\","
	"\"tool_name\":\"f\",\"content\":\"b\"}],\"format\":{\"type\":\"object\"},\"options\":{"
	"\"temperature\":9,\"num_predict\":-2,\"stop\":[\"x\"]},\"think\":\"low\",\"keep_alive\":"
	"\"5m\"}",
	"4{\"model\":\"m\",\"prompt\":\"a\",\"system\":\"s\",\"raw\":false,\"template\":\"{{ x "
	"}}\","
	"\"format\":\"json\"}",
	"7{\"input_prefix\":\"a\",\"input_suffix\":\"b\",\"prompt\":\"c\"}",
	"5{\"prompt\":\"a\",\"n_predict\":3,\"stop\":[\"x\"],\"return_tokens\":true,\"grammar\":"
	"\"root ::= \\\"a\\\"\",\"logit_bias\":[[1,false]]}",
};

/* ---- mutations of bodies ---- */

/* Bytes that are not JSON choose a seed and change it. */
static json_t *mutated(const uint8_t *data, size_t size, uint8_t *endpoint)
{
	const char *text = texts[data[0] % LMD_LEN(texts)];
	json_t *body = json_loads(text + 1, 0, NULL);

	*endpoint = (uint8_t)text[0];
	REQUIRE(body);
	fuzz_json_change(body, data, size);
	return body;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmd_arena *arena = lmi_arena_create(16u << 20);
	struct lmi_http_generation g;
	struct lmi_alloc_stats stats;
	struct lmd_error err = {0};
	const char *param = NULL;
	enum lmd_status st;
	json_t *body = NULL;
	uint8_t endpoint = size ? data[0] : 0;

	REQUIRE(arena);
	if (size > 1)
		body = json_loadb((const char *)data + 1, size - 1, JSON_ALLOW_NUL, NULL);
	if (size && !body)
		body = mutated(data, size, &endpoint);
	if (json_is_object(body)) {
		st = api_translation(paths[endpoint % LMD_LEN(paths)])(&g, body, arena, &param,
								       &err);
		if (st == LMD_OK) {
			check_request(&g.req);
			check_form(&g, (struct lmd_str){.ptr = (const char *)data, .len = size});
		} else {
			REQUIRE(err.status == st && err.text[0]);
		}
	}
	json_decref(body);
	lmi_arena_destroy(arena);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	return 0;
}

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	if (k >= LMD_LEN(texts))
		return false;
	*out = (struct fuzz_bytes){(uint8_t *)strdup(texts[k]), strlen(texts[k])};
	REQUIRE(out->p);
	return true;
}
