/* SPDX-License-Identifier: MIT
 *
 * The constraint of an answer that must be calls: as JSON, and in the model's own format.  That models
 * follow it is tested over HTTP (tests/http/endpoints_test.sh), and that the parser reads what formats
 * write, in core/text/answer/parse_test.c. */
#include "service/required_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grammar/grammar.h"
#include "core/text/answer/formats.h"
#include "core/text/answer/parser.h"
#include "service/required_call_impl.h"
#include "tests/lmd_check.h"

#define ARGS(json)   "\"arguments\":" json
#define CALL(name, args)                                                                           \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"const\":\"" name "\"}," ARGS(args) "},"  \
	"\"required\":[\"name\",\"arguments\"],\"additionalProperties\":false}"
#define LIST(items)  "{\"type\":\"array\",\"items\":" items ",\"minItems\":1}"
#define OBJECT	     "{\"type\":\"object\"}"
/* references, one of which is a name and two of which are data */
#define G(place)                                                                                   \
	"{\"properties\":{\"p\":{\"$ref\":\"#" place "/$defs/a\"},"                                \
	"\"$ref\":{\"const\":{\"$ref\":\"#\"}}},\"$defs\":{\"a\":{\"anyOf\":["                     \
	"{\"$ref\":\"#" place "\"},{\"$ref\":\"#b\"}]}}}"
#define F_AND_G "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},{\"name\":\"g\",\"parameters\":" G("") "}]"

static struct lmd_error err;
static const struct lmi_svc_marker_token *tokens; /* [n_token] of the vocabulary */
static size_t n_token;

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* Returns the text, on the heap; NULL: refused. */
static char *make(const char *tools, const char *name, bool parallel,
		  struct lmi_chat_answer_format *answer, bool tag)
{
	const struct lmi_wire_req_generate q = {.tools = str(tools),
						.has_tools = true,
						.required_call = str(name),
						.has_required_call = true,
						.parallel_calls = parallel,
						.parse = true};
	struct lmi_svc_required_call call;
	enum lmd_status st = lmi_svc_required_call_make(&call, &q, answer, tokens, n_token, &err);

	if (st == LMD_OK)
		ck_assert_int_eq(call.structural_tag, tag);
	else
		ck_assert_int_eq(st, LMD_INVALID);
	return call.text;
}

static void check_json(const char *tools, const char *name, bool parallel, const char *want)
{
	struct lmi_chat_answer_format answer = {.thinks = true};
	char *text = make(tools, name, parallel, &answer, false);

	ck_assert_str_eq(text, want);
	ck_assert_str_eq(answer.format->name, "json");
	ck_assert(!answer.thinks);
	free(text);
}

START_TEST(as_json)
{
	check_json(F_AND_G, "f", true, LIST(CALL("f", OBJECT)));
	check_json(F_AND_G, "f", false, CALL("f", OBJECT));
	check_json(F_AND_G, "g", true, LIST(CALL("g", G("/items/properties/arguments"))));
	check_json(F_AND_G, "g", false, CALL("g", G("/properties/arguments")));
	check_json(F_AND_G, "*", true,
		   LIST("{\"anyOf\":[" CALL("f", OBJECT) "," CALL(
			   "g", G("/items/anyOf/1/properties/arguments")) "]}"));
}
END_TEST

/* Returns whether it is a structural tag that can be compiled. */
static bool compiles(const char *text)
{
	struct lmi_grammar *g = NULL;
	enum lmd_status st = lmi_grammar_from_structural_tag(&g, text, strlen(text), &err);

	lmi_grammar_destroy(g);
	return st == LMD_OK;
}

START_TEST(in_own_format)
{
	static const char tools[] = "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"x\":{}}}},"
				    "{\"name\":\"g\"}]";
	struct lmi_chat_answer_format answer = {.format = lmi_answer_format_find(str("hermes"))};
	char *text = make(tools, "*", true, &answer, true);

	ck_assert_ptr_nonnull(strstr(text, "\"begin\":\"<tool_call>\\n{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": \""));
	ck_assert_ptr_nonnull(strstr(text, "\"json_schema\":{\"properties\":{\"x\":{}}}"));
	ck_assert_ptr_nonnull(strstr(text, "\\\"g\\\""));
	ck_assert_ptr_nonnull(strstr(text, "\"end\":\"}\\n</tool_call>\""));
	ck_assert_ptr_nonnull(strstr(text, "\"stop_after_first\":false"));
	ck_assert_ptr_null(strstr(text, "any_text"));
	ck_assert_msg(compiles(text), "%s: %s", err.text, text);
	ck_assert_str_eq(answer.format->name, "hermes");
	free(text);
	answer.thinks = true; /* the prompt has begun the reasoning, which goes on first */
	text = make(tools, "g", false, &answer, true);
	ck_assert_ptr_nonnull(strstr(text, "\"any_text\"},\"end\":\"</think>\""));
	ck_assert_ptr_nonnull(strstr(text, "\"stop_after_first\":true"));
	ck_assert_ptr_null(strstr(text, "\\\"f\\\""));
	ck_assert_msg(compiles(text), "%s: %s", err.text, text);
	free(text);
}
END_TEST

/* Every format that says how calls are written. */
START_TEST(all_formats)
{
	for (uint32_t i = 0; i < lmi_parse_n_formats; i++) {
		struct lmi_chat_answer_format answer = {.format = &lmi_parse_formats[i]};
		bool own = answer.format->write_begin != NULL;
		char *text = make(F_AND_G, "f", true, &answer, own);

		ck_assert_msg(!own || compiles(text), "%s: %s", answer.format->name, err.text);
		free(text);
	}
}
END_TEST

/* Markers that are control tokens are tokens, the others are texts. */
START_TEST(control_tokens)
{
	static const struct lmi_svc_marker_token kimi[] = {
		{7, {"<|tool_call_begin|>", 19}},
		{8, {"<|tool_call_argument_begin|>", 28}},
		{9, {"<|tool_calls_section_begin|>", 28}},
		{10, {"</think>", 8}},
	};
	struct lmi_chat_answer_format answer = {.format = lmi_answer_format_find(str("kimi"))};
	char *text;

	tokens = kimi;
	n_token = LMD_LEN(kimi);
	text = make(F_AND_G, "f", true, &answer, true);
	ck_assert_msg(strstr(text, "\"begin\":{\"type\":\"sequence\",\"elements\":[{\"type\":\"token\","
				   "\"token\":7},{\"type\":\"const_string\",\"value\":\"functions.f:\"},"
				   "{\"type\":\"regex\",\"pattern\":\"[0-9]{1,2}\"},{\"type\":\"token\","
				   "\"token\":8}]}") != NULL,
		      "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "\"elements\":[{\"type\":\"token\",\"token\":9},"
					   "{\"type\":\"tags_with_separator\""));
	ck_assert_ptr_nonnull(strstr(text, "\"end\":\"<|tool_call_end|>\""));
	ck_assert_msg(compiles(text), "%s: %s", err.text, text);
	free(text);
	answer.thinks = true;
	text = make(F_AND_G, "f", true, &answer, true);
	ck_assert_ptr_nonnull(strstr(text, "\"any_text\"},\"end\":\"</think>\""));
	ck_assert_msg(compiles(text), "%s: %s", err.text, text);
	free(text);
	tokens = NULL;
	n_token = 0;
}
END_TEST

/* The model may think first where it begins that by itself. */
START_TEST(own_reasoning)
{
	struct lmi_chat_answer_format answer = {.format = lmi_answer_format_find(str("gpt-oss"))};
	char *text = make(F_AND_G, "f", true, &answer, true);

	ck_assert_ptr_nonnull(strstr(text, "{\"type\":\"optional\",\"content\":{\"type\":\"tag\","
					   "\"begin\":\"<|channel|>analysis<|message|>\""));
	ck_assert_ptr_nonnull(strstr(text, "\"stop_after_first\":true"));
	ck_assert_msg(compiles(text), "%s: %s", err.text, text);
	free(text);
}
END_TEST

/* Returns whether a call of f with these parameters, as JSON, is written as the format does. */
static bool writes_params(const char *parameters, char **text)
{
	struct lmi_chat_answer_format answer = {.format = lmi_answer_format_find(str("glm"))};
	char list[1000];
	json_t *v;
	bool own;

	(void)snprintf(list, sizeof(list), "[{\"name\":\"f\",\"parameters\":%s}]", parameters);
	v = json_loads(list, 0, NULL);
	ck_assert_ptr_nonnull(v);
	own = lmi_svc_call_params_can_be_written(answer.format, json_array_get(v, 0));
	json_decref(v);
	*text = make(list, "*", true, &answer, own);
	ck_assert_str_eq(answer.format->name, own ? "glm" : "json");
	return own;
}

/* Parameters between markers, where their schemas allow it. */
START_TEST(params)
{
	static const char *const good[] = {
		"{}",
		"{\"type\":\"object\",\"properties\":{}}",
		"{\"properties\":{\"s\":{\"type\":\"string\",\"description\":\"d\"}},\"required\":[\"s\"]}",
		"{\"properties\":{\"s\":{\"type\":\"string\",\"enum\":[\"a\",\"1\"]},\"n\":{\"type\":\"integer\","
		"\"minimum\":3}},\"additionalProperties\":false}",
		"{\"properties\":{\"o\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/a\"}}},\"$defs\":{\"a\":{"
		"\"type\":\"null\"}}}",
		"{\"properties\":{\"c\":{\"type\":\"string\",\"const\":\"x\"}}}",
	};
	static const char *const bad[] = {
		"{\"type\":\"array\"}",
		"{\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":\"a\"}}}",
		"{\"properties\":{\"s\":{\"type\":[\"string\",\"null\"]}}}",
		"{\"properties\":{\"s\":{}}}",
		"{\"properties\":{\"s\":{\"type\":\"string\",\"enum\":[\"</arg_value>\"]}}}",
		"{\"properties\":{\"s\":{\"type\":\"string\",\"enum\":[]}}}",
		"{\"properties\":{\"s\":{\"type\":\"string\",\"enum\":[1]}}}",
		"{\"properties\":{\"<\":{\"type\":\"null\"}}}",
		"{\"properties\":{\"o\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/properties/o\"}}}}",
		"{\"properties\":{},\"required\":[\"s\"]}",
		"{\"properties\":{},\"minProperties\":1}",
	};
	char *text;

	for (size_t i = 0; i < LMD_LEN(good); i++) {
		ck_assert_msg(writes_params(good[i], &text), "%s", good[i]);
		ck_assert_msg(compiles(text), "%s: %s: %s", good[i], err.text, text);
		free(text);
	}
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		ck_assert_msg(!writes_params(bad[i], &text), "%s", bad[i]);
		free(text);
	}
}
END_TEST

/* Names with quotes cannot be written. */
START_TEST(what_cannot_be_written)
{
	struct lmi_chat_answer_format answer = {.format = lmi_answer_format_find(str("hermes"))};

	free(make("[{\"name\":\"a\\\"b\"}]", "*", true, &answer, false));
	ck_assert_str_eq(answer.format->name, "json");
}
END_TEST

START_TEST(refused)
{
	struct lmi_chat_answer_format answer = {0};

	ck_assert_ptr_null(make("{}", "*", true, &answer, false));
	ck_assert_ptr_nonnull(strstr(err.text, "tools: is not a JSON array"));
	ck_assert_ptr_null(make("[{\"name\":3}]", "*", true, &answer, false));
	ck_assert_ptr_nonnull(strstr(err.text, "element 0 is not a function"));
	ck_assert_ptr_null(make(F_AND_G, "h", true, &answer, false));
	ck_assert_ptr_nonnull(strstr(err.text, "no tool has the name 'h'"));
	ck_assert_ptr_null(make("[]", "*", true, &answer, false));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("required calls");
	TCase *t = tcase_create("required_call");

	tcase_add_test(t, as_json);
	tcase_add_test(t, in_own_format);
	tcase_add_test(t, all_formats);
	tcase_add_test(t, control_tokens);
	tcase_add_test(t, own_reasoning);
	tcase_add_test(t, params);
	tcase_add_test(t, what_cannot_be_written);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
