/* SPDX-License-Identifier: MIT */
#include "core/base/comma_list.h"

#include <stdio.h>
#include <string.h>

#include "tests/lmd_check.h"

/* Writes the words as "<a><b>". */
static const char *words(const char *list)
{
	static char out[128];
	const char *rest = lmi_comma_list_begin(list);
	struct lmd_str w;
	int n = 0;

	out[0] = 0;
	while (lmi_comma_list_next(&rest, &w))
		n += snprintf(out + n, sizeof(out) - (size_t)n, "<%.*s>", (int)w.len, w.ptr);
	return out;
}

START_TEST(all_words)
{
	static const struct {
		const char *list, *words;
	} t[] = {{NULL, ""},
		 {"", ""},
		 {" \t ", ""},
		 {"a", "<a>"},
		 {" a b ", "<a b>"},
		 {"a,b", "<a><b>"},
		 {" a ,\tb\t", "<a><b>"},
		 {"a,", "<a><>"},
		 {"a, ", "<a><>"},
		 {",a", "<><a>"},
		 {",", "<><>"},
		 {"a, ,b", "<a><><b>"}};

	for (size_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_str_eq(words(t[i].list), t[i].words);
}
END_TEST

START_TEST(has)
{
	ck_assert(lmi_comma_list_has("a, bc", "bc"));
	ck_assert(lmi_comma_list_has("a, bc", "a"));
	ck_assert(!lmi_comma_list_has("a, bc", "b"));
	ck_assert(!lmi_comma_list_has("a, bc", "bcd"));
	ck_assert(!lmi_comma_list_has("", ""));
	ck_assert(!lmi_comma_list_has(NULL, "a"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("comma_list");
	TCase *t = tcase_create("comma_list");

	tcase_add_test(t, all_words);
	tcase_add_test(t, has);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
