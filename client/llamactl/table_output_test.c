/* SPDX-License-Identifier: MIT
 *
 * Sizes, states and shortened paths as tables show them. */
#include <stdio.h>
#include <stdlib.h>

#include "client/llamactl/remote.h"
#include "tests/lmd_check.h"

START_TEST(shortened)
{
	static const struct {
		const char *text;
		int width;
		const char *want;
	} t[] = {
		{"", 4, ""},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "...e"},
		{"/srv/models/tiny.gguf", 21, "/srv/models/tiny.gguf"},
		{"/srv/models/tiny.gguf", 20, "/srv/...ls/tiny.gguf"},
		{"/srv/models/tiny.gguf", 12, "/sr...y.gguf"},
		/* whole characters: e with acute is two bytes and one column */
		{"\303\251\303\251\303\251\303\251\303\251\303\251", 5, "...\303\251\303\251"},
		{"\303\251\303\251\303\251\303\251\303\251\303\251\303\251", 6,
		 "\303\251...\303\251\303\251"},
	};
	char out[64];

	for (size_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_str_eq(lmi_ctl_show_shortened(out, sizeof(out), t[i].text, t[i].width),
				 t[i].want);
}
END_TEST

START_TEST(sizes_and_states)
{
	char out[32];

	ck_assert_str_eq(lmi_ctl_show_size(out, sizeof(out), 0), "0 bytes");
	ck_assert_str_eq(lmi_ctl_show_size(out, sizeof(out), 1023), "1023 bytes");
	ck_assert_str_eq(lmi_ctl_show_size(out, sizeof(out), 98362432), "93.8M");
	ck_assert_str_eq(lmi_ctl_show_size(out, sizeof(out), UINT64_MAX), "8192P");
	ck_assert_str_eq(lmi_ctl_show_state("absent"), "not loaded");
	ck_assert_str_eq(lmi_ctl_show_state("ready"), "ready");
	ck_assert_ptr_null(lmi_ctl_show_state(NULL));
}
END_TEST

/* Spare columns go, the last ones first, and no more of them than necessary. */
START_TEST(narrow_tables)
{
	static const struct lmi_ctl_column cols[] = {{"NAME", "name", LMI_CTL_COL_TEXT},
						     {"SIZE", "size", LMI_CTL_COL_COUNT | LMI_CTL_COL_SPARE},
						     {"STATE", "state", LMI_CTL_COL_TEXT},
						     {"PINNED", "pinned", LMI_CTL_COL_COUNT | LMI_CTL_COL_SPARE}};
	static const struct {
		int columns;
		const char *want;
	} t[] = {{0, "NAME  SIZE  STATE  PINNED\ntiny     7  ready       0\n"},
		 {25, "NAME  SIZE  STATE  PINNED\ntiny     7  ready       0\n"},
		 {24, "NAME  SIZE  STATE\ntiny     7  ready\n"},
		 {16, "NAME  STATE\ntiny  ready\n"},
		 {5, "NAME  STATE\ntiny  ready\n"}};
	json_t *rows = json_pack("[{s:s, s:i, s:s, s:i}]", "name", "tiny", "size", 7, "state", "ready", "pinned", 0);

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		char *text;
		size_t n;
		FILE *f = open_memstream(&text, &n);

		lmi_ctl_table_print(f, t[i].columns, rows, cols, LMD_LEN(cols));
		ck_assert_int_eq(fclose(f), 0);
		ck_assert_str_eq(text, t[i].want);
		free(text);
	}
	json_decref(rows);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("columns");
	TCase *t = tcase_create("texts");

	tcase_add_test(t, shortened);
	tcase_add_test(t, sizes_and_states);
	tcase_add_test(t, narrow_tables);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
