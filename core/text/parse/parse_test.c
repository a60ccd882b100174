/* SPDX-License-Identifier: MIT
 *
 * Answers of every family, whole, in two pieces at every byte, byte by byte, and cut off at every
 * byte.  The pieces change nothing but how the events are cut, and no byte is lost. */
#include "core/text/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#include "core/text/tokenizer.h"
#include "tests/lmd_check.h"

/* What came, as a text: content as it is, [R:...] thoughts, [F:name#id]{...} calls, closed by [.]
 * or, when they are not whole, by [!]. */
struct got {
	struct lmi_text text, raw;
	enum lmi_out_kind last;
};

static void add(struct lmi_text *t, const char *s, size_t n)
{
	ck_assert(lmi_text_add(t, s, n, NULL) == LMD_OK);
}

static void adds(struct lmi_text *t, const char *s)
{
	add(t, s, strlen(s));
}

static void take(void *arg, const struct lmi_out *o)
{
	struct got *g = arg;

	add(&g->raw, o->raw.ptr, o->raw.len);
	if (o->kind == LMI_OUT_MARKUP)
		return;
	if (g->last == LMI_OUT_REASONING && o->kind != LMI_OUT_REASONING)
		adds(&g->text, "]");
	switch (o->kind) {
	case LMI_OUT_REASONING:
		if (g->last != LMI_OUT_REASONING)
			adds(&g->text, "[R:");
		add(&g->text, o->text.ptr, o->text.len);
		break;
	case LMI_OUT_CALL:
		adds(&g->text, "[F:");
		add(&g->text, o->text.ptr, o->text.len);
		if (o->id.ptr) {
			adds(&g->text, "#");
			add(&g->text, o->id.ptr, o->id.len);
		}
		adds(&g->text, "]");
		break;
	case LMI_OUT_CALL_END:
		adds(&g->text, o->complete ? "[.]" : "[!]");
		break;
	case LMI_OUT_CONTENT:
	case LMI_OUT_ARGS:
		add(&g->text, o->text.ptr, o->text.len);
		break;
	case LMI_OUT_MARKUP:
		break;
	}
	g->last = o->kind;
}

static const struct lmi_parse_format *format(const char *name)
{
	const struct lmi_parse_format *f =
		lmi_parse_format((struct lmd_str){.ptr = name, .len = strlen(name)});

	ck_assert_msg(f, "%s", name);
	return f;
}

/* Fed in pieces of `first` bytes, then of `step`; ends behind n bytes. */
static void run(struct got *g, const char *name, const char *text, size_t n, size_t first,
		size_t step, bool thinks)
{
	struct lmi_parse *p;

	g->text.n = g->raw.n = 0;
	g->last = LMI_OUT_MARKUP;
	ck_assert(lmi_parse_create(&p, format(name), take, g, NULL) == LMD_OK);
	if (thinks)
		lmi_parse_thinks(p);
	for (size_t at = 0; at < n;) {
		size_t k = at ? step : first;

		k = k && k < n - at ? k : n - at;
		ck_assert(lmi_parse_feed(p, text + at, k, NULL) == LMD_OK);
		at += k;
	}
	lmi_parse_finish(p);
	lmi_parse_destroy(p);
	if (g->last == LMI_OUT_REASONING)
		adds(&g->text, "]");
	/* the law: nothing is lost */
	ck_assert_msg(g->raw.n == n && (!n || !memcmp(g->raw.p, text, n)),
		      "%s: \"%.*s\" became \"%.*s\"", name, (int)n, text, (int)g->raw.n, g->raw.p);
}

#define DS_BEGIN "<｜tool▁calls▁begin｜>"
#define DS_CALL  "<｜tool▁call▁begin｜>"
#define DS_SEP   "<｜tool▁sep｜>"
#define DS_END   "<｜tool▁call▁end｜>"
#define DS_LAST  "<｜tool▁calls▁end｜>"

static const struct {
	const char *format, *text, *want;
} cases[] = {
	{"none", "a <tool_call>{}</tool_call> b\n", "a <tool_call>{}</tool_call> b\n"},
	{"hermes", "hello \xc3\xa9\xf0\x9f\x98\x80 there\n",
	 "hello \xc3\xa9\xf0\x9f\x98\x80 there\n"},
	{"hermes",
	 "<think>\nhm, 1 < 2\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"w\", \"arguments\": "
	 "{\"c\": \"P\\\"}\", \"n\": {\"x\": [1, {}]}}}\n</tool_call>",
	 "[R:hm, 1 < 2]I look.[F:w]{\"c\": \"P\\\"}\", \"n\": {\"x\": [1, {}]}}[.]"},
	{"qwen3",
	 "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>\n<tool_call>\n{\"name\": \"b\", "
	 "\"arguments\": {\"k\": 1}}\n</tool_call>\nDone.",
	 "[F:a]{}[.][F:b]{\"k\": 1}[.]Done."},
	{"hermes", "<tool_call>not json</tool_call> x", "<tool_call>not json</tool_call> x"},
	{"hermes", "<tool_call>{\"name\": 7, \"arguments\": {}}</tool_call>",
	 "<tool_call>{\"name\": 7, \"arguments\": {}}</tool_call>"},
	{"hermes",
	 "<tool_call>{\"arguments\": {\"k\": [1]}, \"id\": \"c1\", \"name\": \"f\"}</tool_call>!",
	 "[F:f#c1]{\"k\": [1]}[.]!"},
	{"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"k\\\": 2}\"}</tool_call>",
	 "[F:f]{\"k\": 2}[.]"},
	{"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"k\": ]}}</tool_call>",
	 "[F:f]{\"k\": [!]]}}</tool_call>"},
	{"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"k\": x}}</tool_call>",
	 "[F:f]{\"k\": x}[!]"},
	{"hermes",
	 "<tool_call>{\"name\": \"f\", \"arguments\": {\"k\": 1}, \"more\": {\"z\": "
	 "\"}\"}}</tool_call>.",
	 "[F:f]{\"k\": 1}[.]."},
	{"hermes", "a < b <tool_ <think>x", "a < b <tool_[R:x]"},
	{"hermes", "x </think> y", "xy"},
	{"llama3", "{\"name\": \"f\", \"parameters\": {\"q\": \"a\"}}", "[F:f]{\"q\": \"a\"}[.]"},
	{"llama3",
	 "{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"q\": 1}}}",
	 "[F:f]{\"q\": 1}[.]"},
	{"llama3",
	 "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": "
	 "{}}",
	 "[F:f]{}[.][F:g]{}[.]"},
	{"llama3", "{\"answer\": 42} is it", "{\"answer\": 42} is it"},
	{"llama3", "I say {\"name\": \"f\", \"parameters\": {}}",
	 "I say {\"name\": \"f\", \"parameters\": {}}"},
	{"json", " {\"tool_call\": {\"name\": \"f\", \"arguments\": {\"a\": 1}}}",
	 "[F:f]{\"a\": 1}[.]"},
	{"json", "[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]",
	 "[F:f]{}[.][F:g]{}[.]"},
	{"mistral",
	 "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abc\"}, "
	 "{\"name\": \"g\", \"arguments\": {}}]",
	 "[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"mistral",
	 "[THINK]t[/THINK]ok[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[CALL_ID]x9[ARGS]{}",
	 "[R:t]ok[F:f]{\"a\": 1}[.][F:g#x9]{}[.]"},
	{"mistral", "[TOOL_CALLS] none", "[TOOL_CALLS] none"},
	{"deepseek-v3",
	 "<think>r</think>" DS_BEGIN DS_CALL "function" DS_SEP "f\n```json\n{\"a\": 1}\n```" DS_END
	 "\n" DS_CALL "function" DS_SEP "g\n```json\n{}\n```" DS_END DS_LAST " bye",
	 "[R:r][F:f]{\"a\": 1}[.][F:g]{}[.]bye"},
	{"deepseek-v3.1",
	 "A" DS_BEGIN DS_CALL "f" DS_SEP "{\"a\": [\"\xe4\xb8\xad\"]}" DS_END DS_LAST,
	 "A[F:f]{\"a\": [\"\xe4\xb8\xad\"]}[.]"},
	{"gpt-oss",
	 "<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>commentary "
	 "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
	 "[R:think][F:f]{\"a\": 1}[.]"},
	{"gpt-oss",
	 "<|channel|>analysis<|message|>x<|end|><|start|>assistant to=functions.f<|channel|>"
	 "commentary json<|message|>{}<|call|>",
	 "[R:x][F:f]{}[.]"},
	{"harmony",
	 "<|channel|>analysis<|message|>a b<|end|><|start|>assistant<|channel|>final<|message|>Hi "
	 "there<|return|>",
	 "[R:a b]Hi there"},
	{"command-r",
	 "<|START_THINKING|>p<|END_THINKING|><|START_ACTION|>[\n {\"tool_call_id\": \"0\", "
	 "\"tool_name\": \"f\", \"parameters\": {\"a\": 1}},\n {\"tool_call_id\": \"1\", "
	 "\"tool_name\": \"g\", \"parameters\": {}}\n]<|END_ACTION|>",
	 "[R:p][F:f#0]{\"a\": 1}[.][F:g#1]{}[.]"},
	{"command-r", "<|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello."},
	{"functionary-v3.1", "hm <function=f>{\"a\": 1}</function><function=g>{}</function>",
	 "hm[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"functionary-v3.2", "all\nHello >>> you>>>f\n{\"a\": 1}>>>g\n{}",
	 "Hello >>> you[F:f]{\"a\": 1}[.][F:g]{}[.]"},
	{"functionary-v3.2", "f\n{\"a\": 1}", "[F:f]{\"a\": 1}[.]"},
	{"functionary-v3.2", "just words", "just words"},
	{"granite", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]",
	 "[F:f]{\"a\": 1}[.]"},
	{"granite", "<think>x</think><response>y</response>", "[R:x]y"},
	{"glm",
	 "<think>z</think>\nok\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n"
	 "<arg_key>b</arg_key><arg_value>x "
	 "\"y\"\n</arg_value></tool_call>\n<tool_call>g</tool_call>",
	 "[R:z]ok[F:f]{\"a\": 1, \"b\": \"x \\\"y\\\"\\n\"}[.][F:g]{}[.]"},
	{"glm", "<tool_call>no call</tool_call>", "<tool_call>no call</tool_call>"},
	{"kimi-k2",
	 "S<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
	 "{\"a\": 1}<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}"
	 "<|tool_call_end|><|tool_calls_section_end|>",
	 "S[F:f#functions.f:0]{\"a\": 1}[.][F:g#functions.g:1]{}[.]"},
	{"minimax",
	 "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter "
	 "name=\"a\">1</parameter>\n<parameter "
	 "name=\"b\">x</parameter>\n</invoke>\n<invoke "
	 "name=\"g\">\n</invoke>\n</minimax:tool_call>",
	 "[F:f]{\"a\": 1, \"b\": \"x\"}[.][F:g]{}[.]"},
	{"qwen3-coder",
	 "<tool_call>\n<function=f>\n<parameter=code>\nif a < b:\n  </p>\n</parameter>\n<parameter="
	 "n>\n{\"z\": [1]}\n</parameter>\n</function>\n</tool_call>",
	 "[F:f]{\"code\": \"if a < b:\\n  </p>\", \"n\": {\"z\": [1]}}[.]"},
	{"qwen3-coder",
	 "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\noops</function>",
	 "[F:f]{\"a\": 1[!]oops</function>"},
	{"seed-oss",
	 "<seed:think>q</seed:think><seed:tool_call>\n<function=f>\n<parameter=a>true</parameter>\n"
	 "</function>\n</seed:tool_call>",
	 "[R:q][F:f]{\"a\": true}[.]"},
	{"gemma", "```tool_call\n{\"name\": \"f\", \"arguments\": {}}\n```\nx", "[F:f]{}[.]x"},
	{"think", "<think>a\n\nb</think>c", "[R:a\n\nb]c"},
};

static struct got g;

static void check(size_t i, const char *how)
{
	ck_assert_msg(g.text.n == strlen(cases[i].want) &&
			      !memcmp(g.text.p, cases[i].want, g.text.n),
		      "%s, %s:\n\"%s\" became\n\"%.*s\", not\n\"%s\"", cases[i].format, how,
		      cases[i].text, (int)g.text.n, g.text.p, cases[i].want);
}

START_TEST(all_formats)
{
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		size_t n = strlen(cases[i].text);

		run(&g, cases[i].format, cases[i].text, n, 0, 0, false);
		check(i, "whole");
		for (size_t k = 1; k < n; k++) {
			run(&g, cases[i].format, cases[i].text, n, k, 0, false);
			check(i, "in two pieces");
		}
		for (size_t k = 1; k < 6; k++) {
			run(&g, cases[i].format, cases[i].text, n, k, k, false);
			check(i, "in small pieces");
		}
		for (size_t k = 0; k < n; k++) /* the law alone */
			run(&g, cases[i].format, cases[i].text, k, 1 + k % 3, 1 + k % 5, false);
	}
}
END_TEST

/* Every answer through every format: nothing is lost, whoever wrote it. */
START_TEST(foreign_answers)
{
	for (uint32_t f = 0; lmi_parse_format_name(f); f++) {
		for (size_t i = 0; i < LMD_LEN(cases); i++) {
			size_t n = strlen(cases[i].text);
			char *whole;

			run(&g, lmi_parse_format_name(f), cases[i].text, n, 0, 0, i & 1);
			whole = strndup(g.text.p ? g.text.p : "", g.text.n);
			run(&g, lmi_parse_format_name(f), cases[i].text, n, 1, 1, i & 1);
			ck_assert_msg(g.text.n == strlen(whole) &&
					      !memcmp(g.text.p, whole, g.text.n),
				      "%s: \"%s\":\n\"%s\" or\n\"%.*s\"", lmi_parse_format_name(f),
				      cases[i].text, whole, (int)g.text.n, g.text.p);
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

/* Cut off in the middle: what is there is told, and that it is not all. */
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
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		run(&g, t[i].format, t[i].text, strlen(t[i].text), 1, 1, false);
		ck_assert_msg(g.text.n == strlen(t[i].want) &&
				      !memcmp(g.text.p, t[i].want, g.text.n),
			      "\"%s\" became \"%.*s\"", t[i].text, (int)g.text.n, g.text.p);
	}
}
END_TEST

/* Long and deep things, in small pieces, take no long time. */
START_TEST(hostile)
{
	enum { N = 60000 };
	static const char *const begins[] = {
		"",
		"<tool_call>",
		"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"",
		"{",
		"<tool_call>{\"a\": ",
		"<tool_call>{\"name\": \"f\", \"arguments\": {}, \"b\": "};
	static const char fills[] = " <{[\"\\a";
	char *text = malloc(N + 100);

	for (size_t b = 0; b < LMD_LEN(begins); b++) {
		for (size_t k = 0; k < sizeof(fills) - 1; k++) {
			size_t n = strlen(begins[b]);

			memcpy(text, begins[b], n);
			memset(text + n, fills[k], N);
			run(&g, b == 3 ? "llama3" : "hermes", text, n + N, 7, 7, false);
			run(&g, "qwen3-coder", text, n + N, 7, 7, false);
		}
	}
	free(text);
	/* more calls than anybody makes */
	text = malloc(60 * (LMI_PARSE_CALLS_MAX + 10));
	*text = '\0';
	for (int i = 0; i < LMI_PARSE_CALLS_MAX + 10; i++)
		strcat(text, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>");
	run(&g, "hermes", text, strlen(text), 11, 11, false);
	ck_assert_ptr_nonnull(memmem(g.text.p, g.text.n, "[.]<tool_call>", 14));
	free(text);
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
		{"<|im_start|>", "none"},
		{"", "none"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_str_eq(lmi_parse_name(lmi_parse_detect((struct lmd_str){
					 .ptr = t[i].template, .len = strlen(t[i].template)})),
				 t[i].want);
	ck_assert_ptr_null(lmi_parse_format((struct lmd_str){.ptr = "nosuch", .len = 6}));
	ck_assert_ptr_null(lmi_parse_format((struct lmd_str){.ptr = "", .len = 0}));
	ck_assert_str_eq(lmi_parse_name(format("qwen2.5")), "hermes");
}
END_TEST

static void teardown(void)
{
	lmi_text_fini(&g.text);
	lmi_text_fini(&g.raw);
}

int main(void)
{
	Suite *s = suite_create("parse");
	TCase *t = tcase_create("parse");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, all_formats);
	tcase_add_test(t, foreign_answers);
	tcase_add_test(t, begins_in_a_thought);
	tcase_add_test(t, cut_off);
	tcase_add_test(t, hostile);
	tcase_add_test(t, names);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
