/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "llamad/attr.h"
#include "store/modelfile.h"
#include "store/preset_toml.h"
#include "tests/lmd_check.h"

static enum lmd_status convert(char **out, const char *text, struct lmd_error *err)
{
	return lmi_store_preset_toml(out, text, strlen(text), err);
}

START_TEST(all_keys)
{
	static const char text[] = "# a comment\r\n"
				   "base = 'smollm2:135m' # the model\n"
				   "adapter = \"./a.gguf\"\n"
				   "system = \"\"\"\n"
				   "You are a \"pirate\".\n"
				   "One \\\n"
				   "   \n  #1 line.\"\"\"\n"
				   "template = '''\n"
				   "{{ a }}\\n'''\n"
				   "\"license\" = \"gr\\u00fcn \\U0001F600 \\t\"\n"
				   "\n"
				   "[ parameters ]\n"
				   "temperature = 0.25\n"
				   "num_predict = 1_000\n"
				   "context_shift = true\n"
				   "stop = [\n"
				   "  \"User:\", # first\n"
				   "  'END',\n"
				   "]\n"
				   "[[messages]]\n"
				   "content = \"Hi\"\n"
				   "role = \"user\"\n"
				   "[[messages]]\n"
				   "role = \"assistant\"\n"
				   "content = \"\"\"He said \"ho\"\"\"\"";
	struct lmi_store_modelfile m;
	struct lmd_error err;
	char *out;

	ck_assert_int_eq(convert(&out, text, &err), LMD_OK);
	ck_assert_int_eq(lmi_store_modelfile_parse(&m, out, strlen(out), &err), LMD_OK);
	ck_assert_str_eq(m.from, "smollm2:135m");
	ck_assert_str_eq(m.adapter, "./a.gguf");
	ck_assert_str_eq(m.system, "You are a \"pirate\".\nOne #1 line.");
	ck_assert_str_eq(m.template, "{{ a }}\\n");
	ck_assert_str_eq(m.license, "grün 😀 \t");
	ck_assert_uint_eq(m.n_params, 5);
	ck_assert_str_eq(m.params[0].name, "temperature");
	ck_assert_str_eq(m.params[0].value, "0.25");
	ck_assert_str_eq(m.params[1].value, "1000");
	ck_assert_str_eq(m.params[2].value, "true");
	ck_assert_str_eq(m.params[3].value, "User:");
	ck_assert_str_eq(m.params[4].name, "stop");
	ck_assert_str_eq(m.params[4].value, "END");
	ck_assert_uint_eq(m.params[0].line, 14); /* as in the preset */
	ck_assert_uint_eq(m.params[4].line, 19);
	ck_assert_uint_eq(m.n_messages, 2);
	ck_assert_str_eq(m.messages[0].role, "user");
	ck_assert_str_eq(m.messages[0].content, "Hi");
	ck_assert_str_eq(m.messages[1].content, "He said \"ho\"");
	lmi_store_modelfile_fini(&m);
	lmi_free(out);
}
END_TEST

static const struct {
	const char *text, *error;
} wrong[] = {
	{"", "has no base"},
	{"base = smollm2\n", "line 1: the value must be a text"},
	{"base = \"a\"\nbase = \"b\"\n", "line 2: base occurs twice"},
	{"\nfrom = \"a\"\n", "line 2: 'from' is not a key: base,"},
	{"base = \"a\" x\n", "line 1: something follows"},
	{"base = \"a\n", "line 1: a string does not end"},
	{"base = \"\"\"a\n", "line 2: a string does not end"},
	{"base = \"a\\q\"\n", "a backslash is followed by"},
	{"base = \"\\ud800\"\n", "no character"},
	{"base = \"\\u00g0\"\n", "4 hexadecimal digits"},
	{"base = \"\\u0000\"\n", "no character"},
	{"base = \"a\001b\"\n", "control character"},
	{"base \"a\"\n", "a key is followed by ="},
	{"base.x = \"a\"\n", "a key is followed by ="},
	{"= \"a\"\n", "a name of a-z"},
	{"base = \"a\"\nsystem = 'x\"\"\"y'\n", "line 2: three double quotes"},
	{"base = \"a\"\n[other]\n", "the tables are"},
	{"base = \"a\"\n[parameters\n", "does not end in ]"},
	{"base = \"a\"\n[parameters]\n[parameters]\n", "line 3: [parameters] occurs twice"},
	{"base = \"a\"\n[parameters]\nx = 1\nx = 2\n", "line 4: x occurs twice"},
	{"base = \"a\"\n[parameters]\nx = 2026-11-28\n", "'2026-11-28' is not a value"},
	{"base = \"a\"\n[parameters]\nx = 01\n", "'01' is not a value"},
	{"base = \"a\"\n[parameters]\nx = 1__0\n", "'1__0' is not a value"},
	{"base = \"a\"\n[parameters]\nx = 1.\n", "'1.' is not a value"},
	{"base = \"a\"\n[parameters]\nx = {a = 1}\n", "is not a value"},
	{"base = \"a\"\n[parameters]\nx = [1 2]\n", "no comma"},
	{"base = \"a\"\n[parameters]\nx = [1,\n", "is not a value"},
	{"base = \"a\"\n[parameters]\nx = \"\"\n", "empty"},
	{"base = \"a\"\n[parameters]\n\"a b\" = 1\n", "a name of a-z"},
	{"base = \"a\"\n[parameters]\n\"a\\u001b\" = 1\n", "a name of a-z"},
	{"base = \"a\"\n[[messages]]\nrole = \"user\"\n", "needs a role and a content"},
	{"base = \"a\"\n[[messages]]\n[parameters]\n", "line 3: the message before this line"},
	{"base = \"a\"\n[[messages]]\ntext = \"user\"\n", "role and content"},
	{"base = \"\xff\"\n", "UTF-8"},
};

START_TEST(errors)
{
	for (size_t i = 0; i < LMD_LEN(wrong); i++) {
		struct lmd_error err = {0};
		char *out = NULL;

		ck_assert_msg(convert(&out, wrong[i].text, &err) == LMD_INVALID, "%s", wrong[i].text);
		ck_assert_msg(strstr(err.text, wrong[i].error) != NULL, "%s: %s", wrong[i].text, err.text);
		ck_assert_ptr_null(out);
	}
}
END_TEST

START_TEST(scalars)
{
	static const char *const good[] = {"0", "-1", "+2", "1e5", "0.5", "-0.25E-3", "1_0.5"};
	struct lmd_error err;

	for (size_t i = 0; i < LMD_LEN(good); i++) {
		char text[96], *out;

		(void)snprintf(text, sizeof(text), "base = 'a'\n[parameters]\nx = %s", good[i]);
		ck_assert_int_eq(convert(&out, text, &err), LMD_OK);
		lmi_free(out);
	}
}
END_TEST

/* A preset need not end with a zero. */
START_TEST(exact_size)
{
	static const char text[] = "base";
	char *copy = lmi_alloc(sizeof(text) - 1, 1), *out;
	struct lmd_error err;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, sizeof(text) - 1);
	ck_assert_int_eq(lmi_store_preset_toml(&out, copy, sizeof(text) - 1, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "line 1: a key is followed by =");
	lmi_free(copy);
}
END_TEST

START_TEST(memory)
{
	enum lmd_status st = LMD_NOMEM;

	for (uint64_t n = 1; st == LMD_NOMEM; n++) {
		struct lmd_error err;
		char *out = NULL;

		lmi_alloc_fail_nth(n, false);
		st = convert(&out, "base = 'a'\n[parameters]\nstop = ['x']\n", &err);
		lmi_alloc_fail_nth(0, false);
		lmi_free(out);
	}
	ck_assert_int_eq(st, LMD_OK);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("preset_toml");
	TCase *t = tcase_create("preset_toml");

	tcase_add_test(t, all_keys);
	tcase_add_test(t, errors);
	tcase_add_test(t, scalars);
	tcase_add_test(t, exact_size);
	tcase_add_test(t, memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
