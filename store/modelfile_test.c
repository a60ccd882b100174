/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "llamad/attr.h"
#include "store/modelfile.h"
#include "tests/lmd_check.h"

static enum lmd_status parse(struct lmi_store_modelfile *m, const char *text, struct lmd_error *err)
{
	return lmi_store_modelfile_parse(m, text, strlen(text), err);
}

START_TEST(all_commands)
{
	static const char text[] = "# a comment\n"
				   "from  \"smollm2:135m\"  \r\n"
				   "\n"
				   "PARAMETER temperature 0.2\n"
				   "PARAMETER stop \"User: \"\n"
				   "PARAMETER stop <end>\n"
				   "SYSTEM \"\"\"You are a \"pirate\".\n"
				   "# not a comment\"\"\"  \n"
				   "Template chatml\n"
				   "ADAPTER ./a.gguf\n"
				   "LICENSE MIT\n"
				   "REQUIRES 0.14.0\n"
				   "MESSAGE user Who are you?\n"
				   "MESSAGE assistant \"\"\"Arr.\"\"\"";
	struct lmi_store_modelfile m;
	struct lmd_error err;

	ck_assert_int_eq(parse(&m, text, &err), LMD_OK);
	ck_assert_str_eq(m.from, "smollm2:135m");
	ck_assert_int_eq(memcmp(text + m.from_at.at, "\"smollm2:135m\"", m.from_at.n), 0);
	ck_assert_uint_eq(m.from_at.n, 14);
	ck_assert_str_eq(m.system, "You are a \"pirate\".\n# not a comment");
	ck_assert_str_eq(m.template, "chatml");
	ck_assert_str_eq(m.adapter, "./a.gguf");
	ck_assert_uint_eq(m.adapter_at.n, 8);
	ck_assert_int_eq(memcmp(text + m.adapter_at.at, "./a.gguf", 8), 0);
	ck_assert_str_eq(m.license, "MIT");
	ck_assert_uint_eq(m.n_params, 3);
	ck_assert_str_eq(m.params[0].name, "temperature");
	ck_assert_str_eq(m.params[0].value, "0.2");
	ck_assert_str_eq(m.params[1].value, "User: ");
	ck_assert_str_eq(m.params[2].value, "<end>");
	ck_assert_uint_eq(m.params[2].line, 6);
	ck_assert_uint_eq(m.n_messages, 2);
	ck_assert_str_eq(m.messages[0].role, "user");
	ck_assert_str_eq(m.messages[0].content, "Who are you?");
	ck_assert_str_eq(m.messages[1].content, "Arr.");
	lmi_store_modelfile_fini(&m);
}
END_TEST

START_TEST(errors_name_the_line)
{
	static const char *const cases[][2] = {
		{"", "no FROM"},
		{"SYSTEM x", "no FROM"},
		{"FROM", "line 1: a value is missing"},
		{"FROM \"\"", "line 1: FROM names no model"},
		{"FROM a\nFROM b", "line 2: FROM occurs twice"},
		{"FROM a\n\nRUN x", "line 3: 'RUN' is not a command"},
		{"FROM a\nPARAMETER\n", "line 2: PARAMETER needs"},
		{"FROM a\nPARAMETER temperature\n", "line 2: a value is missing"},
		{"FROM a\nMESSAGE robot x", "line 2: MESSAGE needs a role"},
		{"FROM a\nMESSAGE user", "line 2: a value is missing"},
		{"FROM a\nSYSTEM \"\"\"x\ny", "line 2: the text that begins"},
		{"FROM a\nSYSTEM \"\"\"x\ny\"\"\" z", "line 3: something follows"},
		{"FROM a\nSYSTEM \"\"\"\"\"", "line 2: the text that begins"},
		{"FROM a\nSYSTEM \"\"\"a\"\"\"b\"\"\"", "line 2: something follows"},
	};
	struct lmi_store_modelfile m;
	struct lmd_error err;

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		ck_assert_int_eq(parse(&m, cases[i][0], &err), LMD_INVALID);
		ck_assert_msg(strstr(err.text, cases[i][1]), "%s", err.text);
		ck_assert_ptr_null(m.arena);
	}
	ck_assert_int_eq(lmi_store_modelfile_parse(&m, "FROM a\0b", 8, &err), LMD_INVALID);
}
END_TEST

/* Values that begin or end in double quotes. */
START_TEST(quotes_at_the_ends)
{
	static const char *const values[] = {"",	  "\"",	 "\"\"",	 "Say \"hi\"",
					     "\"a\" \"b\"", "\"\"x\"\"", "\"\nx\"", " x "};
	struct lmi_store_modelfile m;
	struct lmd_error err;
	char text[64];

	for (size_t i = 0; i < LMD_LEN(values); i++) {
		(void)snprintf(text, sizeof(text), "FROM a\nSYSTEM \"\"\"%s\"\"\"%s", values[i],
			       i % 2 ? "  \nLICENSE b" : "");
		ck_assert_msg(parse(&m, text, &err) == LMD_OK, "%s: %s", text, err.text);
		ck_assert_str_eq(m.system, values[i]);
		lmi_store_modelfile_fini(&m);
	}
}
END_TEST

/* Every beginning of a text is parsed or refused. */
START_TEST(cut_anywhere)
{
	static const char text[] = "FROM \"a\"\nSYSTEM \"\"\"x\ny\"\"\"\nPARAMETER stop \"\"\nMESSAGE user \"";
	char copy[sizeof(text)];
	struct lmi_store_modelfile m;

	for (size_t n = 0; n < sizeof(text); n++) {
		memcpy(copy, text, n);
		if (lmi_store_modelfile_parse(&m, copy, n, NULL) == LMD_OK)
			ck_assert_str_eq(m.from + (*m.from == '"'), n == 6 ? "" : "a");
		lmi_store_modelfile_fini(&m);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("modelfile");
	TCase *t = tcase_create("modelfile");

	tcase_add_test(t, all_commands);
	tcase_add_test(t, errors_name_the_line);
	tcase_add_test(t, quotes_at_the_ends);
	tcase_add_test(t, cut_anywhere);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
