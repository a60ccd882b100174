/* SPDX-License-Identifier: MIT
 *
 * Sizes, states and shortened paths as tables show them. */
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
		ck_assert_str_eq(lmi_show_shortened(out, sizeof(out), t[i].text, t[i].width),
				 t[i].want);
}
END_TEST

START_TEST(sizes_and_states)
{
	char out[32];

	ck_assert_str_eq(lmi_show_size(out, sizeof(out), 0), "0 bytes");
	ck_assert_str_eq(lmi_show_size(out, sizeof(out), 1023), "1023 bytes");
	ck_assert_str_eq(lmi_show_size(out, sizeof(out), 98362432), "93.8M");
	ck_assert_str_eq(lmi_show_size(out, sizeof(out), UINT64_MAX), "8192P");
	ck_assert_str_eq(lmi_show_state("absent"), "not loaded");
	ck_assert_str_eq(lmi_show_state("ready"), "ready");
	ck_assert_ptr_null(lmi_show_state(NULL));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("columns");
	TCase *t = tcase_create("texts");

	tcase_add_test(t, shortened);
	tcase_add_test(t, sizes_and_states);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
