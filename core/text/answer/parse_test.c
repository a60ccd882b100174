/* SPDX-License-Identifier: MIT
 *
 * Answers of every family, fed whole, in two pieces split at every byte, byte by byte, and cut off
 * at every byte.  How the input is split changes only where events are split, and no byte is
 * lost. */
#include "core/text/answer/parser.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/text/answer/formats.h"
#include "core/text/answer/parse_cases.h"
#include "core/text/tokenizer.h"
#include "tests/lmd_check.h"

/* The reported events, in the notation of parse_cases.h. */
struct got {
	struct lmi_text_byte_buf text, raw;
	enum lmi_answer_event_kind last;
};

static void add(struct lmi_text_byte_buf *t, const char *s, size_t n)
{
	ck_assert(lmi_text_byte_buf_append(t, s, n, NULL) == LMD_OK);
}

static void adds(struct lmi_text_byte_buf *t, const char *s)
{
	add(t, s, strlen(s));
}

static void take(void *arg, const struct lmi_answer_event *o)
{
	struct got *g = arg;

	add(&g->raw, o->raw.ptr, o->raw.len);
	if (o->kind == LMI_ANSWER_MARKUP)
		return;
	if (g->last == LMI_ANSWER_REASONING && o->kind != LMI_ANSWER_REASONING)
		adds(&g->text, "]");
	switch (o->kind) {
	case LMI_ANSWER_REASONING:
		if (g->last != LMI_ANSWER_REASONING)
			adds(&g->text, "[R:");
		add(&g->text, o->text.ptr, o->text.len);
		break;
	case LMI_ANSWER_CALL:
		adds(&g->text, "[F:");
		add(&g->text, o->text.ptr, o->text.len);
		if (o->id.ptr) {
			adds(&g->text, "#");
			add(&g->text, o->id.ptr, o->id.len);
		}
		adds(&g->text, "]");
		break;
	case LMI_ANSWER_CALL_END:
		adds(&g->text, o->complete ? "[.]" : "[!]");
		break;
	case LMI_ANSWER_CONTENT:
	case LMI_ANSWER_ARGS:
		add(&g->text, o->text.ptr, o->text.len);
		break;
	case LMI_ANSWER_MARKUP:
		break;
	}
	g->last = o->kind;
}

static const struct lmi_answer_format *format(const char *name)
{
	const struct lmi_answer_format *f =
		lmi_answer_format_find((struct lmd_str){.ptr = name, .len = strlen(name)});

	ck_assert_msg(f, "%s", name);
	return f;
}

static json_t *tools; /* that the parser knows; NULL: none */

/* Feeds a first piece of `first` bytes, then pieces of `step`; ends the input after n bytes. */
static void run(struct got *g, const char *name, const char *text, size_t n, size_t first,
		size_t step, bool thinks)
{
	struct lmi_answer_parser *p;

	g->text.n = g->raw.n = 0;
	g->last = LMI_ANSWER_MARKUP;
	ck_assert(lmi_answer_parser_create(&p, format(name), take, g, NULL) == LMD_OK);
	lmi_answer_parser_set_tools(p, tools);
	if (thinks)
		lmi_answer_parser_start_in_reasoning(p);
	for (size_t at = 0; at < n;) {
		size_t k = at ? step : first;

		k = k && k < n - at ? k : n - at;
		ck_assert(lmi_answer_parser_feed(p, text + at, k, NULL) == LMD_OK);
		at += k;
	}
	lmi_answer_parser_finish(p);
	lmi_answer_parser_destroy(p);
	if (g->last == LMI_ANSWER_REASONING)
		adds(&g->text, "]");
	/* invariant: nothing is lost */
	ck_assert_msg(g->raw.n == n && (!n || !memcmp(g->raw.p, text, n)),
		      "%s: \"%.*s\" became \"%.*s\"", name, (int)n, text, (int)g->raw.n, g->raw.p);
}

static struct got g;

static void check(size_t i, const char *how)
{
	ck_assert_msg(g.text.n == strlen(lmt_parse_cases[i].want) &&
			      !memcmp(g.text.p, lmt_parse_cases[i].want, g.text.n),
		      "%s, %s:\n\"%s\" gave\n\"%.*s\", expected\n\"%s\"", lmt_parse_cases[i].format,
		      how, lmt_parse_cases[i].text, (int)g.text.n, g.text.p,
		      lmt_parse_cases[i].want);
}

#define WRITTEN_ARGS "{\"a\": \"</b> [x]\", \"n\": [1, {}]}"

static void write_param(char *text, const struct lmi_answer_format *f, const char *name, const char *value)
{
	const char *at = strstr(f->write_param, "%s");

	ck_assert_msg(at, "%s", f->name);
	sprintf(text + strlen(text), "%.*s%s%s%s%s%s%s", (int)(at - f->write_param), f->write_param, name,
		at + 2, value, f->value ? "" : "\n", f->value_end, f->write_param_end);
}

/* Appends a call as the format writes it, and what it means. */
static void write_call(char *text, char *want, const struct lmi_answer_format *f, int number)
{
	char begin[300];
	const char *at = strstr(f->write_begin, "%s"), *id;

	ck_assert_msg(at, "%s", f->name);
	sprintf(begin, "%.*sget_weather%s", (int)(at - f->write_begin), f->write_begin, at + 2);
	id = strstr(begin, "%d");
	if (id)
		sprintf(text + strlen(text), "%.*s%d%s", (int)(id - begin), begin, number, id + 2);
	else
		strcat(text, begin);
	if (f->write_param) {
		write_param(text, f, "a", "</b> [x]");
		write_param(text, f, "n", "[1, {}]");
	} else {
		strcat(text, WRITTEN_ARGS);
	}
	strcat(text, f->write_end);
	strcat(want, "[F:get_weather");
	if (id) /* of Kimi, where the name is a part of the id */
		sprintf(want + strlen(want), "#%sget_weather:%d", f->name_prefix, number);
	strcat(want, "]" WRITTEN_ARGS "[.]");
}

static void check_written(const struct lmi_answer_format *f, const char *text, const char *want)
{
	for (size_t step = 0; step < 4; step++) {
		run(&g, f->name, text, strlen(text), step, step, false);
		ck_assert_msg(g.text.n == strlen(want) && !memcmp(g.text.p, want, g.text.n),
			      "%s: %s\ngave %.*s", f->name, text, (int)g.text.n, g.text.p);
	}
}

/* What a format says about writing calls is what the parser reads. */
START_TEST(written_calls)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < lmi_parse_n_formats; i++) {
		const struct lmi_answer_format *f = &lmi_parse_formats[i];
		char text[2000] = "", want[400] = "";

		if (!f->write_begin)
			continue;
		n++;
		if (f->write_think_begin) {
			sprintf(text, "%shm%s", f->write_think_begin, f->write_think_end);
			strcpy(want, "[R:hm]");
		}
		for (int k = 0; k < (f->write_separator ? 2 : 1); k++) {
			strcat(text, k ? f->write_separator : f->write_open ? f->write_open : "");
			write_call(text, want, f, k);
		}
		strcat(text, f->write_close ? f->write_close : "");
		check_written(f, text, want);
	}
	ck_assert_uint_ge(n, 13);
}
END_TEST

/* What the tool says is a string is one, whatever it looks like. */
START_TEST(strings_by_schema)
{
	static const char text[] = "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>12</arg_value>\n"
				   "<arg_key>n</arg_key>\n<arg_value>12</arg_value>\n"
				   "<arg_key>x</arg_key>\n<arg_value>true</arg_value>\n</tool_call>"
				   "<tool_call>g\n<arg_key>s</arg_key>\n<arg_value>12</arg_value>\n</tool_call>";
	static const char want[] = "[F:f]{\"s\": \"12\", \"n\": 12, \"x\": true}[.][F:g]{\"s\": 12}[.]";
	/* a format that marks JSON: a string that is written as JSON has no quotes of its own */
	static const char marked[] =
		"<｜DSML｜function_calls><｜DSML｜invoke name=\"f\">"
		"<｜DSML｜parameter name=\"s\" string=\"false\">\"a\"</｜DSML｜parameter></｜DSML｜invoke>"
		"<｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"s\" string=\"false\">12</｜DSML｜parameter>"
		"<｜DSML｜parameter name=\"n\" string=\"false\">12</｜DSML｜parameter></｜DSML｜invoke>"
		"</｜DSML｜function_calls>";
	static const char want_marked[] = "[F:f]{\"s\": \"a\"}[.][F:f]{\"s\": \"12\", \"n\": 12}[.]";

	tools = json_loads("[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":"
			   "{\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"number\"}}}}},7,{}]",
			   0, NULL);
	ck_assert_ptr_nonnull(tools);
	check_written(format("glm"), text, want);
	check_written(format("deepseek-v3.2"), marked, want_marked);
	json_decref(tools);
	tools = NULL;
}
END_TEST

START_TEST(all_formats)
{
	for (size_t i = 0; i < LMD_LEN(lmt_parse_cases); i++) {
		size_t n = strlen(lmt_parse_cases[i].text);

		run(&g, lmt_parse_cases[i].format, lmt_parse_cases[i].text, n, 0, 0, false);
		check(i, "whole");
		for (size_t k = 1; k < n; k++) {
			run(&g, lmt_parse_cases[i].format, lmt_parse_cases[i].text, n, k, 0, false);
			check(i, "in two pieces");
		}
		for (size_t k = 1; k < 6; k++) {
			run(&g, lmt_parse_cases[i].format, lmt_parse_cases[i].text, n, k, k, false);
			check(i, "in small pieces");
		}
		for (size_t k = 0; k < n; k++) /* only checks the invariant */
			run(&g, lmt_parse_cases[i].format, lmt_parse_cases[i].text, k, 1 + k % 3,
			    1 + k % 5, false);
	}
}
END_TEST

/* Parses every answer in every format: nothing is lost, whichever model wrote it. */
START_TEST(foreign_answers)
{
	for (uint32_t f = 0; lmi_answer_format_name_at(f); f++) {
		for (size_t i = 0; i < LMD_LEN(lmt_parse_cases); i++) {
			size_t n = strlen(lmt_parse_cases[i].text);
			char *whole;

			run(&g, lmi_answer_format_name_at(f), lmt_parse_cases[i].text, n, 0, 0,
			    i & 1);
			whole = strndup(g.text.p ? g.text.p : "", g.text.n);
			run(&g, lmi_answer_format_name_at(f), lmt_parse_cases[i].text, n, 1, 1,
			    i & 1);
			ck_assert_msg(
				g.text.n == strlen(whole) && !memcmp(g.text.p, whole, g.text.n),
				"%s: \"%s\":\n\"%s\" or\n\"%.*s\"", lmi_answer_format_name_at(f),
				lmt_parse_cases[i].text, whole, (int)g.text.n, g.text.p);
			free(whole);
		}
	}
}
END_TEST

static uint64_t state;

static uint64_t rnd(uint64_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % n;
}

/* Damages an answer: replaces a byte by another of its bytes, or removes or repeats a part. */
static size_t corrupt(char *text, size_t n, size_t most)
{
	size_t at = rnd(n), k = 1 + rnd(12);

	k = k < n - at ? k : n - at;
	switch (rnd(3)) {
	case 0:
		text[at] = text[rnd(n)];
		return n;
	case 1:
		memmove(text + at, text + at + k, n - at - k);
		return n - k;
	default:
		if (n + k > most)
			return n;
		memmove(text + at + k, text + at, n - at);
		return n + k;
	}
}

/* Damaged answers, split at random: all splits give the same events, and nothing is lost. */
START_TEST(random_cuts)
{
	enum { ROUNDS = 60, MOST = 4096 };
	char text[MOST];

	state = 20261121;
	printf("seed %llu\n", (unsigned long long)state);
	for (size_t i = 0; i < LMD_LEN(lmt_parse_cases); i++) {
		size_t len = strlen(lmt_parse_cases[i].text);

		for (int round = 0; round < ROUNDS; round++) {
			const char *name = lmt_parse_cases[i].format;
			size_t n = len;
			char *whole;

			memcpy(text, lmt_parse_cases[i].text, n);
			for (uint64_t k = rnd(4); k && n; k--)
				n = corrupt(text, n, MOST);
			if (!rnd(8))
				name = lmi_answer_format_name_at((uint32_t)rnd(30));
			run(&g, name, text, n, 0, 0, false);
			whole = strndup(g.text.p ? g.text.p : "", g.text.n);
			run(&g, name, text, n, 1 + rnd(n + 1), 1 + rnd(9), false);
			ck_assert_msg(g.text.n == strlen(whole) &&
					      !memcmp(g.text.p, whole, g.text.n),
				      "%s: \"%.*s\":\n\"%s\" or\n\"%.*s\"", name, (int)n,
				      text, whole, (int)g.text.n, g.text.p);
			free(whole);
		}
	}
}
END_TEST

START_TEST(begins_in_a_thought)
{
	static const char text[] = "so\n</think>\n\nyes";

	run(&g, "hermes", text, strlen(text), 0, 0, true);
	ck_assert_uint_eq(g.text.n, 9);
	ck_assert_mem_eq(g.text.p, "[R:so]yes", 9);
}
END_TEST

/* Answers that are cut off: what is there is reported, and that it is incomplete. */
START_TEST(cut_off)
{
	static const struct {
		const char *format, *text, *want;
	} t[] = {
		{"hermes", "x<tool_call>{\"name\": \"f", "x<tool_call>{\"name\": \"f"},
		{"hermes", "x<tool_call>{\"name\": \"f\", \"arguments\": {\"a", "x[F:f]{\"a[!]"},
		{"hermes", "x<tool_call>{\"name\": \"f\", \"arguments\": {}", "x[F:f]{}[!]"},
		{"hermes", "x<tool_call>{\"name\": \"f\", \"arguments\": {}}", "x[F:f]{}[.]"},
		{"hermes", "<think>a", "[R:a]"},
		{"hermes", "a<too", "a<too"},
		{"hermes", "a \n", "a \n"},
		{"hermes", "a\xe4\xb8", "a\xe4\xb8"},
		{"gpt-oss", "<|channel|>anal", "<|channel|>anal"},
		{"qwen3-coder", "<tool_call><function=f><parameter=a>1</parameter><param",
		 "[F:f]{\"a\": 1[!]<param"},
		{"mistral", "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}},", "[F:f]{}[.]"},
		{"pythonic", "[f(a=\"x", "[F:f]{\"a\": \"x[!]"},
		{"pythonic", "[f(a=12", "[F:f]{\"a\": [!]"},
		{"pythonic", "[f(a", "[f(a"},
		{"gemma4", "<|tool_call>call:f{a:<|\"|>x<|\"", "[F:f]{\"a\": \"x<|\\\"[!]"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		run(&g, t[i].format, t[i].text, strlen(t[i].text), 1, 1, false);
		ck_assert_msg(g.text.n == strlen(t[i].want) &&
				      !memcmp(g.text.p, t[i].want, g.text.n),
			      "\"%s\" became \"%.*s\"", t[i].text, (int)g.text.n, g.text.p);
	}
}
END_TEST

/* Long and deeply nested input, fed in small pieces, does not take long. */
START_TEST(hostile)
{
	enum { N = 60000 };
	static const char *const begins[] = {
		"",
		"<tool_call>",
		"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"",
		"{",
		"<tool_call>{\"a\": ",
		"<tool_call>{\"name\": \"f\", \"arguments\": {}, \"b\": ",
		"[f(a=",
		"<|tool_call>call:f{a:<|\"|>",
		"]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>"};
	static const char *const with[] = {"hermes", "hermes", "hermes",   "llama3",    "hermes",
					   "hermes", "llama3", "gemma4", "minimax-m3"};
	static const char fills[] = " <{[\"\\a(";
	char *text = malloc(N + 100);

	for (size_t b = 0; b < LMD_LEN(begins); b++) {
		for (size_t k = 0; k < sizeof(fills) - 1; k++) {
			size_t n = strlen(begins[b]);

			memcpy(text, begins[b], n);
			memset(text + n, fills[k], N);
			run(&g, with[b], text, n + N, 7, 7, false);
			run(&g, "qwen3-coder", text, n + N, 7, 7, false);
		}
	}
	free(text);
	/* more calls than any model makes */
	text = malloc(60 * (LMI_ANSWER_CALLS_MAX + 10));
	*text = '\0';
	for (int i = 0; i < LMI_ANSWER_CALLS_MAX + 10; i++)
		strcat(text, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>");
	run(&g, "hermes", text, strlen(text), 11, 11, false);
	ck_assert_ptr_nonnull(memmem(g.text.p, g.text.n, "[.]<tool_call>", 14));
	free(text);
}
END_TEST

/* A short call before a long text, calls whose head is as long as allowed, and longer ones: the
 * result does not depend on whether the input arrives at once. */
START_TEST(long_texts)
{
	static const struct {
		const char *begin, *end;
		size_t n; /* number of letters between them */
		bool call;
	} t[] = {
		{"<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", "", 0x180000, true},
		{"<tool_call>{\"id\": \"", "\", \"name\": \"f\", \"arguments\": {}}</tool_call>",
		 0x80000, true},
		{"<tool_call>{\"id\": \"", "\", \"name\": \"f\", \"arguments\": {}}</tool_call>",
		 0x180000, false},
		{"<tool_call>{\"name\": \"f\", \"arguments\": {}, \"x\": \"", "\"}</tool_call>.",
		 0x80000, true},
		{"<tool_call>{\"name\": \"f\", \"arguments\": {}, \"x\": \"", "\"}</tool_call>.",
		 0x180000, true},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		size_t b = strlen(t[i].begin), e = strlen(t[i].end), n = b + t[i].n + e;
		char *text = malloc(n + 1), *whole;

		memcpy(text, t[i].begin, b);
		memset(text + b, 'a', t[i].n);
		memcpy(text + b + t[i].n, t[i].end, e);
		run(&g, "hermes", text, n, 0, 0, false);
		ck_assert_int_eq(memmem(g.text.p, g.text.n, "[F:f", 4) != NULL, t[i].call);
		whole = strndup(g.text.p, g.text.n);
		run(&g, "hermes", text, n, 4096, 4096, false);
		ck_assert_msg(g.text.n == strlen(whole) && !memcmp(g.text.p, whole, g.text.n),
			      "text %zu: %.80s... at once, %.80s... in pieces", i, whole, g.text.p);
		free(whole);
		free(text);
	}
}
END_TEST

START_TEST(names)
{
	static const struct {
		const char *template, *want;
	} t[] = {
		{"x <tool_call> y", "hermes"},
		{"<tool_call>{name}<arg_key>", "glm"},
		{"<tool_call>\n<function=x>\n<parameter=y>", "qwen-coder"},
		{"[TOOL_CALLS]", "mistral"},
		{"{{ '<|tool_call>call:' + name }}", "gemma4"},
		{"{{ '[unused9]' }}[unused11]{{ calls }}[unused12]", "pangu"},
		{"[unused9]", "none"},
		{"<|im_start|>", "none"},
		{"", "none"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_str_eq(lmi_answer_format_name(lmi_answer_format_detect((struct lmd_str){
					 .ptr = t[i].template, .len = strlen(t[i].template)})),
				 t[i].want);
	ck_assert_ptr_null(lmi_answer_format_find((struct lmd_str){.ptr = "nosuch", .len = 6}));
	ck_assert_ptr_null(lmi_answer_format_find((struct lmd_str){.ptr = "", .len = 0}));
	ck_assert_str_eq(lmi_answer_format_name(format("qwen2.5")), "hermes");
}
END_TEST

static bool is_name_of(const struct lmi_answer_format *f, const char *name)
{
	return lmi_answer_format_find((struct lmd_str){.ptr = name, .len = strlen(name)}) == f;
}

/* Every format is found by its name and by each alias: no name is used twice. */
START_TEST(names_are_unique)
{
	for (uint32_t i = 0; i < lmi_parse_n_formats; i++) {
		const struct lmi_answer_format *f = &lmi_parse_formats[i];
		char *aliases = strdup(f->aliases ? f->aliases : ""), *save = NULL;

		ck_assert_msg(is_name_of(f, f->name), "%s", f->name);
		for (char *a = strtok_r(aliases, " ", &save); a; a = strtok_r(NULL, " ", &save))
			ck_assert_msg(is_name_of(f, a), "%s, of %s", a, f->name);
		free(aliases);
	}
}
END_TEST

/* A signature inside one of another format's would hide that format if it were tried first. */
START_TEST(specific_signatures_first)
{
	for (uint32_t i = 0; i < lmi_parse_n_formats; i++)
		for (uint32_t a = 0; a < LMD_LEN(lmi_parse_formats[i].signatures); a++) {
			const char *s = lmi_parse_formats[i].signatures[a];

			if (s)
				ck_assert_msg(lmi_answer_format_detect((struct lmd_str){
						      .ptr = s, .len = strlen(s)}) ==
						      &lmi_parse_formats[i],
					      "%s, of %s", s, lmi_parse_formats[i].name);
		}
}
END_TEST

/* Published templates and the formats that are detected for them. */
START_TEST(published)
{
	static const struct {
		const char *template, *want;
	} t[] = {
		{"Apertus-8B-Instruct", "apertus"},
		{"Apriel-1.6-15b-Thinker-fixed", "apriel-1.6"},
		{"ByteDance-Seed-OSS", "seed-oss"},
		{"Cohere2MoE", "command-r"},
		{"GLM-4.7-Flash", "glm"},
		{"GigaChat3-10B-A1.8B", "gigachat"},
		{"HuggingFaceTB-SmolLM3-3B", "think"},
		{"Kimi-K2-Instruct", "kimi"},
		{"Kimi-K3", "kimi-k3"},
		{"LFM2-8B-A1B", "lfm2"},
		{"LFM2.5-Instruct", "lfm2"},
		{"MiMo-VL", "hermes"},
		{"MiniMax-M2", "minimax"},
		{"MiniMax-M3", "minimax-m3"},
		{"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen-coder"},
		{"NVIDIA-Nemotron-Nano-v2", "nemotron-v2"},
		{"Qwen-QwQ-32B", "hermes"},
		{"Qwen3-Coder", "qwen-coder"},
		{"Qwen3.5-4B", "qwen-coder"},
		{"Spark2.5", "glm"},
		{"StepFun3.5-Flash", "qwen-coder"},
		{"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek-v3"},
		{"deepseek-ai-DeepSeek-V3.2", "deepseek-v3.2"},
		{"deepseek-ai-DeepSeek-V4", "deepseek-v4"},
		{"fireworks-ai-llama-3-firefunction-v2-2025", "firefunction"},
		{"google-gemma-4-31B-it", "gemma4"},
		{"google-gemma-4-31B-it-interleaved", "gemma4"},
		{"ibm-granite-granite-4.0", "hermes"},
		{"ibm-granite-granite-4.1", "hermes"},
		{"inline-ChatGLM3", "none"},
		{"inline-Llama-3", "llama3-plain"},
		{"inline-Phi-3-mini", "none"},
		{"inline-google-gemma-7b-it", "gemma"},
		{"inline-ibm-granite-granite-3.0-8b-instruct", "granite"},
		{"meetkai-functionary-medium-v3.1-2025", "functionary-v3.1"},
		{"meetkai-functionary-medium-v3.2", "functionary-v3.2"},
		{"meta-llama-Llama-3.2-3B-Instruct", "llama3"},
		{"mistralai-Mistral-Nemo-Instruct-2407", "mistral"},
		{"moonshotai-Kimi-K2", "kimi"},
		{"openai-gpt-oss-120b", "gpt-oss"},
		{"openbmb-MiniCPM5-1B", "minicpm5"},
		{"poolside-Laguna-XS-2.1", "glm"},
		{"unsloth-Apriel-1.5", "apriel-1.6"},
		{"unsloth-mistral-Devstral-Small-2507", "mistral-v11"},
	};
	const char *dir = lmd_parity_dir();
	unsigned n = 0, n_wrong = 0;

	if (!dir) {
		LMD_SKIP("published", "the parity pack is not installed");
		return;
	}
	for (size_t i = 0; i < LMD_LEN(t); i++) {
		char path[600];
		struct lmd_str s = {0};
		const char *got;
		char *text;

		(void)snprintf(path, sizeof(path), "%s/templates/jinja/%s.jinja", dir,
			       t[i].template);
		if (lmi_file_read_all(path, 1 << 20, &text, &s.len, NULL) != LMD_OK) {
			LMD_SKIP(t[i].template, "not in the parity pack");
			continue;
		}
		s.ptr = text;
		got = lmi_answer_format_name(lmi_answer_format_detect(s));
		lmi_free(text);
		n++;
		if (strcmp(got, t[i].want) != 0) {
			n_wrong++;
			printf("%s: got %s, expected %s\n", t[i].template, got, t[i].want);
		}
	}
	LMD_CASES("published", n - n_wrong, n_wrong, (unsigned)LMD_LEN(t) - n);
	ck_assert_uint_eq(n_wrong, 0);
}
END_TEST

/* Cases in which an answer starts inside the reasoning. */
START_TEST(opened)
{
	static const struct {
		const char *format, *prompt, *begun;
		bool want;
	} t[] = {
		{"hermes", "<|im_start|>assistant\n<think>\n", "", true},
		{"hermes", "<|im_start|>assistant\n<think>\n\n</think>\n\n", "", false},
		{"hermes", "what is <think>?<|im_end|><|im_start|>assistant\n", "", false},
		{"hermes", "assistant\n", "<think>I", true},
		{"hermes", "assistant\n", "<think>I</think>so", false},
		{"hermes", "assistant\n<think>\n", "I think", true},
		{"gemma4", "model\n<|channel>thought\n<channel|>", "", false},
		{"llama3", "<think>", "", false},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		struct lmd_str prompt = {.ptr = t[i].prompt, .len = strlen(t[i].prompt)};
		struct lmd_str begun = {.ptr = t[i].begun, .len = strlen(t[i].begun)};

		ck_assert_msg(lmi_answer_format_opens_reasoning(format(t[i].format), prompt,
								begun) == t[i].want,
			      "\"%s\", \"%s\"", t[i].prompt, t[i].begun);
	}
}
END_TEST

START_TEST(control_tokens)
{
	static const struct {
		const char *format, *token;
		bool want;
	} t[] = {
		{"hermes", "<tool_call>", true},       {"hermes", "<|im_end|>", false},
		{"gpt-oss", "<|message|>", true},      {"gpt-oss", "<|return|>", true},
		{"gpt-oss", "<|endoftext|>", false},   {"gemma4", "<|\"|>", true},
		{"gemma4", "<turn|>", false},	       {"deepseek-v3.2", "｜DSML｜", true},
		{"deepseek-v3", "<｜tool▁sep｜>", true}, {"kimi-k3", "<|sep|>", true},
		{"mistral", "[CALL_ID]", true},	       {"none", "<think>", false},
		{"hermes", "<", false},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_msg(lmi_answer_format_has_marker(
				      format(t[i].format),
				      (struct lmd_str){.ptr = t[i].token,
						       .len = strlen(t[i].token)}) == t[i].want,
			      "%s: %s", t[i].format, t[i].token);
}
END_TEST

static void teardown(void)
{
	lmi_text_byte_buf_fini(&g.text);
	lmi_text_byte_buf_fini(&g.raw);
}

int main(void)
{
	Suite *s = suite_create("parse");
	TCase *t = tcase_create("parse");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, written_calls);
	tcase_add_test(t, strings_by_schema);
	tcase_add_test(t, all_formats);
	tcase_add_test(t, foreign_answers);
	tcase_add_test(t, begins_in_a_thought);
	tcase_add_test(t, cut_off);
	tcase_add_test(t, hostile);
	tcase_add_test(t, long_texts);
	tcase_add_test(t, random_cuts);
	tcase_add_test(t, names);
	tcase_add_test(t, names_are_unique);
	tcase_add_test(t, specific_signatures_first);
	tcase_add_test(t, published);
	tcase_add_test(t, opened);
	tcase_add_test(t, control_tokens);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
