/* SPDX-License-Identifier: MIT
 *
 * A row for each family.  The first row whose `find` stands in a template is the one that is
 * detected, so those with the more particular markers come first. */
#include "core/text/parse/formats.h"

#include <string.h>

#include "core/text/parse/parse.h"
#include "llamad/attr.h"

#define THINK .think = "<think>", .think_end = "</think>"

const struct lmi_parse_format lmi_parse_formats[] = {
	{.name = "gpt-oss",
	 .aliases = "harmony",
	 .find = "<|channel|>",
	 .body = LMI_BODY_CHANNEL,
	 .call = "<|channel|>",
	 .call_end = "<|call|>",
	 .drop = {"<|end|>", "<|return|>", "<|call|>"}},
	{.name = "minimax",
	 .aliases = "minimax-m2",
	 .find = "<minimax:tool_call>",
	 THINK,
	 .section = "<minimax:tool_call>",
	 .section_end = "</minimax:tool_call>",
	 .call = "<invoke name=\"",
	 .call_end = "</invoke>",
	 .body = LMI_BODY_PARAMS,
	 .name_end = "\">",
	 .param = "<parameter name=\"",
	 .key_end = "\">",
	 .value_end = "</parameter>"},
	{.name = "seed-oss",
	 .aliases = "seed_oss",
	 .find = "<seed:tool_call>",
	 .think = "<seed:think>",
	 .think_end = "</seed:think>",
	 .section = "<seed:tool_call>",
	 .section_end = "</seed:tool_call>",
	 .call = "<function=",
	 .call_end = "</function>",
	 .body = LMI_BODY_PARAMS,
	 .name_end = ">",
	 .param = "<parameter=",
	 .key_end = ">",
	 .value_end = "</parameter>"},
	{.name = "qwen-coder",
	 .aliases = "qwen3-coder qwen3.5 nemotron-3",
	 .find = "<parameter=",
	 THINK,
	 .section = "<tool_call>",
	 .section_end = "</tool_call>",
	 .call = "<function=",
	 .call_end = "</function>",
	 .body = LMI_BODY_PARAMS,
	 .name_end = ">",
	 .param = "<parameter=",
	 .key_end = ">",
	 .value_end = "</parameter>"},
	{.name = "glm",
	 .aliases = "glm-4.5 glm4.5 glm-4.7",
	 .find = "<arg_key>",
	 THINK,
	 .call = "<tool_call>",
	 .call_end = "</tool_call>",
	 .body = LMI_BODY_PARAMS,
	 .param = "<arg_key>",
	 .key_end = "</arg_key>",
	 .value = "<arg_value>",
	 .value_end = "</arg_value>"},
	{.name = "kimi",
	 .aliases = "kimi-k2",
	 .find = "<|tool_call_argument_begin|>",
	 THINK,
	 .section = "<|tool_calls_section_begin|>",
	 .section_end = "<|tool_calls_section_end|>",
	 .call = "<|tool_call_begin|>",
	 .call_end = "<|tool_call_end|>",
	 .body = LMI_BODY_NAME,
	 .prefix = "functions.",
	 .name_end = "<|tool_call_argument_begin|>"},
	{.name = "deepseek-v3",
	 .aliases = "deepseek3 deepseek-r1 deepseek",
	 .find = "<｜tool▁call▁begin｜>' + tool['type']",
	 THINK,
	 .section = "<｜tool▁calls▁begin｜>",
	 .section_end = "<｜tool▁calls▁end｜>",
	 .call = "<｜tool▁call▁begin｜>",
	 .call_end = "```<｜tool▁call▁end｜>",
	 .body = LMI_BODY_NAME,
	 .prefix = "function<｜tool▁sep｜>",
	 .name_end = "```json"},
	{.name = "deepseek-v3.1",
	 .find = "<｜tool▁call▁begin｜>",
	 THINK,
	 .section = "<｜tool▁calls▁begin｜>",
	 .section_end = "<｜tool▁calls▁end｜>",
	 .call = "<｜tool▁call▁begin｜>",
	 .call_end = "<｜tool▁call▁end｜>",
	 .body = LMI_BODY_NAME,
	 .name_end = "<｜tool▁sep｜>"},
	{.name = "command-r",
	 .aliases = "command-r7b cohere",
	 .find = "<|START_ACTION|>",
	 .think = "<|START_THINKING|>",
	 .think_end = "<|END_THINKING|>",
	 .call = "<|START_ACTION|>",
	 .call_end = "<|END_ACTION|>",
	 .body = LMI_BODY_JSON,
	 .drop = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}},
	{.name = "functionary-v3.1",
	 .aliases = "functionary",
	 .find = "<function=",
	 .call = "<function=",
	 .call_end = "</function>",
	 .body = LMI_BODY_NAME,
	 .name_end = ">"},
	{.name = "functionary-v3.2",
	 .find = ">>>",
	 .call = ">>>",
	 .body = LMI_BODY_NAME,
	 .bare_name = true,
	 .name_end = "\n",
	 .plain = "all"},
	{.name = "mistral",
	 .aliases = "mistral-nemo devstral ministral",
	 .find = "[TOOL_CALLS]",
	 .think = "[THINK]",
	 .think_end = "[/THINK]",
	 .call = "[TOOL_CALLS]",
	 .body = LMI_BODY_NAME,
	 .list = true,
	 .name_end = "[ARGS]"},
	{.name = "granite",
	 .aliases = "granite-3 phi4-mini",
	 .find = "<|tool_call|>",
	 THINK,
	 .call = "<|tool_call|>",
	 .call_end = "<|/tool_call|>",
	 .body = LMI_BODY_JSON,
	 .drop = {"<response>", "</response>"}},
	{.name = "gemma",
	 .aliases = "gemma3",
	 .find = "<start_of_turn>",
	 .call = "```tool_call",
	 .call_end = "```",
	 .body = LMI_BODY_JSON},
	{.name = "llama3",
	 .aliases = "llama llama3.1 llama3.2 llama4",
	 .find = "<|python_tag|>",
	 .call = "<|python_tag|>",
	 .body = LMI_BODY_JSON,
	 .bare = true},
	{.name = "llama3-plain",
	 .find = "<|start_header_id|>",
	 .body = LMI_BODY_JSON,
	 .bare = true},
	{.name = "hermes",
	 .aliases = "qwen qwen2 qwen2.5 qwen3 granite-4 nous smollm3",
	 .find = "<tool_call>",
	 THINK,
	 .call = "<tool_call>",
	 .call_end = "</tool_call>",
	 .body = LMI_BODY_JSON},
	{.name = "think", .find = "<think>", THINK},
	{.name = "json", .aliases = "generic", .body = LMI_BODY_JSON, .bare = true},
	{.name = "none"},
};
const uint32_t lmi_parse_n_formats = LMD_LEN(lmi_parse_formats);

static bool is_word(const char *words, struct lmd_str w)
{
	while (words && *words) {
		size_t n = strcspn(words, " ");

		if (n == w.len && !memcmp(words, w.ptr, n))
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

const struct lmi_parse_format *lmi_parse_format(struct lmd_str name)
{
	for (uint32_t i = 0; i < lmi_parse_n_formats; i++)
		if (is_word(lmi_parse_formats[i].name, name) ||
		    is_word(lmi_parse_formats[i].aliases, name))
			return &lmi_parse_formats[i];
	return NULL;
}

const char *lmi_parse_format_name(uint32_t i)
{
	return i < lmi_parse_n_formats ? lmi_parse_formats[i].name : NULL;
}

const char *lmi_parse_name(const struct lmi_parse_format *f)
{
	return f->name;
}

const struct lmi_parse_format *lmi_parse_detect(struct lmd_str template)
{
	for (uint32_t i = 0; i < lmi_parse_n_formats; i++) {
		const struct lmi_parse_format *f = &lmi_parse_formats[i];

		if (f->find && memmem(template.ptr, template.len, f->find, strlen(f->find)))
			return f;
	}
	return &lmi_parse_formats[lmi_parse_n_formats - 1];
}
