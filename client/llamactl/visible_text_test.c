/* SPDX-License-Identifier: MIT
 *
 * What a terminal gets of a model's text. */
#include "client/llamactl/visible_text.h"

#include <string.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

static const struct {
	const char *text, *want;
} cases[] = {
	{"plain\ttext\n", "plain\ttext\n"},
	{"\033]52;c;aGk=\a", "^[]52;c;aGk=^G"},
	{"\033[2J\b\x7f", "^[[2J^H^?"},
	{"a\r\nb", "a\nb"},
	{"äöü 日本 🙂", "äöü 日本 🙂"},
	{"\xc2\x9b" "2J", "\xc2\xa0" "2J"},
	{"\xc2\xa7 \xe2\x80\x9b", "\xc2\xa7 \xe2\x80\x9b"},
	{"\xff\xc2", "\xff\xc2"},
};

/* Converts the text in pieces of `step` bytes. */
static void converts(const char *text, const char *want, size_t step)
{
	struct lmi_text_byte_buf out = {0};
	struct lmd_error err;
	char last = 0;

	for (size_t at = 0, n = strlen(text); at < n; at += step)
		ck_assert_int_eq(lmi_ctl_visible_text(&out, &last, text + at,
						      at + step < n ? step : n - at, &err),
				 LMD_OK);
	ck_assert_uint_eq(out.n, strlen(want));
	ck_assert_mem_eq(out.p, want, out.n);
	lmi_text_byte_buf_fini(&out);
}

START_TEST(texts)
{
	for (size_t i = 0; i < LMD_LEN(cases); i++)
		for (size_t step = 1; step < 4; step++)
			converts(cases[i].text, cases[i].want, step);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("visible_text");
	TCase *t = tcase_create("visible_text");

	tcase_add_test(t, texts);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
