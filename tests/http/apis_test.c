/* SPDX-License-Identifier: MIT
 *
 * The APIs of the HTTP listener as pure functions.
 *
 * bodies/ has requests as real client packages send them, each with the package's version and the
 * request of op generate that it has to become.  answers/ has answers of a model, each as the
 * stream and as the whole that its API makes of them; the packages have read these streams.  With
 * LMD_HTTP_UPDATE=1 the program writes what it finds into these files. */
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/anthropic/anthropic.h"
#include "daemon/http/json_out.h"
#include "daemon/http/llamacpp/llamacpp.h"
#include "daemon/http/ollama/ollama.h"
#include "daemon/http/openai/openai.h"
#include "tests/http/api_fixture.h"
#include "tests/lmd_check.h"

/* ---- files ---- */

static const char *folder(const char *name)
{
	static char path[4096];
	const char *top = getenv("LMD_TEST_SRCDIR");

	(void)snprintf(path, sizeof(path), "%s/tests/http/%s", top ? top : ".", name);
	return path;
}

static void check_member(const char *file, json_t *doc, const char *name, const json_t *found)
{
	const json_t *want = json_object_get(doc, name);
	char *a, *b;

	if (!found && !want)
		return;
	if (getenv("LMD_HTTP_UPDATE")) {
		if (found)
			json_object_set(doc, name, (json_t *)found);
		else
			json_object_del(doc, name);
		return;
	}
	a = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
	b = want ? json_dumps(want, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
	ck_assert_msg(found && want && json_equal(found, want), "%s: %s\nfound %s\nwant  %s", file,
		      name, a ? a : "nothing", b ? b : "nothing");
	free(a);
	free(b);
}

/* Calls fn for each file of a folder; returns their number. */
static unsigned each_file(const char *name, void (*fn)(const char *file, json_t *doc))
{
	const char *path = folder(name);
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned n = 0;

	ck_assert_msg(d != NULL, "%s", path);
	while ((e = readdir(d))) {
		char file[8192];
		json_error_t je;
		json_t *doc;

		if (!strstr(e->d_name, ".json"))
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		doc = json_load_file(file, JSON_ALLOW_NUL, &je);
		ck_assert_msg(doc != NULL, "%s:%d: %s", file, je.line, je.text);
		fn(file, doc);
		if (getenv("LMD_HTTP_UPDATE"))
			ck_assert_int_eq(json_dump_file(doc, file, JSON_INDENT(2)), 0);
		json_decref(doc);
		n++;
	}
	closedir(d);
	return n;
}

static void check_body(const char *file, json_t *doc)
{
	const char *path = json_string_value(json_object_get(doc, "path"));
	json_t *found = api_translate(path, json_object_get(doc, "body"));
	static const char *const members[] = {"request",     "stream", "n_choice",
					      "n_prompt", "param", "error"};

	for (size_t i = 0; i < LMD_LEN(members); i++)
		check_member(file, doc, members[i], json_object_get(found, members[i]));
	json_decref(found);
}

START_TEST(bodies)
{
	unsigned n = each_file("bodies", check_body);

	ck_assert_uint_ge(n, 20);
	LMD_CASES("http bodies", n, 0, 0);
}
END_TEST

static void check_answer(const char *file, json_t *doc)
{
	const char *path = json_string_value(json_object_get(doc, "path"));
	json_t *found =
		api_answer(path, json_object_get(doc, "body"), json_object_get(doc, "choices"));

	check_member(file, doc, "stream", json_object_get(found, "stream"));
	check_member(file, doc, "whole", json_object_get(found, "whole"));
	json_decref(found);
}

START_TEST(answers)
{
	unsigned n = each_file("answers", check_answer);

	ck_assert_uint_ge(n, 10);
	LMD_CASES("http answers", n, 0, 0);
}
END_TEST

/* ---- refusals ---- */

#define CHAT       "/v1/chat/completions"
#define COMPLETION "/v1/completions"
#define RESPONSES  "/v1/responses"
#define MESSAGES   "/v1/messages"
#define HI         "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define TOOLS                                                                                      \
	"\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},{\"type\":\"function\"," \
	"\"function\":{\"name\":\"g\"}}]"

static const struct {
	const char *path, *body, *param, *error;
} refusals[] = {
	/* missing members and wrong types */
	{CHAT, "{}", "messages", "is missing"},
	{CHAT, "{\"messages\":[]}", "messages", "has 0 elements, allowed are 1 to 4096"},
	{CHAT, "{\"messages\":3}", "messages", "is a number, but must be a list"},
	{CHAT, "{\"messages\":[3]}", "messages[0]", "is a number, but must be an object"},
	{CHAT, "{\"messages\":[{\"content\":\"hi\"}]}", "messages[0].role", "is missing"},
	{CHAT, "{\"messages\":[{\"role\":\"me\",\"content\":\"hi\"}]}", "messages[0].role",
	 "\"me\" is not one of: system, developer, user, assistant, tool, function"},
	{CHAT, "{\"messages\":[{\"role\":\"user\"}]}", "messages[0].content", "is missing"},
	{CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
	 "messages[0].content[0].image_url", "is missing"},
	{CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":[\"hi\"]}]}",
	 "messages[0].content[0]", "is a string, but must be an object"},
	{CHAT,
	 "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
	 "\"arguments\":3}}]}]}",
	 "messages[0].tool_calls[0].function.arguments",
	 "must be an object, or a string that contains one"},
	{CHAT, "{\"messages\":[{\"role\":\"tool\",\"content\":\"x\",\"tool_call_id\":\"a\\nb\"}]}",
	 "messages[0].tool_call_id", "contains the control character 0x0a"},
	/* ranges */
	{CHAT, "{" HI ",\"temperature\":7}", "temperature", "7 is above the maximum of 5"},
	{CHAT, "{" HI ",\"temperature\":\"hot\"}", "temperature",
	 "is a string, but must be a number"},
	{CHAT, "{" HI ",\"top_p\":-0.5}", "top_p", "-0.5 is below the minimum of 0"},
	{CHAT, "{" HI ",\"max_tokens\":1.5}", "max_tokens",
	 "1.5 is not an integer from -1 to 1073741824"},
	{CHAT, "{" HI ",\"max_tokens\":-2}", "max_tokens", "-2 is below the minimum of -1"},
	{CHAT, "{" HI ",\"n\":9}", "n", "9 is above the maximum of 8"},
	{CHAT, "{" HI ",\"stop\":[1]}", "stop[0]", "is a number, but must be a string"},
	{CHAT, "{" HI ",\"logit_bias\":{\"x\":1}}", "logit_bias",
	 "\"x\" is not the number of a token, 0 to 2147483647"},
	{CHAT, "{" HI ",\"logit_bias\":{\"5\":\"y\"}}", "logit_bias.5",
	 "is a string, but must be a number"},
	/* what does not exist or cannot be done */
	{CHAT, "{" HI ",\"tempreature\":1}", "tempreature",
	 "Unrecognized request argument supplied: tempreature"},
	{CHAT, "{" HI ",\"logprobs\":true,\"top_logprobs\":33}", "top_logprobs",
	 "33 is above the maximum of 32"},
	{CHAT, "{" HI ",\"top_logprobs\":1}", "top_logprobs", "requires logprobs to be true"},
	{CHAT, "{" HI ",\"functions\":[{}]}", "functions", "is not supported: use tools"},
	{CHAT, "{" HI ",\"modalities\":[\"audio\"]}", "modalities",
	 "\"audio\" is not one of: text"},
	{CHAT, "{" HI ",\"response_format\":{\"type\":\"xml\"}}", "response_format.type",
	 "\"xml\" is not one of: text, json_object, json_schema, structural_tag"},
	{CHAT, "{" HI ",\"functions\":[{}]}", "functions", "is not supported: use tools"},
	{CHAT,
	 "{" HI ",\"function_call\":\"auto\"}",
	 "function_call", "is not supported: use tool_choice"},
	{CHAT,
	 "{" HI ",\"web_search_options\":{\"a\":1}}",
	 "web_search_options", "web search is not supported"},
	{CHAT, "{" HI ",\"moderation\":{\"a\":1}}", "moderation", "moderation is not supported"},
	{CHAT, "{" HI ",\"echo\":true}", "echo", "is not supported"},
	{CHAT,
	 "{" HI ",\"modalities\":[\"audio\"]}",
	 "modalities", "\"audio\" is not one of: text"},
	{CHAT, "{" HI ",\"reasoning_effort\":\"extreme\"}", "reasoning_effort",
	 "\"extreme\" is not one of: none, minimal, low, medium, high, xhigh, max"},
	{CHAT, "{" HI ",\"prediction\":{\"type\":\"image\"}}", "prediction.type",
	 "\"image\" is not one of: content"},
	{CHAT,
	 "{" HI ",\"continue_final_message\":true}",
	 "continue_final_message", "must be false if the last message is not the assistant's"},
	{CHAT, "{" HI ",\"response_format\":{\"type\":\"json_schema\"}}",
	 "response_format.json_schema", "is missing"},
	{CHAT, "{" HI ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{}}}",
	 "response_format.json_schema.schema", "is missing"},
	{CHAT, "{" HI ",\"tool_choice\":\"required\"}", "tool_choice",
	 "requires a call, but there are no tools"},
	{CHAT,
	 "{" HI "," TOOLS ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"h\"}}}",
	 "tool_choice", "the tool \"h\" is not in tools"},
	{CHAT, "{" HI "," TOOLS ",\"tool_choice\":\"maybe\"}", "tool_choice",
	 "\"maybe\" is not one of: auto, none, required"},
	{CHAT, "{" HI ",\"tools\":[{\"type\":\"custom\",\"custom\":{}}]}", "tools[0].type",
	 "\"custom\" is not supported: a tool must be a function"},
	{CHAT, "{" HI ",\"tools\":[{\"type\":\"function\",\"function\":{}}]}",
	 "tools[0].function.name", "is missing"},
	{CHAT, "{" HI ",\"add_generation_prompt\":false}", "add_generation_prompt",
	 "must be true if the last message is not the assistant's"},
	{CHAT, "{" HI ",\"samplers\":[\"a\\u007f\"]}", "samplers",
	 "contains the control character 0x7f"},
	{CHAT, "{" HI ",\"guided_choice\":[]}", "guided_choice", "contains no text to choose"},
	{CHAT, "{" HI ",\"stream_options\":{\"x\":1}}", "stream_options.x",
	 "is not a known member of this request"},
	{COMPLETION, "{}", "prompt", "is missing"},
	{COMPLETION, "{\"prompt\":[1,-2]}", "prompt[1]", "-2 is below the minimum of 0"},
	{COMPLETION, "{\"prompt\":\"a\",\"best_of\":3,\"stream\":true}", "best_of",
	 "cannot be above n in a stream"},
	{COMPLETION, "{\"prompt\":\"a\",\"best_of\":1,\"n\":2}", "best_of", "is 1, but n is 2"},
	{COMPLETION, "{\"prompt\":\"a\",\"logprobs\":-1}", "logprobs",
	 "-1 is below the minimum of 0"},
	{RESPONSES, "{}", "input", "is missing"},
	{RESPONSES, "{\"input\":[]}", "input", "is empty"},
	{RESPONSES, "{\"input\":3}", "input", "is a number, but must be a list"},
	{RESPONSES, "{\"input\":[{\"type\":\"web_search_call\"}]}", "input[0].type",
	 "\"web_search_call\" is not supported; allowed are message, reasoning, function_call and "
	 "function_call_output"},
	{RESPONSES, "{\"input\":[{\"role\":\"tool\",\"content\":\"a\"}]}", "input[0].role",
	 "\"tool\" is not one of: user, assistant, system, developer"},
	{RESPONSES,
	 "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\"}]}]}",
	 "input[0].content[0].image_url", "is missing"},
	{RESPONSES, "{\"input\":[{\"role\":\"system\",\"content\":[{\"type\":\"input_image\"}]}]}",
	 "input[0].content[0].type", "\"input_image\" is not supported: models read text only"},
	{RESPONSES, "{\"input\":[{\"type\":\"function_call\",\"call_id\":\"a\"}]}",
	 "input[0].name", "is missing"},
	{RESPONSES, "{\"input\":[{\"type\":\"function_call_output\",\"output\":\"a\"}]}",
	 "input[0].call_id", "is missing"},
	{RESPONSES, "{\"input\":\"a\",\"tools\":[{\"type\":\"web_search\"}]}", "tools[0].type",
	 "\"web_search\" is not supported: a tool must be a function"},
	{RESPONSES, "{\"input\":\"a\",\"tools\":[{\"type\":\"function\"}]}", "tools[0].name",
	 "is missing"},
	{RESPONSES, "{\"input\":\"a\",\"tool_choice\":\"required\"}", "tool_choice",
	 "requires a call, but there are no tools"},
	{RESPONSES, "{\"input\":\"a\",\"text\":{\"format\":{\"type\":\"json_schema\"}}}",
	 "text.format.schema", "is missing"},
	{RESPONSES, "{\"input\":\"a\",\"truncation\":\"auto\"}", "truncation",
	 "\"auto\" is not supported: conversations are not truncated"},
	{RESPONSES, "{\"input\":\"a\",\"previous_response_id\":\"resp_a\"}",
	 "previous_response_id",
	 "responses are not stored here: send the conversation as input"},
	{RESPONSES, "{\"input\":\"a\",\"background\":true}", "background",
	 "responses are not stored here"},
	{RESPONSES, "{\"input\":\"a\",\"conversation\":\"conv_a\"}", "conversation",
	 "is not supported: use previous_response_id"},
	{RESPONSES, "{\"input\":\"a\",\"max_tokens\":1}", "max_tokens",
	 "is not a known member of this request"},
	{MESSAGES, "{\"max_tokens\":1}", "messages", "is missing"},
	{MESSAGES, "{" HI "}", "max_tokens", "is missing"},
	{MESSAGES, "{" HI ",\"max_tokens\":-1}", "max_tokens", "-1 is below the minimum of 0"},
	{MESSAGES, "{" HI ",\"max_tokens\":1,\"thinking\":{\"type\":\"on\"}}", "thinking.type",
	 "\"on\" is not one of: disabled, enabled, adaptive"},
	{MESSAGES,
	 "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}]}",
	 "messages[0].content[0].source", "is missing"},
	{MESSAGES,
	 "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
	 "\"tool_result\"}]}]}",
	 "messages[0].content[0].tool_use_id", "is missing"},
	{MESSAGES, "{" HI ",\"max_tokens\":1,\"tools\":[{\"type\":\"web_search_20250305\"}]}",
	 "tools[0].type", "\"web_search_20250305\" is not supported: tools run at the client"},
	{MESSAGES, "{" HI ",\"max_tokens\":1,\"min_p\":0.1}", "min_p",
	 "Extra inputs are not permitted"},
	{"/api/chat", "{" HI ",\"options\":{\"temperature\":\"hot\"}}", "options.temperature",
	 "is a string, but must be a number"},
	{"/api/chat",
	 "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\",\"images\":[7]}]}",
	 "messages[0].images[0]", "is a number, but must be a string"},
	{"/api/chat", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\",\"images\":\"aGk=\"}]}",
	 "messages[0].images", "is a string, but must be a list"},
	{"/api/generate", "{\"prompt\":\"a\",\"images\":\"aGk=\"}", "images", "is a string, but must be a list"},
	{"/api/generate", "{\"prompt\":\"a\",\"images\":[7]}", "images[0]", "is a number, but must be a string"},
	{"/api/generate", "{\"prompt\":\"a\",\"images\":[\"aGk=\"],\"raw\":true}", "images",
	 "cannot be given together with raw"},
	{"/api/chat", "{" HI ",\"format\":\"xml\"}", "format", "\"xml\" is not one of: , json"},
	{"/api/generate", "{\"prompt\":\"a\",\"template\":\"{{ .Prompt }}\"}", "template",
	 "is a template of Go's; models use Jinja templates"},
	{"/completion", "{}", "prompt", "is missing"},
	{"/completion", "{\"prompt\":[\"a\",2]}", "prompt[1]", "is a number, but must be a string"},
	{"/completion", "{\"prompt\":\"a\",\"n_predict\":1.9}", "n_predict",
	 "1.9 is not an integer from -1 to 1073741824"},
	{"/completion", "{\"prompt\":\"a\",\"n_probs\":-1}", "n_probs",
	 "-1 is below the minimum of 0"},
};

START_TEST(refused)
{
	json_t *body = json_loads(refusals[_i].body, 0, NULL), *found;

	ck_assert_ptr_nonnull(body);
	found = api_translate(refusals[_i].path, body);
	ck_assert_msg(json_object_get(found, "error") != NULL, "%s: accepted", refusals[_i].body);
	ck_assert_str_eq(json_string_value(json_object_get(found, "error")), refusals[_i].error);
	ck_assert_str_eq(json_string_value(json_object_get(found, "param")), refusals[_i].param);
	json_decref(found);
	json_decref(body);
}
END_TEST

/* ---- accepted values ---- */

static const struct {
	const char *path, *body, *request; /* the request without its messages and prompt */
} accepted[] = {
	/* the members of OpenAI's chat completions, then those of llama.cpp and vLLM */
	{CHAT, "{" HI ",\"max_completion_tokens\":5}", "{\"parse\":true,\"n\":5}"},
	{CHAT, "{" HI ",\"n\":1}", "{\"parse\":true}"},
	{CHAT,
	 "{" HI ",\"temperature\":0.5,\"top_p\":0.25}",
	 "{\"parse\":true,\"temp\":0.5,\"top_p\":0.25}"},
	{CHAT,
	 "{" HI ",\"presence_penalty\":-0.5,\"frequency_penalty\":0.5}",
	 "{\"parse\":true,\"frequency_penalty\":0.5,\"presence_penalty\":-0.5}"},
	{CHAT, "{" HI ",\"seed\":7}", "{\"parse\":true,\"seed\":7}"},
	{CHAT, "{" HI ",\"logprobs\":true}", "{\"parse\":true,\"logprobs\":0}"},
	{CHAT, "{" HI ",\"logprobs\":true,\"top_logprobs\":3}", "{\"parse\":true,\"logprobs\":3}"},
	{CHAT, "{" HI ",\"service_tier\":\"auto\"}", "{\"parse\":true}"},
	{CHAT, "{" HI ",\"service_tier\":\"default\"}", "{\"parse\":true}"},
	{CHAT, "{" HI ",\"service_tier\":\"flex\"}", "{\"parse\":true,\"class\":\"batch\"}"},
	{CHAT,
	 "{" HI ",\"service_tier\":\"priority\"}",
	 "{\"parse\":true,\"class\":\"interactive\"}"},
	{CHAT,
	 "{" HI ",\"prediction\":{\"type\":\"content\",\"content\":\"int x;\"}}",
	 "{\"parse\":true,\"prediction\":\"int x;\"}"},
	{CHAT,
	 "{" HI ",\"reasoning_effort\":\"minimal\"}",
	 "{\"parse\":true,\"template_args\":\"{\\\"enable_thinking\\\":true,\\\"reasoning_effort\\\":\\\"minimal\\\"}\"}"},
	{CHAT,
	 "{" HI ",\"modalities\":[\"text\"],\"response_format\":{\"type\":\"text\"},\"audio\":null}",
	 "{\"parse\":true}"},
	{CHAT,
	 "{" HI ",\"metadata\":{\"a\":\"b\"},\"store\":true,\"user\":\"ann\",\"safety_identifier\":\"s\",\"prompt_cache_key\":\"k\",\"prompt_cache_retention\":\"24h\",\"verbosity\":\"low\"}",
	 "{\"parse\":true}"},
	{CHAT,
	 "{" HI ",\"tool_choice\":\"auto\",\"parallel_tool_calls\":false}",
	 "{\"parse\":true}"},
	{CHAT,
	 "{" HI ",\"stream\":true,\"stream_options\":{\"include_usage\":true,\"include_obfuscation\":false}}",
	 "{\"parse\":true}"},
	{CHAT,
	 "{" HI ",\"add_generation_prompt\":true,\"continue_final_message\":false}",
	 "{\"parse\":true}"},
	{CHAT,
	 "{" HI ",\"documents\":[{\"text\":\"d\"}]}",
	 "{\"parse\":true,\"template_args\":\"{\\\"documents\\\":[{\\\"text\\\":\\\"d\\\"}]}\"}"},
	{CHAT,
	 "{" HI ",\"chat_template\":\"chatml\",\"enable_thinking\":false}",
	 "{\"parse\":true,\"template\":\"chatml\",\"template_args\":\"{\\\"enable_thinking\\\":false}\"}"},
	{CHAT,
	 "{" HI ",\"reasoning_format\":\"auto\",\"parse_tool_calls\":true,\"mm_processor_kwargs\":{}}",
	 "{\"parse\":true}"},
	/* null means absent */
	{CHAT, "{" HI ",\"temperature\":null,\"tools\":null,\"logprobs\":null}",
	 "{\"parse\":true}"},
	{CHAT, "{" HI ",\"logprobs\":false,\"n_probs\":0,\"lora\":[]}", "{\"parse\":true}"},
	{CHAT, "{" HI ",\"max_tokens\":3.0,\"seed\":-1}", "{\"parse\":true,\"n\":3}"},
	{CHAT, "{" HI ",\"seed\":-2}", "{\"parse\":true,\"seed\":9223372036854775806}"},
	{CHAT, "{" HI ",\"stop\":\"x\"}", "{\"parse\":true,\"stop\":[\"x\"]}"},
	{CHAT, "{" HI ",\"stop\":[\"x\",\"\"]}", "{\"parse\":true,\"stop\":[\"x\"]}"},
	{CHAT, "{" HI ",\"logit_bias\":{\"5\":-100}}",
	 "{\"parse\":true,\"logit_bias\":[[5,-100]]}"},
	{CHAT, "{" HI ",\"logit_bias\":[[5,-1.5],[7,100]]}",
	 "{\"parse\":true,\"logit_bias\":[[5,-1.5],[7,100]]}"},
	{CHAT, "{" HI ",\"samplers\":[\"top_k\",\"temperature\"]}",
	 "{\"parse\":true,\"order\":\"top_k,temperature\"}"},
	{CHAT, "{" HI ",\"guided_choice\":[\"a\\\"b\",\"c\\n\"]}",
	 "{\"grammar\":\"root ::= \\\"a\\\\\\\"b\\\" | \\\"c\\\\n\\\"\"}"},
	{CHAT, "{" HI ",\"structured_outputs\":{\"json\":{\"type\":\"integer\"}}}",
	 "{\"json_schema\":\"{\\\"type\\\":\\\"integer\\\"}\"}"},
	{CHAT,
	 "{" HI ",\"response_format\":{\"type\":\"structural_tag\",\"format\":{\"type\":\"any_text\"}}}",
	 "{\"parse\":true,\"structural_tag\":"
	 "\"{\\\"type\\\":\\\"structural_tag\\\",\\\"format\\\":{\\\"type\\\":\\\"any_text\\\"}}\"}"},
	{COMPLETION,
	 "{\"prompt\":\"a\",\"structured_outputs\":{\"structural_tag\":"
	 "{\"type\":\"structural_tag\",\"format\":{\"type\":\"any_text\"}}}}",
	 "{\"raw\":true,\"parse_special\":true,\"n\":16,\"structural_tag\":"
	 "\"{\\\"type\\\":\\\"structural_tag\\\",\\\"format\\\":{\\\"type\\\":\\\"any_text\\\"}}\"}"},
	{CHAT, "{" HI ",\"guided_regex\":\"a+\"}", "{\"regex\":\"a+\"}"},
	{CHAT, "{" HI ",\"response_format\":{\"type\":\"json_object\"}}",
	 "{\"json_schema\":\"{\\\"type\\\":\\\"object\\\"}\"}"},
	{CHAT, "{" HI ",\"reasoning_effort\":\"none\"}",
	 "{\"parse\":true,\"template_args\":\"{\\\"enable_thinking\\\":false}\"}"},
	{CHAT, "{" HI ",\"reasoning_effort\":\"high\",\"chat_template_kwargs\":{\"a\":[1,0.1]}}",
	 "{\"parse\":true,\"template_args\":\"{\\\"enable_thinking\\\":true,"
	 "\\\"reasoning_effort\\\":\\\"high\\\",\\\"a\\\":[1,0.1]}\"}"},
	{CHAT, "{" HI "," TOOLS ",\"tool_choice\":\"none\"}", "{\"parse\":true}"},
	{CHAT,
	 "{" HI "," TOOLS ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"g\"}}}",
	 "{\"parse\":true,\"required_call\":\"g\"}"},
	{CHAT,
	 "{" HI "," TOOLS ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"g"
	 "\"}},\"parallel_tool_calls\":false}",
	 "{\"parse\":true,\"required_call\":\"g\",\"parallel_calls\":false}"},
	/* a call takes the place of an object that the answer would be */
	{CHAT,
	 "{" HI "," TOOLS ",\"tool_choice\":\"required\",\"response_format\":{\"type\":\"json_object\"}}",
	 "{\"parse\":true,\"required_call\":\"*\"}"},
	{RESPONSES,
	 "{\"input\":\"a\",\"tools\":[{\"type\":\"function\",\"name\":\"g\"}],\"tool_choice\""
	 ":\"required\"}",
	 "{\"parse\":true,\"required_call\":\"*\"}"},
	{MESSAGES,
	 "{\"max_tokens\":9," HI ",\"tools\":[{\"name\":\"g\",\"input_schema\":{}}],\"tool_ch"
	 "oice\":"
	 "{\"type\":\"any\",\"disable_parallel_tool_use\":false}}",
	 "{\"parse\":true,\"required_call\":\"*\",\"n\":9}"},
	{MESSAGES,
	 "{\"max_tokens\":9," HI ",\"tools\":[{\"name\":\"g\",\"input_schema\":{}}],\"tool_ch"
	 "oice\":"
	 "{\"type\":\"any\",\"disable_parallel_tool_use\":true}}",
	 "{\"parse\":true,\"required_call\":\"*\",\"parallel_calls\":false,\"n\":9}"},
	{MESSAGES,
	 "{\"max_tokens\":0,\"system\":[{\"type\":\"text\",\"text\":\"s\"}]," HI
	 ",\"thinking\":{\"type\":\"adaptive\"},\"tools\":[{\"name\":\"f\",\"input_schema\":{}}],"
	 "\"tool_choice\":{\"type\":\"auto\"}}",
	 "{\"parse\":true,\"n\":0,\"template_args\":\"{\\\"enable_thinking\\\":true}\"}"},
	/* completions: 16 tokens, and the prompt as it is */
	{COMPLETION, "{\"prompt\":\"hi\"}", "{\"raw\":true,\"parse_special\":true,\"n\":16}"},
	{COMPLETION, "{\"prompt\":[[1,2]],\"max_tokens\":0}",
	 "{\"raw\":true,\"parse_special\":true,\"n\":0,\"tokens\":[1,2]}"},
	/* Ollama and llama.cpp: clamped instead of refused, and unknown options ignored */
	{"/api/chat", "{" HI ",\"options\":{\"temperature\":9,\"top_k\":-7,\"x\":1},\"y\":1}",
	 "{\"parse\":true,\"temp\":5,\"top_k\":-1}"},
	{"/api/generate", "{\"prompt\":\"hi\",\"options\":{\"num_predict\":-2}}",
	 "{\"parse\":true,\"n\":-1}"},
	{"/completion", "{\"prompt\":\"hi\",\"x\":1,\"min_tokens\":3,\"stop_token_ids\":[5]}",
	 "{\"raw\":true,\"parse_special\":true,\"stop_tokens\":[5],\"min_tokens\":3,"
	 "\"report_settings\":true}"},
	{"/completion", "{\"prompt\":\"hi\",\"top_p\":3,\"n_predict\":-1}",
	 "{\"raw\":true,\"parse_special\":true,\"top_p\":1,\"n\":-1,\"report_settings\":true}"},
};

START_TEST(values)
{
	json_t *body = json_loads(accepted[_i].body, 0, NULL), *found, *request,
	       *want = json_loads(accepted[_i].request, 0, NULL);
	static const char *const left_out[] = {"model", "messages", "prompt", "tools"};
	char *text;

	ck_assert(body && want);
	found = api_translate(accepted[_i].path, body);
	request = json_object_get(found, "request");
	ck_assert_msg(request != NULL, "%s: %s", accepted[_i].body,
		      json_string_value(json_object_get(found, "error")));
	for (size_t i = 0; i < LMD_LEN(left_out); i++)
		json_object_del(request, left_out[i]);
	text = json_dumps(request, JSON_COMPACT);
	ck_assert_msg(json_equal(request, want), "%s\nbecomes %s", accepted[_i].body, text);
	free(text);
	json_decref(found);
	json_decref(want);
	json_decref(body);
}
END_TEST

/* A list of tools that names itself in each level cannot be passed on. */
START_TEST(depth)
{
	json_t *body = json_loads("{" HI "}", 0, NULL), *inner = json_object(), *found;

	for (int i = 0; i < 70; i++)
		inner = json_pack("{s:o}", "a", inner);
	json_object_set_new(body, "json_schema", inner);
	found = api_translate(CHAT, body);
	ck_assert_str_eq(json_string_value(json_object_get(found, "param")), "json_schema");
	ck_assert_str_eq(json_string_value(json_object_get(found, "error")),
			 "has more than 262144 bytes or 64 levels");
	json_decref(found);
	json_decref(body);
}
END_TEST

/* ---- memory ---- */

/* Runs a translation with the n-th allocation failing, until none fails any more. */
static unsigned failing_allocations(const char *path, const json_t *body)
{
	struct lmi_alloc_stats before, after;
	unsigned n = 0;

	lmi_alloc_stats(&before);
	for (bool failed = true; failed; n++) {
		struct lmd_arena *arena = lmi_arena_create(0);
		struct lmi_http_generation g;
		struct lmd_error err = {0};
		const char *param;
		enum lmd_status st;

		lmi_alloc_fail_nth(n + 1, false);
		st = api_translation(path)(&g, body, arena, &param, &err);
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		ck_assert_int_eq(st, failed ? LMD_NOMEM : LMD_OK);
		ck_assert(!failed || err.status == st);
		lmi_arena_destroy(arena);
		ck_assert_uint_lt(n, 100);
	}
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
	return n;
}

START_TEST(out_of_memory)
{
	json_t *chat = json_loads("{" HI "," TOOLS ",\"tool_choice\":\"required\",\"stop\":\"x\","
				  "\"logit_bias\":{\"5\":1},\"reasoning_effort\":\"low\"}",
				  0, NULL),
	       *claude = json_loads("{" HI ",\"max_tokens\":5,\"system\":\"s\",\"tools\":["
				    "{\"name\":\"f\",\"input_schema\":{}}]}",
				    0, NULL),
	       *ollama =
		       json_loads("{" HI ",\"format\":{},\"options\":{\"stop\":[\"x\"]}}", 0, NULL);

	ck_assert(chat && claude && ollama);
	ck_assert_uint_ge(failing_allocations(CHAT, chat), 3);
	ck_assert_uint_ge(failing_allocations(MESSAGES, claude), 2);
	ck_assert_uint_ge(failing_allocations("/api/chat", ollama), 2);
	json_decref(chat);
	json_decref(claude);
	json_decref(ollama);
}
END_TEST

/* However small the arena is, a translation ends with an error of its own. */
START_TEST(small_arena)
{
	json_t *body = json_loads(accepted[_i].body, 0, NULL);
	enum lmd_status st = LMD_NOMEM;

	ck_assert_ptr_nonnull(body);
	for (uint64_t limit = 64; st == LMD_NOMEM; limit += 64) {
		struct lmd_arena *arena = lmi_arena_create(limit);
		struct lmi_http_generation g;
		struct lmd_error err = {0};
		const char *param;

		ck_assert_uint_lt(limit, 1 << 20);
		if (!arena)
			continue;
		st = api_translation(accepted[_i].path)(&g, body, arena, &param, &err);
		lmi_arena_destroy(arena);
	}
	ck_assert_int_eq(st, LMD_OK);
	json_decref(body);
}
END_TEST

/* ---- errors ---- */

static void check_error(void (*write)(struct lmi_json_text *, const struct lmi_http_error *),
			const struct lmi_http_error *e, const char *want)
{
	struct lmi_json_text j = {0};
	struct lmd_error err;

	write(&j, e);
	OK(lmi_json_text_finish(&j, &err));
	ck_assert_str_eq(j.text, want);
	lmi_json_text_fini(&j);
}

START_TEST(errors)
{
	struct lmi_http_error e = {
		.code = 400, .cause = LMD_INVALID, .text = "is missing", .param = "messages"};

	check_error(lmi_openai_error, &e,
		    "{\"error\":{\"message\":\"is missing\",\"type\":\"invalid_request_error\","
		    "\"param\":\"messages\",\"code\":null}}");
	check_error(lmi_anthropic_error, &e,
		    "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\","
		    "\"message\":\"messages: is missing\"}}");
	check_error(lmi_ollama_error, &e, "{\"error\":\"messages: is missing\"}");
	check_error(lmi_llamacpp_error, &e,
		    "{\"error\":{\"code\":400,\"message\":\"messages: is missing\","
		    "\"type\":\"invalid_request_error\"}}");
	e = (struct lmi_http_error){
		.code = 400, .cause = LMD_INVALID, .text = "too long", .n_prompt = 9, .n_ctx = 8};
	check_error(lmi_openai_error, &e,
		    "{\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\","
		    "\"param\":null,\"code\":\"context_length_exceeded\"}}");
	check_error(lmi_llamacpp_error, &e,
		    "{\"error\":{\"code\":400,\"message\":\"too long\",\"type\":"
		    "\"exceed_context_size_error\",\"n_prompt_tokens\":9,\"n_ctx\":8}}");
	e = (struct lmi_http_error){.code = 429, .cause = LMD_BUSY, .text = "busy\xff"};
	check_error(lmi_openai_error, &e,
		    "{\"error\":{\"message\":\"busy\xEF\xBF\xBD\",\"type\":\"rate_limit_error\","
		    "\"param\":null,\"code\":\"rate_limit_exceeded\"}}");
	check_error(lmi_anthropic_error, &e,
		    "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\","
		    "\"message\":\"busy\xEF\xBF\xBD\"}}");
}
END_TEST

/* ---- pieces of text ---- */

/* However a text is cut into pieces, what comes out is the text, with U+FFFD for each bad byte. */
START_TEST(pieces)
{
	static const char in[] = "a\xC3\xA4\xE4\xBD\xA0\xF0\x9F\x98\x80\xFF"
				 "b\xE4\xBD"
				 "c\xF0\x9F\x98";
	static const char want[] = "a\xC3\xA4\xE4\xBD\xA0\xF0\x9F\x98\x80\xEF\xBF\xBD"
				   "b\xEF\xBF\xBD\xEF\xBF\xBD"
				   "c\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD";
	struct lmd_arena *arena = lmi_arena_create(0);

	for (size_t step = 1; step < sizeof(in); step++) {
		struct lmi_http_pieces t = {0};
		char out[128];
		size_t n = 0;

		for (size_t i = 0; i < sizeof(in) - 1; i += step) {
			struct lmd_str s = {.ptr = in + i, .len = step};

			if (s.len > sizeof(in) - 1 - i)
				s.len = sizeof(in) - 1 - i;
			s = lmi_http_pieces_next(&t, arena, s);
			memcpy(out + n, s.ptr, s.len);
			n += s.len;
		}
		out[n] = '\0';
		strcat(out, lmi_http_pieces_end(&t).ptr);
		ck_assert_str_eq(out, want);
	}
	lmi_arena_destroy(arena);
}
END_TEST

/* ---- routes ---- */

/* ---- bounds ---- */

static json_t *list_of(size_t n, const json_t *item)
{
	json_t *v = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append(v, (json_t *)item);
	return v;
}

static json_t *text_of(size_t n)
{
	char *s = malloc(n + 1);
	json_t *v;

	ck_assert_ptr_nonnull(s);
	memset(s, 'a', n);
	v = json_stringn(s, n);
	free(s);
	return v;
}

static json_t *biases(size_t n)
{
	json_t *v = json_object();
	char key[24];

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(key, sizeof(key), "%zu", i);
		(void)json_object_set_new(v, key, json_integer(1));
	}
	return v;
}

/* A schema that is n bytes long as compact JSON. */
static json_t *schema_of(size_t n)
{
	return json_pack("{s:s,s:{s:o}}", "type", "json_schema", "json_schema", "schema",
			 json_pack("{s:o}", "title", text_of(n - strlen("{\"title\":\"\"}"))));
}

/* A value is accepted at the bound, and the next one is refused with the name of the member. */
static void check_bound(const char *path, const char *member, json_t *own_good, json_t *own_bad)
{
	json_t *body = json_pack("{s:s,s:i}", "prompt", "a", "max_tokens", 1), *found;

	if (strstr(path, "chat"))
		body = json_loads("{" HI "}", 0, NULL);
	(void)json_object_set_new(body, member, own_good);
	found = api_translate(path, body);
	ck_assert_msg(!json_object_get(found, "error"), "%s of %s: %s", member, path,
		      json_string_value(json_object_get(found, "error")));
	json_decref(found);
	(void)json_object_set_new(body, member, own_bad);
	found = api_translate(path, body);
	ck_assert_msg(json_object_get(found, "error") != NULL, "%s of %s: accepted", member, path);
	ck_assert_msg(!strncmp(json_string_value(json_object_get(found, "param")), member, strlen(member)),
		      "%s of %s: %s", member, path, json_string_value(json_object_get(found, "param")));
	json_decref(found);
	json_decref(body);
}

START_TEST(bounds)
{
	static const char *const paths[] = {CHAT, COMPLETION};
	json_t *a = json_string("a");

	for (size_t i = 0; i < LMD_LEN(paths); i++) {
		const char *p = paths[i];

		check_bound(p, "n", json_integer(8), json_integer(9));
		check_bound(p, "stop", list_of(16, a), list_of(17, a));
		check_bound(p, "stop", text_of(256), text_of(257));
		check_bound(p, "logit_bias", biases(1024), biases(1025));
		check_bound(p, "response_format", schema_of(LMI_WIRE_LIMIT_GRAMMAR_BYTES),
			    schema_of(LMI_WIRE_LIMIT_GRAMMAR_BYTES + 1));
	}
	check_bound(COMPLETION, "best_of", json_integer(8), json_integer(9));
	json_decref(a);
}
END_TEST

static void check_routes(const struct lmi_http_routes *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct lmi_http_route *a = &r->v[i];
		json_t *schema = a->body ? json_loads(a->body, 0, NULL) : NULL;

		ck_assert(a->path[0] == '/' && a->summary && *a->summary);
		ck_assert_msg(!a->body || json_is_object(schema), "%s", a->path);
		json_decref(schema);
		schema = a->answer ? json_loads(a->answer, 0, NULL) : NULL;
		ck_assert_msg(!a->answer || json_is_object(schema), "%s", a->path);
		json_decref(schema);
		for (uint32_t k = 0; k < i; k++)
			ck_assert_msg(a->method != r->v[k].method ||
					      strcmp(a->path, r->v[k].path) != 0,
				      "%s occurs twice", a->path);
	}
}

START_TEST(routes)
{
	check_routes(&lmi_openai_routes);
	check_routes(&lmi_anthropic_routes);
	check_routes(&lmi_ollama_routes);
	check_routes(&lmi_llamacpp_routes);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http APIs");
	TCase *t = tcase_create("apis");

	tcase_add_test(t, bodies);
	tcase_add_test(t, answers);
	tcase_add_loop_test(t, refused, 0, LMD_LEN(refusals));
	tcase_add_loop_test(t, values, 0, LMD_LEN(accepted));
	tcase_add_test(t, depth);
	tcase_add_test(t, out_of_memory);
	tcase_add_loop_test(t, small_arena, 0, LMD_LEN(accepted));
	tcase_add_test(t, errors);
	tcase_add_test(t, pieces);
	tcase_add_test(t, bounds);
	tcase_add_test(t, routes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
