/* SPDX-License-Identifier: MIT
 *
 * The built-in templates: compares what they render with what the templates published with the
 * models render. */
#include "core/text/chat/chat.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/text/chat/builtin_cases.gen.h"
#include "core/jinja/template.h"
#include "tests/lmd_check.h"

/* The conversations of lmt_builtin_cases, in that order.  A message is the initial of its role
 * followed by its text. */
static const struct {
	const char *messages[5];
	bool prompt; /* ask for an answer */
} conversations[] = {
	{{"uHello"}, true},
	{{"uHello", "aHi there", "uWho are you?"}, true},
	{{"sBe brief.", "uHello", "aHi there", "uWho are you?"}, true},
	{{"s Be brief. ", "u  Hello  ", "a  Hi there  ", "u Who\n are you? "}, true},
	{{"sBe brief.", "uHello", "aHi there"}, false},
};
_Static_assert(sizeof(conversations) / sizeof(conversations[0]) ==
		       sizeof(lmt_builtin_cases[0].want) / sizeof(lmt_builtin_cases[0].want[0]),
	       "each conversation needs an expected rendering");

static json_t *variables(const char *const *messages, bool prompt)
{
	json_t *list = json_array();

	for (; *messages; messages++) {
		const char *role = **messages == 'u'   ? "user"
				   : **messages == 'a' ? "assistant"
						       : "system";

		json_array_append_new(list, json_pack("{s:s, s:s}", "role", role, "content",
						      *messages + 1));
	}
	return json_pack("{s:o, s:b}", "messages", list, "add_generation_prompt", prompt);
}

/* The result is valid until the next call. */
static const char *render(const struct lmi_chat_builtin_template *b, const char *const *messages,
			  bool prompt)
{
	static char text[4096];
	json_t *vars = variables(messages, prompt);
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_jinja_value v;
	struct lmi_jinja_input in = {.vars = &v, .n_vars = 1};
	struct lmi_jinja_output out;
	struct lmi_jinja *t;
	struct lmd_error err;

	ck_assert(arena && lmi_jinja_tvalue_from_json(vars, arena, &v, &err) == LMD_OK);
	ck_assert_msg(lmi_jinja_parse(&t, b->text, strlen(b->text), &err) == LMD_OK, "%s: %s",
		      b->name, err.text);
	ck_assert_msg(lmi_jinja_render(t, &in, &out, &err) == LMD_OK, "%s: %s", b->name, err.text);
	ck_assert(out.bytes < sizeof(text));
	memcpy(text, out.text, out.bytes + 1);
	lmi_jinja_output_fini(&out);
	lmi_jinja_destroy(t);
	lmi_arena_destroy(arena);
	json_decref(vars);
	return text;
}

static const struct lmi_chat_builtin_template *find(const char *name)
{
	const struct lmi_chat_builtin_template *b =
		lmi_chat_builtin_find((struct lmd_str){.ptr = name, .len = strlen(name)});

	ck_assert_msg(b, "%s", name);
	return b;
}

START_TEST(as_published)
{
	unsigned n = 0, n_wrong = 0, n_none = 0;

	for (size_t i = 0; i < LMD_LEN(lmt_builtin_cases); i++) {
		for (size_t k = 0; k < LMD_LEN(conversations); k++) {
			const char *want = lmt_builtin_cases[i].want[k], *got;

			n_none += !want;
			if (!want)
				continue;
			n++;
			got = render(find(lmt_builtin_cases[i].name), conversations[k].messages,
				     conversations[k].prompt);
			if (!strcmp(got, want))
				continue;
			n_wrong++;
			printf("%s (from %s), conversation %zu: got\n\"%s\", expected\n\"%s\"\n",
			       lmt_builtin_cases[i].name, lmt_builtin_cases[i].model, k, got, want);
		}
	}
	LMD_CASES("built-in templates", n - n_wrong, n_wrong, 0);
	printf("%u published renderings are not compared\n", n_none);
	ck_assert_uint_eq(n_wrong, 0);
}
END_TEST

/* Cases that no published template covers, or that ours deliberately render differently: a system
 * prompt where none is supported, which stays at its place instead of moving before the last
 * question. */
static const struct {
	const char *name, *want;
} own[] = {
	{"llama2", "[INST] S\nU [/INST]A</s>[INST] V [/INST]"},
	{"mistral-v3", "[INST] S\n\nU[/INST] A</s>[INST] V[/INST]"},
	{"mistral-v3-tekken", "[INST]S\n\nU[/INST]A</s>[INST]V[/INST]"},
	{"gemma", "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
		  "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n"},
	{"orion", "Human: S\n\nU\n\nAssistant: </s>A</s>Human: V\n\nAssistant: </s>"},
	{"gpt-oss", "<|start|>system<|message|>S<|end|><|start|>user<|message|>U<|end|><|start|>"
		    "assistant<|channel|>final<|message|>A<|end|><|start|>user<|message|>V<|end|>"
		    "<|start|>assistant"},
	{"deepseek-ocr", "SUAV"},
	{"hunyuan-dense", "S<｜hy_place▁holder▁no▁3｜><｜hy_User｜>U<｜hy_Assistant｜>A"
			  "<｜hy_place▁holder▁no▁2｜><｜hy_User｜>V<｜hy_Assistant｜>"},
};

static const char *const letters[] = {"sS", "uU", "aA", "uV", NULL};

START_TEST(of_our_own)
{
	for (size_t i = 0; i < LMD_LEN(own); i++) {
		const char *got = render(find(own[i].name), letters, true);

		ck_assert_msg(!strcmp(got, own[i].want), "%s: got \"%s\", expected \"%s\"",
			      own[i].name, got, own[i].want);
	}
}
END_TEST

/* Checks that names ascend, and that each template renders all messages in order. */
START_TEST(all_of_them)
{
	const char *before = "";

	ck_assert_uint_eq(lmi_chat_builtins_n, 54);
	for (unsigned i = 0; i < lmi_chat_builtins_n; i++) {
		const struct lmi_chat_builtin_template *b = &lmi_chat_builtins[i];
		const char *got;

		ck_assert(strcmp(before, b->name) < 0);
		before = b->name;
		got = strchr(render(b, letters, true), 'U');
		ck_assert_msg(got && strchr(got, 'A') && strchr(strchr(got, 'A'), 'V'), "%s",
			      b->name);
	}
	ck_assert_ptr_null(lmi_chat_builtin_find((struct lmd_str){.ptr = "nosuch", .len = 6}));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("built-in templates");
	TCase *t = tcase_create("built-in templates");

	tcase_add_test(t, as_published);
	tcase_add_test(t, of_our_own);
	tcase_add_test(t, all_of_them);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
